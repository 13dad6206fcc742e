"""The event log, read from histories that are made in a line each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from build import AGENT, Builder

from gitmem.model import messages, trailers
from gitmem.model.approval import Applied
from gitmem.model.events import Event, Line, derive, to_json
from gitmem.model.history import Content


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    """A builder on a fresh repository."""
    return Builder.at(tmp_path)


def log(repo: Builder, tip: str, *lines: Line) -> list[Event]:
    """The events of the line of `tip`, and of candidates that it has not."""
    return derive(repo.objects, repo.judged(tip), lines)


def said(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    """Of each event the kind, the candidate and the entry."""
    return [(event.kind, event.candidate, event.key) for event in events]


def fold(events: list[Event]) -> dict[str, Content]:
    """What the log adds up to."""
    found: dict[str, Content] = {}
    for event in events:
        if event.kind in ("memory.updated", "memory.deleted"):
            assert event.change is not None
            found[event.key or ""] = event.change[1]
    return {key: content for key, content in found.items() if content is not None}


def test_a_candidate_from_its_proposal_to_its_apply(repo: Builder) -> None:
    """Created, edited, applied, and then what it changed, entry by entry."""
    first = repo.propose(repo.root, {"a": "A"}, "cand_1")
    second = repo.plain(first, {"b": "B"})
    tip = repo.apply(repo.root, second, "cand_1")
    events = log(repo, tip)

    assert said(events) == [
        ("candidate.created", "cand_1", None),
        ("candidate.edited", "cand_1", None),
        ("candidate.applied", "cand_1", None),
        ("memory.updated", "cand_1", "a"),
        ("memory.updated", "cand_1", "b"),
    ]
    assert [event.commit for event in events] == [first, second, tip, tip, tip]
    assert [event.inferred for event in events] == [False, True, True, False, False]
    assert [event.actor for event in events] == ["agent", "agent", "Ann", "Ann", "Ann"]


def test_a_deletion_and_what_nobody_reviewed(repo: Builder) -> None:
    """The approved content stands before it, and what the commit has behind."""
    main = repo.approve(repo.root, {"a": "A", "b": "B"}, "cand_1")
    gone = repo.approve(main, {"a": None}, "cand_2")
    tip = repo.commit([gone], {"b": "slipped in", "c": "C"})
    events = log(repo, tip)[-4:]

    assert said(events)[1:] == [
        ("memory.deleted", "cand_2", "a"),
        ("memory.unreviewed", None, "b"),
        ("memory.unreviewed", None, "c"),
    ]
    before, after = events[2].change or (None, None)
    assert before is not None
    assert after is not None
    assert (repo.body(repo.objects, "b", before), repo.body(repo.objects, "b", after)) == (
        "B",
        "slipped in",
    )


def test_stacked_candidates_are_applied_together(repo: Builder) -> None:
    """Each with its own entries, and an entry of both with the upper one."""
    below = repo.propose(repo.root, {"a": "A", "both": "1"}, "cand_1")
    above = repo.propose(below, {"b": "B", "both": "2"}, "cand_2")
    events = log(repo, repo.apply(repo.root, above, "cand_2"))
    applied = {e.candidate: sorted(e.changes or ()) for e in events if e.changes is not None}

    assert applied == {"cand_1": ["a"], "cand_2": ["b", "both"]}
    assert {e.key: e.candidate for e in events if e.key} == {
        "a": "cand_1",
        "b": "cand_2",
        "both": "cand_2",
    }


def test_a_revert_names_the_candidate(repo: Builder) -> None:
    """The revert of a revert too: it comes back with it."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    reverted = repo.revert(main, main, {"a": None})
    tip = repo.revert(reverted, reverted, {"a": "A"})

    assert said(log(repo, tip))[3:] == [
        ("memory.reverted", "cand_1", None),
        ("memory.deleted", "cand_1", "a"),
        ("memory.reverted", "cand_1", None),
        ("memory.updated", "cand_1", "a"),
    ]


