"""An exported log: what it says, that it fits its schema, and every way in which it can be broken."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import schema
from build import Builder, text

from gitmem import layout, replay
from gitmem.errors import BadInputError
from gitmem.exchange import eventlog
from gitmem.layout import TierPlace
from gitmem.model import events
from gitmem.model.context import Options
from gitmem.model.history import Blob
from gitmem.store import Store

Edit = Callable[[list[dict[str, Any]]], Any]


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    """A builder on a fresh repository."""
    return Builder.at(tmp_path)


def store_of(repo: Builder, tip: str, **candidates: str) -> Store:
    """The store of a repository with these refs."""
    for name, commit in {
        layout.MAIN: tip,
        **{layout.candidate_ref(id_): commit for id_, commit in candidates.items()},
    }.items():
        path = repo.git_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{commit}\n")
    return Store(TierPlace("project", repo.git_dir, None, repo.git_dir, None, linked=False))


def as_text(lines: list[dict[str, Any]]) -> str:
    """A log's file."""
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def context(log: eventlog.Log, commit: str) -> str:
    """What an agent read at a commit, by a log."""
    return replay.of_log_at(log, commit, Options()).given.context.text


@pytest.fixture
def lines(repo: Builder) -> list[dict[str, Any]]:
    """The log of two approvals and a change that nobody reviewed."""
    main = repo.approve(repo.approve(repo.root, {"a": "A"}, "cand_1"), {"b": "B"}, "cand_2")
    return eventlog.written([store_of(repo, repo.commit([main], {"b": "slipped in"}))])


def test_what_is_written(lines: list[dict[str, Any]]) -> None:
    """A header, a record for each commit of the approval line, and its events behind it."""
    header, *records = lines

    assert header["format"] == "gitmem-log"
    assert header["version"] == 1
    assert header["records"] == len(records) == 11
    assert header["tiers"]["project"]["approval"] == "open"
    assert [one["n"] for one in records] == list(range(1, 12))
    assert [one.get("judgement") or one["kind"] for one in records] == [
        "start",
        "candidate.created",
        "apply",
        "candidate.applied",
        "memory.updated",
        "candidate.created",
        "apply",
        "candidate.applied",
        "memory.updated",
        "direct",
        "memory.unreviewed",
    ]
    assert list(records[-2]["held"]) == ["mem_b"]


def test_each_line_fits_the_schema(lines: list[dict[str, Any]], repo: Builder) -> None:
    """The file as it is written, with every kind of record."""
    store = store_of(repo, lines[0]["tiers"]["project"]["tip"])
    for line in [*lines, *eventlog.written([store], since=1_780_000_004)]:
        schema.validator().validate(line)


def test_what_the_docs_show_fits_the_schema() -> None:
    """Each line of JSON in the page of events, of `log` and of `export log`; each kind has its row."""
    page = (Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
    shown = [json.loads(line) for line in page.split("\n") if line.startswith("{")]
    kinds = {name for name in schema.validator().schema["$defs"] if "." in name}

    assert len(shown) > 3
    assert [line for line in shown if not schema.validator().is_valid(line)] == []
    assert kinds == set(events.KINDS)
    assert [kind for kind in kinds if f"| `{kind}` |" not in page] == []


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "memory.forgotten"},
        {"at": "yesterday"},
        {"commit": "main"},
        {"entry": "a"},
        {"surprise": 1},
        {"after": 7},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_schema_refuses(lines: list[dict[str, Any]], change: dict[str, Any]) -> None:
    """A kind, a field or a value that is none of ours."""
    updated = next(line for line in lines if line.get("kind") == "memory.updated")

    assert schema.validator().is_valid(updated)
    assert not schema.validator().is_valid({**updated, **change})


