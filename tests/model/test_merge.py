"""Merge rule number 1: entry by entry, field by field, line by line."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model import merge
from gitmem.model.entries import TYPES, Entry, Source, parse, serialize
from gitmem.model.frontmatter import Plain, Table
from gitmem.model.merge import Conflict, Side, merge_file, merge_lines

BASE = Entry("a", "fact", "user", "one\ntwo\nthree", extra=(("x", "1"), ("y", "2")))


def merged(
    base: Entry | None, ours: Entry | None, theirs: Entry | None, *, applied: Side = "theirs"
) -> Entry | Conflict | None:
    """The merge of entries as an entry."""
    files = [None if side is None else serialize(side) for side in (base, ours, theirs)]
    result = merge_file("a", *files, tier="user", applied=applied)
    return parse("a", result, tier="user") if isinstance(result, bytes) else result


def reason(base: Entry | None, ours: Entry | None, theirs: Entry | None) -> str:
    """Why the entries conflict."""
    result = merged(base, ours, theirs)
    assert isinstance(result, Conflict)
    assert result.key == "a"
    return result.reason


# ---- laws

lines = st.lists(st.sampled_from(["one", "two", "", "three", "  four"]), min_size=1, max_size=6)
bodies = lines.map("\n".join).filter(lambda body: body.strip() != "")
maybe = st.none() | st.sampled_from(["2026-05-18T10:30:00Z", "2026-05-18", "once", "cand_x"])
entries = st.builds(
    Entry,
    st.just("a"),
    st.sampled_from(TYPES[:2]),
    st.just("user"),
    bodies,
    maybe,
    maybe,
    maybe,
    st.lists(st.sampled_from([Source("s"), Source("t", "u", "v")]), max_size=2).map(tuple),
    st.lists(st.sampled_from(["s", "t"]), max_size=2).map(tuple),
    st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", Plain("1"), ("1",)])).map(
        lambda found: tuple(found.items())
    ),
)
files = st.none() | st.just(b"no entry") | entries.map(serialize)


@given(files, files)
@settings(max_examples=60, deadline=None)
def test_an_unchanged_side_gives_way(base: bytes | None, side: bytes | None) -> None:
    """What only one side changed, or both sides alike, stays byte for byte, whatever it is."""
    assert merge_file("a", base, side, base, tier="user") == side
    assert merge_file("a", base, base, side, tier="user") == side
    assert merge_file("a", base, side, side, tier="user") == side


@given(st.none() | entries, entries, entries)
@settings(max_examples=70, deadline=None)
def test_the_sides_can_be_swapped(base: Entry | None, ours: Entry, theirs: Entry) -> None:
    """Both clones get the same, up to the order in lists, if they agree on which side is applied."""
    here = merged(base, ours, theirs, applied="theirs")
    there = merged(base, theirs, ours, applied="ours")

    assert isinstance(here, Conflict) == isinstance(there, Conflict)
    if isinstance(here, Entry) and isinstance(there, Entry):
        assert set(here.sources) == set(there.sources)
        assert set(here.related_sessions) == set(there.related_sessions)
        assert dict(here.extra) == dict(there.extra)
        assert replace(here, sources=(), related_sessions=(), extra=()) == replace(
            there, sources=(), related_sessions=(), extra=()
        )


@given(files, files, files)
@settings(max_examples=70, deadline=None)
def test_a_result_is_an_entry_or_a_side(
    base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> None:
    """A merge makes nothing that does not parse."""
    result = merge_file("a", base, ours, theirs, tier="user")

    if isinstance(result, bytes) and result not in (ours, theirs):
        assert serialize(parse("a", result, tier="user")) == result


# ---- presence


def test_a_deletion_meets_an_unchanged_entry() -> None:
    """What one side deleted and the other left alone is gone."""
    assert merged(BASE, None, BASE) is None
    assert merged(BASE, BASE, None) is None


def test_a_deletion_meets_a_change() -> None:
    """What one side deleted and the other changed is for a person."""
    changed = replace(BASE, body="other")

    assert reason(BASE, changed, None) == "changed here, deleted there"
    assert reason(BASE, None, changed) == "deleted here, changed there"


def test_created_twice_with_the_same_body() -> None:
    """Two that say the same are one, with the origins of both."""
    ours = replace(BASE, sources=(Source("s"),), created_at="2026-05-18T10:30:00Z")
    theirs = replace(BASE, sources=(Source("t"),), created_at="2026-05-17T10:30:00Z")

    result = merged(None, ours, theirs)

    assert result == replace(theirs, sources=(Source("s"), Source("t")))


def test_created_twice_with_different_bodies() -> None:
    """Two that say different things are for a person, however much of them is alike."""
    expected = "created on both sides with different bodies"

    assert reason(None, BASE, replace(BASE, body="one\ntwo\nthree\nfour")) == expected


def test_created_twice_with_different_types() -> None:
    """The same words as a fact and as a prohibition are not the same."""
    assert reason(None, BASE, replace(BASE, type="forbidden")) == (
        "the type was changed on both sides"
    )


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "side"),
    [
        (b"x", serialize(BASE), serialize(replace(BASE, body="y")), "the common base"),
        (serialize(BASE), b"x", serialize(replace(BASE, body="y")), "this side"),
        (serialize(BASE), serialize(replace(BASE, body="y")), b"x", "the other side"),
        (None, b"x", b"y", "this side"),
    ],
)
def test_what_does_not_parse_conflicts(
    base: bytes | None, ours: bytes, theirs: bytes, side: str
) -> None:
    """A file that is no entry is never merged, and the reason says which."""
    result = merge_file("a", base, ours, theirs, tier="user")

    assert isinstance(result, Conflict)
    assert result.reason.startswith(f"{side} is no entry: line 1: ")


# ---- fields


def test_each_field_merges_on_its_own() -> None:
    """Two edits of one entry that touch different things both count."""
    ours = replace(BASE, type="forbidden", extra=(("x", "9"), ("y", "2"), ("o", "")))
    theirs = replace(BASE, body="one\ntwo\n3", extra=(("x", "1"), ("t", ())))

    assert merged(BASE, ours, theirs) == Entry(
        "a", "forbidden", "user", "one\ntwo\n3", extra=(("x", "9"), ("o", ""), ("t", ()))
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "what"),
    [
        (replace(BASE, type="forbidden"), replace(BASE, type="convention"), "the type"),
        (replace(BASE, extra=(("x", "8"),)), replace(BASE, extra=(("x", "9"),)), "'x'"),
        (replace(BASE, extra=(("x", "8"),)), replace(BASE, extra=()), "'x'"),
        (
            replace(BASE, extra=(*BASE.extra, ("z", "1"))),
            replace(BASE, extra=(*BASE.extra, ("z", Plain("1")))),
            "'z'",
        ),
        (
            replace(BASE, extra=(("x", Table((("k", "1"),))),)),
            replace(BASE, extra=(("x", Table((("l", "1"),))),)),
            "'x'",
        ),
        (replace(BASE, body="1\ntwo\nthree"), replace(BASE, body="2\ntwo\nthree"), "the body"),
    ],
)
def test_one_thing_changed_to_two(ours: Entry, theirs: Entry, what: str) -> None:
    """The same field changed to different things conflicts, and the reason names it."""
    assert reason(BASE, ours, theirs) == f"{what} was changed on both sides"


def test_the_same_change_on_both_sides() -> None:
    """What both sides changed alike is taken once."""
    ours = replace(BASE, type="forbidden", body="1\ntwo\nthree", applied_from="cand_o")
    theirs = replace(BASE, type="forbidden", body="1\ntwo\nthree", extra=())

    assert merged(BASE, ours, theirs) == theirs


def test_lists_are_unions() -> None:
    """Sources and related sessions of both sides stay, ours first, each once."""
    shared = Source("s", "t", "e")
    base = replace(BASE, sources=(shared,), related_sessions=("s",))
    ours = replace(base, sources=(Source("o"), shared), related_sessions=("o", "s"))
    theirs = replace(base, sources=(Source("t"),), related_sessions=("t", "o"))

    result = merged(base, ours, theirs)

    assert isinstance(result, Entry)
    assert result.sources == (Source("o"), shared, Source("t"))
    assert result.related_sessions == ("o", "s", "t")


@pytest.mark.parametrize("applied", ["ours", "theirs"])
def test_approval_comes_from_the_applied_side(applied: Side) -> None:
    """`appliedFrom` and `appliedBy` are never mixed from two sides."""
    ours = replace(BASE, applied_from="cand_o", applied_by="user")
    theirs = replace(BASE, applied_from="cand_t", body="one\ntwo\n3")

    result = merged(BASE, ours, theirs, applied=applied)

    assert isinstance(result, Entry)
    expected = ("cand_o", "user") if applied == "ours" else ("cand_t", None)
    assert (result.applied_from, result.applied_by) == expected


@pytest.mark.parametrize(
    ("older", "younger"),
    [
        ("2026-05-18T10:30:00Z", "2026-05-18T10:30:01Z"),
        ("2026-05-18T10:30:00Z", None),
        ("2026-05-18T10:30:00+02:00", "2026-05-18T09:30:00Z"),
        ("2026-05-18T09:30:00Z", "2026-05-18T09:30:00-00:01"),
        ("2026-05-18T09:30:00.49Z", "2026-05-18T09:30:00.5Z"),
        ("2026-05-18T09:30:00Z", "2026-05-18T09:30:00.001Z"),
        ("2026-05-18", "2026-05-18T00:00:01Z"),
        ("2024-02-29T23:59:59Z", "2024-03-01"),
        ("2025-12-31T23:59:59Z", "2026-01-01"),
        ("2026-05-18T09:30:00Z", "2026-05-18 09:30:01z"),
        ("2026-05-18T09:30:00Z", "1999, perhaps"),
        ("2026-05-18", "2026-05-18T00:00:00Z"),
        ("1999, perhaps", "2000, perhaps"),
    ],
)
def test_created_at_is_the_older(older: str, younger: str | None) -> None:
    """The older time counts on whichever side it stands; what is a time counts before what is none."""
    old, young = replace(BASE, created_at=older), replace(BASE, created_at=younger)

    for ours, theirs in ((old, young), (young, old)):
        result = merged(None, ours, theirs)
        assert isinstance(result, Entry)
        assert result.created_at == older


@given(st.dates())
def test_days_are_counted_as_on_the_calendar(day: date) -> None:
    """The count needs no library and agrees with Python's."""
    first = date(2000, 1, 1)

    counted = merge._day_number(day.year, day.month, day.day) - merge._day_number(2000, 1, 1)

    assert counted == (day - first).days


