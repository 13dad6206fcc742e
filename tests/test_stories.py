"""Tests for the story of an entry."""

from __future__ import annotations

from pathlib import Path

from gitmem import stories
from gitmem.memory import Draft, open_memory
from gitmem.model.entries import Source


def test_newest_first_with_evidence_and_approval(project: Path) -> None:
    """Each chapter has who proposed it and why, who approved it, and what it replaced."""
    memory = open_memory(project)
    me = memory.person()
    source = Source("s1", "t4", "use 4")
    first = memory.propose(
        Draft("indent", "4 spaces.", "preference"), rationale="said so", sources=[source]
    )
    memory.apply(first.id, by=me)
    memory.add(Draft("indent", "2 spaces."), by=me, rationale="new style")

    story = stories.story(memory.store("project"), "indent")

    assert story.id == "mem_indent"
    assert story.entry is not None
    assert story.entry.body == "2 spaces."
    newest, oldest = story.chapters
    assert oldest.proposed is not None
    assert oldest.proposed.details["rationale"] == "said so"
    assert oldest.proposed.details["sources"] == [source.to_json()]
    assert (oldest.before, oldest.decided.actor) == (None, me.name)
    assert newest.before == oldest.after
    assert "2 spaces." in (newest.after or "")


def test_an_entry_that_never_was(project: Path) -> None:
    """It has no text and no chapters."""
    story = stories.story(open_memory(project).store("project"), "nothing")

    assert (story.entry, story.text, story.chapters) == (None, None, ())


def test_an_entry_that_is_gone(project: Path) -> None:
    """The text stays in the story: deleting is an event, not forgetting."""
    memory = open_memory(project)
    memory.add(Draft("old", "Old.", "fact"), by=memory.person())
    memory.add(Draft("old", delete=True), by=memory.person())
    story = stories.story(memory.store("project"), "old")

    assert story.entry is None
    assert [(chapter.event.kind, chapter.after is None) for chapter in story.chapters] == [
        ("memory.deleted", True),
        ("memory.updated", False),
    ]
