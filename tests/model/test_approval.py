"""The approval rules, case by case: what counts, and every way round. `docs/approval.md` lists them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from build import Builder, text, trailer

from gitmem.git.objects import Objects
from gitmem.model import approval, trailers
from gitmem.model.history import Blob, Content

THREE = "one\n\ntwo\n\nthree"


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    """A builder on a fresh repository."""
    return Builder.at(tmp_path)


# -- applies -------------------------------------------------------------------------------------


def test_an_apply_approves_its_candidate(repo: Builder) -> None:
    """A merge that names the candidate takes over what it changes, and nothing is left open."""
    tip = repo.approve(repo.root, {"a": "A", "b": "B"}, "cand_1")

    assert repo.kind(tip) == "apply"
    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.unreviewed(tip) == set()


def test_a_candidate_without_any_trailer(repo: Builder) -> None:
    """An agent with nothing but git: the branch's name in the merge is enough."""
    tip = repo.apply(repo.root, repo.plain(repo.root, {"a": "A"}), "by_hand")

    assert repo.approved(tip) == {"a": "A"}
    assert [(c.id, len(c.commits)) for c in repo.judged(tip).line[-1].applied] == [("by_hand", 1)]


def test_a_candidate_on_an_old_base(repo: Builder) -> None:
    """What others approved meanwhile stays, and the candidate's change comes in beside it."""
    candidate = repo.propose(repo.root, {"a": "A"}, "cand_1")
    main = repo.approve(repo.root, {"b": "B"}, "cand_2")
    tip = repo.apply(main, candidate, "cand_1")

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.unreviewed(tip) == set()


def test_two_edits_of_one_entry_merge_by_the_rule(repo: Builder) -> None:
    """The result that the merge rule gives is covered; a text with more in it is not."""
    base = repo.approve(repo.root, {"a": THREE}, "cand_0")
    one = repo.propose(base, {"a": THREE.replace("one", "ONE")}, "cand_1")
    main = repo.approve(base, {"a": THREE.replace("three", "THREE")}, "cand_2")
    merged = THREE.replace("one", "ONE").replace("three", "THREE")

    assert repo.approved(repo.apply(main, one, "cand_1", {"a": merged}))["a"] == merged
    sneaky = repo.apply(main, one, "cand_1", {"a": merged + "\n\nsneaky"})
    assert repo.approved(sneaky)["a"] == THREE.replace("three", "THREE")
    assert repo.unreviewed(sneaky) == {"a"}


def test_a_conflict_settled_by_hand_is_covered(repo: Builder) -> None:
    """Where the rule has no answer, what the person made of it stands."""
    base = repo.approve(repo.root, {"a": "old"}, "cand_0")
    one = repo.propose(base, {"a": "mine"}, "cand_1")
    main = repo.approve(base, {"a": "yours"}, "cand_2")

    assert repo.approved(repo.apply(main, one, "cand_1", {"a": "both"})) == {"a": "both"}
    assert repo.approved(repo.apply(main, one, "cand_1", {"a": None})) == {}


def written_by_hand(repo: Builder, body: str) -> dict[str, Content]:
    """The entry `a` as nobody's program writes it: the merge rule would write it anew."""
    data = f"---\ntype:   fact\n---\n{body}\n".encode()
    return {"a.md": repo.objects.write_blob(data)}


def two_edits_by_hand(repo: Builder) -> tuple[str, str, str]:
    """A main with one edit applied, the open candidate with the other, and what both are together."""
    base = repo.apply(
        repo.root, repo.commit([repo.root], {}, files=written_by_hand(repo, THREE)), "by_hand"
    )
    one = repo.commit([base], {}, files=written_by_hand(repo, THREE.replace("one", "ONE")))
    two = repo.commit([base], {}, files=written_by_hand(repo, THREE.replace("three", "THREE")))
    merged = THREE.replace("one", "ONE").replace("three", "THREE")
    return repo.apply(base, two, "second"), one, merged


def test_the_text_merge_of_git_is_covered(repo: Builder) -> None:
    """Byte for byte; a space more is another text."""
    main, one, merged = two_edits_by_hand(repo)
    named = "Merge branch 'memory/candidate/first' into memory/main\n"

    tip = repo.commit([main, one], {}, named, files=written_by_hand(repo, merged))
    assert repo.approved(tip) == {"a": merged}
    assert repo.unreviewed(tip) == set()
    tip = repo.commit([main, one], {}, named, files=written_by_hand(repo, merged + " "))
    assert repo.unreviewed(tip) == {"a"}


def test_a_conflict_over_unreviewed_text_is_not(repo: Builder) -> None:
    """A settled conflict needs a first parent that has the approved content."""
    base = repo.approve(repo.root, {"a": "old"}, "cand_0")
    one = repo.propose(base, {"a": "mine"}, "cand_1")
    main = repo.approve(base, {"a": "yours"}, "cand_2")
    direct = repo.commit([main], {"a": "slipped in"})
    tip = repo.apply(direct, one, "cand_1", {"a": "slipped in and mine"})

    assert repo.approved(tip) == {"a": "yours"}
    assert repo.unreviewed(tip) == {"a"}


