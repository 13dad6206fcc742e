"""`gitmem why`: where an entry comes from."""

from __future__ import annotations

import click

from gitmem.cli.common import State, emit, emit_json, json_option, scope_option


@click.command
@click.argument("entry", metavar="ENTRY")
@scope_option
@json_option
@click.pass_obj
def command(state: State, *, entry: str, scope: str | None, as_json: bool) -> None:
    """Tell where an entry comes from.

    Newest first: who approved each change and when, who proposed it on which evidence, and what
    it replaced. Before that, the sessions that were given the entry on this machine.
    """
    from gitmem.cli import render
    from gitmem.model import events

    story = state.memory.why(entry, scope=scope)
    if not as_json:
        emit(render.story(story))
        return
    chapters = [
        {
            "event": events.to_json(one.event),
            "decided": events.to_json(one.decided),
            "proposed": events.to_json(one.proposed) if one.proposed is not None else None,
            "before": one.before,
            "after": one.after,
        }
        for one in story.chapters
    ]
    emit_json(
        {
            "id": story.id,
            "scope": story.tier,
            "text": story.text,
            "chapters": chapters,
            "sessions": list(story.sessions),
        }
    )
