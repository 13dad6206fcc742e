"""Making one line of `memory/main` of two: the merge of a sync, and the candidates of its conflicts.

Objects are written here; no ref moves. What a sync must hold is said in `docs/approval.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gitmem import clock, ids, layout
from gitmem.git import refs, tierrepo
from gitmem.git.transaction import RefChange
from gitmem.memory import now_as
from gitmem.model import entries, messages, trailers
from gitmem.model.approval import Judgement, Ledger
from gitmem.model.history import Content, Person
from gitmem.store import Store

# The author of what must be the same bytes whoever makes it; each takes a time from its commits.
NOBODY = Person("gitmem", "gitmem@localhost", 0, 0)


@dataclass(frozen=True, slots=True)
class Conflict:
    """An entry in which two lines don't go together, and the candidate that has the other side."""

    entry: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Joined:
    """The commit that `memory/main` has to move to, and the candidates that come with it.

    `branches` are those to be made, by id; `stale` those that a dropped merge had made. `unreviewed`
    are entries whose unapproved text on either line is not in the merge, each with the commit.
    """

    main: str
    conflicts: tuple[Conflict, ...] = ()
    branches: Mapping[str, str] = field(default_factory=dict)
    stale: tuple[RefChange, ...] = ()
    unreviewed: tuple[tuple[str, str], ...] = ()


def join(store: Store, remote: str, theirs: str, by: Person) -> Joined:
    """Bring the line that ends at `theirs`, the tip of `remote`, and the own one together."""
    present, objects = store.main(), store.objects
    if objects.is_ancestor(theirs, present) and _goes_on_from(store, theirs, present):
        return Joined(present)
    ours = _own_line(store, present, theirs)
    if objects.is_ancestor(ours, theirs):
        return Joined(theirs, stale=_stale(store, remote, present, ours, ()))
    joined = _merge(store, remote, theirs, ours, by)
    named = [conflict.candidate for conflict in joined.conflicts]
    return replace(joined, stale=_stale(store, remote, present, ours, named))


def _goes_on_from(store: Store, theirs: str, tip: str) -> bool:
    """Whether `theirs`, an ancestor of `tip`, is on its first-parent line."""
    here = tip
    while here != theirs:
        parents = store.objects.commit(here).parents
        if not parents or store.objects.is_ancestor(here, theirs):
            return False
        here = parents[0]
    return True


# -- a merge that was not pushed -------------------------------------------------------------------


def _own_line(store: Store, tip: str, theirs: str) -> str:
    """`tip`, or what it joined with an older tip of the remote's, where that merge can be dropped.

    It can where it is a sync that the remote has not, that holds nothing but what is approved,
    and that nothing else stands on or pins.
    """
    while not store.objects.is_ancestor(tip, theirs):
        judgement = store.ledger().of(tip)
        parents = judgement.parents
        own = [one for one in parents if not store.objects.is_ancestor(one, theirs)]
        if judgement.kind != "sync" or judgement.unreviewed or len(own) > 1 or _pinned(store, tip):
            return tip
        tip = own[0] if own else parents[0]
    return tip


def _pinned(store: Store, commit: str) -> bool:
    """Whether a session's record, a candidate, here or at the remote, or a tag needs `commit`."""
    return tierrepo.refs_containing(store.place.git_dir, commit) != [layout.MAIN]


def _stale(
    store: Store, remote: str, present: str, ours: str, named: list[str] | tuple[()]
) -> tuple[RefChange, ...]:
    """The refs of candidates that the merges dropped between `present` and `ours` had made.

    Only such as nobody has touched or pushed since, and that are not in `named`.
    """
    git_dir, changes = store.place.git_dir, []
    dropped = present
    while dropped != ours:
        commit = store.objects.commit(dropped)
        for told in trailers.parse(commit.message).all(trailers.CONFLICT):
            id_ = told.rpartition(" ")[2]
            if id_ in named or not ids.is_candidate_id(id_) or _remote_has(store, remote, id_):
                continue
            for name in (layout.candidate_ref(id_), layout.kept_ref(id_)):
                tip = refs.read(git_dir, name)
                if tip is not None and _is_nobodys(store, tip):
                    changes.append(RefChange(name, None, tip))
        dropped = next((one for one in commit.parents if _leads_to(store, one, ours)), ours)
    return tuple(changes)


def _leads_to(store: Store, commit: str, ours: str) -> bool:
    return store.objects.is_ancestor(ours, commit)


def _remote_has(store: Store, remote: str, id_: str) -> bool:
    return refs.read(store.place.git_dir, layout.tracking_ref(remote, id_)) is not None


def _is_nobodys(store: Store, commit: str) -> bool:
    return store.objects.commit(commit).author[:2] == NOBODY[:2]


# -- the merge -------------------------------------------------------------------------------------