def test_unreviewed_text_goes_with_the_next_apply(repo: Builder) -> None:
    """Gitmem merges from approved contents: what was slipped in disappears."""
    base = repo.approve(repo.root, {"a": "old"}, "cand_0")
    candidate = repo.propose(base, {"a": "new"}, "cand_1")
    direct = repo.commit([base], {"a": "old\n\nslipped in"})
    tip = repo.apply(direct, candidate, "cand_1", {"a": "new"})

    assert repo.approved(tip) == {"a": "new"}
    assert repo.unreviewed(tip) == set()


def test_text_slipped_in_before_an_innocent_candidate(repo: Builder) -> None:
    """Git's merge carries the slipped-in lines along; that result is not covered."""
    base = repo.approve(repo.root, {"a": THREE}, "cand_0")
    candidate = repo.propose(base, {"a": THREE.replace("one", "ONE")}, "cand_1")
    direct = repo.commit([base], {"a": THREE + "\n\nslipped in"})
    carried = THREE.replace("one", "ONE") + "\n\nslipped in"
    tip = repo.apply(direct, candidate, "cand_1", {"a": carried})

    assert repo.approved(tip) == {"a": THREE}
    assert repo.unreviewed(tip) == {"a"}


def test_a_candidate_that_stands_on_unreviewed_text(repo: Builder) -> None:
    """Its diff does not show all that it would bring, so nothing of that entry is covered."""
    direct = repo.commit([repo.root], {"a": "slipped in"})
    tip = repo.approve(direct, {"a": "slipped in, and more", "b": "B"}, "cand_1")

    assert repo.approved(tip) == {"b": "B"}
    assert repo.unreviewed(tip) == {"a"}


def test_an_entry_that_the_candidate_never_touched(repo: Builder) -> None:
    """An evil merge: what else it changes is unreviewed."""
    candidate = repo.propose(repo.root, {"a": "A"}, "cand_1")
    tip = repo.apply(repo.root, candidate, "cand_1", {"a": "A", "evil": "E"})

    assert repo.approved(tip) == {"a": "A"}
    assert repo.unreviewed(tip) == {"evil"}


def test_a_merge_of_an_empty_side(repo: Builder) -> None:
    """A candidate that changes nothing approves nothing."""
    tip = repo.apply(repo.root, repo.propose(repo.root, {}, "cand_1"), "cand_1", {"evil": "E"})

    assert repo.approved(tip) == {}
    assert repo.unreviewed(tip) == {"evil"}


def test_an_unrelated_side(repo: Builder) -> None:
    """A candidate with a root of its own: all that it has is its change, and nothing else is."""
    other = repo.commit([], {"a": "A"}, "another root\n")
    tip = repo.apply(repo.root, other, "cand_1", {"a": "A", "evil": "E"})

    assert repo.approved(tip) == {"a": "A"}
    assert repo.unreviewed(tip) == {"evil"}


def test_an_edited_candidate(repo: Builder) -> None:
    """All commits of its line are the candidate's."""
    first = repo.propose(repo.root, {"a": "first"}, "cand_1")
    second = repo.plain(first, {"a": "second"})
    tip = repo.apply(repo.root, second, "cand_1")

    assert repo.approved(tip) == {"a": "second"}
    (applied,) = repo.judged(tip).line[-1].applied
    assert applied.commits == (first, second)


def test_a_stacked_candidate_is_applied_with_the_one_below(repo: Builder) -> None:
    """The trailers say where each begins."""
    below = repo.propose(repo.root, {"a": "A"}, "cand_1")
    above = repo.propose(below, {"b": "B"}, "cand_2")
    tip = repo.apply(repo.root, above, "cand_2")

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert [c.id for c in repo.judged(tip).line[-1].applied] == ["cand_1", "cand_2"]


def test_a_stacked_candidate_after_the_one_below(repo: Builder) -> None:
    """Its merge base is a candidate's commit, which counts as applied."""
    below = repo.propose(repo.root, {"a": "A"}, "cand_1")
    above = repo.propose(below, {"a": "A2"}, "cand_2")
    main = repo.apply(repo.root, below, "cand_1")
    tip = repo.apply(main, above, "cand_2")

    assert repo.approved(tip) == {"a": "A2"}
    assert [c.id for c in repo.judged(tip).line[-1].applied] == ["cand_2"]


def test_main_merged_into_a_candidate(repo: Builder) -> None:
    """It is part of the candidate's line; its change is against the newer base."""
    candidate = repo.propose(repo.root, {"a": "A"}, "cand_1")
    main = repo.approve(repo.root, {"b": "B"}, "cand_2")
    message = "Merge branch 'memory/main' into memory/candidate/cand_1\n"
    merged = repo.merge(candidate, main, message, {"b": "B"})
    tip = repo.apply(main, merged, "cand_1", {"a": "A"})

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.unreviewed(tip) == set()


def test_an_octopus_that_names_all(repo: Builder) -> None:
    """Each further parent is applied."""
    one = repo.propose(repo.root, {"a": "A"}, "cand_1")
    two = repo.propose(repo.root, {"b": "B"}, "cand_2")
    named = (
        "Merge branches 'memory/candidate/cand_1' and 'memory/candidate/cand_2' into memory/main\n"
    )
    tip = repo.merge(repo.root, [one, two], named)

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert [c.id for c in repo.judged(tip).line[-1].applied] == ["cand_1", "cand_2"]


