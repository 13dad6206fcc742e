"""What a session's record says: when it began and ended, and each context that was built for it.

A record is a line of commits in `refs/memory/session/<id>`. Each has its document, one JSON object,
as the body of its message, and the commits that it pins as further parents, so that nothing a
replay needs is ever collected. Texts are never in it: ids of entries, of commits, and the digest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from gitmem.model import trailers
from gitmem.model.context import Context, Options, Unit
from gitmem.model.history import Commit
from gitmem.model.tiers import TIERS

Kind = Literal["session.started", "context.built", "session.ended"]
KINDS: tuple[Kind, ...] = get_args(Kind)
VERSION = 1
_COMMIT_ID = re.compile(r"[0-9a-f]{40}\Z")
# What taking a document apart raises where it is of another shape.
_WRONG = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
Ids = Mapping[str, tuple[str, ...]]
"""Ids of entries by tier, in order of the context or sorted."""


class RecordFault(Exception):  # noqa: N818 - a fault in a commit, as EntryFault is in a file
    """A commit in a record that is none; says why."""


@dataclass(frozen=True, slots=True)
class Built:
    """A context that was built: by what, and what became of each entry.

    `pinned` says that the durable tiers were read as at the session's start. `given` are the ids
    that counted as given before (`context.build`), sorted. `approval` says for each durable tier
    under which setting it was judged, `rule` is the number of the merge rule. `digest` is the
    SHA-256 of the text's UTF-8 bytes in hexadecimal. `session_fault` says why the session's own
    text was not read, where it could not be.
    """

    number: int
    options: Options
    approval: Mapping[str, str]
    rule: int
    digest: str
    sizes: Mapping[str, int]
    entries: Ids
    pinned: bool = False
    given: tuple[str, ...] = ()
    left_out: Ids = field(default_factory=dict)
    overridden: Ids = field(default_factory=dict)
    unreviewed: Ids = field(default_factory=dict)
    quarantined: Ids = field(default_factory=dict)
    over_budget: bool = False
    session_fault: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One commit of a record.

    `at` is its time in seconds. `pins` are the commits at which the tiers stood, by tier; `session` among them only where the
    session had a text. `had` are all entries that the session was given so far, this context's
    among them: whoever asks what a session was given reads its last commit alone.
    """

    kind: Kind
    session: str
    at: int
    pins: Mapping[str, str]
    related: tuple[str, ...] = ()
    had: Ids = field(default_factory=dict)
    contexts: int = 0
    built: Built | None = None
    commit: str = ""

    @property
    def given(self) -> frozenset[str]:
        """The ids of all entries that the session was given so far."""
        return frozenset(id_ for ids_ in self.had.values() for id_ in ids_)


def following(last: Record, kind: Kind, at: int, pins: Mapping[str, str]) -> Record:
    """The next commit of the record whose end is `last`, with nothing built."""
    return replace(last, kind=kind, at=at, pins=pins, built=None, commit="")


def with_context(last: Record, at: int, pins: Mapping[str, str], built: Built) -> Record:
    """The next commit of the record whose end is `last`: a context was built."""
    number = last.contexts + 1
    had = {
        tier: tuple(sorted({*last.had.get(tier, ()), *built.entries.get(tier, ())}))
        for tier in TIERS
        if tier in last.had or tier in built.entries
    }
    return Record(
        "context.built",
        last.session,
        at,
        pins,
        tuple(sorted(built.options.related)),
        had,
        number,
        replace(built, number=number),
    )


def built_of(
    context: Context,
    options: Options,
    *,
    approval: Mapping[str, str],
    rule: int,
    given: Iterable[str] = (),
    unreviewed: Iterable[tuple[str, str]] = (),
    pinned: bool = False,
    session_fault: str | None = None,
) -> Built:
    """What is recorded of a context; `unreviewed` are pairs of tier and id."""
    return Built(
        number=0,
        options=options,
        approval=approval,
        rule=rule,
        digest=context.digest,
        sizes=context.sizes._asdict(),
        entries=_by_tier((one.tier, one.id) for one in context.entries),
        pinned=pinned,
        given=tuple(sorted(given)),
        left_out=_by_tier((one.tier, one.id) for one in context.left_out),
        overridden=_by_tier((one.loser.tier, one.loser.id) for one in context.overridden),
        unreviewed=_by_tier(unreviewed),
        quarantined=_by_tier((one.memory.tier, one.memory.id) for one in context.quarantined),
        over_budget=context.over_budget,
        session_fault=session_fault,
    )


