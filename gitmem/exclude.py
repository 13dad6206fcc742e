"""The line in a host's `info/exclude` that keeps `.custom-agent` out of its `git status`.

What was there stays byte for byte, and comes back so when the line is taken out. The comment above
the line says what the file was like before, so that nothing else has to remember it.
"""

from __future__ import annotations

from pathlib import Path

from gitmem import files
from gitmem.layout import EXCLUDE_PATTERN, FOLDER

_PLAIN = b"# gitmem: memory is kept apart from the code"
_AFTER_OPEN_LINE = _PLAIN + b" (the line above had no end)"
_NEW_FILE = _PLAIN + b" (there was no such file)"
_NEW_FOLDER = _PLAIN + b" (there was no such folder)"
_PATTERN = EXCLUDE_PATTERN.encode()
_SAME = {_PATTERN, FOLDER.encode(), f"/{FOLDER}".encode(), f"{FOLDER}/".encode()}


def add(common_dir: Path) -> bool:
    """Have the host with this common git directory ignore `.custom-agent`; whether that was new."""
    path = common_dir / "info" / "exclude"
    before = files.read_if_there(path)
    if _holds(before):
        return False
    comment = _NEW_FILE if path.parent.is_dir() else _NEW_FOLDER
    path.parent.mkdir(exist_ok=True)
    files.write_whole(path, (before or b"") + _block(before, comment))
    return True


def is_there(common_dir: Path) -> bool:
    """Whether the host with this common git directory is told to ignore `.custom-agent`."""
    return _holds(files.read_if_there(common_dir / "info" / "exclude"))


def _holds(content: bytes | None) -> bool:
    return bool(_SAME & {line.rstrip(b"\r") for line in (content or b"").split(b"\n")})


def remove(common_dir: Path) -> bool:
    """Take out what `add` wrote, and nothing else; whether there was anything of it."""
    path = common_dir / "info" / "exclude"
    content = files.read_if_there(path) or b""
    for comment in (_AFTER_OPEN_LINE, _NEW_FOLDER, _NEW_FILE, _PLAIN):
        block = _lines(comment)
        head, found, tail = content.partition(block)
        if found:
            _put_back(path, head, tail, comment)
            return True
    return False


def _lines(comment: bytes) -> bytes:
    return comment + b"\n" + _PATTERN + b"\n"


def _block(before: bytes | None, new_file: bytes) -> bytes:
    if before is None:
        return _lines(new_file)
    if before and not before.endswith(b"\n"):
        return b"\n" + _lines(_AFTER_OPEN_LINE)
    return _lines(_PLAIN)


def _put_back(path: Path, head: bytes, tail: bytes, comment: bytes) -> None:
    # A line that somebody wrote below ours needs the end that we gave to the line above.
    if comment == _AFTER_OPEN_LINE and not tail:
        head = head.removesuffix(b"\n")
    if head + tail or comment not in (_NEW_FILE, _NEW_FOLDER):
        files.write_whole(path, head + tail)
        return
    path.unlink()
    if comment == _NEW_FOLDER and not any(path.parent.iterdir()):
        path.parent.rmdir()