def test_a_union_that_is_too_large() -> None:
    """Two sides that are each within the limits may not be so together."""
    ours, theirs = (
        replace(BASE, sources=tuple(Source(f"{name}{n}", None, "e" * 900) for n in range(40)))
        for name in "ab"
    )

    assert reason(BASE, ours, theirs).startswith("the merged file would be no entry: the front")


def test_a_body_of_which_nothing_would_be_left() -> None:
    """Two deletions that leave only a blank line touch, as a body neither begins nor ends with one."""
    base = replace(BASE, body="one\n\ntwo")

    assert reason(base, replace(BASE, body="one"), replace(BASE, body="two")) == (
        "the body was changed on both sides"
    )


def test_a_merged_body_that_is_too_large() -> None:
    """Two additions that are each within the limit may not be so together."""
    ours, theirs = f"{'o' * 40_000}\n{BASE.body}", f"{BASE.body}\n{'t' * 40_000}"

    assert reason(BASE, replace(BASE, body=ours), replace(BASE, body=theirs)) == (
        "the merged file would be no entry: the body is larger than 64 KiB"
    )


# ---- lines


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        ("a b c", "A b c", "a b C", "A b C"),
        ("a b c", "x a b c", "a b c y", "x a b c y"),
        ("a b c", "b c", "a b", "b"),
        ("a b c d e", "a c d e", "a b c d x e", "a c d x e"),
        # Changes that touch are one, as in git: no unchanged line is between them.
        ("a b c", "A b c", "a B c", None),
        ("a b c", "a x b c", "a B c", None),
        ("a b c", "a b x c", "a B c", None),
        ("a b", "a x b", "a y b", None),
        ("a b", "a x b", "a x y b", None),
        ("a b c", "a c", "a B c", None),
        # Both did the same.
        ("a b c", "A b c", "A b c", "A b c"),
        ("a b c d e", "A b c d E", "A b c D e", None),
        ("a b c d e f", "A b c d e F", "A b c D e f", "A b c D e F"),
        ("a b", "a x b", "a x b", "a x b"),
        ("a b c", "c", "c", "c"),
        # The same line beside its twin, on whichever side of it, is the same line.
        ("f c d b e", "f c d d b", "d c d d b e", "d c d d b"),
        ("a - b", "a - p - b", "A - b", "A - p - b"),
        # From the top it is `a b a a`, from the bottom `a a b a`.
        ("a a", "a b a", "a a a", None),
        ("a - b", "a - p - b", "a - B", None),
        ("a - b - c - d", "a - p - b - c - d", "a - b - c - D", "a - p - b - c - D"),
    ],
)
def test_merging_lines(base: str, ours: str, theirs: str, expected: str | None) -> None:
    """The table of cases; each letter is a line, `-` a line that repeats."""
    sides = [text.replace(" ", "\n") for text in (base, ours, theirs)]

    result = merge_lines(*sides)

    assert result == (None if expected is None else expected.replace(" ", "\n"))


