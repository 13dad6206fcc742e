"""`gitmem context`: what an agent gets to read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gitmem import config, ids
from gitmem.cli.common import State, emit, emit_json, json_option, warn
from gitmem.errors import BadInputError, ConflictError, GitmemError

if TYPE_CHECKING:
    from gitmem.model.context import Options, Unit
    from gitmem.views import Given

Command = Callable[..., object]
TIERS = ("user", "project", "session")
UNITS = ("characters", "bytes", "tokens")
_DEFAULT_BUDGET = 9000


_SELECTION = (
    click.option(
        "--budget",
        metavar="N",
        default=str(_DEFAULT_BUDGET),
        show_default=True,
        help="The most that the text may take, 'none' for no limit. Forbidden entries always stay.",
    ),
    click.option(
        "--unit", type=click.Choice(UNITS), default="characters", show_default=True, help="Of what."
    ),
    click.option(
        "--tier",
        "tiers",
        multiple=True,
        type=click.Choice(TIERS),
        help="Only this tier; may be repeated.",
    ),
    click.option("--skill", metavar="FILE", help="Only the tiers that this skill file asks for."),
)


def selection_options(command: Command) -> Command:
    """The options that say what a context holds."""
    for option in reversed(_SELECTION):
        command = option(command)
    return command


@click.command
@selection_options
@click.option(
    "--session",
    metavar="ID",
    help="The session that it is for, by default what GITMEM_SESSION says: it is recorded.",
)
@click.option("--pinned", is_flag=True, help="Memory as it stood when the session was started.")
@click.option("--hook", is_flag=True, help="Print the JSON envelope of an agent's start hook.")
@click.option(
    "--hook-session",
    is_flag=True,
    help="With --hook: the session that the agent names on standard input, started if it is new.",
)
@json_option
@click.pass_obj
def command(
    state: State,
    *,
    budget: str,
    unit: Unit,
    tiers: tuple[str, ...],
    skill: str | None,
    session: str | None,
    pinned: bool,
    hook: bool,
    hook_session: bool,
    as_json: bool,
) -> None:
    """Print what an agent gets to read.

    The same bytes for the same memory: approved entries only, forbidden ones first. Nothing is
    printed where there is nothing to say. With --json, also what was left out and why.

    With a session, what that session holds comes last, and of what it was built is recorded: see
    'gitmem replay'.
    """
    from gitmem.model import context

    if hook and as_json:
        raise BadInputError("usage", "--hook and --json don't go together")
    if hook_session and (not hook or session is not None):
        raise BadInputError("usage", "--hook-session goes with --hook, and not with --session")
    name = session or (_hook_session(state) if hook_session else None) or config.session()
    if pinned and name is None:
        raise BadInputError("usage", "--pinned needs --session ID")
    options = selected(state, budget, unit, tiers, skill, session=name)
    given = _given(state, options, pinned=pinned, must_be=session is not None)
    built = given.context
    if as_json:
        emit_json(document(given))
    elif hook:
        emit(json.dumps(context.hook_envelope(built.text), ensure_ascii=False))
    else:
        click.echo(built.text, nl=False)
    tell(given)


def _hook_session(state: State) -> str | None:
    """The session that the input of a start hook names, started if it is new; else None.

    What goes wrong with it is said and no more: an agent must not lose its memory for that.
    """
    from gitmem.git import discover
    from gitmem.sessions import Sessions

    name = session_of(state.read("-"))
    if name is None:
        warn("standard input names no session_id: nothing is recorded")
        return None
    found = discover.find(state.path)
    if found.project is None and found.user is None:
        return name
    try:
        for message in Sessions(found).start(name).warnings:
            warn(message)
    except ConflictError:
        # It is over, which is said beside its context.
        pass
    except (GitmemError, OSError) as error:
        warn(f"the session {name} could not be started: {error}")
    return name


def session_of(hook_input: bytes) -> str | None:
    """The `session_id` that an agent tool gives its hooks; None where it is none to us."""
    try:
        document = json.loads(hook_input)
    except (ValueError, RecursionError):
        return None
    name = document.get("session_id") if isinstance(document, dict) else None
    return name if isinstance(name, str) and ids.session_fault(name) is None else None


def _given(state: State, options: Options, *, pinned: bool, must_be: bool) -> Given:
    """The context, and its record; a session that is named here, and not by the way, `must_be`."""
    from gitmem import views
    from gitmem.git import discover

    found = discover.find(state.path)
    if options.session is None or (found.project is None and found.user is None and not must_be):
        return views.given(found, options, views.open_store)
    from gitmem.sessions import Sessions

    sessions = Sessions(found)
    if must_be:
        sessions.check(options.session)
    return sessions.context(options, pinned=pinned)


def _wanted(state: State, skill: str, tiers: tuple[str, ...]) -> tuple[str, ...]:
    from gitmem.model import skills

    asked = skills.tiers_wanted(state.read_text(skill))
    return tuple(tier for tier in asked if not tiers or tier in tiers)


def selected(
    state: State,
    budget: str,
    unit: Unit,
    tiers: tuple[str, ...],
    skill: str | None,
    *,
    session: str | None = None,
) -> Options:
    """What a context is built by, from the options of the command line."""
    from gitmem.model.context import Options

    if skill is not None:
        tiers = _wanted(state, skill, tiers)
    if budget != "none" and not (budget.isascii() and budget.isdigit()):
        raise BadInputError(
            "budget-unclear", f"'{budget}' is no budget", hint="a whole number, or none"
        )
    limit = None if budget == "none" else int(budget)
    return Options(limit, unit, tiers if tiers or skill else TIERS, session)


def document(given: Given) -> dict[str, object]:
    """The report on a context, and of what did not get into it."""
    from gitmem.model import context

    unreviewed = [
        {"id": one.id, "tier": one.tier, "commit": one.commit, "blob": one.found}
        for one in given.unreviewed
    ]
    broken = [{"id": id_, "message": message} for id_, message in given.broken]
    return {
        **context.report(given.context, unreviewed),
        "broken": broken,
        "warnings": list(given.warnings),
    }


def tell(given: Given) -> None:
    """Say on standard error what did not get into the text without anybody's decision."""
    for one in given.unreviewed:
        warn(f"{one.id} was changed without approval ({one.commit[:10]}): see gitmem verify")
    for quarantined in given.context.quarantined:
        found = ", ".join(sorted({finding.rule for finding in quarantined.findings}))
        warn(f"{quarantined.memory.id} is kept out: {found}")
    for id_, message in given.broken:
        warn(f"{id_} can't be read: {message}")
    if given.context.over_budget:
        warn("the forbidden entries alone are over the budget")
    for message in given.warnings:
        warn(message)
