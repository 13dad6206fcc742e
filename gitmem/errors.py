"""Everything that can go wrong, in one vocabulary.

An error says what failed (`message`), why (`context`, optional) and what to do
next (`hint`), and has a stable kebab-case `reference` that a program can match
on. Each class stands for one exit code; faces translate them in one place.

This module imports nothing of ours, so that every layer may raise.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """The exit codes of the program: a promise to scripts (see docs/cli.md)."""

    DONE = 0
    FINDINGS = 1
    USAGE = 2
    CONFLICT = 3
    NEEDS_PERSON = 4
    REFUSED = 5
    INTERRUPTED = 130


class GitmemError(Exception):
    """The root of all errors that a caller may expect.

    `reference` is kebab-case and never changes its meaning between releases.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.USAGE

    def __init__(
        self,
        reference: str,
        message: str,
        *,
        context: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.reference = reference
        self.message = message
        self.context = context
        self.hint = hint


class NotFoundError(GitmemError):
    """An id or a name that nothing answers to."""

    exit_code = ExitCode.FINDINGS


class BadInputError(GitmemError):
    """Input that can't be taken: usage, a malformed file, an ambiguous id, an unfit place."""

    exit_code = ExitCode.USAGE


class ObjectMissingError(BadInputError):
    """An object that a ref or another object names, and that the repository does not have."""

    def __init__(self, id_: str, what: str) -> None:
        super().__init__(
            "object-missing",
            f"the object {id_} {what}",
            hint="the repository may be shallow or damaged: try 'gitmem git fsck', or fetch again",
        )


class ConflictError(GitmemError):
    """Two changes that don't go together, or a state that has moved on: look again, then repeat."""

    exit_code = ExitCode.CONFLICT


class NeedsPersonError(GitmemError):
    """A decision that only a person may take."""

    exit_code = ExitCode.NEEDS_PERSON


class RefusedError(GitmemError):
    """A rule says no."""

    exit_code = ExitCode.REFUSED
