from __future__ import annotations

import json
from typing import Any


def _lines(cli: Any, *args: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cli.done("export", "log", *args).splitlines()]


def test_the_events_are_those_of_the_log(cli: Any) -> None:
    """Besides their numbers, each is as `gitmem log` prints it."""
    cli.apply()
    cli.apply("other", "Other.", "--scope", "user")
    cli.propose("b", "B.")
    events = [{k: v for k, v in one.items() if k != "n"} for one in _lines(cli) if "kind" in one]

    logged = cli.done("log", "--json", "--snapshots").splitlines()
    assert events == [json.loads(line) for line in logged]


def test_one_tier(cli: Any) -> None:
    """The user's own memory stays out where only the project's is asked for."""
    cli.apply("secret", "Mine alone.", "--scope", "user")
    header, *records = _lines(cli, "--scope", "project")

    assert list(header["tiers"]) == ["project"]
    assert {one["tier"] for one in records} == {"project"}
    assert "Mine alone." not in cli.done("export", "log", "--scope", "project")


def test_since(cli: Any) -> None:
    """Events from a time on, and the texts that were approved before it."""
    cli.apply()
    header, *records = _lines(cli, "--since", "2027-01-01")

    assert header["since"] == "2027-01-01T00:00:00Z"
    assert [one for one in records if "kind" in one] == []
    assert [one["text"][-14:] for one in records if "blob" in one] == ["Use 4 spaces.\n"]


def test_bad_input(cli: Any) -> None:
    """A time that is none."""
    assert cli.error("export", "log", "--since", "soon") == "time-unclear"
