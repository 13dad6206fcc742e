from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from build import Builder

from gitmem.errors import ConflictError
from gitmem.git import worktrees
from gitmem.git.worktrees import Worktree

RunGit = Callable[..., str]


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    """A builder on a fresh repository."""
    return Builder.at(tmp_path)


def ours(repo: Builder, path: Path) -> Worktree:
    """The worktree of ours at `path`."""
    found = worktrees.ours_at(repo.git_dir, path)
    assert found is not None
    return found


def test_there_and_away(repo: Builder, tmp_path: Path, run_git: RunGit) -> None:
    """It has the files of the commit, is locked, and leaves nothing behind."""
    before = run_git("worktree", "list", "--porcelain", cwd=repo.git_dir)
    config = (repo.git_dir / "config").read_bytes()
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    worktrees.add(repo.git_dir, tmp_path / "look", main, "of s1")
    found = ours(repo, tmp_path / "look")

    assert (tmp_path / "look" / "a.md").read_bytes().endswith(b"\nA\n")
    assert (found.commit, found.reason) == (main, "gitmem replay of s1")
    run_git("worktree", "prune", "--expire=now", cwd=repo.git_dir)
    worktrees.remove(repo.git_dir, found)
    assert not (tmp_path / "look").exists()
    assert run_git("worktree", "list", "--porcelain", cwd=repo.git_dir) == before
    assert (repo.git_dir / "config").read_bytes() == config


def test_no_hook_and_no_attribute_has_a_say(
    repo: Builder, tmp_path: Path, run_git: RunGit, sealed_home: Path
) -> None:
    """The bytes are those of the commit, and nobody's program runs."""
    hook = repo.git_dir / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (sealed_home / "attributes").write_text("*.md text eol=crlf\n")
    run_git(
        "config", "--global", "core.attributesFile", sealed_home / "attributes", cwd=repo.git_dir
    )
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    worktrees.add(repo.git_dir, tmp_path / "look", main, "of s1")

    assert b"\r" not in (tmp_path / "look" / "a.md").read_bytes()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["a.md", "new.md"])
def test_changes_are_not_thrown_away(repo: Builder, tmp_path: Path, name: str) -> None:
    """Whoever wrote something there keeps it, and the worktree stays whole."""
    worktrees.add(
        repo.git_dir, tmp_path / "look", repo.approve(repo.root, {"a": "A"}, "cand_1"), "x"
    )
    (tmp_path / "look" / name).write_text("mine\n")
    with pytest.raises(ConflictError) as caught:
        worktrees.remove(repo.git_dir, ours(repo, tmp_path / "look"))

    assert caught.value.reference == "checkout-changed"
    assert caught.value.context == name
    assert ours(repo, tmp_path / "look").reason == "gitmem replay x"


def test_one_that_a_user_made(repo: Builder, tmp_path: Path, run_git: RunGit) -> None:
    """It is none of ours, locked or not."""
    for args in (["one"], ["--lock", "two"]):
        path = tmp_path / args[-1]
        add = ("worktree", "add", "-q", "--detach", *args[:-1], str(path), repo.root)
        run_git(*add, cwd=repo.git_dir)

        assert worktrees.ours_at(repo.git_dir, path) is None
    assert worktrees.ours_at(repo.git_dir, tmp_path / "nowhere") is None


def test_a_folder_that_is_gone_already(repo: Builder, tmp_path: Path, run_git: RunGit) -> None:
    """What git keeps about it goes all the same, and about no other missing one."""
    run_git(
        *("worktree", "add", "-q", "--detach", str(tmp_path / "users"), repo.root),
        cwd=repo.git_dir,
    )
    worktrees.add(repo.git_dir, tmp_path / "look", repo.root, "x")
    shutil.rmtree(tmp_path / "users")
    shutil.rmtree(tmp_path / "look")
    worktrees.remove(repo.git_dir, ours(repo, tmp_path / "look"))

    assert worktrees.ours_at(repo.git_dir, tmp_path / "look") is None
    assert "users" in run_git("worktree", "list", cwd=repo.git_dir)
