"""Moving refs together with the index and the files of the worktree that shows them.

The order makes that a plain `git commit`, which reads HEAD before the index and at the end
moves the ref only from the HEAD that it read, can at no moment undo a decision or carry it in:

1. `index.lock` is taken and stays until the end, so that no git writes the index meanwhile.
2. A journal says which commits the files may come from, and which refs move.
3. git locks the refs and compares their old values (`prepare`).
4. Files are written; what a person edited is left alone.
5. The new index takes its place: exactly the new tree.
6. The refs move (`commit`). Until here nobody sees the new HEAD, so a commit that was begun
   before fails; from here on HEAD, index and files agree.
7. The lock goes, a record keeps which commit the index stands for, and the journal goes.

Whoever next enters `deciding` reads the journal of one that was killed in between, and
brings index and files to the value that the ref has then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gitmem.errors import ConflictError, GitmemError
from gitmem.git import indexfile, program, refs
from gitmem.git.folder import Folder, Found, Kind, safe
from gitmem.git.indexfile import Entry
from gitmem.git.lock import MADE, IndexLock, cannot_write, held, process_lock
from gitmem.git.transaction import RefChange, Transaction, clear_locks, remaining
from gitmem.git.trees import Trees

__all__ = [
    "MAIN",
    "FolderState",
    "Left",
    "Place",
    "RefChange",
    "deciding",
    "folder_state",
    "mend",
    "move",
]

MAIN = "refs/heads/memory/main"
_JOURNAL = "gitmem-journal"
_RECORD = "gitmem-index"
_NEW_INDEX = "gitmem-index.new"
_OPERATIONS = {
    "MERGE_HEAD": "merge",
    "REVERT_HEAD": "revert",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
# Seconds to wait for a git that holds the index: a decision can wait longer than a look.
_WAIT_TO_MOVE = 10.0
_WAIT_TO_MEND = 1.0

Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """One tier's repository.

    `folder` is the worktree's folder (None: there is none now), `admin_dir` where its HEAD and
    index lie: `<git_dir>/worktrees/<name>` for a linked one, `git_dir` itself otherwise.
    """

    git_dir: Path
    folder: Path | None
    admin_dir: Path


@dataclass(frozen=True, slots=True)
class Left:
    """A file that was left alone, and why: `edited`, `deleted by hand`, `behind a link`, …"""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FolderState:
    """What a worktree is in the middle of.

    `branch` is the full ref name that HEAD stands for (None: detached), `operation` one of
    `merge`, `revert`, `cherry-pick`, `rebase` (None: no such thing is under way), `base` the
    commit that the index was read from. Paths are relative to the folder and in order:
    `edited` and `deleted` against `base`, `untracked` the `*.md` files that it does not have.
    """

    branch: str | None
    operation: str | None
    base: str | None
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()


@contextmanager
def deciding(place: Place, *, wait: float = 10.0) -> Iterator[None]:
    """Be the only one who moves refs in this repository; not to be entered twice.

    What a killed predecessor left is mended first. Raises ConflictError `repository-locked`
    after `wait` seconds, with the process that holds it, and BadInputError `cannot-write`.
    """
    with process_lock(place.git_dir, wait=wait):
        try:
            _recover(place, keep=held(place.git_dir), killed=True)
        except OSError as error:
            raise cannot_write(error) from error
        yield


def move(place: Place, changes: Sequence[RefChange], *, main: str = MAIN) -> list[Left]:
    """Move all these refs or none, and index and files along with `main`; inside `deciding`.

    Where the worktree is on another branch, or not there, only the refs move. Gives the files
    that were left as they are. Raises ConflictError `stale` (a ref has another value than the
    change says), `repository-locked` or `operation-in-progress`, and BadInputError
    `cannot-write` or `symbolic-ref`; then no ref has moved, and index and files stand where
    the refs do.
    """
    keep = held(place.git_dir)
    decided = next((change for change in changes if change.name == main), None)
    waiting = _Journal.waiting(place)
    try:
        with Transaction(place.git_dir, changes, keep=(keep,)) as transaction:
            if decided is not None and _follows(place, main):
                left = _move_folder(place, transaction, decided, changes, waiting)
                waiting = ()
            else:
                _Journal(main, waiting, tuple(changes)).write(place)
                transaction.prepare()
                transaction.commit()
                left = []
    except OSError as error:
        _give_up(place, keep)
        raise cannot_write(error) from error
    except BaseException:
        _give_up(place, keep)
        raise
    # The refs have moved: that holds, and what could not be tidied is mended next time.
    with suppress(OSError):
        if decided is not None:
            IndexLock(place.admin_dir).release()
        _Journal.end(place, main, waiting)
    return left


def mend(place: Place, *, main: str = MAIN) -> list[Left]:
    """Bring a lagging index and its files to the present value of `main`; inside `deciding`.

    For whatever moved the ref alone (a push, a fetch, `update-ref`) and for a folder that was
    made again. Gives the files that were left as they are. Nothing happens where the worktree
    is on another branch or in the middle of a merge.
    """
    held(place.git_dir)
    try:
        return _settle(place, main, (), wait=_WAIT_TO_MEND)
    except ConflictError as error:
        return [Left(".", error.message)]
    except OSError as error:
        raise cannot_write(error) from error


def lags(place: Place) -> bool:
    """Whether a move was begun and not ended, or index and files do not stand for `MAIN`.

    `mend`, inside `deciding`, puts both right. Nothing lags on another branch or in a merge.
    """
    if (place.git_dir / _JOURNAL).exists():
        return True
    if not _follows(place, MAIN) or _operation(place):
        return False
    present = refs.read(place.git_dir, MAIN)
    if not (place.admin_dir / "index").exists():
        trees = Trees(place.git_dir)
        return bool(trees.files(trees.tree(present) if present else None))
    return _lags(place, present)


def standing(place: Place) -> tuple[str | None, str | None]:
    """The branch of the worktree and the operation under way in it, without a look at its files."""
    return _head(place)[0], _operation(place)


def folder_state(place: Place) -> FolderState:
    """How the worktree stands: its branch, an operation under way, and what a person changed."""
    branch, commit = _head(place)
    operation = _operation(place)
    if place.folder is None or not place.folder.is_dir():
        return FolderState(branch, operation, None)
    trees = Trees(place.git_dir)
    index = _Index.read(place)
    base = _base(place, trees, index, commit)
    tracked = trees.files(trees.tree(base) if base else None)
    edited, deleted = [], []
    with Folder(place.folder) as folder:
        for path, entry in sorted(tracked.items()):
            if entry.mode == indexfile.SUBMODULE or index.unchanged(path, entry, folder):
                continue
            found = _look(folder, path)
            if found.kind is Kind.MISSING:
                deleted.append(os.fsdecode(path))
            elif not _same(found, entry):
                edited.append(os.fsdecode(path))
        untracked = [
            os.fsdecode(p) for p in folder.walk() if p.endswith(b".md") and p not in tracked
        ]
    return FolderState(branch, operation, base, tuple(edited), tuple(deleted), tuple(untracked))


# -- what is remembered ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Journal:
    """An unfinished move: the commits that files may come from, and the refs that were to change.

    None among the commits is a state without files; no commits: the folder is not concerned.
    """

    main: str
    commits: tuple[str | None, ...]
    changes: tuple[RefChange, ...]

    def write(self, place: Place) -> None:
        changes = [[change.name, change.new, change.old] for change in self.changes]
        document = {"main": self.main, "commits": self.commits, "changes": changes}
        _write_json(place.git_dir / _JOURNAL, document)

    @classmethod
    def read(cls, place: Place) -> _Journal | None:
        try:
            document = json.loads((place.git_dir / _JOURNAL).read_bytes())
            changes = tuple(RefChange(*change) for change in document["changes"])
            return cls(document["main"], tuple(document["commits"]), changes)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    @classmethod
    def waiting(cls, place: Place) -> tuple[str | None, ...]:
        """The commits of a journal whose index and files could not be mended yet."""
        journal = cls.read(place)
        return journal.commits if journal else ()

    @classmethod
    def end(cls, place: Place, main: str, waiting: tuple[str | None, ...] = ()) -> None:
        """Take the journal away, or leave what still waits in it."""
        if waiting:
            cls(main, waiting, ()).write(place)
        else:
            (place.git_dir / _JOURNAL).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Record:
    """Which commit the index stands for, and how index and folder looked when that was written.

    More than one commit: files of the earlier ones are still to be brought along. None is a
    state without files.
    """

    commits: tuple[str | None, ...]
    index: Signature | None
    folder: Signature | None

    @classmethod
    def now(cls, place: Place, commits: Iterable[str | None]) -> _Record:
        return cls(tuple(commits), _signature(place.admin_dir / "index"), _folder_signature(place))

    def write(self, place: Place) -> None:
        document = {"commits": self.commits, "index": self.index, "folder": self.folder}
        _write_json(place.admin_dir / _RECORD, document)

    @classmethod
    def read(cls, place: Place) -> _Record | None:
        try:
            document = json.loads((place.admin_dir / _RECORD).read_bytes())
            index, folder = (tuple(v) if (v := document[k]) else None for k in ("index", "folder"))
            return cls(tuple(document["commits"]), index, folder)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None


def _write_json(path: Path, document: Mapping[str, object]) -> None:
    new = path.with_name(f"{path.name}.part")
    try:
        new.write_text(json.dumps(document), encoding="utf-8")
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _signature(path: Path) -> Signature | None:
    try:
        st = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return st.st_ino, st.st_mtime_ns, st.st_size


def _folder_signature(place: Place) -> Signature | None:
    """Changes when the folder of a linked worktree is made again: its `.git` file is a new one."""
    linked = place.folder is not None and place.admin_dir != place.git_dir
    return _signature(place.folder / ".git") if linked and place.folder else None


# -- how the worktree stands -------------------------------------------------------------------


def _head(place: Place) -> tuple[str | None, str | None]:
    """The branch that HEAD stands for, and the commit; either may be None."""
    try:
        value = (place.admin_dir / "HEAD").read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return None, None
    if not value.startswith("ref:"):
        return None, value
    branch = value.removeprefix("ref:").strip()
    return branch, refs.read(place.git_dir, branch)


def _follows(place: Place, main: str) -> bool:
    return place.folder is not None and place.folder.is_dir() and _head(place)[0] == main


def _operation(place: Place) -> str | None:
    found = (word for name, word in _OPERATIONS.items() if (place.admin_dir / name).exists())
    return next(found, None)


@dataclass(frozen=True, slots=True)
class _Index:
    """The index as it is: its entries (None: unreadable, in conflict or absent) and its time."""

    entries: dict[bytes, Entry] | None
    modified_ns: int = 0

    @classmethod
    def read(cls, place: Place) -> _Index:
        try:
            with (place.admin_dir / "index").open("rb") as stream:
                modified = os.fstat(stream.fileno()).st_mtime_ns
                entries = indexfile.unpack(stream.read())
        except FileNotFoundError:
            return cls(None)
        return cls(_listed(place) if entries is None else entries, modified)

    def unchanged(self, path: bytes, entry: Entry, folder: Folder) -> bool:
        """Whether the time stamps alone say that the file holds `entry`'s content."""
        known = (self.entries or {}).get(path)
        return (
            known is not None
            and known.oid == entry.oid
            and known.mode == entry.mode
            # A file changed in the moment in which the index was written looks unchanged.
            and indexfile.modified_ns(known.stat) < self.modified_ns
            and known.stat == folder.stamps(path)
        )


