from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.fixture
def three(cli: Any) -> str:
    """A candidate of three entries."""
    entries = [{"key": key, "type": "fact", "body": f"Rule {key}."} for key in ("a", "b", "c")]
    document = json.dumps({"rationale": "r", "entries": entries})
    return str(cli.done("propose", "--json", "-", input=document))


def test_the_rest_becomes_another_one(cli: Any, three: str) -> None:
    """Its id is printed, and both stay pending."""
    rest = cli.done("split", three, "mem_a", "b")

    listed = {one["id"]: one["entries"] for one in cli.json("list")}
    assert listed == {three: ["mem_a", "mem_b"], rest: ["mem_c"]}


def test_json(cli: Any, three: str) -> None:
    """A program gets both ids."""
    found = cli.json("split", three, "a")

    assert found == {"candidate": three, "rest": "cand_2026_00000002"}


@pytest.mark.parametrize(
    ("entries", "error"),
    [(["x"], "entry-not-in-candidate"), (["a", "b", "c"], "nothing-to-split"), ([], "usage")],
)
def test_what_can_not_be_split(cli: Any, three: str, entries: list[str], error: str) -> None:
    """An entry that is not in it, all of them, none."""
    assert cli.error("split", three, *entries) == error
    assert len(cli.json("list")) == 1


@pytest.mark.usefixtures("agent")
def test_agents_are_refused(cli: Any, three: str) -> None:
    """A reviewer splits."""
    assert cli.error("split", three, "a") == "person-needed"
