"""Tests for the way back: adopt, adopt of edits, reopen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import adoption, audit
from gitmem.errors import ConflictError, NotFoundError, RefusedError
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.context import Options

RunGit = Callable[..., str]


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project's memory with one approved entry, `good`."""
    found = open_memory(project)
    found.add(Draft("good", "Approved.", "fact"), by=found.person())
    return found


@pytest.fixture
def commit_directly(memory: Memory, run_git: RunGit) -> Callable[[str, str], str]:
    """Writes a body into an entry's file and commits it past the hooks; gives the commit."""
    folder = memory.path / ".custom-agent" / "memory"

    def commit(key: str, body: str) -> str:
        text = f"---\ntype: fact\n---\n\n{body}\n"
        (folder / f"{key}.md").write_text(text, encoding="utf-8")
        run_git("add", f"{key}.md", cwd=folder)
        run_git("commit", "-q", "--no-verify", "-m", f"wrote {key}", cwd=folder)
        return run_git("rev-parse", "HEAD", cwd=folder)

    return commit


def _context(memory: Memory) -> str:
    return open_memory(memory.path).context(Options()).context.text


def _findings(memory: Memory) -> list[str]:
    return [finding.kind for finding in audit.verify(open_memory(memory.path)).findings]


def test_adopt_an_unreviewed_commit(
    memory: Memory, commit_directly: Callable[[str, str], str]
) -> None:
    """A candidate whose diff shows all of it; applied, the report is content."""
    commit = commit_directly("good", "Slipped in.")
    commit_directly("other", "Also slipped in.")
    (adopted,) = adoption.adopt(memory, [commit[:10]], by=memory.person())
    found = memory.candidate(adopted.candidate)

    assert (adopted.entries, adopted.origin) == (("mem_good",), commit)
    assert found.rationale == (
        f"Adopted from commit {commit}, which nobody reviewed:\n\nwrote good"
    )
    assert [(item.id, item.grounded) for item in found.entries] == [("mem_good", True)]
    assert _context(memory) == "[memory:project:fact]\nApproved.\n"
    memory.apply(found.id, by=memory.person())
    assert _context(memory) == "[memory:project:fact]\nSlipped in.\n"
    assert _findings(memory) == ["unreviewed"]


def test_adopt_a_range(memory: Memory, commit_directly: Callable[[str, str], str]) -> None:
    """One candidate of all that is unreviewed since a commit, as the last one left it."""
    before = memory.store("project").main()
    commit_directly("good", "Slipped in.")
    commit_directly("other", "Also slipped in.")
    last = commit_directly("good", "Slipped in, and changed.")
    (adopted,) = adoption.adopt(memory, [f"{before[:10]}..{last[:10]}"], by=memory.person())
    found = memory.candidate(adopted.candidate)

    assert (adopted.entries, adopted.origin) == (("mem_good", "mem_other"), last)
    assert found.rationale == (
        "Adopted from 3 commits, which nobody reviewed:\n\nwrote good\n\nwrote other\n\nwrote good"
    )
    memory.apply(found.id, by=memory.person())
    assert {entry.body for entry in memory.entries("project")} == {
        "Also slipped in.",
        "Slipped in, and changed.",
    }
    assert _findings(memory) == []
    with pytest.raises(NotFoundError, match="no entry was changed without approval between"):
        adoption.adopt(memory, [f"{last}..{last}"], by=memory.person())


def test_what_was_put_right_is_not_adopted(
    memory: Memory, commit_directly: Callable[[str, str], str]
) -> None:
    """A range's candidate holds just what is still unreviewed at its end."""
    before = memory.store("project").main()
    commit = commit_directly("good", "Slipped in.")
    commit_directly("other", "Also slipped in.")
    memory.revert(commit, by=memory.person())
    range_ = f"{before}..{memory.store('project').main()}"
    (adopted,) = adoption.adopt(memory, [range_], by=memory.person())

    assert adopted.entries == ("mem_other",)


