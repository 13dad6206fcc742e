"""What the digest and the fingerprint of a candidate stand for: what changes them, and what doesn't."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.git.objects import Objects
from gitmem.model import candidates, entries
from gitmem.model.approval import Applied
from gitmem.model.candidates import Candidate, Proposed, fingerprint, says_the_same
from gitmem.model.entries import Entry, Source
from gitmem.model.frontmatter import Plain, Table, Value
from gitmem.model.history import REGULAR, SUBMODULE, Blob, Content

LINK, EXECUTABLE = 0o120000, 0o100755
ENTRY = Entry(
    "a",
    "fact",
    "project",
    "Süß, 缩 \U000e0041",
    extra=(("z", "1"), ("y", Table((("n", Plain("2")), ("m", ("x",)))))),
)
# Of ENTRY. It is in people's histories: another one would make their digests mean nothing.
PINNED = "7cd539ddcef85ddbfbc3648a10b58f1b02afe7114dc148f430fde34741d57b55"


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    """The objects of one repository; what a test adds is no other test's business."""
    git_dir = tmp_path_factory.mktemp("objects") / "memory.git"
    subprocess.run(["git", "init", "-q", "--bare", str(git_dir)], check=True)
    return Objects(git_dir, "project")


# -- fingerprints --------------------------------------------------------------------------------

words = st.sampled_from(["", "a", "b", "1", "缩", "table", "\U000e0041"])
values: st.SearchStrategy[Value] = st.recursive(
    words | st.sampled_from(["1", "true"]).map(Plain),
    lambda inner: (
        st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(words, inner, max_size=2).map(lambda found: Table(tuple(found.items())))
    ),
    max_leaves=4,
)
spoken = st.builds(
    Entry,
    st.sampled_from(["a", "a/b"]),
    st.sampled_from(["fact", "forbidden"]),
    st.sampled_from(["user", "project"]),
    st.sampled_from(["a", "b"]),
    created_at=st.sampled_from([None, "2026-05-18T10:30:00Z"]),
    applied_by=st.sampled_from([None, "user"]),
    sources=st.sampled_from([(), (Source("s", None, "said"),)]),
    extra=st.dictionaries(words, values, max_size=2).map(lambda found: tuple(found.items())),
)


@given(spoken, spoken)
@settings(max_examples=150, deadline=None)
def test_one_fingerprint_for_what_says_the_same(one: Entry, other: Entry) -> None:
    """Two entries have one fingerprint if, and only if, they say the same."""
    assert (fingerprint(one) == fingerprint(other)) == says_the_same(one, other)


