from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem import errors
from gitmem.errors import ExitCode, GitmemError

KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")


def _error_classes() -> dict[str, type[GitmemError]]:
    """All error classes of the package by name."""
    for info in pkgutil.walk_packages(gitmem.__path__, "gitmem."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    found: dict[str, type[GitmemError]] = {}
    waiting: list[type[GitmemError]] = [GitmemError]
    while waiting:
        cls = waiting.pop()
        found[cls.__name__] = cls
        waiting += cls.__subclasses__()
    return {name: cls for name, cls in found.items() if cls.__module__.startswith("gitmem")}


def _part(call: ast.Call, cls: type[GitmemError], name: str) -> ast.expr | None:
    """What `call`, which makes a `cls`, gives for the parameter `name`."""
    by_name = {keyword.arg: keyword.value for keyword in call.keywords}
    by_place = dict(zip(inspect.signature(cls).parameters, call.args, strict=False))
    return by_name.get(name) or by_place.get(name)


def _calls(tree: ast.AST, classes: dict[str, type[GitmemError]]) -> Iterator[tuple[ast.Call, str]]:
    """Each call in `tree` that makes an error, and the name of its class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func).rpartition(".")[2]
        elif isinstance(node, ast.ClassDef) and node.name in classes:
            for part in ast.walk(node):
                if isinstance(part, ast.Call) and ast.unparse(part.func) == "super().__init__":
                    yield part, classes[node.name].__mro__[1].__name__


def _raised(name: str) -> Iterator[tuple[str, ast.expr, type[GitmemError]]]:
    """Each making of an error in the package: place, what it gives for `name`, and class."""
    classes = _error_classes()
    for path in sorted(Path(gitmem.__file__).parent.rglob("*.py")):
        for call, made in _calls(ast.parse(path.read_text(encoding="utf-8"), path), classes):
            if made in classes:
                value = _part(call, classes[made], name)
                if value is not None:
                    yield f"{path.name}:{call.lineno}", value, classes[made]


def _text(node: ast.expr, *, last: bool) -> str | None:
    """The first or last literal piece of a string, or None where the text there is computed."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[-1 if last else 0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def test_references_are_kebab_case() -> None:
    """A program matches on the reference, so that each is one plain word of one form."""
    bad = [
        f"{place}: {value.value!r}"
        for place, value, _ in _raised("reference")
        if isinstance(value, ast.Constant) and not KEBAB.match(str(value.value))
    ]

    assert bad == []


def test_a_reference_has_one_exit_code() -> None:
    """A script that knows an error by its reference also knows how the program ends."""
    codes = defaultdict(set)
    for _, value, cls in _raised("reference"):
        if isinstance(value, ast.Constant):
            codes[value.value].add(cls.exit_code)

    assert "key-invalid" in codes
    assert {name: found for name, found in codes.items() if len(found) > 1} == {}


def test_messages_are_lower_case_without_a_stop() -> None:
    """A message reads as the rest of a sentence that begins with the program's name."""
    bad = []
    for place, value, _ in _raised("message"):
        begin, end = (_text(value, last=last) for last in (False, True))
        word = begin.split()[0] if begin and begin.split() else ""
        # Names in capitals (HEAD, YAML, GITMEM_SESSION) stay as they are.
        if word[:1].isupper() and not word.isupper():
            bad.append(f"{place}: begins with {word!r}")
        if end and end.endswith(".") and not end.endswith("..."):
            bad.append(f"{place}: ends with a stop")

    assert bad == []


@pytest.mark.parametrize(
    ("cls", "code"),
    [
        (errors.GitmemError, 2),
        (errors.NotFoundError, 1),
        (errors.BadInputError, 2),
        (errors.ConflictError, 3),
        (errors.NeedsPersonError, 4),
        (errors.RefusedError, 5),
    ],
)
def test_exit_codes(cls: type[GitmemError], code: int) -> None:
    """The exit code of each class is a promise to scripts."""
    assert cls("some-reference", "something failed").exit_code == code


def test_exit_codes_without_an_error() -> None:
    """Done is 0, and an interrupt is what shells make of SIGINT."""
    assert int(ExitCode.DONE) == 0
    assert int(ExitCode.INTERRUPTED) == 130


def test_error_carries_its_parts() -> None:
    """What failed, why and what to do next stay apart, for a face to dress."""
    error = errors.ConflictError(
        "tip-moved", "the branch has moved", context="now at 1234567", hint="look again"
    )

    assert str(error) == "the branch has moved"
    assert (error.reference, error.message) == ("tip-moved", "the branch has moved")
    assert (error.context, error.hint) == ("now at 1234567", "look again")


def test_context_and_hint_are_optional() -> None:
    """An error may have nothing to add."""
    error = errors.NotFoundError("no-such-candidate", "there is no candidate 'x'")

    assert error.context is None
    assert error.hint is None