def test_a_revert_of_stacked_candidates(repo: Builder) -> None:
    """Each entry goes with the candidate that it came with."""
    below = repo.propose(repo.root, {"a": "A"}, "cand_1")
    main = repo.apply(repo.root, repo.propose(below, {"b": "B"}, "cand_2"), "cand_2")
    events = log(repo, repo.revert(main, main, {"a": None, "b": None}))

    assert said(events)[-2:] == [
        ("memory.deleted", "cand_1", "a"),
        ("memory.deleted", "cand_2", "b"),
    ]


def test_a_revert_of_what_nobody_reviewed_names_no_candidate(repo: Builder) -> None:
    """Taking back what an apply slipped in takes back nothing of its candidate."""
    evil = repo.apply(
        repo.root, repo.propose(repo.root, {"a": "A"}, "cand_1"), "cand_1", {"a": "A", "evil": "E"}
    )
    events = log(repo, repo.revert(evil, evil, {"evil": None}))

    assert said(events)[-1] == ("memory.reverted", None, None)
    assert events[-1].changes == {}


def test_the_reason_of_a_revert(repo: Builder) -> None:
    """What a person wrote beside git's own sentences."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    message = messages.revert("x\n", main, repo.objects.commit(main).parents, "It was wrong.")
    events = log(repo, repo.commit([main], {"a": None}, message))
    reverted = next(event for event in events if event.kind == "memory.reverted")

    assert reverted.details == {"reverts": main, "reason": "It was wrong."}


def test_a_closed_candidate(repo: Builder) -> None:
    """Discarded with a reason, or superseded by another."""
    first = repo.propose(repo.root, {"a": "A"}, "cand_1")
    why = messages.closing("discard", "cand_1", "Not true.", [(trailers.NEVER, "true")])
    closing = repo.commit([first], {}, why)
    other = repo.propose(repo.root, {"a": "B"}, "cand_2")
    gone = messages.closing("supersede", "cand_2", "", [(trailers.SUPERSEDED_BY, "cand_1")])
    ended = repo.commit([other], {}, gone)
    events = log(
        repo,
        repo.root,
        Line(Applied("cand_1", (first,)), closing),
        Line(Applied("cand_2", (other,)), ended, superseded=True),
    )
    by_candidate = {event.candidate: event for event in events}

    assert len(events) == 4
    assert by_candidate["cand_1"].kind == "candidate.discarded"
    assert by_candidate["cand_1"].details == {"reason": "Not true.", "never": True}
    assert by_candidate["cand_2"].kind == "candidate.superseded"
    assert by_candidate["cand_2"].details == {"reason": None, "supersededBy": "cand_1"}


def test_a_reopened_candidate(repo: Builder) -> None:
    """Its first commit names what it takes up again."""
    told = [(trailers.REOPENS, "0" * 40)]
    message = messages.proposal("cand_1", ["a"], "Why.", told, actor="agent", reopened=True)
    first = repo.commit([repo.root], {"a": "A"}, message, author=AGENT)
    (event,) = log(repo, repo.root, Line(Applied("cand_1", (first,))))

    assert event.kind == "candidate.reopened"
    assert event.details["reopens"] == "0" * 40


def test_a_candidate_applied_in_two_clones_counts_once(repo: Builder) -> None:
    """Both merges are on the line, and what they approve is said once."""
    candidate = repo.propose(repo.root, {"a": "A"}, "cand_1")
    ours = repo.approve(repo.apply(repo.root, candidate, "cand_1"), {"b": "B"}, "cand_2")
    theirs = repo.approve(repo.apply(repo.root, candidate, "cand_1"), {"c": "C"}, "cand_3")
    events = log(repo, repo.pull(ours, theirs))

    assert [e.candidate for e in events if e.kind == "candidate.applied"] == [
        "cand_1",
        "cand_2",
        "cand_3",
    ]


def test_a_sync_says_what_its_lines_did_not(repo: Builder) -> None:
    """The lines stand one after the other; what the last word was is corrected at the sync."""
    base = repo.approve(repo.root, {"a": "old"}, "cand_0")
    ours = repo.approve(base, {"a": "ours"}, "cand_1")
    theirs = repo.approve(base, {"a": "theirs"}, "cand_2")
    tip = repo.pull(ours, theirs, {})
    events = log(repo, tip)

    assert said(events)[-2:] == [("memory.synced", None, None), ("memory.updated", None, "a")]
    assert events[-2].details == {"parents": [ours, theirs], "conflicts": ["a"]}
    assert fold(events) == repo.judged(tip).view.contents(repo.objects)


def test_a_sync_with_a_line_that_changed_its_mind(repo: Builder) -> None:
    """The other line changed an entry and changed it back: the log's last word was the old text."""
    base = repo.approve(repo.root, {"a": "old"}, "cand_0")
    ours = repo.approve(base, {"a": "new"}, "cand_1")
    tried = repo.approve(base, {"a": "tried"}, "cand_2")
    tip = repo.pull(ours, repo.revert(tried, tried, {"a": "old"}), {})

    assert repo.approved(tip) == {"a": "new"}
    assert fold(log(repo, tip)) == repo.judged(tip).view.contents(repo.objects)


