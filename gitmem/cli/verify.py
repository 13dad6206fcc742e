"""`gitmem verify`: what nobody approved, and what is broken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli.common import State, emit, emit_json, json_option, note, scope_option, yes_option
from gitmem.errors import BadInputError, ExitCode

if TYPE_CHECKING:
    from gitmem.findings import Report

FORMATS = ("text", "json", "github", "gitlab")


@click.command
@scope_option
@click.option(
    "--accept",
    is_flag=True,
    help="Take memory/main as it is now for the one to watch over, after it was rewritten on purpose.",
)
@click.option(
    "--range",
    "given",
    metavar="OLD..NEW",
    help="Report only what these commits bring to memory/main.",
)
@click.option(
    "--candidate", is_flag=True, help="The range is a candidate, NEW, for the memory/main OLD."
)
@click.option(
    "--signers",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What the range approves counts only if a key in FILE signed it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to print the findings: github writes workflow annotations, gitlab a report of "
    "code quality.",
)
@yes_option
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    scope: str | None,
    accept: bool,
    given: str | None,
    candidate: bool,
    signers: Path | None,
    form: str,
    yes: bool,
    as_json: bool,
) -> ExitCode:
    """Look for memory that nobody approved and for broken records.

    The whole history is read and no cache is asked. Each finding names the way out. The exit
    code is 1 where there is any.

    With --range, for a workflow on a forge: what OLD..NEW brings, and nothing older. It works in
    any clone of the memory's repository with its whole history, also where gitmem set up none.
    """
    from gitmem import audit

    if given is None and (candidate or signers is not None):
        raise BadInputError("usage", "--candidate and --signers need --range OLD..NEW")
    if given is not None and accept:
        raise BadInputError("usage", "--range and --accept don't go together")
    if accept:
        state.refuse_agent()
        state.confirm("take memory/main as it is now for the right one?", yes=yes)
        audit.accept(state.memory, scope=scope)
    if given is None:
        report = audit.verify(state.memory, scope=scope)
    else:
        report = _of_range(state, given, scope, candidate=candidate, signers=signers)
    _show(report, "json" if as_json else form)
    return ExitCode.FINDINGS if report.findings else ExitCode.DONE


def _of_range(
    state: State, given: str, scope: str | None, *, candidate: bool, signers: Path | None
) -> Report:
    from gitmem import arrivals

    place = state.memory.found.project
    if scope is not None:
        place = state.memory.store(scope).place
    git_dir = place.git_dir if place is not None else arrivals.repository_at(state.path)
    listed = state.path / signers if signers is not None else None
    return arrivals.verify(git_dir, given, candidate=candidate, signers=listed)


def _show(report: Report, form: str) -> None:
    from gitmem.cli import annotations, render

    if form == "json":
        emit_json(
            {
                "findings": [render.finding_json(one) for one in report.findings],
                "commits": report.commits,
                "entries": report.entries,
            }
        )
    elif form == "gitlab":
        emit_json([annotations.gitlab(one) for one in report.findings])
    else:
        shown = annotations.github if form == "github" else render.finding
        emit("\n".join(map(shown, report.findings)))
        note(render.verified(report))
