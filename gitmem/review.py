"""The queue that a person reviews: what comes first, what belongs together, what is near to what.

Whatever is risky stands alone and comes first; the rest comes in batches, by session.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitmem import adoption, clock, differences, layout
from gitmem.errors import BadInputError, NotFoundError
from gitmem.git import checkout, refs, tierrepo
from gitmem.git.transaction import RefChange
from gitmem.memory import Memory, now_as
from gitmem.model import entries, messages, trailers
from gitmem.model.candidates import Candidate, Proposed, says_the_same
from gitmem.model.entries import Entry, EntryFault
from gitmem.model.history import Content, Person
from gitmem.model.scan import scan
from gitmem.store import Store
from gitmem.visible import mixed_script_words

# Percent of likeness from which a text counts as a neighbour, and how many are named.
_NEAR = 70
_MOST = 3


Name = tuple[str, str]
"""A candidate's tier and its id."""


@dataclass(frozen=True, slots=True)
class Item:
    """A candidate in the queue.

    `risks` say why it stands alone; `batch` names the session that it shares with others that are
    not risky; `rivals` are the other candidates for one of its entries.
    """

    found: Candidate
    risks: tuple[str, ...] = ()
    batch: str | None = None
    rivals: tuple[str, ...] = ()

    @property
    def name(self) -> Name:
        """Its tier and its id."""
        return self.found.tier, self.found.id


@dataclass(frozen=True, slots=True)
class Queue:
    """What can be decided, in the order of review, and what is done with: see `close_done`."""

    items: tuple[Item, ...]
    done: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An approved entry, or another candidate's, whose text is near: a hint, not a judgement."""

    key: str
    candidate: str | None
    likeness: int
    body: str


# -- order ---------------------------------------------------------------------------------------


def queue(memory: Memory, *, scope: str | None = None) -> Queue:
    """All that can be decided, in the order of review.

    Risky ones first, then what conflicts or is broken, then batches; the older before the younger,
    and rivals behind each other.
    """
    pending = memory.candidates(scope=scope)
    done = [_name(one) for one in pending if is_done(memory, one)]
    found = [one for one in pending if _name(one) not in done]
    rivals = _rivals(found)
    risks = {_name(one): tuple(_risks(memory, one)) for one in found}
    batches = Counter(
        batch for one in found if (batch := _batch(one, risks[_name(one)])) is not None
    )
    items = [_item(one, risks[_name(one)], batches, rivals) for one in found]
    return Queue(tuple(_ordered(items)), tuple(done))


def _name(found: Candidate) -> Name:
    return found.tier, found.id


def _item(
    found: Candidate,
    risks: tuple[str, ...],
    batches: Counter[str],
    rivals: dict[Name, tuple[str, ...]],
) -> Item:
    batch = _batch(found, risks)
    alone = batch is None or batches[batch] < 2 or bool(rivals[_name(found)])
    return Item(found, risks, None if alone else batch, rivals[_name(found)])


def _batch(found: Candidate, risks: Sequence[str]) -> str | None:
    """The session from which a candidate comes that may be decided with others."""
    if risks or found.conflicts or found.broken is not None or not found.sources:
        return None
    session = found.sources[0].get("sessionId")
    return f"{found.tier} {session}" if session else None


def _risks(memory: Memory, found: Candidate) -> Iterator[str]:
    """Why a person should look at a candidate by itself."""
    if found.tier == "user":
        yield "user memory"
    changes = differences.changes(memory, found)
    if any(change.verb == "delete" for change in changes):
        yield "deletes"
    versions = [(change.before, change.after) for change in changes]
    if any(side is not None and side.type == "forbidden" for pair in versions for side in pair):
        yield "forbidden"
    texts = [after.rest + after.body for _, after in versions if after is not None]
    if any(scan(text) or mixed_script_words(text) for text in texts):
        yield "flagged text"
    if _by_hand(memory.store(found.tier), [item.key for item in found.entries]):
        yield "edited by hand before"


def _by_hand(store: Store, keys: Iterable[str]) -> bool:
    """Whether a person wrote, or changed before the approval, what one of these entries says now."""
    wanted = {key for key in keys if store.approved_content(key) is not None}
    for judgement in reversed(store.ledger().line) if wanted else ():
        touched = wanted & judgement.changes.keys()
        wanted -= touched
        commits = [id_ for line in judgement.applied for id_ in line.commits] if touched else []
        if any(_is_users(store.objects.commit(id_).message) for id_ in commits):
            return True
        if not wanted:
            break
    return False


def _is_users(message: str) -> bool:
    return trailers.parse(message).first(trailers.ACTOR) == "user"


def _rivals(found: Sequence[Candidate]) -> dict[Name, tuple[str, ...]]:
    """The other candidates for an entry of each one."""
    by_entry: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for one in found:
        for item in one.entries:
            by_entry[one.tier, item.key].append(one.id)
    return {
        _name(one): tuple(
            dict.fromkeys(
                id_ for item in one.entries for id_ in by_entry[one.tier, item.key] if id_ != one.id
            )
        )
        for one in found
    }


