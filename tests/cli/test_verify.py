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


def test_a_range_in_a_plain_clone(
    cli: Any, cli_at: Any, run_git: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """A workflow has a clone and nothing else: what the range brought is annotated, no more."""
    cli.apply()
    before = _direct(cli, run_git)
    cli.apply("fact_b", "B")
    git_dir = cli.at / ".git" / "gitmem" / "memory.git"
    run_git("clone", "-q", "-b", "memory/main", git_dir, "clone", cwd=tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nothing"))
    there = cli_at(tmp_path / "clone")

    assert there("verify", "--range", f"{before}..HEAD").exit_code == 0
    result = there("verify", "--range", f"{before}~1..HEAD", "--format", "github")

    assert result.exit_code == 1
    assert result.stdout == (
        f"::error file=pref_indent.md,title=gitmem%3A unreviewed::{before[:12]} changes "
        f"mem_pref_indent without approval: gitmem adopt {before[:12]} (review it), or "
        f"gitmem revert {before[:12]} (take it back)\n"
    )
    assert result.stderr == "1 finding in 2 commits, 2 approved entries\n"


def test_a_range_of_a_candidate(cli: Any) -> None:
    """In a project its own memory is asked; GitLab's report is JSON."""
    cli.apply()
    id_ = cli.propose("fact_b", "hidden \u202e")
    given = f"memory/main..memory/candidate/{id_}"

    result = cli("verify", "--range", given, "--candidate", "--format", "gitlab")

    (issue,) = json.loads(result.stdout)
    assert (result.exit_code, issue["check_name"]) == (1, "gitmem:injection")
    assert issue["location"]["path"] == "fact_b.md"


def test_options_that_need_each_other(cli: Any) -> None:
    """A candidate is one of a range, and a range is never taken for the right memory."""
    assert cli.error("verify", "--candidate") == "usage"
    assert cli.error("verify", "--signers", "x") == "usage"
    assert cli.error("verify", "--range", "a..b", "--accept") == "usage"
