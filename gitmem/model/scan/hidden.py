"""Finds characters that a reviewer can't see but a model reads.

Which scripts and symbols need invisible characters honestly: Unicode Standard 23.2 (layout controls) and
UTS #51 (emoji sequences), https://www.unicode.org/reports/tr51/. Bidirectional overrides in source text:
CVE-2021-42574. The tables are our own, since what this rule says decides about bytes of a context, and
`unicodedata` changes with the version of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gitmem.model.scan.finding import Confidence, Finding

NAME = "hidden-text"

# As the inside of a regular expression's brackets.
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"
_MARKS = r"\u200e\u200f\u061c"
_JOINERS = r"\u200c\u200d"
_SELECTORS = r"\ufe00-\ufe0f"
_SUPPLEMENTARY_SELECTORS = "\U000e0100-\U000e01ef"
_SPACES = r"\u200b"
_FILLERS = r"\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
_ALWAYS = (
    r"\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_HIDDEN = f"{_CONTROLS}\u00ad{_MARKS}{_JOINERS}{_SELECTORS}{_SUPPLEMENTARY_SELECTORS}{_SPACES}{_FILLERS}{_ALWAYS}"

_EMOJI = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f"
    r"\u2b00-\u2bff\u3030\u303d\u3297\u3299" + "\U0001f000-\U0001faff"
)
_RIGHT_TO_LEFT = (
    "\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
)
_JOINING = (
    r"\u0600-\u08ff\u0900-\u109f\u1780-\u18af\u1b00-\u1bff\ua840-\uabff\ufb50-\ufdff\ufe70-\ufefc"
)
_BROKEN_BY_SPACES = r"\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf"
_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANGUL_JAMO = r"\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff"

# The three flags of England, Scotland and Wales: the only tag sequences in general use.
_FLAGS = frozenset(
    "".join(chr(0xE0000 + ord(char)) for char in code) + "\U000e007f"
    for code in ("gbeng", "gbsct", "gbwls")
)
_BLACK_FLAG = "\U0001f3f4"

# So many in a row spell something out, wherever they stand.
_LONG_RUN = 4


# A low finding otherwise: editors and keyboards leave these behind by themselves.
_STRAY = f"{_CONTROLS}\u00ad{_MARKS}{_FILLERS}"

# Where a character is honest: itself, what it stands after and, where that matters, before.
_ALLOWANCES = (
    (_JOINERS, _JOINING, None),
    (r"\u200d", rf"{_EMOJI}\ufe0f", _EMOJI),
    (r"\ufe0e\ufe0f", rf"{_EMOJI}0-9#*", None),
    # Standardised variants of digits, symbols and ideographs, one selector each.
    (
        r"\ufe00-\ufe0d",
        rf"0\u1000-\u109f\u2200-\u22ff\u2a00-\u2aff\u3000-\u303f\uff00-\uff1f{_HAN}",
        None,
    ),
    (_SUPPLEMENTARY_SELECTORS, _HAN, None),
    (_SPACES, _BROKEN_BY_SPACES, None),
    (r"\u115f\u1160", _HANGUL_JAMO, None),
    (r"\u180b-\u180f", r"\u1800-\u18af", None),
)


@cache
def _class(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{characters}]")


@cache
def _runs(*, ascii_only: bool) -> re.Pattern[str]:
    """Compiled when asked for: the whole class takes as long as a hundred short texts."""
    return re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+" if ascii_only else f"[{_HIDDEN}]+")


def find(text: str) -> Iterator[Finding]:
    """One finding for each run of hidden characters that has no honest reason where it stands.

    High: direction overrides, tags, zero-width characters outside the scripts and emoji that need
    them, variation selectors with nothing to vary, and any run of four. Low: what slips in by
    accident, such as a soft hyphen, a direction mark or a control character.
    """
    runs = list(_runs(ascii_only=text.isascii()).finditer(text))
    directed = bool(runs) and _class(_RIGHT_TO_LEFT).search(text) is not None
    for run in runs:
        confidence = _confidence(text, run, directed=directed)
        if confidence:
            yield Finding(NAME, confidence, run.start(), run.end(), _message(run[0]))


def _confidence(text: str, run: re.Match[str], *, directed: bool) -> Confidence | None:
    start, end = run.span()
    if text[start - 1 : start] == _BLACK_FLAG and run[0] in _FLAGS:
        return None
    if end - start >= _LONG_RUN:
        return "high"
    objections = [
        text[index]
        for index in range(start, end)
        if not (_is_honest(text, index) or (directed and _class(_MARKS).match(text[index])))
    ]
    if not objections:
        return None
    return "low" if all(map(_class(_STRAY).match, objections)) else "high"


def _is_honest(text: str, index: int) -> bool:
    char, after, before = text[index], text[index - 1 : index], text[index + 1 : index + 2]
    if char == "\ufeff":
        return index == 0
    return any(
        _class(itself).match(char)
        and _class(follows).match(after)
        and (precedes is None or _class(precedes).match(before))
        for itself, follows, precedes in _ALLOWANCES
    )


def _message(run: str) -> str:
    points = dict.fromkeys(f"U+{ord(char):04X}" for char in run)
    shown = ", ".join(list(points)[:4]) + (", …" if len(points) > 4 else "")
    count = "a hidden character" if len(run) == 1 else f"{len(run)} hidden characters"
    return f"{count} ({shown})"
