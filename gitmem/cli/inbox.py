"""`gitmem inbox`: in one line, what waits for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem import clock
from gitmem.cli.common import State, emit, emit_json, json_option, scope_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.review import Item


@click.command
@scope_option
@json_option
@click.pass_obj
def command(state: State, *, scope: str | None, as_json: bool) -> None:
    """Say in one line what waits for a decision, and nothing where nothing does.

    For a shell prompt or a start hook. It changes nothing.
    """
    from gitmem import review

    items = review.queue(state.memory, scope=scope).items
    if as_json:
        oldest = min((item.found.created_at for item in items), default=None)
        emit_json(
            {
                "waiting": len(items),
                "risky": sum(bool(item.risks) for item in items),
                "oldest": None if oldest is None else clock.rfc3339(oldest),
            }
        )
    elif items:
        emit(_line(items, clock.now()))


def _line(items: Sequence[Item], now: int) -> str:
    from gitmem.cli.screen import age

    risky = sum(bool(item.risks) for item in items)
    among = f" ({risky} risky)" if risky else ""
    oldest = min(item.found.created_at for item in items)
    return f"{len(items)} waiting{among}, oldest {age(now - oldest)}"
