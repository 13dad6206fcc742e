"""The merge rule for plain git: a merge driver, registered in a tier's own config and attributes.

Never in the tree, where it would be everybody's. Where it is not registered, or gitmem does not run,
git makes its own text merge, which counts as well. How git calls a driver: gitattributes(5).
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from gitmem import config, files
from gitmem.errors import ConflictError
from gitmem.git import program
from gitmem.layout import Scope
from gitmem.model import merge
from gitmem.model.entries import key_of_path

_SECTION = "merge.gitmem"
_NAME = "gitmem's merge rule for entries"
_ATTRIBUTES = b"*.md merge=gitmem\n"
_TEXT_MERGE = "git merge-file -L here -L before -L there %A %O %B"


def _driver() -> str:
    """The command line: what the rule has no answer for is git's own merge, with its markers."""
    # -P: the current folder holds what agents write, and no module is loaded from there.
    ours = f"{shlex.quote(sys.executable)} -P -m gitmem".replace("%", "%%")
    return f"{ours} hooks merge %O %A %B %P 2>/dev/null || {_TEXT_MERGE}"


def _wanted() -> dict[str, str]:
    return {f"{_SECTION}.name": _NAME, f"{_SECTION}.driver": _driver()}


def is_registered(git_dir: Path) -> bool:
    """Whether plain git merges entries here by this gitmem's rule."""
    there = files.read_if_there(_attributes(git_dir)) or b""
    found = {key: _configured(git_dir, key) for key in _wanted()}
    return _ATTRIBUTES in there.splitlines(keepends=True) and found == _wanted()


def register(git_dir: Path) -> bool:
    """Have plain git merge entries by the rule; whether anything was missing for that."""
    if is_registered(git_dir):
        return False
    for key, value in _wanted().items():
        program.run("config", "--file", str(git_dir / "config"), "--replace-all", key, value)
    path = _attributes(git_dir)
    there = files.read_if_there(path) or b""
    if _ATTRIBUTES not in there.splitlines(keepends=True):
        path.parent.mkdir(exist_ok=True)
        # A line of the user's further down goes before ours.
        files.write_whole(path, _ATTRIBUTES + there)
    return True


def unregister(git_dir: Path) -> bool:
    """Take out what `register` wrote, and nothing else; whether there was anything of it."""
    path = _attributes(git_dir)
    lines = (files.read_if_there(path) or b"").splitlines(keepends=True)
    kept = [line for line in lines if line != _ATTRIBUTES]
    if kept:
        files.write_whole(path, b"".join(kept))
    else:
        path.unlink(missing_ok=True)
    args = ("config", "--file", str(git_dir / "config"), "--remove-section", _SECTION)
    return program.run(*args, check=False).code == 0 or kept != lines


def _attributes(git_dir: Path) -> Path:
    return git_dir / "info" / "attributes"


def _configured(git_dir: Path, key: str) -> str | None:
    args = ("config", "--file", str(git_dir / "config"), "--get", key)
    found = program.run(*args, check=False)
    return found.text if found.code == 0 else None


def merge_files(base: Path, ours: Path, theirs: Path, path: str, *, tier: Scope) -> None:
    """Merge three files as git's drivers do: the result goes into `ours`. `path` is the file's name.

    Raises ConflictError `merge-conflicts` where the rule has no answer; then nothing is written.
    """
    key = key_of_path(path)
    # git gives an empty file where there is no base.
    sides = [files.read_if_there(base) or None, ours.read_bytes(), theirs.read_bytes()]
    if key is None:
        raise ConflictError("merge-conflicts", f"'{path}' is no entry")
    applied: merge.Side = "ours" if config.joins_lines() else "theirs"
    merged = merge.merge_file(key, *sides, tier=tier, applied=applied)
    if merged is None or isinstance(merged, merge.Conflict):
        why = "deleted" if merged is None else merged.reason
        raise ConflictError("merge-conflicts", f"'{path}' can't be merged: {why}")
    ours.write_bytes(merged)
