"""The drop box: proposals left as files by agents that can't write the repository.

The folder is as untrusted as a transcript. A file in it is read only if it is a
plain file of the user's own with one link and of bounded size; nothing is
followed, and what is being written (a dot-name) is not looked at.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem import ids
from gitmem.errors import BadInputError, GitmemError
from gitmem.model import entries, frontmatter
from gitmem.model.entries import Entry, Source

MAX_BYTES = frontmatter.MAX_FILE_BYTES
_CLAIMED = ".claimed-"
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Drop:
    """What a drop-box file proposes for one entry.

    `patch` is a unified diff of its file, `candidate` the id that the agent was told.
    """

    key: str
    rationale: str
    type: str | None = None
    body: str | None = None
    delete: bool = False
    patch: str | None = None
    priority: str | None = None
    sources: tuple[Source, ...] = ()
    candidate: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A file in a drop box: its proposal, or the fault that keeps it there."""

    path: Path
    drop: Drop | None
    fault: str | None = None
    at: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of a drop-box file: a candidate, or the fault for which it stays."""

    path: Path
    candidate: str | None
    fault: str | None = None


def listed(box: Path) -> list[Dropped]:
    """The proposals in a drop box, by name. Nothing changes, and a missing box is empty."""
    with _folder(box) as folder:
        return list(_each(box, folder)) if folder is not None else []


def claim(box: Path, make: Callable[[Drop], str]) -> list[Claim]:
    """Make a candidate of each file with `make`, which gives its id; done files are removed.

    To be called by one process at a time. A file is renamed first, so that whoever
    wrote it can't change it while it is read; a faulty one gets its name back.
    """
    with _folder(box) as folder:
        if folder is None:
            return []
        _restore(folder)
        found = (_claim(box, folder, name, make) for name in _names(folder))
        return [claim for claim in found if claim is not None]


def write(
    box: Path,
    name: str,
    key: str,
    entry: Entry | None,
    rationale: str,
    *,
    priority: str | None = None,
) -> Path:
    """Leave a proposal for `key` in the drop box, whole or not at all; None deletes the entry."""
    pairs: list[tuple[str, frontmatter.Value]] = [("rationale", rationale), ("candidate", name)]
    if priority is not None:
        pairs.append(("priority", priority))
    if entry is None:
        pairs = [("id", ids.entry_id(key)), ("delete", frontmatter.Plain("true")), *pairs]
        data = f"---\n{frontmatter.dump(pairs)}---\n".encode()
    else:
        bare = entries.serialize(entry)
        head, body = bare[: entries.body_start(bare)], bare[entries.body_start(bare) :]
        front = head.rstrip().removesuffix(b"---")
        data = front + frontmatter.dump(pairs).encode() + b"---\n\n" + body.lstrip(b"\n")
    box.mkdir(parents=True, exist_ok=True)
    path = box / f"{name}.md"
    draft = box / f".{name}.new"
    draft.write_bytes(data)
    draft.rename(path)
    return path


def read(data: bytes) -> Drop:
    """The proposal of a drop-box file. Raises BadInputError with the line that is wrong."""
    document = frontmatter.read(data)
    given = document.values
    id_ = _text(document, "id")
    if id_ is None or not id_.startswith("mem_"):
        raise document.fault("the id is missing, such as mem_pref_indent", "id")
    key = ids.key_of(id_)
    fault = ids.key_fault(key)
    if fault is not None:
        raise document.fault(f"'{key}' is no entry key: {fault}", "id")
    rationale = _text(document, "rationale")
    if rationale is None or not rationale.strip():
        raise document.fault("the rationale is missing", "rationale")
    delete, patch = _flag(document, "delete"), _flag(document, "patch")
    priority, candidate = _text(document, "priority"), _text(document, "candidate")
    if candidate is not None and not ids.is_candidate_id(candidate):
        raise document.fault(f"'{candidate}' is no candidate id", "candidate")
    for own in ("rationale", "delete", "patch", "priority", "candidate"):
        given.pop(own, None)
    sources = entries.sources_of(document)
    if delete or patch:
        drop = Drop(key, rationale, delete=delete, patch=document.body if patch else None)
    else:
        entry = entries.of_document(key, document, tier="project")
        drop = Drop(key, rationale, entry.type, entry.body)
    return replace(drop, priority=priority, sources=sources, candidate=candidate)


def _text(document: frontmatter.Document, key: str) -> str | None:
    value = document.values.get(key)
    text = frontmatter.as_text(value) if value is not None else None
    if value is not None and text is None:
        raise document.fault(f"'{key}' must be text", key)
    return text


def _flag(document: frontmatter.Document, key: str) -> bool:
    text = _text(document, key)
    if text not in (None, "true", "false"):
        raise document.fault(f"'{key}' must be true or false", key)
    return text == "true"


# -- files ---------------------------------------------------------------------------------------


@contextmanager
def _folder(box: Path) -> Iterator[int | None]:
    """The box, opened so that neither it nor the folder above it is a link; None where it is not."""
    try:
        above = os.open(box.parent, _OPEN_FOLDER)
    except OSError:
        yield None
        return
    try:
        folder = os.open(box.name, _OPEN_FOLDER, dir_fd=above)
    except OSError:
        os.close(above)
        yield None
        return
    try:
        yield folder
    finally:
        os.close(folder)
        os.close(above)


def _names(folder: int) -> list[str]:
    found = (name for name in os.listdir(folder) if name.endswith(".md"))
    return sorted(name for name in found if not name.startswith("."))


def _each(box: Path, folder: int) -> Iterator[Dropped]:
    for name in _names(folder):
        path = box / name
        try:
            data, at = _read_file(folder, name)
            yield Dropped(path, read(data), at=at)
        except GitmemError as fault:
            yield Dropped(path, None, fault.message)


def _read_file(folder: int, name: str) -> tuple[bytes, int]:
    """The bytes of a plain file of the user's own, and when it was written."""
    try:
        handle = os.open(name, _OPEN_FILE, dir_fd=folder)
    except OSError as error:
        what = "it is a link" if error.errno == errno.ELOOP else "it can't be read"
        raise BadInputError("drop-refused", what, context=str(error)) from None
    seen = os.fstat(handle)
    fault = _file_fault(seen)
    if fault is not None:
        os.close(handle)
        raise BadInputError("drop-refused", fault)
    with os.fdopen(handle, "rb") as file:
        return file.read(MAX_BYTES + 1)[:MAX_BYTES], int(seen.st_mtime)


