from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HOOKS = ".git/gitmem/memory.git/hooks"


def test_install_says_what_it_did(cli: Any) -> None:
    """What is written, brought up to date or there already is told, for each tier."""
    (cli.at / HOOKS / "pre-push").unlink()
    (cli.at / HOOKS / "pre-commit").write_text("# gitmem hook: pre-commit, of gitmem 0.0.1\n")

    assert cli.done("hooks", "install") == (
        "project: pre-commit brought up to date\n"
        "project: pre-push written\n"
        "user: the hooks are in place"
    )
    assert cli.done("hooks", "install", "--scope", "project") == "project: the hooks are in place"


def test_a_hook_of_the_users_own_is_told_of(cli: Any) -> None:
    """A person reads where their own hook is, while ours is there and after."""
    hook = cli.at / HOOKS / "pre-push"
    hook.write_text("#!/bin/sh\n")

    assert "project: pre-push written, your own is beside it" in cli.done("hooks", "install")
    assert "pre-push             current, after your pre-push.local" in cli.done("hooks", "status")
    assert "project: pre-push removed, your own is back" in cli.done("hooks", "uninstall")

    cli.done("hooks", "install")
    hook.write_text("#!/bin/sh\n")
    result = cli("hooks", "install")
    assert "project: pre-push not installed" in result.stdout
    assert "'pre-push' is a hook of your own, and there is a pre-push.local" in result.stderr


def test_status_has_an_exit_code(cli: Any) -> None:
    """A script sees whether all is in place, and which hook is not."""
    assert cli("hooks", "status").exit_code == 0
    (cli.at / HOOKS / "pre-push").unlink()

    result = cli("hooks", "status", "--json")

    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["user"]["active"]
    states = {hook["name"]: hook["state"] for hook in found["project"]["hooks"]}
    assert states.pop("pre-push") == "missing"
    assert set(states.values()) == {"current"}


def test_uninstall_is_complete(cli: Any) -> None:
    """Nothing of ours is left, and the next one says so."""
    cli.done("hooks", "uninstall")

    assert list((cli.at / HOOKS).iterdir()) == []
    assert cli.done("hooks", "uninstall", "--scope", "project") == (
        "project: there are no hooks of gitmem"
    )


@pytest.mark.parametrize("text", ["text", "---\ntype: fact\n---\n\nText.\n"])
def test_run_answers_a_hook(cli: Any, run_git: Any, text: str) -> None:
    """A hook reads the answer from the exit code, 5 for a refusal, and a person from the error."""
    folder: Path = cli.at / ".custom-agent" / "memory"
    (folder / "a.md").write_text(text)
    run_git("add", "a.md", cwd=folder)
    git_dir = run_git("rev-parse", "--absolute-git-dir", cwd=folder)

    result = cli("hooks", "run", "pre-commit", git_dir, f"{git_dir}/index")

    assert result.exit_code == (5 if text == "text" else 0)
    assert ("a.md: line 1: the file does not begin" in result.stderr) == (text == "text")


def test_files_are_checked(cli: Any) -> None:
    """What is no entry is named with the reason; what may lie beside entries is not looked at."""
    (cli.at / "good.md").write_text("---\ntype: fact\n---\n\nGood.\n", encoding="utf-8")
    (cli.at / "bad.md").write_text("---\ntype: fact\nscope: user\n---\n\nBad.\n", encoding="utf-8")
    (cli.at / "README.md").write_text("# Ours\n", encoding="utf-8")

    assert cli.done("hooks", "check", "good.md", "README.md") == ""
    result = cli("hooks", "check", "good.md", "bad.md")
    assert (result.exit_code, result.stdout.partition(":")[0]) == (1, "bad.md")
    assert cli.done("hooks", "check", "--scope", "user", "bad.md") == ""
    assert cli.error("hooks", "check", "nowhere.md") == "file-unreadable"
