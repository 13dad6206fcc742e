from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("shell", "mark"),
    [
        ("bash", "complete -o nosort -F _gitmem_completion gitmem"),
        ("zsh", "#compdef gitmem"),
        ("fish", "complete --no-files --command gitmem"),
    ],
)
def test_prints_the_script(cli: Any, shell: str, mark: str) -> None:
    """The script is for this program and that shell."""
    assert mark in cli.done("completion", shell)


def test_unknown_shell(cli: Any) -> None:
    """Another shell is bad usage."""
    assert cli("completion", "tcsh").exit_code == 2


def test_completes(cli: Any) -> None:
    """What the script calls names the commands that begin so."""
    done = subprocess.run(
        [sys.executable, "-m", "gitmem"],
        env={
            **os.environ,
            "_GITMEM_COMPLETE": "bash_complete",
            "COMP_WORDS": "gitmem co",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.stdout.splitlines() == ["plain,config", "plain,completion", "plain,context"]
