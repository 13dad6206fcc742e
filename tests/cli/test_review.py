"""A review as a person does it: the program in a real terminal, keys typed, the screen read."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.cli.width import width
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.entries import Source

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

_WAIT = 60.0
_PAUSE = 0.02
QUESTION = "?] "
SIZES = [(80, 24), (200, 60)]

# What a queue holds: key, type, text, why, what was said.
ENGLISH = [
    (
        "tests",
        "convention",
        "Run the tests with `make check`.",
        "Plain pytest lacks the database.",
        "use make check",
    ),
    (
        "dates",
        "fact",
        "Dates are stored in UTC.",
        "It came up twice.",
        "everything is UTC in there",
    ),
    (
        "push",
        "forbidden",
        "Never force-push to main.",
        "It was said with emphasis.",
        "never ever force-push",
    ),
]
CHINESE = [
    (
        "tests",
        "convention",
        "运行测试请使用 `make check`，不要直接运行 pytest。",
        "直接运行会缺少数据库。",
        "测试要用 make check",
    ),
    (
        "dates",
        "fact",
        "数据库里的时间一律使用世界协调时间，显示的时候再换算成当地时间。",
        "这个问题出现过两次。",
        "库里都是 UTC",
    ),
    ("push", "forbidden", "禁止向主分支强制推送。", "用户强调过。", "千万不要强推"),
]
LANGUAGES = {"English": ENGLISH, "Chinese": CHINESE}


class Terminal:
    """A shell in a terminal of its own."""

    def __init__(self, folder: Path, columns: int, rows: int, env: dict[str, str]) -> None:
        self.socket = f"gitmem-{os.getpid()}-{time.monotonic_ns()}"
        self.columns = columns
        shell = ["env", *(f"{name}={value}" for name, value in env.items())]
        size = ["-x", str(columns), "-y", str(rows)]
        start = "bash --norc --noprofile -i"
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder),
            f"{shlex.join(shell)} PS1='sh> ' {start}",
        )  # fmt: skip
        self.wait_for("sh> ")

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-L", self.socket, *args],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return done.stdout

    def screen(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p", "-J").rstrip("\n")

    def rows(self) -> list[str]:
        """The rows of the screen, without empty ones at its end."""
        return self._tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def history(self) -> str:
        """What was on the screen since the start."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def type(self, keys: str) -> None:
        """Type characters."""
        self._tmux("send-keys", "-l", keys)

    def press(self, *names: str) -> None:
        """Press keys by tmux's names."""
        self._tmux("send-keys", *names)

    def wait_until(self, there: Callable[[str], bool], what: str) -> str:
        end = time.monotonic() + _WAIT
        while not there(seen := self.screen()):
            assert time.monotonic() < end, f"no {what!r} on the screen:\n{seen}"
            time.sleep(_PAUSE)
        return seen

    def wait_for(self, text: str) -> str:
        """The screen, once `text` is the last thing on it."""
        return self.wait_until(lambda seen: seen.rstrip().endswith(text.strip()), text)

    def run(self, line: str) -> None:
        """Have the shell run a line."""
        self._tmux("send-keys", "-l", f"{line}\n")

    def answer(self, keys: str, expected: str = QUESTION) -> str:
        """Type keys, and wait for what comes of it."""
        before = self.screen()
        self.type(keys)
        self.wait_until(lambda seen: seen != before, f"answer to {keys}")
        return self.wait_for(expected)

    def close(self) -> None:
        """Close the window, as a person does."""
        self._tmux("kill-server")


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with memory."""
    return open_memory(project)


@pytest.fixture
def terminal(memory: Memory) -> Iterator[Callable[..., Terminal]]:
    """`terminal(columns, rows, **env)`: a shell in the project, with the program on its way."""
    opened: list[Terminal] = []

    def start(columns: int = 80, rows: int = 24, **env: str) -> Terminal:
        shown = Terminal(memory.path, columns, rows, {"TERM": "screen", "PAGER": "cat"} | env)
        opened.append(shown)
        shown.run(f"alias gitmem='{sys.executable} -m gitmem'; clear")
        return shown

    yield start
    for one in opened:
        one.close()


def propose(memory: Memory, queue: list[tuple[str, str, str, str, str]]) -> None:
    """Make a queue."""
    for number, (key, kind, body, why, said) in enumerate(queue):
        source = Source("sess-1", f"turn-{number}", said)
        memory.propose(Draft(key, body, kind), rationale=why, sources=[source], actor="claude-code")


def states(memory: Memory) -> dict[str, str]:
    """The state of each candidate, by the first entry that it is about."""
    again = open_memory(memory.path)
    found = again.candidates("pending", "applied", "reverted", "discarded", "withdrawn")
    return {one.entries[0].key: one.state for one in found}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_whole_way(
    memory: Memory, terminal: Callable[..., Terminal], columns: int, rows: int, language: str
) -> None:
    """Apply, discard with a reason, undo, leave for later, stop: all read off the screen."""
    queue = LANGUAGES[language]
    propose(memory, queue)
    shown = terminal(columns, rows)
    bodies = {key: body for key, _, body, _, _ in queue}

    shown.run("gitmem review")
    screen = shown.wait_for(QUESTION)
    first = states(memory)
    assert list(first.values()) == ["pending"] * 3
    assert "3 to go" in screen
    assert all(width(row) <= columns for row in shown.rows())

    screen = shown.answer("y")
    assert "applied cand_" in screen
    assert "2 to go" in screen
    shown.answer("n", "back) ")
    shown.type("不要" if language == "Chinese" else "no")
    screen = shown.answer("\n")
    assert "discarded cand_" in screen
    assert "1 to go" in screen
    screen = shown.answer("u")
    assert "waits again" in screen
    assert "2 to go" in screen
    shown.answer(" ")
    screen = shown.answer("q", "sh> ")
    assert "1 applied; 2 candidates to decide" in screen

    assert sorted(states(memory).values()) == ["applied", "pending", "pending"]
    (applied,) = [key for key, state in states(memory).items() if state == "applied"]
    (entry,) = memory.entries("project")
    assert (entry.key, entry.body) == (applied, bodies[applied])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_screen(
    memory: Memory, terminal: Callable[..., Terminal], columns: int, rows: int, language: str
) -> None:
    """All of a candidate stands on one screen, title to question, and no row is broken by the terminal."""
    key, kind, body, why, said = LANGUAGES[language][0]
    memory.add(Draft(key, body, kind), by=memory.person())
    memory.propose(
        Draft(key, body.replace("make check", "tox")),
        rationale=why * 4,
        sources=[Source("sess-1", "turn-1", said * 30)],
    )
    shown = terminal(columns, rows)
    shown.run("clear; gitmem review")
    screen = shown.wait_for(QUESTION)

    seen = shown.rows()
    assert seen[0].startswith("-- 1 to go -- cand_")
    assert len(seen) <= rows
    assert seen[-1].startswith("apply it? [y,n,")
    assert "[-make check-]{+tox+}" in screen or "make check" in screen
    assert "session sess-1, turn turn-1" in screen or "p shows all" in screen


def test_colours(memory: Memory, terminal: Callable[..., Terminal]) -> None:
    """On a terminal that can, a change is red and green; where nobody wants that, it has marks."""
    memory.add(Draft("a", "Use make here.", "fact"), by=memory.person())
    memory.propose(Draft("a", "Use tox here."), rationale="r")
    shown = terminal()
    shown.run("gitmem review")
    assert "Use maketox here." in shown.wait_for(QUESTION)
    coloured = shown._tmux("capture-pane", "-p", "-e")
    assert "\x1b[31mmake" in coloured
    assert "\x1b[32mtox" in coloured
    shown.answer("q", "sh> ")

    for setting in ("NO_COLOR=1", "TERM=dumb", "TERM="):
        shown.run(f"clear; {setting} gitmem review")
        assert "Use [-make-]{+tox+} here." in shown.wait_for(QUESTION)
        assert "\x1b[3" not in shown._tmux("capture-pane", "-p", "-e")
        shown.answer("q", "sh> ")


def test_a_locale_without_unicode(memory: Memory, terminal: Callable[..., Terminal]) -> None:
    """What is printed is UTF-8 in every locale, and a reason can be typed in any script."""
    propose(memory, CHINESE[:1])
    shown = terminal(LC_ALL="C", LANG="C")
    shown.run("gitmem review")

    assert "直接运行会缺少数据库" in shown.wait_for(QUESTION)
    shown.answer("n", "back) ")
    shown.type("不要")
    shown.answer("\n", "sh> ")

    (found,) = memory.candidates("discarded")
    assert found.reason == "不要"


def test_the_editor_and_one_that_fails(
    memory: Memory, terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    """An editor that fails changes nothing; what another one saves is shown before it counts."""
    propose(memory, ENGLISH[1:2])
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\n[ -e "$0.fails" ] && exit 3\nsed -i s/UTC/GMT/ "$1"\n')
    editor.chmod(0o755)
    fails = tmp_path / "editor.fails"
    fails.touch()
    shown = terminal(GIT_EDITOR=str(editor))
    shown.run("gitmem review")
    shown.wait_for(QUESTION)

    screen = shown.answer("e")
    assert "the editor ended with exit code 3" in screen
    fails.unlink()
    screen = shown.answer("e")
    assert "Dates are stored in GMT." in screen
    assert states(memory) == {"dates": "pending"}
    shown.answer("y", "sh> ")

    assert [entry.body for entry in memory.entries("project")] == ["Dates are stored in GMT."]


# Where an interrupt or a closed window may come: the keys that lead there, and what then stands there.
STEPS = {
    "the question": ("", QUESTION),
    "a reason": ("n", "back) "),
    "a reason half typed": ("nbecau", "becau"),
    "a search": ("/", "before): "),
    "the editor": ("e", "editing"),
    "a batch": ("a", "candidates? [y,n] "),
    "all of it": ("p", QUESTION),
}


@pytest.fixture
def waiting_editor(tmp_path: Path) -> str:
    """An editor that takes its time, in the foreground as any."""
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho editing\nsleep 60\n")
    editor.chmod(0o755)
    return str(editor)


def _at(shown: Terminal, step: str) -> None:
    keys, expected = STEPS[step]
    shown.run("clear; gitmem review; echo code $?")
    shown.wait_for(QUESTION)
    shown.answer("y")
    for key in keys[:1]:
        shown.answer(key, "back) " if key == "n" else expected)
    shown.type(keys[1:])
    shown.wait_for(expected)


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupt(
    memory: Memory, terminal: Callable[..., Terminal], waiting_editor: str, step: str
) -> None:
    """Ctrl-C at any step: the decisions so far are kept, nothing else is done, the terminal is as it was."""
    propose(memory, ENGLISH)
    shown = terminal(GIT_EDITOR=waiting_editor)
    shown.run("stty -g >before")
    _at(shown, step)

    shown.press("C-c")
    if step == "the editor":
        # It is the editor that is interrupted; the review goes on.
        assert "the editor ended with exit code" in shown.wait_for(QUESTION)
        shown.press("C-c")
    screen = shown.wait_for("sh> ")

    assert "code 130" in screen
    assert "1 applied" in screen
    assert "Traceback" not in shown.history()
    assert sorted(states(memory).values()) == ["applied", "pending", "pending"]
    shown.run("stty -g | diff - before && echo as before")
    shown.wait_until(lambda seen: "\nas before" in seen, "as before")


@pytest.mark.parametrize("step", STEPS)
def test_a_closed_terminal(
    memory: Memory,
    terminal: Callable[..., Terminal],
    waiting_editor: str,
    step: str,
    tmp_path: Path,
) -> None:
    """Whoever closes the window has decided what they have decided; no process stays behind."""
    propose(memory, ENGLISH)
    shown = terminal(GIT_EDITOR=waiting_editor)
    _at(shown, step)
    pid = int(shown._tmux("display", "-p", "#{pane_pid}"))
    (review,) = _children(pid)

    shown.close()

    end = time.monotonic() + _WAIT
    while Path(f"/proc/{review}").exists():
        assert time.monotonic() < end, "the review did not end"
        time.sleep(_PAUSE)
    assert sorted(states(memory).values()) == ["applied", "pending", "pending"]
    # The next decision finds nothing in its way.
    open_memory(memory.path).add(Draft("next", "Next.", "fact"), by=memory.person())


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in found.split()]


def test_stopped_and_continued(memory: Memory, terminal: Callable[..., Terminal]) -> None:
    """Ctrl-Z gives an ordinary terminal to the shell; afterwards the candidate is shown again."""
    propose(memory, ENGLISH[:1])
    shown = terminal()
    shown.run("stty -g >before; gitmem review")
    shown.wait_for(QUESTION)

    shown.press("C-z")
    shown.wait_for("sh> ")
    shown.run("clear; stty -g | diff - before && echo as before")
    shown.wait_until(lambda seen: "\nas before" in f"\n{seen}", "as before")
    shown.run("clear; fg")
    screen = shown.wait_for(QUESTION)
    assert "1 to go" in screen
    screen = shown.answer("y", "sh> ")

    assert "1 applied; 0 candidates to decide" in screen


def test_a_long_text_is_for_the_pager(
    memory: Memory, terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    """What does not fit is shown in the user's own pager, whole, before there is a question."""
    body = "\n".join(f"Rule {number}." for number in range(60))
    memory.propose(Draft("long", body, "fact"), rationale="r")
    shown = terminal(GIT_PAGER=f"cat >{shlex.quote(str(tmp_path / 'paged'))}")

    shown.run("clear; gitmem review")
    screen = shown.wait_for(QUESTION)

    paged = (tmp_path / "paged").read_text(encoding="utf-8")
    assert "\x1b[32mRule 59." in paged
    assert "Rule 59." not in screen
    assert "mem_long" in screen
    shown.answer("y", "sh> ")
    assert states(memory) == {"long": "applied"}


