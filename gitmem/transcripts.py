"""The place in an agent tool's own transcript that a candidate quotes, where the file exists.

Transcripts are read where their tools keep them and never stored. What a candidate names is foreign
text: only a session id that is a file name is looked for, and only in those folders.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem import config, ids

_AROUND = 3
# Evidence is often cut or put on other lines: its beginning is enough to find the place.
_ENOUGH = 60
# Who speaks, and what is said, in the JSON lines of the tools.
_SPEAKERS = ("role", "type")
_TEXTS = frozenset({"content", "display", "message", "payload", "text", "thinking"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a transcript something was said.

    `record` is the 1-based line of the file, None where it says nothing of the kind; `texts` are
    the records around it (the first ones where there is none), each with its line and its speaker.
    """

    path: Path
    record: int | None
    texts: tuple[tuple[int, str, str], ...]


def find(source: Mapping[str, Any]) -> Place | None:
    """The place that a piece of evidence names; None where no transcript of the session can be read."""
    session = source.get("sessionId")
    path = _transcript(session) if isinstance(session, str) else None
    if path is None:
        return None
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return _searched(path, enumerate(stream, 1), source)
    except OSError:
        return None


def _transcript(session: str) -> Path | None:
    if ids.session_fault(session) is not None:
        return None
    for folder, pattern in config.transcripts(session):
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
        if found:
            return found[-1]
    return None


def _searched(path: Path, lines: Iterator[tuple[int, str]], source: Mapping[str, Any]) -> Place:
    """The first record that says the evidence, else the first one that names the turn."""
    said = _flat(str(source.get("evidence") or ""))[:_ENOUGH]
    turn = str(source.get("turnId") or "")
    first: list[tuple[int, str, str]] = []
    before: deque[tuple[int, str, str]] = deque(maxlen=_AROUND)
    named: Place | None = None
    for number, line in lines:
        speaker, text = _record(line)
        if len(first) < _AROUND and text:
            first.append((number, speaker, text))
        if said and said in _flat(text):
            return Place(path, number, (*before, (number, speaker, text), *_following(lines)))
        if named is None and turn and f'"{turn}"' in line:
            named = Place(path, number, (*before, (number, speaker, text)))
        if text:
            before.append((number, speaker, text))
    return named or Place(path, None, tuple(first))


def _following(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    left = _AROUND
    for number, line in lines:
        speaker, text = _record(line)
        if text:
            yield number, speaker, text
            left -= 1
        if not left:
            return


def _flat(text: str) -> str:
    return " ".join(text.split())


def _record(line: str) -> tuple[str, str]:
    """Who speaks in a line of a transcript and what is said; a line that is no JSON speaks for itself."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return "", line.rstrip("\n")
    if not isinstance(record, dict):
        return "", line.rstrip("\n")
    inner = [record.get(name) for name in ("message", "payload")]
    told = [one for one in (*inner, record) if isinstance(one, dict)]
    speakers = [one[name] for one in told for name in _SPEAKERS if isinstance(one.get(name), str)]
    return speakers[0] if speakers else "", "\n".join(_said(record))


def _said(value: object) -> Iterator[str]:
    """The texts in a record, in its order."""
    if isinstance(value, list):
        for item in value:
            yield from _said(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in _TEXTS:
                yield from (item,) if isinstance(item, str) else _said(item)
