"""Where everything lies: ref names, folders, repositories, and the commit that every tier begins with.

Nothing here looks at a disk; `gitmem/git/discover.py` does. The picture is in `docs/git-format.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Scope = Literal["user", "project"]

MAIN = "refs/heads/memory/main"
CANDIDATES = "refs/heads/memory/candidate/"
DISCARDED = "refs/tags/memory/discarded/"
KEPT = "refs/memory/kept/"
SESSIONS = "refs/memory/session/"

FOLDER = ".custom-agent"
MEMORY = "memory"
DROP_BOX = "candidates"
SESSION_FOLDERS = "sessions"

# What a tier's repository is called after `deinit`: there for `init` to bring back, read by nobody.
RETIRED = "retired.git"
# Below the host's common git directory.
HOST_FOLDER = "gitmem"
HOST_REPOSITORY = "memory.git"
WORKTREE = "memory"

EXCLUDE_PATTERN = f"/{FOLDER}/"


@dataclass(frozen=True, slots=True)
class Host:
    """A git repository that a project's memory belongs to.

    `common_dir` is what all its worktrees share; `top` is the worktree that was asked from, None
    in a bare repository and inside a git directory.
    """

    common_dir: Path
    top: Path | None


@dataclass(frozen=True, slots=True)
class TierPlace:
    """Where a durable tier is: its repository, its files, and what git keeps about these.

    `folder` is None where there is no place for files now (a bare host, a removed worktree). It
    need not exist: deciding commands make it again. `admin_dir` holds the folder's HEAD and index;
    it is `git_dir` itself unless the folder is a linked worktree.
    """

    scope: Scope
    git_dir: Path
    folder: Path | None
    admin_dir: Path
    host: Host | None
    linked: bool


@dataclass(frozen=True, slots=True)
class Project:
    """A project: the folder in which `.custom-agent` lies or would lie, and its host if it has one."""

    root: Path
    host: Host | None


@dataclass(frozen=True, slots=True)
class Tiers:
    """The durable tiers that hold at a place; `here` is None outside a project.

    `mended` says where git had kept a path that was no longer so.
    """

    user: TierPlace | None
    project: TierPlace | None
    here: Project | None
    mended: frozenset[Scope] = frozenset()


def candidate_ref(candidate: str) -> str:
    """The branch of a pending candidate."""
    return CANDIDATES + candidate


def tracking_ref(remote: str, candidate: str) -> str:
    """A candidate's branch as the remote had it last."""
    return f"{tracking(remote)}candidate/{candidate}"


def tracking(remote: str) -> str:
    """What all branches of memory begin with, as the remote had them last."""
    return f"refs/remotes/{remote}/memory/"


def discarded_ref(candidate: str, closing: str) -> str:
    """The tag of a discarded candidate; `closing` is the closing commit's id in hex."""
    return f"{DISCARDED}{candidate}.{closing[:8]}"


def kept_ref(candidate: str) -> str:
    """The local anchor of a pending candidate."""
    return KEPT + candidate


def session_ref(session: str) -> str:
    """The local record of a session."""
    return SESSIONS + session


def memory_folder(root: Path) -> Path:
    """The project tier's files."""
    return root / FOLDER / MEMORY


def drop_box(root: Path) -> Path:
    """Where an agent that can't write the repository leaves its candidates."""
    return root / FOLDER / DROP_BOX


def sessions_folder(root: Path) -> Path:
    """Where a project's session tiers lie, one folder a session."""
    return root / FOLDER / SESSION_FOLDERS


def host_repository(common_dir: Path) -> Path:
    """The project tier's repository of the host with this common git directory."""
    return common_dir / HOST_FOLDER / HOST_REPOSITORY


def worktree_admin(git_dir: Path) -> Path:
    """What a bare tier repository keeps about its linked folder."""
    return git_dir / "worktrees" / WORKTREE


def retired_repository(git_dir: Path) -> Path:
    """Where `deinit` keeps the history of the tier whose repository is `git_dir`."""
    if git_dir.name == HOST_REPOSITORY:
        return git_dir.with_name(RETIRED)
    return git_dir.parent.parent / RETIRED


