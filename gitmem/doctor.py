"""`doctor`: everything that could be wrong around memory, and the command that mends each.

Nothing is changed, no remote is asked and no cache is believed. What `verify` finds is told too.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gitmem import (
    audit,
    clock,
    config,
    exclude,
    hooks,
    layout,
    records,
    sessionfiles,
    sessions,
    trust,
)
from gitmem.errors import BadInputError, GitmemError
from gitmem.findings import Finding
from gitmem.git import checkout, discover, health, hostremote, program, refs, tierrepo
from gitmem.git.health import Remote
from gitmem.layout import TierPlace, Tiers
from gitmem.memory import Memory
from gitmem.model import trailers
from gitmem.model.approval import Ledger
from gitmem.model.history import Commit
from gitmem.sessionfiles import SessionFolder
from gitmem.store import Store

OLDEST_GIT = (2, 39)
# Seconds: git holds a lock for a moment, and a dropped candidate waits for the next decision.
_LOCK_IS_OLD = 60
_DROP_IS_OLD = 24 * 60 * 60
# The first line of squash merges: of GitHub and Gitea it ends so, of GitLab it is the candidate's.
_SQUASHED = re.compile(r" \([#!][0-9]+\)\Z|\Amemory: propose ")
# What Gitea and GitLab write of a revert on the web; GitHub commits under a name of its own.
_REVERTED = re.compile(r"\Arevert [0-9a-f]{40}$|^This reverts merge request ", re.MULTILINE)
_FORGE = "noreply@github.com"


@dataclass(frozen=True, slots=True)
class Examined:
    """The tier that is looked at, in the memory that it belongs to."""

    memory: Memory
    store: Store

    @property
    def place(self) -> TierPlace:
        """Where the tier is."""
        return self.store.place

    @property
    def scope(self) -> str:
        """Its scope."""
        return self.store.tier

    @property
    def git(self) -> str:
        """Git in this tier, as a person types it."""
        return f"gitmem git --scope {self.scope}"

    def finding(self, kind: str, message: str, hint: str) -> Finding:
        """A finding about this tier."""
        return _finding(kind, message, hint, self.scope)


Check = Callable[[Examined], Iterator[Finding]]


def examine(path: Path) -> list[Finding]:
    """What is wrong with the memory at the folder `path`, in the order in which to mend it."""
    found: list[Finding] = []
    try:
        found += _git_program()
        tiers = discover.find(path, mend=False)
    except GitmemError as error:
        return [*found, _of_error(error, None)]
    memory = Memory(tiers, path, traceless=True)
    found += [*_not_set_up(tiers), *_person(memory), *_own_folders()]
    for scope in memory.scopes:
        tier = Examined(memory, memory.store(scope))
        for check in CHECKS:
            found += _guarded(check, tier)
    return list(dict.fromkeys(found))


def _guarded(check: Check, tier: Examined) -> Iterator[Finding]:
    """What a check finds; where it can't look any further, why."""
    try:
        yield from check(tier)
    except GitmemError as error:
        yield _of_error(error, tier.scope)


def _of_error(error: GitmemError, tier: str | None) -> Finding:
    return _finding(error.reference, error.message, error.hint or "gitmem git fsck", tier)


def _finding(kind: str, message: str, hint: str, tier: str | None = None) -> Finding:
    return Finding(kind, tier, None, None, message, hint)


# -- the machine ---------------------------------------------------------------------------------


def _git_program() -> Iterator[Finding]:
    version = health.git_version()
    if version < OLDEST_GIT:
        yield _finding(
            "git-too-old",
            f"git is {'.'.join(map(str, version))}, and gitmem needs 2.39 or newer",
            "install git 2.39 or newer",
        )


def _not_set_up(tiers: Tiers) -> Iterator[Finding]:
    wanted = {"project": tiers.project, "user": tiers.user}
    for scope, place in wanted.items():
        if place is None and (scope == "user" or tiers.here is not None):
            message = f"there is no {scope} memory here yet"
            yield _finding("no-such-tier", message, f"gitmem init --scope {scope}", scope)


def _person(memory: Memory) -> Iterator[Finding]:
    try:
        memory.person()
    except BadInputError as error:
        yield _of_error(error, None)


def _own_folders() -> Iterator[Finding]:
    """The folders of ours outside the project, which need not exist but must not be in the way."""
    what = {config.cache_dir(): "the view cache", config.state_dir(): "the witness"}
    for folder, kept in what.items():
        place = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
        if not place.is_dir():
            yield _finding(
                "folder-in-the-way",
                f"{kept} can't be kept: '{place}' is no folder",
                f"move it away: mv {shlex.quote(str(place))} {shlex.quote(f'{place}.old')}",
            )
        elif not os.access(place, os.W_OK | os.X_OK):
            yield _finding(
                "cannot-write",
                f"{kept} can't be kept: '{place}' can't be written",
                f"chmod u+rwx {shlex.quote(str(place))}",
            )


