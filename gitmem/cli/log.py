"""`gitmem log`: the event log."""

from __future__ import annotations

import json
import re

import click

from gitmem import clock
from gitmem.cli.common import KINDS, State, emit, scope_option
from gitmem.errors import BadInputError

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGO = re.compile(r"(\d+)([mhdw])\Z")


@click.command
@scope_option
@click.option("--entry", metavar="ENTRY", help="Only what is about this entry.")
@click.option("--candidate", metavar="ID", help="Only what is about this candidate.")
@click.option("--session", metavar="ID", help="The whole story of this session.")
@click.option("--kind", type=click.Choice(KINDS), metavar="KIND", help="Only events of this kind.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only what is not older: 2026-05-18, 2026-05-18T10:30:00Z (UTC where no zone is said), "
    "or 90m, 12h, 7d, 2w ago.",
)
@click.option("--snapshots", is_flag=True, help="Add the texts before and after.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_obj
def command(
    state: State,
    *,
    scope: str | None,
    entry: str | None,
    candidate: str | None,
    session: str | None,
    kind: str | None,
    since: str | None,
    snapshots: bool,
    as_json: bool,
) -> None:
    """Print the event log, oldest first.

    Parents come before children; times are what people's clocks said. The project's log comes
    first, then the user's.

    What sessions were given is known on this machine alone: it stands in the log only with
    --session, or where --kind asks for it.
    """
    from gitmem.model import events

    found = state.memory.log(
        scope=scope,
        entry=entry,
        candidate=candidate,
        session=session,
        kind=kind,
        since=None if since is None else moment(since),
    )
    for store, event in found:
        document = events.to_json(event, store.text if snapshots else None)
        if as_json:
            emit(json.dumps(document, ensure_ascii=False))
            continue
        from gitmem.cli import render

        emit(render.event(event))
        if snapshots:
            emit(render.snapshots(document))


def moment(text: str) -> int:
    """A time as a person writes it, in seconds since the epoch. Raises BadInputError `time-unclear`."""
    from datetime import UTC, datetime

    ago = _AGO.match(text)
    if ago is not None:
        return clock.now() - int(ago[1]) * _UNITS[ago[2]]
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadInputError(
            "time-unclear",
            f"'{text}' is no time",
            hint="write 2026-05-18, 2026-05-18T10:30:00Z, or 7d for seven days ago",
        ) from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
