"""What keeps a queue from rotting: old candidates are closed where somebody wants that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitmem import clock, review
from gitmem.errors import ConflictError
from gitmem.git import checkout, tierrepo
from gitmem.memory import Memory, now_as
from gitmem.model import messages, trailers
from gitmem.model.candidates import Candidate
from gitmem.model.history import Person

DAY = 86_400


@dataclass(frozen=True, slots=True)
class Expired:
    """A candidate that was closed, with its closing commit; None and a fault where it stays."""

    candidate: Candidate
    commit: str | None = None
    fault: str | None = None


def old(memory: Memory, days: int, *, scope: str | None = None) -> list[Candidate]:
    """The candidates of the queue that began at least so many days ago, the oldest first.

    How old one is says the committer's time of its first commit, which is what whoever made it
    wrote there: good for "about when". One that says nothing is not old.
    """
    limit = clock.now() - days * DAY
    items = review.queue(memory, scope=scope).items
    found = [item.found for item in items if 0 < item.found.created_at <= limit]
    return sorted(found, key=lambda one: (one.created_at, one.id))


def expire(memory: Memory, found: Iterable[Candidate], days: int, *, by: Person) -> list[Expired]:
    """Close these as nobody decided in time, if they still are what was listed.

    That is no answer: whoever proposes the same again is not refused.
    """
    return [_expire(memory, one, days, by) for one in found]


def _expire(memory: Memory, listed: Candidate, days: int, by: Person) -> Expired:
    store = memory.store(listed.tier)
    place = tierrepo.place_of(store.place)
    reason = f"Expired: nobody decided within {days} days."
    message = messages.closing("discard", listed.id, reason, [(trailers.EXPIRED, "true")])
    with checkout.deciding(place):
        found = memory.find_candidate(listed.id, scope=listed.tier)
        if found is None or (found.state, found.commit) != ("pending", listed.commit):
            return Expired(listed, fault="it has changed meanwhile")
        try:
            commit, changes = store.write_closing(found, message, now_as(by))
            checkout.move(place, changes)
        except ConflictError as error:
            return Expired(listed, fault=error.message)
    return Expired(listed, commit)
