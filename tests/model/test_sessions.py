"""The text of a session: what it can hold, and that its file says just that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import gitmem
from gitmem import ids
from gitmem.cli import session as cli_session
from gitmem.errors import BadInputError, NotFoundError
from gitmem.model import sessions
from gitmem.model.entries import EntryFault
from gitmem.model.sessions import SessionFault, SessionText, parse, serialize

AT = "2026-05-18T10:30:00Z"
EMPTY = SessionText("s1", AT)
SCHEMA = json.loads((Path(gitmem.__file__).parent / "schema" / "session.json").read_text("utf-8"))
KEYS = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}(/[a-z0-9]{1,5})?", fullmatch=True).filter(ids.is_key)
BODIES = st.text(min_size=1, max_size=60).filter(
    lambda body: body.strip() and "\0" not in body and body.isprintable()
)


@settings(deadline=None)
@given(st.lists(st.tuples(KEYS, st.sampled_from(sessions.TYPES), BODIES), max_size=6))
def test_the_file_says_what_was_put(put: list[tuple[str, str, str]]) -> None:
    """Whatever is put comes back, each key once, the last one last, and the file fits its schema."""
    text = EMPTY
    for key, kind, body in put:
        text = text.put(key, kind, body, AT)

    data = serialize(text)

    assert parse(data, "s1") == text
    assert serialize(parse(data, "s1")) == data
    Draft202012Validator(SCHEMA).validate(json.loads(data))
    last = {key: body for key, _, body in put}
    assert {one.key for one in text.kept} == last.keys()
    if put:
        assert text.kept[-1].key == put[-1][0]
        assert text.drop(put[-1][0]).kept == text.kept[:-1]


def test_a_context_reads_the_newest_as_the_newest() -> None:
    """The position of an entry is its place in the file."""
    text = EMPTY.put("a", "fact", "A", AT).put("b", "fact", "B", AT).put("a", "fact", "A2", AT)

    found = text.memories("c" * 40)

    assert [(one.id, one.position, one.tier, one.body) for one in found] == [
        ("mem_b", 0, "session", "B"),
        ("mem_a", 1, "session", "A2"),
    ]


def test_what_it_can_not_hold() -> None:
    """Nothing forbidden, no bad key, no empty body, no more than fits."""
    with pytest.raises(BadInputError) as forbidden:
        EMPTY.put("a", "forbidden", "Never push.", AT)
    assert forbidden.value.reference == "session-forbidden"
    with pytest.raises(BadInputError) as key:
        EMPTY.put("../a", "fact", "A", AT)
    assert key.value.reference == "key-invalid"
    with pytest.raises(EntryFault):
        EMPTY.put("a", "fact", "x" * (sessions.entries.MAX_BODY_BYTES + 1), AT)
    with pytest.raises(NotFoundError):
        EMPTY.drop("a")


def test_too_much_in_all() -> None:
    """A session that would outgrow its file is told before anything is written."""
    text, body = EMPTY, "x" * 60_000
    with pytest.raises(BadInputError) as found:
        for number in range(200):
            text = text.put(f"k{number}", "fact", body, AT)
    assert found.value.reference == "session-too-large"
    assert len(serialize(text)) <= sessions.MAX_BYTES


def test_fields_that_nobody_knows_stay() -> None:
    """A later gitmem's fields, or a user's own, are not lost."""
    document = json.loads(serialize(EMPTY)) | {"mood": "fine"}

    text = parse(json.dumps(document).encode(), "s1").put("a", "fact", "A", AT)

    assert json.loads(serialize(text))["mood"] == "fine"


def _entry(**other: Any) -> dict[str, Any]:
    return {"entries": [{"key": "a", "type": "fact", "body": "A", "at": AT} | other]}


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": "1"},
        {"session": "s2"},
        {"startedAt": None},
        {"endedAt": 5},
        {"related": "s0"},
        {"related": ["../x"]},
        {"entries": {}},
        {"entries": ["a"]},
        _entry(key="../a"),
        _entry(type="forbidden"),
        _entry(body=""),
        _entry(body=None),
        _entry(at=1),
        _entry(at="\ud800"),
        {"startedAt": "\udfff"},
        {"mood": ["\ud800"]},
        {"entries": _entry()["entries"] * 2},
    ],
)
def test_what_is_no_text_of_a_session(change: dict[str, Any]) -> None:
    """One wrong field makes the whole file unreadable: nothing is read in part."""
    document = json.loads(serialize(EMPTY)) | change

    with pytest.raises(SessionFault):
        parse(json.dumps(document).encode(), "s1")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_json(data: bytes) -> None:
    """Cut off, of another shape or hostile: a fault, never a crash."""
    with pytest.raises(SessionFault):
        parse(data, "s1")


def test_the_command_line_knows_the_types() -> None:
    """The choices that the program offers are the model's."""
    assert cli_session.TYPES == sessions.TYPES
