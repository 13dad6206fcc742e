"""What stood approved at each commit of an approval line, from values that need no repository.

A `Step` is what is left of a judgement when its trees are taken away: what the commit changed
in the approved view, and what it left unreviewed. Folding the steps gives the view, the
positions and the memories that a context is built of, the same ones as from git.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gitmem import ids
from gitmem.model import entries
from gitmem.model.approval import Judgement, Kind, Ledger
from gitmem.model.history import Blob, Content, History
from gitmem.model.tiers import Memory


class Held(NamedTuple):
    """An entry whose file no approval covers: the commit to blame, and what the file is there."""

    commit: str
    found: Content


@dataclass(frozen=True, slots=True)
class Step:
    """One commit of an approval line.

    `at` is its committer's time in seconds. `parents` are those whose lines are part of this
    one's. `changes` are the entries whose approved content is another one than at the first
    parent, with that content. `held` is what differs there in the same way: None where a file
    is as approved again.
    """

    commit: str
    at: int
    kind: Kind
    parents: tuple[str, ...]
    changes: Mapping[str, Content]
    held: Mapping[str, Held | None]


Steps = Mapping[str, Step]
"""The steps of one approval line by commit, parents before children."""


class Approved(NamedTuple):
    """An approved content, and the position and the commit of its first approval."""

    content: Blob
    position: int
    commit: str


class Standing(NamedTuple):
    """What stood at a commit: the approved entries, and those whose file is another one."""

    approved: Mapping[str, Approved]
    held: Mapping[str, Held]


# -- from judgements ---------------------------------------------------------------------------


def steps(history: History, ledger: Ledger) -> dict[str, Step]:
    """The steps of a ledger."""
    found: dict[str, Step] = {}
    held: dict[str, Mapping[str, Held]] = {}
    for judgement in ledger.line:
        above = judgement.line_parents
        here = _held(history, ledger, judgement, held)
        before: Mapping[str, Held] = held[above[0]] if above else {}
        held[judgement.commit] = here
        found[judgement.commit] = Step(
            judgement.commit,
            history.commit(judgement.commit).committer.time,
            judgement.kind,
            above,
            {key: after for key, (_, after) in judgement.changes.items()},
            _difference(before, here),
        )
    return found


_NOTHING_HELD: Mapping[str, Held] = {}


def _held(
    history: History, ledger: Ledger, judgement: Judgement, known: Mapping[str, Mapping[str, Held]]
) -> Mapping[str, Held]:
    """All that is held at a commit, with the last commit of its line that is to blame for it."""
    if not judgement.view.held:
        return _NOTHING_HELD
    if _left_alone(history, ledger, judgement):
        return known[judgement.parents[0]]
    found: dict[str, Held] = {}
    for key in sorted(judgement.view.held):
        blamed = judgement.commit
        if key not in judgement.unreviewed:
            lines = [parent for parent in judgement.line_parents if key in known[parent]]
            blamed = _last(ledger, [(parent, known[parent][key].commit) for parent in lines])
        found[key] = Held(blamed, history.content(judgement.view.tree, key))
    return found


def _left_alone(history: History, ledger: Ledger, judgement: Judgement) -> bool:
    """Whether a commit touches nothing of what is held at the only commit that it stands on."""
    if len(judgement.line_parents) != 1:
        return False
    view, above = judgement.view, ledger.of(judgement.parents[0]).view
    touched = history.changes(above.tree, view.tree).keys()
    return view.held.keys() == above.held.keys() and view.held.keys().isdisjoint(touched)


def _last(ledger: Ledger, blamed: list[tuple[str, str]]) -> str:
    """Of the commits that are to blame on joined lines, the one that stands last in the whole."""
    line, last = blamed[0]
    for other, commit in blamed[1:]:
        if not ledger.on_line(commit, line) or ledger.position[commit] > ledger.position[last]:
            line, last = other, commit
    return last


def _difference(before: Mapping[str, Held], after: Mapping[str, Held]) -> Mapping[str, Held | None]:
    if before is after:
        return {}
    changed: dict[str, Held | None] = {
        key: now for key, now in after.items() if before.get(key) != now
    }
    return changed | {key: None for key in before if key not in after}


# -- what stood at a commit --------------------------------------------------------------------


def line(known: Steps, tip: str) -> list[Step]:
    """The approval line of `tip`, in its order: post-order, the first parent's line first."""
    found: list[Step] = []
    done = {tip}
    stack = [(known[tip], 0)]
    while stack:
        step, visited = stack[-1]
        if visited == len(step.parents):
            stack.pop()
            found.append(step)
            continue
        stack[-1] = (step, visited + 1)
        parent = step.parents[visited]
        if parent not in done:
            done.add(parent)
            stack.append((known[parent], 0))
    return found


