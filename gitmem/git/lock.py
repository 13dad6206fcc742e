"""Locks: one process at a time decides in a repository, and git itself is held off meanwhile.

The process lock is a `flock` on a file that stays; the kernel lets go of it when its last
holder ends, however it ends. git's `index.lock` is taken in git's own way (who makes the
file has it) and carries a mark, so that one that a killed gitmem left can be told from git's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitmem.errors import BadInputError, ConflictError, GitmemError

LOCK_FILE = "gitmem.lock"
# What `index.lock` is made from; a killed process may leave it.
MADE = "gitmem-hold"
_MARK = b"gitmem holds this index\n"
_HELD: dict[Path, int] = {}
_PAUSE = 0.02


def cannot_write(error: OSError) -> GitmemError:
    """The error for a repository that the system won't let us write."""
    return BadInputError(
        "cannot-write",
        "the memory repository can't be written; nothing was changed",
        context=str(error),
        hint="make room on the disk, or make the folder writable, and repeat",
    )


@contextmanager
def process_lock(git_dir: Path, *, wait: float) -> Iterator[None]:
    """Hold the repository `git_dir` alone, after waiting up to `wait` seconds.

    Raises ConflictError `repository-locked` with the holder's process id and command, and
    BadInputError `cannot-write`.
    """
    key = git_dir.resolve()
    # Its text is replaced: what a link leads to is none of ours.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(key / LOCK_FILE, flags, 0o666)
    except OSError as error:
        raise cannot_write(error) from error
    try:
        _wait_for(file, wait)
        _sign(file)
        _HELD[key] = file
        try:
            yield
        finally:
            del _HELD[key]
    finally:
        os.close(file)


def held(git_dir: Path) -> int:
    """The file descriptor of the process lock on `git_dir`, which the caller must hold."""
    try:
        return _HELD[git_dir.resolve()]
    except KeyError:
        raise RuntimeError(f"not inside deciding(): {git_dir}") from None


class IndexLock:
    """git's lock on the index in `admin_dir`. Needs the process lock."""

    def __init__(self, admin_dir: Path) -> None:
        self.path = admin_dir / "index.lock"
        self._made = admin_dir / MADE

    def ours(self) -> bool:
        """Whether the lock file is there and gitmem made it: holding the process lock, we have it."""
        try:
            with self.path.open("rb") as stream:
                return stream.read(len(_MARK) + 1) == _MARK
        except FileNotFoundError:
            return False

    def take(self, *, wait: float) -> None:
        """Have the lock, after waiting up to `wait` seconds. Raises `repository-locked`."""
        if self.ours():
            return
        self._made.write_bytes(_MARK)
        try:
            for _ in _attempts(wait):
                with suppress(FileExistsError):
                    self._link()
                    return
        finally:
            self._made.unlink()
        raise ConflictError(
            "repository-locked",
            "another git process is working in the memory folder",
            context=f"it holds '{self.path}': an open editor of 'git commit -a', for example",
            hint="repeat when it has ended; remove that file if no git process runs",
        )

    def release(self) -> None:
        """Let go, if it is ours."""
        if self.ours():
            self.path.unlink()

    def _link(self) -> None:
        """Make the lock file with its mark in one step, where the file system has links."""
        try:
            os.link(self._made, self.path)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                raise
            with self.path.open("xb") as stream:
                stream.write(_MARK)


def _attempts(wait: float) -> Iterator[None]:
    """One at once, then one each pause until about `wait` seconds are over."""
    yield
    for _ in range(int(wait / _PAUSE)):
        threading.Event().wait(_PAUSE)
        yield


def _wait_for(file: int, wait: float) -> None:
    for _ in _attempts(wait):
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
    holder = os.pread(file, 200, 0).decode("utf-8", "replace").strip() or "unknown"
    raise ConflictError(
        "repository-locked",
        "another gitmem is deciding in this repository",
        context=f"held by process {holder}",
        hint="repeat when it has ended",
    )


def _sign(file: int) -> None:
    # Only the program and its first word: the rest may hold text that is not for others.
    words = [Path(sys.argv[0]).name or "python", *sys.argv[1:2]]
    text = f"{os.getpid()} ({' '.join(words)[:80]})\n".encode("utf-8", "replace")
    with suppress(OSError):
        os.ftruncate(file, 0)
        os.pwrite(file, text, 0)
