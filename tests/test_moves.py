"""Each move with gitmem and with plain git: the same memory, the same states, the same log."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitmem import adoption, clock
from gitmem.git import refs
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.context import Options

RunGit = Callable[..., str]
THREE = "one\n\ntwo\n\nthree"


@dataclass
class Both:
    """A project in which one and the same has been prepared: `cand_x` waits, `old` is approved."""

    memory: Memory
    folder: Path
    git: Callable[..., str]
    candidate: str

    def again(self) -> Memory:
        """The memory, read afresh."""
        return open_memory(self.memory.path)


def _gitmem_apply(at: Both) -> None:
    at.memory.apply(at.candidate, by=at.memory.person())


def _plain_apply(at: Both) -> None:
    at.git("merge", "-q", "--no-ff", "--no-edit", f"memory/candidate/{at.candidate}")


def _plain_branch_off(at: Both) -> None:
    at.git("branch", "-q", "-D", f"memory/candidate/{at.candidate}")


def _gitmem_revert(at: Both) -> None:
    _gitmem_apply(at)
    at.memory.revert(at.candidate, by=at.memory.person())


def _plain_revert(at: Both) -> None:
    _plain_apply(at)
    at.git("revert", "-m", "1", "--no-edit", "HEAD")


def _gitmem_revert_twice(at: Both) -> None:
    _gitmem_apply(at)
    decision = at.memory.revert(at.candidate, by=at.memory.person())
    at.memory.revert(decision.commit, by=at.memory.person())


def _plain_revert_twice(at: Both) -> None:
    _plain_revert(at)
    at.git("revert", "--no-edit", "HEAD")


def _gitmem_edit(at: Both) -> None:
    text = b"---\ntype: fact\n---\n\nedited\n"
    at.memory.edit(at.candidate, {"new": text}, by=at.memory.person())
    _gitmem_apply(at)


def _plain_edit(at: Both) -> None:
    at.git("switch", "-q", f"memory/candidate/{at.candidate}")
    (at.folder / "new.md").write_text("---\ntype: fact\n---\n\nedited\n", encoding="utf-8")
    at.git("commit", "-q", "-am", "better")
    at.git("switch", "-q", "memory/main")
    _plain_apply(at)


def _gitmem_discard(at: Both) -> None:
    at.memory.discard(at.candidate, by=at.memory.person(), reason="no")


def _plain_discard(at: Both) -> None:
    at.git("switch", "-q", f"memory/candidate/{at.candidate}")
    at.git("commit", "-q", "--allow-empty", "-m", "discard\n\nno")
    tip = at.git("rev-parse", "HEAD")
    at.git("tag", "-a", "-m", "no", f"memory/discarded/{at.candidate}.{tip[:8]}")
    at.git("switch", "-q", "memory/main")
    _plain_branch_off(at)


def _gitmem_delete(at: Both) -> None:
    outcome = at.memory.propose(Draft("old", delete=True), rationale="gone")
    at.memory.apply(outcome.id, by=at.memory.person())


def _plain_delete(at: Both) -> None:
    at.git("switch", "-q", "-c", "memory/candidate/gone")
    at.git("rm", "-q", "old.md")
    at.git("commit", "-q", "-m", "gone")
    at.git("switch", "-q", "memory/main")
    at.git("merge", "-q", "--no-ff", "--no-edit", "memory/candidate/gone")


def _gitmem_settle(at: Both) -> None:
    one = at.memory.propose(Draft("old", "mine"), rationale="I say")
    other = at.memory.propose(Draft("old", "yours"), rationale="you say")
    me = at.memory.person()
    at.memory.apply(one.id, by=me)
    text = b"---\ntype: fact\n---\n\nours\n"
    at.memory.settle(other.id, {"old": text}, by=me)
    at.memory.apply(other.id, by=me)


def _plain_settle(at: Both) -> None:
    for name, body in (("mine", "mine"), ("yours", "yours")):
        at.git("switch", "-q", "-c", f"memory/candidate/{name}", "memory/main")
        file = at.folder / "old.md"
        head = file.read_text(encoding="utf-8").rpartition("---\n")[0]
        file.write_text(f"{head}---\n\n{body}\n", encoding="utf-8")
        at.git("commit", "-q", "-am", f"{name} say")
    at.git("switch", "-q", "memory/main")
    at.git("merge", "-q", "--no-ff", "--no-edit", "memory/candidate/mine")
    with pytest.raises(AssertionError, match="exit code 1"):
        at.git("merge", "-q", "--no-ff", "--no-edit", "memory/candidate/yours")
    (at.folder / "old.md").write_text("---\ntype: fact\n---\n\nours\n", encoding="utf-8")
    at.git("commit", "-q", "-a", "--no-edit")


MOVES: dict[str, tuple[Callable[[Both], None], Callable[[Both], None]]] = {
    "apply": (_gitmem_apply, _plain_apply),
    "edit, then apply": (_gitmem_edit, _plain_edit),
    "revert": (_gitmem_revert, _plain_revert),
    "revert of the revert": (_gitmem_revert_twice, _plain_revert_twice),
    "discard": (_gitmem_discard, _plain_discard),
    "delete an entry": (_gitmem_delete, _plain_delete),
    "settle a conflict": (_gitmem_settle, _plain_settle),
}


@pytest.fixture
def prepared(
    project: Path, tmp_path: Path, run_git: RunGit, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Both]:
    """Gives a copy of the prepared project under a name."""
    monkeypatch.setattr(clock, "now", lambda: 1_780_000_000)
    memory = open_memory(project)
    memory.add(Draft("old", THREE, "fact"), by=memory.person())
    waiting = memory.propose(Draft("new", "a fact", "fact"), rationale="why").id

    def copy(name: str) -> Both:
        place = shutil.copytree(project, tmp_path / name, symlinks=True)
        folder = place / ".custom-agent" / "memory"
        found = open_memory(place)

        def git(*args: str) -> str:
            return run_git(*args, cwd=folder)

        return Both(found, folder, git, waiting)

    return copy


def _story(at: Both) -> tuple[str, list[str], list[tuple[str, str | None]]]:
    """What a context shows, the states of all candidates, and the log without names and commits."""
    memory = at.again()
    states = [
        found.state
        for found in memory.candidates(
            "pending", "applied", "reverted", "discarded", "superseded", "withdrawn"
        )
    ]
    events = [(event.kind, event.key) for _, event in memory.log(scope="project")]
    return memory.context(Options()).context.text, sorted(states), sorted(events, key=str)


@pytest.mark.parametrize("name", MOVES)
def test_each_move_both_ways(name: str, prepared: Callable[[str], Both]) -> None:
    """What is read afterwards is the same."""
    with_gitmem, by_hand = prepared("with-gitmem"), prepared("by-hand")
    MOVES[name][0](with_gitmem)
    MOVES[name][1](by_hand)

    if name == "settle a conflict":
        # By hand the conflict is settled in the merge itself, without a further commit before.
        text, states, events = _story(with_gitmem)
        events.remove(("candidate.edited", None))
        assert (text, states, events) == _story(by_hand)
    else:
        assert _story(with_gitmem) == _story(by_hand)


def test_a_branch_that_is_deleted_loses_nothing(prepared: Callable[[str], Both]) -> None:
    """The anchor keeps an undecided candidate, which is withdrawn then and can be reopened."""
    at = prepared("deleted")
    _plain_branch_off(at)
    at.git("gc", "-q", "--prune=now")

    assert at.again().candidate(at.candidate).state == "withdrawn"
    adoption.reopen(at.again(), at.candidate, by=at.memory.person())
    assert at.again().candidate(at.candidate).state == "pending"


@pytest.mark.parametrize("how", ["amend", "rebase", "merge main in", "stack"])
def test_a_candidate_that_moves(how: str, prepared: Callable[[str], Both]) -> None:
    """Amended, rebased, with main merged in, or below another: it is applied all the same."""
    at = prepared("moved")
    branch = f"memory/candidate/{at.candidate}"
    at.memory.add(Draft("meanwhile", "another fact", "fact"), by=at.memory.person())
    at.git("switch", "-q", branch)
    if how == "amend":
        at.git("commit", "-q", "--amend", "-m", "said in other words")
    elif how == "rebase":
        at.git("rebase", "-q", "memory/main")
    elif how == "merge main in":
        at.git("merge", "-q", "--no-edit", "memory/main")
    else:
        at.git("switch", "-q", "-c", "memory/candidate/above")
        (at.folder / "above.md").write_text("---\ntype: fact\n---\n\nmore\n", encoding="utf-8")
        at.git("add", "above.md")
        at.git("commit", "-q", "-m", "more")
        branch = "memory/candidate/above"
    at.git("switch", "-q", "memory/main")
    at.git("merge", "-q", "--no-ff", "--no-edit", branch)
    memory = at.again()

    assert memory.candidate(at.candidate).state == "applied"
    text = memory.context(Options()).context.text
    assert "a fact" in text
    assert ("more" in text) == (how == "stack")
    assert [event.kind for _, event in memory.log() if event.kind == "memory.unreviewed"] == []


def test_an_octopus(prepared: Callable[[str], Both]) -> None:
    """Two candidates in one merge are both applied."""
    at = prepared("octopus")
    other = at.memory.propose(Draft("third", "a third fact", "fact"), rationale="why").id
    at.git(
        "merge",
        "-q",
        "--no-ff",
        "--no-edit",
        f"memory/candidate/{at.candidate}",
        f"memory/candidate/{other}",
    )
    memory = at.again()

    assert [memory.candidate(id_).state for id_ in (at.candidate, other)] == ["applied"] * 2


def test_a_clone_without_gitmem(
    prepared: Callable[[str], Both], tmp_path: Path, run_git: RunGit
) -> None:
    """Merged there from a remote-tracking branch, and fetched: approved here."""
    at = prepared("origin")
    clone = tmp_path / "plain-clone"
    repository = at.memory.path / ".git" / "gitmem" / "memory.git"
    run_git("clone", "-q", "--branch", "memory/main", str(repository), str(clone), cwd=tmp_path)
    run_git(
        "merge", "-q", "--no-ff", "--no-edit", f"origin/memory/candidate/{at.candidate}", cwd=clone
    )
    at.git("pull", "-q", "--ff-only", str(clone), "memory/main")
    memory = at.again()

    assert memory.candidate(at.candidate).state == "applied"
    assert "a fact" in memory.context(Options()).context.text


def test_a_pull_that_rebases_flattens_approvals(
    prepared: Callable[[str], Both], tmp_path: Path, run_git: RunGit
) -> None:
    """What `git pull --rebase` makes of merges counts no more, and is said."""
    at = prepared("flattened")
    clone = tmp_path / "plain-clone"
    repository = at.memory.path / ".git" / "gitmem" / "memory.git"
    run_git("clone", "-q", "--branch", "memory/main", str(repository), str(clone), cwd=tmp_path)
    run_git(
        "merge", "-q", "--no-ff", "--no-edit", f"origin/memory/candidate/{at.candidate}", cwd=clone
    )
    at.memory.add(Draft("meanwhile", "another fact", "fact"), by=at.memory.person())
    run_git("pull", "-q", "--rebase", "origin", "memory/main", cwd=clone)
    at.git("pull", "-q", "--ff-only", str(clone), "memory/main")
    memory = at.again()

    assert "a fact" not in memory.context(Options()).context.text
    assert [u.id for u in memory.context(Options()).unreviewed] == ["mem_new"]


def test_the_anchor_of_what_was_merged_by_hand_goes(prepared: Callable[[str], Both]) -> None:
    """The next decision takes it out: memory/main holds the commits; the branch is git's own."""
    at = prepared("anchored")
    _plain_apply(at)
    at.again().add(Draft("later", "later", "fact"), by=at.memory.person())
    repository = at.memory.path / ".git" / "gitmem" / "memory.git"

    assert refs.listed(repository, "refs/memory/kept/") == {}
    assert at.again().candidate(at.candidate).state == "applied"


