from __future__ import annotations

from collections.abc import Callable
from typing import Any

HEAD = (
    "candidate  {id} (pending)\n"
    "entries    mem_pref_indent (project preference)\n"
    "proposed   <time> by agent, priority medium\n"
    "commit     <commit>\n"
    "digest     <digest>\n"
)


def test_a_new_entry(cli: Any, plain: Callable[[str], str]) -> None:
    """The reasons and the evidence stand above the whole new file."""
    id_ = cli.propose(
        *("pref_indent", "Use 4 spaces.", "--session", "s1", "--turn", "t2"),
        *("--evidence", "always 4"),
    )

    assert plain(cli.done("diff", id_)) == (
        HEAD.format(id=id_)
        + "why        The user said so.\n"
        + "evidence   session s1, turn t2\n"
        + "           always 4\n"
        + "\n"
        + "--- /dev/null\n"
        + "+++ cand_2026_00000001/pref_indent.md\n"
        + "@@ -0,0 +1,13 @@\n"
        + "+---\n"
        + "+id: mem_pref_indent\n"
        + "+type: preference\n"
        + "+scope: project\n"
        + "+createdAt: <time>\n"
        + "+sources:\n"
        + "+  - sessionId: s1\n"
        + "+    turnId: t2\n"
        + '+    evidence: "always 4"\n'
        + "+relatedSessions: []\n"
        + "+---\n"
        + "+\n"
        + "+Use 4 spaces."
    )


def test_a_change(cli: Any, plain: Callable[[str], str]) -> None:
    """Only what differs from what is approved now is shown."""
    cli.apply()
    id_ = cli.propose("pref_indent", "Use 2 spaces.")

    assert plain(cli.done("diff", id_)) == (
        HEAD.format(id=id_)
        + "why        The user said so.\n"
        + "\n"
        + "--- approved/pref_indent.md\n"
        + "+++ cand_2026_00000002/pref_indent.md\n"
        + "@@ -7,4 +7,4 @@\n"
        + " relatedSessions: []\n"
        + " ---\n"
        + " \n"
        + "-Use 4 spaces.\n"
        + "+Use 2 spaces."
    )


def test_a_deletion(cli: Any) -> None:
    """A deleted entry is shown as gone."""
    cli.apply()
    id_ = cli.done("propose", "pref_indent", "--delete", "--rationale", "outdated")

    lines = cli.done("diff", id_).splitlines()

    assert "--- approved/pref_indent.md" in lines
    assert "+++ /dev/null" in lines
    assert "-Use 4 spaces." in lines


def test_a_conflict(cli: Any, plain: Callable[[str], str]) -> None:
    """Where the two do not go together, both sides are shown."""
    cli.apply()
    first, second = (
        cli.propose("pref_indent", "Use 2 spaces."),
        cli.propose("pref_indent", "Use tabs."),
    )
    cli.done("apply", first, "--yes")

    _, _, shown = plain(cli.done("diff", second)).partition("\n\n")

    assert shown == (
        "conflict in mem_pref_indent: the body was changed on both sides\n"
        "what is approved now:\n"
        "--- base/pref_indent.md\n"
        "+++ approved/pref_indent.md\n"
        "@@ -7,4 +7,4 @@\n"
        " relatedSessions: []\n"
        " ---\n"
        " \n"
        "-Use 4 spaces.\n"
        "+Use 2 spaces.\n"
        "what the candidate wants:\n"
        "--- base/pref_indent.md\n"
        "+++ cand_2026_00000003/pref_indent.md\n"
        "@@ -7,4 +7,4 @@\n"
        " relatedSessions: []\n"
        " ---\n"
        " \n"
        "-Use 4 spaces.\n"
        "+Use tabs."
    )


def test_hidden_characters(cli: Any) -> None:
    """What an agent would get and a person would not see is written out."""
    id_ = cli.propose("a", "Be\u202e nice\u200b.\x1b[2K")

    assert cli.done("diff", id_).endswith("\n+Be<U+202E> nice<U+200B>.<U+001B>[2K")
    assert "\u202e" not in cli.json("diff", id_)["diff"]


def test_what_was_applied(cli: Any) -> None:
    """Of an applied candidate its own change is shown, whatever came later."""
    first = cli.apply()
    cli.apply("pref_indent", "Use 2 spaces.")

    shown = cli.done("diff", first)

    assert "+Use 4 spaces." in shown
    assert "2 spaces" not in shown


def test_json(cli: Any) -> None:
    """A program gets the candidate, its digest and the same difference."""
    id_ = cli.propose()
    found, shown = cli.json("diff", id_), cli.done("diff", id_)

    assert found["id"] == id_
    assert f"digest     {found['digest']}\n" in shown
    assert shown.endswith(found["diff"])
    assert found["digest"] == cli.json("list")[0]["digest"] == cli.json("show", id_)["digest"]


def test_the_digest_is_that_of_what_was_seen(cli: Any) -> None:
    """It changes with the candidate and with what is approved, not with anything else."""
    cli.apply()
    id_ = cli.propose("pref_indent", "Use 2 spaces.")
    digests = [cli.json("diff", id_)["digest"]]
    cli.apply("other", "Other.")
    digests.append(cli.json("diff", id_)["digest"])
    cli.done("edit", id_, "--body-file", "-", input="Use 3 spaces.")
    digests.append(cli.json("diff", id_)["digest"])
    cli.apply("pref_indent", "Use 8 spaces.")
    digests.append(cli.json("diff", id_)["digest"])

    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
