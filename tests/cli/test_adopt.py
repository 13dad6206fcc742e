from __future__ import annotations

from typing import Any


def test_uncommitted_edits(cli: Any) -> None:
    """An edit by hand becomes a candidate, and the file is as approved again."""
    cli.apply()
    file = cli.at / ".custom-agent" / "memory" / "pref_indent.md"
    approved = file.read_text(encoding="utf-8")
    file.write_text(approved.replace("4", "2"), encoding="utf-8")

    said = cli.done("adopt", "--yes")

    (found,) = cli.json("list")
    assert said == f"{found['id']}: mem_pref_indent"
    assert file.read_text(encoding="utf-8") == approved
    assert cli.json("show", found["id"])["files"]["mem_pref_indent"].endswith("\nUse 2 spaces.\n")


def test_nothing_to_adopt(cli: Any) -> None:
    """Where nothing was edited it says so."""
    result = cli("adopt", "--yes")

    assert result.exit_code == 1
    assert result.stderr.startswith(
        "error: no memory folder has uncommitted edits, and no candidate waits in the drop box\n"
    )


def test_unknown(cli: Any) -> None:
    """A name must be a candidate or a commit."""
    assert cli.error("adopt", "nothing", "--yes") == "nothing-to-adopt"
