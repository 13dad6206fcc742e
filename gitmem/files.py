"""Small files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path` by one rename, with the mode that is there or the umask's.

    A symbolic link is followed, as an editor would. Raises OSError, and leaves what was there.
    """
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), _mode(path))
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


def _mode(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o7777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
