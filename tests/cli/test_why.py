from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_the_whole_story(cli: Any, plain: Callable[[str], str]) -> None:
    """Newest first: who approved, who proposed on which evidence, what was replaced."""
    cli.apply(
        *("pref_indent", "Use 4 spaces.", "--session", "s1", "--turn", "t2"),
        *("--evidence", "always 4"),
    )
    cli.apply("pref_indent", "Use 2 spaces.", "--rationale", "Changed their mind.")

    assert plain(cli.done("why", "mem_pref_indent")) == (
        "mem_pref_indent  project preference\n"
        "\n"
        "approved   <time> by Test Person, commit <commit>\n"
        "proposed   <time> by agent\n"
        "candidate  cand_2026_00000002\n"
        "why        Changed their mind.\n"
        "--- before\n"
        "+++ after\n"
        "@@ -1 +1 @@\n"
        "-Use 4 spaces.\n"
        "+Use 2 spaces.\n"
        "\n"
        "approved   <time> by Test Person, commit <commit>\n"
        "proposed   <time> by agent\n"
        "candidate  cand_2026_00000001\n"
        "why        The user said so.\n"
        "evidence   session s1, turn t2\n"
        "           always 4\n"
        "--- /dev/null\n"
        "+++ after\n"
        "@@ -0,0 +1 @@\n"
        "+Use 4 spaces."
    )


def test_after_a_revert(cli: Any) -> None:
    """An entry that is gone still has its story, with the reason."""
    id_ = cli.apply()
    cli.done("revert", id_, "--yes", "--reason", "a mistake")

    lines = cli.done("why", "pref_indent").splitlines()

    assert lines[0] == "mem_pref_indent  project deleted"
    assert lines[2].startswith("reverted   ")
    assert lines[3] == "reason     a mistake"


def test_json(cli: Any) -> None:
    """A program gets the same chapters."""
    id_ = cli.apply()

    found = cli.json("why", "pref_indent")

    (chapter,) = found["chapters"]
    assert (found["id"], found["scope"]) == ("mem_pref_indent", "project")
    assert chapter["decided"]["kind"] == "candidate.applied"
    assert chapter["proposed"]["candidate"] == id_
    assert chapter["before"] is None
    assert chapter["after"] == found["text"]


def test_unknown(cli: Any) -> None:
    """What never was has no story."""
    result = cli("why", "nothing")

    assert result.exit_code == 1
    assert result.stderr.startswith("error: there is and was no approved entry 'nothing'\n")