# -- the repository ------------------------------------------------------------------------------


def _links(tier: Examined) -> Iterator[Finding]:
    stale = discover.stale_links(tier.place)
    if stale:
        yield tier.finding(
            "links-stale",
            "the project was moved or copied: git still has the old place in "
            + ", ".join(f"'{path}'" for path in stale),
            "gitmem init (every other command mends it too)",
        )


def _config(tier: Examined) -> Iterator[Finding]:
    place = tier.place
    bare = place.git_dir.name == layout.HOST_REPOSITORY
    wanted = layout.tier_config(place.git_dir, bare=bare)
    if discover.stale_links(place):
        del wanted["core.hooksPath"]
    wrong = tierrepo.wrong_config(place.git_dir, wanted)
    if wrong:
        yield tier.finding(
            "config-wrong",
            f"the repository's config does not say what merges there rely on: {', '.join(wrong)}",
            "gitmem init",
        )


def _objects(tier: Examined) -> Iterator[Finding]:
    git_dir = tier.place.git_dir
    if health.is_shallow(git_dir):
        yield tier.finding(
            "shallow",
            "the repository has only a part of its history: what was approved can't be read",
            f"{tier.git} fetch --unshallow",
        )
    missing = health.missing_objects(git_dir)
    if missing:
        remotes = health.remotes(git_dir, layout.MAIN)
        source = remotes[0].name if remotes else "<another clone of this memory>"
        yield tier.finding(
            "objects-missing",
            f"{_counted(len(missing), 'object')} missing, such as {missing[0]}",
            f"{tier.git} fetch --refetch {source}",
        )


def _locks(tier: Examined) -> Iterator[Finding]:
    place = tier.place
    for lock in health.locks(place.git_dir, place.admin_dir, before=clock.now() - _LOCK_IS_OLD):
        yield tier.finding(
            "lock-left",
            f"'{lock}' stops git and gitmem there",
            f"if no git runs there: rm {shlex.quote(str(lock))}",
        )


def _hooks(tier: Examined) -> Iterator[Finding]:
    status = hooks.status(tier.place)
    if not status.merges:
        yield tier.finding(
            "merge-driver-missing",
            "plain git does not merge entries by gitmem's rule here",
            "gitmem hooks install",
        )
    for hook in status.hooks:
        if hook.state == "foreign" and hook.local:
            local = shlex.quote(str(status.folder / f"{hook.name}{hooks.LOCAL}"))
            yield tier.finding(
                "hook-foreign",
                f"the hook {hook.name} is somebody else's, and so is {hook.name}{hooks.LOCAL}",
                f"make one of the two, then: rm {local} && gitmem hooks install",
            )
        elif hook.state != "current":
            what = "somebody else's" if hook.state == "foreign" else hook.state
            yield tier.finding(
                f"hook-{hook.state}", f"the hook {hook.name} is {what}", "gitmem hooks install"
            )


# -- the folder ----------------------------------------------------------------------------------


def _folder(tier: Examined) -> Iterator[Finding]:
    place = tier.place
    if place.folder is None:
        return
    if not tierrepo.is_linked(place):
        yield tier.finding(
            "folder-apart",
            f"'{place.folder}' is not there, or is not linked to its repository",
            "gitmem init",
        )
        return
    state = checkout.folder_state(tierrepo.place_of(place))
    if state.operation is not None:
        yield tier.finding(
            "operation-in-progress",
            f"a {state.operation} is in progress in '{place.folder}', and stops every decision",
            f"finish it with git there, or: {tier.git} {state.operation} --abort",
        )
        return
    if state.branch != layout.MAIN:
        where = f"on the branch {state.branch}" if state.branch else "on no branch"
        yield tier.finding(
            "folder-elsewhere",
            f"'{place.folder}' is {where}, not on memory/main",
            f"{tier.git} switch memory/main",
        )
        return
    if checkout.lags(tierrepo.place_of(place)):
        yield tier.finding(
            "folder-behind", f"'{place.folder}' does not show memory/main", "gitmem init"
        )
    edited = (*state.edited, *state.deleted, *state.untracked)
    if edited:
        yield tier.finding(
            "uncommitted-edits",
            f"not as in memory/main, and read by nobody: {_listed(edited)} in '{place.folder}'",
            f"gitmem adopt --scope {tier.scope} (review them), or "
            f"{tier.git} stash --include-untracked (put them away)",
        )