def _listed(place: Place) -> dict[bytes, Entry] | None:
    """The index through git, for forms that only git reads (split, sparse); None in a conflict."""
    listing = program.run("ls-files", "--stage", "-z", git_dir=place.admin_dir, check=False)
    entries = {}
    for line in listing.out.split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, oid, stage = meta.split(b" ")
        if stage != b"0":
            return None
        entries[path] = Entry(int(mode, 8), bytes.fromhex(oid.decode("ascii")))
    return entries if listing.code == 0 else None


def _commit_of(place: Place, trees: Trees, index: _Index, start: str | None) -> str | None:
    """The newest commit in the history of `start` whose tree the index holds exactly."""
    if index.entries is None or start is None:
        return None
    held_tree = indexfile.tree_id(index.entries)
    if trees.tree(start) == held_tree:
        return start
    args = ("rev-list", "--no-commit-header", "--format=%H %T", start)
    for line in program.run(*args, git_dir=place.git_dir).out.splitlines():
        if line[41:].decode("ascii") == held_tree.hex():
            return line[:40].decode("ascii")
    return None


def _base(place: Place, trees: Trees, index: _Index, head: str | None) -> str | None:
    """The commit that the index was read from, as far as that can be known; else HEAD's."""
    record = _Record.read(place)
    if record and record.index == _signature(place.admin_dir / "index"):
        return record.commits[-1]
    if record and record.commits[-1] == head:
        return head
    return _commit_of(place, trees, index, head) or head


