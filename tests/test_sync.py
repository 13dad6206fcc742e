"""Sync: what comes, what goes, what waits for a person, and what happens when the remote does not answer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from killing import dies_at
from servers import Remote
from team import Clone, Team, git

from gitmem import audit, layout, settings, sync, witness
from gitmem.errors import GitmemError
from gitmem.git import refs, tierrepo
from gitmem.git.lock import process_lock
from gitmem.model import trailers


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Two people with one approved entry, `indent`, that both have."""
    made = Team(tmp_path, ("Ann", "Ben"))
    ann, ben = made.clones
    ann.approve("indent", "Four spaces.")
    ann.sync()
    ben.sync()
    return made


def error(action: Callable[[], object]) -> str:
    """The name of the error that an action ends with."""
    with pytest.raises(GitmemError) as caught:
        action()
    return caught.value.reference


def written(git_dir: Path, kind: str, data: bytes) -> str:
    """The id of an object in a repository that looks at nothing."""
    how = ("hash-object", "-w", "--literally", "-t", kind, "--stdin")
    command = ["git", "--git-dir", str(git_dir), *how]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode()[:40]


def findings(clone: Clone) -> list[str]:
    """What `verify` finds in a clone."""
    return [found.kind for found in audit.verify(clone.memory).findings]


# -- what comes and goes ---------------------------------------------------------------------------


def test_what_one_approved_the_other_gets(team: Team) -> None:
    """An approval goes there with the one sync and comes with the other."""
    ann, ben = team.clones
    ann.approve("tests", "Run make test.")

    went, came = ann.sync().went, ben.sync().came

    assert (went.entries, went.candidates) == (["mem_tests"], [])
    assert (came.entries, came.candidates) == (["mem_tests"], [])
    assert ben.body("tests") == "Run make test."
    assert ann.main == ben.main


def test_a_sync_with_nothing_new_changes_nothing(team: Team) -> None:
    """Nothing comes, nothing goes, and no ref moves."""
    ann, _ = team.clones
    before = refs.listed(ann.git_dir, "refs/"), team.there()

    report = ann.sync()

    assert not report.came
    assert not report.went
    assert (refs.listed(ann.git_dir, "refs/"), team.there()) == before


def test_a_candidate_goes_and_is_decided_elsewhere(team: Team) -> None:
    """Its branch goes there, and is gone everywhere once somebody has applied it."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")

    assert ann.sync().went.candidates == [id_]
    assert ben.sync().came.candidates == [id_]
    ben.apply(id_)
    ben.sync()
    ann.sync()

    assert ann.body("tests") == "Run make test."
    assert ann.branches() == {}
    assert list(team.there()) == [layout.MAIN]
    assert refs.listed(ann.git_dir, layout.KEPT, "refs/remotes/origin/memory/candidate") == {}


def test_a_discarded_candidate_goes_everywhere(team: Team) -> None:
    """The tag is shared, and the branch is gone there and here."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    ann.sync()
    ben.sync()
    ben.memory.discard(id_, by=ben.person, reason="No.")

    assert ben.sync().went.discarded == [id_]
    assert ann.sync().came.discarded == [id_]
    assert ann.states()[id_] == "discarded"
    assert ann.branches() == {}
    assert [name for name in team.there() if id_ in name and "heads" in name] == []


def test_an_edit_of_a_candidate_is_taken_up(team: Team) -> None:
    """The branch here goes on to what somebody else has put on it."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    ann.sync()
    ben.sync()
    text = b"---\ntype: fact\n---\n\nRun make check.\n"
    tip = ben.memory.edit(id_, {"tests": text}, by=ben.person)
    ben.sync()

    ann.sync()

    assert ann.branches() == {id_: tip}


def test_a_candidate_that_vanished_there_is_withdrawn(team: Team) -> None:
    """It is not pushed again; its anchor keeps it."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    ann.sync()
    ben.sync()
    git("--git-dir", str(team.remote), "update-ref", "-d", layout.candidate_ref(id_))

    for clone in (ann, ben):
        assert clone.sync().withdrawn == [id_]
        assert clone.states() == {**clone.states(), id_: "withdrawn"}
        assert clone.sync().withdrawn == []
    assert layout.candidate_ref(id_) not in team.there()


