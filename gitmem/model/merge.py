"""The merge rule, number 1: one entry of two sides that began at the same content.

History is judged by this rule, so that it never changes: a later rule gets the next number.

A side that equals the base gives way to the other, byte for byte. Otherwise the files are taken as
entries. `type`, each unknown key and the body merge three-way; `sources` and `relatedSessions` are
unions, ours first; `createdAt` is the older; `appliedFrom` and `appliedBy` come from the side that is
applied. What both sides changed to different things conflicts, and so does whatever is in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from gitmem.model.entries import Entry, EntryFault, parse, serialize
from gitmem.model.frontmatter import Pairs

# Steps of one comparison, after which the sides are too different to merge by lines. It counts steps
# and no time, because the same inputs must give the same result everywhere.
MAX_STEPS = 1_000_000

Side: TypeAlias = Literal["ours", "theirs"]
_Element = TypeVar("_Element", bound=Hashable)
_Field = TypeVar("_Field")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why the entry `key` can't be merged; `reason` is a clause without a final stop."""

    key: str
    reason: str


class _Disagreement(Exception):  # noqa: N818 - it never leaves this module
    """Both sides changed one thing, which the argument names, to different things."""


def merge_file(
    key: str,
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    *,
    tier: str,
    applied: Side = "theirs",
) -> bytes | Conflict | None:
    """Merge the file of the entry `key` in `tier`; None stands for a file that is not there.

    `applied` is the side whose `appliedFrom` and `appliedBy` stay: what a candidate brings, or, on
    a revert, the content that comes back. The result is one side as it is, or canonical.
    """
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    if ours is None:
        return Conflict(key, "deleted here, changed there")
    if theirs is None:
        return Conflict(key, "changed here, deleted there")
    try:
        began = None if base is None else _parsed(key, base, tier, "the common base")
        here = _parsed(key, ours, tier, "this side")
        there = _parsed(key, theirs, tier, "the other side")
        return serialize(_merged(began, here, there, applied))
    except _Disagreement as disagreement:
        return Conflict(key, str(disagreement))
    except EntryFault as fault:
        return Conflict(key, f"the merged file would be no entry: {fault.what}")


def _parsed(key: str, data: bytes, tier: str, side: str) -> Entry:
    try:
        return parse(key, data, tier=tier)
    except EntryFault as fault:
        raise _Disagreement(f"{side} is no entry: {fault.message}") from None


def _merged(base: Entry | None, ours: Entry, theirs: Entry, applied: Side) -> Entry:
    approval = ours if applied == "ours" else theirs
    began = base.type if base else None
    return Entry(
        ours.key,
        _field("the type", began, ours.type, theirs.type),
        ours.scope,
        _merged_body(base, ours, theirs),
        _older(ours.created_at, theirs.created_at),
        approval.applied_from,
        approval.applied_by,
        _union(ours.sources, theirs.sources),
        _union(ours.related_sessions, theirs.related_sessions),
        _merged_extra(base.extra if base else (), ours.extra, theirs.extra),
    )


def _field(name: str, base: _Field | None, ours: _Field, theirs: _Field) -> _Field:
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    raise _Disagreement(f"{name} was changed on both sides")


def _merged_extra(base: Pairs, ours: Pairs, theirs: Pairs) -> Pairs:
    began, here, there = dict(base), dict(ours), dict(theirs)
    merged = [
        (key, _field(f"'{key}'", began.get(key), here.get(key), there.get(key)))
        for key in _union(tuple(here), tuple(there))
    ]
    return tuple((key, value) for key, value in merged if value is not None)


def _union(ours: tuple[_Element, ...], theirs: tuple[_Element, ...]) -> tuple[_Element, ...]:
    return tuple(dict.fromkeys(ours + theirs))


def _merged_body(base: Entry | None, ours: Entry, theirs: Entry) -> str:
    if base is None:
        if ours.body == theirs.body:
            return ours.body
        raise _Disagreement("created on both sides with different bodies")
    body = merge_lines(base.body, ours.body, theirs.body)
    if body is None:
        raise _Disagreement("the body was changed on both sides")
    return body


