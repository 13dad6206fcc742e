"""What keeps a queue from rotting: what is done with is closed, and what is old where somebody wants that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitmem import clock, ids, layout, review
from gitmem.errors import ConflictError, ObjectMissingError
from gitmem.git import checkout, refs, tierrepo
from gitmem.memory import Decision, Memory, now_as
from gitmem.model import messages, trailers
from gitmem.model.candidates import Candidate
from gitmem.model.history import Content, Person
from gitmem.store import Store

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


def close_done_by(memory: Memory, decision: Decision, tier: str, *, by: Person) -> list[str]:
    """Close the candidates that say what a decision made the approved text; gives their ids.

    They are superseded, which is no rejection. Only they are read: a queue may be long.
    """
    store = memory.store(tier)
    wanted = {
        key: _Says(store, key, store.approved_content(key))
        for key in map(ids.key_of, decision.entries)
    }
    heads = refs.listed(store.place.git_dir, layout.CANDIDATES)
    names = [
        (tier, ref.removeprefix(layout.CANDIDATES))
        for ref, tip in heads.items()
        if tip not in store.ledger().inside and _may_say(store, tip, wanted.values())
    ]
    return review.close_done(memory, names, by=by)


class _Says:
    """Whether contents of an entry say what one of them says; each is read once."""

    def __init__(self, store: Store, key: str, content: Content) -> None:
        self._store, self._key = store, key
        self._text = store.said_by({key: content})
        self._known: dict[Content, bool] = {}

    def in_tree(self, tree: str) -> bool:
        content = self._store.objects.content(tree, self._key)
        if content not in self._known:
            self._known[content] = self._store.said_by({self._key: content}) == self._text
        return self._known[content]


def _may_say(store: Store, tip: str, wanted: Iterable[_Says]) -> bool:
    """Whether a commit has one of these entries as it is wanted."""
    try:
        tree = store.objects.commit(tip).tree
        return any(one.in_tree(tree) for one in wanted)
    except ObjectMissingError:
        return False
