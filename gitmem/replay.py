"""Rebuild a context as it was: at a time, at a commit, at an event of an exported log.

No cache is asked. What counted is judged from the commits themselves, or folded from the log's
own records, so that both give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitmem.errors import BadInputError, NotFoundError
from gitmem.exchange.eventlog import Log, TierLog
from gitmem.git import bulk
from gitmem.memory import Memory
from gitmem.model import context, replay
from gitmem.model.approval import kind_of
from gitmem.model.replay import Reader, Steps
from gitmem.store import Store
from gitmem.views import Given, Unreviewed

# As git abbreviates: fewer digits of an id are none.
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Stood:
    """Where a tier stood: the commit (None: it had none yet), and its time in seconds.

    `doubts` say why that is not certain.
    """

    tier: str
    commit: str | None
    at: int | None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replayed:
    """A context as it was, and where the tiers stood that it was built of."""

    given: Given
    stood: tuple[Stood, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A tier at a point, ready to be read."""

    stood: Stood
    steps: Steps
    reader: Reader


# -- from the repositories ---------------------------------------------------------------------


def at_time(memory: Memory, at: int, options: context.Options) -> Replayed:
    """The context as it was at a time, in seconds.

    Each tier stands at the last commit of its first-parent line whose clock says no later.
    """
    stores = memory.stores()
    return _replayed([_at_time(store, at) for store in stores if _asked(store, options)], options)


def at_commit(memory: Memory, name: str, options: context.Options) -> Replayed:
    """The context as it was at a commit, named by its id or the beginning of it.

    The other tier stands where it stood at that commit's time. At a commit of a candidate it
    is what that one was made on. Raises NotFoundError `no-such-commit`, BadInputError
    `ambiguous-id`.
    """
    stores = memory.stores()
    owner, commit = _commit_named(stores, name)
    when = owner.objects.commit(commit).committer.time
    parts = [
        _at_commit(store, commit) if store is owner else _by_clock(_at_time(store, when))
        for store in stores
        if store is owner or _asked(store, options)
    ]
    return _replayed(parts, options)


def _asked(store: Store, options: context.Options) -> bool:
    return store.tier in options.tiers


def _commit_named(stores: list[Store], name: str) -> tuple[Store, str]:
    found = [(store, commit) for store in stores for commit in store.objects.commits_named(name)]
    if len(found) > 1:
        raise BadInputError("ambiguous-id", f"'{name}' could be several commits")
    if found:
        return found[0]
    raise NotFoundError(
        "no-such-commit",
        f"no memory here has a commit '{name}'",
        hint="gitmem log shows them; a time is written 2026-05-18, 2026-05-18T10:30:00Z or 7d",
    )


def _at_time(store: Store, at: int) -> _Part:
    chain = bulk.first_parents(store.place.git_dir, store.main())
    times = [(commit.id, commit.committer.time) for commit in reversed(chain)]
    chosen, later = replay.last_before(times, at)
    if chosen is None:
        return _Part(_nowhere(store.tier, chain[0].id), {}, _reader(store))
    steps = _judged(store, chosen)
    doubts = _doubts(chosen, later)
    after = chain[[commit.id for commit in chain].index(chosen) + 1 :]
    if any(kind_of(commit) == "sync" for commit in after):
        whole = replay.steps(store.objects, store.ledger())
        doubts += _joined_later(whole, {commit.id for commit in chain} | steps.keys(), at)
    return _Part(Stood(store.tier, chosen, dict(times)[chosen], doubts), steps, _reader(store))


def _at_commit(store: Store, commit: str) -> _Part:
    position = store.ledger().position
    when = store.objects.commit(commit).committer.time
    doubts: tuple[str, ...] = ()
    if commit not in position:
        hangs, below = _hangs_on(store, commit)
        if not hangs:
            doubts = (f"{commit[:10]} is not on memory/main: what its own line approved is shown",)
        else:
            doubts = (_of_candidate(commit, below),)
            if below is None:
                return _Part(Stood(store.tier, None, None, doubts), {}, _reader(store))
            commit, when = below, store.objects.commit(below).committer.time
    steps = _judged(store, commit)
    return _Part(Stood(store.tier, commit, when, doubts), steps, _reader(store))


def _hangs_on(store: Store, commit: str) -> tuple[bool, str | None]:
    """Whether the log has events of a candidate's commit, and behind which of the approval line."""
    below: str | None = None
    for here, _ in store.events_by_commit():
        if here == commit:
            return True, below
        if here in store.ledger().position:
            below = here
    return False, None


def _judged(store: Store, commit: str) -> Steps:
    steps = replay.steps(store.objects, store.ledger_at(commit))
    approved = replay.standing(steps, commit).approved.values()
    store.objects.load(one.content.id for one in approved if one.content.regular)
    return steps


def _reader(store: Store) -> Reader:
    return Reader(store.tier, store.objects.data)


# -- from an exported log ----------------------------------------------------------------------


def of_log_at_time(log: Log, at: int, options: context.Options) -> Replayed:
    """As `at_time`, from a log alone."""
    parts = [_log_at_time(n, t, at) for n, t in log.tiers.items() if n in options.tiers]
    return _replayed(parts, options)


