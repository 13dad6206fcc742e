"""Laws of sync: clones that do anything in any order come to the same, and nothing approved is lost."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from team import Clone, Team

from gitmem import audit, layout
from gitmem.errors import ConflictError, GitmemError
from gitmem.git import refs
from gitmem.git.transaction import RefChange, Transaction
from gitmem.model import approval, entries, trailers
from gitmem.store import Store

KEYS = ("a", "b")
NAMES = ("Ann", "Ben", "Cem")


class World:
    """A team, and what its people have approved so far."""

    def __init__(self, folder: Path) -> None:
        self.team = Team(folder, NAMES)
        self.count = 0
        self.approved: set[str] = set()
        self.proposed: set[str] = set()

    def begin(self) -> None:
        """All have the same entries, and each has an own idea of each of them."""
        for key in range(len(KEYS)):
            self.propose(self.team.clones[0], key, 0)
            self.apply(self.team.clones[0], 0)
        self.team.sync()
        for clone in self.team.clones:
            for key in range(len(KEYS)):
                self.propose(clone, key, self.count % 2)

    def play(self, name: str, clone: int, *rest: int) -> None:
        """One move in one clone; what memory refuses is none."""
        try:
            getattr(self, name)(self.team.clones[clone], *rest)
        except GitmemError as error:
            assert isinstance(error, ConflictError) or error.reference in (
                "candidate-broken",
                "discarded-before",
                "no-such-entry",
                "revert-of-sync",
                "unreviewed-base",
            ), repr(error)

    def propose(self, clone: Clone, key: int, part: int) -> None:
        """Somebody proposes to change one paragraph, or a new entry."""
        self.count += 1
        paragraphs = (clone.body(KEYS[key]) or "one\n\ntwo\n\nthree").split("\n\n")
        paragraphs[part % len(paragraphs)] = f"text {self.count}"
        self.proposed.add(clone.propose(KEYS[key], "\n\n".join(paragraphs)))

    def delete(self, clone: Clone, key: int) -> None:
        """Somebody proposes that an entry goes."""
        self.proposed.add(clone.propose(KEYS[key], None))

    def pending(self, clone: Clone, which: int) -> str | None:
        """One of the candidates that wait in a clone, the remote's included."""
        found = [stub.id for stub in clone.store.pending()]
        return found[which % len(found)] if found else None

    def apply(self, clone: Clone, which: int) -> None:
        """A person approves a candidate."""
        id_ = self.pending(clone, which)
        if id_ is not None:
            self.approved.add(clone.apply(id_))

    def discard(self, clone: Clone, which: int) -> None:
        """A person closes a candidate."""
        id_ = self.pending(clone, which)
        if id_ is not None:
            clone.memory.discard(id_, by=clone.person, reason="No.")

    def edit(self, clone: Clone, which: int, key: int) -> None:
        """A person changes a candidate."""
        id_ = self.pending(clone, which)
        if id_ is not None:
            self.count += 1
            text = f"---\ntype: fact\n---\n\nedit {self.count}\n".encode()
            clone.memory.edit(id_, {KEYS[key]: text}, by=clone.person)

    def revert(self, clone: Clone, back: int) -> None:
        """A person takes back what a commit did."""
        line = clone.store.ledger().line
        commit = line[-1 - back % len(line)].commit
        self.approved.add(clone.memory.revert(commit, by=clone.person).commit)

    def sync(self, clone: Clone) -> None:
        """A person syncs."""
        clone.sync()

    def push(self, clone: Clone) -> None:
        """An agent shows its candidates."""
        clone.push_candidates()

    def pull(self, clone: Clone) -> None:
        """A person pulls with plain git, which has the own line first."""
        theirs = refs.read(clone.git_dir, f"{layout.tracking('origin')}main")
        ours, objects = clone.main, clone.store.objects
        if theirs is None or objects.is_ancestor(theirs, ours):
            return
        held = approval.join(objects, ours, theirs).line[-1].view.held
        files = {entries.path_of(key): content for key, content in held.items()}
        tree = objects.write_tree(objects.commit(ours).tree, files)
        message = "Merge branch 'memory/main' of /srv/team\n"
        commit = objects.write_commit(tree, [ours, theirs], message, clone.person)
        with Transaction(clone.git_dir, [RefChange(layout.MAIN, commit, ours)]) as transaction:
            transaction.prepare()
            transaction.commit()


CLONE = st.integers(0, len(NAMES) - 1)
SMALL = st.integers(0, 2)
KEY = st.integers(0, len(KEYS) - 1)
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("propose"), CLONE, KEY, SMALL),
        st.tuples(st.just("apply"), CLONE, SMALL),
        st.tuples(st.just("apply"), CLONE, SMALL),
        st.tuples(st.just("discard"), CLONE, SMALL),
        st.tuples(st.just("edit"), CLONE, SMALL, KEY),
        st.tuples(st.just("revert"), CLONE, SMALL),
        st.tuples(st.just("delete"), CLONE, KEY),
        st.tuples(st.just("sync"), CLONE),
        st.tuples(st.just("sync"), CLONE),
        st.tuples(st.just("push"), CLONE),
        st.tuples(st.just("pull"), CLONE),
    ),
    min_size=6,
    max_size=16,
)


def fresh(clone: Clone) -> Store:
    """A clone's store that knows nothing yet."""
    return Store(clone.store.place)


@given(MOVES)
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
def test_whatever_a_team_does_all_come_to_the_same(moves: list[tuple[str, int]]) -> None:
    """After everybody synced: one tree, one log, one queue, and all approvals are on the line."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.begin()
        for move in moves:
            world.play(*move)
        world.team.sync()
        stores = [fresh(clone) for clone in world.team.clones]

        assert len({store.main() for store in stores}) == 1
        logs = [store.events() for store in stores]
        assert logs[0] == logs[1] == logs[2]
        queues = [{stub.id: (stub.state, stub.tip) for stub in store.stubs()} for store in stores]
        assert queues[0] == queues[1] == queues[2]
        assert world.approved <= stores[0].ledger().position.keys()
        assert world.proposed <= queues[0].keys()
        for clone in world.team.clones:
            assert audit.verify(clone.memory).findings == ()
            assert not clone.sync().went
        assert_conflicts_wait(stores[0], set(queues[0]))


def assert_conflicts_wait(store: Store, known: set[str]) -> None:
    """Each conflict of a sync is named there with a candidate that is waiting or was decided."""
    for judgement in store.ledger().line:
        if judgement.kind == "sync" and judgement.conflicts:
            message = trailers.parse(store.objects.commit(judgement.commit).message)
            if message.first(trailers.EVENT) is None:
                continue
            told = dict(value.split(" ") for value in message.all(trailers.CONFLICT))
            assert set(told) == {f"mem_{key}" for key in judgement.conflicts}
            assert set(told.values()) <= known
