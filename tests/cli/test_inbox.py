from __future__ import annotations

from typing import Any

import pytest

from gitmem import clock


def test_nothing_waits(cli: Any) -> None:
    """A prompt shows nothing then."""
    assert cli.done("inbox") == ""
    assert cli.json("inbox") == {"waiting": 0, "risky": 0, "oldest": None}


def test_one_line(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many, how many of them risky, and how old the oldest is."""
    cli.propose("a", "A.")
    cli.propose("b", "B.", "--type", "forbidden")
    cli.propose("c", "C.")
    made = clock.now()
    monkeypatch.setattr(clock, "now", lambda: made + 2 * 86_400)

    assert cli.done("inbox") == "3 waiting (1 risky), oldest 2 days"
    found = cli.json("inbox")
    assert (found["waiting"], found["risky"]) == (3, 1)
    assert found["oldest"] == cli.json("list")[0]["createdAt"]


def test_it_counts_what_can_be_decided(cli: Any) -> None:
    """What approved memory says by now does not count, and looking changes nothing."""
    done = cli.propose("a", "Use tox.")
    other = cli.propose("a", "Use tox!")
    cli.done("edit", other, "--body-file", "-", input="Use tox.")
    cli.done("apply", other, "--yes")
    cli.propose("b", "B.")

    assert cli.done("inbox").startswith("1 waiting, oldest ")
    assert cli.json("show", done)["state"] == "pending"
