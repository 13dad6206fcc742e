"""Laws of approval and of the log, over random histories of several clones with honest moves and attacks."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from build import Builder

from gitmem import layout, rebuild, replay
from gitmem.exchange import eventlog
from gitmem.git.objects import Objects
from gitmem.layout import TierPlace, Tiers
from gitmem.memory import Memory
from gitmem.model import merge
from gitmem.model.approval import Ancestry, Ledger, candidates_in, judge, merge_contents
from gitmem.model.context import Options
from gitmem.model.events import Line, derive
from gitmem.model.history import Content
from gitmem.store import Store

EVIL = "nobody approved this"
KEYS = ("a", "b", "c")
CLONES = 3


@contextmanager
def builder() -> Iterator[Builder]:
    """A builder on a repository of its own."""
    with tempfile.TemporaryDirectory() as folder:
        yield Builder.at(Path(folder))


class World:
    """Clones that share objects: each has its `memory/main`, and all see each other's candidates."""

    def __init__(self, repo: Builder) -> None:
        self.repo = repo
        self.mains = [repo.root] * CLONES
        self.candidates: list[tuple[str, str]] = []
        self.count = 0
        self.attacked = False

    def ledger(self, clone: int) -> Ledger:
        """The judgements on a clone's main."""
        return judge(self.repo.objects, self.mains[clone])

    # -- honest moves ----------------------------------------------------------------------

    def clock(self, hours: int, stopped: int) -> None:
        """From now on clocks go wrong by so many hours, or have stopped."""
        self.repo.skew, self.repo.stopped = hours * 3600, stopped == 1

    def propose(self, clone: int, key: int, part: int) -> None:
        """An agent changes one paragraph of an entry's approved text, or makes the entry."""
        self.count += 1
        name = KEYS[key]
        ledger = self.ledger(clone)
        content = ledger.view.content(self.repo.objects, name)
        body = "one\n\ntwo\n\nthree"
        if content is not None:
            body = self.repo.body(self.repo.objects, name, content)
        paragraphs = body.split("\n\n")
        paragraphs[part % len(paragraphs)] = f"text {self.count}"
        here = ledger.line[-1]
        while name in here.view.held and here.parents:
            here = ledger.of(here.parents[0])
        id_ = f"cand_{self.count}"
        tip = self.repo.propose(here.commit, {name: "\n\n".join(paragraphs)}, id_)
        self.candidates.append((id_, tip))

    def delete(self, clone: int, key: int) -> None:
        """An agent proposes that an entry goes."""
        if self.ledger(clone).view.content(self.repo.objects, KEYS[key]) is not None:
            self.count += 1
            id_ = f"cand_{self.count}"
            main = self.mains[clone]
            self.candidates.append((id_, self.repo.propose(main, {KEYS[key]: None}, id_)))

    def apply(self, clone: int, which: int) -> None:
        """A person applies a candidate as gitmem does: by the rule, a conflict settled by hand."""
        if not self.candidates:
            return
        id_, tip = self.candidates[which % len(self.candidates)]
        main, objects = self.mains[clone], self.repo.objects
        if objects.is_ancestor(tip, main):
            return
        ledger = self.ledger(clone)
        ancestry = Ancestry(objects, ledger)
        base = ancestry.base(main, tip, ancestry.own_line(main, tip))
        proposals = list(ancestry.proposals(base, tip))
        if not all(proposal.grounded for proposal in proposals):
            return
        # Whatever the candidate stands on is in the diff that a person reads before.
        if any(self.is_evil(proposal.theirs) for proposal in proposals):
            return
        files: dict[str, Content] = {}
        for item in proposals:
            approved = ledger.view.content(objects, item.key)
            merged = merge_contents(objects, item.key, item.base, approved, item.theirs)
            if isinstance(merged, merge.Conflict):
                if item.key in ledger.view.held:
                    return
                merged = item.theirs
            files[f"{item.key}.md"] = self.stored(merged)
        message = f"Merge branch 'memory/candidate/{id_}' into memory/main\n"
        self.mains[clone] = self.repo.commit([main, tip], {}, message, files=files)

    def is_evil(self, content: Content) -> bool:
        """Whether a person who reads it would never approve it."""
        return content is not None and EVIL.encode() in self.repo.objects.data(content.id)

    def stored(self, content: Content) -> Content:
        """A content that lies in the repository."""
        if content is None:
            return None
        return self.repo.objects.write_blob(self.repo.objects.data(content.id))

    def revert(self, clone: int, back: int) -> None:
        """A person takes back what a commit of the line did, where the rule has an answer."""
        ledger, objects = self.ledger(clone), self.repo.objects
        undone = ledger.line[-1 - back % len(ledger.line)]
        if undone.kind in ("sync", "start"):
            return
        files: dict[str, Content] = {}
        for key, (before, after) in undone.changes.items():
            present = ledger.view.content(objects, key)
            merged = merge_contents(objects, key, after, present, before)
            if isinstance(merged, merge.Conflict):
                return
            files[f"{key}.md"] = self.stored(merged)
        message = f'Revert "x"\n\nThis reverts commit {undone.commit}.\n'
        self.mains[clone] = self.repo.commit([self.mains[clone]], {}, message, files=files)

    def pull(self, clone: int, other: int) -> None:
        """A pull: a fast-forward where that is enough, else a sync with the other's tip first."""
        ours, theirs = self.mains[clone], self.mains[other]
        objects = self.repo.objects
        if objects.is_ancestor(theirs, ours):
            return
        if objects.is_ancestor(ours, theirs):
            self.mains[clone] = theirs
            return
        message = "Merge branch 'memory/main' of /srv/team\n"
        trial = self.repo.merge(theirs, ours, message, {})
        view = judge(objects, trial).view
        files = {f"{key}.md": self.stored(view.content(objects, key)) for key in KEYS}
        self.mains[clone] = self.repo.commit([theirs, ours], {}, message, files=files)

    def pull_here(self, clone: int, other: int) -> None:
        """A pull as plain git makes it: the own tip first."""
        self.mains[clone], self.mains[other] = self.mains[other], self.mains[clone]
        before = self.mains[clone]
        self.pull(clone, other)
        self.mains[other] = before

    def edit(self, which: int, key: int, part: int) -> None:
        """An agent puts a further commit on a candidate."""
        if not self.candidates:
            return
        self.count += 1
        at = which % len(self.candidates)
        id_, tip = self.candidates[at]
        content = self.repo.objects.content(self.repo.objects.commit(tip).tree, KEYS[key])
        body = "one\n\ntwo\n\nthree"
        if content is not None:
            body = self.repo.body(self.repo.objects, KEYS[key], content)
        paragraphs = body.split("\n\n")
        paragraphs[part % len(paragraphs)] = f"edit {self.count}"
        if EVIL not in body:
            tip = self.repo.plain(tip, {KEYS[key]: "\n\n".join(paragraphs)})
        self.candidates[at] = (id_, tip)

    def stack(self, which: int, key: int) -> None:
        """An agent proposes something on top of another candidate."""
        if self.candidates:
            self.count += 1
            id_, below = f"cand_{self.count}", self.candidates[which % len(self.candidates)][1]
            tip = self.repo.propose(below, {KEYS[key]: f"stacked {self.count}"}, id_)
            self.candidates.append((id_, tip))

    def main_in(self, clone: int, which: int) -> None:
        """A candidate is put onto today's main: what conflicts is as the candidate has it."""
        if not self.candidates:
            return
        at = which % len(self.candidates)
        id_, tip = self.candidates[at]
        main, objects, ledger = self.mains[clone], self.repo.objects, self.ledger(clone)
        if objects.is_ancestor(main, tip) or objects.is_ancestor(tip, main):
            return
        ancestry = Ancestry(objects, ledger)
        files: dict[str, Content] = {}
        for item in ancestry.proposals(ancestry.base(main, tip, ancestry.own_line(main, tip)), tip):
            if self.is_evil(item.theirs):
                return
            approved = ledger.view.content(objects, item.key)
            merged = merge_contents(objects, item.key, item.base, approved, item.theirs)
            if isinstance(merged, merge.Conflict):
                merged = item.theirs
            files[f"{item.key}.md"] = self.stored(merged)
        tree = objects.write_tree(objects.commit(main).tree, files)
        message = f"Merge branch 'memory/main' into memory/candidate/{id_}\n"
        self.candidates[at] = (id_, self.repo.commit([tip, main], {}, message, tree=tree))

    # -- attacks ---------------------------------------------------------------------------

    def evil(self, number: int) -> str:
        """A text that must never get into a context."""
        self.attacked = True
        self.count += 1
        return f"{EVIL} {self.count} {number}"

    def direct(self, clone: int, key: int) -> None:
        """A direct commit, with the trailers of an apply."""
        message = "x\n\nMemory-Event: candidate.applied\nMemory-Candidate: cand_1\n"
        body = self.evil(0)
        self.mains[clone] = self.repo.commit([self.mains[clone]], {KEYS[key]: body}, message)

    def forward(self, clone: int, key: int) -> None:
        """`memory/main` is moved onto a candidate."""
        self.mains[clone] = self.repo.propose(
            self.mains[clone], {KEYS[key]: self.evil(1)}, f"cand_f{self.count}"
        )

    def forged_revert(self, clone: int, key: int) -> None:
        """A revert's message on another change."""
        main = self.mains[clone]
        self.mains[clone] = self.repo.revert(main, main, {KEYS[key]: self.evil(2)})

    def evil_apply(self, clone: int, key: int) -> None:
        """The merge of an innocent candidate that changes something else."""
        innocent = [(id_, tip) for id_, tip in self.candidates if self.is_innocent(clone, tip)]
        if innocent:
            id_, tip = innocent[key % len(innocent)]
            changes = {f"evil{key}": self.evil(3)}
            self.mains[clone] = self.repo.apply(self.mains[clone], tip, id_, changes)

    def is_innocent(self, clone: int, tip: str) -> bool:
        """Whether a person would apply the candidate: nothing evil is in its diff."""
        main, ancestry = self.mains[clone], Ancestry(self.repo.objects, self.ledger(clone))
        base = ancestry.base(main, tip, ancestry.own_line(main, tip))
        return not any(self.is_evil(p.theirs) for p in ancestry.proposals(base, tip))

    def evil_pull(self, clone: int, key: int) -> None:
        """A pull's merge that slips something in and drops one side."""
        other = self.mains[(clone + 1) % CLONES]
        changes = {KEYS[key]: self.evil(4)}
        self.mains[clone] = self.repo.pull(self.mains[clone], other, changes)

    def ours_pull(self, clone: int, key: int) -> None:
        """A pull that drops the other side, or its own."""
        self.attacked = True
        self.count += 1
        ours, theirs = self.mains[clone], self.mains[(clone + 1 + key % 2) % CLONES]
        tree = self.repo.objects.commit(ours if key else theirs).tree
        message = f"Merge branch 'memory/main' of /srv/{self.count}\n"
        self.mains[clone] = self.repo.commit([ours, theirs], {}, message, tree=tree)

    def evil_below(self, clone: int, key: int) -> None:
        """Candidates whose first commit writes what their last one does not show."""
        self.attacked = True
        main, name = self.mains[clone], f"innocent{key}"
        below = self.repo.plain(main, {KEYS[key]: self.evil(5)})
        tree = self.repo.objects.commit(main).tree
        for above in (below, self.repo.plain(below, {name: f"text {self.count}"})):
            self.count += 1
            message = f"clean {self.count}\n"
            tip = self.repo.commit([above], {name: f"text {self.count}"}, message, tree=tree)
            self.candidates.append((f"hand_{self.count}", tip))

    def taken(self, clone: int, which: int, message: str, *, swapped: bool = False) -> None:
        """A merge of a candidate's whole tree, or with None as the other parent a plain commit."""
        self.attacked = True
        self.count += 1
        if self.candidates:
            id_, tip = self.candidates[which % len(self.candidates)]
            told = message.format(id=id_, tip=tip, count=self.count)
            main, tree = self.mains[clone], self.repo.objects.commit(tip).tree
            merged = message.startswith("Merge")
            parents = [tip, main] if swapped else [main, *([tip] if merged else [])]
            self.mains[clone] = self.repo.commit(parents, {}, told, tree=tree)

    def by_id(self, clone: int, which: int) -> None:
        """A candidate is merged by its commit's id."""
        self.taken(clone, which, "Merge commit '{tip}'\n\n{count}\n")

    def swapped(self, clone: int, which: int) -> None:
        """Main is moved onto the merge of main into a candidate."""
        self.taken(
            clone,
            which,
            "Merge branch 'memory/main' into memory/candidate/{id}\n\n{count}\n",
            swapped=True,
        )

    def squash(self, clone: int, which: int) -> None:
        """A candidate is squashed, with an apply's trailers."""
        self.taken(clone, which, "squash {count}\n\nMemory-Candidate: {id}\n")

    def old_state(self, clone: int, back: int) -> None:
        """A direct commit of an older tree, with the message of a revert of it, or of a sync."""
        self.attacked = True
        self.count += 1
        line = self.ledger(clone).line
        old = line[-1 - back % len(line)]
        syncs = [judgement for judgement in line if judgement.kind == "sync"] or [line[0]]
        message = f'Revert "{self.count}"\n\nThis reverts commit {syncs[-1].commit}.\n'
        tree = self.repo.objects.commit(old.commit).tree
        self.mains[clone] = self.repo.commit([self.mains[clone]], {}, message, tree=tree)


