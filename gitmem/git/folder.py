"""The files of a worktree's folder, reached so that nothing is ever read or written through a link.

Each parent is opened on its own, relative to the one above it. Contents are raw: no filter,
attribute or line-end setting has a say.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from gitmem.git import indexfile

# Lies beside the file that it becomes; the name is ours, so one that was left may be removed.
_NEW = b".gitmem-new"
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Kind(Enum):
    """What lies at a path."""

    MISSING = "nothing"
    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    OTHER = "something that is no file"
    BEHIND_LINK = "behind a link"
    BEHIND_FILE = "behind a file"


@dataclass(frozen=True, slots=True)
class Found:
    """What lies at a path: for files and links with the blob id (20 bytes) and packed time stamps."""

    kind: Kind
    oid: bytes | None = None
    stat: bytes = indexfile.UNKNOWN_STAT


class _BlockedError(Exception):
    """A parent of a path is no folder."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind.value)
        self.kind = kind


def blob_id(content: bytes) -> bytes:
    """The id of `content` as a git blob: 20 bytes."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).digest()


def safe(path: bytes) -> bool:
    """Whether a path from a tree may be written: no step out of the folder, nothing that git reads.

    The same names that git refuses: `.git` in any case and in the forms that other file
    systems take for it.
    """
    return all(_safe_name(name) for name in path.split(b"/"))


def _safe_name(name: bytes) -> bool:
    text = name.decode("utf-8", "replace")
    seen = "".join(c for c in text if c not in _IGNORED_BY_HFS).casefold()
    return (
        seen not in ("", ".", "..")
        and "\\" not in seen
        and seen.split(":")[0].rstrip(". ") not in (".git", "git~1")
    )


_IGNORED_BY_HFS = frozenset(
    "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
)


class Folder:
    """A worktree's folder, held open. Paths are bytes with `/`, relative to it."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._root)

    def stamps(self, path: bytes) -> bytes | None:
        """The packed time stamps of what lies at `path`; None where nothing does. Reads no content."""
        try:
            return indexfile.pack_stat(os.stat(path, dir_fd=self._root, follow_symlinks=False))
        except OSError:
            return None

    def look(self, path: bytes) -> Found:
        """What lies at `path`, with its content's id. OSError where it can't be read."""
        try:
            with self._parent(path) as (parent, name):
                return _look(parent, name)
        except FileNotFoundError:
            return Found(Kind.MISSING)
        except _BlockedError as blocked:
            return Found(blocked.kind)

    def read(self, path: bytes) -> bytes | None:
        """The content of the plain file at `path`; None where there is none, or only a link."""
        try:
            with self._parent(path) as (parent, name):
                file = os.open(name, _OPEN_FILE, dir_fd=parent)
                try:
                    # A folder can be opened, and no stream made of it.
                    if not stat.S_ISREG(os.fstat(file).st_mode):
                        return None
                    with os.fdopen(file, "rb", closefd=False) as stream:
                        return stream.read()
                finally:
                    os.close(file)
        except (FileNotFoundError, _BlockedError):
            return None
        except OSError as error:
            # A link, or a socket.
            if error.errno in (errno.ELOOP, errno.ENXIO):
                return None
            raise

    def write(self, path: bytes, content: bytes, *, executable: bool = False) -> None:
        """Put `content` at `path`, whole or not at all, in place of what is there; `clean` it first."""
        with self._parent(path, make=True) as (parent, name):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            new = os.open(_NEW, flags, 0o600, dir_fd=parent)
            try:
                try:
                    _write_all(new, content)
                    os.fchmod(new, 0o755 if executable else 0o644)
                finally:
                    os.close(new)
                os.rename(_NEW, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                _discard(_NEW, parent)
                raise

    def remove(self, path: bytes) -> None:
        """Remove the file at `path`, and the folders on its way that are empty then."""
        with self._parent(path) as (parent, name):
            os.unlink(name, dir_fd=parent)
        while b"/" in path:
            path = path.rpartition(b"/")[0]
            try:
                with self._parent(path) as (parent, name):
                    os.rmdir(name, dir_fd=parent)
            except (OSError, _BlockedError):
                return

    def clean(self, path: bytes) -> None:
        """Remove what a killed `write` of `path` left."""
        with suppress(OSError, _BlockedError), self._parent(path) as (parent, _):
            _discard(_NEW, parent)

    def walk(self) -> Iterator[bytes]:
        """The paths of all plain files and links, in order, without what belongs to git."""
        yield from _walk(self._root, b"")

    @contextmanager
    def _parent(self, path: bytes, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        *folders, name = path.split(b"/")
        here = os.dup(self._root)
        try:
            for folder in folders:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(folder, 0o777, dir_fd=here)
                below = _enter(here, folder)
                os.close(here)
                here = below
            yield here, name
        finally:
            os.close(here)


def _enter(parent: int, name: bytes) -> int:
    try:
        return os.open(name, _OPEN_FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        raise _BlockedError(Kind.BEHIND_LINK if stat.S_ISLNK(mode) else Kind.BEHIND_FILE) from error


def _look(parent: int, name: bytes) -> Found:
    st = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISDIR(st.st_mode):
        return Found(Kind.FOLDER)
    if stat.S_ISLNK(st.st_mode):
        target = os.readlink(name, dir_fd=parent)
        return Found(Kind.LINK, blob_id(target), indexfile.pack_stat(st))
    if not stat.S_ISREG(st.st_mode):
        return Found(Kind.OTHER)
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    with os.fdopen(file, "rb") as stream:
        # The stamps from before the reading: a change in between then shows as one.
        st = os.fstat(file)
        return Found(Kind.FILE, blob_id(stream.read()), indexfile.pack_stat(st))


def _walk(folder: int, prefix: bytes) -> Iterator[bytes]:
    with os.scandir(folder) as listed:
        found = sorted(listed, key=lambda each: each.name)
    for each in found:
        name = os.fsencode(each.name)
        if name == b".git":
            continue
        if not each.is_dir(follow_symlinks=False):
            yield prefix + name
            continue
        try:
            below = _enter(folder, name)
        except (OSError, _BlockedError):
            continue
        try:
            yield from _walk(below, prefix + name + b"/")
        finally:
            os.close(below)


def _write_all(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def _discard(name: bytes, parent: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
