"""What others wrote, on every surface that shows it."""

from __future__ import annotations

from typing import Any

import pytest

from gitmem.visible import is_hidden, mixed_script_words

# Each kind of what can't be seen, or does more than be seen.
EVIL = {
    "direction": "a\u202eb\u2066c",
    "zero width": "a\u200bb\ufeffc",
    "tags": "a\U000e0041\U000e0042b",
    "terminal": "a\x1b[2J\x1b[1;1Hb\x9b8m\x07",
    "carriage return": "good\rapplied",
    "private use": "a\ue000b",
    "mixed scripts": "pаypal",
    "line separator": "a\u2028b\u2029c",
}
SURFACES = ["list", "show", "diff", "log", "inbox", "review"]


@pytest.fixture
def candidate(cli: Any, request: pytest.FixtureRequest) -> str:
    """A candidate that says it wherever a candidate can say something."""
    evil = request.param
    said = ("--rationale", evil, "--session", "s", "--turn", evil, "--evidence", evil)
    return str(cli.propose("a", evil, *said, "--actor", evil.replace("\r", "")))


def shows_itself(text: str) -> bool:
    """Whether nothing in `text` is hidden or steers a terminal."""
    plain = text.replace("\n", "").replace("\t", "")
    return not any(map(is_hidden, plain)) and not mixed_script_words(plain)


@pytest.mark.parametrize("candidate", EVIL.values(), ids=list(EVIL), indirect=True)
def test_nothing_is_hidden(cli: Any, candidate: str) -> None:
    """In lists, texts, differences, the log, a review, reports and errors."""
    for surface in SURFACES:
        named = [candidate] if surface in ("show", "diff") else []
        result = cli(surface, *named, input="q\n")
        assert shows_itself(result.stdout + result.stderr), surface
        assert candidate in result.stdout or surface == "inbox"

    applied = cli("apply", candidate, "--yes")
    assert applied.exit_code in (0, 3)
    for surface in ("why", "show"):
        result = cli(surface, "mem_a")
        assert shows_itself(result.stdout + result.stderr), surface


@pytest.mark.parametrize("evil", EVIL.values(), ids=list(EVIL))
def test_nothing_is_hidden_in_an_error(cli: Any, evil: str) -> None:
    """What somebody asked for is repeated in a way that shows it."""
    for surface in ("show", "diff", "apply", "why", "discard"):
        result = cli(surface, evil)
        assert result.exit_code != 0
        assert shows_itself(result.stdout + result.stderr), surface
