"""`gitmem join`: a candidate's new entry goes into an entry that is near to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from gitmem import ids
from gitmem.cli.common import State, emit, emit_json, json_option, scope_option
from gitmem.errors import BadInputError

if TYPE_CHECKING:
    from gitmem.model.candidates import Candidate
    from gitmem.review import Neighbour


@click.command
@click.argument("name", metavar="ID")
@click.argument("into", metavar="ENTRY|ID")
@click.option(
    "--body-file",
    metavar="FILE",
    help="The text of both, instead of an editor; - is standard input.",
)
@scope_option
@json_option
@click.pass_obj
def command(
    state: State, *, name: str, into: str, body_file: str | None, scope: str | None, as_json: bool
) -> None:
    """Put the new entry of a candidate into an approved entry, or into another candidate's.

    Nothing is approved by that: the candidate that has the text then stays pending. Its id is
    printed; another one, which has nothing left, is closed as superseded by it.
    """
    from gitmem import review
    from gitmem.cli.editing import edited
    from gitmem.model import entries

    by, memory = state.decider(), state.memory
    found = memory.candidate(name, scope=scope)
    if len(found.entries) != 1 or found.entries[0].base is not None:
        raise BadInputError(
            "entry-unclear",
            f"{found.id} is not one new entry",
            hint=f"gitmem split {found.id} ENTRY takes one out",
        )
    key = found.entries[0].key
    neighbour = _neighbour(state, found, into)
    text = review.joined_text(memory, found, key, neighbour)
    if body_file is None:
        data = edited(memory, neighbour.key, text)
    else:
        entry = entries.parse(neighbour.key, text.encode(), tier=found.tier)
        data = entries.serialize(replace(entry, body=state.read_text(body_file)))
    carrier = review.join(memory, found, key, neighbour, data, by=by)
    emit_json({"candidate": carrier}) if as_json else emit(carrier)


def _neighbour(state: State, found: Candidate, into: str) -> Neighbour:
    """The entry, or the candidate's only one, that `into` names."""
    from gitmem.review import Neighbour

    key = ids.key_of(into)
    if ids.is_key(key) and state.memory.store(found.tier).approved_content(key) is not None:
        return Neighbour(key, None, 0, "")
    other = state.memory.candidate(into, scope=found.tier)
    if len(other.entries) != 1 or other.id == found.id:
        raise BadInputError(
            "entry-unclear",
            f"{other.id} is no other candidate of one entry",
            hint=f"gitmem split {other.id} ENTRY takes one out",
        )
    return Neighbour(other.entries[0].key, other.id, 0, "")
