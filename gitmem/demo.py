"""The whole way of a memory, in a scratch repository that nobody owns.

Nothing of the user's is read or written: the scratch project has its own
identity, its memory holds no user tier, and the folder goes away at the end.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitmem import clock, tiersetup
from gitmem.git import discover, program
from gitmem.layout import Tiers
from gitmem.memory import Draft, Memory, Outcome
from gitmem.model.entries import Source
from gitmem.model.history import Person

SESSION = "demo-session"
ACTOR = "demo-agent"

# A rule file as people have them, which has grown for a while.
RULES = """\
# CLAUDE.md

Webshop backend. Python 3.12, PostgreSQL, deployed from `main`.

## Commands

- Run the tests with `make test`, not with pytest alone: it starts the database.
- `make lint` before every commit.

## Style

- 4 spaces, no tabs. Lines up to 100 characters.
- Commit messages: `area: what changes`, in English.

## Careful

- Never run migrations against production. Ask, always.
- Prices are integers in cents!!
- TODO: does anybody still use the old importer?
"""


@dataclass(frozen=True, slots=True)
class _Learnt:
    """What the demo's agent takes from the rule file, and where it found it."""

    draft: Draft
    rationale: str
    turn: str
    evidence: str


_LEARNT = (
    _Learnt(
        Draft(
            "no_prod_migrations",
            "Never run database migrations against production. Ask a person first.",
            "forbidden",
        ),
        "It is marked as dangerous, and a mistake there can't be undone.",
        "turn-1",
        "Never run migrations against production. Ask, always.",
    ),
    _Learnt(
        Draft(
            "run_tests",
            "Run the tests with `make test`: it starts the database that they need.",
            "convention",
        ),
        "Plain pytest fails without the database, which cost half a session.",
        "turn-2",
        "Run the tests with `make test`, not with pytest alone: it starts the database.",
    ),
    _Learnt(
        Draft(
            "old_importer",
            "Nobody uses the old importer any more; it can be removed.",
            "fact",
        ),
        "The rule file mentions that the old importer may be unused.",
        "turn-3",
        "TODO: does anybody still use the old importer?",
    ),
)


@dataclass(frozen=True, slots=True)
class Demo:
    """A scratch project with an agent's proposals in it, and the person who reviews them."""

    folder: Path
    rules: Path
    memory: Memory
    person: Person
    proposed: tuple[Outcome, ...]


@contextmanager
def scratch(*, keep: bool = False) -> Iterator[Demo]:
    """A scratch project with proposals that wait; the folder is removed at the end unless `keep`."""
    folder = Path(tempfile.mkdtemp(prefix="gitmem-demo-"))
    try:
        yield _begun(folder / "webshop")
    finally:
        if not keep:
            shutil.rmtree(folder)


def _begun(host: Path) -> Demo:
    host.mkdir()
    rules = host / "CLAUDE.md"
    rules.write_text(RULES, encoding="utf-8")
    _commit(host)
    tiersetup.init(host, scope="project", ask_remote=False)
    found = discover.find(host)
    memory = Memory(Tiers(None, found.project, found.here), host, traceless=True)
    proposed = tuple(_propose(memory, learnt) for learnt in _LEARNT)
    return Demo(host, rules, memory, _person(), proposed)


def _commit(host: Path) -> None:
    own = ("-c", "user.name=Demo Person", "-c", "user.email=demo@example.org")
    plain = ("-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null")
    program.run("init", "--quiet", "--template=", cwd=host)
    # Many a user's global ignore file has that name.
    program.run("add", "--force", "CLAUDE.md", cwd=host)
    program.run(*own, *plain, "commit", "--quiet", "--message", "Add the rules", cwd=host)


def _person() -> Person:
    at = clock.now()
    return Person("Demo Person", "demo@example.org", at, clock.utc_offset(at))


def _propose(memory: Memory, learnt: _Learnt) -> Outcome:
    source = Source(SESSION, learnt.turn, learnt.evidence)
    return memory.propose(
        learnt.draft, rationale=learnt.rationale, sources=[source], actor=ACTOR, scope="project"
    )


def apply_by_default(outcome: Outcome, demo: Demo) -> bool:
    """What the demo decides where nobody can be asked: all but the last, which is a guess."""
    return outcome is not demo.proposed[-1]
