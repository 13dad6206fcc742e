from __future__ import annotations

import subprocess
import sys
from typing import Any


def _git(cli: Any, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gitmem", "-C", str(cli.at), "git", *args],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_works_in_the_tiers_folder(cli: Any) -> None:
    """It is the memory's repository and worktree, not the host's."""
    cli.apply()

    assert _git(cli, "ls-files").stdout == "pref_indent.md\n"
    assert _git(cli, "status", "--short", "--branch").stdout == "## memory/main\n"
    assert _git(cli, "log", "--format=%s", "-1").stdout.startswith("Merge branch")


def test_scope(cli: Any) -> None:
    """The user's memory is another repository."""
    cli.apply("pref_tone", "Be brief.", "--scope", "user")

    assert _git(cli, "--scope", "user", "ls-files").stdout == "pref_tone.md\n"
    assert _git(cli, "--scope", "project", "ls-files").stdout == ""


def test_everything_else_is_gits(cli: Any) -> None:
    """Options, also those with our names, go to git, and its exit code comes back."""
    assert _git(cli, "--no-pager", "log", "--oneline", "--", "x").returncode == 0
    assert "'user'" in _git(cli, "log", "--scope", "user").stderr
    assert _git(cli, "rev-parse", "--verify", "-q", "nothing").returncode == 1


def test_from_another_folder(cli: Any) -> None:
    """It works from anywhere in the project."""
    done = subprocess.run(
        [sys.executable, "-m", "gitmem", "git", "branch", "--show-current"],
        cwd=cli.at / "src",
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert done.stdout == "memory/main\n"
