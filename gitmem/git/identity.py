"""Who the user is, in git's own words."""

from __future__ import annotations

from pathlib import Path

from gitmem.errors import BadInputError
from gitmem.git import program
from gitmem.model.history import Person


def person(cwd: Path) -> Person:
    """The author that git would write in `cwd`, now.

    Raises BadInputError `no-identity` where git knows none.
    """
    result = program.run("var", "GIT_AUTHOR_IDENT", cwd=cwd, identity=True, check=False)
    if result.code != 0:
        raise BadInputError(
            "no-identity",
            "git does not know who you are, and an approval has an author",
            context=result.message.split("\n")[-1] or None,
            hint='git config --global user.name "Your Name" && '
            "git config --global user.email you@example.com",
        )
    who, _, when = result.text.rpartition("> ")
    name, _, email = who.partition(" <")
    seconds, _, zone = when.partition(" ")
    sign = -1 if zone.startswith("-") else 1
    return Person(name, email, int(seconds), sign * (int(zone[1:3]) * 60 + int(zone[3:5])))


def editor(cwd: Path) -> str:
    """The command line of the user's editor, as git finds it."""
    return program.run("var", "GIT_EDITOR", cwd=cwd, check=True, identity=True).text


def pager(cwd: Path) -> str:
    """The command line of the user's pager, as git finds it."""
    return program.run("var", "GIT_PAGER", cwd=cwd, check=True, identity=True).text


def diff_filter(cwd: Path) -> str | None:
    """The filter through which git's own interactive commands show differences in colours."""
    return program.run("config", "interactive.diffFilter", cwd=cwd, check=False).text or None
