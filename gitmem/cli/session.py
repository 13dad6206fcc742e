"""`gitmem session`: what an agent keeps while it works, and the record of what it was given."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from gitmem import config
from gitmem.cli.common import State, emit, emit_json, json_option, note, scope_option, warn
from gitmem.errors import BadInputError
from gitmem.visible import visible

# As `sessions.TYPES`: a test compares them.
TYPES = ("preference", "convention", "fact")
_AGE = re.compile(r"([0-9]+)([hdw])\Z")
_UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400}

session_option = click.option(
    "--session", metavar="ID", help="The session; by default what GITMEM_SESSION says."
)


@click.group
def command() -> None:
    """Keep memory for one session, and see which there were.

    What a session holds is nobody's approval: it is read for that session's contexts alone and
    never becomes durable by itself.
    """


def named(session: str | None) -> str:
    """The session that is meant. Raises BadInputError `session-missing`."""
    found = session or config.session()
    if found is None:
        raise BadInputError(
            "session-missing",
            "no session is named",
            hint="add --session ID, or set GITMEM_SESSION; gitmem session start makes one",
        )
    return found


@command.command
@click.argument("session", required=False, metavar="[ID]")
@click.option(
    "--related",
    multiple=True,
    metavar="ID",
    help="A session that it goes on from; may be repeated.",
)
@click.pass_obj
def start(state: State, *, session: str | None, related: tuple[str, ...]) -> None:
    """Start a session and print its id.

    One that is open already goes on. Where memory stands now is recorded.
    """
    started = state.memory.sessions().start(session, related)
    emit(started.id)
    if not started.made:
        note(f"{started.id} is open already")
    _warn(started.warnings)


@command.command
@click.argument("key")
@click.option("--type", "kind", type=click.Choice(TYPES), required=True, help="What it is.")
@click.option("--body", metavar="TEXT", help="What is to be kept.")
@click.option("--body-file", metavar="FILE", help="The same, from a file; - is standard input.")
@session_option
@click.pass_obj
def put(
    state: State,
    *,
    key: str,
    kind: str,
    body: str | None,
    body_file: str | None,
    session: str | None,
) -> None:
    """Keep an entry for the rest of the session, in place of one with the same key."""
    if (body is None) == (body_file is None):
        raise BadInputError("usage", "put wants either --body or --body-file")
    text = body if body is not None else state.read_text(body_file or "-")
    _tell_aside(state.memory.sessions().put(named(session), key, kind, text))


@command.command
@click.argument("key")
@session_option
@click.pass_obj
def drop(state: State, *, key: str, session: str | None) -> None:
    """Take an entry out of the session again."""
    _tell_aside(state.memory.sessions().drop(named(session), key))


def _warn(messages: Iterable[str]) -> None:
    for message in messages:
        warn(message)


def _tell_aside(aside: str | None) -> None:
    if aside is not None:
        warn(f"the session's file could not be read: it lies in '{aside}' now")


@command.command
@click.argument("key")
@click.option("--rationale", metavar="TEXT", help="Why it should be remembered.")
@click.option("--again", is_flag=True, help="Though it was discarded before; with new grounds.")
@session_option
@scope_option
@click.pass_obj
def promote(
    state: State,
    *,
    key: str,
    rationale: str | None,
    again: bool,
    session: str | None,
    scope: str | None,
) -> None:
    """Propose an entry of the session as a candidate, and print the candidate's id."""
    outcome = state.memory.promote(
        named(session), key, rationale=rationale, scope=scope, again=again
    )
    emit(outcome.id)
    if outcome.note:
        note(outcome.note)


@command.command
@session_option
@click.pass_obj
def end(state: State, *, session: str | None) -> None:
    """Close the session: its text is given to no context any more.

    The text stays on this machine, for replay alone; 'forget' removes it.
    """
    _warn(state.memory.sessions().end(named(session)))


@command.command
@click.argument("session", metavar="ID")
@click.pass_obj
def forget(state: State, *, session: str) -> None:
    """Remove the text of a session for good, with all of its versions.

    The record of what the session was given stays: it names entries and holds no text.
    """
    _warn(state.memory.sessions().forget(session))


@command.command
@click.option(
    "--older-than",
    metavar="AGE",
    default="30d",
    show_default=True,
    help="How long nothing was written: 12h, 30d, 2w.",
)
@click.pass_obj
def prune(state: State, *, older_than: str) -> None:
    """Forget the text of all old sessions, also of those that nobody ended; print their ids."""
    age = _AGE.match(older_than)
    if age is None:
        raise BadInputError(
            "time-unclear", f"'{older_than}' is no age", hint="write 12h, 30d or 2w"
        )
    pruned = state.memory.sessions().prune(int(age[1]) * _UNITS[age[2]])
    for session in pruned.sessions:
        emit(session)
    _warn(pruned.warnings)


@command.command("list")
@json_option
@click.pass_obj
def list_(state: State, *, as_json: bool) -> None:
    """List the sessions of this place, with how many entries they hold and contexts they were given."""
    from gitmem.cli.render import counted

    found = state.memory.sessions().listed()
    if as_json:
        emit_json(
            [
                {
                    "id": one.id,
                    "state": one.state,
                    "startedAt": one.started_at,
                    "endedAt": one.ended_at,
                    "entries": one.entries,
                    "contexts": one.contexts,
                    "fault": one.fault,
                }
                for one in found
            ]
        )
        return
    for one in found:
        begun = f", since {one.started_at}" if one.started_at is not None else ""
        fault = f": {visible(one.fault)}" if one.fault is not None else ""
        emit(
            f"{one.id}  {one.state}{begun}, {counted(one.entries, 'entry')}, "
            f"{counted(one.contexts, 'context')}{fault}"
        )
    if not found:
        note("no sessions")