def test_an_octopus_that_began_with_a_fast_forward(repo: Builder) -> None:
    """Two names and one further parent: in doubt nothing is approved."""
    one = repo.propose(repo.root, {"a": "A"}, "cand_1")
    two = repo.propose(repo.root, {"b": "B"}, "cand_2")
    named = (
        "Merge branches 'memory/candidate/cand_1' and 'memory/candidate/cand_2' into memory/main\n"
    )
    tip = repo.merge(one, two, named)

    assert repo.kind(tip) == "sync"
    assert repo.approved(tip) == {}
    assert repo.unreviewed(tip) == {"a", "b"}


BOTH = "Merge branches 'memory/candidate/cand_1' and 'memory/candidate/cand_2' into memory/main\n"


def test_an_octopus_of_two_edits_of_one_entry(repo: Builder) -> None:
    """By the rule, one after the other; and nothing more than that."""
    main = repo.approve(repo.root, {"a": THREE}, "cand_0")
    one = repo.propose(main, {"a": THREE.replace("one", "ONE")}, "cand_1")
    two = repo.propose(main, {"a": THREE.replace("three", "THREE")}, "cand_2")
    merged = THREE.replace("one", "ONE").replace("three", "THREE")

    assert repo.approved(repo.merge(main, [one, two], BOTH, {"a": merged})) == {"a": merged}
    for sneaky in (merged + "\n\nsneaky", "sneaky"):
        tip = repo.merge(main, [one, two], BOTH, {"a": sneaky})
        assert repo.approved(tip) == {"a": THREE}
        assert repo.unreviewed(tip) == {"a"}


def test_an_octopus_of_a_local_and_a_remote_branch(repo: Builder) -> None:
    """Git names local branches first, whatever the order of the parents: the candidates know better."""
    one = repo.propose(repo.root, {"a": "A"}, "cand_1")
    two = repo.propose(repo.root, {"b": "B"}, "cand_2")
    message = (
        "Merge branch 'memory/candidate/cand_1', "
        "remote-tracking branch 'origin/memory/candidate/cand_2' into memory/main\n"
    )
    tip = repo.merge(repo.root, [two, one], message)

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.judged(tip).line[-1].applied == (
        approval.Applied("cand_2", (two,)),
        approval.Applied("cand_1", (one,)),
    )


@pytest.mark.parametrize(
    "message",
    [
        "Merge branch 'memory/candidate/cand_1' into memory/main\n",
        "Merge branches 'memory/candidate/cand_1' and 'memory/main' into memory/main\n",
        trailer(trailers.CANDIDATE, "cand_1"),
    ],
)
def test_an_octopus_that_leaves_out_a_name(repo: Builder, message: str) -> None:
    """In doubt nothing is approved, not even what it does name."""
    one = repo.propose(repo.root, {"a": "A"}, "cand_1")
    two = repo.propose(repo.root, {"b": "B"}, "cand_2")
    tip = repo.merge(repo.root, [one, two], message)

    assert repo.kind(tip) == "sync"
    assert repo.approved(tip) == {}


def test_an_octopus_that_names_more_than_it_merged(repo: Builder) -> None:
    """Git names no branch that another one contains; somebody wrote this by hand."""
    one = repo.propose(repo.root, {"a": "A"}, "cand_1")
    tip = repo.merge(repo.root, repo.propose(one, {"b": "B"}, "cand_2"), BOTH)

    assert repo.kind(tip) == "sync"
    assert repo.approved(tip) == {}
    assert repo.unreviewed(tip) == {"a", "b"}


@pytest.mark.parametrize("again", [True, False])
def test_a_merge_of_nothing(repo: Builder, again: bool) -> None:
    """The other parent is the first one once more, or one that it contains."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_0")
    tip = repo.apply(main, main if again else repo.root, "cand_1", {"a": "E", "evil": "E"})

    assert repo.approved(tip) == {"a": "A"}
    assert repo.unreviewed(tip) == {"a", "evil"}
    assert repo.judged(tip).line[-1].applied == ()


def test_a_deletion(repo: Builder) -> None:
    """A candidate that removes the file deletes the entry; the change says what was there."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    tip = repo.approve(main, {"a": None}, "cand_2")

    assert repo.approved(tip) == {}
    before, after = repo.judged(tip).line[-1].changes["a"]
    assert before is not None
    assert after is None


@pytest.mark.parametrize("mode", [0o100755, 0o120000])
def test_a_file_that_is_no_ordinary_one(repo: Builder, mode: int) -> None:
    """The mode is part of the content: a link can't be merged by the rule as an entry."""
    blob = repo.objects.write_blob(text("a", "A"))
    candidate = repo.commit([repo.root], {}, "x\n", files={"a.md": Blob(blob.id, mode)})
    tip = repo.apply(repo.root, candidate, "cand_1")
    objects = Objects(repo.git_dir, "project")

    assert approval.judge(objects, tip).view.content(objects, "a") == Blob(blob.id, mode)