def test_push_candidates_pushes_nothing_else(team: Team) -> None:
    """Approvals stay here."""
    ann, _ = team.clones
    ann.approve("tests", "Run make test.")
    main, id_ = team.there()[layout.MAIN], ann.propose("more", "More.")

    report = ann.push_candidates()

    assert report.went.candidates == [id_]
    assert team.there()[layout.MAIN] == main
    assert ann.push_candidates().went.candidates == []


def test_nothing_private_leaves(team: Team) -> None:
    """Session records, anchors and branches of other names stay here."""
    ann, _ = team.clones
    ann.propose("tests", "Run make test.")
    tip = ann.main
    for name in ("refs/memory/session/s1", "refs/memory/kept/x", "refs/heads/mine", "refs/tags/v1"):
        git("--git-dir", str(ann.git_dir), "update-ref", name, tip)

    ann.sync()

    assert all(name == layout.MAIN or name.startswith(layout.CANDIDATES) for name in team.there())


# -- the first time --------------------------------------------------------------------------------


def test_a_first_sync_with_an_empty_remote_asks(tmp_path: Path) -> None:
    """It names what will be visible; who says no has pushed nothing."""
    (ann,) = Team(tmp_path, ("Ann",)).clones
    ann.approve("indent", "Four spaces.")
    id_ = ann.propose("tests", "Run make test.")

    def refuse(question: sync.Question) -> None:
        assert (question.kind, question.visible.entries) == ("push", 1)
        assert question.visible.candidates == (id_,)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync.sync(ann.memory, by=ann.person, agree=refuse, scope="project")
    assert git("--git-dir", str(tmp_path / "remote.git"), "for-each-ref") == ""

    ann.sync()
    ann.sync()

    assert [question.kind for question in ann.asked] == ["push"]


def test_two_memories_that_began_on_their_own_ask(tmp_path: Path) -> None:
    """Two inits before the first sync: the second one asks, and says who approved what is there."""
    ann, ben = Team(tmp_path, ("Ann", "Ben")).clones
    ann.approve("indent", "Four spaces.")
    ann.propose("theirs", "Theirs.")
    ben.approve("tests", "Run make test.")
    ann.sync()

    def refuse(question: sync.Question) -> None:
        assert (question.kind, question.entries) == ("join", 1)
        assert question.approvers == (("Ann <ann@example.org>", 1),)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync.sync(ben.memory, by=ben.person, agree=refuse, scope="project")
    assert refs.listed(ben.git_dir, "refs/remotes/") == {}
    assert ben.memory.candidates(scope="project") == []

    ben.sync()

    assert (ben.body("indent"), ben.body("tests")) == ("Four spaces.", "Run make test.")


def test_a_remote_with_other_memory_is_refused(tmp_path: Path) -> None:
    """A line that did not begin as memory does is none, and a user's is no project's."""
    (ann,) = Team(tmp_path, ("Ann",)).clones
    tierrepo.create(tmp_path / "user" / "memory" / ".git", "user", bare=False)
    other = tmp_path / "user" / "memory" / ".git"
    git("--git-dir", str(other), "push", "-q", str(tmp_path / "remote.git"), layout.MAIN)

    assert error(ann.sync) == "other-memory"
    assert refs.listed(ann.git_dir, "refs/remotes/") == {}


def test_a_code_branch_in_the_way_is_named(tmp_path: Path) -> None:
    """A branch `memory` keeps git from having memory/main."""
    made = Team(tmp_path, ("Ann",))
    (ann,) = made.clones
    git("--git-dir", str(ann.git_dir), "push", "-q", made.url, f"{ann.main}:refs/heads/memory")

    assert error(ann.sync) == "branch-in-the-way"


# -- two people, one entry -------------------------------------------------------------------------


def conflict_of(report: sync.Report) -> sync.Conflict:
    """The one conflict of a sync."""
    (found,) = report.conflicts
    return found


