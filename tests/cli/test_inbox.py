from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitmem import clock
from gitmem.cli.inbox import line
from gitmem.inbox import Waiting


def test_one_line(cli: Any) -> None:
    """What waits, what of it is risky, and how old the oldest is."""
    cli.propose("a")
    cli.propose("b", "Never this.", "--type", "forbidden")

    assert cli.done("inbox") == "2 waiting (1 risky), oldest 3 minutes"


def test_silence(cli: Any, cli_at: Callable[[Path], Any], tmp_path: Path) -> None:
    """A prompt sees nothing where nothing waits, or where there is no memory."""
    for at in (cli, cli_at(tmp_path)):
        result = at("inbox")

        assert (result.exit_code, result.output) == (0, "")


def test_json(cli: Any) -> None:
    """A program gets all numbers, also where they are nought."""
    assert cli.json("inbox") == {
        "waiting": 0,
        "risky": 0,
        "conflicts": 0,
        "broken": 0,
        "dropped": 0,
        "oldest": None,
    }
    id_ = cli.propose()
    assert cli.json("inbox")["oldest"] == cli.json("show", id_)["createdAt"]


def test_the_drop_box(cli: Any) -> None:
    """What an agent in a sandbox left counts as soon as it can be taken up."""
    box = cli.at / ".custom-agent" / "candidates"
    box.mkdir(exist_ok=True)
    (box / "broken.md").write_text("nothing", encoding="utf-8")
    assert cli.done("inbox") == ""

    text = "---\nid: mem_a\ntype: fact\nrationale: Why.\n---\n\nA.\n"
    (box / "whole.md").write_text(text, encoding="utf-8")

    assert cli.done("inbox") == "1 in the drop box"
    assert cli.done("inbox", "--scope", "user") == ""


def test_scope(cli: Any) -> None:
    """One tier alone."""
    cli.propose()

    assert cli.done("inbox", "--scope", "user") == ""


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Waiting(), ""),
        (Waiting(1), "1 waiting"),
        (Waiting(4, 1, 2, 1), "4 waiting (1 risky, 2 in conflict, 1 broken)"),
    ],
)
def test_line(found: Waiting, text: str) -> None:
    """Only what there is, is told."""
    assert line(found) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "less than a minute"),
        (59, "less than a minute"),
        (60, "1 minute"),
        (7199, "1 hour"),
        (86400, "1 day"),
        (3 * 86400 - 1, "2 days"),
    ],
)
def test_age(monkeypatch: pytest.MonkeyPatch, seconds: int, text: str) -> None:
    """In the largest unit that it fills; a clock that runs ahead is no error."""
    monkeypatch.setattr(clock, "now", lambda: 1_780_000_000)

    assert line(Waiting(1, oldest=1_780_000_000 - seconds)) == f"1 waiting, oldest {text}"
