"""A store on histories and refs made by hand: what it takes them for, whoever made them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from build import ANN, Builder, Changes, text

from gitmem import layout
from gitmem.errors import BadInputError, ConflictError
from gitmem.git import refs
from gitmem.layout import TierPlace
from gitmem.model import messages, trailers
from gitmem.model.history import EMPTY_TREE, Blob, Content
from gitmem.store import Store, Stub, is_customary

NAME = "cand_2026_aaaaaaaa"


@dataclass
class Repo:
    """A tier's repository whose refs are set by git itself."""

    make: Builder

    def git(self, *args: str, text: str = "") -> str:
        """What git says; it must succeed."""
        command = ["git", f"--git-dir={self.make.git_dir}", *args]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def ref(self, name: str, commit: str) -> None:
        """Set a ref by its full name."""
        self.git("update-ref", name, commit)

    def main(self, commit: str) -> str:
        """Move `memory/main`."""
        self.ref(layout.MAIN, commit)
        return commit

    def branch(self, base: str, changes: Changes, name: str = NAME) -> str:
        """A pending candidate with its branch."""
        tip = self.make.propose(base, changes, name)
        self.ref(layout.candidate_ref(name), tip)
        return tip

    def closing(self, tip: str, *, changes: Changes | None = None, event: str = "discard") -> str:
        """A closing commit on `tip`, empty but for `changes`."""
        return self.make.commit([tip], changes or {}, messages.closing(event, NAME, "no"))

    def tag(self, closing: str, name: str | None = None) -> str:
        """A discarded tag on a closing commit, as gitmem makes it."""
        ref = name or f"memory/discarded/{NAME}.{closing[:8]}"
        self.git("-c", "user.name=A", "-c", "user.email=a@b", "tag", "-a", "-m", "x", ref, closing)
        return f"refs/tags/{ref}"

    @property
    def store(self) -> Store:
        """A store that has seen nothing yet."""
        git_dir = self.make.git_dir
        return Store(TierPlace("project", git_dir, None, git_dir, None, linked=False))

    def states(self) -> dict[str, list[str]]:
        """The states of all candidates by id, in the order of the list."""
        found: dict[str, list[str]] = {}
        store = self.store
        for stub in store.stubs():
            # The short way to an open candidate must lead to the one that the long way has first.
            assert stub.id in found or store.open_stub(stub.id) in (None, stub)
            found.setdefault(stub.id, []).append(stub.state)
        return found

    def only(self) -> Stub:
        """The one candidate that there is."""
        (stub,) = self.store.stubs()
        return stub


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with its root on `memory/main`."""
    made = Repo(Builder.at(tmp_path))
    made.main(made.make.root)
    return made


# -- the branch itself -----------------------------------------------------------------------------


def test_without_a_main_nothing_is_guessed(repo: Repo) -> None:
    """Where `memory/main` is gone, or points elsewhere, each question is an error with a way out."""
    repo.branch(repo.make.root, {"a": "A"})
    repo.git("symbolic-ref", layout.MAIN, layout.candidate_ref(NAME))
    with pytest.raises(BadInputError) as caught:
        repo.store.approved()
    assert caught.value.reference == "symbolic-ref"

    repo.git("symbolic-ref", "--delete", layout.MAIN)
    with pytest.raises(BadInputError) as caught:
        repo.store.stubs()
    assert caught.value.reference == "main-missing"


def test_an_open_store_sees_what_others_move(repo: Repo) -> None:
    """A store that has answered once answers from the refs as they are at the next question."""
    store, make = repo.store, repo.make
    assert store.approved() == {}
    first = repo.main(make.approve(make.root, {"a": "A"}, "one"))
    assert list(store.approved()) == ["a"]
    repo.main(make.approve(make.root, {"b": "B"}, "two"))
    assert list(store.approved()) == ["b"]
    repo.main(make.approve(first, {"a": None}, "three"))
    assert store.approved() == {}


# -- states ----------------------------------------------------------------------------------------


def test_states_through_a_life(repo: Repo) -> None:
    """One candidate in each state, told from refs and history alone."""
    make = repo.make
    tip = repo.branch(make.root, {"a": "A"})
    assert (repo.only().state, repo.only().tip, repo.only().remote) == ("pending", tip, None)

    applied = repo.main(make.apply(make.root, tip, NAME))
    # A merge by hand leaves branch and anchor.
    repo.ref(layout.kept_ref(NAME), tip)
    assert (repo.only().state, repo.only().decided) == ("applied", applied)

    reverted = repo.main(make.revert(applied, applied, {"a": None}))
    assert (repo.only().state, repo.only().decided) == ("reverted", reverted)

    again = repo.main(make.revert(reverted, reverted, {"a": "A"}))
    assert (repo.only().state, repo.only().decided) == ("applied", again)

    last = repo.main(make.revert(again, again, {"a": None}))
    assert (repo.only().state, repo.only().decided) == ("reverted", last)
    assert repo.store.pending() == []


def test_a_second_name_for_what_was_applied(repo: Repo) -> None:
    """Another branch or anchor on commits that `memory/main` has is no candidate that waits."""
    tip = repo.branch(repo.make.root, {"a": "A"})
    repo.main(repo.make.apply(repo.make.root, tip, NAME))
    for name in (layout.candidate_ref("copy"), layout.kept_ref("spare")):
        repo.ref(name, tip)
    repo.ref("refs/remotes/origin/memory/candidate/far", tip)

    assert repo.states() == {NAME: ["applied"]}


def test_a_revert_that_is_none_takes_nothing_back(repo: Repo) -> None:
    """A commit that says so and does something else leaves the candidate applied."""
    make = repo.make
    applied = make.approve(make.root, {"a": "A"}, NAME)
    repo.main(make.revert(applied, applied, {"a": "something else"}))

    assert (repo.only().state, repo.only().decided) == ("applied", applied)


def test_an_anchor_alone_is_withdrawn(repo: Repo) -> None:
    """A branch that somebody deleted leaves a candidate that nobody decided on."""
    tip = repo.branch(repo.make.root, {"a": "A"})
    repo.ref(layout.kept_ref(NAME), tip)
    assert repo.only().state == "pending"

    repo.git("update-ref", "-d", layout.candidate_ref(NAME))

    assert (repo.only().state, repo.only().ref) == ("withdrawn", layout.kept_ref(NAME))


def test_a_branch_of_a_remote(repo: Repo) -> None:
    """A remote's candidate is pending, of that remote; the local branch of the same one is first."""
    tip = repo.make.propose(repo.make.root, {"a": "A"}, NAME)
    repo.ref(f"refs/remotes/team/eu/memory/candidate/{NAME}", tip)
    repo.ref("refs/remotes/team/eu/memory/main", repo.make.root)
    repo.ref("refs/remotes/team/eu/other/candidate/x", tip)
    assert (repo.only().state, repo.only().remote) == ("pending", "team/eu")

    edited = repo.make.commit([tip], {"a": "A2"}, messages.edit(NAME, "", "user"))
    repo.ref(layout.candidate_ref(NAME), edited)

    assert (repo.only().tip, repo.only().remote) == (edited, None)


