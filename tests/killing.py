"""A process that dies at a chosen step: whatever it does to files, links and git counts as steps."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable
from typing import IO, Any

from gitmem.git import transaction

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


def dies_at(step: int, action: Callable[[], object]) -> bool:
    """Do `action` in a fork that is killed before its step number `step`; whether it came to that."""
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            Steps(step).install()
            action()
            failed = 0
        finally:
            os._exit(failed)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    if status:
        raise AssertionError("the action failed before anything killed it")
    return False
