"""A process that moves refs and kills itself in the middle, as often as it is asked to.

Reads one JSON object a line: `at` (the number of the step before which to die), `place` (the
three paths), `changes`. It forks for each, so that the imports are paid for once, and
answers with `killed` or `done`.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pygit2  # noqa: F401 - loaded before the forks

from gitmem.git import transaction
from gitmem.git.checkout import Place, RefChange, deciding, mend, move

_CHANGING = ("link", "rename", "replace", "unlink", "mkdir", "rmdir", "write", "posix_fallocate")


class Steps:
    """Counts what changes something outside of this process, and dies at one of it."""

    def __init__(self, at: int) -> None:
        self.left = at

    def step(self) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*args: Any, **kwargs: Any) -> Any:
            self.step()
            return function(*args, **kwargs)

        return stepping

    def around_open(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if mode[0] not in "wx":
                return function(file, mode, *args, **kwargs)
            self.step()
            opened = function(file, mode, *args, **kwargs)
            self.step()
            return opened

        return stepping

    def install(self) -> None:
        for name in _CHANGING:
            setattr(os, name, self.before(getattr(os, name)))
        io.open = self.around_open(io.open)
        self._say = transaction.Transaction._say
        transaction.Transaction._say = self.around_say()  # type: ignore[method-assign]

    def around_say(self) -> Callable[..., None]:
        def stepping(this: transaction.Transaction, *lines: str, answers: int) -> None:
            self.step()
            pipe = this._in
            this._in = Pipe(pipe, self)  # type: ignore[assignment]
            self._say(this, *lines, answers=answers)
            this._in = pipe
            self.step()

        return stepping


class Pipe:
    """git's input, with a step just after something was sent: git works, and nobody reads."""

    def __init__(self, pipe: IO[bytes], steps: Steps) -> None:
        self._pipe = pipe
        self._steps = steps
        self.write = pipe.write
        self.close = pipe.close

    def flush(self) -> None:
        self._pipe.flush()
        self._steps.step()


def _act(order: dict[str, Any]) -> None:
    place = Place(*map(Path, order["place"]))
    Steps(order["at"]).install()
    with deciding(place):
        mend(place)
        move(place, [RefChange(*change) for change in order["changes"]])


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _act(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else f"done {status}", flush=True)


if __name__ == "__main__":
    main()
