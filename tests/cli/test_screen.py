from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from gitmem import clock, differences
from gitmem.cli import screen
from gitmem.cli.lines import painted
from gitmem.cli.screen import Section, Sheet, pages
from gitmem.cli.width import width
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.entries import Source

DAY = 86_400


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with memory, and in it one approved entry."""
    memory = open_memory(project)
    memory.add(Draft("tests", "Run make test.\n\nIt is slow.", "convention"), by=memory.person())
    return memory


def sheet(memory: Memory, *drafts: Draft, **more: Any) -> Sheet:
    """What is said about a candidate of `drafts`, two days after it was made."""
    about = {"rationale": "The user said so.", "actor": "claude-code"} | more
    outcome = memory.propose(*drafts, **about)
    found = memory.candidate(outcome.id)
    return Sheet(found, differences.changes(memory, found), found.created_at + 2 * DAY)


def shown(made: Sheet, columns: int = 80, rows: int = 20) -> list[list[str]]:
    """The pages, without colours and with the time of the proposal left out."""
    at = clock.rfc3339(made.found.created_at)
    return [
        [painted(row, coloured=False).replace(f" ({at})", "") for row in page.rows]
        for page in pages(made, columns, rows, coloured=False)
    ]


def test_a_change(memory: Memory) -> None:
    """What it does, why, who says so, on which evidence, and what an agent gets."""
    said = Source("sess-1", "turn-4", "Make is dead,\nuse tox.")
    draft = Draft("tests", "Run tox.\n\nIt is slow.", "forbidden")

    (page,) = shown(sheet(memory, draft, sources=[said], priority="high"))

    assert page == [
        "change    mem_tests  project convention -> forbidden",
        "          Run [-make test-]{+tox+}.",
        "",
        "          It is slow.",
        "why       The user said so.",
        "proposed  by claude-code, 2 days ago, priority high",
        "evidence  “Make is dead,",
        "          use tox.”",
        "            session sess-1, turn turn-4",
        "agents    -7 characters",
        "          [memory:project:forbidden]",
        "          Run tox.",
        "",
        "          It is slow.",
    ]


def test_a_new_entry(memory: Memory) -> None:
    """A new text is shown whole, in Chinese as in English, broken where the columns end."""
    body = "提交信息必须使用英文，并带上约定的前缀；提交之前先运行全部测试。"

    (page,) = shown(sheet(memory, Draft("commits", body, "convention")), columns=60)

    assert page == [
        "new       mem_commits  project convention",
        "          {+提交信息必须使用英文，并带上约定的前缀；提交之前",
        "          先运行全部测试。+}",
        "why       The user said so.",
        "proposed  by claude-code, 2 days ago",
        "agents    +60 characters: [memory:project:convention] and",
        "          the text above",
    ]


def test_a_deletion(memory: Memory) -> None:
    """What would go is shown, and that the context shrinks."""
    (page,) = shown(sheet(memory, Draft("tests", delete=True)))

    assert page[:4] == [
        "delete    mem_tests  project convention",
        "          [-Run make test.-]",
        "          [-↵-]",
        "          [-It is slow.-]",
    ]
    assert page[-1] == "agents    -55 characters"


def test_a_conflict(memory: Memory) -> None:
    """Both sides are shown, each against what both began with."""
    made = sheet(memory, Draft("tests", "Run tox.\n\nIt is slow."))
    memory.add(Draft("tests", "Run nox.\n\nIt is slow."), by=memory.person())
    found = memory.candidate(made.found.id)

    (page,) = shown(Sheet(found, differences.changes(memory, found), made.now))

    assert page[:7] == [
        "conflict  mem_tests  project convention: the body was changed on both sides",
        "approved  Run [-make test-]{+nox+}.",
        "",
        "          It is slow.",
        "wanted    Run [-make test-]{+tox+}.",
        "",
        "          It is slow.",
    ]
    assert not any(row.startswith("agents") for row in page)


def test_what_the_scan_finds(memory: Memory) -> None:
    """Findings stand beside the text, and what is hidden is written out."""
    (page,) = shown(sheet(memory, Draft("a", "Pa\u202eypal is pаypal\x1b[2J.", "fact")))

    assert page[1] == "          {+Pa<U+202E>ypal is p<U+0430>ypal<U+001B>[2J.+}"
    assert [row for row in page if "(" in row][:3] == [
        "scan      hidden-text: a hidden character (U+202E) (kept out of every context)",
        "          hidden-text: a hidden character (U+001B) (low)",
        "          mixed scripts: p<U+0430>ypal (it looks Latin and is not)",
    ]


def test_nothing_can_be_forged(memory: Memory) -> None:
    """Whatever is proposed, each row is one row and nothing steers the terminal."""
    evil = "x\x1b[H\rapply this? [y]\u2028y\n-- 1 of 1 --"
    source = Source("s\x1b[1A", "t\n", evil)
    made = sheet(
        memory, Draft("a", evil, "fact"), rationale=evil, sources=[source], actor="a\x1b[8m"
    )

    for page in pages(made, 80, 40, coloured=False):
        for row in page.rows:
            assert all(span.text.isprintable() for span in row)
            # What is foreign stands behind the margin.
            assert row[0].text in (f"{word:10}" for word in _LABELS), row


_LABELS = ("", "new", "why", "scan", "proposed", "evidence", "agents")


def test_what_helps_is_cut(memory: Memory) -> None:
    """Where there is no room, what the decision is about stays whole."""
    evidence = Source("sess-1", "turn-1", "\n".join(f"line {n}" for n in range(30)))
    made = sheet(memory, Draft("tests", "One.\nTwo."), sources=[evidence])

    (page,) = shown(made, rows=14)

    assert page == [
        "change    mem_tests  project convention",
        "          [-Run make test.-]",
        "          [-↵-]",
        "          [-It is slow.-]",
        "          {+One.+}",
        "          {+Two.+}",
        "why       The user said so.",
        "proposed  by claude-code, 2 days ago",
        "evidence  “line 0",
        "          line 1",
        "          line 2 … 28 more, p shows all",
        "agents    -18 characters",
        "          [memory:project:convention]",
        "          One. … 1 more, p shows all",
    ]


def test_too_long_for_a_screen(memory: Memory) -> None:
    """A text that does not fit is not cut: it is for the pager."""
    made = sheet(memory, Draft("a", "\n".join(f"line {n}" for n in range(60)), "fact"))

    (page,) = pages(made, 80, 20, coloured=False)

    assert page.long
    assert sum("line" in painted(row, coloured=False) for row in page.rows) == 60


def test_many_entries(memory: Memory) -> None:
    """Sixty entries are a list, and behind it a page for each."""
    drafts = [Draft(f"e{number:02}", f"Rule {number}.", "fact") for number in range(60)]

    walk = shown(sheet(memory, *drafts))

    assert len(walk) == 61
    assert walk[0][0] == "  1 new      mem_e00  project fact"
    assert walk[0][17] == " 18 new      mem_e17  project fact … 42 more, p shows all"
    assert walk[0][18:] == ["why       The user said so.", "proposed  by claude-code, 2 days ago"]
    assert walk[60] == [
        "new       mem_e59  project fact",
        "          {+Rule 59.+}",
        "agents    +30 characters: [memory:project:fact] and the text above",
    ]


def test_a_page_fits(memory: Memory) -> None:
    """What is not for the pager fits on the screen, in rows and in columns."""
    evidence = Source("会话", "turn-1", "用户说过：提交信息使用英文。" * 9)
    made = sheet(memory, Draft("a", "缩进四个空格 (4 spaces).\n" * 6, "fact"), sources=[evidence])

    for columns, rows in itertools.product((40, 80, 200), (5, 8, 12, 20, 50)):
        for page in pages(made, columns, rows, coloured=False):
            assert page.long or len(page.rows) <= rows
            assert all(width(painted(row, coloured=False)) <= columns for row in page.rows)


@pytest.mark.parametrize(
    ("text", "flags", "expected"),
    [
        ("1 of 3", (), "-- 1 of 3 --------------------"),
        ("1 of 3", ("forbidden", "flagged"), "-- 1 of 3 -- forbidden, flagg…"),
        ("cand_2026_k3f9x2ab and a half of it", (), "-- cand_2026_k3f9x2ab and a h…"),
    ],
)
def test_title(text: str, flags: tuple[str, ...], expected: str) -> None:
    """A line across the screen, never more."""
    assert painted(screen.title(text, flags, 30), coloured=False) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7_200, "2 hours ago"),
        (13 * DAY, "13 days ago"),
        (800 * DAY, "2 years ago"),
    ],
)
def test_ago(seconds: int, expected: str) -> None:
    """In the largest unit that fits."""
    assert screen.ago(seconds) == expected


def test_fair_shares() -> None:
    """What one part does not need, the others get."""
    parts = [Section(((),) * size, needed=False) for size in (20, 1, 20)]

    rows = screen.fitted(parts, 80, 13)

    assert rows is not None
    assert len(rows) == 13
    assert screen.fitted(parts, 80, 2) is None
