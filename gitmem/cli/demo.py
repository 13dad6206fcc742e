"""`gitmem demo`: the whole way of a memory, in a scratch repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import common
from gitmem.cli.common import emit
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.demo import Demo
    from gitmem.memory import Outcome


@click.command
@click.option("--keep", is_flag=True, help="Leave the scratch repository for a look around.")
def command(*, keep: bool) -> None:
    """Show the whole way of a memory in a scratch repository.

    A rule file, an agent that proposes from it, your review, and what the next agent gets to
    read. On a terminal you decide; elsewhere two candidates are applied and one is discarded.
    Nothing of yours is touched.
    """
    from gitmem import demo

    with demo.scratch(keep=keep) as scratch:
        _title("a project with a rule file", visible(str(scratch.rules)))
        emit(scratch.rules.read_text(encoding="utf-8").removesuffix("\n"))
        _title(f"an agent proposes {len(scratch.proposed)} memories", "gitmem list")
        _list(scratch)
        _title("you review", "gitmem diff, gitmem apply, gitmem discard")
        _review(scratch)
        _title("what the next agent reads", "gitmem context")
        _context(scratch)
        _title("what happened", "gitmem log")
        _log(scratch)
    if keep:
        emit(f"\nThe project is in {visible(str(scratch.folder))}: gitmem works there.")
    else:
        emit("\nThe scratch repository is removed; gitmem demo --keep leaves it for a look around.")
    emit("In a project of your own: gitmem init")


def _title(what: str, how: str) -> None:
    emit(f"\n{click.style(f'== {what}', bold=True)}  ({how})\n")


def _list(scratch: Demo) -> None:
    from gitmem.cli import render

    emit("\n".join(map(render.listed, scratch.memory.candidates())))


def _review(scratch: Demo) -> None:
    from gitmem import demo

    asking = common.is_terminal()
    for outcome in scratch.proposed:
        _show(scratch, outcome)
        if asking:
            answer = common.ask("apply it? (n discards it, q leaves the rest)", "y/n/q")
            if answer in ("q", ""):
                break
        else:
            answer = "y" if demo.apply_by_default(outcome, scratch) else "n"
        _decide(scratch, outcome, apply=answer == "y")


def _show(scratch: Demo, outcome: Outcome) -> None:
    from gitmem import differences
    from gitmem.cli import render

    found = scratch.memory.candidate(outcome.id)
    emit(render.review(found, differences.difference(scratch.memory, found)))


def _decide(scratch: Demo, outcome: Outcome, *, apply: bool) -> None:
    if apply:
        scratch.memory.apply(outcome.id, by=scratch.person)
        emit(click.style(f"-> applied {outcome.id}\n", fg="green"))
    else:
        scratch.memory.discard(outcome.id, by=scratch.person, reason="that is only a guess")
        emit(click.style(f"-> discarded {outcome.id}\n", fg="red"))


def _context(scratch: Demo) -> None:
    from gitmem.model.context import Options

    emit(scratch.memory.context(Options()).context.text.removesuffix("\n"))


def _log(scratch: Demo) -> None:
    from gitmem.cli import render

    emit("\n".join(render.event(event) for _, event in scratch.memory.log()))
