from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.cli.width import cut, parts, width

TEXTS = st.text(st.sampled_from("ab 缩进é\u0301\u200d👩🏽\ufe0f❤🇩🇪각\u1100\u1161"), max_size=20)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("plain", 5),
        ("缩进", 4),
        ("ｗｉｄｅ", 8),
        ("café", 4),
        ("cafe\u0301", 4),
        ("한국", 4),
        ("\u1112\u1161\u11ab", 2),
        ("👩", 2),
        ("👩\u200d👧", 2),
        ("👍🏽", 2),
        ("❤\ufe0f", 2),
        ("🇩🇪🇫🇷", 4),
        ("", 0),
    ],
)
def test_width(text: str, columns: int) -> None:
    """Wide characters and emoji take two columns, what is joined to another one none."""
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("hello", 5, "hello"),
        ("hello", 4, "hel…"),
        ("缩进四格", 5, "缩进…"),
        ("缩进四格", 4, "缩…"),
        ("hello", 0, ""),
    ],
)
def test_cut(text: str, columns: int, expected: str) -> None:
    """A character is shown whole or not at all."""
    assert cut(text, columns) == expected


@given(TEXTS, st.integers(min_value=2, max_value=10))
def test_fits(text: str, columns: int) -> None:
    """Whatever is cut or broken fits, and breaking loses nothing."""
    assert width(cut(text, columns)) <= columns
    broken = list(parts(text, columns))
    assert "".join(broken) == text
    assert all(width(part) <= columns for part in broken)
