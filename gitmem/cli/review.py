"""`gitmem review`: a person goes through the queue at the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli.common import State, note, scope_option

if TYPE_CHECKING:
    from gitmem.cli.reviewer import Turn
    from gitmem.memory import Memory


@click.command
@scope_option
@click.pass_obj
def command(state: State, *, scope: str | None) -> None:
    """Go through the queue at the terminal, one candidate a screen.

    One key decides: y applies, n discards, e edits, space leaves it for later, ? lists all keys.
    Each decision is carried out at once. Where standard input is no terminal, each of its lines is
    a key.
    """
    from gitmem.cli.reviewer import Reviewer
    from gitmem.cli.terminal import Terminal

    by = state.decider()
    with Terminal(plain=state.plain) as terminal:
        reviewer = Reviewer(state.memory, lambda: _turns(state.memory, scope), by, terminal)
        if reviewer.waiting:
            reviewer.run()
        else:
            note("no candidate waits for a decision")


def _turns(memory: Memory, scope: str | None) -> list[Turn]:
    from gitmem.cli.reviewer import Turn

    return [Turn(found.tier, found.id) for found in memory.candidates(scope=scope)]
