"""Which commits count: the approval line, and the approved view along it.

`docs/approval.md` has the rules in words and a table of cases. The functions
here are pure: all that they know comes from commits and trees, so that every
clone comes to the same verdict, and a verdict on a commit never depends on
what came after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from gitmem.ids import is_candidate_id
from gitmem.model import merge, trailers
from gitmem.model.history import Change, Commit, Content, History
from gitmem.model.merges import candidates_named, reverted_commit

Kind = Literal["start", "apply", "revert", "sync", "direct"]
NOTHING: Mapping[str, Content] = MappingProxyType({})
_NO_CHANGES: Mapping[str, Change] = MappingProxyType({})
# How deep merge bases of merge bases are looked for. Honest lines cross once or twice before they
# have the same contents again; without an end a pushed history could take hours to judge.
_CROSSINGS = 10


def _nothing() -> Mapping[str, Content]:
    return NOTHING


def _no_changes() -> Mapping[str, Change]:
    return _NO_CHANGES


@dataclass(frozen=True, slots=True)
class View:
    """The approved content of all entries at a commit.

    It is the commit's own tree, except for the entries in `held`: those have
    changes that no approval covers, and keep the content given there.
    """

    tree: str
    held: Mapping[str, Content] = field(default_factory=_nothing)

    def content(self, history: History, key: str) -> Content:
        """The approved content of `key`."""
        if key in self.held:
            return self.held[key]
        return history.content(self.tree, key)

    def contents(self, history: History) -> dict[str, Content]:
        """The approved content of all entries, by key."""
        found: dict[str, Content] = dict(history.contents(self.tree))
        found.update(self.held)
        return {key: content for key, content in found.items() if content is not None}


@dataclass(frozen=True, slots=True)
class Applied:
    """A candidate that an apply took in: its id and its commits, parents first."""

    id: str
    commits: tuple[str, ...]

    @property
    def first(self) -> str:
        """The commit that began it: with the id, a candidate's identity."""
        return self.commits[0]

    @property
    def tip(self) -> str:
        """The commit that was merged, or at which the next candidate began."""
        return self.commits[-1]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one commit of the approval line did.

    `changes` are the entries whose approved content it changed; at a sync, all
    in which the merged lines differ, with the first parent's content before.
    `unreviewed` are the entries that it changed without approval: the approved
    content, and what the commit has instead. `conflicts` (syncs only) are the
    entries where the merge rule found no answer and the first parent's stays.
    """

    commit: str
    kind: Kind
    parents: tuple[str, ...]
    view: View
    changes: Mapping[str, Change] = field(default_factory=_no_changes)
    unreviewed: Mapping[str, Change] = field(default_factory=_no_changes)
    applied: tuple[Applied, ...] = ()
    reverts: str | None = None
    conflicts: tuple[str, ...] = ()

    @property
    def line_parents(self) -> tuple[str, ...]:
        """The parents whose approval lines are part of this one's."""
        return self.parents if self.kind == "sync" else self.parents[:1]


