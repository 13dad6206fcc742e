"""`gitmem reopen`: a closed candidate is pending again."""

from __future__ import annotations

import click

from gitmem.cli import common
from gitmem.cli.common import State, json_option, scope_option, yes_option


@click.command
@click.argument("name", metavar="ID")
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(state: State, *, name: str, scope: str | None, yes: bool, as_json: bool) -> None:
    """Take up a closed or a reverted candidate again.

    Its change is put onto today's memory, and it waits for a decision.
    """
    from gitmem import adoption

    by = state.decider()
    found = state.memory.candidate(name, scope=scope)
    state.confirm(f"reopen {found.id}, which is {found.state}?", yes=yes)
    decision = adoption.reopen(state.memory, found.id, by=by, scope=found.tier)
    common.report(decision, "reopened", as_json=as_json)