CLONE = st.integers(0, CLONES - 1)
SMALL = st.integers(0, 2)
HONEST = st.one_of(
    st.tuples(st.just("propose"), CLONE, SMALL, SMALL),
    st.tuples(st.just("apply"), CLONE, st.integers(0, 5)),
    st.tuples(st.just("apply"), CLONE, st.integers(0, 5)),
    st.tuples(st.just("revert"), CLONE, st.integers(0, 4)),
    st.tuples(st.just("delete"), CLONE, SMALL),
    st.tuples(st.just("pull"), CLONE, CLONE),
    st.tuples(st.just("pull_here"), CLONE, CLONE),
    st.tuples(st.just("edit"), SMALL, SMALL, SMALL),
    st.tuples(st.just("stack"), SMALL, SMALL),
    st.tuples(st.just("main_in"), CLONE, SMALL),
    st.tuples(st.just("clock"), st.integers(-9, 9), st.integers(0, 1)),
)
# What nobody could take for a merge of something else: it changes nothing that is approved.
INERT = ("direct", "forward", "forged_revert", "squash", "old_state")
MERGES = ("evil_apply", "evil_pull", "ours_pull", "evil_below", "by_id", "swapped")
ATTACK = st.tuples(st.sampled_from([*INERT, *MERGES]), CLONE, SMALL)
LAWS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)

