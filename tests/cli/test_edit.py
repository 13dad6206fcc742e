from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`editor(script)`: the user's editor is a sed with that script; it notes what it was shown."""

    def editor(script: str) -> Path:
        seen = tmp_path / "seen by the editor"
        command = f'cp "$1" {shlex.quote(str(seen))}; sed -i {shlex.quote(script)} "$1"; :'
        monkeypatch.setenv("GIT_EDITOR", f"sh -c {shlex.quote(command)} editor")
        return seen

    return editor


def test_a_candidate_in_the_editor(cli: Any, editor: Any) -> None:
    """The candidate's own file is opened, and what is saved is a further commit of it."""
    id_ = cli.propose()
    seen = editor("s/4/2/")

    said = cli.done("edit", id_)

    assert seen.read_text(encoding="utf-8").endswith("---\n\nUse 4 spaces.\n")
    found = cli.json("show", id_)
    assert said == f"edited {id_} ({found['commit'][:10]}): mem_pref_indent"
    assert found["files"]["mem_pref_indent"].endswith("\nUse 2 spaces.\n")
    assert found["state"] == "pending"
    kinds = [line.split()[3] for line in cli.done("log").splitlines()]
    assert kinds == ["candidate.created", "candidate.edited"]


@pytest.mark.usefixtures("agent")
def test_an_agent_edits_its_candidate(cli: Any, sealed_home: Path) -> None:
    """Editing a candidate decides nothing, and an agent needs no identity for it."""
    (sealed_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")
    id_ = cli.propose()

    found = cli.json("edit", id_, "--body-file", "-", input="Use 2 spaces.")

    assert found["entries"] == ["mem_pref_indent"]
    assert found["digest"] == cli.json("list")[0]["digest"]
    assert cli.done("log").splitlines()[-1].endswith("  agent")


def test_nothing_changed(cli: Any, editor: Any) -> None:
    """A text that is saved as it was makes no commit."""
    id_ = cli.propose()
    editor("")

    assert cli.done("edit", id_) == f"{id_} is as it was"


def test_the_editor_fails(cli: Any) -> None:
    """An editor that ends badly changes nothing."""
    id_ = cli.propose()

    result = cli("edit", id_)

    assert result.exit_code == 2
    assert result.stderr.startswith("error: the editor ended with exit code 1, so nothing is")


def test_what_does_not_parse(cli: Any, editor: Any) -> None:
    """A text that is no entry is refused with its line."""
    id_ = cli.propose()
    editor("s/^type: .*/type: idea/")

    result = cli("edit", id_)

    assert result.exit_code == 2
    assert result.stderr.startswith("error: line 3: 'idea' is no type")


def test_an_emptied_file_deletes(cli: Any, editor: Any) -> None:
    """Who empties an entry's file wants it deleted."""
    cli.apply()
    id_ = cli.propose("pref_indent", "Use 2 spaces.")
    editor("d")

    cli.done("edit", id_)

    assert cli.json("show", id_)["files"] == {"mem_pref_indent": None}


def test_one_of_several_entries(cli: Any) -> None:
    """With several entries in a candidate, --entry says which one --body-file is for."""
    entries = [{"key": key, "type": "fact", "body": key} for key in ("a", "b")]
    document = json.dumps({"rationale": "r", "entries": entries})
    id_ = cli.done("propose", "--json", "-", input=document)

    unclear = cli("edit", id_, "--body-file", "-", input="B.")
    unknown = cli("edit", id_, "--entry", "c", "--body-file", "-", input="B.")
    cli.done("edit", id_, "--entry", "mem_b", "--body-file", "-", input="B.")

    assert (unclear.exit_code, unknown.exit_code) == (2, 2)
    files = cli.json("show", id_)["files"]
    assert files["mem_a"].endswith("\na\n")
    assert files["mem_b"].endswith("\nB.\n")


def test_a_conflict_in_the_editor(cli: Any, editor: Any) -> None:
    """Both sides are shown, and what is saved stands on today's memory."""
    first, second = cli.propose("a", "Here."), cli.propose("a", "There.")
    cli.done("apply", first, "--yes")
    seen = editor("/^<<<<<<< /,/^=======/d; /^>>>>>>> /d; s/There/Everywhere/")

    cli.done("edit", second, "--onto-main")

    text = seen.read_text(encoding="utf-8")
    assert text.startswith("---\nid: mem_a\n")
    assert text.endswith("\n<<<<<<< approved now\nHere.\n=======\nThere.\n>>>>>>> proposed\n")
    assert cli.json("list")[0]["conflicts"] == []
    cli.done("apply", second, "--yes")
    assert cli.done("context") == "[memory:project:preference]\nEverywhere."


def test_a_conflict_of_more_than_the_text(cli: Any, editor: Any) -> None:
    """Where the types clash, too, both files are shown whole."""
    first, second = cli.propose("a", "Here."), cli.propose("a", "There.", "--type", "fact")
    cli.done("apply", first, "--yes")
    seen = editor("1,/^=======/d; /^>>>>>>> /d")

    cli.done("edit", second, "--onto-main")
    cli.done("apply", second, "--yes")

    assert seen.read_text(encoding="utf-8").startswith("<<<<<<< approved now\n---\nid: mem_a\n")
    assert cli.done("context") == "[memory:project:fact]\nThere."


def test_a_conflict_that_is_not_settled(cli: Any, editor: Any) -> None:
    """Conflict markers must be gone."""
    first, second = cli.propose("a", "Here."), cli.propose("a", "There.")
    cli.done("apply", first, "--yes")
    editor("")

    result = cli("edit", second, "--onto-main")

    assert result.exit_code == 3
    assert "the text still has conflict markers" in result.stderr
    assert cli.json("list")[0]["conflicts"] == ["mem_a"]


def test_a_conflict_without_an_editor(cli: Any) -> None:
    """--body-file settles it, too."""
    first, second = cli.propose("a", "Here."), cli.propose("a", "There.")
    cli.done("apply", first, "--yes")

    cli.done("edit", second, "--onto-main", "--body-file", "-", input="Both.")
    cli.done("apply", second, "--yes")

    assert cli.done("context") == "[memory:project:preference]\nBoth."


def test_an_entry(cli: Any, editor: Any) -> None:
    """An approved entry is proposed and approved in one, with all that its file says."""
    cli.apply()
    editor("s/4/2/; s/^type: .*/type: convention\\nowner: me/")

    said = cli.done("edit", "pref_indent", "--yes", "--note", "two it is")

    assert said.startswith("edited cand_2026_00000002 (")
    assert cli.done("context") == "[memory:project:convention]\nUse 2 spaces."
    assert "\nowner: me\n" in cli.json("show", "pref_indent")["text"]
    assert cli.json("list", "--state", "applied")[1]["rationale"] == "two it is"


def test_an_entry_that_is_emptied(cli: Any) -> None:
    """An entry whose text is taken away is an error, since --body-file gives a body."""
    cli.apply()

    result = cli("edit", "pref_indent", "--body-file", "-", "--yes", input="")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: the body is empty\n")


def test_an_entry_that_says_the_same(cli: Any, editor: Any) -> None:
    """There is nothing to approve where nothing changed."""
    cli.apply()
    editor("")

    assert cli("edit", "pref_indent", "--yes").exit_code == 5


@pytest.mark.usefixtures("at_terminal")
def test_an_entry_asks(cli: Any, editor: Any) -> None:
    """At a terminal the change of an entry is confirmed after the editor."""
    cli.apply()
    editor("s/4/2/")

    result = cli("edit", "pref_indent", input="n\n")

    assert result.exit_code == 1
    assert result.stderr == "change mem_pref_indent in the project memory? [y/N] nothing done\n"
    assert cli.done("context") == "[memory:project:preference]\nUse 4 spaces."


def test_a_decided_candidate(cli: Any) -> None:
    """What is decided can't be edited."""
    id_ = cli.apply()

    result = cli("edit", id_, "--body-file", "-", input="Use 2 spaces.")

    assert result.exit_code == 3
    assert result.stderr.startswith(f"error: {id_} is applied, not pending\n")