def _ordered(items: Sequence[Item]) -> list[Item]:
    """Risky, unfit, then batches by their oldest; within those by age; rivals behind each other."""
    begun: dict[str | None, int] = {}
    for item in items:
        begun[item.batch] = min(begun.get(item.batch, item.found.created_at), item.found.created_at)

    def place(item: Item) -> tuple[int, int, str, int, str]:
        found = item.found
        unfit = found.broken is not None or bool(found.conflicts)
        rank = 0 if item.risks else 1 if unfit else 2
        start = begun[item.batch] if item.batch else found.created_at
        return rank, start, item.batch or "", found.created_at, found.id

    waiting = {item.name: item for item in sorted(items, key=place)}
    ordered: dict[Name, Item] = {}
    for name, item in waiting.items():
        for one in (name, *((name[0], rival) for rival in item.rivals)):
            ordered.setdefault(one, waiting[one])
    return list(ordered.values())


# -- neighbours ----------------------------------------------------------------------------------


class Neighbourhood:
    """The texts of all approved entries and of the candidates of a queue, for finding near ones.

    Raises BadInputError `no-rapidfuzz` where the library that compares is not installed.
    """

    def __init__(self, memory: Memory, items: Iterable[Item]) -> None:
        try:
            from rapidfuzz import fuzz, process
        except ImportError as error:
            raise BadInputError(
                "no-rapidfuzz",
                "neighbours are found with rapidfuzz, which is not installed",
                hint="install gitmem with its extra 'review'",
            ) from error
        self._extract = process.extract
        self._scorer = fuzz.token_sort_ratio
        self._texts: dict[tuple[str, str | None, str], str] = {
            (entry.scope, None, entry.key): entry.body for entry in memory.entries()
        }
        for item in items:
            store = memory.store(item.found.tier)
            for one in item.found.entries:
                entry = _entry(store, one.key, one.content)
                if entry is not None:
                    self._texts[item.found.tier, item.found.id, one.key] = entry.body

    def decided(self, found: Candidate, *, applied: bool) -> None:
        """Take a candidate's texts out, or for those of approved entries."""
        for item in found.entries:
            body = self._texts.pop((found.tier, found.id, item.key), None)
            if applied and body is not None:
                self._texts[found.tier, None, item.key] = body

    def near(self, found: Candidate, key: str, body: str) -> list[Neighbour]:
        """What is near to an entry's text in its tier, the likest first."""
        others = {
            place: text
            for place, text in self._texts.items()
            if place[0] == found.tier and place[1] != found.id and place[1:] != (None, key)
        }
        hits = self._extract(body, others, scorer=self._scorer, score_cutoff=_NEAR, limit=_MOST)
        return [Neighbour(place[2], place[1], round(score), text) for text, score, place in hits]


def body(memory: Memory, found: Candidate, item: Proposed) -> str | None:
    """The text that a candidate gives to an entry; None where it deletes it or it is none."""
    entry = _entry(memory.store(found.tier), item.key, item.content)
    return None if entry is None else entry.body


def _entry(store: Store, key: str, content: Content) -> Entry | None:
    try:
        return store.entry(key, content)
    except EntryFault:
        return None


# -- moves ---------------------------------------------------------------------------------------


def split(
    memory: Memory, name: str, keys: Iterable[str], *, by: Person, scope: str | None = None
) -> str:
    """Keep the entries `keys` in a candidate and make a new one of the rest, whose id it gives.

    The new one names its origin. Raises BadInputError `nothing-to-split`.
    """
    store = memory.store(memory.candidate(name, scope=scope).tier)
    place = tierrepo.place_of(store.place)
    with checkout.deciding(place):
        found = memory.candidate(name, scope=store.tier)
        rest = _taken_out(found, set(keys))
        at = clock.now()
        id_ = store.new_id(at)
        told = [(trailers.ORIGIN, found.id), *adoption.grounds_of(store, found)]
        message = messages.proposal(
            id_, [item.key for item in rest], found.rationale, told, actor=found.actor
        )
        author = store.objects.commit(found.first).author._replace(time=at, offset=0)
        theirs = {item.key: _own(store, item, id_) for item in rest}
        made = _committed(store, found.base, theirs, message, author)
        message = messages.edit(found.id, f"Split: what was taken out is {id_}.", "user")
        back = {item.key: item.base for item in rest}
        narrowed = _committed(store, found.commit, back, message, now_as(by))
        checkout.move(place, [*_at(store, found.id, narrowed), *_at(store, id_, made)])
    return id_


def _taken_out(found: Candidate, kept: set[str]) -> list[Proposed]:
    """The entries of a candidate that a split makes another one of."""
    rest = [item for item in found.entries if item.key not in kept]
    if found.state == "pending" and rest and len(rest) < len(found.entries):
        return rest
    raise BadInputError(
        "nothing-to-split",
        f"{found.id} can't be split in that way",
        context=f"it is {found.state} and has {len(found.entries)} entries",
        hint="name some of a pending candidate's entries, but not all",
    )


