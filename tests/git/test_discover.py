"""Tests of finding tiers, and of mending what git keeps about where they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import config, layout, tiersetup
from gitmem.errors import BadInputError, GitmemError
from gitmem.git import discover, program

RunGit = Callable[..., str]


@pytest.fixture(scope="module")
def _templates() -> dict[str, Path]:
    """Repositories that were made once and are copied."""
    return {}


@pytest.fixture
def project(
    host: Path, _templates: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A host with a project tier."""
    if "project" not in _templates:
        template = tmp_path_factory.mktemp("project-template") / "host"
        shutil.copytree(host, template, symlinks=True)
        tiersetup.init(template, scope="project", ask_remote=False)
        _templates["project"] = template
    shutil.rmtree(host)
    shutil.copytree(_templates["project"], host, symlinks=True)
    discover.find(host)
    return host


def _git_dir(top: Path) -> Path:
    return layout.host_repository(top / ".git")


def _works(folder: Path, run_git: RunGit) -> bool:
    """Whether plain git in the folder writes to the repository that belongs to it."""
    common = run_git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=folder)
    status = run_git("status", "--porcelain", "--branch", cwd=folder)
    listed = run_git("worktree", "list", "--porcelain", cwd=folder)
    belongs = Path(common) == _git_dir(folder.parent.parent)
    return belongs and status == "## memory/main" and f"worktree {folder}\n" in listed


# -- hosts -------------------------------------------------------------------------------------


def test_a_host_is_found_from_any_folder_of_it(host: Path) -> None:
    """The top and the common git directory are the same from below."""
    assert discover.host_of(host / "src") == layout.Host(host / ".git", host)


def test_a_plain_folder_is_in_no_host(tmp_path: Path) -> None:
    """Where git finds nothing there is no host."""
    assert discover.host_of(tmp_path) is None


def test_a_bare_host_has_no_top(tmp_path: Path, run_git: RunGit) -> None:
    """A bare repository is a host of its own."""
    run_git("init", "--quiet", "--bare", "b.git", cwd=tmp_path)

    assert discover.host_of(tmp_path / "b.git") == layout.Host(tmp_path / "b.git", None)
    assert discover.host_of(tmp_path / "b.git" / "refs") == layout.Host(tmp_path / "b.git", None)


def test_the_git_directory_itself_has_no_top(host: Path) -> None:
    """Within .git one stands in no worktree, but in the host."""
    assert discover.host_of(host / ".git" / "refs") == layout.Host(host / ".git", None)


def test_a_worktree_of_a_bare_host(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """The worktree's top goes with the bare repository's common directory."""
    run_git("clone", "--quiet", "--bare", host, "b.git", cwd=tmp_path)
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=tmp_path / "b.git")

    assert discover.host_of(tmp_path / "w") == layout.Host(tmp_path / "b.git", tmp_path / "w")


def test_a_separate_git_directory(tmp_path: Path, run_git: RunGit) -> None:
    """The common directory is where git keeps it."""
    run_git("init", "--quiet", f"--separate-git-dir={tmp_path / 'away'}", "h", cwd=tmp_path)

    assert discover.host_of(tmp_path / "h") == layout.Host(tmp_path / "away", tmp_path / "h")