# -- what no approval is -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        "a change\n",
        "Merge branch 'memory/candidate/cand_1' into memory/main\n",
        trailer(trailers.CANDIDATE, "cand_1"),
        trailer(trailers.EVENT, "candidate.applied"),
        "Squashed commit of the following:\n\ncommit 0123\n",
        "a change\n\n(cherry picked from commit 0123456789abcdef0123456789abcdef01234567)\n",
    ],
)
def test_a_commit_with_one_parent(repo: Builder, message: str) -> None:
    """A direct commit, a squash, a cherry-picked apply, forged trailers: nothing of it counts."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_0")
    tip = repo.commit([main], {"a": "E", "b": "E"}, message)

    assert repo.approved(tip) == {"a": "A"}
    assert repo.unreviewed(tip) == {"a", "b"}


def test_main_moved_onto_a_candidate(repo: Builder) -> None:
    """A fast-forward has no merge that anybody made."""
    tip = repo.propose(repo.root, {"a": "A"}, "cand_1")

    assert repo.approved(tip) == {}
    assert repo.unreviewed(tip) == {"a"}


def test_such_a_line_pulled_by_somebody_with_own_commits(repo: Builder) -> None:
    """The pull's merge is a sync: what was unreviewed on the other line stays so."""
    forwarded = repo.propose(repo.root, {"a": "E"}, "cand_1")
    own = repo.approve(repo.root, {"b": "B"}, "cand_2")

    for tip in (repo.pull(own, forwarded), repo.pull(forwarded, own)):
        assert repo.approved(tip) == {"b": "B"}
        assert repo.unreviewed(tip) == {"a"}


@pytest.mark.parametrize(
    "message",
    [
        "Merge commit '0123456789abcdef0123456789abcdef01234567' into memory/main\n",
        "took it in\n",
        "Merge branch 'evil/memory/candidate/cand_1' into memory/main\n",
        "Merge branch 'my-memory/candidate/cand_1' into memory/main\n",
        "Merge tag 'memory/candidate/cand_1' into memory/main\n",
    ],
)
def test_a_merge_that_names_no_candidate(repo: Builder, message: str) -> None:
    """By commit id, with a free message, of a branch whose name only holds an id: a sync."""
    tip = repo.merge(repo.root, repo.propose(repo.root, {"a": "E"}, "cand_1"), message)

    assert repo.kind(tip) == "sync"
    assert repo.approved(tip) == {}
    assert repo.unreviewed(tip) == {"a"}


def test_swapped_parents(repo: Builder) -> None:
    """The candidate as first parent: its line is judged commit by commit, and counts nothing."""
    main = repo.approve(repo.root, {"b": "B"}, "cand_0")
    candidate = repo.propose(main, {"a": "E"}, "cand_1")
    tip = repo.apply(candidate, main, "cand_1", {})

    assert repo.approved(tip) == {"b": "B"}
    assert repo.unreviewed(tip) == {"a"}


def test_a_root_with_entries(repo: Builder) -> None:
    """Whatever a root commit holds, nobody approved."""
    tip = repo.commit([], {"a": "E"}, "memory: start project\n")

    assert repo.approved(tip) == {}
    assert repo.unreviewed(tip) == {"a"}


def test_dates_have_no_say(repo: Builder) -> None:
    """A back-dated direct commit is judged where it stands."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    tip = repo.commit([main], {"a": "E"}, at=0)

    assert repo.objects.commit(tip).committer.time == 0
    assert repo.approved(tip) == {"a": "A"}


def test_a_change_taken_back_is_settled(repo: Builder) -> None:
    """Once the file is as approved again, nothing is held."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    direct = repo.commit([main], {"a": "E"})
    tip = repo.commit([direct], {"a": "A"})

    assert repo.approved(tip) == {"a": "A"}
    assert repo.unreviewed(tip) == set()


# -- reverts -------------------------------------------------------------------------------------


def test_a_revert_of_the_latest_apply(repo: Builder) -> None:
    """What was approved before comes back, and the candidate is named."""
    first = repo.approve(repo.root, {"a": "one"}, "cand_1")
    second = repo.approve(first, {"a": "two", "b": "B"}, "cand_2")
    tip = repo.revert(second, second, {"a": "one", "b": None})

    assert repo.kind(tip) == "revert"
    assert repo.approved(tip) == {"a": "one"}
    assert repo.unreviewed(tip) == set()


def test_a_revert_of_a_revert(repo: Builder) -> None:
    """The reverted content is approved again."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    reverted = repo.revert(main, main, {"a": None})
    tip = repo.revert(reverted, reverted, {"a": "A"})

    assert repo.approved(tip) == {"a": "A"}


def test_a_revert_of_an_older_apply_by_the_rule(repo: Builder) -> None:
    """Only what the merge rule gives is covered, not the old file itself."""
    base = repo.approve(repo.root, {"a": THREE}, "cand_0")
    one = repo.approve(base, {"a": THREE.replace("one", "ONE")}, "cand_1")
    both = THREE.replace("one", "ONE").replace("three", "THREE")
    two = repo.approve(one, {"a": both}, "cand_2")

    assert repo.approved(repo.revert(two, one, {"a": THREE.replace("three", "THREE")}))["a"] == (
        THREE.replace("three", "THREE")
    )
    assert repo.approved(repo.revert(two, one, {"a": THREE}))["a"] == both


@pytest.mark.parametrize("changes", [{"a": "E"}, {"a": None, "evil": "E"}])
def test_a_forged_revert(repo: Builder, changes: dict[str, str | None]) -> None:
    """A revert's message covers the content that it names, and nothing else."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    tip = repo.revert(main, main, changes)

    assert "E" not in repo.approved(tip).values()
    assert repo.unreviewed(tip) == {key for key, body in changes.items() if body == "E"}