def _exclude(tier: Examined) -> Iterator[Finding]:
    host = tier.place.host
    if host is None:
        return
    if not exclude.is_there(host.common_dir):
        yield tier.finding(
            "exclude-missing",
            f"nothing keeps {layout.FOLDER}/ out of the git status of the code",
            "gitmem init",
        )
    elif host.top is not None and _is_taken_in(host.top):
        yield tier.finding(
            "ignored-not",
            f"a .gitignore of the project takes {layout.FOLDER}/ in, so that git add would",
            f"take out its line with !: git check-ignore -v {layout.FOLDER}",
        )


def _is_taken_in(top: Path) -> bool:
    args = ("check-ignore", "--quiet", f"{layout.FOLDER}/")
    return program.run(*args, cwd=top, check=False).code == 1


def _drop_box(tier: Examined) -> Iterator[Finding]:
    if tier.scope != "project":
        return
    waiting = []
    for dropped in tier.memory.dropped():
        if dropped.fault is not None:
            yield tier.finding(
                "drop-faulty",
                f"'{dropped.path}' can't become a candidate: {dropped.fault}",
                f"put it right, or: rm {shlex.quote(str(dropped.path))}",
            )
        elif dropped.at < clock.now() - _DROP_IS_OLD:
            waiting.append(str(dropped.path))
    if waiting:
        yield tier.finding(
            "drop-unclaimed",
            f"in the drop box since more than a day: {_listed(waiting)}",
            "gitmem adopt",
        )


# -- plain git's view ----------------------------------------------------------------------------


def _unseen_settings(tier: Examined) -> Iterator[Finding]:
    """Settings that gitmem takes from the host, and plain git in the memory repository does not."""
    place = tier.place
    if place.host is None:
        return
    reaching = bool(health.remotes(place.git_dir, layout.MAIN))
    unseen = hostremote.unseen(place.host, place.git_dir, reaching=reaching)
    keys = [key for key, _ in unseen]
    where = shlex.quote(str(place.host.top or place.host.common_dir))
    for key in dict.fromkeys(keys):
        # The value may be a secret, so that it is named and not shown.
        name = shlex.quote(key)
        commands = [
            f"{tier.git} config --add {name} "
            f'"$(git -C {where} config --get-all {name} | tail -n +{number} | head -n 1)"'
            for number in range(1, keys.count(key) + 1)
        ]
        if len(commands) == 1:
            commands = [f'{tier.git} config {name} "$(git -C {where} config {name})"']
        yield tier.finding(
            "setting-unseen",
            f"{key} is set for the code alone: plain git does not see it in the memory folder",
            " && ".join(commands),
        )


# -- remotes -------------------------------------------------------------------------------------


def _remotes(tier: Examined) -> Iterator[Finding]:
    git_dir = tier.place.git_dir
    for remote in health.remotes(git_dir, layout.MAIN):
        section = f"remote.{remote.name}"
        wanted = layout.remote_config(remote.name, remote.url)
        keys = {key for key, _ in wanted}
        there = [pair for pair in health.settings(git_dir, section) if pair[0] in keys]
        if sorted(wanted) != sorted(there):
            yield tier.finding(
                "remote-config",
                f"the remote '{remote.name}' is not set up for memory/* alone",
                f"gitmem remote --scope {tier.scope} {shlex.quote(remote.url)}",
            )
        yield from _against(tier, remote)


def _against(tier: Examined, remote: Remote) -> Iterator[Finding]:
    if remote.main is None:
        yield tier.finding(
            "never-synced",
            f"nothing of memory/main was ever fetched from '{remote.name}' or pushed there",
            "gitmem sync",
        )
        return
    ahead, behind = health.apart(tier.place.git_dir, tier.store.main(), remote.main)
    if ahead and behind:
        yield tier.finding(
            "diverged",
            f"memory/main and that of '{remote.name}' have gone apart: "
            f"{_counted(ahead, 'commit')} here, {_counted(behind, 'commit')} there",
            "gitmem sync",
        )
    elif ahead:
        yield tier.finding(
            "unpushed",
            f"'{remote.name}' lacks {_counted(ahead, 'commit')} of memory/main",
            "gitmem sync",
        )
    elif behind:
        yield tier.finding(
            "behind",
            f"'{remote.name}' has {_counted(behind, 'commit')} that memory/main has not",
            "gitmem sync",
        )


