"""Editing a text in the user's editor."""

from __future__ import annotations

import tempfile
from pathlib import Path

from gitmem import ids
from gitmem.errors import BadInputError, ConflictError
from gitmem.memory import Memory

_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


def without_markers(key: str, data: bytes) -> bytes:
    """A text in which both sides of a conflict were one text. Raises ConflictError `markers-left`."""
    # More of the middle one's signs underline a heading in Markdown.
    lines = data.splitlines()
    if b"=======" in lines or any(line.startswith(_MARKERS) for line in lines):
        raise ConflictError(
            "markers-left",
            f"{ids.entry_id(key)} is not settled: the text still has conflict markers",
            hint="make one text of both sides, and delete the lines with <<<<<<<, ======= and >>>>>>>",
        )
    return data


def edited(memory: Memory, key: str, text: str) -> bytes | None:
    """What a person makes of `text`, shown as the file of the entry `key`; None where they empty it.

    Raises BadInputError `editor-failed`.
    """
    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        # A file's name is shorter than a key may be.
        file = Path(folder, f"{key.replace('/', '-')[-200:]}.md")
        file.write_bytes(text.encode())
        code = memory.run_editor(file)
        if code != 0:
            raise BadInputError(
                "editor-failed",
                f"the editor ended with exit code {code}, so nothing is changed",
                hint="choose another one with GIT_EDITOR, or give the text with --body-file",
            )
        if not file.is_file():
            raise BadInputError(
                "editor-failed",
                "the editor left no file, so nothing is changed",
                hint="to delete the entry, leave the file and empty it",
            )
        data = file.read_bytes()
    return data if data.strip() else None