def test_a_sync_over_one_that_corrected(repo: Builder) -> None:
    """Two lines joined twice: what the inner sync said is put right by the outer one."""
    left = repo.approve(repo.root, {"a": "both"}, "cand_1")
    right = repo.approve(repo.root, {"a": "both"}, "cand_2")
    ours = repo.approve(repo.pull(left, right, {}), {"a": "newer"}, "cand_3")
    theirs = repo.approve(repo.pull(left, right, {}), {"b": "B"}, "cand_4")
    tip = repo.pull(ours, theirs)

    assert repo.approved(tip) == {"a": "newer", "b": "B"}
    assert fold(log(repo, tip)) == repo.judged(tip).view.contents(repo.objects)


def test_the_order_does_not_depend_on_the_order_of_refs(repo: Builder) -> None:
    """What hangs on the same commit goes by commit id, below what is approved there."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_0")
    lines = []
    for number in range(1, 6):
        first = repo.propose(main, {f"e{number}": "E"}, f"cand_{number}")
        lines.append(Line(Applied(f"cand_{number}", (first, repo.plain(first, {"more": "M"})))))
    tip = repo.approve(main, {"b": "B"}, "cand_9")
    events = log(repo, tip, *lines)

    assert events == log(repo, tip, *reversed(lines))
    assert events[-2:] == [event for event in events if event.commit == tip]
    place = {event.commit: at for at, event in enumerate(events)}
    for event in events:
        for parent in repo.objects.commit(event.commit).parents:
            assert place.get(parent, -1) < place[event.commit]


def test_dates_have_no_say_in_the_order(repo: Builder) -> None:
    """Back-dated and post-dated commits stand where they hang; their times are told as they are."""
    late = repo.commit([repo.root], {"a": "A"}, at=2_000_000_000)
    early = repo.commit([repo.root], {"b": "B"}, at=0)
    tip = repo.commit([repo.apply(repo.root, late, "late")], {"c": "C"}, at=0)
    lines = [Line(Applied("early", (early,)))]
    events = log(repo, tip, *lines)

    assert [event.at for event in events if event.commit in (late, early, tip)].count(0) == 2
    assert events[-1].commit == tip
    assert sorted((late, early)) == [e.commit for e in events if e.kind == "candidate.created"]


def test_the_json_of_an_event(repo: Builder) -> None:
    """Ids, times and, where they are wanted, the whole files before and after."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    events = log(repo, main)
    plain = to_json(events[-1])
    texts = to_json(events[-2], lambda c: None if c is None else repo.body(repo.objects, "a", c))

    assert list(plain) == [
        "kind",
        "tier",
        "at",
        "commit",
        "candidate",
        "entry",
        "actor",
        "inferred",
    ]
    assert plain["entry"] == "mem_a"
    assert plain["tier"] == "project"
    assert plain["at"].endswith("Z")
    assert texts["entries"] == ["mem_a"]
    assert (texts["before"], texts["after"]) == ({"mem_a": None}, {"mem_a": "A"})
