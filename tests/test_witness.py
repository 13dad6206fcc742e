"""Tests for the witness: the last tip of `memory/main` that this machine has seen."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import witness
from gitmem.layout import host_repository
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.context import Options

RunGit = Callable[..., str]


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project's memory with one approved entry, which is witnessed with its approval."""
    found = open_memory(project)
    found.add(Draft("good", "Approved.", "fact"), by=found.person())
    return found


def _git_dir(root: Path) -> Path:
    return host_repository(root / ".git")


def test_a_decision_is_witnessed(memory: Memory) -> None:
    """Each approval moves the witness along."""
    assert witness.read(_git_dir(memory.path)) == memory.store("project").main()


def test_a_repository_that_was_moved(memory: Memory, tmp_path: Path, run_git: RunGit) -> None:
    """It is known by its inode, also where all its objects are packed."""
    tip = memory.store("project").main()
    run_git("gc", "-q", cwd=_git_dir(memory.path))
    moved = memory.path.rename(tmp_path / "moved")

    assert witness.read(_git_dir(moved)) == tip


def test_a_repository_that_was_copied(memory: Memory, tmp_path: Path) -> None:
    """A copy has a history of its own from now on."""
    copied = shutil.copytree(memory.path, tmp_path / "copied", symlinks=True)

    assert witness.read(_git_dir(copied)) is None


def test_a_number_that_was_given_out_again(memory: Memory, tmp_path: Path) -> None:
    """A record that another repository left under the same inode is not this one's."""
    git_dir = _git_dir(memory.path)
    witness.write(git_dir, "1" * 40)
    moved = memory.path.rename(tmp_path / "moved")

    assert witness.read(_git_dir(moved)) is None


def test_what_cannot_be_written_stops_no_context(memory: Memory, sealed_home: Path) -> None:
    """A sandbox without a state folder still gets its context."""
    folder = sealed_home / ".local" / "state" / "gitmem"
    shutil.rmtree(folder)
    folder.write_text("in the way", encoding="utf-8")

    given = open_memory(memory.path).context(Options())

    assert given.context.text == "[memory:project:fact]\nApproved.\n"
    assert given.warnings == ()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tip": 1}'])
def test_a_broken_record(memory: Memory, sealed_home: Path, text: str) -> None:
    """It is no record; the next context makes one."""
    (record,) = (
        path
        for path in (sealed_home / ".local" / "state" / "gitmem" / "witness").iterdir()
        if memory.store("project").main() in path.read_text(encoding="utf-8")
    )
    record.write_text(text, encoding="utf-8")

    assert witness.read(_git_dir(memory.path)) is None


def test_forget(memory: Memory) -> None:
    """Nothing is left, and to forget twice is no fault."""
    witness.forget(_git_dir(memory.path))
    witness.forget(_git_dir(memory.path))

    assert witness.read(_git_dir(memory.path)) is None