# For laws that ask git at each step.
SLOW_LAWS = settings(LAWS, max_examples=15)


def play(world: World, moves: list[tuple[object, ...]]) -> None:
    """Make the moves, one after the other."""
    for name, *rest in moves:
        getattr(world, str(name))(*rest)


def bodies(world: World, clone: int) -> dict[str, str]:
    """The approved bodies of a clone, judged with nothing known."""
    return world.repo.approved(world.mains[clone])


@given(st.lists(HONEST, min_size=5, max_size=25))
@LAWS
def test_what_honest_people_did_is_all_there(moves: list[tuple[object, ...]]) -> None:
    """Without attacks the approved view is exactly what the tree has."""
    with builder() as repo:
        world = World(repo)
        play(world, moves)
        for main in world.mains:
            ledger = repo.judged(main)
            tree = repo.objects.contents(repo.objects.commit(main).tree)

            assert ledger.view.contents(repo.objects) == tree
            assert [j.unreviewed for j in ledger.line if j.unreviewed] == []


@given(st.lists(st.one_of(HONEST, ATTACK), min_size=5, max_size=25))
@LAWS
def test_nothing_unapproved_is_ever_in_the_view(moves: list[tuple[object, ...]]) -> None:
    """Whatever the attacks, no approved body has a line of theirs."""
    with builder() as repo:
        world = World(repo)
        play(world, moves)
        for clone in range(CLONES):
            assert [body for body in bodies(world, clone).values() if EVIL in body] == []


