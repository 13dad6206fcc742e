"""`gitmem sync`: brings memory here and at its remote together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import common, syncing
from gitmem.cli.common import State, json_option, scope_option, yes_option

if TYPE_CHECKING:
    from gitmem.errors import ExitCode


@click.command
@scope_option
@click.option(
    "--rejoin", is_flag=True, help="Go on with a remote that has rewritten its memory/main."
)
@yes_option
@json_option
@click.pass_obj
def command(state: State, *, scope: str | None, rejoin: bool, yes: bool, as_json: bool) -> ExitCode:
    """Bring memory here and at its remote together.

    Takes up what others decided and proposed, and pushes what the remote lacks. It approves
    nothing. Exit code 3: it is done, but two people changed one entry and the one that came later
    waits as a candidate; 5: the remote did not take all of it.
    """
    from gitmem import sync

    by = state.decider()
    reports = sync.sync(
        state.memory,
        by=by,
        agree=lambda question: syncing.agree(state, question, yes=yes),
        scope=scope,
        rejoin=rejoin,
        ask=common.is_terminal(),
        show=syncing.progress(),
    )
    return syncing.tell(reports, as_json=as_json)