def test_a_submodule_is_a_host_of_its_own(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """A submodule's common directory is not its superproject's."""
    run_git("init", "--quiet", "super", cwd=tmp_path)
    run_git("submodule", "--quiet", "add", host, "part", cwd=tmp_path / "super")

    found = discover.host_of(tmp_path / "super" / "part" / "src")

    assert found == layout.Host(
        tmp_path / "super" / ".git" / "modules" / "part", tmp_path / "super" / "part"
    )
    assert discover.worktrees(found) == (tmp_path / "super" / "part",)


def test_a_worktree_of_a_tier_is_no_host(
    project: Path, tmp_path: Path, sealed_home: Path, run_git: RunGit
) -> None:
    """Wherever somebody puts one, it is the memory of its own project, or the user's alone."""
    tiersetup.init(project, scope="user")
    plain = tmp_path / "plain"
    plain.mkdir()
    tiersetup.init(plain, scope="project")
    for name, git_dir in (
        ("of-project", _git_dir(project)),
        ("of-user", config.user_memory_folder() / ".git"),
        ("of-plain", layout.memory_folder(plain) / ".git"),
    ):
        add = ("worktree", "add", "-q", "--detach", str(tmp_path / name), "memory/main")
        run_git(f"--git-dir={git_dir}", *add, cwd=tmp_path)

    assert discover.host_of(tmp_path / "of-project") == layout.Host(project / ".git", None)
    assert discover.host_of(tmp_path / "of-user") is None
    assert discover.host_of(tmp_path / "of-plain") is None


def test_a_git_directory_behind_a_link(tmp_path: Path, run_git: RunGit) -> None:
    """A host whose git directory is reached by a symbolic link has its worktree all the same."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    run_git("init", "-q", f"--separate-git-dir={tmp_path / 'link' / 'g'}", "h", cwd=tmp_path)
    found = discover.host_of(tmp_path / "h")

    assert found is not None
    assert found.top == tmp_path / "h"


def test_a_host_of_another_object_format(tmp_path: Path, run_git: RunGit) -> None:
    """A SHA-256 host is found, since git alone is asked."""
    run_git("init", "--quiet", "--object-format=sha256", "h", cwd=tmp_path)

    assert discover.host_of(tmp_path / "h") == layout.Host(tmp_path / "h" / ".git", tmp_path / "h")


def test_a_path_with_line_ends(tmp_path: Path, run_git: RunGit) -> None:
    """A folder's name may hold what git separates its answers with."""
    odd = tmp_path / "a\nfalse\nb "
    odd.mkdir()
    run_git("init", "--quiet", cwd=odd)

    assert discover.host_of(odd) == layout.Host(odd / ".git", odd)


def test_variables_do_not_choose_the_host(
    host: Path, tmp_path: Path, run_git: RunGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIT_DIR and its like, which a hook exports, have no say."""
    run_git("init", "--quiet", "other", cwd=tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_COMMON_DIR", str(tmp_path / "other" / ".git"))

    assert discover.host_of(host) == layout.Host(host / ".git", host)


def test_another_users_host_is_refused(host: Path, run_git: RunGit) -> None:
    """A host that git does not trust is an error that says how to trust it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    for place in (host, host / ".git"):
        os.chown(place, 12345, 12345)

    with pytest.raises(BadInputError) as raised:
        discover.find(host)
    assert raised.value.reference == "unsafe-repository"

    run_git("config", "--global", "--add", "safe.directory", str(host), cwd=host)
    assert discover.host_of(host) is not None


def test_another_users_tier_is_refused(tmp_path: Path, run_git: RunGit) -> None:
    """A memory repository that somebody else put above us is not read."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    tiersetup.init(tmp_path, scope="project")
    folder = layout.memory_folder(tmp_path)
    for place in (folder, folder / ".git"):
        os.chown(place, 12345, 12345)

    with pytest.raises(BadInputError) as raised:
        discover.find(tmp_path)
    assert raised.value.reference == "unsafe-repository"

    run_git("config", "--global", "--add", "safe.directory", str(folder), cwd=tmp_path)
    assert discover.find(tmp_path).project is not None


def test_another_users_bare_tier_is_refused(project: Path) -> None:
    """The repository in the host's git directory is looked at on its own."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(_git_dir(project), 12345, 12345)

    with pytest.raises(BadInputError) as raised:
        discover.find(project)

    assert raised.value.reference == "unsafe-repository"


def test_a_bare_repository_that_git_refuses(tmp_path: Path, run_git: RunGit) -> None:
    """With safe.bareRepository=explicit a bare host is refused from within, with the way out."""
    run_git("config", "--global", "safe.bareRepository", "explicit", cwd=tmp_path)
    run_git("init", "--quiet", "--bare", "b.git", cwd=tmp_path)

    with pytest.raises(BadInputError) as raised:
        discover.find(tmp_path / "b.git")

    assert raised.value.reference == "bare-repository-refused"
    assert raised.value.hint is not None


def test_a_project_where_git_opens_no_bare_repository(project: Path, run_git: RunGit) -> None:
    """With safe.bareRepository=explicit the tier is found and plain git works in its folder."""
    run_git("config", "--global", "safe.bareRepository", "explicit", cwd=project)
    folder = layout.memory_folder(project)

    assert discover.find(project / "src").project is not None
    assert discover.find(_git_dir(project)).project is not None
    assert run_git("status", "--porcelain", cwd=folder) == ""


def test_a_broken_host_is_an_error(tmp_path: Path) -> None:
    """A .git file that points nowhere is not taken for the absence of a host."""
    (tmp_path / ".git").write_text("gitdir: nowhere\n")

    with pytest.raises(GitmemError):
        discover.find(tmp_path)


def test_no_such_folder(tmp_path: Path) -> None:
    """A path that is no folder is bad input."""
    (tmp_path / "file").touch()

    for path in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(BadInputError) as raised:
            discover.find(path)
        assert raised.value.reference == "no-such-folder"


# -- tiers -------------------------------------------------------------------------------------


def test_the_tier_is_found_from_any_folder(project: Path) -> None:
    """The project's folders, the memory folder, drop box, sessions and repository lead to one tier."""
    expected = discover.find(project)
    layout.drop_box(project).mkdir()
    session = layout.sessions_folder(project) / "s1"
    session.mkdir(parents=True)
    program.run("init", "--quiet", cwd=session)

    places = [
        project / "src",
        project / layout.FOLDER,
        layout.memory_folder(project),
        layout.drop_box(project),
        session,
        project / ".git",
        _git_dir(project) / "refs",
    ]
    found = [discover.find(place) for place in places]

    assert expected.project is not None
    assert {(each.project.git_dir, each.project.folder) for each in found if each.project} == {
        (_git_dir(project), layout.memory_folder(project))
    }
    assert {each.here.root for each in found if each.here} == {project}
    assert all(each.project and each.here for each in found)


def test_a_host_without_a_tier_is_a_project_still(host: Path) -> None:
    """Before init there is a place for the tier, but no tier."""
    found = discover.find(host / "src")

    assert found.project is None
    assert found.here == layout.Project(host, layout.Host(host / ".git", host))


def test_outside_a_project_there_is_the_user_tier(tmp_path: Path) -> None:
    """A plain folder belongs to no project."""
    tiersetup.init(tmp_path, scope="user")

    found = discover.find(tmp_path)

    assert (found.project, found.here) == (None, None)
    assert found.user == layout.folder_tier("user", config.user_memory_folder())


def test_the_users_folders_are_in_no_project(sealed_home: Path, run_git: RunGit) -> None:
    """Also where the home folder is a repository, and in gitmem's own state."""
    tiersetup.init(sealed_home, scope="user")
    run_git("init", "--quiet", cwd=sealed_home)
    state = config.state_dir() / "sessions"
    state.mkdir(parents=True)

    assert discover.find(sealed_home).here is not None
    assert discover.find(config.user_memory_folder()).here is None
    assert discover.find(state).here is None


def test_a_plain_project_is_found_from_below(tmp_path: Path) -> None:
    """A project that is no git repository is found by its memory folder."""
    tiersetup.init(tmp_path, scope="project")
    (tmp_path / "a" / "b").mkdir(parents=True)

    found = discover.find(tmp_path / "a" / "b")

    assert found.project == layout.folder_tier("project", layout.memory_folder(tmp_path))
    assert found.here == layout.Project(tmp_path, None)
    assert discover.find(layout.memory_folder(tmp_path)).here == found.here


def test_a_repository_in_a_plain_project_is_its_own(tmp_path: Path, run_git: RunGit) -> None:
    """A git repository below a project's folder is another project."""
    tiersetup.init(tmp_path, scope="project")
    run_git("init", "--quiet", "part", cwd=tmp_path)

    found = discover.find(tmp_path / "part")

    assert found.project is None
    assert found.here is not None
    assert found.here.root == tmp_path / "part"


def test_a_plain_project_in_a_repository_is_its_own(host: Path, tmp_path: Path) -> None:
    """A project that was there before the folder above it became a repository stays one."""
    (tmp_path / "p").mkdir()
    tiersetup.init(tmp_path / "p", scope="project")
    shutil.move(tmp_path / "p", host / "p")

    found = discover.find(host / "p")

    assert found.project is not None
    assert found.project.git_dir == layout.memory_folder(host / "p") / ".git"


def test_a_project_that_became_a_host_keeps_its_memory(tmp_path: Path, run_git: RunGit) -> None:
    """After git init in a project the tier is still the folder's own."""
    tiersetup.init(tmp_path, scope="project")
    run_git("init", "--quiet", cwd=tmp_path)

    found = discover.find(tmp_path)

    assert found.project is not None
    assert found.project.git_dir == layout.memory_folder(tmp_path) / ".git"
    assert found.here == layout.Project(tmp_path, layout.Host(tmp_path / ".git", tmp_path))


def test_all_worktrees_share_the_tier(project: Path, tmp_path: Path, run_git: RunGit) -> None:
    """From another worktree the folder is that of the worktree in which init ran."""
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=project)

    found = discover.find(tmp_path / "w" / "src")

    assert found.project is not None
    assert found.project.folder == layout.memory_folder(project)
    assert found.here is not None
    assert found.here.root == project
    assert found.here.host is not None
    assert discover.worktrees(found.here.host) == (tmp_path / "w", project)


def test_a_missing_folder_keeps_its_place(project: Path) -> None:
    """A deleted folder is not made again by looking, but its place is known."""
    shutil.rmtree(project / layout.FOLDER)

    found = discover.find(project)

    assert found.project is not None
    assert found.project.folder == layout.memory_folder(project)
    assert not found.project.folder.exists()


def test_a_folder_whose_worktree_is_gone(project: Path, tmp_path: Path, run_git: RunGit) -> None:
    """Where the worktree in which init ran was removed, the tier has no folder."""
    tiersetup.deinit(project, purge=True)
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=project)
    tiersetup.init(tmp_path / "w", scope="project", ask_remote=False)
    run_git("worktree", "remove", "--force", tmp_path / "w", cwd=project)

    found = discover.find(project)

    assert found.project is not None
    assert (found.project.folder, found.project.admin_dir) == (None, found.project.git_dir)


