"""Setting up the tiers, mending them, taking up a remote's memory, and taking them out again.

Nothing is asked or printed here: a face shows a report, an offer or a plan, and calls the next step.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitmem import config, exclude, hooks, ids, index, layout, sessionfiles, trust, witness
from gitmem.errors import BadInputError, ConflictError, GitmemError, NotFoundError
from gitmem.git import checkout, discover, hostremote, program, refs, tierrepo
from gitmem.git.lock import cannot_write, process_lock
from gitmem.layout import Host, Scope, TierPlace, Tiers

Step = Literal[
    "repository",  # the tier's repository
    "brought-back",  # the repository that an earlier `deinit` kept
    "moved-into-host",  # the repository of a folder that became a git host since
    "folder",  # the folder with the tier's files
    "exclude",  # the line in the host's info/exclude
    "links",  # what git keeps as paths, after a move or a copy
    "config",  # keys of the repository's config
    "main",  # `memory/main`, which was gone
    "head",  # which branch the repository is on
    "folders",  # folders that git needs in a repository
    "hooks",  # the hooks for people who use plain git there
]


@dataclass(frozen=True, slots=True)
class Offer:
    """A remote's memory that could be taken up; nothing of it has been kept so far.

    `tip` is its `memory/main` in hex, `entries` counts the files there that are entries, and
    `approvers` are the authors of the merges on its first-parent line with how many each made,
    most first: free text of strangers.
    """

    remote: str
    url: str
    tip: str
    entries: int
    approvers: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class TierReport:
    """One tier after `init`: what was made, and what was there and had to be mended."""

    tier: TierPlace
    made: tuple[Step, ...]
    mended: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class InitReport:
    """What `init` did. `notes` are sentences for the user, about what did not stop it."""

    tiers: tuple[TierReport, ...]
    offer: Offer | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeinitPlan:
    """What `deinit` is about to do to a tier.

    The numbers are what is in the repository: entries on `memory/main`, pending candidates and
    records of sessions. `dropped` are files in drop boxes and `sessions` folders of session
    tiers: destroyed by a purge, kept otherwise. `own` are the user's own files, always kept.
    """

    scope: Scope
    purge: bool
    repository: Path
    folder: Path | None
    entries: int
    candidates: int
    records: int
    dropped: tuple[Path, ...]
    sessions: tuple[Path, ...]
    own: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class DeinitReport:
    """What `deinit` left: the repository that it kept (None after a purge) and the user's files."""

    scope: Scope
    kept_repository: Path | None
    kept_files: tuple[Path, ...]


def init(
    path: Path, *, scope: Scope | None = None, ask_remote: bool = True, terminal: bool = False
) -> InitReport:
    """Set up the tier `scope` at `path`, or mend it; None: the project's, and the user's.

    Changes nothing that is right. `ask_remote` has the host's remote asked for memory to take up,
    `terminal` lets git ask for a password there. Raises BadInputError: as `discover.find`,
    `no-project-here`, `folder-in-the-way`, `symbolic-ref`, `cannot-write`.
    """
    found = discover.find(path)
    reports: list[TierReport] = []
    notes: list[str] = []
    offer = None
    with _writing():
        if scope != "user":
            reports.append(_init_project(path, found, notes))
        if scope != "project":
            reports.append(_init_folder(_user_place(), found))
        if scope != "user" and ask_remote:
            offer = _offer(reports[0].tier, notes, terminal=terminal)
    return InitReport(tuple(reports), offer, tuple(notes))


def take_up(path: Path, offer: Offer, *, terminal: bool = False) -> TierPlace:
    """Make the remote's memory that was offered the project's, and the remote the tier's own.

    Raises ConflictError `offer-stale` where the remote has other memory by now, or the project has
    some of its own; then nothing is kept. Raises NotFoundError `no-tier`.
    """
    tier = discover.find(path).project
    if tier is None or tier.host is None:
        raise _no_tier("project")
    root = layout.root_id("project")
    remote = hostremote.of_host(tier.host, tier.git_dir)
    if remote is None or remote.url != offer.url or refs.read(tier.git_dir, layout.MAIN) != root:
        raise _stale("the project's own memory or its remote is not what it was")
    wanted = _all_memory(remote)
    with _writing(), _fetched(tier, remote, *wanted, terminal=terminal) as (copy, tip):
        if tip != offer.tip:
            raise _stale("the remote's memory has moved")
        tierrepo.add_remote(tier.git_dir, remote.name, remote.url)
        hostremote.fetch_copy(copy, tier.git_dir, ["refs/*:refs/*", f"^{_OFFERED}"])
        with checkout.deciding(tierrepo.place_of(tier)):
            change = checkout.RefChange(layout.MAIN, tip, root)
            checkout.move(tierrepo.place_of(tier), [change])
    return tier


