"""The view cache: what a tier's approved entries are at a tip, so that a context need not judge it.

Everything in it can be deleted at any time and is rebuilt from refs and objects.
It holds ids and numbers, never text: that always comes from blobs. `verify`
does not ask it, and says where it disagrees.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from gitmem import config, files
from gitmem.errors import BadInputError

# To be raised whenever what is derived, or how, changes: an older cache is then not looked at.
VERSION = 3


class Known(NamedTuple):
    """An approved entry: as `tiers.Memory`, without its text."""

    key: str
    type: str
    blob: str
    body: int
    """Where in the blob the body begins, in bytes."""
    position: int
    commit: str
    sessions: tuple[str, ...]


class CachedView(NamedTuple):
    """A tier at a tip: what is approved, unreviewed and unreadable there."""

    tip: str
    entries: tuple[Known, ...]
    unreviewed: tuple[tuple[str, str, str | None], ...]
    """For each entry: its key, the commit that changed it, and the blob that it has instead."""
    broken: tuple[tuple[str, str], ...]
    """For each approved entry that can't be read: its id and why."""


def read(git_dir: Path, tip: str, *, rule: int, approval: str) -> CachedView | None:
    """The view at `tip` as it was cached; None where there is none for just these.

    `rule` is the merge rule's number, `approval` says which approvals count (`trust.name`).
    """
    try:
        data = files.read_if_there(path_of(git_dir))
        document = json.loads(data) if data is not None else None
        if not isinstance(document, dict) or document.get("version") != [VERSION, rule, approval]:
            return None
        return _view(document["view"]) if document["view"]["tip"] == tip else None
    except (OSError, BadInputError, ValueError, TypeError, LookupError, RecursionError):
        return None


def write(git_dir: Path, view: CachedView, *, rule: int, approval: str) -> None:
    """Cache a view, in place of the one of another tip. Where it can't be written nothing happens."""
    document = {"version": [VERSION, rule, approval], "view": view._asdict()}
    with suppress(OSError, BadInputError):
        path = path_of(git_dir)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, json.dumps(document, separators=(",", ":")).encode())


def _view(document: dict[str, Any]) -> CachedView:
    view = CachedView(
        document["tip"],
        tuple(Known._make([*item[:-1], tuple(item[-1])]) for item in document["entries"]),
        tuple((key, commit, blob) for key, commit, blob in document["unreviewed"]),
        tuple((id_, why) for id_, why in document["broken"]),
    )
    texts = [text for known in view.entries for text in (*known[:3], known.commit, *known.sessions)]
    texts += [text for item in view.unreviewed for text in item[:2]]
    texts += [blob for *_, blob in view.unreviewed if blob is not None]
    texts += [text for item in view.broken for text in item]
    numbers = [number for known in view.entries for number in (known.body, known.position)]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is none")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise TypeError("a number is none")
    return view


def forget(git_dirs: Iterable[Path]) -> None:
    """Delete all caches of these repositories, not this one alone."""
    for git_dir in git_dirs:
        with suppress(OSError, BadInputError):
            name = path_of(git_dir).name
            for cache in config.cache_dir().glob(f"*/{name}"):
                cache.unlink(missing_ok=True)


def path_of(git_dir: Path) -> Path:
    """Where the cache of a repository lies, which is known by its device and inode."""
    seen = git_dir.stat()
    return config.cache_dir() / "view" / f"{seen.st_dev}-{seen.st_ino}.json"
