"""`gitmem show`: a candidate, or an approved entry."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from gitmem.cli import naming
from gitmem.cli.common import State, emit, emit_json, json_option, scope_option

if TYPE_CHECKING:
    from gitmem.model.candidates import Candidate


@click.command
@click.argument("name", metavar="ID|ENTRY")
@click.option(
    "--transcript",
    is_flag=True,
    help="Of a candidate, its evidence in the transcripts of its sessions, where they are here.",
)
@scope_option
@json_option
@click.pass_obj
def command(state: State, *, name: str, transcript: bool, scope: str | None, as_json: bool) -> None:
    """Show a candidate or an approved entry.

    A candidate is shown with the files that it proposes, an entry as it is approved.
    Any unambiguous part of a candidate's id will do.
    """
    from gitmem.cli import render
    from gitmem.model import candidates

    memory = state.memory
    if transcript:
        emit(_transcripts(memory.candidate(name, scope=scope)))
        return
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


def _transcripts(found: Candidate) -> str:
    """What was said around each piece of evidence, from the agent tools' own files."""
    from gitmem import transcripts
    from gitmem.cli import screen
    from gitmem.cli.lines import painted

    columns = shutil.get_terminal_size().columns
    rows = [
        painted(row, coloured=True)
        for source in found.sources
        for row in screen.transcript(source, transcripts.find(source), columns)
    ]
    return "\n".join(rows)