def test_the_short_way_to_an_open_candidate(repo: Repo) -> None:
    """It is found without the others, also where it was applied and moved on."""
    main = repo.main(repo.make.root)
    tip = repo.branch(main, {"a": "A."})
    assert repo.store.open_stub(NAME) == repo.only()
    assert repo.store.open_stub("cand_2026_bbbbbbbb") is None
    assert repo.store.open_stub("../../main") is None

    repo.main(repo.make.apply(main, tip, NAME))
    repo.ref(layout.candidate_ref(NAME), repo.make.commit([tip], {"a": "B."}))

    assert repo.store.open_stub(NAME) == repo.store.stubs()[0]
    assert repo.states() == {NAME: ["pending", "applied"]}


def test_two_candidates_of_one_name_stay_two(repo: Repo) -> None:
    """An id belongs to its first commit: another line of that name is another candidate."""
    make = repo.make
    mine = make.plain(make.root, {"a": "mine"})
    theirs = make.plain(make.root, {"a": "theirs"})
    gone = make.plain(make.root, {"a": "gone"})
    repo.main(make.apply(make.root, mine, "fix"))
    repo.ref("refs/remotes/origin/memory/candidate/fix", theirs)
    repo.ref(layout.kept_ref("fix"), gone)

    stubs = repo.store.stubs()

    assert [(stub.state, stub.tip) for stub in stubs] == [
        ("pending", theirs),
        ("applied", mine),
        ("withdrawn", gone),
    ]


