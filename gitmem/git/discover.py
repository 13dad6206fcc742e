"""Which tiers hold at a place, and where they are now.

Runs at every command, so it costs one or two git processes and some looks at the disk. What git
keeps as absolute paths is compared with where things are, and rewritten: after a rename, a move
or a copy, git would otherwise write into a folder that is gone or into the original.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from gitmem import config, files, layout
from gitmem.errors import BadInputError
from gitmem.git import program
from gitmem.layout import Host, Project, TierPlace, Tiers

_ASK = ("rev-parse", "--path-format=absolute")
_COMMON_DIR, _INSIDE, _TOP = "--git-common-dir", "--is-inside-work-tree", "--show-toplevel"
_HOOKS_LINE = re.compile(
    rb"^[ \t]*hookspath[ \t]*=[ \t]*(.*?)[ \t]*$", re.IGNORECASE | re.MULTILINE
)


def find(path: Path, *, mend: bool = True) -> Tiers:
    """The tiers that hold at the folder `path`, with stale links mended unless `mend` is off.

    Raises BadInputError: `no-such-folder`, `unsafe-repository`, `bare-repository-refused`, and
    `host-tracks-memory` where the host has files of `.custom-agent/` in its index.
    """
    place = standing(path)
    user = user_tier()
    host = host_of(place) if place else None
    if host is not None and host.top is not None and os.path.lexists(host.top / layout.FOLDER):
        refuse_tracked(host)
    project: TierPlace | None = None
    here: Project | None = None
    folder = _own_repository(place, host) if place else None
    if folder is not None:
        project = layout.folder_tier("project", folder, host)
        here = Project(folder.parent.parent, host)
    elif host is not None:
        project = _host_tier(host)
        here = Project(_root(project, host), host)
    found = [_checked(tier) for tier in (user, project) if tier is not None]
    mended = frozenset(tier.scope for tier in found if mend and mend_links(tier))
    return Tiers(user, project, here, mended)


def user_tier() -> TierPlace | None:
    """The user tier, or None where there is none yet."""
    tier = layout.folder_tier("user", config.user_memory_folder().resolve())
    return tier if tier.git_dir.is_dir() else None


def host_of(path: Path) -> Host | None:
    """The git repository that the folder `path` is in, or None; ours are never taken for one.

    Only the git program is asked, so the repository may have any format that git knows.
    """
    place = standing(path)
    if place is None:
        return None
    within = layout.host_common_dir(place)
    if within is not None:
        return Host(within, None)
    result = program.run(*_ASK, _COMMON_DIR, _INSIDE, _TOP, cwd=place, check=False)
    common_dir, inside, top = (*result.out.split(b"\n")[:3], b"", b"", b"")[:3]
    if result.out.count(b"\n") > 3:
        # Paths hold line ends, and git has no other separator here: one answer at a time, then.
        common_dir, inside, top = (_asked(place, what) for what in (_COMMON_DIR, _INSIDE, _TOP))
    if result.code == 0 or inside == b"false":
        common = _path(common_dir)
        around = standing(common)
        if around != common.resolve() or layout.host_common_dir(common) is not None:
            # A worktree of a tier's own repository, such as a replay puts somewhere.
            return None if around is None else host_of(around)
        return Host(common, _path(top) if top else None)
    if "not a git repository (or any" in result.message:
        return None
    if "safe.bareRepository" in result.message:
        raise BadInputError(
            "bare-repository-refused",
            "git is told to open no bare repository that it was not pointed to",
            context=result.message,
            hint="run this in a worktree of the repository",
        )
    raise program.failed(_ASK, result)


def standing(path: Path) -> Path | None:
    """Where to look from: the real folder, outside all that is ours; None outside any project.

    Raises BadInputError `no-such-folder`.
    """
    if not path.is_dir():
        raise BadInputError("no-such-folder", f"there is no folder '{path}'")
    real = path.resolve()
    for ours in (config.user_memory_folder(), config.state_dir()):
        if real.is_relative_to(ours.resolve()):
            return None
    return layout.outside_our_folder(real)


def refuse_tracked(host: Host) -> None:
    """Raise BadInputError `host-tracks-memory` where the host's index has files of ours."""
    if host.top is None:
        return
    spec = f":(top,icase){layout.FOLDER}"
    tracked = program.run("ls-files", "-z", "--", spec, cwd=host.top).out
    if not tracked:
        return
    names = [os.fsdecode(name) for name in tracked.split(b"\0")[:-1]]
    raise BadInputError(
        "host-tracks-memory",
        f"the code repository tracks files below {layout.FOLDER}/",
        context=", ".join(names[:3]) + (", …" if len(names) > 3 else ""),
        hint=f"take them out, the files stay: git -C '{host.top}' rm -r --cached {layout.FOLDER}, then commit",
    )


