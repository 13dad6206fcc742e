"""Small files that are written whole or not at all."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

# Not by tempfile: this module is loaded at every command, and that one costs as much as git.
_NUMBERS = itertools.count()


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path` by one rename, with the mode that is there or the umask's.

    A symbolic link is followed, as an editor would. Raises OSError, and leaves what was there.
    """
    path = path.resolve()
    draft = path.with_name(f".{path.name}.{os.getpid()}-{next(_NUMBERS)}")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
        draft.replace(path)
    except BaseException:
        draft.unlink()
        raise


def read_if_there(path: Path) -> bytes | None:
    """The content of a file, or None where there is none. Other failures raise OSError."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