def first_parents(known: Steps, tip: str) -> Iterator[Step]:
    """The steps of the first-parent line of `tip`, newest first."""
    here: str | None = tip
    while here is not None:
        step = known[here]
        yield step
        here = step.parents[0] if step.parents else None


def standing(known: Steps, tip: str) -> Standing:
    """What stood at the commit `tip`, one of the steps."""
    contents: dict[str, Content] = {}
    held: dict[str, Held | None] = {}
    for step in reversed(list(first_parents(known, tip))):
        contents.update(step.changes)
        held.update(step.held)
    first: dict[tuple[str, Content], tuple[int, str]] = {}
    for position, step in enumerate(line(known, tip)):
        for key, after in step.changes.items():
            first.setdefault((key, after), (position, step.commit))
    approved = {
        key: Approved(content, *first[key, content])
        for key, content in sorted(contents.items())
        if content is not None
    }
    return Standing(approved, {key: one for key, one in sorted(held.items()) if one is not None})


def last_before(chain: Sequence[tuple[str, int]], at: int) -> tuple[str | None, tuple[str, ...]]:
    """The last commit of a first-parent line whose clock says no later than `at`, if there is one.

    As `git rev-list -1 --first-parent --before`. `chain` are the line's commits with their
    times, newest first. Also the commits below it, oldest first, whose clocks say later all
    the same.
    """
    place = next((place for place, (_, time) in enumerate(chain) if time <= at), None)
    if place is None:
        return None, ()
    later = [commit for commit, time in chain[place:] if time > at]
    return chain[place][0], tuple(reversed(later))


# -- memories ----------------------------------------------------------------------------------


class Reader:
    """Reads the entries of one tier, each content once. `data` gives a blob's bytes."""

    def __init__(self, tier: str, data: Callable[[str], bytes]) -> None:
        self.tier = tier
        self._data = data
        self._known: dict[tuple[str, Blob], Memory | entries.EntryFault] = {}

    def memories(
        self, approved: Mapping[str, Approved]
    ) -> tuple[list[Memory], list[tuple[str, str]]]:
        """The memories of approved entries, and those that can't be read: id and why."""
        found: list[Memory] = []
        broken: list[tuple[str, str]] = []
        for key, one in approved.items():
            known = self._known.get((key, one.content))
            if known is None:
                known = self._known[key, one.content] = self._read(key, one.content)
            if isinstance(known, Memory):
                found.append(replace(known, position=one.position, commit=one.commit))
            else:
                broken.append((ids.entry_id(key), known.message))
        return found, broken

    def _read(self, key: str, content: Blob) -> Memory | entries.EntryFault:
        try:
            entries.check_ordinary(content)
            data = self._data(content.id)
            entry = entries.parse(key, data, tier=self.tier)
            body = data[entries.body_start(data) :].decode("utf-8")
        except entries.EntryFault as fault:
            return fault
        return Memory(
            key=key,
            id=entry.id,
            tier=self.tier,
            scope=self.tier,
            type=entry.type,
            body=body,
            position=0,
            commit="",
            blob=content.id,
            sessions=frozenset(entries.sessions(entry)),
        )