# -- a host that tracks our folder ---------------------------------------------------------------


@pytest.mark.parametrize("name", [".custom-agent/memory/a.md", ".Custom-Agent/b"])
def test_a_host_that_tracks_our_folder_is_refused(
    name: str, project: Path, run_git: RunGit
) -> None:
    """Tracked files below the folder, in any case, are refused with the way out; that way works."""
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("text\n")
    blob = run_git("hash-object", "-w", file, cwd=project)
    run_git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", cwd=project)

    with pytest.raises(BadInputError) as raised:
        discover.find(project / "src")
    assert raised.value.reference == "host-tracks-memory"
    assert raised.value.context == name
    assert "rm -r --cached" in (raised.value.hint or "")

    run_git("rm", "-r", "--quiet", "--cached", name.partition("/")[0], cwd=project)
    assert discover.find(project).project is not None


# -- mending -------------------------------------------------------------------------------------


def test_a_renamed_project(project: Path, run_git: RunGit) -> None:
    """After a rename the next look rewrites what git keeps, and says so once."""
    moved = project.rename(project.with_name("renamed"))

    found = discover.find(moved / "src")

    assert found.project is not None
    assert found.project.folder == layout.memory_folder(moved)
    assert found.mended == {"project"}
    assert _works(layout.memory_folder(moved), run_git)
    hooks = run_git("config", "core.hooksPath", cwd=layout.memory_folder(moved))
    assert hooks == str(_git_dir(moved) / "hooks")
    assert discover.find(moved).mended == frozenset()


