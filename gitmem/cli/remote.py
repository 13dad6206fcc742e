"""`gitmem remote`: names the remote that a tier's memory is shared through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitmem.cli import common
from gitmem.cli.common import State, emit, emit_json, json_option, note, scope_option
from gitmem.errors import BadInputError
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.remotes import Named, Visible


@click.command
@click.argument("url", required=False)
@click.option("--host", is_flag=True, help="Take the remote of the project's own repository.")
@click.option("--remove", is_flag=True, help="Take the remote out; nothing there changes.")
@scope_option
@json_option
@click.pass_obj
def command(
    state: State, *, url: str | None, host: bool, remove: bool, scope: str | None, as_json: bool
) -> None:
    """Show, name or take out the remote that memory is shared through.

    Without arguments it shows which there are. A relative path is seen from where this runs.
    """
    from gitmem import remotes

    if (url is not None) + host + remove > 1:
        raise BadInputError("usage", "give one of URL, --host and --remove")
    if not (url or host or remove):
        _show(state, scope, as_json=as_json)
        return
    state.refuse_agent()
    if remove:
        found = remotes.take_out(state.memory, scope=scope)
        said = f"the {found.scope} memory has no remote any more; {found.url} stays as it is"
    else:
        found = remotes.name(state.memory, url, scope=scope, ask=common.is_terminal())
        said = f"the {found.scope} memory is shared through {found.url} ({found.name})"
    if as_json:
        emit_json(_json(found))
    else:
        emit(visible(said))
    if not remove and found.tip is None:
        shown = remotes.visible(state.memory, found.scope)
        note(f"the first gitmem sync shows there: {will_show(shown)}")


def _show(state: State, scope: str | None, *, as_json: bool) -> None:
    from gitmem import remotes

    found = remotes.named(state.memory, scope)
    if as_json:
        emit_json([_json(one) for one in found])
    for one in found:
        if not as_json:
            seen = f"memory/main at {one.tip[:10]}" if one.tip else "not synced yet"
            emit(visible(f"{one.scope} memory: {one.url} ({one.name}), {seen}"))
    if not found:
        note("no memory here has a remote; to name one: gitmem remote URL")


def will_show(shown: Visible) -> str:
    """What a remote would show, as the end of a sentence."""
    from gitmem.cli.render import counted

    parts = [
        counted(shown.entries, "entry"),
        counted(len(shown.candidates), "pending candidate"),
        counted(shown.discarded, "discarded one"),
    ]
    return f"{', '.join(parts)}, and who proposed and approved each, on branches and tags memory/*"


def _json(found: Named) -> dict[str, str | None]:
    return {
        "scope": found.scope,
        "name": found.name,
        "url": found.url,
        "commit": found.tip,
    }