# -- bringing index and files to a commit ------------------------------------------------------


class _Checkout:
    """Index and files on their way to the commit `target`; `index.lock` must be held.

    A file is a person's edit unless it holds what one of `sources` has at its path; None among
    them is a state without files.
    """

    def __init__(
        self, place: Place, folder: Folder, target: str | None, sources: Iterable[str | None]
    ) -> None:
        self._place = place
        self._folder = folder
        self._target = target
        self._trees = Trees(place.git_dir)
        self._index = _Index.read(place)
        self._sources = self._known(sources)
        tree = self._trees.tree(target) if target else None
        # A name that git would refuse must not reach the index either: git trusts that.
        self._files = {p: e for p, e in self._trees.files(tree).items() if safe(p)}
        self._before = [
            self._trees.changed(self._trees.tree(source) if source else None, tree)
            for source in self._sources
        ]
        self._stats: dict[bytes, bytes] = {}
        self._left: list[Left] = []
        self._unwritten = False

    @property
    def commits(self) -> tuple[str | None, ...]:
        """All commits that files may come from while this is under way, the target last."""
        return (*(each for each in self._sources if each != self._target), self._target)

    def reserve(self) -> None:
        """Have the room for the new index, so that a full disk shows before anything is changed."""
        size = indexfile.size(self._files)
        file = os.open(self._new_index, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            os.posix_fallocate(file, 0, size)
        finally:
            os.close(file)

    def bring_files(self) -> list[Left]:
        """Write and delete files, as far as nobody has edited them; gives those left alone."""
        paths = sorted({path for before in self._before for path in before})
        # Deleting first makes room for a folder where a file was, and the reverse.
        for path in (p for p in paths if p not in self._files):
            self._bring(path, None)
        for path in (p for p in paths if p in self._files):
            self._bring(path, self._files[path])
        return self._left

    def write_index(self) -> None:
        """Put an index in place that holds exactly the target's tree."""
        entries = {path: self._with_stat(path, entry) for path, entry in self._files.items()}
        file = os.open(self._new_index, os.O_WRONLY | os.O_CLOEXEC)
        with os.fdopen(file, "wb") as stream:
            stream.write(indexfile.pack(entries))
        self._new_index.replace(self._place.admin_dir / "index")

    def remember(self) -> None:
        """Keep which commit the index stands for now."""
        commits = self.commits if self._unwritten else (self._target,)
        _Record.now(self._place, commits).write(self._place)

    @property
    def _new_index(self) -> Path:
        return self._place.admin_dir / _NEW_INDEX

    def _known(self, sources: Iterable[str | None]) -> list[str | None]:
        """The sources that exist, without repeats; those of a worktree that tells nothing itself."""
        record = _Record.read(self._place)
        wanted = list(sources)
        if _made_again(self._place, record, self._index, self._folder):
            return [None]
        present = wanted[-1]
        if record is not None:
            wanted[:0] = record.commits
        seen = _signature(self._place.admin_dir / "index")
        if record is None or record.commits != (present,) or record.index != seen:
            found = _commit_of(self._place, self._trees, self._index, present)
            wanted += [found] if found else []
        unique = list(dict.fromkeys(wanted))
        return [each for each in unique if each is None or self._trees.tree(each) is not None]

    def _bring(self, path: bytes, wanted: Entry | None) -> None:
        try:
            reason = self._try_to_bring(path, wanted)
        except OSError as error:
            self._unwritten = True
            reason = f"can't be written: {error.strerror}"
        if reason:
            self._left.append(Left(os.fsdecode(path), reason))

    def _try_to_bring(self, path: bytes, wanted: Entry | None) -> str | None:
        """Bring one file along; gives the reason where it must be left."""
        if not safe(path):
            return "has an unsafe name"
        if wanted is not None and wanted.mode == indexfile.SUBMODULE:
            return None
        self._folder.clean(path)
        before = [changed.get(path, wanted) for changed in self._before]
        found = self._folder.look(path)
        if _same(found, wanted):
            self._stats[path] = found.stat
            return None
        if not any(_same(found, entry) for entry in before):
            return _why_left(found, wanted, known=any(before))
        if wanted is None:
            self._folder.remove(path)
            return None
        return self._write(path, wanted)

    def _write(self, path: bytes, wanted: Entry) -> str | None:
        if wanted.mode not in (indexfile.FILE, indexfile.EXECUTABLE):
            return "is a link in the tree"
        content = self._trees.blob(wanted.oid)
        self._folder.write(path, content, executable=wanted.mode == indexfile.EXECUTABLE)
        self._stats[path] = self._folder.stamps(path) or indexfile.UNKNOWN_STAT
        return None

    def _with_stat(self, path: bytes, entry: Entry) -> Entry:
        if path in self._stats:
            return entry._replace(stat=self._stats[path])
        if self._index.unchanged(path, entry, self._folder):
            return (self._index.entries or {})[path]
        found = _look(self._folder, path)
        return entry._replace(stat=found.stat) if _same(found, entry) else entry


def _look(folder: Folder, path: bytes) -> Found:
    """What lies at `path`, where a file that can't be read is just no file of ours."""
    try:
        return folder.look(path)
    except OSError:
        return Found(Kind.OTHER)


def _same(found: Found, entry: Entry | None) -> bool:
    if entry is None:
        return found.kind is Kind.MISSING
    kind = Kind.LINK if entry.mode == indexfile.LINK else Kind.FILE
    return found.kind is kind and found.oid == entry.oid


def _why_left(found: Found, wanted: Entry | None, *, known: bool) -> str | None:
    if found.kind is Kind.MISSING:
        return "deleted by hand"
    if found.kind in (Kind.BEHIND_LINK, Kind.BEHIND_FILE):
        # What is to go is not reachable, so it is gone.
        return found.kind.value if wanted is not None else None
    if found.kind in (Kind.FOLDER, Kind.OTHER):
        return f"a {found.kind.value} is in the way" if wanted is not None else None
    return "edited" if known else "an untracked file is in the way"


def _move_folder(
    place: Place,
    transaction: Transaction,
    decided: RefChange,
    changes: Sequence[RefChange],
    waiting: Sequence[str | None],
) -> list[Left]:
    lock = IndexLock(place.admin_dir)
    lock.take(wait=_WAIT_TO_MOVE)
    _check_still(place, decided.name)
    with _folder(place) as folder:
        checkout = _Checkout(place, folder, decided.new, [*waiting, decided.old])
        checkout.reserve()
        _Journal(decided.name, checkout.commits, tuple(changes)).write(place)
        transaction.prepare()
        left = checkout.bring_files()
        checkout.write_index()
        transaction.commit()
        with suppress(OSError):
            checkout.remember()
    return left


def _check_still(place: Place, main: str) -> None:
    """What was looked at before the index was locked, or can't be moved over."""
    if _head(place)[0] != main:
        raise ConflictError(
            "stale",
            "the memory folder has switched to another branch; nothing was changed",
            hint="look again, then repeat",
        )
    operation = _operation(place)
    if operation is not None:
        raise ConflictError(
            "operation-in-progress",
            f"a {operation} is in progress in the memory folder",
            context=str(place.folder),
            hint=f"finish it, or give it up: git {operation} --abort",
        )


def _settle(place: Place, main: str, extra: Sequence[str | None], *, wait: float) -> list[Left]:
    """Bring index and files to the value that `main` has, and see that it still has it."""
    while True:
        present = refs.read(place.git_dir, main)
        left = _settle_at(place, main, present, extra, wait=wait)
        if refs.read(place.git_dir, main) == present:
            return left


def _settle_at(
    place: Place, main: str, present: str | None, extra: Sequence[str | None], *, wait: float
) -> list[Left]:
    lock = IndexLock(place.admin_dir)
    if not _follows(place, main) or _operation(place):
        lock.release()
        return []
    if not extra and not _lags(place, present):
        _note(place, present)
        lock.release()
        return []
    lock.take(wait=wait)
    with _folder(place) as folder:
        checkout = _Checkout(place, folder, present, [*extra, present])
        checkout.reserve()
        _Journal(main, checkout.commits, ()).write(place)
        left = checkout.bring_files()
        checkout.write_index()
        checkout.remember()
    lock.release()
    _Journal.end(place, main)
    return left


def _lags(place: Place, present: str | None) -> bool:
    """Whether index or files do not stand for the commit `present`.

    An index that holds a person's `git add` does not lag; one that holds an older commit does.
    """
    record, now = _Record.read(place), _Record.now(place, (present,))
    if record == now or now.index is None:
        return now.index is None and present is not None
    trees, index = Trees(place.git_dir), _Index.read(place)
    with _folder(place) as folder:
        if index.entries != {} and _made_again(place, record, index, folder):
            return True
    if record is not None and len(record.commits) > 1:
        return True
    found = _commit_of(place, trees, index, present)
    staged = found is None and record is not None and record.commits == now.commits
    return found != present and not staged


def _note(place: Place, present: str | None) -> None:
    """Keep that index and files were seen to stand for `present`, so that the next look is short."""
    now = _Record.now(place, (present,))
    if now.index is not None and now != _Record.read(place):
        with suppress(OSError):
            now.write(place)


def _made_again(place: Place, record: _Record | None, index: _Index, folder: Folder) -> bool:
    """Whether no file is there because the folder is a new one, not because a person deleted all."""
    if record is not None and record.folder == _folder_signature(place):
        return False
    return not any(folder.stamps(path) for path in index.entries or {})


def _folder(place: Place) -> Folder:
    if place.folder is None:
        raise ValueError("there is no folder")
    return Folder(place.folder)


def _recover(place: Place, *, keep: int, killed: bool) -> None:
    """Finish or undo what was begun: the refs first, then index and files.

    `killed`: by a process that has ended, whose git may have left locks.
    """
    for part in (MADE, _NEW_INDEX, f"{_RECORD}.part"):
        (place.admin_dir / part).unlink(missing_ok=True)
    (place.git_dir / f"{_JOURNAL}.part").unlink(missing_ok=True)
    journal = _Journal.read(place)
    if journal is None:
        # Killed before there was anything to mend, or after all was.
        IndexLock(place.admin_dir).release()
        _Journal.end(place, MAIN)
        return
    if killed:
        since = (place.git_dir / _JOURNAL).stat().st_mtime_ns
        clear_locks(place.git_dir, journal.changes, since_ns=since)
    rest = remaining(place.git_dir, journal.changes)
    if rest:
        with Transaction(place.git_dir, rest, keep=(keep,)) as transaction:
            transaction.prepare()
            transaction.commit()
    try:
        if journal.commits:
            _settle(place, journal.main, journal.commits, wait=0)
        _Journal.end(place, journal.main)
    except ConflictError:
        # A git that holds the index now need not hold up a decision: the rest waits.
        _Journal.end(place, journal.main, journal.commits)


def _give_up(place: Place, keep: int) -> None:
    """After a failure: leave things where the refs are, or at least the journal that says how."""
    with suppress(GitmemError, OSError):
        _recover(place, keep=keep, killed=False)
