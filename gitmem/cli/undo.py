"""`gitmem undo`: a person takes back all that came from somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem import clock
from gitmem.cli import common
from gitmem.cli.common import State, emit, emit_json, json_option, note, scope_option, yes_option
from gitmem.errors import BadInputError, ExitCode
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.undoing import Applied, Undone


@click.command
@click.option("--session", metavar="ID", help="What was applied with evidence of this session.")
@click.option("--actor", metavar="NAME", help="What this actor proposed.")
@click.option("--since", metavar="TIME", help="What was applied since then, as 'log' takes it.")
@click.option("--reason", default="", help="Why; it stands in the log.")
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    session: str | None,
    actor: str | None,
    since: str | None,
    reason: str,
    scope: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Take back all that was applied from a session, by an actor, or since a time.

    All of it is listed first. Then each approval is reverted by a commit of its own, the newest
    first. What was changed since stays as it is and is named; the exit code is 1 then.
    """
    from gitmem import undoing
    from gitmem.cli.log import moment

    if session is None and actor is None and since is None:
        raise BadInputError("usage", "undo wants --session, --actor or --since")
    by = state.decider()
    memory = state.memory
    listed = undoing.applied_from(
        memory,
        session=session,
        actor=actor,
        since=None if since is None else moment(since),
        scope=scope,
    )
    if not listed:
        emit_json([]) if as_json else note("nothing of it is in force")
        return
    state.confirm(
        f"revert {'it' if len(listed) == 1 else f'all {len(listed)}'}?",
        yes=yes,
        shown="\n".join(map(_listed, listed)),
    )
    undone = undoing.undo(memory, listed, by=by, reason=reason)
    if as_json:
        emit_json(list(map(_document, undone)))
    for one in undone:
        _tell(one, quiet=as_json)
    if any(one.decision is None for one in undone):
        raise click.exceptions.Exit(ExitCode.FINDINGS)


def _listed(applied: Applied) -> str:
    """An approval in the list that is shown before: when, which candidates, why, which entries."""
    lines = [
        f"{clock.rfc3339(applied.at)}  {applied.tier}  {common.joined(applied.entries)}",
        *(
            visible(f"    {one.id} by {one.actor}: {one.rationale.strip().partition(chr(10))[0]}")
            for one in applied.candidates
        ),
        *(f"    and {one.id}, which came with it" for one in applied.others),
    ]
    return "\n".join(lines)


def _tell(one: Undone, *, quiet: bool) -> None:
    names = common.joined(found.id for found in one.applied.candidates)
    if one.decision is None:
        common.warn(f"{names} stays: {one.fault}")
        return
    if not quiet:
        emit(f"reverted {names} ({one.decision.commit[:10]}): {common.joined(one.applied.entries)}")
    common.tell_left(one.decision)


def _document(one: Undone) -> dict[str, Any]:
    return {
        "applied": one.applied.commit,
        "candidates": [found.id for found in one.applied.candidates],
        "others": [found.id for found in one.applied.others],
        "entries": list(one.applied.entries),
        "commit": None if one.decision is None else one.decision.commit,
        "fault": one.fault,
    }