@given(st.lists(st.one_of(HONEST, ATTACK), min_size=5, max_size=20))
@LAWS
def test_a_verdict_depends_on_the_commit_alone(moves: list[tuple[object, ...]]) -> None:
    """Judging on from what is known gives what judging from the beginning gives."""
    with builder() as repo:
        world = World(repo)
        known: list[Ledger | None] = [None] * CLONES
        objects = Objects(repo.git_dir, "project")
        for move in moves:
            play(world, [move])
            for clone, main in enumerate(world.mains):
                known[clone] = judge(objects, main, known=known[clone])
        for clone, main in enumerate(world.mains):
            ledger = known[clone]
            assert ledger is not None
            assert ledger.line == repo.judged(main).line


@given(st.lists(st.one_of(HONEST, ATTACK), min_size=5, max_size=20), CLONE, SMALL)
@LAWS
def test_nothing_that_is_approved_gets_lost(
    moves: list[tuple[object, ...]], clone: int, number: int
) -> None:
    """A commit that no approval is leaves the approved view as it was, whatever it does."""
    with builder() as repo:
        world = World(repo)
        play(world, moves)
        approved, main = bodies(world, clone), world.mains[clone]
        for attack in INERT:
            world.mains[clone] = main
            play(world, [(attack, clone, number)])

            assert bodies(world, clone) == approved


