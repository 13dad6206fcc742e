"""The story of an entry or of a session: who proposed each change on which evidence, who approved it, what it replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitmem import ids
from gitmem.model import entries
from gitmem.model.entries import Entry
from gitmem.model.events import Event
from gitmem.store import Store


@dataclass(frozen=True, slots=True)
class Story:
    """Where an entry's present content comes from, newest first.

    `sessions` are those whose contexts had the entry, as far as this machine knows.
    """

    id: str
    tier: str
    entry: Entry | None
    text: str | None
    chapters: tuple[Chapter, ...] = ()
    sessions: tuple[str, ...] = ()


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


Told = tuple[Store, Event]
"""An event, and the store that can load its texts."""


def of_session(session: str, own: Iterable[Told], log: Iterable[Told]) -> list[Told]:
    """All that has to do with a session: its record, and what of the log came from it.

    That is what became of the candidates for which it gave evidence. Both parts have an order of
    their own, which is kept; how they mingle goes by their times.
    """
    shared = list(log)
    ours = {
        (one.tier, one.candidate)
        for _, one in shared
        if any(source.get("sessionId") == session for source in one.details.get("sources", ()))
    }
    waiting = list(own)
    story: list[Told] = []
    for item in shared:
        if (item[1].tier, item[1].candidate) not in ours:
            continue
        while waiting and waiting[0][1].at <= item[1].at:
            story.append(waiting.pop(0))
        story.append(item)
    return story + waiting
