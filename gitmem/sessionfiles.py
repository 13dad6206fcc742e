"""The folders of sessions: the file that an agent writes, and the repository that keeps its versions.

The file counts, so that an agent without gitmem can write it too; whatever it says is committed
before a context is built of it. Everything lies in one folder, which goes when a session is forgotten.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from gitmem import clock, config, files, ids, layout
from gitmem.errors import BadInputError, ConflictError
from gitmem.git import loose, program, refs
from gitmem.git.bulk import parse_commit
from gitmem.git.lock import process_lock
from gitmem.git.loose import Reader
from gitmem.layout import TierPlace
from gitmem.model import sessions
from gitmem.model.sessions import SessionFault, SessionText

_PATIENCE = 10.0
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE = ".gitmem-forgotten-"
_BROKEN = ".broken-"
_MARK = "gitmem-sessions"


@dataclass(frozen=True, slots=True)
class Read:
    """A session's text as it is now, and the commit that holds it (None: it could not be kept).

    `fault` says why the file itself was not read: the text is then the one that was kept last.
    """

    text: SessionText
    commit: str | None
    fault: str | None = None


class SessionFolder:
    """The folder of one session; it need not exist."""

    def __init__(self, parent: Path, session: str) -> None:
        self.session = session
        self.path = parent / session
        self.file = self.path / f"{session}.memory.json"
        self.git_dir = self.path / ".git"

    def exists(self) -> bool:
        """Whether the session has a text here."""
        return self.git_dir.is_dir()

    def make(self, text: SessionText) -> bool:
        """Make the folder, whole or not at all; False where another process was first."""
        from gitmem.git import tierrepo

        parent = self.path.parent
        parent.mkdir(parents=True, exist_ok=True)
        with tierrepo.draft(parent) as place:
            new = SessionFolder(place, self.session)
            new.path.mkdir()
            tierrepo.new_bare(new.git_dir)
            program.run("config", "core.bare", "false", git_dir=new.git_dir)
            new.file.write_bytes(sessions.serialize(text))
            new._keep(new.file.read_bytes())
            try:
                new.path.rename(self.path)
            except OSError:
                if self.exists():
                    return False
                raise
        return True

    def look(self) -> SessionText | str:
        """What the file says now, or why it can't be read. Nothing is kept of it."""
        try:
            return sessions.parse(self._file_data(), self.session)
        except SessionFault as error:
            return error.message

    def _file_data(self) -> bytes:
        """What the file holds: never through a link, no more than a text can have.

        Raises SessionFault where it can't be read: agents write here.
        """
        try:
            handle = os.open(self.file, _OPEN)
        except FileNotFoundError:
            raise SessionFault("the file is gone") from None
        except OSError as error:
            raise SessionFault(f"it can't be opened: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise SessionFault("it is no plain file")
            with os.fdopen(handle, "rb", closefd=False) as stream:
                return stream.read(sessions.MAX_BYTES + 1)
        finally:
            os.close(handle)

    def read(self) -> Read:
        """The text as the file has it, committed if need be; or the one kept last, with the fault.

        Raises BadInputError `session-unreadable` where there is neither.
        """
        found = self._read(lambda _: None)
        if found.commit is not None:
            return found
        try:
            with process_lock(self.git_dir, wait=_PATIENCE):
                return self._read(self._keep)
        except (OSError, ConflictError, BadInputError, program.GitFailedError):
            # A sandbox may let us read alone: the context is worth more than its replay.
            return found

    def _read(self, keep: Callable[[bytes], str | None]) -> Read:
        """As `read`; `keep` commits a text that is not yet."""
        tip = refs.read(self.git_dir, layout.MAIN)
        try:
            data = self._file_data()
            text = sessions.parse(data, self.session)
        except SessionFault as error:
            fault = error.message
        else:
            held = tip is not None and self._holds(tip, data)
            return Read(text, tip if held else keep(data))
        kept = self._at(tip) if tip is not None else None
        if kept is None:
            raise BadInputError(
                "session-unreadable",
                f"the text of the session {self.session} can't be read",
                context=fault,
                hint=f"look at {self.file}, or: gitmem session forget {self.session}",
            )
        return Read(sessions.parse(kept, self.session), tip, fault)

    def change(self, make: Callable[[SessionText], SessionText]) -> tuple[Read, str | None]:
        """Write what `make` makes of the text; gives it, and where a file that was broken lies now.

        Processes that write at once wait for each other. The file is written whole or not at all.
        Raises ConflictError `session-ended` where it is forgotten meanwhile, `repository-locked`.
        """
        with self._alone():
            before = self._read(self._keep)
            after = make(before.text)
            aside = self._put_aside() if before.fault is not None else None
            data = sessions.serialize(after)
            files.write_whole(self.file, data)
            commit = self._keep(data)
        return Read(after, commit), aside

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with process_lock(self.git_dir, wait=_PATIENCE):
                if self.exists():
                    yield
                    return
        except BadInputError:
            if self.exists():
                raise
        raise ConflictError(
            "session-ended", f"the session {self.session} was forgotten by another process"
        )

    def _put_aside(self) -> str | None:
        """Give a file that can't be read another name, so that nothing of it is lost."""
        aside = self.file.with_name(f"{self.file.name}{_BROKEN}{clock.random_suffix()}")
        try:
            self.file.rename(aside)
        except FileNotFoundError:
            return None
        return str(aside)

    def at(self, commit: str) -> SessionText:
        """The text as one of its commits has it. Raises BadInputError `session-text-missing`."""
        data = self._at(commit) if self.exists() else None
        if data is None:
            raise BadInputError(
                "session-text-missing",
                f"the text of the session {self.session} at {commit[:12]} is gone",
                hint="it was forgotten; its record still says which entries there were",
            )
        return sessions.parse(data, self.session)

    def _at(self, commit: str) -> bytes | None:
        objects = Reader(self.git_dir)
        tree = self._tree_at(objects, commit)
        found = objects.read(tree) if tree is not None else None
        rest = found[1] if found is not None else b""
        while rest:
            head, _, rest = rest.partition(b"\0")
            if head == self._item:
                blob = objects.read(rest[:20].hex())
                return blob[1] if blob is not None else None
            rest = rest[20:]
        return None

    def _holds(self, commit: str, data: bytes) -> bool:
        """Whether a commit has just this text: told by its tree's id, no text is read for it."""
        tree = self._tree_at(Reader(self.git_dir), commit)
        return tree == loose.id_of("tree", self._tree(data))

    def _tree_at(self, objects: Reader, commit: str) -> str | None:
        found = objects.read(commit)
        if found is None or found[0] != b"commit":
            return None
        return parse_commit(commit, found[1]).tree

    @property
    def _item(self) -> bytes:
        return f"100644 {self.file.name}".encode("ascii")

    def _tree(self, data: bytes) -> bytes:
        """The tree of a commit that holds this text, as git keeps it."""
        return self._item + b"\0" + bytes.fromhex(loose.id_of("blob", data))

    def _keep(self, data: bytes) -> str:
        """Commit a text, unless it is the last one; to be called with the lock held.

        No git runs: agents write in this folder, and its hooks and config have no say.
        """
        parent = refs.read(self.git_dir, layout.MAIN)
        if parent is not None and self._holds(parent, data):
            return parent
        loose.write(self.git_dir, "blob", data)
        tree = loose.write(self.git_dir, "tree", self._tree(data))
        person = f"gitmem <gitmem@localhost> {clock.now()} +0000"
        above = [f"parent {parent}"] if parent is not None else []
        lines = [f"tree {tree}", *above, f"author {person}", f"committer {person}"]
        text = "\n".join([*lines, "", f"memory: text of session {self.session}", ""])
        commit = loose.write(self.git_dir, "commit", text.encode())
        refs.put(self.git_dir, layout.MAIN, commit)
        return commit

    def last_written(self) -> int:
        """When its text was written last, in seconds; of a broken one too."""
        times = [self.path.stat().st_mtime]
        with suppress(FileNotFoundError):
            times.append(self.file.stat().st_mtime)
        return int(max(times))

    def forget(self) -> bool:
        """Remove the folder and all that was ever in it; whether there was one.

        Raises ConflictError `repository-locked` where a writer does not end.
        """
        if not os.path.lexists(self.path):
            return False
        if self.path.is_symlink():
            self.path.unlink()
            return True
        # Under another name first: what is left of it by a kill is no session any more.
        gone = self.path.with_name(f"{_GONE}{self.session}-{clock.random_suffix()}")
        try:
            with self._alone() if self.exists() else nullcontext():
                self.path.rename(gone)
        except BadInputError:
            # Where no lock can be made nobody writes either.
            self.path.rename(gone)
        _remove(gone)
        return True


def folder_of_all(home: TierPlace) -> Path:
    """Where the folders of a tier's sessions lie: in the project, or in the user's state folder."""
    root = layout.project_root(home.folder) if home.folder is not None else None
    if home.scope == "project" and root is not None:
        return layout.sessions_folder(root)
    return _apart(home.git_dir, _born(home.git_dir))


def kept_apart(git_dir: Path) -> Path | None:
    """The folder in the user's state folder that has sessions of a repository, if there is one."""
    with suppress(OSError, BadInputError):
        found = _apart(git_dir, _marked(git_dir))
        return found if found.is_dir() else None
    return None


def _apart(git_dir: Path, mark: str) -> Path:
    seen = git_dir.stat()
    return config.state_dir() / "sessions" / f"{seen.st_dev}-{seen.st_ino}-{mark}"


def _born(git_dir: Path) -> str:
    """What tells a repository from a later one of the same inode; written into it at the first look.

    A copy has it too, but another inode. Where it can't be written the inode must do.
    """
    mark = git_dir / _MARK
    if not mark.exists():
        draft = mark.with_name(f"{_MARK}-{clock.random_suffix()}")
        with suppress(OSError):
            draft.write_text(clock.random_suffix(), encoding="ascii")
            # By a link, which never takes the place of another process's.
            os.link(draft, mark)
        with suppress(OSError):
            draft.unlink()
    return _marked(git_dir)


def _marked(git_dir: Path) -> str:
    written = files.read_if_there(git_dir / _MARK) or b""
    return written.decode("ascii", "replace") if written.isalnum() else "unmarked"


def listed(home: TierPlace) -> list[SessionFolder]:
    """The sessions that have a folder, by name."""
    parent = folder_of_all(home)
    names = sorted(item.name for item in parent.iterdir()) if parent.is_dir() else []
    return [SessionFolder(parent, name) for name in names if ids.session_fault(name) is None]


def leftovers(home: TierPlace) -> list[Path]:
    """What a kill left of the text of sessions that were forgotten, sorted."""
    return sorted(folder_of_all(home).glob(f"{_GONE}*"))


def remove_leftovers(home: TierPlace) -> None:
    """Remove what a kill left of sessions that were forgotten, or begun and never there."""
    parent = folder_of_all(home)
    if not parent.is_dir():
        return
    for left in parent.glob(f"{_GONE}*"):
        _remove(left)
    from gitmem.git import tierrepo

    with tierrepo.draft(parent):
        pass


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder)
