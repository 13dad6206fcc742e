"""Tests of proposing: what can be said, what comes back, and where it cannot be written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import layout
from gitmem.errors import BadInputError, GitmemError
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.entries import Source
from gitmem.model.history import Person

RunGit = Callable[..., str]

ANN = Person("Ann", "ann@example.org", 0, 0)


@pytest.fixture
def here(project: Path) -> Memory:
    """The memory of an empty project."""
    return open_memory(project)


def _draft(key: str, body: str, kind: str | None = "convention") -> Draft:
    return Draft(key, body, kind)


def _propose(here: Memory, key: str, body: str) -> str:
    return here.propose(_draft(key, body), rationale="because").id


def test_same_proposal_comes_back(here: Memory) -> None:
    """What is pending already, or approved already, is not made twice."""
    first = here.propose(_draft("tests", "Run the tests."), rationale="said")
    again = here.propose(_draft("tests", "Run the tests."), rationale="other words")
    assert (first.made, again.made, again.id) == (True, False, first.id)
    here.apply(first.id, by=ANN)
    approved = here.propose(_draft("tests", "Run the tests."), rationale="said")
    assert (approved.made, approved.id) == (False, first.id)


def test_other_processes_are_seen(here: Memory, project: Path) -> None:
    """What another process discards or edits meanwhile is not taken for pending or unknown."""
    other = open_memory(project)
    first = _propose(here, "tests", "One.")
    other.discard(first, by=ANN)
    second = here.propose(_draft("tests", "One."), rationale="more", again=True)
    assert second.made
    text = b"---\ntype: convention\n---\n\nTwo.\n"
    other.edit(second.id, {"tests": text}, by=ANN)
    assert here.propose(_draft("tests", "Two."), rationale="said").id == second.id
    assert here.propose(_draft("tests", "One."), rationale="more", again=True).made


@pytest.mark.parametrize(
    "key", ["", "A", "a.md", "a b", "con", "a/b/c/d/e", "../x", "é", "x" * 101, "a//b"]
)
def test_keys_out_of_the_grammar(here: Memory, key: str) -> None:
    """A key out of the grammar is refused, and no candidate is left."""
    with pytest.raises(BadInputError):
        here.propose(_draft(key, "Text."), rationale="said")
    assert here.candidates() == []


@pytest.mark.parametrize(
    "body", ["", " \n\t\n", "x" * (64 * 1024 + 1), "a\0b", "half \udcff"], ids=lambda x: x[:5]
)
def test_bodies_that_no_file_holds(here: Memory, body: str) -> None:
    """An empty, too large or unwritable body is refused, and no candidate is left."""
    with pytest.raises(BadInputError):
        here.propose(_draft("tests", body), rationale="said")
    assert here.candidates() == []


@pytest.mark.parametrize(
    "change",
    [
        {"rationale": "a\0b"},
        {"rationale": "half \udcff"},
        {"rationale": " "},
        {"actor": "half \udcff"},
        {"actor": "two\nlines"},
        {"priority": "urgent"},
        {"scope": "planet"},
        {"sources": (Source(evidence="half \udcff"),)},
    ],
)
def test_grounds_that_no_commit_says(here: Memory, change: dict[str, object]) -> None:
    """A rationale, actor, priority, scope or evidence that can't be kept is refused."""
    grounds: dict[str, object] = {"rationale": "said", **change}
    with pytest.raises(BadInputError):
        here.propose(_draft("tests", "Text."), **grounds)  # type: ignore[arg-type]
    assert here.candidates() == []


def test_evidence_comes_back(here: Memory) -> None:
    """Evidence of several lines with hidden characters is read back as it was given."""
    source = Source("s1", "t1", "one\r\ntwo\u202e \u2028 {}\nMemory-Candidate: x")
    made = here.propose(_draft("tests", "Text."), rationale="said", sources=(source,))
    assert here.candidate(made.id).sources == (source.to_json(),)


def test_no_identity_is_needed(here: Memory, sealed_home: Path) -> None:
    """An agent's candidate needs no git identity; its author is the actor."""
    (sealed_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    found = here.candidate(here.propose(_draft("a", "b"), rationale="r", actor="my agent").id)
    assert found.actor == "my agent"
    with pytest.raises(BadInputError) as raised:
        here.person()
    assert raised.value.reference == "no-identity"


def test_read_only_repository_is_dropped(here: Memory, project: Path, sealed_home: Path) -> None:
    """Where the repository can't be written, the proposal is left in the drop box, and said."""
    if os.geteuid() != 0:
        pytest.skip("needs to become another user")
    here.apply(_propose(here, "old", "Old."), by=ANN)
    box = layout.drop_box(project)
    git_dir = here.store("project").place.git_dir
    for folder in (sealed_home, project, *project.parents):
        folder.chmod(folder.stat().st_mode | 0o755)
    _give_away([project, sealed_home], 65534)
    for folder in (git_dir, *git_dir.rglob("*")):
        if folder.is_dir():
            folder.chmod(0o555)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        try:
            made = open_memory(project).propose(
                _draft("tests", "Text."), rationale="said", priority="high"
            )
            os.write(write, str(made.dropped).encode())
        except GitmemError as error:
            os.write(write, f"{error} {error.context}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    said = os.read(read, 1000).decode()
    os.close(read)
    assert said.startswith(str(box))
    _give_away([project, sealed_home], 0)
    assert [item.fault for item in here.dropped()] == [None]
    here.apply(_propose(here, "new", "New."), by=ANN)
    (found,) = here.candidates()
    assert found.entries[0].key == "tests"
    assert found.priority == "high"
    assert list(box.iterdir()) == []


def _give_away(roots: list[Path], user: int) -> None:
    for root in roots:
        for path in (root, *root.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)