@pytest.mark.parametrize("name", ["UPPER", "a.b", "a/b", "x" * 101])
def test_a_branch_out_of_the_grammar_is_none_of_ours(repo: Repo, name: str) -> None:
    """A name that is no candidate id stands for nothing, here or at a remote."""
    tip = repo.make.plain(repo.make.root, {"a": "A"})
    repo.ref(layout.candidate_ref(name), tip)
    repo.ref(f"refs/remotes/origin/memory/candidate/{name}", tip)

    assert repo.store.stubs() == []
    assert repo.store.events() == []


def test_a_branch_that_is_no_line_of_its_own(repo: Repo) -> None:
    """A branch on `memory/main`, on its past or on another root is told as what it is."""
    make = repo.make
    main = repo.main(make.approve(make.root, {"a": "A"}, "one"))
    repo.ref(layout.candidate_ref("at_main"), main)
    repo.ref(layout.candidate_ref("at_root"), make.root)
    stranger = make.commit([], {"a": "A2"}, "another root\n")
    repo.ref(layout.candidate_ref("stranger"), stranger)
    store = repo.store

    found = {stub.id: store.candidate(stub) for stub in store.stubs()}

    assert (found["at_main"].entries, found["at_root"].entries) == ((), ())
    assert "no commit of its own" in (found["at_main"].broken or "")
    # It shares nothing, so that the entry counts as made twice.
    assert (found["stranger"].base, found["stranger"].conflicts) == (None, ("mem_a",))


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
def test_a_branch_to_something_else_than_a_commit(repo: Repo, kind: str) -> None:
    """A ref file can name any object: that one is broken, and the others are still listed."""
    good = repo.branch(repo.make.root, {"a": "A"})
    ids = {
        "blob": repo.git("hash-object", "-w", "--stdin", text="x"),
        "tree": EMPTY_TREE,
        "tag": repo.git("rev-parse", repo.tag(good, "some")),
    }
    (repo.make.git_dir / layout.candidate_ref("odd")).write_text(f"{ids[kind]}\n")
    (repo.make.git_dir / layout.candidate_ref("gone")).write_text("1" * 40 + "\n")
    store = repo.store

    found = {stub.id: store.candidate(stub) for stub in store.stubs()}

    assert sorted(found) == [NAME, "gone", "odd"]
    assert found[NAME].broken is None
    assert found["odd"].broken
    assert found["gone"].broken
    assert store.same_pending("") is None or found


# -- closed candidates -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "state"), [("discard", "discarded"), ("supersede", "superseded")]
)
def test_a_closed_candidate(repo: Repo, event: str, state: str) -> None:
    """The tag alone tells how it ended, on which commit, and why."""
    tip = repo.make.propose(repo.make.root, {"a": "A"}, NAME)
    closing = repo.closing(tip, event=event)
    repo.tag(closing)
    repo.ref(layout.kept_ref(NAME), tip)

    found = repo.store.candidate(repo.only())

    assert (found.state, found.decided, found.reason) == (state, closing, "no")
    assert [entry.id for entry in found.entries] == ["mem_a"]


def test_tags_that_close_nothing(repo: Repo) -> None:
    """A tag that is not just as gitmem makes it decides nothing: the candidate stays withdrawn."""
    make = repo.make
    tip = make.propose(make.root, {"a": "A"}, NAME)
    repo.ref(layout.kept_ref(NAME), tip)
    closing, full = repo.closing(tip), repo.closing(tip, changes={"b": "B"})
    merge = make.commit([tip, make.root], {}, messages.closing("discard", NAME, ""))
    on_main = make.commit([make.root], {}, messages.closing("discard", NAME, ""))
    prefix = f"memory/discarded/{NAME}"
    repo.ref(f"refs/tags/{prefix}.{closing[:8]}", closing)
    repo.tag(closing, f"{prefix}.{closing[:7]}")
    repo.tag(closing, f"{prefix}.{closing[:9]}")
    repo.tag(closing, f"{prefix}.00000000")
    repo.tag(closing, f"memory/discarded/Other.{closing[:8]}")
    repo.tag(full, f"{prefix}.{full[:8]}")
    repo.tag(merge, f"{prefix}.{merge[:8]}")
    repo.tag(on_main, f"{prefix}.{on_main[:8]}")
    repo.tag(make.root, f"{prefix}.{make.root[:8]}")
    repo.tag(EMPTY_TREE, f"{prefix}.{EMPTY_TREE[:8]}")
    inner = repo.git("rev-parse", repo.tag(closing, "inner"))
    repo.tag(inner, f"{prefix}.{inner[:8]}")

    assert repo.states() == {NAME: ["withdrawn"]}
    assert repo.store.closed() == []


