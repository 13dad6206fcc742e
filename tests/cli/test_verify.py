from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _direct(cli: Any, run_git: Any) -> str:
    """A commit on memory/main that nobody reviewed."""
    folder = cli.at / ".custom-agent" / "memory"
    file: Path = folder / "pref_indent.md"
    file.write_text(file.read_text("utf-8").replace("4 spaces", "tabs"), encoding="utf-8")
    run_git("commit", "--quiet", "--no-verify", "-a", "-m", "sneak", cwd=folder)
    found: str = run_git("rev-parse", "HEAD", cwd=folder)
    return found


def test_nothing_to_find(cli: Any) -> None:
    """Where all is approved it is done, and says how much it looked at."""
    cli.apply()

    result = cli("verify")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "no findings in 3 commits, 1 approved entry\n"


def test_a_finding(cli: Any, run_git: Any) -> None:
    """Each finding stands with the way out, and the exit code is 1."""
    cli.apply()
    commit = _direct(cli, run_git)

    result = cli("verify")

    assert result.exit_code == 1
    assert result.stdout == (
        f"unreviewed: {commit[:12]} changes mem_pref_indent without approval\n"
        f"  gitmem adopt {commit[:12]} (review it), or gitmem revert {commit[:12]} (take it back)\n"
    )
    assert result.stderr.startswith("1 finding in ")


def test_json(cli: Any, run_git: Any) -> None:
    """A program gets the findings with the promised fields."""
    cli.apply()
    commit = _direct(cli, run_git)

    result = cli("verify", "--json")

    (found,) = json.loads(result.stdout)["findings"]
    assert result.exit_code == 1
    assert (found["kind"], found["commit"], found["entry"]) == (
        "unreviewed",
        commit,
        "mem_pref_indent",
    )
    assert {"message", "hint"} <= found.keys()


def test_the_way_out_works(cli: Any, run_git: Any) -> None:
    """Either way that the finding names leaves nothing to find."""
    cli.apply()
    cli.done("revert", _direct(cli, run_git), "--yes")
    assert cli("verify").exit_code == 0

    commit = _direct(cli, run_git)
    (adopted,) = cli.json("adopt", commit, "--yes")
    cli.done("apply", adopted["candidate"], "--yes")

    assert cli("verify").exit_code == 0
    assert cli.done("context") == "[memory:project:preference]\nUse tabs."


def test_a_rewritten_history(cli: Any, run_git: Any) -> None:
    """Approved memory that vanished is found until a person accepts it."""
    cli.apply()
    cli.done("verify")
    folder = cli.at / ".custom-agent" / "memory"
    run_git("reset", "--quiet", "--hard", "HEAD~1", cwd=folder)

    result = cli("verify")
    assert result.exit_code == 1
    assert result.stdout.startswith("main-rewritten: ")

    assert cli("verify", "--accept", "--yes").exit_code == 0
    assert cli("verify").exit_code == 0