def test_a_revert_of_what_is_not_on_the_line(repo: Builder) -> None:
    """A candidate's commit, or one of another line, can't be reverted into being."""
    candidate = repo.propose(repo.root, {"a": "A"}, "cand_1")
    main = repo.apply(repo.root, candidate, "cand_1")
    tip = repo.revert(main, candidate, {"a": None})

    assert repo.approved(tip) == {"a": "A"}
    assert repo.unreviewed(tip) == {"a"}


def test_a_revert_of_a_commit_of_another_line(repo: Builder) -> None:
    """It is no approval where it stands, and a sync of the two lines makes it none."""
    base = repo.approve(repo.root, {"a": "old"}, "cand_0")
    other = repo.approve(base, {"a": "new"}, "cand_1")
    main = repo.commit([base], {"a": "new"})
    forged = repo.revert(main, other, {"a": "old", "b": "B"})
    tip = repo.pull(other, forged, {"b": "B"})

    for judged in (repo.judged(forged), repo.judged(tip)):
        assert judged.of(forged).kind == "direct"
        assert set(judged.of(forged).unreviewed) == {"b"}


def test_a_revert_of_one_candidate_that_settles_another_entry(repo: Builder) -> None:
    """What a commit never touched is not taken back by its revert: the message says the untrue."""
    main = repo.approve(repo.root, {"a": "A", "b": "B"}, "cand_1")
    second = repo.approve(main, {"c": "C"}, "cand_2")
    tip = repo.revert(repo.commit([second], {"a": "E"}), second, {"a": "A"})

    assert repo.kind(tip) == "direct"
    assert repo.approved(tip) == {"a": "A", "b": "B", "c": "C"}
    assert repo.unreviewed(tip) == set()


def test_a_revert_of_a_creation_that_was_edited_since(repo: Builder) -> None:
    """The rule finds a conflict, and a revert settles none: a candidate can delete it."""
    first = repo.approve(repo.root, {"a": "A"}, "cand_1")
    second = repo.approve(first, {"a": "A2"}, "cand_2")
    tip = repo.revert(second, first, {"a": None})

    assert repo.approved(tip) == {"a": "A2"}
    assert repo.unreviewed(tip) == {"a"}


def test_a_revert_of_an_unreviewed_commit(repo: Builder) -> None:
    """The file is as approved again; nothing else changes."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    direct = repo.commit([main], {"a": "E"})
    tip = repo.revert(direct, direct, {"a": "A"})

    assert repo.kind(tip) == "revert"
    assert repo.approved(tip) == {"a": "A"}
    assert repo.unreviewed(tip) == set()


def test_a_revert_of_a_sync_covers_nothing(repo: Builder) -> None:
    """There is no one change to take back."""
    ours = repo.approve(repo.root, {"a": "A"}, "cand_1")
    theirs = repo.approve(repo.root, {"b": "B"}, "cand_2")
    synced = repo.pull(ours, theirs)
    tip = repo.revert(synced, synced, {"b": None})

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.unreviewed(tip) == {"b"}


def test_a_revert_that_names_no_commit(repo: Builder) -> None:
    """A merge request's revert: in doubt nothing is approved."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    tip = repo.commit([main], {"a": None}, 'Revert "x"\n\nThis reverts merge request !12\n')

    assert repo.approved(tip) == {"a": "A"}


# -- syncs ---------------------------------------------------------------------------------------


def test_a_sync_holds_what_both_sides_approved(repo: Builder) -> None:
    """Whichever side is the first parent."""
    ours = repo.approve(repo.root, {"a": "A"}, "cand_1")
    theirs = repo.approve(repo.root, {"b": "B"}, "cand_2")

    for tip in (repo.pull(ours, theirs), repo.pull(theirs, ours)):
        assert repo.kind(tip) == "sync"
        assert repo.approved(tip) == {"a": "A", "b": "B"}
        assert repo.unreviewed(tip) == set()


def test_a_sync_that_drops_one_side(repo: Builder) -> None:
    """`-s ours`: the other side's approved memory stays approved, the difference is reported."""
    ours = repo.approve(repo.root, {"a": "A"}, "cand_1")
    theirs = repo.approve(repo.root, {"b": "B"}, "cand_2")
    tip = repo.pull(ours, theirs, {})

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.unreviewed(tip) == {"b"}


def test_a_sync_that_slips_something_in(repo: Builder) -> None:
    """An entry of neither side is unreviewed."""
    ours = repo.approve(repo.root, {"a": "A"}, "cand_1")
    theirs = repo.approve(repo.root, {"b": "B"}, "cand_2")
    tip = repo.pull(ours, theirs, {"b": "B", "evil": "E"})

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.unreviewed(tip) == {"evil"}


