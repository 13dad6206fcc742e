"""`gitmem adopt`: what nobody reviewed becomes a candidate."""

from __future__ import annotations

import click

from gitmem.cli.common import State, emit, emit_json, json_option, scope_option, yes_option
from gitmem.visible import visible


@click.command
@click.argument("names", metavar="[COMMIT|A..B|CANDIDATE]...", nargs=-1)
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State, *, names: tuple[str, ...], scope: str | None, yes: bool, as_json: bool
) -> None:
    """Make a candidate of what nobody reviewed.

    A commit's unreviewed changes, or a candidate that stands on such; verify names them. A..B
    makes one candidate of all that the commits since A have. Without a name, the uncommitted edits
    in the memory folders, whose files are put back as approved, and what lies in the drop box.
    """
    from gitmem import adoption

    by = state.decider()
    what = ", ".join(names) or "the uncommitted edits in the memory folder"
    state.confirm(visible(f"make a candidate of {what}?"), yes=yes)
    if names:
        adopted = adoption.adopt(state.memory, names, by=by, scope=scope)
    else:
        adopted = adoption.adopt_edits(state.memory, by=by, scope=scope)
    if as_json:
        emit_json(
            [
                {
                    "candidate": one.candidate,
                    "entries": list(one.entries),
                    "origin": one.origin,
                    "restored": list(one.restored),
                }
                for one in adopted
            ]
        )
        return
    for one in adopted:
        emit(visible(f"{one.candidate}: {', '.join(one.entries)}"))
