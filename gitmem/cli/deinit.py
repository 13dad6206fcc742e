"""`gitmem deinit`: takes a tier out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli.common import SCOPES, State, emit, note, yes_option
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.layout import Scope
    from gitmem.tiersetup import DeinitPlan


@click.command
@click.option("--scope", type=click.Choice(SCOPES), help="The tier; the project's by default.")
@click.option("--purge", is_flag=True, help="Destroy its history, too.")
@yes_option
@click.pass_obj
def command(state: State, *, scope: Scope | None, purge: bool, yes: bool) -> None:
    """Take a tier out; its history is kept unless --purge is given.

    The next init brings a history that was kept back. Your own files are never touched.
    """
    from gitmem import tiersetup

    state.refuse_agent()
    plan = tiersetup.plan_deinit(state.path, scope=scope, purge=purge)
    question = "destroy all of it?" if purge else f"take the {plan.scope} memory out?"
    told = _told(plan)
    if yes:
        note(told)
    state.confirm(question, yes=yes, shown=told)
    report = tiersetup.deinit(state.path, scope=scope, purge=purge)
    kept = report.kept_repository
    end = "and its history is destroyed" if kept is None else f"and its history is kept in {kept}"
    emit(visible(f"the {report.scope} memory is out, {end}"))
    for file in report.kept_files:
        note(f"kept: {file}")


def _told(plan: DeinitPlan) -> str:
    from gitmem.cli.render import counted

    held = ", ".join(
        [
            counted(plan.entries, "entry"),
            counted(plan.candidates, "pending candidate"),
            counted(plan.records, "record") + " of sessions",
        ]
    )
    lines = [f"the {plan.scope} memory in {plan.repository} has {held}"]
    if plan.purge:
        lines.append("this destroys them and their whole history")
        lines += [f"this destroys {path}" for path in (*plan.dropped, *plan.sessions)]
    else:
        lines.append("its history is kept, and gitmem init brings it back")
    lines += [f"your own {path} stays" for path in plan.own]
    return visible("\n".join(lines), multiline=True)
