"""The program, run in the process, in a project that has memory."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from gitmem import clock
from gitmem.cli import common
from gitmem.cli.main import program
from gitmem.errors import GitmemError

_COMMIT = re.compile(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{10}\b")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_TIME = re.compile(r"\b2026-\d\d-\d\dT[\d:]{8}Z")
START = 1_779_100_200  # 2026-05-18T10:30:00Z


@pytest.fixture(autouse=True)
def steady_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute passes between any two looks at the clock, and ids are counted."""
    ticks, numbers = itertools.count(START, 60), itertools.count(1)
    monkeypatch.setattr(clock, "now", lambda: next(ticks))
    monkeypatch.setattr(clock, "random_suffix", lambda: f"{next(numbers):08d}")


class Cli:
    """The program in one place."""

    def __init__(self, at: Path) -> None:
        self.at = at

    def __call__(self, *args: str, input: str | bytes = "") -> Result:  # noqa: A002
        """Run it with standard input from `input`; whatever nobody expected is raised."""
        given = ["-C", str(self.at), *args]
        result = CliRunner().invoke(program, given, input=input, prog_name="gitmem")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def done(self, *args: str, input: str | bytes = "") -> str:  # noqa: A002
        """What it prints where it succeeds, without the final line end."""
        result = self(*args, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout.removesuffix("\n")

    def json(self, *args: str, input: str | bytes = "") -> Any:  # noqa: A002
        """The JSON document that it prints."""
        return json.loads(self.done(*args, "--json", input=input))

    def error(self, *args: str, input: str | bytes = "") -> str:  # noqa: A002
        """The stable name of the error with which it ends."""
        with CliRunner().isolation(input=input):
            try:
                with program.make_context("gitmem", ["-C", str(self.at), *args]) as ctx:
                    program.invoke(ctx)
            except GitmemError as error:
                return error.reference
            except click.UsageError:
                return "usage"
        return "none"

    def propose(self, key: str = "pref_indent", body: str = "Use 4 spaces.", *more: str) -> str:
        """A candidate's id; `more` are further options."""
        options = () if "--rationale" in more else ("--rationale", "The user said so.")
        return self.done("propose", key, "--type", "preference", "--body", body, *options, *more)

    def apply(self, key: str = "pref_indent", body: str = "Use 4 spaces.", *more: str) -> str:
        """The id of a candidate that is proposed and applied."""
        id_ = self.propose(key, body, *more)
        self.done("apply", id_, "--yes")
        return id_


@pytest.fixture
def cli(project: Path) -> Cli:
    """The program in the project."""
    return Cli(project)


@pytest.fixture
def cli_at() -> Callable[[Path], Cli]:
    """The program in another place."""
    return Cli


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sits at a terminal and types what a test gives as the input."""
    monkeypatch.setattr(common, "is_terminal", lambda: True)


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent drives."""
    monkeypatch.setenv("CLAUDECODE", "1")


@pytest.fixture
def plain() -> Callable[[str], str]:
    """A text with what differs from run to run written as <commit>, <digest> and <time>."""

    def plain(text: str) -> str:
        return _TIME.sub("<time>", _COMMIT.sub("<commit>", _DIGEST.sub("<digest>", text)))

    return plain