WORDS = "abcdefghijkl"
distinct = st.lists(st.sampled_from(WORDS), min_size=1, max_size=10, unique=True)


@st.composite
def two_edits(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    """A text of distinct lines and two texts with some of them replaced, deleted or added to."""
    base = draw(distinct)
    sides = []
    for fresh in ("mnopq", "rstuv"):
        side: list[str] = []
        for line in base:
            what = draw(st.sampled_from(["keep"] * 6 + ["replace", "delete", "add"]))
            side += {"keep": [line], "delete": []}.get(what, [draw(st.sampled_from(fresh))])
            side += [line] if what == "add" else []
        sides.append(side)
    return base, sides[0], sides[1]


@given(two_edits())
@settings(max_examples=100, deadline=None)
def test_no_line_is_lost_and_none_invented(texts: tuple[list[str], list[str], list[str]]) -> None:
    """A merge of lines that don't repeat has every line that either side wrote and none it removed."""
    base, ours, theirs = texts

    result = merge_lines(*("\n".join(side) for side in texts))

    if result is not None:
        found = set(result.split("\n")) - {""}
        assert set(ours) - set(base) <= found
        assert set(theirs) - set(base) <= found
        assert {line for line in base if line in found} == set(base) & set(ours) & set(theirs)


@given(distinct, st.data())
@settings(max_examples=60, deadline=None)
def test_one_line_changed_on_both_sides(base: list[str], data: st.DataObject) -> None:
    """Whatever else the sides did: one line that became two different ones is a conflict."""
    at = data.draw(st.integers(0, len(base) - 1))
    ours, theirs = list(base), list(base)
    ours[at], theirs[at] = "m", "r"
    other = data.draw(st.integers(0, len(base) - 1))
    if other != at:
        ours[other] = "n"

    assert merge_lines(*("\n".join(side) for side in (base, ours, theirs))) is None


def git_merge(folder: Path, texts: tuple[list[str], list[str], list[str]]) -> str | None:
    """What `git merge-file` makes of the lines, or None where it conflicts."""
    for name, side in zip(("base", "ours", "theirs"), texts, strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in side))
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout


