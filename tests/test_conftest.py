"""The sealed world itself: what a test sees of the machine it runs on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileStatus

from gitmem.config import driving_agent

PERSON = "Test Person <person@example.org>"


def test_git_knows_the_test_person_only(host: Path, run_git: Callable[..., str]) -> None:
    """Identity and settings come from the sealed home, for the git program."""
    origins = run_git("config", "--list", "--show-origin", "--name-only", cwd=host).splitlines()

    assert run_git("var", "GIT_AUTHOR_IDENT", cwd=host).startswith(PERSON)
    assert {origin.partition("\t")[0] for origin in origins} == {
        f"file:{os.environ['HOME']}/.gitconfig",
        "file:.git/config",
    }


def test_git_as_gitmem_starts_it_knows_the_test_person(
    host: Path, run_git: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Identity comes from the sealed home where GIT_CONFIG_GLOBAL is taken away, too."""
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")

    assert run_git("var", "GIT_AUTHOR_IDENT", cwd=host).startswith(PERSON)


def test_libgit2_knows_the_test_person_only(host: Path, sealed_home: Path) -> None:
    """Identity comes from the sealed home for libgit2, and from each test's own."""
    (sealed_home / ".gitconfig").write_text("[user]\n\tname = Other\n\temail = o@example.org\n")

    signature = pygit2.Repository(host).default_signature

    assert (signature.name, signature.email) == ("Other", "o@example.org")


def test_nothing_of_the_machine_is_left() -> None:
    """No agent drives a test, and git, gitmem and the locale hear nothing from outside."""
    assert driving_agent() is None
    assert sorted(name for name in os.environ if name.startswith(("GIT_", "GITMEM_", "LC_"))) == [
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_EDITOR",
        "GIT_TERMINAL_PROMPT",
        "LC_ALL",
    ]


def test_host_is_the_same_everywhere(host: Path) -> None:
    """The host's object ids never change, and its worktree is clean."""
    repository = pygit2.Repository(host)

    assert str(repository.head.target) == "91f0dbf2aa8d1ac5e7a7cd78524e3c46098f3f69"
    assert [str(commit.message) for commit in repository.walk(repository.head.target)] == [
        "Add src/app.py\n",
        "Add README.md\n",
    ]
    assert {
        path for path, flag in repository.status().items() if flag != FileStatus.CURRENT
    } == set()


@pytest.mark.parametrize("turn", [1, 2])
def test_host_is_the_tests_own(host: Path, turn: int) -> None:
    """What one test does to its host, the next one does not see."""
    assert not (host / "mark").exists()

    (host / "mark").write_text(str(turn), encoding="utf-8")


@pytest.mark.plain_user
def test_plain_user_is_stopped_by_permissions(tmp_path: Path) -> None:
    """The marker lets a test run only where file permissions mean something."""
    secret = tmp_path / "secret"
    secret.touch(mode=0o000)

    with pytest.raises(PermissionError):
        secret.read_text(encoding="utf-8")
