from __future__ import annotations

from typing import Any

import pytest

from gitmem import settings
from gitmem.cli import config


@pytest.fixture
def ann(cli: Any, keys: Any, run_git: Any) -> Any:
    """The user signs with Ann's key."""
    keys["ann"].sign_with(run_git, cli.at)
    return keys["ann"]


def test_the_names_are_those_there_are() -> None:
    """The command and what it calls agree on the settings."""
    assert set(config.NAMES) == settings.SETTERS.keys()


def test_what_is_set_where_nothing_is(cli: Any) -> None:
    """Everything counts, everybody decides."""
    assert cli.done("config").split("\n") == [
        "project  approval        open",
        "project  approvers       everybody",
        "project  own-candidates  allowed",
        "user     approval        open",
        "user     approvers       everybody",
        "user     own-candidates  allowed",
    ]
    assert cli.json("config", "approval", "--scope", "user") == {"user": {"approval": "open"}}


def test_approvals_are_signed_from_now_on(cli: Any, ann: Any, run_git: Any) -> None:
    """Setting it lists the own key; what was approved before stays, what comes is signed."""
    cli.apply("fact_a", "A")
    git_dir = cli.at / ".git" / "gitmem" / "memory.git"
    start = run_git("rev-parse", "memory/main", cwd=git_dir)

    assert cli.done("config", "approval", "signed", "--yes") == (
        f"project  approval        signed, after {start[:12]}"
    )
    cli.apply("fact_b", "B")

    assert "-----BEGIN SSH SIGNATURE-----" in run_git("cat-file", "-p", "memory/main", cwd=git_dir)
    assert cli("verify").exit_code == 0
    assert {one["id"] for one in cli.json("context")["entries"]} == {"mem_fact_a", "mem_fact_b"}
    (listed, user) = cli.json("signers", "list")
    assert [(one["name"], one["key"]) for one in listed["signers"]] == [
        ("person@example.org", ann.fingerprint)
    ]
    assert user["signers"] == []


def test_an_unsigned_merge_is_not_approved(cli: Any, ann: Any, run_git: Any) -> None:
    """What plain git merges without a signature stays out of the context, and verify says why."""
    cli.apply("fact_a", "A")
    cli.done("config", "approval", "signed", "--yes")
    id_ = cli.propose("fact_b", "B")
    folder = cli.at / ".custom-agent" / "memory"
    run_git("merge", "-q", "--no-ff", "--no-edit", f"memory/candidate/{id_}", cwd=folder)

    assert [one["id"] for one in cli.json("context")["entries"]] == ["mem_fact_a"]
    result = cli("verify")
    assert result.exit_code == 1
    assert "mem_fact_b" in result.stdout

    cli.done("config", "approval", "open", "--yes")
    assert [one["id"] for one in cli.json("context")["entries"]] == ["mem_fact_b", "mem_fact_a"]
    assert cli("verify").exit_code == 0
