"""The text of a session: what an agent keeps for itself while it works, with nobody's approval.

`gitmem/schema/session.json` is the schema of the file. It can hold no `forbidden` entry, and what
it holds never takes the place of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitmem import ids
from gitmem.errors import BadInputError, GitmemError, NotFoundError
from gitmem.model import entries
from gitmem.model.entries import Entry, EntryFault
from gitmem.model.tiers import Memory

VERSION = 1
TYPES = tuple(kind for kind in entries.TYPES if kind != "forbidden")
# As many as a hundred of the largest entries: a session's text is read whole at every context.
MAX_BYTES = 100 * entries.MAX_BODY_BYTES
# What JSON can escape and UTF-8 can't write.
_HALF = re.compile("[\ud800-\udfff]")
_FIELDS = frozenset({"version", "session", "startedAt", "endedAt", "related", "entries"})


class SessionFault(GitmemError):  # noqa: N818 - a fault in a file, as EntryFault is
    """A file that is no session's text; `message` says why.

    It quotes nothing of the file: it goes into the record, which stays when the text is forgotten.
    """

    def __init__(self, why: str) -> None:
        super().__init__("session-unreadable", why)


@dataclass(frozen=True, slots=True)
class Kept:
    """One entry of a session. `at` is when it was put there, RFC 3339."""

    key: str
    type: str
    body: str
    at: str


@dataclass(frozen=True, slots=True)
class SessionText:
    """What a session's file says. Times are RFC 3339; `ended_at` is None while it is open.

    `kept` are its entries, the newest last; `extra` are fields that gitmem doesn't know.
    """

    id: str
    started_at: str
    ended_at: str | None = None
    related: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def put(self, key: str, kind: str, body: str, at: str) -> SessionText:
        """With this entry, in place of one with the same key, as the newest.

        Raises BadInputError `key-invalid`, `session-forbidden`, `session-too-large`, EntryFault.
        """
        ids.check_key(key)
        if kind == "forbidden":
            raise BadInputError(
                "session-forbidden",
                "a session can hold no forbidden entry: nobody reviewed it",
                hint=f"propose it: gitmem propose {key} --type forbidden",
            )
        checked = entries.check(Entry(key=key, type=kind, scope="session", body=body))
        others = tuple(one for one in self.kept if one.key != key)
        changed = replace(self, kept=(*others, Kept(key, kind, checked.body, at)))
        if len(serialize(changed)) > MAX_BYTES:
            raise BadInputError(
                "session-too-large",
                f"the text of a session is at most {MAX_BYTES // 1024} KiB",
                hint="drop what is no longer needed: gitmem session drop KEY",
            )
        return changed

    def drop(self, key: str) -> SessionText:
        """Without this entry. Raises NotFoundError `no-such-entry`."""
        self.entry(key)
        return replace(self, kept=tuple(one for one in self.kept if one.key != key))

    def entry(self, key: str) -> Kept:
        """The entry `key`. Raises NotFoundError `no-such-entry`."""
        found = next((one for one in self.kept if one.key == key), None)
        if found is None:
            raise NotFoundError(
                "no-such-entry",
                f"the session {self.id} has no entry '{key}'",
                hint=f"it has: {', '.join(one.key for one in self.kept)}" if self.kept else None,
            )
        return found

    def memories(self, commit: str) -> list[Memory]:
        """The entries as a context reads them; `commit` holds this text."""
        return [
            Memory(
                key=one.key,
                id=ids.entry_id(one.key),
                tier="session",
                scope="session",
                type=one.type,
                body=one.body,
                position=position,
                commit=commit,
                blob="",
                sessions=frozenset({self.id}),
            )
            for position, one in enumerate(self.kept)
        ]


def serialize(text: SessionText) -> bytes:
    """The file of a session: JSON in UTF-8, the same bytes for the same text."""
    document = {
        "version": VERSION,
        "session": text.id,
        "startedAt": text.started_at,
        "endedAt": text.ended_at,
        "related": list(text.related),
        "entries": [
            {"key": one.key, "type": one.type, "body": one.body, "at": one.at} for one in text.kept
        ],
        **text.extra,
    }
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def parse(data: bytes, session: str) -> SessionText:
    """The text in the file of `session`. Raises SessionFault."""
    if len(data) > MAX_BYTES:
        raise SessionFault(f"it is larger than {MAX_BYTES // 1024} KiB")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SessionFault(f"it is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise SessionFault("it is no JSON object")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise SessionFault("'version' must be a number")
    if version > VERSION:
        raise SessionFault(f"it is of version {version}, this gitmem knows {VERSION}")
    if document.get("session") != session:
        raise SessionFault(f"it is not the text of {session}")
    ended = document.get("endedAt")
    found = SessionText(
        session,
        _words(document, "startedAt"),
        _words(document, "endedAt") if ended is not None else None,
        tuple(_related(document.get("related", []))),
        tuple(_kept(document.get("entries", []))),
        {name: value for name, value in document.items() if name not in _FIELDS},
    )
    if found.extra:
        try:
            serialize(found)
        except (UnicodeEncodeError, RecursionError):
            raise SessionFault("it has a field that can't be written again") from None
    return found


def _words(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise SessionFault(f"'{name}' must be text")
    if _HALF.search(value):
        raise SessionFault(f"'{name}' holds half a surrogate pair, which UTF-8 can't write")
    return value


def _related(value: object) -> list[str]:
    if not isinstance(value, list):
        raise SessionFault("'related' must be a list")
    for one in value:
        if not isinstance(one, str) or ids.session_fault(one) is not None:
            raise SessionFault("'related' must hold session ids")
    return value


def _kept(value: object) -> list[Kept]:
    if not isinstance(value, list):
        raise SessionFault("'entries' must be a list")
    found: dict[str, Kept] = {}
    for number, one in enumerate(value, 1):
        if not isinstance(one, dict):
            raise SessionFault(f"entry {number} must be an object")
        key, kind = _words(one, "key"), _words(one, "type")
        if not ids.is_key(key):
            raise SessionFault(f"the key of entry {number} is none")
        if key in found:
            raise SessionFault(f"'{key}' is there twice")
        if kind not in TYPES:
            raise SessionFault(f"the type of '{key}' is not one of: {', '.join(TYPES)}")
        try:
            body = entries.check(Entry(key, kind, "session", _words(one, "body"))).body
        except EntryFault as fault_:
            raise SessionFault(f"'{key}': {fault_.message}") from None
        found[key] = Kept(key, kind, body, _words(one, "at"))
    return list(found.values())
