from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def two(cli: Any) -> list[str]:
    """Two applied candidates of one session."""
    return [cli.apply(key, f"{key}.", "--session", "s1") for key in ("a", "b")]


def test_says_what_it_did(cli: Any, two: list[str], plain: Any) -> None:
    """A line for each, the newest first."""
    assert plain(cli.done("undo", "--session", "s1", "--yes")).split("\n") == [
        f"reverted {two[1]} (<commit>): mem_b",
        f"reverted {two[0]} (<commit>): mem_a",
    ]
    assert cli.done("context") == ""


@pytest.mark.usefixtures("at_terminal")
def test_lists_first(cli: Any, two: list[str], plain: Any) -> None:
    """A person sees all of it before the question, and may leave it."""
    result = cli("undo", "--actor", "agent", input="n\n")

    assert result.exit_code == 1
    assert plain(result.stderr).split("\n") == [
        "<time>  project  mem_b",
        f"    {two[1]} by agent: The user said so.",
        "<time>  project  mem_a",
        f"    {two[0]} by agent: The user said so.",
        "revert all 2? [y/N] nothing done",
        "",
    ]


def test_what_stays(cli: Any, two: list[str]) -> None:
    """It is named, and a program sees it by the exit code."""
    cli.apply("a", "Something else altogether.")

    result = cli("undo", "--session", "s1", "--yes", "--json")

    assert result.exit_code == 1
    assert f"warning: {two[0]} stays: mem_a was changed after" in result.stderr
    assert cli.done("context") == "[memory:project:preference]\nSomething else altogether."


def test_json(cli: Any, two: list[str]) -> None:
    """A program gets what was applied and what reverts it."""
    found = cli.json("undo", "--since", "1d", "--yes")

    assert [one["candidates"] for one in found] == [[two[1]], [two[0]]]
    assert all(len(one["commit"]) == 40 and one["fault"] is None for one in found)
    assert cli.json("undo", "--since", "1d", "--yes") == []


def test_wants_to_know_what(cli: Any) -> None:
    """Nothing is not everything."""
    assert cli.error("undo", "--yes") == "usage"


@pytest.mark.usefixtures("agent")
def test_agents_are_refused(cli: Any) -> None:
    """A person takes back."""
    assert cli.error("undo", "--session", "s1", "--yes") == "person-needed"
