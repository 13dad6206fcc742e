"""`gitmem replay`: a context as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem import clock
from gitmem.cli.common import State, emit_json, json_option, note
from gitmem.cli.context import document, selected, selection_options, tell
from gitmem.cli.log import moment
from gitmem.errors import BadInputError

if TYPE_CHECKING:
    from gitmem.model.context import Options, Unit
    from gitmem.replay import Replayed


@click.command
@click.option(
    "--at",
    "when",
    metavar="WHEN",
    help="A time as in 'gitmem log', or a commit (the beginning of its id): memory as it was then.",
)
@click.option("--log", "file", metavar="FILE", help="Ask a file of 'gitmem export log' alone.")
@selection_options
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    when: str | None,
    file: str | None,
    budget: str,
    unit: Unit,
    tiers: tuple[str, ...],
    skill: str | None,
    as_json: bool,
) -> None:
    """Print a context as it was.

    The order of commits decides, never their dates: what a time leaves open is said.
    """
    if when is None:
        raise BadInputError("usage", "say which moment: --at")
    options = selected(state, budget, unit, tiers, skill)
    found = _at(state, when, file, options)
    if as_json:
        stood = [
            {
                "tier": one.tier,
                "commit": one.commit,
                "at": None if one.at is None else clock.rfc3339(one.at),
                "doubts": list(one.doubts),
            }
            for one in found.stood
        ]
        emit_json({"stood": stood, **document(found.given)})
        return
    for one in found.stood:
        at = "not begun yet" if one.at is None else f"{one.commit}, {clock.rfc3339(one.at)}"
        note(f"{one.tier} memory: {at}")
    click.echo(found.given.context.text, nl=False)
    tell(found.given)


def _at(state: State, when: str, file: str | None, options: Options) -> Replayed:
    from gitmem import replay
    from gitmem.exchange import eventlog

    at = _time(when)
    if file is None:
        if at is None:
            return replay.at_commit(state.memory, when, options)
        return replay.at_time(state.memory, at, options)
    log = eventlog.read(state.read_text(file))
    if at is None:
        return replay.of_log_at(log, when, options)
    return replay.of_log_at_time(log, at, options)


def _time(when: str) -> int | None:
    """The time that is meant; None where it is no time, but perhaps a commit."""
    try:
        return moment(when)
    except BadInputError:
        return None
