from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gitmem import review
from gitmem.cli.terminal import Terminal
from gitmem.cli.viewing import Viewer
from gitmem.memory import Draft, Memory, open_memory


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with two candidates that say nearly the same."""
    memory = open_memory(project)
    for key, body in (
        ("one", "Commit messages in English."),
        ("two", "Commit messages in German."),
    ):
        memory.propose(Draft(key, body, "fact"), rationale="r")
    return memory


def viewer(memory: Memory) -> tuple[Viewer, tuple[review.Item, ...]]:
    items = review.queue(memory).items
    return Viewer(memory, items, Terminal(plain=True)), items


def test_neighbours_have_numbers(memory: Memory) -> None:
    """Each stands in a row of its own, with the number by which it can be chosen."""
    shown, (item, other) = viewer(memory)

    (near,) = shown.view(item).sheet.near

    key = other.found.entries[0].key
    assert near.startswith(f"1 mem_{key} ({other.found.id}, ")
    assert near.endswith(f"% alike): {review.body(memory, other.found, other.found.entries[0])}")


def test_without_the_library_that_compares(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A review works without neighbours."""
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    shown, (item, _) = viewer(memory)

    view = shown.view(item)

    assert (view.neighbours, view.sheet.near) == ([], ())
    assert view.pages


def test_a_view_is_read_anew(memory: Memory) -> None:
    """What is on the screen is the candidate as it is now, and none that waits no more."""
    shown, (item, other) = viewer(memory)
    texts = {item.found.entries[0].key: b"---\ntype: fact\n---\n\nChanged.\n"}
    memory.edit(item.found.id, texts, by=memory.person())
    memory.discard(other.found.id, by=memory.person())

    again = shown.read(item)

    assert again is not None
    assert again.found.digest != item.found.digest
    assert shown.view(again).sheet.changes[0].after is not None
    assert shown.read(other) is None


def test_pages_that_nobody_saw(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    """A page counts as seen once it was shown."""
    drafts = [Draft(f"e{number:02}", "Rule.", "fact") for number in range(40)]
    id_ = memory.propose(*drafts, rationale="r").id
    shown, _ = viewer(memory)
    view = shown.view(review.Item(memory.candidate(id_)))

    shown.show_page(view, 0, "first")
    shown.show_page(view, 7, "entry 7")

    assert len(view.unseen) == 39
    assert capsys.readouterr().out.count("\n-- entry 7 --") == 1
