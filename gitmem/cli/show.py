"""`gitmem show`: a candidate, or an approved entry."""

from __future__ import annotations

import click

from gitmem.cli import naming
from gitmem.cli.common import State, emit, emit_json, json_option, scope_option


@click.command
@click.argument("name", metavar="ID|ENTRY")
@scope_option
@json_option
@click.pass_obj
def command(state: State, *, name: str, scope: str | None, as_json: bool) -> None:
    """Show a candidate or an approved entry.

    A candidate is shown with the files that it proposes, an entry as it is approved.
    Any unambiguous part of a candidate's id will do.
    """
    from gitmem.cli import render
    from gitmem.model import candidates

    memory = state.memory
    found = naming.resolve(memory, name, scope)
    if isinstance(found, naming.Approved):
        document = {
            "id": found.id,
            "scope": found.store.tier,
            "text": found.text,
        }
        emit_json(document) if as_json else emit(render.shown(found.text).removesuffix("\n"))
        return
    store = memory.store(found.tier)
    files = {item.id: store.text(item.content) for item in found.entries}
    if as_json:
        emit_json({**candidates.to_json(found), "files": files})
        return
    emit(render.blocks([render.candidate(found), *(render.file(*one) for one in files.items())]))
