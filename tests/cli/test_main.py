from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from gitmem import __version__
from gitmem.cli.main import COMMANDS, command_named, program

PROGRAM = (sys.executable, "-m", "gitmem")


def _run(*args: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *args], cwd=cwd, capture_output=True, encoding="utf-8", check=False, **more
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_each_command_says(name: str) -> None:
    """The summary in the list is the first line of the command's own help."""
    command = command_named(name)

    assert isinstance(command, click.Command)
    assert (command.help or "").split("\n\n")[0] == COMMANDS[name].summary


def test_help_names_every_command() -> None:
    """Each command stands in the help, in its group."""
    result = CliRunner().invoke(program, ["--help"], prog_name="gitmem")

    assert result.exit_code == 0
    for name, row in COMMANDS.items():
        assert f"\n{row.group}:\n" in result.stdout
        assert f"\n  {name} " in result.stdout


def test_nothing_at_all_shows_the_help() -> None:
    """Whoever types only the program's name learns what there is, and it counts as no use."""
    result = CliRunner().invoke(program, [], prog_name="gitmem")

    assert result.exit_code == 2
    assert "Usage: gitmem" in result.output


@pytest.mark.parametrize(
    ("args", "absent"),
    [
        (["--help"], ["gitmem.memory", "gitmem.tiersetup", "pygit2", "yaml", "subprocess"]),
        (["log", "--help"], ["gitmem.memory", "pygit2", "gitmem.cli.render", "gitmem.cli.apply"]),
        (["context", "--help"], ["gitmem.memory", "pygit2", "gitmem.cli.render"]),
    ],
)
def test_only_what_runs_is_loaded(tmp_path: Path, args: list[str], absent: list[str]) -> None:
    """Showing help loads neither git nor another command."""
    code = (
        "import sys\n"
        "from gitmem.cli.main import program\n"
        "try:\n    program.main(sys.argv[2:])\n"
        "except SystemExit:\n    pass\n"
        "print(sorted(set(sys.argv[1].split()) & set(sys.modules)), file=sys.stderr)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, " ".join(absent), *args],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert done.stderr == "[]\n"


def test_version() -> None:
    """The version is the package's."""
    result = CliRunner().invoke(program, ["--version"], prog_name="gitmem")

    assert result.stdout == f"gitmem {__version__}\n"


def test_folder_as_in_git(cli: Any, tmp_path: Path) -> None:
    """Each -C is seen from the one before, an empty one changes nothing, and files go with it."""
    (cli.at / "note.txt").write_text("Use 4 spaces.", encoding="utf-8")
    begin = ["-C", str(tmp_path), "-C", "", "-C", "host", "-C", "src"]

    result = CliRunner().invoke(
        program,
        [
            *begin,
            *["propose", "a", "--type", "fact", "--body-file", "../note.txt", "--rationale", "r"],
        ],
    )

    assert result.exit_code == 0, result.output
    assert cli.json("list")[0]["entries"] == ["mem_a"]


def test_folder_that_is_not_there(cli_at: Callable[[Path], Any], tmp_path: Path) -> None:
    """A folder that does not exist is bad input."""
    result = cli_at(tmp_path / "nowhere")("list")

    assert result.exit_code == 2
    assert result.stderr == f"error: there is no folder '{tmp_path / 'nowhere'}'\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nothing"], "no such command 'nothing'"),
        (["list", "--nothing"], "no such option"),
        (["apply"], "missing argument 'ID...'"),
        (["list", "--state", "x"], "invalid value for '--state': 'x' is not one of"),
    ],
)
def test_usage(cli: Any, args: list[str], message: str) -> None:
    """A command line that can't be read ends with 2 and says where help is."""
    result = cli(*args)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {message}")
    assert "--help says what there is" in result.stderr


def test_usage_in_json(cli: Any) -> None:
    """A program that asked for JSON gets the error as JSON, also for an unknown option."""
    result = cli("list", "--json", "--nothing")

    assert result.exit_code == 2
    assert result.stderr == ""
    told = json.loads(result.stdout)
    assert (told["error"], told["context"]) == ("usage", None)
    assert told["message"].startswith("no such option")
    assert told["hint"] == "gitmem list --help says what there is"