def _committed(
    store: Store, above: str | None, changes: Mapping[str, Content], message: str, author: Person
) -> str:
    """A commit on `above` with changes of entries."""
    tree = layout.EMPTY_TREE if above is None else store.objects.commit(above).tree
    files = {entries.path_of(key): content for key, content in changes.items()}
    written = store.objects.write_tree(tree, files)
    return store.objects.write_commit(written, [above] if above else [], message, author)


def _own(store: Store, item: Proposed, id_: str) -> Content:
    """What a candidate makes of an entry, as the candidate `id_` brings it."""
    entry = _entry(store, item.key, item.content)
    if entry is None:
        return item.content
    return store.objects.write_blob(
        entries.serialize(replace(entry, applied_from=id_, applied_by="user"))
    )


def _at(store: Store, id_: str, commit: str) -> list[RefChange]:
    """The branch and the anchor of a candidate, at a new tip."""
    names = (layout.candidate_ref(id_), layout.kept_ref(id_))
    return [RefChange(name, commit, refs.read(store.place.git_dir, name)) for name in names]


def joined_text(memory: Memory, found: Candidate, key: str, neighbour: Neighbour) -> str:
    """A neighbour's file with the text and the evidence of a candidate's entry behind its own."""
    store = memory.store(found.tier)
    mine = _entry(store, key, _content(found, key))
    theirs = _entry(store, neighbour.key, _neighbours_content(memory, found, neighbour))
    if mine is None or theirs is None:
        raise NotFoundError(
            "no-neighbour", "the neighbour is not there any more", hint="look again"
        )
    sources = (*theirs.sources, *(one for one in mine.sources if one not in theirs.sources))
    body = f"{theirs.body}\n\n{mine.body}"
    return entries.serialize(replace(theirs, body=body, sources=sources)).decode()


def join(
    memory: Memory,
    found: Candidate,
    key: str,
    neighbour: Neighbour,
    text: bytes | None,
    *,
    by: Person,
) -> str:
    """Give a neighbour the text of a candidate's new entry; gives the candidate that carries it.

    `text` is the neighbour's whole file. Where it is approved, the candidate changes it
    in place of its own entry. Where it is another candidate's, that one is edited, and this one closed as
    superseded by it. Nothing is approved by that.
    """
    tier, expect = found.tier, found.digest
    if neighbour.candidate is None:
        texts = {key: None, neighbour.key: text}
        memory.edit(found.id, texts, by=by, expect=expect, scope=tier)
        return found.id
    memory.edit(neighbour.candidate, {neighbour.key: text}, by=by, scope=tier)
    if len(found.entries) > 1:
        memory.edit(found.id, {key: None}, by=by, expect=expect, scope=tier)
    else:
        store = memory.store(tier)
        with checkout.deciding(tierrepo.place_of(store.place)):
            now = memory.candidate(found.id, scope=tier)
            if now.digest == expect:
                adoption.supersede(store, now, neighbour.candidate, by)
    return neighbour.candidate


def _content(found: Candidate, key: str) -> Content:
    return next((item.content for item in found.entries if item.key == key), None)


def _neighbours_content(memory: Memory, found: Candidate, neighbour: Neighbour) -> Content:
    if neighbour.candidate is None:
        return memory.store(found.tier).approved_content(neighbour.key)
    return _content(memory.candidate(neighbour.candidate, scope=found.tier), neighbour.key)


# -- what is done with -----------------------------------------------------------------------------


def is_done(memory: Memory, found: Candidate) -> bool:
    """Whether a candidate would change nothing any more: approved memory says what it says."""
    store = memory.store(found.tier)
    return (
        bool(found.entries)
        and not found.files
        and found.broken is None
        and all(item.conflict is None and _says_the_same(store, item) for item in found.entries)
    )


def _says_the_same(store: Store, item: Proposed) -> bool:
    if item.result == item.approved:
        return True
    before, after = (_entry(store, item.key, it) for it in (item.approved, item.result))
    return before is not None and after is not None and says_the_same(before, after)


def close_done(memory: Memory, names: Iterable[Name], *, by: Person) -> list[str]:
    """Close those of some candidates (tier and id) that are done with as superseded; gives their ids."""
    closed = []
    for tier, id_ in names:
        store = memory.store(tier)
        with checkout.deciding(tierrepo.place_of(store.place)):
            found = memory.find_candidate(id_, scope=tier)
            if found is None or found.id != id_ or found.state != "pending":
                continue
            if is_done(memory, found):
                adoption.supersede(store, found, _approved_by(store, found) or found.id, by)
                closed.append(id_)
    return closed


def _approved_by(store: Store, found: Candidate) -> str | None:
    """The candidate that brought what a candidate wanted."""
    keys = {item.key for item in found.entries}
    for judgement in reversed(store.ledger().line):
        if judgement.applied and keys & judgement.changes.keys():
            return judgement.applied[-1].id
    return None
