"""Tests of the view cache: it may be stale, broken or gone, and no answer depends on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gitmem import audit, index
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model import context
from gitmem.model.history import Person

ANN = Person("Ann", "ann@example.org", 0, 0)


@pytest.fixture
def here(project: Path) -> Memory:
    """A project with one approved entry, whose view is cached."""
    memory = open_memory(project)
    memory.add(Draft("one", "First.", "fact"), by=ANN)
    _text(memory)
    return memory


def _text(here: Memory) -> str:
    return here.context(context.Options()).context.text


def _cache(here: Memory) -> Path:
    return index.path_of(here.store("project").place.git_dir)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "null",
        "[]",
        "\udcff",
        "[" * 100_000,
        '{"version": [0, 0]}',
        "change:entries=5",
        "change:entries=[[1, 2, 3, 4, 5, 6, []]]",
        'change:entries=[["a", "fact", "x", -1, 0, "c", []]]',
        'change:entries=[["a", "fact"]]',
        "change:unreviewed=[[1, 2, 3]]",
        "change:broken=[[null, null]]",
    ],
    ids=lambda data: data[:30],
)
def test_broken_cache_is_not_looked_at(here: Memory, data: str) -> None:
    """A cache that is none is passed over and made again."""
    text, file = _text(here), _cache(here)
    good = file.read_bytes()
    if data.startswith("change:"):
        name, _, value = data.removeprefix("change:").partition("=")
        document = json.loads(good)
        document["view"][name] = json.loads(value)
        data = json.dumps(document)
    file.write_bytes(data.encode("utf-8", "surrogateescape"))
    assert _text(here) == text
    assert file.read_bytes() == good


def test_stale_cache_is_not_looked_at(here: Memory) -> None:
    """The cache of another tip changes no context."""
    stale = _cache(here).read_bytes()
    here.add(Draft("two", "Second.", "fact"), by=ANN)
    _cache(here).write_bytes(stale)
    assert "Second." in _text(here)
    assert audit.verify(here).findings == ()


def test_no_place_for_a_cache(here: Memory) -> None:
    """Where nothing can be cached the context is the same."""
    text, folder = _text(here), _cache(here).parent
    shutil.rmtree(folder)
    folder.write_text("no folder")
    assert _text(here) == text


def test_lying_cache_is_a_finding(here: Memory) -> None:
    """`verify` asks no cache and says when one disagrees; without it all is well."""
    file = _cache(here)
    document = json.loads(file.read_bytes())
    document["view"]["entries"][0][1] = "forbidden"
    file.write_text(json.dumps(document))
    (finding,) = audit.verify(here).findings
    assert finding.kind == "cache-disagrees"
    assert str(file) in finding.hint
    file.unlink()
    assert audit.verify(here).findings == ()
