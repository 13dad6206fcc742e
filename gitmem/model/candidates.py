"""Candidates: what somebody proposes, and in which of six states it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gitmem import clock, ids
from gitmem.model.approval import Applied
from gitmem.model.entries import Entry, EntryFault, parse, substance
from gitmem.model.history import Content, History

State = Literal["pending", "applied", "reverted", "discarded", "superseded", "withdrawn"]
STATES: tuple[State, ...] = (
    "pending",
    "applied",
    "reverted",
    "discarded",
    "superseded",
    "withdrawn",
)
PRIORITIES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a candidate does to one entry.

    `base` is the content at the merge base, `content` the candidate's own (None:
    it deletes the entry), `approved` what is approved now, and `result` what an
    apply would make of it; None there as well where the three conflict
    (`conflict` says how).
    """

    key: str
    base: Content
    content: Content
    approved: Content
    result: Content
    conflict: str | None = None
    grounded: bool = True

    @property
    def id(self) -> str:
        """The entry's id."""
        return ids.entry_id(self.key)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate as it stands. Its identity is `id` and `first`, its first commit.

    `ref` is the branch or tag that holds it, `remote` the remote whose branch
    that is. `broken` says why it can't be applied as it is. `decided` is the
    commit that applied, reverted or closed it, `reason` what was said there, `signer`
    who signed it where approvals must be signed.
    `edited`: what is proposed is not what it began with. `more_rationale` came with evidence that
    was added later, and is no part of what an approval is bound to.
    """

    id: str
    tier: str
    state: State
    commit: str
    line: Applied
    base: str | None
    entries: tuple[Proposed, ...]
    rationale: str
    sources: tuple[Mapping[str, Any], ...]
    priority: str | None
    actor: str
    created_at: int
    ref: str
    remote: str | None = None
    broken: str | None = None
    decided: str | None = None
    reason: str | None = None
    signer: str | None = None
    never: bool = False
    superseded_by: str | None = None
    digest: str = ""
    inferred: bool = False
    type: str | None = None
    edited: bool = False
    more_rationale: tuple[str, ...] = ()
    files: Mapping[str, Content] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """The commit that began it."""
        return self.line.first

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The entries in which it does not go together with what is approved now."""
        return tuple(entry.id for entry in self.entries if entry.conflict is not None)


def to_json(candidate: Candidate) -> dict[str, Any]:
    """A candidate as `list --json` and `show --json` give it."""
    return {
        "id": candidate.id,
        "state": candidate.state,
        "broken": candidate.broken,
        "conflicts": list(candidate.conflicts),
        "scope": candidate.tier,
        "type": candidate.type,
        "entries": [entry.id for entry in candidate.entries],
        "commit": candidate.commit,
        "base": candidate.base,
        "digest": candidate.digest,
        "createdAt": clock.rfc3339(candidate.created_at),
        "rationale": candidate.rationale,
        "sources": [dict(source) for source in candidate.sources],
        "priority": candidate.priority,
        "actor": candidate.actor,
        "inferred": candidate.inferred,
        "remote": candidate.remote,
        "decided": candidate.decided,
        "reason": candidate.reason,
        "signer": candidate.signer,
        "never": candidate.never,
        "edited": candidate.edited,
        "moreRationale": list(candidate.more_rationale),
        "supersededBy": candidate.superseded_by,
    }


def digest(
    history: History,
    id_: str,
    rationale: str,
    entries: Iterable[Proposed],
    files: Mapping[str, Content],
) -> str:
    """SHA-256 (hex) of what a person reads of a candidate before deciding.

    That is its id, its rationale, of each entry what the candidate and the
    approved memory say, and the other files that it changes. Evidence that was
    only added does not change it.
    """
    said = [
        [
            entry.key,
            _said(history, entry.key, entry.base),
            _said(history, entry.key, entry.content),
            _said(history, entry.key, entry.approved),
        ]
        for entry in sorted(entries, key=lambda entry: entry.key)
    ]
    document: list[Any] = [id_, rationale, said]
    if files:
        document.append(sorted(files.items()))
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _said(history: History, key: str, content: Content) -> str | None:
    return None if content is None else fingerprint_of(history, key, content)


def fingerprint_of(history: History, key: str, content: Content) -> str:
    """What an entry's content says, apart from its evidence and dates; `-` for none."""
    if content is None:
        return "-"
    data = b"" if content.submodule else history.data(content.id)
    if content.regular:
        try:
            return fingerprint(parse(key, data, tier=history.tier))
        except EntryFault:
            pass
    told = b"%o %s\0" % (content.mode, content.id.encode() if content.submodule else b"")
    return hashlib.sha256(told + data).hexdigest()


def fingerprint(entry: Entry) -> str:
    """What an entry says, apart from its evidence and dates, as SHA-256 (hex)."""
    # `repr` would write a character or its escape as this Python's Unicode tables have it.
    return hashlib.sha256(ascii(substance(entry)).encode("ascii")).hexdigest()


def says_the_same(one: Entry, other: Entry) -> bool:
    """Whether two entries differ in their evidence and dates at most."""
    return substance(one) == substance(other)
