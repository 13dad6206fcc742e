"""The words in which two texts differ, so that a person sees what changed and not which lines.

As `git diff --word-diff`, with two differences: a Han, kana or other character of a script that
has no spaces is a word of its own, and a change of spaces is a change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Literal, NamedTuple

Side = Literal["same", "old", "new"]

# Scripts written without spaces: each character is a word, as people read and search them.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# What belongs to the character before it: accents, vowel signs, joiners, variation selectors.
_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u200c\u200d\ufe00-\ufe0f"
# More equal pairs than this, and comparing would take longer than a person waits.
_MAX_PAIRS = 300_000
# Texts that share fewer of their words than this are shown one after the other.
_ALIKE = 0.3


class Piece(NamedTuple):
    """A stretch of text that both have (`same`), or only the first (`old`) or the second (`new`)."""

    side: Side
    text: str


@cache
def _token() -> re.Pattern[str]:
    unspaced = f"[{_UNSPACED}][{_MARKS}]*"
    word = f"(?:(?![{_UNSPACED}])\\w[{_MARKS}]*)+"
    return re.compile(f"{unspaced}|{word}|\\n|[^\\S\\n]+|.[{_MARKS}]*", re.DOTALL)


def words(text: str) -> list[str]:
    """The words, spaces and other characters of `text`; together they are `text`."""
    return _token().findall(text)


def compare(old: str, new: str) -> list[Piece]:
    """What `old` and `new` share and where they differ, in the order of reading.

    The pieces of `same` and `old` together are `old`, those of `same` and `new` are `new`. No two
    neighbours are of one side, and of a change the old text comes first.
    """
    return list(_joined(_by_lines(_lines(old), _lines(new))))


def _lines(text: str) -> list[str]:
    """The lines as git counts them: only LF ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _by_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[Piece]:
    for same, left, right in _runs(before, after):
        if same:
            yield Piece("same", "".join(left))
        elif left and right:
            yield from _by_words(words("".join(left)), words("".join(right)))
        else:
            yield Piece("old", "".join(left))
            yield Piece("new", "".join(right))


def _by_words(before: Sequence[str], after: Sequence[str]) -> Iterator[Piece]:
    runs = list(_runs(before, after))
    shared = sum(_letters(left) for same, left, _ in runs if same)
    if shared < _ALIKE * min(_letters(before), _letters(after)):
        runs = [(False, before, after)]
    yield from _without_islands(runs)


def _without_islands(runs: Sequence[tuple[bool, Sequence[str], Sequence[str]]]) -> Iterator[Piece]:
    """The pieces of `runs`; a shared space between two changes is part of the change."""
    old, new = "", ""
    for number, (same, left, right) in enumerate(runs):
        text = "".join(left)
        inside = 0 < number < len(runs) - 1
        if same and not (inside and text.isspace() and "\n" not in text):
            yield Piece("old", old)
            yield Piece("new", new)
            yield Piece("same", text)
            old, new = "", ""
        else:
            old, new = old + text, new + "".join(right)
    yield Piece("old", old)
    yield Piece("new", new)


def _letters(tokens: Sequence[str]) -> int:
    return sum(len(token) for token in tokens if not token.isspace())


def _runs(
    before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    """The stretches in which two sequences are the same, and those between, in order."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    left = before[start : len(before) - end]
    right = after[start : len(after) - end]
    if start:
        yield True, before[:start], after[:start]
    if left and right and _pairs(left, right) <= _MAX_PAIRS:
        matcher = SequenceMatcher(None, left, right, autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            yield tag == "equal", left[a:b], right[c:d]
    elif left or right:
        yield False, left, right
    if end:
        yield True, before[len(before) - end :], after[len(after) - end :]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many first items two sequences share."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _pairs(left: Sequence[str], right: Sequence[str]) -> int:
    counts = Counter(right)
    return sum(count * counts[item] for item, count in Counter(left).items())


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """`pieces` without empty ones, neighbouring changes as one: the old text, then the new."""
    gathered = {"same": "", "old": "", "new": ""}
    for piece in pieces:
        if not piece.text:
            continue
        if piece.side == "same":
            yield from _gathered(gathered, "old", "new")
        else:
            yield from _gathered(gathered, "same")
        gathered[piece.side] += piece.text
    yield from _gathered(gathered, "same", "old", "new")


def _gathered(gathered: dict[str, str], *sides: Side) -> Iterator[Piece]:
    for side in sides:
        if gathered[side]:
            yield Piece(side, gathered[side])
            gathered[side] = ""


def lines(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces of each line that is to be shown; a line end stays in the piece that it ends."""
    found: list[list[Piece]] = [[]]
    for piece in pieces:
        for part in _lines(piece.text):
            found[-1].append(Piece(piece.side, part))
            if part.endswith("\n"):
                found.append([])
    return found if found[-1] else found[:-1]
