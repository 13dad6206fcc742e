"""Lines of styled text, broken to fit a terminal, with or without colours.

Text that others wrote comes in through `quoted` and `word_difference` alone, which write out what
is hidden: what is here can neither move the cursor nor forge or hide a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

import click

from gitmem.cli import width
from gitmem.model import worddiff
from gitmem.model.worddiff import Piece
from gitmem.visible import visible

Style = Literal["plain", "bold", "dim", "old", "new", "note", "warn", "rule"]

# As git colours a difference by default.
_LOOKS: dict[Style, dict[str, Any]] = {
    "plain": {},
    "bold": {"bold": True},
    "dim": {"dim": True},
    "old": {"fg": "red"},
    "new": {"fg": "green"},
    "note": {"fg": "cyan"},
    "warn": {"fg": "yellow", "bold": True},
    "rule": {"dim": True},
}
_MARKS = {"old": ("[-", "-]"), "new": ("{+", "+}")}
# What would pass for one of those marks in a text.
_FORGED_MARK = re.compile(r"(?<=[\[{])(?=[-+])|(?<=[-+])(?=[\]}])")
# A change of nothing but spaces would be one of nothing to look at.
_SPACES = str.maketrans({" ": "·", "\t": "⇥", "\n": "↵", "\u3000": "□", "\u00a0": "·"})
_TAB = "    "
_AROUND = 2


class Span(NamedTuple):
    """A stretch of one line in one style, safe to print."""

    text: str
    style: Style = "plain"


Line = tuple[Span, ...]


def quoted(text: str, style: Style = "plain") -> list[Line]:
    """Text that somebody wrote, line by line."""
    shown = visible(text, multiline=True).replace("\t", _TAB)
    return [(Span(line, style),) for line in shown.split("\n")]


def one_line(text: str) -> str:
    """Text that somebody wrote, its line ends written out as well."""
    return visible(text)


# -- word differences --------------------------------------------------------------------------


def word_difference(old: str, new: str, *, coloured: bool) -> list[Line]:
    """The words in which two texts differ; of what is the same, only what stands around a change.

    Without colours, as git: `[-old-]{+new+}`. A mark that stands in a text itself gets a backslash.
    """
    rows = worddiff.lines(worddiff.compare(old, new))
    shown: list[Line] = []
    skipped = 0
    for row, kept in zip(rows, _kept(rows), strict=True):
        if kept:
            shown += _skipped(skipped)
            shown.append(_row(row, coloured=coloured))
        skipped = 0 if kept else skipped + 1
    return shown + _skipped(skipped)


def _kept(rows: Sequence[Sequence[Piece]]) -> list[bool]:
    changed = [any(piece.side != "same" for piece in row) for row in rows]
    near = [any(changed[max(at - _AROUND, 0) : at + _AROUND + 1]) for at in range(len(rows))]
    # Where a single line would be left out, it takes no more room than saying so.
    return [
        kept or (near[max(at - 1, 0)] and near[min(at + 1, len(near) - 1)])
        for at, kept in enumerate(near)
    ]


def _skipped(count: int) -> list[Line]:
    if not count:
        return []
    lines = "line" if count == 1 else "lines"
    return [(Span(f"… {count} {lines} as approved …", "dim"),)]


def _row(row: Sequence[Piece], *, coloured: bool) -> Line:
    whole = len({piece.side for piece in row}) == 1
    return tuple(
        span for piece in row if (span := _span(piece, whole=whole, coloured=coloured)).text
    )


def _span(piece: Piece, *, whole: bool, coloured: bool) -> Span:
    """A piece of a line; `whole`: it is all of the line, so that its end goes without saying."""
    text = piece.text
    if piece.side == "same" or (whole and text != "\n"):
        text = text.removesuffix("\n")
    if piece.side != "same" and not text.strip():
        text = text.translate(_SPACES)
    elif text.endswith("\n"):
        text = f"{text[:-1]}↵"
    text = visible(text.replace("\t", _TAB))
    if coloured:
        return Span(text, piece.side if piece.side != "same" else "plain")
    text = _FORGED_MARK.sub(r"\\", text)
    if piece.side == "same" or not text:
        return Span(text)
    begin, end = _MARKS[piece.side]
    return Span(f"{begin}{text}{end}", piece.side)


# -- breaking and painting ---------------------------------------------------------------------


def wrapped(line: Line, columns: int) -> Iterator[Line]:
    """`line` in lines of at most `columns` columns, broken between words where that is possible."""
    row: list[Span] = []
    room = columns
    for span in line:
        for word in _words(span.text):
            size = width.width(word.rstrip(" "))
            if row and size > room:
                yield tuple(row)
                row, room = [], columns
            for part in width.parts(word, columns) if size > columns else (word,):
                if row and width.width(part.rstrip(" ")) > room:
                    yield tuple(row)
                    row, room = [], columns
                row.append(Span(part, span.style))
                room -= width.width(part)
    yield tuple(row)


def _words(text: str) -> list[str]:
    """The stretches between which a line may be broken: each with the spaces behind it."""
    return [part for token in re.findall(r"[^ ]* *", text) if token for part in _breakable(token)]


def _breakable(token: str) -> Iterator[str]:
    """A word, or the characters of a script that is written without spaces."""
    if token.isascii():
        yield token
        return
    yield from (part for part in worddiff.words(token) if part)


def shortened(line: Line, columns: int, behind: Span) -> Line:
    """As much of `line` as fits into `columns` with `behind` after it."""
    room = columns - width.width(behind.text)
    kept: list[Span] = []
    for span in line:
        kept.append(Span(width.beginning(span.text, room), span.style))
        room -= width.width(kept[-1].text)
    return (*kept, behind)


def laid_out(body: Iterable[Line], columns: int, *, label: str = "", margin: int = 0) -> list[Line]:
    """`body` broken to `columns`, behind a left margin; `label` stands in the margin of its first line."""
    rows: list[Line] = []
    for line in body:
        for row in wrapped(line, columns - margin):
            head = f"{label:{margin}}" if not rows else " " * margin
            rows.append((Span(head, "dim"), *row) if margin else row)
    return rows


def painted(line: Line, *, coloured: bool) -> str:
    """A line as it is printed."""
    if not coloured:
        return "".join(span.text for span in line).rstrip(" ")
    return "".join(
        _styled("".join(span.text for span in spans), style)
        for style, spans in groupby(line, key=lambda span: span.style)
    )


def _styled(text: str, style: Style) -> str:
    look = _LOOKS[style]
    return click.style(text, **look) if look and text else text
