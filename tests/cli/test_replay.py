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
        (("s1", "--at", "7d"), "usage"),
        (("s1", "--log", "README.md"), "usage"),
        (("s1", "--budget", "10"), "usage"),
        (("s1", "--show", "1", "--diff"), "usage"),
        (("s1", "--context", "1"), "usage"),
        (("--show", "1"), "usage"),
        (("--done", "look", "--json"), "usage"),
        (("s1",), "no-such-session"),
        (("../s1",), "session-invalid"),
        (("--done", "look"), "no-such-checkout"),
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


# -- a session -----------------------------------------------------------------------------------


@pytest.fixture
def session(cli: Any) -> str:
    """A session with three contexts: before an approval, after it, and with a text of its own."""
    cli.apply()
    cli.done("session", "start", "s1")
    cli.done("context", "--session", "s1")
    cli.apply("pref_indent", "Use 2 spaces.")
    cli.done("context", "--session", "s1")
    cli.done("session", "put", "plan", "--type", "fact", "--body", "Today.", "--session", "s1")
    cli.done("context", "--session", "s1")
    return "s1"


def test_all_contexts_of_a_session(cli: Any, session: str, plain: Callable[[str], str]) -> None:
    """A line each; what is not the same says why and which entries, and the exit code is 1."""
    cli.apply("pref_indent", "Use tabs.")
    assert plain(cli.done("replay", session)).splitlines() == [
        "   1  <time>  the same      1 entry, 42 characters",
        "   2  <time>  the same      1 entry, 42 characters",
        "   3  <time>  the same      2 entries, 72 characters",
    ]

    cli.done("session", "forget", session)
    result = cli("replay", session)
    assert result.exit_code == 1
    assert plain(result.stdout).splitlines()[-2:] == [
        "   3  <time>  not the same  2 entries, 72 characters",
        "      the session's own text was forgotten: mem_plan",
    ]
    result = cli("replay", session, "--json")
    assert result.exit_code == 1
    assert [one["same"] for one in json.loads(result.stdout)] == [True, True, False]
    assert json.loads(result.stdout)[2]["differences"] == [
        {
            "kind": "session-forgotten",
            "message": "the session's own text was forgotten",
            "entries": ["mem_plan"],
        }
    ]


def test_one_context(cli: Any, session: str) -> None:
    """The text that the session was given; where it can't be had, what is left of it, and why."""
    assert cli.done("replay", session, "--show", "1") == (
        "[memory:project:preference]\nUse 4 spaces."
    )
    report = cli.json("replay", session, "--show", "2")
    assert (report["number"], report["same"], report["text"][-14:]) == (2, True, "Use 2 spaces.\n")

    cli.done("session", "forget", session)
    result = cli("replay", session, "--show", "3")
    assert (result.exit_code, result.stdout[-14:]) == (1, "Use 2 spaces.\n")
    assert result.stderr == (
        "warning: this is not what the session was given: "
        "the session's own text was forgotten: mem_plan\n"
    )
    assert cli.error("replay", session, "--show", "4") == "no-such-context"


def test_what_has_changed_since(cli: Any, session: str) -> None:
    """The difference between a context and the present one."""
    cli.apply("pref_indent", "Use tabs.")

    assert cli.done("replay", session, "--diff").splitlines() == [
        "--- context 3 of s1",
        "+++ now",
        "@@ -1,5 +1,5 @@",
        " [memory:project:preference]",
        "-Use 2 spaces.",
        "+Use tabs.",
        " ",
        " [memory:session:fact]",
        " Today.",
    ]
    assert "-Use 4 spaces." in cli.done("replay", session, "--diff", "--context", "1")


def test_the_files_of_that_time(cli: Any, session: str, tmp_path: Path) -> None:
    """Laid out as at the start or at a context, and taken away."""
    place = tmp_path / "look"
    result = cli("replay", session, "--checkout", str(place), "--context", "2")

    assert result.stdout.splitlines()[0].startswith(f"project memory: {place}/project, ")
    assert result.stderr == f"to take it away: gitmem replay --done {place}\n"
    assert "Use 2 spaces." in (place / "project" / "pref_indent.md").read_text()
    assert cli.error("replay", session, "--checkout", str(place)) == "folder-not-empty"
    assert cli.done("replay", "--done", str(place)).splitlines() == [
        f"{place}/project: taken away",
        f"{place}/user: taken away",
    ]
    assert not place.exists()


def test_a_session_without_contexts(cli: Any) -> None:
    """It has nothing to compare, which is no fault."""
    cli.done("session", "start", "s2")
    result = cli("replay", "s2")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no context was built for s2\n"
    assert cli.json("replay", "s2") == []
    assert cli.error("replay", "s2", "--diff") == "no-such-context"
