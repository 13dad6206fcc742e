from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_candidate(cli: Any, plain: Callable[[str], str]) -> None:
    """All that is said about it stands above the file that it proposes."""
    id_ = cli.propose(
        *("pref_indent", "Use 4 spaces.", "--rationale", "The user said so.\nTwice."),
        *("--session", "s1", "--turn", "t2", "--evidence", "always 4"),
    )

    assert plain(cli.done("show", id_)) == (
        "candidate  cand_2026_00000001 (pending)\n"
        "entries    mem_pref_indent (project preference)\n"
        "proposed   <time> by agent, priority medium\n"
        "commit     <commit>\n"
        "digest     <digest>\n"
        "why        The user said so.\n"
        "           Twice.\n"
        "evidence   session s1, turn t2\n"
        "           always 4\n"
        "\n"
        "mem_pref_indent\n"
        "---\n"
        "id: mem_pref_indent\n"
        "type: preference\n"
        "scope: project\n"
        "createdAt: <time>\n"
        "appliedFrom: cand_2026_00000001\n"
        "appliedBy: user\n"
        "sources:\n"
        "  - sessionId: s1\n"
        "    turnId: t2\n"
        '    evidence: "always 4"\n'
        "relatedSessions: []\n"
        "---\n"
        "\n"
        "Use 4 spaces."
    )


def test_a_part_of_the_id(cli: Any) -> None:
    """Any unambiguous part of an id will do."""
    id_ = cli.propose()

    assert cli.json("show", id_[-4:])["id"] == id_


def test_an_ambiguous_part(cli: Any) -> None:
    """A part of two ids is refused, and both are named."""
    cli.propose("a", "A.")
    cli.propose("b", "B.")

    result = cli("show", "cand_2026")

    assert result.exit_code == 2
    assert result.stderr == (
        "error: 'cand_2026' could be 2 candidates\n"
        "  cand_2026_00000001, cand_2026_00000002\n"
        "hint: name more of the id\n"
    )


def test_an_entry(cli: Any) -> None:
    """An entry's id or key shows its approved file, whatever lies in the folder."""
    cli.apply()
    file = cli.at / ".custom-agent" / "memory" / "pref_indent.md"
    approved = file.read_text(encoding="utf-8")
    file.write_text("edited", encoding="utf-8")

    assert cli.done("show", "mem_pref_indent") == approved.removesuffix("\n")
    assert cli.json("show", "pref_indent") == {
        "id": "mem_pref_indent",
        "scope": "project",
        "text": approved,
    }


def test_an_entry_named_like_a_part_of_candidates(cli: Any) -> None:
    """A whole key counts before a part of an id, and a whole id before a key."""
    first = cli.apply("cand", "An entry.")
    cli.propose("b", "B.")

    assert cli.json("show", "cand")["id"] == "mem_cand"
    assert cli.json("show", first)["id"] == first


def test_nothing_of_that_name(cli: Any) -> None:
    """An unknown name ends with 1 and says where to look."""
    candidate, entry = cli("show", "nothing"), cli("show", "mem_nothing")

    assert (candidate.exit_code, entry.exit_code) == (1, 1)
    assert candidate.stderr.startswith("error: neither a candidate nor an approved entry is")
    assert entry.stderr.startswith("error: there is no approved entry 'mem_nothing'\n")


def test_why_it_was_discarded(cli: Any) -> None:
    """A decided candidate shows how it was decided."""
    id_ = cli.propose()
    cli.done("discard", id_, "--yes", "--reason", "not true")

    shown = cli.done("show", id_)

    assert f"candidate  {id_} (discarded)\n" in shown
    assert ", because: not true\n" in shown


def test_what_became_of_it(cli: Any, plain: Any) -> None:
    """An agent that proposed it can read the answer: edited, applied as, never again."""
    edited, never = cli.propose("a", "A."), cli.propose("b", "B.")
    cli.done("edit", edited, "--body-file", "-", input="A, but better.")
    cli.done("apply", edited, "--yes")
    cli.done("discard", never, "--yes", "--never", "--reason", "no")

    told = plain(cli.done("show", edited) + cli.done("show", never))

    assert "edited     it is not as it was proposed: it was edited before it was decided\n" in told
    assert "applied    as <commit>\n" in told
    assert "discarded  as <commit>, never to be proposed again, because: no\n" in told
    assert (cli.json("show", edited)["edited"], cli.json("show", never)["never"]) == (True, True)


def test_untrusted_text(cli: Any) -> None:
    """Hidden characters in a file are written out, other scripts are left alone."""
    id_ = cli.propose("a", "缩进\u202e 4 spaces")

    assert cli.done("show", id_).endswith("\n缩进<U+202E> 4 spaces")


def test_the_evidence_in_its_transcript(cli: Any, sealed_home: Path) -> None:
    """What was said around it, from the tool's own file; else that there is none."""
    folder = sealed_home / ".claude" / "projects" / "-shop"
    folder.mkdir(parents=True)
    said = {"type": "user", "message": {"role": "user", "content": "Four spaces, please.\x1b[2J"}}
    (folder / "s1.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
    here = cli.propose("a", "A.", "--session", "s1", "--evidence", "Four spaces")
    gone = cli.propose("b", "B.", "--session", "s2", "--evidence", "Four spaces")

    assert cli.done("show", here, "--transcript").splitlines() == [
        f"{folder / 's1.jsonl'}, line 1",
        "user      Four spaces, please.<U+001B>[2J",
    ]
    assert cli.done("show", gone, "--transcript") == "no transcript of session s2 is here"
