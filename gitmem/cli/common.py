"""What all commands share: where they run, whom they ask, what they read and how they print."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from gitmem import config
from gitmem.errors import BadInputError, NeedsPersonError
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.dropbox import Claim
    from gitmem.git.checkout import Left
    from gitmem.memory import Decision, Memory
    from gitmem.model.history import Person

SCOPES = ("user", "project")
# As `entries.TYPES`, `candidates.STATES`, `candidates.PRIORITIES` and `events.KINDS`: a test
# compares them, so that a command can be shown without loading the model.
TYPES = ("preference", "convention", "fact", "forbidden")
PRIORITIES = ("high", "medium", "low")
STATES = ("pending", "applied", "reverted", "discarded", "superseded", "withdrawn")
KINDS = (
    "candidate.created",
    "candidate.edited",
    "candidate.applied",
    "candidate.discarded",
    "candidate.superseded",
    "candidate.reopened",
    "memory.updated",
    "memory.deleted",
    "memory.reverted",
    "memory.synced",
    "memory.unreviewed",
    "session.started",
    "context.built",
    "session.ended",
)

_UNITS = (("year", 31_536_000), ("day", 86_400), ("hour", 3_600), ("minute", 60))

scope_option = click.option(
    "--scope", type=click.Choice(SCOPES), help="The tier; by default the project's comes first."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Decide without being asked.")


class State:
    """One run of the program: where it runs, and the memory that holds there."""

    def __init__(self, path: Path, asked: tuple[str, ...] = ()) -> None:
        self.path = path
        self.asked = asked
        self.plain = config.no_color()

    @cached_property
    def memory(self) -> Memory:
        """The memory, opened at the first question."""
        from gitmem.memory import open_memory

        return open_memory(self.path)

    # -- who decides -----------------------------------------------------------------------

    def decider(self) -> Person:
        """The person who decides. Raises NeedsPersonError where an agent runs this command."""
        self.refuse_agent()
        return self.memory.person()

    def refuse_agent(self) -> None:
        """Raise NeedsPersonError `person-needed` where the environment says that an agent drives."""
        sign = config.driving_agent()
        if sign is None:
            return
        named = sign.name if sign.value is None else f"{sign.name}={sign.value}"
        command = self.command_line()
        raise NeedsPersonError(
            "person-needed",
            "only a person decides about memory",
            context=f"{named} says that this is run by an agent ({sign.tool})",
            hint=f"ask the person to run: {command}\n"
            f"if you are that person: env -u {sign.name} {command}",
        )

    def command_line(self, *more: str) -> str:
        """The present command as a person can run it from anywhere, to be asked there."""
        rest = [arg for arg in self.asked[1:] if arg not in ("-y", "--yes")]
        return shlex.join(["gitmem", "-C", str(self.path.resolve()), *self.asked[:1], *more, *rest])

    def confirm(self, question: str, *, yes: bool, shown: str | None = None) -> bool:
        """Have a person agree; whether they were asked. `shown` is what they are to look at first.

        Raises click.Abort where they do not, NeedsPersonError `yes-missing` where
        nobody can be asked.
        """
        if yes:
            return False
        if not is_terminal():
            raise NeedsPersonError(
                "yes-missing",
                "this decides about memory, and there is no terminal to ask on",
                hint=f"if it is decided: {self.command_line('--yes')}",
            )
        if shown:
            click.echo(shown, err=True)
        if ask(question) != "y":
            raise click.Abort
        return True

    # -- what is read ----------------------------------------------------------------------

    def read(self, name: str) -> bytes:
        """The bytes of the file `name`, seen from where the command runs; `-` is standard input."""
        if name == "-":
            return sys.stdin.buffer.read()
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise BadInputError(
                "file-unreadable", f"'{name}' can't be read", context=error.strerror
            ) from error

    def read_text(self, name: str) -> str:
        """As `read`, as text. Raises BadInputError `not-utf-8`."""
        try:
            return self.read(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInputError(
                "not-utf-8", f"'{name}' is no UTF-8 text", context=str(error)
            ) from error


def is_terminal() -> bool:
    """Whether there is a person at a terminal who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, choices: str = "y/N") -> str:
    """The first letter of a person's answer, lower case; nothing at the end of the input."""
    click.echo(f"{question} [{choices}] ", err=True, nl=False)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        click.echo(err=True)
    return answer.strip()[:1].lower()


def emit(text: str) -> None:
    """Print data: `text` with a line end, nothing at all where there is nothing."""
    if text:
        click.echo(text)


def emit_json(document: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def note(message: str) -> None:
    """Tell a person something; untrusted text in it can't move the cursor."""
    click.echo(visible(message, multiline=True), err=True)


def warn(message: str) -> None:
    """Tell a person what they should look at."""
    click.echo(f"{click.style('warning:', fg='yellow')} {visible(message)}", err=True)


def report(decision: Decision, verb: str, *, as_json: bool) -> None:
    """Print what a decision did, and warn of what it left alone."""
    if as_json:
        emit_json(decision_json(decision))
    else:
        named = decision.candidate or ""
        entries = ", ".join(decision.entries)
        about = f": {entries}" if entries else ""
        emit(visible(f"{verb} {named}".strip() + f" ({decision.commit[:10]}){about}"))
    tell_left(decision)


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision as `--json` gives it."""
    return {
        "commit": decision.commit,
        "candidate": decision.candidate,
        "entries": list(decision.entries),
        "left": [{"path": item.path, "reason": item.reason} for item in decision.left],
    }


class Leaving(Protocol):
    """What leaves files alone and takes up dropped ones."""

    @property
    def left(self) -> Sequence[Left]:
        """The files that it left alone."""

    @property
    def claimed(self) -> Sequence[Claim]:
        """What became of dropped files."""


def tell_left(decision: Leaving) -> None:
    """Say on standard error which files were left alone, and what became of dropped ones."""
    for item in decision.left:
        warn(f"'{item.path}' in the memory folder was left as it is: {item.reason}")
    tell_claimed(decision.claimed)


def tell_claimed(claimed: Iterable[Claim]) -> None:
    """Say on standard error what became of dropped files."""
    for claim in claimed:
        if claim.candidate is not None:
            note(f"'{claim.path.name}' from the drop box is {claim.candidate} now")
        else:
            warn(f"'{claim.path.name}' stays in the drop box: {claim.fault}")


def age(seconds: int) -> str:
    """A time span in the largest unit that fits."""
    for unit, size in _UNITS:
        count = seconds // size
        if count >= 1:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


def joined(names: Iterable[str]) -> str:
    """Names with commas between them, safe to print."""
    return visible(", ".join(names))
