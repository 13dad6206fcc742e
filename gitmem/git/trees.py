"""The files of commits, straight from the object database.

Paths are bytes as git keeps them, so that no name can fail to decode. Nothing but objects
has a say: no config, graft or replacement.
"""

from __future__ import annotations

from pathlib import Path

from gitmem.errors import BadInputError
from gitmem.git import indexfile
from gitmem.git.indexfile import Entry

# As libgit2 numbers it.
_COMMIT = 1
_EMPTY = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")


class Trees:
    """Reader of commits, trees and blobs of the repository `git_dir`."""

    def __init__(self, git_dir: Path) -> None:
        import pygit2

        self._odb = pygit2.Odb(str(git_dir / "objects"))
        self._known: dict[bytes, dict[bytes, Entry]] = {}

    def tree(self, commit: str) -> bytes | None:
        """The id of a commit's tree; None where there is no such commit."""
        try:
            kind, data = self._odb.read(commit)
        except (KeyError, ValueError):
            return None
        return bytes.fromhex(data[5:45].decode("ascii")) if kind == _COMMIT else None

    def blob(self, oid: bytes) -> bytes:
        """A blob's content. Raises BadInputError `object-missing`."""
        return self._read(oid)

    def files(self, tree: bytes | None, prefix: bytes = b"") -> dict[bytes, Entry]:
        """All that is no folder in a tree, by path; None is the empty tree."""
        found: dict[bytes, Entry] = {}
        for name, entry in self._entries(tree).items():
            if entry.mode == indexfile.FOLDER:
                found |= self.files(entry.oid, prefix + name + b"/")
            else:
                found[prefix + name] = entry
        return found

    def changed(
        self, old: bytes | None, new: bytes | None, prefix: bytes = b""
    ) -> dict[bytes, Entry | None]:
        """What `old` holds at the paths in which two trees differ; None where it has nothing."""
        if old == new:
            return {}
        before, after = self._entries(old), self._entries(new)
        found: dict[bytes, Entry | None] = {}
        for name in before.keys() | after.keys():
            one, other = before.get(name), after.get(name)
            if one == other:
                continue
            below = prefix + name + b"/"
            found |= self.changed(_folder(one), _folder(other), below)
            if _file(one) or _file(other):
                found[prefix + name] = one if _file(one) else None
        return found

    def _entries(self, tree: bytes | None) -> dict[bytes, Entry]:
        if tree is None or tree == _EMPTY:
            return {}
        if tree not in self._known:
            self._known[tree] = _parsed(self._read(tree))
        return self._known[tree]

    def _read(self, oid: bytes) -> bytes:
        try:
            return bytes(self._odb.read(oid.hex())[1])
        except (KeyError, ValueError):
            raise BadInputError(
                "object-missing",
                f"the object {oid.hex()} is missing",
                hint="the repository may be shallow or damaged: try 'git fsck', or fetch again",
            ) from None


def _parsed(data: bytes) -> dict[bytes, Entry]:
    found: dict[bytes, Entry] = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        found[data[space + 1 : end]] = Entry(int(data[at:space], 8), data[end + 1 : end + 21])
        at = end + 21
    return found


def _folder(entry: Entry | None) -> bytes | None:
    return entry.oid if entry is not None and entry.mode == indexfile.FOLDER else None


def _file(entry: Entry | None) -> bool:
    return entry is not None and entry.mode != indexfile.FOLDER
