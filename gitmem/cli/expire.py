"""`gitmem expire`: a person closes what nobody decided about in time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from gitmem import clock
from gitmem.cli import common
from gitmem.cli.common import State, emit, emit_json, json_option, note, scope_option, yes_option
from gitmem.errors import BadInputError, ExitCode
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.model.candidates import Candidate

_DAYS = re.compile(r"([1-9][0-9]{0,4})([dw]?)\Z")


@click.command
@click.option("--older-than", metavar="AGE", help="60d or 8w; otherwise what is configured.")
@scope_option
@yes_option
@json_option
@click.pass_obj
def command(
    state: State, *, older_than: str | None, scope: str | None, yes: bool, as_json: bool
) -> None:
    """Close the candidates that have waited too long.

    Nothing expires by itself. Without --older-than each tier's setting 'expire-after' holds, and
    where that is 'off' nothing is closed. The age is that of a candidate's first commit.

    An expired candidate lies under a tag like a discarded one, and can be reopened. Nobody said
    no to it: it may be proposed again.
    """
    from gitmem import trust, upkeep

    by = state.decider()
    memory = state.memory
    failed = False
    documents: list[dict[str, str | None]] = []
    for store in memory.stores(scope):
        set_ = trust.read(store.place.git_dir).settings.expire_after
        days = set_ if older_than is None else _days(older_than)
        old = [] if days is None else upkeep.old(memory, days, scope=store.tier)
        if days is None or not old:
            if not as_json:
                note(f"{store.tier}: {_nothing(days)}")
            continue
        listed = "\n".join(map(_listed, old))
        state.confirm(f"close {len(old)} of the {store.tier} memory?", yes=yes, shown=listed)
        for one in upkeep.expire(memory, old, days, by=by):
            failed = failed or one.commit is None
            document = {"candidate": one.candidate.id, "commit": one.commit, "fault": one.fault}
            documents.append(document)
            if one.commit is None:
                common.warn(f"{one.candidate.id} stays: {one.fault}")
            elif not as_json:
                emit(visible(f"expired {one.candidate.id} ({one.commit[:10]})"))
    if as_json:
        emit_json(documents)
    if failed:
        raise click.exceptions.Exit(ExitCode.FINDINGS)


def _nothing(days: int | None) -> str:
    if days is None:
        return "nothing expires; say --older-than, or set 'expire-after'"
    return f"nothing is older than {days} days"


def _days(text: str) -> int:
    """An age in days. Raises BadInputError `age-unclear`."""
    match = _DAYS.match(text)
    if match is None:
        raise BadInputError(
            "age-unclear", f"'{text}' is no age", hint="write 60d for sixty days, or 8w for weeks"
        )
    return int(match[1]) * (7 if match[2] == "w" else 1)


def _listed(found: Candidate) -> str:
    entries = common.joined(item.id for item in found.entries)
    return f"{clock.rfc3339(found.created_at)}  {found.id}  {entries}"
