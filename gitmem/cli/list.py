"""`gitmem list`: the candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli.common import STATES, State, emit, emit_json, json_option, note, scope_option

if TYPE_CHECKING:
    from gitmem.memory import Memory
    from gitmem.model.candidates import Candidate


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

    A pending one that says what is approved by now is not to be decided about: it is counted on
    standard error, and listed with --state all.

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
    done = [] if "all" in states else [one for one in found if _is_done(memory, one)]
    found = [one for one in found if one not in done]
    if grep is not None:
        found = [one for one in found if differences.says(memory, one, grep)]
        dropped = []
    if done:
        more = render.counted(len(done), "more candidate")
        note(f"{more} {'says' if len(done) == 1 else 'say'} what is approved by now")
    if as_json:
        documents = [candidates.to_json(one) for one in found]
        emit_json([*documents, *map(render.dropped_json, dropped)])
        return
    if not found and not dropped:
        note(f"no {' or '.join(states) if states else 'pending'} candidates")
    emit("\n".join([*map(render.listed, found), *map(render.dropped, dropped)]))


def _is_done(memory: Memory, found: Candidate) -> bool:
    from gitmem import review

    return found.state == "pending" and review.is_done(memory, found)
