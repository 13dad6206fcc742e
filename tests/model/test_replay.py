"""Steps of an approval line, and what stands at each of its commits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from build import Builder

from gitmem.model import replay
from gitmem.model.replay import Held, Standing


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    """A builder on a fresh repository."""
    return Builder.at(tmp_path)


def standing(repo: Builder, tip: str, at: str) -> Standing:
    """What stood at a commit, by the steps of the line of `tip`."""
    return replay.standing(replay.steps(repo.objects, repo.judged(tip)), at)


def held(repo: Builder, commit: str, key: str, at: str) -> Held:
    """An entry as a commit's tree has it, and who is to blame."""
    return Held(commit, repo.objects.content(repo.objects.commit(at).tree, key))


def test_what_is_held_along_a_line(repo: Builder) -> None:
    """The last commit that left the file so is to blame; others change nothing; then it is over."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    first = repo.commit([main], {"a": "slipped in"})
    other = repo.commit([first], {"b": "also"})
    second = repo.commit([other], {"a": "again"})
    beside = repo.approve(second, {"c": "C"}, "cand_2")
    tip = repo.commit([beside], {"a": "A", "b": None})

    assert standing(repo, tip, first).held == {"a": held(repo, first, "a", first)}
    assert standing(repo, tip, other).held == {
        "a": held(repo, first, "a", first),
        "b": held(repo, other, "b", other),
    }
    for commit in (second, beside):
        assert standing(repo, tip, commit).held["a"] == held(repo, second, "a", second)
    assert standing(repo, tip, tip).held == {}
    assert set(standing(repo, tip, tip).approved) == {"a", "c"}


def test_who_is_to_blame_where_lines_are_joined(repo: Builder) -> None:
    """The one on the joined line, also where the first parent's line has one of its own."""
    ours = repo.commit([repo.root], {"a": "ours"})
    theirs = repo.commit([repo.root], {"a": "theirs"})
    tip = repo.pull(ours, theirs, {})

    assert standing(repo, tip, tip).held == {"a": held(repo, theirs, "a", ours)}
    assert repo.judged(tip).culprits("a")[-1].commit == theirs


def test_the_newest_is_by_position(repo: Builder) -> None:
    """An entry that came back has its first place, with the commit that first approved it."""
    first = repo.approve(repo.root, {"a": "A"}, "cand_1")
    second = repo.approve(first, {"b": "B"}, "cand_2")
    changed = repo.approve(second, {"a": "another"}, "cand_3")
    tip = repo.revert(changed, changed, {"a": "A"})
    found = standing(repo, tip, tip).approved

    assert (found["a"].position, found["a"].commit) == (1, first)
    assert (found["b"].position, found["b"].commit) == (2, second)
    assert standing(repo, tip, changed).approved["a"].commit == changed


def test_a_line_has_the_order_of_its_own_tip(repo: Builder) -> None:
    """First parents first, as a ledger of that tip, also where the whole line has another order."""
    shared = repo.approve(repo.root, {"a": "A"}, "cand_1")
    ours = repo.approve(shared, {"b": "B"}, "cand_2")
    side = repo.approve(repo.root, {"c": "C"}, "cand_3")
    inner = repo.pull(side, ours)
    tip = repo.pull(ours, inner)
    steps = replay.steps(repo.objects, repo.judged(tip))

    for commit in steps:
        own = [judgement.commit for judgement in repo.judged(commit).line]
        assert [step.commit for step in replay.line(steps, commit)] == own


@pytest.mark.parametrize(
    ("at", "expected"),
    [(5, ("c", ())), (3, ("c", ("a",))), (2, ("b", ("a",))), (1, (None, ()))],
)
def test_the_last_before(at: int, expected: tuple[str | None, tuple[str, ...]]) -> None:
    """The newest whose clock says no later, and those below it that say otherwise."""
    assert replay.last_before([("c", 3), ("b", 2), ("a", 4)], at) == expected
