"""Tests of reading refs from git's own files, and of making new ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.errors import BadInputError, ConflictError
from gitmem.git import refs
from gitmem.git.objects import Objects
from gitmem.model.history import EMPTY_TREE, Person

RunGit = Callable[..., str]


@pytest.fixture
def repository(tmp_path: Path, run_git: RunGit) -> Path:
    """An empty bare repository."""
    place = tmp_path / "refs.git"
    run_git("init", "--quiet", "--bare", place, cwd=tmp_path)
    return place


@pytest.fixture
def commit(repository: Path) -> str:
    """A commit in it."""
    objects = Objects(repository, "project")
    objects.write_tree(EMPTY_TREE, {})
    return objects.write_commit(EMPTY_TREE, [], "x\n", Person("A", "a@b", 1, 0))


@pytest.mark.parametrize("packed", [False, True])
def test_refs_are_gits(repository: Path, commit: str, run_git: RunGit, packed: bool) -> None:
    """What is made here, git reads, and the other way round, loose or packed."""
    refs.create(repository, "refs/heads/a/b", commit)
    run_git("update-ref", "refs/heads/c", commit, cwd=repository)
    if packed:
        run_git("pack-refs", "--all", cwd=repository)
    assert refs.listed(repository, "refs/heads/") == {
        "refs/heads/a/b": commit,
        "refs/heads/c": commit,
    }
    assert refs.read(repository, "refs/heads/c") == commit
    assert refs.read(repository, "refs/heads/a") is None
    assert run_git("rev-parse", "refs/heads/a/b", cwd=repository) == commit
    with pytest.raises(ConflictError) as raised:
        refs.create(repository, "refs/heads/c", commit)
    assert raised.value.reference == "ref-exists"


def test_a_ref_that_is_put(repository: Path, commit: str, run_git: RunGit, tmp_path: Path) -> None:
    """Made or moved, packed before or not; where it was a link, what that led to is left alone."""
    for _ in range(2):
        refs.put(repository, "refs/heads/a/b", commit)
        assert run_git("rev-parse", "refs/heads/a/b", cwd=repository) == commit
        run_git("pack-refs", "--all", cwd=repository)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine\n")
    (repository / "refs/heads/c").symlink_to(elsewhere)
    refs.put(repository, "refs/heads/c", commit)
    assert refs.read(repository, "refs/heads/c") == commit
    assert elsewhere.read_text() == "mine\n"
    assert list(repository.glob("gitmem-ref*")) == []


def test_locked_ref(repository: Path, commit: str) -> None:
    """A ref that another process is writing is said, with the file that holds it."""
    (repository / "refs/heads/a.lock").touch()
    with pytest.raises(ConflictError) as raised:
        refs.create(repository, "refs/heads/a", commit)
    assert raised.value.reference == "repository-locked"
    assert "a.lock" in (raised.value.context or "")


def test_symbolic_ref(repository: Path, commit: str, run_git: RunGit) -> None:
    """A symbolic ref is an error, but for the one that git makes of a remote."""
    run_git("symbolic-ref", "refs/heads/x", "refs/heads/y", cwd=repository)
    with pytest.raises(BadInputError) as raised:
        refs.read(repository, "refs/heads/x")
    assert raised.value.reference == "symbolic-ref"
    run_git("symbolic-ref", "refs/remotes/o/HEAD", "refs/remotes/o/main", cwd=repository)
    run_git("update-ref", "refs/remotes/o/main", commit, cwd=repository)
    assert refs.listed(repository, "refs/remotes/") == {"refs/remotes/o/main": commit}


def test_many_new_refs_are_one_file(repository: Path, commit: str, run_git: RunGit) -> None:
    """Git reads them beside what was packed before: in order, tags with what they point to."""
    run_git("tag", "-a", "-m", "x", "t", commit, cwd=repository)
    run_git("update-ref", "refs/heads/m", commit, cwd=repository)
    run_git("pack-refs", "--all", cwd=repository)
    before = run_git("show-ref", "-d", cwd=repository).splitlines()
    new = {f"refs/{name}": commit for name in ("heads/a", "heads/z", "tags/s", "remotes/o/b")}

    assert refs.create_packed(repository, new)

    shown = run_git("show-ref", "-d", cwd=repository).splitlines()
    assert sorted(shown) == sorted([*before, *(f"{commit} {name}" for name in new)])
    lines = (repository / "packed-refs").read_text().splitlines()
    names = [line.split()[1] for line in lines if line[0] not in "#^"]
    assert names == sorted(names)
    assert refs.listed(repository, "refs/heads/").keys() >= {"refs/heads/a", "refs/heads/m"}
    run_git("fsck", cwd=repository)


def test_the_first_packed_refs(repository: Path, commit: str, run_git: RunGit) -> None:
    """Where there was no such file."""
    assert refs.create_packed(repository, {"refs/heads/a": commit})

    assert run_git("rev-parse", "refs/heads/a", cwd=repository) == commit


def test_a_git_that_packs_is_left_alone(repository: Path, commit: str) -> None:
    """Its lock is no reason to fail: the caller takes another way."""
    (repository / "packed-refs.lock").touch()

    assert not refs.create_packed(repository, {"refs/heads/a": commit})
    assert refs.read(repository, "refs/heads/a") is None
