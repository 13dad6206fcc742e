"""gitmem: reviewed Markdown memory for AI agents, kept in git.

`gitmem.open(path)` gives a program the verbs of the command line:

    memory = gitmem.open("path/to/project")
    outcome = memory.propose(
        gitmem.Draft("pref_indent", "Use 4 spaces.", "preference"), rationale="The user said so."
    )
    memory.apply(outcome.id, by=memory.person())
    text = memory.context(gitmem.Options()).context.text

Nothing of it prints, asks or decides by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.errors import (
        BadInputError,
        ConflictError,
        GitmemError,
        NeedsPersonError,
        NotFoundError,
        RefusedError,
    )
    from gitmem.memory import Decision, Draft, Memory, Outcome
    from gitmem.model.candidates import Candidate
    from gitmem.model.context import Context, Options
    from gitmem.model.entries import Entry, Source
    from gitmem.model.events import Event
    from gitmem.model.history import Person
    from gitmem.stories import Story
    from gitmem.views import Given

__version__ = "0.1.0"

__all__ = [
    "BadInputError",
    "Candidate",
    "ConflictError",
    "Context",
    "Decision",
    "Draft",
    "Entry",
    "Event",
    "GitmemError",
    "Given",
    "Memory",
    "NeedsPersonError",
    "NotFoundError",
    "Options",
    "Outcome",
    "Person",
    "RefusedError",
    "Source",
    "Story",
    "open",
]

# Loaded at first use: a program that only asks for the version need not load git.
_HOMES = {
    "BadInputError": "errors",
    "Candidate": "model.candidates",
    "ConflictError": "errors",
    "Context": "model.context",
    "Decision": "memory",
    "Draft": "memory",
    "Entry": "model.entries",
    "Event": "model.events",
    "Given": "views",
    "GitmemError": "errors",
    "Memory": "memory",
    "NeedsPersonError": "errors",
    "NotFoundError": "errors",
    "Options": "model.context",
    "Outcome": "memory",
    "Person": "model.history",
    "RefusedError": "errors",
    "Source": "model.entries",
    "Story": "stories",
}


def open(path: str | Path = ".") -> Memory:  # noqa: A001 - the word that a caller reads: gitmem.open
    """The memory that holds at the folder `path`: the project's where there is one, and the user's.

    Raises BadInputError `no-such-folder` and others that say what is wrong with the place.
    """
    from gitmem.memory import open_memory

    return open_memory(path)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gitmem' has no attribute '{name}'")
    value: object = getattr(import_module(f"gitmem.{home}"), name)
    globals()[name] = value
    return value
