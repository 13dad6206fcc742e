"""Sharing memory: what a remote has is taken up, what it lacks is pushed. `docs/teams.md` has it in words.

Fetching and pushing may fail or lose a race at any moment, so each round stands on its own: refs
here move in one step under the lock, those there in one push, and whatever is left undone, the
next round, or the next sync, finds in the refs again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Literal

from gitmem import dropbox, ids, joining, layout, remotes, views, witness
from gitmem.errors import BadInputError, ConflictError, NotFoundError, RefusedError
from gitmem.git import checkout, health, refs, tierrepo
from gitmem.git.checkout import Left
from gitmem.git.program import GitFailedError
from gitmem.git.sharing import Door, Show, Update
from gitmem.git.transaction import RefChange, Transaction
from gitmem.joining import Conflict
from gitmem.memory import Memory
from gitmem.model import approval
from gitmem.model.history import Person
from gitmem.remotes import Visible
from gitmem.store import Store

# Each lost race means that somebody else's push went through.
_ATTEMPTS = 30
_CLOSED = re.compile(r"[a-z0-9_-]+\.[0-9a-f]{8}\Z")


@dataclass(frozen=True, slots=True)
class Question:
    """What a person must agree to before the first sync with a remote.

    `push`: it has no memory yet, and `visible` is what will show up there. `join`: it has memory of
    its own, of `entries` entries by `approvers` (free text of strangers, with how many merges
    each made), and shares nothing with the memory here but the beginning.
    """

    kind: Literal["push", "join"]
    scope: str
    url: str
    visible: Visible
    entries: int = 0
    approvers: tuple[tuple[str, int], ...] = ()


Agree = Callable[[Question], object]
"""Comes back where a person agrees, and raises where not."""


@dataclass(slots=True)
class Moved:
    """What went one way: entries whose approved content changed, new candidates, closed ones."""

    entries: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    discarded: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.entries or self.candidates or self.discarded)


@dataclass(slots=True)
class Report:
    """What a sync of one tier did.

    `withdrawn` are candidates that vanished at the remote undecided, `conflicts` entries that wait
    for a person, `split` candidates that were edited on both sides, with the new candidate that has
    the version from here. `unreviewed` are texts that nobody approved and that the merge lacks:
    (commit, entry). `unreadable` are candidates that could not be fetched, `refused` that the remote did not take, with its reason.
    """

    scope: str
    remote: str
    url: str
    came: Moved = field(default_factory=Moved)
    went: Moved = field(default_factory=Moved)
    withdrawn: list[str] = field(default_factory=list)
    conflicts: tuple[Conflict, ...] = ()
    split: list[tuple[str, str]] = field(default_factory=list)
    unreviewed: tuple[tuple[str, str], ...] = ()
    unreadable: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)
    claimed: tuple[dropbox.Claim, ...] = ()


def sync(
    memory: Memory,
    *,
    by: Person,
    agree: Agree,
    scope: str | None = None,
    rejoin: bool = False,
    ask: bool = False,
    show: Show | None = None,
) -> list[Report]:
    """Bring the tiers that have a remote, or one of them, and their remotes together.

    `by` is the author of a merge, if there has to be one. `rejoin` goes on where a remote has
    rewritten its `memory/main`. `ask` and `show` are as in `Door`. Raises NotFoundError
    `no-remote`, RefusedError `remote-rewritten`, BadInputError `branch-in-the-way` and
    `other-memory`, ConflictError `race-lost`, GitFailedError `remote-failed`.
    """
    return [
        _Sync(memory, store, by, agree, Door(store.place.git_dir, remote, ask, show)).run(
            rejoin=rejoin
        )
        for store in _shared(memory, scope)
        for remote in [remotes.of(store.place)]
    ]


def push_candidates(
    memory: Memory,
    *,
    agree: Agree,
    scope: str | None = None,
    ask: bool = False,
    show: Show | None = None,
) -> list[Report]:
    """Push the pending candidates of the tiers that have a remote, and nothing else.

    Raises as `sync`.
    """
    found = []
    for store in _shared(memory, scope):
        remote = remotes.of(store.place)
        door = Door(store.place.git_dir, remote, ask, show)
        found.append(_push_candidates(memory, store, agree, door))
    return found


def _shared(memory: Memory, scope: str | None) -> list[Store]:
    """The tiers to sync: the one that is asked for, or all that have a remote."""
    stores = memory.stores(scope)
    shared = [store for store in stores if scope or tierrepo.has_remote(store.place.git_dir)]
    if shared:
        return shared
    remotes.of((stores or [memory.store(memory.default_scope())])[0].place)
    raise NotFoundError("no-remote", "no memory here has a remote", hint="gitmem remote URL")


def _push_candidates(memory: Memory, store: Store, agree: Agree, door: Door) -> Report:
    report = Report(store.tier, door.remote.name, door.remote.url)
    listed = door.listed()
    remotes.check(listed, door.remote.url)
    if layout.MAIN not in listed:
        agree(Question("push", store.tier, door.remote.url, remotes.visible(memory, store.tier)))
    there = _Refs(store, door.remote.name, listed)
    updates = [
        Update(layout.candidate_ref(id_), tip, there.listed.get(layout.candidate_ref(id_)))
        for id_, tip in there.heads.items()
        if not there.is_decided(tip) and id_ not in there.vanished and not there.has(id_, tip)
    ]
    kept = there.others({update.name for update in updates})
    report.refused = door.push(updates, atomic=False, kept=kept) if updates else {}
    report.went.candidates = [
        update.name.removeprefix(layout.CANDIDATES)
        for update in updates
        if update.name not in report.refused
    ]
    return report


class _Refs:
    """The candidates here and at the remote as refs have them at one moment, and what is decided.

    `listed` is what the remote just said that it has; `known` is what it had when it was asked
    before, as far as that was fetched.
    """

    def __init__(
        self, store: Store, remote: str, listed: dict[str, str], known: dict[str, str] | None = None
    ) -> None:
        self.listed = listed
        git_dir, start = store.place.git_dir, f"{layout.tracking(remote)}candidate/"
        self.fetched = _candidates(refs.listed(git_dir, start), start)
        self.known = self.fetched if known is None else known
        self._branches = refs.listed(git_dir, layout.CANDIDATES)
        self.heads = _candidates(self._branches, layout.CANDIDATES)
        self._inside = store.ledger().inside
        closed = store.closed()
        self._ended = {commit for stub in closed for commit in (*stub.line.commits, stub.decided)}

    @property
    def vanished(self) -> dict[str, str]:
        """The candidates that the remote had and has no more, with the tips that they had."""
        return {
            id_: tip
            for id_, tip in self.known.items()
            if layout.candidate_ref(id_) not in self.listed
        }

    @property
    def there(self) -> dict[str, str]:
        """The candidates that the remote has, with their tips as fetched."""
        return {
            id_: tip
            for id_, tip in self.fetched.items()
            if layout.candidate_ref(id_) in self.listed
        }

    def has(self, id_: str, tip: str) -> bool:
        """Whether the remote's branch stands at `tip`."""
        return self.listed.get(layout.candidate_ref(id_)) == tip

    def others(self, pushed: Collection[str]) -> list[str]:
        """The branches here that the remote has not just so, and that are not `pushed`."""
        return [
            name
            for name, tip in self._branches.items()
            if name not in pushed and self.listed.get(name) != tip
        ]

    def is_decided(self, tip: str) -> bool:
        """Whether what ends at `tip` was applied, or closed and not gone on with."""
        return tip in self._inside or tip in self._ended


