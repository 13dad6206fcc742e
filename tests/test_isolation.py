"""Memory belongs to one repository: nobody else is shown it, and it goes where that one goes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gitmem import sessionfiles
from gitmem.cli.main import program
from gitmem.errors import GitmemError
from gitmem.git import discover

RunGit = Callable[..., str]
# Everything by which memory is shown.
ASKED = (
    ("context", "--budget", "none"),
    ("context", "--json"),
    ("log", "--json", "--snapshots"),
    ("list", "--state", "all", "--json"),
    ("list", "--state", "all"),
    ("replay", "--at", "0m"),
    ("replay", "--at", "0m", "--json"),
    ("export", "log"),
    ("verify", "--json"),
    # An agent's session that works in several projects has the same id in each.
    ("context", "--session", "s1"),
    ("session", "list", "--json"),
    ("log", "--session", "s1"),
    ("replay", "s1", "--json"),
    ("replay", "s1", "--show", "1"),
)


def run(folder: Path, *args: str) -> str:
    """What gitmem prints in a folder, whatever comes of it."""
    result = CliRunner().invoke(program, ["-C", str(folder), *args], prog_name="gitmem")
    if result.exception is not None and not isinstance(result.exception, SystemExit | GitmemError):
        raise result.exception
    return result.output


def done(folder: Path, *args: str) -> str:
    """What it prints where it succeeds."""
    result = CliRunner().invoke(program, ["-C", str(folder), *args], prog_name="gitmem")
    assert result.exit_code == 0, result.output
    return result.stdout


def shown(folder: Path) -> str:
    """All that a person or an agent gets to see of memory in a folder."""
    return "\n".join(run(folder, *args) for args in ASKED)


def fill(folder: Path, word: str) -> None:
    """Give a project all that memory can be: approved, pending, discarded, dropped, a session's."""
    done(folder, "add", "--yes", f"{word}_entry", f"{word} approved.", "--type", "fact")
    why = ("--type", "fact", "--rationale", f"{word} says so")
    done(folder, "propose", f"{word}_pending", "--body", f"{word} pending.", *why)
    made = done(folder, "propose", f"{word}_closed", "--body", f"{word} closed.", *why)
    closed = re.search(r"cand_[a-z0-9_]+", made)
    assert closed is not None
    done(folder, "discard", closed[0], "--yes", "--reason", f"{word} was wrong")
    done(folder, "session", "start", "s1")
    kept = ("--type", "fact", "--body", f"{word} kept.", "--session", "s1")
    done(folder, "session", "put", f"{word}_kept", *kept)
    done(folder, "context", "--session", "s1")
    box = folder / ".custom-agent" / "candidates"
    box.mkdir(parents=True, exist_ok=True)
    dropped = (
        f"---\nid: mem_{word}_dropped\ntype: fact\nrationale: {word}\n---\n\n{word} dropped.\n"
    )
    (box / f"{word}.md").write_text(dropped, encoding="utf-8")


def assert_apart(one: Path, first: str, other: Path, second: str) -> None:
    """Two projects have what is theirs, and nothing of each other."""
    for folder, own, foreign in ((one, first, second), (other, second, first)):
        said = shown(folder)
        for what in ("entry", "pending", "closed", "dropped", "kept"):
            assert f"{own}_{what}" in said or f"{own} {what}." in said
        assert foreign not in said
        for command in ("why", "show"):
            assert f"{foreign} approved" not in run(folder, command, f"{foreign}_entry")


def repository(folder: Path, run_git: RunGit) -> Path:
    """A git repository with one commit."""
    folder.mkdir(parents=True)
    run_git("init", "-q", cwd=folder)
    run_git("commit", "-q", "--allow-empty", "-m", "start", cwd=folder)
    return folder


# -- two projects ----------------------------------------------------------------------------------


def side_by_side(base: Path, run_git: RunGit) -> tuple[Path, Path]:
    """Two repositories that know nothing of each other."""
    return repository(base / "one", run_git), repository(base / "two", run_git)


def submodule(base: Path, run_git: RunGit) -> tuple[Path, Path]:
    """The second is a submodule of the first."""
    one, origin = side_by_side(base, run_git)
    run_git("submodule", "--quiet", "add", str(origin), "lib", cwd=one)
    return one, one / "lib"


def nested(base: Path, run_git: RunGit) -> tuple[Path, Path]:
    """The second is a repository of its own inside the first."""
    one = repository(base / "one", run_git)
    return one, repository(one / "vendor" / "two", run_git)