@dataclass(slots=True)
class Ledger:
    """The judgements on an approval line, in its order: a commit's position is its index."""

    line: list[Judgement] = field(default_factory=list)
    position: dict[str, int] = field(default_factory=dict)
    inside: dict[str, int] = field(default_factory=dict)
    """Commits of applied candidates' lines, with the position of the first apply that has them."""
    linear: bool = True
    """Each commit so far stands on the one before it: all of the line are ancestors of its end."""
    tree: dict[str, Content] = field(default_factory=dict)
    """What the last commit's tree has, by key; None too for what is gone."""

    def reach(self, commit: Commit, kind: Kind) -> None:
        """Get ready for the verdict on the next commit, whose line parents are all in."""
        before = (self.line[-1].commit,) if self.line else ()
        self.linear = self.linear and kind != "sync" and commit.parents[:1] == before

    def add(self, judgement: Judgement) -> None:
        """Append the judgement on a commit."""
        here = len(self.line)
        self.position[judgement.commit] = here
        self.line.append(judgement)
        for candidate in judgement.applied:
            for commit in candidate.commits:
                self.inside.setdefault(commit, here)

    def of(self, commit: str) -> Judgement:
        """The judgement on a commit of the line."""
        return self.line[self.position[commit]]

    def culprits(self, key: str) -> list[Judgement]:
        """What left the file of `key` as it is at the end without approval, in the line's order.

        Empty only where the file is as approved. A line on which it was put right is not to blame.
        """
        found: list[Judgement] = []
        waiting, seen = [self.line[-1].commit], set()
        while waiting:
            here = self.of(waiting.pop())
            if here.commit in seen or key not in here.view.held:
                continue
            seen.add(here.commit)
            if key in here.unreviewed:
                found.append(here)
            waiting.extend(here.line_parents)
        return sorted(found, key=lambda judgement: self.position[judgement.commit])

    def undone(self, judgement: Judgement) -> Judgement:
        """What a revert is about: of the revert of a revert, what comes back with it."""
        while judgement.reverts is not None:
            judgement = self.of(judgement.reverts)
        return judgement

    @property
    def view(self) -> View:
        """The approved view at the end of the line."""
        return self.line[-1].view

    def on_line(self, commit: str, tip: str) -> bool:
        """Whether `commit` is on the approval line of `tip`, itself a commit of this line."""
        target = self.position.get(commit)
        if target is None:
            return False
        waiting, seen = [tip], set()
        while waiting:
            here = waiting.pop()
            if here == commit:
                return True
            if here in seen or self.position[here] <= target:
                continue
            seen.add(here)
            waiting.extend(self.of(here).line_parents)
        return False


Trust = Callable[[Commit], bool]
"""Says of an apply, revert or sync whether it counts: always, unless approvals must be signed."""


def anyone(_: Commit) -> bool:
    """The trust that asks for no signature."""
    return True


def judge(
    history: History, tip: str, *, known: Ledger | None = None, trust: Trust = anyone
) -> Ledger:
    """Judge the whole approval line of `tip`.

    `known` is the ledger of an earlier tip: where that tip is a first-parent
    ancestor of this one, only what came since is judged, and `known` is extended.
    """
    ledger = known if known is not None else Ledger()
    start = ledger.line[-1].commit if ledger.line else None
    order = list(_line(history, tip, ledger, trust))
    if start is not None and not _extends(order, start, tip):
        ledger = Ledger()
        order = list(_line(history, tip, ledger, trust))
    for commit, kind in order:
        _add(history, ledger, commit, kind)
    return ledger


def join(history: History, first: str, other: str, *, trust: Trust = anyone) -> Ledger:
    """The ledger of a sync of two lines that nobody has made yet, with `first` as first parent.

    Its last judgement is on that merge, called "", with the tree of `first`: `view.held` is what
    the tree still lacks of the approved view, `conflicts` where `first`'s content stays.
    """
    ledger = Ledger()
    merge = history.commit(first)._replace(id="", parents=(first, other), message="")
    for tip in (first, other):
        for commit, kind in list(_line(history, tip, ledger, trust)):
            _add(history, ledger, commit, kind)
    _add(history, ledger, merge, "sync")
    return ledger


def _add(history: History, ledger: Ledger, commit: Commit, kind: Kind) -> None:
    ledger.reach(commit, kind)
    ledger.add(_Judge(history, ledger, commit).verdict(kind))
    _follow(history, ledger)


def _follow(history: History, ledger: Ledger) -> None:
    """Keep `ledger.tree` at the last commit."""
    last = ledger.line[-1].view.tree
    if len(ledger.line) == 1:
        ledger.tree.update(history.contents(last))
        return
    for key, (_, after) in history.changes(ledger.line[-2].view.tree, last).items():
        ledger.tree[key] = after


