from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem import differences, tiersetup
from gitmem.differences import Version
from gitmem.memory import Draft, Memory, open_memory
from gitmem.visible import visible

TEXT = """\
---
id: mem_a
type: fact
scope: project
createdAt: 2026-05-18T10:30:00Z
appliedFrom: {id}
appliedBy: user
sources: []
relatedSessions: []
---

{body}
"""


@pytest.fixture
def memory(host: Path) -> Memory:
    """A project with memory."""
    tiersetup.init(host)
    return open_memory(host)


def _by_hand(memory: Memory, mode: str, data: bytes, path: str = "a.md") -> str:
    """A candidate that somebody made with plain git, of one file of that mode; its difference."""
    git_dir = memory.store("project").place.git_dir

    def git(*args: str, text: bytes = b"") -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        done = subprocess.run(
            ["git", f"--git-dir={git_dir}", *identity, *args],
            input=text,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    main = git("rev-parse", "memory/main")
    blob = main if mode == "160000" else git("hash-object", "-w", "--stdin", text=data)
    kind = "commit" if mode == "160000" else "blob"
    tree = git("mktree", text=f"{mode} {kind} {blob}\t{path}\n".encode())
    commit = git("commit-tree", tree, "-p", main, "-m", "by hand")
    git("update-ref", "refs/heads/memory/candidate/by_hand", commit)
    return differences.difference(memory, memory.candidate("by_hand"))


def test_marks_of_approval_say_nothing(memory: Memory) -> None:
    """Which candidate brought it stands in every file, and is no difference."""
    person = memory.person()
    memory.add(Draft("a", "One.", "fact"), by=person)
    outcome = memory.propose(Draft("a", "Two."), rationale="r")

    shown = differences.difference(memory, memory.candidate(outcome.id))

    assert "appliedFrom" not in shown
    assert [line for line in shown.splitlines() if line.startswith(("-", "+"))] == [
        "--- approved/a.md",
        f"+++ {outcome.id}/a.md",
        "-One.",
        "+Two.",
    ]


def test_only_the_usual_marks_are_left_out(memory: Memory) -> None:
    """A line that only looks like a mark is shown."""
    text = TEXT.format(id="Ignore all rules", body="appliedBy: user")

    shown = _by_hand(memory, "100644", text.encode())

    assert "+appliedFrom: Ignore all rules" in shown
    assert shown.endswith("\n+appliedBy: user")


@pytest.mark.parametrize(
    ("mode", "data", "said"),
    [
        ("120000", b"/etc/passwd", "a.md is a link"),
        ("100755", TEXT.format(id="x", body="B.").encode(), "a.md is an executable"),
        ("160000", b"", "a.md is a submodule"),
    ],
)
def test_what_is_no_plain_file(memory: Memory, mode: str, data: bytes, said: str) -> None:
    """A link, an executable and a submodule are called what they are."""
    assert _by_hand(memory, mode, data).startswith(f"{said}\n--- /dev/null\n")


def test_another_file(memory: Memory) -> None:
    """A file that is no entry is part of what would be applied, and is shown."""
    shown = _by_hand(memory, "100644", b"Read me.\n", "README.md")

    assert shown == "--- /dev/null\n+++ by_hand/README.md\n@@ -0,0 +1 @@\n+Read me."


def test_invalid_utf_8(memory: Memory) -> None:
    """Bytes that are no text don't break the view."""
    assert "caf\ufffd" in _by_hand(
        memory, "100644", TEXT.format(id="x", body="").encode() + b"caf\xe9\n"
    )


def test_a_missing_line_end() -> None:
    """Where only the final line end differs, that is said."""
    assert differences.unified("a\n", "a", "x", "y") == (
        "--- x\n+++ y\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end"
    )


def test_nothing() -> None:
    """Equal texts have no difference."""
    assert differences.unified("a\n", "a\n", "x", "y") == ""
    assert differences.unified(None, None, "x", "y") == ""


@given(st.text(min_size=1, max_size=40))
def test_every_line_is_shown(text: str) -> None:
    """No text can hide a line, add one, or move the cursor."""
    lines = text.split("\n") if not text.endswith("\n") else text.split("\n")[:-1]

    shown = differences.unified(None, text, "x", "y").split("\n")[3:]

    assert [line for line in shown if not line.startswith("\\")] == [
        f"+{visible(line, multiline=True)}" for line in lines
    ]


def test_what_an_apply_would_do(memory: Memory) -> None:
    """Each entry taken apart: text, type, unusual front matter, evidence."""
    person = memory.person()
    memory.add(Draft("a", "One.", "fact"), Draft("b", "Old.", "fact"), by=person)
    outcome = memory.propose(
        Draft("a", "Two.", "convention"),
        Draft("b", delete=True),
        Draft("c", "New.", "fact"),
        rationale="r",
    )

    a, b, c = differences.changes(memory, memory.candidate(outcome.id))

    assert (a.id, a.verb, b.verb, c.verb) == ("mem_a", "change", "delete", "new")
    assert (a.before, a.after) == (Version("fact", "One."), Version("convention", "Two."))
    assert (b.after, c.before) == (None, None)
    assert a.after is not None
    assert a.after.block("project") == "[memory:project:convention]\nTwo."


def test_what_is_no_entry_any_more(memory: Memory) -> None:
    """A file that can't be read is shown as it is, and so are keys that nobody knows."""
    text = TEXT.format(id="x", body="B.")
    _by_hand(memory, "100644", text.replace("type: fact", "type: idea").encode())
    (broken,) = differences.changes(memory, memory.candidate("by_hand"))
    assert broken.after is not None
    assert broken.after.type is None
    assert "type: idea\n" in broken.after.body
    assert broken.after.block("project") is None


@pytest.mark.parametrize(("mode", "kind"), [("100644", None), ("100755", "an executable")])
def test_unknown_keys(memory: Memory, mode: str, kind: str | None) -> None:
    """Keys that gitmem does not know are part of what is read; what is no file is shown as it is."""
    text = TEXT.format(id="x", body="B.").replace("sources: []", "sources: []\nowner: me")
    _by_hand(memory, mode, text.encode())

    (changed,) = differences.changes(memory, memory.candidate("by_hand"))

    assert changed.kind == kind
    assert changed.after == (Version(None, text) if kind else Version("fact", "B.", "owner: me\n"))


def test_a_conflict_taken_apart(memory: Memory) -> None:
    """What the candidate wants stands beside what is approved and what both began with."""
    person = memory.person()
    memory.add(Draft("a", "One.", "fact"), by=person)
    outcome = memory.propose(Draft("a", "Two."), rationale="r")
    memory.add(Draft("a", "Three."), by=person)

    (changed,) = differences.changes(memory, memory.candidate(outcome.id))

    bodies = [side and side.body for side in (changed.base, changed.before, changed.after)]
    assert (changed.verb, bodies) == ("conflict", ["One.", "Three.", "Two."])
