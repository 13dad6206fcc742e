"""`gitmem revert`: a person takes a decision back."""

from __future__ import annotations

import click

from gitmem.cli import common
from gitmem.cli.common import State, json_option, scope_option, yes_option


@click.command
@click.argument("name", metavar="CANDIDATE|COMMIT")
@click.option("--reason", default="", help="Why; it stands in the log.")
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State, *, name: str, reason: str, scope: str | None, yes: bool, as_json: bool
) -> None:
    """Take back what a candidate or a commit did.

    What was approved before comes back, by the rule by which candidates are merged. A revert
    can be reverted in its turn, by its commit.
    """
    by = state.decider()
    state.confirm(f"revert {name}?", yes=yes)
    decision = state.memory.revert(name, by=by, reason=reason, scope=scope)
    common.report(decision, "reverted", as_json=as_json)
