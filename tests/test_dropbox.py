"""Tests for the drop box: what is read of it, what is not, and what becomes of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem import dropbox, layout, proposals
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.entries import Source

GOOD = """\
---
id: mem_run_tests
type: convention
rationale: Plain pytest fails.
priority: high
sources:
  - sessionId: s1
    turnId: "4"
    evidence: "use make test"
---

Run the tests with make test.
"""


@pytest.fixture
def box(project: Path) -> Path:
    """The project's drop box, made."""
    folder = layout.drop_box(project)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def memory(project: Path) -> Memory:
    """The project's memory."""
    return open_memory(project)


def _decide(memory: Memory) -> list[tuple[str, str | None, str | None]]:
    """Make an unrelated decision; gives what became of the dropped files."""
    count = len(memory.entries("project"))
    decision = memory.add(Draft(f"other-{count}", "Something.", "fact"), by=memory.person())
    return [(claim.path.name, claim.candidate, claim.fault) for claim in decision.claimed]


def test_a_file_becomes_a_candidate_at_the_next_decision(memory: Memory, box: Path) -> None:
    """It is listed until then, and gone afterwards; its reasons and evidence are the candidate's."""
    (box / "mine.md").write_text(GOOD, encoding="utf-8")

    (listed,) = memory.dropped()
    ((name, id_, fault),) = _decide(memory)
    found = memory.candidate(id_ or "")

    assert listed.drop is not None
    assert (listed.drop.key, listed.drop.rationale) == ("run_tests", "Plain pytest fails.")
    assert (name, fault, list(box.iterdir())) == ("mine.md", None, [])
    assert (found.rationale, found.priority, found.actor) == (
        "Plain pytest fails.",
        "high",
        "agent",
    )
    assert found.sources == ({"sessionId": "s1", "turnId": "4", "evidence": "use make test"},)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("no front matter\n", "front matter"),
        (GOOD.replace("type: convention", "type: rumour"), "line 3"),
        (GOOD.replace("rationale: Plain pytest fails.\n", ""), "the rationale is missing"),
        (GOOD.replace("mem_run_tests", "mem_Run"), "line 2"),
        (GOOD.replace("id: mem_run_tests\n", ""), "the id is missing"),
        (GOOD.replace("priority: high", "delete: perhaps"), "line 5: 'delete' must be"),
    ],
)
def test_a_bad_file_stays_and_is_said(memory: Memory, box: Path, text: str, fault: str) -> None:
    """With the line that is wrong, in the list and at the decision; the file is as it was."""
    (box / "bad.md").write_text(text, encoding="utf-8")

    (listed,) = memory.dropped()
    ((name, id_, said),) = _decide(memory)

    assert fault in (listed.fault or "")
    assert (name, id_) == ("bad.md", None)
    assert fault in (said or "")
    assert (box / "bad.md").read_text(encoding="utf-8") == text


def _link(box: Path, target: Path) -> None:
    (box / "x.md").symlink_to(target)


def _hard_link(box: Path, target: Path) -> None:
    os.link(target, box / "x.md")


def _pipe(box: Path, _: Path) -> None:
    os.mkfifo(box / "x.md")


def _large(box: Path, _: Path) -> None:
    (box / "x.md").write_text(GOOD + "x" * dropbox.MAX_BYTES, encoding="utf-8")


@pytest.mark.parametrize("make", [_link, _hard_link, _pipe, _large])
def test_what_is_never_read(memory: Memory, box: Path, tmp_path: Path, make: object) -> None:
    """Links of both kinds, pipes and oversized files stay where they are."""
    target = tmp_path / "target.md"
    target.write_text(GOOD, encoding="utf-8")
    assert callable(make)
    make(box, target)

    (listed,) = memory.dropped()
    ((_, id_, _),) = _decide(memory)

    assert (listed.drop, id_) == (None, None)
    assert memory.candidates() == []
    assert os.path.lexists(box / "x.md")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_owner(memory: Memory, box: Path) -> None:
    """It is no proposal of the user's own agents."""
    (box / "x.md").write_text(GOOD, encoding="utf-8")
    os.chown(box / "x.md", 65534, 65534)

    assert [item.fault for item in memory.dropped()] == ["it belongs to another user"]


