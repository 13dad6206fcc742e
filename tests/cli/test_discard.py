from __future__ import annotations

from typing import Any

import pytest


def test_closes_the_candidate(cli: Any, run_git: Any) -> None:
    """The branch goes, a tag keeps the text, and the reason stands in the log."""
    id_ = cli.propose()

    found = cli.json("discard", id_, "--yes", "--reason", "not true")

    folder = cli.at / ".custom-agent" / "memory"
    assert found["candidate"] == id_
    assert cli.json("list") == []
    assert run_git("tag", "--list", cwd=folder) == (f"memory/discarded/{id_}.{found['commit'][:8]}")
    assert cli.json("list", "--state", "discarded")[0]["reason"] == "not true"


def test_says_so(cli: Any) -> None:
    """One line says what was closed."""
    id_ = cli.propose()

    assert cli.done("discard", id_, "--yes").startswith(f"discarded {id_} (")


@pytest.mark.usefixtures("at_terminal")
def test_asks(cli: Any) -> None:
    """The question names what would be closed."""
    id_ = cli.propose()

    result = cli("discard", id_, input="n\n")

    assert result.exit_code == 1
    assert result.stderr == f"discard {id_} (mem_pref_indent)? [y/N] nothing done\n"


def test_for_good(cli: Any, run_git: Any) -> None:
    """What is never to be proposed again is closed with that in its commit."""
    id_ = cli.propose()

    found = cli.json("discard", id_, "--yes", "--never")

    folder = cli.at / ".custom-agent" / "memory"
    said = run_git(
        "log", "-1", "--format=%(trailers:key=Memory-Never,valueonly)", found["commit"], cwd=folder
    )
    assert said.strip() == "true"


def test_unknown(cli: Any) -> None:
    """What is not there can't be closed."""
    assert cli("discard", "nothing", "--yes").exit_code == 1


def test_a_reason_that_is_no_text(cli: Any) -> None:
    """Bytes that are no UTF-8 can't stand in the history."""
    id_ = cli.propose()

    assert cli.error("discard", id_, "--yes", "--reason", "caf\udce9") == "text-invalid"
