"""What the project's own files promise to each other."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import gitmem

ROOT = Path(__file__).parent.parent


def _section_command(title: str) -> str:
    """The one line of the first shell block below the heading `title` of the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)
    assert section, f"README.md has no section '{title}'"
    block = re.search(r"^```sh\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    assert block, f"the section '{title}' has no shell block"
    (line,) = block[1].splitlines()
    return line


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """What a person is told to run is what the checks run."""
    done = subprocess.run(
        ["bash", ROOT / ".ci" / "run", "--show-test"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert done.stdout == _section_command("Test") + "\n"


@pytest.mark.parametrize(
    ("title", "end"),
    [("Install and try", ".venv/bin/gitmem demo"), ("Test", ".venv/bin/pytest -n auto")],
)
def test_one_command_does_all_the_set_up(title: str, end: str) -> None:
    """Each of the two commands makes its own environment, installs from here, and runs."""
    command = _section_command(title)

    assert command.startswith("python3 -m venv .venv && .venv/bin/pip install -q ")
    assert command.endswith(f" && {end}")


def test_no_text_installs_from_an_index() -> None:
    """The name may be somebody else's on an index, so that no text names it to an installer."""
    texts = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/**/*.md"))]
    by_name = re.compile(r"\b(?:pipx?|uvx?)\b[^\n]*\b(?:install|add|run)\b[^\n]*\s['\"]?gitmem\b")

    bad = [
        f"{text.name}: {hit[0]}"
        for text in texts
        for hit in by_name.finditer(text.read_text("utf-8"))
    ]

    assert bad == []
    assert by_name.search("pip install -U gitmem")
    assert not by_name.search("pip install . && gitmem demo".partition(" && ")[0])


def test_version_has_one_source() -> None:
    """The build reads the version from the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "gitmem/__init__.py"
    assert re.match(r"\d+\.\d+\.\d+", gitmem.__version__)


def test_every_test_says_what_it_expects() -> None:
    """Each test states its expectation in a docstring."""
    bad = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path))
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]

    assert bad == []


# Modules without a test file of their own name, and the file that proves what they hold.
TESTED_ELSEWHERE = {
    "cli/server.py": "test_server.py",
    "cli/syncing.py": "cli/test_sync.py",
    "cli/viewing.py": "cli/test_reviewer.py",
    "findings.py": "test_doctor.py",
    "git/sharing.py": "test_sync.py",
    "joining.py": "test_sync.py",
    "model/history.py": "git/test_objects.py",
    "model/rule.py": "model/test_merge.py",
    "model/scan/finding.py": "model/scan/test_hidden.py",
    "records.py": "test_sessions.py",
    "remotes.py": "test_sync.py",
    "sessionfiles.py": "test_sessions.py",
    "settings.py": "cli/test_config.py",
}


def test_each_module_has_its_test_file() -> None:
    """A newcomer finds the tests of a module where its name says, or in the short list above."""
    package, tests = ROOT / "gitmem", ROOT / "tests"
    modules = {
        path.relative_to(package)
        for path in package.rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py")
    }
    elsewhere = {Path(module): tests / file for module, file in TESTED_ELSEWHERE.items()}

    missing = sorted(
        str(module)
        for module in modules - elsewhere.keys()
        if not (tests / module.with_name(f"test_{module.name}")).is_file()
    )

    assert missing == []
    assert [str(module) for module in elsewhere if module not in modules] == []
    assert [str(file) for file in elsewhere.values() if not file.is_file()] == []
