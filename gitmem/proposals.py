"""Making candidates: what somebody wants of entries, checked, and put on a branch of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitmem import answers, clock, ids
from gitmem.errors import BadInputError, NotFoundError
from gitmem.model import candidates, entries, messages, patches
from gitmem.model.entries import Entry, Source
from gitmem.model.history import Content, Person
from gitmem.store import Store

DEFAULT_ACTOR = "agent"
DEFAULT_PRIORITY = "medium"
_ACTOR_HOST = "gitmem.invalid"


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody wants of one entry: a new body, another type, or its deletion.

    What is None stays as it is approved; a new entry needs `type` and `body`.
    """

    key: str
    body: str | None = None
    type: str | None = None
    delete: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """A proposal's candidate. `made` is false where `id` was there already; `note` says why.

    `dropped` is the drop-box file that was written instead, where the repository
    could not be.
    """

    id: str
    made: bool
    note: str | None = None
    dropped: Path | None = None


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a proposal says for itself, besides its entries.

    `again`: though a person has discarded the same. `untold`: nobody is there to be told what
    became of that: a person's own proposal, or one from the drop box.
    """

    rationale: str
    sources: tuple[Source, ...]
    priority: str
    actor: str
    again: bool = False
    untold: bool = False


def propose(
    store: Store,
    made: Mapping[str, Entry | None],
    grounds: Grounds,
    *,
    wanted: str | None = None,
    drop: Callable[[str, OSError], Outcome] | None = None,
) -> Outcome:
    """Make a candidate of entries (by key; None deletes) in the tier of `store`.

    `wanted` is its id, if no other one has that. `drop` is what is done instead, with the id and
    the error, where the repository can't be written; without it OSError is raised. Raises
    BadInputError for what can't be proposed, and as `answers.refuse_discarded`.
    """
    _check_proposal(made, grounds)
    at = clock.now()
    author = actor_person(grounds.actor, at)
    existing = _already(store, made, grounds, author)
    if existing is not None:
        return existing
    if not grounds.untold:
        answers.refuse_discarded(store, _said(made), grounds.rationale, again=grounds.again)
    id_ = store.new_id(at, wanted)
    told = messages.grounds(grounds.sources, grounds.priority)
    message = messages.proposal(id_, list(made), grounds.rationale, told, actor=grounds.actor)
    contents = {
        key: None if entry is None else entries.serialize(applied_from(entry, id_))
        for key, entry in made.items()
    }
    try:
        commit = store.write_candidate(contents, message, author)
        store.open_candidate(id_, commit, _said(made))
    except OSError as error:
        if drop is None:
            raise
        return drop(id_, error)
    return Outcome(id_, made=True)


def drafted(store: Store, draft: Draft, sources: Sequence[Source]) -> Entry | None:
    """The entry that a draft asks for; None for a deletion."""
    ids.check_key(draft.key)
    approved = _readable(store, draft.key)
    if draft.delete:
        if store.approved_content(draft.key) is None:
            raise NotFoundError(
                "no-such-entry",
                f"there is no approved entry {ids.entry_id(draft.key)} to delete",
                hint="gitmem log --kind memory.updated lists the entries that there were",
            )
        return None
    kind = draft.type or (approved.type if approved is not None else None)
    body = draft.body if draft.body is not None else (approved.body if approved else None)
    if kind is None or body is None:
        raise BadInputError(
            "type-missing" if kind is None else "body-missing",
            f"{ids.entry_id(draft.key)} is new and needs a {'type' if kind is None else 'body'}",
            hint=f"add --type {'|'.join(entries.TYPES)}" if kind is None else "add --body",
        )
    if approved is not None:
        known = approved.sources
        merged = (*known, *(source for source in sources if source not in known))
        changed = replace(approved, type=kind, body=body, sources=merged, applied_by="user")
        return entries.check(changed)
    return entries.check(
        Entry(
            key=draft.key,
            type=kind,
            scope=store.tier,
            body=body,
            created_at=clock.rfc3339(clock.now()),
            applied_from=None,
            applied_by="user",
            sources=tuple(sources),
            related_sessions=(),
        )
    )


def patched(store: Store, diff: str) -> dict[str, Entry | None]:
    """The entries that a unified diff of approved files makes, by key; None deletes."""
    changed = patches.apply(diff, lambda key: store.text(store.approved_content(key)))
    return {
        key: None if text is None else entries.parse(key, text.encode(), tier=store.tier)
        for key, text in changed.items()
    }


def _already(
    store: Store, made: Mapping[str, Entry | None], grounds: Grounds, author: Person
) -> Outcome | None:
    """The outcome where nothing new is proposed."""
    pending = store.same_pending(_said(made))
    if pending is not None:
        added = grounds.actor != "user" and _evidence_added(store, pending, grounds, author)
        more = ", and has what you said for it now" if added else ""
        return Outcome(pending, made=False, note=f"it is pending already{more}")
    for key, entry in made.items():
        approved = _readable(store, key)
        if entry is None or approved is None or not candidates.says_the_same(entry, approved):
            return None
    last = _last_change(store, next(iter(made)))
    return Outcome(last or "", made=False, note="it changes nothing: approved memory says so")


def actor_person(actor: str, at: int) -> Person:
    """The author of an actor's commits: it needs no git identity."""
    local = "".join(char if char.isascii() and char.isalnum() else "-" for char in actor)
    return Person(actor, f"{local.strip('-') or 'agent'}@{_ACTOR_HOST}", at, 0)


