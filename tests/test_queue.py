"""The laws of the queue, whatever was proposed and decided before.

Every candidate is in exactly one state, the numbers agree with what can be listed, and whoever
decides about the first one again and again comes to an end.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gitmem import adoption, inbox, layout, review, upkeep
from gitmem.errors import ConflictError, GitmemError, RefusedError
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model import candidates
from gitmem.model.entries import Source

KEYS = ("a", "b", "c")
BODIES = ("One.", "Two.", "Three.")
_NUMBERS = itertools.count()

KEY, BODY, WHICH = st.sampled_from(KEYS), st.sampled_from(BODIES), st.integers(0, 5)
MOVE = st.one_of(
    st.tuples(st.just("propose"), KEY, BODY),
    st.tuples(st.just("propose"), KEY, BODY),
    st.tuples(st.just("propose_two"), BODY, BODY),
    st.tuples(st.just("forget"), KEY),
    st.tuples(st.just("apply"), WHICH),
    st.tuples(st.just("discard"), WHICH),
    st.tuples(st.just("expire"), WHICH),
    st.tuples(st.just("edit"), WHICH, BODY),
    st.tuples(st.just("revert"), WHICH),
    st.tuples(st.just("reopen"), WHICH),
    st.tuples(st.just("lose_the_branch"), WHICH),
)


class Players:
    """Agents and a person, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.by = self.memory.person()

    @property
    def memory(self) -> Memory:
        """The memory, read afresh."""
        return open_memory(self.folder)

    def play(self, move: tuple[object, ...]) -> None:
        """Make a move; one that is refused is none."""
        name, *args = move
        with suppress(GitmemError):
            getattr(self, str(name))(*args)

    def one(self, which: int, *states: str) -> str:
        """The id of some candidate in one of these states."""
        found = self.memory.candidates(*states, scope="project")
        if not found:
            raise ConflictError("nothing-there", "there is none")
        return found[which % len(found)].id

    def propose(self, key: str, body: str) -> None:
        self.memory.propose(Draft(key, body, "fact"), rationale=body, sources=[Source("s1")])

    def propose_two(self, body: str, other: str) -> None:
        self.memory.propose(Draft("a", body, "fact"), Draft("b", other, "fact"), rationale="both")

    def forget(self, key: str) -> None:
        self.memory.propose(Draft(key, delete=True), rationale="gone")

    def apply(self, which: int) -> None:
        self.memory.apply(self.one(which, "pending"), by=self.by)

    def discard(self, which: int) -> None:
        self.memory.discard(self.one(which, "pending"), by=self.by, never=which == 0)

    def expire(self, which: int) -> None:
        found = self.memory.candidate(self.one(which, "pending"))
        upkeep.expire(self.memory, [found], 60, by=self.by)

    def edit(self, which: int, body: str) -> None:
        text = f"---\ntype: fact\n---\n\n{body}\n".encode()
        found = self.memory.candidate(self.one(which, "pending"))
        self.memory.edit(found.id, {found.entries[0].key: text}, by=self.by)

    def revert(self, which: int) -> None:
        self.memory.revert(self.one(which, "applied"), by=self.by)

    def reopen(self, which: int) -> None:
        states = ("discarded", "superseded", "reverted", "withdrawn")
        adoption.reopen(self.memory, self.one(which, *states), by=self.by)

    def lose_the_branch(self, which: int) -> None:
        ref = layout.candidate_ref(self.one(which, "pending"))
        git_dir = self.memory.store("project").place.git_dir
        subprocess.run(["git", f"--git-dir={git_dir}", "update-ref", "-d", ref], check=True)


def check_numbers(memory: Memory) -> None:
    """One state each, and the same numbers everywhere."""
    everything = [(one.id, one.first) for one in memory.candidates(*candidates.STATES)]
    by_state = [
        (one.id, one.first) for state in candidates.STATES for one in memory.candidates(state)
    ]
    assert len(set(everything)) == len(everything)
    assert sorted(by_state) == sorted(everything)

    queue = review.queue(memory)
    items, done = [item.name for item in queue.items], list(queue.done)
    pending = [(one.tier, one.id) for one in memory.candidates("pending")]
    assert sorted([*items, *done]) == sorted(pending)
    found = inbox.waiting(memory.found, lambda: memory)
    assert found == inbox.counted(queue.items)
    assert found.count == len(items)
    assert found.risky == sum(bool(item.risks) for item in queue.items)


def drain(players: Players) -> None:
    """Decide about the first one until none is left: apply it, or else discard it."""
    while queue := review.queue(players.memory).items:
        first = queue[0].found
        try:
            decision = players.memory.apply(first.id, by=players.by, expect=first.digest)
            upkeep.close_done_by(players.memory, decision, first.tier, by=players.by)
        except (ConflictError, RefusedError):
            players.memory.discard(first.id, by=players.by)
        after = review.queue(players.memory).items
        assert len(after) < len(queue)
        assert first.id not in {item.found.id for item in after}


@given(st.lists(MOVE, max_size=12))
@example(
    [
        ("propose", "a", "One."),
        ("propose_two", "One.", "Two."),
        ("apply", 0),
        ("propose", "b", "Two."),
    ]
)
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_laws(project: Path, moves: list[tuple[object, ...]]) -> None:
    """Whatever happened: the numbers agree, and draining ends with nothing that waits."""
    here = shutil.copytree(project, project.parent / f"played-{next(_NUMBERS)}", symlinks=True)
    players = Players(here)
    for move in moves:
        players.play(move)
    check_numbers(players.memory)

    drain(players)

    check_numbers(players.memory)
    assert inbox.waiting(players.memory.found, lambda: players.memory) == inbox.Waiting()
    left = review.queue(players.memory).done
    review.close_done(players.memory, left, by=players.by)
    assert players.memory.candidates("pending") == []
    shutil.rmtree(here)