@given(st.lists(st.one_of(HONEST, ATTACK), min_size=5, max_size=25))
@LAWS
def test_all_that_is_unreviewed_is_said(moves: list[tuple[object, ...]]) -> None:
    """Wherever a file is not as approved, some commit is to blame for it, and nowhere else."""
    with builder() as repo:
        world = World(repo)
        play(world, moves)
        for main in world.mains:
            ledger, objects = repo.judged(main), repo.objects
            tree, view = objects.contents(ledger.view.tree), ledger.view.contents(objects)
            differ = {key for key in {*tree, *view} if tree.get(key) != view.get(key)}

            assert ledger.view.held.keys() == differ
            for key in {*tree, *view}:
                assert bool(ledger.culprits(key)) == (key in differ)


@given(st.lists(st.one_of(HONEST, ATTACK), min_size=5, max_size=20))
@LAWS
def test_a_verdict_is_the_same_from_every_tip(moves: list[tuple[object, ...]]) -> None:
    """A commit of the line is judged as it is where it is the tip itself."""
    with builder() as repo:
        world = World(repo)
        play(world, moves)
        objects = Objects(repo.git_dir, "project")
        for main in world.mains:
            for judgement in repo.judged(main).line:
                assert judge(objects, judgement.commit).line[-1] == judgement


@given(st.lists(st.one_of(HONEST, ATTACK), min_size=5, max_size=25))
@example([("propose", 0, 1, 0), ("apply", 0, 0), ("evil_pull", 1, 0), ("evil_pull", 0, 0)])
@LAWS
def test_the_log_adds_up_to_the_view(moves: list[tuple[object, ...]]) -> None:
    """Folding it gives the approved view; parents come first; nothing is said twice."""
    with builder() as repo:
        world = World(repo)
        play(world, moves)
        for main in world.mains:
            ledger = repo.judged(main)
            events = derive(repo.objects, ledger, _open_lines(world, ledger))
            fold: dict[str, Content] = {}
            for event in events:
                if event.kind in ("memory.updated", "memory.deleted"):
                    assert event.change is not None
                    assert fold.get(event.key or "") == event.change[0] or not ledger.linear
                    fold[event.key or ""] = event.change[1]
            fold = {key: content for key, content in fold.items() if content is not None}

            assert fold == ledger.view.contents(repo.objects)
            _assert_parents_first(repo, [event.commit for event in events])
            said = [(event.kind, event.commit, event.candidate, event.key) for event in events]
            assert len(set(said)) == len(said)


