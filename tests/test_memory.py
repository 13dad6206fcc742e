"""Tests of deciding and looking, on real repositories."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import audit, layout, memory
from gitmem.adoption import adopt, reopen
from gitmem.errors import BadInputError, ConflictError, GitmemError, NotFoundError, RefusedError
from gitmem.git import refs
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model import context
from gitmem.model.history import Person

RunGit = Callable[..., str]

ANN = Person("Ann", "ann@example.org", 0, 0)


@pytest.fixture
def here(project: Path) -> Memory:
    """The memory of an empty project."""
    return open_memory(project)


def _draft(key: str, body: str, kind: str | None = "convention") -> Draft:
    return Draft(key, body, kind)


def _propose(here: Memory, key: str, body: str) -> str:
    return here.propose(_draft(key, body), rationale="because").id


def _text(here: Memory) -> str:
    return here.context(context.Options()).context.text


def _folder(here: Memory) -> Path:
    folder = here.store("project").place.folder
    assert folder is not None
    return folder


def _apply(here: Memory, key: str, body: str) -> memory.Decision:
    return here.apply(_propose(here, key, body), by=ANN)


def _commit(here: Memory, run_git: RunGit, key: str, body: str) -> str:
    """A commit straight onto `memory/main`, past every rule."""
    folder = _folder(here)
    (folder / f"{key}.md").write_text(f"---\ntype: fact\n---\n\n{body}\n")
    run_git("add", f"{key}.md", cwd=folder)
    run_git("commit", "--quiet", "--no-verify", "-m", "straight", cwd=folder)
    return run_git("rev-parse", "HEAD", cwd=folder)


# -- apply -------------------------------------------------------------------------------------


def test_look_alikes_are_not_renames(here: Memory) -> None:
    """An edit of an entry that was deleted meanwhile is a conflict, and lands in no other entry."""
    body = "\n".join(f"line {n}" for n in range(20))
    _apply(here, "one", body)
    edit = _propose(here, "one", body + "\nmore")
    here.apply(here.propose(Draft("one", delete=True), rationale="gone").id, by=ANN)
    _apply(here, "two", body)
    with pytest.raises(ConflictError) as raised:
        here.apply(edit, by=ANN)
    assert raised.value.reference == "candidate-conflicts"
    assert "more" not in _text(here)


def test_two_edits_of_one_entry(here: Memory) -> None:
    """Two edits of one entry from one base are merged by the rule, whoever comes first."""
    lines = [f"line {n}" for n in range(9)]
    _apply(here, "one", "\n".join(lines))
    first = _propose(here, "one", "\n".join(["top", *lines]))
    second = _propose(here, "one", "\n".join([*lines, "bottom"]))
    here.apply(first, by=ANN)
    here.apply(second, by=ANN)
    assert "\n".join(["top", *lines, "bottom"]) in _text(here)
    assert audit.verify(here).findings == ()


def test_conflict_is_settled(here: Memory) -> None:
    """A conflict is refused with both sides, and once it is settled it is applied."""
    _apply(here, "one", "base")
    first, second = _propose(here, "one", "ours"), _propose(here, "one", "theirs")
    here.apply(first, by=ANN)
    with pytest.raises(ConflictError):
        here.apply(second, by=ANN)
    (open_,) = here.unsettled(second)
    assert "ours" in (open_.approved or "")
    assert "theirs" in (open_.proposed or "")
    here.settle(second, {"one": b"---\ntype: convention\n---\n\nboth\n"}, by=ANN)
    here.apply(second, by=ANN)
    assert "both" in _text(here)
    assert audit.verify(here).findings == ()


def test_expected_digest(here: Memory) -> None:
    """What was seen binds: another content or approved text is stale, and so is another commit."""
    _apply(here, "one", "base")
    id_ = _propose(here, "one", "new")
    seen = here.candidate(id_)
    here.edit(id_, {"one": b"---\ntype: convention\n---\n\nnewer\n"}, by=ANN)
    for expect in (seen.digest, seen.commit, "0" * 64):
        with pytest.raises(ConflictError) as raised:
            here.apply(id_, by=ANN, expect=expect)
        assert raised.value.reference == "stale"
    here.apply(id_, by=ANN, expect=here.candidate(id_).digest)


def test_other_files_are_part_of_the_digest(here: Memory, run_git: RunGit) -> None:
    """A customary file that changes after a candidate was seen makes it stale."""
    id_ = _propose(here, "one", "new")
    folder = _folder(here)
    seen = here.candidate(id_).digest
    run_git("switch", "--quiet", f"memory/candidate/{id_}", cwd=folder)
    (folder / "README.md").write_text("Read me.\n")
    run_git("add", ".", cwd=folder)
    run_git("commit", "--quiet", "--no-verify", "-m", "memory: edit", cwd=folder)
    run_git("switch", "--quiet", "memory/main", cwd=folder)
    here.candidate(id_)
    assert here.candidate(id_).digest != seen
    here.apply(id_, by=ANN)
    assert (folder / "README.md").read_text() == "Read me.\n"


def test_two_decide_at_once(here: Memory, project: Path) -> None:
    """Candidates that several apply at once all land."""
    ids = [_propose(here, f"e{n}", f"Text {n}.") for n in range(4)]
    faults: list[BaseException] = []

    def decide(id_: str) -> None:
        try:
            open_memory(project).apply(id_, by=ANN)
        except GitmemError as error:
            faults.append(error)

    threads = [threading.Thread(target=decide, args=(id_,)) for id_ in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert all(f"Text {n}." in _text(here) for n in range(4))


def test_branch_goes_and_commits_stay(here: Memory, run_git: RunGit) -> None:
    """An applied candidate leaves no branch and no anchor; its commit is the second parent."""
    id_ = _propose(here, "one", "new")
    tip = here.candidate(id_).commit
    decision = here.apply(id_, by=ANN)
    git_dir = here.store("project").place.git_dir
    assert refs.listed(git_dir, layout.CANDIDATES, layout.KEPT) == {}
    assert run_git("rev-parse", f"{decision.commit}^2", cwd=_folder(here)) == tip
    assert here.candidate(id_).state == "applied"


# -- discard, reopen, revert -------------------------------------------------------------------


def test_reopened_and_edited_is_pending_alone(here: Memory) -> None:
    """A discarded candidate that was reopened and edited is pending, and once discarded, once."""
    id_ = _propose(here, "one", "new")
    here.discard(id_, by=ANN, reason="no")
    reopen(here, id_, by=ANN)
    here.edit(id_, {"one": b"---\ntype: convention\n---\n\nnewer\n"}, by=ANN)
    assert [item.state for item in here.candidates("pending", "discarded")] == ["pending"]
    here.discard(id_, by=ANN, reason="still no")
    (closed,) = here.candidates("pending", "discarded", "withdrawn")
    assert (closed.state, closed.reason) == ("discarded", "still no")
    assert audit.verify(here).findings == ()


def test_deleted_branch_is_withdrawn(here: Memory, run_git: RunGit) -> None:
    """A branch that plain git deletes leaves a withdrawn candidate, which can be taken up again."""
    id_ = _propose(here, "one", "new")
    run_git("branch", "--quiet", "-D", f"memory/candidate/{id_}", cwd=_folder(here))
    assert here.candidate(id_).state == "withdrawn"
    reopen(here, id_, by=ANN)
    assert here.candidate(id_).state == "pending"


def test_revert_and_its_revert(here: Memory) -> None:
    """An apply is reverted once; the revert of the revert applies it again."""
    id_ = _apply(here, "one", "new").candidate or ""
    undone = here.revert(id_, by=ANN, reason="no")
    assert (here.candidate(id_).state, _text(here)) == ("reverted", "")
    with pytest.raises(ConflictError):
        here.revert(id_, by=ANN)
    here.revert(undone.commit, by=ANN)
    assert here.candidate(id_).state == "applied"
    assert "new" in _text(here)
    assert audit.verify(here).findings == ()


def test_revert_by_plain_git(here: Memory, run_git: RunGit) -> None:
    """`git revert -m 1` is a revert."""
    done = _apply(here, "one", "new")
    run_git("revert", "--no-edit", "-m", "1", done.commit, cwd=_folder(here))
    assert here.candidate(done.candidate or "").state == "reverted"
    assert _text(here) == ""


def test_texts_that_no_commit_says(here: Memory) -> None:
    """A reason with a NUL or half a surrogate pair is refused, and nothing is decided."""
    id_ = _propose(here, "one", "new")
    for reason in ("a\0b", "half \udcff"):
        with pytest.raises(BadInputError):
            here.discard(id_, by=ANN, reason=reason)
        with pytest.raises(BadInputError):
            here.revert(id_, by=ANN, reason=reason)
    assert here.candidate(id_).state == "pending"


# -- what plain git leaves ---------------------------------------------------------------------


@pytest.mark.parametrize("way", ["adopt", "revert"])
def test_unreviewed_commit_has_a_way_out(here: Memory, run_git: RunGit, way: str) -> None:
    """An unreviewed commit is named by `verify`, and either way out leaves it content."""
    _apply(here, "one", "approved")
    commit = _commit(here, run_git, "one", "slipped in")
    assert "slipped in" not in _text(here)
    (finding,) = audit.verify(here).findings
    assert (finding.kind, finding.commit) == ("unreviewed", commit)
    if way == "adopt":
        (made,) = adopt(here, [commit], by=ANN)
        here.apply(made.candidate, by=ANN)
    else:
        here.revert(commit, by=ANN)
    assert audit.verify(here).findings == ()
    assert ("slipped in" in _text(here)) == (way == "adopt")


def test_unreadable_candidate_refs_stop_nothing(here: Memory, run_git: RunGit) -> None:
    """A ref that can be no candidate is a finding, and all others go on."""
    store = here.store("project")
    blob = store.objects.write_blob(b"no commit").id
    git_dir = store.place.git_dir
    run_git("update-ref", f"{layout.KEPT}x", blob, cwd=git_dir)
    (git_dir / layout.CANDIDATES).mkdir(parents=True, exist_ok=True)
    (git_dir / layout.CANDIDATES / "y").write_text("1" * 40 + "\n")
    id_ = _propose(here, "one", "new")
    assert {item.id: item.broken is None for item in here.candidates()} == {"y": False, id_: True}
    here.apply(id_, by=ANN)
    assert [event.kind for _, event in here.log()][-1] == "memory.updated"
    assert {finding.kind for finding in audit.verify(here).findings} == {"broken-record"}


def test_head_of_a_remote_is_no_error(here: Memory, run_git: RunGit) -> None:
    """The symbolic ref that git makes for a remote's main branch stops nothing."""
    git_dir = here.store("project").place.git_dir
    run_git(
        "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/memory/main", cwd=git_dir
    )
    id_ = _propose(here, "one", "new")
    assert [item.id for item in here.candidates()] == [id_]


def test_unreviewed_first_commit_can_be_adopted(here: Memory, run_git: RunGit) -> None:
    """Entries in the very first commit are no dead end: adopted and applied, they count."""
    store = here.store("project")
    blob = store.objects.write_blob(b"---\ntype: fact\n---\n\nfrom the start\n")
    tree = store.objects.write_tree(layout.EMPTY_TREE, {"one.md": blob})
    root = store.objects.write_commit(tree, [], "begin\n", ANN)
    run_git("reset", "--quiet", "--hard", root, cwd=_folder(here))
    assert _text(here) == ""
    (made,) = adopt(here, [root], by=ANN)
    here.apply(made.candidate, by=ANN)
    assert "from the start" in _text(here)
    assert [item.kind for item in audit.verify(here).findings] == []


def test_unknown_and_ambiguous_names(here: Memory) -> None:
    """An unknown id is not found; a part that fits two is ambiguous."""
    _propose(here, "one", "1")
    _propose(here, "two", "2")
    with pytest.raises(NotFoundError):
        here.apply("nothing", by=ANN)
    with pytest.raises(BadInputError):
        here.apply("cand_", by=ANN)
    with pytest.raises((NotFoundError, RefusedError)):
        here.revert("0000000", by=ANN)