# ---- times

_DATE_TIME = re.compile(
    r"""([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])
    (?: [Tt ] ([01][0-9]|2[0-3]) : ([0-5][0-9]) : ([0-5][0-9]|60) (?:\.([0-9]+))?
        (?: [Zz] | ([-+]) ([01][0-9]|2[0-3]) : ([0-5][0-9]) ) )? \Z""",
    re.VERBOSE,
)


def _older(ours: str | None, theirs: str | None) -> str | None:
    """The older of two times of RFC 3339, or dates. What is a time goes before what is none."""
    return min((text for text in (ours, theirs) if text is not None), key=_age, default=None)


def _age(text: str) -> tuple[bool, int, str, str]:
    match = _DATE_TIME.match(text)
    if match is None:
        return (True, 0, "", text)
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = match.groups()[6:]
    offset = 60 * int(offset_hours or 0) + int(offset_minutes or 0)
    minutes = 60 * hour + minute + (offset if sign == "-" else -offset)
    seconds = 86400 * _day_number(year, month, day) + 60 * minutes + second
    return (False, seconds, (fraction or "").rstrip("0"), text)


def _day_number(year: int, month: int, day: int) -> int:
    """Days in the proleptic Gregorian calendar, counted in years that begin in March."""
    if month < 3:
        year, month = year - 1, month + 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day


# ---- lines


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Base lines `start` to `end` (exclusive) became the side's lines `side_start` to `side_end`."""

    start: int
    end: int
    side_start: int
    side_end: int


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """Merge three texts by lines, or None for a conflict. Lines are what stands between LFs.

    Changes are apart if at least one line that neither side changed is between them. Changes that
    touch are one, and conflict unless both sides have the same text there. Where lines repeat there
    are several ways to compare. Two are tried, from the top and, for control, from the bottom: where
    both merge, and not to the same text, it is a conflict.
    """
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    began, here, there = base.split("\n"), ours.split("\n"), theirs.split("\n")
    down = _merge(began, here, there)
    if down is None:
        return None
    up = _merge(began[::-1], here[::-1], there[::-1])
    return "\n".join(down) if up is None or up[::-1] == down else None