def _extends(order: Sequence[tuple[Commit, Kind]], start: str, tip: str) -> bool:
    """Whether the unjudged commits lead from `start` to `tip`, one after the other."""
    here = start
    for commit, kind in order:
        if kind == "sync" or commit.parents[0:1] != (here,):
            return False
        here = commit.id
    return here == tip


def kind_of(commit: Commit, trust: Trust = anyone) -> Kind:
    """What a commit of an approval line is, from its own message and shape.

    A revert is only called one here if its message names a commit; whether
    that stands on the line is the judge's question. What does not count is a
    direct commit, a merge too: nothing comes in over its other parents.
    """
    if not commit.parents:
        return "start"
    if len(commit.parents) == 1:
        named = reverted_commit(commit.message)
        return "revert" if named is not None and trust(commit) else "direct"
    if not trust(commit):
        return "direct"
    names = candidates_named(commit.message)
    return "apply" if len(names) == len(commit.parents) - 1 else "sync"


def _line(
    history: History, tip: str, ledger: Ledger, trust: Trust
) -> Iterator[tuple[Commit, Kind]]:
    """The commits of the approval line of `tip` that `ledger` has not, in post-order."""
    done: set[str] = set()
    stack: list[tuple[Commit, Kind, int]] = []

    def enter(id_: str) -> None:
        if id_ in ledger.position or id_ in done:
            return
        done.add(id_)
        commit = history.commit(id_)
        stack.append((commit, kind_of(commit, trust), 0))

    enter(tip)
    while stack:
        commit, kind, visited = stack[-1]
        wanted = commit.parents if kind == "sync" else commit.parents[:1]
        if visited < len(wanted):
            stack[-1] = (commit, kind, visited + 1)
            enter(wanted[visited])
            continue
        stack.pop()
        yield commit, kind


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate's content of one entry, and the one at the merge base.

    It is `grounded` if the base's content is the approved one there.
    """

    key: str
    base: Content
    theirs: Content
    grounded: bool


@dataclass(frozen=True, slots=True)
class Base:
    """A merge base: its commit (of several, the first), and the approved view there.

    `ungrounded` are the entries of which its tree has unreviewed content.
    """

    commit: str
    view: View
    ungrounded: frozenset[str]


class Ancestry:
    """Where lines of commits stand on the approval line, and what was approved there."""

    def __init__(self, history: History, ledger: Ledger) -> None:
        self.history = history
        self.ledger = ledger

    def own_line(self, parent: str, tip: str) -> list[Commit]:
        """What the merge brought in: commits of `tip` that `parent` has not, parents first."""
        if self.ledger.linear:
            chain = self._chain(tip)
            if chain is not None:
                return chain
        return [self.history.commit(id_) for id_ in self.history.between(tip, [parent])]

    def _chain(self, tip: str) -> list[Commit] | None:
        """The line of `tip` where it is a plain chain that hangs on what is already judged."""
        chain: list[Commit] = []
        here = tip
        while here not in self.ledger.position and here not in self.ledger.inside:
            commit = self.history.commit(here)
            if len(commit.parents) != 1:
                return None
            chain.append(commit)
            here = commit.parents[0]
        return chain[::-1]

    def base(self, parent: str, tip: str, own: Sequence[Commit]) -> Base | None:
        """The merge base of a commit of the line and a candidate; None where they share nothing.

        `own` is the candidate's own line, as `own_line` gives it.
        """
        if self.ledger.linear and own and all(len(commit.parents) == 1 for commit in own):
            return self._single_base(own[0].parents[0], (parent,))
        return self.merge_base(parent, tip, (parent,))

    def proposals(self, base: Base | None, tip: str) -> Iterator[Proposal]:
        """What a candidate changes against the approved view of its merge base, by key."""
        tree = self.history.commit(tip).tree
        if base is None:
            for key, blob in self.history.contents(tree).items():
                yield Proposal(key, None, blob, grounded=True)
            return
        changed = self.history.changes(base.view.tree, tree)
        for key in sorted({*changed, *base.view.held} - (base.ungrounded - changed.keys())):
            grounded = key not in base.ungrounded
            at_base = base.view.content(self.history, key) if grounded else changed[key][0]
            theirs = changed[key][1] if key in changed else self.history.content(tree, key)
            if theirs != at_base:
                yield Proposal(key, at_base, theirs, grounded=grounded)

    def merge_base(
        self, one: str, other: str, lines: tuple[str, ...], *, depth: int = 0
    ) -> Base | None:
        """The merge base of two commits, as one; None where they share nothing.

        `lines` are the commits on whose approval lines it is looked for. Several
        bases are merged pairwise by the merge rule, in order of commit id; an entry
        that conflicts there has no base. So has one over which lines have crossed
        more often than anybody can follow.
        """
        bases = self.history.merge_bases(one, other) if depth < _CROSSINGS else ()
        if not bases:
            return None
        merged = self._single_base(bases[0], lines)
        for before, here in pairwise(bases):
            second = self._single_base(here, lines)
            apart = differing(self.history, merged.view, second.view)
            below = self.merge_base(before, here, lines, depth=depth + 1) if apart else None
            merged = self._virtual_base(merged, second, below, apart)
        return merged

    def _virtual_base(
        self, first: Base, second: Base, below: Base | None, differing: Iterable[str]
    ) -> Base:
        held: dict[str, Content] = dict(first.view.held)
        for key in differing:
            ours = first.view.content(self.history, key)
            theirs = second.view.content(self.history, key)
            at_base = below.view.content(self.history, key) if below is not None else None
            merged = merge_contents(self.history, key, at_base, ours, theirs, applied="ours")
            held[key] = None if isinstance(merged, merge.Conflict) else merged
        view = View(first.view.tree, held or NOTHING)
        return Base(first.commit, view, first.ungrounded | second.ungrounded)

    def _single_base(self, commit: str, lines: tuple[str, ...]) -> Base:
        """One merge base.

        A base off the approval lines is a candidate's commit that both sides
        applied: it counts with that candidate applied, except for the entries of
        which unreviewed content lay below it.
        """
        view = self._view_on(commit, lines)
        if view is None:
            held: dict[str, Content] = {}
            waiting, seen = [commit], set()
            while waiting:
                here = waiting.pop()
                below = self._view_on(here, lines)
                if below is not None:
                    held.update(below.held)
                elif here not in seen:
                    seen.add(here)
                    waiting.extend(self.history.commit(here).parents)
            view = View(self.history.commit(commit).tree, held or NOTHING)
        return Base(commit, view, frozenset(view.held))

    def _view_on(self, commit: str, lines: tuple[str, ...]) -> View | None:
        if any(self.ledger.on_line(commit, tip) for tip in lines):
            return self.ledger.of(commit).view
        return None


class _Judge:
    """The verdict on one commit, all of whose line parents are in the ledger."""

    def __init__(self, history: History, ledger: Ledger, commit: Commit) -> None:
        self.history = history
        self.ledger = ledger
        self.commit = commit
        self.ancestry = Ancestry(history, ledger)

    def verdict(self, kind: Kind) -> Judgement:
        if kind == "start":
            return self._start()
        if kind == "apply":
            return self._apply()
        if kind == "revert":
            return self._revert()
        if kind == "sync":
            return self._sync()
        return self._settle("direct", {})

    def _start(self) -> Judgement:
        found = self.history.contents(self.commit.tree)
        return Judgement(
            self.commit.id,
            "start",
            (),
            View(self.commit.tree, dict.fromkeys(found) if found else NOTHING),
            unreviewed={key: (None, blob) for key, blob in found.items()} or _NO_CHANGES,
        )

    # -- one parent on the line ------------------------------------------------------------

    def _settle(
        self,
        kind: Kind,
        covered: Mapping[str, Content],
        *,
        applied: tuple[Applied, ...] = (),
        reverts: str | None = None,
    ) -> Judgement:
        """Take over what is `covered`; of all else the approved content stays as it was."""
        parent = self.ledger.of(self.commit.parents[0]).view
        touched = self.history.changes(parent.tree, self.commit.tree)
        if not parent.held and covered.keys() == touched.keys():
            view, unreviewed = View(self.commit.tree), _NO_CHANGES
            changes: Mapping[str, Change] = touched
        else:
            view, changes, unreviewed = self._weigh(parent, touched, covered)
        return Judgement(
            self.commit.id,
            kind,
            self.commit.parents,
            view,
            changes=changes,
            unreviewed=unreviewed,
            applied=applied,
            reverts=reverts,
        )

    def _weigh(
        self,
        parent: View,
        touched: Mapping[str, Change],
        covered: Mapping[str, Content],
    ) -> tuple[View, dict[str, Change], dict[str, Change]]:
        held: dict[str, Content] = {}
        changes: dict[str, Change] = {}
        unreviewed: dict[str, Change] = {}
        for key in sorted({*touched, *covered, *parent.held}):
            before = self._present(parent, key)
            found = self._found(key)
            approved = covered.get(key, before)
            if approved != before:
                changes[key] = (before, approved)
            if found != approved:
                held[key] = approved
                if key in touched:
                    unreviewed[key] = (approved, found)
        return View(self.commit.tree, held or NOTHING), changes, unreviewed

    # -- reverts ---------------------------------------------------------------------------

    def _revert(self) -> Judgement:
        named = reverted_commit(self.commit.message)
        parent = self.commit.parents[0]
        if named is None or not self.ledger.on_line(named, parent):
            return self._settle("direct", {})
        undone = self.ledger.of(named)
        if undone.kind in ("sync", "start"):
            return self._settle("direct", {})
        covered = self._reverted(undone, self.ledger.of(parent).view)
        if not covered:
            return self._settle("direct", {})
        return self._settle("revert", covered, reverts=named)

    def _reverted(self, undone: Judgement, parent: View) -> dict[str, Content]:
        """The entries of this commit that the revert of `undone` covers, with their contents."""
        covered: dict[str, Content] = {}
        touched = self.history.changes(parent.tree, self.commit.tree)
        for key in touched.keys() & (undone.changes.keys() | undone.unreviewed.keys()):
            found, present = self._found(key), self._present(parent, key)
            before, after = undone.changes.get(key, (present, present))
            if found in (present, merge_contents(self.history, key, after, present, before)):
                covered[key] = found
        return covered

    def _found(self, key: str) -> Content:
        """What this commit's own tree has."""
        above = self.ledger.of(self.commit.parents[0]).view.tree
        touched = self.history.changes(above, self.commit.tree)
        return touched[key][1] if key in touched else self._in_parent(key)

    def _in_parent(self, key: str) -> Content:
        """What the first parent's tree has."""
        parent = self.commit.parents[0]
        if self.ledger.line[-1].commit == parent:
            return self.ledger.tree.get(key)
        return self.history.content(self.ledger.of(parent).view.tree, key)

    def _present(self, view: View, key: str) -> Content:
        """What is approved at the first parent, whose view is `view`."""
        return view.held[key] if key in view.held else self._in_parent(key)

    # -- applies ---------------------------------------------------------------------------

    def _apply(self) -> Judgement:
        parent = self.commit.parents[0]
        applied: list[Applied] = []
        proposed: dict[str, list[Proposal]] = {}
        for name, tip, own in self._merged():
            applied.extend(candidates_in(own, name))
            if self._is_plain(parent, tip, own):
                covered = {key: after for key, (_, after) in self._touched().items()}
                return self._settle("apply", covered, applied=tuple(applied))
            for proposal in self.ancestry.proposals(self.ancestry.base(parent, tip, own), tip):
                proposed.setdefault(proposal.key, []).append(proposal)
        ours = self.ledger.of(parent).view
        covered = {
            key: self._found(key)
            for key, proposals in proposed.items()
            if self._acceptable(key, proposals, ours)
        }
        return self._settle("apply", covered, applied=tuple(applied))

    def _merged(self) -> list[tuple[str, str, list[Commit]]]:
        """What an apply merged: the name, the tip and the own commits of each further parent.

        git names local branches before a remote's, in whatever order it has them as parents:
        the name that a side's own commits say goes before the order.
        """
        parent, *tips = self.commit.parents
        names = list(candidates_named(self.commit.message))
        lines = [self.ancestry.own_line(parent, tip) for tip in tips]
        said = [next(filter(None, map(_names_itself, reversed(line))), None) for line in lines]
        merged: list[tuple[str, str, list[Commit]]] = []
        for tip, line, own_name in zip(tips, lines, said, strict=True):
            fitting = [name for name in names if name == own_name]
            name = (fitting or [name for name in names if name not in said] or names)[0]
            names.remove(name)
            merged.append((name, tip, line))
        return merged

    def _touched(self) -> Mapping[str, Change]:
        parent = self.ledger.of(self.commit.parents[0]).view
        return self.history.changes(parent.tree, self.commit.tree)

    def _is_plain(self, parent: str, tip: str, own: Sequence[Commit]) -> bool:
        """Whether one candidate was made on just what it was merged into, and merged as it is."""
        return (
            len(self.commit.parents) == 2
            and len(own) > 0
            and own[0].parents == (parent,)
            and all(len(commit.parents) == 1 for commit in own)
            and not self.ledger.of(parent).view.held
            and self.history.commit(tip).tree == self.commit.tree
        )

    def _acceptable(self, key: str, proposals: Sequence[Proposal], ours_view: View) -> bool:
        """Whether a person's merge of an entry may stand: cases (a), (b) and (c) of the rules."""
        if not all(proposal.grounded for proposal in proposals):
            return False
        ours = self._present(ours_view, key)
        for proposal in proposals[:-1]:
            merged = merge_contents(self.history, key, proposal.base, ours, proposal.theirs)
            if isinstance(merged, merge.Conflict):
                return False
            ours = merged
        last, found = proposals[-1], self._found(key)
        merged = merge_contents(self.history, key, last.base, ours, last.theirs)
        if merged == found:
            return True
        if isinstance(merged, merge.Conflict) and key not in ours_view.held:
            return True
        return _is_text_merge(self.history, last.base, ours, last.theirs, found)

    # -- syncs -----------------------------------------------------------------------------

    def _sync(self) -> Judgement:
        parents = self.commit.parents
        first = self.ledger.of(parents[0]).view
        joined: dict[str, Content] = {}
        conflicts: set[str] = set()
        for other in parents[1:]:
            self._join(first, other, joined, conflicts)
        return self._synced(first, joined, tuple(sorted(conflicts)))

    def _join(
        self, first: View, other: str, joined: dict[str, Content], conflicts: set[str]
    ) -> None:
        """Merge the approved view of `other` into what `joined` says over `first`."""
        parents = self.commit.parents
        base = self.ancestry.merge_base(parents[0], other, parents)
        theirs_view = self.ledger.of(other).view
        for key in _may_differ(self.history, base, theirs_view):
            ours = joined[key] if key in joined else first.content(self.history, key)
            theirs = theirs_view.content(self.history, key)
            if ours == theirs:
                continue
            at_base = base.view.content(self.history, key) if base is not None else None
            merged = merge_contents(self.history, key, at_base, ours, theirs, applied="ours")
            found = self._found(key)
            if found != merged and _is_text_merge(self.history, at_base, ours, theirs, found):
                merged = found
            if isinstance(merged, merge.Conflict):
                conflicts.add(key)
                merged = ours
            joined[key] = merged

    def _synced(
        self, first: View, joined: Mapping[str, Content], conflicts: tuple[str, ...]
    ) -> Judgement:
        tree = self.commit.tree
        views = [self.ledger.of(parent).view for parent in self.commit.parents]
        keys = {*joined, *self.history.changes(first.tree, tree)}.union(*(v.held for v in views))
        held: dict[str, Content] = {}
        unreviewed: dict[str, Change] = {}
        for key in sorted(keys):
            approved = joined[key] if key in joined else first.content(self.history, key)
            found = self._found(key)
            if found == approved:
                continue
            held[key] = approved
            carried = (key in v.held and self.history.content(v.tree, key) == found for v in views)
            if not any(carried):
                unreviewed[key] = (approved, found)
        return Judgement(
            self.commit.id,
            "sync",
            self.commit.parents,
            View(tree, held or NOTHING),
            changes={
                key: (first.content(self.history, key), joined[key]) for key in sorted(joined)
            },
            unreviewed=unreviewed,
            conflicts=conflicts,
        )


