"""The event log as JSON lines that need no repository: `docs/events.md` has the format.

A header, then a record for each commit of the approval lines, the events with their snapshots,
and, where the log begins in the middle, the texts that were approved there. Records are
numbered, so that nothing can be cut off, swapped or said twice unnoticed.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitmem import clock, ids
from gitmem.errors import BadInputError
from gitmem.git.objects import blob_id
from gitmem.model import events, replay
from gitmem.model.approval import Kind
from gitmem.model.events import Event
from gitmem.model.history import REGULAR, Blob, Content
from gitmem.model.records import KINDS as SESSION_KINDS
from gitmem.model.replay import Held, Step, Steps
from gitmem.model.rule import RULE
from gitmem.store import Store

FORMAT = "gitmem-log"
VERSION = 1

Snapshot = str | dict[str, str] | None

_JUDGED: tuple[Kind, ...] = ("start", "apply", "revert", "sync", "direct")
# What sessions were given is of one machine alone.
_SHARED = frozenset(events.KINDS) - frozenset(SESSION_KINDS)
_CONTENT = re.compile(r"(?:([0-7]{6}) )?([0-9a-f]{40})\Z")
_ID = re.compile(r"[0-9a-f]{40}\Z")


# -- writing -----------------------------------------------------------------------------------


def written(stores: Sequence[Store], *, since: int | None = None) -> list[dict[str, Any]]:
    """The lines of a log, the header first, each ready for JSON.

    With `since`, a time in seconds, events begin with the first one that is not older.
    """
    found: list[dict[str, Any]] = []
    told: dict[str, dict[str, Any]] = {}
    for store in stores:
        tip, records = _records(store, since)
        told[store.tier] = {"tip": tip, "rule": RULE, "approval": store.approval}
        found += records
    header = {
        "format": FORMAT,
        "version": VERSION,
        "records": len(found),
        "since": None if since is None else clock.rfc3339(since),
        "tiers": told,
    }
    return [header, *({"n": number, **record} for number, record in enumerate(found, 1))]


def _records(store: Store, since: int | None) -> tuple[str, list[dict[str, Any]]]:
    """The tip of a tier and its records."""

    def snapshot(content: Content) -> Snapshot:
        return _snapshot(store, content)

    parts = list(store.events_by_commit())
    begin = _begin(parts, since)
    known = replay.steps(store.objects, store.ledger())
    # Whatever `memory/main` has become meanwhile.
    tip = [commit for commit, _ in parts if commit in known][-1]
    earlier = {commit for commit, _ in parts[:begin]}
    records: list[dict[str, Any]] = []
    for number, (commit, found) in enumerate(parts):
        if commit in known:
            records.append(_judgement(store.tier, known[commit]))
        if number >= begin:
            records += [events.to_json(event, snapshot) for event in found]
    for content in _begun_with(known, tip, earlier):
        records.append({"tier": store.tier, "blob": content.id, "text": snapshot(content)})
    return tip, records


def _begin(parts: Sequence[tuple[str, list[Event]]], since: int | None) -> int:
    """The part of the log with the first event that is not older than `since`."""
    if since is None:
        return 0
    late = (at for at, (_, found) in enumerate(parts) if any(event.at >= since for event in found))
    return next(late, len(parts))


def _begun_with(known: Steps, tip: str, earlier: set[str]) -> Iterator[Blob]:
    """What was approved where the log begins: at each commit that a later one stands on."""
    later = [step for step in known.values() if step.commit not in earlier]
    heads = {tip, *(parent for step in later for parent in step.parents)} & earlier
    said: set[Blob] = set()
    for head in sorted(heads):
        for one in replay.standing(known, head).approved.values():
            if one.content not in said and not one.content.submodule:
                said.add(one.content)
                yield one.content


def _judgement(tier: str, step: Step) -> dict[str, Any]:
    return {
        "tier": tier,
        "judgement": step.kind,
        "commit": step.commit,
        "at": clock.rfc3339(step.at),
        "parents": list(step.parents),
        "changes": {ids.entry_id(key): _content(after) for key, after in step.changes.items()},
        "held": {
            ids.entry_id(key): None
            if one is None
            else {"commit": one.commit, "found": _content(one.found)}
            for key, one in step.held.items()
        },
    }


def _content(content: Content) -> str | None:
    """A content as its blob's id, with the mode before it where it is no ordinary file."""
    if content is None:
        return None
    return content.id if content.regular else f"{content.mode:06o} {content.id}"


def _snapshot(store: Store, content: Content) -> Snapshot:
    """A content as text; as base64 where it is no UTF-8. Of a submodule there is nothing."""
    if content is None or content.submodule:
        return None
    data = store.objects.data(content.id)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