def test_it_is_read_as_it_was_written(lines: list[dict[str, Any]]) -> None:
    """Each commit has its step, and the texts are known by their blobs."""
    log = eventlog.read(as_text(lines)).tiers["project"]

    assert [step.kind for step in log.steps.values()] == ["start", "apply", "apply", "direct"]
    assert log.texts.keys() >= {
        content.id
        for step in log.steps.values()
        for content in step.changes.values()
        if content is not None
    }


def test_a_log_that_begins_later(repo: Builder) -> None:
    """It has the texts that were in force, and no event from before."""
    first = repo.approve(repo.root, {"a": "old", "gone": "G"}, "cand_1")
    second = repo.approve(first, {"a": "A", "gone": None}, "cand_2")
    third = repo.approve(second, {"b": "B"}, "cand_3")
    store = store_of(repo, third)
    begin = repo.objects.commit(third).committer.time
    log = eventlog.read(as_text(eventlog.written([store], since=begin)))

    assert context(log, third) == "[memory:project:fact]\nB\n\n[memory:project:fact]\nA\n"
    assert context(log, second) == "[memory:project:fact]\nA\n"
    with pytest.raises(BadInputError) as caught:
        context(log, first)
    assert caught.value.reference == "log-text-missing"
    kinds = [line.get("kind") for line in eventlog.written([store], since=begin)]
    assert [kind for kind in kinds if kind] == ["candidate.applied", "memory.updated"]


def test_a_log_that_begins_on_a_joined_line(repo: Builder) -> None:
    """It has what was approved where that line forked, though the other one had moved on."""
    fork = repo.approve(repo.root, {"a": "old"}, "cand_1")
    candidate = repo.propose(fork, {"b": "B"}, "cand_2")
    ours = repo.approve(fork, {"a": "new"}, "cand_3")
    theirs = repo.apply(fork, candidate, "cand_2")
    store = store_of(repo, repo.pull(ours, theirs))
    begin = repo.objects.commit(theirs).committer.time
    lines = eventlog.written([store], since=begin)
    log = eventlog.read(as_text(lines))

    assert {line["commit"] for line in lines if "kind" in line} == {theirs, store.main()}
    assert context(log, theirs) == "[memory:project:fact]\nB\n\n[memory:project:fact]\nold\n"
    assert context(log, store.main()) == "[memory:project:fact]\nB\n\n[memory:project:fact]\nnew\n"


