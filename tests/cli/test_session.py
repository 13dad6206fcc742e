"""Sessions as people and agents use them: the program, its output and its errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RULE = "[memory:project:preference]\nUse 4 spaces.\n"
NOTE = "[memory:session:fact]\nThe parser is in src/parse.py.\n"


def put(cli: Any, key: str = "parser", body: str = "The parser is in src/parse.py.") -> None:
    cli.done("session", "put", key, "--type", "fact", "--body", body, "--session", "s1")


@pytest.fixture
def started(cli: Any) -> Any:
    """A project with an approved entry, and the session s1."""
    cli.apply()
    assert cli.done("session", "start", "s1") == "s1"
    return cli


def test_a_whole_session(started: Any, plain: Callable[[str], str]) -> None:
    """Start, keep, read, end: what each command prints."""
    put(started)

    assert started.done("context", "--session", "s1") == f"{RULE}\n{NOTE}".removesuffix("\n")
    assert started.done("context") == RULE.removesuffix("\n")
    assert plain(started.done("session", "list")) == ("s1  open, since <time>, 1 entry, 1 context")
    assert started.done("session", "end", "--session", "s1") == ""
    assert plain(started.done("log", "--session", "s1")) == (
        "<time>  <commit>  project  session.started       s1\n"
        "<time>  <commit>  project  context.built         "
        f"s1 number 1: 2 entries, {len(RULE) + 1 + len(NOTE)} characters\n"
        "<time>  <commit>  project  session.ended         s1"
    )


def test_an_id_is_made(cli: Any) -> None:
    """Who names none is told one."""
    assert cli.done("session", "start") == "sess_2026_00000001"


def test_the_session_of_the_environment(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """GITMEM_SESSION stands for --session in every command."""
    monkeypatch.setenv("GITMEM_SESSION", "s1")
    body = ("--body-file", "-")
    started.done("session", "put", "a", "--type", "fact", *body, input="From a file.\n")

    assert started.done("context").endswith("[memory:session:fact]\nFrom a file.")
    started.done("session", "drop", "a")
    assert started.done("context") == RULE.removesuffix("\n")
    started.done("session", "end")
    assert started.json("session", "list")[0]["state"] == "ended"


def test_a_start_hook_of_a_session_that_nobody_started(
    cli: Any, cli_at: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the environment names by the way does no harm; what is asked for by name must exist."""
    cli.apply()
    monkeypatch.setenv("GITMEM_SESSION", "s9")

    result = cli("context")

    assert (result.exit_code, result.stdout) == (0, RULE)
    assert result.stderr == "warning: the session s9 was never started here: nothing is recorded\n"
    assert cli.error("context", "--session", "s9") == "no-such-session"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    (tmp_path / "elsewhere").mkdir()
    assert cli_at(tmp_path / "elsewhere").done("context") == ""


def test_the_session_that_a_hook_names(cli: Any) -> None:
    """Claude Code and its like say which session starts: it is begun, and goes on when resumed."""
    cli.apply()
    options = ("context", "--hook", "--hook-session")
    said = json.dumps({"session_id": "5e6f-a1", "hook_event_name": "SessionStart", "cwd": "/"})

    for _ in range(2):
        result = cli(*options, input=said)
        given = json.loads(result.stdout)["hookSpecificOutput"]["additionalContext"]
        assert (result.exit_code, given, result.stderr) == (0, RULE, "")

    (session,) = cli.json("session", "list")
    assert (session["id"], session["contexts"]) == ("5e6f-a1", 2)
    cli.done("session", "end", "--session", "5e6f-a1")
    result = cli(*options, input=said)
    assert (result.exit_code, RULE in json.loads(result.stdout)["hookSpecificOutput"].values()) == (
        0,
        True,
    )
    assert result.stderr == "warning: the session 5e6f-a1 is over: nothing is recorded\n"


@pytest.mark.parametrize(
    "said", ["", "{", "[]", "{}", '{"session_id": 5}', '{"session_id": "../x"}', "[" * 100_000]
)
def test_a_hook_that_names_no_session(cli: Any, said: str) -> None:
    """The agent has its memory all the same."""
    cli.apply()
    result = cli("context", "--hook", "--hook-session", input=said)

    assert result.exit_code == 0
    assert RULE in json.loads(result.stdout)["hookSpecificOutput"].values()
    assert result.stderr == "warning: standard input names no session_id: nothing is recorded\n"
    assert cli.json("session", "list") == []