def _open_lines(world: World, ledger: Ledger) -> list[Line]:
    """The candidates that a line has not taken in."""
    ancestry = Ancestry(world.repo.objects, ledger)
    tip = ledger.line[-1].commit
    found = []
    for id_, candidate in world.candidates:
        own = ancestry.own_line(tip, candidate)
        found += [Line(line) for line in candidates_in(own, id_) if line.id == id_ and own]
    return found


def _assert_parents_first(repo: Builder, commits: list[str]) -> None:
    order = {commit: place for place, commit in reversed(list(enumerate(commits)))}
    for commit, place in order.items():
        for parent in repo.objects.commit(commit).parents:
            assert order.get(parent, -1) < place


@given(st.lists(HONEST, min_size=5, max_size=20))
@LAWS
def test_all_clones_come_to_the_same(moves: list[tuple[object, ...]]) -> None:
    """After everybody pulled from everybody, all have one main, one view and one log."""
    with builder() as repo:
        world = World(repo)
        play(world, moves)
        for clone in range(1, CLONES):
            world.pull(0, clone)
        for clone in range(1, CLONES):
            world.pull(clone, 0)
        logs = []
        for main in world.mains:
            ledger = judge(Objects(repo.git_dir, "project"), main)
            logs.append(derive(repo.objects, ledger, _open_lines(world, ledger)))

        assert len(set(world.mains)) == 1
        assert logs[0] == logs[1] == logs[2]


# -- replay ----------------------------------------------------------------------------------------


def refs_of(world: World, clone: int) -> dict[str, str]:
    """The refs of a clone: its main, and every candidate."""
    candidates = {layout.candidate_ref(id_): tip for id_, tip in world.candidates}
    return {layout.MAIN: world.mains[clone], **candidates}


def memory_of(world: World, clone: int) -> Memory:
    """The memory of a clone, of which the repository has just its refs."""
    git_dir = world.repo.git_dir
    wanted = "".join(f"update {name} {tip}\n" for name, tip in refs_of(world, clone).items())
    subprocess.run(
        ["git", f"--git-dir={git_dir}", "update-ref", "--stdin"], input=wanted.encode(), check=True
    )
    place = TierPlace("project", git_dir, None, git_dir, None, linked=False)
    return Memory(Tiers(None, place, None), git_dir, traceless=True)


def exported(memory: Memory, since: int | None = None) -> eventlog.Log:
    """The log of a clone, written as text and read from it."""
    lines = eventlog.written(memory.stores(), since=since)
    return eventlog.read("".join(f"{json.dumps(line)}\n" for line in lines))


# So that there is something to talk about: each entry once approved, in clones that differ.
BEGUN: list[tuple[object, ...]] = [
    *(("propose", 0, key, 0) for key in range(3)),
    *(("apply", 0, which) for which in range(2)),
    ("pull", 1, 0),
    ("pull", 2, 0),
    ("propose", 1, 0, 1),
    ("propose", 2, 1, 2),
    ("apply", 1, 3),
    ("apply", 2, 4),
]


@given(st.lists(st.one_of(HONEST, ATTACK), min_size=5, max_size=15), CLONE)
@SLOW_LAWS
def test_a_log_gives_every_context_that_git_gives(
    moves: list[tuple[object, ...]], clone: int
) -> None:
    """At each of its events, the tip's included, a log without a repository gives the same."""
    with builder() as repo:
        world = World(repo)
        play(world, [*BEGUN, *moves])
        memory = memory_of(world, clone)
        log = exported(memory)
        for commit in log.tiers["project"].times:
            by_git = replay.at_commit(memory, commit, Options())
            by_log = replay.of_log_at(log, commit, Options())

            assert by_log == by_git
        assert by_text(replay.of_log_at(log, world.mains[clone], Options())) == by_text_now(memory)