def clone(base: Path, run_git: RunGit) -> tuple[Path, Path]:
    """The second is a clone of the first."""
    one = repository(base / "one", run_git)
    run_git("clone", "-q", str(one), str(base / "two"), cwd=base)
    return one, base / "two"


def plain_around(base: Path, run_git: RunGit) -> tuple[Path, Path]:
    """The first is no repository, and the second one lies in it."""
    (base / "one").mkdir()
    return base / "one", repository(base / "one" / "two", run_git)


def plain_inside(base: Path, run_git: RunGit) -> tuple[Path, Path]:
    """Neither is a repository, and the second lies in the first."""
    (base / "one" / "two").mkdir(parents=True)
    done(base / "one" / "two", "init", "--scope", "project")
    return base / "one", base / "one" / "two"


@pytest.mark.parametrize(
    "arranged", [side_by_side, submodule, nested, clone, plain_around, plain_inside]
)
def test_two_projects_share_nothing_but_the_user(
    tmp_path: Path, run_git: RunGit, arranged: Callable[..., tuple[Path, Path]]
) -> None:
    """However they lie to each other; what the user's own memory has is with both."""
    one, other = arranged(tmp_path, run_git)
    done(one, "init")
    fill(one, "apricot")
    assert "apricot" not in shown(other)

    done(other, "init")
    fill(other, "bramble")
    done(one, "add", "--yes", "mine", "Common to both.", "--type", "fact", "--scope", "user")

    assert_apart(one, "apricot", other, "bramble")
    assert "Common to both." in done(one, "context")
    assert "Common to both." in done(other, "context")


def test_a_copy_goes_its_own_way(tmp_path: Path, run_git: RunGit) -> None:
    """It begins with the same memory; what comes later in one is not in the other."""
    one = repository(tmp_path / "one", run_git)
    done(one, "init")
    done(one, "add", "--yes", "shared", "From before.", "--type", "fact")
    other = shutil.copytree(one, tmp_path / "two", symlinks=True)
    # Both orders: the copy is used before the original, and after it.
    fill(other, "bramble")
    fill(one, "apricot")

    assert_apart(one, "apricot", other, "bramble")
    for folder, word in ((one, "apricot"), (other, "bramble")):
        assert "From before." in done(folder, "context")
        names = {path.name for path in (folder / ".custom-agent" / "memory").glob("*.md")}
        assert names == {"shared.md", f"{word}_entry.md"}


def test_another_project_in_the_same_place(tmp_path: Path, run_git: RunGit) -> None:
    """A path says nothing: neither where projects change places nor where one is made anew."""
    one, other = side_by_side(tmp_path, run_git)
    for folder, word in ((one, "apricot"), (other, "bramble")):
        done(folder, "init")
        fill(folder, word)
        shown(folder)
    one.rename(tmp_path / "away")
    other.rename(one)
    (tmp_path / "away").rename(other)
    assert_apart(other, "apricot", one, "bramble")

    shutil.rmtree(one)
    repository(one, run_git)
    assert "bramble" not in shown(one)
    done(one, "init")
    assert "bramble" not in shown(one)
    assert "apricot" not in shown(one)


