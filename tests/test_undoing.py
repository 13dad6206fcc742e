"""What came from a session, an actor or a time is taken back, approval by approval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitmem import clock, undoing
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.entries import Source
from gitmem.undoing import Applied, Undone


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with memory."""
    return open_memory(project)


def apply(
    memory: Memory, key: str, body: str = "A rule.", session: str = "s1", actor: str = "claude"
) -> str:
    made = memory.propose(
        Draft(key, body, "fact"), rationale=body, sources=[Source(session)], actor=actor
    )
    memory.apply(made.id, by=memory.person())
    return made.id


def ids(listed: list[Applied]) -> list[str]:
    return [one.id for applied in listed for one in applied.candidates]


def bodies(memory: Memory) -> dict[str, str]:
    return {entry.key: entry.body for entry in memory.entries()}


def undo(memory: Memory, **which: Any) -> list[Undone]:
    return undoing.undo(memory, undoing.applied_from(memory, **which), by=memory.person())


def test_a_session(memory: Memory) -> None:
    """What gave it as evidence goes, the newest first; what others said stays."""
    first = apply(memory, "a")
    apply(memory, "b", session="s2")
    third = apply(memory, "c")

    listed = undoing.applied_from(memory, session="s1")
    done = undo(memory, session="s1")

    assert ids(listed) == [third, first]
    assert [one.fault for one in done] == [None, None]
    assert bodies(memory) == {"b": "A rule."}
    assert undoing.applied_from(memory, session="s1") == []


def test_an_actor_and_a_tier(memory: Memory) -> None:
    """All that is said narrows it down."""
    apply(memory, "a", actor="codex")
    mine = apply(memory, "b", actor="claude")
    apply(memory, "c", session="s2", actor="claude")

    assert ids(undoing.applied_from(memory, actor="claude", session="s1")) == [mine]
    assert undoing.applied_from(memory, actor="claude", scope="user") == []


def test_since(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is that of the approval."""
    monkeypatch.setattr(clock, "now", lambda: 1_780_000_000)
    apply(memory, "a")
    monkeypatch.setattr(clock, "now", lambda: 1_780_000_100)
    late = apply(memory, "b")

    assert ids(undoing.applied_from(memory, since=1_780_000_100)) == [late]


def test_changes_on_top_of_each_other(memory: Memory) -> None:
    """Newest first, so that one does not stand in the way of the other."""
    apply(memory, "a", "One.", session="s0")
    apply(memory, "a", "Two.")
    apply(memory, "a", "Three.")

    undo(memory, session="s1")

    assert bodies(memory) == {"a": "One."}


def test_what_was_changed_since_stays(memory: Memory) -> None:
    """It is named, and the rest is done."""
    kept = apply(memory, "a", "One.")
    apply(memory, "a", "Another text altogether.", session="s2")
    apply(memory, "b")

    done = undo(memory, session="s1")

    faults = {one.applied.candidates[0].id: one.fault for one in done}
    assert faults.pop(kept) is not None
    assert set(faults.values()) == {None}
    assert bodies(memory) == {"a": "Another text altogether."}


def test_what_was_reverted_by_hand(memory: Memory) -> None:
    """It is not in force, until that revert is reverted in its turn."""
    by = memory.person()
    id_ = apply(memory, "a")
    reverted = memory.revert(id_, by=by)
    assert undoing.applied_from(memory, session="s1") == []

    memory.revert(reverted.commit, by=by)
    assert ids(undoing.applied_from(memory, session="s1")) == [id_]
    assert undo(memory, session="s1")[0].fault is None
    assert bodies(memory) == {}


def test_an_octopus(memory: Memory, run_git: Any) -> None:
    """One commit applied several: the others are named, since they go with it."""
    made = [
        memory.propose(Draft(key, key, "fact"), rationale="r", sources=[Source(f"s-{key}")]).id
        for key in ("a", "b")
    ]
    folder = memory.store("project").place.folder
    branches = [f"memory/candidate/{id_}" for id_ in made]
    run_git("merge", "-q", "--no-edit", *branches, cwd=folder)

    (found,) = undoing.applied_from(memory, session="s-a")

    assert [one.id for one in found.candidates] == made[:1]
    assert [one.id for one in found.others] == made[1:]
    assert set(found.entries) == {"mem_a", "mem_b"}
