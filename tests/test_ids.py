"""The grammar of names, with git as the oracle for what is safe in a ref and in a tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem import clock, ids, layout
from gitmem.errors import BadInputError

# Whatever has a meaning to git, to a file system or to a shell, between harmless letters.
_ODD = [
    "",
    "a",
    "b9",
    "A",
    ".",
    "..",
    "/",
    "//",
    "-",
    "_",
    "@",
    "@{",
    "~",
    "^",
    ":",
    "?",
    "*",
    "[",
    " ",
]
_ODD += [
    "\\",
    "\n",
    "\r",
    "\0",
    "\x7f",
    ".lock",
    ".LOCK",
    ".md",
    ".git",
    "git~1",
    "é",
    "K",
    "١",
    "con",
]
names = st.lists(st.sampled_from(_ODD), max_size=5).map("".join)


def _git_takes(ref: str) -> bool:
    done = subprocess.run(["git", "check-ref-format", ref], check=False)
    return done.returncode == 0


@given(names.filter(lambda name: "\0" not in name))
@settings(max_examples=60, deadline=None)
def test_git_takes_every_name_of_ours(name: str) -> None:
    """What passes as the id of a candidate or of a session is a good ref name of one component."""
    for fault, ref in (
        (ids.candidate_fault, layout.candidate_ref),
        (ids.session_fault, layout.session_ref),
    ):
        if fault(name) is None:
            assert "/" not in name
            assert _git_takes(ref(name))


@pytest.mark.parametrize(
    "name", ["a..b", "a.", "a.lock", ".a", "-a", "_a", "", "a/b", "a\n", "a b", "é", "x" * 129]
)
def test_no_session_id(name: str) -> None:
    """A name that git or a file system would not take is refused; so is an option."""
    assert ids.session_fault(name) is not None


@pytest.mark.parametrize("name", ["a", "0", "A.b_c-D", "a.lock.b", "x" * 128, "2026-05-18T10.30"])
def test_session_id(name: str) -> None:
    """Other tools choose these: capitals and dots are theirs to take."""
    assert ids.session_fault(name) is None
    assert _git_takes(layout.session_ref(name))


@pytest.mark.parametrize(
    ("name", "yes"),
    [("a", True), ("-", True), ("_x", True), ("x" * 100, True), ("x" * 101, False), ("a\n", False)]
    + [(name, False) for name in ("", "A", "a.b", "a/b", "é", "١", "a b")],
)
def test_candidate_id(name: str, yes: bool) -> None:
    """A hand-made branch may have any name of a-z, 0-9, `_` and `-`."""
    assert ids.is_candidate_id(name) is yes


def test_a_fresh_id_follows_the_grammar() -> None:
    """What is made here is taken everywhere, and no two are alike."""
    made = {ids.new_candidate_id(2026, clock.random_suffix()) for _ in range(1000)}

    assert len(made) == 1000
    assert all(ids.is_candidate_id(id_) and len(id_) == 18 for id_ in made)


@given(names | st.lists(st.sampled_from(["a", "b9", "x-y", "con", "com1", "nul0"])).map("/".join))
@settings(max_examples=300, deadline=None)
def test_a_key_is_safe_wherever_it_lies(key: str) -> None:
    """A key is a path of plain names: none goes up, hides, is an option or is Windows's own."""
    if ids.key_fault(key) is not None:
        with pytest.raises(BadInputError) as caught:
            ids.check_key(key)
        assert caught.value.reference == "key-invalid"
        assert not ids.is_key(key)
        return
    assert ids.check_key(key) == key
    assert ids.key_of(ids.entry_id(key)) == key
    segments = key.split("/")
    assert 1 <= len(segments) <= 4
    for segment in segments:
        assert segment.isascii()
        assert segment == segment.lower()
        assert segment[0].isalnum()
        assert set(segment) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")
        assert segment not in ids.WINDOWS_DEVICES


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "it is empty"),
        ("/a", "the segment ''"),
        ("a/", "the segment ''"),
        ("a/b/c/d/e", "it has 5 segments, 4 are allowed"),
        ("Build", "has capital letters"),
        ("a/B.md", "ends in .md"),
        ("a b", "is not made of"),
        ("-rf", "is not made of"),
        ("../x", "is not made of"),
        ("a\n", "is not made of"),
        ("x" * 101, "longer than 100"),
        ("topic/com9", "'com9' is a device name on Windows"),
    ],
)
def test_a_fault_says_what_is_wrong(key: str, why: str) -> None:
    """Each way to miss the grammar has its own words."""
    fault = ids.key_fault(key)

    assert fault is not None
    assert why in fault


@pytest.mark.parametrize(
    "key", ["a", "0", "a/b/c/d", "x" * 100, "com10", "console", "a_-", "mem_x"]
)
def test_keys(key: str, tmp_path: Path) -> None:
    """What is just within the grammar is a key, and git takes its path on every system."""
    assert ids.is_key(key)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    where = [
        "git",
        "-C",
        str(tmp_path),
        "-c",
        "core.protectNTFS=true",
        "-c",
        "core.protectHFS=true",
    ]
    entry = f"100644,{'1' * 40},{key}.md"
    subprocess.run([*where, "update-index", "--add", "--cacheinfo", entry], check=True)


def test_a_derived_id_is_everybodys() -> None:
    """The same parts give the same id, others another, and it looks like any other."""
    made = ids.derived_candidate_id(2026, "a", "b")

    assert made == ids.derived_candidate_id(2026, "a", "b") == "cand_2026_dis0hc45"
    assert made != ids.derived_candidate_id(2026, "ab")
    assert ids.is_candidate_id(made)
