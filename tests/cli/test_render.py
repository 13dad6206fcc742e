"""What is printed of other people's text: it can't forge a line, hide one, or reach the terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.cli import render
from gitmem.dropbox import Drop, Dropped
from gitmem.findings import Finding, Report
from gitmem.model.approval import Applied
from gitmem.model.candidates import Candidate, Proposed
from gitmem.model.events import Event
from gitmem.stories import Chapter, Story

# Line ends of all sorts, moves of the cursor, a title, hidden and turned text, and rows like ours.
_HOSTILE = ["\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\x1b[2J", "\x1b]0;x\x07", "\x9b2J", "\b"]
_HOSTILE += ["\u202e", "\u200b", "\U000e0041", "\ufeff", "\t", "digest     0000", "why        x"]
_HOSTILE += ["  [applied]", "+++ x", "x", "缩", ""]
hostile = st.lists(st.sampled_from(_HOSTILE), max_size=4).map("".join)
# What `click` itself writes: bold, dim, three colours and their end.
_STYLES = re.compile(r"\x1b\[(?:0|1|2|31|32|36)m")
_LABELS = ["candidate", "entries", "proposed", "commit", "digest", "broken", "conflicts"]
_LABELS += ["edited", "pending", "why", "and why", "evidence"]

ENTRY = Proposed("a", None, None, None, None)
CANDIDATE = Candidate(
    "cand_1",
    "project",
    "pending",
    "1" * 40,
    Applied("cand_1", ("1" * 40,)),
    None,
    (ENTRY,),
    "why",
    (),
    None,
    "agent",
    1_779_100_200,
    "refs/heads/memory/candidate/cand_1",
    digest="2" * 64,
    type="fact",
)


def _lines(shown: str) -> list[str]:
    """The lines of what is printed, after a check that nothing in it acts on a terminal."""
    plain = _STYLES.sub("", shown)
    assert not re.search("[^\n\t -~缩]", plain)
    return plain.split("\n")


@given(st.builds(replace, st.just(CANDIDATE), rationale=hostile, remote=st.none() | hostile))
@settings(max_examples=100, deadline=None)
def test_a_candidate_in_the_list_is_two_lines(found: Candidate) -> None:
    """Whatever its reasons hold, the next candidate's line is the next candidate's."""
    head, reasons = _lines(render.listed(found))

    assert head.startswith("cand_1  project fact  mem_a")
    assert reasons.startswith("    ")


@given(
    st.builds(
        replace,
        st.just(CANDIDATE),
        rationale=hostile,
        actor=hostile,
        broken=st.none() | hostile,
        remote=st.none() | hostile,
        decided=st.none() | st.just("3" * 40),
        reason=st.none() | hostile,
        superseded_by=st.none() | hostile,
        sources=st.lists(st.fixed_dictionaries({"sessionId": hostile, "evidence": hostile})).map(
            tuple
        ),
    )
)
@settings(max_examples=150, deadline=None)
def test_no_text_forges_a_row_of_a_candidate(found: Candidate) -> None:
    """A row's label stands only where we put it: text goes on at a margin of its own."""
    rows = [line for line in _lines(render.candidate(found)) if not line.startswith(" " * 11)]

    labels = [line[:10].strip() for line in rows]
    assert labels == sorted(labels, key=_LABELS.index)
    assert {"candidate", "entries", "proposed", "commit", "digest"} <= set(labels)
    assert all(labels.count(label) == 1 for label in labels if label != "evidence")
    assert next(line for line in rows if line.startswith("digest")) == f"digest     {'2' * 64}"


@given(hostile, hostile, hostile)
@settings(max_examples=60, deadline=None)
def test_an_event_is_one_line_and_a_finding_two(one: str, other: str, third: str) -> None:
    """Names that others chose are made visible in the log and in what `verify` says."""
    event = Event("memory.updated", "project", 0, "1" * 40, one, other, "a")
    finding = Finding("unreviewed", "project", None, None, one, third)

    (line,) = _lines(render.event(event))
    assert line.startswith("1970-01-01T00:00:00Z  1111111111  project")
    first, second = _lines(render.finding(finding))
    assert first.startswith("unreviewed: ")
    assert second.startswith("  ")


