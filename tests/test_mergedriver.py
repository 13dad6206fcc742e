"""The merge rule for plain git, with the git program itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import hooks, mergedriver
from gitmem.memory import Draft, Memory, open_memory

RunGit = Callable[..., str]
BEFORE = "one\n\ntwo\n\nthree"


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project's memory with one approved entry, `text`."""
    found = open_memory(project)
    found.add(Draft("text", BEFORE, "fact"), by=found.person())
    return found


@pytest.fixture
def folder(memory: Memory) -> Path:
    """The memory folder of the project."""
    return memory.path / ".custom-agent" / "memory"


@pytest.fixture
def git_dir(memory: Memory) -> Path:
    """The repository of the project's memory."""
    return memory.store("project").place.git_dir


def _two(memory: Memory, first: str, second: str) -> str:
    """Approve `first` over a candidate that has `second`; the candidate."""
    id_ = memory.propose(Draft("text", second), rationale="why").id
    memory.add(Draft("text", first), by=memory.person())
    return id_


def _merge(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "merge", "--no-edit", f"memory/candidate/{name}"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_git_merges_by_the_rule(memory: Memory, folder: Path, run_git: RunGit) -> None:
    """Both changes are in; `appliedFrom`, where a text merge conflicts, is the candidate's."""
    id_ = _two(memory, "ONE\n\ntwo\n\nthree", "one\n\ntwo\n\nTHREE")

    done = _merge(folder, id_)

    assert done.returncode == 0, done.stdout + done.stderr
    text = (folder / "text.md").read_text(encoding="utf-8")
    assert "ONE\n\ntwo\n\nTHREE\n" in text
    assert f"appliedFrom: {id_}\n" in text
    assert run_git("status", "--porcelain", cwd=folder) == ""
    assert open_memory(memory.path).store("project").ledger().view.held == {}


def test_a_pull_keeps_who_was_first(memory: Memory, folder: Path, run_git: RunGit) -> None:
    """Of two lines of memory/main the first parent's `appliedFrom` stays."""
    store = memory.store("project")
    base = store.main()
    memory.add(Draft("text", "one\n\ntwo\n\nTHREE"), by=memory.person())
    theirs = store.main()
    run_git("branch", "theirs", theirs, cwd=folder)
    run_git("reset", "-q", "--hard", base, cwd=folder)
    decision = memory.add(Draft("text", "ONE\n\ntwo\n\nthree"), by=memory.person())

    run_git("pull", "-q", "--no-edit", ".", "theirs", cwd=folder)

    assert f"appliedFrom: {decision.candidate}\n" in (folder / "text.md").read_text("utf-8")
    assert open_memory(memory.path).store("project").ledger().view.held == {}


def test_a_conflict_is_gits_own(memory: Memory, folder: Path) -> None:
    """Its markers are in the file, and nothing is committed while they are."""
    id_ = _two(memory, "ONE\n\ntwo\n\nthree", "UNO\n\ntwo\n\nthree")

    assert _merge(folder, id_).returncode == 1
    assert "<<<<<<< here\nONE\n=======\nUNO\n>>>>>>> there" in (folder / "text.md").read_text()
    subprocess.run(["git", "add", "text.md"], cwd=folder, check=True)
    refused = subprocess.run(
        ["git", "commit", "--no-edit"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert "the markers of a conflict are still in it" in refused.stderr


def test_without_gitmem_git_merges_the_text(
    memory: Memory, folder: Path, git_dir: Path, run_git: RunGit
) -> None:
    """A driver that does not start is as good as none."""
    driver = run_git("config", "merge.gitmem.driver", cwd=folder)
    missing = driver.replace(sys.executable, "/nowhere/python")
    run_git("config", "--file", str(git_dir / "config"), "merge.gitmem.driver", missing, cwd=folder)
    id_ = _two(memory, "ONE\n\ntwo\n\nthree", "one\n\ntwo\n\nTHREE")

    done = _merge(folder, id_)

    assert done.returncode == 1
    assert "CONFLICT (content): Merge conflict in text.md" in done.stdout
    text = (folder / "text.md").read_text(encoding="utf-8")
    assert "ONE\n\ntwo\n\nTHREE\n" in text
    assert text.count("<<<<<<<") == 1


def test_what_is_no_entry_is_merged_as_text(folder: Path, run_git: RunGit) -> None:
    """A README beside the entries."""
    readme = folder / "README.md"
    commit = ("commit", "-q", "--no-verify", "-am", "x")
    readme.write_text("one\ntwo\nthree\nfour\n")
    run_git("add", "README.md", cwd=folder)
    run_git(*commit, cwd=folder)
    run_git("switch", "-q", "-c", "other", cwd=folder)
    readme.write_text("one\ntwo\nthree\nFOUR\n")
    run_git(*commit, cwd=folder)
    run_git("switch", "-q", "memory/main", cwd=folder)
    readme.write_text("ONE\ntwo\nthree\nfour\n")
    run_git(*commit, cwd=folder)

    run_git("merge", "-q", "--no-edit", "other", cwd=folder)

    assert readme.read_text() == "ONE\ntwo\nthree\nFOUR\n"


def test_an_entry_created_twice_alike(memory: Memory, folder: Path, run_git: RunGit) -> None:
    """Git gives the driver an empty base: the rule has an answer where the bodies are alike."""
    run_git("switch", "-q", "-c", "memory/candidate/by_hand", cwd=folder)
    (folder / "new.md").write_text("---\ntype: fact\nowner: Ann\n---\n\nText.\n")
    run_git("add", "new.md", cwd=folder)
    run_git("commit", "-q", "-m", "I learnt this", cwd=folder)
    run_git("switch", "-q", "memory/main", cwd=folder)
    memory.add(Draft("new", "Text.", "fact"), by=memory.person())

    assert _merge(folder, "by_hand").returncode == 0
    assert "owner: Ann\n" in (folder / "new.md").read_text()


def test_what_register_wrote_goes_again(memory: Memory, git_dir: Path) -> None:
    """A user's own attributes stay as they are."""
    place = memory.store("project").place
    attributes = git_dir / "info" / "attributes"
    assert mergedriver.is_registered(git_dir)
    assert not mergedriver.register(git_dir)
    attributes.write_text(attributes.read_text() + "*.png binary\n")

    hooks.uninstall(place)

    assert attributes.read_text() == "*.png binary\n"
    assert not mergedriver.is_registered(git_dir)
    assert not mergedriver.unregister(git_dir)
    hooks.install(place)
    assert attributes.read_text() == "*.md merge=gitmem\n*.png binary\n"
    assert mergedriver.is_registered(git_dir)


def test_init_puts_it_right(memory: Memory, git_dir: Path) -> None:
    """As the hooks."""
    (git_dir / "info" / "attributes").unlink()
    assert not hooks.status(memory.store("project").place).complete

    hooks.install(memory.store("project").place)

    assert hooks.status(memory.store("project").place).complete
