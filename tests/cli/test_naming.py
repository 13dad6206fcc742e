"""What a name means where a candidate and an entry could both be meant, in two tiers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitmem.cli.naming import Approved, approved, resolve
from gitmem.errors import BadInputError, GitmemError, NotFoundError
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.candidates import Candidate
from gitmem.model.history import Person

ANN = Person("Ann", "ann@example.org", 0, 0)


@pytest.fixture
def memory(project: Path) -> Memory:
    """Entries in both tiers, and candidates by hand whose ids hold their keys."""
    found = open_memory(project)
    for scope in ("user", "project"):
        found.add(Draft("tests", f"Of the {scope}.", "fact"), by=ANN, scope=scope)
    found.add(Draft("deep/er", "Deep.", "fact"), by=ANN, scope="user")
    found.add(Draft("ingle", "A part of one candidate's id.", "fact"), by=ANN, scope="project")
    for name in ("tests-more", "tests-other", "single"):
        _branch(found, name)
    return found


def _branch(memory: Memory, name: str) -> None:
    git = ["git", f"--git-dir={memory.store('project').place.git_dir}", "-c", "user.name=A"]
    git += ["-c", "user.email=a@b"]
    args = ("commit-tree", "memory/main^{tree}", "-p", "memory/main", "-m", name)
    made = subprocess.run([*git, *args], capture_output=True, text=True, check=True)
    ref = f"refs/heads/memory/candidate/{name}"
    subprocess.run([*git, "update-ref", ref, made.stdout.strip()], check=True)


def _told(memory: Memory, name: str, scope: str | None = None) -> str:
    """What a name means, in a word."""
    try:
        found = resolve(memory, name, scope)
    except GitmemError as error:
        return error.reference
    if isinstance(found, Approved):
        return f"{found.store.tier}:{found.id}"
    assert isinstance(found, Candidate)
    return found.id


@pytest.mark.parametrize(
    ("name", "scope", "meaning"),
    [
        ("tests", None, "project:mem_tests"),
        ("mem_tests", None, "project:mem_tests"),
        ("tests", "user", "user:mem_tests"),
        ("mem_deep/er", None, "user:mem_deep/er"),
        ("mem_deep/er", "project", "no-such-entry"),
        ("deep/er", "project", "no-such-candidate"),
        ("tests-more", None, "tests-more"),
        ("memory/candidate/tests-more", None, "tests-more"),
        ("more", None, "tests-more"),
        ("ingl", None, "single"),
        ("ingle", None, "project:mem_ingle"),
        ("sing", "user", "no-such-candidate"),
        ("tests-", None, "ambiguous-id"),
        ("mem_none", None, "no-such-entry"),
        ("none", None, "no-such-candidate"),
        ("", None, "no-such-candidate"),
        ("../x", None, "no-such-candidate"),
        ("mem_", None, "no-such-entry"),
        ("tests", "session", "scope-unknown"),
    ],
)
def test_what_a_name_means(memory: Memory, name: str, scope: str | None, meaning: str) -> None:
    """A whole name counts before a part of one, an entry before a part of a candidate's id."""
    assert _told(memory, name, scope) == meaning


def test_a_candidate_with_the_whole_name_comes_first(memory: Memory) -> None:
    """An entry of that key is named by its id then."""
    _branch(memory, "tests")
    memory = open_memory(memory.path)

    assert _told(memory, "tests") == "tests"
    assert _told(memory, "mem_tests") == "project:mem_tests"


def test_an_ambiguous_part_that_is_an_entry(memory: Memory) -> None:
    """`tests` is a part of two candidates' ids and names an entry: it is no error."""
    with pytest.raises(BadInputError) as caught:
        memory.find_candidate("tests")
    assert caught.value.reference == "ambiguous-id"

    assert _told(memory, "tests") == "project:mem_tests"


def test_an_approved_entry_is_its_text(memory: Memory, project: Path) -> None:
    """The approved text, whatever lies in the folder; None where it was deleted."""
    (project / ".custom-agent" / "memory" / "tests.md").write_text("edited by hand")

    found = approved(memory, "tests", None)

    assert found is not None
    assert (found.key, found.id, found.store.tier) == ("tests", "mem_tests", "project")
    assert found.text.endswith("\nOf the project.\n")
    gone = memory.propose(Draft("tests", delete=True), rationale="gone", scope="project")
    (project / ".custom-agent" / "memory" / "tests.md").unlink()
    memory.apply(gone.id, by=ANN)
    assert _told(memory, "tests") == "user:mem_tests"


def test_an_unknown_entry_has_a_way_out(memory: Memory) -> None:
    """It may have been there once: the error says how to see."""
    with pytest.raises(NotFoundError, match="there is no approved entry 'mem_none'") as caught:
        resolve(memory, "mem_none", None)

    assert caught.value.hint == "gitmem why mem_none tells whether there was one"
