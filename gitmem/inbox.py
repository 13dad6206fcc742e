"""How much waits for a person, in numbers: for a prompt, a start hook, and the screen of `status`.

All numbers are of candidates that can be decided, as the queue has them. What a tier's refs gave
is kept in the user's cache, so that a prompt need not read the queue each time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem import config, files, layout, trust
from gitmem.errors import BadInputError
from gitmem.git import discover, refs
from gitmem.layout import TierPlace, Tiers
from gitmem.model.rule import RULE

if TYPE_CHECKING:
    from gitmem.memory import Memory
    from gitmem.review import Item

# To be raised whenever what counts as waiting or risky changes: an older cache is not looked at.
_VERSION = 2
# Whatever a queue is read from; other branches and tags have no say.
_REFS = ("refs/heads/memory/", "refs/remotes/", layout.DISCARDED, layout.KEPT)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in some tiers.

    `risky` ones are looked at alone, `conflicts` have to be settled first, `broken` ones can only
    be edited or discarded. `oldest` is when the oldest began, in seconds since the epoch, as its
    first commit says; None where nothing waits, or none says it. `dropped` are files in the drop
    box, which become candidates when a person next decides.
    """

    count: int = 0
    risky: int = 0
    conflicts: int = 0
    broken: int = 0
    oldest: int | None = None
    dropped: int = 0

    def __add__(self, other: Waiting) -> Waiting:
        """What waits in both."""
        begun = [at for at in (self.oldest, other.oldest) if at is not None]
        return Waiting(
            self.count + other.count,
            self.risky + other.risky,
            self.conflicts + other.conflicts,
            self.broken + other.broken,
            min(begun, default=None),
            self.dropped + other.dropped,
        )


def waiting(found: Tiers, memory: Callable[[], Memory], scope: str | None = None) -> Waiting:
    """What waits in the tiers that hold somewhere; `memory` opens them where the queue must be read.

    Nothing, where no tier is set up.
    """
    places = [place for place in (found.project, found.user) if place is not None]
    total = Waiting()
    for place in places:
        if scope in (None, place.scope):
            total += _of_tier(place, memory)
    if found.project is not None and scope in (None, "project"):
        total += Waiting(dropped=_dropped(found, memory))
    return total


def _dropped(found: Tiers, memory: Callable[[], Memory]) -> int:
    boxes = [] if found.here is None else discover.drop_boxes(found.here)
    if not any(any(box.glob("*.md")) for box in boxes):
        return 0
    return sum(one.drop is not None for one in memory().dropped())


def counted(items: Iterable[Item]) -> Waiting:
    """What waits, of a queue that is read already."""
    total = Waiting()
    for item in items:
        found = item.found
        total += Waiting(
            1,
            int(bool(item.risks)),
            int(bool(found.conflicts)),
            int(found.broken is not None),
            found.created_at or None,
        )
    return total


def _of_tier(place: TierPlace, memory: Callable[[], Memory]) -> Waiting:
    mark = _mark(place)
    known = _read(place.git_dir, mark)
    if known is not None:
        return known
    from gitmem import review

    items = review.queue(memory(), scope=place.scope).items
    total = counted(items)
    # What an object was missing for is whole as soon as that comes: no ref tells.
    if all(item.found.digest for item in items):
        _write(place.git_dir, mark, total)
    return total


# -- the cache ---------------------------------------------------------------------------------


def _mark(place: TierPlace) -> str:
    """Another one whenever the queue of a tier may be another one."""
    tips = refs.listed(place.git_dir, *_REFS)
    told = [_VERSION, RULE, trust.name(place.git_dir), list(tips.items())]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _read(git_dir: Path, mark: str) -> Waiting | None:
    try:
        data = files.read_if_there(_path(git_dir))
        document = json.loads(data) if data is not None else None
        if not isinstance(document, dict) or document.get("mark") != mark:
            return None
        return _counts(document["waiting"])
    except (OSError, BadInputError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _counts(document: dict[str, Any]) -> Waiting:
    found = Waiting(**document)
    told = (found.count, found.risky, found.conflicts, found.broken, found.dropped)
    numbers = [*told, found.oldest or 0]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise TypeError("a number is none")
    return found


def _write(git_dir: Path, mark: str, found: Waiting) -> None:
    document = {"mark": mark, "waiting": asdict(found)}
    with suppress(OSError, BadInputError):
        path = _path(git_dir)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, json.dumps(document, separators=(",", ":")).encode())


def _path(git_dir: Path) -> Path:
    seen = git_dir.stat()
    return config.cache_dir() / "inbox" / f"{seen.st_dev}-{seen.st_ino}.json"