def plan_deinit(path: Path, *, scope: Scope | None = None, purge: bool = False) -> DeinitPlan:
    """What `deinit` with the same arguments would do.

    Raises NotFoundError `no-tier`, BadInputError `scope-needed` outside a project where no scope
    is said, and as `discover.find`.
    """
    return _plan(_target(path, scope), purge=purge)


def deinit(path: Path, *, scope: Scope | None = None, purge: bool = False) -> DeinitReport:
    """Take a tier out: by default the project's, with its history kept for the next `init`.

    A purge destroys what `plan_deinit` counts. The user's own files stay in either case. Raises as
    plan_deinit, and BadInputError `cannot-write` and `retired-in-the-way`.
    """
    target = _target(path, scope)
    plan = _plan(target, purge=purge)
    retired = layout.retired_repository(target.tier.git_dir)
    with _writing():
        # First, in one step: from here on nobody reads the tier, and the rest can be repeated.
        if target.repository != retired:
            _retire(target.repository, retired)
        kept = tierrepo.take_out_files(target.tier, retired)
        if purge:
            _purge(plan, retired)
        else:
            kept += plan.dropped + plan.sessions
            tierrepo.forget_folder(retired)
        _tidy(target)
    return DeinitReport(plan.scope, None if purge else retired, kept)


# -- init --------------------------------------------------------------------------------------

_OFFERED = "refs/offered"


def _init_project(path: Path, found: Tiers, notes: list[str]) -> TierReport:
    place = discover.standing(path)
    if place is None:
        raise BadInputError(
            "no-project-here",
            f"'{path}' is in gitmem's own folders, where no project can begin",
            hint="run it in a project, or for the user tier: gitmem init --scope user",
        )
    if found.here is not None and found.here.host is not None:
        return _init_host(found.here.host, found, notes)
    root = found.here.root if found.here else _retired_root(place) or place
    folder = layout.memory_folder(root)
    return _init_folder(layout.folder_tier("project", folder), found)


def _init_host(host: Host, tiers: Tiers, notes: list[str]) -> TierReport:
    discover.refuse_tracked(host)
    folder = tiers.project.folder if tiers.project else None
    if folder is None and host.top is not None:
        folder = layout.memory_folder(host.top)
    tier = layout.host_tier(host, folder)
    sources = [layout.retired_repository(tier.git_dir)]
    if folder is not None:
        # Those of a project that was none of git's when it began.
        sources += [folder / ".git", folder.parent / layout.RETIRED]
    with ExitStack() as undo:
        made, mended = _repository(tier, sources, undo)
        if exclude.add(host.common_dir):
            undo.callback(exclude.remove, host.common_dir)
            (made or mended).append("exclude")
        if tierrepo.restore_folder(tier) or tierrepo.catch_up(tier):
            (made or mended).append("folder")
        _hooks(tier, made, mended)
        undo.pop_all()
    notes += _notes(tier)
    return TierReport(tier, tuple(made), (*_links(tiers, tier), *mended))


def _init_folder(tier: TierPlace, tiers: Tiers) -> TierReport:
    """Set up or mend a tier whose repository is `.git` in its folder."""
    tierrepo.check_free(tier)
    folder = tier.git_dir.parent
    highest = next(place for place in (folder, *folder.parents) if place.parent.is_dir())
    with ExitStack() as undo:
        if not highest.exists():
            undo.callback(tierrepo.remove_empty, highest)
        made, mended = _repository(tier, [layout.retired_repository(tier.git_dir)], undo)
        if "brought-back" in made:
            tierrepo.fill_folder(tier)
        elif not made and tierrepo.catch_up(tier):
            mended.append("folder")
        _hooks(tier, made, mended)
        undo.pop_all()
    return TierReport(tier, tuple(made), (*_links(tiers, tier), *mended))