@pytest.mark.parametrize("found", [b"slipped in", b"---\ntype: fact\n---\nslipped in\n"])
def test_an_empty_file(repo: Builder, found: bytes) -> None:
    """A candidate may make any file; that of nothing is judged as every other."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    empty = repo.commit([main], {}, files={"a.md": repo.objects.write_blob(b"")})
    named = "Merge branch 'memory/candidate/by_hand' into memory/main\n"
    tip = repo.commit([main, empty], {}, named, files={"a.md": repo.objects.write_blob(found)})

    assert repo.approved(repo.apply(main, empty, "by_hand")) == {"a": ""}
    assert repo.approved(tip) == {"a": "A"}
    assert repo.unreviewed(tip) == {"a"}


def test_a_sync_by_the_text_merge_of_git(repo: Builder) -> None:
    """A pull merges whole files, and both sides are approved."""
    main, one, merged = two_edits_by_hand(repo)
    (base,) = repo.objects.merge_bases(main, one)
    other, files = repo.apply(base, one, "first"), written_by_hand(repo, merged)
    tip = repo.commit([main, other], {}, "Merge branch 'memory/main' of x\n", files=files)

    assert repo.approved(tip) == {"a": merged}
    assert repo.unreviewed(tip) == set()


def test_a_sync_of_an_edit_and_another_mode(repo: Builder) -> None:
    """What is no ordinary file merges with nothing: the first parent's content stays."""
    base = repo.approve(repo.root, {"a": THREE}, "cand_0")
    ours = repo.approve(base, {"a": THREE.replace("one", "ONE")}, "cand_1")
    blob = repo.objects.write_blob(text("a", THREE.replace("three", "THREE")))
    other = repo.commit([base], {}, files={"a.md": Blob(blob.id, 0o100755)})
    tip = repo.pull(ours, repo.apply(base, other, "cand_2"), {})

    assert repo.approved(tip) == {"a": THREE.replace("one", "ONE")}
    assert repo.judged(tip).line[-1].conflicts == ("a",)


def test_a_sync_in_which_both_changed_one_entry(repo: Builder) -> None:
    """By the rule where it has an answer; else the first parent's content stays."""
    base = repo.approve(repo.root, {"a": THREE, "c": "old"}, "cand_0")
    ours = repo.approve(base, {"a": THREE.replace("one", "ONE"), "c": "ours"}, "cand_1")
    theirs = repo.approve(base, {"a": THREE.replace("three", "THREE"), "c": "theirs"}, "cand_2")
    merged = THREE.replace("one", "ONE").replace("three", "THREE")
    tip = repo.pull(ours, theirs, {"a": merged, "c": "theirs"})

    assert repo.approved(tip) == {"a": merged, "c": "ours"}
    assert repo.unreviewed(tip) == {"c"}
    assert repo.judged(tip).line[-1].conflicts == ("c",)


def test_a_pull_of_an_apply_and_a_direct_commit(repo: Builder) -> None:
    """The other line is judged commit by commit."""
    theirs = repo.commit([repo.approve(repo.root, {"a": "A"}, "cand_1")], {"evil": "E"})
    ours = repo.approve(repo.root, {"b": "B"}, "cand_2")
    tip = repo.pull(ours, theirs)

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.unreviewed(tip) == {"evil"}


def test_one_candidate_applied_in_two_clones(repo: Builder) -> None:
    """Its commit is the merge base of the two lines, and counts as applied on both."""
    base = repo.approve(repo.root, {"a": "old"}, "cand_0")
    candidate = repo.propose(base, {"a": "new"}, "cand_1")
    ours = repo.approve(repo.apply(base, candidate, "cand_1"), {"b": "B"}, "cand_2")
    theirs = repo.approve(repo.apply(base, candidate, "cand_1"), {"a": "newer"}, "cand_3")
    tip = repo.pull(ours, theirs)

    assert repo.approved(tip) == {"a": "newer", "b": "B"}
    assert repo.unreviewed(tip) == set()


def test_several_merge_bases(repo: Builder) -> None:
    """A criss-cross: each side's own later change counts, and nothing comes back from the dead."""
    base = repo.approve(repo.root, {"a": "A"}, "cand_0")
    left = repo.approve(base, {"b": "B"}, "cand_1")
    right = repo.approve(base, {"c": "C"}, "cand_2")
    ours = repo.approve(repo.pull(left, right), {"b": "B2"}, "cand_3")
    theirs = repo.approve(repo.pull(right, left), {"a": None}, "cand_4")
    tip = repo.pull(ours, theirs, {"a": None, "b": "B2", "c": "C"})

    assert repo.approved(tip) == {"b": "B2", "c": "C"}
    assert repo.unreviewed(tip) == set()


# -- the line itself -----------------------------------------------------------------------------


def test_a_verdict_does_not_depend_on_what_came_after(repo: Builder) -> None:
    """Judging on from a known tip gives the same ledger as judging from the beginning."""
    main = repo.root
    tips = [main]
    for number in range(6):
        main = repo.approve(main, {f"e{number % 3}": f"text {number}"}, f"cand_{number}")
        main = repo.commit([main], {"e1": f"direct {number}"}) if number % 2 else main
        tips.append(main)
    objects = Objects(repo.git_dir, "project")
    known = approval.judge(objects, tips[0])
    for tip in tips[1:]:
        known = approval.judge(objects, tip, known=known)

    assert known.line == repo.judged(main).line


def test_an_older_tip_after_a_newer_one(repo: Builder) -> None:
    """A reset to an old state is judged as that state."""
    old = repo.approve(repo.root, {"a": "A"}, "cand_1")
    new = repo.approve(old, {"b": "B"}, "cand_2")
    objects = Objects(repo.git_dir, "project")
    known = approval.judge(objects, new)

    assert approval.judge(objects, old, known=known).line == repo.judged(old).line


def test_the_line_of_a_sync_has_both_sides_first_parent_first(repo: Builder) -> None:
    """Post-order: positions are those in the log."""
    ours = repo.approve(repo.root, {"a": "A"}, "cand_1")
    theirs = repo.approve(repo.root, {"b": "B"}, "cand_2")
    tip = repo.pull(ours, theirs)

    assert [j.commit for j in repo.judged(tip).line] == [repo.root, ours, theirs, tip]