def worktrees(host: Host) -> tuple[Path, ...]:
    """The tops of the host's worktrees that exist: the one asked from, the main one, the linked ones.

    The main worktree of a repository with a separate git directory is known only from inside it.
    """
    found = [top for top in (host.top, _main_top(host.common_dir)) if top is not None]
    found += _linked_tops(host.common_dir)
    return tuple(dict.fromkeys(found))


def drop_boxes(here: Project) -> list[Path]:
    """The drop boxes of all worktrees of the host, or of the project's one folder, there or not."""
    roots = [here.root]
    if here.host is not None:
        roots += [top for top in worktrees(here.host) if top != here.root]
    return [layout.drop_box(root) for root in roots]


def mend_links(tier: TierPlace) -> bool:
    """Rewrite what git keeps as paths and what no longer fits; whether anything was rewritten.

    Where nothing can be written, reading goes on; whoever writes meets the same error and says it.
    """
    try:
        return _mend_worktree(tier) | _mend_hooks_path(tier.git_dir)
    except OSError:
        return False


def stale_links(tier: TierPlace) -> tuple[Path, ...]:
    """The files in which git keeps a path that no longer fits: what `mend_links` would rewrite."""
    stale = [path for path, content in _link_files(tier) if files.read_if_there(path) != content]
    if _has_wrong_hooks_path(tier.git_dir):
        stale.append(tier.git_dir / "config")
    return tuple(stale)


def linked_to(folder: Path) -> Path | None:
    """What the `.git` file of a folder points to, whether that exists or not; None without one."""
    dot_git = folder / ".git"
    if dot_git.is_symlink() or not dot_git.is_file():
        return None
    content = dot_git.read_bytes()
    if not content.startswith(b"gitdir: "):
        return None
    return Path(os.path.normpath(folder / _path(content[8:].rstrip(b"\r\n"))))


def _asked(place: Path, what: str) -> bytes:
    return program.run(*_ASK, what, cwd=place, check=False).out.removesuffix(b"\n")


def _path(raw: bytes) -> Path:
    return Path(os.fsdecode(raw))


def _root(tier: TierPlace | None, host: Host) -> Path:
    """Where the host's `.custom-agent` lies: at the memory folder, else where the user stands."""
    if tier is not None and tier.folder is not None:
        return tier.folder.parent.parent
    tops = (host.top,) if host.top else worktrees(host)
    return tops[0] if tops else host.common_dir / layout.HOST_FOLDER


def _own_repository(place: Path, host: Host | None) -> Path | None:
    """The nearest memory folder above `place` that is a repository itself, within the host.

    At the host's top itself it is that of a project that became a host after `init`.
    """
    folders = (layout.memory_folder(root) for root in _roots_above(place, host))
    return next((folder for folder in folders if (folder / ".git").is_dir()), None)


def _roots_above(place: Path, host: Host | None) -> Iterator[Path]:
    if host is None:
        yield from (place, *place.parents)
    elif host.top is not None:
        within = [root for root in (place, *place.parents) if root.is_relative_to(host.top)]
        has_tier = layout.host_repository(host.common_dir).is_dir()
        yield from (root for root in within if not (has_tier and root == host.top))


def _host_tier(host: Host) -> TierPlace | None:
    if not layout.host_repository(host.common_dir).is_dir():
        return None
    return layout.host_tier(host, _linked_folder(host))


def _linked_folder(host: Host) -> Path | None:
    """The linked worktree of the host's tier: where it is, else where it was and can be again."""
    admin = layout.worktree_admin(layout.host_repository(host.common_dir))
    recorded = _recorded_folder(admin)
    asked = [recorded] if recorded else []
    if host.top is not None:
        asked.append(layout.memory_folder(host.top))
    if found := next((folder for folder in asked if linked_to(folder) == admin), None):
        return found
    tops = worktrees(host)
    asked += [layout.memory_folder(top) for top in tops]
    for fits in (lambda link: link == admin, _lost_link):
        if found := next((folder for folder in asked if fits(linked_to(folder))), None):
            return found
    return recorded if recorded is not None and recorded.parent.parent in tops else None