def _repository(
    tier: TierPlace, sources: Iterable[Path], undo: ExitStack
) -> tuple[list[Step], list[Step]]:
    """Have the tier's repository there: as it is, from one of `sources`, or a new one."""
    bare = tier.git_dir.name == layout.HOST_REPOSITORY
    source = next((place for place in sources if place.is_dir()), None)
    made: list[Step] = []
    if tier.git_dir.is_dir():
        pass
    elif source is not None:
        tierrepo.take_over(source, tier.git_dir)
        made.append("moved-into-host" if source.name == ".git" else "brought-back")
    elif tierrepo.create(tier.git_dir, tier.scope, bare=bare):
        undo.callback(tierrepo.remove_empty, tier.git_dir.parent)
        undo.callback(tierrepo.destroy, tier.git_dir)
        return ["repository"], []
    mended = tierrepo.mend(tier.git_dir, tier.scope, bare=bare)
    return made, [] if made else list(mended)


def _hooks(tier: TierPlace, made: list[Step], mended: list[Step]) -> None:
    """Have the hooks in place; a new repository has them as a part of it."""
    changes = hooks.install(tier)
    if "repository" not in made and any(change.did != "left" for change in changes):
        (made or mended).append("hooks")


def _links(tiers: Tiers, tier: TierPlace) -> tuple[Step, ...]:
    return ("links",) if tier.scope in tiers.mended else ()


def _notes(tier: TierPlace) -> list[str]:
    if tier.folder is None:
        return [
            "there is no worktree here for the memory folder; run gitmem init in one to have it"
        ]
    top = tier.folder.parent.parent
    args = ("check-ignore", "--quiet", f"{layout.FOLDER}/")
    if program.run(*args, cwd=top, check=False).code == 1:
        return [f"a .gitignore of the project takes {layout.FOLDER}/ in: git status shows it"]
    return []


# -- a remote's memory -------------------------------------------------------------------------


def _offer(tier: TierPlace, notes: list[str], *, terminal: bool) -> Offer | None:
    """What the host's remote has, where the project has no memory and no remote of its own."""
    root = layout.root_id("project")
    if tier.host is None or refs.read(tier.git_dir, layout.MAIN) != root:
        return None
    remote = hostremote.of_host(tier.host, tier.git_dir)
    if remote is None or tierrepo.has_remote(tier.git_dir):
        return None
    try:
        tip = hostremote.tip_of_main(remote, tier.git_dir, ask=terminal)
        if tip is None or tip == root:
            return None
        with _fetched(tier, remote, terminal=terminal) as (copy, fetched):
            return _described(remote, copy, fetched, notes)
    except GitmemError as error:
        why = hostremote.why_not(error)
        notes.append(f"the remote '{remote.name}' could not be asked for memory: {why}")
        return None


def _described(remote: hostremote.Remote, copy: Path, tip: str, notes: list[str]) -> Offer | None:
    if not tierrepo.is_ancestor(copy, layout.root_id("project"), tip):
        notes.append(f"the memory/main of the remote '{remote.name}' did not begin with gitmem's")
        return None
    authors = Counter(tierrepo.merge_authors(copy, tip))
    approvers = sorted(authors.items(), key=lambda item: (-item[1], item[0]))
    entries = _count_entries(copy, tip)
    return Offer(remote.name, remote.url, tip, entries, tuple(approvers))


@contextmanager
def _fetched(
    tier: TierPlace, remote: hostremote.Remote, *more: str, terminal: bool
) -> Iterator[tuple[Path, str]]:
    """The remote's memory in a repository that nobody reads and that is gone afterwards, and its tip."""
    with tierrepo.draft(tier.git_dir.parent) as place:
        copy = place / "offered.git"
        tierrepo.new_bare(copy)
        hostremote.fetch(remote, copy, [f"{layout.MAIN}:{_OFFERED}", *more], ask=terminal)
        yield copy, refs.read(copy, _OFFERED) or ""


def _all_memory(remote: hostremote.Remote) -> tuple[str, ...]:
    """What a team shares: memory and open candidates as the remote's, closed ones as tags."""
    return (
        f"refs/heads/memory/*:refs/remotes/{remote.name}/memory/*",
        f"{layout.DISCARDED}*:{layout.DISCARDED}*",
    )


def _count_entries(git_dir: Path, commit: str) -> int:
    names = (os.fsdecode(path) for path in tierrepo.tree_paths(git_dir, commit))
    return sum(name.endswith(".md") and ids.is_key(name.removesuffix(".md")) for name in names)