def _clone(at: Both, tmp_path: Path, run_git: RunGit) -> Callable[..., str]:
    """Git in a clone of the memory repository that knows nothing of gitmem's settings."""
    clone = tmp_path / "plain-clone"
    repository = at.memory.path / ".git" / "gitmem" / "memory.git"
    run_git("clone", "-q", "--branch", "memory/main", str(repository), str(clone), cwd=tmp_path)

    def git(*args: str) -> str:
        return run_git(*args, cwd=clone)

    return git


def test_a_pull_that_merges(
    prepared: Callable[[str], Both], tmp_path: Path, run_git: RunGit
) -> None:
    """What was approved in either clone holds in both, and the log says that they met."""
    at = prepared("origin")
    git = _clone(at, tmp_path, run_git)
    git("merge", "-q", "--no-ff", "--no-edit", f"origin/memory/candidate/{at.candidate}")
    at.memory.add(Draft("meanwhile", "another fact", "fact"), by=at.memory.person())
    at.git("pull", "-q", "--no-rebase", "--no-edit", str(tmp_path / "plain-clone"), "memory/main")
    memory = at.again()
    text = memory.context(Options()).context.text
    kinds = [event.kind for _, event in memory.log(scope="project")]

    assert "a fact" in text
    assert "another fact" in text
    assert memory.candidate(at.candidate).state == "applied"
    assert kinds.count("candidate.applied") == 3
    assert kinds[-1] == "memory.synced"
    assert "memory.unreviewed" not in kinds


