from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def test_the_whole_way(cli: Any) -> None:
    """Without a terminal two candidates are applied and one is discarded."""
    shown = cli.done("demo")

    assert re.findall(r"^== (.*?)  \(", shown, re.MULTILINE) == [
        "a project with a rule file",
        "an agent proposes 3 memories",
        "you review",
        "what the next agent reads",
        "what happened",
    ]
    assert shown.count("-> applied ") == 2
    assert shown.count("-> discarded ") == 1
    assert "[memory:project:forbidden]\nNever run database migrations" in shown
    assert "importer any more" not in shown.partition("== what the next agent reads")[2]
    assert shown.count("  candidate.applied ") == 2


@pytest.mark.usefixtures("at_terminal")
def test_a_person_decides(cli: Any) -> None:
    """At a terminal each candidate is asked for, and q leaves the rest."""
    result = cli("demo", input="n\nq\n")

    assert result.exit_code == 0
    assert result.stdout.count("-> discarded ") == 1
    assert "-> applied" not in result.stdout


def test_keep(cli: Any) -> None:
    """--keep leaves the project and says where it is."""
    shown = cli.done("demo", "--keep")

    folder = re.search(r"The project is in (.*): gitmem works there", shown)
    assert folder is not None
    try:
        kept = subprocess.run(
            [sys.executable, "-m", "gitmem", "context"],
            cwd=folder[1],
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert kept.stdout.startswith("[memory:project:forbidden]\n")
    finally:
        shutil.rmtree(Path(folder[1]).parent)


def test_touches_nothing_of_the_users(tmp_path: Path) -> None:
    """Also where git knows nobody and an agent drives, and nothing of it is left."""
    home, scratch = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    scratch.mkdir()

    done = subprocess.run(
        [sys.executable, "-m", "gitmem", "demo"],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(scratch),
            "CLAUDECODE": "1",
        },
        cwd=home,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert list(home.rglob("*")) == []
    assert list(scratch.iterdir()) == []