def test_revert_an_unreviewed_commit(
    memory: Memory, commit_directly: Callable[[str, str], str]
) -> None:
    """The other thing that a person can want: the file is as approved, nothing is left open."""
    commit = commit_directly("good", "Slipped in.")
    memory.revert(commit, by=memory.person())

    assert _context(memory) == "[memory:project:fact]\nApproved.\n"
    assert _findings(memory) == []


def test_adopt_a_candidate_on_unreviewed_content(
    memory: Memory, commit_directly: Callable[[str, str], str], run_git: RunGit
) -> None:
    """It is refused as it is; made anew below, it shows all, and the old one is superseded."""
    commit_directly("good", "Slipped in.")
    folder = memory.path / ".custom-agent" / "memory"
    run_git("switch", "-q", "-c", "memory/candidate/upon", cwd=folder)
    commit_directly("good", "Slipped in, and more.")
    run_git("switch", "-q", "memory/main", cwd=folder)
    with pytest.raises(RefusedError, match="that nobody approved") as error:
        memory.apply("upon", by=memory.person())
    assert error.value.hint == "gitmem adopt upon shows all of it as a candidate"

    (adopted,) = adoption.adopt(memory, ["upon"], by=memory.person())
    old = memory.candidate("upon")
    memory.apply(adopted.candidate, by=memory.person())

    assert (old.state, old.superseded_by) == ("superseded", adopted.candidate)
    assert _context(memory) == "[memory:project:fact]\nSlipped in, and more.\n"
    assert _findings(memory) == []


def test_adopt_a_candidate_that_main_was_moved_onto(memory: Memory, run_git: RunGit) -> None:
    """A fast-forward has approved nothing: its content waits again, and its branch is gone."""
    id_ = memory.propose(Draft("new", "New.", "fact"), rationale="why").id
    folder = memory.path / ".custom-agent" / "memory"
    run_git("merge", "-q", "--ff", "--ff-only", f"memory/candidate/{id_}", cwd=folder)
    assert _findings(memory) == ["unreviewed"]

    (adopted,) = adoption.adopt(memory, [id_], by=memory.person())
    found = memory.candidate(adopted.candidate)
    memory.apply(found.id, by=memory.person())

    assert (found.rationale, found.actor) == ("why", "agent")
    assert [item.id for item in memory.candidates()] == []
    assert "New." in _context(memory)
    assert _findings(memory) == []


@pytest.mark.parametrize("name", ["nothing", "good", "nothing..more", "a..b..c", ".."])
def test_nothing_to_adopt(memory: Memory, name: str) -> None:
    """An unknown name, or a candidate or commit that stands on approved content alone."""
    named = memory.store("project").main() if name == "good" else name
    with pytest.raises(NotFoundError) as error:
        adoption.adopt(memory, [named], by=memory.person())
    assert error.value.reference == "nothing-to-adopt"


def test_adopt_edits(memory: Memory) -> None:
    """An edited and a new file become a candidate, and the folder is as approved again."""
    folder = memory.path / ".custom-agent" / "memory"
    approved = (folder / "good.md").read_bytes()
    (folder / "good.md").write_bytes(approved.replace(b"Approved.", b"By hand."))
    (folder / "new.md").write_text("---\ntype: fact\n---\n\nNew.\n", encoding="utf-8")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")

    (adopted,) = adoption.adopt_edits(memory, by=memory.person())

    assert sorted(adopted.entries) == ["mem_good", "mem_new"]
    assert (folder / "good.md").read_bytes() == approved
    assert sorted(path.name for path in folder.glob("[a-z]*")) == ["good.md", "notes.txt"]
    memory.apply(adopted.candidate, by=memory.person())
    assert {entry.body for entry in memory.entries("project")} == {"By hand.", "New."}


def test_adopt_a_deleted_file(memory: Memory) -> None:
    """A file that was deleted by hand is a proposed deletion, and is there again."""
    folder = memory.path / ".custom-agent" / "memory"
    (folder / "good.md").unlink()

    (adopted,) = adoption.adopt_edits(memory, by=memory.person())

    assert memory.candidate(adopted.candidate).entries[0].content is None
    assert (folder / "good.md").exists()