def of_log_at(log: Log, name: str, options: context.Options) -> Replayed:
    """As `at_commit`, from a log alone; `name` is an event's commit or the beginning of its id."""
    found = {
        (tier, commit)
        for tier, known in log.tiers.items()
        for commit in known.times
        if len(name) >= _SHORTEST and commit.startswith(name.lower())
    }
    if len(found) > 1:
        raise BadInputError("ambiguous-id", f"'{name}' could be several commits")
    if not found:
        raise NotFoundError(
            "no-such-event",
            f"the log has no event of a commit '{name}'",
            hint="events are named by their commits, or by a time",
        )
    ((owner, commit),) = found
    when = log.tiers[owner].times[commit]
    parts = [
        _log_at(tier, known, commit)
        if tier == owner
        else _by_clock(_log_at_time(tier, known, when))
        for tier, known in log.tiers.items()
        if tier == owner or tier in options.tiers
    ]
    return _replayed(parts, options)


def _log_at_time(tier: str, known: TierLog, at: int) -> _Part:
    chain = [(step.commit, step.at) for step in replay.first_parents(known.steps, known.tip)]
    chosen, later = replay.last_before(chain, at)
    if chosen is None:
        return _Part(_nowhere(tier, chain[-1][0]), {}, _log_reader(tier, known))
    line = {step.commit for step in replay.line(known.steps, chosen)}
    ours = {commit for commit, _ in chain} | line
    doubts = _doubts(chosen, later) + _joined_later(known.steps, ours, at)
    return _Part(
        Stood(tier, chosen, known.times[chosen], doubts), known.steps, _log_reader(tier, known)
    )


def _log_at(tier: str, known: TierLog, commit: str) -> _Part:
    doubts: tuple[str, ...] = ()
    if commit in known.hanging:
        below = known.hanging[commit]
        doubts = (_of_candidate(commit, below),)
        if below is None:
            return _Part(Stood(tier, None, None, doubts), {}, _log_reader(tier, known))
        commit = below
    return _Part(
        Stood(tier, commit, known.times[commit], doubts), known.steps, _log_reader(tier, known)
    )


def _log_reader(tier: str, known: TierLog) -> Reader:
    def text(blob: str) -> bytes:
        if blob not in known.texts:
            raise BadInputError(
                "log-text-missing",
                f"the log has no text of {blob}, which was approved there",
                hint="it begins later, or lines are missing: export a longer log, without --since",
            )
        return known.texts[blob]

    return Reader(tier, text)


# -- both --------------------------------------------------------------------------------------


def _nowhere(tier: str, first: str) -> Stood:
    return Stood(tier, None, None, (f"all commits from {first[:10]} on are dated later",))


def _doubts(chosen: str, later: tuple[str, ...]) -> tuple[str, ...]:
    """What the clocks of a first-parent line leave open."""
    if not later:
        return ()
    which = f"{later[0][:10]} is" if len(later) == 1 else f"{len(later)} commits are"
    return (f"{which} dated later, though {chosen[:10]} stands on it: clocks disagree",)


def _joined_later(steps: Steps, known: set[str], at: int) -> tuple[str, ...]:
    """What was approved elsewhere by then, and reached the first-parent line with a later sync."""
    joined = [s for s in steps.values() if s.commit not in known and s.at <= at and s.changes]
    if not joined:
        return ()
    which = f"{joined[0].commit[:10]} was" if len(joined) == 1 else f"{len(joined)} commits were"
    return (f"{which} made by then in another clone and joined later: it may have had more",)


def _of_candidate(commit: str, below: str | None) -> str:
    shown = f"{below[:10]}, which it was made on, is shown" if below else "it stands on nothing"
    return f"{commit[:10]} is a candidate's, which approves nothing: {shown}"


def _by_clock(part: _Part) -> _Part:
    """A part that was chosen by the clock of another tier's commit."""
    stood = part.stood
    doubt = f"where the {stood.tier} memory stood is known by the clock alone"
    return _Part(
        Stood(stood.tier, stood.commit, stood.at, (*stood.doubts, doubt)), part.steps, part.reader
    )


def _replayed(parts: list[_Part], options: context.Options) -> Replayed:
    memories = []
    unreviewed: list[Unreviewed] = []
    broken: list[tuple[str, str]] = []
    for part in parts:
        tier, commit = part.stood.tier, part.stood.commit
        if commit is None or tier not in options.tiers:
            continue
        standing = replay.standing(part.steps, commit)
        found, faults = part.reader.memories(standing.approved)
        memories += found
        broken += faults
        unreviewed += [
            Unreviewed(f"mem_{key}", tier, one.commit, one.found.id if one.found else None)
            for key, one in standing.held.items()
        ]
    built = context.build(memories, options)
    warnings = tuple(doubt for part in parts for doubt in part.stood.doubts)
    given = Given(built, tuple(unreviewed), tuple(broken), warnings)
    return Replayed(given, tuple(part.stood for part in parts))
