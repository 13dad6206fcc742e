"""How much waits: the numbers agree with the queue, whatever was kept of them before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitmem import config, inbox, review
from gitmem.inbox import Waiting
from gitmem.memory import Draft, Memory, open_memory


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with memory."""
    return open_memory(project)


def waiting(memory: Memory) -> Waiting:
    """What the inbox says, held against the queue itself."""
    fresh = open_memory(memory.path)
    found = inbox.waiting(fresh.found, lambda: fresh)
    assert found == inbox.counted(review.queue(open_memory(memory.path)).items)
    return found


def propose(memory: Memory, key: str, body: str = "A rule.", kind: str = "fact") -> str:
    return memory.propose(Draft(key, body, kind), rationale="why").id


def test_nothing(memory: Memory) -> None:
    """Where nothing waits, all is nought."""
    assert waiting(memory) == Waiting()


def test_what_changes_the_numbers(memory: Memory) -> None:
    """Each proposal and decision does, though the numbers are kept."""
    by = memory.person()
    plain, never = propose(memory, "a"), propose(memory, "b", "Not this.", "forbidden")
    begun = memory.candidate(plain).created_at
    assert waiting(memory) == waiting(memory) == Waiting(2, 1, 0, 0, begun)

    memory.discard(never, by=by)
    assert waiting(memory).count == 1
    memory.apply(plain, by=by)
    assert waiting(memory) == Waiting()


def test_conflicts_and_broken(memory: Memory, run_git: Any) -> None:
    """They wait like others: a conflict can be settled, what is broken can be discarded."""
    by = memory.person()
    first, second = propose(memory, "a", "One."), propose(memory, "a", "Another.")
    memory.apply(first, by=by)
    folder = memory.store("project").place.folder
    assert folder is not None
    run_git("switch", "-qc", "memory/candidate/odd", "memory/main", cwd=folder)
    (folder / "odd.md").write_text("no entry\n", encoding="utf-8")
    run_git("add", ".", cwd=folder)
    run_git("commit", "-qnm", "odd", cwd=folder)
    run_git("switch", "-q", "memory/main", cwd=folder)

    found = waiting(memory)

    assert second in {one.id for one in memory.candidates()}
    assert (found.count, found.conflicts, found.broken) == (2, 1, 1)


def test_what_is_done_with_is_not_counted(memory: Memory) -> None:
    """What says what is approved by now can't be decided about."""
    by = memory.person()
    first = propose(memory, "a", "One.")
    memory.propose(Draft("a", "One.", "fact"), Draft("b", "Two.", "fact"), rationale="why")
    memory.apply(first, by=by)
    memory.apply(propose(memory, "b", "Two."), by=by)

    assert len(memory.candidates()) == 1
    assert waiting(memory) == Waiting()


def test_a_damaged_cache(memory: Memory) -> None:
    """It is passed over and made again."""
    propose(memory, "a")
    expected = waiting(memory)
    (kept,) = [
        file
        for file in (config.cache_dir() / "inbox").iterdir()
        if b'"count":1' in file.read_bytes()
    ]
    for text in ("", "[]", "{}", kept.read_text().replace('"count":1', '"count":-1')):
        kept.write_text(text, encoding="utf-8")

        assert waiting(memory) == expected


def test_looking_changes_nothing(memory: Memory, run_git: Any) -> None:
    """No ref and no object is made by a look."""
    propose(memory, "a")
    git_dir = memory.store("project").place.git_dir

    def seen() -> tuple[str, str]:
        return run_git("show-ref", cwd=git_dir), run_git("count-objects", "-v", cwd=git_dir)

    before = seen()
    waiting(memory)
    assert seen() == before
