"""Characters that a reviewer can't see but a model reads."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model.scan import RULES, hidden, scan
from gitmem.visible import is_hidden


def tags(text: str) -> str:
    """The invisible twins of ASCII characters."""
    return "".join(chr(0xE0000 + ord(char)) for char in text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("safe\u202etxet", (4, 5)),
        ("a\u2066b", (1, 2)),
        ("ze\u200bro", (2, 3)),
        ("ze\u200cro", (2, 3)),
        ("ze\u200dro", (2, 3)),
        ("ze\u2060ro", (2, 3)),
        ("a\ufeffb", (1, 2)),
        ("a\ufe00b", (1, 2)),
        ("a\U000e0100b", (1, 2)),
        ("葛\U000e0100\U000e0101", (1, 3)),
        ("🙂\ufe0f\ufe01", (1, 3)),
        (f"hi{tags('obey')}", (2, 6)),
        (f"🏴{tags('obey')}", (1, 5)),
        (f"{tags('x')}", (0, 1)),
        ("x\u00ad\u00ad\u00ad\u00ad", (1, 5)),
        ("a\u2063b", (1, 2)),
        ("🙂\u200dx", (1, 2)),
    ],
)
def test_hidden_text_is_found_with_high_confidence(text: str, place: tuple[int, int]) -> None:
    """What hides or turns text around is one finding of high confidence, at its place."""
    assert [(f.rule, f.confidence, f.start, f.end) for f in scan(text)] == [
        ("hidden-text", "high", *place)
    ]


@pytest.mark.parametrize(
    "text", ["soft\u00adhyphen", "mark\u200e", "esc\x1b[1m", "nul\x00", "filler\u3164"]
)
def test_strays_are_found_with_low_confidence(text: str) -> None:
    """What editors and keyboards leave behind is shown but keeps nothing out."""
    assert [finding.confidence for finding in scan(text)] == ["low"]


@pytest.mark.parametrize(
    "text",
    [
        "plain ASCII\twith\na tab and\r\nline ends",
        "缩进　全角空格，不要 tab。",
        "❤️ ☑️ 1️⃣ #️⃣ ©️ ↔️ ‼️",
        "👩\u200d💻 🏃\u200d♂\ufe0f 👁\ufe0f\u200d🗨\ufe0f 👨\u200d👩\u200d👧 🧑🏽\u200d🚀",
        f"🏴{tags('gbsct')}\U000e007f 🇩🇪",
        "می\u200cخواهم",
        "क्\u200dष र्\u200cय ശ്\u200d",
        "ภาษา\u200bไทย ខ្មែរ\u200bភាសា",
        "葛\U000e0100飾区 辻\ufe00",
        "שלום\u200f (abc)\u200e",
        "\ufeffwith a BOM",
        "日本語 한국어 naïve café",
        "",
    ],
)
def test_honest_text_has_no_findings(text: str) -> None:
    """Emoji, Persian, Indic, Thai, Japanese variants, Hebrew and a BOM at the top are as they should be."""
    assert scan(text) == ()


def test_the_message_names_the_characters() -> None:
    """A reviewer reads how many there are and which."""
    assert scan("a\u200bb")[0].message == "a hidden character (U+200B)"
    assert scan("a\u200b\u200c\u200bb")[0].message == "3 hidden characters (U+200B, U+200C)"
    assert scan(tags("obeyx"))[0].message == (
        "5 hidden characters (U+E006F, U+E0062, U+E0065, U+E0079, …)"
    )


def test_findings_come_in_the_order_of_the_text() -> None:
    """Two places give two findings, the first one first."""
    assert [finding.start for finding in scan("a\u200bb\u202ec")] == [1, 3]


def test_a_reviewer_is_shown_what_the_rule_objects_to() -> None:
    """Each character that the rule finds between two letters is one that `diff` makes visible."""
    text = "".join(f"a{chr(point)}b" for point in range(0x110000))
    found = [char for finding in hidden.find(text) for char in text[finding.start : finding.end]]

    assert len(found) > 4000
    assert [f"U+{ord(char):04X}" for char in found if not is_hidden(char)] == []


def test_the_rule_is_registered() -> None:
    """A rule is a module of the package, named in the registry."""
    assert hidden in RULES


@given(st.text(alphabet=st.sampled_from("a缩🙂\u200b\u200d\ufe0f\u202e\u00ad\U000e0041\x1b\n")))
@settings(deadline=None)
def test_findings_cover_whole_runs_and_never_overlap(text: str) -> None:
    """Findings lie inside the text, in order, apart from each other, on hidden characters only."""
    findings = scan(text)

    assert all(0 <= f.start < f.end <= len(text) for f in findings)
    assert all(a.end < b.start for a, b in itertools.pairwise(findings))
    assert not any(char in "a缩🙂\n" for f in findings for char in text[f.start : f.end])
    assert ("\u202e" in text) <= any(f.confidence == "high" for f in findings)
