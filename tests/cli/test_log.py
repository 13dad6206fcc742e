from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gitmem import clock
from gitmem.cli import log
from gitmem.errors import BadInputError

FIELDS = ["kind", "tier", "at", "commit", "candidate", "entry", "actor", "inferred"]


def _lines(cli: Any, *args: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cli.done("log", "--json", *args).splitlines()]


def _kinds(found: list[dict[str, Any]]) -> list[str]:
    return [one["kind"] for one in found]


def test_nothing(cli: Any) -> None:
    """An empty log is done."""
    assert cli.done("log") == ""


def test_what_a_person_reads(cli: Any, plain: Callable[[str], str]) -> None:
    """One line an event, oldest first."""
    id_ = cli.apply()
    cli.done("discard", cli.propose("b", "B."), "--yes")

    assert plain(cli.done("log")).splitlines() == [
        "<time>  <commit>  project  candidate.created     cand_2026_00000001  agent",
        "<time>  <commit>  project  candidate.applied     cand_2026_00000001  Test Person",
        f"<time>  <commit>  project  memory.updated        mem_pref_indent ({id_})  Test Person",
        "<time>  <commit>  project  candidate.created     cand_2026_00000002  agent",
        "<time>  <commit>  project  candidate.discarded   cand_2026_00000002  Test Person",
    ]


def test_fields_of_json(cli: Any) -> None:
    """One object a line with every promised field."""
    id_ = cli.apply()

    created, applied, updated = _lines(cli)

    assert [list(one)[: len(FIELDS)] for one in (created, applied, updated)] == [FIELDS] * 3
    assert (created["kind"], created["entry"], created["actor"]) == (
        "candidate.created",
        None,
        "agent",
    )
    assert (applied["candidate"], applied["actor"]) == (id_, "Test Person")
    assert (updated["candidate"], updated["entry"]) == (id_, "mem_pref_indent")
    assert "before" not in updated


def test_snapshots(cli: Any) -> None:
    """With --snapshots the files before and after are there, by entry for an apply."""
    cli.apply()
    cli.apply("pref_indent", "Use 2 spaces.")

    applied, updated = _lines(cli, "--snapshots")[-2:]

    assert updated["before"].endswith("\nUse 4 spaces.\n")
    assert updated["after"].endswith("\nUse 2 spaces.\n")
    assert applied["before"] == {"mem_pref_indent": updated["before"]}
    shown = cli.done("log", "--snapshots", "--kind", "memory.updated").splitlines()
    assert shown[-2:] == ["    -Use 4 spaces.", "    +Use 2 spaces."]


def test_filters(cli: Any) -> None:
    """By entry, candidate, kind and scope."""
    first = cli.apply()
    cli.apply("other", "Other.", "--scope", "user")

    assert _kinds(_lines(cli, "--entry", "mem_pref_indent")) == [
        "candidate.applied",
        "memory.updated",
    ]
    assert {one["candidate"] for one in _lines(cli, "--candidate", first)} == {first}
    assert _kinds(_lines(cli, "--kind", "memory.updated")) == ["memory.updated"] * 2
    assert {one["tier"] for one in _lines(cli, "--scope", "user")} == {"user"}
    assert [one["tier"] for one in _lines(cli)] == ["project"] * 3 + ["user"] * 3


def test_since(cli: Any) -> None:
    """Only what is not older than a time."""
    cli.apply()
    times = [one["at"] for one in _lines(cli)]

    assert [one["at"] for one in _lines(cli, "--since", times[-1])] == [
        at for at in times if at >= times[-1]
    ]
    assert len(_lines(cli, "--since", "2026-05-18")) == 3
    assert _lines(cli, "--since", "2026-05-19") == []


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-05-18", 1_779_062_400),
        ("2026-05-18T10:30:00Z", 1_779_100_200),
        ("2026-05-18T12:30:00+02:00", 1_779_100_200),
        ("2026-05-18 10:30", 1_779_100_200),
        ("90m", 1_779_100_200 - 5400),
        ("12h", 1_779_100_200 - 43_200),
        ("7d", 1_779_100_200 - 604_800),
        ("2w", 1_779_100_200 - 1_209_600),
    ],
)
def test_times(text: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day, a moment or a time ago; UTC where no zone is said."""
    monkeypatch.setattr(clock, "now", lambda: 1_779_100_200)

    assert log.moment(text) == at


@pytest.mark.parametrize("text", ["", "yesterday", "7", "d", "2026-13-01", "10:30"])
def test_no_time(text: str) -> None:
    """What is no time is bad input."""
    with pytest.raises(BadInputError) as caught:
        log.moment(text)

    assert caught.value.reference == "time-unclear"


def test_unknown_kind(cli: Any) -> None:
    """A kind that there is not is bad usage."""
    assert cli("log", "--kind", "memory.forgotten").exit_code == 2
