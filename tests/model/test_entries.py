"""Entries: reading what people write, writing one canonical form."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInputError
from gitmem.model import entries
from gitmem.model.entries import (
    MAX_BODY_BYTES,
    SCOPES,
    TYPES,
    Entry,
    EntryFault,
    Source,
    body_start,
    check,
    context_body,
    key_of_path,
    parse,
    path_of,
    serialize,
    substance,
)
from gitmem.model.frontmatter import Pairs, Plain, Table, Value

HANDBOOK = """\
---
id: mem_pref_indent
type: preference
scope: project
createdAt: 2026-05-18T10:30:00Z
appliedFrom: cand_2026_xxx
appliedBy: user
sources:
  - sessionId: sess_x
    turnId: turn_y
    evidence: "user 在 turn y 说 '我用 4 space 不用 tab'"
relatedSessions: []
---

用户偏好缩进：4 spaces，不要 tab。

适用于所有项目。除非用户明确说切换。
"""
HANDBOOK_ENTRY = Entry(
    key="pref_indent",
    type="preference",
    scope="project",
    body="用户偏好缩进：4 spaces，不要 tab。\n\n适用于所有项目。除非用户明确说切换。",
    created_at="2026-05-18T10:30:00Z",
    applied_from="cand_2026_xxx",
    applied_by="user",
    sources=(Source("sess_x", "turn_y", "user 在 turn y 说 '我用 4 space 不用 tab'"),),
)

AWKWARD = [
    *["", "no", "1e5", "null", "~", "0777", "12:30", "2026-05-18", "a: b", "- a", "# c", "a #c"],
    *["---", "...", "'q'", '"q"', "a\nb\n", "\\", "\u202e", "\u200b", "\u2028", "\ufeff", "<<"],
    *["2026-05-18T10:30:00Z", "2026-02-30T10:30:00Z", "缩进", "😀", "\x1b[0m", "`x`", "{}", " x "],
]
chars = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.one_of(st.sampled_from(AWKWARD), st.text(chars, max_size=12))
maybe = st.none() | texts
nested: st.SearchStrategy[Value] = st.recursive(
    st.one_of(texts, st.sampled_from(["", "1", "1e5", "true", "~"]).map(Plain)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(texts, inner, max_size=2).map(lambda found: Table(tuple(found.items()))),
    ),
    max_leaves=4,
)
_KNOWN = [*entries._KEYS, *entries._SOURCE_KEYS]
extras: st.SearchStrategy[Pairs] = st.dictionaries(
    texts.filter(lambda key: key not in _KNOWN), nested, max_size=2
).map(lambda found: tuple(found.items()))
bodies = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "---", "id: x", "  code", "[memory:user:fact]", "x  ", "\t", "\ufeff"]
        ),
        st.text(chars.filter(lambda char: char != "\r"), max_size=12),
    ),
    max_size=5,
).map("\n".join)
sources = st.builds(Source, maybe, maybe, maybe, extras)
wild_entries = st.builds(
    Entry,
    key=st.sampled_from(["a", "pref_indent", "build/tests/unit"]),
    type=st.sampled_from(TYPES),
    scope=st.sampled_from(SCOPES),
    body=bodies.filter(lambda body: body.strip() != ""),
    created_at=maybe,
    applied_from=maybe,
    applied_by=maybe,
    sources=st.lists(sources, max_size=2).map(tuple),
    related_sessions=st.lists(texts, max_size=2).map(tuple),
    extra=extras,
)
valid_entries = wild_entries.map(check)


@given(valid_entries)
@settings(max_examples=80, deadline=None)
def test_what_is_written_is_read_again(entry: Entry) -> None:
    """The law of the format: an entry comes back equal, and its file byte for byte."""
    data = serialize(entry)

    again = parse(entry.key, data, tier=entry.scope)

    assert again == entry
    assert serialize(again) == data


@given(valid_entries, st.sampled_from(["\r\n", "\r"]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_what_editors_leave_is_read_the_same(entry: Entry, newline: str, mark: bool) -> None:
    """Other line ends, a byte order mark, blank lines and a missing final newline don't matter."""
    text = serialize(entry).decode().removesuffix("\n").replace("\n---\n\n", "\n--- \n\n \n\n", 1)
    data = ("\ufeff" * mark + text.replace("\n", newline)).encode()

    assert parse(entry.key, data, tier=entry.scope) == entry


