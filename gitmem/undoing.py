"""Take back all that was applied from one session, by one actor, or since a time.

First a list, for a person to look at; then one revert for each approval, the newest first. Each
is a commit of its own, so that a kill in between leaves what is done done and the rest to be
listed again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gitmem import ids
from gitmem.errors import ConflictError, RefusedError
from gitmem.memory import Decision, Memory
from gitmem.model.candidates import Candidate
from gitmem.model.history import Person
from gitmem.store import Store


@dataclass(frozen=True, slots=True)
class Applied:
    """An approval that is in force: one commit, and what it applied.

    `at` is its committer's time, in seconds since the epoch. `others` are candidates that came
    with the ones that are meant, by the same commit: a revert takes them back as well.
    """

    tier: str
    commit: str
    at: int
    candidates: tuple[Candidate, ...]
    others: tuple[Candidate, ...] = ()

    @property
    def entries(self) -> tuple[str, ...]:
        """The ids of the entries that a revert is about."""
        found = (item.key for one in (*self.candidates, *self.others) for item in one.entries)
        return tuple(dict.fromkeys(map(ids.entry_id, found)))


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of one of them: the decision, or why it stays."""

    applied: Applied
    decision: Decision | None = None
    fault: str | None = None


def applied_from(
    memory: Memory,
    *,
    session: str | None = None,
    actor: str | None = None,
    since: int | None = None,
    scope: str | None = None,
) -> list[Applied]:
    """What is in force of a session, of an actor, or since a time (of all that is said).

    The project's first, the newest approval first.
    """
    return [
        found
        for store in memory.stores(scope)
        for found in _of_store(store, session=session, actor=actor, since=since)
    ]


def _of_store(
    store: Store, *, session: str | None, actor: str | None, since: int | None
) -> Iterable[Applied]:
    by_commit: defaultdict[str, list[Candidate]] = defaultdict(list)
    for stub in store.decided_on_main():
        if stub.state == "applied" and stub.decided is not None:
            by_commit[stub.decided].append(store.candidate(stub))
    position = store.ledger().position
    for commit in sorted(by_commit, key=lambda id_: -position[id_]):
        at = store.objects.commit(commit).committer.time
        if since is not None and at < since:
            continue
        meant = [one for one in by_commit[commit] if _is_meant(one, session, actor)]
        others = [one for one in by_commit[commit] if one not in meant]
        if meant:
            yield Applied(store.tier, commit, at, tuple(meant), tuple(others))


def _is_meant(found: Candidate, session: str | None, actor: str | None) -> bool:
    if actor is not None and found.actor != actor:
        return False
    return session is None or any(one.get("sessionId") == session for one in found.sources)


def undo(
    memory: Memory, listed: Iterable[Applied], *, by: Person, reason: str = ""
) -> list[Undone]:
    """Revert these approvals in this order; what can't be is told, and the rest is done."""
    return [_undo(memory, one, by, reason) for one in listed]


def _undo(memory: Memory, applied: Applied, by: Person, reason: str) -> Undone:
    try:
        decision = memory.revert(applied.commit, by=by, reason=reason, scope=applied.tier)
    except (ConflictError, RefusedError) as error:
        return Undone(applied, fault=f"{error.message}: {error.context or error.hint or ''}")
    return Undone(applied, decision)
