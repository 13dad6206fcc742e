"""The files of memory as they lay, in worktrees of a replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import gitmem
from gitmem import layout, lookaround
from gitmem.errors import GitmemError
from gitmem.git import worktrees
from gitmem.memory import Draft, Memory
from gitmem.model.context import Options

RunGit = Callable[..., str]


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with a session that began with `a`, and was given a context with `b` too."""
    memory = gitmem.open(project)
    memory.add(Draft("a", "A.", "fact"), by=memory.person())
    memory.sessions().start("s1")
    memory.add(Draft("b", "B.", "fact"), by=memory.person())
    memory.context(Options(session="s1"))
    memory.add(Draft("c", "C.", "fact"), by=memory.person())
    return memory


def files(folder: Path) -> list[str]:
    """The entries' files that lie in a folder."""
    return sorted(path.name for path in folder.glob("*.md"))


def repositories(memory: Memory) -> list[tuple[object, ...]]:
    """What must be as it was: refs, config, hooks, worktrees, index and files of each tier."""
    found: list[tuple[object, ...]] = []
    for store in memory.stores():
        place = store.place
        assert place.folder is not None
        kept = [place.git_dir / "config", place.git_dir / "packed-refs", place.admin_dir / "index"]
        kept += sorted((place.git_dir / "hooks").glob("*"))
        kept += [path for path in sorted(place.folder.rglob("*")) if path.is_file()]
        refs = sorted((place.git_dir / "refs").rglob("*"))
        kept += [path for path in refs if path.is_file()]
        listed = sorted((place.git_dir / "worktrees").glob("*"))
        found.append((listed, [(path, path.read_bytes()) for path in kept if path.is_file()]))
    return found


def test_as_at_the_start_and_as_at_a_context(memory: Memory, tmp_path: Path) -> None:
    """Each tier has a folder; what came later is not in it."""
    before = repositories(memory)
    for number, expected in ((None, ["a.md"]), (1, ["a.md", "b.md"])):
        place = tmp_path / f"look-{number}"
        laid = lookaround.lay_out(memory, "s1", number, place)

        assert [one.tier for one in laid] == ["project", "user"]
        assert files(place / "project") == expected
        assert files(place / "user") == []
        assert lookaround.take_away(memory, place) == [place / "project", place / "user"]
        assert not place.exists()
    assert repositories(memory) == before


def test_the_memory_goes_on_meanwhile(memory: Memory, tmp_path: Path, run_git: RunGit) -> None:
    """Decisions, `init`, git's own housekeeping and a look from inside work while it is there."""
    place = tmp_path / "look"
    lookaround.lay_out(memory, "s1", None, place)
    git_dir = memory.store("project").place.git_dir
    run_git(f"--git-dir={git_dir}", "worktree", "prune", "--expire=now", cwd=tmp_path)
    memory.add(Draft("d", "D.", "fact"), by=memory.person())
    inside = gitmem.open(place / "project")

    assert inside.found.project is not None
    assert inside.found.project.git_dir == git_dir
    assert files(place / "project") == ["a.md"]
    lookaround.take_away(memory, place)


def test_what_nobody_approved_is_named(memory: Memory, tmp_path: Path, run_git: RunGit) -> None:
    """The files are the commit's, unreviewed ones too, and these are told."""
    folder = memory.store("project").place.folder
    assert folder is not None
    (folder / "a.md").write_text("---\ntype: fact\n---\n\nslipped in\n")
    run_git("commit", "-qnam", "x", cwd=folder)
    memory.sessions().start("s2")
    project, _ = lookaround.lay_out(gitmem.open(memory.path), "s2", None, tmp_path / "look")

    assert project.unreviewed == ("mem_a",)
    assert "slipped in" in (project.path / "a.md").read_text()


def test_a_place_that_is_taken(memory: Memory, tmp_path: Path) -> None:
    """A folder with something in it, a file, a link: nothing is put there."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("full", "file", "link"):
        with pytest.raises(GitmemError) as caught:
            lookaround.lay_out(memory, "s1", None, tmp_path / name)
        assert caught.value.reference == "folder-not-empty"

    assert list((tmp_path / "full").iterdir()) == [tmp_path / "full" / "mine"]


def test_all_or_none(memory: Memory, tmp_path: Path) -> None:
    """Where the second tier can't be laid out, the first one is taken back."""
    before = repositories(memory)
    store = memory.store("user")
    blob = store.place.git_dir / "objects" / store.main()[:2] / store.main()[2:]
    blob.rename(tmp_path / "away")
    with pytest.raises(GitmemError):
        lookaround.lay_out(gitmem.open(memory.path), "s1", None, tmp_path / "look")
    (tmp_path / "away").rename(blob)

    assert not (tmp_path / "look").exists()
    assert repositories(memory) == before


def test_what_a_user_changed_or_made_stays(memory: Memory, tmp_path: Path, run_git: RunGit) -> None:
    """A changed file blocks, and then neither tier goes; a worktree of the user's is none of ours."""
    place = tmp_path / "look"
    lookaround.lay_out(memory, "s1", None, place)
    (place / "user" / "note.md").write_text("mine")
    with pytest.raises(GitmemError) as caught:
        lookaround.take_away(memory, place)
    assert caught.value.reference == "checkout-changed"
    assert files(place / "project") == ["a.md"]

    git_dir = memory.store("project").place.git_dir
    add = ("worktree", "add", "-q", "--detach", str(tmp_path / "own" / "project"), "memory/main")
    run_git(f"--git-dir={git_dir}", *add, cwd=tmp_path)
    for folder in (tmp_path / "own", tmp_path / "nowhere"):
        with pytest.raises(GitmemError) as caught:
            lookaround.take_away(memory, folder)
        assert caught.value.reference == "no-such-checkout"
    assert files(tmp_path / "own" / "project") == ["a.md", "b.md", "c.md"]


def test_beside_other_files_of_the_user(memory: Memory, tmp_path: Path) -> None:
    """What lies beside the worktrees is left where it is."""
    place = tmp_path / "look"
    lookaround.lay_out(memory, "s1", None, place)
    (place / "mine.txt").write_text("mine")
    lookaround.take_away(memory, place)

    assert [path.name for path in place.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("name", "number", "reference"),
    [("nobody", None, "no-such-session"), ("s1", 2, "no-such-context")],
)
def test_nothing_to_lay_out(
    memory: Memory, tmp_path: Path, name: str, number: int | None, reference: str
) -> None:
    """An unknown session or context makes no folder."""
    with pytest.raises(GitmemError) as caught:
        lookaround.lay_out(memory, name, number, tmp_path / "look")

    assert caught.value.reference == reference
    assert not (tmp_path / "look").exists()


def test_the_name_of_the_tier_s_own_folder_stays_free(memory: Memory, tmp_path: Path) -> None:
    """What git keeps for it goes by no name that the tier's own worktree needs."""
    lookaround.lay_out(memory, "s1", None, tmp_path / "memory")
    git_dir = memory.store("project").place.git_dir

    assert {path.name for path in (git_dir / "worktrees").iterdir()} == {"memory", "project"}
    assert worktrees.ours_at(git_dir, layout.memory_folder(memory.path)) is None
    lookaround.take_away(memory, tmp_path / "memory")
