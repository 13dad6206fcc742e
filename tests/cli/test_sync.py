from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CliAt = Callable[[Path], Any]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """An empty bare repository."""
    place = tmp_path / "memory.git"
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    return place


@pytest.fixture
def ann(cli_at: CliAt, project: Path, bare: Path) -> Any:
    """A project whose memory has a remote, not synced yet."""
    cli = cli_at(project)
    cli.done("remote", str(bare))
    return cli


@pytest.fixture
def ben(ann: Any, cli_at: CliAt, project: Path, tmp_path: Path) -> Any:
    """The same project in another place, after both have synced one entry."""
    ann.done("add", "--yes", "indent", "Four spaces.", "--type", "fact")
    ann.done("sync", "--yes")
    shutil.copytree(project, tmp_path / "ben", symlinks=True)
    return cli_at(tmp_path / "ben")


def test_says_what_went_and_came(ann: Any, ben: Any) -> None:
    """Each way in a line."""
    ann.done("add", "--yes", "tests", "Run make test.", "--type", "fact")
    id_ = ann.done("propose", "more", "--type", "fact", "--body", "More.", "--rationale", "why")

    assert ann.done("sync").splitlines() == [
        "project memory, origin:",
        "  went: 1 entry: mem_tests",
        f"  went: 1 candidate: {id_}",
    ]
    assert ben.done("sync").splitlines() == [
        "project memory, origin:",
        "  came: 1 entry: mem_tests",
        f"  came: 1 candidate: {id_}",
    ]
    assert ben.done("sync") == "project memory, origin: nothing new"


def test_json(ann: Any, ben: Any, bare: Path) -> None:
    """The same for programs."""
    ann.done("add", "--yes", "tests", "Run make test.", "--type", "fact")

    (report,) = ann.json("sync")

    nothing = {"entries": [], "candidates": [], "discarded": []}
    assert report == {
        "scope": "project",
        "remote": "origin",
        "url": str(bare),
        "came": nothing,
        "went": {**nothing, "entries": ["mem_tests"]},
        "withdrawn": [],
        "conflicts": [],
        "split": [],
        "unreviewed": [],
        "unreadable": [],
        "refused": {},
        "left": [],
    }


def test_a_conflict_is_exit_code_three(ann: Any, ben: Any) -> None:
    """And names the entry and the candidate."""
    for cli, text in ((ann, "Two spaces."), (ben, "A tab.")):
        id_ = cli.done("propose", "indent", "--body", text, "--rationale", "why")
        cli.done("apply", "--yes", id_)
    ann.done("sync")

    result = ben("sync")

    assert result.exit_code == 3
    assert "  conflict: mem_indent stays as origin has it; cand_2026_" in result.stdout
    assert result.stdout.rstrip().endswith(" has yours")


def test_what_is_refused_is_exit_code_five(ann: Any, ben: Any, bare: Path) -> None:
    """With the remote's reason on standard error."""
    hook = bare / "hooks" / "update"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    ann.done("add", "--yes", "tests", "Run make test.", "--type", "fact")

    result = ann("sync")

    assert result.exit_code == 5
    assert "origin does not take heads/memory/main: [remote rejected]" in result.stderr


def test_the_first_sync_asks(ann: Any, bare: Path) -> None:
    """Without a terminal it does not go on."""
    ann.done("add", "--yes", "indent", "Four spaces.", "--type", "fact")

    assert ann.error("sync") == "yes-missing"

    result = ann("sync", "--yes")
    assert result.exit_code == 0
    assert f"{bare} has no project memory yet" in result.stderr
    assert "this shows there: 1 entry, 0 pending candidates" in result.stderr


def test_agents_do_not_sync(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what counts; an agent shows its candidates."""
    monkeypatch.setenv("CLAUDECODE", "1")

    assert ann.error("sync", "--yes") == "person-needed"


def test_without_a_remote(cli_at: CliAt, project: Path) -> None:
    """The way on is named."""
    cli = cli_at(project)

    assert cli.error("sync") == "no-remote"
    assert "gitmem remote --scope project URL" in cli("sync").stderr
    assert json.loads(cli.done("remote", "--json")) == []