def test_a_half_written_file_is_not_looked_at(memory: Memory, box: Path) -> None:
    """A name that begins with a dot is being written."""
    (box / ".mine.md").write_text(GOOD, encoding="utf-8")

    assert memory.dropped() == []
    assert _decide(memory) == []


def test_a_box_behind_a_link(memory: Memory, tmp_path: Path) -> None:
    """Neither the box nor the folder above it may lead elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.md").write_text(GOOD, encoding="utf-8")
    layout.drop_box(memory.path).symlink_to(elsewhere)

    assert memory.dropped() == []
    assert _decide(memory) == []
    assert (elsewhere / "mine.md").exists()


def test_what_a_killed_process_had_claimed(memory: Memory, box: Path) -> None:
    """The next decision takes it up under its own name."""
    (box / ".claimed-mine.md").write_text(GOOD, encoding="utf-8")

    ((name, id_, fault),) = _decide(memory)

    assert (name, fault) == ("mine.md", None)
    assert memory.candidate(id_ or "").state == "pending"


def test_a_deletion_and_a_patch(memory: Memory, box: Path) -> None:
    """Both change the approved entry."""
    memory.add(Draft("one", "first", "fact"), Draft("two", "second", "fact"), by=memory.person())
    delete = "---\nid: mem_one\nrationale: gone\ndelete: true\n---\n"
    diff = "--- a/two.md\n+++ b/two.md\n@@ -1 +1 @@\n-second\n+2nd\n"
    patch = f"---\nid: mem_two\nrationale: shorter\npatch: true\n---\n\n{diff}"
    (box / "a.md").write_text(delete, encoding="utf-8")
    (box / "b.md").write_text(patch, encoding="utf-8")

    ids = [id_ or "" for _, id_, _ in _decide(memory)]
    for id_ in ids:
        memory.apply(id_, by=memory.person())
    bodies = {entry.key: entry.body for entry in memory.entries("project")}

    assert "one" not in bodies
    assert bodies["two"] == "2nd"


def test_what_is_written_is_read(box: Path, memory: Memory) -> None:
    """A proposal that a sandbox drops keeps all that it says, and its id."""
    entry = proposals.drafted(
        memory.store("project"), Draft("cents", "Cents.", "fact"), [Source("s", "t", "e")]
    )
    dropbox.write(box, "cand_2026_abcdefgh", "cents", entry, "why", priority="low")

    (listed,) = dropbox.listed(box)

    assert listed.drop == dropbox.Drop(
        "cents",
        "why",
        "fact",
        "Cents.",
        priority="low",
        sources=(Source("s", "t", "e"),),
        candidate="cand_2026_abcdefgh",
    )
    assert [claim[1] for claim in _decide(memory)] == ["cand_2026_abcdefgh"]


# -- what somebody leaves to be a nuisance -------------------------------------------------------


def _names(box: Path) -> list[str]:
    return sorted(path.name for path in box.iterdir())


def _made(drop: dropbox.Drop) -> str:
    return f"made_{drop.key}"


@pytest.mark.parametrize("name", [".claimed-", ".claimed-.", ".claimed-..", "x" * 250 + ".md"])
def test_names_that_stop_nothing(box: Path, name: str) -> None:
    """A name that no claim can have, or that is too long for one, does not stop the others."""
    (box / name).write_text(GOOD)
    (box / "a.md").write_text(GOOD)
    made = [claim.candidate for claim in dropbox.claim(box, _made) if claim.fault is None]
    assert made == ["made_run_tests"]
    assert _names(box) == [name]


def test_a_folder_stops_nothing(box: Path) -> None:
    """A folder with the name of a file is a fault of its own, and stays."""
    (box / "folder.md").mkdir()
    (box / "a.md").write_text(GOOD)
    assert [item.fault for item in dropbox.listed(box)] == [None, "it is no plain file"]
    assert [claim.candidate for claim in dropbox.claim(box, _made)] == ["made_run_tests", None]
    assert _names(box) == ["folder.md"]


def test_a_claimed_file_and_its_twin(box: Path) -> None:
    """A file that a killed process had claimed, and a new one of its name: none is lost."""
    (box / ".claimed-a.md").write_text(GOOD)
    (box / "a.md").write_text(GOOD.replace("run_tests", "other"))
    made = {claim.candidate for claim in dropbox.claim(box, _made)}
    assert made == {"made_run_tests", "made_other"}
    assert _names(box) == []
