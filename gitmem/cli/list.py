"""`gitmem list`: the candidates."""

from __future__ import annotations

import click

from gitmem.cli.common import STATES, State, emit, emit_json, json_option, note, scope_option


@click.command
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([*STATES, "dropped", "all"]),
    help="Which candidates; may be repeated. Pending and dropped ones if nothing is said.",
)
@click.option(
    "--grep",
    metavar="TEXT",
    help="Only those that say TEXT, in whatever case: in a text, why, evidence.",
)
@scope_option
@click.option("--no-remote", is_flag=True, help="Leave out those that only a remote has.")
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    states: tuple[str, ...],
    grep: str | None,
    scope: str | None,
    no_remote: bool,
    as_json: bool,
) -> None:
    """List the candidates, the pending ones if nothing else is said.

    With --json: an array with an object for each, as docs/cli.md describes it.
    """
    from gitmem import differences
    from gitmem.cli import render
    from gitmem.model import candidates

    wanted = states or ("pending", "dropped")
    if "all" in wanted:
        wanted = (*STATES, "dropped")
    known = [name for name in wanted if name != "dropped"]
    memory = state.memory
    found = memory.candidates(*known, scope=scope, remote=not no_remote) if known else []
    dropped = memory.dropped() if "dropped" in wanted and scope != "user" else []
    if grep is not None:
        found = [one for one in found if differences.says(memory, one, grep)]
        dropped = []
    if as_json:
        documents = [candidates.to_json(one) for one in found]
        emit_json([*documents, *map(render.dropped_json, dropped)])
        return
    if not found and not dropped:
        note(f"no {' or '.join(states) if states else 'pending'} candidates")
    emit("\n".join([*map(render.listed, found), *map(render.dropped, dropped)]))
