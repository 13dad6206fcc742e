from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model import worddiff
from gitmem.model.worddiff import Piece, compare, words

TEXTS = st.text(st.sampled_from("ab \n.-缩进é\u0301\u200d👩"), max_size=30)


def shown(old: str, new: str) -> str:
    """A comparison as git writes it without colours."""
    marks = {"same": ("", ""), "old": ("[-", "-]"), "new": ("{+", "+}")}
    return "".join(
        f"{marks[piece.side][0]}{piece.text}{marks[piece.side][1]}" for piece in compare(old, new)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run it.", ["Run", " ", "it", "."]),
        ("run_tests(-n4)", ["run_tests", "(", "-", "n4", ")"]),
        ("用pytest运行", ["用", "pytest", "运", "行"]),
        ("한국어 문장", ["한국어", " ", "문장"]),
        ("cafe\u0301 a", ["cafe\u0301", " ", "a"]),
        ("a\n\n  b", ["a", "\n", "\n", "  ", "b"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Letters and digits make a word, a character of an unspaced script is one, marks stay with theirs."""
    assert words(text) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Use make test.", "Use tox.", "Use [-make test-]{+tox+}."),
        ("提交信息用英文。", "提交信息用中文。", "提交信息用[-英-]{+中+}文。"),
        ("a b", "a  b", "a[- -]{+  +}b"),
        ("a\nb\n", "a b\n", "a[-\n-]{+ +}b\n"),
        ("", "new\n", "{+new\n+}"),
        ("gone\n", "", "[-gone\n-]"),
        ("same\n", "same\n", "same\n"),
        ("a\nb\nc\n", "a\nX\nb\nc\n", "a\n{+X\n+}b\nc\n"),
        ("one two three four\n", "five six\n", "[-one two three four\n-]{+five six\n+}"),
    ],
)
def test_compare(old: str, new: str, expected: str) -> None:
    """Only what differs is marked, in whole words; texts with little in common follow each other."""
    assert shown(old, new) == expected


@given(TEXTS, TEXTS)
def test_nothing_is_lost(old: str, new: str) -> None:
    """Both texts can be read off: what a person sees is all of both."""
    pieces = compare(old, new)

    assert "".join(piece.text for piece in pieces if piece.side != "new") == old
    assert "".join(piece.text for piece in pieces if piece.side != "old") == new
    assert all(piece.text for piece in pieces)
    assert all(
        (one.side, other.side) in {("old", "new"), ("old", "same"), ("new", "same")}
        or one.side == "same" != other.side
        for one, other in pairwise(pieces)
    )


@given(TEXTS)
def test_words_are_the_text(text: str) -> None:
    """No character is lost between words."""
    assert "".join(words(text)) == text


def test_a_text_made_to_take_long() -> None:
    """Texts in which all is like all are compared whole instead of for minutes."""
    old, new = "a b " * 15_000 + "x", "y " + "a b " * 15_000

    assert [piece.side for piece in compare(old, new)] == ["old", "new"]


def test_lines() -> None:
    """A change over a line end is shown in both lines."""
    pieces = [Piece("same", "a "), Piece("old", "b\nc"), Piece("same", " d\n")]

    assert worddiff.lines(pieces) == [
        [Piece("same", "a "), Piece("old", "b\n")],
        [Piece("old", "c"), Piece("same", " d\n")],
    ]
