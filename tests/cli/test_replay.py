from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def exported(cli: Any, tmp_path: Path) -> Path:
    """The log of a project in which an entry was approved and changed, in a file."""
    cli.apply()
    cli.apply("pref_indent", "Use 2 spaces.")
    file = tmp_path / "log.jsonl"
    file.write_text(cli.done("export", "log") + "\n", encoding="utf-8")
    return file


def _commits(cli: Any) -> list[str]:
    lines = cli.done("log", "--json", "--kind", "candidate.applied").splitlines()
    return [json.loads(line)["commit"] for line in lines]


def test_at_a_commit(cli: Any, exported: Path, plain: Callable[[str], str]) -> None:
    """The text on standard output, where the tiers stood and what is not certain beside it."""
    first, second = _commits(cli)
    result = cli("replay", "--at", first[:10])

    assert result.stdout == "[memory:project:preference]\nUse 4 spaces.\n"
    assert plain(result.stderr).splitlines() == [
        "project memory: <commit>, <time>",
        "user memory: <commit>, 1970-01-01T00:00:00Z",
        "warning: where the user memory stood is known by the clock alone",
    ]
    assert cli.done("replay", "--at", second) == cli.done("context")


def test_at_a_time(cli: Any) -> None:
    """A time before all approvals, and the present one."""
    cli.apply()

    assert cli.done("replay", "--at", "2026-05-18T10:30:00Z") == ""
    assert cli.done("replay", "--at", "2026-05-19") == cli.done("context")


def test_from_a_log_alone(
    cli: Any, cli_at: Callable[[Path], Any], exported: Path, tmp_path: Path
) -> None:
    """In a folder without any memory, the same bytes."""
    away = tmp_path / "away"
    away.mkdir()
    elsewhere = cli_at(away)
    for name in (*_commits(cli), "2026-05-19"):
        args = ("replay", "--at", name, "--budget", "30")

        assert elsewhere(*args, "--log", str(exported)).stdout == cli(*args).stdout


def test_options_and_json(cli: Any, exported: Path) -> None:
    """Budget and tiers as a context has them; the report says where each tier stood."""
    first, _ = _commits(cli)
    found = cli.json("replay", "--at", first, "--budget", "0", "--tier", "project")

    assert found["text"] == ""
    assert [one["id"] for one in found["leftOut"]] == ["mem_pref_indent"]
    assert [(one["tier"], one["commit"]) for one in found["stood"]] == [("project", first)]
    by_log = cli.json(
        "replay", "--at", first, "--budget", "0", "--tier", "project", "--log", str(exported)
    )
    assert by_log == found


@pytest.mark.parametrize(
    ("args", "reference"),
    [
        ((), "usage"),
        (("--at", "abcd"), "no-such-commit"),
        (("--at", "last summer"), "no-such-commit"),
        (("--at", "7d", "--log", "missing"), "file-unreadable"),
        (("--at", "7d", "--log", "README.md"), "log-invalid"),
        (("--at", "7d", "--log", "binary"), "not-utf-8"),
    ],
)
def test_bad_input(cli: Any, args: tuple[str, ...], reference: str) -> None:
    """Each has its own error."""
    (cli.at / "binary").write_bytes(b"\xff\xfe")

    assert cli.error("replay", *args) == reference


def test_a_newer_log(cli: Any, exported: Path) -> None:
    """It says what to do."""
    lines = exported.read_text(encoding="utf-8").replace('"version": 1', '"version": 9', 1)
    exported.write_text(lines, encoding="utf-8")
    result = cli("replay", "--at", "7d", "--log", str(exported))

    assert result.exit_code == 2
    assert "schema version 9" in result.stderr
    assert "hint: read it with a newer gitmem" in result.stderr