def applied_from(entry: Entry, id_: str) -> Entry:
    """The entry as the candidate `id_` brings it."""
    return replace(entry, applied_from=id_, applied_by="user")


def _check_proposal(made: Mapping[str, Any], grounds: Grounds) -> None:
    if not made:
        raise BadInputError("nothing-proposed", "a proposal needs at least one entry")
    if not grounds.rationale.strip():
        raise BadInputError(
            "rationale-missing",
            "a proposal needs a rationale",
            hint="say why it should be remembered: --rationale TEXT",
        )
    check_text(grounds.rationale, "rationale")
    for source in grounds.sources:
        check_text(messages.one_line(source), "evidence")
    if grounds.priority not in candidates.PRIORITIES:
        raise BadInputError(
            "priority-unknown",
            f"'{grounds.priority}' is no priority",
            hint=f"one of: {', '.join(candidates.PRIORITIES)}",
        )
    check_actor(grounds.actor)


def check_text(text: str, what: str) -> None:
    """Raise BadInputError `text-invalid` where no commit's message can hold `text`."""
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in text):
        raise BadInputError(
            "text-invalid", f"the {what} is no UTF-8 text: it holds a NUL or half a character"
        )


def check_actor(actor: str) -> str:
    """`actor` itself, or BadInputError `actor-invalid`: it becomes the author of a commit."""
    if actor.strip() and not any(char in actor for char in "<>\n\r"):
        check_text(actor, "actor")
        return actor
    raise BadInputError(
        "actor-invalid",
        "an actor is a name of one line without < and >",
        hint="for example: --actor claude-code",
    )


def _evidence_added(store: Store, id_: str, grounds: Grounds, author: Person) -> bool:
    """Whether a pending candidate got evidence; where nothing can be written it stays as it is."""
    try:
        return answers.add_evidence(store, id_, grounds.rationale, grounds.sources, author)
    except BadInputError as error:
        if error.reference != "cannot-write":
            raise
    except OSError:
        pass
    return False


def _said(made: Mapping[str, Entry | None]) -> str:
    """As `Store.said_by`, of entries that are not written yet."""
    return "\n".join(
        f"{key} {'-' if entry is None else candidates.fingerprint(entry)}"
        for key, entry in sorted(made.items())
    )


def _readable(store: Store, key: str) -> Entry | None:
    """The approved entry, or None where there is none that can be read: then it is written anew."""
    return as_entry(store, key, store.approved_content(key))


def as_entry(store: Store, key: str, content: Content) -> Entry | None:
    """The entry that a content is; None where it is none."""
    try:
        return store.entry(key, content)
    except entries.EntryFault:
        return None


def _last_change(store: Store, key: str) -> str | None:
    """The candidate that gave an entry its approved content."""
    for judgement in reversed(store.ledger().line):
        if key in judgement.changes and judgement.applied:
            return judgement.applied[-1].id
    return None
