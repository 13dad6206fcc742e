"""`gitmem inbox`: what waits, on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitmem import clock
from gitmem.cli.common import State, age, emit, emit_json, json_option, scope_option

if TYPE_CHECKING:
    from gitmem.inbox import Waiting


@click.command
@scope_option
@json_option
@click.pass_obj
def command(state: State, *, scope: str | None, as_json: bool) -> None:
    """Say on one line how many candidates wait for a decision.

    It prints nothing where none does, and where there is no memory, and ends with 0 in each
    case: it is made for a shell prompt and for an agent's start hook.
    """
    from gitmem import inbox
    from gitmem.git import discover

    found = inbox.waiting(discover.find(state.path), lambda: state.memory, scope)
    if as_json:
        emit_json(document(found))
        return
    emit(line(found))


def document(found: Waiting) -> dict[str, Any]:
    """What waits as `--json` gives it."""
    return {
        "waiting": found.count,
        "risky": found.risky,
        "conflicts": found.conflicts,
        "broken": found.broken,
        "dropped": found.dropped,
        "oldest": None if found.oldest is None else clock.rfc3339(found.oldest),
    }


def line(found: Waiting) -> str:
    """`3 waiting (1 risky), oldest 2 days, 1 in the drop box`; nothing where nothing waits."""
    parts: list[str] = []
    if found.count:
        told = {"risky": found.risky, "in conflict": found.conflicts, "broken": found.broken}
        flags = ", ".join(f"{number} {what}" for what, number in told.items() if number)
        parts.append(f"{found.count} waiting" + (f" ({flags})" if flags else ""))
    if found.oldest is not None:
        parts.append(f"oldest {age(max(clock.now() - found.oldest, 0))}")
    if found.dropped:
        parts.append(f"{found.dropped} in the drop box")
    return ", ".join(parts)
