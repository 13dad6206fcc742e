"""`gitmem verify`: what nobody approved, and what is broken."""

from __future__ import annotations

import click

from gitmem.cli.common import State, emit, emit_json, json_option, note, scope_option, yes_option
from gitmem.errors import ExitCode


@click.command
@scope_option
@click.option(
    "--accept",
    is_flag=True,
    help="Take memory/main as it is now for the one to watch over, after it was rewritten on purpose.",
)
@yes_option
@json_option
@click.pass_obj
def command(state: State, *, scope: str | None, accept: bool, yes: bool, as_json: bool) -> ExitCode:
    """Look for memory that nobody approved and for broken records.

    The whole history is read and no cache is asked. Each finding names the way out. The exit
    code is 1 where there is any.
    """
    from gitmem import audit
    from gitmem.cli import render

    if accept:
        state.refuse_agent()
        state.confirm("take memory/main as it is now for the right one?", yes=yes)
        audit.accept(state.memory, scope=scope)
    report = audit.verify(state.memory, scope=scope)
    if as_json:
        emit_json(
            {
                "findings": [render.finding_json(one) for one in report.findings],
                "commits": report.commits,
                "entries": report.entries,
            }
        )
    else:
        emit("\n".join(map(render.finding, report.findings)))
        note(render.verified(report))
    return ExitCode.FINDINGS if report.findings else ExitCode.DONE