def _by_tier(pairs: Iterable[tuple[str, str]]) -> Ids:
    found: dict[str, list[str]] = {}
    for tier, id_ in pairs:
        found.setdefault(tier, []).append(id_)
    return {tier: tuple(ids_) for tier, ids_ in found.items()}


# -- as a commit's message ---------------------------------------------------------------------


_SUBJECTS: Mapping[Kind, str] = {
    "session.started": "memory: start session {0}",
    "context.built": "memory: context {1} of session {0}",
    "session.ended": "memory: end session {0}",
}


def message(record: Record) -> str:
    """The message of the commit that `record` is."""
    subject = _SUBJECTS[record.kind].format(record.session, record.contexts)
    body = json.dumps(_document(record), ensure_ascii=False, separators=(",", ":"))
    told = [(trailers.EVENT, record.kind), (trailers.SESSION, record.session)]
    return trailers.compose(subject, body, told)


def _document(record: Record) -> dict[str, Any]:
    document: dict[str, Any] = {
        "version": VERSION,
        "pins": dict(record.pins),
        "related": list(record.related),
        "had": _lists(record.had),
        "contexts": record.contexts,
    }
    if record.built is not None:
        document["built"] = built_json(record.built)
    return document


def built_json(built: Built) -> dict[str, Any]:
    """What was built, as `context.built` gives it in JSON."""
    options = built.options
    return {
        "number": built.number,
        "pinned": built.pinned,
        "budget": options.budget,
        "unit": options.unit,
        "tiers": list(options.tiers),
        "given": list(built.given),
        "approval": dict(built.approval),
        "rule": built.rule,
        "digest": built.digest,
        "sizes": dict(built.sizes),
        "overBudget": built.over_budget,
        "entries": _lists(built.entries),
        "leftOut": _lists(built.left_out),
        "overridden": _lists(built.overridden),
        "unreviewed": _lists(built.unreviewed),
        "quarantined": _lists(built.quarantined),
        "sessionFault": built.session_fault,
    }


def _lists(found: Ids) -> dict[str, list[str]]:
    return {tier: list(ids_) for tier, ids_ in found.items()}


def read(commit: Commit) -> Record | None:
    """The record that a commit is; None where it only keeps what another tier's record names.

    Raises RecordFault where it should be one and can't be read.
    """
    told = trailers.parse(commit.message)
    kind = next((one for one in KINDS if one == told.first(trailers.EVENT)), None)
    session = told.first(trailers.SESSION)
    if kind is None or session is None:
        return None
    try:
        document = json.loads(told.body)
        if document["version"] > VERSION:
            raise RecordFault(
                f"it is of version {document['version']}, this gitmem knows {VERSION}"
            )
        return _record(kind, session, commit, document)
    except _WRONG as error:
        raise RecordFault(f"its document can't be read: {error}") from error


def _record(kind: Kind, session: str, commit: Commit, document: Mapping[str, Any]) -> Record:
    related = tuple(map(str, document["related"]))
    built = document.get("built")
    return Record(
        kind,
        session,
        commit.committer.time,
        {str(tier): _pin(pin) for tier, pin in document["pins"].items()},
        related,
        _ids(document["had"]),
        int(document["contexts"]),
        _built(built, session, related) if built is not None else None,
        commit.id,
    )


def _built(built: Mapping[str, Any], session: str, related: tuple[str, ...]) -> Built:
    unit: Unit = built["unit"]
    if unit not in get_args(Unit):
        raise RecordFault(f"there is no unit '{unit}'")
    budget = built["budget"]
    return Built(
        int(built["number"]),
        Options(
            None if budget is None else int(budget),
            unit,
            tuple(built["tiers"]),
            session,
            frozenset(related),
        ),
        {str(tier): str(setting) for tier, setting in built["approval"].items()},
        int(built["rule"]),
        str(built["digest"]),
        {str(name): int(size) for name, size in built["sizes"].items()},
        _ids(built["entries"]),
        pinned=bool(built["pinned"]),
        given=tuple(map(str, built["given"])),
        left_out=_ids(built["leftOut"]),
        overridden=_ids(built["overridden"]),
        unreviewed=_ids(built["unreviewed"]),
        quarantined=_ids(built["quarantined"]),
        over_budget=bool(built["overBudget"]),
        session_fault=built["sessionFault"],
    )


def _pin(found: object) -> str:
    if not isinstance(found, str) or not _COMMIT_ID.match(found):
        raise RecordFault("a pin is no commit's id")
    return found


def _ids(found: Mapping[str, Iterable[str]]) -> Ids:
    return {str(tier): tuple(map(str, ids_)) for tier, ids_ in found.items()}
