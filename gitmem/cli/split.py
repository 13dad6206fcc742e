"""`gitmem split`: some entries of a candidate stay in it, the rest becomes another one."""

from __future__ import annotations

import click

from gitmem import ids
from gitmem.cli.common import State, emit, emit_json, json_option, scope_option
from gitmem.errors import BadInputError


@click.command
@click.argument("name", metavar="ID")
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@scope_option
@json_option
@click.pass_obj
def command(
    state: State, *, name: str, entries: tuple[str, ...], scope: str | None, as_json: bool
) -> None:
    """Keep the named entries in a candidate, and make another one of the rest.

    Both stay pending. The new one, whose id is printed, names the candidate that it comes from.
    """
    from gitmem import review

    by = state.decider()
    found = state.memory.candidate(name, scope=scope)
    keys = [ids.key_of(entry) for entry in entries]
    unknown = sorted(set(keys) - {item.key for item in found.entries})
    if unknown:
        raise BadInputError(
            "entry-not-in-candidate",
            f"{found.id} changes no entry '{unknown[0]}'",
            hint=f"it changes {', '.join(item.id for item in found.entries) or 'none'}",
        )
    rest = review.split(state.memory, found.id, keys, by=by, scope=found.tier)
    emit_json({"candidate": found.id, "rest": rest}) if as_json else emit(rest)
