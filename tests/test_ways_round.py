"""Ways round the gate that have nothing to do with commits: files, environment, refs, settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import audit, index
from gitmem.errors import BadInputError, ConflictError
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.context import Options

RunGit = Callable[..., str]
EVIL = "nobody approved this"
TEXT = "[memory:project:fact]\nApproved.\n"


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project's memory with one approved entry, `good`."""
    found = open_memory(project)
    found.add(Draft("good", "Approved.", "fact"), by=found.person())
    return found


def _folder(memory: Memory) -> Path:
    return memory.path / ".custom-agent" / "memory"


def _context(memory: Memory) -> str:
    return open_memory(memory.path).context(Options()).context.text


def _kinds(memory: Memory) -> list[str]:
    return [finding.kind for finding in audit.verify(open_memory(memory.path)).findings]


def test_an_edited_working_file(memory: Memory, run_git: RunGit) -> None:
    """Neither a file nor the index is ever read."""
    file = _folder(memory) / "good.md"
    file.write_text(file.read_text() + EVIL, encoding="utf-8")
    (_folder(memory) / "new.md").write_text(f"---\ntype: fact\n---\n\n{EVIL}\n", encoding="utf-8")
    run_git("add", ".", cwd=_folder(memory))

    assert _context(memory) == TEXT


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_git_is_told_to_overlook(memory: Memory, run_git: RunGit, flag: str) -> None:
    """An edit that `git status` hides is not read, and is still there after a decision."""
    run_git("update-index", flag, "good.md", cwd=_folder(memory))
    file = _folder(memory) / "good.md"
    file.write_text(EVIL, encoding="utf-8")
    decision = memory.add(Draft("good", "Approved anew.", "fact"), by=memory.person())

    assert _context(memory) == "[memory:project:fact]\nApproved anew.\n"
    assert file.read_text(encoding="utf-8") == EVIL
    assert [(left.path, left.reason) for left in decision.left] == [("good.md", "edited")]


@pytest.mark.parametrize(
    "name", ["GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_WORK_TREE"]
)
def test_a_variable_that_redirects_git(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """A hook, or whoever starts gitmem, does not choose what is read."""
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))

    assert _context(memory) == TEXT