def test_going_on_over_a_sync_with_another_first_parent(repo: Builder) -> None:
    """The line begins with the other side then: nothing of the known order is kept."""
    ours = repo.approve(repo.root, {"a": "A"}, "cand_1")
    theirs = repo.approve(repo.root, {"b": "B"}, "cand_2")
    tip = repo.pull(theirs, ours)
    objects = Objects(repo.git_dir, "project")
    known = approval.judge(objects, ours)

    assert approval.judge(objects, tip, known=known).line == repo.judged(tip).line
    assert [j.commit for j in repo.judged(tip).line] == [repo.root, theirs, ours, tip]


def test_a_candidate_from_the_other_line_of_a_sync(repo: Builder) -> None:
    """It is judged as if that line had never been seen, though the sync has it first."""
    other = repo.commit([repo.root], {"a": "A"})
    candidate = repo.propose(other, {"b": "B"}, "cand_1")
    own = repo.apply(repo.root, candidate, "cand_1", {"a": "A", "b": "B"})
    tip = repo.pull(other, own, {"b": "B"})

    assert repo.judged(tip).of(own) == repo.judged(own).of(own)
    assert repo.approved(tip) == {"a": "A", "b": "B"}


def test_what_was_unreviewed_before_is_reported_once(repo: Builder) -> None:
    """A sync that only carries unreviewed content along is not blamed for it."""
    theirs = repo.commit([repo.root], {"evil": "E"})
    tip = repo.pull(repo.approve(repo.root, {"b": "B"}, "cand_2"), theirs)

    assert [set(j.unreviewed) for j in repo.judged(tip).line] == [set(), set(), {"evil"}, set()]


