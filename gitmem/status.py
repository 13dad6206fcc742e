"""How the memory of a place stands: what waits, what nobody else has yet, what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitmem import audit, inbox, review
from gitmem.dropbox import Dropped
from gitmem.errors import ObjectMissingError
from gitmem.findings import Finding
from gitmem.git import refs
from gitmem.inbox import Waiting
from gitmem.memory import Memory
from gitmem.review import Item
from gitmem.store import Store

_REMOTES = "refs/remotes/"
_MAIN = "/memory/main"


@dataclass(frozen=True, slots=True)
class Standing:
    """How one tier stands.

    `queue` is what waits, in the order of review; `done` are the ids of pending candidates that say
    what is approved by now, which are closed when a person next decides in a review. `unpushed` is,
    for each remote, the number of decisions on `memory/main` that it has not, as far as was last seen.
    """

    tier: str
    waiting: Waiting
    queue: tuple[Item, ...]
    done: tuple[str, ...]
    unpushed: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Status:
    """How all tiers stand, with what lies in the drop box and what `verify` finds."""

    tiers: tuple[Standing, ...]
    dropped: tuple[Dropped, ...]
    findings: tuple[Finding, ...]


def status(memory: Memory, *, scope: str | None = None) -> Status:
    """Look at it all. Nothing in the repositories changes."""
    dropped = memory.dropped() if scope != "user" else []
    tiers = [_standing(memory, store) for store in memory.stores(scope)]
    return Status(tuple(tiers), tuple(dropped), audit.verify(memory, scope=scope).findings)


def _standing(memory: Memory, store: Store) -> Standing:
    found = review.queue(memory, scope=store.tier)
    done = tuple(id_ for _, id_ in found.done)
    return Standing(store.tier, inbox.counted(found.items), found.items, done, _unpushed(store))


def _unpushed(store: Store) -> dict[str, int]:
    main = store.main()
    decided = {
        judgement.commit
        for judgement in store.ledger().line
        if judgement.applied or judgement.reverts is not None
    }
    found: dict[str, int] = {}
    for ref, tip in refs.listed(store.place.git_dir, _REMOTES).items():
        remote = ref.removeprefix(_REMOTES).removesuffix(_MAIN)
        if ref.endswith(_MAIN):
            try:
                found[remote] = len(decided.intersection(store.objects.between(main, [tip])))
            except ObjectMissingError:
                # What was fetched is not whole: verify tells.
                found[remote] = len(decided)
    return found
