"""Objects read and written one by one, against git's own reading and writing of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gitmem.git import loose
from gitmem.git.loose import Reader
from gitmem.git.program import GitFailedError

RunGit = Callable[..., str]
TEXT = b"Use 4 spaces.\0\n"


@pytest.fixture
def repository(tmp_path: Path, run_git: RunGit) -> Path:
    """An empty bare repository."""
    place = tmp_path / "loose.git"
    run_git("init", "--quiet", "--bare", place, cwd=tmp_path)
    return place


def _file(repository: Path, id_: str) -> Path:
    return repository / "objects" / id_[:2] / id_[2:]


def test_git_reads_what_is_written(repository: Path, run_git: RunGit) -> None:
    """Under the id that git gives it, as a file that nobody can change, and nothing beside it."""
    blob = loose.write(repository, "blob", TEXT)
    tree = loose.write(repository, "tree", b"100644 a\0" + bytes.fromhex(blob))

    assert run_git("ls-tree", tree, cwd=repository) == f"100644 blob {blob}\ta"
    assert run_git("cat-file", "-s", blob, cwd=repository).strip() == str(len(TEXT))
    assert run_git("fsck", "--strict", "--no-dangling", cwd=repository) == ""
    assert _file(repository, blob).stat().st_mode & 0o222 == 0
    assert {path.name for path in _file(repository, blob).parent.iterdir()} == {blob[2:]}


def test_what_is_there_stays(repository: Path) -> None:
    """An object that is there is not written again."""
    id_ = loose.write(repository, "blob", TEXT)
    before = _file(repository, id_).stat()

    assert loose.write(repository, "blob", TEXT) == id_ == loose.id_of("blob", TEXT)
    assert _file(repository, id_).stat() == before


def test_what_a_killed_writer_left(repository: Path) -> None:
    """A half-written file of a process with our number is no obstacle and is not taken over."""
    id_ = loose.id_of("blob", TEXT)
    left = _file(repository, id_).with_name(f"tmp_obj_{os.getpid()}_{id_[:12]}")
    left.parent.mkdir()
    left.write_bytes(b"half")

    assert loose.write(repository, "blob", TEXT) == id_
    assert Reader(repository).read(id_) == (b"blob", TEXT)
    assert not left.exists()


@pytest.mark.plain_user
def test_where_nothing_can_be_written(repository: Path) -> None:
    """The system's own error comes through, and no part of a file is left."""
    folder = repository / "objects"
    folder.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            loose.write(repository, "blob", TEXT)
    finally:
        folder.chmod(0o755)
    assert Reader(repository).read(loose.id_of("blob", TEXT)) is None


def test_packed_and_missing(repository: Path, run_git: RunGit) -> None:
    """What has no file of its own is git's to find."""
    id_ = loose.write(repository, "blob", TEXT)
    assert Reader(repository).read(id_) == (b"blob", TEXT)
    run_git("update-ref", "refs/tags/text", id_, cwd=repository)
    run_git("gc", "--quiet", cwd=repository)
    assert not _file(repository, id_).exists()

    reader = Reader(repository)

    assert reader.read(id_) == (b"blob", TEXT)
    assert reader.read("1" * 40) is None
    assert reader.read("noid") is None


@pytest.mark.parametrize("kept", [0, 1, 20, 200])
def test_a_file_that_is_cut_off(repository: Path, kept: int) -> None:
    """It is not taken for a shorter object: git is asked, and has none or says why."""
    text = bytes(range(256)) * 4
    id_ = loose.write(repository, "blob", text)
    file = _file(repository, id_)
    whole = file.read_bytes()
    assert len(whole) > kept
    file.chmod(0o644)
    file.write_bytes(whole[:kept])

    with suppress(GitFailedError):
        assert Reader(repository).read(id_) is None


def test_many_at_once(repository: Path, run_git: RunGit) -> None:
    """Loose, packed and missing ones, in the order of the question."""
    packed = loose.write(repository, "blob", b"packed")
    run_git("update-ref", "refs/tags/x", packed, cwd=repository)
    run_git("gc", "--quiet", cwd=repository)
    plain = loose.write(repository, "blob", TEXT)
    missing = "1" * 40

    found = Reader(repository).read_all([packed, missing, plain, packed])

    assert found == [(b"blob", b"packed"), None, (b"blob", TEXT), (b"blob", b"packed")]
    assert Reader(repository).read_all([]) == []