def test_plain_git_works_after_a_rename_before_any_look(project: Path, run_git: RunGit) -> None:
    """The link is relative, so git finds the repository without gitmem's help."""
    moved = project.rename(project.with_name("renamed"))

    assert run_git("status", "--porcelain", cwd=layout.memory_folder(moved)) == ""


def test_a_project_moved_deeper(project: Path, tmp_path: Path, run_git: RunGit) -> None:
    """A move to another depth, with odd characters in the path, is a move like any other."""
    deeper = tmp_path / "x" / 'y "z"; #\\' / "ü"
    deeper.mkdir(parents=True)
    moved = project.rename(deeper / "host")

    assert discover.find(moved).mended == {"project"}

    assert _works(layout.memory_folder(moved), run_git)
    assert discover.find(moved).mended == frozenset()
    hooks = run_git("config", "core.hooksPath", cwd=layout.memory_folder(moved))
    assert hooks == str(_git_dir(moved) / "hooks")


def test_a_copy_leaves_the_original_alone(project: Path, tmp_path: Path, run_git: RunGit) -> None:
    """A copied project is mended to itself, and what is written there stays there."""
    copy = shutil.copytree(project, tmp_path / "copy", symlinks=True)
    before = run_git("rev-parse", "memory/main", cwd=_git_dir(project))

    found = discover.find(copy)

    assert found.project is not None
    assert (found.project.git_dir, found.project.folder) == (
        _git_dir(copy),
        layout.memory_folder(copy),
    )
    assert _works(layout.memory_folder(copy), run_git)
    commit = ("commit", "--quiet", "--no-verify", "--allow-empty", "-m", "x")
    run_git(*commit, cwd=layout.memory_folder(copy))
    assert run_git("rev-parse", "memory/main", cwd=_git_dir(project)) == before
    assert discover.find(project).mended == frozenset()
    assert _works(layout.memory_folder(project), run_git)


