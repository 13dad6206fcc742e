"""Errors as a person reads them, and as a program does."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence

import click

from gitmem.errors import BadInputError, GitmemError
from gitmem.visible import visible

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG})


def tell(error: GitmemError, *, in_json: bool) -> int:
    """Print an error where it belongs; gives the exit code."""
    if in_json:
        click.echo(json.dumps(as_json(error), ensure_ascii=False))
    else:
        click.echo(text(error), err=True)
    return int(error.exit_code)


def text(error: GitmemError) -> str:
    """What a person reads: what failed, why, and what to do next."""
    lines = [f"{click.style('error:', fg='red', bold=True)} {visible(error.message)}"]
    if error.context:
        shown = visible(error.context.strip(), multiline=True)
        lines += [f"  {line}" for line in shown.split("\n")]
    if error.hint:
        label = click.style("hint:", fg="yellow")
        lines += [f"{label} {line}" for line in visible(error.hint, multiline=True).split("\n")]
    return "\n".join(lines)


def as_json(error: GitmemError) -> dict[str, str | None]:
    """What a program reads: `error`, a stable name, with `message`, `context` and `hint`."""
    return {
        "error": error.reference,
        "message": error.message,
        "context": error.context,
        "hint": error.hint,
    }


def of_usage(error: click.ClickException) -> GitmemError:
    """A command line that click could not read, as an error of ours."""
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    place = context.command_path if isinstance(context, click.Context) else "gitmem"
    return BadInputError(
        "usage", message[:1].lower() + message[1:], hint=f"{place} --help says what there is"
    )


def of_system(error: OSError) -> GitmemError:
    """What the system would not let us do, as an error of ours."""
    if error.errno in _NO_ROOM:
        hint = "make room on the disk, or make the folder writable, and repeat"
    else:
        hint = "look at the owner and the permissions there, and repeat"
    return BadInputError(
        "cannot-write" if error.errno in _NO_ROOM else "system-refused",
        f"the system refused: {(error.strerror or 'unknown').lower()}",
        context=str(error),
        hint=hint,
    )


def wants_json(args: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, also where it can't be read otherwise."""
    own = list(args[: args.index("--")] if "--" in args else args)
    while own[:1] == ["-C"]:
        del own[:2]
    # What follows `git` is git's.
    return own[:1] != ["git"] and any(arg == "--json" or arg.startswith("--json=") for arg in own)
