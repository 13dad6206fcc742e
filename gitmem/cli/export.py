"""`gitmem export`: memory in other forms."""

from __future__ import annotations

import json

import click

from gitmem.cli.common import State, scope_option
from gitmem.cli.log import moment


@click.group
def command() -> None:
    """Write memory in another form."""


@command.command
@scope_option
@click.option(
    "--since",
    metavar="TIME",
    help="Begin with the first event that is not older; times as in 'gitmem log'.",
)
@click.pass_obj
def log(state: State, *, scope: str | None, since: str | None) -> None:
    """Write the event log with its texts as JSON lines that need no repository.

    'gitmem replay --log FILE' rebuilds contexts from it. Without --scope it holds the user's
    own memory too: think before you give it away.
    """
    from gitmem.exchange import eventlog

    stores = state.memory.stores(scope)
    begin = None if since is None else moment(since)
    for line in eventlog.written(stores, since=begin):
        click.echo(json.dumps(line, ensure_ascii=False))
