"""`gitmem status`: what waits, what nobody else has yet, what is wrong, on a screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli import inbox, render
from gitmem.cli.common import State, emit, emit_json, json_option, scope_option
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.review import Item
    from gitmem.status import Standing, Status

# So many of what a person should look at are named; the rest is counted.
_MOST = 8


@click.command
@scope_option
@json_option
@click.pass_obj
def command(state: State, *, scope: str | None, as_json: bool) -> None:
    """Show how memory stands: what waits, what is not pushed, what is wrong.

    Candidates that are risky, in conflict or broken are named, then what lies in the drop box,
    the decisions that a remote has not, and the findings of 'verify'. Nothing is changed.
    """
    from gitmem import status

    found = status.status(state.memory, scope=scope)
    if as_json:
        emit_json(_document(found))
        return
    emit("\n".join(_screen(found)))


def _screen(found: Status) -> Iterator[str]:
    for standing in found.tiers:
        yield f"{standing.tier}: {inbox.line(standing.waiting) or 'nothing waits'}"
        yield from (f"  {line}" for line in _of_tier(standing))
    if found.dropped:
        yield f"drop box: {render.counted(len(found.dropped), 'file')}"
        yield from (f"  {visible(line)}" for line in _first(_dropped(found)))
    if found.findings:
        yield f"{render.counted(len(found.findings), 'finding')}: see gitmem verify"
        yield from (
            f"  {visible(line)}" for line in _first([one.message for one in found.findings])
        )
    if any(standing.queue for standing in found.tiers):
        yield "decide: gitmem review"


def _of_tier(standing: Standing) -> Iterator[str]:
    yield from _first([line for item in standing.queue if (line := _flagged(item))])
    if standing.done:
        verb = "says" if len(standing.done) == 1 else "say"
        more = render.counted(len(standing.done), "more candidate")
        yield f"{more} {verb} what is approved by now: closed with your next decision in a review"
    for remote, number in standing.unpushed.items():
        if number:
            yield visible(f"{render.counted(number, 'decision')} not pushed to {remote}")


def _flagged(item: Item) -> str | None:
    """Why a candidate wants a look of its own; None where it does not."""
    found = item.found
    reasons = list(item.risks)
    reasons += [f"conflicts in {', '.join(found.conflicts)}"] if found.conflicts else []
    reasons += [f"broken: {found.broken}"] if found.broken is not None else []
    if not reasons:
        return None
    entries = ", ".join(one.id for one in found.entries) or "no entry"
    return visible(f"{found.id}  {entries}  [{'; '.join(reasons)}]")


def _dropped(found: Status) -> list[str]:
    return [
        f"{one.path.name}: {one.fault}" if one.drop is None else one.path.name
        for one in found.dropped
    ]


def _first(lines: list[str]) -> list[str]:
    rest = len(lines) - _MOST
    return lines if rest <= 1 else [*lines[:_MOST], f"… {rest} more"]


def _document(found: Status) -> dict[str, Any]:
    return {
        "tiers": {
            standing.tier: {
                **inbox.document(standing.waiting),
                "queue": [
                    {"id": item.found.id, "risks": list(item.risks), "batch": item.batch}
                    for item in standing.queue
                ],
                "done": list(standing.done),
                "unpushed": dict(standing.unpushed),
            }
            for standing in found.tiers
        },
        "dropped": [render.dropped_json(one) for one in found.dropped],
        "findings": [render.finding_json(one) for one in found.findings],
    }
