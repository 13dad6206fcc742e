from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_takes_back_a_candidate(cli: Any) -> None:
    """What was approved before comes back, and the reason stands in the log."""
    cli.apply()
    id_ = cli.apply("pref_indent", "Use 2 spaces.")

    said = cli.done("revert", id_, "--yes", "--reason", "a mistake")

    assert said.startswith(f"reverted {id_} (")
    assert said.endswith("): mem_pref_indent")
    assert cli.done("context") == "[memory:project:preference]\nUse 4 spaces."
    assert cli.json("list", "--state", "reverted")[0]["id"] == id_


def test_takes_back_a_commit(cli: Any) -> None:
    """A revert is taken back by its commit, abbreviated as git does."""
    id_ = cli.apply()
    commit = cli.json("revert", id_, "--yes")["commit"]

    cli.done("revert", commit[:8], "--yes")

    assert cli.done("context") == "[memory:project:preference]\nUse 4 spaces."


def test_what_has_changed_since(cli: Any) -> None:
    """Where a later change stands on it, it is refused."""
    first = cli.apply()
    cli.apply("pref_indent", "Use 2 spaces.")

    result = cli("revert", first, "--yes")

    assert result.exit_code == 3
    assert result.stderr.startswith("error: mem_pref_indent was changed after ")


def test_what_was_never_applied(cli: Any) -> None:
    """There is nothing to take back of a pending candidate, and nothing of an unknown name."""
    id_ = cli.propose()

    assert cli("revert", id_, "--yes").exit_code == 3
    assert cli("revert", "nothing", "--yes").exit_code == 1


def test_a_reason_that_is_no_text(cli: Any) -> None:
    """Bytes that are no UTF-8 can't stand in the history."""
    id_ = cli.apply()

    assert cli.error("revert", id_, "--yes", "--reason", "caf\udce9") == "text-invalid"


def test_of_a_sync_that_dropped_one_side(cli: Any, project: Path, run_git: Any) -> None:
    """It can't be reverted whole; what it holds without approval is put back as approved."""
    cli.done("add", "--yes", "fact_a", "A", "--type", "fact")
    repository = project / ".git" / "gitmem" / "memory.git"
    base = run_git("rev-parse", "memory/main", cwd=repository)
    cli.done("add", "--yes", "fact_b", "B", "--type", "fact")
    message = "Merge branch 'memory/main' of /srv/team"
    args = ("commit-tree", f"{base}^{{tree}}", "-p", base, "-p", "memory/main", "-m", message)
    sync = run_git(*args, cwd=repository)
    run_git("update-ref", "refs/heads/memory/main", sync, cwd=repository)
    assert [item["kind"] for item in json.loads(cli("verify", "--json").stdout)["findings"]] == [
        "unreviewed"
    ]

    cli.done("revert", "--yes", sync)

    assert cli.done("verify") == ""
    assert cli.json("context")["text"].count("[memory:") == 2
    assert cli("revert", "--yes", sync).exit_code == 3
