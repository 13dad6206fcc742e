"""The README and the docs are promises: each command in a console block runs, and says what is shown.

A block marked `console` holds commands behind `$ ` (continued behind `> `) and what they print.
All blocks of a file run in order in one project, `/home/ann/webshop`. Ids, times and home folders
are other ones each time; what stands for one must stand for the same one in the whole file. A
line `...` stands for any lines.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOME = "/home/ann"
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CHANGING = re.compile(
    r"cand_[0-9]{4}_[a-z0-9]{8}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
    r"|\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b|\b[0-9a-f]{7,12}\b"
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")

DOCUMENTS = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if "```console" in path.read_text(encoding="utf-8")
]


@dataclass
class Step:
    """One command of a document and what it is said to print."""

    command: str
    shown: list[str]


@dataclass
class Names:
    """What stands in the document for what came out of this run."""

    real: dict[str, str] = field(default_factory=dict)

    def in_command(self, command: str, home: Path) -> str:
        """The command with this run's ids in the place of the document's."""
        real = _CHANGING.sub(lambda found: self._known(found[0]), command)
        return real.replace(HOME, str(home))

    def _known(self, name: str) -> str:
        if name in self.real:
            return self.real[name]
        longer = [real for shown, real in self.real.items() if shown.startswith(name)]
        return longer[0][: len(name)] if longer else name

    def learn(self, shown: str, printed: str) -> bool:
        """Whether a printed line is the shown one; new ids in it are remembered."""
        pattern, names = "", []
        at = 0
        for found in _CHANGING.finditer(shown):
            pattern += re.escape(shown[at : found.start()]) + f"({_CHANGING.pattern})"
            names.append(found[0])
            at = found.end()
        match = re.fullmatch(pattern + re.escape(shown[at:]), printed)
        if match is None:
            return False
        return all(self._fits(name, real) for name, real in zip(names, match.groups(), strict=True))

    def _fits(self, name: str, real: str) -> bool:
        return bool(_TIME.match(name)) or self.real.setdefault(name, real) == real


def steps(document: Path) -> Iterator[Step]:
    """The commands of a document, in order."""
    for block in _BLOCK.findall(document.read_text(encoding="utf-8")):
        step: Step | None = None
        for line in block.split("\n")[:-1]:
            if line.startswith("$ "):
                if step is not None:
                    yield step
                step = Step(line[2:], [])
            elif line.startswith("> ") and step is not None and not step.shown:
                step.command += "\n" + line[2:]
            elif step is not None:
                step.shown.append(line)
        if step is not None:
            yield step


def fits(names: Names, shown: list[str], printed: list[str]) -> bool:
    """Whether all printed lines are the shown ones, `...` standing for any number of them."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(fits(names, shown[1:], printed[at:]) for at in range(len(printed) + 1))
    return (
        bool(printed) and names.learn(shown[0], printed[0]) and fits(names, shown[1:], printed[1:])
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_document_shows_is_what_happens(
    document: Path, sealed_home: Path, run_git: Callable[..., str]
) -> None:
    """Each command of a document works in order and prints what is shown."""
    project = sealed_home / "webshop"
    project.mkdir()
    run_git("init", "-q", cwd=project)
    (project / "CLAUDE.md").write_text("# Webshop\n\n- 4 spaces, no tabs.\n")
    run_git("add", ".", cwd=project)
    run_git("commit", "-qm", "start", cwd=project)
    run_git("config", "--global", "user.name", "Ann", cwd=project)
    run_git("config", "--global", "user.email", "ann@example.com", cwd=project)
    names = Names()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    for step in steps(document):
        done = subprocess.run(
            ["bash", "-c", names.in_command(step.command, sealed_home)],
            cwd=project,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        printed = done.stdout.replace(str(sealed_home), HOME).split("\n")
        if printed[-1] == "":
            printed.pop()

        assert fits(names, step.shown, printed), "\n".join(
            [f"$ {step.command}", "-- shown:", *step.shown, "-- printed:", *printed]
        )


def test_a_wrong_output_is_noticed() -> None:
    """The check itself: another text, a missing line and a mixed-up id are all seen."""
    names = Names()

    assert fits(names, ["made cand_2026_aaaaaaaa"], ["made cand_2026_k3f9x2ab"])
    assert fits(names, ["...", "end"], ["x", "cand_2026_zzzzzzzz", "end"])
    assert not fits(names, ["made cand_2026_aaaaaaaa"], ["made cand_2026_bbbbbbbb"])
    assert not fits(names, ["one", "two"], ["one"])
    assert not fits(names, ["one"], ["two"])


# -- the other blocks of the README ----------------------------------------------------------------


def _block(language: str) -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(block)


def _run(command: str, cwd: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def approved(host: Path) -> Path:
    """A project with one approved entry and one candidate, `cand_x`."""
    _run("gitmem init", host)
    _run("gitmem add --yes cents 'Prices are integers.' --type fact", host)
    folder = host / ".custom-agent" / "memory"
    entry = "---\\ntype: fact\\n---\\n\\nNobody uses the importer.\\n"
    _run(
        "git switch -q -c memory/candidate/cand_x && "
        f"printf -- '{entry}' > importer.md && git add importer.md && "
        "git commit -q -m 'Nobody calls it' && git switch -q memory/main",
        folder,
    )
    return host


def test_the_start_hook_gives_an_agent_its_context(approved: Path) -> None:
    """The command in the settings snippet prints what an agent tool takes for context."""
    settings = json.loads(_block("json"))
    (group,) = settings["hooks"]["SessionStart"]
    (hook,) = group["hooks"]

    given = json.loads(_run(hook["command"], approved))

    assert given["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert given["hookSpecificOutput"]["additionalContext"] == (
        "[memory:project:fact]\nPrices are integers.\n"
    )


def test_the_program_makes_a_candidate(approved: Path) -> None:
    """The Python block works as it stands."""
    (approved / "program.py").write_text(_block("python"), encoding="utf-8")

    id_, state = _run(f"'{sys.executable}' program.py", approved).split()

    assert id_.startswith("cand_")
    assert state == "pending"


def _rows() -> list[tuple[str, str, str]]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^\| ([^|]+) \| `([^|]+)` \| `([^|]+)` \|$", text, re.MULTILINE)


def test_both_columns_of_the_table_come_to_the_same(approved: Path, tmp_path: Path) -> None:
    """Each row, with gitmem and with plain git, leaves the same memory and the same states."""
    rows = _rows()
    assert len(rows) == 5
    seen = {}
    for column in (1, 2):
        project = tmp_path / f"column-{column}"
        shutil.copytree(approved, project, symlinks=True)
        where = project if column == 1 else project / ".custom-agent" / "memory"
        after = []
        for row in rows:
            _run(row[column], where)
            listed = json.loads(_run("gitmem list --state all --json", project))
            states = [(item["id"], item["state"]) for item in listed if item["id"] == "cand_x"]
            after.append((row[0], states, _run("gitmem context", project)))
        seen[column] = after

    assert seen[1] == seen[2]
    assert [states for _, states, _ in seen[1]] == [
        [("cand_x", "pending")],
        [("cand_x", "pending")],
        [("cand_x", "applied")],
        [("cand_x", "reverted")],
        [("cand_x", "reverted")],
    ]


@pytest.mark.parametrize(
    ("document", "tests", "least"),
    [("approval.md", "model/test_approval.py", 30), ("teams.md", "test_sync.py", 15)],
)
def test_each_case_of_the_rules_is_tested(document: str, tests: str, least: int) -> None:
    """The tables name tests that exist."""
    table = (ROOT / "docs" / document).read_text(encoding="utf-8")
    code = (ROOT / "tests" / tests).read_text(encoding="utf-8")

    named = re.findall(r"`(test_\w+)` \|$", table, re.MULTILINE)

    assert len(named) >= least
    assert [name for name in named if f"def {name}(" not in code] == []
