"""`gitmem push-candidates`: shows the pending candidates at the remote, for others to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import common, syncing
from gitmem.cli.common import State, json_option, scope_option, yes_option

if TYPE_CHECKING:
    from gitmem.errors import ExitCode
    from gitmem.sync import Question


@click.command("push-candidates")
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(state: State, *, scope: str | None, yes: bool, as_json: bool) -> ExitCode:
    """Push the pending candidates to the remote, and nothing else.

    It needs no right there but to push memory/candidate/*, and agents may run it. Exit code 5:
    the remote did not take all of them.
    """
    from gitmem import sync

    def agree(question: Question) -> None:
        # Whether memory is shown at a remote at all is for a person to say.
        state.refuse_agent()
        syncing.agree(state, question, yes=yes)

    reports = sync.push_candidates(
        state.memory,
        agree=agree,
        scope=scope,
        ask=common.is_terminal(),
        show=syncing.progress(),
    )
    return syncing.tell(reports, as_json=as_json)