def test_a_tag_to_what_is_gone_closes_nothing(repo: Repo) -> None:
    """A shallow or damaged repository: the others are still there."""
    tip = repo.branch(repo.make.root, {"a": "A"})
    gone = "f" * 40
    raw = f"object {gone}\ntype commit\ntag x\ntagger A <a@b> 0 +0000\n\nx\n"
    tag = repo.git("hash-object", "-w", "-t", "tag", "--literally", "--stdin", text=raw)
    for id_ in (tag, gone):
        (repo.make.git_dir / "refs/tags/memory/discarded").mkdir(parents=True, exist_ok=True)
        ref = repo.make.git_dir / f"refs/tags/memory/discarded/{NAME}.{gone[:7]}{id_[0]}"
        ref.write_text(f"{id_}\n")

    assert repo.only().tip == tip


def test_a_tag_on_another_line_closes_no_candidate_of_that_name(repo: Repo) -> None:
    """Whoever may push tags can't close what waits here by tagging a line of their own."""
    tip = repo.branch(repo.make.root, {"a": "A"})
    own = repo.make.propose(repo.make.root, {"a": "other"}, NAME)
    repo.tag(repo.closing(own))

    assert [(stub.state, stub.tip) for stub in repo.store.stubs()] == [
        ("pending", tip),
        ("discarded", own),
    ]


def test_an_open_branch_outlives_a_tag_on_its_own_line(repo: Repo) -> None:
    """Closed in one clone and edited in another: it waits, since nobody decided on the edit."""
    tip = repo.branch(repo.make.root, {"a": "A"})
    repo.tag(repo.closing(tip))
    edited = repo.make.commit([tip], {"a": "A2"}, messages.edit(NAME, "", "user"))
    repo.ref(layout.candidate_ref(NAME), edited)

    assert (repo.only().state, repo.only().tip) == ("pending", edited)


def test_a_remote_branch_ends_with_the_tag(repo: Repo) -> None:
    """What was closed here is not pending because a remote has its branch still, at tip or before."""
    tip = repo.make.propose(repo.make.root, {"a": "A"}, NAME)
    edited = repo.make.commit([tip], {"a": "A2"}, messages.edit(NAME, "", "user"))
    closing = repo.closing(edited)
    repo.tag(closing)
    for remote, commit in (("one", tip), ("two", edited), ("three", closing)):
        repo.ref(f"refs/remotes/{remote}/memory/candidate/{NAME}", commit)

    assert repo.states() == {NAME: ["discarded"]}


def test_reopened_and_closed_in_turn(repo: Repo) -> None:
    """Of what was closed and taken up again only the last word is listed; the log has all."""
    make = repo.make
    tip = make.propose(make.root, {"a": "A"}, NAME)
    closing = repo.closing(tip)
    repo.tag(closing)
    grounds = [(trailers.CANDIDATE, NAME), (trailers.REOPENS, closing)]
    second = make.commit([make.root], {"a": "A"}, trailers.compose("again", "", grounds))
    repo.ref(layout.candidate_ref(NAME), second)
    assert repo.states() == {NAME: ["pending"]}
    repo.git("update-ref", "-d", layout.candidate_ref(NAME))
    repo.main(make.apply(make.root, second, NAME))
    assert repo.states() == {NAME: ["applied"]}

    repo.main(make.root)
    repo.tag(repo.closing(second))

    assert (repo.only().state, repo.only().line.first) == ("discarded", second)
    assert {stub.line.first for stub in repo.store.closed()} == {tip, second}


def test_applied_counts_more_than_a_tag(repo: Repo) -> None:
    """Discarded in one clone, applied in the other: history is what counts."""
    make = repo.make
    tip = make.propose(make.root, {"a": "A"}, NAME)
    repo.tag(repo.closing(tip))
    repo.main(make.apply(make.root, tip, NAME))

    assert repo.states() == {NAME: ["applied"]}


# -- closing ---------------------------------------------------------------------------------------


