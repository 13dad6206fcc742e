from __future__ import annotations

import errno
from typing import Any

import click
import pytest

from gitmem.cli import problems
from gitmem.errors import BadInputError, ConflictError


def test_an_error_says_what_why_and_what_next(capsys: pytest.CaptureFixture[str]) -> None:
    """The three parts stand below each other, on standard error, and the class gives the code."""
    error = ConflictError(
        "stale", "the branch has moved", context="now at 1234567\nby Ann", hint="look again"
    )

    code = problems.tell(error, in_json=False)

    assert code == 3
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err == "error: the branch has moved\n  now at 1234567\n  by Ann\nhint: look again\n"


def test_an_error_for_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON it goes to standard output, on one line, and nothing else does."""
    error = BadInputError("key-invalid", "'Ä' is no entry key")

    problems.tell(error, in_json=True)

    seen = capsys.readouterr()
    assert seen.err == ""
    assert seen.out == (
        '{"error": "key-invalid", "message": "\'Ä\' is no entry key", '
        '"context": null, "hint": null}\n'
    )


def test_untrusted_text_can_not_move_the_cursor() -> None:
    """What others wrote is shown with its hidden characters, and can't forge a line of its own."""
    error = BadInputError(
        "x", "no '\x1b[2Kname\u202e\nerror: forged'", context="a\x07\nb", hint="\x1b]0;title\x07"
    )

    text = click.unstyle(problems.text(error))

    assert text == (
        "error: no '<U+001B>[2Kname<U+202E><U+000A>error: forged'\n"
        "  a<U+0007>\n  b\nhint: <U+001B>]0;title<U+0007>"
    )


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["list", "--json"], True),
        (["-C", "x", "log", "--json"], True),
        (["propose", "--json", "-"], True),
        (["propose", "--json=-"], True),
        (["list"], False),
        (["add", "--", "key", "--json"], False),
        (["git", "log", "--json"], False),
        (["-C", "x", "git", "log", "--json"], False),
        (["discard", "x", "--reason", "git", "--json"], True),
    ],
)
def test_who_asks_for_json(args: list[str], *, expected: bool) -> None:
    """Only an option of gitmem's own counts."""
    assert problems.wants_json(args) is expected


@pytest.mark.parametrize(
    ("number", "reference", "message"),
    [
        (errno.ENOSPC, "cannot-write", "the system refused: no space left on device"),
        (errno.EROFS, "cannot-write", "the system refused: read-only file system"),
        (errno.EACCES, "system-refused", "the system refused: permission denied"),
    ],
)
def test_what_the_system_refuses(number: int, reference: str, message: str) -> None:
    """An error of the system is told as one of ours, and says where."""
    import os

    error = problems.of_system(OSError(number, os.strerror(number), "/some/where"))

    assert (error.reference, error.message) == (reference, message)
    assert "/some/where" in (error.context or "")
    assert error.exit_code == 2


def test_an_unreadable_command_line(cli: Any) -> None:
    """A usage error is lower case and names the command whose help helps."""
    result = cli("apply")

    assert result.stderr == (
        "error: missing argument 'ID...'\nhint: gitmem apply --help says what there is\n"
    )