def test_what_is_no_file_of_an_entry_is_left_out(memory: Memory) -> None:
    """A folder in a file's place and a name that is no UTF-8 stop nothing, and stay as they are."""
    folder = memory.path / ".custom-agent" / "memory"
    (folder / "good.md").unlink()
    (folder / "good.md").mkdir()
    (folder / "good.md" / "inner").write_text("mine")
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md"))
    odd.write_text("mine")
    (folder / "new.md").write_text("---\ntype: fact\n---\n\nNew.\n", encoding="utf-8")

    (adopted,) = adoption.adopt_edits(memory, by=memory.person())

    assert adopted.entries == ("mem_new",)
    assert odd.read_text() == (folder / "good.md" / "inner").read_text() == "mine"


def test_no_edits(memory: Memory) -> None:
    """A folder as it should be has nothing to adopt."""
    with pytest.raises(NotFoundError, match="no memory folder has uncommitted edits"):
        adoption.adopt_edits(memory, by=memory.person())


def _discarded(memory: Memory) -> str:
    id_ = memory.propose(Draft("x", "X.", "fact"), rationale="why").id
    memory.discard(id_, by=memory.person())
    return id_


def _reverted(memory: Memory) -> str:
    id_ = memory.propose(Draft("x", "X.", "fact"), rationale="why").id
    memory.apply(id_, by=memory.person())
    memory.revert(id_, by=memory.person())
    return id_


@pytest.mark.parametrize("close", [_discarded, _reverted])
def test_reopen(memory: Memory, close: Callable[[Memory], str]) -> None:
    """Under its own id, on today's memory; applied it counts as any other."""
    id_ = close(memory)
    closed = memory.candidate(id_)
    memory.add(Draft("meanwhile", "M.", "fact"), by=memory.person())
    adoption.reopen(memory, id_, by=memory.person())
    found = memory.candidate(id_)

    assert closed.state in ("discarded", "reverted")
    assert (found.state, found.rationale) == ("pending", "why")
    assert found.base == memory.store("project").main()
    assert [event.kind for _, event in memory.log(candidate=id_)][-1] == "candidate.reopened"
    memory.apply(id_, by=memory.person())
    assert memory.candidate(id_).state == "applied"
    assert "X." in _context(memory)
    assert _findings(memory) == []


def test_reopened_and_discarded_again(memory: Memory) -> None:
    """Two tags keep both; the last one says why."""
    id_ = _discarded(memory)
    adoption.reopen(memory, id_, by=memory.person())
    memory.discard(id_, by=memory.person(), reason="still no")
    repository = memory.store("project").place.git_dir
    tags = list((repository / "refs" / "tags" / "memory" / "discarded").iterdir())

    assert len(tags) == 2
    found = memory.candidate(id_)
    assert (found.state, found.reason) == ("discarded", "still no")
    kinds = [event.kind for _, event in memory.log(candidate=id_)]
    assert kinds.count("candidate.discarded") == 2
    assert kinds.count("candidate.reopened") == 1


def test_an_open_one_can_not_be_reopened(memory: Memory) -> None:
    """It says what it is."""
    id_ = memory.propose(Draft("x", "X.", "fact"), rationale="why").id
    with pytest.raises(ConflictError, match="is pending"):
        adoption.reopen(memory, id_, by=memory.person())


def test_reopen_where_the_entry_has_moved_on(memory: Memory) -> None:
    """The candidate's change comes on top of what others approved meanwhile."""
    person = memory.person()
    memory.add(Draft("x", "one\n\ntwo\n\nthree", "fact"), by=person)
    id_ = memory.propose(Draft("x", "ONE\n\ntwo\n\nthree"), rationale="why").id
    memory.discard(id_, by=person)
    memory.add(Draft("x", "one\n\ntwo\n\nTHREE"), by=person)

    adoption.reopen(memory, id_, by=person)
    memory.apply(id_, by=person)

    assert "ONE\n\ntwo\n\nTHREE" in _context(memory)
