"""`gitmem git`: the git program in the repository of a tier."""

from __future__ import annotations

import click

from gitmem.cli.common import State, scope_option


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@scope_option
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(state: State, *, scope: str | None, args: tuple[str, ...]) -> int:
    """Run git in the repository of a tier.

    What follows `git` goes to git as it is. It works in the tier's folder, on its branch
    memory/main; the exit code is git's.
    """
    return state.memory.git(args, scope=scope)
