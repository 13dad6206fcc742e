"""Which remote a tier's memory is shared through: naming it, looking at it, taking it out again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gitmem import layout, witness
from gitmem.errors import BadInputError, NotFoundError, RefusedError
from gitmem.git import hostremote, refs, sharing, tierrepo
from gitmem.git.hostremote import Remote
from gitmem.git.transaction import RefChange, Transaction
from gitmem.layout import TierPlace
from gitmem.memory import Memory
from gitmem.store import Store


@dataclass(frozen=True, slots=True)
class Named:
    """A tier's remote, and how many commits of `memory/main` it has, as far as is known here.

    `url` is as it was given; `tip` is its `memory/main` as last seen, None before the first sync.
    """

    scope: str
    name: str
    url: str
    tip: str | None


@dataclass(frozen=True, slots=True)
class Visible:
    """What the first sync would show at a remote: entries and candidates, by id, and closed ones."""

    entries: int
    candidates: tuple[str, ...]
    discarded: int


def named(memory: Memory, scope: str | None = None) -> list[Named]:
    """The remotes of the tiers that have one, the project's first."""
    found = []
    for store in memory.stores(scope):
        own = hostremote.own(store.place.git_dir)
        if own is not None:
            tip = refs.read(store.place.git_dir, f"{layout.tracking(own[0])}main")
            found.append(Named(store.tier, *own, tip))
    return found


def of(place: TierPlace) -> Remote:
    """The remote of a tier. Raises NotFoundError `no-remote`."""
    remote = hostremote.of_tier(place)
    if remote is None:
        raise NotFoundError(
            "no-remote",
            f"the {place.scope} memory has no remote",
            hint=f"name one: gitmem remote --scope {place.scope} URL"
            + (", or the host's: gitmem remote --host" if place.scope == "project" else ""),
        )
    return remote


def name(memory: Memory, url: str | None, *, scope: str | None = None, ask: bool) -> Named:
    """Make `url`, or where that is None the host's own remote, the remote of a tier's memory.

    What was known of another one before is forgotten. Raises BadInputError `branch-in-the-way`,
    `no-host-remote` or `other-tiers-remote`, and GitFailedError `remote-failed` where it does not
    answer; then nothing is changed.
    """
    store = memory.store(scope or memory.default_scope())
    place = store.place
    remote = _hosts(place) if url is None else Remote("origin", _absolute(memory, url), ())
    _refuse_shared(memory, place, remote.url)
    # By its url, so that nothing has to be taken back where it does not answer.
    by_url = hostremote.reached(place, remote.url, remote.url)
    check(sharing.Door(place.git_dir, by_url, ask=ask).listed(), remote.url)
    before = hostremote.own(place.git_dir)
    if before is not None and before != (remote.name, remote.url):
        _forget(store, before[0])
    tierrepo.add_remote(place.git_dir, remote.name, remote.url)
    return named(memory, store.tier)[0]


def check(listed: dict[str, str], url: str) -> None:
    """Raise BadInputError `branch-in-the-way` where git could not make `memory/main` there."""
    if sharing.IN_THE_WAY in listed:
        raise BadInputError(
            "branch-in-the-way",
            f"'{url}' has a branch named 'memory', and git can't have memory/main beside it",
            hint="rename that branch there, or give memory a remote of its own: gitmem remote URL",
        )


def take_out(memory: Memory, *, scope: str | None = None) -> Named:
    """Forget a tier's remote; nothing there changes. Raises NotFoundError `no-remote`."""
    store = memory.store(scope or memory.default_scope())
    of(store.place)
    (found,) = named(memory, store.tier)
    _forget(store, found.name)
    return found


def visible(memory: Memory, scope: str) -> Visible:
    """What a first sync of a tier would make visible at its remote."""
    store = memory.store(scope)
    pending = tuple(stub.id for stub in store.pending() if stub.remote is None)
    return Visible(len(store.approved()), pending, len(store.closed()))


def described(store: Store, tip: str) -> tuple[int, tuple[tuple[str, int], ...]]:
    """How many entries a line of memory has approved, and who made how many merges on it, most first."""
    authors = Counter(tierrepo.merge_authors(store.place.git_dir, tip))
    approvers = sorted(authors.items(), key=lambda item: (-item[1], item[0]))
    return len(store.ledger_at(tip).view.contents(store.objects)), tuple(approvers)


def _hosts(place: TierPlace) -> Remote:
    remote = None if place.host is None else hostremote.of_host(place.host, place.git_dir)
    if remote is None:
        raise BadInputError(
            "no-host-remote",
            "the project has no remote, or several and none of them is 'origin'",
            hint="name the one that memory is to have: gitmem remote URL",
        )
    return remote


def _absolute(memory: Memory, url: str) -> str:
    if not url or url.startswith("-"):
        raise BadInputError("url-invalid", f"'{url}' is no url of a remote")
    return hostremote.absolute(url, memory.path.resolve())


def _refuse_shared(memory: Memory, place: TierPlace, url: str) -> None:
    """No tier goes to another one's remote: who sees the one need not see the other."""
    others = [store.place for store in memory.stores() if store.place != place]
    taken = {own[1] for other in others if (own := hostremote.own(other.git_dir)) is not None}
    if place.scope == "user" and memory.found.here is not None and memory.found.here.host:
        hosts = hostremote.of_host(memory.found.here.host, place.git_dir)
        taken |= {hosts.url} if hosts is not None else set()
    if url in taken:
        raise RefusedError(
            "other-tiers-remote",
            f"'{url}' is not for the {place.scope} memory: other memory, or a project, is shared there",
            hint="give it a remote of its own",
        )


def _forget(store: Store, name: str) -> None:
    """Take a remote out of the config, with what was fetched of it; what was pending there is here now."""
    git_dir = store.place.git_dir
    taken = [
        RefChange(ref, stub.tip, refs.read(git_dir, ref))
        for stub in store.pending()
        if stub.remote == name
        for ref in (layout.candidate_ref(stub.id), layout.kept_ref(stub.id))
    ]
    known = refs.listed(git_dir, f"refs/remotes/{name}/")
    changes = [*taken, *(RefChange(ref, None, tip) for ref, tip in known.items())]
    if changes:
        with Transaction(git_dir, changes) as transaction:
            transaction.prepare()
            transaction.commit()
    tierrepo.remove_remote(git_dir, name)
    witness.forget_remote(git_dir)
