"""The witness: the last tip of `memory/main` that this machine has seen, kept outside the project.

It is what tells a rewritten history from an old one. A repository is known by
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
    data = files.read_if_there(_path(git_dir))
    if data is None:
        return None
    try:
        record = json.loads(data)
    except ValueError:
        return None
    tip = record.get("tip") if isinstance(record, dict) else None
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
    """Delete the record of a repository. Where it can't be written nothing happens."""
    with suppress(OSError):
        _path(git_dir).unlink(missing_ok=True)


def _path(git_dir: Path) -> Path:
    seen = git_dir.stat()
    return config.state_dir() / "witness" / f"{seen.st_dev}-{seen.st_ino}.json"
