"""Old candidates are closed where somebody wants that, which is no answer to what they propose."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem import adoption, clock, upkeep
from gitmem.memory import Draft, Memory, open_memory

NOW = 1_780_000_000


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with memory."""
    return open_memory(project)


def propose(memory: Memory, key: str, *, days_ago: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(clock, "now", lambda: NOW - days_ago * upkeep.DAY)
    id_ = memory.propose(Draft(key, f"{key}.", "fact"), rationale="why").id
    monkeypatch.setattr(clock, "now", lambda: NOW)
    return id_


def test_what_is_old(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest first; what is decided about or younger is not."""
    a, b, c, gone = (
        propose(memory, key, days_ago=days, monkeypatch=monkeypatch)
        for key, days in (("a", 60), ("b", 90), ("c", 59), ("d", 99))
    )
    memory.discard(gone, by=memory.person())

    assert [one.id for one in upkeep.old(memory, 60)] == [b, a]
    assert c in [one.id for one in upkeep.old(memory, 59)]


def test_expired(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is closed with its reason, can be proposed again, and reopened."""
    by = memory.person()
    id_ = propose(memory, "a", days_ago=70, monkeypatch=monkeypatch)

    (done,) = upkeep.expire(memory, upkeep.old(memory, 60), 60, by=by)

    found = memory.candidate(id_)
    assert (found.state, found.decided) == ("discarded", done.commit)
    assert found.reason == "Expired: nobody decided within 60 days."
    assert memory.propose(Draft("a", "a.", "fact"), rationale="why").made
    adoption.reopen(memory, id_, by=by)
    assert memory.candidate(id_).state == "pending"


def test_what_changed_since_it_was_listed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody looks after it: it stays."""
    by = memory.person()
    id_ = propose(memory, "a", days_ago=70, monkeypatch=monkeypatch)
    listed = upkeep.old(memory, 60)
    memory.edit(id_, {"a": b"---\ntype: fact\n---\n\nBetter.\n"}, by=by)

    (found,) = upkeep.expire(memory, listed, 60, by=by)

    assert (found.commit, found.fault) == (None, "it has changed meanwhile")
    assert memory.candidate(id_).state == "pending"
