"""The story of an entry: who proposed each change on which evidence, who approved it, what it replaced."""

from __future__ import annotations

from dataclasses import dataclass

from gitmem import ids
from gitmem.model import entries
from gitmem.model.entries import Entry
from gitmem.model.events import Event
from gitmem.store import Store


@dataclass(frozen=True, slots=True)
class Story:
    """Where an entry's present content comes from, newest first."""

    id: str
    tier: str
    entry: Entry | None
    text: str | None
    chapters: tuple[Chapter, ...] = ()


@dataclass(frozen=True, slots=True)
class Chapter:
    """One approved change of an entry: who proposed it on which evidence, and who approved it."""

    event: Event
    decided: Event
    proposed: Event | None
    before: str | None
    after: str | None


def story(store: Store, key: str) -> Story:
    """Where the entry `key` of a tier comes from; without chapters where there never was one."""
    content = store.approved_content(key)
    try:
        entry = store.entry(key, content)
    except entries.EntryFault:
        entry = None
    proposed: dict[str, Event] = {}
    decided: dict[str, Event] = {}
    chapters: list[Chapter] = []
    for event in store.events():
        if event.candidate is not None and event.kind in (
            "candidate.created",
            "candidate.reopened",
        ):
            proposed[event.candidate] = event
        elif event.kind in ("candidate.applied", "memory.reverted", "memory.synced"):
            decided[event.commit] = event
        elif event.key == key and event.change is not None:
            if event.kind == "memory.unreviewed":
                continue
            before, after = event.change
            chapters.append(
                Chapter(
                    event,
                    decided.get(event.commit, event),
                    proposed.get(event.candidate or ""),
                    store.text(before),
                    store.text(after),
                )
            )
    return Story(
        ids.entry_id(key), store.tier, entry, store.text(content), tuple(reversed(chapters))
    )