@given(st.lists(st.one_of(HONEST, ATTACK), max_size=15), CLONE, st.integers(0, 45))
@SLOW_LAWS
def test_a_log_that_begins_later_gives_the_same(
    moves: list[tuple[object, ...]], clone: int, seconds: int
) -> None:
    """At each event that it has, the context is that of the whole log."""
    with builder() as repo:
        world = World(repo)
        play(world, [*BEGUN, *moves])
        memory = memory_of(world, clone)
        whole, since = exported(memory), 1_780_000_000 + seconds
        log = exported(memory, since)
        lines = eventlog.written(memory.stores(), since=since)
        for commit in {line["commit"] for line in lines if "kind" in line}:
            of_whole = replay.of_log_at(whole, commit, Options())

            assert replay.of_log_at(log, commit, Options()) == of_whole


def context_of(memory: Memory) -> str:
    """All that an agent reads of memory as it is."""
    return memory.context(Options(budget=None)).context.text


@given(st.lists(st.one_of(HONEST, ATTACK), max_size=15), CLONE)
@LAWS
def test_the_snapshots_add_up_to_the_view(moves: list[tuple[object, ...]], clone: int) -> None:
    """The texts of an exported log, folded by whoever reads JSON, are the approved files."""
    with builder() as repo:
        world = World(repo)
        play(world, [*BEGUN, *moves])
        (store,) = memory_of(world, clone).stores()
        fold: dict[str, str] = {}
        for line in eventlog.written([store]):
            if line.get("kind") == "memory.updated":
                fold[line["entry"]] = line["after"]
            elif line.get("kind") == "memory.deleted":
                del fold[line["entry"]]

        assert fold == {f"mem_{key}": store.text(found) for key, found in store.approved().items()}


@given(st.lists(st.one_of(HONEST, ATTACK), max_size=15), CLONE, st.integers(0, 5))
@LAWS
def test_a_revert_of_the_latest_apply_restores_the_bytes(
    moves: list[tuple[object, ...]], clone: int, which: int
) -> None:
    """What an agent reads after it is what it read before the apply."""
    with builder() as repo:
        world = World(repo)
        play(world, [*BEGUN, *moves])
        main, before = world.mains[clone], context_of(memory_of(world, clone))
        play(world, [("propose", clone, which % 3, 0), ("apply", clone, len(world.candidates) - 1)])
        play(world, [("apply", clone, which)] if world.mains[clone] == main else [])
        if world.mains[clone] != main:
            play(world, [("revert", clone, 0)])

            assert context_of(memory_of(world, clone)) == before


@given(st.lists(st.one_of(HONEST, ATTACK), max_size=15), CLONE)
@SLOW_LAWS
def test_a_clone_with_the_same_refs_has_the_same_log(
    moves: list[tuple[object, ...]], clone: int
) -> None:
    """Line by line, whether it has the candidates as its own or as its remote's."""
    with builder() as repo, tempfile.TemporaryDirectory() as folder:
        world = World(repo)
        play(world, [*BEGUN, *moves])
        here = eventlog.written(memory_of(world, clone).stores())
        for number, candidates in enumerate(("heads", "remotes/team")):
            git_dir = Path(folder) / f"{number}.git"
            for args in (
                ("init", "-q", "--bare", str(git_dir)),
                (
                    f"--git-dir={git_dir}",
                    *("fetch", "-q", "--no-tags", str(repo.git_dir)),
                    f"{layout.MAIN}:{layout.MAIN}",
                    f"{layout.CANDIDATES}*:refs/{candidates}/memory/candidate/*",
                ),
            ):
                subprocess.run(["git", *args], check=True)
            there = Store(TierPlace("project", git_dir, None, git_dir, None, linked=False))

            assert eventlog.written([there]) == here


def test_empty_tiers_give_an_empty_context() -> None:
    """No entry at all is a valid context of no bytes, from git as from a log."""
    with builder() as repo:
        memory = memory_of(World(repo), 0)
        now = replay.at_commit(memory, repo.root, Options())

        assert context_of(memory) == ""
        assert now.given.context.text == ""
        assert now.given.context.digest == hashlib.sha256(b"").hexdigest()
        assert replay.of_log_at(exported(memory), repo.root, Options()) == now


