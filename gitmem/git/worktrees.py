"""Worktrees for looking around: detached, marked as ours, and taken away without harm to others.

The git program handles them. Each is locked with a reason that begins with `MARK`: git then
never prunes it, and nothing that a user made is taken for one of ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import ConflictError
from gitmem.git import program

MARK = "gitmem replay"
# No hook runs, and no attribute of the user's changes the bytes of a file.
_PLAIN = ("-c", f"core.hooksPath={os.devnull}", "-c", f"core.attributesFile={os.devnull}")


class Worktree(NamedTuple):
    """A linked worktree of a repository: where it is, its commit, why it is locked (None: it is not)."""

    path: Path
    commit: str
    reason: str | None


def add(git_dir: Path, path: Path, commit: str, about: str) -> None:
    """Put a detached worktree of `commit` at `path`, which must not be there.

    `about` stands behind the mark. Raises GitFailedError where git can't make it.
    """
    program.run(
        *(*_PLAIN, "worktree", "add", "--quiet", "--detach", "--lock"),
        *("--reason", f"{MARK} {about}", "--", str(path), commit),
        git_dir=git_dir,
    )


def ours_at(git_dir: Path, path: Path) -> Worktree | None:
    """The worktree at `path`, if there is one that `add` made."""
    wanted = os.path.realpath(path)
    return next(
        (
            one
            for one in _listed(git_dir)
            if os.path.realpath(one.path) == wanted and (one.reason or "").startswith(MARK)
        ),
        None,
    )


def check_unchanged(worktree: Worktree) -> None:
    """Raise ConflictError `checkout-changed` where a file is there that the commit has not just so."""
    if not worktree.path.is_dir():
        return
    status = (*_PLAIN, "status", "--porcelain", "-z", "--ignored", "--untracked-files=all")
    changed = program.run(*status, cwd=worktree.path).out.split(b"\0")[0]
    if changed:
        raise ConflictError(
            "checkout-changed",
            f"'{worktree.path}' has changes of yours",
            context=os.fsdecode(changed[3:]),
            hint="move them away, then repeat",
        )


def remove(git_dir: Path, worktree: Worktree) -> None:
    """Take away a worktree that `add` made, its folder with it. Raises as `check_unchanged`."""
    check_unchanged(worktree)
    program.run("worktree", "unlock", str(worktree.path), git_dir=git_dir)
    program.run("worktree", "remove", "--force", str(worktree.path), git_dir=git_dir)


def _listed(git_dir: Path) -> Iterator[Worktree]:
    out = program.run("worktree", "list", "--porcelain", "-z", git_dir=git_dir).out
    for block in out.split(b"\0\0"):
        fields = dict(line.partition(b" ")[::2] for line in block.split(b"\0") if line)
        if b"worktree" in fields and b"HEAD" in fields:
            reason = fields.get(b"locked")
            yield Worktree(
                Path(os.fsdecode(fields[b"worktree"])),
                fields[b"HEAD"].decode("ascii"),
                None if reason is None else reason.decode("utf-8", "replace"),
            )
