"""Propose, review, decide: what people and agents do with memory.

`gitmem.open` gives a `Memory`. Nothing here prints, asks or reads the
environment: whoever decides is an explicit argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gitmem import clock, dropbox, ids, layout, proposals, sessions, stories, trust, views
from gitmem.errors import BadInputError, ConflictError, NotFoundError, RefusedError
from gitmem.git import checkout, discover, identity, program, refs, tierrepo
from gitmem.git.checkout import Left
from gitmem.git.transaction import RefChange
from gitmem.model import context, entries, merge, messages, records, trailers
from gitmem.model.approval import Judgement, merge_contents
from gitmem.model.candidates import Candidate, Proposed
from gitmem.model.entries import Entry, Source
from gitmem.model.events import Event
from gitmem.model.history import Content, Person
from gitmem.proposals import DEFAULT_ACTOR, DEFAULT_PRIORITY, Draft, Grounds, Outcome, actor_person
from gitmem.sessions import Sessions
from gitmem.store import Store, Stub

# What the two sides of a conflict are called, and a body in the place of those that clash.
_SIDES = ("approved now", "proposed")
_STAND_IN = "."


@dataclass(frozen=True, slots=True)
class Decision:
    """What a decision did: the commit that it made, and the files that it left alone."""

    commit: str
    candidate: str | None
    entries: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()
    claimed: tuple[dropbox.Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Unsettled:
    """An entry of a candidate that conflicts: the three sides' text, and both in one text."""

    key: str
    base: str | None
    approved: str | None
    proposed: str | None
    text: str


