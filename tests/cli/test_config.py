from __future__ import annotations

import json
from typing import Any

import pytest

import gitmem
from gitmem import differences, settings
from gitmem.cli import config, screen


@pytest.fixture
def ann(cli: Any, keys: Any, run_git: Any) -> Any:
    """The user signs with Ann's key."""
    keys["ann"].sign_with(run_git, cli.at)
    return keys["ann"]


def test_the_names_are_those_there_are() -> None:
    """The command and what it calls agree on the settings."""
    assert set(config.NAMES) == settings.SETTERS.keys()


def test_what_is_set_where_nothing_is(cli: Any) -> None:
    """Everything counts, everybody decides."""
    assert cli.done("config").split("\n") == [
        "project  approval        open",
        "project  approvers       everybody",
        "project  own-candidates  allowed",
        "project  expire-after    off",
        "user     approval        open",
        "user     approvers       everybody",
        "user     own-candidates  allowed",
        "user     expire-after    off",
    ]
    assert cli.json("config", "approval", "--scope", "user") == {"user": {"approval": "open"}}


def test_approvals_are_signed_from_now_on(cli: Any, ann: Any, run_git: Any) -> None:
    """Setting it lists the own key; what was approved before stays, what comes is signed."""
    cli.apply("fact_a", "A")
    git_dir = cli.at / ".git" / "gitmem" / "memory.git"
    start = run_git("rev-parse", "memory/main", cwd=git_dir)

    assert cli.done("config", "approval", "signed", "--yes") == (
        f"project  approval        signed, after {start[:12]}"
    )
    cli.apply("fact_b", "B")

    assert "-----BEGIN SSH SIGNATURE-----" in run_git("cat-file", "-p", "memory/main", cwd=git_dir)
    assert cli("verify").exit_code == 0
    assert {one["id"] for one in cli.json("context")["entries"]} == {"mem_fact_a", "mem_fact_b"}
    (listed, user) = cli.json("signers", "list")
    assert [(one["name"], one["key"]) for one in listed["signers"]] == [
        ("person@example.org", ann.fingerprint)
    ]
    assert user["signers"] == []


def test_an_unsigned_merge_is_not_approved(cli: Any, ann: Any, run_git: Any) -> None:
    """What plain git merges without a signature stays out of the context, and verify says why."""
    cli.apply("fact_a", "A")
    cli.done("config", "approval", "signed", "--yes")
    id_ = cli.propose("fact_b", "B")
    folder = cli.at / ".custom-agent" / "memory"
    run_git("merge", "-q", "--no-ff", "--no-edit", f"memory/candidate/{id_}", cwd=folder)

    assert [one["id"] for one in cli.json("context")["entries"]] == ["mem_fact_a"]
    result = cli("verify")
    assert result.exit_code == 1
    assert "mem_fact_b" in result.stdout

    cli.done("config", "approval", "open", "--yes")
    assert [one["id"] for one in cli.json("context")["entries"]] == ["mem_fact_b", "mem_fact_a"]
    assert cli("verify").exit_code == 0


def test_who_signed_is_shown(cli: Any, ann: Any) -> None:
    """The log and the story of an entry name the signer of each decision since then."""
    cli.apply("fact_a", "A")
    cli.done("config", "approval", "signed", "--yes")
    cli.apply("fact_b", "B")
    cli.done("discard", cli.propose("fact_c", "C"), "--yes")

    log = cli.done("log", "--kind", "candidate.applied").split("\n")
    assert [line.endswith("  signed by person@example.org") for line in log] == [False, True]
    (closed,) = map(
        json.loads, cli.done("log", "--json", "--kind", "candidate.discarded").split("\n")
    )
    assert (closed["signer"], closed["signingKey"]) == ("person@example.org", ann.fingerprint)
    signed = f"signed     person@example.org, {ann.fingerprint}"
    assert signed in cli.done("why", "fact_b").split("\n")
    assert "signed " not in cli.done("why", "fact_a")
    assert ", signed by person@example.org" in cli.done("show", closed["candidate"])
    states = {one["id"]: one["signer"] for one in cli.json("list", "--state", "all")}
    assert sorted(states.values(), key=str) == [None, "person@example.org", "person@example.org"]


