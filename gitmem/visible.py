"""Hidden characters made visible, so that what a person reads is what an agent will get.

The result is safe to print: it can't move the cursor, forge a line or hide one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt), without those of category
# Cf, and two that are blank though they count as symbols.
_BLANK = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U0001d159\U000e0100-\U000e01ef"
)


@cache
def _blank_char() -> re.Pattern[str]:
    return re.compile(f"[{_BLANK}]")


# Control, format, surrogate, private use, unassigned; line and paragraph separators.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Cf, but with a glyph of their own (Prepended_Concatenation_Mark).
_SHOWN_FORMAT = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
# Spaces that typing and typesetting of some language needs: no-break ones (French) and the
# ideographic one. Those of other widths only serve to look like another character.
_HONEST_SPACES = frozenset(" \u00a0\u202f\u3000")

# Where emoji need what is hidden elsewhere (UTS 51): a variation selector 16 after a pictograph
# or in a keycap, joiners between pictographs, and the tags of the three flags in use.
_PICTOGRAPH = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f004-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff]"
)
_ELEMENT = f"{_PICTOGRAPH}(?:\ufe0f|[\U0001f3fb-\U0001f3ff])?"
_FLAGS = frozenset(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
_GLUE = "\u200d\ufe0f"


@cache
def _suspect() -> re.Pattern[str]:
    return re.compile(
        f"(?P<emoji>{'|'.join(sorted(_FLAGS))}|[0-9#*]\ufe0f\u20e3|{_ELEMENT}(?:\u200d{_ELEMENT})*)"
        "|[^ -~\u00c0-\u024f\u0400-\u0481\u3000-\u3029\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3\uff01-\uff60]"
    )


# Letters that can be taken for Latin ones (the Unicode confusables of basic Latin letters).
_CYRILLIC_TWINS = "АВЕЅІЈКМНОРСТУХѴавеѕіјкмнорстухѵһԁԛԜԝӀӏүҮ"
_GREEK_TWINS = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳαεηικνορτυχωϲ"


@cache
def _twin() -> re.Pattern[str]:
    return re.compile(f"[{_CYRILLIC_TWINS}{_GREEK_TWINS}]")


# A word goes on over combining marks and over what would split it without being seen.


@cache
def _word() -> re.Pattern[str]:
    return re.compile(
        "[^\\W\\d_](?:[^\\W\\d_]|[\u0300-\u036f\u00ad\u034f\u200b-\u200f\u2060-\u2064\ufeff])*"
    )


def visible(text: str, *, multiline: bool = False) -> str:
    """`text` with each hidden character written as `<U+202E>`.

    Line feeds and tabs stay only where `multiline` is set. Emoji keep the joiners and selectors
    that they need; letters of every script, their accents and CJK are left as they are, apart from
    those that pass for Latin ones in the midst of Latin letters.
    """
    text = _without_disguises(text)
    probe = text.replace("\n", "").replace("\t", "") if multiline else text
    if probe.isprintable() and (probe.isascii() or not _blank_char().search(probe)):
        return text
    kept = "\n\t" if multiline else ""

    def show(match: re.Match[str]) -> str:
        found = match[0]
        if found in kept or found in _FLAGS or _is_honest_emoji(match):
            return found
        return "".join(f"<U+{ord(char):04X}>" if is_hidden(char) else char for char in found)

    return _suspect().sub(show, text)


def _is_honest_emoji(match: re.Match[str]) -> bool:
    """Whether only joiners and selectors are hidden in it: the blocks of emoji have gaps."""
    return match["emoji"] is not None and not any(
        is_hidden(char) for char in match[0] if char not in _GLUE
    )


def is_hidden(char: str) -> bool:
    """Whether the one character `char`, taken alone, shows nothing of itself or steers the display."""
    category = unicodedata.category(char)
    if category == "Zs":
        return char not in _HONEST_SPACES
    if category in _HIDDEN_CATEGORIES:
        return char not in _SHOWN_FORMAT
    return _blank_char().match(char) is not None


def mixed_script_words(text: str) -> list[str]:
    """The words, each once, that mix Latin letters with Cyrillic or Greek ones that look Latin.

    A word is a run of letters: `USB-кабель` and `user_имя` are two honest words each, and Greek
    or Cyrillic letters without a Latin twin (`Δt`) are no disguise.
    """
    if text.isascii() or not _twin().search(text):
        return []
    return [word for word in dict.fromkeys(_word().findall(text)) if _is_mixed(word)]


def _without_disguises(text: str) -> str:
    """`text` with the letters that make a word one of two scripts written out."""
    if text.isascii() or not _twin().search(text):
        return text
    return _word().sub(
        lambda word: _twin().sub(_code_point, word[0]) if _is_mixed(word[0]) else word[0], text
    )


def _code_point(char: re.Match[str]) -> str:
    return f"<U+{ord(char[0]):04X}>"


def _is_mixed(word: str) -> bool:
    return _twin().search(word) is not None and any(map(_is_latin, word))


def _is_latin(char: str) -> bool:
    return unicodedata.name(char, "").startswith(("LATIN ", "FULLWIDTH LATIN "))
