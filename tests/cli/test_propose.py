from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ASKED = ("--type", "preference", "--rationale", "The user said so.")


def test_prints_the_id_alone(cli: Any) -> None:
    """The candidate's id is all that stands on standard output, and nothing is said besides."""
    result = cli("propose", "pref_indent", *ASKED, "--body", "Use 4 spaces.")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "cand_2026_00000001\n", "")


def test_carries_what_was_said(cli: Any) -> None:
    """Type, scope, reasons, evidence, priority and actor are those of the options."""
    id_ = cli.done(
        *("propose", "pref_indent", *ASKED, "--body", "Use 4 spaces.", "--scope", "user"),
        *("--session", "s1", "--turn", "t2", "--evidence", "always 4", "--priority", "high"),
        *("--actor", "claude-code"),
    )

    found = cli.json("show", id_)

    assert found["scope"] == "user"
    assert found["type"] == "preference"
    assert found["rationale"] == "The user said so."
    assert found["sources"] == [{"sessionId": "s1", "turnId": "t2", "evidence": "always 4"}]
    assert (found["priority"], found["actor"]) == ("high", "claude-code")
    assert found["createdAt"].startswith("2026-05-18T10:3")


def test_session_of_the_environment(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that the environment names need not be said."""
    monkeypatch.setenv("GITMEM_SESSION", "s9")

    assert cli.json("show", cli.propose())["sources"] == [{"sessionId": "s9"}]


@pytest.mark.usefixtures("agent")
def test_an_agent_may_propose(cli: Any) -> None:
    """Proposing decides nothing, so that it asks nobody."""
    assert cli.propose() == "cand_2026_00000001"


def test_needs_no_identity(cli: Any, sealed_home: Path) -> None:
    """An agent may run where git does not know who the user is."""
    (sealed_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")

    assert cli.propose() == "cand_2026_00000001"


@pytest.mark.parametrize("name", ["-", "body.md"])
def test_body_from_a_file(cli: Any, name: str) -> None:
    """A body may come from a file or from standard input."""
    (cli.at / "body.md").write_text("缩进 4 spaces，不要 tab。\n", encoding="utf-8")

    id_ = cli.done("propose", "a", *ASKED, "--body-file", name, input="缩进 4 spaces，不要 tab。\n")

    assert cli.json("show", id_)["files"]["mem_a"].endswith("---\n\n缩进 4 spaces，不要 tab。\n")


def test_delete(cli: Any) -> None:
    """A deletion is a proposal like any other."""
    cli.apply()

    id_ = cli.done("propose", "pref_indent", "--delete", "--rationale", "outdated")

    assert cli.json("show", id_)["files"] == {"mem_pref_indent": None}


def test_what_is_pending_is_not_proposed_twice(cli: Any) -> None:
    """The id that there is comes back, and it says so on standard error."""
    id_ = cli.propose()

    result = cli("propose", "pref_indent", *ASKED, "--body", "Use 4 spaces.")

    assert (result.exit_code, result.stdout) == (0, f"{id_}\n")
    assert result.stderr == "it is pending already\n"


def test_what_is_approved_is_not_proposed_again(cli: Any) -> None:
    """Where nothing would change, the id of what approved it comes back."""
    id_ = cli.apply()

    result = cli("propose", "pref_indent", *ASKED, "--body", "Use 4 spaces.")

    assert (result.exit_code, result.stdout) == (0, f"{id_}\n")
    assert result.stderr == "it changes nothing: approved memory says so\n"
    assert cli.json("list") == []


def test_everything_in_one_document(cli: Any) -> None:
    """Several entries and several sources come in one JSON document."""
    document = {
        "rationale": "Two things.",
        "sources": [{"sessionId": "s1", "turnId": "t1", "evidence": "一"}, {"sessionId": "s2"}],
        "priority": "low",
        "actor": "harness",
        "scope": "user",
        "entries": [
            {"key": "a", "type": "fact", "body": "A."},
            {"id": "mem_b/c", "type": "convention", "body": "B."},
        ],
    }

    id_ = cli.done("propose", "--json", "-", input=json.dumps(document))

    found = cli.json("show", id_)
    assert found["entries"] == ["mem_a", "mem_b/c"]
    assert found["sources"] == document["sources"]
    assert (found["priority"], found["actor"], found["scope"]) == ("low", "harness", "user")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON: "),
        ("[]", "the document is no object"),
        ("{}", "'entries' is missing or empty"),
        ('{"entries": []}', "'entries' is missing or empty"),
        ('{"entries": [1]}', "an entry is no object"),
        ('{"entries": [{}]}', "an entry has neither 'key' nor 'id'"),
        ('{"entries": [{"id": "a"}]}', "'a' is no entry's id: it begins with mem_"),
        ('{"entries": [{"key": "a", "id": "mem_b"}]}', "an entry has the key 'a' and the id"),
        ('{"entries": [{"key": "a", "text": ""}]}', "an entry has no field 'text'"),
        ('{"entries": [{"key": "a", "key": "b"}]}', "'key' stands twice in one object"),
        ('{"entries": [{"key": "a", "body": 1}]}', "'body' of an entry must be text"),
        ('{"entries": [{"key": "a", "delete": "yes"}]}', "'delete' of an entry must be true or"),
        ('{"why": "x", "entries": []}', "the document has no field 'why'"),
        ('{"entries": {"a": 1}}', "'entries' of the document must be a list"),
        ("[" * 100_000, "it is no JSON: "),
    ],
)
def test_a_document_that_can_not_be_read(cli: Any, text: str, message: str) -> None:
    """What a program got wrong is said, as JSON, and nothing is proposed."""
    result = cli("propose", "--json", "-", input=text)

    told = json.loads(result.stdout)
    assert result.exit_code == 2
    assert told["error"] == "json-invalid"
    assert told["message"].startswith(f"the proposal can't be read: {message}")
    assert cli.json("list") == []


def test_patch(cli: Any) -> None:
    """A unified diff of an entry's file is a proposal."""
    cli.apply()
    patch = (
        "--- a/pref_indent.md\n+++ b/pref_indent.md\n@@ -10,3 +10,3 @@\n ---\n \n"
        "-Use 4 spaces.\n+Use 2 spaces.\n"
    )

    id_ = cli.done("propose", "--patch", "-", "--rationale", "r", input=patch)

    assert cli.json("show", id_)["files"]["mem_pref_indent"].endswith("\nUse 2 spaces.\n")


@pytest.mark.parametrize(
    ("args", "reference", "code"),
    [
        (["A", *ASKED, "--body", "x"], "key-invalid", 2),
        (["a/b/c/d/e", *ASKED, "--body", "x"], "key-invalid", 2),
        (["a.md", *ASKED, "--body", "x"], "key-invalid", 2),
        (["../a", *ASKED, "--body", "x"], "key-invalid", 2),
        (["nul", *ASKED, "--body", "x"], "key-invalid", 2),
        (["a", *ASKED, "--body", ""], "entry-invalid", 2),
        (["a", *ASKED, "--body", " \n"], "entry-invalid", 2),
        (["a", *ASKED, "--body", "x" * (64 * 1024 + 1)], "entry-invalid", 2),
        (["a", *ASKED], "body-missing", 2),
        (["a", "--rationale", "r", "--body", "x"], "type-missing", 2),
        (["a", "--type", "fact", "--body", "x"], "rationale-missing", 2),
        (["a", "--type", "idea", "--rationale", "r", "--body", "x"], "usage", 2),
        (["a", *ASKED, "--body", "x", "--scope", "team"], "usage", 2),
        (["a", *ASKED, "--body", "x", "--priority", "urgent"], "usage", 2),
        (["a", *ASKED, "--body", "x", "--actor", "<a>"], "actor-invalid", 2),
        (["a", *ASKED, "--body", "x", "--actor", ""], "actor-invalid", 2),
        (["a", *ASKED, "--body", "x", "--actor", "caf\udce9"], "text-invalid", 2),
        (["a", *ASKED, "--body", "x", "--evidence", "caf\udce9"], "entry-invalid", 2),
        (["a", *ASKED, "--body", "caf\udce9"], "entry-invalid", 2),
        (["caf\udce9", *ASKED, "--body", "x"], "key-invalid", 2),
        (["a", "--type", "fact", "--rationale", "\udce9", "--body", "x"], "text-invalid", 2),
        (["a", *ASKED, "--body", "x", "--body-file", "-"], "usage", 2),
        (["a", *ASKED, "--body-file", "nothing.md"], "file-unreadable", 2),
        (["--rationale", "r"], "usage", 2),
        (["a", "--patch", "-", "--rationale", "r"], "usage", 2),
        (["a", "--delete", "--rationale", "r"], "no-such-entry", 1),
        (["--patch", "-", "--rationale", "r"], "patch-invalid", 2),
    ],
)
def test_bad_input_leaves_no_trace(
    cli: Any, run_git: Any, args: list[str], reference: str, code: int
) -> None:
    """Each has its error, and no branch, anchor or file comes of it."""
    folder = cli.at / ".custom-agent"
    before = run_git("for-each-ref", cwd=folder / "memory"), sorted(folder.rglob("*.md"))

    result = cli("propose", *args, input="no patch")

    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert (run_git("for-each-ref", cwd=folder / "memory"), sorted(folder.rglob("*.md"))) == before
    assert cli.error("propose", *args, input="no patch") == reference


def test_a_body_that_is_no_text(cli: Any) -> None:
    """Invalid UTF-8 and NUL are refused."""
    latin = cli("propose", "a", *ASKED, "--body-file", "-", input=b"caf\xe9")
    nul = cli("propose", "a", *ASKED, "--body-file", "-", input=b"a\0b")

    assert latin.stderr.startswith("error: '-' is no UTF-8 text\n")
    assert nul.stderr.startswith("error: the body holds a NUL character\n")
    assert (latin.exit_code, nul.exit_code) == (2, 2)


def test_without_memory_here(cli_at: Callable[[Path], Any], host: Path) -> None:
    """Where nothing is set up the error says how to."""
    result = cli_at(host)("propose", "a", *ASKED, "--body", "x")

    assert result.exit_code == 2
    assert result.stderr == (
        "error: there is no project memory here yet\nhint: run: gitmem init --scope project\n"
    )


@pytest.mark.plain_user
def test_where_only_files_can_be_written(cli: Any) -> None:
    """In a sandbox the proposal goes into the drop box, and its id is printed all the same."""
    repository = cli.at / ".git" / "gitmem" / "memory.git"
    folders = [repository, *(path for path in repository.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        result = cli("propose", "pref_indent", *ASKED, "--body", "Use 4 spaces.")
    finally:
        for folder in folders:
            folder.chmod(0o755)

    assert result.exit_code == 0, result.output
    dropped = cli.at / ".custom-agent" / "candidates" / f"{result.stdout.strip()}.md"
    assert "Use 4 spaces." in dropped.read_text(encoding="utf-8")
    assert "the repository can't be written here" in result.stderr


def test_what_was_discarded_before(cli: Any) -> None:
    """The agent is told why not, and may come again with new grounds."""
    cli.done("discard", cli.propose(), "--yes", "--reason", "we use tabs")
    form = ("propose", "pref_indent", "--type", "preference", "--body", "Use 4 spaces.")

    result = cli(*form, "--rationale", "The user said so.")

    assert result.exit_code == 5
    assert result.stderr == (
        "error: this was proposed before, and discarded as cand_2026_00000001\n"
        "  because: we use tabs\n"
        "hint: where there are new grounds: repeat it with --again and a new --rationale\n"
    )
    assert cli.error(*form, "--again", "--rationale", "The user said so.") == "rationale-not-new"
    assert cli.done(*form, "--again", "--rationale", "They moved to spaces.").startswith("cand_")


def test_more_evidence(cli: Any) -> None:
    """It goes to the candidate that says the same."""
    id_ = cli.propose("a", "A.", "--session", "s1")

    result = cli(
        *("propose", "a", "--type", "preference", "--body", "A."),
        *("--rationale", "And again.", "--session", "s2"),
    )

    assert result.stdout == f"{id_}\n"
    assert result.stderr == "it is pending already, and has what you said for it now\n"
    assert [one["sessionId"] for one in cli.json("show", id_)["sources"]] == ["s1", "s2"]