def _is_memorys(name: str) -> bool:
    """Whether a remote's ref can be memory: others are left there, whatever they are called."""
    if name.startswith(layout.CANDIDATES):
        return ids.is_candidate_id(name.removeprefix(layout.CANDIDATES))
    if name.startswith(layout.DISCARDED):
        return bool(_CLOSED.match(name.removeprefix(layout.DISCARDED)))
    return name == layout.MAIN


def _candidates(found: Mapping[str, str], start: str) -> dict[str, str]:
    named = ((name.removeprefix(start), tip) for name, tip in found.items())
    return {id_: tip for id_, tip in named if ids.is_candidate_id(id_)}


class _Sync:
    """One sync of one tier."""

    def __init__(self, memory: Memory, store: Store, by: Person, agree: Agree, door: Door) -> None:
        self.memory = memory
        self.store = store
        self.git_dir = store.place.git_dir
        self.place = tierrepo.place_of(store.place)
        self.by = by
        self.agree = agree
        self.door = door
        self.name = door.remote.name
        self.agreed = False
        self.report = Report(store.tier, self.name, door.remote.url)

    def run(self, *, rejoin: bool) -> Report:
        """Fetch, join and push until both sides have the same."""
        if self.store.tier == "project" and self.memory.dropped():
            self.report.claimed = tuple(self.memory.claim())
        tierrepo.restore_folder(self.store.place)
        started, failed = self.store.main(), None
        for _ in range(_ATTEMPTS):
            listed, known = self._fetch(rejoin=rejoin)
            with checkout.deciding(self.place):
                theirs = self._join(listed)
                self._tidy(_Refs(self.store, self.name, listed, known))
            updates, kept = self._updates(listed)
            self.report.refused = self._push(updates, kept, atomic=listed != failed)
            if not self.report.refused or (listed == failed and self._is_still(listed)):
                return self._ended(started, theirs, updates)
            failed = listed
        raise ConflictError(
            "race-lost",
            f"others pushed to '{self.name}' all the time; what is here is not there yet",
            hint="nothing is lost: run gitmem sync again",
        )

    # -- what the remote has -----------------------------------------------------------------

    def _fetch(self, *, rejoin: bool) -> tuple[dict[str, str], dict[str, str]]:
        """Fetch what is new; gives all that the remote has, and the candidates that it had before."""
        there = self.door.listed()
        listed = {name: id_ for name, id_ in there.items() if _is_memorys(name)}
        remotes.check(there, self.door.remote.url)
        main = self._tracked()
        known = _candidates(refs.listed(self.git_dir, self._tracking), self._tracking)
        if main is None and not self.agreed:
            self._begin(listed)
        shallow = health.is_shallow(self.git_dir)
        if listed.get(layout.MAIN) in (None, self._tracked()) and not shallow:
            wanted = []
        else:
            wanted = [self._main_refspec]
        tags = refs.listed(self.git_dir, layout.DISCARDED)
        new = [name for name in listed if name.startswith(layout.DISCARDED) and name not in tags]
        wanted += [f"{name}:{name}" for name in new]
        heads = _candidates(listed, layout.CANDIDATES)
        changed = [id_ for id_, tip in heads.items() if known.get(id_) != tip]
        self._take(wanted, changed, [name for name in there if name not in listed])
        self._check(listed, main, rejoin=rejoin)
        self.report.came.discarded += [_closed_id(name) for name in new]
        here = refs.listed(self.git_dir, layout.CANDIDATES)
        self.report.came.candidates += [
            id_
            for id_ in heads
            if id_ not in known
            and layout.candidate_ref(id_) not in here
            and id_ not in self.report.unreadable
        ]
        return listed, known

    def _take(self, wanted: list[str], changed: list[str], strange: list[str]) -> None:
        """Fetch `wanted` and the candidates if any has changed, without those of `strange` names.

        Where that fails each candidate is fetched on its own: a damaged one must not keep all the
        others away for ever.
        """
        start = layout.CANDIDATES
        all_of_them = [f"+{start}*:{self._tracking}*"] if changed else []
        without = [f"^{name}" for name in strange if name.startswith(start)] if changed else []
        try:
            if wanted or changed:
                self.door.fetch([*wanted, *all_of_them, *without])
        except GitFailedError:
            # This says whether the remote is away.
            self.door.listed()
            if not changed:
                raise
            if wanted:
                self.door.fetch(wanted)
            self.report.unreadable = [id_ for id_ in changed if not self._take_one(id_)]

    def _take_one(self, id_: str) -> bool:
        refspec = f"+{layout.candidate_ref(id_)}:{layout.tracking_ref(self.name, id_)}"
        try:
            self.door.fetch([refspec])
        except GitFailedError:
            return False
        return True

    @property
    def _tracking(self) -> str:
        return f"{layout.tracking(self.name)}candidate/"

    @property
    def _main_refspec(self) -> str:
        return f"+{layout.MAIN}:{layout.tracking(self.name)}main"

    def _tracked(self) -> str | None:
        return refs.read(self.git_dir, f"{layout.tracking(self.name)}main")

    def _begin(self, listed: Mapping[str, str]) -> None:
        """Before the first sync with a remote: a person agrees, or nothing of it is kept."""
        with ExitStack() as undo:
            if layout.MAIN in listed:
                undo.callback(self._forget_main)
                self.door.fetch([self._main_refspec])
            question = self._question(self._tracked())
            if question is not None:
                self.agree(question)
            undo.pop_all()
        self.agreed = True

    def _forget_main(self) -> None:
        tip = self._tracked()
        if tip is not None:
            gone = RefChange(f"{layout.tracking(self.name)}main", None, tip)
            with Transaction(self.git_dir, [gone]) as transaction:
                transaction.prepare()
                transaction.commit()

    def _question(self, theirs: str | None) -> Question | None:
        root, url = layout.root_id(self.store.place.scope), self.door.remote.url
        shown = remotes.visible(self.memory, self.store.tier)
        if theirs in (None, root):
            return Question("push", self.store.tier, url, shown)
        self._check_root(theirs)
        if self.store.objects.merge_bases(self.store.main(), theirs) != (root,):
            return None
        entries, approvers = remotes.described(self.store, theirs)
        return Question("join", self.store.tier, url, shown, entries, approvers)

    def _check_root(self, theirs: str) -> None:
        if not self.store.objects.is_ancestor(layout.root_id(self.store.place.scope), theirs):
            raise BadInputError(
                "other-memory",
                f"the memory/main of '{self.name}' is no {self.store.tier} memory of gitmem's",
                hint=f"name another remote: gitmem remote --scope {self.store.tier} URL",
            )

    def _check(self, listed: Mapping[str, str], tracked: str | None, *, rejoin: bool) -> None:
        """Raise where the remote has other memory, or has lost what was seen there."""
        theirs = self._tracked() if layout.MAIN in listed else None
        if theirs == self.store.main():
            return
        if theirs is not None:
            self._check_root(theirs)
        seen = {witness.read_remote(self.git_dir, self.door.remote.url), tracked} - {None}
        for tip in () if rejoin else seen:
            if tip is not None and (theirs is None or not self._reaches(theirs, tip)):
                raise _rewritten(self.name, tip, theirs)

    def _reaches(self, theirs: str, tip: str) -> bool:
        return self.store.objects.exists(tip) and self.store.objects.is_ancestor(tip, theirs)

    # -- taking it up ------------------------------------------------------------------------

    def _join(self, listed: Mapping[str, str]) -> str | None:
        """Move `memory/main` to where both lines are one; gives the remote's tip."""
        theirs = self._tracked() if layout.MAIN in listed else None
        present = self.store.main()
        if theirs is None:
            return None
        joined = joining.join(self.store, self.name, theirs, self.by)
        if joined.main != present:
            self._let_go(present, joined.main)
            branches = [
                RefChange(ref, commit, None)
                for id_, commit in joined.branches.items()
                for ref in (layout.candidate_ref(id_), layout.kept_ref(id_))
            ]
            changes = [RefChange(layout.MAIN, joined.main, present), *branches, *joined.stale]
            self.report.left = checkout.move(self.place, changes)
            self.report.conflicts, self.report.unreviewed = joined.conflicts, joined.unreviewed
            views.witness_tip(self.store)
        return theirs

    def _let_go(self, present: str, joined: str) -> None:
        """Have the witness forget a merge that is about to be made again."""
        objects = self.store.objects
        if not objects.is_ancestor(present, joined):
            witness.write(self.git_dir, objects.merge_bases(present, joined)[0])

    def _tidy(self, found: _Refs) -> None:
        """Bring the candidates here to what was decided or changed at the remote."""
        changes: dict[str, RefChange] = {}
        for id_, tip in found.heads.items():
            for change in self._head_changes(found, id_, tip):
                changes[change.name] = change
        for id_, tip in found.vanished.items():
            for change in self._vanished_changes(found, id_, tip):
                changes[change.name] = change
        if changes:
            checkout.move(self.place, list(changes.values()))

    def _head_changes(self, found: _Refs, id_: str, tip: str) -> list[RefChange]:
        """What becomes of a branch here, and of its anchor."""
        if found.is_decided(tip):
            return [RefChange(layout.candidate_ref(id_), None, tip), *self._anchor(id_, None)]
        theirs = found.there.get(id_)
        if theirs is None or theirs == tip or self.store.objects.is_ancestor(theirs, tip):
            return []
        made = []
        if not self.store.objects.is_ancestor(tip, theirs):
            if found.is_decided(theirs):
                return []
            made = self._split(id_, tip, theirs)
        return [
            RefChange(layout.candidate_ref(id_), theirs, tip),
            *self._anchor(id_, theirs),
            *made,
        ]

    def _vanished_changes(self, found: _Refs, id_: str, tip: str) -> list[RefChange]:
        """What becomes of a candidate that the remote has no more: nobody's branch is pushed again."""
        changes = []
        tracked = refs.read(self.git_dir, layout.tracking_ref(self.name, id_))
        if tracked == tip:
            changes.append(RefChange(layout.tracking_ref(self.name, id_), None, tip))
        if found.is_decided(tip) or found.heads.get(id_, tip) != tip:
            return changes
        self.report.withdrawn.append(id_)
        if id_ in found.heads:
            changes.append(RefChange(layout.candidate_ref(id_), None, tip))
        return [*changes, *self._anchor(id_, tip)]

    def _anchor(self, id_: str, tip: str | None) -> list[RefChange]:
        kept = refs.read(self.git_dir, layout.kept_ref(id_))
        return [] if kept == tip else [RefChange(layout.kept_ref(id_), tip, kept)]

    def _split(self, id_: str, tip: str, theirs: str) -> list[RefChange]:
        """Make a candidate of its own of what a candidate is here, where it went on elsewhere there."""
        made, commit = joining.split(self.store, self.name, id_, tip, theirs)
        self.report.split.append((id_, made))
        return [
            RefChange(ref, commit, None)
            for ref in (layout.candidate_ref(made), layout.kept_ref(made))
            if refs.read(self.git_dir, ref) is None
        ]

    # -- pushing -----------------------------------------------------------------------------

    def _updates(self, listed: Mapping[str, str]) -> tuple[list[Update], list[str]]:
        """What the remote lacks of memory: `memory/main` first, and last what is decided.

        With it come the branches that stay here.
        """
        found = _Refs(self.store, self.name, dict(listed))
        main = self.store.main()
        updates = []
        if listed.get(layout.MAIN) != main:
            updates.append(Update(layout.MAIN, main, listed.get(layout.MAIN)))
        tags = refs.listed(self.git_dir, layout.DISCARDED)
        valid = {stub.ref for stub in self.store.closed()}
        updates += [
            Update(name, tag, None)
            for name, tag in tags.items()
            if name in valid and name not in listed
        ]
        decided = {id_: tip for id_, tip in found.there.items() if found.is_decided(tip)}
        new = [
            Update(layout.candidate_ref(id_), tip, found.there.get(id_))
            for id_, tip in found.heads.items()
            if not found.has(id_, tip) and self._goes_on(found.there.get(id_), tip)
        ]
        updates += new
        pushed = {update.name for update in new}
        updates += [
            Update(layout.candidate_ref(id_), None, tip)
            for id_, tip in decided.items()
            if layout.candidate_ref(id_) not in pushed
        ]
        return updates, found.others(pushed)

    def _goes_on(self, theirs: str | None, tip: str) -> bool:
        return theirs is None or self.store.objects.is_ancestor(theirs, tip)

    def _push(self, updates: list[Update], kept: list[str], *, atomic: bool) -> dict[str, str]:
        """Push all or nothing; where that can't be, what is decided goes last, if at all."""
        if not updates:
            return {}
        if atomic:
            return self.door.push(updates, atomic=True, kept=kept)
        new = [update for update in updates if update.new is not None]
        refused = self.door.push(new, atomic=False, kept=kept) if new else {}
        deciding = (layout.MAIN, layout.DISCARDED)
        gone = [update for update in updates if update.new is None]
        if gone and not any(name.startswith(deciding) for name in refused):
            refused |= self.door.push(gone, atomic=False)
        return refused

    def _is_still(self, listed: Mapping[str, str]) -> bool:
        """Whether nobody has moved what was refused: then it is the remote that does not want it."""
        now = self.door.listed()
        return all(now.get(name) == listed.get(name) for name in self.report.refused)

    # -- the end -----------------------------------------------------------------------------

    def _ended(self, started: str, theirs: str | None, updates: Iterable[Update]) -> Report:
        pushed = [update for update in updates if update.name not in self.report.refused]
        known = self._tracked()
        if known is not None:
            witness.write_remote(self.git_dir, self.door.remote.url, known)
        report = self.report
        report.came.entries = self._changed(started)
        if any(update.name == layout.MAIN for update in pushed):
            report.went.entries = self._changed(theirs or layout.root_id(self.store.place.scope))
        for update in pushed:
            if update.name.startswith(layout.DISCARDED):
                report.went.discarded.append(_closed_id(update.name))
            elif update.new is not None and update.name.startswith(layout.CANDIDATES):
                report.went.candidates.append(update.name.removeprefix(layout.CANDIDATES))
        return report

    def _changed(self, since: str) -> list[str]:
        """The entries whose approved content is another one now than at the commit `since`."""
        ledger = self.store.ledger()
        known = since in ledger.position
        before = ledger.of(since).view if known else self.store.ledger_at(since).view
        changed = approval.differing(self.store.objects, before, ledger.view)
        return [ids.entry_id(key) for key in changed]


def _closed_id(tag: str) -> str:
    return tag.removeprefix(layout.DISCARDED).rpartition(".")[0]


def _rewritten(remote: str, seen: str, theirs: str | None) -> RefusedError:
    there = "is gone" if theirs is None else f"is {theirs[:12]} now"
    meant = (
        ""
        if theirs is None
        else (
            f"\nif it was meant, take theirs: gitmem git update-ref {layout.MAIN} {theirs}, "
            "gitmem verify --accept, then: gitmem sync --rejoin"
        )
    )
    return RefusedError(
        "remote-rewritten",
        f"the remote '{remote}' has rewritten its memory/main: it {there} and lacks {seen[:12]}, "
        "which it had",
        context="nothing here was changed",
        hint=f"to give it back what it lost, as a merge: gitmem sync --rejoin{meant}",
    )


__all__ = ["Agree", "Conflict", "Moved", "Question", "Report", "push_candidates", "sync"]
