from __future__ import annotations

from typing import Any

import pytest


def test_proposes_and_applies(cli: Any) -> None:
    """A person's own text is in the context at once, and the log shows both steps."""
    said = cli.done("add", "pref_tone", "Be brief.", "--type", "preference", "--yes")

    assert said.startswith("added cand_2026_00000001 (")
    assert cli.done("context") == "[memory:project:preference]\nBe brief."
    kinds = [line.split()[3] for line in cli.done("log").splitlines()]
    assert kinds == ["candidate.created", "candidate.applied", "memory.updated"]


def test_scope(cli: Any) -> None:
    """It goes where the person says."""
    cli.done("add", "a", "A.", "--type", "fact", "--scope", "user", "--yes")

    assert cli.done("context") == "[memory:user:fact]\nA."


def test_changes_what_exists(cli: Any) -> None:
    """An entry that exists keeps its type."""
    cli.apply()

    cli.done("add", "pref_indent", "Use 2 spaces.", "--yes")

    assert cli.done("context") == "[memory:project:preference]\nUse 2 spaces."


def test_nothing_to_change(cli: Any) -> None:
    """Text that is approved already is refused, with the candidate that brought it."""
    id_ = cli.apply()

    result = cli("add", "pref_indent", "Use 4 spaces.", "--yes")

    assert result.exit_code == 5
    assert result.stderr == (
        "error: it changes nothing: approved memory says so\n"
        f"hint: it came with {id_}: gitmem show {id_}\n"
    )


@pytest.mark.usefixtures("at_terminal")
def test_asks(cli: Any) -> None:
    """At a terminal it asks, and a no leaves no candidate behind."""
    result = cli("add", "a", "A.", "--type", "fact", input="\n")

    assert result.exit_code == 1
    assert result.stderr == "put this into the project memory as a? [y/N] nothing done\n"
    assert cli.json("list", "--state", "all") == []


def test_a_new_entry_needs_a_type(cli: Any) -> None:
    """The error says which types there are."""
    result = cli("add", "a", "A.", "--yes")

    assert result.exit_code == 2
    assert "hint: add --type preference|convention|fact|forbidden" in result.stderr