def test_what_the_environment_of_another_repository_says(
    tmp_path: Path, run_git: RunGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook of one project that asks about another one is told about that one."""
    one, other = side_by_side(tmp_path, run_git)
    for folder, word in ((one, "apricot"), (other, "bramble")):
        done(folder, "init")
        fill(folder, word)
    monkeypatch.setenv("GIT_DIR", str(one / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(one))
    monkeypatch.setenv("GIT_COMMON_DIR", str(one / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(one / ".git" / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(one / ".git" / "objects"))

    assert_apart(other, "bramble", one, "apricot")


# -- one project -----------------------------------------------------------------------------------


def renamed(one: Path, _run_git: RunGit) -> Path:
    """The folder has another name."""
    return one.rename(one.with_name("renamed"))


def moved(one: Path, _run_git: RunGit) -> Path:
    """It lies elsewhere, deeper."""
    place = one.parent / "clients" / "north"
    place.mkdir(parents=True)
    return one.rename(place / "one")


def moved_into_another(one: Path, run_git: RunGit) -> Path:
    """It lies in a repository with memory of its own."""
    around = repository(one.parent / "around", run_git)
    done(around, "init", "--scope", "project")
    done(around, "add", "--yes", "foreign", "Of the one around.", "--type", "fact")
    return one.rename(around / "one")


def through_a_link(one: Path, _run_git: RunGit) -> Path:
    """It is opened by a symbolic link."""
    link = one.parent / "link"
    link.symlink_to(one, target_is_directory=True)
    return link


def from_a_folder_in_it(one: Path, _run_git: RunGit) -> Path:
    """It is opened from a folder below."""
    (one / "src" / "deep").mkdir(parents=True)
    return one / "src" / "deep"


def from_a_worktree(one: Path, run_git: RunGit) -> Path:
    """It is opened from a linked worktree."""
    run_git("worktree", "add", "-q", str(one.parent / "branch"), cwd=one)
    return one.parent / "branch"


def from_a_worktree_of_a_moved_one(one: Path, run_git: RunGit) -> Path:
    """The main folder was renamed while a worktree lies elsewhere, and git was told."""
    branch = from_a_worktree(one, run_git)
    run_git("worktree", "repair", str(branch), cwd=renamed(one, run_git))
    return branch


def with_its_git_directory_elsewhere(one: Path, run_git: RunGit) -> Path:
    """The git directory was moved out of the folder."""
    run_git("init", "-q", f"--separate-git-dir={one.parent / 'store.git'}", cwd=one)
    return one


@pytest.fixture
def filled(tmp_path: Path, run_git: RunGit) -> Iterator[Path]:
    """A project with memory of every kind."""
    one = repository(tmp_path / "one", run_git)
    done(one, "init", "--scope", "project")
    fill(one, "apricot")
    return one


@pytest.mark.parametrize(
    "reached",
    [
        renamed,
        moved,
        moved_into_another,
        through_a_link,
        from_a_folder_in_it,
        from_a_worktree,
        from_a_worktree_of_a_moved_one,
        with_its_git_directory_elsewhere,
    ],
)
def test_memory_goes_with_the_repository(
    filled: Path, run_git: RunGit, reached: Callable[[Path, RunGit], Path]
) -> None:
    """All of it is there, the same as before, and can be added to."""
    asked = (
        ("context",),
        ("log", "--snapshots"),
        ("list", "--state", "all"),
        ("export", "log"),
        ("session", "list", "--json"),
        ("replay", "s1"),
        ("replay", "s1", "--show", "1"),
    )
    before = [done(filled, *args) for args in asked]
    here = reached(filled, run_git)

    assert [done(here, *args) for args in asked] == before
    done(here, "add", "--yes", "later", "Said after that.", "--type", "fact")
    assert "Said after that." in done(here, "context")
    assert "apricot approved." in done(here, "context")
    assert "apricot kept." in done(here, "context", "--session", "s1")
    assert "Of the one around." not in shown(here)


@pytest.mark.parametrize("reached", [renamed, moved, through_a_link, from_a_folder_in_it])
def test_memory_of_a_folder_without_git(
    tmp_path: Path, run_git: RunGit, reached: Callable[[Path, RunGit], Path]
) -> None:
    """A project that is no repository takes its memory along as well."""
    one = tmp_path / "one"
    one.mkdir()
    done(one, "init", "--scope", "project")
    fill(one, "apricot")
    before = done(one, "export", "log")
    here = reached(one, run_git)

    assert done(here, "export", "log") == before
    done(here, "add", "--yes", "later", "Said after that.", "--type", "fact")
    assert "Said after that." in done(here, "context")


def test_a_worktree_inside_another_project(tmp_path: Path, run_git: RunGit) -> None:
    """A linked worktree is its own repository's, wherever it lies."""
    one, other = side_by_side(tmp_path, run_git)
    for folder, word in ((one, "apricot"), (other, "bramble")):
        done(folder, "init")
        fill(folder, word)
    run_git("worktree", "add", "-q", str(other / "branch"), cwd=one)

    assert_apart(other / "branch", "apricot", other, "bramble")


def test_a_later_repository_with_the_number_of_an_earlier_one(project: Path) -> None:
    """Outside a project sessions go by the repository, and a new one has none of the old one's."""
    place = discover.find(project).user
    assert place is not None
    before = sessionfiles.folder_of_all(place)
    assert sessionfiles.folder_of_all(place) == before

    # The file system may give a repository that is made anew the number of one that was removed.
    (place.git_dir / "gitmem-sessions").unlink()
    assert sessionfiles.folder_of_all(place) != before
