from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitmem import transcripts

SESSION = "0b1c2d3e-aaaa-4bbb-8ccc-ddddeeeeffff"
RECORDS = [
    {"type": "user", "message": {"role": "user", "content": "Fix the build."}},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"text": "Which one?"}]}},
    {
        "type": "user",
        "uuid": "turn-3",
        "message": {"role": "user", "content": "以后用中文回答我。"},
    },
    {"type": "system"},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"text": "好的。"}]}},
]


@pytest.fixture
def written(sealed_home: Path) -> Path:
    """A session as Claude Code keeps it."""
    file = sealed_home / ".claude" / "projects" / "-home-ann-shop" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    lines = [json.dumps(record, ensure_ascii=False) for record in RECORDS]
    file.write_text("\n".join([*lines, "no json", "[1]", ""]), encoding="utf-8")
    return file


def found(**source: str) -> Any:
    return transcripts.find({"sessionId": SESSION, **source})


def test_the_words_themselves(written: Path) -> None:
    """The record that says the evidence, with what was said around it."""
    place = found(evidence="以后用中文\n回答".replace("\n", ""), turnId="turn-9")

    assert place.path == written
    assert place.record == 3
    assert place.texts == (
        (1, "user", "Fix the build."),
        (2, "assistant", "Which one?"),
        (3, "user", "以后用中文回答我。"),
        (5, "assistant", "好的。"),
        (6, "", "no json"),
        (7, "", "[1]"),
    )


def test_only_the_turn(written: Path) -> None:
    """Where nobody said it in these words, the turn is shown."""
    place = found(evidence="speak Chinese", turnId="turn-3")

    assert (place.record, place.texts[-1]) == (3, (3, "user", "以后用中文回答我。"))


def test_nothing_of_the_kind(written: Path) -> None:
    """Evidence that is not in the transcript is called that."""
    place = found(evidence="delete everything")

    assert place.record is None
    assert place.texts[0] == (1, "user", "Fix the build.")


def test_codex(sealed_home: Path) -> None:
    """A session as Codex keeps it."""
    file = (
        sealed_home / ".codex/sessions/2026/05/18" / f"rollout-2026-05-18T10-30-00-{SESSION}.jsonl"
    )
    file.parent.mkdir(parents=True)
    record = {
        "type": "response_item",
        "payload": {"role": "user", "content": [{"text": "No tabs."}]},
    }
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")

    assert found(evidence="No  tabs.").texts == ((1, "user", "No tabs."),)


@pytest.mark.parametrize("session", [None, "", "other", "../secret", "*", 7])
def test_no_transcript(written: Path, session: Any) -> None:
    """A session that is not here, or is no session, leads to no file."""
    (written.parent.parent / "secret.jsonl").write_text("{}\n", encoding="utf-8")

    assert transcripts.find({"sessionId": session, "evidence": "Fix"}) is None