def test_what_closing_writes_is_a_valid_tag(repo: Repo) -> None:
    """The commit and the tag that a store writes are read back as what they say, with all refs gone."""
    tip = repo.branch(repo.make.root, {"a": "A"})
    repo.ref(layout.kept_ref(NAME), tip)
    store = repo.store
    found = store.candidate(store.pending()[0])
    told = [(trailers.NEVER, "true")]

    closing, changes = store.write_closing(
        found, messages.closing("discard", NAME, "wrong", told), ANN
    )
    assert repo.only().state == "pending"
    for change in changes:
        repo.git(
            "update-ref",
            *(["-d"] if change.new is None else []),
            change.name,
            *([change.new] if change.new else []),
            change.old or "0" * 40,
        )

    closed = repo.store.candidate(repo.only())
    assert (closed.state, closed.decided, closed.never) == ("discarded", closing, True)
    assert (closed.reason, closed.digest) == ("wrong", found.digest)
    assert repo.git("for-each-ref", "--format=%(refname)").split("\n") == [
        layout.MAIN,
        f"refs/tags/memory/discarded/{NAME}.{closing[:8]}",
    ]
    repo.git("fsck", "--strict")


def test_a_remotes_candidate_takes_no_local_one_along(repo: Repo) -> None:
    """What is decided of a remote leaves the anchor of another candidate of that name alone."""
    make = repo.make
    mine, theirs = (make.plain(make.root, {"a": body}) for body in ("mine", "theirs"))
    repo.ref(layout.kept_ref("fix"), mine)
    repo.ref("refs/remotes/origin/memory/candidate/fix", theirs)
    store = repo.store
    (found,) = (store.candidate(stub) for stub in store.pending())

    assert (found.remote, store.leaving(found)) == ("origin", [])


# -- positions, forks and files --------------------------------------------------------------------


def test_a_position_is_that_of_the_present_content(repo: Repo) -> None:
    """Content that came back counts from its first approval; what went is not there."""
    make = repo.make
    one = make.approve(make.root, {"a": "A", "b": "B", "c": "C"}, "one")
    two = make.approve(one, {"a": "A2", "c": None}, "two")
    three = make.approve(two, {"b": "B2"}, "three")
    repo.main(make.revert(three, two, {"a": "A", "c": "C"}))

    assert repo.store.positions() == {"a": 1, "b": 3, "c": 1}


def test_an_unreviewed_text_has_no_position(repo: Repo) -> None:
    """What nobody approved neither moves an entry up nor makes one."""
    make = repo.make
    one = make.approve(make.root, {"a": "A"}, "one")
    two = make.commit([one], {"a": "A!", "b": "B!"})
    repo.main(make.approve(two, {"c": "C"}, "two"))

    assert repo.store.positions() == {"a": 1, "c": 3}


def test_the_fork_is_below_what_nobody_reviewed(repo: Repo) -> None:
    """A new candidate hangs on the newest commit where its entries are clean, not on the text."""
    make = repo.make
    one = make.approve(make.root, {"a": "A"}, "one")
    two = make.commit([one], {"a": "A!"})
    three = make.commit([two], {"b": "B!"})
    four = repo.main(make.approve(three, {"c": "C"}, "two"))
    store = repo.store

    assert store.fork_for(["c"]) == four
    assert store.fork_for([]) == four
    assert store.fork_for(["b", "c"]) == two
    assert store.fork_for(["a", "b"]) == one


def test_an_unreviewed_beginning_has_no_fork(repo: Repo) -> None:
    """Where the very first commit holds such a text, a candidate is a root of its own."""
    make = repo.make
    root = repo.main(make.commit([], {"a": "A!", "b": "B!"}, "a root of its own\n"))
    store = repo.store
    assert store.fork_for(["a"]) is None
    assert store.fork_for(["c"]) == root

    commit = store.write_candidate({"a": text("a", "A")}, "a candidate\n", ANN)

    assert store.objects.commit(commit).parents == ()
    assert repo.git("ls-tree", "-r", "--name-only", commit) == "a.md"


@pytest.mark.parametrize(
    ("path", "yes"),
    [
        ("README.md", True),
        (".github/CODEOWNERS", True),
        (".gitlab-ci.yml", True),
        ("docs/README.md", False),
        ("readme.md", False),
        (".githubx/a", False),
        ("LICENSE/a", False),
    ],
)
def test_customary_files(path: str, yes: bool) -> None:
    """Few files may lie beside the entries, in their own place only."""
    assert is_customary(path) is yes