@given(valid_entries, st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=40, deadline=None)
def test_the_cheap_way_to_the_body_agrees(entry: Entry, newline: str) -> None:
    """A context that reads the body without YAML shows what parsing would give."""
    data = serialize(entry).replace(b"\n", newline.encode())

    assert context_body(data[body_start(data) :]) == context_body(entry.body) == entry.body


@given(valid_entries)
@settings(max_examples=40, deadline=None)
def test_other_tools_read_the_same(entry: Entry) -> None:
    """A plain YAML 1.1 loader sees every text as that text, and createdAt perhaps as a time."""
    seen = yaml.safe_load(serialize(entry).split(b"\n---\n")[0])

    created = seen.get("createdAt")
    if isinstance(created, datetime):
        created = created.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert created == entry.created_at
    assert seen.get("appliedFrom") == entry.applied_from
    assert [source.get("evidence") for source in seen["sources"]] == [
        source.evidence for source in entry.sources
    ]
    assert tuple(seen["relatedSessions"]) == entry.related_sessions


@given(sources)
@settings(max_examples=40, deadline=None)
def test_a_source_survives_json(source: Source) -> None:
    """A source that went through JSON, as in a trailer, has the same known fields."""
    again = Source.from_json(json.loads(json.dumps(source.to_json())))

    known = (source.session_id, source.turn_id, source.evidence)
    assert (again.session_id, again.turn_id, again.evidence) == known
    assert [key for key, _ in again.extra] == [
        key for key, value in source.extra if value != Plain("null")
    ]


def test_the_handbooks_example_is_canonical() -> None:
    """The handbook's entry is read as it is meant and written byte for byte."""
    assert parse("pref_indent", HANDBOOK.encode(), tier="project") == HANDBOOK_ENTRY
    assert serialize(HANDBOOK_ENTRY).decode() == HANDBOOK
    assert HANDBOOK_ENTRY.id == "mem_pref_indent"


def test_only_type_and_body_are_needed() -> None:
    """A person may write two lines; the rest follows from the file's name and tier."""
    found = parse("a/b", b"---\ntype: fact\n---\nx", tier="user")

    assert found == Entry("a/b", "fact", "user", "x")
    assert serialize(found) == (
        b"---\nid: mem_a/b\ntype: fact\nscope: user\nsources: []\nrelatedSessions: []\n---\n\nx\n"
    )


def test_known_text_is_verbatim() -> None:
    """Where text is meant, a plain scalar is what stands there, whatever YAML makes of it."""
    data = b"""---
type: fact
createdAt: 2026-05-18
appliedFrom: 0777
appliedBy: no
sources:
  - {sessionId: 1e5, turnId: 12, evidence: true}
  - sessionId: null
relatedSessions: [~, 12:30, 007]
---
x
"""

    found = parse("a", data, tier="user")

    assert found.created_at == "2026-05-18"
    assert found.applied_from == "0777"
    assert found.applied_by == "no"
    assert found.sources == (Source("1e5", "12", "true"), Source("null"))
    assert found.related_sessions == ("~", "12:30", "007")


def test_a_known_key_without_a_value_is_absent() -> None:
    """An empty line of a form that a person left is no value."""
    data = b"---\nid:\ntype: fact\nscope:\ncreatedAt:\nsources:\nrelatedSessions:\n---\nx\n"
    source = b"---\ntype: fact\nsources:\n  - sessionId: s\n    turnId:\n---\nx\n"

    assert parse("a", data, tier="user") == Entry("a", "fact", "user", "x")
    assert parse("a", source, tier="user").sources == (Source("s"),)


def test_unknown_keys_are_kept_as_they_are() -> None:
    """What gitmem doesn't know keeps its value, its type and its order, at each level."""
    data = b"""---
z: 0777
type: fact
nested: {b: yes, a: [1e5, "1e5", null, ]}
sources:
  - confidence: 0.90
    sessionId: s
"a b":
---
x
"""
    found = parse("a", data, tier="user")

    assert serialize(found).decode() == (
        "---\nid: mem_a\ntype: fact\nscope: user\n"
        "sources:\n  - sessionId: s\n    confidence: 0.90\nrelatedSessions: []\n"
        'z: 0777\nnested:\n  b: "yes"\n  a:\n    - 1e5\n    - "1e5"\n    - null\n"a b":\n---\n\nx\n'
    )