def test_a_session_that_is_over(started: Any) -> None:
    """Its text is given to no context any more, and nothing is written to it."""
    put(started)
    started.done("session", "end", "--session", "s1")

    result = started("context", "--session", "s1")

    assert (result.exit_code, result.stdout) == (0, RULE)
    assert result.stderr == "warning: the session s1 is over: nothing is recorded\n"
    for command in (
        ("session", "put", "a", "--type", "fact", "--body", "A", "--session", "s1"),
        ("session", "drop", "parser", "--session", "s1"),
        ("session", "end", "--session", "s1"),
        ("session", "start", "s1"),
    ):
        assert started.error(*command) == "session-ended"
    started.done("session", "forget", "s1")
    assert started.error("session", "start", "s1") == "session-ended"
    assert started.json("session", "list")[0]["state"] == "forgotten"


def test_pinned(started: Any) -> None:
    """What is approved meanwhile counts from the next context on, unless memory is pinned."""
    started.apply("fact_b", "B is new.")

    now = started.done("context", "--session", "s1")
    pinned = started.done("context", "--session", "s1", "--pinned")

    assert "B is new." in now
    assert pinned == RULE.removesuffix("\n")
    assert started.error("context", "--pinned") == "usage"


def test_a_promoted_entry_is_a_candidate(started: Any) -> None:
    """It waits like any other, with the session as its evidence, and is in no other context."""
    put(started)
    id_ = started.done("session", "promote", "parser", "--session", "s1")

    found = started.json("show", id_)

    assert (found["state"], found["entries"]) == ("pending", ["mem_parser"])
    assert found["sources"] == [{"sessionId": "s1"}]
    assert found["rationale"] == "The session s1 kept it."
    assert NOTE not in started.done("context")
    kinds = [
        json.loads(line)["kind"]
        for line in started.done("log", "--session", "s1", "--json").split("\n")
    ]
    assert kinds == ["session.started", "candidate.created"]


def test_what_was_discarded_is_promoted_with_new_grounds(started: Any) -> None:
    """A session's own note hears a no like any proposal, and may ask again."""
    put(started)
    promote = ("session", "promote", "parser", "--session", "s1")
    started.done("discard", started.done(*promote), "--yes", "--reason", "It moves.")

    assert started.error(*promote) == "discarded-before"
    again = started.done(*promote, "--again", "--rationale", "It stays there now.")

    assert started.json("show", again)["state"] == "pending"


def test_why_names_the_sessions(started: Any, plain: Callable[[str], str]) -> None:
    """An entry's story says which sessions were given it, and in JSON too."""
    started.done("context", "--session", "s1")
    started.done("session", "start", "s2")
    started.done("context", "--session", "s2", "--tier", "user")

    assert started.json("why", "pref_indent")["sessions"] == ["s1"]
    assert "\ngiven to   s1\n" in plain(started.done("why", "pref_indent"))


def test_records_by_kind(started: Any) -> None:
    """The log has what sessions were given only where it is asked for."""
    started.done("context", "--session", "s1")

    assert "context.built" not in started.done("log")
    line = started.done("log", "--kind", "context.built", "--json")
    assert json.loads(line)["entries"] == {"project": ["mem_pref_indent"]}


def test_prune(started: Any) -> None:
    """Old texts go, by the time when something was written last."""
    put(started)

    assert started.done("session", "prune") == ""
    assert started.error("session", "prune", "--older-than", "soon") == "time-unclear"


@pytest.mark.parametrize(
    ("command", "reference"),
    [
        (("session", "put", "a", "--type", "fact", "--body", "A"), "session-missing"),
        (("session", "put", "a", "--type", "fact", "--session", "s1"), "usage"),
        (
            ("session", "put", "A", "--type", "fact", "--body", "A", "--session", "s1"),
            "key-invalid",
        ),
        (
            ("session", "put", "a", "--type", "fact", "--body", "", "--session", "s1"),
            "entry-invalid",
        ),
        (("session", "put", "a", "--type", "forbidden", "--body", "A"), "usage"),
        (("session", "drop", "a", "--session", "s1"), "no-such-entry"),
        (("session", "promote", "a", "--session", "s1"), "no-such-entry"),
        (("session", "end", "--session", "s9"), "no-such-session"),
        (("session", "forget", "s9"), "no-such-session"),
        (("session", "start", "a/b"), "session-invalid"),
        (("session", "start", "..x"), "session-invalid"),
        (("session", "start", "s3", "--related", "a/b"), "session-invalid"),
        (("log", "--session", "s9"), "no-such-session"),
        (("context", "--hook-session"), "usage"),
        (("context", "--hook", "--hook-session", "--session", "s1"), "usage"),
    ],
)
def test_errors(started: Any, command: tuple[str, ...], reference: str) -> None:
    """Each has its stable name."""
    assert started.error(*command) == reference


def test_no_sessions(cli: Any) -> None:
    """Nothing on standard output, and a word beside it."""
    result = cli("session", "list")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no sessions\n")
    assert cli.json("session", "list") == []
