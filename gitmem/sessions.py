"""Sessions: memory that an agent writes for itself while it works, and a record of what it was given.

Nobody approves what a session holds: it is read for that session's contexts alone, never becomes
durable by itself, and can be forgotten. The record says which commits each context was built of,
so that it can be built again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from gitmem import clock, ids, layout, records, sessionfiles, trust, views
from gitmem.errors import BadInputError, ConflictError, GitmemError, NotFoundError
from gitmem.git import refs
from gitmem.git.loose import Reader
from gitmem.layout import TierPlace, Tiers
from gitmem.model.context import Options
from gitmem.model.records import Built, Record, built_of, following, with_context
from gitmem.model.rule import RULE
from gitmem.model.sessions import SessionText
from gitmem.sessionfiles import SessionFolder
from gitmem.views import Given, Opener, SessionPart

if TYPE_CHECKING:
    from gitmem.model.events import Event

State = Literal["open", "ended", "forgotten", "unreadable"]


@dataclass(frozen=True, slots=True)
class Session:
    """A session as `list` shows it. Times are RFC 3339, None where nothing says them.

    `entries` is how many it has, `contexts` how many were built for it. `fault` says why its text
    or its record can't be read.
    """

    id: str
    state: State
    started_at: str | None
    ended_at: str | None
    entries: int
    contexts: int
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """A session that was started, or was open already; `warnings` are for the user."""

    id: str
    made: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruned:
    """The ids of sessions that were forgotten; `warnings` are for the user."""

    sessions: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class Sessions:
    """The sessions of a place: of its project, or where there is none of the user.

    Raises BadInputError `no-such-tier` where no memory is set up at all.
    """

    def __init__(self, found: Tiers, store_of: Opener = views.open_store) -> None:
        self.found = found
        self._store_of = store_of
        self._home = home_of(found)
        self._folders = sessionfiles.folder_of_all(self._home)

    def folder(self, session: str) -> SessionFolder:
        """The folder of a session. Raises BadInputError `session-invalid`."""
        return SessionFolder(self._folders, check_id(session))

    # -- begin and end ---------------------------------------------------------------------

    def start(self, session: str | None = None, related: tuple[str, ...] = ()) -> Started:
        """Start a session, with a new id if none is given; one that is open already goes on.

        Raises ConflictError `session-ended` where it was ended or forgotten.
        """
        at = clock.now()
        name = session if session is not None else f"sess_{clock.year(at)}_{clock.random_suffix()}"
        folder = self.folder(name)
        for one in related:
            check_id(one)
        if folder.exists():
            return self._go_on(folder, related)
        if self._has_record(name):
            raise _ended(name)
        text = SessionText(name, clock.rfc3339(at), related=related)
        made = folder.make(text)
        return Started(name, made, self._began(folder))

    def _go_on(self, folder: SessionFolder, related: tuple[str, ...]) -> Started:
        text = folder.read().text
        if text.ended_at is not None:
            raise _ended(folder.session)
        more = tuple(one for one in related if one not in text.related)
        if more:
            folder.change(lambda now: replace(now, related=(*now.related, *more)))
        return Started(folder.session, made=False, warnings=self._began(folder))

    def _began(self, folder: SessionFolder) -> tuple[str, ...]:
        """Record the start, unless that was done; what could not be is a warning."""

        def first(last: Record | None) -> Record | None:
            if last is not None:
                return None
            related = folder.read().text.related
            return Record(
                "session.started", folder.session, clock.now(), self._pins(folder), related
            )

        try:
            records.append(self._home, self._others(), folder.session, first)
        except (OSError, GitmemError) as error:
            return (f"the start of {folder.session} could not be recorded: {error}",)
        return ()

    def _pins(self, folder: SessionFolder) -> dict[str, str]:
        """Where the tiers stand now."""
        places = (self.found.user, self.found.project)
        pins = {place.scope: views.main_of(place) for place in places if place is not None}
        text = refs.read(folder.git_dir, layout.MAIN) if folder.exists() else None
        return pins | ({"session": text} if text is not None else {})

    def _others(self) -> list[TierPlace]:
        places = (self.found.user, self.found.project)
        return [place for place in places if place is not None and place is not self._home]

    def end(self, session: str) -> tuple[str, ...]:
        """Close a session: its text is given to no context any more, and kept here for replay.

        What could not be recorded is a warning, which it gives. Raises NotFoundError
        `no-such-session`, ConflictError `session-ended`.
        """
        folder = self._open(session)
        folder.change(lambda text: replace(_still_open(text), ended_at=clock.rfc3339(clock.now())))
        return self._record_end(folder)

    def _record_end(self, folder: SessionFolder) -> tuple[str, ...]:
        def ended(last: Record | None) -> Record | None:
            begun = last or Record("session.started", folder.session, clock.now(), {})
            if begun.kind == "session.ended":
                return None
            return following(begun, "session.ended", clock.now(), self._pins(folder))

        try:
            records.append(self._home, self._others(), folder.session, ended)
        except (OSError, GitmemError) as error:
            return (f"the end of {folder.session} could not be recorded: {error}",)
        return ()

    def forget(self, session: str) -> tuple[str, ...]:
        """End a session and remove its text for good; its record still names the entries.

        Gives warnings as `end`. Raises NotFoundError `no-such-session` where there is no text of it.
        """
        folder = self.folder(session)
        sessionfiles.remove_leftovers(self._home)
        if not folder.path.exists():
            raise self._no_text(session)
        warnings = self._record_end(folder)
        folder.forget()
        return warnings

    def prune(self, older_than: int) -> Pruned:
        """Forget all sessions that nothing was written to for `older_than` seconds.

        Also those that were never ended, and what a kill left of others.
        """
        sessionfiles.remove_leftovers(self._home)
        before = clock.now() - older_than
        old = [one for one in sessionfiles.listed(self._home) if one.last_written() <= before]
        warnings: list[str] = []
        for folder in old:
            warnings += self._record_end(folder)
            folder.forget()
        return Pruned(tuple(folder.session for folder in old), tuple(warnings))

    # -- the text --------------------------------------------------------------------------

    def put(self, session: str, key: str, kind: str, body: str) -> str | None:
        """Write an entry into a session's text; gives where a broken file lies now, if there was one.

        Raises as `SessionText.put`, NotFoundError `no-such-session`, ConflictError `session-ended`.
        """
        at = clock.rfc3339(clock.now())
        return self._open(session).change(lambda text: _still_open(text).put(key, kind, body, at))[
            1
        ]

    def drop(self, session: str, key: str) -> str | None:
        """Take an entry out of a session's text; the rest as `put`. Raises NotFoundError `no-such-entry`."""
        return self._open(session).change(lambda text: _still_open(text).drop(key))[1]

    def text(self, session: str) -> SessionText:
        """What a session holds now, open or ended."""
        folder = self.folder(session)
        if not folder.exists():
            raise self._no_text(session)
        return folder.read().text

    def check(self, session: str) -> None:
        """Raise NotFoundError `no-such-session` where it was never started here."""
        if not self.folder(session).exists() and not self._has_record(session):
            raise self._no_text(session)

    def _has_record(self, session: str) -> bool:
        return refs.read(self._home.git_dir, layout.session_ref(session)) is not None

    def _open(self, session: str) -> SessionFolder:
        folder = self.folder(session)
        if not folder.exists():
            raise self._no_text(session)
        _still_open(folder.read().text)
        return folder

    def _no_text(self, session: str) -> GitmemError:
        if self._has_record(session):
            return _ended(session)
        return NotFoundError(
            "no-such-session",
            f"there is no session '{session}' here",
            hint=f"gitmem session start {session}, or gitmem session list",
        )

    # -- the record ------------------------------------------------------------------------

    def listed(self) -> list[Session]:
        """All sessions that have a text or a record here, by id."""
        folders = {folder.session: folder for folder in sessionfiles.listed(self._home)}
        objects = Reader(self._home.git_dir)
        found = (self._listed(name, folders.get(name), objects) for name in self._names(folders))
        return [one for one in found if one is not None]

    def _names(self, folders: Mapping[str, object]) -> list[str]:
        return sorted({*folders, *records.names(self._home)})

    def _listed(self, name: str, folder: SessionFolder | None, objects: Reader) -> Session | None:
        try:
            last = records.last(self._home, name, objects)
            text = folder.read().text if folder is not None else None
        except GitmemError as error:
            return Session(name, "unreadable", None, None, 0, 0, error.context or error.message)
        if last is None and text is None:
            return None
        contexts = last.contexts if last is not None else 0
        if text is None:
            return Session(name, "forgotten", None, None, 0, contexts)
        state: State = "open" if text.ended_at is None else "ended"
        return Session(name, state, text.started_at, text.ended_at, len(text.kept), contexts)

    def record(self, session: str) -> list[Record]:
        """The whole record of a session, oldest first. Raises NotFoundError `no-such-session`."""
        found = records.line(self._home, check_id(session))
        if not found:
            raise self._no_text(session)
        return found

    def records(self) -> Iterator[Record]:
        """All records of all sessions, session by session."""
        for name in records.names(self._home):
            yield from records.line(self._home, name)

    def given(self, tier: str, entry: str) -> list[str]:
        """The sessions that were given the entry `entry` (its id) of a tier, by id."""
        return [one.session for one in self._ends() if entry in one.had.get(tier, ())]

    def _ends(self) -> Iterator[Record]:
        """The last commit of each session's record; of one that can't be read nothing is known."""
        objects = Reader(self._home.git_dir)
        for name in records.names(self._home):
            with suppress(GitmemError):
                last = records.last(self._home, name, objects)
                if last is not None:
                    yield last

    @property
    def home(self) -> TierPlace:
        """The tier whose repository has the records."""
        return self._home

    # -- contexts --------------------------------------------------------------------------

    def context(self, options: Options, *, pinned: bool = False, traceless: bool = False) -> Given:
        """The context of the session `options.session`, recorded as `context.built`.

        `pinned`: the durable tiers as they stood at its start. Of an ended session, and of one
        that was never started here, it is the durable memory alone, and nothing is recorded.
        """
        session = check_id(options.session or "")
        folder = self.folder(session)
        if not folder.exists():
            why = "is over" if self._has_record(session) else "was never started here"
            return self._without(options, f"the session {session} {why}: nothing is recorded")
        try:
            read = folder.read()
        except BadInputError as error:
            why = f"{error.message}: {error.context}"
            return self._without(options, f"{why}: nothing is recorded")
        if read.text.ended_at is not None:
            return self._without(options, f"the session {session} is over: nothing is recorded")
        options = replace(options, related=frozenset(read.text.related))
        warnings: list[str] = []
        if read.fault is not None:
            warnings.append(f"{folder.file} can't be read, the text before is used: {read.fault}")
        part = self._part(session, read, pinned=pinned, warnings=warnings)
        given = views.given(self.found, options, self._store_of, traceless=traceless, session=part)
        if read.commit is None:
            warnings.append("the session's text can't be kept here: this context is not recorded")
        else:
            pins = dict(given.pins)
            if "session" in options.tiers:
                pins["session"] = read.commit
            built = built_of(
                given.context,
                options,
                approval=self._approval(),
                rule=RULE,
                given=part.given,
                unreviewed=((one.tier, one.id) for one in given.unreviewed),
                pinned=pinned,
                session_fault=read.fault,
            )
            warnings += self._record_context(session, pins, built)
        return replace(given, warnings=(*given.warnings, *warnings))

    def _without(self, options: Options, warning: str) -> Given:
        given = views.given(self.found, options, self._store_of)
        return replace(given, warnings=(*given.warnings, warning))

    def _part(
        self, session: str, read: sessionfiles.Read, *, pinned: bool, warnings: list[str]
    ) -> SessionPart:
        pins: Mapping[str, str] = {}
        had: set[str] = set()
        for name in (session, *read.text.related):
            try:
                last = records.last(self._home, name)
            except GitmemError as error:
                warnings.append(f"{error.message}: {error.context}")
                continue
            if last is not None:
                had |= last.given
        if pinned:
            started = records.line(self._home, session)
            if not started:
                raise BadInputError(
                    "record-missing",
                    f"nothing says where memory stood when {session} was started",
                    hint="its start could not be recorded: leave out --pinned",
                )
            pins = {tier: pin for tier, pin in started[0].pins.items() if tier != "session"}
        return SessionPart(tuple(read.text.memories(read.commit or "")), frozenset(had), pins)

    def _approval(self) -> dict[str, str]:
        """Under which setting each durable tier is judged."""
        places = (self.found.user, self.found.project)
        return {place.scope: trust.name(place.git_dir) for place in places if place is not None}

    def _record_context(self, session: str, pins: Mapping[str, str], built: Built) -> list[str]:
        """Record a context; what could not be is a warning."""

        def make(last: Record | None) -> Record:
            begun = last or Record("session.started", session, clock.now(), pins)
            return with_context(begun, clock.now(), pins, built)

        try:
            records.append(self._home, self._others(), session, make)
        except (OSError, GitmemError) as error:
            return [f"this context could not be recorded: {error}"]
        return []


def home_of(found: Tiers) -> TierPlace:
    """The tier whose repository has the records of sessions: the project's, or else the user's."""
    home = found.project or found.user
    if home is None:
        raise BadInputError("no-such-tier", "there is no memory here yet", hint="run: gitmem init")
    return home


def check_id(session: str) -> str:
    """`session` itself, or BadInputError `session-invalid`."""
    fault = ids.session_fault(session)
    if fault is None:
        return session
    raise BadInputError("session-invalid", f"'{session}' is no session id: {fault}")


def _still_open(text: SessionText) -> SessionText:
    if text.ended_at is not None:
        raise _ended(text.id)
    return text


def _ended(session: str) -> ConflictError:
    return ConflictError(
        "session-ended",
        f"the session {session} is over",
        hint="start another one; --related tells it of this one: "
        f"gitmem session start --related {session}",
    )


def event(record: Record, tier: str) -> Event:
    """A commit of a record as an event of the log of `tier`."""
    from gitmem.model import events
    from gitmem.model.records import built_json

    details = {
        "session": record.session,
        "pins": dict(record.pins),
        "related": list(record.related),
        **(built_json(record.built) if record.built is not None else {}),
    }
    return events.Event(record.kind, tier, record.at, record.commit, None, details=details)
