"""The way to a remote: what is listed, fetched, pushed and noted there, with git itself at both ends."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitmem import layout
from gitmem.errors import GitmemError
from gitmem.git import refs, tierrepo
from gitmem.git.hostremote import Remote
from gitmem.git.sharing import IN_THE_WAY, Door, Update

MAIN = layout.MAIN
A, B = layout.candidate_ref("a"), layout.candidate_ref("b")
TRACKED = layout.tracking("origin")


def git(git_dir: Path, *args: str) -> str:
    """Standard output of a git that succeeds."""
    command = ["git", "--git-dir", str(git_dir), *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The remote's repository."""
    place = tmp_path / "there.git"
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    return place


@pytest.fixture
def door(tmp_path: Path, bare: Path) -> Door:
    """A tier's repository with the remote `origin`."""
    place = tmp_path / "here.git"
    tierrepo.create(place, "project", bare=True)
    tierrepo.add_remote(place, "origin", str(bare))
    return Door(place, Remote("origin", str(bare), ()))


@pytest.fixture
def tip(door: Door) -> str:
    """The commit of its `memory/main`."""
    return refs.read(door.git_dir, MAIN) or ""


def test_lists_memory_alone(door: Door, bare: Path, tip: str) -> None:
    """Code is not looked at; a branch in the way is."""
    git(door.git_dir, "push", "-q", str(bare), f"{tip}:refs/heads/main", f"{tip}:{IN_THE_WAY}")

    assert door.listed() == {IN_THE_WAY: tip}


def test_pushes_all_or_nothing(door: Door, tip: str) -> None:
    """The branches of candidates as one pattern, without those that are kept."""
    for name in (A, B):
        refs.create(door.git_dir, name, tip)

    assert door.push([Update(MAIN, tip, None), Update(A, tip, None)], atomic=True, kept=[B]) == {}

    assert door.listed() == {MAIN: tip, A: tip}
    assert refs.listed(door.git_dir, "refs/remotes/") == {
        f"{TRACKED}candidate/a": tip,
        f"{TRACKED}main": tip,
    }


def test_deletes_only_what_was_seen(door: Door, bare: Path, tip: str) -> None:
    """A branch that has moved since stays, and so does all else of that push."""
    refs.create(door.git_dir, A, tip)
    door.push([Update(A, tip, None)], atomic=True)
    tree = git(bare, "rev-parse", f"{tip}^{{tree}}")
    moved = git(bare, "commit-tree", "-m", "x", "-p", tip, tree)
    git(bare, "update-ref", A, moved)

    refused = door.push([Update(MAIN, tip, None), Update(A, None, tip)], atomic=True)

    assert set(refused) == {MAIN, A}
    assert door.listed() == {A: moved}
    assert door.push([Update(A, None, moved)], atomic=True) == {}
    assert door.listed() == {}
    assert refs.listed(door.git_dir, "refs/remotes/") == {}


def test_fetches_what_is_asked_for(door: Door, bare: Path, tip: str) -> None:
    """No tags besides, nothing forgotten, no FETCH_HEAD."""
    git(door.git_dir, "push", "-q", str(bare), f"{tip}:{A}", f"{tip}:refs/tags/v1")
    refs.create(door.git_dir, f"{TRACKED}candidate/gone", tip)

    door.fetch([f"+{layout.CANDIDATES}*:{TRACKED}candidate/*"])

    assert list(refs.listed(door.git_dir, "refs/remotes/", "refs/tags/")) == [
        f"{TRACKED}candidate/a",
        f"{TRACKED}candidate/gone",
    ]
    assert not (door.git_dir / "FETCH_HEAD").exists()


def test_progress_is_shown(door: Door, tip: str) -> None:
    """As git says it, as it comes."""
    said: list[bytes] = []
    watched = Door(door.git_dir, door.remote, show=said.append)

    watched.push([Update(MAIN, tip, None)], atomic=True)

    assert b"Writing objects: 100%" in b"".join(said)


def test_a_remote_that_is_not_there(door: Door, bare: Path, tip: str) -> None:
    """Each way says so, with git's own words."""
    bare.rename(bare.with_name("elsewhere.git"))
    for act in (
        door.listed,
        lambda: door.fetch([f"{MAIN}:{TRACKED}main"]),
        lambda: door.push([Update(MAIN, tip, None)], atomic=True),
    ):
        with pytest.raises(GitmemError) as caught:
            act()
        assert caught.value.reference == "remote-failed"
        assert "does not appear to be a git repository" in (caught.value.context or "")


def test_more_in_the_config_is_honoured(door: Door, tip: str, tmp_path: Path) -> None:
    """A push url of the user's."""
    other = tmp_path / "other.git"
    subprocess.run(["git", "init", "-q", "--bare", str(other)], check=True)
    git(door.git_dir, "config", "remote.origin.pushurl", str(other))

    door.push([Update(MAIN, tip, None)], atomic=True)

    assert git(other, "rev-parse", MAIN) == tip
    assert door.listed() == {}
