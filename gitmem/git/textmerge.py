"""git's own text merge, of bytes that need not lie in any repository."""

from __future__ import annotations

from collections.abc import Iterator

import pygit2
from pygit2.enums import FileMode, ObjectType


def text_merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """What git's text merge makes of three files; None where it finds a conflict.

    None too where one is no UTF-8: pygit2 gives text alone, and such a file is no entry.
    """
    if ours in (base, theirs) or theirs == base:
        # pygit2 fails on an empty result, which no other merge can have.
        return theirs if ours == base else ours
    try:
        result = _merged(base, ours, theirs, ("entry.md", "entry.md"))
    except UnicodeDecodeError:
        return None
    if not result.automergeable or result.contents is None:
        return None
    return result.contents.encode("utf-8")


def marked_merge(base: str, ours: str, theirs: str, names: tuple[str, str]) -> str:
    """Three texts merged as git does, both sides between git's markers where they clash.

    `names` are what the markers call our side and theirs.
    """
    return _merged(base.encode(), ours.encode(), theirs.encode(), names).contents or ""


def _merged(
    base: bytes, ours: bytes, theirs: bytes, names: tuple[str, str]
) -> pygit2.index.MergeFileResult:
    kept = _Kept(base, ours, theirs)
    odb = pygit2.Odb()
    odb.add_backend(kept, 0)
    repo = pygit2.Repository()
    repo.set_odb(odb)
    ancestor, our, their = (
        pygit2.IndexEntry(name, id_, FileMode.BLOB)
        for name, id_ in zip((names[0], *names), kept.ids, strict=True)
    )
    return repo.merge_file_from_index(ancestor, our, their)


class _Kept(pygit2.OdbBackend):
    """An object database of a few blobs in memory."""

    def __init__(self, *files: bytes) -> None:
        super().__init__()
        self.ids = [pygit2.hash(data) for data in files]
        self._files = dict(zip(self.ids, files, strict=True))

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        return ObjectType.BLOB, self._files[oid]

    def read_header_cb(self, oid: pygit2.Oid) -> tuple[int, int]:
        return ObjectType.BLOB, len(self._files[oid])

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        return oid in self._files

    def __iter__(self) -> Iterator[pygit2.Oid]:
        return iter(self._files)
