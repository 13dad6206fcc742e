"""A session's record as messages of commits: what is written is what is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model import records
from gitmem.model.context import Options, build
from gitmem.model.history import Commit, Person
from gitmem.model.records import Built, Record, RecordFault, built_of, following, with_context
from gitmem.model.tiers import Memory

PIN = "a" * 40
PINS = {"project": PIN, "user": "b" * 40}
START = Record("session.started", "s1", 5, PINS, ("s0",))
IDS = st.lists(st.sampled_from(["mem_a", "mem_b", "mem_c/d"]), unique=True).map(tuple)
BY_TIER = st.dictionaries(st.sampled_from(["user", "project", "session"]), IDS)


def as_commit(message: str, at: int = 5) -> Commit:
    person = Person("gitmem", "gitmem@localhost", at, 0)
    return Commit("c" * 40, (PIN,), "d" * 40, message, person, person)


def built(**other: object) -> Built:
    found = Built(
        number=0,
        options=Options(9000, "characters", ("user", "project"), "s1", frozenset({"s0"})),
        approval={"project": "open"},
        rule=1,
        digest="e" * 64,
        sizes={"characters": 1, "bytes": 1, "tokens": 1},
        entries={},
    )
    return replace(found, **other)  # type: ignore[arg-type]


BUILT = st.builds(
    built,
    options=st.builds(
        Options,
        st.none() | st.integers(0, 10**6),
        st.sampled_from(["characters", "bytes", "tokens"]),
        st.just(("user", "session")),
        st.just("s1"),
        st.just(frozenset({"s0"})),
    ),
    entries=BY_TIER,
    left_out=BY_TIER,
    quarantined=BY_TIER,
    given=IDS,
    pinned=st.booleans(),
    over_budget=st.booleans(),
    session_fault=st.none() | st.text(max_size=20).filter(lambda text: "\0" not in text),
)


@settings(deadline=None)
@given(BUILT)
def test_a_record_comes_back(made: Built) -> None:
    """Every field, through the message of a commit."""
    record = with_context(START, 7, PINS, made)

    found = records.read(as_commit(records.message(record), 7))

    assert found == replace(record, commit="c" * 40)


def test_the_end_knows_all_that_was_given() -> None:
    """Whoever asks what a session was given reads one commit, also after its end."""
    one = with_context(START, 6, PINS, built(entries={"project": ("mem_b", "mem_a")}))
    two = with_context(one, 7, PINS, built(entries={"user": ("mem_u",), "project": ("mem_c",)}))
    end = following(two, "session.ended", 8, PINS)

    assert two.built is not None
    assert (two.built.number, end.contexts) == (2, 2)
    assert end.had == {"user": ("mem_u",), "project": ("mem_a", "mem_b", "mem_c")}
    assert end.given == {"mem_u", "mem_a", "mem_b", "mem_c"}
    assert end.built is None


def test_what_a_context_leaves_in_the_record() -> None:
    """Ids by tier, the digest and the sizes: never a text."""
    secret = "The parser is broken on purpose."
    memories = [
        Memory("a", "mem_a", "project", "project", "fact", "A fact.", 1, PIN, PIN),
        Memory("s", "mem_s", "session", "session", "fact", secret, 1, PIN, ""),
        Memory("t", "mem_t", "project", "project", "fact", "x" * 100, 0, PIN, PIN),
    ]
    options = Options(100, session="s1")
    context = build(memories, options)

    made = built_of(context, options, approval={"project": "open"}, rule=1)
    message = records.message(with_context(START, 6, PINS, made))

    assert made.entries == {"project": ("mem_a",), "session": ("mem_s",)}
    assert made.left_out == {"project": ("mem_t",)}
    assert made.digest == context.digest
    assert secret not in message
    assert "A fact." not in message


def test_what_is_of_no_session() -> None:
    """A commit of memory/main, or one that only keeps others, is no record."""
    assert records.read(as_commit("Merge branch 'x'\n")) is None
    assert records.read(as_commit("memory: keep\n\nMemory-Session: s1\n")) is None


@pytest.mark.parametrize(
    "document",
    ["", "{", "[]", "{}", '{"version": 2}', '{"version": 1}', '{"version": "x"}'],
)
def test_what_can_not_be_read(document: str) -> None:
    """A broken document, and one of a newer gitmem, are told."""
    message = f"memory: start\n\n{document}\n\nMemory-Event: session.started\nMemory-Session: s1\n"

    with pytest.raises(RecordFault):
        records.read(as_commit(message))


_ODD = (None, 5, "x", [], {}, [5], {"a": 5}, {"a": None}, True, float("inf"), "\n" * 40)


def _places(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for name, below in value.items():
            yield (*path, name)
            yield from _places(below, (*path, name))


def test_anything_may_stand_anywhere() -> None:
    """Whatever somebody made of a record, it is read, or it is told that it can't be."""
    message = records.message(with_context(START, 6, PINS, built(entries={"user": ("mem_u",)})))
    (line,) = (line for line in message.split("\n") if line.startswith("{"))
    told = 0
    for *above, last in _places(json.loads(line)):
        for odd in _ODD:
            document = json.loads(line)
            here = document
            for name in above:
                here = here[name]
            here[last] = odd
            try:
                records.read(as_commit(message.replace(line, json.dumps(document))))
            except RecordFault:
                told += 1
    assert told > 50


@pytest.mark.parametrize("pin", ["main", "a" * 39, "A" * 40, "a" * 40 + "\n", 5])
def test_a_pin_is_the_id_of_a_commit(pin: object) -> None:
    """Nothing else gets to git under that name."""
    message = records.message(START).replace(json.dumps(PIN), json.dumps(pin))

    with pytest.raises(RecordFault):
        records.read(as_commit(message))


def test_the_document_is_one_line_of_json() -> None:
    """Other programs read it with git alone."""
    body = records.message(START).split("\n\n")[1]

    assert json.loads(body)["pins"] == PINS