def test_a_strange_file_makes_a_candidate_broken(repo: Repo) -> None:
    """A file that is neither an entry nor customary can't be applied; taking one away can."""
    make = repo.make
    blob = make.objects.write_blob(b"x")
    dirty = repo.main(make.commit([make.root], {}, files={"strange.txt": blob}))
    adds = make.commit([dirty], {}, files={"other.txt": blob})
    customary = make.commit([dirty], {}, files={"README.md": blob, "strange.txt": None})
    link = make.commit([dirty], {}, files={"a.md": Blob(blob.id, 0o120000)})
    for name, tip in (("adds", adds), ("customary", customary), ("link", link)):
        repo.ref(layout.candidate_ref(name), tip)
    store = repo.store

    found = {stub.id: store.candidate(stub) for stub in store.pending()}

    assert found["adds"].broken == "'other.txt' is no entry"
    assert found["customary"].broken is None
    assert set(found["customary"].files) == {"README.md", "strange.txt"}
    assert found["link"].broken is not None
    assert found["link"].broken.startswith("mem_a: it is a link")


# -- finding the same again ------------------------------------------------------------------------


def test_the_same_again(repo: Repo) -> None:
    """What waits is found by what it says; an edit, a decision or a deletion is seen at once."""
    make, store = repo.make, repo.store

    def said(**changes: str | None) -> str:
        contents: dict[str, Content] = {
            key: None if body is None else make.objects.write_blob(text(key, body))
            for key, body in changes.items()
        }
        return store.said_by(contents)

    assert store.same_pending(said(a="A")) is None
    tip = repo.branch(make.root, {"a": "A"})
    assert store.same_pending(said(a="A")) == NAME
    assert store.same_pending(said(a="A", b="B")) is None
    assert store.same_pending(said(b="A")) is None

    edited = make.commit([tip], {"a": "A2"}, messages.edit(NAME, "", "user"))
    repo.ref(layout.candidate_ref(NAME), edited)
    assert (store.same_pending(said(a="A")), store.same_pending(said(a="A2"))) == (None, NAME)

    repo.git("pack-refs", "--all")
    assert store.same_pending(said(a="A2")) == NAME

    repo.git("update-ref", "-d", layout.candidate_ref(NAME))
    assert store.same_pending(said(a="A2")) is None


def test_what_was_merged_by_hand_is_not_pending(repo: Repo) -> None:
    """A branch that a merge by hand left stops no agent from proposing it again after a revert."""
    make = repo.make
    tip = repo.branch(make.root, {"a": "A"})
    applied = make.apply(make.root, tip, NAME)
    repo.main(make.revert(applied, applied, {"a": None}))
    store = repo.store
    same = store.said_by({"a": make.objects.write_blob(text("a", "A"))})

    assert store.same_pending(same) is None


def test_a_deletion_is_found_again(repo: Repo) -> None:
    """Two deletions of one entry are the same; one of another is not."""
    make = repo.make
    main = repo.main(make.approve(make.root, {"a": "A", "b": "B"}, "one"))
    repo.branch(main, {"a": None})
    store = repo.store

    assert store.same_pending(store.said_by({"a": None})) == NAME
    assert store.same_pending(store.said_by({"b": None})) is None


def test_an_open_candidate_can_not_be_opened_twice(repo: Repo) -> None:
    """A name that has a branch is refused, and that branch stays what it was."""
    tip = repo.branch(repo.make.root, {"a": "A"})
    other = repo.make.propose(repo.make.root, {"a": "B"}, NAME)

    with pytest.raises(ConflictError) as caught:
        repo.store.open_candidate(NAME, other)

    assert caught.value.reference == "ref-exists"
    assert refs.read(repo.make.git_dir, layout.candidate_ref(NAME)) == tip


def test_an_id_that_is_wanted_is_given_once(repo: Repo) -> None:
    """The id of anything that is listed, in whatever state, is not given again."""
    repo.main(repo.make.approve(repo.make.root, {"a": "A"}, "done"))
    repo.branch(repo.make.root, {"b": "B"})
    store = repo.store

    assert store.new_id(0, "free") == "free"
    assert store.new_id(0, "done").startswith("cand_1970_")
    assert store.new_id(0, NAME) not in (NAME, "done")
