"""How many columns of a terminal a text takes, and lines broken to fit.

Wide characters take two columns (Unicode Standard Annex 11, East Asian Width; an ambiguous one
takes one, as terminals have it), marks and what is joined to a character before it take none.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
# The vowels and final consonants of conjoining Hangul.
_JAMO = range(0x1160, 0x1200)


@lru_cache(maxsize=4096)
def _columns(char: str) -> int:
    """The columns of one character, taken alone."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or ord(char) in _JAMO:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width(text: str) -> int:
    """The columns that `text`, one line that is safe to print, takes."""
    if text.isascii():
        return len(text)
    return sum(columns for _, columns in _clusters(text))


def _clusters(text: str) -> Iterator[tuple[str, int]]:
    """What a person takes for one character, each with its columns."""
    cluster, columns = "", 0
    for char in text:
        if cluster and _continues(cluster, char):
            cluster += char
            if char == _EMOJI_STYLE or ord(char) in _FLAG_LETTERS:
                columns = 2
            continue
        if cluster:
            yield cluster, columns
        cluster, columns = char, _columns(char)
    if cluster:
        yield cluster, columns


def _continues(cluster: str, char: str) -> bool:
    if _columns(char) == 0 or cluster[-1] == _JOINER or ord(char) in _SKIN_TONES:
        return True
    # Two letters are one flag.
    return len(cluster) == 1 and ord(cluster) in _FLAG_LETTERS and ord(char) in _FLAG_LETTERS


def cut(text: str, columns: int) -> str:
    """`text`, or as much of it as fits with an ellipsis behind it."""
    if width(text) <= columns:
        return text
    return f"{beginning(text, columns - 1)}…" if columns > 0 else ""


def beginning(text: str, columns: int) -> str:
    """As much of `text` as fits into `columns`."""
    taken = ""
    for cluster, more in _clusters(text):
        columns -= more
        if columns < 0:
            break
        taken += cluster
    return taken


def parts(text: str, columns: int) -> Iterator[str]:
    """`text` in parts of at most `columns` columns, at least one character each."""
    part, taken = "", 0
    for cluster, more in _clusters(text):
        if part and taken + more > columns:
            yield part
            part, taken = "", 0
        part, taken = part + cluster, taken + more
    if part:
        yield part