def test_configuration_in_the_environment(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """GIT_CONFIG_* has no say in how memory is read."""
    settings = {"core.bare": "x", "log.showSignature": "true", "core.worktree": "/nowhere"}
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (key, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)

    assert _context(memory) == TEXT
    assert _kinds(memory) == []


def test_a_symbolic_main(memory: Memory, run_git: RunGit) -> None:
    """Whoever points memory/main at another branch gets an error, not a context."""
    candidate = memory.propose(Draft("evil", EVIL, "fact"), rationale="r").id
    repository = memory.store("project").place.git_dir
    ref = "refs/heads/memory/main"
    run_git("symbolic-ref", ref, f"refs/heads/memory/candidate/{candidate}", cwd=repository)

    with pytest.raises(BadInputError, match="points to another ref") as error:
        _context(memory)
    assert error.value.reference == "symbolic-ref"
    assert "symbolic-ref" in _kinds(memory)


def test_a_detached_folder(memory: Memory, run_git: RunGit) -> None:
    """Reading goes on; a decision says what to do first."""
    run_git("switch", "-q", "--detach", cwd=_folder(memory))

    assert _context(memory) == TEXT
    with pytest.raises(ConflictError, match="on no branch") as error:
        memory.add(Draft("more", "More.", "fact"), by=memory.person())
    assert error.value.hint == "gitmem git --scope project switch memory/main"


@pytest.mark.parametrize(
    "name", [".gitattributes", ".gitmodules", "Good.md", "notes.txt", "a b.md"]
)
def test_a_file_that_is_no_entry(memory: Memory, run_git: RunGit, name: str) -> None:
    """It never reaches a context, and stands in the report."""
    (_folder(memory) / name).write_text("* -text\n", encoding="utf-8")
    run_git("add", name, cwd=_folder(memory))
    run_git("commit", "-q", "--no-verify", "-m", "x", cwd=_folder(memory))

    assert _context(memory) == TEXT
    assert _kinds(memory) == ["entry-twin" if name == "Good.md" else "not-an-entry"]


@pytest.mark.parametrize(
    "front", ["id: mem_good\ntype: fact", "type: fact\nscope: user", "type: rumour", "no: type"]
)
def test_an_approved_file_that_is_no_valid_entry(
    memory: Memory, run_git: RunGit, front: str
) -> None:
    """An id or a scope of another entry, a merge past all hooks: left out, and told."""
    run_git("switch", "-q", "-c", "memory/candidate/odd", cwd=_folder(memory))
    text = f"---\n{front}\n---\n\n{EVIL}\n"
    (_folder(memory) / "other.md").write_text(text, encoding="utf-8")
    run_git("add", "other.md", cwd=_folder(memory))
    run_git("commit", "-q", "--no-verify", "-m", "x", cwd=_folder(memory))
    run_git("switch", "-q", "memory/main", cwd=_folder(memory))
    merge = ("merge", "-q", "--no-ff", "--no-edit", "--no-verify", "memory/candidate/odd")
    run_git(*merge, cwd=_folder(memory))

    assert _context(memory) == TEXT
    assert _kinds(memory) == ["entry-invalid"]


def test_refs_that_look_like_ours(memory: Memory, run_git: RunGit) -> None:
    """A tag called like a branch, a branch called like a commit: full names are read."""
    candidate = memory.propose(Draft("evil", EVIL, "fact"), rationale="r").id
    repository = memory.store("project").place.git_dir
    tip = run_git("rev-parse", f"memory/candidate/{candidate}", cwd=repository)
    main = memory.store("project").main()
    run_git("update-ref", "refs/tags/memory/main", tip, cwd=repository)
    run_git("update-ref", f"refs/heads/{main}", tip, cwd=repository)
    run_git("update-ref", "refs/memory/main", tip, cwd=repository)

    assert _context(memory) == TEXT
    assert _kinds(memory) == []


def test_a_reset_to_an_old_state(memory: Memory, run_git: RunGit) -> None:
    """The context shows the present line and says so; verify has the way back."""
    memory.add(Draft("later", "Approved later.", "fact"), by=memory.person())
    assert "Approved later." in _context(memory)
    repository = memory.store("project").place.git_dir
    present = memory.store("project").main()
    run_git("update-ref", "refs/heads/memory/main", f"{present}~1", cwd=repository)
    given = open_memory(memory.path).context(Options())

    assert given.context.text == TEXT
    assert [warning.partition(" stood at ")[0] for warning in given.warnings] == [
        "the project memory"
    ]
    (finding,) = audit.verify(open_memory(memory.path)).findings
    assert (finding.kind, finding.commit) == ("main-rewritten", present)
    assert f"update-ref refs/heads/memory/main {present}" in finding.hint


def test_a_replaced_commit(memory: Memory, run_git: RunGit) -> None:
    """`git replace` changes what git shows, not what is read."""
    candidate = memory.propose(Draft("evil", EVIL, "fact"), rationale="r").id
    repository = memory.store("project").place.git_dir
    main = memory.store("project").main()
    run_git("replace", main, f"memory/candidate/{candidate}", cwd=repository)

    assert _context(memory) == TEXT
    assert _kinds(memory) == ["replace-ref"]


def _cache(memory: Memory) -> Path:
    return index.path_of(memory.store("project").place.git_dir)


def test_a_tampered_cache(memory: Memory) -> None:
    """Whoever writes in the user's cache folder can forge a context; verify says so and asks none."""
    candidate = memory.propose(Draft("evil", EVIL, "fact"), rationale="r").id
    _context(memory)
    approved = memory.store("project").approved()["good"].id
    (proposed,) = memory.candidate(candidate).entries
    assert proposed.content is not None
    text = _cache(memory).read_text(encoding="utf-8")
    _cache(memory).write_text(text.replace(approved, proposed.content.id), encoding="utf-8")

    (finding,) = audit.verify(open_memory(memory.path)).findings
    assert finding.kind == "cache-disagrees"
    assert finding.hint == f"delete it: rm '{_cache(memory)}'"
    _cache(memory).unlink()
    assert _context(memory) == TEXT
    assert _kinds(memory) == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": [2, 1]}', '{"version": 1, "view": 2}']
)
def test_a_broken_cache(memory: Memory, text: str) -> None:
    """It is made again."""
    _context(memory)
    _cache(memory).write_text(text, encoding="utf-8")

    assert _context(memory) == TEXT
    assert _kinds(memory) == []


def test_a_stale_cache(memory: Memory) -> None:
    """The cache of another tip is not looked at, whatever it says."""
    _context(memory)
    stale = _cache(memory).read_text(encoding="utf-8")
    memory.add(Draft("good", "Approved anew.", "fact"), by=memory.person())
    _cache(memory).write_text(stale, encoding="utf-8")

    assert _context(memory) == "[memory:project:fact]\nApproved anew.\n"
