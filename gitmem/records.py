"""The records of sessions: commits in `refs/memory/session/<id>`, on this machine alone.

The record proper is in one tier's repository, the project's where there is one. The other tier's
has a line of commits without documents, which keep there what the record pins.

Read and written without pygit2, and with one process of git: a context is built at every start of
a session, and loading that alone costs more than all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gitmem import clock, layout
from gitmem.errors import BadInputError, ConflictError
from gitmem.git import loose, refs
from gitmem.git.bulk import parse_commit
from gitmem.git.loose import Reader
from gitmem.git.transaction import RefChange, Transaction
from gitmem.layout import EMPTY_TREE, TierPlace
from gitmem.model import records, trailers
from gitmem.model.history import Commit
from gitmem.model.records import Record, RecordFault

_PERSON = "gitmem <gitmem@localhost>"
# Each lost race means that another process has written a commit meanwhile.
_ATTEMPTS = 20

Next = Callable[[Record | None], Record | None]
"""Makes the next commit of a record from the last one, None where it has none yet.

None means that there is nothing to be recorded.
"""


def names(place: TierPlace) -> list[str]:
    """The sessions that have a ref in a tier's repository, sorted."""
    return [
        ref.removeprefix(layout.SESSIONS) for ref in refs.listed(place.git_dir, layout.SESSIONS)
    ]


def last(place: TierPlace, session: str, objects: Reader | None = None) -> Record | None:
    """The end of a session's record; None where it has none here. Raises as `line`."""
    return next(_backwards(place, session, objects), None)


def line(place: TierPlace, session: str) -> list[Record]:
    """The whole record of a session, oldest first.

    Raises BadInputError `object-missing` and `record-unreadable`.
    """
    return list(_backwards(place, session))[::-1]


def _backwards(place: TierPlace, session: str, objects: Reader | None = None) -> Iterator[Record]:
    objects = objects or Reader(place.git_dir)
    here = refs.read(place.git_dir, layout.session_ref(session))
    while here is not None:
        commit = _commit(objects, here, session)
        if trailers.parse(commit.message).first(trailers.SESSION) != session:
            # What the record's first commit pins.
            return
        found = _read(commit, session)
        if found is not None:
            yield found
        here = commit.parents[0] if commit.parents else None


def _commit(objects: Reader, id_: str, session: str) -> Commit:
    found = objects.read(id_)
    if found is None or found[0] != b"commit":
        raise _unreadable(session, f"its commit {id_} is missing")
    return parse_commit(id_, found[1])


def _read(commit: Commit, session: str) -> Record | None:
    try:
        return records.read(commit)
    except RecordFault as fault:
        raise _unreadable(session, f"{commit.id}: {fault}") from fault


def _unreadable(session: str, why: str) -> BadInputError:
    return BadInputError(
        "record-unreadable",
        f"the record of the session {session} can't be read",
        context=why,
        hint=f"to forget what it was given: gitmem git update-ref -d {layout.session_ref(session)}",
    )


# -- writing -----------------------------------------------------------------------------------


def append(home: TierPlace, others: Iterable[TierPlace], session: str, make: Next) -> None:
    """Write the next commit of a session's record, and keep in `others` what it pins there.

    What it pins is kept before it is written, so that a record never names what may be gone.
    Raises OSError or a GitmemError where that can't be.
    """
    for _ in range(_ATTEMPTS):
        before = refs.read(home.git_dir, layout.session_ref(session))
        record = make(last(home, session))
        if record is None:
            return
        for place in others:
            if place.scope in record.pins:
                _keep(place, session, record.pins[place.scope])
        try:
            _put(home, session, records.message(record), before, record.pins.get(home.scope))
        except ConflictError as error:
            if error.reference != "stale":
                raise
            continue
        return
    raise ConflictError(
        "repository-locked",
        f"the record of the session {session} is being written by others all the time",
        hint="repeat",
    )


def _keep(place: TierPlace, session: str, pin: str) -> None:
    """Have the session's line in another tier's repository reach `pin`."""
    for _ in range(_ATTEMPTS):
        before = refs.read(place.git_dir, layout.session_ref(session))
        if before is not None:
            found = Reader(place.git_dir).read(before)
            if found is not None and pin in parse_commit(before, found[1]).parents:
                return
        told = [(trailers.SESSION, session)]
        message = trailers.compose(f"memory: keep what session {session} was given", "", told)
        try:
            _put(place, session, message, before, pin)
        except ConflictError as error:
            if error.reference != "stale":
                raise
            continue
        return


def _put(place: TierPlace, session: str, message: str, before: str | None, pin: str | None) -> None:
    parents = [parent for parent in (before, pin) if parent is not None]
    commit = _write_commit(place, dict.fromkeys(parents), message)
    change = RefChange(layout.session_ref(session), commit, before)
    with Transaction(place.git_dir, [change]) as transaction:
        transaction.prepare()
        transaction.commit()


def _write_commit(place: TierPlace, parents: Iterable[str], message: str) -> str:
    person = f"{_PERSON} {clock.now()} +0000"
    lines = [f"tree {EMPTY_TREE}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {person}", f"committer {person}", "", message]
    return loose.write(place.git_dir, "commit", "\n".join(lines).encode())
