from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CliAt = Callable[[Path], Any]


@pytest.fixture
def cli(cli_at: CliAt, project: Path, tmp_path: Path) -> Any:
    """A project whose memory has an empty remote."""
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "memory.git")], check=True)
    found = cli_at(project)
    found.done("remote", str(tmp_path / "memory.git"))
    return found


def test_an_agent_shows_its_candidates(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a person has shown memory there at all."""
    propose = ("propose", "tests", "--type", "fact", "--body", "x", "--rationale", "why")
    monkeypatch.setenv("CLAUDECODE", "1")
    id_ = cli.done(*propose)
    assert cli.error("push-candidates", "--yes") == "person-needed"
    monkeypatch.delenv("CLAUDECODE")
    cli.done("sync", "--yes")
    monkeypatch.setenv("CLAUDECODE", "1")
    other = cli.done("propose", "more", *propose[2:])

    assert cli.done("push-candidates").splitlines() == [
        "project memory, origin:",
        f"  went: 1 candidate: {other}",
    ]
    assert id_ != other
    assert cli.done("push-candidates") == "project memory, origin: nothing new"
