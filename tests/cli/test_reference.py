from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from gitmem.cli.main import COMMANDS
from gitmem.errors import ExitCode


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The script that writes the page."""
    spec = importlib.util.spec_from_file_location(
        "reference", Path(__file__).with_name("reference.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(reference: ModuleType) -> None:
    """docs/cli.md is what the program is; if not, run python tests/cli/reference.py."""
    page = reference.PAGE.read_text(encoding="utf-8")

    assert page.partition(reference.MARK)[2] == f"\n{reference.generated()}"


def test_every_option_has_help(reference: ModuleType) -> None:
    """No command and no option is without a word."""
    text = reference.generated()

    assert ": None\n" not in text
    for name in COMMANDS:
        assert f"#### `gitmem {name}" in text


def test_every_exit_code_is_told(reference: ModuleType) -> None:
    """The head names each exit code."""
    head = reference.PAGE.read_text(encoding="utf-8").partition(reference.MARK)[0]

    assert {int(code) for code in re.findall(r"^\| (\d+) \|", head, re.MULTILINE)} == set(ExitCode)


def test_errors_of_every_kind(reference: ModuleType) -> None:
    """The table has names from all over the package, with what they end with."""
    found = reference.references()

    assert found["person-needed"][0] == 4
    assert found["key-invalid"] == (2, "'…' is no entry key: …")
    assert found["entry-invalid"][0] == 2
    assert found["no-such-candidate"][0] == 1
    assert {"type-missing", "body-missing", "system-refused", "cannot-write"} <= found.keys()