def _merge(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    numbers: dict[str, int] = {}
    began, here, there = (
        [numbers.setdefault(line, len(numbers)) for line in side] for side in (base, ours, theirs)
    )
    our_hunks, their_hunks = _hunks(began, here), _hunks(began, there)
    if our_hunks is None or their_hunks is None:
        return None
    merged: list[str] = []
    done = 0
    while our_hunks or their_hunks:
        start, end, our_group, their_group = _touching(our_hunks, their_hunks)
        text = _settled(
            _text_of(ours, our_group, start, end), _text_of(theirs, their_group, start, end)
        )
        if text is None:
            return None
        merged += base[done:start] + text
        done = end
    return merged + base[done:]


def _touching(ours: list[_Hunk], theirs: list[_Hunk]) -> tuple[int, int, list[_Hunk], list[_Hunk]]:
    """Take from both lists the next hunks that touch one another, with the base lines they span."""
    start = min(hunks[0].start for hunks in (ours, theirs) if hunks)
    end = start
    groups: tuple[list[_Hunk], list[_Hunk]] = ([], [])
    grown = True
    while grown:
        grown = False
        for hunks, group in zip((ours, theirs), groups, strict=True):
            while hunks and hunks[0].start <= end:
                group.append(hunks.pop(0))
                end = max(end, group[-1].end)
                grown = True
    return start, end, *groups


def _text_of(side: list[str], group: list[_Hunk], start: int, end: int) -> list[str] | None:
    """What a side has for the base lines `start` to `end`, or None where it changed none of them."""
    if not group:
        return None
    first, last = group[0], group[-1]
    return side[first.side_start - (first.start - start) : last.side_end + (end - last.end)]


def _settled(ours: list[str] | None, theirs: list[str] | None) -> list[str] | None:
    if ours is None or ours == theirs:
        return theirs
    return ours if theirs is None else None


def _hunks(base: list[int], side: list[int]) -> list[_Hunk] | None:
    """What changed between two lists of lines; None where they are too different to tell."""
    shorter = min(len(base), len(side))
    head = _common(base, side, shorter)
    tail = _common(base[::-1], side[::-1], shorter - head)
    kept = _kept(base[head : len(base) - tail], side[head : len(side) - tail])
    if kept is None:
        return None
    hunks: list[_Hunk] = []
    start = side_start = head
    for position, side_position in [*kept, (len(base) - tail - head, len(side) - tail - head)]:
        end, side_end = head + position, head + side_position
        if start < end or side_start < side_end:
            hunks.append(_Hunk(start, end, side_start, side_end))
        start, side_start = end + 1, side_end + 1
    return _slid(hunks, base, side)


def _slid(hunks: list[_Hunk], base: list[int], side: list[int]) -> list[_Hunk]:
    """`hunks` with each pure insertion or deletion as far down as the same lines allow.

    So that two sides which add the same line beside its twin are seen to do the same.
    """
    slid: list[_Hunk] = []
    limit = len(base)
    for hunk in reversed(hunks):
        slid.append(_slide(hunk, limit, base, side))
        limit = slid[-1].start
    return slid[::-1]


def _slide(hunk: _Hunk, limit: int, base: list[int], side: list[int]) -> _Hunk:
    if hunk.start == hunk.end:
        lines, first, last = side, hunk.side_start, hunk.side_end
    elif hunk.side_start == hunk.side_end:
        lines, first, last = base, hunk.start, hunk.end
    else:
        return hunk
    down = 0
    while hunk.end + down < limit and lines[first + down] == lines[last + down]:
        down += 1
    return _Hunk(hunk.start + down, hunk.end + down, hunk.side_start + down, hunk.side_end + down)


def _common(left: list[int], right: list[int], most: int) -> int:
    """How many of the first `most` elements are the same in both."""
    return next((at for at in range(most) if left[at] != right[at]), most)


def _kept(left: list[int], right: list[int]) -> list[tuple[int, int]] | None:
    """The positions of a longest common subsequence, or None where that takes too many steps.

    E. W. Myers, "An O(ND) difference algorithm and its variations" (1986), figure 2, as it stands
    there: of two paths to a diagonal that reach as far, the one that deletes last.
    """
    width, height = len(left), len(right)
    zero = width + height + 1
    reach = [0] * (2 * zero + 1)
    trace: list[list[int]] = []
    steps = 0
    for edits in range(width + height + 1):
        trace.append(reach[zero - edits : zero + edits + 1])
        for diagonal in range(-edits, edits + 1, 2):
            at = zero + diagonal
            if _goes_down(diagonal, edits, reach[at - 1], reach[at + 1]):
                x = reach[at + 1]
            else:
                x = reach[at - 1] + 1
            before = x
            y = x - diagonal
            while x < width and y < height and left[x] == right[y]:
                x += 1
                y += 1
            reach[at] = x
            if x >= width and y >= height:
                return _walk_back(trace, width, height)
            steps += 1 + x - before
            if steps > MAX_STEPS:
                return None
    return []


def _goes_down(diagonal: int, edits: int, left_reach: int, right_reach: int) -> bool:
    return diagonal == -edits or (diagonal != edits and left_reach < right_reach)


def _walk_back(trace: list[list[int]], x: int, y: int) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, 0, -1):
        reach = trace[edits]
        diagonal = x - y
        at = edits + diagonal
        down = diagonal == -edits or (diagonal != edits and reach[at - 1] < reach[at + 1])
        from_x = reach[at + 1] if down else reach[at - 1]
        from_y = from_x - (diagonal + 1 if down else diagonal - 1)
        while x > from_x and y > from_y:
            x, y = x - 1, y - 1
            kept.append((x, y))
        x, y = from_x, from_y
    while x > 0 and y > 0:
        x, y = x - 1, y - 1
        kept.append((x, y))
    return kept[::-1]
