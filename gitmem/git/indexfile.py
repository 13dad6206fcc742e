"""git's index file, as bytes: read for the time stamps it keeps, written fresh.

gitmem writes the index itself because every command of git that could do it takes
`index.lock` on its own, gives up at an edited file, or lets attributes, sparse patterns and
flags of the old index have a say. The format is git's `gitformat-index`, version 2 when
written, versions 2 to 4 when read.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

LINK = 0o120000
SUBMODULE = 0o160000
FOLDER = 0o040000
FILE = 0o100644
EXECUTABLE = 0o100755

_FIXED = struct.Struct(">24sI12s20sH")
_STAT = struct.Struct(">6I3I")
_EXTENDED = 0x4000
_STAGE = 0x3000
_LONG_NAME = 0xFFF
_CHECKSUM = 20
UNKNOWN_STAT = bytes(36)


class Entry(NamedTuple):
    """One line of the index: mode, object id (20 bytes) and packed time stamps (36 bytes).

    A tuple, because there are ten thousand of them in a large tier.
    """

    mode: int
    oid: bytes
    stat: bytes = UNKNOWN_STAT


def pack_stat(st: os.stat_result) -> bytes:
    """The part of `st` that the index keeps, as it keeps it: 36 bytes."""
    fields = (
        *divmod(st.st_ctime_ns, 1_000_000_000),
        *divmod(st.st_mtime_ns, 1_000_000_000),
        st.st_dev,
        st.st_ino,
        st.st_uid,
        st.st_gid,
        st.st_size,
    )
    return _STAT.pack(*(field & 0xFFFFFFFF for field in fields))


def modified_ns(stat: bytes) -> int:
    """The time of last change in packed time stamps, in nanoseconds since the epoch."""
    seconds, nanoseconds = struct.unpack_from(">2I", stat, 8)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def size(paths: Iterable[bytes]) -> int:
    """How many bytes `pack` gives for entries of these paths."""
    return 12 + sum(_padded(len(path)) for path in paths) + _CHECKSUM


def pack(entries: Mapping[bytes, Entry]) -> bytes:
    """An index file of these entries: no flags, no extensions."""
    parts = [b"DIRC" + struct.pack(">2I", 2, len(entries))]
    for path in sorted(entries):
        entry = entries[path]
        fixed = _FIXED.pack(
            entry.stat[:24], entry.mode, entry.stat[24:], entry.oid, min(len(path), _LONG_NAME)
        )
        parts.append((fixed + path).ljust(_padded(len(path)), b"\0"))
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def unpack(data: bytes) -> dict[bytes, Entry] | None:
    """The entries of an index file; None where it does not say everything by itself.

    That is a broken file, one with conflicts, a split index and a sparse one.
    """
    try:
        magic, version, count = struct.unpack_from(">4s2I", data)
        if magic != b"DIRC" or version not in (2, 3, 4) or not _intact(data):
            return None
        entries, at = _entries(data, version, count)
        return entries if entries is not None and not _needs_more(data, at) else None
    except (struct.error, ValueError, IndexError):
        return None


def tree_id(entries: Mapping[bytes, Entry]) -> bytes:
    """The id of the tree that these entries are, without writing it."""
    folders: dict[bytes, dict[bytes, Entry]] = {}
    lines: list[tuple[bytes, bytes]] = []
    for path, entry in entries.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            folders.setdefault(name, {})[rest] = entry
        else:
            lines.append((name, b"%o %s\0" % (entry.mode, name) + entry.oid))
    for name, inner in folders.items():
        # git sorts a folder as if its name ended in a slash.
        lines.append((name + b"/", b"40000 %s\0" % name + tree_id(inner)))
    body = b"".join(line for _, line in sorted(lines))
    return hashlib.sha1(b"tree %d\0" % len(body) + body, usedforsecurity=False).digest()


def _padded(length: int) -> int:
    return (_FIXED.size + length + 8) & ~7


def _intact(data: bytes) -> bool:
    kept = data[-_CHECKSUM:]
    # git 2.40's index.skipHash leaves zeros there.
    return (
        kept == bytes(_CHECKSUM)
        or kept == hashlib.sha1(data[:-_CHECKSUM], usedforsecurity=False).digest()
    )


def _entries(data: bytes, version: int, count: int) -> tuple[dict[bytes, Entry] | None, int]:
    entries: dict[bytes, Entry] = {}
    at, previous = 12, b""
    for _ in range(count):
        start = at
        first, mode, second, oid, flags = _FIXED.unpack_from(data, at)
        at += _FIXED.size + (2 if flags & _EXTENDED else 0)
        if flags & _STAGE or mode == FOLDER:
            return None, at
        if version == 4:
            dropped, at = _varint(data, at)
            end = data.index(b"\0", at)
            path = previous[: len(previous) - dropped] + data[at:end]
            at = end + 1
        else:
            end = data.index(b"\0", at)
            path = data[at:end]
            at = start + ((end - start + 8) & ~7)
        entries[path] = Entry(mode, oid, first + second)
        previous = path
    return entries, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _needs_more(data: bytes, at: int) -> bool:
    """Whether an extension that a reader may not skip follows (its name is in lower case)."""
    while at < len(data) - _CHECKSUM:
        name, length = struct.unpack_from(">4sI", data, at)
        if not name[:1].isupper():
            return True
        at += 8 + int(length)
    return False
