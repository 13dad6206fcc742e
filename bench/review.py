"""The review at its limits: how long to the first screen, from a key to the next, and how many keys."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import build
from gitmem.memory import Draft, Memory
from gitmem.model.entries import Source

_QUESTION = b"?] "
_EDITOR = 'sh -c \'sed -i "s/Rule/Law/; /^<<<<<<< /,/^=======/d; /^>>>>>>> /d" "$1"\' editor'


class Review:
    """A running review, typed at through pipes."""

    def __init__(self, folder: Path) -> None:
        program = Path(sys.executable).with_name("gitmem")
        self._process = subprocess.Popen(
            [str(program), "review"],
            cwd=folder,
            env={**os.environ, "GIT_EDITOR": _EDITOR},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.keys = 0
        self.screen = self._read()

    def _read(self, until: bytes = _QUESTION) -> bytes:
        """What it prints up to its next question, or to its end."""
        seen = b""
        while not seen.endswith(until) and (more := self._process.stdout.read1()):
            seen += more
        return seen

    def press(self, key: str, *, until: bytes = _QUESTION) -> float:
        """Press a key; gives the milliseconds to the next question, which ends in `until`."""
        start = time.perf_counter()
        self._process.stdin.write(f"{key}\n".encode())
        self._process.stdin.flush()
        self.screen = self._read(until)
        self.keys += 1
        return (time.perf_counter() - start) * 1000

    def close(self) -> None:
        """End it."""
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def reviewing(folder: Path) -> Iterator[Review]:
    """A review in `folder`."""
    review = Review(folder)
    try:
        yield review
    finally:
        review.close()


def queue(memory: Memory, count: int) -> list[str]:
    """Candidates from sessions of ten each, one in five of which changes an entry that there is."""
    ids = []
    for number in range(count):
        key = (
            build.entry(number).key if number % 5 == 0 else f"topic-{number % 100:02d}/new-{number}"
        )
        said = Source(f"session-{number // 10}", f"turn-{number % 10}", f"Rule {number}, please.")
        draft = Draft(key, f"Rule {number} is another one.\n\nIt holds everywhere.", "convention")
        outcome = memory.propose(draft, rationale=f"Because of {number}.", sources=[said])
        ids.append(outcome.id)
    return ids


def first_screen(folder: Path) -> float:
    """Milliseconds from the start of the program to its first question."""
    start = time.perf_counter()
    with reviewing(folder):
        return (time.perf_counter() - start) * 1000


def key_to_screen(folder: Path, keys: Sequence[str]) -> float:
    """The median of the milliseconds from a key to the next screen."""
    with reviewing(folder) as review:
        return statistics.median(review.press(key) for key in keys)


def keys_for_fifty(folder: Path, *, batches: bool) -> int:
    """The keys that a queue of 50 takes: 40 plain, 5 to be edited, 5 that conflict.

    `batches`: it comes from sessions of ten, and what is plain is applied by the batch.
    """
    memory = build.opened(folder)
    for number in range(50):
        said = [Source(f"session-{number // 10}", "turn-1", "please")] if batches else []
        draft = Draft(f"e-{number}", f"Rule {number}.", "fact")
        memory.propose(draft, rationale="Because.", sources=said)
    for number in range(5):
        memory.add(Draft(f"e-{number * 10}", f"Not {number}.", "fact"), by=build.REVIEWER)
    with reviewing(folder) as review:
        edited = 0
        while review.screen.endswith(_QUESTION):
            question = review.screen.rpartition(b"\n")[2]
            if b"\nconflict " in review.screen:
                review.press("e")
            elif edited < 5 and b"Law" not in review.screen:
                edited += 1
                review.press("e")
            elif batches and b",a," in question:
                review.press("a", until=b"[y,n] ")
            review.press("y")
        return review.keys