def _merge_style(tier: Examined) -> Iterator[Finding]:
    """Unreviewed commits that a forge's merges and reverts have left, here or at a remote."""
    ours = tier.store.ledger()
    yield from _made_by_forge(tier, ours, {}, "memory/main", "")
    for remote in health.remotes(tier.place.git_dir, layout.MAIN):
        if remote.main is not None and remote.main not in ours.position:
            theirs = tier.store.ledger_at(remote.main)
            where = f"memory/main of '{remote.name}'"
            yield from _made_by_forge(tier, theirs, ours.position, where, "gitmem sync, then ")


def _made_by_forge(
    tier: Examined, ledger: Ledger, known: Collection[str], where: str, before: str
) -> Iterator[Finding]:
    blamed = {one.commit: one for key in ledger.view.held for one in ledger.culprits(key)}
    commits = (tier.store.objects.commit(id_) for id_ in blamed.keys() - known)
    made = sorted((one.id for one in commits if _is_forges(one)), key=ledger.position.__getitem__)
    if not made:
        return
    first, last = blamed[made[0]], made[-1]
    span = f"{first.parents[0][:12]}..{last[:12]}" if first.parents else last[:12]
    what = f"{last[:12]} on {where} was"
    if len(made) > 1:
        what = f"{len(made)} commits on {where}, the last one {last[:12]}, were"
    yield tier.finding(
        "merge-style",
        f"{what} made by a forge's squash, rebase, fast-forward or revert: none approves anything",
        f"{before}gitmem adopt {span}; and allow merge commits alone there (docs/forges.md)",
    )


def _is_forges(commit: Commit) -> bool:
    """Whether a commit with one parent looks as if a forge had made it of a pull request."""
    if len(commit.parents) > 1:
        return False
    message = trailers.parse(commit.message)
    return (
        message.first(trailers.CANDIDATE) is not None
        or _SQUASHED.search(message.subject) is not None
        or _REVERTED.search(commit.message) is not None
        or commit.committer.email == _FORGE
    )


# -- signing -------------------------------------------------------------------------------------


def _signing(tier: Examined) -> Iterator[Finding]:
    """Where approvals must be signed: whether there are keys, and whether one's own is among them."""
    there = trust.read(tier.place.git_dir)
    if not there.signed:
        return
    add = f"gitmem signers add --scope {tier.scope}"
    if not there.signers:
        yield tier.finding(
            "no-signers",
            "approvals must be signed, and no key counts: nothing can be approved",
            add,
        )
        return
    own = tier.store.signing().told_key()
    if own is not None and own.fingerprint not in {signer.key for signer in there.signers}:
        yield tier.finding(
            "key-not-listed",
            f"approvals must be signed, and the key that git signs with, {own.fingerprint}, "
            "does not count",
            add,
        )


# -- sessions ------------------------------------------------------------------------------------


def _sessions(tier: Examined) -> Iterator[Finding]:
    """Sessions without a record, or that can't be read; looked at in the tier that has the records."""
    home = tier.place
    if sessions.home_of(tier.memory.found) != home:
        return
    for name in records.names(home):
        try:
            records.line(home, name)
        except GitmemError as error:
            yield _of_error(error, tier.scope)
    for folder in sessionfiles.listed(home):
        yield from _session(tier, folder)
    for left in sessionfiles.leftovers(home):
        yield tier.finding(
            "session-left",
            f"'{left}' is of a session that was forgotten, and was not removed whole",
            f"rm -r {shlex.quote(str(left))}",
        )


def _session(tier: Examined, folder: SessionFolder) -> Iterator[Finding]:
    text = folder.look()
    if isinstance(text, str):
        yield tier.finding(
            "session-unreadable",
            f"'{folder.file}' can't be read, and the text before it is used: {text}",
            f"put it right, or: gitmem session forget {folder.session}",
        )
    elif refs.read(tier.place.git_dir, layout.session_ref(folder.session)) is None:
        ended = text.ended_at is not None
        yield tier.finding(
            "record-missing",
            f"nothing records what the session {folder.session} is given",
            f"gitmem session {'forget' if ended else 'start'} {folder.session}",
        )


# -- what verify finds ---------------------------------------------------------------------------


def _verified(tier: Examined) -> Iterator[Finding]:
    yield from audit.verify(tier.memory, scope=tier.scope).findings


def _listed(names: Iterable[str]) -> str:
    first, *more = names
    return f"{first} and {len(more)} more" if more else first


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


CHECKS: tuple[Check, ...] = (
    _links,
    _config,
    _locks,
    _objects,
    _folder,
    _hooks,
    _exclude,
    _unseen_settings,
    _remotes,
    _merge_style,
    _verified,
    _signing,
    _drop_box,
    _sessions,
)
