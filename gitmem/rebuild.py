"""Build the recorded contexts of a session again, and say whether they are the same and why not.

Nothing is asked but objects: the commits that the record pins are judged anew, each once, and
whatever `memory/main` has become since has no say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from gitmem import trust, views
from gitmem.errors import BadInputError, NotFoundError, ObjectMissingError
from gitmem.git.program import GitFailedError
from gitmem.memory import Memory
from gitmem.model import context, replay, scan, tiers
from gitmem.model.context import Context
from gitmem.model.records import Built, Record
from gitmem.model.replay import Standing, Step
from gitmem.model.rule import RULE
from gitmem.sessionfiles import SessionFolder
from gitmem.store import Store
from gitmem.views import Given, SessionPart

Kind = Literal[
    "session-forgotten",
    "tier-missing",
    "object-missing",
    "approval-changed",
    "rule-changed",
    "entries-differ",
    "text-differs",
]


@dataclass(frozen=True, slots=True)
class Difference:
    """Why a context is not what it was; `entries` are the ids that are concerned."""

    kind: Kind
    message: str
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A recorded context, built again.

    `context` is None where nothing could be built. Without `differences` it has the same bytes.
    """

    record: Record
    built: Built
    context: Context | None
    differences: tuple[Difference, ...] = ()

    @property
    def same(self) -> bool:
        """Whether it has the bytes that the session was given."""
        return not self.differences


def session(memory: Memory, name: str) -> list[Rebuilt]:
    """All contexts of a session, oldest first. Raises as `Sessions.record`."""
    return _Builder(memory, name).all()


def one_of(found: Sequence[Rebuilt], number: int | None) -> Rebuilt:
    """The context with this number, the last one for None. Raises NotFoundError `no-such-context`."""
    if number is None and found:
        return found[-1]
    for one in found:
        if one.built.number == number:
            return one
    raise no_such_context(number)


def no_such_context(number: int | None) -> NotFoundError:
    """The error for a context that was never built."""
    return NotFoundError(
        "no-such-context",
        "no context was built for it" if number is None else f"it has no context {number}",
        hint="gitmem replay SESSION lists those that there are",
    )


def present(memory: Memory, of: Rebuilt) -> Given:
    """The context as it would be now with the same options, for comparing; nothing is recorded."""
    folder = memory.sessions().folder(of.record.session)
    part = SessionPart(given=frozenset(of.built.given))
    if folder.exists():
        read = folder.read()
        if read.text.ended_at is None:
            part = replace(part, memories=tuple(read.text.memories(read.commit or "")))
    return views.given(
        memory.found,
        of.built.options,
        lambda place: memory.store(place.scope),
        session=part,
    )


class _Tier:
    """A durable tier under an approval setting, of which each pin is judged once."""

    def __init__(self, store: Store, approval: str) -> None:
        self.store = store
        self.approval = approval
        self.reader = replay.Reader(store.tier, store.objects.data)
        self._steps: dict[str, Step] = {}
        self._standing: dict[str, Standing] = {}

    def at(self, commit: str) -> Standing:
        """What stood at a commit. Raises where an object is missing."""
        if commit not in self._standing:
            if commit not in self._steps:
                objects = self.store.objects
                self._steps |= replay.steps(
                    objects, self.store.ledger_at(commit, approval=self.approval)
                )
            found = self._standing[commit] = replay.standing(self._steps, commit)
            contents = (one.content for one in found.approved.values())
            self.store.objects.load(content.id for content in contents if content.regular)
        return self._standing[commit]


class _Builder:
    def __init__(self, memory: Memory, session: str) -> None:
        sessions = memory.sessions()
        self.records = sessions.record(session)
        self.folder: SessionFolder = sessions.folder(session)
        self.stores = {name: memory.store(name) for name in memory.scopes}
        self.tiers: dict[tuple[str, str], _Tier] = {}
        self.scan = cache(scan.scan)

    def all(self) -> list[Rebuilt]:
        # The newest first: what it is judged by nearly always has the older pins on its line.
        found = [
            self._rebuilt(record, record.built)
            for record in reversed(self.records)
            if record.built is not None
        ]
        return found[::-1]

    def _rebuilt(self, record: Record, built: Built) -> Rebuilt:
        differences: list[Difference] = []
        memories = []
        for tier in built.options.tiers:
            pin = record.pins.get(tier)
            if pin is None:
                continue
            if tier == "session":
                found = self._session(pin, built)
            else:
                found = self._durable(tier, pin, built.approval.get(tier, trust.OPEN))
            if isinstance(found, Difference):
                differences.append(found)
            else:
                memories += found
        lost = any(one.kind != "session-forgotten" for one in differences)
        text = None
        if not lost:
            text = context.build(
                memories, built.options, scan=self.scan, given=frozenset(built.given)
            )
            if text.digest == built.digest:
                return Rebuilt(record, built, text)
        differences += self._settings(built)
        if text is not None and not differences:
            differences.append(_unexplained(built, text))
        return Rebuilt(record, built, text, tuple(differences))

    def _session(self, pin: str, built: Built) -> list[tiers.Memory] | Difference:
        try:
            return self.folder.at(pin).memories(pin)
        except BadInputError as error:
            if error.reference != "session-text-missing":
                raise
        named = (built.entries, built.left_out, built.overridden, built.quarantined)
        ids = sorted({id_ for ids_ in named for id_ in ids_.get("session", ())})
        return Difference("session-forgotten", "the session's own text was forgotten", tuple(ids))

    def _durable(self, tier: str, pin: str, approval: str) -> list[tiers.Memory] | Difference:
        if tier not in self.stores:
            return Difference("tier-missing", f"there is no {tier} memory here any more")
        if (tier, approval) not in self.tiers:
            self.tiers[tier, approval] = _Tier(self.stores[tier], approval)
        known = self.tiers[tier, approval]
        try:
            if not known.store.objects.exists(pin):
                raise ObjectMissingError(pin, "is missing")
            return known.reader.memories(known.at(pin).approved)[0]
        except (ObjectMissingError, GitFailedError) as error:
            what = f"the {tier} memory at {pin[:10]} can't be read: {error.message}"
            return Difference("object-missing", what)

    def _settings(self, built: Built) -> list[Difference]:
        """What counted as approved by another measure than today's."""
        found: list[Difference] = []
        if built.rule != RULE:
            what = f"it was judged by merge rule {built.rule}, and this gitmem has {RULE}"
            found.append(Difference("rule-changed", what))
        for tier, approval in built.approval.items():
            store = self.stores.get(tier)
            if store is not None and approval not in (trust.OPEN, trust.name(store.place.git_dir)):
                what = f"other signers' approvals count in the {tier} memory now"
                found.append(Difference("approval-changed", what))
        return found


def _unexplained(built: Built, text: Context) -> Difference:
    """Where every input is there and the bytes are others all the same."""
    now: Mapping[str, set[str]] = {
        tier: {one.id for one in text.entries if one.tier == tier} for tier in built.options.tiers
    }
    then = {tier: set(built.entries.get(tier, ())) for tier in built.options.tiers}
    ids = sorted({id_ for tier, ids_ in now.items() for id_ in ids_ ^ then[tier]})
    if ids:
        return Difference("entries-differ", "other entries are in it", tuple(ids))
    return Difference("text-differs", "the same entries read otherwise: another gitmem built it")
