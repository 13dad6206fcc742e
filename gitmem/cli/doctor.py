"""`gitmem doctor`: what is wrong, and what mends it."""

from __future__ import annotations

import click

from gitmem.cli.common import State, emit, emit_json, json_option, note
from gitmem.errors import ExitCode


@click.command
@json_option
@click.pass_obj
def command(state: State, *, as_json: bool) -> ExitCode:
    """Look for everything that could be wrong, and name what mends it.

    Looked at are git, the repositories and folders of memory, their hooks, settings and remotes,
    and all that verify looks at. Nothing is changed and no remote is asked. The exit code is 1
    where anything is wrong.
    """
    from gitmem import doctor
    from gitmem.cli import render

    found = doctor.examine(state.path)
    if as_json:
        emit_json({"findings": [render.finding_json(one) for one in found]})
    else:
        emit("\n".join(map(render.finding, found)))
        note(render.counted(len(found), "finding") if found else "nothing is wrong")
    return ExitCode.FINDINGS if found else ExitCode.DONE
