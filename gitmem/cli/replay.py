"""`gitmem replay`: a context as it was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gitmem import clock
from gitmem.cli.common import State, emit, emit_json, joined, json_option, note, warn
from gitmem.cli.context import document, selected, selection_options, tell
from gitmem.cli.log import moment
from gitmem.errors import BadInputError, ExitCode
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.model.context import Options, Unit
    from gitmem.rebuild import Rebuilt
    from gitmem.replay import Replayed


@click.command
@click.argument("session", required=False, metavar="[SESSION]")
@click.option("--show", type=int, metavar="N", help="Print the session's context number N.")
@click.option(
    "--diff", is_flag=True, help="Show what has changed in its last context since, or in --context."
)
@click.option(
    "--checkout",
    metavar="DIR",
    help="Put the files of memory as they lay at the session's start, or at --context, into DIR.",
)
@click.option("--context", "number", type=int, metavar="N", help="Which context is meant.")
@click.option("--done", metavar="DIR", help="Take away what --checkout put into DIR.")
@click.option(
    "--at",
    "when",
    metavar="WHEN",
    help="A time as in 'gitmem log', or a commit (the beginning of its id): memory as it was then.",
)
@click.option("--log", "file", metavar="FILE", help="Ask a file of 'gitmem export log' alone.")
@selection_options
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    session: str | None,
    show: int | None,
    diff: bool,
    checkout: str | None,
    number: int | None,
    done: str | None,
    when: str | None,
    file: str | None,
    budget: str,
    unit: Unit,
    tiers: tuple[str, ...],
    skill: str | None,
    as_json: bool,
) -> int:
    """Print contexts as they were.

    With SESSION, each context that it was given is built again, from the commits that its record
    names, and compared byte by byte; the exit code is 1 where one is not the same. With --at, it
    is what an agent would have read then: the order of commits decides, never their dates, and
    what a time leaves open is said.
    """
    state: State = ctx.obj
    _check_usage(ctx)
    if done is not None:
        return _done(state, done)
    if session is None:
        options = selected(state, budget, unit, tiers, skill)
        return _moment(_at(state, when or "", file, options), as_json=as_json)
    if checkout is not None:
        return _checkout(state, session, checkout, number)
    if show is not None:
        return _show(state, session, show, as_json=as_json)
    if diff:
        return _diff(state, session, number)
    return _compare(state, session, as_json=as_json)


# What goes together: for each way to ask, the options that it takes.
_WAYS = {
    "session": {"show", "diff", "checkout", "number", "as_json"},
    "when": {"file", "budget", "unit", "tiers", "skill", "as_json"},
    "done": set[str](),
}
_ONE_OF = ("show", "diff", "checkout")


def _check_usage(ctx: click.Context) -> None:
    """Raise BadInputError `usage` where options are given that have no say together."""
    given = {
        name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    way = next((way for way in _WAYS if way in given), None)
    if way is None:
        raise BadInputError(
            "usage", "say what to replay: SESSION, or --at WHEN", hint="gitmem replay --help"
        )
    if given - _WAYS[way] - {way} or len(given.intersection(_ONE_OF)) > 1:
        raise BadInputError("usage", "these options don't go together", hint="gitmem replay --help")
    if "number" in given and not given & {"diff", "checkout"}:
        raise BadInputError("usage", "--context goes with --diff or --checkout")


# -- a session -----------------------------------------------------------------------------------


def _compare(state: State, session: str, *, as_json: bool) -> int:
    from gitmem import rebuild
    from gitmem.cli import render

    found = rebuild.session(state.memory, session)
    if as_json:
        emit_json([_document(one) for one in found])
    elif not found:
        note(f"no context was built for {session}")
    for one in found if not as_json else ():
        count = sum(len(ids_) for ids_ in one.built.entries.values())
        size = f"{render.counted(count, 'entry')}, {one.built.sizes['characters']} characters"
        said = "the same" if one.same else "not the same"
        emit(f"{one.built.number:4}  {clock.rfc3339(one.record.at)}  {said:12}  {size}")
        for difference in one.differences:
            about = f": {', '.join(difference.entries)}" if difference.entries else ""
            emit(visible(f"      {difference.message}{about}"))
    return ExitCode.DONE if all(one.same for one in found) else ExitCode.FINDINGS


def _document(one: Rebuilt) -> dict[str, Any]:
    return {
        "number": one.built.number,
        "at": clock.rfc3339(one.record.at),
        "pins": dict(one.record.pins),
        "digest": one.built.digest,
        "same": one.same,
        "differences": [
            {"kind": each.kind, "message": each.message, "entries": list(each.entries)}
            for each in one.differences
        ],
    }


def _show(state: State, session: str, number: int, *, as_json: bool) -> int:
    from gitmem import rebuild
    from gitmem.model import context

    one = rebuild.one_of(rebuild.session(state.memory, session), number)
    if as_json:
        report = {} if one.context is None else context.report(one.context)
        emit_json({**_document(one), **report})
    elif one.context is not None:
        click.echo(one.context.text, nl=False)
    _tell_differences(one)
    return ExitCode.DONE if one.same else ExitCode.FINDINGS


def _tell_differences(one: Rebuilt) -> None:
    for each in one.differences:
        about = f": {joined(each.entries)}" if each.entries else ""
        warn(f"this is not what the session was given: {each.message}{about}")


def _diff(state: State, session: str, number: int | None) -> int:
    from gitmem import rebuild
    from gitmem.cli import render
    from gitmem.differences import unified

    one = rebuild.one_of(rebuild.session(state.memory, session), number)
    _tell_differences(one)
    if one.context is None:
        return ExitCode.FINDINGS
    given = rebuild.present(state.memory, one)
    then = f"context {one.built.number} of {session}"
    emit(render.difference(unified(one.context.text, given.context.text, then, "now")))
    tell(given)
    return ExitCode.DONE if one.same else ExitCode.FINDINGS


def _checkout(state: State, session: str, folder: str, number: int | None) -> int:
    from gitmem import lookaround

    found = lookaround.lay_out(state.memory, session, number, state.path / folder)
    for one in found:
        emit(visible(f"{one.tier} memory: {one.path}, {one.commit}"))
        if one.unreviewed:
            warn(f"nobody approved what the file has there: {', '.join(one.unreviewed)}")
    note(f"to take it away: gitmem replay --done {folder}")
    return ExitCode.DONE


def _done(state: State, folder: str) -> int:
    from gitmem import lookaround

    for path in lookaround.take_away(state.memory, Path(state.path / folder)):
        emit(visible(f"{path}: taken away"))
    return ExitCode.DONE


# -- a moment ------------------------------------------------------------------------------------


def _moment(found: Replayed, *, as_json: bool) -> int:
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
        return ExitCode.DONE
    for one in found.stood:
        at = "not begun yet" if one.at is None else f"{one.commit}, {clock.rfc3339(one.at)}"
        note(f"{one.tier} memory: {at}")
    click.echo(found.given.context.text, nl=False)
    tell(found.given)
    return ExitCode.DONE


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
