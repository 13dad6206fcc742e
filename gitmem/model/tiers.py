"""The tiers in their order, and which of several entries with one id is in force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from gitmem.errors import BadInputError

# Read in this order; a later tier overrides an earlier one.
TIERS = ("user", "project", "session")


@dataclass(frozen=True, slots=True)
class Memory:
    """One entry in force in its tier, as a context needs it.

    `body` has LF line ends and no leading or trailing blank lines. `position` is that of the first
    approval of the present content on the approval line: higher is newer. `commit` is what
    approved it and `blob` its git blob. `sessions` are the ids in `sources` and `relatedSessions`.
    The session tier is reviewed by nobody, so it can hold no `forbidden` entry: BadInputError
    `session-forbidden`.
    """

    key: str
    id: str
    tier: str
    scope: str
    type: str
    body: str
    position: int
    commit: str
    blob: str
    sessions: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.type == "forbidden" and self.tier == "session":
            raise BadInputError(
                "session-forbidden",
                f"'{self.id}' of the session tier is of type forbidden",
                hint="propose it for the project or the user tier, where a person approves it",
            )


class Overridden(NamedTuple):
    """An entry that gave way (`loser`) and the one in force under its id (`winner`)."""

    winner: Memory
    loser: Memory


def override(memories: Iterable[Memory]) -> tuple[list[Memory], list[Overridden]]:
    """What is in force, one entry an id, and each entry that gave way; both in the order of tiers.

    An entry takes the place of one with the same id in an earlier tier, but a `forbidden` one gives
    way only to a `forbidden` one: there the later entry is the loser, whatever its tier. Each loser
    stands beside the final winner, also where a third tier decided between them. Two entries with
    one id in one tier go by position, the newer one as the later.
    """
    in_force: dict[str, Memory] = {}
    losers: list[Memory] = []
    for memory in sorted(memories, key=_reading_order):
        earlier = in_force.get(memory.id)
        if earlier is not None and earlier.type == "forbidden" and memory.type != "forbidden":
            losers.append(memory)
            continue
        if earlier is not None:
            losers.append(earlier)
        in_force[memory.id] = memory
    winners = sorted(in_force.values(), key=_reading_order)
    overridden = [
        Overridden(in_force[loser.id], loser) for loser in sorted(losers, key=_reading_order)
    ]
    return winners, overridden


def _reading_order(memory: Memory) -> tuple[int, int, str, str, str]:
    """A total order, so that the order of the input never shows."""
    return (
        TIERS.index(memory.tier),
        memory.position,
        memory.id,
        memory.key,
        memory.blob,
    )
