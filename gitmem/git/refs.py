"""Refs of one repository, read from git's own files.

Our repositories keep plain ref files (`docs/git-format.md`), so that a look at
`memory/main` costs a file, not a process. Single new refs are made here; whatever
moves or deletes goes through `checkout.move`.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.errors import BadInputError, ConflictError

_ID = re.compile(r"[0-9a-f]{40}\Z")
# Bytes; a ref that points to another one has that one's name.
_MAX_REF = 4096
_NUMBERS = itertools.count()
# git's own words for: each tag is followed by what it points to, and the names are in order.
_PACKED_HEAD = b"# pack-refs with: peeled fully-peeled sorted \n"


def read(git_dir: Path, name: str) -> str | None:
    """The id that the ref `name` (full name) has, or None.

    Raises BadInputError `symbolic-ref` where it points to another ref: then whoever
    made it chooses what our refs mean.
    """
    try:
        text = _text(git_dir, name)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return _packed(git_dir).get(name)
    return _checked(name, text)


def listed(git_dir: Path, *prefixes: str) -> dict[str, str]:
    """All refs whose full names begin with one of `prefixes`, sorted by name.

    What is symbolic or holds no id is passed over: one bad file must not hide all others.
    """
    found = {name: id_ for name, id_ in _packed(git_dir).items() if name.startswith(prefixes)}
    for prefix in prefixes:
        for name in _loose(git_dir, prefix):
            if name.startswith("refs/remotes/") and name.endswith("/HEAD"):
                # git makes these symbolic (which branch of a remote is its main one).
                continue
            with suppress(FileNotFoundError):
                text = _text(git_dir, name)
                if _ID.match(text):
                    found[name] = text
    return dict(sorted(found.items()))


def malformed(git_dir: Path, *prefixes: str) -> list[str]:
    """The refs with these prefixes that `listed` passes over: symbolic ones, and such without an id."""
    found = []
    for prefix in prefixes:
        for name in _loose(git_dir, prefix):
            with suppress(FileNotFoundError):
                if not _ID.match(_text(git_dir, name)):
                    found.append(name)
    return sorted(found)


def _text(git_dir: Path, name: str) -> str:
    """The text of a ref's file. With the system's own calls: a queue has hundreds of them."""
    file = os.open(f"{git_dir}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, _MAX_REF).decode("utf-8", "replace").strip()
    finally:
        os.close(file)


Mark = tuple[int, tuple[int, int, int] | None]
"""Changes whenever a ref is made or deleted; two changes within one tick of the clock look like one."""


def mark(git_dir: Path, prefix: str) -> Mark:
    """Whether the names below `prefix` are still the same, for the price of two looks at files."""
    try:
        folder = (git_dir / prefix).stat().st_mtime_ns
    except FileNotFoundError:
        folder = 0
    return folder, _packed_mark(git_dir)


def create(git_dir: Path, name: str, id_: str) -> None:
    """Make the ref `name`, which must not exist.

    Raises ConflictError `ref-exists` or `repository-locked`. It comes by one link: git's lock
    file, left by a process that was killed, would stop every later decision.
    """
    path = git_dir / name
    lock = path.with_name(f"{path.name}.lock")
    if lock.exists():
        raise ConflictError(
            "repository-locked",
            f"'{name}' is being written by another process",
            context=f"{lock} exists",
            hint="repeat; remove the lock file if no git process runs",
        )
    if name in _packed(git_dir):
        raise _exists(name)
    draft = git_dir / f"gitmem-ref.{os.getpid()}-{next(_NUMBERS)}"
    try:
        draft.write_text(f"{id_}\n", "ascii")
        _link(draft, path)
    except FileExistsError:
        raise _exists(name) from None
    finally:
        draft.unlink(missing_ok=True)


def put(git_dir: Path, name: str, id_: str) -> None:
    """Set the ref `name`, whatever it was, by one rename: no hook runs, no link is followed.

    For a repository that one process at a time writes; elsewhere another's value would be lost.
    """
    path = git_dir / name
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = git_dir / f"gitmem-ref.{os.getpid()}-{next(_NUMBERS)}"
    draft.unlink(missing_ok=True)
    with draft.open("x", encoding="ascii") as stream:
        stream.write(f"{id_}\n")
    draft.replace(path)


def _link(draft: Path, path: Path) -> None:
    for patience in (True, True, False):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(draft, path)
        except FileNotFoundError:
            # A git that deletes the last ref of a folder takes the folder away with it.
            if not patience:
                raise
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                raise
            # A file system without links: a rename would silently take the place of what is there.
            if path.exists():
                raise FileExistsError from None
            draft.rename(path)
            return
        else:
            return


def create_packed(git_dir: Path, new: Mapping[str, str]) -> bool:
    """Make many refs to commits, none of which may exist, by writing one file; False where it is held.

    In `packed-refs`, as git has them after a clone: a thousand files take seconds on a busy disk.
    """
    lock = git_dir / "packed-refs.lock"
    try:
        file = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return False
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(_packed_with(git_dir, new))
        lock.replace(git_dir / "packed-refs")
    except BaseException:
        lock.unlink(missing_ok=True)
        raise
    return True


def _packed_with(git_dir: Path, new: Mapping[str, str]) -> bytes:
    """The bytes of `packed-refs` with more commits in it, sorted by name as git wants it.

    A line that begins with `^` belongs to the tag before it: what that points to.
    """
    try:
        present = (git_dir / "packed-refs").read_bytes()
    except FileNotFoundError:
        present = b""
    lines = {name.encode(): f"{id_} {name}\n".encode() for name, id_ in new.items()}
    head, at = _PACKED_HEAD, b""
    for line in present.splitlines(keepends=True):
        if line.startswith(b"^"):
            lines[at] += line
        elif line.startswith(b"#"):
            head = line
        else:
            at = line.partition(b" ")[2].rstrip(b"\n")
            lines[at] = line
    return head + b"".join(line for _, line in sorted(lines.items()))


def _exists(name: str) -> ConflictError:
    return ConflictError("ref-exists", f"'{name}' exists already")


def _checked(name: str, text: str) -> str:
    if _ID.match(text):
        return text
    if text.startswith("ref:"):
        raise BadInputError(
            "symbolic-ref",
            f"'{name}' points to another ref",
            context=text,
            hint=f"make it a plain ref: gitmem git update-ref --no-deref {name} <commit>",
        )
    raise BadInputError("broken-ref", f"'{name}' holds no commit id", context=text[:80])


def _loose(git_dir: Path, prefix: str) -> Iterator[str]:
    """The names of ref files that begin with `prefix`."""
    folder, _, start = prefix.rpartition("/")
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(git_dir / here) as items:
            for item in items:
                name = f"{here}/{item.name}"
                if not name.startswith(prefix) and here == folder and start:
                    continue
                if item.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif not item.name.endswith(".lock"):
                    yield name


_cache: dict[str, tuple[tuple[int, int, int], dict[str, str]]] = {}


def _packed(git_dir: Path) -> dict[str, str]:
    """The refs in `packed-refs`; parsed again only when the file is another one."""
    path = git_dir / "packed-refs"
    mark_ = _packed_mark(git_dir)
    if mark_ is None:
        return {}
    known = _cache.get(str(path))
    if known is not None and known[0] == mark_:
        return known[1]
    found: dict[str, str] = {}
    for line in path.read_text("utf-8", "replace").split("\n"):
        id_, _, name = line.partition(" ")
        if _ID.match(id_) and name:
            found[name] = id_
    _cache[str(path)] = (mark_, found)
    return found


def _packed_mark(git_dir: Path) -> tuple[int, int, int] | None:
    try:
        seen = (git_dir / "packed-refs").stat()
    except FileNotFoundError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_size
