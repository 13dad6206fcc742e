"""`gitmem apply`: a person approves candidates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli import common
from gitmem.cli.common import State, json_option, note, scope_option, yes_option
from gitmem.errors import BadInputError, ConflictError, ExitCode, GitmemError, RefusedError

if TYPE_CHECKING:
    from gitmem.memory import Decision, Memory
    from gitmem.model.candidates import Candidate
    from gitmem.model.history import Person


@click.command
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@click.option("--batch", is_flag=True, help="And all others of its batch, as 'review' has it.")
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
    state: State,
    *,
    names: tuple[str, ...],
    batch: bool,
    expect: str | None,
    scope: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Approve a candidate, or several: merge it into memory.

    On a terminal the difference is shown first, and what is applied is what was shown. Of several,
    all are shown before the question. What can't be applied then is named, the rest is, and the
    exit code is 3; with --json there is an array of decisions and errors.
    """
    by = state.decider()
    memory = state.memory
    found = _chosen(memory, names, scope, batch=batch)
    if len(found) > 1 and expect is not None:
        raise BadInputError("usage", "--expect is about one candidate")
    shown = None if yes else "\n\n".join(_review(state, one) for one in found)
    question = f"apply {found[0].id}?" if len(found) == 1 else f"apply these {len(found)}?"
    asked = state.confirm(question, yes=yes, shown=shown)
    if len(found) > 1 or batch:
        _apply_all(memory, found, by, as_json=as_json)
        return
    (one,) = found
    expect = expect or (one.digest if asked else None)
    decision = memory.apply(one.id, by=by, expect=expect, scope=one.tier)
    common.report(decision, "applied", as_json=as_json)
    _tell_done(memory, decision, one.tier, by)


def _chosen(
    memory: Memory, names: Iterable[str], scope: str | None, *, batch: bool
) -> list[Candidate]:
    """The candidates that are meant, each once."""
    found = {
        (one.tier, one.id): one for one in (memory.candidate(name, scope=scope) for name in names)
    }
    if batch:
        from gitmem import review

        items = review.queue(memory, scope=scope).items
        meant = {item.batch for item in items if item.name in found and item.batch is not None}
        for item in items:
            if item.batch in meant:
                found.setdefault(item.name, item.found)
    return list(found.values())


def _apply_all(memory: Memory, found: Iterable[Candidate], by: Person, *, as_json: bool) -> None:
    documents: list[dict[str, Any]] = []
    failed = False
    for one in found:
        try:
            decision = memory.apply(one.id, by=by, expect=one.digest, scope=one.tier)
        except (ConflictError, RefusedError) as error:
            failed = True
            documents.append({"candidate": one.id, **_error(error)})
            common.warn(error.message)
            continue
        documents.append(common.decision_json(decision))
        if as_json:
            common.tell_left(decision)
        else:
            common.report(decision, "applied", as_json=False)
        _tell_done(memory, decision, one.tier, by)
    if as_json:
        common.emit_json(documents)
    if failed:
        raise click.exceptions.Exit(ExitCode.CONFLICT)


def _error(error: GitmemError) -> dict[str, str]:
    return {"error": error.reference, "message": error.message}


def _tell_done(memory: Memory, decision: Decision, tier: str, by: Person) -> None:
    from gitmem import upkeep

    for id_ in upkeep.close_done_by(memory, decision, tier, by=by):
        note(f"{id_} says what is approved now: closed as superseded")


def _review(state: State, found: Candidate) -> str:
    from gitmem import differences
    from gitmem.cli import render

    return render.review(found, differences.difference(state.memory, found))