BAD = {
    "---\nid: mem_b\ntype: fact\n---\nx": "line 2: the id is 'mem_b', and the file's name says",
    "---\ntype: fact\nscope: user\n---\nx": "line 3: the scope is 'user', and the file is project",
    "---\ntype: fact\nscope: all\n---\nx": "line 3: the scope is 'all'",
    "---\nscope: project\n---\nx": "line 1: the type is missing",
    "---\nscope: project\ntype:\n---\nx": "line 3: the type is missing",
    "---\n\ntype: rule\n---\nx": "line 3: 'rule' is no type; there are preference, convention",
    "---\ntype: Fact\n---\nx": "line 2: 'Fact' is no type",
    "---\ntype: [fact]\n---\nx": "line 2: 'type' must be text",
    "---\ntype: fact\nappliedBy: {a: b}\n---\nx": "line 3: 'appliedBy' must be text",
    "---\ntype: fact\nsources: s\n---\nx": "line 3: 'sources' must be a list",
    "---\ntype: fact\nsources:\n  a: b\n---\nx": "line 3: 'sources' must be a list",
    "---\ntype: fact\nsources:\n- a: b\n- s\n---\nx": "line 5: a source must be a mapping",
    "---\ntype: fact\nsources:\n- turnId: []\n---\nx": "line 4: 'turnId' of a source must be text",
    "---\ntype: fact\nrelatedSessions: s\n---\nx": "line 3: 'relatedSessions' must be a list",
    "---\ntype: fact\nrelatedSessions:\n- s\n- [s]\n---\nx": "line 5: a related session must be",
    "---\ntype: fact\n---\n": "the body is empty",
    "---\ntype: fact\n---": "the body is empty",
    "---\ntype: fact\n---\n \n\t\n\u00a0\n": "the body is empty",
    "---\ntype: fact\n---\n" + "x" * (MAX_BODY_BYTES + 1): "the body is larger than 64 KiB",
    "---\ntype: fact\n---\n" + "缩" * (MAX_BODY_BYTES // 3 + 1): "the body is larger than 64 KiB",
    "---\ntype: fact\n---\nx\0": "line 4: there is a NUL byte",
    "---\ntype: fact\ntype: fact\n---\nx": "line 3: the key 'type' is given twice",
    "type: fact\n\nx": "line 1: the file does not begin with front matter",
    "---\ntype: fact\n\nx": "line 1: the front matter that begins here has no closing line",
    "": "line 1: the file does not begin with front matter",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_bad_files_are_said_with_their_line(text: str) -> None:
    """Each way in which a file is no entry has a message that names the place."""
    with pytest.raises(EntryFault) as caught:
        parse("a", text.encode(), tier="project")

    assert caught.value.message.startswith(BAD[text])
    assert caught.value.reference == "entry-invalid"
    assert (caught.value.line is None) == (not BAD[text].startswith("line "))
    assert isinstance(caught.value, BadInputError)


def test_invalid_utf8_in_a_body_is_said_with_its_line() -> None:
    """Bytes that are no text are no memory."""
    with pytest.raises(EntryFault, match="line 6: the text is not valid UTF-8"):
        parse("a", b"---\ntype: fact\n---\n\nx\n\xff\n", tier="user")


def test_the_largest_body_is_taken() -> None:
    """64 KiB are counted without the blank lines around the body and with LF line ends."""
    body = "x\n" * (MAX_BODY_BYTES // 2 - 1) + "xx"
    data = ("---\ntype: fact\n---\n\n\n" + body + "\n\n").replace("\n", "\r\n").encode()

    assert parse("a", data, tier="user").body == body


@pytest.mark.parametrize(
    "values",
    ["[" + "[" * 7 + "]" * 7 + "]", "[" + "~," * 30_000 + "]", '"' + "\\a" * 32_000 + '"'],
    ids=["deep", "many", "escapes"],
)
def test_a_file_whose_canonical_form_breaks_a_limit_is_none(values: str) -> None:
    """Everything that is read can be written and read again."""
    with pytest.raises(EntryFault):
        parse("a", f"---\ntype: fact\nx: {values}\n---\nx\n".encode(), tier="user")


GOOD = Entry("a", "fact", "user", "x")


@pytest.mark.parametrize(
    "entry",
    [
        replace(GOOD, key="A"),
        replace(GOOD, type="rule"),
        replace(GOOD, scope="all"),
        replace(GOOD, body=" \n"),
        replace(GOOD, body="a\0b"),
        replace(GOOD, body="\ud800"),
        replace(GOOD, body="x" * (MAX_BODY_BYTES + 1)),
        replace(GOOD, applied_by="a\0b"),
        replace(GOOD, created_at="\udfff"),
        replace(GOOD, extra=(("type", "fact"),)),
        replace(GOOD, extra=(("k", "1"), ("k", "2"))),
        replace(GOOD, extra=(("k" * 101, "1"),)),
        replace(GOOD, extra=(("k", Plain("text")),)),
        replace(GOOD, extra=(("k", Table((("a", "1"), ("a", "2")))),)),
        replace(GOOD, sources=(Source(extra=(("turnId", "x"),)),)),
        replace(GOOD, sources=(Source(evidence="x" * 70_000),)),
        replace(GOOD, related_sessions=("s",) * 4096),
    ],
    ids=range(17),
)
def test_values_built_in_code_meet_the_same_limits(entry: Entry) -> None:
    """What no file could hold is neither checked nor written."""
    with pytest.raises(EntryFault):
        check(entry)
    with pytest.raises(EntryFault):
        serialize(entry)


def test_check_brings_the_body_into_form() -> None:
    """Text from an editor or an option has line ends and blank lines that a body hasn't."""
    assert check(replace(GOOD, body="\r\n \n  a \r\n\r\nb  \n\n")).body == "  a \n\nb  "
    assert check(GOOD) is GOOD


@pytest.mark.parametrize(
    ("key", "path"),
    [("a", "a.md"), ("build/tests", "build/tests.md"), ("readme", "readme.md")],
)
def test_paths_and_keys(key: str, path: str) -> None:
    """A key has one path and a path one key."""
    assert path_of(key) == path
    assert key_of_path(path) == key


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "LICENSE",
        "a.MD",
        "a.md.md",
        ".md",
        "a/.md",
        "/a.md",
        "a/../b.md",
        "a",
        "con.md",
    ],
)
def test_other_paths_have_no_key(path: str) -> None:
    """A file which no key names is no entry."""
    assert key_of_path(path) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        (" \n\t\n", ""),
        ("x", "x"),
        ("\n\n  x\n\ny  \n \n", "  x\n\ny  "),
        ("x\r\ny\rz\r\n", "x\ny\nz"),
        ("\u00a0\nx\u3000\n\x0c\n", "\u00a0\nx\u3000\n\x0c"),
        (b"\n\xe7\xbc\xa9\n", "缩"),
        ("\n" * 50_000 + "x" + "\n " * 50_000, "x"),
    ],
)
def test_context_body(text: str | bytes, shown: str) -> None:
    """Blank lines around a body go, spaces within its lines stay."""
    assert context_body(text) == shown


