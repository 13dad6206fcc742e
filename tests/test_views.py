"""Tests for the approved view as a context needs it: cached or judged anew, always the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gitmem import index, views
from gitmem.errors import ObjectMissingError
from gitmem.layout import host_repository
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.context import Options


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project's memory with some entries, of which one was changed and one taken back."""
    found = open_memory(project)
    me = found.person()
    found.add(Draft("one", "One.", "fact"), Draft("two", "Two.\r\n\n", "forbidden"), by=me)
    found.add(Draft("one", "1."), by=me)
    three = found.add(Draft("three", "三。", "preference"), by=me)
    found.add(Draft("one", "One."), by=me)
    found.revert(three.candidate or "", by=me)
    return found


def test_with_and_without_the_cache(memory: Memory) -> None:
    """The same text, entries and positions, whoever judged them."""
    judged = memory.context(Options())
    cached = views.given_at(memory.path, Options())
    index.forget([host_repository(memory.path / ".git")])
    again = open_memory(memory.path).context(Options())

    assert judged == cached == again
    assert judged.context.text == (
        "[memory:project:forbidden]\nTwo.\n\n[memory:project:fact]\nOne.\n"
    )


def test_a_cached_context_judges_nothing(memory: Memory) -> None:
    """Where the cache has the answer no store is opened."""
    memory.context(Options())

    def none(_: object) -> object:
        raise AssertionError("a store was opened")

    given = views.given(memory.found, Options(), none)  # type: ignore[arg-type]

    assert given.context.text.startswith("[memory:project:forbidden]")


def test_the_position_is_that_of_the_first_approval(memory: Memory) -> None:
    """Content that comes back is as old as it was: a revert restores the order too."""
    before = memory.context(Options())
    changed = memory.add(Draft("two", "Another."), by=memory.person())
    memory.revert(changed.candidate or "", by=memory.person())
    after = memory.context(Options())

    assert {entry.key: entry.position for entry in before.context.entries} == {"one": 4, "two": 1}
    assert before.context == after.context


def test_a_cache_that_cannot_be_written(memory: Memory, sealed_home: Path) -> None:
    """Nothing depends on it."""
    folder = sealed_home / ".cache" / "gitmem"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("in the way", encoding="utf-8")

    assert "One." in open_memory(memory.path).context(Options()).context.text


def test_a_text_that_is_missing_is_an_error(memory: Memory) -> None:
    """A context is whole or it is none."""
    memory.context(Options())
    blob = memory.store("project").approved()["one"].id
    (host_repository(memory.path / ".git") / "objects" / blob[:2] / blob[2:]).unlink()

    with pytest.raises(ObjectMissingError, match="the text of mem_one"):
        views.given_at(memory.path, Options())


def test_a_text_under_another_ones_id_is_an_error(memory: Memory) -> None:
    """Who writes into the object database itself moves no ref, and git gives what lies there."""
    memory.context(Options())
    objects = memory.store("project").place.git_dir / "objects"
    one, two = (memory.store("project").approved()[key].id for key in ("one", "two"))
    path = objects / two[:2] / two[2:]
    path.chmod(0o644)
    shutil.copyfile(objects / one[:2] / one[2:], path)

    with pytest.raises(ObjectMissingError, match=r"damaged or forged: the text of mem_two"):
        views.given_at(memory.path, Options())


def test_only_the_tiers_that_are_asked_for(memory: Memory) -> None:
    """What is not wanted is not even looked at."""
    assert views.given_at(memory.path, Options(tiers=("user",))).context.text == ""
