"""What a text looks like."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model.disguise import lookalikes, positions, unmask


@pytest.mark.parametrize(
    "masked",
    [
        "MeMoRy",
        "ｍｅｍｏｒｙ",
        "𝐦𝑒𝗺𝓸𝖗𝚢",
        "ⓜⓔⓜⓞⓡⓨ",
        "🄼🄴🄼🄾🅁🅈",
        "🅜🅔🅜🅞🅡🅨",
        "🇲🇪🇲🇴🇷🇾",
        "⒨⒠⒨⒪⒭⒴",
        "мемогу",
        "ΜΕΜΟRΥ",
        "m\u0301é\u0308mo\u20ddrÿ",
        "m\u200be\u00adm\u2060o\u200dr\ufe0fy",
        "m\x00e\x7fmor\x1by",
        "m\U000e0041emory",
        "\U0001cce2emory",
    ],
)
def test_disguises_of_a_word_look_like_it(masked: str) -> None:
    """Alphabets of other shapes, other scripts, marks and invisible characters don't hide a word."""
    assert unmask(masked) == "memory"


def test_every_compatible_form_of_the_header_is_known() -> None:
    """Whatever NFKC and casefold turn into a sign of the header, this Python's Unicode through, is in the table."""
    signs = set("memory[:")
    missing = [
        f"U+{ord(char):04X}"
        for char in map(chr, range(0x110000))
        if (sign := unicodedata.normalize("NFKC", char).casefold()) in signs
        and unmask(char) != sign
    ]

    assert missing == []


def test_every_letter_of_the_header_with_a_mark_is_known() -> None:
    """A letter of the header that is composed with marks looks like the bare letter."""
    missing = [
        f"U+{ord(char):04X}"
        for char in map(chr, range(0x80, 0x110000))
        if (base := unicodedata.normalize("NFKD", char).casefold()[:1]) in set("memory")
        and all(map(unicodedata.combining, unicodedata.normalize("NFKD", char)[1:]))
        and unmask(char) != base
    ]

    assert missing == []


def test_marks_and_format_characters_are_invisible() -> None:
    """Nothing that this Python's Unicode calls a nonspacing mark or a format character is left over."""
    left = [
        f"U+{ord(char):04X}"
        for char in map(chr, range(0x110000))
        if unicodedata.category(char) in {"Mn", "Me", "Cf"}
        and len(unmask(char)) == 1
        and unmask(char) not in "memory: "
    ]

    assert left == []


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\v", "\f", "\x1c", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_every_kind_of_line_end_is_one(end: str) -> None:
    """What any reader takes for the end of a line looks like LF."""
    assert unmask(f"a{end}b") == "a\nb"


def test_other_scripts_stay() -> None:
    """What passes for no sign of ASCII's is itself."""
    assert unmask("缩进，不要 タブ 한국어") == "缩进，不要 タブ 한국어"


def test_lookalikes_match_the_plain_and_the_disguised() -> None:
    """The quick test for a bracket knows all its forms."""
    assert all(lookalikes("[", "<").search(f"x{sign}") for sign in "[<［【〔＜〈‹")
    assert not lookalikes("[", "<").search("plain, (round) {curly} > 全角")


@given(st.text(alphabet=st.sampled_from("aB[ \t\n\r\x00é\u200bｍ【缩𝐦\u0301\U000e0041")))
@settings(deadline=None)
def test_positions_lead_back(text: str) -> None:
    """Each shown character has the place it came from, whichever of the two tables was used."""
    places = positions(text)

    assert len(places) == len(unmask(text))
    assert unmask(text) == "".join(unmask(text[place] + "缩")[:-1] for place in places)
    assert places == sorted(set(places))