def test_output_is_utf_8_in_every_locale(cli: Any) -> None:
    """What programs read does not depend on the locale."""
    cli.apply("pref_indent", "缩进 4 spaces，不要 tab。")

    done = subprocess.run(
        [*PROGRAM, "context"],
        cwd=cli.at,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )

    assert done.stdout.decode() == "[memory:project:preference]\n缩进 4 spaces，不要 tab。\n"


def test_a_reader_that_has_seen_enough(cli: Any) -> None:
    """A closed pipe ends the program without a word."""
    cli.apply()
    read, write = os.pipe()
    os.close(read)

    done = subprocess.run(
        [*PROGRAM, "log"], cwd=cli.at, stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk(cli: Any) -> None:
    """What can't be printed is an error, not a traceback."""
    cli.apply()

    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, "log"],
            cwd=cli.at,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.startswith("error: the system refused: no space left on device\n")
    assert "Traceback" not in done.stderr


def _at_a_terminal(args: list[str], typed: bytes, cwd: Path) -> tuple[int, bytes]:
    """Run the program at a real terminal; its exit code and all that the terminal shows."""
    main, side = pty.openpty()
    # What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*PROGRAM, *args], cwd=cwd, stdin=side, stdout=side, stderr=side, start_new_session=True
    )
    signal.signal(signal.SIGINT, before)
    os.close(side)
    shown = b""
    while b"]" not in shown.rpartition(b"?")[2]:
        shown += os.read(main, 4096)
    if typed == b"\x03":
        process.send_signal(signal.SIGINT)
    else:
        os.write(main, typed)
    try:
        while more := os.read(main, 4096):
            shown += more
    except OSError:  # Linux's way to say that the other end is closed.
        pass
    os.close(main)
    return process.wait(), shown


def test_a_person_at_a_terminal_agrees(cli: Any) -> None:
    """The difference is shown in colours, the question is asked, and y applies."""
    id_ = cli.propose()

    code, shown = _at_a_terminal(["apply", id_], b"y\n", cli.at)

    assert code == 0
    assert b"\x1b[32m+Use 4 spaces.\x1b[0m" in shown
    assert f"apply {id_}? [y/N]".encode() in shown
    assert cli.json("list") == []


@pytest.mark.parametrize("typed", [b"n\n", b"\n", b"\x04"], ids=["no", "nothing", "end of input"])
def test_a_person_at_a_terminal_does_not(cli: Any, typed: bytes) -> None:
    """Anything but a yes leaves everything as it was."""
    id_ = cli.propose()

    code, shown = _at_a_terminal(["apply", id_], typed, cli.at)

    assert code == 1
    assert b"nothing done" in shown
    assert [one["id"] for one in cli.json("list")] == [id_]


def test_a_person_at_a_terminal_interrupts(cli: Any) -> None:
    """Ctrl-C at the question ends with what shells make of SIGINT."""
    id_ = cli.propose()

    code, _ = _at_a_terminal(["apply", id_], b"\x03", cli.at)

    assert code == 130
    assert [one["id"] for one in cli.json("list")] == [id_]


def test_no_color(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR is obeyed at a terminal, too."""
    monkeypatch.setenv("NO_COLOR", "1")
    id_ = cli.propose()

    _, shown = _at_a_terminal(["apply", id_], b"n\n", cli.at)

    assert b"\x1b[" not in shown


def test_installed_under_both_names(cli: Any) -> None:
    """`git mem` is the same program."""
    folder = Path(sys.executable).parent

    said = {
        name: subprocess.run(
            [folder / name, "--version"], cwd=cli.at, capture_output=True, check=True
        ).stdout
        for name in ("gitmem", "git-mem")
    }

    assert said["gitmem"] == said["git-mem"] == f"gitmem {__version__}\n".encode()


def test_outside_a_project_it_is_the_users_memory(
    cli_at: Callable[[Path], Any], project: Path, tmp_path: Path
) -> None:
    """Everything works on the user tier where there is no project."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    cli = cli_at(place)

    cli.apply("pref_tone", "Be brief.")

    assert cli.done("context") == "[memory:user:preference]\nBe brief."
    assert cli.json("list", "--state", "all")[0]["scope"] == "user"
