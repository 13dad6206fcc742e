"""A terminal of the kernel's own, with the program's side in a child process."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator

import pytest

# Who leads a session gets the terminal that it opens.
_ASK = """
import os, sys
if sys.stdin.isatty():
    os.close(os.open(os.ttyname(0), os.O_RDWR))
from gitmem.cli.terminal import Terminal
with Terminal() as terminal:
    while True:
        key = terminal.key("key? ")
        print("got", repr(key), flush=True)
        if key == "/":
            print("line", repr(terminal.line("line? ")), flush=True)
        if key == "w":
            with terminal.undisturbed():
                print("working", flush=True)
                import time
                time.sleep(0.3)
                print("worked", flush=True)
        if key in ("", "q"):
            break
"""
_WAIT = 10.0


class Screen:
    """A child on a terminal: what it printed, and its keys."""

    def __init__(self, script: str) -> None:
        self.ours, theirs = pty.openpty()
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        # What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.child = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm"},
        )
        signal.signal(signal.SIGINT, before)
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Read until `text` has come after all that was waited for before."""
        end = time.monotonic() + _WAIT
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.ours], [], [], 0.1)[0]:
                self.seen += os.read(self.ours, 4096).decode("utf-8", "replace")
        self.seen = self.seen.partition(text)[2]

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def ended(self) -> int:
        return self.child.wait(_WAIT)


@pytest.fixture
def screen() -> Iterator[Callable[[], Screen]]:
    made: list[Screen] = []

    def start() -> Screen:
        made.append(Screen(_ASK))
        made[-1].wait_for("key? ")
        _until_single_keys(made[-1])
        return made[-1]

    yield start
    for one in made:
        one.child.kill()
        one.child.wait()
        os.close(one.ours)
        os.close(one.theirs)


def _until_single_keys(screen: Screen) -> None:
    end = time.monotonic() + _WAIT
    while termios.tcgetattr(screen.theirs)[3] & termios.ICANON:
        assert time.monotonic() < end
        time.sleep(0.005)


def press(screen: Screen, keys: str, expected: str) -> None:
    screen.type(keys)
    screen.wait_for(f"got {expected!r}")
    screen.wait_for("key? ")
    _until_single_keys(screen)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("y", "y"),
        ("/", "/"),
        (" ", " "),
        ("\r", "\n"),
        ("进", "进"),
        ("\x0c", "\f"),
        ("\x1b[A", "\x1b"),
        ("\x1b", "\x1b"),
        ("\x04", ""),
    ],
)
def test_a_key(screen: Callable[[], Screen], keys: str, expected: str) -> None:
    """One key is one character, whatever bytes the terminal sends for it."""
    shown = screen()

    shown.type(keys)

    shown.wait_for(f"got {expected!r}")


def test_a_line(screen: Callable[[], Screen]) -> None:
    """A line can be corrected as everywhere, and single keys work again behind it."""
    shown = screen()
    shown.type("/")
    shown.wait_for("line? ")

    shown.type("缩进x\x7f\n")

    shown.wait_for("line '缩进'")
    shown.wait_for("key? ")
    _until_single_keys(shown)
    press(shown, "n", "n")


def test_what_was_typed_too_early_is_forgotten(screen: Callable[[], Screen]) -> None:
    """A key that was pressed before the question stood there answers nothing."""
    shown = screen()
    shown.type("w")
    shown.wait_for("working")
    shown.type("nnn")
    shown.wait_for("key? ")
    _until_single_keys(shown)

    press(shown, "y", "y")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2)]
)
def test_a_signal(screen: Callable[[], Screen], number: signal.Signals, code: int) -> None:
    """However it ends, the terminal is as it was."""
    shown = screen()

    shown.child.send_signal(number)

    assert shown.ended() in (code, 128 - code)
    assert termios.tcgetattr(shown.theirs) == shown.before


def test_a_signal_during_a_decision(screen: Callable[[], Screen]) -> None:
    """What was begun is carried out, then the signal counts."""
    shown = screen()
    shown.type("w")
    shown.wait_for("working")

    shown.child.send_signal(signal.SIGTERM)

    shown.wait_for("worked")
    assert shown.ended() == 143


def test_stopped_and_continued(screen: Callable[[], Screen]) -> None:
    """After a stop all is asked again.

    The kernel lets a session without a shell go on at once; tests/cli/test_review_tmux.py has one.
    """
    shown = screen()

    shown.child.send_signal(signal.SIGTSTP)

    shown.wait_for("got '\\x0c'")
    shown.wait_for("key? ")
    _until_single_keys(shown)
    press(shown, "y", "y")


def test_a_closed_terminal() -> None:
    """Where the other end goes away, the program ends as hung up."""
    shown = Screen(_ASK)
    shown.wait_for("key? ")
    os.close(shown.ours)

    assert shown.ended() == 129
    os.close(shown.theirs)


def test_lines_in_place_of_keys() -> None:
    """Without a terminal each line is a key, so that a script can type."""
    done = subprocess.run(
        [sys.executable, "-c", _ASK],
        input="y\n\n/\nfind me\nq\n",
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    got = [line for line in done.stdout.splitlines() if line.startswith(("got", "line"))]
    assert got == ["got 'y'", "got '\\n'", "got '/'", "line? find me", "line 'find me'", "got 'q'"]
