"""How memory stands: the queue, what a remote has not, the drop box and the findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitmem import review, status
from gitmem.memory import Draft, Memory, open_memory


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with memory."""
    return open_memory(project)


def propose(memory: Memory, key: str, body: str = "A rule.") -> str:
    return memory.propose(Draft(key, body, "fact"), rationale="why").id


def project_of(memory: Memory) -> status.Standing:
    return status.status(memory, scope="project").tiers[0]


def test_the_queue(memory: Memory) -> None:
    """It is that of the review, with its numbers."""
    propose(memory, "a")
    memory.apply(propose(memory, "b"), by=memory.person())
    memory.propose(Draft("b", delete=True), rationale="why")

    found = project_of(memory)

    assert found.queue == review.queue(memory, scope="project").items
    assert (found.waiting.count, found.waiting.risky, found.unpushed) == (2, 1, {})


def test_what_is_done_with(memory: Memory) -> None:
    """It is told apart from what waits."""
    by = memory.person()
    first = propose(memory, "a")
    both = memory.propose(
        Draft("a", "A rule.", "fact"), Draft("b", "A rule.", "fact"), rationale="why"
    ).id
    memory.apply(first, by=by)
    memory.apply(propose(memory, "b"), by=by)

    found = project_of(memory)

    assert (found.waiting.count, found.done) == (0, (both,))


def test_what_is_not_pushed(memory: Memory, run_git: Any, tmp_path: Path) -> None:
    """Decisions since what was last seen of a remote; a proposal is none."""
    git_dir, by = memory.store("project").place.git_dir, memory.person()
    run_git("init", "-q", "--bare", "team.git", cwd=tmp_path)
    run_git("push", "-q", tmp_path / "team.git", "memory/main", cwd=git_dir)
    first = propose(memory, "a")
    memory.apply(first, by=by)
    memory.revert(first, by=by)
    assert project_of(memory).unpushed == {}

    seen = run_git("rev-parse", "memory/main~2", cwd=git_dir)
    run_git("update-ref", "refs/remotes/team/memory/main", seen, cwd=git_dir)
    assert project_of(memory).unpushed == {"team": 2}

    run_git("update-ref", "refs/remotes/team/memory/main", "memory/main", cwd=git_dir)
    propose(memory, "b")
    assert project_of(memory).unpushed == {"team": 0}


def test_findings_and_the_drop_box(memory: Memory, run_git: Any) -> None:
    """What verify finds, and what lies in the drop box, whole or broken."""
    folder = memory.store("project").place.folder
    assert folder is not None
    (folder / "odd.txt").write_text("odd", encoding="utf-8")
    run_git("add", ".", cwd=folder)
    run_git("commit", "-qnm", "odd", cwd=folder)
    box = folder.parent / "candidates"
    box.mkdir(exist_ok=True)
    (box / "x.md").write_text("nothing", encoding="utf-8")

    found = status.status(memory)

    assert [one.kind for one in found.findings] == ["not-an-entry"]
    assert [one.path.name for one in found.dropped] == ["x.md"]
    assert status.status(memory, scope="user").dropped == ()


def test_looking_changes_nothing(memory: Memory, run_git: Any) -> None:
    """No ref and no object is made by a look."""
    propose(memory, "a")
    git_dir = memory.store("project").place.git_dir

    def seen() -> tuple[str, str]:
        return run_git("show-ref", cwd=git_dir), run_git("count-objects", "-v", cwd=git_dir)

    before = seen()
    status.status(memory)
    assert seen() == before