def candidates_in(line: Sequence[Commit], name: str) -> list[Applied]:
    """The candidates that a line of commits holds, in order of their first commits.

    `line` is parents first, `name` the candidate as which the whole was merged or
    stands open. A `Memory-Candidate` trailer says where another candidate begins;
    a commit without one belongs to the candidate of the commit before it.
    """
    belongs: dict[str, str] = {}
    commits: dict[str, list[str]] = {}
    for commit in line:
        below = (belongs[parent] for parent in commit.parents if parent in belongs)
        id_ = _names_itself(commit) or next(below, name)
        belongs[commit.id] = id_
        commits.setdefault(id_, []).append(commit.id)
    if line and name not in commits:
        commits[name] = [line[-1].id]
    return [Applied(id_, tuple(own)) for id_, own in commits.items()]


def _names_itself(commit: Commit) -> str | None:
    """The candidate that a commit says to be of. A merge's trailer is about what it merges."""
    if len(commit.parents) > 1:
        return None
    named = trailers.parse(commit.message).first(trailers.CANDIDATE)
    return named if named is not None and is_candidate_id(named) else None


def merge_contents(
    history: History,
    key: str,
    base: Content,
    ours: Content,
    theirs: Content,
    *,
    applied: Literal["ours", "theirs"] = "theirs",
) -> Content | merge.Conflict:
    """The merge rule on contents as trees have them."""
    if ours in (theirs, base):
        return theirs
    if theirs == base:
        return ours
    sides = (base, ours, theirs)
    if not all(side is None or side.regular for side in sides):
        return merge.Conflict(key, "one side is no ordinary file")
    data = [None if side is None else history.data(side.id) for side in sides]
    merged = merge.merge_file(key, *data, tier=history.tier, applied=applied)
    if isinstance(merged, merge.Conflict) or merged is None:
        return merged
    return history.keep(merged)


def _is_text_merge(
    history: History, base: Content, ours: Content, theirs: Content, found: Content
) -> bool:
    """Whether `found` is what git's own text merge makes of the three."""
    if base is None or ours is None or theirs is None or found is None:
        return False
    if ours in (base, theirs) or theirs == base:
        # The rule takes one side as it is, and git does no other.
        return False
    if not (base.regular and ours.regular and theirs.regular and found.regular):
        return False
    merged = history.text_merge(base, ours, theirs)
    return merged is not None and merged == history.data(found.id)


def differing(history: History, first: View, second: View) -> list[str]:
    """The entries of which two views have different contents, sorted."""
    keys = {*history.changes(first.tree, second.tree), *first.held, *second.held}
    return sorted(
        key for key in keys if first.content(history, key) != second.content(history, key)
    )


def _may_differ(history: History, base: Base | None, view: View) -> list[str]:
    """The entries that may have changed in `view` since `base`, sorted."""
    if base is None:
        return sorted({*history.contents(view.tree), *view.held})
    changed = history.changes(base.view.tree, view.tree)
    return sorted({*changed, *base.view.held, *view.held})