def project_root(folder: Path) -> Path | None:
    """The root that a memory folder says it belongs to, or None if its name is not that of one."""
    if folder.name == MEMORY and folder.parent.name == FOLDER:
        return folder.parent.parent
    return None


def outside_our_folder(path: Path) -> Path:
    """`path`, or the project's root where it lies in a folder of ours, whose repositories are no hosts."""
    parts = path.parts
    for at in range(len(parts) - 1):
        if parts[at] == FOLDER and parts[at + 1] in (MEMORY, DROP_BOX, SESSION_FOLDERS, RETIRED):
            return Path(*parts[:at])
    return path


def host_common_dir(path: Path) -> Path | None:
    """The host's common git directory where `path` lies in a tier's repository in it, else None."""
    parts = path.parts
    for at in range(1, len(parts) - 1):
        if parts[at] == HOST_FOLDER and parts[at + 1] in (HOST_REPOSITORY, RETIRED):
            return Path(*parts[:at])
    return None


def folder_tier(scope: Scope, folder: Path, host: Host | None = None) -> TierPlace:
    """The tier whose repository is `.git` in its folder."""
    git_dir = folder / ".git"
    return TierPlace(scope, git_dir, folder, git_dir, host, linked=False)


def host_tier(host: Host, folder: Path | None) -> TierPlace:
    """The project tier in a host; `folder` is its linked worktree, if there is a place for one."""
    git_dir = host_repository(host.common_dir)
    if folder is None:
        return TierPlace("project", git_dir, None, git_dir, host, linked=False)
    return TierPlace("project", git_dir, folder, worktree_admin(git_dir), host, linked=True)


EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


# Written down, so that looking for a tier need not load what computes them.
_ROOT_IDS: dict[Scope, str] = {
    "project": "ae1e350d19b4944c70fa0671365470fa86e1605e",
    "user": "9f8ec29abce8fc537b6c1d27dd9e4f644801cac8",
}


def root_commit(scope: Scope) -> bytes:
    """The commit that each tier of this scope begins with, byte for byte the same everywhere."""
    person = "gitmem <gitmem@localhost> 0 +0000"
    return (
        f"tree {EMPTY_TREE}\nauthor {person}\ncommitter {person}\n\nmemory: start {scope}\n"
    ).encode()


def root_id(scope: Scope) -> str:
    """The id of `root_commit(scope)` in hex."""
    return _ROOT_IDS[scope]


def hooks_path(git_dir: Path) -> Path:
    """A tier's own hooks; absolute in its config, since hooks run in different folders."""
    return git_dir / "hooks"


def tier_config(git_dir: Path, *, bare: bool) -> dict[str, str]:
    """What a tier's own config must say, whatever the user's says.

    Merges in it are never fast-forwards and never guess renames (git 2.39 obeys only the two
    settings together), a pull never rewrites commits, text is never converted, and nothing of
    git's own housekeeping forgets a folder that is away for a while.
    """
    return {
        "core.bare": "true" if bare else "false",
        "core.autocrlf": "false",
        "core.hooksPath": str(hooks_path(git_dir)),
        "gc.worktreePruneExpire": "never",
        "merge.ff": "false",
        "merge.renames": "false",
        "pull.rebase": "false",
        "pull.twohead": "recursive",
        "worktree.useRelativePaths": "false",
    }


def remote_config(name: str, url: str) -> tuple[tuple[str, str], ...]:
    """The config of a tier's remote: only `memory/*` is fetched and pushed, tags only by name."""
    section = f"remote.{name}"
    return (
        (f"{section}.url", url),
        (f"{section}.fetch", f"+refs/heads/memory/*:refs/remotes/{name}/memory/*"),
        (f"{section}.fetch", "refs/tags/memory/*:refs/tags/memory/*"),
        (f"{section}.tagopt", "--no-tags"),
        (f"{section}.push", "refs/heads/memory/*:refs/heads/memory/*"),
        (f"{section}.push", "refs/tags/memory/*:refs/tags/memory/*"),
    )