def test_the_later_of_two_changes_waits_as_a_candidate(team: Team) -> None:
    """memory/main keeps what came first, the candidate has the other text and says both."""
    ann, ben = team.clones
    ann.approve("indent", "Two spaces.")
    ben.approve("indent", "A tab.")
    ben.approve("tests", "Run make test.")
    ann.sync()

    conflict = conflict_of(ben.sync())
    ann.sync()

    assert conflict.entry == "mem_indent"
    for clone in (ann, ben):
        assert (clone.body("indent"), clone.body("tests")) == ("Two spaces.", "Run make test.")
        found = clone.memory.candidate(conflict.candidate)
        (item,) = found.entries
        assert clone.store.entry("indent", item.result).body == "A tab."  # type: ignore[union-attr]
        assert "Two spaces." in found.rationale
        assert "A tab." in found.rationale
        assert found.state == "pending"
    assert "<<<" not in ann.memory.candidate(conflict.candidate).rationale
    message = trailers.parse(ben.store.objects.commit(ben.main).message)
    assert message.all(trailers.CONFLICT) == (f"mem_indent {conflict.candidate}",)
    ann.apply(conflict.candidate)
    assert ann.body("indent") == "A tab."
    assert findings(ann) == []


def test_changes_that_go_together_are_merged(team: Team) -> None:
    """Two paragraphs of one entry, one by each: no conflict."""
    ann, ben = team.clones
    ann.approve("indent", "one\n\ntwo\n\nthree")
    team.sync()
    ann.approve("indent", "ONE\n\ntwo\n\nthree")
    ben.approve("indent", "one\n\ntwo\n\nTHREE")
    ann.sync()

    assert ben.sync().conflicts == ()
    assert ben.body("indent") == "ONE\n\ntwo\n\nTHREE"


def test_an_entry_created_twice(team: Team) -> None:
    """The first stays, the other waits as a change of it."""
    ann, ben = team.clones
    ann.approve("tests", "Run make test.")
    ben.approve("tests", "Run pytest.")
    ann.sync()

    conflict = conflict_of(ben.sync())

    assert ben.body("tests") == "Run make test."
    ben.apply(conflict.candidate)
    assert ben.body("tests") == "Run pytest."


@pytest.mark.parametrize("first", ["edit", "deletion"])
def test_edited_here_and_deleted_there(team: Team, first: str) -> None:
    """What reached the remote first stays; the candidate does the other."""
    texts = ["Two spaces.", None] if first == "edit" else [None, "Two spaces."]
    for clone, text in zip(team.clones, texts, strict=True):
        clone.approve("indent", text)
    ann, ben = team.clones
    ann.sync()

    conflict = conflict_of(ben.sync())

    assert ben.body("indent") == texts[0]
    ben.apply(conflict.candidate)
    assert ben.body("indent") == texts[1]
    assert findings(ben) == []


def test_applied_here_and_discarded_there(team: Team) -> None:
    """Approved is approved, whichever came first; the discard stays on record."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    team.sync()
    ann.memory.discard(id_, by=ann.person, reason="No.")
    ben.apply(id_)
    team.sync()

    for clone in (ann, ben):
        assert clone.body("tests") == "Run make test."
        assert clone.states()[id_] == "applied"
    assert [name for name in team.there() if name.startswith(layout.DISCARDED)] != []


def test_discarded_there_and_edited_here(team: Team) -> None:
    """It is open again, with the edit."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    team.sync()
    ann.memory.discard(id_, by=ann.person, reason="No.")
    ann.sync()
    text = b"---\ntype: fact\n---\n\nRun make check.\n"
    tip = ben.memory.edit(id_, {"tests": text}, by=ben.person)
    team.sync()

    for clone in (ann, ben):
        found = clone.memory.candidate(id_)
        assert (found.state, found.commit) == ("pending", tip)


def test_applied_by_both(team: Team) -> None:
    """It counts once."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    team.sync()
    ann.apply(id_)
    ben.apply(id_)
    team.sync()

    assert ann.main == ben.main
    applied = [event for event in ann.store.events() if event.kind == "candidate.applied"]
    assert [event.candidate for event in applied].count(id_) == 1


def test_a_candidate_that_two_people_edited_is_split(team: Team) -> None:
    """The remote's keeps the name, the other one becomes a candidate of its own."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    team.sync()
    for clone, text in ((ann, "Run pytest."), (ben, "Run tox.")):
        data = f"---\ntype: fact\n---\n\n{text}\n".encode()
        clone.memory.edit(id_, {"tests": data}, by=clone.person)
    ann.sync()

    ((old, made),) = ben.sync().split
    ann.sync()

    assert old == id_
    for clone in (ann, ben):
        bodies = {
            name: clone.store.entry("tests", clone.memory.candidate(name).entries[0].content)
            for name in (id_, made)
        }
        assert {name: entry.body for name, entry in bodies.items() if entry} == {
            id_: "Run pytest.",
            made: "Run tox.",
        }