def test_a_review_shows_who_signed_what_is_there(cli: Any, ann: Any) -> None:
    """Of each entry that a candidate would change; of one from before, nobody."""
    cli.apply("fact_a", "A")
    cli.done("config", "approval", "signed", "--yes")
    cli.apply("fact_b", "B")
    memory = gitmem.open(cli.at)
    changed = [
        differences.changes(memory, memory.candidate(cli.propose(key, "new")))[0]
        for key in ("fact_a", "fact_b", "fact_c")
    ]

    assert [one.signer for one in changed] == [None, "person@example.org", None]
    found = memory.candidates()[0]
    assert screen._about(found, changed[1]).endswith(", present text signed by person@example.org")
    assert "signed" not in screen._about(found, changed[0])


def test_a_key_that_is_not_listed(cli: Any, ann: Any, keys: Any, run_git: Any) -> None:
    """Nothing is decided with a key that does not count, and nothing has moved after."""
    cli.done("config", "approval", "signed", "--yes")
    id_ = cli.propose()
    keys["eve"].sign_with(run_git, cli.at)

    assert cli.error("apply", id_, "--yes") == "signer-not-allowed"
    assert cli.error("discard", id_, "--yes") == "signer-not-allowed"
    run_git("config", "--global", "user.signingKey", "/nowhere/key.pub", cwd=cli.at)
    assert cli.error("apply", id_, "--yes") == "not-signed"

    assert [one["id"] for one in cli.json("list")] == [id_]
    assert cli.json("context")["entries"] == []


def test_discards_before_and_after(cli: Any, ann: Any, run_git: Any) -> None:
    """What was closed before stays closed; a tag that nobody signed closes nothing."""
    before = cli.propose("fact_a", "A")
    cli.done("discard", before, "--yes")
    cli.done("config", "approval", "signed", "--yes")
    after = cli.propose("fact_b", "B")
    cli.done("discard", after, "--yes")
    forged = cli.propose("fact_c", "C")
    folder = cli.at / ".custom-agent" / "memory"
    run_git("switch", "-q", f"memory/candidate/{forged}", cwd=folder)
    run_git("commit", "-q", "--no-verify", "--allow-empty", "-m", "closed", cwd=folder)
    closing = run_git("rev-parse", "HEAD", cwd=folder)
    run_git("switch", "-q", "memory/main", cwd=folder)
    run_git("branch", "-qD", f"memory/candidate/{forged}", cwd=folder)
    run_git(
        "tag", "-a", "-m", "no", f"memory/discarded/{forged}.{closing[:8]}", closing, cwd=folder
    )

    states = {one["id"]: one["state"] for one in cli.json("list", "--state", "all")}
    assert states == {before: "discarded", after: "discarded", forged: "withdrawn"}
    assert "or no allowed signer signed it" in cli("verify").stdout


def test_who_decides(cli: Any) -> None:
    """Only approvers decide, and where it is so set, nobody about their own candidates."""
    own, other = cli.propose("fact_a", "A", "--actor", "Test Person"), cli.propose("fact_b", "B")
    cli.done("config", "own-candidates", "refused", "--yes")
    cli.done("config", "approvers", "bob@example.org", "--yes")

    assert cli.error("apply", own, "--yes") == "own-candidate"
    assert cli.error("apply", other, "--yes") == "not-an-approver"
    assert cli.error("discard", other, "--yes") == "not-an-approver"
    cli.done("config", "approvers", "bob@example.org,person@example.org", "--yes")
    cli.done("apply", other, "--yes")
    assert cli.error("add", "fact_c", "C", "--type", "fact", "--yes") == "own-candidate"
    cli.done("config", "approvers", "everybody", "--yes")
    assert (
        cli.done("config", "approvers", "--scope", "project")
        == "project  approvers       everybody"
    )


def test_an_agent_sets_nothing(cli: Any, agent: Any) -> None:
    """What counts is a person's to say; to look is free."""
    assert cli.error("config", "approval", "open", "--yes") == "person-needed"
    assert cli.error("signers", "add", "--yes") == "person-needed"
    assert cli.error("signers", "remove", "x", "--yes") == "person-needed"
    assert cli("config").exit_code == 0


def test_what_is_no_setting(cli: Any) -> None:
    """Names and values are looked at."""
    assert cli.error("config", "colour", "red") == "usage"
    assert cli.error("config", "approval", "perhaps", "--yes") == "value-unknown"
    assert cli.error("config", "own-candidates", "no", "--yes") == "value-unknown"
    assert cli.error("config", "approvers", " ", "--yes") == "value-unknown"
    assert cli.error("config", "approval", "open") == "yes-missing"
