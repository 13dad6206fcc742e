from __future__ import annotations

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


def test_names_shows_and_takes_out(cli_at: CliAt, project: Path, bare: Path) -> None:
    """The whole way, with what the first sync will show."""
    cli = cli_at(project)

    result = cli("remote", "../memory.git")

    assert result.exit_code == 0
    assert result.stdout == f"the project memory is shared through {bare} (origin)\n"
    assert "the first gitmem sync shows there: 0 entries" in result.stderr
    assert cli.done("remote") == f"project memory: {bare} (origin), not synced yet"
    assert cli.json("remote") == [
        {"scope": "project", "name": "origin", "url": str(bare), "commit": None}
    ]
    gone = f"the project memory has no remote any more; {bare} stays as it is"
    assert cli.done("remote", "--remove") == gone
    assert cli.done("remote") == ""


def test_the_hosts_own(cli_at: CliAt, project: Path, bare: Path) -> None:
    """In the same names beside the code."""
    cli = cli_at(project)
    assert cli.error("remote", "--host") == "no-host-remote"
    subprocess.run(["git", "remote", "add", "upstream", str(bare)], cwd=project, check=True)

    said = cli.done("remote", "--host")

    assert said == f"the project memory is shared through {bare} (upstream)"


def test_one_of_the_three(cli_at: CliAt, project: Path) -> None:
    """URL, --host and --remove exclude one another."""
    assert cli_at(project).error("remote", "x", "--host") == "usage"


def test_agents_name_no_remote(
    cli_at: CliAt, project: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory goes is for a person to say; to look is allowed."""
    monkeypatch.setenv("CLAUDECODE", "1")
    cli = cli_at(project)

    assert cli.error("remote", str(bare)) == "person-needed"
    assert cli.done("remote") == ""
