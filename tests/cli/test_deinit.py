from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_keeps_the_history(cli: Any) -> None:
    """The tier is gone, and the next init brings it back."""
    cli.apply()

    result = cli("deinit", "--yes")

    repository = cli.at / ".git" / "gitmem"
    assert result.exit_code == 0
    assert result.stdout == (
        f"the project memory is out, and its history is kept in {repository}/retired.git\n"
    )
    assert not (cli.at / ".custom-agent").exists()
    assert cli.done("context") == ""
    assert cli.done("init").startswith("project memory: brought back, ")
    assert cli.done("context") == "[memory:project:preference]\nUse 4 spaces."


def test_purge(cli: Any) -> None:
    """It says what it destroys, and nothing is left of it."""
    cli.apply()
    cli.propose("b", "B.")

    result = cli("deinit", "--purge", "--yes")

    assert result.stdout == "the project memory is out, and its history is destroyed\n"
    assert "has 1 entry, 1 pending candidate, 0 records of sessions\n" in result.stderr
    assert "this destroys them and their whole history\n" in result.stderr
    assert not (cli.at / ".git" / "gitmem").exists()


@pytest.mark.usefixtures("at_terminal")
def test_asks(cli: Any) -> None:
    """A no leaves everything as it was."""
    cli.apply()

    result = cli("deinit", "--purge", input="n\n")

    assert result.exit_code == 1
    assert result.stderr.endswith("destroy all of it? [y/N] nothing done\n")
    assert cli.done("context") == "[memory:project:preference]\nUse 4 spaces."


def test_nothing_to_take_out(cli: Any) -> None:
    """Where there is no tier it says so."""
    cli.done("deinit", "--purge", "--yes")

    assert cli("deinit", "--yes").exit_code == 1


def test_a_purge_leaves_nothing_in_the_users_folders(cli: Any, sealed_home: Path) -> None:
    """Neither a cache nor a witness of the destroyed repository is left."""
    cli.apply()
    cli.done("context")
    kept = [sealed_home / ".cache" / "gitmem" / "view", sealed_home / ".local/state/gitmem/witness"]
    before = [len(list(folder.iterdir())) for folder in kept]

    cli.done("deinit", "--purge", "--yes")

    assert [len(list(folder.iterdir())) for folder in kept] == [count - 1 for count in before]
    assert 0 not in before