def test_an_octopus_in_a_clone_that_forwards(
    prepared: Callable[[str], Both], tmp_path: Path, run_git: RunGit
) -> None:
    """The first candidate is fast-forwarded there: in doubt nothing is approved."""
    at = prepared("origin")
    other = at.memory.propose(Draft("third", "a third fact", "fact"), rationale="why").id
    git = _clone(at, tmp_path, run_git)
    names = [f"memory/candidate/{id_}" for id_ in (at.candidate, other)]
    for name in names:
        git("branch", "-q", name, f"origin/{name}")
    git("merge", "-q", "--no-edit", *names)
    at.git("pull", "-q", "--ff-only", str(tmp_path / "plain-clone"), "memory/main")
    memory = at.again()

    assert git("log", "-1", "--format=%s").startswith("Merge branches 'memory/candidate/")
    assert "a fact" not in memory.context(Options()).context.text
    assert "a third fact" not in memory.context(Options()).context.text
    assert sorted(u.id for u in memory.context(Options()).unreviewed) == ["mem_new", "mem_third"]


def test_a_forge_merges_and_reverts(
    prepared: Callable[[str], Both], tmp_path: Path, run_git: RunGit
) -> None:
    """A pull request's merge is an apply; that of the revert that it offers is read commit by commit."""
    at = prepared("origin")
    git = _clone(at, tmp_path, run_git)
    branch = f"memory/candidate/{at.candidate}"
    merge = ("merge", "-q", "--no-ff", "-m")
    git(*merge, f"Merge pull request #3 from team/{branch}\n\nA title", f"origin/{branch}")
    at.git("pull", "-q", "--ff-only", str(tmp_path / "plain-clone"), "memory/main")

    assert at.again().candidate(at.candidate).state == "applied"
    assert "a fact" in at.again().context(Options()).context.text

    name = f"revert-3-{branch}"
    git("switch", "-q", "-c", name)
    git("revert", "-m", "1", "--no-edit", "HEAD")
    git("switch", "-q", "memory/main")
    git(*merge, f"Merge pull request #4 from team/{name}\n\nRevert it", name)
    at.git("pull", "-q", "--ff-only", str(tmp_path / "plain-clone"), "memory/main")
    memory = at.again()

    assert memory.candidate(at.candidate).state == "reverted"
    assert "a fact" not in memory.context(Options()).context.text
    assert memory.context(Options()).unreviewed == ()


def test_a_revert_of_an_older_apply(prepared: Callable[[str], Both]) -> None:
    """Where two candidates changed two entries, the first is taken back alone, by hand as by gitmem."""
    for name, revert in (("with-gitmem", True), ("by-hand", False)):
        at = prepared(name)
        at.memory.apply(at.candidate, by=at.memory.person())
        first = at.git("rev-parse", "HEAD")
        at.memory.add(Draft("later", "another fact", "fact"), by=at.memory.person())
        if revert:
            at.memory.revert(at.candidate, by=at.memory.person())
        else:
            at.git("revert", "-m", "1", "--no-edit", first)
        text = at.again().context(Options()).context.text

        assert at.again().candidate(at.candidate).state == "reverted"
        assert "a fact" not in text
        assert "another fact" in text
