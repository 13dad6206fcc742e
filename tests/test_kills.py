"""A kill in the middle of a move: the memory is as before or as after, and the next move just works."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from killing import dies_at

from gitmem import adoption, audit, layout, upkeep
from gitmem.git.lock import process_lock
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model import context
from gitmem.model.entries import Source
from gitmem.model.history import Person

ANN = Person("Ann", "ann@example.org", 1_780_000_000, 0)
_ALL = ("pending", "applied", "reverted", "discarded", "superseded", "withdrawn")
RunGit = Callable[..., str]
Move = Callable[[Memory], object]


@dataclass(frozen=True, slots=True)
class Look:
    """All that anybody can see of a memory, new ids and commits apart."""

    candidates: tuple[tuple[str, tuple[str, ...], str], ...]
    kinds: tuple[str, ...]
    context: str


def look(memory: Memory) -> Look:
    found = memory.candidates(*_ALL)
    said = sorted(
        (item.state, tuple(entry.id for entry in item.entries), item.rationale) for item in found
    )
    # Their order hangs on commit ids, and these on the moment.
    kinds = sorted(event.kind for _, event in memory.log())
    return Look(tuple(said), tuple(kinds), memory.context(context.Options()).context.text)


def started(folder: Path) -> None:
    """One approved entry, one reverted, one candidate that waits and one that was discarded."""
    memory = open_memory(folder)
    memory.add(Draft("kept", "It is kept.", "fact"), by=ANN)
    gone = memory.propose(Draft("gone", "It goes.", "fact"), rationale="why it comes")
    memory.apply(gone.id, by=ANN)
    memory.revert(gone.id, by=ANN)
    no = memory.propose(Draft("no", "It is refused.", "fact"), rationale="why it should")
    memory.discard(no.id, by=ANN, reason="no")
    memory.propose(Draft("kept", "It is changed."), rationale="why it changes")


def waiting(memory: Memory) -> str:
    return memory.candidates("pending")[0].id


def closed(memory: Memory) -> str:
    return memory.candidates("discarded")[0].id


def edit(memory: Memory) -> object:
    return memory.edit(waiting(memory), {"kept": None}, by=ANN)


MOVES: dict[str, Move] = {
    "propose": lambda m: m.propose(Draft("new", "It is new.", "fact"), rationale="why it is new"),
    "apply": lambda m: m.apply(waiting(m), by=ANN),
    "edit": edit,
    "discard": lambda m: m.discard(waiting(m), by=ANN, reason="no longer so"),
    "expire": lambda m: upkeep.expire(m, [m.candidate(waiting(m))], 60, by=ANN),
    "evidence": lambda m: m.propose(
        Draft("kept", "It is changed."), rationale="and once more", sources=[Source("s2")]
    ),
    "revert": lambda m: m.revert(m.candidates("applied")[0].id, by=ANN),
    "reopen": lambda m: adoption.reopen(m, closed(m), by=ANN),
    "add": lambda m: m.add(Draft("own", "Mine.", "fact"), by=ANN, rationale="because"),
}


def moved(folder: Path, move: Move) -> None:
    move(open_memory(folder))


def wait_for_git(folder: Path) -> None:
    """Let the git that a killed process had started come to its end: it holds the lock."""
    with process_lock(open_memory(folder).store("project").place.git_dir, wait=10):
        pass


@pytest.mark.parametrize("name", MOVES)
def test_a_kill_at_any_step_leaves_before_or_after(
    name: str, project: Path, tmp_path: Path, run_git: RunGit
) -> None:
    """Whatever step it is: nothing half done is seen, nothing is found wrong, and git agrees."""
    started(project)
    template = project.rename(tmp_path / "template")
    act = MOVES[name]
    seen: list[Look] = []
    for step in itertools.count(0, 2):
        here = shutil.copytree(template, tmp_path / f"killed-{step}", symlinks=True)
        before = look(open_memory(here))
        killed = dies_at(step, partial(moved, here, act))
        wait_for_git(here)
        seen.append(look(open_memory(here)))

        open_memory(here).add(Draft("next", "It goes on.", "fact"), by=ANN)

        memory = open_memory(here)
        assert audit.verify(memory).findings == ()
        folder = layout.memory_folder(here)
        assert run_git("status", "--porcelain", cwd=folder) == ""
        assert run_git("fsck", "--no-dangling", cwd=folder) == ""
        shutil.rmtree(here)
        if not killed:
            break
    after = seen[-1]
    assert after != before
    between = {one for one in seen if one not in (before, after)}
    if name == "add":
        # It is a proposal and its approval: between the two, the proposal waits.
        assert {one.context for one in between} == {before.context}
        assert {len(one.kinds) for one in between} == {len(before.kinds) + 1}
    else:
        assert between == set()
    assert step > 6
