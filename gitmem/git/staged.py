"""What the next commit in a worktree changes, as its index has it.

The git program is asked: a hook looks at a few files, and loading pygit2 takes longer than that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from gitmem.git import program
from gitmem.layout import EMPTY_TREE
from gitmem.model.history import Blob


def changed(git_dir: Path, index: Path) -> dict[str, Blob]:
    """The files that `index` adds to HEAD or has otherwise than HEAD, by path.

    `git_dir` is the worktree's own git directory. Files that are gone are not among them. Raises
    GitFailedError.
    """
    # An unborn branch has no HEAD commit yet.
    born = program.run("rev-parse", "--verify", "--quiet", "HEAD", git_dir=git_dir, check=False)
    listed = program.run(
        *("diff-index", "--cached", "--raw", "-r", "-z", "--no-renames", "--no-abbrev"),
        *("--diff-filter=d", "HEAD" if born.code == 0 else EMPTY_TREE, "--"),
        git_dir=git_dir,
        env={"GIT_INDEX_FILE": str(index.absolute())},
    )
    fields = listed.out.split(b"\0")
    found: dict[str, Blob] = {}
    for head, path in zip(fields[:-1:2], fields[1::2], strict=True):
        _, mode, _, id_, _ = head.decode("ascii").split(" ")
        found[os.fsdecode(path)] = Blob(id_, int(mode, 8))
    return found


def contents(git_dir: Path, blobs: Iterable[str]) -> dict[str, bytes]:
    """The bytes of blobs by id; one that is missing is left out. Raises GitFailedError."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    answer = program.run("cat-file", "--batch", git_dir=git_dir, input=asked).out
    found: dict[str, bytes] = {}
    at = 0
    while at < len(answer):
        end = answer.index(b"\n", at)
        head = answer[at:end].split(b" ")
        at = end + 1
        if len(head) == 3:
            size = int(head[2])
            found[head[0].decode("ascii")] = answer[at : at + size]
            at += size + 1
    return found


def common_dir(git_dir: Path) -> Path:
    """The repository that a worktree's git directory belongs to: itself, unless it is linked."""
    named = git_dir / "commondir"
    if not named.is_file():
        return git_dir.resolve()
    return (git_dir / os.fsdecode(named.read_bytes().rstrip(b"\n"))).resolve()
