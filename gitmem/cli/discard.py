"""`gitmem discard`: a person closes a candidate."""

from __future__ import annotations

import click

from gitmem.cli import common
from gitmem.cli.common import State, json_option, scope_option, yes_option


@click.command
@click.argument("name", metavar="ID")
@click.option("--reason", default="", help="Why; it stands in the log.")
@click.option("--never", is_flag=True, help="It is never to be proposed again.")
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    name: str,
    reason: str,
    never: bool,
    scope: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Close a candidate without applying it.

    Its text stays in the history, under a tag.
    """
    by = state.decider()
    found = state.memory.candidate(name, scope=scope)
    entries = common.joined(item.id for item in found.entries)
    state.confirm(f"discard {found.id} ({entries})?", yes=yes)
    decision = state.memory.discard(found.id, by=by, reason=reason, never=never, scope=found.tier)
    common.report(decision, "discarded", as_json=as_json)