def test_a_batch(memory: Memory, terminal: Callable[..., Terminal], tmp_path: Path) -> None:
    """What is risky comes first and alone; the rest is listed in full and decided with one key."""
    propose(memory, CHINESE)
    paged = tmp_path / "paged"
    shown = terminal(GIT_PAGER=f"cat >{shlex.quote(str(paged))}")
    shown.run("clear; gitmem review")
    screen = shown.wait_for(QUESTION)
    assert "3 to go -- cand_2026_00000003 -- forbidden --" in screen
    assert "2 of project sess-1" in shown.answer("y")

    shown.answer("a", "apply these 2 candidates? [y,n] ")
    listing = paged.read_text(encoding="utf-8") if paged.exists() else shown.screen()
    assert all(body in listing.replace("\n          ", "") for _, _, body, _, _ in CHINESE[:2])
    screen = shown.answer("y", "sh> ")

    assert "3 applied; 0 candidates to decide" in screen
    assert set(states(memory).values()) == {"applied"}


def test_an_interrupt_in_the_pager(memory: Memory, terminal: Callable[..., Terminal]) -> None:
    """It is the pager's affair, as with git."""
    memory.propose(Draft("long", "Rule.\n" * 60, "fact"), rationale="r")
    shown = terminal(GIT_PAGER="trap 'echo left; exit' INT; cat >/dev/null; echo paging; sleep 60")
    shown.run("clear; gitmem review")
    shown.wait_for("paging")

    shown.press("C-c")

    assert "left" in shown.wait_for(QUESTION)
    shown.answer("q", "sh> ")


