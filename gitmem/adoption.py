"""The way back: what nobody reviewed becomes a candidate, and what was closed is taken up again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gitmem import clock, ids, layout
from gitmem.errors import ConflictError, NotFoundError
from gitmem.git import checkout, refs, tierrepo
from gitmem.git.folder import Folder
from gitmem.git.transaction import RefChange
from gitmem.memory import Decision, Memory, actor_person, now_as
from gitmem.model import entries, messages, trailers
from gitmem.model.approval import Judgement, Ledger, merge_contents
from gitmem.model.candidates import Candidate, Proposed
from gitmem.model.history import Content, Person
from gitmem.model.merge import Conflict
from gitmem.store import Store


@dataclass(frozen=True, slots=True)
class Adopted:
    """A candidate made of something unreviewed; `restored` are files put back as approved."""

    candidate: str
    entries: tuple[str, ...]
    origin: str | None
    restored: tuple[str, ...] = ()


def adopt(
    memory: Memory, names: Sequence[str], *, by: Person, scope: str | None = None
) -> list[Adopted]:
    """Make candidates of unreviewed commits, or of candidates that stand on such.

    A name is a commit of `memory/main`, a candidate, or A..B: all that is unreviewed in what B
    has and A has not, as one candidate. Each is forked before the unreviewed content, so that its
    diff shows all of it. Raises NotFoundError `nothing-to-adopt`.
    """
    return [_adopt_one(memory, name, by, scope) for name in names]


def _adopt_one(memory: Memory, name: str, by: Person, scope: str | None) -> Adopted:
    found = memory.find_candidate(name, scope=scope)
    if found is not None:
        return _adopt_candidate(memory.store(found.tier), found, by)
    for store in memory.stores(scope):
        judgements = [_judged(store, part) for part in name.split("..")]
        if len(judgements) <= 2 and None not in judgements:
            *above, last = filter(None, judgements)
            return _adopt_range(store, above[0], last) if above else _adopt_commit(store, last)
    raise _nothing(f"'{name}' is neither a candidate nor a commit on memory/main")


def _judged(store: Store, name: str) -> Judgement | None:
    ledger = store.ledger()
    found = [c for c in ledger.position if len(name) >= 4 and c.startswith(name.lower())]
    return ledger.of(found[0]) if len(found) == 1 else None


def _adopt_commit(store: Store, judgement: Judgement) -> Adopted:
    if not judgement.unreviewed and judgement.kind == "sync":
        # Of a merged branch that was no candidate: what its commits brought is meant.
        return _adopt_range(store, store.ledger().of(judgement.parents[0]), judgement)
    if not judgement.unreviewed:
        raise _nothing(f"{judgement.commit[:12]} changed no entry without approval")
    contents = {key: found for key, (_, found) in judgement.unreviewed.items()}
    return _adopt_contents(store, contents, [judgement])


def _adopt_range(store: Store, above: Judgement, last: Judgement) -> Adopted:
    """What is unreviewed at `last`, by the commits that `above` has not."""
    ledger = store.ledger()
    before = set(_line_of(ledger, above.commit, set()))
    added = [ledger.of(commit) for commit in _line_of(ledger, last.commit, before)]
    blamed = [found for found in added if found.unreviewed.keys() & last.view.held.keys()]
    keys = {key for found in blamed for key in found.unreviewed} & last.view.held.keys()
    if not keys:
        raise _nothing(
            f"no entry was changed without approval between {above.commit[:12]} "
            f"and {last.commit[:12]}"
        )
    contents = {key: store.objects.content(last.view.tree, key) for key in sorted(keys)}
    return _adopt_contents(store, contents, blamed)


def _line_of(ledger: Ledger, tip: str, without: Collection[str]) -> list[str]:
    """The commits of the approval line of `tip`, less those in `without`, in the ledger's order."""
    waiting, seen = [tip], set(without)
    found: list[str] = []
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            found.append(here)
            waiting.extend(ledger.of(here).line_parents)
    return sorted(found, key=lambda commit: ledger.position[commit])


def _adopt_contents(
    store: Store, contents: Mapping[str, Content], blamed: Sequence[Judgement]
) -> Adopted:
    """A candidate of what the commits in `blamed` left unreviewed; the last is its origin."""
    commits = [store.objects.commit(judgement.commit) for judgement in blamed]
    parsed = [trailers.parse(commit.message) for commit in commits]
    which = f"commit {commits[0].id}" if len(commits) == 1 else f"{len(commits)} commits"
    texts = ["\n\n".join(filter(None, (message.subject, message.body))) for message in parsed]
    why = "\n\n".join([f"Adopted from {which}, which nobody reviewed:", *texts])
    told = [
        (trailers.SOURCE, value) for message in parsed for value in message.all(trailers.SOURCE)
    ]
    written = {key: _data(store, key, found) for key, found in contents.items()}
    id_ = _open(store, written, why, list(dict.fromkeys(told)), commits[0].author)
    return Adopted(id_, tuple(map(ids.entry_id, written)), commits[-1].id)