def _stale(why: str) -> ConflictError:
    return ConflictError(
        "offer-stale", why, hint="run gitmem init again and look at what it offers"
    )


# -- deinit ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Target:
    """A tier to take out: `repository` is where it lies now, `roots` where `.custom-agent` may be."""

    tier: TierPlace
    repository: Path
    roots: tuple[Path, ...]


def _target(path: Path, scope: Scope | None) -> _Target:
    if scope == "user":
        return _present(_user_place(), ())
    tiers = discover.find(path)
    if tiers.here is not None and tiers.here.host is not None:
        host, root = tiers.here.host, tiers.here.root
        gone = layout.host_tier(host, layout.memory_folder(root) if host.top else None)
        return _present(tiers.project or gone, discover.worktrees(host) or (root,))
    place = discover.standing(path)
    root_or_none = tiers.here.root if tiers.here else place and _retired_root(place)
    if root_or_none is None:
        raise BadInputError(
            "scope-needed" if scope is None else "no-tier",
            f"'{path}' is in no project that has memory",
            hint="for the user tier: gitmem deinit --scope user",
        )
    tier = layout.folder_tier("project", layout.memory_folder(root_or_none))
    return _present(tier, (root_or_none,))


def _present(tier: TierPlace, roots: tuple[Path, ...]) -> _Target:
    for repository in (tier.git_dir, layout.retired_repository(tier.git_dir)):
        if repository.is_dir():
            return _Target(tier, repository, roots)
    raise _no_tier(tier.scope)


def _plan(target: _Target, *, purge: bool) -> DeinitPlan:
    git_dir = target.repository
    main = refs.read(git_dir, layout.MAIN)
    boxes = [layout.drop_box(root) for root in target.roots]
    sessions = [layout.sessions_folder(root) for root in target.roots]
    apart = sessionfiles.kept_apart(git_dir)
    if apart is not None:
        sessions.append(apart)
    return DeinitPlan(
        scope=target.tier.scope,
        purge=purge,
        repository=git_dir,
        folder=target.tier.folder,
        entries=_count_entries(git_dir, main) if main else 0,
        candidates=len(refs.listed(git_dir, layout.CANDIDATES)),
        records=len(refs.listed(git_dir, layout.SESSIONS)),
        dropped=tuple(file for box in boxes for file in tierrepo.files_in(box)),
        sessions=tuple(each for folder in sessions for each in _entries_of(folder)),
        own=tierrepo.own_files(target.tier, git_dir),
    )


def _retire(repository: Path, retired: Path) -> None:
    if retired.exists():
        raise BadInputError(
            "retired-in-the-way",
            f"there is an older history at '{retired}'",
            hint="move it away or remove it, then repeat",
        )
    with process_lock(repository, wait=10.0):
        tierrepo.take_over(repository, retired)


def _purge(plan: DeinitPlan, retired: Path) -> None:
    # What lies in the user's own folders about it goes by the repository's inode: before that is gone.
    index.forget([retired])
    witness.forget(retired)
    trust.forget(retired)
    for file in plan.dropped:
        file.unlink()
    for session in plan.sessions:
        tierrepo.destroy(session) if session.is_dir() else session.unlink()
        tierrepo.remove_empty(session.parent)
    tierrepo.destroy(retired)


def _tidy(target: _Target) -> None:
    """Take out what is empty of ours, and the host's exclude line."""
    for root in target.roots:
        for folder in (layout.drop_box(root), layout.sessions_folder(root), root / layout.FOLDER):
            tierrepo.remove_empty(folder)
    host = target.tier.host
    if host is not None:
        exclude.remove(host.common_dir)
        tierrepo.remove_empty(host.common_dir / layout.HOST_FOLDER)


def _entries_of(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []


# -- both --------------------------------------------------------------------------------------


def _user_place() -> TierPlace:
    return layout.folder_tier("user", config.user_memory_folder().resolve())


def _retired_root(place: Path) -> Path | None:
    """The nearest folder above `place` in which a project without a host was taken out."""
    roots = (place, *place.parents)
    return next((root for root in roots if (root / layout.FOLDER / layout.RETIRED).is_dir()), None)


def _no_tier(scope: Scope) -> NotFoundError:
    return NotFoundError(
        "no-tier", f"there is no {scope} tier here", hint=f"make one: gitmem init --scope {scope}"
    )


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(error) from error
