"""Objects of one repository: all reading and writing.

A command that only reads starts with the git program, one `git log` for the
history and one `git cat-file --batch` for the rest: pygit2 alone costs 77 ms to
load. Whatever writes, walks the graph or reads a lot goes through pygit2.

With pygit2 the repository is opened as a bare object database without its git
directory, so that nothing but objects has a say: libgit2 obeys `info/grafts` and
reads the repository's config otherwise (seen on libgit2 1.9.7; it never obeys
replace refs).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import ObjectMissingError
from gitmem.git import bulk, program
from gitmem.git.bulk import Batch, Borrowed, parse_commit
from gitmem.model.entries import key_of_path, path_of
from gitmem.model.history import EMPTY_TREE, REGULAR, Blob, Change, Commit, Content, Person

if TYPE_CHECKING:
    import pygit2

_TREE_ITEM = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
# As libgit2 numbers them, and their names as git gives them.
_COMMIT, _TREE, _BLOB, _TAG = 1, 2, 3, 4
_KINDS = {b"commit": _COMMIT, b"tree": _TREE, b"blob": _BLOB, b"tag": _TAG}
# From about so many single looks on, loading pygit2 is the cheaper way (25 us against 77 ms).
_ENOUGH_READS = 2000
_FOLDER = b"40000"
_SUBMODULE = 0o160000
_HEX_ID = re.compile(r"[0-9a-f]{40}\Z")
_HEX_PART = re.compile(r"[0-9a-f]{4,40}\Z")
# What git leaves out of a name or an address: in it, and around it (ident.c).
_UNFIT = re.compile(r"[<>\n\0]")
_CRUD = "".join(map(chr, range(33))) + ".,:;\\\"'"
_NOTHING = (b"", b"")
# Folders of up to some thousand names each: the neighbours of a commit on the way along a line.
_KEPT_FOLDERS = 512


class Objects:
    """The History of one tier's repository, and the writer of its objects."""

    def __init__(
        self, git_dir: Path, tier: str, borrowed: Borrowed = bulk.NOTHING_BORROWED
    ) -> None:
        self._tier = tier
        self._git_dir = git_dir
        self._borrowed = borrowed
        self._opened: tuple[pygit2.Repository, pygit2.Odb] | None = None
        self._batch: Batch | None = None
        self._reads = 0
        self._commits: dict[str, Commit] = {}
        self._kept: dict[str, bytes] = {}
        self._folders: dict[str, dict[bytes, tuple[bytes, bytes]]] = {}
        self._loaded: dict[str, bytes] = {}
        self._changes: dict[tuple[str, str], Mapping[str, Change]] = {}
        self._path_changes: dict[tuple[str, str], dict[str, Change]] = {}

    @property
    def tier(self) -> str:
        """Whose repository it is: `user` or `project`."""
        return self._tier

    def _open(self) -> tuple[pygit2.Repository, pygit2.Odb]:
        if self._opened is None:
            import pygit2

            odb = pygit2.Odb(str(self._git_dir / "objects"))
            if self._borrowed.quarantine is not None:
                odb.add_disk_alternate(str(self._borrowed.quarantine))
            repo = pygit2.Repository()
            repo.set_odb(odb)
            self._opened = (repo, odb)
        return self._opened

    @property
    def _repo(self) -> pygit2.Repository:
        return self._open()[0]

    # -- reading ---------------------------------------------------------------------------

    def prefetch(self, tips: Iterable[str], known: Iterable[str] = ()) -> None:
        """Read the history of `tips`, without that of `known`, with one process."""
        tips = [tip for tip in tips if tip not in self._commits]
        if not tips or (self._opened is not None and any(tip in self._commits for tip in known)):
            return
        for commit, change in bulk.history(self._git_dir, tips, known, self._borrowed):
            self._commits[commit.id] = commit
            above = commit.parents[0] if commit.parents else None
            tree = self._commits[above].tree if above in self._commits else None
            if above is None or tree is not None:
                self._path_changes[tree or EMPTY_TREE, commit.tree] = change

    def exists(self, id_: str) -> bool:
        """Whether there is an object with this id."""
        if self._opened is None:
            return self._batched().read(id_) is not None
        import pygit2

        return pygit2.Oid(hex=id_) in self._opened[1]

    def commits_among(self, ids: Iterable[str]) -> set[str]:
        """Those of `ids` that are commits here: a ref may name anything."""
        wanted = [id_ for id_ in ids if id_ not in self._commits]
        found = self._batched().read_all(wanted)
        there = zip(wanted, found, strict=True)
        return {id_ for id_, item in there if item is not None and item[0] == b"commit"} | {
            id_ for id_ in ids if id_ in self._commits
        }

    def commits_named(self, name: str) -> list[str]:
        """The commits whose ids begin with `name`, of at least four hex digits, in order."""
        if not _HEX_PART.match(name.lower()):
            return []
        asked = ("rev-parse", f"--disambiguate={name.lower()}")
        return sorted(self.commits_among(program.run(*asked, git_dir=self._git_dir).text.split()))

    def _batched(self) -> Batch:
        if self._batch is None:
            self._batch = Batch(self._git_dir, self._borrowed)
        return self._batch

    def load(self, blobs: Iterable[str]) -> None:
        """Read many blobs at once, for `data` to give."""
        if self._opened is not None:
            return
        wanted = [blob for blob in blobs if blob not in self._kept and blob not in self._loaded]
        for id_, found in zip(wanted, self._batched().read_all(wanted), strict=True):
            if found is not None and found[0] == b"blob":
                self._loaded[id_] = found[1]

    def kind(self, id_: str) -> str:
        """`commit`, `tag`, `tree` or `blob`."""
        kind, _ = self._read(id_)
        return next(name.decode() for name, number in _KINDS.items() if number == kind)

    def commit(self, id_: str) -> Commit:
        """The commit `id_`, parsed from its own bytes."""
        known = self._commits.get(id_)
        if known is None:
            kind, data = self._read(id_)
            if kind != _COMMIT:
                raise ObjectMissingError(id_, "is no commit")
            known = self._commits[id_] = parse_commit(id_, data)
        return known

    def tag(self, id_: str) -> tuple[str, str] | None:
        """What an annotated tag points to, and its message; None where `id_` is no tag object."""
        kind, data = self._read(id_)
        if kind != _TAG:
            return None
        head, _, message = data.partition(b"\n\n")
        target = head.split(b"\n", 1)[0].removeprefix(b"object ").decode("ascii", "replace")
        return (target, message.decode("utf-8", "replace")) if _HEX_ID.match(target) else None

    def contents(self, tree: str) -> Mapping[str, Blob]:
        """All entries of a tree, by key."""
        return {key: blob for path, blob in self.paths(tree).items() if (key := key_of_path(path))}

    def paths(self, tree: str) -> dict[str, Blob]:
        """All files of a tree, entries or not, by path."""
        found: dict[str, Blob] = {}
        self._gather(tree, "", found)
        return found

    def _gather(self, tree: str, prefix: str, found: dict[str, Blob]) -> None:
        for name, (mode, id_) in self._items(tree).items():
            path = prefix + name.decode("utf-8", "surrogateescape")
            if mode == _FOLDER:
                self._gather(id_.hex(), f"{path}/", found)
            else:
                found[path] = Blob(id_.hex(), int(mode, 8))

    def content(self, tree: str, key: str) -> Content:
        """One entry of a tree."""
        *folders, name = path_of(key).encode().split(b"/")
        for folder in folders:
            item = self._items(tree).get(folder)
            if item is None or item[0] != _FOLDER:
                return None
            tree = item[1].hex()
        item = self._items(tree).get(name)
        if item is None or item[0] == _FOLDER:
            return None
        return Blob(item[1].hex(), int(item[0], 8))

    def changes(self, old: str, new: str) -> Mapping[str, Change]:
        """The entries in which two trees differ, by key, in order of their paths."""
        known = self._changes.get((old, new))
        if known is None:
            known = {
                key: change
                for path, change in self.path_changes(old, new).items()
                if (key := key_of_path(path))
            }
            self._changes[old, new] = known
        return known

    def path_changes(self, old: str, new: str) -> dict[str, Change]:
        """The files in which two trees differ, entries or not, by path, in order."""
        found = self._path_changes.get((old, new))
        if found is None:
            found = {}
            self._compare(old, new, "", found)
            if len(found) > 1:
                found = dict(sorted(found.items()))
        return found

    def _compare(self, old: str, new: str, prefix: str, found: dict[str, Change]) -> None:
        if old == new:
            return
        before, after = self._items(old), self._items(new)
        for name in {name for name, _ in before.items() ^ after.items()}:
            path = prefix + name.decode("utf-8", "surrogateescape")
            was, is_ = before.get(name, _NOTHING), after.get(name, _NOTHING)
            files = [
                None if mode in (_FOLDER, b"") else Blob(id_.hex(), int(mode, 8))
                for mode, id_ in (was, is_)
            ]
            if files != [None, None]:
                found[path] = (files[0], files[1])
            folders = [id_.hex() if mode == _FOLDER else EMPTY_TREE for mode, id_ in (was, is_)]
            self._compare(folders[0], folders[1], f"{path}/", found)

    def _items(self, tree: str) -> dict[bytes, tuple[bytes, bytes]]:
        """One folder: for each name the mode (octal digits) and the id (20 bytes)."""
        known = self._folders.get(tree)
        if known is not None:
            return known
        if tree == EMPTY_TREE:
            # It need not lie in the object database: git itself takes it as known.
            return {}
        kind, data = self._read(tree)
        if kind != _TREE:
            raise ObjectMissingError(tree, "is no tree")
        items = {name: (mode, id_) for mode, name, id_ in _TREE_ITEM.findall(data)}
        if len(self._folders) > _KEPT_FOLDERS:
            self._folders.clear()
        self._folders[tree] = items
        return items

    def data(self, blob: str) -> bytes:
        """A blob's bytes, also of one that was only handed to `keep`."""
        if blob in self._kept:
            return self._kept[blob]
        if blob in self._loaded:
            return self._loaded[blob]
        kind, data = self._read(blob)
        if kind != _BLOB:
            raise ObjectMissingError(blob, "is no blob")
        return data

    def keep(self, data: bytes) -> Blob:
        """What an entry with these bytes is in a tree. Nothing is written: it is kept in memory."""
        id_ = blob_id(data)
        if id_ not in self._kept and not self.exists(id_):
            self._kept[id_] = data
        return Blob(id_, REGULAR)

    def merge_bases(self, one: str, other: str) -> Sequence[str]:
        """All best common ancestors, in order of their ids."""
        found: object | None = self._repo.merge_base(one, other)
        if found is None:
            return ()
        base = str(found)
        common = self._reach(one, (base,)) & self._reach(other, (base,))
        if not common:
            return (base,)
        common.add(base)
        best = {id_ for id_ in common if not (self._descendants_in(id_, common))}
        return sorted(best)

    def _descendants_in(self, id_: str, common: set[str]) -> bool:
        return any(other != id_ and self.is_ancestor(id_, other) for other in common)

    def _reach(self, tip: str, excluded: Iterable[str]) -> set[str]:
        walker = self._repo.walk(tip)
        for id_ in excluded:
            walker.hide(id_)
        return {str(commit.id) for commit in walker}

    def is_ancestor(self, ancestor: str, tip: str) -> bool:
        """Whether `tip` reaches `ancestor`; a commit reaches itself."""
        return ancestor == tip or self._repo.descendant_of(tip, ancestor)

    def between(self, tip: str, excluded: Iterable[str]) -> Sequence[str]:
        """What `tip` reaches and none of `excluded` does, parents first, ties by id."""
        within = self._reach(tip, excluded)
        if len(within) < 2:
            return tuple(within)
        return parents_first({id_: self.commit(id_).parents for id_ in within})

    def text_merge(self, base: Blob, ours: Blob, theirs: Blob) -> bytes | None:
        """What git's own text merge makes of three files; None where it finds a conflict.

        The same for contents that were only computed: whether some blob lies in this
        repository must not decide what counts.
        """
        from gitmem.git.textmerge import text_merge

        return text_merge(self.data(base.id), self.data(ours.id), self.data(theirs.id))

    def _read(self, id_: str) -> tuple[int, bytes]:
        if self._opened is None and self._reads < _ENOUGH_READS:
            self._reads += 1
            found = self._batched().read(id_)
            if found is None:
                raise ObjectMissingError(id_, "is missing")
            return _KINDS[found[0]], found[1]
        try:
            return self._open()[1].read(id_)
        except (KeyError, ValueError):
            raise ObjectMissingError(id_, "is missing") from None

    # -- writing ---------------------------------------------------------------------------

    def write_blob(self, data: bytes) -> Blob:
        """Write a blob, as an ordinary file. Writing raises OSError where the system won't let us."""
        return Blob(self._write(_BLOB, data), REGULAR)

    def _write(self, kind: int, data: bytes) -> str:
        return str(self._open()[1].write(kind, data))

    def write_tree(self, tree: str, files: Mapping[str, Content]) -> str:
        """The tree `tree` with these files (by path) put in, or taken out where None is given.

        What was only handed to `keep` is written. Raises BadInputError `object-missing`.
        """
        return self._write_folder(tree, files) or self._write(_TREE, b"")

    def _write_folder(self, tree: str, files: Mapping[str, Content]) -> str | None:
        """One folder of a tree, with all below it; None where nothing is left in it."""
        items = dict(self._items(tree))
        folders: dict[bytes, dict[str, Content]] = {}
        for path, content in files.items():
            first, _, rest = path.partition("/")
            name = os.fsencode(first)
            if rest:
                folders.setdefault(name, {})[rest] = content
            elif content is None:
                if items.get(name, _NOTHING)[0] != _FOLDER:
                    items.pop(name, None)
            else:
                items[name] = (b"%o" % content.mode, bytes.fromhex(self._stored(content)))
        for name, below in folders.items():
            mode, id_ = items.get(name, _NOTHING)
            if mode != _FOLDER and not any(below.values()):
                continue
            written = self._write_folder(id_.hex() if mode == _FOLDER else EMPTY_TREE, below)
            if written is None:
                items.pop(name, None)
            else:
                items[name] = (_FOLDER, bytes.fromhex(written))
        return self._write(_TREE, _tree_bytes(items)) if items else None

    def _stored(self, content: Blob) -> str:
        """The id of a content that is in the object database now."""
        if content.id in self._kept:
            return self.write_blob(self._kept[content.id]).id
        if content.mode != _SUBMODULE and not self.exists(content.id):
            raise ObjectMissingError(content.id, "is missing")
        return content.id

    def write_commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Person,
        committer: Person | None = None,
    ) -> str:
        """Write a commit; no ref moves."""
        lines = [
            f"tree {tree}",
            *(f"parent {parent}" for parent in parents),
            f"author {_signature(author)}",
            f"committer {_signature(committer or author)}",
        ]
        return self._write(_COMMIT, _object_text(lines, message))

    def write_tag(self, name: str, target: str, tagger: Person, message: str) -> str:
        """Write an annotated tag object on a commit; no ref is made."""
        lines = [f"object {target}", "type commit", f"tag {name}", f"tagger {_signature(tagger)}"]
        return self._write(_TAG, _object_text(lines, message))


