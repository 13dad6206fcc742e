"""The approved view of a tier at `memory/main`, as a context needs it: cached, or judged anew."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem import ids, index, witness
from gitmem.errors import BadInputError
from gitmem.model import entries, merge, tiers
from gitmem.store import Store


def current(store: Store) -> index.CachedView:
    """The view at today's `memory/main`."""
    cached = index.read(store.place.git_dir, store.main(), rule=merge.RULE)
    if cached is not None:
        return cached
    view = judged(store)
    index.write(store.place.git_dir, view, rule=merge.RULE)
    witness_tip(store)
    return view


def judged(store: Store) -> index.CachedView:
    """The same, from refs and objects alone."""
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
            seen = {source.session_id for source in entry.sources if source.session_id}
            sessions = tuple(sorted(seen.union(entry.related_sessions)))
            position = positions[key]
            commit = line[position].commit
            known.append(index.Known(key, entry.type, content.id, position, commit, sessions))
    return index.CachedView(store.main(), tuple(known), tuple(_unreviewed(store)), tuple(broken))


def _unreviewed(store: Store) -> Iterator[tuple[str, str, str | None]]:
    ledger = store.ledger()
    held = dict(ledger.view.held)
    for judgement in reversed(ledger.line):
        for key in sorted(judgement.unreviewed.keys() & held.keys()):
            found = store.objects.content(ledger.view.tree, key)
            yield key, judgement.commit, found.id if found is not None else None
            del held[key]
        if not held:
            return


def memories(store: Store, view: index.CachedView) -> list[tiers.Memory]:
    """The approved entries of a view with their texts, which come from blobs."""
    store.objects.load(known.blob for known in view.entries)
    return [
        tiers.Memory(
            key=known.key,
            id=ids.entry_id(known.key),
            tier=store.tier,
            scope=store.tier,
            type=known.type,
            body=_body(store.objects.data(known.blob)),
            position=known.position,
            commit=known.commit,
            blob=known.blob,
            sessions=frozenset(known.sessions),
        )
        for known in view.entries
    ]


def _body(data: bytes) -> str:
    return entries.context_body(data[entries.body_start(data) :])


# -- the witness ---------------------------------------------------------------------------------


def warnings(store: Store) -> list[str]:
    """What must be said beside a context: that approved memory vanished from `memory/main`."""
    seen, tip = _seen(store), store.main()
    if seen is None or seen == tip or seen in store.ledger().position:
        return []
    what = f"the {store.tier} memory stood at {seen[:12]} and memory/main no longer has it"
    return [f"{what}: run gitmem verify"]


def _seen(store: Store) -> str | None:
    try:
        return witness.read(store.place.git_dir)
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