def test_a_copy_of_a_host_whose_folder_is_in_another_worktree(
    host: Path, tmp_path: Path, run_git: RunGit
) -> None:
    """The copy does not take the original's folder for its own."""
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=host)
    tiersetup.init(tmp_path / "w", scope="project", ask_remote=False)
    copy = shutil.copytree(host, tmp_path / "copy", symlinks=True)

    found = discover.find(copy)

    assert found.project is not None
    assert found.project.folder is None
    assert discover.find(host).mended == frozenset()


def test_a_worktree_that_moved_with_the_folder(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """After git worktree move the folder is found where it went, from any worktree."""
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=host)
    tiersetup.init(tmp_path / "w", scope="project", ask_remote=False)
    (tmp_path / "deep").mkdir()
    run_git("worktree", "move", tmp_path / "w", tmp_path / "deep" / "w", cwd=host)

    found = discover.find(host)

    folder = layout.memory_folder(tmp_path / "deep" / "w")
    assert found.project is not None
    assert found.project.folder == folder
    assert run_git("status", "--porcelain", cwd=folder) == ""
    assert found.mended == {"project"}


def test_a_host_that_moved_away_from_the_folders_worktree(
    host: Path, tmp_path: Path, run_git: RunGit
) -> None:
    """After a move of the main worktree and git's own repair the folder is linked again."""
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=host)
    tiersetup.init(tmp_path / "w", scope="project", ask_remote=False)
    (tmp_path / "deep").mkdir()
    moved = host.rename(tmp_path / "deep" / "host")
    run_git("worktree", "repair", tmp_path / "w", cwd=moved)

    found = discover.find(tmp_path / "w")

    folder = layout.memory_folder(tmp_path / "w")
    assert found.project is not None
    assert (found.project.git_dir, found.project.folder) == (_git_dir(moved), folder)
    assert run_git("status", "--porcelain", cwd=folder) == ""


def test_a_link_that_git_made_absolute(project: Path, run_git: RunGit) -> None:
    """After git's own repair the link is relative again at the next look."""
    folder = layout.memory_folder(project)
    (folder / ".git").write_text(f"gitdir: {layout.worktree_admin(_git_dir(project))}\n")

    assert discover.find(project).mended == {"project"}

    assert (folder / ".git").read_text().startswith("gitdir: ../../.git/")


def test_a_moved_user_tier(sealed_home: Path, run_git: RunGit) -> None:
    """The hooks path of the user tier follows it."""
    tiersetup.init(sealed_home, scope="user")
    git_dir = config.user_memory_folder() / ".git"
    run_git("config", "core.hooksPath", "/elsewhere", cwd=config.user_memory_folder())

    assert discover.find(sealed_home).mended == {"user"}

    assert run_git("config", "core.hooksPath", cwd=config.user_memory_folder()) == str(
        git_dir / "hooks"
    )


def test_a_project_behind_a_symbolic_link(project: Path, tmp_path: Path) -> None:
    """Through a link the same real paths are found, and nothing is rewritten."""
    (tmp_path / "link").symlink_to(project)

    found = discover.find(tmp_path / "link" / "src")

    assert found.project is not None
    assert found.project.folder == layout.memory_folder(project)
    assert found.mended == frozenset()


@pytest.mark.plain_user
def test_a_read_only_project_is_found(project: Path) -> None:
    """Where nothing can be rewritten, reading goes on."""
    moved = project.rename(project.with_name("renamed"))
    folders = [place for place, _, _ in os.walk(moved)]
    for place in folders:
        os.chmod(place, 0o555)  # noqa: PTH101
    try:
        found = discover.find(moved)
    finally:
        for place in folders:
            os.chmod(place, 0o755)  # noqa: PTH101

    assert found.project is not None
    assert found.project.folder == layout.memory_folder(moved)
    assert found.mended == frozenset()


def test_looking_costs_few_processes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding the tiers of a project in order starts git twice, outside of one once."""
    started = []
    run = program.run
    monkeypatch.setattr(
        program, "run", lambda *args, **kw: started.append(args) or run(*args, **kw)
    )

    discover.find(project / "src")
    assert len(started) == 2
    discover.find(project.parent)
    assert len(started) == 3
