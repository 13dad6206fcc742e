"""What can be wrong with a repository, looked at without a change; `gitmem doctor` tells of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gitmem.git import program, refs
from gitmem.git.lock import LOCK_FILE

_VERSION = re.compile(r"\d+(?:\.\d+)*")


class Remote(NamedTuple):
    """A remote of a repository: its name, its url, and the branch of `main` there as last fetched."""

    name: str
    url: str
    main: str | None


def git_version() -> tuple[int, ...]:
    """The version of the git program, as numbers. Raises BadInputError `git-missing`."""
    found = _VERSION.search(program.run("version").text)
    return tuple(map(int, found[0].split("."))) if found else ()


def missing_objects(git_dir: Path) -> list[str]:
    """The objects, as `<kind> <id>`, that refs need and the repository does not have, sorted."""
    checked = program.run(
        *("fsck", "--connectivity-only", "--no-dangling", "--no-progress", "--no-reflogs"),
        git_dir=git_dir,
        check=False,
    )
    lines = checked.text.splitlines()
    return sorted(line.removeprefix("missing ") for line in lines if line.startswith("missing "))


def is_shallow(git_dir: Path) -> bool:
    """Whether the repository has only a part of its history."""
    return (git_dir / "shallow").is_file()


def locks(*folders: Path, before: int) -> list[Path]:
    """Lock files of git in these git directories that are older than `before` (in seconds), sorted.

    git holds one for a moment, so that an old one is of a git that was killed, or of an editor
    that a `git commit -a` waits for.
    """
    found = {path for folder in folders for path in _lock_files(folder)}
    return sorted(path for path in found if _modified(path) < before)


def _lock_files(folder: Path) -> Iterator[Path]:
    yield from folder.glob("*.lock")
    for place, _, names in os.walk(folder / "refs"):
        yield from (Path(place, name) for name in names if name.endswith(".lock"))


def _modified(path: Path) -> float:
    try:
        return path.lstat().st_mtime if path.name != LOCK_FILE else float("inf")
    except FileNotFoundError:
        return float("inf")


def remotes(git_dir: Path, main: str) -> list[Remote]:
    """The remotes in the repository's own config, in its order, with their branch `main`."""
    args = ("config", "--file", str(git_dir / "config"), "-z", "--get-regexp", r"^remote\..*\.url$")
    listed = program.run(*args, check=False).out.split(b"\0")
    found: dict[str, str] = {}
    for item in filter(None, listed):
        key, _, url = os.fsdecode(item).partition("\n")
        found.setdefault(key.removeprefix("remote.").removesuffix(".url"), url)
    branch = main.removeprefix("refs/heads/")
    return [
        Remote(name, url, refs.listed(git_dir, f"refs/remotes/{name}/{branch}").get(tip))
        for name, url in found.items()
        for tip in [f"refs/remotes/{name}/{branch}"]
    ]


def apart(git_dir: Path, ours: str, theirs: str) -> tuple[int, int]:
    """How many commits each of two has that the other has not."""
    args = ("rev-list", "--left-right", "--count", f"{ours}...{theirs}", "--")
    left, right = program.run(*args, git_dir=git_dir).text.split("\t")
    return int(left), int(right)


def settings(git_dir: Path, section: str) -> list[tuple[str, str]]:
    """The keys and values below `section` in the repository's own config, in its order."""
    args = ("config", "--file", str(git_dir / "config"), "-z", "--list")
    listed = program.run(*args, check=False).out.split(b"\0")
    pairs = (os.fsdecode(item).partition("\n") for item in filter(None, listed))
    return [(key, value) for key, _, value in pairs if key.startswith(f"{section}.")]