def test_who_left_a_file_unreviewed(repo: Builder) -> None:
    """The commits since it was last as approved, also where it was put right on another line."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    first = repo.commit([repo.commit([main], {"a": "E0"})], {"a": "A"})
    second = repo.commit([first], {"a": "E1"})
    third = repo.commit([second], {"a": "E2"})
    put_right = repo.commit([second], {"a": "A"})
    brought_back = repo.pull(put_right, repo.commit([second], {"b": "B"}), {"a": "E1"})

    def culprits(tip: str) -> list[str]:
        return [judgement.commit for judgement in repo.judged(tip).culprits("a")]

    assert culprits(first) == culprits(put_right) == []
    assert culprits(third) == [second, third]
    assert culprits(brought_back) == [second]


def test_a_result_that_the_rule_would_give_over_unreviewed_text(repo: Builder) -> None:
    """A candidate on unreviewed content is refused even where its merge looks right."""
    base = repo.approve(repo.root, {"a": THREE}, "cand_0")
    direct = repo.commit([base], {"a": THREE + "\n\nslipped in"})
    changed = THREE.replace("one", "ONE")
    candidate = repo.propose(direct, {"a": changed + "\n\nslipped in"}, "cand_1")
    tip = repo.apply(direct, candidate, "cand_1", {"a": changed})

    assert repo.approved(tip) == {"a": THREE}
    assert repo.unreviewed(tip) == {"a"}


def test_a_text_below_a_candidates_last_commit(repo: Builder) -> None:
    """A diff does not show it, so it never counts: not with the candidate, nor as a base afterwards."""
    main = repo.approve(repo.root, {"a": THREE}, "cand_0")
    below = repo.plain(main, {"a": THREE + "\n\nslipped in", "evil": "E"})
    clean = repo.commit([below], {"a": THREE, "evil": None, "b": "B"})
    applied = repo.apply(main, clean, "first", {"b": "B"})
    changed = THREE.replace("one", "ONE")
    fork = repo.plain(below, {"a": changed + "\n\nslipped in"})

    assert repo.approved(applied) == {"a": THREE, "b": "B"}
    assert repo.approved(repo.apply(applied, fork, "second", {"a": changed}))["a"] == changed
    carried = repo.apply(applied, fork, "second", {"a": changed + "\n\nslipped in", "evil": "E"})
    assert repo.approved(carried) == {"a": THREE, "b": "B"}
    assert repo.unreviewed(carried) == {"a", "evil"}


def test_a_merge_that_takes_the_candidates_whole_tree(repo: Builder) -> None:
    """`-s theirs` on an old base drops what others approved meanwhile: that is not covered."""
    candidate = repo.propose(repo.root, {"a": "A"}, "cand_1")
    main = repo.approve(repo.root, {"b": "B"}, "cand_2")
    tip = repo.apply(main, candidate, "cand_1", {"a": "A", "b": None})

    assert repo.approved(tip) == {"a": "A", "b": "B"}
    assert repo.unreviewed(tip) == {"b"}


def test_a_stacked_candidate_over_unreviewed_text(repo: Builder) -> None:
    """What lay unreviewed below the first candidate stays so below the second."""
    base = repo.approve(repo.root, {"a": THREE}, "cand_0")
    direct = repo.commit([base], {"a": THREE + "\n\nslipped in"})
    below = repo.propose(direct, {"b": "B"}, "cand_1")
    changed = THREE.replace("one", "ONE")
    above = repo.propose(below, {"a": changed + "\n\nslipped in"}, "cand_2")
    tip = repo.apply(repo.apply(direct, below, "cand_1"), above, "cand_2", {"a": changed})

    assert repo.approved(tip) == {"a": THREE, "b": "B"}
    assert repo.unreviewed(tip) == {"a"}


def crossed(repo: Builder, left: str, right: str) -> tuple[str, str]:
    """Two lines that have merged one another: `left` and `right` are both their merge bases."""
    body = THREE.replace("one", "ONE").replace("three", "THREE")
    return repo.pull(left, right, {"a": body}), repo.pull(right, left, {"a": body})


def test_a_candidate_with_two_merge_bases(repo: Builder) -> None:
    """Its base is what the rule makes of both: neither's own edit counts as the candidate's."""
    base = repo.approve(repo.root, {"a": THREE}, "cand_0")
    left = repo.approve(base, {"a": THREE.replace("one", "ONE")}, "cand_1")
    right = repo.approve(base, {"a": THREE.replace("three", "THREE")}, "cand_2")
    ours, theirs = crossed(repo, left, right)
    both = repo.approved(ours)["a"]
    main = repo.approve(ours, {"a": None}, "cand_3")
    innocent = repo.propose(theirs, {"b": "B"}, "cand_4")
    slipped = repo.apply(main, innocent, "cand_4", {"a": "slipped in", "b": "B"})
    edited = repo.propose(theirs, {"a": both.replace("two", "TWO")}, "cand_5")

    assert repo.approved(slipped) == {"b": "B"}
    assert repo.unreviewed(slipped) == {"a"}
    assert set(repo.approved(repo.apply(ours, edited, "cand_5"))["a"].split()) == {
        "ONE",
        "TWO",
        "THREE",
    }


@pytest.mark.parametrize("first", [True, False])
def test_a_candidate_with_an_unreviewed_merge_base(repo: Builder, first: bool) -> None:
    """One of two bases is enough, whichever has the smaller id: it is in doubt what the diff shows."""
    base = repo.approve(repo.root, {"a": THREE}, "cand_0")
    direct = repo.commit([base], {"a": "slipped in"})
    right = repo.approve(base, {"r": "R"}, "cand_1")
    left = repo.approve(direct, {"l": "L"}, "cand_2")
    while (left < right) != first:
        left = repo.approve(direct, {"l": "L"}, "cand_2")
    carried = {"a": "slipped in", "l": "L", "r": "R"}
    ours, theirs = repo.pull(left, right, carried), repo.pull(right, left, carried)
    candidate = repo.propose(theirs, {"a": "slipped in, and more"}, "cand_3")
    tip = repo.apply(ours, candidate, "cand_3", {"a": "slipped in, and more"})

    assert repo.approved(tip) == {"a": THREE, "l": "L", "r": "R"}
    assert repo.unreviewed(tip) == {"a"}


def test_lines_that_cross_again_and_again(repo: Builder) -> None:
    """There is an end to looking for the bases of bases; what is approved on one line stays."""
    left = repo.approve(repo.root, {"a": "left"}, "cand_1")
    right = repo.approve(repo.root, {"a": "right", "b": "B"}, "cand_2")
    for _ in range(12):
        left, right = (
            repo.approve(repo.pull(left, right, {"b": "B"}), {"a": "left"}, "cand_3"),
            repo.approve(repo.pull(right, left, {}), {"a": "right"}, "cand_4"),
        )

    assert repo.approved(repo.pull(left, right, {"b": "B"})) == {"a": "left", "b": "B"}
    assert repo.approved(repo.pull(right, left, {})) == {"a": "right", "b": "B"}


def test_deletions_after_a_criss_cross(repo: Builder) -> None:
    """An entry that one of two merge bases lacks does not come back."""
    left = repo.approve(repo.root, {"b": "B"}, "cand_1")
    right = repo.approve(repo.root, {"c": "C"}, "cand_2")
    ours = repo.approve(repo.pull(left, right), {"b": None}, "cand_3")
    theirs = repo.approve(repo.pull(right, left), {"c": None}, "cand_4")
    tip = repo.pull(ours, theirs, {"b": None, "c": None})

    assert repo.approved(tip) == {}
    assert repo.unreviewed(tip) == set()


# -- approvals that must be signed ---------------------------------------------------------------


@pytest.mark.parametrize("move", ["apply", "revert", "sync", "octopus"])
def test_what_no_signer_signed(repo: Builder, move: str) -> None:
    """What the trust does not take is a direct commit: nothing comes in over its other parents."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    other = repo.approve(main, {"b": "B"}, "cand_2")
    two = [repo.propose(main, {name: "X"}, f"cand_{name}") for name in ("c", "d")]
    names = "Merge branches 'memory/candidate/cand_c' and 'memory/candidate/cand_d'\n"
    tip = {
        "apply": lambda: repo.approve(main, {"a": "X"}, "cand_3"),
        "revert": lambda: repo.revert(main, main, {"a": None}),
        "sync": lambda: repo.pull(main, other),
        "octopus": lambda: repo.merge(main, two, names),
    }[move]()
    objects = Objects(repo.git_dir, "project")

    ledger = approval.judge(objects, tip, trust=lambda commit: commit.id != tip)

    assert ledger.line[-1].kind == "direct"
    assert [judgement.commit for judgement in ledger.line] == [repo.root, main, tip]
    assert dict(ledger.view.contents(objects)) == dict(ledger.of(main).view.contents(objects))
    assert set(ledger.view.held) == set(ledger.line[-1].unreviewed) != set()