def _nothing(message: str) -> NotFoundError:
    return NotFoundError(
        "nothing-to-adopt", message, hint="gitmem verify names what can be adopted"
    )


def _adopt_candidate(store: Store, found: Candidate, by: Person) -> Adopted:
    """A candidate made anew below the unreviewed content that it stands on; it replaces the old."""
    if found.state != "pending":
        raise ConflictError(
            "not-pending",
            f"{found.id} is {found.state}, not pending",
            hint=f"gitmem reopen {found.id} takes it up again",
        )
    with checkout.deciding(tierrepo.place_of(store.place)):
        if store.objects.is_ancestor(found.commit, store.main()):
            return _adopt_forwarded(store, found)
        if all(item.grounded for item in found.entries):
            raise NotFoundError(
                "nothing-to-adopt",
                f"{found.id} stands on approved content alone",
                hint=f"gitmem diff {found.id}",
            )
        contents = {item.key: _data(store, item.key, item.content) for item in found.entries}
        told = grounds_of(store, found)
        id_ = _open(store, contents, found.rationale, told, _author(store, found))
        supersede(store, found, id_, by)
    return Adopted(id_, tuple(item.id for item in found.entries), found.commit)


def _adopt_forwarded(store: Store, found: Candidate) -> Adopted:
    """A candidate that `memory/main` was moved onto: its unreviewed commits as a candidate again."""
    ledger = store.ledger()
    here: str | None = found.commit
    contents: dict[str, bytes | None] = {}
    while here is not None and here in ledger.position:
        judgement = ledger.of(here)
        if judgement.kind != "direct" or not judgement.unreviewed:
            break
        for key, (_, content) in judgement.unreviewed.items():
            contents.setdefault(key, _data(store, key, content))
        here = judgement.parents[0]
    if not contents:
        raise _nothing(f"{found.id} brought no unreviewed change to memory/main")
    message = trailers.parse(store.objects.commit(found.commit).message)
    told = [(trailers.SOURCE, value) for value in message.all(trailers.SOURCE)]
    why = message.body or message.subject
    id_ = _open(store, contents, why, told, store.objects.commit(found.commit).author)
    checkout.move(tierrepo.place_of(store.place), store.leaving(found))
    return Adopted(id_, tuple(map(ids.entry_id, contents)), found.commit)


def _data(store: Store, key: str, content: Content) -> bytes | None:
    """The bytes of a content to adopt. Raises EntryFault where it is no ordinary file."""
    store.entry(key, content)
    return None if content is None else store.objects.data(content.id)


def supersede(store: Store, found: Candidate, successor: str, by: Person) -> None:
    """Close a candidate as superseded by another. Needs the process lock."""
    told = [(trailers.SUPERSEDED_BY, successor)]
    message = messages.closing("supersede", found.id, "", told)
    _, changes = store.write_closing(found, message, now_as(by))
    checkout.move(tierrepo.place_of(store.place), changes)


def grounds_of(store: Store, found: Candidate) -> list[tuple[str, str]]:
    """The evidence and the priority that a candidate's commits name, as trailers again."""
    told: list[tuple[str, str]] = []
    for id_ in found.line.commits:
        message = trailers.parse(store.objects.commit(id_).message)
        for name in (trailers.PRIORITY, trailers.SOURCE):
            told += [(name, value) for value in message.all(name) if (name, value) not in told]
    return told


def _author(store: Store, found: Candidate) -> Person:
    return store.objects.commit(found.first).author


def _open(
    store: Store,
    contents: Mapping[str, bytes | None],
    rationale: str,
    told: Iterable[tuple[str, str]],
    author: Person,
) -> str:
    """Make a candidate of whole files. Raises EntryFault where one does not parse."""
    at = clock.now()
    id_ = store.new_id(at)
    message = messages.proposal(
        id_, list(contents), rationale, told, actor=author.name or "unknown"
    )
    files = {key: _as_of(store, key, data, id_) for key, data in contents.items()}
    store.open_candidate(id_, store.write_candidate(files, message, _at(author, at)))
    return id_


def _as_of(store: Store, key: str, data: bytes | None, id_: str) -> bytes | None:
    if data is None:
        return None
    entry = entries.parse(key, data, tier=store.tier)
    return entries.serialize(replace(entry, applied_from=id_, applied_by="user"))


def _at(author: Person, at: int) -> Person:
    if not author.name:
        return actor_person("unknown", at)
    return author._replace(time=at, offset=0)


# -- uncommitted edits ---------------------------------------------------------------------------


