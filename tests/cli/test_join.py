from __future__ import annotations

from typing import Any

import pytest


def test_into_an_approved_entry(cli: Any) -> None:
    """The candidate changes that entry then."""
    cli.apply("commits", "In English.")
    id_ = cli.propose("messages", "No emoji.")

    carrier = cli.done("join", id_, "mem_commits", "--body-file", "-", input="English, no emoji.")

    assert carrier == id_
    assert cli.json("show", id_)["entries"] == ["mem_commits"]
    cli.done("apply", id_, "--yes")
    assert cli.done("context") == "[memory:project:preference]\nEnglish, no emoji."


def test_into_another_candidate(cli: Any) -> None:
    """The other one has the text then, and this one is closed."""
    other = cli.propose("commits", "In English.")
    id_ = cli.propose("messages", "No emoji.")

    found = cli.json("join", id_, other, "--body-file", "-", input="English, no emoji.")

    assert found == {"candidate": other}
    assert cli.json("show", id_)["state"] == "superseded"
    assert cli.json("show", other)["files"]["mem_commits"].endswith("\nEnglish, no emoji.\n")


def test_in_the_editor(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both texts stand in the editor; one that fails changes nothing."""
    cli.apply("commits", "In English.")
    id_ = cli.propose("messages", "No emoji.")

    assert cli.error("join", id_, "commits") == "editor-failed"
    monkeypatch.setenv("GIT_EDITOR", "true")
    cli.done("join", id_, "commits")

    assert cli.json("show", id_)["files"]["mem_commits"].endswith("\nIn English.\n\nNo emoji.\n")


def test_what_can_not_be_joined(cli: Any) -> None:
    """Only a new entry goes into another one, and not into itself."""
    cli.apply("commits", "In English.")
    change = cli.propose("commits", "In French.")
    new = cli.propose("messages", "No emoji.")

    assert cli.error("join", change, "messages") == "entry-unclear"
    assert cli.error("join", new, new) == "entry-unclear"
    assert cli.error("join", new, "nothing") == "no-such-candidate"
