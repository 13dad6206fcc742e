"""The context that an agent reads: from the approved view of each tier, cached or judged anew.

It is read at every start of a session, so what judges history is loaded only
where the cache has no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem import ids, index, layout, trust, witness
from gitmem.errors import BadInputError, ObjectMissingError
from gitmem.git import discover, refs
from gitmem.git.loose import Reader, id_of
from gitmem.layout import TierPlace, Tiers
from gitmem.model import context, tiers
from gitmem.model.rule import RULE

if TYPE_CHECKING:
    from gitmem.store import Store

Opener = Callable[[TierPlace], "Store"]
"""Gives the store of a tier, where one is needed."""


@dataclass(frozen=True, slots=True)
class Unreviewed:
    """An entry whose present file no approval covers: it keeps what was approved last.

    `commit` changed it, `found` is the blob that it has instead (None: it is gone).
    """

    id: str
    tier: str
    commit: str
    found: str | None


@dataclass(frozen=True, slots=True)
class Given:
    """A context, and what of the memory did not get into it without anybody's decision.

    `broken` are approved entries that can't be read: id and why.
    """

    context: context.Context
    unreviewed: tuple[Unreviewed, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    """The commit at which each durable tier was read."""


@dataclass(frozen=True, slots=True)
class SessionPart:
    """What a session brings to a context: its own entries, and what it was given before.

    Tiers in `pins` are read as they stood at that commit.
    """

    memories: tuple[tiers.Memory, ...] = ()
    given: frozenset[str] = frozenset()
    pins: Mapping[str, str] = field(default_factory=dict)


NO_SESSION = SessionPart()


def given_at(path: Path, options: context.Options) -> Given:
    """What an agent reads at the folder `path`. Raises as `discover.find`."""
    return given(discover.find(path), options, open_store)


def given(
    found: Tiers,
    options: context.Options,
    store_of: Opener,
    *,
    traceless: bool = False,
    session: SessionPart = NO_SESSION,
) -> Given:
    """What an agent reads where these tiers hold, the project's first in what is said beside it.

    `traceless`: nothing is cached or noted in the user's folders.
    """
    memories = list(session.memories)
    unreviewed: list[Unreviewed] = []
    broken: list[tuple[str, str]] = []
    warnings: list[str] = []
    pins: dict[str, str] = {}
    for place in (found.project, found.user):
        if place is None or place.scope not in options.tiers:
            continue
        if place.scope in session.pins:
            part = _at(store_of(place), session.pins[place.scope])
        else:
            part = _now(place, store_of, traceless=traceless)
            warnings.extend(_warnings(place, part.commit, store_of))
        memories.extend(part.memories)
        unreviewed.extend(part.unreviewed)
        broken.extend(part.broken)
        pins[place.scope] = part.commit
    built = context.build(memories, options, given=session.given)
    return Given(built, tuple(unreviewed), tuple(broken), tuple(warnings), pins)


@dataclass(frozen=True, slots=True)
class _Part:
    """A tier at a commit, as a context reads it."""

    commit: str
    memories: list[tiers.Memory]
    unreviewed: tuple[Unreviewed, ...]
    broken: tuple[tuple[str, str], ...]


def _now(place: TierPlace, store_of: Opener, *, traceless: bool) -> _Part:
    view = judged(store_of(place)) if traceless else current(place, main_of(place), store_of)
    unreviewed = tuple(
        Unreviewed(ids.entry_id(key), place.scope, commit, blob)
        for key, commit, blob in view.unreviewed
    )
    return _Part(view.tip, memories_of(place, view, store_of), unreviewed, view.broken)


def _at(store: Store, commit: str) -> _Part:
    """A tier as it stood at any commit, from objects alone."""
    from gitmem.model import replay

    standing = replay.standing(replay.steps(store.objects, store.ledger_at(commit)), commit)
    store.objects.load(one.content.id for one in standing.approved.values() if one.content.regular)
    reader = replay.Reader(store.tier, store.objects.data)
    memories, broken = reader.memories(standing.approved)
    unreviewed = tuple(
        Unreviewed(ids.entry_id(key), store.tier, one.commit, one.found.id if one.found else None)
        for key, one in standing.held.items()
    )
    return _Part(commit, memories, unreviewed, tuple(broken))


def main_of(place: TierPlace) -> str:
    """The commit of `memory/main`. Raises BadInputError `main-missing` or `symbolic-ref`."""
    tip = refs.read(place.git_dir, layout.MAIN)
    if tip is None:
        raise BadInputError(
            "main-missing",
            f"the {place.scope} memory has no branch memory/main",
            hint=f"run: gitmem init --scope {place.scope}",
        )
    return tip


def current(place: TierPlace, tip: str, store_of: Opener) -> index.CachedView:
    """The view of a tier at `tip`, its `memory/main`."""
    cached = index.read(place.git_dir, tip, rule=RULE, approval=trust.name(place.git_dir))
    if cached is not None:
        return cached
    store = store_of(place)
    view = judged(store)
    index.write(place.git_dir, view, rule=RULE, approval=store.approval)
    witness_tip(store)
    return view


def open_store(place: TierPlace) -> Store:
    """The store of a tier, opened on its own."""
    from gitmem.store import Store

    return Store(place)


def memories_of(place: TierPlace, view: index.CachedView, store_of: Opener) -> list[tiers.Memory]:
    """The approved entries of a view with their texts, which come from blobs."""
    if not view.entries:
        return []
    found = Reader(place.git_dir).read_all([known.blob for known in view.entries])
    memories: list[tiers.Memory] = []
    for known, item in zip(view.entries, found, strict=True):
        data = item[1] if item is not None else _unwritten(store_of(place), known)
        if id_of("blob", data) != known.blob:
            # Git gives what lies under an id without looking: the approval is of these bytes alone.
            what = f"is damaged or forged: the text of {ids.entry_id(known.key)}"
            raise ObjectMissingError(known.blob, what)
        memories.append(_memory(place.scope, known, data[known.body :].decode("utf-8")))
    return memories


def _unwritten(store: Store, known: index.Known) -> bytes:
    """A text that only judging makes: a sync whose commit lacks what the merge rule gives."""
    store.ledger()
    try:
        return store.objects.data(known.blob)
    except ObjectMissingError:
        what = f"is missing: the text of mem_{known.key}"
        raise ObjectMissingError(known.blob, what) from None


def _memory(tier: str, known: index.Known, text: str) -> tiers.Memory:
    return tiers.Memory(
        key=known.key,
        id=ids.entry_id(known.key),
        tier=tier,
        scope=tier,
        type=known.type,
        body=text,
        position=known.position,
        commit=known.commit,
        blob=known.blob,
        sessions=frozenset(known.sessions),
    )


def judged(store: Store) -> index.CachedView:
    """The view of a tier at its `memory/main`, from refs and objects alone."""
    from gitmem.model import entries

    positions, line = store.positions(), store.ledger().line
    approved = store.approved()
    store.objects.load(content.id for content in approved.values())
    known: list[index.Known] = []
    broken: list[tuple[str, str]] = []
    for key, content in sorted(approved.items()):
        try:
            entry = store.entry(key, content)
        except entries.EntryFault as fault:
            broken.append((ids.entry_id(key), fault.message))
            continue
        if entry is not None:
            known.append(
                index.Known(
                    key=key,
                    type=entry.type,
                    blob=content.id,
                    body=entries.body_start(store.objects.data(content.id)),
                    position=positions[key],
                    commit=line[positions[key]].commit,
                    sessions=tuple(sorted(entries.sessions(entry))),
                )
            )
    return index.CachedView(store.main(), tuple(known), tuple(_unreviewed(store)), tuple(broken))


def _unreviewed(store: Store) -> Iterator[tuple[str, str, str | None]]:
    ledger = store.ledger()
    for key in sorted(ledger.view.held):
        found = store.objects.content(ledger.view.tree, key)
        yield key, ledger.culprits(key)[-1].commit, found.id if found is not None else None


# -- the witness ---------------------------------------------------------------------------------


def _warnings(place: TierPlace, tip: str, store_of: Opener) -> list[str]:
    """What must be said beside a context: that approved memory vanished from `memory/main`."""
    seen = _seen(place.git_dir)
    if seen is None or seen == tip or seen in store_of(place).ledger().position:
        return []
    what = f"the {place.scope} memory stood at {seen[:12]} and memory/main no longer has it"
    return [f"{what}: run gitmem verify"]


def _seen(git_dir: Path) -> str | None:
    try:
        return witness.read(git_dir)
    except (OSError, BadInputError):
        return None


def witness_tip(store: Store) -> None:
    """Note the tip, unless the one that was noted before is missing from its line."""
    try:
        seen = witness.read(store.place.git_dir)
        if seen is None or seen in store.ledger().position:
            witness.write(store.place.git_dir, store.main())
    except (OSError, BadInputError):
        # A sandbox may have no state folder: the context is worth more than the note.
        return
