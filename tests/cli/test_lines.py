from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.cli import lines
from gitmem.cli.lines import Line, Span, laid_out, painted, quoted, word_difference, wrapped
from gitmem.cli.width import width

TEXTS = st.text(st.sampled_from("ab \n\t.[]{}+-缩进\u202e\x1b\r"), max_size=30)


def plain(rows: list[Line]) -> list[str]:
    return [painted(row, coloured=False) for row in rows]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Use make test.\n", "Use tox.\n", ["Use [-make test-]{+tox+}."]),
        ("", "a\nb\n", ["{+a+}", "{+b+}"]),
        ("a\nb\n", "", ["[-a-]", "[-b-]"]),
        ("a b\n", "a  b\n", ["a[-·-]{+··+}b"]),
        ("a\nb\n", "a b\n", ["a[-↵-]", "{+·+}b"]),
        ("one two\n", "three\n", ["[-one two-]", "{+three+}"]),
        ("a\n\nb\n", "a\n\n\nb\n", ["a", "", "{+↵+}", "b"]),
        ("用英文\n", "用中文\n", ["用[-英-]{+中+}文"]),
        ("a\tb\n", "a\tc\n", ["a    [-b-]{+c+}"]),
    ],
)
def test_word_difference(old: str, new: str, expected: list[str]) -> None:
    """Without colours as git's word difference; a change of spaces is one that can be seen."""
    assert plain(word_difference(old, new, coloured=False)) == expected


def test_in_colours() -> None:
    """With colours there are no marks."""
    (row,) = word_difference("Use make.", "Use tox.", coloured=True)

    assert painted(row, coloured=True) == "Use \x1b[31mmake\x1b[0m\x1b[32mtox\x1b[0m."


def test_what_is_the_same_is_left_out() -> None:
    """Two lines around a change are shown; a single one between them takes no more than its place."""
    old = [f"line {number}" for number in range(1, 16)]
    new = [*old]
    new[7], new[13] = "line eight", "line fourteen"

    shown = plain(word_difference("\n".join(old), "\n".join(new), coloured=False))

    assert shown == [
        "… 5 lines as approved …",
        "line 6",
        "line 7",
        "line [-8-]{+eight+}",
        "line 9",
        "line 10",
        "line 11",
        "line 12",
        "line 13",
        "line [-14-]{+fourteen+}",
        "line 15",
    ]


@pytest.mark.parametrize("mark", ["[-", "-]", "{+", "+}", "[-]", "{+-]"])
def test_a_text_can_not_forge_a_mark(mark: str) -> None:
    """A mark in the text itself is told from a real one."""
    (row,) = word_difference(f"x {mark} y", f"x {mark} z", coloured=False)

    before = painted(row, coloured=False).partition("[-y-]")[0]
    assert not re.search(r"[\[{][-+]|[-+][\]}]", before)
    assert before.replace("\\", "") == f"x {mark} "


@given(TEXTS, TEXTS, st.booleans())
def test_safe_to_print(old: str, new: str, coloured: bool) -> None:
    """Whatever the texts hold, nothing steers the terminal and each line is one line."""
    for row in [*word_difference(old, new, coloured=coloured), *quoted(old)]:
        assert all(span.text.isprintable() for span in row)


@given(TEXTS, TEXTS)
def test_all_that_is_new_is_shown(old: str, new: str) -> None:
    """Every letter that an apply would bring is on the screen, in a mark of its own."""
    shown = "\n".join(plain(word_difference(old, new, coloured=False)))

    inserted = "".join(re.findall(r"\{\+(.*?)\+\}", shown))
    for letter in "ab缩进":
        assert inserted.count(letter) >= new.count(letter) - old.count(letter)


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("提交信息使用英文", 8, ["提交信息", "使用英文"]),
        ("antidisestablishment", 8, ["antidise", "stablish", "ment"]),
        ("one  two", 20, ["one  two"]),
        ("", 8, [""]),
    ],
)
def test_wrapped(text: str, columns: int, expected: list[str]) -> None:
    """Broken between words, between the characters of a script without spaces, else anywhere."""
    assert plain(list(wrapped((Span(text),), columns))) == expected


@given(TEXTS, TEXTS, st.integers(min_value=4, max_value=20))
def test_wrapping_loses_nothing(old: str, new: str, columns: int) -> None:
    """Each row fits, and together they are the line."""
    for line in word_difference(old, new, coloured=True):
        rows = list(wrapped(line, columns))
        assert "".join(span.text for row in rows for span in row) == "".join(
            span.text for span in line
        )
        assert all(width(painted(row, coloured=False)) <= columns for row in rows)


def test_laid_out() -> None:
    """A label stands in the margin of the first row, and the text in a column of its own."""
    rows = laid_out([*quoted("one two\nthree")], 12, label="why", margin=6)

    assert plain(rows) == ["why   one", "      two", "      three"]


def test_hidden_characters() -> None:
    """They are written out, line ends too where a line is expected."""
    assert plain(quoted("a\x1b[2Jb\u202ec\r")) == ["a<U+001B>[2Jb<U+202E>c<U+000D>"]
    assert lines.one_line("a\nb") == "a<U+000A>b"
