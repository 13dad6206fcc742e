"""The witness: the last tips of `memory/main`, here and at the remote, that this machine has seen.

Kept outside the project, they tell a rewritten history from an old one. A repository is known by
its folder's device and inode, which a rename or a move leaves as they are and
a copy does not; the path beside it tells a number that was given out again.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from gitmem import config, files
from gitmem.git.bulk import Batch


def read(git_dir: Path) -> str | None:
    """The tip that was seen last, or None where there is no record of this repository."""
    return _tip(git_dir, _record(git_dir))


def _record(git_dir: Path, of: str = "") -> dict[str, object]:
    try:
        record = json.loads(files.read_if_there(_path(git_dir, of)) or b"null")
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _tip(git_dir: Path, record: dict[str, object]) -> str | None:
    tip = record.get("tip")
    if not isinstance(tip, str):
        return None
    if record.get("path") == str(git_dir) or Batch(git_dir).read(tip) is not None:
        return tip
    return None


def write(git_dir: Path, tip: str) -> None:
    """Record the tip of a repository. Raises OSError where the state folder can't be written."""
    path = _path(git_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"path": str(git_dir), "tip": tip}
    files.write_whole(path, json.dumps(record).encode())


def forget(git_dir: Path) -> None:
    """Delete what is recorded of a repository. Where it can't be written nothing happens."""
    forget_remote(git_dir)
    with suppress(OSError):
        _path(git_dir).unlink(missing_ok=True)


# -- the remote's ------------------------------------------------------------------------------


def read_remote(git_dir: Path, url: str) -> str | None:
    """The tip of `memory/main` that the remote at `url` had when it was seen last, or None."""
    record = _record(git_dir, "-remote")
    return _tip(git_dir, record) if record.get("url") == url else None


def write_remote(git_dir: Path, url: str, tip: str) -> None:
    """Record the tip of a repository's remote. Raises OSError as `write`."""
    path = _path(git_dir, "-remote")
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"path": str(git_dir), "url": url, "tip": tip}
    files.write_whole(path, json.dumps(record).encode())


def forget_remote(git_dir: Path) -> None:
    """Delete the record of a repository's remote. Where it can't be written nothing happens."""
    with suppress(OSError):
        _path(git_dir, "-remote").unlink(missing_ok=True)


def _path(git_dir: Path, of: str = "") -> Path:
    seen = git_dir.stat()
    return config.state_dir() / "witness" / f"{seen.st_dev}-{seen.st_ino}{of}.json"
