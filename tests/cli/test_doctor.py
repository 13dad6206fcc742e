from __future__ import annotations

import json
from typing import Any


def test_nothing_is_wrong(cli: Any) -> None:
    """Then it is done, and says so on standard error."""
    cli.apply()

    result = cli("doctor")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing is wrong\n")
    assert cli.json("doctor") == {"findings": []}


def test_what_is_wrong(cli: Any) -> None:
    """Each finding with what mends it, and exit code 1."""
    cli.apply()
    (cli.at / ".git" / "info" / "exclude").write_text("")
    file = cli.at / ".custom-agent" / "memory" / "x\u202e.md"
    file.write_text("mine", encoding="utf-8")

    result = cli("doctor")
    assert result.exit_code == 1
    assert result.stdout == (
        "uncommitted-edits: not as in memory/main, and read by nobody: x<U+202E>.md in "
        f"'{file.parent}'\n"
        "  gitmem adopt --scope project (review them), or "
        "gitmem git --scope project stash --include-untracked (put them away)\n"
        "exclude-missing: nothing keeps .custom-agent/ out of the git status of the code\n"
        "  gitmem init\n"
    )
    assert result.stderr == "2 findings\n"


def test_json(cli: Any) -> None:
    """The same fields as a finding of verify."""
    cli.apply()
    (cli.at / ".git" / "info" / "exclude").write_text("")
    result = cli("doctor", "--json")

    (found,) = json.loads(result.stdout)["findings"]
    assert result.exit_code == 1
    assert found.keys() == {"kind", "tier", "commit", "entry", "message", "hint"}
    assert (found["kind"], found["tier"]) == ("exclude-missing", "project")