class Memory:
    """The memory that holds at a place: the user's, and the project's where there is one."""

    def __init__(self, found: layout.Tiers, path: Path, *, traceless: bool = False) -> None:
        """`traceless`: nothing about it goes into the user's cache and state folders."""
        self.path = path
        self._traceless = traceless
        self.found = found
        self._stores: dict[str, Store] = {}

    # -- tiers -----------------------------------------------------------------------------

    @property
    def scopes(self) -> tuple[str, ...]:
        """The tiers that there are, the project's first."""
        places = (self.found.project, self.found.user)
        return tuple(place.scope for place in places if place is not None)

    def default_scope(self) -> str:
        """Where a proposal goes that names no scope: the project, or outside one the user."""
        return "user" if self.found.here is None else "project"

    def store(self, scope: str) -> Store:
        """The store of a tier. Raises BadInputError `no-such-tier` where it is not set up."""
        if scope not in ("user", "project"):
            raise BadInputError(
                "scope-unknown",
                f"'{scope}' is no scope of durable memory",
                hint="one of: user, project",
            )
        if scope not in self._stores:
            place = {"user": self.found.user, "project": self.found.project}.get(scope)
            if place is None:
                raise _no_tier(scope, in_project=self.found.here is not None)
            self._stores[scope] = Store(place)
        return self._stores[scope]

    def stores(self, scope: str | None = None) -> list[Store]:
        """The stores of one tier, or of all, the project's first."""
        if scope is not None:
            return [self.store(scope)]
        return [self.store(name) for name in self.scopes]

    def person(self) -> Person:
        """The user, as git knows them here. Raises BadInputError `no-identity`."""
        return identity.person(self._cwd())

    def _cwd(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    # -- propose ---------------------------------------------------------------------------

    def propose(
        self,
        *drafts: Draft,
        rationale: str,
        sources: Sequence[Source] = (),
        priority: str = DEFAULT_PRIORITY,
        actor: str = DEFAULT_ACTOR,
        scope: str | None = None,
        again: bool = False,
    ) -> Outcome:
        """Make a candidate of `drafts` in one tier.

        An identical pending candidate, or one that changes nothing that is
        approved, is not made twice: the existing id comes back, and a pending one gets the
        evidence that is new. Where the repository can't be written, the proposal goes into the
        drop box. Raises RefusedError `discarded-before` where a person discarded the same, which
        `again` with another rationale overrides, and `never-again`.
        """
        grounds = Grounds(rationale, tuple(sources), priority, actor, again)
        return self._propose_drafts(drafts, grounds, scope)

    def _propose_drafts(
        self, drafts: Sequence[Draft], grounds: Grounds, scope: str | None
    ) -> Outcome:
        store = self.store(scope if scope is not None else self.default_scope())
        if len({draft.key for draft in drafts}) != len(drafts):
            raise BadInputError("entry-twice", "a proposal names an entry twice")
        made = {draft.key: proposals.drafted(store, draft, grounds.sources) for draft in drafts}
        return self._propose(store, made, grounds)

    def propose_patch(
        self,
        diff: str,
        *,
        rationale: str,
        sources: Sequence[Source] = (),
        priority: str = DEFAULT_PRIORITY,
        actor: str = DEFAULT_ACTOR,
        scope: str | None = None,
        again: bool = False,
    ) -> Outcome:
        """Make a candidate of a unified diff of approved entry files; else as `propose`.

        Raises BadInputError `patch-invalid`, `patch-no-entry` or `patch-does-not-apply`, which
        names the hunk.
        """
        store = self.store(scope if scope is not None else self.default_scope())
        made = proposals.patched(store, diff)
        grounds = Grounds(rationale, tuple(sources), priority, actor, again)
        return self._propose(store, made, grounds)

    def promote(
        self,
        session: str,
        key: str,
        *,
        rationale: str | None = None,
        actor: str = DEFAULT_ACTOR,
        scope: str | None = None,
        again: bool = False,
    ) -> Outcome:
        """Propose an entry of a session as a candidate: a person decides whether it is durable.

        Raises as `propose`.
        """
        kept = self.sessions().text(session).entry(ids.key_of(key))
        return self.propose(
            Draft(kept.key, kept.body, kept.type),
            rationale=rationale or f"The session {session} kept it.",
            sources=[Source(session)],
            actor=actor,
            scope=scope,
            again=again,
        )

    def _propose(self, store: Store, made: Mapping[str, Entry | None], grounds: Grounds) -> Outcome:
        def drop(id_: str, error: OSError) -> Outcome:
            return self._drop(store, id_, made, grounds, error)

        return proposals.propose(store, made, grounds, drop=drop)

    def _drop(
        self,
        store: Store,
        id_: str,
        made: Mapping[str, Entry | None],
        grounds: Grounds,
        error: OSError,
    ) -> Outcome:
        """Leave a proposal in the drop box, where this process may write nothing else."""
        if self.found.here is None or store.tier != "project" or len(made) != 1:
            raise BadInputError(
                "cannot-write",
                f"the {store.tier} memory can't be written here",
                context=str(error),
                hint="a sandbox can drop one entry of the project at a time",
            ) from error
        ((key, entry),) = made.items()
        box = layout.drop_box(self.found.here.root)
        path = dropbox.write(box, id_, key, entry, grounds.rationale, priority=grounds.priority)
        return Outcome(id_, made=True, note="the repository can't be written here", dropped=path)

    # -- look ------------------------------------------------------------------------------

    def candidates(
        self, *states: str, scope: str | None = None, remote: bool = True
    ) -> list[Candidate]:
        """The candidates in `states` (none: the pending ones), the project's first, by age."""
        wanted = states or ("pending",)
        found = [
            store.candidate(stub)
            for store in self.stores(scope)
            for stub in store.stubs()
            if stub.state in wanted and (remote or stub.remote is None)
        ]
        order = {name: place for place, name in enumerate(self.scopes)}
        return sorted(found, key=lambda item: (order[item.tier], item.created_at, item.id))

    def candidate(self, name: str, *, scope: str | None = None) -> Candidate:
        """The candidate that `name`, an id or an unambiguous part of one, means.

        Raises NotFoundError `no-such-candidate` and BadInputError `ambiguous-id`.
        """
        store, stub = self._stub(name, scope)
        return store.candidate(stub)

    def find_candidate(self, name: str, *, scope: str | None = None) -> Candidate | None:
        """As `candidate`, but None where there is none."""
        found = self._find_stub(name, scope)
        return None if found is None else found[0].candidate(found[1])

    def _stub(self, name: str, scope: str | None = None) -> tuple[Store, Stub]:
        found = self._find_stub(name, scope)
        if found is None:
            raise NotFoundError(
                "no-such-candidate",
                f"no candidate is called '{name}'",
                hint="gitmem list --state all shows all of them",
            )
        return found

    def _find_stub(self, name: str, scope: str | None) -> tuple[Store, Stub] | None:
        name = name.removeprefix("memory/candidate/")
        near: list[tuple[Store, Stub]] = []
        for store in self.stores(scope):
            if (stub := store.open_stub(name)) is not None:
                return store, stub
            stubs = store.stubs()
            exact = [stub for stub in stubs if stub.id == name]
            if exact:
                return store, exact[0]
            near.extend((store, stub) for stub in stubs if name and name in stub.id)
        different = sorted({(store.tier, stub.id) for store, stub in near})
        if len(different) > 1:
            raise BadInputError(
                "ambiguous-id",
                f"'{name}' could be {len(different)} candidates",
                context=", ".join(id_ for _, id_ in different[:8]),
                hint="name more of the id",
            )
        return near[0] if near else None

    def dropped(self) -> list[dropbox.Dropped]:
        """What lies in the drop boxes of the project."""
        if self.found.here is None:
            return []
        return [item for box in self._drop_boxes() for item in dropbox.listed(box)]

    def _drop_boxes(self) -> list[Path]:
        """The drop boxes of all worktrees of the host, or of the project's one folder."""
        return [] if self.found.here is None else discover.drop_boxes(self.found.here)

    def entries(self, scope: str | None = None) -> list[Entry]:
        """The approved entries that can be read, the project's first, by key."""
        found: list[Entry] = []
        for store in self.stores(scope):
            for key, content in sorted(store.approved().items()):
                try:
                    entry = store.entry(key, content)
                except entries.EntryFault:
                    continue
                if entry is not None:
                    found.append(entry)
        return found

    # -- decide ----------------------------------------------------------------------------

    @contextmanager
    def _deciding(self, store: Store) -> Iterator[list[dropbox.Claim]]:
        """Hold a tier for one decision: nobody else decides, and its folder is fit for it."""
        place = store.place
        tierrepo.restore_folder(place)
        with checkout.deciding(tierrepo.place_of(place)):
            _check_folder(place)
            yield self._claim(store) if store.tier == "project" else []

    def _claim(self, store: Store) -> list[dropbox.Claim]:
        """Make candidates of what lies in the drop boxes."""
        return [
            claim
            for box in self._drop_boxes()
            for claim in dropbox.claim(box, lambda drop: self._take_up(store, drop))
        ]

    def claim(self) -> list[dropbox.Claim]:
        """Make candidates of what lies in the drop boxes, as each decision does; what became of each."""
        with self._deciding(self.store("project")) as claimed:
            return claimed

    def _take_up(self, store: Store, drop: dropbox.Drop) -> str:
        grounds = Grounds(
            drop.rationale,
            drop.sources,
            drop.priority or DEFAULT_PRIORITY,
            DEFAULT_ACTOR,
            untold=True,
        )
        if drop.patch is None:
            draft = Draft(drop.key, drop.body, drop.type, drop.delete)
            made = {drop.key: proposals.drafted(store, draft, drop.sources)}
        else:
            made = proposals.patched(store, drop.patch)
            if made.keys() != {drop.key}:
                raise BadInputError(
                    "patch-no-entry", f"the patch is not one of {ids.entry_id(drop.key)} alone"
                )
        return proposals.propose(store, made, grounds, wanted=drop.candidate).id

    def apply(
        self, name: str, *, by: Person, expect: str | None = None, scope: str | None = None
    ) -> Decision:
        """Merge a candidate into `memory/main`.

        `expect` binds it to what was seen: a digest, or the candidate's commit.
        Raises ConflictError `stale` where that has changed, `candidate-conflicts`
        where it does not go together with what is approved now.
        """
        store, _ = self._stub(name, scope)
        with self._deciding(store) as claimed:
            found = self.candidate(name, scope=store.tier)
            _check_open(found)
            _check_expected(found, expect)
            _check_fit(found)
            _check_own(store, found, by)
            main = store.main()
            tree = self._merged_tree(store, found)
            commit = store.write_decision(
                tree,
                [main, found.commit],
                messages.apply(found.id, found.digest, remote=found.remote),
                by,
                now_as(by),
            )
            left = self._move(store, commit, main, store.leaving(found))
        touched = tuple(entry.id for entry in found.entries)
        return Decision(commit, found.id, touched, tuple(left), tuple(claimed))

    def _merged_tree(self, store: Store, found: Candidate) -> str:
        files: dict[str, Content] = {
            entries.path_of(entry.key): entry.result for entry in found.entries
        }
        tree = store.objects.commit(store.main()).tree
        base = (
            store.objects.commit(found.base).tree if found.base is not None else layout.EMPTY_TREE
        )
        here = store.objects.path_changes(base, tree)
        for path, content in found.files.items():
            if path in here and here[path][1] != content:
                raise ConflictError(
                    "candidate-conflicts",
                    f"'{path}' was changed in memory/main as well",
                    hint=f"settle it by hand: gitmem git merge memory/candidate/{found.id}",
                )
            files[path] = content
        return store.objects.write_tree(tree, files)

    def _move(
        self, store: Store, commit: str, main: str, others: Iterable[RefChange] = ()
    ) -> list[Left]:
        changes = [RefChange(layout.MAIN, commit, main), *others]
        changed = {change.name for change in changes}
        anchors = [change for change in self._anchors(store) if change.name not in changed]
        left = checkout.move(tierrepo.place_of(store.place), [*changes, *anchors])
        if not self._traceless:
            views.witness_tip(store)
        return left

    def _anchors(self, store: Store) -> list[RefChange]:
        """The anchors that pending candidates lack, that lag behind them, or that are done with.

        What a merge by hand applied needs none: `memory/main` holds its commits.
        """
        git_dir, inside = store.place.git_dir, store.ledger().inside
        heads, kept = refs.listed(git_dir, layout.CANDIDATES), refs.listed(git_dir, layout.KEPT)
        wanted = {
            layout.kept_ref(id_): tip
            for ref, tip in heads.items()
            if ids.is_candidate_id(id_ := ref.removeprefix(layout.CANDIDATES)) and tip not in inside
        }
        there = store.objects.commits_among(set(wanted.values()))
        moved = [
            RefChange(name, tip, kept.get(name))
            for name, tip in wanted.items()
            if tip in there and kept.get(name) != tip
        ]
        done = [
            RefChange(name, None, tip)
            for name, tip in kept.items()
            if tip in inside and name not in wanted
        ]
        return [*moved, *done]

    def discard(
        self,
        name: str,
        *,
        by: Person,
        reason: str = "",
        expect: str | None = None,
        never: bool = False,
        scope: str | None = None,
    ) -> Decision:
        """Close a candidate for good: an empty commit and a tag keep it, its branch goes."""
        proposals.check_text(reason, "reason")
        store, _ = self._stub(name, scope)
        with self._deciding(store) as claimed:
            found = self.candidate(name, scope=store.tier)
            _check_open(found)
            _check_expected(found, expect)
            told = [(trailers.NEVER, "true")] if never else []
            message = messages.closing("discard", found.id, reason, told)
            commit, changes = store.write_closing(found, message, now_as(by))
            checkout.move(tierrepo.place_of(store.place), changes)
        return Decision(commit, found.id, (), (), tuple(claimed))

    def revert(
        self, name: str, *, by: Person, reason: str = "", scope: str | None = None
    ) -> Decision:
        """Take back what a candidate or a commit of `memory/main` did, by the merge rule.

        Raises ConflictError `revert-conflicts` where an entry has changed since.
        """
        proposals.check_text(reason, "reason")
        store, judgement, candidate = self._revertible(name, scope)
        with self._deciding(store) as claimed:
            contents = self._reverted_contents(store, judgement)
            main = store.main()
            tree = store.objects.write_tree(store.objects.commit(main).tree, contents)
            if tree == store.objects.commit(main).tree:
                raise ConflictError(
                    "nothing-to-revert",
                    f"memory/main has nothing of {judgement.commit[:12]} any more",
                    hint="gitmem log shows what came after it",
                )
            undone = store.objects.commit(judgement.commit)
            if judgement.kind in ("sync", "start"):
                message = messages.restore(undone.id, reason)
            else:
                message = messages.revert(undone.message, undone.id, undone.parents, reason)
            commit = store.write_decision(tree, [main], message, by, now_as(by))
            left = self._move(store, commit, main)
        touched = tuple(
            ids.entry_id(key) for path in contents if (key := entries.key_of_path(path))
        )
        return Decision(commit, candidate, touched, tuple(left), tuple(claimed))

    def _revertible(self, name: str, scope: str | None) -> tuple[Store, Judgement, str | None]:
        """The commit that a revert of `name` takes back, and the candidate if it is one."""
        found = self._find_stub(name, scope)
        if found is not None:
            store, stub = found
            if stub.decided is None or stub.state not in ("applied", "reverted"):
                raise ConflictError(
                    "not-applied",
                    f"{stub.id} is {stub.state}, there is nothing to revert",
                    hint=f"gitmem show {stub.id}",
                )
            if stub.state == "reverted":
                raise ConflictError(
                    "already-reverted",
                    f"{stub.id} has been reverted already",
                    hint=f"to have it again: gitmem revert {stub.decided[:12]}",
                )
            return store, store.ledger().of(stub.decided), stub.id
        for store in self.stores(scope):
            matching = [c for c in store.ledger().position if _is_part(name, c)]
            if len(matching) > 1:
                raise BadInputError("ambiguous-id", f"'{name}' could be several commits")
            if matching:
                return store, store.ledger().of(matching[0]), None
        raise NotFoundError(
            "no-such-commit",
            f"'{name}' is neither a candidate nor a commit on memory/main",
            hint="gitmem log shows both",
        )

    def _reverted_contents(self, store: Store, judgement: Judgement) -> dict[str, Content]:
        """What each entry becomes, by path, when `judgement`'s commit is taken back.

        Of a sync only what it holds without approval can be: that is as approved then.
        """
        whole = judgement.kind not in ("sync", "start")
        if not whole and not judgement.unreviewed:
            raise RefusedError(
                "revert-of-sync",
                f"{judgement.commit[:12]} joined two lines: there is no one change to take back",
                hint="revert the candidates that it brought, one by one",
            )
        contents: dict[str, Content] = {}
        approved = store.ledger().view
        changes = judgement.changes if whole else {}
        for key, (before, after) in changes.items():
            present = approved.content(store.objects, key)
            merged = merge_contents(store.objects, key, after, present, before)
            if isinstance(merged, merge.Conflict):
                raise ConflictError(
                    "revert-conflicts",
                    f"{ids.entry_id(key)} was changed after {judgement.commit[:12]}",
                    context=merged.reason,
                    hint=f"revert the later change first, or: gitmem edit {key}",
                )
            contents[entries.path_of(key)] = self._stored(store, merged)
        for key in judgement.unreviewed:
            present = approved.content(store.objects, key)
            contents.setdefault(entries.path_of(key), self._stored(store, present))
        return contents | (store.other_files_before(judgement) if whole else {})

    def _stored(self, store: Store, content: Content) -> Content:
        """The content with its blob written, where it was only computed."""
        if content is None or store.objects.exists(content.id):
            return content
        return store.objects.write_blob(store.objects.data(content.id))

    # -- edit ------------------------------------------------------------------------------

    def edit(
        self,
        name: str,
        texts: Mapping[str, bytes | None],
        *,
        by: Person,
        actor: str = "user",
        note: str = "",
        expect: str | None = None,
        scope: str | None = None,
    ) -> str:
        """Put a further commit on a pending candidate; gives the commit.

        `texts` are whole files by key (None deletes). What does not parse is
        refused. `by` is the commit's author, who need not be the one who approves; `expect` is as
        in `apply`.
        """
        proposals.check_text(note, "note")
        store, _ = self._stub(name, scope)
        found = self.candidate(name, scope=store.tier)
        _check_open(found)
        _check_expected(found, expect)
        contents = self._edited(store, found, texts)
        tree = store.objects.write_tree(
            store.objects.commit(found.commit).tree, store.written(contents)
        )
        if tree == store.objects.commit(found.commit).tree:
            return found.commit
        message = messages.edit(found.id, note, actor)
        commit = store.objects.write_commit(tree, [found.commit], message, by, now_as(by))
        return self._advance(store, found, commit)

    def _edited(
        self, store: Store, found: Candidate, texts: Mapping[str, bytes | None]
    ) -> dict[str, bytes | None]:
        contents: dict[str, bytes | None] = {}
        for key, data in texts.items():
            ids.check_key(key)
            if data is None:
                contents[key] = None
            else:
                entry = entries.parse(key, data, tier=store.tier)
                contents[key] = entries.serialize(proposals.applied_from(entry, found.id))
        return contents

    def _advance(self, store: Store, found: Candidate, commit: str) -> str:
        """Move a candidate's branch, made where it is a remote's so far, and its anchor."""
        kept = refs.read(store.place.git_dir, layout.kept_ref(found.id))
        branch = layout.candidate_ref(found.id)
        # Of a remote's candidate there is no branch yet; any other must stand where it was read.
        old = found.commit if found.ref == branch else None
        changes = [
            RefChange(branch, commit, old),
            RefChange(layout.kept_ref(found.id), commit, kept),
        ]
        place = tierrepo.place_of(store.place)
        with checkout.deciding(place):
            checkout.move(place, changes)
        return commit

    def unsettled(self, name: str, *, scope: str | None = None) -> list[Unsettled]:
        """The entries in which a candidate conflicts with what is approved, to be settled."""
        store, _ = self._stub(name, scope)
        found = self.candidate(name, scope=store.tier)
        return [
            _unsettled(store, item)
            for item in found.entries
            if item.conflict is not None or not item.grounded
        ]

    def settle(
        self,
        name: str,
        texts: Mapping[str, bytes | None],
        *,
        by: Person,
        actor: str = "user",
        expect: str | None = None,
        scope: str | None = None,
    ) -> str:
        """Put a candidate onto today's `memory/main`; gives the commit.

        `texts` are the whole files of the entries that conflict. The commit merges
        `memory/main` into the candidate, so that its diff shows just what is new. `expect` is as in
        `apply`.
        """
        store, _ = self._stub(name, scope)
        found = self.candidate(name, scope=store.tier)
        _check_open(found)
        _check_expected(found, expect)
        edited = self._edited(store, found, texts)
        missing = [item.id for item in found.entries if item.conflict and item.key not in edited]
        if missing:
            raise ConflictError(
                "candidate-conflicts",
                f"{missing[0]} is not settled",
                hint=f"gitmem edit {found.id} --onto-main",
            )
        onto = store.fork_for(item.key for item in found.entries) or store.main()
        files: dict[str, Content] = {
            entries.path_of(item.key): item.result
            for item in found.entries
            if item.key not in edited
        }
        files |= store.written(edited)
        tree = store.objects.write_tree(store.objects.commit(onto).tree, {**found.files, **files})
        message = messages.onto_main(found.id, actor)
        commit = store.objects.write_commit(tree, [found.commit, onto], message, by, now_as(by))
        return self._advance(store, found, commit)

    def add(
        self,
        *drafts: Draft,
        by: Person,
        rationale: str = "added by hand",
        scope: str | None = None,
        sources: Sequence[Source] = (),
    ) -> Decision:
        """Propose and apply in one: a person's own memory."""
        grounds = Grounds(rationale, tuple(sources), DEFAULT_PRIORITY, "user", untold=True)
        outcome = self._propose_drafts(drafts, grounds, scope)
        return self._apply_own(outcome, by, scope)

    def _apply_own(self, outcome: Outcome, by: Person, scope: str | None) -> Decision:
        if outcome.dropped is not None:
            raise BadInputError("cannot-write", outcome.note or "the repository can't be written")
        if not outcome.made and outcome.note and "pending" not in outcome.note:
            raise RefusedError(
                "nothing-to-change",
                outcome.note,
                hint=f"it came with {outcome.id}: gitmem show {outcome.id}" if outcome.id else None,
            )
        return self.apply(outcome.id, by=by, scope=scope)

    def rewrite(
        self,
        name: str,
        text: bytes | None,
        *,
        by: Person,
        rationale: str = "edited by hand",
        scope: str | None = None,
    ) -> Decision:
        """Propose the whole file of an entry, None to delete it, and apply that.

        Raises EntryFault where `text` is no entry, RefusedError `nothing-to-change`
        where it says what is approved.
        """
        key = ids.check_key(ids.key_of(name))
        store = self.store(scope if scope is not None else self.default_scope())
        entry = None if text is None else entries.parse(key, text, tier=store.tier)
        outcome = self._propose(
            store, {key: entry}, Grounds(rationale, (), DEFAULT_PRIORITY, "user", untold=True)
        )
        return self._apply_own(outcome, by, store.tier)

    # -- the user's own programs -------------------------------------------------------------

    def git(self, args: Sequence[str], *, scope: str | None = None) -> int:
        """Run git on the user's terminal in the folder of a tier, the project's first; its exit code."""
        place = self.stores(scope)[0].place if self.scopes else self.store("user").place
        tierrepo.restore_folder(place)
        if place.folder is None:
            return program.call(args, git_dir=place.git_dir, cwd=self._cwd())
        return program.call(args, git_dir=place.admin_dir, cwd=place.folder)

    def run_editor(self, file: Path) -> int:
        """Let the user edit `file` with the editor that git would start; its exit code."""
        return program.edit(identity.editor(self._cwd()), file)

    def run_pager(self, text: str) -> int:
        """Show `text` in the pager that git would start; its exit code."""
        return program.page(identity.pager(self._cwd()), text)

    @cached_property
    def diff_filter(self) -> str | None:
        """The user's `interactive.diffFilter`, a command line; None where there is none."""
        return identity.diff_filter(self._cwd())

    def filter_diff(self, text: str) -> str | None:
        """A unified diff in colours as `diff_filter` shows it; None where there is none or it fails."""
        return program.filtered(self.diff_filter, text) if self.diff_filter else None

    # -- the log and the context -----------------------------------------------------------

    def log(
        self,
        *,
        scope: str | None = None,
        entry: str | None = None,
        candidate: str | None = None,
        session: str | None = None,
        kind: str | None = None,
        since: int | None = None,
    ) -> Iterator[tuple[Store, Event]]:
        """The event log, the project's first; each event with the store that can load its texts.

        The records of sessions are in it only where `session` or `kind` asks for them.
        """
        for store, event in self._events(scope, session, kind):
            if _wanted(event, entry, candidate, kind, since):
                yield store, event

    def _events(
        self, scope: str | None, session: str | None, kind: str | None
    ) -> Iterator[tuple[Store, Event]]:
        if session is not None:
            own = self._recorded(self.sessions().record(session))
            yield from stories.of_session(session, own, self._events(scope, None, None))
        elif kind in records.KINDS:
            yield from self._recorded(self.sessions().records())
        else:
            for store in self.stores(scope):
                for event in store.events():
                    yield store, event

    def _recorded(self, found: Iterable[records.Record]) -> Iterator[tuple[Store, Event]]:
        home = self.store(self.sessions().home.scope)
        return ((home, sessions.event(record, home.tier)) for record in found)

    def why(self, name: str, *, scope: str | None = None) -> stories.Story:
        """Where an entry comes from: proposals, evidence, approvals, and what each replaced."""
        key = ids.key_of(name)
        for store in self.stores(scope):
            story = stories.story(store, key)
            if story.chapters or story.entry is not None:
                given = self.sessions().given(store.tier, ids.entry_id(key))
                return replace(story, sessions=tuple(given))
        raise NotFoundError(
            "no-such-entry",
            f"there is and was no approved entry '{name}'",
            hint="gitmem context --json lists the entries that there are",
        )

    def context(self, options: context.Options, *, pinned: bool = False) -> views.Given:
        """What an agent reads here.

        Where `options` name a session, that is recorded; `pinned`: as memory stood at its start.
        """
        if options.session is not None and self.scopes:
            return self.sessions().context(options, pinned=pinned, traceless=self._traceless)
        return views.given(self.found, options, self._store_of, traceless=self._traceless)

    def sessions(self) -> Sessions:
        """The sessions of this place. Raises BadInputError `no-such-tier` where no tier is set up."""
        return Sessions(self.found, self._store_of)

    def _store_of(self, place: layout.TierPlace) -> Store:
        return self.store(place.scope)


def open_memory(path: str | Path = ".") -> Memory:
    """The memory that holds at `path`, a folder or a file in it."""
    where = Path(path)
    return Memory(discover.find(where), where)


# -- decisions ---------------------------------------------------------------------------------


def now_as(by: Person) -> Person:
    """The same person at this moment, as the author of a commit made now."""
    at = clock.now()
    return by._replace(time=at, offset=clock.utc_offset(at))


def _check_open(found: Candidate) -> None:
    if found.state == "pending":
        return
    raise ConflictError(
        "not-pending",
        f"{found.id} is {found.state}, not pending",
        hint=f"gitmem show {found.id}",
    )


def _check_expected(found: Candidate, expect: str | None) -> None:
    if expect is None or expect == found.digest:
        return
    if len(expect) < 64 and _is_part(expect, found.commit):
        return
    raise ConflictError(
        "stale",
        f"{found.id} is not what you have seen: it or its entries have changed since",
        context=f"digest {found.digest}, commit {found.commit}",
        hint=f"look again: gitmem diff {found.id}",
    )


def _check_fit(found: Candidate) -> None:
    if found.broken is not None:
        raise RefusedError(
            "candidate-broken",
            f"{found.id} can't be applied",
            context=found.broken,
            hint=f"gitmem edit {found.id}, or gitmem discard {found.id}",
        )
    for item in found.entries:
        if not item.grounded:
            raise RefusedError(
                "unreviewed-base",
                f"{found.id} stands on content of {item.id} that nobody approved",
                hint=f"gitmem adopt {found.id} shows all of it as a candidate",
            )
    if found.conflicts:
        item = next(item for item in found.entries if item.conflict is not None)
        raise ConflictError(
            "candidate-conflicts",
            f"{found.id} does not go together with what is approved now: {item.id}",
            context=item.conflict,
            hint=f"settle it: gitmem edit {found.id} --onto-main",
        )


def _check_own(store: Store, found: Candidate, by: Person) -> None:
    """Raise RefusedError `own-candidate` where nobody may approve what they proposed themselves.

    By the actor: the author that git wrote is the account's, whoever proposed. `user` is
    whoever sat there, which nobody can tell apart.
    """
    if trust.read(store.place.git_dir).settings.own_candidates:
        return
    if found.actor in ("user", by.name, by.email):
        raise RefusedError(
            "own-candidate",
            f"{found.id} was proposed by '{found.actor}', and nobody approves an own candidate here",
            hint="somebody else has to apply it; to propose so that it can be told: "
            "gitmem propose --actor YOUR-NAME",
        )


def _check_folder(place: layout.TierPlace) -> None:
    """Raise where the tier's folder is in the middle of something else."""
    if place.folder is None:
        return
    branch, operation = checkout.standing(tierrepo.place_of(place))
    if operation is not None:
        raise ConflictError(
            "operation-in-progress",
            f"a {operation} is in progress in {place.folder}",
            hint=f"finish it with git there, or: gitmem git {operation} --abort",
        )
    if branch != layout.MAIN:
        where = f"the branch {branch}" if branch else "no branch"
        raise ConflictError(
            "folder-elsewhere",
            f"{place.folder} is on {where}, not on memory/main",
            hint=f"gitmem git --scope {place.scope} switch memory/main",
        )


def _is_part(name: str, commit: str) -> bool:
    """Whether `name` is `commit` or a beginning of it, as git abbreviates."""
    return len(name) >= 4 and commit.startswith(name.lower())


def _unsettled(store: Store, item: Proposed) -> Unsettled:
    contents = (item.base, item.approved, item.content)
    base, approved, proposed = map(store.text, contents)
    text = _half_merged(store, item) or "\n".join(
        [
            f"<<<<<<< {_SIDES[0]}",
            (approved if approved is not None else "(deleted)\n").removesuffix("\n"),
            "=======",
            (proposed if proposed is not None else "(deleted)\n").removesuffix("\n"),
            f">>>>>>> {_SIDES[1]}",
            "",
        ]
    )
    return Unsettled(item.key, base, approved, proposed, text)


def _half_merged(store: Store, item: Proposed) -> str | None:
    """Both sides in one file, with markers only in the lines of the body that clash.

    None where more than the body clashes.
    """
    sides = [
        proposals.as_entry(store, item.key, it) for it in (item.base, item.approved, item.content)
    ]
    base, approved, proposed = sides
    if approved is None or proposed is None:
        return None
    fronts = [
        None if side is None else entries.serialize(replace(side, body=_STAND_IN)) for side in sides
    ]
    front = merge.merge_file(item.key, *fronts, tier=store.tier)
    if front is None or isinstance(front, merge.Conflict):
        return None
    # It loads pygit2, which no other command is to wait for.
    from gitmem.git.textmerge import marked_merge

    bodies = [f"{side.body}\n" if side else "" for side in (base, approved, proposed)]
    body = marked_merge(bodies[0], bodies[1], bodies[2], _SIDES)
    return front.decode().removesuffix(f"{_STAND_IN}\n") + body


# -- log, story, context -----------------------------------------------------------------------


def _wanted(
    event: Event,
    entry: str | None,
    candidate: str | None,
    kind: str | None,
    since: int | None,
) -> bool:
    if kind is not None and event.kind != kind:
        return False
    if since is not None and event.at < since:
        return False
    if candidate is not None and (event.candidate is None or candidate not in event.candidate):
        return False
    if entry is None:
        return True
    key = ids.key_of(entry)
    return event.key == key or (event.changes is not None and key in event.changes)


def _no_tier(scope: str, *, in_project: bool) -> BadInputError:
    if scope == "project" and not in_project:
        return BadInputError(
            "no-such-tier",
            "this is no project",
            hint="go to a project's folder, or use --scope user",
        )
    return BadInputError(
        "no-such-tier",
        f"there is no {scope} memory here yet",
        hint=f"run: gitmem init --scope {scope}",
    )


__all__ = [
    "Decision",
    "Draft",
    "Memory",
    "Outcome",
    "Unsettled",
    "actor_person",
    "open_memory",
]
