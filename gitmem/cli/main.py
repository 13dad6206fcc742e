"""The program: its commands, each loaded only when it is asked for, and one handler for all errors."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from gitmem import __version__
from gitmem.cli import problems
from gitmem.cli.common import State
from gitmem.errors import ExitCode, GitmemError


class Row(NamedTuple):
    """A command: the group that it stands under in the help, and what it is for."""

    group: str
    summary: str


# The module of a command has its name (with `_`) and an object `command`. Its first line of help is the
# summary, which a test checks: so `gitmem --help` need not load any of them.
COMMANDS = {
    "init": Row("Set up", "Set up the memory of this project and of the user, or mend it."),
    "deinit": Row("Set up", "Take a tier out; its history is kept unless --purge is given."),
    "demo": Row("Set up", "Show the whole way of a memory in a scratch repository."),
    "hooks": Row("Set up", "Install, take out or look at the git hooks of memory."),
    "config": Row("Set up", "Show or change the settings of a memory."),
    "signers": Row("Set up", "List, add or remove the keys whose signatures count."),
    "doctor": Row("Set up", "Look for everything that could be wrong, and name what mends it."),
    "server": Row("Set up", "Have a bare repository refuse what must not come into memory."),
    "completion": Row("Set up", "Print the script that completes commands in a shell."),
    "propose": Row("Propose", "Propose an entry, its change or its deletion."),
    "session": Row("Propose", "Keep memory for one session, and see which there were."),
    "review": Row("Review", "Go through the queue at the terminal, one candidate a screen."),
    "inbox": Row("Review", "Say on one line how many candidates wait for a decision."),
    "status": Row(
        "Review", "Show how memory stands: what waits, what is not pushed, what is wrong."
    ),
    "list": Row("Review", "List the candidates, the pending ones if nothing else is said."),
    "show": Row("Review", "Show a candidate or an approved entry."),
    "diff": Row("Review", "Show what a candidate would change, with its reasons above it."),
    "apply": Row("Review", "Approve a candidate, or several: merge it into memory."),
    "edit": Row("Review", "Change a candidate, or an approved entry."),
    "split": Row(
        "Review", "Keep the named entries in a candidate, and make another one of the rest."
    ),
    "join": Row(
        "Review",
        "Put the new entry of a candidate into an approved entry, or into another candidate's.",
    ),
    "expire": Row("Review", "Close the candidates that have waited too long."),
    "discard": Row("Review", "Close a candidate without applying it."),
    "revert": Row("Review", "Take back what a candidate or a commit did."),
    "undo": Row(
        "Review", "Take back all that was applied from a session, by an actor, or since a time."
    ),
    "add": Row("Review", "Put an entry of your own into memory, proposed and approved in one."),
    "adopt": Row("Review", "Make a candidate of what nobody reviewed."),
    "reopen": Row("Review", "Take up a closed or a reverted candidate again."),
    "remote": Row("Share", "Show, name or take out the remote that memory is shared through."),
    "sync": Row("Share", "Bring memory here and at its remote together."),
    "push-candidates": Row("Share", "Push the pending candidates to the remote, and nothing else."),
    "context": Row("Read", "Print what an agent gets to read."),
    "log": Row("Read", "Print the event log, oldest first."),
    "replay": Row("Read", "Print contexts as they were."),
    "export": Row("Read", "Write memory in another form."),
    "why": Row("Read", "Tell where an entry comes from."),
    "verify": Row("Read", "Look for memory that nobody approved and for broken records."),
    "git": Row("Read", "Run git in the repository of a tier."),
}


_ASKED = "gitmem.asked"


def command_named(name: str) -> click.Command:
    """The command `name` of the table, imported."""
    command: click.Command = import_module(f"gitmem.cli.{name.replace('-', '_')}").command
    return command


class Program(click.Group):
    """The command group, which imports a command only to run it or to show its help."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """The command `name`, imported; None where there is none."""
        if name not in COMMANDS:
            return None
        return command_named(name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, noting what was asked for, so that a person can be told to repeat it."""
        ctx.meta[_ASKED] = tuple(args)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands, group by group, without loading any."""
        for group in dict.fromkeys(row.group for row in COMMANDS.values()):
            with formatter.section(group):
                formatter.write_dl(
                    [(name, row.summary) for name, row in COMMANDS.items() if row.group == group]
                )

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]  # noqa: ANN401
        """Run the program and exit with its code; errors are told and never escape."""
        given = list(sys.argv[1:] if args is None else args)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What we print is UTF-8 whatever the locale says: programs read it.
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
        code = int(self._run(given, extra))
        try:
            sys.stdout.flush()
        except OSError:
            # That was told, or is of no interest; at exit Python would complain once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for, and have all of its output written."""
        try:
            done: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever reads us has seen enough.
            return ExitCode.DONE
        return done

    def _run(self, args: list[str], extra: dict[str, Any]) -> int:
        in_json = problems.wants_json(args)
        try:
            code = super().main(args=args, standalone_mode=False, **extra)
        except GitmemError as error:
            return problems.tell(error, in_json=in_json)
        except NoArgsIsHelpError as error:
            error.show()
            return ExitCode.USAGE
        except click.ClickException as error:
            return problems.tell(problems.of_usage(error), in_json=in_json)
        except click.Abort as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                return ExitCode.INTERRUPTED
            click.echo("nothing done", err=True)
            return ExitCode.FINDINGS
        except OSError as error:
            return problems.tell(problems.of_system(error), in_json=in_json)
        return code if isinstance(code, int) else ExitCode.DONE


@click.command(
    cls=Program,
    name="gitmem",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=False,
    no_args_is_help=True,
)
@click.option(
    "-C",
    "folders",
    metavar="PATH",
    multiple=True,
    help="Run as if started in PATH, as in git; may be repeated, each from the one before.",
)
@click.version_option(__version__, prog_name="gitmem", message="%(prog)s %(version)s")
@click.pass_context
def program(ctx: click.Context, folders: tuple[str, ...]) -> None:
    """Reviewed memory for AI agents, kept in git."""
    state = State(Path().joinpath(*folders), ctx.meta.get(_ASKED, ()))
    ctx.obj = state
    if state.plain:
        ctx.color = False


def main() -> None:
    """Run gitmem; the entry point of the installed programs `gitmem` and `git-mem`."""
    # A command lives for a moment and makes many small records that it needs to its end: looking
    # for garbage among them took a third of the time of a long log.
    gc.set_threshold(500_000, 20, 20)
    program.main(prog_name="gitmem")
