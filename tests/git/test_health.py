"""What can be wrong with a repository, seen without a change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.git import health

RunGit = Callable[..., str]
MAIN = "refs/heads/memory/main"


@pytest.fixture
def repository(tmp_path: Path, run_git: RunGit) -> Path:
    """A bare repository with two commits on `memory/main`."""
    work = tmp_path / "work"
    run_git("init", "-q", "-b", "memory/main", work, cwd=tmp_path)
    for text in ("one", "two"):
        (work / "entry.md").write_text(text)
        run_git("add", ".", cwd=work)
        run_git("commit", "-q", "-m", text, cwd=work)
    (work / ".git").rename(tmp_path / "memory.git")
    run_git("config", "core.bare", "true", cwd=tmp_path / "memory.git")
    return tmp_path / "memory.git"


def test_the_version_of_git(run_git: RunGit, tmp_path: Path) -> None:
    """As git says it, in numbers that compare."""
    version = ".".join(map(str, health.git_version()))

    assert run_git("version", cwd=tmp_path).startswith(f"git version {version}")
    assert health.git_version() >= (2, 39)


def test_missing_objects(repository: Path, run_git: RunGit) -> None:
    """None in a whole repository; a blob and a tree by their kinds and ids."""
    assert health.missing_objects(repository) == []
    blob = run_git("rev-parse", "memory/main:entry.md", cwd=repository)
    (repository / "objects" / blob[:2] / blob[2:]).unlink()

    assert health.missing_objects(repository) == [f"blob {blob}"]


def test_locks(repository: Path) -> None:
    """Only old ones of git's, at the top and among the refs; not the lock of a decision."""
    paths = ["config.lock", "refs/heads/memory/main.lock", "gitmem.lock", "index.lock"]
    for path in paths:
        (repository / path).touch()
        os.utime(repository / path, (1000, 1000))
    os.utime(repository / "index.lock", (3000, 3000))

    found = health.locks(repository, before=2000)
    assert found == [repository / path for path in paths[:2]]


def test_remotes(repository: Path, run_git: RunGit) -> None:
    """Each with its url, and its `memory/main` once that was fetched."""
    tip = run_git("rev-parse", "memory/main", cwd=repository)
    run_git("remote", "add", "team", "/srv/team.git", cwd=repository)
    run_git("remote", "add", "with.dots", "/srv/other.git", cwd=repository)
    run_git("update-ref", "refs/remotes/team/memory/main", tip, cwd=repository)

    assert health.remotes(repository, MAIN) == [
        health.Remote("team", "/srv/team.git", tip),
        health.Remote("with.dots", "/srv/other.git", None),
    ]
    assert health.settings(repository, "remote.team") == [
        ("remote.team.url", "/srv/team.git"),
        ("remote.team.fetch", "+refs/heads/*:refs/remotes/team/*"),
    ]


def test_apart(repository: Path) -> None:
    """Counted on both sides."""
    assert health.apart(repository, MAIN, f"{MAIN}^") == (1, 0)
    assert health.apart(repository, f"{MAIN}^", MAIN) == (0, 1)
    assert health.apart(repository, MAIN, MAIN) == (0, 0)


def test_shallow(repository: Path, tmp_path: Path, run_git: RunGit) -> None:
    """A clone of depth one is, a whole one is not."""
    copy = tmp_path / "copy.git"
    run_git("clone", "-q", "--bare", "--depth=1", f"file://{repository}", copy, cwd=tmp_path)

    assert (health.is_shallow(repository), health.is_shallow(copy)) == (False, True)
