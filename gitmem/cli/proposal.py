"""A proposal as it comes in: from options, or from one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from gitmem.errors import BadInputError
from gitmem.memory import Draft, Memory, Outcome
from gitmem.model.entries import Source
from gitmem.proposals import DEFAULT_ACTOR, DEFAULT_PRIORITY

_T = TypeVar("_T")
_FIELDS = frozenset({"rationale", "sources", "priority", "actor", "scope", "entries"})
_ENTRY_FIELDS = frozenset({"key", "id", "type", "body", "delete"})


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed and what is said for it; None is what nobody said."""

    drafts: tuple[Draft, ...]
    rationale: str | None = None
    sources: tuple[Source, ...] = ()
    priority: str | None = None
    actor: str | None = None
    scope: str | None = None

    def with_options(
        self,
        rationale: str | None,
        sources: tuple[Source, ...],
        priority: str | None,
        actor: str | None,
        scope: str | None,
    ) -> Proposal:
        """The proposal, where an option says something with that."""
        return replace(
            self,
            rationale=self.rationale if rationale is None else rationale,
            sources=(*self.sources, *(one for one in sources if one not in self.sources)),
            priority=priority or self.priority,
            actor=self.actor if actor is None else actor,
            scope=scope or self.scope,
        )

    def make(self, memory: Memory, diff: str | None = None, *, again: bool = False) -> Outcome:
        """Propose it; `diff`, a unified diff, in place of the drafts; `again`: what was discarded."""
        rationale = self.rationale or ""
        priority, actor = self.priority or DEFAULT_PRIORITY, self.actor or DEFAULT_ACTOR
        if self.actor == "":
            actor = ""
        if diff is not None:
            return memory.propose_patch(
                diff,
                rationale=rationale,
                sources=self.sources,
                priority=priority,
                actor=actor,
                scope=self.scope,
                again=again,
            )
        return memory.propose(
            *self.drafts,
            rationale=rationale,
            sources=self.sources,
            priority=priority,
            actor=actor,
            scope=self.scope,
            again=again,
        )


def of_json(text: str) -> Proposal:
    """The proposal in a JSON document. Raises BadInputError `json-invalid`, EntryFault for a source."""
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        # No JSON, or a number of more digits than Python reads.
        raise _fault(f"it is no JSON: {error}") from error
    given = _object(document, "the document", _FIELDS)
    entries = _field(given, "entries", list, "the document")
    if not entries:
        raise _fault("'entries' is missing or empty")
    return Proposal(
        tuple(map(_draft, entries)),
        _field(given, "rationale", str, "the document"),
        tuple(map(Source.from_json, _field(given, "sources", list, "the document") or ())),
        _field(given, "priority", str, "the document"),
        _field(given, "actor", str, "the document"),
        _field(given, "scope", str, "the document"),
    )


def _draft(given: object) -> Draft:
    entry = _object(given, "an entry", _ENTRY_FIELDS)
    key = _field(entry, "key", str, "an entry")
    id_ = _field(entry, "id", str, "an entry")
    if id_ is not None and not id_.startswith("mem_"):
        raise _fault(f"'{id_}' is no entry's id: it begins with mem_")
    of_id = id_.removeprefix("mem_") if id_ is not None else None
    if key is None and of_id is None:
        raise _fault("an entry has neither 'key' nor 'id'")
    if None not in (key, of_id) and key != of_id:
        raise _fault(f"an entry has the key '{key}' and the id '{id_}'")
    return Draft(
        key or of_id or "",
        _field(entry, "body", str, "an entry"),
        _field(entry, "type", str, "an entry"),
        _field(entry, "delete", bool, "an entry") or False,
    )


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _fault(f"'{key}' stands twice in one object")
        found[key] = value
    return found


def _object(given: object, what: str, fields: frozenset[str]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _fault(f"{what} is no object")
    unknown = sorted(given.keys() - fields)
    if unknown:
        raise _fault(
            f"{what} has no field '{unknown[0]}'", hint=f"it has {', '.join(sorted(fields))}"
        )
    return given


def _field(given: dict[str, Any], name: str, kind: type[_T], what: str) -> _T | None:
    value = given.get(name)
    if value is None or isinstance(value, kind):
        return value
    words = {str: "text", list: "a list", bool: "true or false"}
    raise _fault(f"'{name}' of {what} must be {words[kind]}")


def _fault(message: str, *, hint: str | None = None) -> BadInputError:
    return BadInputError("json-invalid", f"the proposal can't be read: {message}", hint=hint)
