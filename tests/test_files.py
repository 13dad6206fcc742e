"""Tests of files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem import files


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    """A file that was not there is made as any program would make it."""
    old = os.umask(0o027)
    try:
        files.write_whole(tmp_path / "a", b"text")
    finally:
        os.umask(old)

    assert (tmp_path / "a").read_bytes() == b"text"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    """Writing does not open a private file to others."""
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o600)

    files.write_whole(tmp_path / "a", b"new")

    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_link_is_followed(tmp_path: Path) -> None:
    """A file that the user keeps elsewhere stays a link to there."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")

    files.write_whole(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    """Where the place is taken by a folder, the folder stays and no draft is left beside it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()

    with pytest.raises(OSError, match="directory"):
        files.write_whole(tmp_path / "a", b"text")

    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_no_file_reads_as_none(tmp_path: Path) -> None:
    """A missing file, a folder, and a file below a file are no files."""
    (tmp_path / "a").touch()

    assert files.read_if_there(tmp_path / "b") is None
    assert files.read_if_there(tmp_path) is None
    assert files.read_if_there(tmp_path / "a" / "c") is None
    assert files.read_if_there(tmp_path / "a") == b""
