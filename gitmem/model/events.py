"""The event log: derived from commits and their trailers, never written down.

`docs/events.md` says of each kind when it arises and what it carries. The order
is topology, never clocks: parents precede children, and what hangs on the same
commit of the approval line goes by commit id, so that the same refs give the
same log in every clone.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from gitmem import clock, ids
from gitmem.model import trailers
from gitmem.model.approval import Applied, Judgement, Ledger
from gitmem.model.history import Change, Commit, Content, History

Kind = Literal[
    "candidate.created",
    "candidate.edited",
    "candidate.applied",
    "candidate.discarded",
    "candidate.superseded",
    "candidate.reopened",
    "memory.updated",
    "memory.deleted",
    "memory.reverted",
    "memory.synced",
    "memory.unreviewed",
    # Of this machine alone: a session's record has them, never a branch that others see.
    "session.started",
    "context.built",
    "session.ended",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
DECISIONS: frozenset[Kind] = frozenset(
    {
        "candidate.applied",
        "candidate.discarded",
        "candidate.superseded",
        "memory.reverted",
        "memory.synced",
    }
)


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `at` is the committer's time in seconds, good for "about when" only.

    `change` is set on kinds about one entry, `changes` (by key) on
    `candidate.applied`, `memory.reverted` and `memory.synced`: contents before
    and after, of the approved view (of the first parent's, at a sync); on
    `memory.unreviewed`, the approved content and what the commit has instead. `details` are the kind's own fields, ready for JSON.
    """

    kind: Kind
    tier: str
    at: int
    commit: str
    actor: str | None
    candidate: str | None = None
    key: str | None = None
    inferred: bool = False
    change: Change | None = None
    changes: Mapping[str, Change] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Line:
    """A candidate's commits that no apply has taken in: `id`, and all of them, parents first.

    `closing` is the empty commit that ended it, `kind` what that was.
    """

    candidate: Applied
    closing: str | None = None
    superseded: bool = False


def derive(history: History, ledger: Ledger, lines: Iterable[Line]) -> list[Event]:
    """The events of a tier, in order: what `ledger` has approved, and the candidates in `lines`."""
    return [event for _, found in by_commit(history, ledger, lines) for event in found]


def by_commit(
    history: History, ledger: Ledger, lines: Iterable[Line]
) -> Iterator[tuple[str, list[Event]]]:
    """As `derive`, with the commit that each part of the log is read from, some of which say nothing."""
    return _Log(history, ledger, lines).events()


