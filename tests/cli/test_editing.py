"""A text in the user's editor: what comes back, and what an editor does that nobody asked for."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gitmem.cli.editing import edited, without_markers
from gitmem.errors import BadInputError, ConflictError
from gitmem.memory import Memory, open_memory


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project's memory."""
    return open_memory(project)


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The script that is the user's editor; the test writes it."""
    script = tmp_path / "an editor"
    script.touch(0o755)
    monkeypatch.setenv("GIT_EDITOR", shlex.quote(str(script)))
    return script


def _does(editor: Path, command: str) -> None:
    editor.write_text(f"#!/bin/sh\n{command}\n")


@pytest.mark.parametrize("key", ["a", "topic/a", "/".join(["x" * 100] * 4)], ids=["a", "b", "c"])
def test_the_file_is_the_text_under_the_entrys_name(
    memory: Memory, editor: Path, tmp_path: Path, key: str
) -> None:
    """A person sees which entry it is, however long its key, and the text byte for byte."""
    text = "---\ntype: fact\n---\n\n缩\r\n no end"
    _does(editor, f"cp \"$1\" '{tmp_path}/seen'; basename \"$1\" >'{tmp_path}/name'")

    assert edited(memory, key, text) == text.encode()

    assert (tmp_path / "seen").read_bytes() == text.encode()
    name = (tmp_path / "name").read_text().removesuffix(".md\n")
    assert name
    assert key.replace("/", "-").endswith(name)


@pytest.mark.parametrize(
    ("command", "result"),
    [
        (r'printf "new\\n" >"$1"', b"new\n"),
        ('printf "x" >"$1.new"; mv "$1.new" "$1"', b"x"),
        ('printf "\\377" >"$1"', b"\xff"),
        ('>"$1"', None),
        (r'printf " \n\t\n" >"$1"', None),
    ],
)
def test_what_a_person_made_of_it(
    memory: Memory, editor: Path, command: str, result: bytes | None
) -> None:
    """Whatever it is, in place or in a new file; emptied it means a deletion."""
    _does(editor, command)

    assert edited(memory, "a", "old\n") == result


@pytest.mark.parametrize(
    "command", ["exit 3", 'printf x >"$1"; exit 1', 'rm "$1"', 'rm "$1"; mkdir "$1"']
)
def test_an_editor_that_fails_changes_nothing(memory: Memory, editor: Path, command: str) -> None:
    """An exit code, or a file that is gone, is no wish to delete the entry."""
    _does(editor, command)

    with pytest.raises(BadInputError) as caught:
        edited(memory, "a", "old\n")

    assert caught.value.reference == "editor-failed"


def test_nothing_is_left_in_the_temporary_folder(
    memory: Memory, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an editor leaves beside the file goes with it, after a failure too."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    for code in (0, 1):
        _does(editor, f'cp "$1" "$1~"; exit {code}')
        if code:
            with pytest.raises(BadInputError):
                edited(memory, "a", "old\n")
        else:
            edited(memory, "a", "old\n")

    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        b"<<<<<<< approved\na\n=======\nb\n>>>>>>> candidate\n",
        b"a\n<<<<<<< approved",
        b"a\n=======\nb\n",
        b"a\r\n=======\r\nb\r\n",
        b">>>>>>> x\na\n",
    ],
)
def test_a_text_with_markers_is_not_settled(text: bytes) -> None:
    """One that was overlooked is enough, whatever ends the lines."""
    with pytest.raises(ConflictError) as caught:
        without_markers("a", text)

    assert caught.value.reference == "markers-left"
    assert "mem_a" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a\n",
        b"A heading\n=========\n",
        b"a ======= b\n",
        b"<<<<<<<\n",
        b" =======\n",
        b">>>>>>>>> quoted\n",
    ],
)
def test_what_only_looks_like_markers_stays(text: bytes) -> None:
    """A heading's underline, a quotation and signs within a line are a person's text."""
    assert without_markers("a", text) == text