def test_a_conflicts_candidate_is_the_same_in_all_clones(tmp_path: Path) -> None:
    """Two clones that meet the same two approvals make one candidate, byte for byte."""
    ann, ben, cem = Team(tmp_path, ("Ann", "Ben", "Cem")).clones
    ann.approve("indent", "Four spaces.")
    for clone in (ann, ben, cem):
        clone.sync()
    ann.approve("indent", "Two spaces.")
    other = ben.approve("indent", "A tab.")
    # Cem has what Ben approved without the remote.
    git("--git-dir", str(cem.git_dir), "fetch", "-q", str(ben.git_dir), other)
    git("--git-dir", str(cem.git_dir), "update-ref", layout.MAIN, other)
    ann.sync()

    first = conflict_of(ben.sync())
    tip = ben.branches()[first.candidate]
    for name in (layout.candidate_ref(first.candidate), layout.MAIN):
        old = f"{ann.main}:" if name == layout.MAIN else ":"
        git("--git-dir", str(ben.git_dir), "push", "-q", "--force", "origin", f"{old}{name}")
    second = conflict_of(cem.sync())

    assert second == first
    assert cem.branches()[second.candidate] == tip


# -- merges that were not pushed -------------------------------------------------------------------


def cut(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the clone's next pushes fail, as if the network were gone by then."""
    monkeypatch.setattr(sync.Door, "push", lambda *_, **__: (_ for _ in ()).throw(OSError("cut")))
    with pytest.raises(OSError, match="cut"):
        clone.sync()
    monkeypatch.undo()


def test_a_merge_that_was_not_pushed_is_made_again(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a newer tip the old merge is dropped: history has one, and no finding says that it is gone."""
    ann, ben = team.clones
    ann.approve("tests", "Run make test.")
    ann.sync()
    ben.approve("prices", "Integers.")
    cut(ben, monkeypatch)
    dropped = ben.main
    ann.approve("dates", "UTC.")
    ann.sync()

    ben.sync()

    kinds = [judgement.kind for judgement in ben.store.ledger().line]
    assert kinds.count("sync") == 1
    assert dropped not in ben.store.ledger().position
    assert findings(ben) == []


def test_a_merge_that_something_stands_on_is_kept(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A candidate was forked from it: it is merged again."""
    ann, ben = team.clones
    ann.approve("tests", "Run make test.")
    ann.sync()
    ben.approve("prices", "Integers.")
    cut(ben, monkeypatch)
    kept = ben.main
    ben.propose("more", "More.")
    ann.approve("dates", "UTC.")
    ann.sync()

    ben.sync()

    assert kept in ben.store.ledger().position
    assert ben.store.objects.commit(ben.main).parents == (ann.main, kept)


def test_the_candidate_of_a_dropped_merge_goes_where_nothing_conflicts_any_more(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remote has come to the same text meanwhile."""
    ann, ben = team.clones
    ann.approve("indent", "Two spaces.")
    ann.sync()
    ben.approve("indent", "A tab.")
    cut(ben, monkeypatch)
    assert len(ben.branches()) == 1
    ann.memory.revert(ann.main, by=ann.person)
    ann.sync()

    report = ben.sync()

    assert (report.conflicts, ben.branches()) == ((), {})
    assert ben.body("indent") == "A tab."


def test_a_plain_pull_is_turned_round(team: Team) -> None:
    """The own line first: sync puts the remote's line first again."""
    ann, ben = team.clones
    ann.approve("tests", "Run make test.")
    ann.sync()
    ben.approve("prices", "Integers.")
    theirs, ours, objects = ann.main, ben.main, ben.store.objects
    git("--git-dir", str(ben.git_dir), "fetch", "-q", "origin", layout.MAIN)
    entry = ann.store.approved_content("tests")
    tree = objects.write_tree(objects.commit(ours).tree, {"tests.md": entry})
    message = "Merge branch 'memory/main' of /srv/team\n"
    pulled = objects.write_commit(tree, [ours, theirs], message, ben.person)
    git("--git-dir", str(ben.git_dir), "update-ref", layout.MAIN, pulled)

    ben.sync()

    assert ben.store.objects.commit(ben.main).parents == (theirs, ours)
    assert team.there()[layout.MAIN] == ben.main


def test_unreviewed_text_is_named_and_left_out(team: Team) -> None:
    """A merge holds what is approved; what is not in it is said."""
    ann, ben = team.clones
    ann.approve("tests", "Run make test.")
    ann.sync()
    objects = ben.store.objects
    blob = objects.write_blob(b"---\ntype: fact\n---\n\nNobody approved this.\n")
    tree = objects.write_tree(objects.commit(ben.main).tree, {"evil.md": blob})
    direct = objects.write_commit(tree, [ben.main], "by hand\n", ben.person)
    git("--git-dir", str(ben.git_dir), "update-ref", layout.MAIN, direct)

    report = ben.sync()

    assert report.unreviewed == ((direct, "mem_evil"),)
    assert "evil.md" not in objects.paths(objects.commit(ben.main).tree)


def test_its_merges_are_signed_where_approvals_are(
    team: Team, keys: Any, run_git: Callable[..., str]
) -> None:
    """So that in all clones what came over them counts."""
    ann, ben = team.clones
    for clone, own, other in ((ann, "ann", "bob"), (ben, "bob", "ann")):
        keys[own].sign_with(run_git, team.folder)
        settings.set_approval(clone.store, "signed", clone.person)
        settings.add_signer(clone.store, clone.person, other, str(keys[other].public))
    keys["ann"].sign_with(run_git, team.folder)
    ann.approve("tests", "Run make test.")
    ann.sync()
    keys["bob"].sign_with(run_git, team.folder)
    ben.approve("prices", "Integers.")

    ben.sync()
    ann.sync()

    assert ann.store.ledger().line[-1].kind == "sync"
    assert (ann.body("tests"), ann.body("prices")) == ("Run make test.", "Integers.")
    assert findings(ann) == []


# -- faults ----------------------------------------------------------------------------------------


def test_a_remote_that_rewrote_its_memory_is_refused(team: Team) -> None:
    """Nothing here changes, also after a plain fetch, and a rejoin gives back what was lost."""
    ann, ben = team.clones
    ann.approve("tests", "Run make test.")
    team.sync()
    lost = ann.main
    root = layout.root_id("project")
    git("--git-dir", str(team.remote), "update-ref", layout.MAIN, root)
    git("--git-dir", str(ann.git_dir), "fetch", "-q")

    for _ in range(2):
        assert error(ann.sync) == "remote-rewritten"
        assert ann.main == lost

    ann.sync(rejoin=True)
    ben.sync()

    assert lost in ben.store.ledger().position
    assert findings(ann) == []


def test_a_rewriting_that_was_meant_can_be_taken(team: Team) -> None:
    """As the error says: move, accept, rejoin."""
    ann, _ = team.clones
    root = layout.root_id("project")
    git("--git-dir", str(team.remote), "update-ref", layout.MAIN, root)
    assert error(ann.sync) == "remote-rewritten"

    git("--git-dir", str(ann.git_dir), "update-ref", layout.MAIN, root)
    audit.accept(ann.memory)
    ann.sync(rejoin=True)

    assert ann.main == root
    assert ann.sync().went.entries == []


def test_a_remote_that_lost_its_memory_is_refused(team: Team) -> None:
    """memory/main is gone there: that is no empty remote."""
    ann, _ = team.clones
    git("--git-dir", str(team.remote), "update-ref", "-d", layout.MAIN)

    assert error(ann.sync) == "remote-rewritten"
    ann.sync(rejoin=True)
    assert team.there()[layout.MAIN] == ann.main


def test_a_shallow_clone_gets_its_history(team: Team) -> None:
    """Approval needs all of it: sync fetches the rest."""
    ann, ben = team.clones
    for number in range(3):
        ann.approve(f"more-{number}", "More.")
    ann.sync()
    shallow = team.folder / "shallow.git"
    git(
        "clone",
        "-q",
        "--bare",
        "--depth",
        "1",
        "-b",
        "memory/main",
        f"file://{team.remote}",
        str(shallow),
    )
    tierrepo.mend(shallow, "project", bare=True)
    tierrepo.remove_remote(shallow, "origin")
    tierrepo.add_remote(shallow, "origin", f"file://{team.remote}")
    clone = Clone(shallow, "Dan")

    clone.sync()

    assert clone.main == ann.main
    assert clone.body("indent") == "Four spaces."
    assert ben.sync().came.entries != []


def test_a_clone_that_was_made_shallow_gets_its_history(team: Team) -> None:
    """Also where there is nothing new."""
    ann, _ = team.clones
    ann.approve("tests", "Run make test.")
    ann.sync()
    shallow = team.folder / "shallow.git"
    origin = f"file://{team.remote}"
    git("clone", "-q", "--bare", "--depth", "1", "-b", "memory/main", origin, str(shallow))
    tierrepo.add_remote(shallow, "origin", origin)
    git("--git-dir", str(shallow), "update-ref", "refs/remotes/origin/memory/main", ann.main)
    clone = Clone(shallow, "Dan")

    clone.sync()

    assert clone.body("indent") == "Four spaces."


def test_refs_of_strange_names_stay_there(team: Team) -> None:
    """Names below a candidate's own would be in git's way for ever."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    team.sync()
    bare = ("--git-dir", str(team.remote), "update-ref")
    git(*bare, "-d", layout.candidate_ref(id_))
    for name in (f"heads/memory/candidate/{id_}/x", "tags/memory/discarded/a/b", "heads/memory/x"):
        git(*bare, f"refs/{name}", ann.main)
    other = ann.propose("more", "More.")
    ann.sync()

    assert ben.sync().came.candidates == [other]
    assert ann.sync().came.candidates == []


def test_a_damaged_candidate_keeps_no_other_away(team: Team) -> None:
    """Git refuses to fetch it; the rest comes."""
    ann, ben = team.clones
    bare = ("--git-dir", str(team.remote))
    blob = written(team.remote, "blob", b"x")
    tree = written(team.remote, "tree", b"100644 .git\0" + bytes.fromhex(blob))
    commit = git(*bare, "commit-tree", tree, "-p", ann.main, "-m", "bad").strip()
    git(*bare, "update-ref", layout.candidate_ref("bad"), commit)
    id_ = ann.propose("tests", "Run make test.")
    ann.push_candidates()

    for _ in range(2):
        report = ben.sync()
        assert report.unreadable == ["bad"]
    assert ben.states() == {**ben.states(), id_: "pending"}
    assert "bad" not in ben.states()


def test_ten_clones_that_sync_at_once(tmp_path: Path) -> None:
    """Each gets through, whatever the others push meanwhile."""
    team = Team(tmp_path, tuple(f"P{number}" for number in range(10)))
    team.clones[0].approve("start", "Here.")
    for clone in team.clones:
        clone.sync()
    for number, clone in enumerate(team.clones):
        clone.approve(f"entry-{number}", f"By {number}.")
        clone.propose(f"more-{number}", f"Also by {number}.")

    with ThreadPoolExecutor(10) as pool:
        reports = list(pool.map(lambda clone: clone.sync(), team.clones))
    for clone in team.clones:
        clone.sync()

    assert [report.refused for report in reports if report.refused] == []
    assert len({clone.main for clone in team.clones}) == 1
    for clone in team.clones:
        assert len(clone.store.approved()) == 11
        assert len(clone.store.pending()) == 10
        assert findings(clone) == []


def test_what_the_remote_does_not_take_is_said(team: Team) -> None:
    """No right to memory/main: the candidate goes, the approval and its branch's end do not."""
    ann, ben = team.clones
    id_ = ann.propose("tests", "Run make test.")
    team.sync()
    hook = team.remote / "hooks" / "update"
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/memory/main ]\n')
    hook.chmod(0o755)
    ann.apply(id_)
    other = ann.propose("more", "More.")

    report = ann.sync()

    assert list(report.refused) == [layout.MAIN]
    assert "hook declined" in report.refused[layout.MAIN]
    assert report.went.candidates == [other]
    assert layout.candidate_ref(id_) in team.there()
    assert ben.sync().came.candidates == [other]
    hook.unlink()
    assert ann.sync().went.entries == ["mem_tests"]


# -- real servers ----------------------------------------------------------------------------------


def test_a_remote_that_is_away_loses_nothing(http_server: Remote, tmp_path: Path) -> None:
    """Killed before the fetch and in the middle of a push: the next sync finishes the work."""
    team = Team(tmp_path, ("Ann", "Ben"), http_server.url())
    ann, ben = team.clones
    ann.approve("indent", "Four spaces.")
    ann.sync()
    assert http_server.server is not None
    http_server.server.stop()
    ann.approve("tests", "Run make test.")
    ann.propose("more", "More.")
    before = refs.listed(ann.git_dir, "refs/")

    assert error(ann.sync) == "remote-failed"
    assert refs.listed(ann.git_dir, "refs/") == before

    http_server.server.start()
    ann.sync()
    ben.sync()
    assert (ben.main, len(ben.store.pending())) == (ann.main, 1)


def test_a_server_that_dies_in_the_middle(http_server: Remote, tmp_path: Path) -> None:
    """A hook of the server kills it while it takes a push: all of it or nothing has arrived."""
    team = Team(tmp_path, ("Ann", "Ben"), http_server.url())
    ann, ben = team.clones
    ann.approve("indent", "Four spaces.")
    ann.sync()
    ben.sync()
    for hook in ("pre-receive", "post-receive"):
        ann.approve(f"at-{hook}", "Text.")
        script = http_server.git_dir / "hooks" / hook
        script.write_text("#!/bin/sh\nkill -9 $PPID\n")
        script.chmod(0o755)

        assert error(ann.sync) == "remote-failed"

        script.unlink()
        ann.sync()
        ben.sync()
        assert ben.main == ann.main
        assert ben.body(f"at-{hook}") == "Text."


def test_an_agent_shows_candidates_and_no_more(ssh_server: Remote, tmp_path: Path) -> None:
    """Where the account may push memory/candidate/* alone."""
    team = Team(tmp_path, ("Ann",), ssh_server.url())
    (ann,) = team.clones
    ann.approve("indent", "Four spaces.")
    ann.sync()
    tierrepo.create(tmp_path / "Bot.git", "project", bare=True)
    tierrepo.add_remote(tmp_path / "Bot.git", "origin", ssh_server.url("agent"))
    bot = Clone(tmp_path / "Bot.git", "Bot")
    id_ = bot.propose("tests", "Run make test.")

    assert bot.push_candidates().went.candidates == [id_]
    assert bot.asked == []
    bot.apply(id_)
    assert list(bot.sync().refused) == [layout.MAIN]
    assert ann.sync().came.candidates == [id_]


def test_the_witness_knows_the_remotes_tip(team: Team) -> None:
    """It is of one url, and goes with the repository's own record."""
    ann, _ = team.clones

    assert witness.read_remote(ann.git_dir, team.url) == ann.main
    assert witness.read_remote(ann.git_dir, "elsewhere") is None
    witness.forget(ann.git_dir)
    assert witness.read_remote(ann.git_dir, team.url) is None


def test_a_hundred_candidates_are_not_a_hundred_processes(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their number, a sync starts git a few times."""
    ann, ben = team.clones
    for number in range(100):
        ann.propose(f"entry-{number}", "Text.")
    started = []
    popen = subprocess.Popen.__init__

    def counted(self: subprocess.Popen[bytes], *args: object, **kwargs: object) -> None:
        started.append(args)
        popen(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    ann.sync()
    ben.sync()

    assert len(started) < 30


def test_a_kill_at_any_step_loses_nothing(tmp_path: Path) -> None:
    """The next sync finishes the work, and git agrees."""
    template = tmp_path / "template"
    template.mkdir()
    ann, ben = Team(template, ("Ann", "Ben")).clones
    ann.approve("indent", "Four spaces.")
    ann.sync()
    ben.sync()
    ann.approve("indent", "Two spaces.")
    ann.sync()
    ben.approve("indent", "A tab.")
    ben.propose("tests", "Run make test.")
    for step in range(0, 400, 9):
        here = tmp_path / f"here-{step}"
        shutil.copytree(template, here)
        clone = Clone(here / "Ben.git", "Ben")
        git(
            "--git-dir", str(clone.git_dir), "config", "remote.origin.url", str(here / "remote.git")
        )
        killed = dies_at(step, clone.sync)
        with process_lock(clone.git_dir, wait=10):
            pass

        again = Clone(here / "Ben.git", "Ben")
        again.sync()

        assert again.sync().went.entries == []
        there = git("--git-dir", str(here / "remote.git"), "rev-parse", layout.MAIN).strip()
        assert there == again.main
        assert (again.body("indent"), len(again.store.pending())) == ("Two spaces.", 2)
        assert findings(again) == []
        assert git("--git-dir", str(again.git_dir), "fsck", "--no-dangling") == ""
        shutil.rmtree(here)
        if not killed:
            break
    assert not killed
    assert step > 9