def test_a_log_of_nothing_since(repo: Builder) -> None:
    """No event is left, and the context of the tip is there all the same."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    log = eventlog.read(as_text(eventlog.written([store_of(repo, main)], since=2_000_000_000)))

    assert context(log, main) == "[memory:project:fact]\nA\n"


def test_what_is_no_text_and_no_file(repo: Builder) -> None:
    """A link, bytes that are no UTF-8 and a submodule come through as they are."""
    latin = repo.objects.write_blob(b"---\ntype: fact\n---\n\ncaf\xe9\n")
    files = {
        "link.md": Blob(repo.objects.write_blob(b"a.md").id, 0o120000),
        "latin.md": latin,
        "sub.md": Blob(repo.root, 0o160000),
        "a.md": repo.objects.write_blob(text("a", "A")),
    }
    tip = repo.apply(repo.root, repo.commit([repo.root], {}, "x\n", files=files), "cand_1")
    store = store_of(repo, tip)
    log = eventlog.read(as_text(eventlog.written([store])))
    found = replay.of_log_at(log, tip, Options()).given

    assert found.context.text == "[memory:project:fact]\nA\n"
    assert [id_ for id_, _ in found.broken] == ["mem_latin", "mem_link", "mem_sub"]
    assert log.tiers["project"].texts[latin.id].endswith(b"caf\xe9\n")


# -- bad input -------------------------------------------------------------------------------------


def _set(number: int, **fields: Any) -> Edit:
    def edit(lines: list[dict[str, Any]]) -> None:
        lines[number].update(fields)

    return edit


def _swap(lines: list[dict[str, Any]]) -> None:
    lines[4], lines[5] = lines[5], lines[4]


@pytest.mark.parametrize(
    ("edit", "reference"),
    [
        (lambda lines: lines.clear(), "log-invalid"),
        (lambda lines: lines.pop(0), "log-invalid"),
        (lambda lines: lines.pop(), "log-cut-off"),
        (lambda lines: lines.pop(4), "log-out-of-order"),
        (lambda lines: lines.insert(5, dict(lines[4])), "log-out-of-order"),
        (lambda lines: lines.append({**lines[-1], "n": 12}), "log-out-of-order"),
        (_swap, "log-out-of-order"),
        (_set(0, version=2), "log-newer"),
        (_set(0, version="1"), "log-invalid"),
        (_set(0, records=-1), "log-invalid"),
        (_set(0, tiers={"session": {"tip": "0" * 40}}), "log-invalid"),
        (_set(0, tiers={"project": {"tip": "0" * 40}}), "log-invalid"),
        (_set(0, tiers={"project": {"tip": None}}), "log-invalid"),
        (_set(1, judgement="vote"), "log-kind-unknown"),
        (_set(1, tier="user"), "log-invalid"),
        (_set(1, parents=["0" * 40]), "log-invalid"),
        (_set(1, parents="none"), "log-invalid"),
        (_set(1, changes={"../x": None}), "log-invalid"),
        (_set(1, changes={"mem_a": "A"}), "log-invalid"),
        (_set(1, changes=[]), "log-invalid"),
        (_set(1, held={"mem_a": "A"}), "log-invalid"),
        (_set(1, commit="0"), "log-invalid"),
        (_set(1, at="soon"), "log-invalid"),
        (_set(1, at="2026-05-18T10:30:00"), "log-invalid"),
        (_set(5, kind="memory.forgotten"), "log-kind-unknown"),
        (_set(5, kind="context.built"), "log-kind-unknown"),
        (_set(5, kind=None), "log-invalid"),
        (_set(5, n="5"), "log-invalid"),
        (_set(5, after="---\ntype: fact\n---\n\nforged\n"), "log-snapshot-wrong"),
        (_set(5, after=None), "log-snapshot-wrong"),
        (_set(5, after=["A"]), "log-invalid"),
        (_set(5, after={"base64": "!"}), "log-invalid"),
        (_set(4, after={"mem_a": "forged"}), "log-snapshot-wrong"),
        (lambda lines: lines[5].pop("before"), "log-invalid"),
    ],
)
def test_a_broken_log(lines: list[dict[str, Any]], edit: Edit, reference: str) -> None:
    """Each has an error of its own, and none is read in part."""
    edit(lines)
    with pytest.raises(BadInputError) as caught:
        eventlog.read(as_text(lines))

    assert caught.value.reference == reference


def test_a_log_that_was_cut_anywhere(lines: list[dict[str, Any]]) -> None:
    """Wherever it ends too early, this is said; a missing last line end is no harm."""
    whole = as_text(lines)
    first = whole.index("\n")
    for end in range(first, len(whole) - 1, 37):
        with pytest.raises(BadInputError) as caught:
            eventlog.read(whole[:end])
        assert caught.value.reference == "log-cut-off"

    assert eventlog.read(whole[:-1]) == eventlog.read(whole)


def test_a_file_that_is_something_else() -> None:
    """Text, JSON of another kind, and what can't be nested so deep."""
    for other in ("", "# A project\n", "{}\n", "[]\n", "[" * 100_000 + "\n", '{"format": 1}'):
        with pytest.raises(BadInputError) as caught:
            eventlog.read(other)
        assert caught.value.reference == "log-invalid"


def test_a_forged_text_of_before(repo: Builder) -> None:
    """A text that is not what its blob's id says is refused."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    lines = eventlog.written([store_of(repo, main)], since=2_000_000_000)
    lines[-1]["text"] = "forged"
    with pytest.raises(BadInputError) as caught:
        eventlog.read(as_text(lines))

    assert caught.value.reference == "log-snapshot-wrong"
