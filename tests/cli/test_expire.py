from __future__ import annotations

from typing import Any

import pytest

from gitmem import clock

_DAY = 86_400


@pytest.fixture
def old(cli: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """A candidate that waits for ten days."""
    id_: str = cli.propose()
    later = clock.now() + 10 * _DAY
    monkeypatch.setattr(clock, "now", lambda: later)
    return id_


def test_closes_what_is_old(cli: Any, old: str) -> None:
    """A line for each; its state says why it is closed."""
    assert cli.done("expire", "--older-than", "1w", "--yes").startswith(f"expired {old} (")
    assert cli.json("show", old)["reason"] == "Expired: nobody decided within 7 days."
    assert cli.done("inbox") == ""


def test_off_unless_configured(cli: Any, old: str) -> None:
    """Nothing is closed that nobody asked for; a setting is asking."""
    result = cli("expire", "--yes", "--scope", "project")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("project: nothing expires;")

    cli.done("config", "expire-after", "10d", "--yes")
    assert [one["candidate"] for one in cli.json("expire", "--yes")] == [old]


def test_what_is_young(cli: Any, old: str) -> None:
    """It is left alone."""
    result = cli("expire", "--older-than", "11d", "--yes", "--scope", "project")

    assert result.stderr == "project: nothing is older than 11 days\n"
    assert [one["id"] for one in cli.json("list")] == [old]


@pytest.mark.usefixtures("at_terminal")
def test_lists_first(cli: Any, old: str, plain: Any) -> None:
    """A person sees all that would be closed."""
    result = cli("expire", "--older-than", "9d", "--scope", "project", input="n\n")

    assert result.exit_code == 1
    assert plain(result.stderr) == (
        f"<time>  {old}  mem_pref_indent\nclose 1 of the project memory? [y/N] nothing done\n"
    )


@pytest.mark.parametrize("text", ["", "0d", "60", "-1d", "1y", "d"])
def test_ages(cli: Any, text: str) -> None:
    """Days and weeks, nothing else; a bare number is days."""
    wanted = "none" if text == "60" else "age-unclear"

    assert cli.error("expire", "--yes", "--older-than", text) == wanted


@pytest.mark.parametrize("value", ["0", "soon", "-3d"])
def test_settings(cli: Any, value: str) -> None:
    """What is no number of days is no setting."""
    assert cli.error("config", "expire-after", "--yes", "--", value) == "value-unknown"


@pytest.mark.usefixtures("agent")
def test_agents_are_refused(cli: Any) -> None:
    """A person closes."""
    assert cli.error("expire", "--older-than", "1d", "--yes") == "person-needed"
