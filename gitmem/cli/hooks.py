"""`gitmem hooks`: the git hooks for people who use plain git in a memory repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli.common import SCOPES, State, emit, emit_json, json_option, scope_option, warn
from gitmem.errors import ExitCode
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.hooks import Change, Status
    from gitmem.layout import Scope

_SAID = {
    "written": "written",
    "updated": "brought up to date",
    "removed": "removed",
    "left": "not installed",
}


@click.group
def command() -> None:
    """Install, take out or look at the git hooks of memory."""


@command.command
@scope_option
@click.pass_obj
def install(state: State, *, scope: str | None) -> None:
    """Have the hooks as this gitmem has them.

    A hook of your own is moved to NAME.local, which ours runs first.
    """
    from gitmem import hooks

    for store in state.memory.stores(scope):
        changes = hooks.install(store.place)
        emit("\n".join(_told(store.tier, changes, "the hooks are in place")))
        for change in changes:
            if change.did == "left":
                warn(f"'{change.name}' is a hook of your own, and there is a {change.name}.local")


@command.command
@scope_option
@click.pass_obj
def uninstall(state: State, *, scope: str | None) -> None:
    """Take out the hooks that gitmem installed, and no other.

    A hook of your own gets its name back.
    """
    from gitmem import hooks

    for store in state.memory.stores(scope):
        changes = hooks.uninstall(store.place)
        emit("\n".join(_told(store.tier, changes, "there are no hooks of gitmem")))


@command.command
@scope_option
@json_option
@click.pass_obj
def status(state: State, *, scope: str | None, as_json: bool) -> ExitCode:
    """Show which hooks there are.

    The exit code is 1 where one is missing, outdated or somebody else's, or git does not use them.
    """
    from gitmem import hooks

    found = {store.tier: hooks.status(store.place) for store in state.memory.stores(scope)}
    if as_json:
        emit_json({tier: _json(one) for tier, one in found.items()})
    else:
        emit("\n".join(line for tier, one in found.items() for line in _shown(tier, one)))
    return ExitCode.DONE if all(one.complete for one in found.values()) else ExitCode.FINDINGS


@command.command
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="project",
    show_default=True,
    help="The tier that the files are of.",
)
@click.pass_obj
def check(state: State, *, files: tuple[str, ...], scope: Scope) -> ExitCode:
    """Check that files are entries that gitmem can read.

    Each is named from the top of a clone of memory, as tools that run hooks of their own do
    (.pre-commit-hooks.yaml). The exit code is 1 where one is not.
    """
    from gitmem import hooks

    faults = hooks.check_files({name: state.read(name) for name in files}, scope)
    emit("\n".join(visible(f"{path}: {fault}") for path, fault in faults.items()))
    return ExitCode.FINDINGS if faults else ExitCode.DONE


@command.command(hidden=True)
@click.argument("name")
@click.argument("git_dir", type=click.Path(path_type=Path))
@click.argument("index", type=click.Path(path_type=Path))
def run(name: str, git_dir: Path, index: Path) -> None:
    """Answer a hook; the scripts call this."""
    from gitmem import hooks

    hooks.run(name, git_dir, index)


@command.command(hidden=True)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("path")
def merge(base: Path, ours: Path, theirs: Path, path: str) -> None:
    """Merge an entry for git; its merge driver calls this."""
    from gitmem import hooks

    hooks.merge(base, ours, theirs, path)


def _told(tier: str, changes: tuple[Change, ...], otherwise: str) -> Iterator[str]:
    if not changes:
        yield f"{tier}: {otherwise}"
    for change in changes:
        yours = ", your own is beside it" if change.did == "written" else ", your own is back"
        moved = yours if change.local and change.did in ("written", "removed") else ""
        yield f"{tier}: {change.name} {_SAID[change.did]}{moved}"


def _shown(tier: str, found: Status) -> Iterator[str]:
    used = "" if found.active else ", which git does not use: run gitmem init"
    yield f"{tier}: {found.folder}{used}"
    for hook in found.hooks:
        yours = f", after your {hook.name}.local" if hook.local else ""
        yield f"  {hook.name:<20} {hook.state}{yours}"
    yield f"  {'merge-driver':<20} {'current' if found.merges else 'missing'}"


def _json(found: Status) -> dict[str, object]:
    return {
        "folder": str(found.folder),
        "active": found.active,
        "merges": found.merges,
        "hooks": [
            {"name": hook.name, "state": hook.state, "local": hook.local} for hook in found.hooks
        ],
    }