# -- sessions --------------------------------------------------------------------------------------

SESSIONS = ("s1", "s2")
SESSION = st.integers(0, len(SESSIONS) - 1)
OF_SESSIONS = st.one_of(
    st.tuples(st.just("context"), CLONE, SESSION, st.sampled_from([None, 30, 60]), st.booleans()),
    st.tuples(st.just("put"), CLONE, SESSION, SMALL),
    st.tuples(st.just("end"), CLONE, SESSION),
    st.tuples(st.just("forget"), CLONE, SESSION),
)


class Sessions:
    """Two sessions, the second related to the first, in whichever clone they are just asked for."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.texts: dict[str, list[str]] = {name: [] for name in SESSIONS}
        self.forgotten: set[str] = set()
        self.open = set(SESSIONS)
        for name in SESSIONS:
            memory_of(world, 0).sessions().start(name, tuple(SESSIONS[: name == "s2"]))

    def play(self, move: tuple[object, ...]) -> None:
        """Make a move of a session or of the world."""
        if hasattr(self, str(move[0])):
            name, clone, session, *rest = move
            getattr(self, str(name))(clone, SESSIONS[int(str(session))], *rest)
        else:
            play(self.world, [move])

    def context(self, clone: int, name: str, budget: int | None, pinned: bool) -> None:
        """A session is given a context, which is recorded while it is open."""
        options = Options(budget=budget, session=name)
        given = memory_of(self.world, clone).context(options, pinned=pinned and name in self.open)
        if name in self.open:
            self.texts[name].append(given.context.text)

    def put(self, clone: int, name: str, key: int) -> None:
        """An agent keeps something under the name of an entry of the project."""
        if name in self.open:
            found = memory_of(self.world, clone).sessions()
            found.put(name, KEYS[key], "fact", f"kept {self.world.count}")

    def end(self, clone: int, name: str) -> None:
        """A session is over."""
        if name in self.open:
            memory_of(self.world, clone).sessions().end(name)
            self.open.discard(name)

    def forget(self, clone: int, name: str) -> None:
        """Its text is removed for good."""
        if name not in self.forgotten:
            memory_of(self.world, clone).sessions().forget(name)
            self.open.discard(name)
            self.forgotten.add(name)


@given(st.lists(st.one_of(HONEST, ATTACK, OF_SESSIONS, OF_SESSIONS), max_size=20), CLONE)
@example([("put", 0, 0, 0), ("context", 0, 0, None, False), ("forget", 0, 0)], 0)
@SLOW_LAWS
def test_every_recorded_context_is_built_again(moves: list[tuple[object, ...]], clone: int) -> None:
    """With the bytes that were given, whatever came later, unless the session's text was forgotten."""
    with builder() as repo:
        world = World(repo)
        play(world, BEGUN)
        sessions = Sessions(world)
        for move in [("context", 1, 0, None, False), *moves, ("context", 2, 1, 60, False)]:
            sessions.play(move)
        memory = memory_of(world, clone)
        for name in SESSIONS:
            found = rebuild.session(memory, name)

            assert len(found) == len(sessions.texts[name])
            for one, text in zip(found, sessions.texts[name], strict=True):
                assert one.built.digest == hashlib.sha256(text.encode()).hexdigest()
                if one.same:
                    assert one.context is not None
                    assert one.context.text == text
                else:
                    assert name in sessions.forgotten
                    (difference,) = one.differences
                    assert difference.kind == "session-forgotten"
                    assert difference.entries


def by_text(found: replay.Replayed) -> tuple[str, object]:
    """What an agent reads, and what it is told beside it."""
    return found.given.context.text, found.given.unreviewed


def by_text_now(memory: Memory) -> tuple[str, object]:
    """The same, of memory as it is."""
    given = memory.context(Options())
    return given.context.text, given.unreviewed
