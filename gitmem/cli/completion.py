"""`gitmem completion`: the script that a shell needs to complete commands."""

from __future__ import annotations

import click

from gitmem.cli.common import emit

_SHELLS = ("bash", "zsh", "fish")


@click.command
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(ctx: click.Context, *, shell: str) -> None:
    """Print the script that completes commands in a shell.

    For bash, put this into ~/.bashrc: eval "$(gitmem completion bash)"
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell) or ShellComplete
    made = kind(ctx.find_root().command, {}, "gitmem", "_GITMEM_COMPLETE")
    # Not the class's own: for bash that starts a bash to look at its version.
    emit(ShellComplete.source(made))
