"""A person's terminal: single keys, lines of text, and nothing left behind however it ends.

The terminal gives single keys only while one is waited for; whatever ends that (a key, an
interrupt, a signal, the end of the input) puts its settings back first. Where standard input is no
terminal, each line is one key, so that a script can type.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, Self

import click

from gitmem import config
from gitmem.visible import visible

ENTER, REDRAW, END, UNKNOWN = "\n", "\f", "", "\x1b"
"""What `key` gives besides a character: a bare Enter, a screen to be shown again (Ctrl-L, or the
program was stopped and goes on), the end of the input, and a key that types no character."""

# A terminal sends the whole of a cursor key at once, over a slow line almost at once (seconds).
_REST_OF_KEY = 0.05
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_Handler = Callable[[int, FrameType | None], object]


class _Continued(Exception):  # noqa: N818 - nothing is wrong
    """The program was stopped while it waited for a key, and goes on."""


class Terminal:
    """Standard input and output, with a person or a script at the other end.

    As a context manager it makes a closed terminal and a termination end the program in order,
    with the exit code that a shell expects (128 and the signal's number).
    """

    def __init__(self, *, plain: bool = False) -> None:
        """`plain`: no colours, whatever the terminal can do."""
        self._in = sys.stdin.fileno() if sys.stdin.isatty() else None
        self.attended = self._in is not None
        """Whether keys come one by one, from a person."""
        self.paged = sys.stdout.isatty() and not config.dumb_terminal()
        """Whether a pager can show something here."""
        self.coloured = self.paged and not plain
        self._handlers: dict[int, object] = {}

    def __enter__(self) -> Self:
        # What is ignored from the start, as nohup has it, stays ignored.
        heard = [one for one in _ENDING if signal.getsignal(one) is not signal.SIG_IGN]
        self._handlers = {number: signal.signal(number, _end) for number in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows; 80 and 24 where nobody says."""
        found = shutil.get_terminal_size()
        return max(found.columns, 20), max(found.lines, 5)

    def show(self, text: str) -> None:
        """Print `text`, which is safe to print, with a line end."""
        click.echo(text, color=self.coloured)

    # -- what is typed -----------------------------------------------------------------------

    def key(self, prompt: str) -> str:
        """Ask with `prompt` and wait for one key.

        On a terminal, what was typed before the prompt stood there is forgotten: nobody decides
        about what they could not see yet.
        """
        click.echo(prompt, nl=False, color=self.coloured)
        sys.stdout.flush()
        if self._in is None:
            line = sys.stdin.readline()
            pressed = line[:1]
            self.show(pressed.strip())
            return pressed
        try:
            with _single_keys(self._in):
                pressed = _pressed(self._in)
        except _Continued:
            pressed = REDRAW
        except termios.error:
            # The terminal is gone.
            pressed = END
        self.show(pressed if pressed.isprintable() else "")
        return pressed

    def line(self, prompt: str) -> str | None:
        """Ask with `prompt` for a line of text, without its line end; None at the end of the input."""
        click.echo(prompt, nl=False, color=self.coloured)
        sys.stdout.flush()
        if self._in is None:
            line = sys.stdin.readline()
            # Nobody sees what a script types.
            self.show(visible(line.strip()))
        else:
            line = _typed_line(self._in)
            if not line.endswith("\n"):
                self.show("")
        return line.strip() if line else None

    # -- signals -----------------------------------------------------------------------------

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Let a decision be carried out to its end: signals that would end the program wait."""
        seen: list[int] = []

        def note(number: int, _frame: FrameType | None) -> None:
            seen.append(number)

        before = {number: signal.signal(number, note) for number in (signal.SIGINT, *_ENDING)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if seen:
            signal.raise_signal(seen[0])


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


@contextmanager
def _single_keys(file: int) -> Iterator[None]:
    """Have the terminal give each key at once from now on; its settings come back whatever happens."""
    settings = termios.tcgetattr(file)

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        termios.tcsetattr(file, termios.TCSANOW, settings)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        raise _Continued

    before = signal.getsignal(signal.SIGTSTP)
    # Whoever ignores it can't wake us either.
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, stop)
    try:
        tty.setcbreak(file, termios.TCSAFLUSH)
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)
        with suppress(termios.error):
            termios.tcsetattr(file, termios.TCSANOW, settings)


def _pressed(file: int) -> str:
    """The next key as one character."""
    first = _read(file, 1)
    if first in (b"", b"\x04"):
        return END
    if first in (b"\r", b"\n"):
        return ENTER
    if first == b"\x1b":
        while select.select([file], [], [], _REST_OF_KEY)[0] and _read(file, 1):
            pass
        return UNKNOWN
    more = _more_bytes(first[0])
    char = (first + b"".join(_read(file, 1) for _ in range(more))).decode("utf-8", "replace")
    return char if len(char) == 1 else UNKNOWN


def _more_bytes(first: int) -> int:
    """How many bytes of a character follow its first one in UTF-8."""
    return (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


def _typed_line(file: int) -> str:
    line = b""
    while not line.endswith(b"\n"):
        more = _read(file, 4096)
        if not more:
            break
        line += more
    return line.decode("utf-8", "replace")


def _read(file: int, size: int) -> bytes:
    """Up to `size` bytes; none at the end of the input, also where the terminal is gone."""
    try:
        return os.read(file, size)
    except OSError:
        return b""