class _Log:
    def __init__(self, history: History, ledger: Ledger, lines: Iterable[Line]) -> None:
        self.history = history
        self.ledger = ledger
        self.fold: dict[str, Content] = {}
        self.said: dict[str, Mapping[str, Change]] = {}
        self.applied: set[str] = set()
        self.owner: dict[str, Applied] = {}
        self.closing: dict[str, Line] = {}
        for judgement in ledger.line:
            for candidate in judgement.applied:
                self._own(candidate)
        for line in lines:
            self._own(line.candidate)
            if line.closing is not None:
                self.closing.setdefault(line.closing, line)

    def _own(self, candidate: Applied) -> None:
        for commit in candidate.commits:
            if commit not in self.ledger.position:
                self.owner.setdefault(commit, candidate)

    def events(self) -> Iterator[tuple[str, list[Event]]]:
        for id_ in self._order():
            position = self.ledger.position.get(id_)
            if position is not None:
                yield id_, list(self._approved(self.ledger.line[position]))
            elif id_ in self.closing:
                yield id_, [self._closed(self.closing[id_])]
            else:
                yield id_, [self._proposed(id_)]

    # -- order -----------------------------------------------------------------------------

    def _order(self) -> Iterator[str]:
        """Every commit of the log, parents first; a candidate's right after what it hangs on."""
        parents: dict[str, tuple[str, ...]] = {}
        for id_ in (*self.owner, *self.closing):
            parents[id_] = self._stands_on(id_)
        if self.ledger.linear and not self._tangled(parents):
            yield from self._plain_order(parents)
            return
        for judgement in self.ledger.line:
            parents[judgement.commit] = judgement.parents
        rank = self._ranks(parents)
        missing = dict.fromkeys(parents, 0)
        children: dict[str, list[str]] = {}
        for id_, above in parents.items():
            for parent in above:
                if parent in parents:
                    missing[id_] += 1
                    children.setdefault(parent, []).append(id_)
        ready = [(rank[id_], id_) for id_, count in missing.items() if count == 0]
        heapq.heapify(ready)
        while ready:
            _, id_ = heapq.heappop(ready)
            yield id_
            for child in children.get(id_, ()):
                missing[child] -= 1
                if missing[child] == 0:
                    heapq.heappush(ready, (rank[child], child))

    def _stands_on(self, id_: str) -> tuple[str, ...]:
        """The nearest commits of the log below one: what lies between is another clone's."""
        found: dict[str, None] = {}
        waiting, seen = list(self.history.commit(id_).parents), set()
        while waiting:
            here = waiting.pop(0)
            if here in self.ledger.position or here in self.owner or here in self.closing:
                found[here] = None
            elif here not in seen:
                seen.add(here)
                waiting.extend(self.history.commit(here).parents)
        return tuple(found)

    def _tangled(self, parents: Mapping[str, Sequence[str]]) -> bool:
        return any(len(above) != 1 for above in parents.values())

    def _plain_order(self, parents: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """The same order where the approval line is one chain and so is each candidate."""
        hanging: dict[str | None, list[str]] = {}
        for id_, above in parents.items():
            known = above[0] in self.ledger.position or above[0] in parents
            hanging.setdefault(above[0] if known else None, []).append(id_)
        yield from self._hanging(None, hanging)
        for judgement in self.ledger.line:
            yield judgement.commit
            yield from self._hanging(judgement.commit, hanging)

    def _hanging(self, below: str | None, hanging: Mapping[str | None, list[str]]) -> Iterator[str]:
        ready = list(hanging.get(below, ()))
        heapq.heapify(ready)
        while ready:
            id_ = heapq.heappop(ready)
            yield id_
            for child in hanging.get(id_, ()):
                heapq.heappush(ready, child)

    def _ranks(self, parents: Mapping[str, Sequence[str]]) -> dict[str, tuple[int, int]]:
        """For each commit its place: the latest commit of the approval line that it stands on."""
        rank = {id_: (place, 0) for id_, place in self.ledger.position.items()}
        for id_ in parents:
            waiting = [id_]
            while waiting:
                here = waiting[-1]
                if here in rank:
                    waiting.pop()
                    continue
                open_ = [p for p in parents[here] if p in parents and p not in rank]
                if open_:
                    waiting.extend(open_)
                    continue
                places = [rank[p][0] for p in parents[here] if p in rank]
                rank[here] = (max(places, default=-1), 1)
                waiting.pop()
        return rank

    # -- candidates ------------------------------------------------------------------------

    def _proposed(self, id_: str) -> Event:
        candidate = self.owner[id_]
        commit = self.history.commit(id_)
        message = trailers.parse(commit.message)
        reopens = message.first(trailers.REOPENS)
        kind: Kind = "candidate.edited"
        if id_ == candidate.first:
            kind = "candidate.created" if reopens is None else "candidate.reopened"
        details: dict[str, Any] = {
            "rationale": rationale(message),
            "sources": sources(message),
            "priority": message.first(trailers.PRIORITY),
        }
        if reopens is not None:
            details["reopens"] = reopens
        origin = message.first(trailers.ORIGIN)
        if origin is not None:
            details["origin"] = origin
        return Event(
            kind,
            self.history.tier,
            commit.committer.time,
            id_,
            message.first(trailers.ACTOR) or commit.author.name,
            candidate=candidate.id,
            inferred=message.first(trailers.EVENT) is None,
            details=details,
        )

    def _closed(self, line: Line) -> Event:
        commit = self.history.commit(line.closing or "")
        message = trailers.parse(commit.message)
        details: dict[str, Any] = {"reason": message.body or None}
        if line.superseded:
            details["supersededBy"] = message.first(trailers.SUPERSEDED_BY)
        if message.first(trailers.NEVER) is not None:
            details["never"] = True
        return Event(
            "candidate.superseded" if line.superseded else "candidate.discarded",
            self.history.tier,
            commit.committer.time,
            commit.id,
            commit.author.name,
            candidate=line.candidate.id,
            inferred=message.first(trailers.EVENT) is None,
            details=details,
        )

    # -- the approval line -----------------------------------------------------------------

    def _approved(self, judgement: Judgement) -> Iterator[Event]:
        commit = self.history.commit(judgement.commit)
        about: dict[str, str] = {}
        if judgement.kind == "apply":
            about = self._touched(judgement)
            yield from self._applied(judgement, commit, about)
        elif judgement.kind == "revert":
            about = self._touched(self.ledger.undone(judgement))
            yield self._reverted(judgement, commit)
        elif judgement.kind == "sync":
            yield self._synced(judgement, commit)
        changes = judgement.changes
        if judgement.kind == "sync":
            changes = self._fold_changes(judgement)
        self.said[judgement.commit] = changes
        for key, change in changes.items():
            self.fold[key] = change[1]
            kind: Kind = "memory.deleted" if change[1] is None else "memory.updated"
            yield self._event(kind, commit, key=key, change=change, candidate=about.get(key))
        for key, change in judgement.unreviewed.items():
            yield self._event("memory.unreviewed", commit, key=key, change=change)

    def _event(
        self,
        kind: Kind,
        commit: Commit,
        *,
        candidate: str | None = None,
        key: str | None = None,
        change: Change | None = None,
        changes: Mapping[str, Change] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Event:
        return Event(
            kind,
            self.history.tier,
            commit.committer.time,
            commit.id,
            commit.author.name,
            candidate=candidate,
            key=key,
            inferred=kind in _MARKED and trailers.EVENT not in commit.message,
            change=change,
            changes=changes,
            details=details or {},
        )

    def _applied(
        self, judgement: Judgement, commit: Commit, about: Mapping[str, str]
    ) -> Iterator[Event]:
        for candidate in judgement.applied:
            if candidate.tip in self.applied:
                continue
            self.applied.add(candidate.tip)
            changes = judgement.changes
            if len(judgement.applied) > 1:
                changes = {k: c for k, c in changes.items() if about.get(k) == candidate.id}
            yield self._event("candidate.applied", commit, candidate=candidate.id, changes=changes)

    def _reverted(self, judgement: Judgement, commit: Commit) -> Event:
        # One that takes back only what nobody approved says nothing about a candidate.
        applied = self.ledger.undone(judgement).applied if judgement.changes else ()
        return self._event(
            "memory.reverted",
            commit,
            candidate=applied[-1].id if applied else None,
            changes=judgement.changes,
            details={"reverts": judgement.reverts, "reason": _reason(commit)},
        )

    def _synced(self, judgement: Judgement, commit: Commit) -> Event:
        details = {"parents": list(judgement.parents), "conflicts": list(judgement.conflicts)}
        return self._event("memory.synced", commit, changes=judgement.changes, details=details)

    def _touched(self, judgement: Judgement) -> dict[str, str]:
        """For each entry that an apply changed, the last of its candidates that touched it."""
        if len(judgement.applied) == 1:
            return dict.fromkeys(judgement.changes, judgement.applied[0].id)
        about: dict[str, str] = {}
        for candidate in judgement.applied:
            for id_ in candidate.commits:
                commit = self.history.commit(id_)
                for parent in commit.parents[:1]:
                    tree = self.history.commit(parent).tree
                    about |= dict.fromkeys(self.history.changes(tree, commit.tree), candidate.id)
        return {key: about[key] for key in judgement.changes if key in about}

    def _fold_changes(self, judgement: Judgement) -> dict[str, Change]:
        """What must be said at a sync so that the log so far adds up to its approved view.

        The lines that it joins stand in the log one after the other; where both
        changed an entry, or a sync among them corrected it, the later one has had
        the last word until here.
        """
        keys = set(judgement.changes)
        for joined in self._joined(judgement):
            keys |= self.said[joined].keys()
        changes: dict[str, Change] = {}
        for key in sorted(keys):
            said, approved = self.fold.get(key), judgement.view.content(self.history, key)
            if said != approved:
                changes[key] = (said, approved)
        return changes

    def _joined(self, judgement: Judgement) -> Iterator[str]:
        """The commits of a sync's line that its first parent's line does not have."""
        waiting, seen = list(judgement.parents[1:]), set()
        while waiting:
            here = waiting.pop()
            if here in seen or self.ledger.on_line(here, judgement.parents[0]):
                continue
            seen.add(here)
            yield here
            waiting.extend(self.ledger.of(here).line_parents)


_MARKED = frozenset({"candidate.applied", "memory.reverted", "memory.synced"})


def rationale(message: trailers.Message) -> str:
    """Why a candidate was proposed: the body, or what stands for it where there is none."""
    return message.body or message.subject


def sources(message: trailers.Message) -> list[dict[str, Any]]:
    """The evidence in a message's `Memory-Source` trailers; what is no JSON object is its evidence."""
    found: list[dict[str, Any]] = []
    for value in message.all(trailers.SOURCE):
        try:
            source = json.loads(value)
        except ValueError:
            source = value
        found.append(source if isinstance(source, dict) else {"evidence": value})
    return found


def _reason(commit: Commit) -> str | None:
    """What a person wrote into a revert's message besides git's own sentence."""
    body = trailers.parse(commit.message).body
    kept = [line for line in body.split("\n") if not line.startswith("This reverts commit ")]
    kept = [line for line in kept if not line.startswith("changes made to ")]
    return "\n".join(kept).strip() or None


Loader = Callable[[Content], Any]
"""Gives an entry's snapshot, ready for JSON: its text, or None where there is no entry."""


def to_json(event: Event, load: Loader | None = None) -> dict[str, Any]:
    """An event as a JSON object; with `load`, with the snapshots before and after."""
    document: dict[str, Any] = {
        "kind": event.kind,
        "tier": event.tier,
        "at": clock.rfc3339(event.at),
        "commit": event.commit,
        "candidate": event.candidate,
        "entry": ids.entry_id(event.key) if event.key is not None else None,
        "actor": event.actor,
        "inferred": event.inferred,
        **event.details,
    }
    if event.changes is not None:
        document["entries"] = [ids.entry_id(key) for key in event.changes]
    if load is not None:
        document["before"], document["after"] = _snapshots(event, load)
    return document


def _snapshots(event: Event, load: Loader) -> tuple[Any, Any]:
    if event.changes is not None:
        return tuple(
            {ids.entry_id(key): load(change[side]) for key, change in event.changes.items()}
            for side in (0, 1)
        )  # type: ignore[return-value]
    before, after = event.change or (None, None)
    return load(before), load(after)