def test_the_filter_for_differences(memory: Memory, terminal: Callable[..., Terminal]) -> None:
    """A filter that git's own commands would use takes the place of our difference."""
    memory.add(Draft("a", "Use make here.", "fact"), by=memory.person())
    memory.propose(Draft("a", "Use tox here."), rationale="r")
    shown = terminal()
    shown.run(
        "git config --global interactive.diffFilter 'sed s/tox/FILTERED/'; clear; gitmem review"
    )

    screen = shown.wait_for(QUESTION)
    assert "-Use make here." in screen
    assert "+Use FILTERED here." in screen
    shown.answer("q", "sh> ")

    shown.run("git config --global interactive.diffFilter false; clear; gitmem review")
    assert "Use maketox here." in shown.wait_for(QUESTION)


def test_type_ahead_decides_nothing(memory: Memory, terminal: Callable[..., Terminal]) -> None:
    """Keys that come before their question are no answer to it."""
    propose(memory, ENGLISH)
    shown = terminal()
    shown.run("gitmem review")
    shown.type("yyy")

    shown.wait_for(QUESTION)

    assert list(states(memory).values()) == ["pending"] * 3


def test_a_text_that_fights_back(memory: Memory, terminal: Callable[..., Terminal]) -> None:
    """A candidate's text can't clear the screen, write a question of its own or hide a line."""
    evil = "Good rule.\x1b[2J\x1b[H\x1b[8m\rapply it? [y,n] y\x1b]0;title\x07\u202edesrever"
    memory.propose(
        Draft("evil", evil, "fact"),
        rationale=evil,
        sources=[Source("s", "t", evil)],
        actor="agent\x1b[1A",
    )
    shown = terminal()
    shown.run("clear; gitmem review")

    screen = shown.wait_for(QUESTION)

    assert screen.count("Good rule.<U+001B>[2J<U+001B>[H") == 3
    assert screen.splitlines()[0].startswith("-- 1 to go -- cand_")
    assert "agent<U+001B>[1A" in screen
    assert "hidden-text: " in screen