@given(spoken)
@settings(max_examples=60, deadline=None)
def test_evidence_dates_and_order_say_nothing(entry: Entry) -> None:
    """Where an entry comes from, when it was applied and the order of its keys change nothing."""
    turned = replace(
        entry,
        created_at="1999-01-01T00:00:00Z",
        applied_from="cand_1",
        applied_by="someone",
        sources=(*entry.sources, Source("t", "u", "v")),
        related_sessions=("s",),
        extra=tuple(reversed(entry.extra)),
    )

    assert fingerprint(turned) == fingerprint(entry)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", Plain("1")),
        (Table((("a", "b"),)), (("a", "b"),)),
        (Table((("a", "b"),)), ("table", (("a", "b"),))),
        ((), Table()),
        (("a", "b"), ("b", "a")),
        (("a",), "('a',)"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_look_alikes_differ(one: Value, other: Value) -> None:
    """A number and its text, a list and a mapping, a character and its escape are two things."""
    first, second = (replace(ENTRY, extra=(("k", value),)) for value in (one, other))

    assert fingerprint(first) != fingerprint(second)


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_a_fingerprint_is_the_same_in_every_process(seed: str) -> None:
    """What a person was shown yesterday, by another process, is what they decide on today."""
    code = (
        "import sys; from gitmem.model import candidates, entries; "
        "data = sys.stdin.buffer.read(); "
        "print(candidates.fingerprint(entries.parse('a', data, tier='project')))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        input=entries.serialize(ENTRY),
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )

    assert done.stdout.decode().strip() == PINNED == fingerprint(ENTRY)


def test_a_fingerprint_is_of_what_the_file_says(objects: Objects) -> None:
    """Line ends, a mark at the beginning and another form of the same YAML are no other content."""
    lf = b'---\ntype: fact\nscope: project\nk: "v"\n---\n\nx\ny\n'
    forms = [lf, b"\xef\xbb\xbf" + lf.replace(b"\n", b"\r\n"), lf.replace(b'"', b"'") + b"\n\n"]

    found = {candidates.fingerprint_of(objects, "a", objects.write_blob(data)) for data in forms}

    assert found == {fingerprint(entries.parse("a", lf, tier="project"))}


def test_what_is_no_ordinary_entry_has_its_own_fingerprint(objects: Objects) -> None:
    """The same bytes are other things as a link, an executable or a submodule, and no text at all."""
    good = objects.write_blob(entries.serialize(ENTRY))
    bad, worse = objects.write_blob(b"no entry"), objects.write_blob(b"no entry \xff")
    contents: list[Content] = [
        None,
        *(Blob(blob.id, mode) for blob in (good, bad) for mode in (REGULAR, LINK, EXECUTABLE)),
        Blob(worse.id, REGULAR),
        # Another repository's commits, which are nowhere here.
        Blob("1" * 40, SUBMODULE),
        Blob("2" * 40, SUBMODULE),
    ]

    found = [candidates.fingerprint_of(objects, "a", content) for content in contents]

    assert len(set(found)) == len(contents)
    assert candidates.fingerprint_of(objects, "b", good) != found[1]


# -- digests -------------------------------------------------------------------------------------


def _blob(objects: Objects, body: str, **more: object) -> Blob:
    entry = Entry("a", "fact", "project", body)
    return objects.write_blob(entries.serialize(replace(entry, **more)))


@pytest.fixture
def proposed(objects: Objects) -> Proposed:
    """A change of one entry that goes together with what is approved."""
    old, new = _blob(objects, "old"), _blob(objects, "new")
    return Proposed("a", old, new, old, new)


def _digest(objects: Objects, *items: Proposed, id_: str = "c", why: str = "why") -> str:
    return candidates.digest(objects, id_, why, items, {})


def test_each_thing_that_a_person_reads_changes_the_digest(
    objects: Objects, proposed: Proposed
) -> None:
    """Another id, reason, entry, base, text or approved content is another thing to decide on."""
    other = _blob(objects, "other")
    variants = [
        _digest(objects, proposed),
        _digest(objects, proposed, id_="d"),
        _digest(objects, proposed, why="Why"),
        _digest(objects),
        *(
            _digest(objects, replace(proposed, **{name: content}))
            for name in ("base", "content", "approved")
            for content in (None, other)
        ),
        _digest(objects, proposed, replace(proposed, key="a/b")),
        _digest(objects, proposed, id_="c,", why="hy"),
    ]

    assert len(set(variants)) == len(variants)


def test_what_a_person_does_not_read_leaves_the_digest(
    objects: Objects, proposed: Proposed
) -> None:
    """Evidence, dates and the order of things do not make a candidate another one."""
    second = replace(proposed, key="b")
    evidence = _blob(objects, "new", sources=(Source("s", "t", "u"),), created_at="2026")
    same = [
        _digest(objects, second, proposed),
        _digest(objects, second, replace(proposed, content=evidence, result=evidence)),
    ]

    assert set(same) == {_digest(objects, proposed, second)}


def test_other_files_change_the_digest(objects: Objects, proposed: Proposed) -> None:
    """A file beside the entries counts with its path, its mode, its content and its deletion."""

    def of(files: dict[str, Content]) -> str:
        return candidates.digest(objects, "c", "why", [proposed], files)

    one, other = objects.write_blob(b"1"), objects.write_blob(b"2")
    several: list[dict[str, Content]] = [
        {},
        {"README.md": one},
        {"README.md": other},
        {"README.md": Blob(one.id, EXECUTABLE)},
        {"README.md": None},
        {"LICENSE": one},
        {"README.md": one, "LICENSE": None},
    ]

    assert len({of(files) for files in several}) == len(several)
    assert of({"LICENSE": None, "README.md": one}) == of({"README.md": one, "LICENSE": None})


# -- JSON ----------------------------------------------------------------------------------------


def test_a_candidate_as_json(proposed: Proposed) -> None:
    """Conflicts are those entries alone that have one, and all of it is JSON."""
    crossed = replace(proposed, key="b/c", result=None, conflict="both changed the body")
    found = Candidate(
        "cand_1",
        "project",
        "pending",
        "1" * 40,
        Applied("cand_1", ("0" * 40, "1" * 40)),
        None,
        (proposed, crossed),
        "why",
        ({"sessionId": "s"},),
        None,
        "agent",
        1_780_000_000,
        "refs/heads/memory/candidate/cand_1",
    )

    document = json.loads(json.dumps(candidates.to_json(found)))

    assert found.first == "0" * 40
    assert document["entries"] == ["mem_a", "mem_b/c"]
    assert document["conflicts"] == ["mem_b/c"]
    assert document["createdAt"] == "2026-05-28T20:26:40Z"
    assert document["sources"] == [{"sessionId": "s"}]
    assert document["supersededBy"] is None
