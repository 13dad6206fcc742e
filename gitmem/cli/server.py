"""`gitmem server`: a bare repository that refuses what must not come into memory."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import click

from gitmem.cli.common import State, emit
from gitmem.errors import ExitCode
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.server import Rules

# So many lines tell what is wrong; a push of thousands of refs need not be told all.
_ENOUGH = 20

repository_argument = click.argument(
    "repository", metavar="BARE-REPO", type=click.Path(path_type=Path)
)


@click.group
def command() -> None:
    """Have a bare repository refuse what must not come into memory."""


@command.command
@repository_argument
@click.option("--approvers", metavar="NAMES", help="Who may decide: accounts or signers' names.")
@click.option(
    "--approval",
    type=click.Choice(["open", "signed"]),
    help="Whether decisions must be signed by a key in BARE-REPO/gitmem-signers.",
)
@click.option(
    "--own-candidates",
    type=click.Choice(["allowed", "refused"]),
    help="Whether one may approve what one proposed.",
)
@click.pass_obj
def install(
    state: State,
    *,
    repository: Path,
    approvers: str | None,
    approval: str | None,
    own_candidates: str | None,
) -> None:
    """Put a pre-receive hook into a repository on a server, and set what it asks.

    A hook that is there is moved to pre-receive.local, which ours runs first. The settings are
    gitmem.approvers, gitmem.approval and gitmem.ownCandidates in the repository's own config; what
    is not given stays as it is.
    """
    from gitmem import server

    place = state.path / repository
    changed = server.install(place)
    given = {"approvers": approvers, "approval": approval, "ownCandidates": own_candidates}
    server.set_rules(place, {name: text for name, text in given.items() if text is not None})
    did = changed.did if changed is not None else "in place"
    moved = ", after your own pre-receive.local" if changed is not None and changed.local else ""
    emit(f"pre-receive: {did}{moved}")
    emit("\n".join(_rules(server.rules(place))))


@command.command
@repository_argument
@click.pass_obj
def uninstall(state: State, *, repository: Path) -> None:
    """Take the hook out; one that ran before it gets its name back."""
    from gitmem import server

    changed = server.uninstall(state.path / repository)
    if changed is None:
        emit("there is no hook of gitmem")
    else:
        emit(f"pre-receive: removed{', your own is back' if changed.local else ''}")


@command.command(hidden=True)
@click.argument("git_dir", type=click.Path(path_type=Path))
@click.pass_obj
def run(state: State, git_dir: Path) -> ExitCode:
    """Answer the hook; the script calls this."""
    from gitmem import server

    sys.excepthook = _in_one_line
    pushed = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    refused = server.refusals(state.path / git_dir, pushed)
    for one in refused[:_ENOUGH]:
        ref = one.ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
        click.echo(visible(f"gitmem: {ref}: {one.why}"), err=True)
    if len(refused) > _ENOUGH:
        click.echo(f"gitmem: and {len(refused) - _ENOUGH} more", err=True)
    return ExitCode.REFUSED if refused else ExitCode.DONE


def _in_one_line(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    """Tell whoever pushes of a fault of ours without the server's paths and code."""
    click.echo(visible(f"gitmem: {kind.__name__}: {error}"), err=True)


def _rules(found: Rules) -> list[str]:
    approval = "signed" if found.signed else "open"
    signers = f", {len(found.signers)} in gitmem-signers" if found.signed else ""
    own = "allowed" if found.own_candidates else "refused"
    return [
        f"  approval        {approval}{signers}",
        visible(f"  approvers       {', '.join(found.approvers) or 'everybody who may push'}"),
        f"  own-candidates  {own}",
    ]
