"""A tier's remote: named, refused, taken out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from team import Team, git

from gitmem import layout, remotes
from gitmem.errors import GitmemError
from gitmem.git import health, refs
from gitmem.memory import Memory, open_memory


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project's memory without a remote."""
    return open_memory(project)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """An empty bare repository."""
    git("init", "-q", "--bare", str(tmp_path / "there.git"))
    return tmp_path / "there.git"


def error(action: Callable[[], object]) -> str:
    """The name of the error that an action ends with."""
    with pytest.raises(GitmemError) as caught:
        action()
    return caught.value.reference


def name(memory: Memory, url: str | None, scope: str = "project") -> remotes.Named:
    """Name a remote with nobody to ask."""
    return remotes.name(memory, url, scope=scope, ask=False)


def test_its_config_is_of_memory_alone(memory: Memory, bare: Path) -> None:
    """Plain git fetches and pushes there what sync does."""
    name(memory, str(bare))

    found = health.settings(memory.store("project").place.git_dir, "remote.origin")
    assert tuple(found) == layout.remote_config("origin", str(bare))


def test_one_that_does_not_answer_changes_nothing(memory: Memory, bare: Path) -> None:
    """The one before is still there."""
    name(memory, str(bare))

    assert error(lambda: name(memory, str(bare.with_name("nothing.git")))) == "remote-failed"
    assert [one.url for one in remotes.named(memory)] == [str(bare)]


def test_a_code_branch_in_the_way(memory: Memory, bare: Path, project: Path) -> None:
    """It is named before anything is pushed."""
    git("-C", str(project), "push", "-q", str(bare), "HEAD:refs/heads/memory")

    assert error(lambda: name(memory, str(bare))) == "branch-in-the-way"
    assert remotes.named(memory) == []


def test_no_option_is_a_url(memory: Memory) -> None:
    """Git would take it for one."""
    assert error(lambda: name(memory, "--upload-pack=x")) == "url-invalid"


def test_no_tier_goes_to_anothers_remote(memory: Memory, bare: Path, project: Path) -> None:
    """The user tier never to a project's, not even to that of the code."""
    name(memory, str(bare))
    assert error(lambda: name(memory, str(bare), "user")) == "other-tiers-remote"
    git("-C", str(project), "remote", "add", "origin", "https://example.org/code.git")

    assert error(lambda: name(memory, "https://example.org/code.git", "user")) == (
        "other-tiers-remote"
    )


def test_the_user_tier_has_one_of_its_own(memory: Memory, bare: Path, tmp_path: Path) -> None:
    """A sync without --scope goes through the tiers that have one."""
    git("init", "-q", "--bare", str(tmp_path / "mine.git"))
    name(memory, str(bare))
    name(memory, str(tmp_path / "mine.git"), "user")

    assert [one.scope for one in remotes.named(memory)] == ["project", "user"]


def test_another_remote_forgets_the_one_before(tmp_path: Path, bare: Path) -> None:
    """What was fetched of it is gone; what was pending there goes to the new one."""
    ann, ben = Team(tmp_path, ("Ann", "Ben")).clones
    id_ = ann.propose("tests", "Run make test.")
    ann.sync()
    ben.sync()

    name(ben.memory, str(bare))

    assert refs.listed(ben.git_dir, "refs/remotes/") == {}
    assert ben.states() == {id_: "pending"}
    assert ben.sync().went.candidates == [id_]
    assert [question.kind for question in ben.asked] == ["push", "push"]


def test_taken_out(memory: Memory, bare: Path) -> None:
    """Nothing of it is left in the config, and there is none to take out again."""
    name(memory, str(bare))

    assert remotes.take_out(memory).url == str(bare)
    git_dir = memory.store("project").place.git_dir
    listed = subprocess.run(
        ["git", "config", "--file", str(git_dir / "config"), "--get-regexp", "^remote"],
        capture_output=True,
        check=False,
    )
    assert listed.stdout == b""
    assert error(lambda: remotes.take_out(memory)) == "no-remote"