def test_git_merges_to_the_same(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where lines don't repeat, git's text merge is clean for what ours is, and the same.

    Where they do, either may see a conflict that the other doesn't: each compares in its own way.
    """
    folder = tmp_path_factory.mktemp("merge")
    clean = 0

    @given(two_edits())
    @settings(max_examples=50, deadline=None)
    def compare(texts: tuple[list[str], list[str], list[str]]) -> None:
        nonlocal clean
        result = merge_lines(*("\n".join(side) for side in texts))
        git_result = git_merge(folder, texts)
        if result is not None and git_result is not None:
            clean += 1
            assert git_result.removesuffix("\n") == result

    compare()

    assert clean > 5


@given(st.lists(st.sampled_from("ab"), max_size=9), st.lists(st.sampled_from("ab"), max_size=9))
@settings(max_examples=100, deadline=None)
def test_the_comparison_is_a_longest_one(left: list[str], right: list[str]) -> None:
    """What counts as kept is in both texts in order, and no more can be."""
    one, two = [ord(line) for line in left], [ord(line) for line in right]
    longest = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i, first in enumerate(one):
        for j, second in enumerate(two):
            longest[i + 1][j + 1] = (
                longest[i][j] + 1 if first == second else max(longest[i][j + 1], longest[i + 1][j])
            )

    kept = merge._kept(one, two)

    assert kept is not None
    assert len(kept) == longest[-1][-1]
    assert all(one[i] == two[j] for i, j in kept)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(kept))


def test_texts_that_are_too_different_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison gives up after a number of steps, which is the same on every machine."""
    numbers = range(40)
    base = "\n".join(f"b{number}" for number in numbers)
    ours = "\n".join(f"b{number}" if number % 4 else f"o{number}" for number in numbers)
    theirs = base.replace("b22", "t22")

    merged_lines = merge_lines(base, ours, theirs)
    monkeypatch.setattr(merge, "MAX_STEPS", 150)

    assert merged_lines == ours.replace("b22", "t22")
    assert merge_lines(base, ours, theirs) is None
    assert merge_lines(base, base.replace("b2\n", "o2\n"), theirs) is not None


def test_large_bodies_merge() -> None:
    """64 KiB of short lines with a change at each end merge."""
    base = [str(number % 97) for number in range(20_000)]
    ours, theirs = ["top", *base[1:]], [*base[:-1], "end"]

    result = merge_lines(*("\n".join(side) for side in (base, ours, theirs)))

    assert result == "\n".join(["top", *base[1:-1], "end"])
