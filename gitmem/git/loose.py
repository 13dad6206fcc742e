"""Objects one by one, each in a file of its own, with no process and no library to load.

For what every start of a session reads and writes: a record's last commit, a session's text.
https://git-scm.com/docs/gitrepository-layout and git's object-file.c have the format.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.git.bulk import Batch

_ID_DIGITS = 40


def id_of(kind: str, data: bytes) -> str:
    """The id that git gives an object of this kind, in hex."""
    return hashlib.sha1(_head(kind, data) + data, usedforsecurity=False).hexdigest()


class Reader:
    """Objects of the repository `git_dir`, one by one."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._objects = str(git_dir / "objects")
        self._batch: Batch | None = None

    def read(self, id_: str) -> tuple[bytes, bytes] | None:
        """An object's kind and its bytes; None where it is missing.

        What git has packed, and a file that can't be read, is git's own affair: it is asked then.
        Raises GitFailedError where it can't answer.
        """
        found = self._loose(id_)
        return found if found is not None else self._batched().read(id_)

    def read_all(self, ids: Sequence[str]) -> list[tuple[bytes, bytes] | None]:
        """Several objects, in the order of `ids`; else as `read`."""
        found = [self._loose(id_) for id_ in ids]
        left = [place for place, item in enumerate(found) if item is None]
        if left:
            asked = self._batched().read_all([ids[place] for place in left])
            for place, item in zip(left, asked, strict=True):
                found[place] = item
        return found

    def _loose(self, id_: str) -> tuple[bytes, bytes] | None:
        """An object that has a file of its own, if that can be read."""
        with suppress(OSError, zlib.error, ValueError):
            with open(_path(self._objects, id_), "rb", buffering=0) as file:  # noqa: PTH123 - a thousand of them, and a Path costs as much again
                head, _, data = zlib.decompress(file.read()).partition(b"\0")
            kind, size = head.split(b" ")
            if int(size) == len(data):
                return kind, data
        return None

    def _batched(self) -> Batch:
        if self._batch is None:
            self._batch = Batch(self._git_dir)
        return self._batch


def write(git_dir: Path, kind: str, data: bytes) -> str:
    """Write an object, whole or not at all, unless it is there; gives its id. Raises OSError."""
    id_ = id_of(kind, data)
    path = Path(_path(str(git_dir / "objects"), id_))
    if path.exists():
        return id_
    path.parent.mkdir(exist_ok=True)
    # Named as git names its own, so that its gc removes what a kill leaves.
    draft = path.with_name(f"tmp_obj_{os.getpid()}_{id_[:12]}")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(zlib.compress(_head(kind, data) + data, 1))
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return id_


def _head(kind: str, data: bytes) -> bytes:
    return f"{kind} {len(data)}\0".encode("ascii")


def _path(objects: str, id_: str) -> str:
    if len(id_) != _ID_DIGITS:
        raise ValueError(f"'{id_}' is no object's id")
    return f"{objects}/{id_[:2]}/{id_[2:]}"