# -- reading -----------------------------------------------------------------------------------


@dataclass(slots=True)
class TierLog:
    """What a log says of one tier.

    `texts` are the bytes of its blobs by id, and `times` those of all commits that it names.
    `hanging` has, for each commit off the approval line, the one of the line behind which its
    events stand; None where they stand before all of it.
    """

    tip: str
    steps: dict[str, Step] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    hanging: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Log:
    """A log that was read: its tiers by name, in the file's order, and since when its events are there."""

    tiers: Mapping[str, TierLog]
    since: str | None


def read(text: str) -> Log:
    """A log from the text of its file.

    Raises BadInputError: `log-invalid`, `log-newer`, `log-cut-off`, `log-out-of-order`,
    `log-kind-unknown` or `log-snapshot-wrong`.
    """
    lines = text.split("\n")
    whole = lines[-1] == ""
    if whole:
        lines.pop()
    if len(lines) > 1 and not whole and not _is_json(lines[-1]):
        raise _cut_off(f"line {len(lines)} ends in the middle")
    header = _Line.read(1, lines[0] if lines else "")
    log = Log(_tiers(header), header.words("since") if header.said("since") else None)
    count = header.number("records")
    for number, one in enumerate(lines[1:], 2):
        _take(log, _Line.read(number, one), count)
    if len(lines) - 1 < count:
        raise _cut_off(f"its first line promises {count} records, and there are {len(lines) - 1}")
    for name, tier in log.tiers.items():
        if tier.tip not in tier.steps:
            raise header.fault(f"no record has the tip of the {name} memory")
    return log


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _cut_off(why: str) -> BadInputError:
    return BadInputError(
        "log-cut-off",
        "the log is cut off",
        context=why,
        hint="export it again: gitmem export log > FILE",
    )


def _tiers(header: _Line) -> dict[str, TierLog]:
    if header.document.get("format") != FORMAT:
        raise BadInputError(
            "log-invalid",
            "this is no event log: its first line is no header",
            hint="gitmem export log writes one",
        )
    version = header.number("version")
    if version > VERSION:
        raise BadInputError(
            "log-newer",
            f"the log has schema version {version}, and this gitmem reads none above {VERSION}",
            hint="read it with a newer gitmem, or export it again with this one",
        )
    found: dict[str, TierLog] = {}
    for name, said in header.table("tiers").items():
        if name not in ("user", "project") or not isinstance(said, dict):
            raise header.fault(f"'{name}' is no durable tier")
        found[name] = TierLog(_Line(1, said).commit("tip"))
    return found


def _take(log: Log, line: _Line, count: int) -> None:
    """Read one record into the log."""
    number = line.number("n")
    if number != line.at - 1 or number > count:
        raise BadInputError(
            "log-out-of-order",
            f"line {line.at} is record {number}, not {line.at - 1} of {count}",
            hint="lines were swapped, repeated, added or left out: export the log again",
        )
    tier = log.tiers.get(line.words("tier"))
    if tier is None:
        raise line.fault("its tier is none of the header's")
    if line.said("judgement"):
        _take_judgement(tier, line)
    elif line.said("blob"):
        tier.texts[line.commit("blob")] = line.snapshot("text", line.commit("blob"))
    elif line.words("kind") in _SHARED:
        _take_event(tier, line)
    else:
        raise line.unknown("kind")


def _take_judgement(tier: TierLog, line: _Line) -> None:
    kind = next((kind for kind in _JUDGED if kind == line.words("judgement")), None)
    if kind is None:
        raise line.unknown("judgement")
    commit, parents = line.commit("commit"), line.commits("parents")
    if commit in tier.steps:
        raise line.fault(f"the commit {commit} has a record already")
    missing = [parent for parent in parents if parent not in tier.steps]
    if missing:
        raise line.fault(f"no record above it has its parent {missing[0]}")
    changes = {line.key(id_): line.content(one) for id_, one in line.table("changes").items()}
    held = {line.key(id_): line.held(one) for id_, one in line.table("held").items()}
    tier.steps[commit] = Step(commit, line.time("at"), kind, parents, changes, held)
    tier.times[commit] = line.time("at")


def _take_event(tier: TierLog, line: _Line) -> None:
    commit = line.commit("commit")
    step = tier.steps.get(commit)
    if step is None:
        tier.hanging[commit] = next(reversed(tier.steps), None)
        tier.times[commit] = line.time("at")
    for data in line.snapshots("before").values():
        if data is not None:
            tier.texts[blob_id(data)] = data
    for id_, data in line.snapshots("after").items():
        if step is not None and line.words("kind") != "memory.unreviewed":
            _check_after(line, id_, data, step)
        if data is not None:
            tier.texts[blob_id(data)] = data


