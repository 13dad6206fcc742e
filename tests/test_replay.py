"""Contexts as they were: at a time, at a commit, from a log."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from build import Builder

from gitmem import layout, replay
from gitmem.errors import BadInputError, GitmemError
from gitmem.exchange import eventlog
from gitmem.layout import TierPlace, Tiers
from gitmem.memory import Memory
from gitmem.model import messages
from gitmem.model.context import Options

START = 1_780_000_000


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    """A builder on a fresh repository."""
    return Builder.at(tmp_path)


def memory_of(repo: Builder, tip: str, **candidates: str) -> Memory:
    """The memory of a repository with these refs."""
    refs = {layout.candidate_ref(id_): commit for id_, commit in candidates.items()}
    for name, commit in {layout.MAIN: tip, **refs}.items():
        path = repo.git_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{commit}\n")
    place = TierPlace("project", repo.git_dir, None, repo.git_dir, None, linked=False)
    return Memory(Tiers(None, place, None), repo.git_dir, traceless=True)


def log_of(memory: Memory) -> eventlog.Log:
    """The exported log."""
    lines = eventlog.written(memory.stores())
    return eventlog.read("".join(f"{json.dumps(line)}\n" for line in lines))


def text(found: replay.Replayed) -> str:
    """What an agent read."""
    return found.given.context.text


def dated(repo: Builder, main: str, key: str, at: int) -> str:
    """An approval of one entry whose clock says `at`."""
    candidate = repo.propose(main, {key: key.upper()}, f"cand_{key}")
    message = messages.apply(f"cand_{key}", "0" * 64, remote=None)
    tree = repo.objects.commit(candidate).tree
    return repo.commit([main, candidate], {}, message, tree=tree, at=at)


def blocks(*bodies: str) -> str:
    """A context of facts."""
    return "\n".join(f"[memory:project:fact]\n{body}\n" for body in bodies)


def test_at_a_time(repo: Builder) -> None:
    """The last commit whose clock says no later, and nothing to doubt."""
    first = dated(repo, repo.root, "a", START + 100)
    second = dated(repo, first, "b", START + 200)
    memory = memory_of(repo, second)
    expected = {99: (None, ""), 100: (first, "A"), 199: (first, "A"), 200: (second, "B A")}
    for at, (_, bodies) in expected.items():
        found = replay.at_time(memory, START + at, Options())

        assert text(found) == blocks(*bodies.split())
        assert found.stood[0].doubts == ()
        assert replay.of_log_at_time(log_of(memory), START + at, Options()) == found


def test_clocks_that_disagree(repo: Builder) -> None:
    """The order of the commits decides, and the commit from the future is named."""
    first = dated(repo, repo.root, "a", START + 900)
    second = dated(repo, first, "b", START + 200)
    third = dated(repo, second, "c", START + 1000)
    found = replay.at_time(memory_of(repo, third), START + 300, Options())

    assert text(found) == blocks("B", "A")
    assert found.stood[0].doubts == (
        f"{first[:10]} is dated later, though {second[:10]} stands on it: clocks disagree",
    )
    assert found.given.warnings == found.stood[0].doubts


def test_before_everything(repo: Builder) -> None:
    """A line whose first commit is dated later was not there yet: the context is empty."""
    found = replay.at_time(memory_of(repo, repo.root), START - 1, Options())

    assert text(found) == ""
    assert found.stood[0].commit is None
    assert found.stood[0].doubts == (f"all commits from {repo.root[:10]} on are dated later",)


def test_what_was_joined_later(repo: Builder) -> None:
    """Another clone's approvals of before that time came with a sync after it: this is said."""
    ours = dated(repo, repo.root, "a", START + 100)
    theirs = dated(repo, repo.root, "b", START + 150)
    pull = "Merge branch 'memory/main' of /srv/team\n"
    sync = repo.commit([ours, theirs], {"b": "B"}, pull, at=START + 8000)
    memory = memory_of(repo, dated(repo, sync, "c", START + 9000))
    found = replay.at_time(memory, START + 160, Options())

    assert text(found) == blocks("A")
    assert found.stood[0].doubts == (
        f"{theirs[:10]} was made by then in another clone and joined later: it may have had more",
    )
    assert replay.of_log_at_time(log_of(memory), START + 160, Options()) == found


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(0, 7))
@settings(max_examples=20, deadline=None)
def test_the_commit_is_that_of_git(times: list[int], at: int) -> None:
    """Whatever the clocks say, it is what `git rev-list` finds, from git as from a log."""
    with tempfile.TemporaryDirectory() as folder:
        repo = Builder.at(Path(folder))
        tip = repo.commit([], {}, "start\n", at=START)
        for number, time in enumerate(times):
            tip = dated(repo, tip, f"e{number}", START + time)
        memory = memory_of(repo, tip)
        asked = ["rev-list", "-1", "--first-parent", f"--before={START + at}", "memory/main"]
        done = subprocess.run(
            ["git", f"--git-dir={repo.git_dir}", *asked],
            capture_output=True,
            check=True,
            text=True,
        )
        found = replay.at_time(memory, START + at, Options())

        assert found.stood[0].commit == (done.stdout.strip() or None)
        assert replay.of_log_at_time(log_of(memory), START + at, Options()) == found


