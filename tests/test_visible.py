"""Nothing hidden gets past, and nothing honest is disturbed."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.visible import is_hidden, mixed_script_words, visible

ANY_TEXT = st.text(st.characters())  # lone surrogates included
EMOJI = [
    "😀",
    "❤️",
    "☝🏽",
    "👍🏿",
    "👨‍👩‍👧‍👦",
    "🏳️‍🌈",
    "🏴‍☠️",
    "🧑🏽‍🚀",
    "❤️‍🔥",
    "🇨🇳",
    "1️⃣",
    "#️⃣",
    "ℹ️",
    "↔️",
    "⚠️",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a<U+202E>b"),
        ("\u2066a\u2069", "<U+2066>a<U+2069>"),
        ("a\u200bb\u200c\u200d\u2060\ufeff", "a<U+200B>b<U+200C><U+200D><U+2060><U+FEFF>"),
        ("\U000e0041\U000e007f", "<U+E0041><U+E007F>"),
        ("a\ufe0fb\U000e0100", "a<U+FE0F>b<U+E0100>"),
        ("\x1b[2Kok\rfake\x08\x7f\x9b", "<U+001B>[2Kok<U+000D>fake<U+0008><U+007F><U+009B>"),
        ("\0", "<U+0000>"),
        ("\ue000\U0010fffd\U000f0000", "<U+E000><U+10FFFD><U+F0000>"),
        ("\uffff\u0378", "<U+FFFF><U+0378>"),
        ("\ud800\udc80", "<U+D800><U+DC80>"),
        ("a\u2028b\u2029c\x85", "a<U+2028>b<U+2029>c<U+0085>"),
        ("soft\u00adhyphen", "soft<U+00AD>hyphen"),
        ("\u3164\uffa0\u115f\u1160", "<U+3164><U+FFA0><U+115F><U+1160>"),
        ("\u2800\ufffc\u034f", "<U+2800><U+FFFC><U+034F>"),
        ("a\u2003b\u200ac\u1680", "a<U+2003>b<U+200A>c<U+1680>"),
        ("\u061c\u200e\u200f", "<U+061C><U+200E><U+200F>"),
        ("❤️\ufe0f", "❤️<U+FE0F>"),
        ("❤\ufe0e", "❤<U+FE0E>"),
        ("😀\u200dx", "😀<U+200D>x"),
        ("x\u200d😀", "x<U+200D>😀"),
        ("😀\u200d\u200d😀", "😀<U+200D><U+200D>😀"),
        ("1\ufe0f", "1<U+FE0F>"),
        ("🏴\U000e0075\U000e007f", "🏴<U+E0075><U+E007F>"),
        ("😀\U000e0041", "😀<U+E0041>"),
        ("\U0001f0ff\ufe0f", "<U+1F0FF><U+FE0F>"),
    ],
)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    """Each kind of hidden character stands there as its code point, in either mode."""
    assert visible(text) == shown
    assert visible(text, multiline=True) == shown


def test_line_feeds_and_tabs_stay_only_in_many_lines() -> None:
    """One line stays one line; many lines keep their line feeds and tabs, but no CR."""
    assert visible("a\n\tb") == "a<U+000A><U+0009>b"
    assert visible("a\n\tb", multiline=True) == "a\n\tb"
    assert visible("a\r\n\x1bb", multiline=True) == "a<U+000D>\n<U+001B>b"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain ASCII ~ <U+202E>",
        "缩进 4 spaces，不要 tab。「全角」　空格",
        "ひらがな カタカナ 한국어 ﾊﾝｶｸ",
        "naïve café e\u0301 Việt Nam Viê\u0323t",
        "Привет Ελληνικά עברית العربية۝ हिन्दी ภาษาไทย",
        "« voilà\u00a0» 10\u202f000 €",
        "→ ↔ ─│ ✓ ∀x ½ ™ © ®",
        *EMOJI,
        "".join(EMOJI),
    ],
)
def test_honest_text_is_unchanged(text: str) -> None:
    """Scripts, accents, wide spaces and emoji sequences stay as they are."""
    assert visible(text) == text
    assert visible(f"{text}\n\t{text}", multiline=True) == f"{text}\n\t{text}"


@given(ANY_TEXT)
def test_nothing_hidden_is_left(text: str) -> None:
    """The result holds no hidden character outside an emoji, no line end, and shows itself."""
    shown = visible(text)
    assert not [char for char in shown if is_hidden(char) and char not in "\u200d\ufe0f"]
    assert len(f"{shown}.".splitlines()) == 1
    assert visible(shown) == shown
    assert visible(text, multiline=True).count("\n") == text.count("\n")


@given(st.text(st.sampled_from("ab ❤😀1#⃣\u200d\ufe0f🏽🏴\U000e0067\U000e007f\U0001f0ff")))
def test_joiners_are_only_left_where_an_emoji_needs_them(text: str) -> None:
    """A joiner or selector that stays has a pictograph or keycap before it."""
    shown = visible(text)
    for before, char in zip(f" {shown}", shown, strict=False):
        if char == "\u200d":
            assert before in "❤😀🏽🏴\ufe0f"
        if char == "\ufe0f":
            assert before in "❤😀🏴1#"
    assert visible(shown) == shown


def test_no_code_point_gets_past_alone() -> None:
    """Over all of Unicode: a character between letters is left or written out, never kept hidden."""
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char) in ("Cn", "Co", "Lo") and code > 0x20000 and code % 97:
            continue  # large uniform blocks: a sample of them
        hidden = is_hidden(char) or bool(mixed_script_words(f"a{char}b"))
        assert visible(f"a{char}b") == (f"a<U+{code:04X}>b" if hidden else f"a{char}b")
        if unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp"):
            assert hidden


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("pay with paypal", []),
        ("log in at pаypal now", ["pаypal"]),
        ("Αdmin and аdmin, Αdmin again", ["Αdmin", "аdmin"]),
        ("ѕudo rm", ["ѕudo"]),
        ("pa\u200bу", ["pa\u200bу"]),
        ("cafе\u0301", ["cafе\u0301"]),
        ("ｐа", ["ｐа"]),
        ("Привет USB-кабель user_имя Python3 это", []),
        ("Δt = λx + 5μs", []),
        ("ειρήνη and peace", []),
        ("日本語 text 中文", []),
    ],
)
def test_words_of_two_scripts_are_found(text: str, words: list[str]) -> None:
    """A word with Latin letters and another script's look-alikes is found, once, in order."""
    assert mixed_script_words(text) == words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("log in at pаypal now", "log in at p<U+0430>ypal now"),
        ("Αdmin, ѕudo", "<U+0391>dmin, <U+0455>udo"),
        ("pa\u200bу", "pa<U+200B><U+0443>"),
        ("cafе\u0301", "caf<U+0435>\u0301"),
        ("Привет USB-кабель", "Привет USB-кабель"),
    ],
)
def test_words_of_two_scripts_are_written_out(text: str, shown: str) -> None:
    """The letters that only look Latin stand there as their code points, everywhere."""
    assert visible(text) == shown
    assert mixed_script_words(shown) == []