def _check_after(line: _Line, id_: str, data: bytes | None, step: Step) -> None:
    """Raise where a snapshot is not what the commit's own record says."""
    expected = step.changes.get(line.key(id_))
    blob = None if expected is None or expected.submodule else expected.id
    if line.key(id_) in step.changes and (blob_id(data) if data is not None else None) != blob:
        raise line.wrong(id_)


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a log: its number, and fields that are asked for by what they must be."""

    at: int
    document: Mapping[str, Any]

    @classmethod
    def read(cls, at: int, text: str) -> _Line:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise cls(at, {}).fault(f"it is no JSON: {error}") from None
        if not isinstance(document, dict):
            raise cls(at, {}).fault("it is no JSON object")
        return cls(at, document)

    # -- what is wrong with it ----------------------------------------------------------------

    def fault(self, why: str) -> BadInputError:
        return BadInputError("log-invalid", f"line {self.at} of the log can't be read", context=why)

    def unknown(self, name: str) -> BadInputError:
        return BadInputError(
            "log-kind-unknown",
            f"line {self.at} of the log has the {name} '{self.words(name)}', which is none of ours",
            hint="read it with the gitmem that wrote it",
        )

    def wrong(self, what: str) -> BadInputError:
        return BadInputError(
            "log-snapshot-wrong",
            f"line {self.at} of the log has another text of {what} than the one that was approved",
            hint="the log was changed after it was written: export it again",
        )

    # -- fields -------------------------------------------------------------------------------

    def said(self, name: str) -> bool:
        return self.document.get(name) is not None

    def words(self, name: str) -> str:
        value = self.document.get(name)
        if not isinstance(value, str):
            raise self.fault(f"'{name}' must be text")
        return value

    def number(self, name: str) -> int:
        value = self.document.get(name)
        if type(value) is not int or value < 0:
            raise self.fault(f"'{name}' must be a number")
        return value

    def table(self, name: str) -> Mapping[str, Any]:
        value = self.document.get(name)
        if not isinstance(value, dict):
            raise self.fault(f"'{name}' must be an object")
        return value

    def commit(self, name: str) -> str:
        return self._id(self.document.get(name))

    def commits(self, name: str) -> tuple[str, ...]:
        value = self.document.get(name)
        if not isinstance(value, list):
            raise self.fault(f"'{name}' must be a list")
        return tuple(self._id(one) for one in value)

    def _id(self, value: object) -> str:
        if not isinstance(value, str) or not _ID.match(value):
            raise self.fault(f"{json.dumps(value)} is no object id of 40 hex digits")
        return value

    def time(self, name: str) -> int:
        try:
            return clock.from_rfc3339(self.words(name))
        except ValueError:
            raise self.fault(f"'{name}' is no time") from None

    def key(self, id_: str) -> str:
        key = id_.removeprefix("mem_")
        if key == id_ or not ids.is_key(key):
            raise self.fault(f"'{id_}' is no entry's id")
        return key

    def content(self, value: object) -> Content:
        if value is None:
            return None
        match = _CONTENT.match(value) if isinstance(value, str) else None
        if match is None:
            raise self.fault(f"{json.dumps(value)} is no content")
        return Blob(match[2], int(match[1], 8) if match[1] else REGULAR)

    def held(self, value: object) -> Held | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.fault("what is held must be an object")
        return Held(self._id(value.get("commit")), self.content(value.get("found")))

    def snapshots(self, name: str) -> dict[str, bytes | None]:
        """The snapshots before or after, by entry."""
        if name not in self.document:
            raise self.fault(f"the event has no '{name}'")
        value = self.document[name]
        if self.said("entries"):
            return {id_: self._bytes(one) for id_, one in self.table(name).items()}
        return {self.words("entry"): self._bytes(value)} if self.said("entry") else {}

    def snapshot(self, name: str, blob: str) -> bytes:
        """A snapshot that must be this blob."""
        data = self._bytes(self.document.get(name))
        if data is None or blob_id(data) != blob:
            raise self.wrong(blob)
        return data

    def _bytes(self, value: object) -> bytes | None:
        if value is None:
            return None
        try:
            if isinstance(value, str):
                return value.encode("utf-8")
            if isinstance(value, dict) and isinstance(value.get("base64"), str):
                return base64.b64decode(value["base64"], validate=True)
        except (UnicodeEncodeError, binascii.Error):
            pass
        raise self.fault("a snapshot must be text, or an object with base64")
