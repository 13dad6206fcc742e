"""`gitmem diff`: what a candidate would change."""

from __future__ import annotations

import click

from gitmem.cli.common import State, emit, emit_json, json_option, scope_option


@click.command
@click.argument("name", metavar="ID")
@scope_option
@json_option
@click.pass_obj
def command(state: State, *, name: str, scope: str | None, as_json: bool) -> None:
    """Show what a candidate would change, with its reasons above it.

    The difference is that to what is approved now. Where the two do not go together, both
    sides are shown. Hidden characters are written out, as <U+202E>.
    """
    from gitmem import differences
    from gitmem.cli import render
    from gitmem.model import candidates

    found = state.memory.candidate(name, scope=scope)
    text = differences.difference(state.memory, found)
    if as_json:
        emit_json({**candidates.to_json(found), "diff": text})
        return
    emit(render.review(found, text))
