"""`gitmem add`: a person's own memory, proposed and approved in one."""

from __future__ import annotations

import click

from gitmem.cli import common
from gitmem.cli.common import TYPES, State, json_option, scope_option, yes_option


@click.command
@click.argument("key")
@click.argument("text")
@click.option(
    "--type", "kind", type=click.Choice(TYPES), help="What it is; as it was where the entry exists."
)
@click.option("--rationale", default="added by hand", show_default=True, help="Why.")
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    key: str,
    text: str,
    kind: str | None,
    rationale: str,
    scope: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Put an entry of your own into memory, proposed and approved in one.

    An entry that exists gets the new text.
    """
    from gitmem.memory import Draft

    by = state.decider()
    where = scope or state.memory.default_scope()
    state.confirm(f"put this into the {where} memory as {key}?", yes=yes)
    draft = Draft(key, text, kind)
    decision = state.memory.add(draft, by=by, rationale=rationale, scope=scope)
    common.report(decision, "added", as_json=as_json)