def _recorded_folder(admin: Path) -> Path | None:
    """The memory folder that git keeps as the place of the linked worktree."""
    recorded = files.read_if_there(admin / "gitdir")
    if recorded is None:
        return None
    folder = _path(recorded.rstrip(b"\n")).parent
    return folder if layout.project_root(folder) is not None else None


def _lost_link(link: Path | None) -> bool:
    """Whether a link is to a tier's repository that is no longer there: the folder or the host moved."""
    if link is None or link.exists():
        return False
    return link == layout.worktree_admin(layout.host_repository(link.parents[3]))


def _mend_worktree(tier: TierPlace) -> bool:
    mended = False
    for path, content in _link_files(tier):
        mended |= _rewrite(path, content)
    return mended


def _link_files(tier: TierPlace) -> Iterator[tuple[Path, bytes]]:
    """The files that link a tier's repository and its folder, and what they must say."""
    if not tier.linked or tier.folder is None or not tier.admin_dir.is_dir():
        return
    yield tier.admin_dir / "gitdir", os.fsencode(tier.folder / ".git") + b"\n"
    if linked_to(tier.folder) is not None:
        yield tier.folder / ".git", link_line(tier.folder, tier.admin_dir)


def link_line(folder: Path, admin_dir: Path) -> bytes:
    """The content of a linked folder's `.git` file: relative, so that plain git works after a move."""
    return b"gitdir: " + os.fsencode(os.path.relpath(admin_dir, folder)) + b"\n"


def _mend_hooks_path(git_dir: Path) -> bool:
    """Whether the hooks path in the tier's config was of another place, and is right now."""
    if not _has_wrong_hooks_path(git_dir):
        return False
    right = str(layout.hooks_path(git_dir))
    args = ("config", "--file", str(git_dir / "config"), "core.hooksPath", right)
    return program.run(*args, check=False).code == 0


def _has_wrong_hooks_path(git_dir: Path) -> bool:
    line = _HOOKS_LINE.search(files.read_if_there(git_dir / "config") or b"")
    return line is not None and _path(_unquoted(line[1])) != layout.hooks_path(git_dir)


def _unquoted(value: bytes) -> bytes:
    """A config value as `git config` writes a path: perhaps in quotes, some characters escaped."""
    if value.startswith(b'"') and value.endswith(b'"') and len(value) > 1:
        value = value[1:-1]
    return re.sub(
        rb"\\(.)", lambda escape: {b"n": b"\n", b"t": b"\t"}.get(escape[1], escape[1]), value
    )


def _rewrite(path: Path, content: bytes) -> bool:
    if files.read_if_there(path) == content:
        return False
    files.write_whole(path, content)
    return True


def _checked(tier: TierPlace) -> TierPlace:
    """The tier, unless its repository is another user's whom git was not told to trust.

    Git makes this check only where it finds a repository by itself, and we always name it.
    """
    if tier.git_dir.stat().st_uid != os.geteuid():
        place = tier.git_dir if tier.folder is None or tier.linked else tier.folder
        program.run("-c", "safe.bareRepository=all", "rev-parse", "--git-dir", cwd=place)
    return tier


def _main_top(common_dir: Path) -> Path | None:
    """The main worktree of a host, as far as its git directory tells."""
    args = ("config", "--file", str(common_dir / "config"), "--type=path", "--get", "core.worktree")
    named = program.run(*args, check=False)
    top = common_dir / named.text if named.code == 0 else common_dir.parent
    top = Path(os.path.realpath(top))
    return top if _git_dir_of(top) == common_dir else None


def _linked_tops(common_dir: Path) -> list[Path]:
    """The host's linked worktrees that exist and point back, by name."""
    found = []
    for admin in sorted(common_dir.glob("worktrees/*")):
        recorded = files.read_if_there(admin / "gitdir")
        if recorded is not None:
            top = (admin / _path(recorded.rstrip(b"\n"))).parent
            if _git_dir_of(top) == admin:
                found.append(Path(os.path.realpath(top)))
    return found


def _git_dir_of(top: Path) -> Path | None:
    """The git directory that the worktree `top` points to, by its real path."""
    dot_git = top / ".git"
    if dot_git.is_dir():
        return dot_git.resolve()
    link = linked_to(top)
    return link.resolve() if link is not None else None