def test_at_a_commit(repo: Builder) -> None:
    """By the beginning of its id: what was approved there, whatever came later."""
    first = dated(repo, repo.root, "a", START + 100)
    slipped = repo.commit([first], {"a": "slipped in"})
    memory = memory_of(repo, dated(repo, slipped, "b", START + 200))

    assert text(replay.at_commit(memory, first[:8], Options())) == blocks("A")
    found = replay.at_commit(memory, slipped, Options())
    assert text(found) == blocks("A")
    assert [one.id for one in found.given.unreviewed] == ["mem_a"]


def test_at_a_candidate(repo: Builder) -> None:
    """It approves nothing: what it was made on is shown."""
    first = dated(repo, repo.root, "a", START + 100)
    candidate = repo.propose(first, {"a": "new"}, "cand_x")
    memory = memory_of(repo, dated(repo, first, "b", START + 200), cand_x=candidate)
    found = replay.at_commit(memory, candidate, Options())

    assert text(found) == blocks("A")
    assert found.stood[0].commit == first
    what = f"{candidate[:10]} is a candidate's, which approves nothing"
    assert found.stood[0].doubts == (f"{what}: {first[:10]}, which it was made on, is shown",)
    assert replay.of_log_at(log_of(memory), candidate, Options()) == found


def test_at_a_commit_that_memory_lost(repo: Builder) -> None:
    """A rewritten history's old tip is judged on its own line, and this is said."""
    lost = dated(repo, repo.root, "a", START + 100)
    memory = memory_of(repo, dated(repo, repo.root, "b", START + 200))
    found = replay.at_commit(memory, lost, Options())

    assert text(found) == blocks("A")
    assert found.stood[0].doubts == (
        f"{lost[:10]} is not on memory/main: what its own line approved is shown",
    )


def test_a_text_that_nobody_wrote(repo: Builder) -> None:
    """What the merge rule makes of two sides need not lie in the repository to be read."""
    base = repo.approve(repo.root, {"a": "one\n\ntwo\n\nthree"}, "cand_0")
    ours = repo.approve(base, {"a": "ONE\n\ntwo\n\nthree"}, "cand_1")
    theirs = repo.approve(base, {"a": "one\n\ntwo\n\nTHREE"}, "cand_2")
    tree = repo.objects.commit(ours).tree
    tip = repo.commit([ours, theirs], {}, "Merge branch 'memory/main' of /srv/team\n", tree=tree)
    memory = memory_of(repo, tip)

    assert memory.context(Options()).context.text == blocks("ONE\n\ntwo\n\nTHREE")
    assert text(replay.at_commit(memory, tip, Options())) == blocks("ONE\n\ntwo\n\nTHREE")
    assert text(replay.of_log_at(log_of(memory), tip, Options())) == blocks("ONE\n\ntwo\n\nTHREE")


@pytest.mark.parametrize("name", ["0000", "main", "000", "a" * 40, "zzzz", ""])
def test_no_such_commit(repo: Builder, name: str) -> None:
    """What is no commit's id, or no commit's here."""
    memory = memory_of(repo, repo.root)
    with pytest.raises(GitmemError) as caught:
        replay.at_commit(memory, name, Options())
    assert caught.value.reference == "no-such-commit"

    with pytest.raises(GitmemError) as caught:
        replay.of_log_at(log_of(memory), name, Options())
    assert caught.value.reference == "no-such-event"


def test_an_ambiguous_commit(repo: Builder) -> None:
    """Where several begin alike, more of the id is asked for."""
    tip, seen = repo.root, {repo.root[:4]}
    while True:
        tip = repo.commit([tip], {}, f"x {tip}\n")
        if tip[:4] in seen:
            break
        seen.add(tip[:4])
    memory = memory_of(repo, tip)
    for ask in (
        lambda: replay.at_commit(memory, tip[:4], Options()),
        lambda: replay.of_log_at(log_of(memory), tip[:4], Options()),
    ):
        with pytest.raises(BadInputError) as caught:
            ask()
        assert caught.value.reference == "ambiguous-id"