def adopt_edits(memory: Memory, *, by: Person, scope: str | None = None) -> list[Adopted]:
    """Make candidates of each tier's uncommitted edits, whose files are restored, and of the drop box.

    Only files that differ from the commit that the folder was read from count.
    Raises NotFoundError `nothing-to-adopt` where there are none.
    """
    adopted = [
        found for store in memory.stores(scope) if (found := _adopt_edits_of(store, by)) is not None
    ]
    if scope != "user" and memory.dropped():
        adopted += _adopt_dropped(memory)
    if adopted:
        return adopted
    raise NotFoundError(
        "nothing-to-adopt",
        "no memory folder has uncommitted edits, and no candidate waits in the drop box",
        hint="gitmem verify names what else can be adopted",
    )


def _adopt_dropped(memory: Memory) -> list[Adopted]:
    claimed = [claim.candidate for claim in memory.claim()]
    found = [memory.candidate(id_, scope="project") for id_ in claimed if id_ is not None]
    return [Adopted(one.id, tuple(item.id for item in one.entries), None) for one in found]


def _adopt_edits_of(store: Store, by: Person) -> Adopted | None:
    root = store.place.folder
    if root is None or not root.is_dir():
        return None
    place = tierrepo.place_of(store.place)
    with checkout.deciding(place), Folder(root) as folder:
        state = checkout.folder_state(place)
        changed = _changed_files(folder, state)
        if not changed or state.base is None:
            return None
        contents = {entries.key_of_path(path) or "": data for path, data in changed.items()}
        why = "Adopted from uncommitted edits in the memory folder."
        id_ = _open(store, contents, why, [], by)
        for path in changed:
            _restore(store, folder, state.base, path)
        checkout.mend(place)
    return Adopted(id_, tuple(map(ids.entry_id, contents)), None, tuple(changed))


def _changed_files(folder: Folder, state: checkout.FolderState) -> dict[str, bytes | None]:
    """The entries' files that were edited by hand, by path, with their bytes (None: deleted)."""
    changed: dict[str, bytes | None] = {}
    for path in (*state.edited, *state.untracked):
        # The name of another file need not even be UTF-8.
        if entries.key_of_path(path) is None:
            continue
        data = folder.read(path.encode())
        if data is not None:
            changed[path] = data
    changed |= {path: None for path in state.deleted if entries.key_of_path(path) is not None}
    return changed


def _restore(store: Store, folder: Folder, base: str, path: str) -> None:
    """Put a file back as the commit has it from which the folder was read."""
    content = store.objects.content(
        store.objects.commit(base).tree, entries.key_of_path(path) or ""
    )
    if content is None:
        folder.remove(path.encode())
    else:
        folder.write(path.encode(), store.objects.data(content.id))


# -- reopen --------------------------------------------------------------------------------------


def reopen(memory: Memory, name: str, *, by: Person, scope: str | None = None) -> Decision:
    """Take up a discarded, superseded, withdrawn or reverted candidate again, on today's memory.

    Its change is committed afresh, under the same id, by a commit that names what
    closed it. Raises ConflictError `not-closed` where it is open or applied.
    """
    found = memory.candidate(name, scope=scope)
    if found.state not in ("discarded", "superseded", "reverted", "withdrawn"):
        raise ConflictError(
            "not-closed",
            f"{found.id} is {found.state}: there is nothing to reopen",
            hint=f"gitmem show {found.id}",
        )
    store = memory.store(found.tier)
    told = [(trailers.REOPENS, _closing(store, found))] if found.decided is not None else []
    told += grounds_of(store, found)
    keys = [item.key for item in found.entries]
    message = messages.proposal(
        found.id, keys, found.rationale, told, actor=found.actor, reopened=True
    )
    person = now_as(by)
    with checkout.deciding(tierrepo.place_of(store.place)):
        contents = {item.key: _on_today(store, item) for item in found.entries}
        commit = store.write_candidate(contents, message, person, found.files)
        git_dir = store.place.git_dir
        kept = layout.kept_ref(found.id)
        changes = [
            RefChange(layout.candidate_ref(found.id), commit, None),
            RefChange(kept, commit, refs.read(git_dir, kept)),
        ]
        checkout.move(tierrepo.place_of(store.place), changes)
    return Decision(commit, found.id, tuple(item.id for item in found.entries))


def _on_today(store: Store, item: Proposed) -> bytes | None:
    """A candidate's change of one entry on top of what is approved now; its own text where they conflict."""
    merged = merge_contents(store.objects, item.key, item.base, item.approved, item.content)
    return _data(store, item.key, item.content if isinstance(merged, Conflict) else merged)


def _closing(store: Store, found: Candidate) -> str:
    """What ended a candidate: its closing commit, or the apply that was reverted."""
    if found.state != "reverted":
        return found.decided or ""
    for judgement in store.ledger().line:
        if any(line.first == found.first for line in judgement.applied):
            return judgement.commit
    return found.decided or ""
