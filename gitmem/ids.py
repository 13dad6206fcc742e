"""The grammar of names: entry keys, candidate ids, session ids.

Names come from agents and from other people's repositories, so each has a
grammar that is safe as a file name and as a part of a git ref name.
"""

from __future__ import annotations

import hashlib
import re

from gitmem.errors import BadInputError

_SEGMENT = re.compile(r"[a-z0-9][a-z0-9_-]*\Z")
_CANDIDATE = re.compile(r"[a-z0-9_-]+\Z")
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")

_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"

MAX_SEGMENTS = 4
MAX_SEGMENT_LENGTH = 100
MAX_CANDIDATE_LENGTH = 100
MAX_SESSION_LENGTH = 128

# https://learn.microsoft.com/windows/win32/fileio/naming-a-file: such a file can't be checked out there.
WINDOWS_DEVICES = frozenset(
    ["con", "prn", "aux", "nul"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)]
)


def key_fault(key: str) -> str | None:
    """Why `key` is no entry key, or None where it is one.

    A key is one to four segments of `[a-z0-9][a-z0-9_-]*` with `/` between them.
    """
    if not key:
        return "it is empty"
    segments = key.split("/")
    if len(segments) > MAX_SEGMENTS:
        return f"it has {len(segments)} segments, {MAX_SEGMENTS} are allowed"
    for segment in segments:
        if segment.endswith(".md"):
            return f"the segment '{segment}' ends in .md, which the file name adds"
        if not _SEGMENT.match(segment):
            if segment != segment.lower() and _SEGMENT.match(segment.lower()):
                return f"the segment '{segment}' has capital letters"
            return (
                f"the segment '{segment}' is not made of a-z, 0-9, _ and -, "
                "beginning with a letter or a digit"
            )
        if len(segment) > MAX_SEGMENT_LENGTH:
            return f"a segment is longer than {MAX_SEGMENT_LENGTH} characters"
        if segment in WINDOWS_DEVICES:
            return f"'{segment}' is a device name on Windows"
    return None


def is_key(key: str) -> bool:
    """Whether `key` follows the grammar of entry keys."""
    return key_fault(key) is None


def check_key(key: str) -> str:
    """`key` itself, or BadInputError `key-invalid`."""
    fault = key_fault(key)
    if fault is None:
        return key
    raise BadInputError(
        "key-invalid",
        f"'{key}' is no entry key: {fault}",
        hint="use one to four lower-case names with / between them, such as pref_indent or build/tests",
    )


def entry_id(key: str) -> str:
    """The id of the entry `key`: `mem_<key>`."""
    return f"mem_{key}"


def key_of(name: str) -> str:
    """The key that `name`, an entry's id or key, stands for. Keys may begin with `mem_` only as ids."""
    return name.removeprefix("mem_")


def candidate_fault(name: str) -> str | None:
    """Why `name` is no candidate id, or None where it is one (`[a-z0-9_-]+`)."""
    if not _CANDIDATE.match(name):
        return "it is not made of a-z, 0-9, _ and -"
    if len(name) > MAX_CANDIDATE_LENGTH:
        return f"it is longer than {MAX_CANDIDATE_LENGTH} characters"
    return None


def is_candidate_id(name: str) -> bool:
    """Whether `name` follows the grammar of candidate ids."""
    return candidate_fault(name) is None


def new_candidate_id(year: int, suffix: str) -> str:
    """A fresh candidate id such as `cand_2026_k3f9x2ab`."""
    return f"cand_{year}_{suffix}"


def derived_candidate_id(year: int, *parts: str) -> str:
    """The candidate id that everybody comes to who makes it of the same `parts`."""
    number = int.from_bytes(hashlib.sha256("\n".join(parts).encode()).digest()[:8], "big")
    suffix = ""
    for _ in range(8):
        number, digit = divmod(number, len(_DIGITS))
        suffix += _DIGITS[digit]
    return new_candidate_id(year, suffix)


def session_fault(name: str) -> str | None:
    """Why `name` is no session id, or None: it is a file name and a part of a ref name."""
    if not _SESSION.match(name):
        return "it is not made of letters, digits, '.', '_' and '-', beginning with a letter or a digit"
    if len(name) > MAX_SESSION_LENGTH:
        return f"it is longer than {MAX_SESSION_LENGTH} characters"
    if ".." in name or name.endswith((".lock", ".")):
        return "git allows no '..', no final '.' and no final '.lock' in a ref name"
    return None
