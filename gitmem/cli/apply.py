"""`gitmem apply`: a person approves a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import common
from gitmem.cli.common import State, json_option, scope_option, yes_option

if TYPE_CHECKING:
    from gitmem.model.candidates import Candidate


@click.command
@click.argument("name", metavar="ID")
@click.option(
    "--expect",
    metavar="DIGEST|COMMIT",
    help="Refuse if the candidate is not what was seen: its digest, or its commit.",
)
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State, *, name: str, expect: str | None, scope: str | None, yes: bool, as_json: bool
) -> None:
    """Approve a candidate: merge it into memory.

    On a terminal the difference is shown first, and what is applied is what was shown.
    """
    by = state.decider()
    found = state.memory.candidate(name, scope=scope)
    shown = None if yes else _review(state, found)
    if state.confirm(f"apply {found.id}?", yes=yes, shown=shown):
        expect = expect or found.digest
    decision = state.memory.apply(found.id, by=by, expect=expect, scope=found.tier)
    common.report(decision, "applied", as_json=as_json)


def _review(state: State, found: Candidate) -> str:
    from gitmem import differences
    from gitmem.cli import render

    return render.review(found, differences.difference(state.memory, found))
