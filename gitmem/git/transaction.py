"""Moving several refs at once: all or none, each only from the value that the caller saw.

One `git update-ref --stdin` does it: `prepare` takes the locks and checks the old values,
`commit` moves. When this process ends in between, git sees the end of its input and lets go.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from gitmem.errors import BadInputError, ConflictError, GitmemError
from gitmem.git import program, refs

_MISSING = "0" * 40
# Milliseconds for which git itself tries again at a held lock.
_PATIENCE = ("-c", "core.filesRefLockTimeout=3000", "-c", "core.packedRefsTimeout=3000")
_UNWRITABLE = (
    "No space left",
    "Permission denied",
    "Read-only file system",
    "quota exceeded",
    "File too large",
)
_MOVED = (
    "but expected",
    "reference already exists",
    "unable to resolve reference",
    "reference is missing",
)


@dataclass(frozen=True, slots=True)
class RefChange:
    """A full ref name, its new value (None: delete it) and its old one (None: must not exist).

    Values are 40 hexadecimal digits.
    """

    name: str
    new: str | None
    old: str | None


class Transaction:
    """The refs of `git_dir` about to change; leaving the block without `commit` changes none."""

    def __init__(
        self, git_dir: Path, changes: Sequence[RefChange], *, keep: Sequence[int] = ()
    ) -> None:
        self._git_dir = git_dir
        self._changes = changes
        git = program.start(
            *_PATIENCE, "update-ref", "-m", "gitmem", "--stdin", git_dir=git_dir, keep=keep
        )
        self._git = git
        self._in, self._out, self._err = _pipe(git.stdin), _pipe(git.stdout), _pipe(git.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def prepare(self) -> None:
        """Lock all refs and compare their old values.

        Raises ConflictError `stale` or `repository-locked`, BadInputError `cannot-write` or
        `symbolic-ref`.
        """
        for change in self._changes:
            refs.read(self._git_dir, change.name)
        lines = ["start", *(line for change in self._changes for line in _lines(change))]
        self._say(*lines, "prepare", answers=2)

    def commit(self) -> None:
        """Move the refs."""
        self._say("commit", answers=1)

    def _say(self, *lines: str, answers: int) -> None:
        with suppress(BrokenPipeError):
            self._in.write("".join(f"{line}\n" for line in lines).encode())
            self._in.flush()
        for _ in range(answers):
            if not self._out.readline().endswith(b": ok\n"):
                raise self._failed()

    def _failed(self) -> GitmemError:
        message = self._end()
        if any(text in message for text in _MOVED):
            return _stale(message)
        if "File exists" in message:
            return ConflictError(
                "repository-locked",
                "another git process holds a ref of the memory repository",
                context=message,
                hint="repeat when it has ended; remove that file if no git process runs",
            )
        if any(text in message for text in _UNWRITABLE):
            return BadInputError(
                "cannot-write",
                "the refs of the memory repository can't be written; nothing was changed",
                context=message,
                hint="make room on the disk, or make the folder writable, and repeat",
            )
        result = program.Result(self._git.returncode, b"", message.encode())
        return program.failed(("update-ref",), result)

    def _end(self) -> str:
        """Close git's input, which ends it, and give what it said."""
        if self._err.closed:
            return ""
        with suppress(BrokenPipeError):
            self._in.close()
        message = self._err.read().decode("utf-8", "replace").strip()
        self._err.close()
        self._out.close()
        self._git.wait()
        return message


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("git was started without this pipe")
    return stream


def _lines(change: RefChange) -> list[str]:
    # A symbolic ref must not send the change elsewhere.
    head = "option no-deref"
    if change.new is None:
        return [head, f"delete {change.name} {change.old}"]
    return [head, f"update {change.name} {change.new} {change.old or _MISSING}"]


def _stale(message: str) -> ConflictError:
    named = re.search(r"cannot lock ref '([^']+)'", message)
    which = f"'{named[1]}'" if named else "a ref"
    return ConflictError(
        "stale",
        f"{which} has moved since it was read; nothing was changed",
        context=message,
        hint="look again, then repeat",
    )


def remaining(git_dir: Path, changes: Sequence[RefChange]) -> list[RefChange]:
    """The rest of a transaction that its git did not live to end.

    Empty where it moved nothing, where it moved all, or where another has moved a ref since.
    git writes new values in their order and deletes last, so it had begun if the first is there.
    """
    real = [change for change in changes if change.new != change.old]
    present = {change: refs.read(git_dir, change.name) for change in real}
    first = next((change for change in real if change.new is not None), None)
    if first is None or present[first] != first.new:
        return []
    rest = [change for change in real if present[change] != change.new]
    return rest if all(present[change] == change.old for change in rest) else []


def clear_locks(git_dir: Path, changes: Sequence[RefChange], *, since_ns: int) -> None:
    """Remove the lock files that a dead git left of this transaction.

    The caller holds the process lock, which the git that took them held too, so it has ended.
    Another git holds such a lock for milliseconds: one that holds what that git would have
    written, is younger than `since_ns` (nanoseconds since the epoch) and still there after a
    second has no holder.
    """
    names = [change.name for change in changes]
    contents = {b"", *(change.new.encode() for change in changes if change.new)}
    paths = [git_dir / f"{name}.lock" for name in (*names, "HEAD", "packed-refs")]
    seen = {path: found for path in paths if (found := _stale_lock(path, contents, since_ns))}
    if seen:
        threading.Event().wait(1.0)
    for path, identity in seen.items():
        if _stale_lock(path, contents, since_ns) == identity:
            path.unlink()


def _stale_lock(path: Path, contents: Container[bytes], since_ns: int) -> tuple[int, int] | None:
    try:
        st = path.lstat()
        ours = st.st_mtime_ns >= since_ns and path.read_bytes().strip() in contents
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (st.st_ino, st.st_mtime_ns) if ours else None
