"""Tests of reading many objects with few processes; what they hold is in test_objects.py."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.errors import GitmemError
from gitmem.git import bulk
from gitmem.git.bulk import Batch
from gitmem.git.objects import Objects
from gitmem.model.history import EMPTY_TREE, Person

RunGit = Callable[..., str]

PERSON = Person("Ann", "ann@example.org", 1_779_100_200, 0)


@pytest.fixture
def repository(tmp_path: Path, run_git: RunGit) -> Path:
    """An empty bare repository."""
    place = tmp_path / "bulk.git"
    run_git("init", "--quiet", "--bare", place, cwd=tmp_path)
    return place


def test_many_large_answers(repository: Path) -> None:
    """Thousands of questions and megabytes of answers pass through the pipes, in order."""
    objects = Objects(repository, "project")
    texts = [bytes([number]) * 100_000 + b"\n\n" for number in range(5)]
    ids = [objects.write_blob(text).id for text in texts]
    batch = Batch(repository)
    asked = [*ids, "1" * 40] * 400
    found = batch.read_all(asked)
    assert found[:6] == [*((b"blob", text) for text in texts), None]
    assert len(found) == len(asked)
    assert batch.read(ids[2]) == (b"blob", texts[2])


def test_process_ends_with_its_batch(repository: Path) -> None:
    """No process and no open pipe is left of a batch that nobody holds any more."""
    batch = Batch(repository)
    assert batch.read("1" * 40) is None
    process = batch._process
    del batch
    gc.collect()
    assert process.returncode == 0
    assert all(stream is not None and stream.closed for stream in (process.stdin, process.stdout))


def test_batch_that_ended(repository: Path) -> None:
    """A git that died is said, and no wait without end."""
    batch = Batch(repository)
    batch._process.kill()
    batch._process.wait()
    with pytest.raises(GitmemError) as raised:
        batch.read_all(["1" * 40] * 3)
    assert raised.value.reference == "git-failed"


@pytest.mark.parametrize("name", ["", "nothing", "no id", "1" * 40])
def test_what_is_no_object(repository: Path, name: str) -> None:
    """Whatever is asked for is answered, and the next question too."""
    batch = Batch(repository)
    assert batch.read_all([name, name]) == [None, None]


def test_an_object_that_is_cut_off(repository: Path) -> None:
    """Git says its size before it finds out: it is an error, never a shorter text."""
    id_ = Objects(repository, "project").write_blob(bytes(range(256)) * 4).id
    file = repository / "objects" / id_[:2] / id_[2:]
    data = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(data[:200])
    with pytest.raises(GitmemError) as raised:
        Batch(repository).read(id_)
    assert raised.value.reference == "git-failed"


def test_batch_without_a_repository(tmp_path: Path) -> None:
    """Where there is no repository, git's own words come back."""
    batch = Batch(tmp_path / "nowhere")
    with pytest.raises(GitmemError) as raised:
        batch.read("1" * 40)
    assert "not a git repository" in (raised.value.context or "")


def test_missing_history_is_said(repository: Path) -> None:
    """A tip, or a commit below one, that is missing is an error."""
    objects = Objects(repository, "project")
    for tip in ("1" * 40, objects.write_commit(EMPTY_TREE, ["1" * 40], "x", PERSON)):
        with pytest.raises(GitmemError):
            list(bulk.history(repository, [tip]))


def test_known_history_is_left_out(repository: Path) -> None:
    """What is known already is not read again, and parents come first."""
    objects = Objects(repository, "project")
    line: list[str] = []
    for number in range(4):
        tree = objects.write_tree(EMPTY_TREE, {"a.md": objects.write_blob(b"%d" % number)})
        # Back-dated, so that no order by date would do.
        person = PERSON._replace(time=PERSON.time - number * 1000)
        line.append(objects.write_commit(tree, line[-1:], f"{number}\n", person))
    found = bulk.history(repository, [line[3]], [line[1]])
    assert [commit.id for commit, _ in found] == line[2:]
    assert [commit.id for commit, _ in bulk.history(repository, [line[3]])] == line


def test_environment_has_no_say(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that would send git elsewhere do not reach the processes."""
    objects = Objects(repository, "project")
    tip = objects.write_commit(objects.write_tree(EMPTY_TREE, {}), [], "x\n", PERSON)
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_GRAFT_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.commentChar")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", os.devnull)
    assert [commit.id for commit, _ in bulk.history(repository, [tip])] == [tip]
    assert Batch(repository).read(tip) is not None
