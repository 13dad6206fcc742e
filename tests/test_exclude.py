"""Tests of the line in a host's info/exclude."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem import exclude

CONTENTS = [
    None,
    b"",
    b"*.o\n",
    b"*.o",
    b"\n\n",
    b"# comment\r\n*.o\r\n",
    b"\xff\xfe",
]


def _write(folder: Path, content: bytes | None) -> Path:
    file = folder / "info" / "exclude"
    if content is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
    return file


@pytest.mark.parametrize("content", CONTENTS)
def test_the_file_comes_back_byte_for_byte(content: bytes | None, tmp_path: Path) -> None:
    """Adding and removing leaves the file as it was, or absent where it was absent."""
    file = _write(tmp_path, content)

    assert exclude.add(tmp_path)
    assert b"\n/.custom-agent/\n" in file.read_bytes()
    assert exclude.remove(tmp_path)

    assert (file.read_bytes() if file.exists() else None) == content
    assert file.parent.exists() == (content is not None)


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    """An empty info folder without the file is left as it was."""
    (tmp_path / "info").mkdir()

    exclude.add(tmp_path)
    exclude.remove(tmp_path)

    assert list((tmp_path / "info").iterdir()) == []


@given(before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_what_others_write_is_kept(
    before: bytes, after: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Lines above and below ours are there after its removal, each still a line of its own."""
    folder = tmp_path_factory.mktemp("host")
    file = _write(folder, before)
    exclude.add(folder)
    file.write_bytes(file.read_bytes() + after)

    exclude.remove(folder)

    joined = before + (b"\n" if after and before and not before.endswith(b"\n") else b"")
    assert file.read_bytes() == joined + after


@pytest.mark.parametrize("line", [b"/.custom-agent/", b".custom-agent", b".custom-agent/\r"])
def test_a_line_of_the_users_own_is_enough(line: bytes, tmp_path: Path) -> None:
    """Where the folder is excluded already, nothing is written, and nothing is taken out."""
    file = _write(tmp_path, b"*.o\n" + line + b"\n")

    assert not exclude.add(tmp_path)
    assert not exclude.remove(tmp_path)

    assert file.read_bytes() == b"*.o\n" + line + b"\n"


def test_adding_twice_adds_once(tmp_path: Path) -> None:
    """The second time there is nothing to add."""
    file = _write(tmp_path, b"*.o\n")
    exclude.add(tmp_path)
    once = file.read_bytes()

    assert not exclude.add(tmp_path)
    assert file.read_bytes() == once
