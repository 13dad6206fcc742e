from __future__ import annotations

from typing import Any


def test_a_discarded_candidate(cli: Any) -> None:
    """It is pending again under its id."""
    id_ = cli.propose()
    cli.done("discard", id_, "--yes")

    said = cli.done("reopen", id_, "--yes")

    assert said.startswith(f"reopened {id_} (")
    assert [one["id"] for one in cli.json("list")] == [id_]


def test_a_pending_one(cli: Any) -> None:
    """There is nothing to reopen of a candidate that waits."""
    assert cli.error("reopen", cli.propose(), "--yes") == "not-closed"
