"""Many objects for few processes: a history in one `git log`, single objects from one `cat-file`."""

from __future__ import annotations

import subprocess
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gitmem.git import program
from gitmem.model.history import Blob, Change, Commit, Person

_FIELDS = ("%H", "%P", "%T", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%B")
# Each flag undoes a setting that a user may have: what is read must not depend on these.
_LOG = (
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
    "--raw",
    "-r",
    "--root",
    "--no-abbrev",
    "--no-renames",
    "--no-relative",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
    "--diff-merges=first-parent",
    "--topo-order",
    "--reverse",
)


def history(
    git_dir: Path, tips: Iterable[str], known: Iterable[str] = ()
) -> Iterator[tuple[Commit, dict[str, Change]]]:
    """All commits that `tips` reach and `known` don't, parents first.

    Each comes with the files in which it differs from its first parent, by path.
    Raises GitFailedError, or as `program.failed`, where an object is missing.
    """
    wanted = "\n".join([*tips, *(f"^{id_}" for id_ in known), ""]).encode()
    fields = program.converse(*_LOG, git_dir=git_dir, input=wanted).decode("utf-8", "replace")
    yield from _commits(fields.split("\0"))


def _commits(fields: list[str]) -> Iterator[tuple[Commit, dict[str, Change]]]:
    people: dict[tuple[str, str, str], Person] = {}
    at, end = 0, len(fields) - 1
    while at < end:
        id_, above, tree, *who, message = fields[at : at + 10]
        at += 10
        author = _person(people, who[0], who[1], who[2])
        committer = _person(people, who[3], who[4], who[5])
        changes: dict[str, Change] = {}
        while at < end and fields[at].startswith((":", "\n:")):
            old_mode, new_mode, old, new, _ = fields[at].lstrip("\n:").split(" ")
            changes[fields[at + 1]] = (_blob(old, old_mode), _blob(new, new_mode))
            at += 2
        yield Commit(id_, tuple(above.split()), tree, message, author, committer), changes


def _person(known: dict[tuple[str, str, str], Person], name: str, email: str, when: str) -> Person:
    key = (name, email, when)
    person = known.get(key)
    if person is None:
        seconds, _, zone = when.partition(" ")
        sign = -1 if zone.startswith("-") else 1
        try:
            offset = sign * (int(zone[1:3]) * 60 + int(zone[3:5])) if zone else 0
            person = Person(name, email, int(seconds or 0), offset)
        except ValueError:
            person = Person(name, email, 0, 0)
        known[key] = person
    return person


def _blob(id_: str, mode: str) -> Blob | None:
    return None if mode == "000000" else Blob(id_, int(mode, 8))


class Batch:
    """One `git cat-file --batch`, asked for objects by id; it ends with this object."""

    def __init__(self, git_dir: Path) -> None:
        self._process = program.start("cat-file", "--batch", git_dir=git_dir)
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
            stdin.write("".join(f"{id_}\n" for id_ in asked).encode())
            stdin.flush()
            for _ in asked:
                head = stdout.readline().split()
                if len(head) != 3:
                    if len(head) != 2:
                        raise self._ended()
                    found.append(None)
                    continue
                data = stdout.read(int(head[2]) + 1)
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
            stream.close()
    process.wait()
