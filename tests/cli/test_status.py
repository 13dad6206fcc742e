from __future__ import annotations

from typing import Any


def test_nothing_to_do(cli: Any) -> None:
    """A line for each tier."""
    assert cli.done("status") == "project: nothing waits\nuser: nothing waits"


def test_what_wants_a_look(cli: Any, run_git: Any) -> None:
    """What is risky or in conflict is named, and what is not pushed is counted."""
    first, rival = cli.propose("a", "One."), cli.propose("a", "Another.")
    never = cli.propose("b", "Never.", "--type", "forbidden")
    cli.propose("c", "Plain.")
    folder = cli.at / ".custom-agent" / "memory"
    run_git("update-ref", "refs/remotes/team/memory/main", "memory/main", cwd=folder)
    cli.done("apply", first, "--yes")
    box = folder.parent / "candidates"
    box.mkdir(exist_ok=True)
    (box / "x.md").write_text("nothing", encoding="utf-8")

    assert cli.done("status").split("\n") == [
        "project: 3 waiting (1 risky, 1 in conflict), oldest 6 minutes",
        f"  {never}  mem_b  [forbidden]",
        f"  {rival}  mem_a  [conflicts in mem_a]",
        "  1 decision not pushed to team",
        "user: nothing waits",
        "drop box: 1 file",
        "  x.md: line 1: the file does not begin with front matter (a line '---')",
        "decide: gitmem review",
    ]


def test_many(cli: Any) -> None:
    """A screen is a screen: what does not fit is counted."""
    for number in range(12):
        cli.propose(f"k{number}", f"Never {number}.", "--type", "forbidden")

    lines = cli.done("status", "--scope", "project").split("\n")

    assert len(lines) == 11
    assert lines[9:] == ["  … 4 more", "decide: gitmem review"]


def test_json(cli: Any) -> None:
    """A program gets the queue in its order, with all that is said of it."""
    id_ = cli.propose("a", "A.", "--type", "forbidden")

    found = cli.json("status", "--scope", "project")

    assert found["tiers"]["project"]["queue"] == [
        {"id": id_, "risks": ["forbidden"], "batch": None}
    ]
    assert found["tiers"]["project"]["waiting"] == 1
    assert (found["dropped"], found["findings"]) == ([], [])