def test_substance_is_what_an_entry_says() -> None:
    """Where an entry comes from, how it was approved and the order of unknown keys say nothing."""
    extra: Pairs = (("a", "1"), ("b", Table((("c", "1"), ("d", "2")))))
    turned: Pairs = (("b", Table((("d", "2"), ("c", "1")))), ("a", "1"))
    entry = replace(GOOD, extra=extra)
    other = Entry("a", "fact", "user", "x", "t", "c", "u", (Source("s"),), ("s",), turned)

    assert substance(entry) == substance(other)
    assert hash(substance(entry)) == hash(substance(other))


@pytest.mark.parametrize(
    "other",
    [
        replace(GOOD, key="b"),
        replace(GOOD, type="forbidden"),
        replace(GOOD, scope="project"),
        replace(GOOD, body="x "),
        replace(GOOD, extra=(("k", "1"),)),
    ],
)
def test_substance_differs_where_the_meaning_does(other: Entry) -> None:
    """Each thing that an entry says counts, the difference between text and number too."""
    assert substance(other) != substance(GOOD)
    plain = replace(GOOD, extra=(("k", Plain("1")),))
    assert substance(replace(GOOD, extra=(("k", "1"),))) != substance(plain)


@pytest.mark.parametrize(
    "value", [None, "s", [], {"sessionId": 1}, {"evidence": ["x"]}, {"x": {"y": [[[[[[[[]]]]]]]]}}]
)
def test_a_source_of_another_form_is_refused(value: object) -> None:
    """A source comes from other programs: what isn't one is said."""
    with pytest.raises(EntryFault):
        Source.from_json(value)


def test_yaml_is_imported_only_for_reading() -> None:
    """Paths, bodies and writing stay cheap: the context's hot path never pays for YAML."""
    code = (
        "import sys; from gitmem.model import entries as e; "
        "d = e.serialize(e.Entry('a', 'fact', 'user', 'x')); e.context_body(d[e.body_start(d):]); "
        "print(sorted({'yaml', 'frontmatter'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