def _file_fault(seen: os.stat_result) -> str | None:
    if not stat.S_ISREG(seen.st_mode):
        return "it is no plain file"
    if seen.st_nlink != 1:
        return "it has several links"
    if seen.st_uid != os.geteuid():
        return "it belongs to another user"
    if seen.st_size > MAX_BYTES:
        return f"it is larger than {MAX_BYTES // 1024} KiB"
    return None


def _claim(box: Path, folder: int, name: str, make: Callable[[Drop], str]) -> Claim | None:
    held = f"{_CLAIMED}{name}"
    try:
        os.rename(name, held, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        # Whoever wrote it has taken it back.
        return None
    except OSError as error:
        return Claim(box / name, None, f"it can't be claimed: {error.strerror}")
    try:
        id_ = make(read(_read_file(folder, held)[0]))
    except GitmemError as fault:
        _put_back(folder, held, name)
        return Claim(box / name, None, fault.message)
    except BaseException:
        _put_back(folder, held, name)
        raise
    os.unlink(held, dir_fd=folder)
    return Claim(box / name, id_)


def _restore(folder: int) -> None:
    """Give the files that a killed process had claimed their names back."""
    for held in os.listdir(folder):
        name = held.removeprefix(_CLAIMED)
        # Only names that were claimed: whoever may write here can make any other.
        if held.startswith(_CLAIMED) and name.endswith(".md") and not name.startswith("."):
            with suppress(OSError):
                _put_back(folder, held, name)


def _put_back(folder: int, held: str, name: str) -> None:
    with suppress(FileNotFoundError):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        # Another one of that name came meanwhile: neither may be lost.
        name = f"again-{name}"
    os.rename(held, name, src_dir_fd=folder, dst_dir_fd=folder)