@given(hostile, st.none() | hostile)
@settings(max_examples=60, deadline=None)
def test_a_dropped_file_is_two_lines(name: str, fault: str | None) -> None:
    """An agent in a sandbox names the file and writes all that is in it."""
    path = Path(f"{name.replace('/', '')}x.md")
    drop = None if fault is not None else Drop("a", name or "why", "fact", "body")

    assert len(_lines(render.dropped(Dropped(path, drop, fault)))) == 2
    document = render.dropped_json(Dropped(path, drop, fault, at=2**60))
    assert (document["id"], document["state"], document["broken"]) == (path.name, "dropped", fault)
    assert document["createdAt"] == "9999-12-31T23:59:59Z"


@given(hostile, hostile)
@settings(max_examples=60, deadline=None)
def test_no_text_forges_a_chapter_of_a_story(reason: str, rationale: str) -> None:
    """Who approved what, and when, is told in rows that no reason can imitate."""
    decided = Event("memory.reverted", "project", 0, "1" * 40, "Ann", details={"reason": reason})
    proposed = Event(
        "candidate.created",
        "project",
        0,
        "2" * 40,
        "agent",
        "cand_1",
        details={"rationale": rationale, "sources": [{"sessionId": "s", "evidence": reason}]},
    )
    chapter = Chapter(decided, decided, proposed, None, None)

    lines = _lines(render.story(Story("mem_a", "project", None, None, (chapter,))))

    assert lines[:2] == ["mem_a  project deleted", ""]
    labels = [line[:10].strip() for line in lines[2:] if not line.startswith(" " * 11)]
    wanted = ["reverted", "reason", "proposed", "candidate", "why", "evidence"]
    assert labels == [
        label for label in wanted if (label != "reason" or reason) and (label != "why" or rationale)
    ]


def test_flags_say_what_matters() -> None:
    """A candidate that waits as it should has none; each thing that is odd about it is one."""
    crossed = replace(ENTRY, conflict="both changed the body")
    odd = replace(CANDIDATE, entries=(crossed,), broken="x", remote="origin", priority="high")

    assert "  [" not in render.listed(replace(CANDIDATE, priority="medium"))
    assert "  [conflicts, broken, of origin, priority high]" in render.listed(odd)
    # What is decided conflicts with nothing any more.
    assert "  [applied, broken, of origin, priority high]" in render.listed(
        replace(odd, state="applied")
    )
    assert "no entry" in render.listed(replace(CANDIDATE, entries=(), type=None))


@pytest.mark.parametrize(
    ("text", "below"),
    [
        (None, None),
        ("---\na: b\n---\n\nx\n", "x\n"),
        ("---\na: b\n---\nx\n---\ny\n", "x\n---\ny\n"),
        ("---\n---\n\n\nx", "x"),
        ("no front matter\n---\nx\n---\n", "no front matter\n---\nx\n---\n"),
        ("---\nnever closed\n", "---\nnever closed\n"),
        ("---\na: '---'\nb: c\n---\nx", "x"),
    ],
)
def test_the_body_below_the_front_matter(text: str | None, below: str | None) -> None:
    """Only what is front matter is left out."""
    assert render.body(text) == below


def test_a_difference_has_its_colours() -> None:
    """By the first sign of a line; the text is the same."""
    text = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n"

    shown = render.difference(text)

    assert click.unstyle(shown) == text
    assert [line[:5] for line in shown.split("\n")] == [
        "\x1b[1m-",
        "\x1b[1m+",
        "\x1b[36m",
        "\x1b[31m",
        "\x1b[32m",
        " z",
        "",
    ]


@pytest.mark.parametrize(
    ("number", "noun", "told"),
    [(0, "commit", "0 commits"), (1, "entry", "1 entry"), (2, "entry", "2 entries")],
)
def test_a_number_with_its_noun(number: int, noun: str, told: str) -> None:
    """As one says it."""
    assert render.counted(number, noun) == told


def test_what_was_verified() -> None:
    """How much was looked at, whether there is a finding or not."""
    finding = Finding("x", None, None, None, "message", "hint")

    assert render.verified(Report((), 1, 2)) == "no findings in 1 commit, 2 approved entries"
    assert render.verified(Report((finding,), 0, 1)) == "1 finding in 0 commits, 1 approved entry"


def test_empty_texts_leave_no_gap() -> None:
    """One blank line between what there is."""
    assert render.blocks(["a", "", "b"]) == "a\n\nb"
    assert render.blocks([]) == ""