def _merge(store: Store, remote: str, theirs: str, ours: str, by: Person) -> Joined:
    objects = store.objects
    ledger = store.joined(theirs, ours)
    verdict = ledger.line[-1]
    branches: dict[str, str] = {}
    conflicts: list[Conflict] = []
    for key in verdict.conflicts:
        id_, commit = _other_side(store, ledger, verdict, key)
        conflicts.append(Conflict(ids.entry_id(key), id_))
        if not _known(store, ledger, remote, id_, commit):
            branches[id_] = commit
    files: dict[str, Content] = {
        entries.path_of(key): content for key, content in verdict.view.held.items()
    }
    files |= _other_files(store, theirs, ours)
    tree = objects.write_tree(objects.commit(theirs).tree, files)
    told = [(conflict.entry, conflict.candidate) for conflict in conflicts]
    message = messages.sync(remote, told)
    commit = store.write_decision(tree, [theirs, ours], message, by, now_as(by))
    return Joined(commit, tuple(conflicts), branches, unreviewed=tuple(_left_out(store, ledger)))


def _other_files(store: Store, theirs: str, ours: str) -> dict[str, Content]:
    """The files that are no entries, as the own line changed them and the remote's did not."""
    objects = store.objects
    bases = objects.merge_bases(theirs, ours)
    base = objects.commit(bases[0]).tree if bases else layout.EMPTY_TREE
    there = objects.path_changes(base, objects.commit(theirs).tree)
    return {
        path: after
        for path, (_, after) in objects.path_changes(base, objects.commit(ours).tree).items()
        if entries.key_of_path(path) is None and path not in there
    }


def _left_out(store: Store, ledger: Ledger) -> list[tuple[str, str]]:
    """The unreviewed texts of both lines, which a merge of what is approved has not."""
    verdict = ledger.line[-1]
    found: dict[tuple[str, str], None] = {}
    for parent in verdict.parents:
        line = store.ledger_at(parent)
        for key in line.view.held:
            for blamed in line.culprits(key):
                found[blamed.commit, ids.entry_id(key)] = None
    return list(found)


# -- conflicts -------------------------------------------------------------------------------------


def _other_side(store: Store, ledger: Ledger, verdict: Judgement, key: str) -> tuple[str, str]:
    """The candidate that brings the own line's version of an entry: its id, and its commit.

    All of it comes from the two commits that conflict, so that it is the same in all clones.
    """
    objects = store.objects
    kept, other = (_side(store, ledger, parent, key) for parent in verdict.parents)
    at = max(objects.commit(side.commit).committer.time for side in (kept, other))
    id_ = ids.derived_candidate_id(clock.year(at), key, kept.commit, other.commit)
    content = ledger.of(verdict.parents[1]).view.content(objects, key)
    below = kept.commit if key not in ledger.of(kept.commit).view.held else _root(store)
    tree = objects.write_tree(
        objects.commit(below).tree, {entries.path_of(key): _applied_from(store, key, content, id_)}
    )
    message = messages.conflict(id_, ids.entry_id(key), kept, other)
    return id_, objects.write_commit(tree, [below], message, NOBODY._replace(time=at))


def _root(store: Store) -> str:
    return layout.root_id(store.place.scope)


def _side(store: Store, ledger: Ledger, tip: str, key: str) -> messages.Side:
    """What the line of `tip` has approved of an entry, and the last commit that approved just that."""
    content = ledger.of(tip).view.content(store.objects, key)
    approving = [
        judgement
        for judgement in ledger.line
        if key in judgement.changes
        and judgement.changes[key][1] == content
        and ledger.on_line(judgement.commit, tip)
    ]
    # Syncs are made again and again; what they joined stays.
    lasting = [judgement for judgement in approving if judgement.kind != "sync"] or approving[:1]
    return messages.Side(lasting[-1].commit if lasting else tip, store.text(content))


def _applied_from(store: Store, key: str, content: Content, id_: str) -> Content:
    """An entry that says which candidate it comes from; what is no entry stays as it is."""
    try:
        entry = store.entry(key, content)
    except entries.EntryFault:
        return content
    if entry is None:
        return None
    return store.objects.write_blob(
        entries.serialize(replace(entry, applied_from=id_, applied_by="user"))
    )


def _known(store: Store, ledger: Ledger, remote: str, id_: str, commit: str) -> bool:
    """Whether a conflict's candidate is there already, open or decided."""
    git_dir = store.place.git_dir
    closed = refs.listed(git_dir, f"{layout.DISCARDED}{id_}.")
    branch = refs.read(git_dir, layout.candidate_ref(id_))
    there = commit in ledger.inside or branch is not None
    return there or bool(closed) or _remote_has(store, remote, id_)


# -- candidates that two people edited -------------------------------------------------------------


def split(store: Store, remote: str, id_: str, tip: str, theirs: str) -> tuple[str, str]:
    """The candidate with what `id_` is at `tip`, where `remote` has it at `theirs`: id and commit."""
    objects = store.objects
    stub = store.stub(id_, tip)
    found = store.candidate(stub)
    edited = objects.commit(tip)
    made = ids.derived_candidate_id(clock.year(edited.committer.time), id_, theirs, tip)
    base = found.base or _root(store)
    files: dict[str, Content] = {
        entries.path_of(item.key): _applied_from(store, item.key, item.content, made)
        for item in found.entries
    }
    tree = objects.write_tree(objects.commit(base).tree, {**found.files, **files})
    told = [(trailers.PRIORITY, found.priority)] if found.priority else []
    message = messages.split(made, id_, remote, told)
    author = NOBODY._replace(time=edited.committer.time)
    return made, objects.write_commit(tree, [base], message, author)
