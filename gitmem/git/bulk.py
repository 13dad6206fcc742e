"""Many objects for few processes: a history in one `git log`, single objects from one `cat-file`."""

from __future__ import annotations

import os
import re
import subprocess
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import ObjectMissingError
from gitmem.git import program
from gitmem.model.history import Blob, Change, Commit, Person

_FIELDS = ("%H", "%P", "%T", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%e", "%B")
# Each flag undoes a setting that a user may have: what is read must not depend on these.
_LOG = (
    # The graph that a commit-graph file tells may be another one than the commits'.
    "-c",
    "core.commitGraph=false",
    "log",
    "-z",
    "--stdin",
    "--no-color",
    "--no-decorate",
    "--no-notes",
    "--no-show-signature",
    "--encoding=UTF-8",
    f"--format={'%x00'.join(_FIELDS)}",
    "--date=raw",
    "--topo-order",
    "--reverse",
)
_CHANGED = (
    "--raw",
    "-r",
    "--root",
    "--no-abbrev",
    "--no-renames",
    "--no-relative",
    "-O/dev/null",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
    "--diff-merges=first-parent",
)
_COUNT = len(_FIELDS)
_ESCAPED = re.compile("[\udc80-\udcff]")
_HEX_ID = re.compile(r"[0-9a-f]{40}\Z")
# The name, the address and what follows the line's last ">".
_IDENT = re.compile(rb"\s*([^<]*?)\s*<\s*([^>]*?)\s*>(?:.*>)?\s*(.*)\Z", re.DOTALL)
_WHEN = re.compile(r"([0-9]+) ([+-])([0-9]{2})([0-9]{2})\Z")
# The end of the year 9999, behind which there are no dates.
_LAST_TIME = 253_402_300_799
_LAST_TIME_DIGITS = 12


class Borrowed(NamedTuple):
    """Objects that are not in a repository yet: those of a push that its hook looks at.

    git keeps them in a quarantine (git-receive-pack(1)) and tells its hook where in variables that
    our git processes drop, since anybody could set them: whoever knows better names it here.
    """

    quarantine: Path | None = None

    @classmethod
    def pushed(cls, git_dir: Path) -> Borrowed:
        """Those of the push whose hook this process is; none where git keeps none apart.

        Raises GitFailedError `quarantine-elsewhere` where they would lie outside the repository.
        """
        named = os.environ.get("GIT_QUARANTINE_PATH")
        if not named:
            return cls()
        place = Path(named).resolve()
        if place.parent != (git_dir / "objects").resolve():
            raise program.GitFailedError(
                "quarantine-elsewhere",
                "the objects of this push do not lie in the repository",
                context=named,
            )
        return cls(place)

    def environment(self, git_dir: Path) -> dict[str, str] | None:
        """The variables that show git these objects beside those of `git_dir`; None for none."""
        if self.quarantine is None:
            return None
        # In quotes, since a colon would end the path.
        own = str(git_dir / "objects").replace("\\", "\\\\").replace('"', '\\"')
        return {
            "GIT_OBJECT_DIRECTORY": str(self.quarantine),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{own}"',
        }


NOTHING_BORROWED = Borrowed()


def history(
    git_dir: Path,
    tips: Iterable[str],
    known: Iterable[str] = (),
    borrowed: Borrowed = NOTHING_BORROWED,
) -> Iterator[tuple[Commit, dict[str, Change]]]:
    """All commits that `tips` reach and `known` don't, parents first.

    Each comes with the files in which it differs from its first parent, by path.
    Raises GitFailedError, or as `program.failed`, where an object is missing.
    """
    yield from _read(git_dir, borrowed, [*tips, *(f"^{id_}" for id_ in known)], *_CHANGED)


def first_parents(git_dir: Path, tip: str) -> list[Commit]:
    """The first-parent line of `tip`, oldest first. Raises as `history`."""
    found = _read(git_dir, NOTHING_BORROWED, [tip], "--first-parent", "--no-patch")
    return [commit for commit, _ in found]


def _read(
    git_dir: Path, borrowed: Borrowed, revisions: Iterable[str], *options: str
) -> Iterator[tuple[Commit, dict[str, Change]]]:
    wanted = "\n".join([*revisions, ""]).encode()
    env = borrowed.environment(git_dir)
    out = program.converse(*_LOG, *options, git_dir=git_dir, input=wanted, env=env)
    try:
        fields, escaped = out.decode("utf-8").split("\0"), False
    except UnicodeDecodeError:
        fields, escaped = out.decode("utf-8", "surrogateescape").split("\0"), True
    yield from _commits(git_dir, fields, borrowed, escaped=escaped)


def _commits(
    git_dir: Path, fields: list[str], borrowed: Borrowed, *, escaped: bool
) -> Iterator[tuple[Commit, dict[str, Change]]]:
    """`escaped`: some of the fields hold bytes that are no UTF-8."""
    people: dict[tuple[str, str, str], Person] = {}
    batch: Batch | None = None
    at, end = 0, len(fields) - 1
    while at < end:
        id_, above, tree, *who, encoding, message = fields[at : at + _COUNT]
        at += _COUNT
        if encoding or (escaped and any(map(_ESCAPED.search, (message, *who)))):
            # git has its own idea of what such bytes mean.
            batch = batch or Batch(git_dir, borrowed)
            commit = parse_commit(id_, (batch.read(id_) or (b"", b""))[1])
        else:
            author = _person(people, who[0], who[1], who[2])
            committer = _person(people, who[3], who[4], who[5])
            commit = Commit(id_, tuple(above.split()), tree, message, author, committer)
        changes: dict[str, Change] = {}
        while at < end and fields[at].startswith((":", "\n:")):
            old_mode, new_mode, old, new, _ = fields[at].lstrip("\n:").split(" ")
            changes[fields[at + 1]] = (_blob(old, old_mode), _blob(new, new_mode))
            at += 2
        yield commit, changes


def parse_commit(id_: str, data: bytes) -> Commit:
    """A commit from its object's bytes. Bytes that are not UTF-8 are shown as U+FFFD."""
    head, _, message = data.partition(b"\n\n")
    lines = head.split(b"\n")
    tree = lines[0].removeprefix(b"tree ").decode("ascii", "replace")
    # As git does: a parent that stands elsewhere is none.
    above = takewhile(lambda line: line.startswith(b"parent "), lines[1:])
    parents = [line[7:].decode("ascii", "replace") for line in above]
    if not all(map(_HEX_ID.match, (tree, *parents))):
        raise ObjectMissingError(id_, "is no valid commit")
    author, committer, encoding = (
        next((line[len(name) :] for line in lines if line.startswith(name)), b"")
        for name in (b"author ", b"committer ", b"encoding ")
    )
    text = _decoded(message.partition(b"\0")[0], encoding.decode("ascii", "replace"))
    return Commit(id_, tuple(parents), tree, text, parse_person(author), parse_person(committer))


def parse_person(value: bytes) -> Person:
    """An author or committer line without its first word, as git splits it (ident.c).

    What can't be read is empty or 0.
    """
    match = _IDENT.match(value)
    if match is None:
        return Person("", "", 0, 0)
    name, email, when = (part.decode("utf-8", "replace") for part in match.groups())
    return _person_at(name, email, when)


def _decoded(message: bytes, encoding: str) -> str:
    """A commit's message, whose header may name an encoding. What can't be read is U+FFFD."""
    if encoding:
        try:
            return message.decode(encoding, "replace")
        except (LookupError, ValueError):
            # Unknown, or none of text such as `hex`.
            pass
    return message.decode("utf-8", "replace")


def _person(known: dict[tuple[str, str, str], Person], name: str, email: str, when: str) -> Person:
    key = (name, email, when)
    if key not in known:
        known[key] = _person_at(name, email, when)
    return known[key]


def _person_at(name: str, email: str, when: str) -> Person:
    """A person at a time as git writes it, seconds and zone; what can't be read is 0."""
    name, email = name.strip(), email.strip()
    match = _WHEN.match(when)
    if match is None:
        return Person(name, email, 0, 0)
    seconds, sign, hours, minutes = match.groups()
    offset = int(hours) * 60 + int(minutes)
    time = int(seconds) if len(seconds) <= _LAST_TIME_DIGITS else 0
    return Person(
        name, email, time if time <= _LAST_TIME else 0, -offset if sign == "-" else offset
    )


def _blob(id_: str, mode: str) -> Blob | None:
    return None if mode == "000000" else Blob(id_, int(mode, 8))


class Batch:
    """One `git cat-file --batch`, asked for objects by id; it ends with this object."""

    def __init__(self, git_dir: Path, borrowed: Borrowed = NOTHING_BORROWED) -> None:
        env = borrowed.environment(git_dir)
        self._process = program.start("cat-file", "--batch", git_dir=git_dir, env=env)
        weakref.finalize(self, _end, self._process)

    def read(self, id_: str) -> tuple[bytes, bytes] | None:
        """An object's kind and its bytes; None where it is missing."""
        return next(iter(self.read_all([id_])))

    def read_all(self, ids: Sequence[str]) -> list[tuple[bytes, bytes] | None]:
        """Several objects, in the order of `ids`."""
        found: list[tuple[bytes, bytes] | None] = []
        # The pipes hold 64 KiB each: more questions than that at once, unread, would block both.
        for start in range(0, len(ids), _AT_ONCE):
            asked = ids[start : start + _AT_ONCE]
            stdin, stdout = self._process.stdin, self._process.stdout
            if stdin is None or stdout is None:
                raise program.GitFailedError("git-failed", "'git cat-file' has no pipes")
            try:
                stdin.write("".join(f"{id_}\n" for id_ in asked).encode())
                stdin.flush()
            except BrokenPipeError:
                raise self._ended() from None
            for _ in asked:
                head = stdout.readline().split()
                if not head:
                    raise self._ended()
                if head[-1] == b"missing" or len(head) != 3:
                    found.append(None)
                    continue
                data = stdout.read(int(head[2]) + 1)
                if len(data) <= int(head[2]):
                    # Of a broken object it has said the size already when it gives up.
                    raise self._ended()
                found.append((head[1], data[:-1]))
        return found

    def _ended(self) -> program.GitFailedError:
        error = self._process.stderr.read() if self._process.stderr is not None else b""
        return program.GitFailedError(
            "git-failed",
            "'git cat-file --batch' ended",
            context=error.decode("utf-8", "replace").strip() or None,
        )


# 41 bytes a question: well within one pipe buffer.
_AT_ONCE = 1000


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            # What a git that died was not given any more.
            with suppress(BrokenPipeError):
                stream.close()
    process.wait()
