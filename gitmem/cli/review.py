"""`gitmem review`: a person goes through the queue at the terminal."""

from __future__ import annotations

import click

from gitmem.cli.common import State, note, scope_option, tell_claimed


@click.command
@scope_option
@click.pass_obj
def command(state: State, *, scope: str | None) -> None:
    """Go through the queue at the terminal, one candidate a screen.

    One key decides: y applies, n discards, e edits, space leaves it for later, ? lists all keys.
    Each decision is carried out at once. Where standard input is no terminal, each of its lines is
    a key.
    """
    from gitmem import review
    from gitmem.cli.reviewer import Reviewer
    from gitmem.cli.terminal import Terminal

    by, memory = state.decider(), state.memory
    if scope != "user" and memory.dropped():
        tell_claimed(memory.claim())
    with Terminal(plain=state.plain) as terminal:
        reviewer = Reviewer(memory, lambda: review.queue(memory, scope=scope), by, terminal)
        if reviewer.waiting:
            reviewer.run()
        else:
            note("no candidate waits for a decision")