def _tree_bytes(items: Mapping[bytes, tuple[bytes, bytes]]) -> bytes:
    """A tree object in git's order, in which a folder's name ends in a slash."""

    def order(item: tuple[bytes, tuple[bytes, bytes]]) -> bytes:
        name, (mode, _) = item
        return name + b"/" if mode == _FOLDER else name

    return b"".join(
        b"%b %b\0%b" % (mode, name, id_) for name, (mode, id_) in sorted(items.items(), key=order)
    )


def _object_text(lines: Iterable[str], message: str) -> bytes:
    return "\n".join([*lines, "", message]).encode("utf-8", "surrogateescape")


def parents_first(parents: Mapping[str, Sequence[str]]) -> list[str]:
    """The commits of a graph so that parents precede children, ties by id."""
    import heapq

    missing = {id_: sum(p in parents for p in above) for id_, above in parents.items()}
    children: dict[str, list[str]] = {}
    for id_, above in parents.items():
        for parent in above:
            if parent in parents:
                children.setdefault(parent, []).append(id_)
    ready = [id_ for id_, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order: list[str] = []
    while ready:
        id_ = heapq.heappop(ready)
        order.append(id_)
        for child in children.get(id_, ()):
            missing[child] -= 1
            if missing[child] == 0:
                heapq.heappush(ready, child)
    return order


def blob_id(data: bytes) -> str:
    """The id that git gives a blob with these bytes (SHA-1 over `blob <size>`, NUL, data)."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _signature(person: Person) -> str:
    """A person as commits and tags name them, without what git would not write there."""
    name, email = (_UNFIT.sub("", text).strip(_CRUD) for text in (person.name, person.email))
    return f"{name or 'unknown'} <{email}> {person.time} {_zone(person.offset)}"


def _zone(offset: int) -> str:
    sign = "-" if offset < 0 else "+"
    return f"{sign}{abs(offset) // 60:02d}{abs(offset) % 60:02d}"
