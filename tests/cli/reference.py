"""Writes the generated part of docs/cli.md: `python tests/cli/reference.py`.

It is made from the commands' own declarations, not from click's help, which
looks different from one release of click to the next.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import click

import gitmem
from gitmem.cli.main import COMMANDS, command_named, program
from gitmem.errors import GitmemError

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
MARK = "<!-- Below this line: python tests/cli/reference.py -->\n"


def generated() -> str:
    """The command reference and the table of errors."""
    return "\n".join(["## Commands\n", *_commands(), "## Errors\n", *_errors()])


# -- commands ------------------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    yield "Before the command, for all of them:\n"
    yield from _options(program)
    for group in dict.fromkeys(row.group for row in COMMANDS.values()):
        yield f"### {group}\n"
        for name, row in COMMANDS.items():
            if row.group == group:
                yield from _command(f"gitmem {name}", command_named(name))


def _command(path: str, command: click.Command) -> Iterator[str]:
    known = command.commands if isinstance(command, click.Group) else {}
    shown = {name: below for name, below in known.items() if not below.hidden}
    words = [_metavar(param) for param in command.params if isinstance(param, click.Argument)]
    if shown:
        words = ["|".join(shown)]
    yield f"#### `{' '.join([path, *words])}`\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    yield from _options(command)
    for name, below in shown.items():
        yield from _command(f"{path} {name}", below)


def _metavar(param: click.Argument) -> str:
    choices = param.type.choices if isinstance(param.type, click.Choice) else ()
    name = param.metavar or "|".join(choices) or (param.name or "").upper()
    if "[" in name:
        return name
    name = f"{name}..." if param.nargs != 1 else name
    return name if param.required else f"[{name}]"


def _options(command: click.Command) -> Iterator[str]:
    lines = [_option(param) for param in command.params if isinstance(param, click.Option)]
    if lines:
        yield "\n".join(lines) + "\n"


def _option(option: click.Option) -> str:
    value = ""
    if not option.is_flag:
        choices = option.type.choices if isinstance(option.type, click.Choice) else ()
        value = f" {option.metavar or '|'.join(choices) or 'TEXT'}"
    default = f" [default: {option.default}]" if option.show_default and option.default else ""
    return f"- `{', '.join(option.opts)}{value}`: {option.help}{default}"


# -- errors --------------------------------------------------------------------------------------


def _errors() -> Iterator[str]:
    yield "| `error` | exit code | what it says |\n| --- | --- | --- |"
    for reference, (code, message) in sorted(references().items()):
        yield f"| `{reference}` | {code} | {message.replace('|', chr(92) + '|')} |"
    yield ""


def references() -> dict[str, tuple[int, str]]:
    """Each error's stable name, with its exit code and the message where it is first raised."""
    classes = _classes()
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(Path(gitmem.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path)):
            if not isinstance(node, ast.Call) or len(node.args) < 2:
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            cls = _of_fault(node, classes) if name == "__init__" else classes.get(name)
            if cls is None:
                continue
            for reference in _strings(node.args[0]):
                found.setdefault(reference, (int(cls.exit_code), _shown(node.args[1])))
    return found


def _classes() -> dict[str, type[GitmemError]]:
    for info in pkgutil.walk_packages(gitmem.__path__, "gitmem."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    found: dict[str, type[GitmemError]] = {}
    waiting = [GitmemError]
    while waiting:
        cls = waiting.pop()
        found[cls.__name__] = cls
        waiting += cls.__subclasses__()
    return found


def _of_fault(node: ast.Call, classes: dict[str, type[GitmemError]]) -> type[GitmemError] | None:
    """The class of an error that gives itself its name: they are all bad input."""
    return classes["BadInputError"] if list(_strings(node.args[0])) else None


def _strings(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _strings(node.body)
        yield from _strings(node.orelse)


def _shown(node: ast.expr) -> str:
    """A message as it stands in the source, with … for what is put in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_shown(part) for part in node.values)
    if isinstance(node, ast.IfExp):
        return " / ".join([_shown(node.body), _shown(node.orelse)])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "…"


def main() -> None:
    """Write the generated part of the page anew."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(f"{head}{MARK}\n{generated()}", encoding="utf-8")


if __name__ == "__main__":
    main()
