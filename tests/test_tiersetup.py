"""Tests of setting up the tiers, taking up a remote's memory, and taking the tiers out again."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem import config, layout, tiersetup
from gitmem.errors import BadInputError, ConflictError, NotFoundError
from gitmem.git import discover, tierrepo

RunGit = Callable[..., str]

EXAMPLE = """\
---
id: mem_{key}
type: convention
scope: {scope}
---

{text}
"""


def _init(path: Path) -> tiersetup.TierReport:
    """Set up the project tier alone, without asking a remote."""
    return tiersetup.init(path, scope="project", ask_remote=False).tiers[0]


def _git_dir(top: Path) -> Path:
    return layout.host_repository(top / ".git")


def _apply(tier: layout.TierPlace, key: str, run_git: RunGit, *, author: str = "Ann") -> None:
    """A candidate with one entry, merged with plain git in the memory folder."""
    folder = tier.folder
    assert folder is not None
    run_git("checkout", "--quiet", "-b", f"memory/candidate/{key}", cwd=folder)
    text = EXAMPLE.format(key=key, scope=tier.scope, text=f"Text of {key}.")
    (folder / f"{key}.md").write_text(text)
    run_git("add", f"{key}.md", cwd=folder)
    run_git("commit", "--quiet", "--message", f"Propose {key}", cwd=folder)
    run_git("checkout", "--quiet", "memory/main", cwd=folder)
    person = ("-c", f"user.name={author}", "-c", f"user.email={author.lower()}@example.org")
    run_git(*person, "merge", "--quiet", "--no-edit", f"memory/candidate/{key}", cwd=folder)
    run_git("branch", "--quiet", "--delete", f"memory/candidate/{key}", cwd=folder)


def _fingerprint(top: Path, *, without: tuple[str, ...] = ()) -> dict[str, tuple[int, str]]:
    """Mode and content of all that is in a host, but for what gitmem may touch."""
    ours = {layout.FOLDER, ".git/gitmem", ".git/info/exclude", *without}
    found = {}
    for place, folders, names in os.walk(top):
        for name in [*folders, *names]:
            path = Path(place, name)
            short = str(path.relative_to(top))
            if short in ours:
                if name in folders:
                    folders.remove(name)
                continue
            mode = path.lstat().st_mode
            content = b""
            if stat.S_ISREG(mode):
                content = path.read_bytes()
            elif stat.S_ISLNK(mode):
                content = os.fsencode(path.readlink())
            found[short] = (mode, hashlib.sha256(content).hexdigest())
    return found


def _all_files(top: Path) -> dict[str, bytes]:
    """Content and path of every file below a folder."""
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


# -- init --------------------------------------------------------------------------------------


def test_both_tiers_are_made(host: Path, run_git: RunGit) -> None:
    """Where nothing is said, the project's tier and the user's are made, each with its first commit."""
    report = tiersetup.init(host)

    project, user = report.tiers
    assert (project.made, project.mended) == (("repository", "exclude", "folder"), ())
    assert (user.made, user.mended) == (("repository",), ())
    assert (report.offer, report.notes) == (None, ())
    for tier in (project.tier, user.tier):
        assert run_git("rev-parse", "memory/main", cwd=tier.folder) == layout.root_id(tier.scope)
        assert run_git("status", "--porcelain", "--branch", cwd=tier.folder) == "## memory/main"
        assert run_git("fsck", "--strict", cwd=tier.folder) == ""
    assert user.tier.folder == config.user_memory_folder()


@pytest.mark.parametrize("scope", ["project", "user"])
def test_one_tier_alone(scope: layout.Scope, host: Path) -> None:
    """A scope that is said makes only that tier."""
    tiersetup.init(host, scope=scope)

    found = discover.find(host)

    assert (found.project is not None) == (scope == "project")
    assert (found.user is not None) == (scope == "user")


@pytest.mark.parametrize("scope", ["project", "user"])
def test_the_config_says_what_git_must_obey(
    scope: layout.Scope, host: Path, run_git: RunGit
) -> None:
    """Whatever the user's own config says, git in a tier's folder sees the tier's settings."""
    for key, value in [
        ("core.hooksPath", "/nowhere"),
        ("core.autocrlf", "true"),
        ("merge.ff", "only"),
        ("pull.rebase", "true"),
        ("init.templateDir", str(host)),
        ("core.logAllRefUpdates", "true"),
    ]:
        run_git("config", "--global", key, value, cwd=host)

    tier = tiersetup.init(host, scope=scope).tiers[0].tier

    expected = layout.tier_config(tier.git_dir, bare=scope == "project")
    del expected["core.bare"]
    assert {key: run_git("config", key, cwd=tier.folder) for key in expected} == expected
    # A linked worktree of a bare repository is not bare; the file says what the repository is.
    bare = run_git("config", "--file", tier.git_dir / "config", "core.bare", cwd=host)
    assert bare == ("true" if scope == "project" else "false")
    assert "extensions" not in (tier.git_dir / "config").read_text()
    assert not (tier.git_dir / "README.md").exists()


def test_a_repository_of_the_old_format_is_made(
    host: Path, run_git: RunGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SHA-1 and plain ref files, also where the user's defaults are others."""
    run_git("config", "--global", "init.defaultObjectFormat", "sha256", cwd=host)
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")

    tier = _init(host).tier

    assert run_git("rev-parse", "--show-object-format", cwd=tier.folder) == "sha1"
    assert (tier.git_dir / "refs/heads/memory/main").is_file()


def test_init_again_changes_nothing(host: Path) -> None:
    """The second time nothing is made or mended, and no file of ours is another."""
    tiersetup.init(host)
    home = config.user_memory_folder()
    before = (_all_files(host), _all_files(home))

    report = tiersetup.init(host)

    assert [(each.made, each.mended) for each in report.tiers] == [((), ()), ((), ())]
    assert (_all_files(host), _all_files(home)) == before


def test_the_host_is_untouched(host: Path, run_git: RunGit) -> None:
    """Every file of the host but ours is the same after init, a decision and deinit."""
    (host / "untracked").write_text("x")
    (host / "README.md").write_text("edited, not staged\n")
    (host / "link").symlink_to("src")
    exclude = (host / ".git/info/exclude").read_bytes()
    status = run_git("status", "--porcelain", cwd=host)
    before = _fingerprint(host)

    _apply(_init(host).tier, "a", run_git)
    assert _fingerprint(host) == before
    assert run_git("--no-optional-locks", "status", "--porcelain", cwd=host) == status

    tiersetup.deinit(host, purge=True)
    assert _fingerprint(host) == before
    assert (host / ".git/info/exclude").read_bytes() == exclude
    assert not (host / layout.FOLDER).exists()
    assert not (host / ".git/gitmem").exists()


def test_from_a_subdirectory(host: Path) -> None:
    """The folder is made at the top of the host, not where the user stands."""
    assert _init(host / "src").tier.folder == layout.memory_folder(host)


def test_from_the_memory_folder(host: Path) -> None:
    """Our own repositories are never taken for a host."""
    tier = _init(host).tier
    assert tier.folder is not None

    for place in (tier.folder, tier.folder.parent, tier.git_dir):
        report = _init(place)
        assert (report.tier.folder, report.made, report.mended) == (tier.folder, (), ())


def test_from_another_worktree(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """The folder stays in the worktree in which init ran."""
    tier = _init(host).tier
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=host)

    report = _init(tmp_path / "w")

    assert (report.tier.folder, report.made, report.mended) == (tier.folder, (), ())
    assert not (tmp_path / "w" / layout.FOLDER).exists()


def test_after_the_worktree_of_init_is_gone(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """The history is there, and the folder is made in the worktree in which init runs next."""
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=host)
    _apply(_init(tmp_path / "w").tier, "a", run_git)
    run_git("worktree", "remove", tmp_path / "w", cwd=host)

    report = _init(host)

    assert (report.made, report.mended) == ((), ("folder",))
    assert report.tier.folder == layout.memory_folder(host)
    assert (layout.memory_folder(host) / "a.md").is_file()
    assert run_git("status", "--porcelain", cwd=layout.memory_folder(host)) == ""


def test_a_host_without_a_commit(tmp_path: Path, run_git: RunGit) -> None:
    """A repository that was just made can have memory."""
    run_git("init", "--quiet", "h", cwd=tmp_path)

    tier = _init(tmp_path / "h").tier

    assert run_git("status", "--porcelain", cwd=tmp_path / "h") == ""
    assert run_git("rev-parse", "memory/main", cwd=tier.folder) == layout.root_id("project")


def test_a_host_without_an_info_folder(tmp_path: Path, run_git: RunGit) -> None:
    """What git's template did not make is made, and is gone again after deinit."""
    run_git("init", "--quiet", "--template=", "h", cwd=tmp_path)
    before = _fingerprint(tmp_path / "h")

    _init(tmp_path / "h")
    assert run_git("status", "--porcelain", cwd=tmp_path / "h") == ""
    tiersetup.deinit(tmp_path / "h", purge=True)

    assert _fingerprint(tmp_path / "h") == before


def test_a_host_of_another_format(tmp_path: Path, run_git: RunGit) -> None:
    """Memory of a SHA-256 host is kept in a SHA-1 repository."""
    run_git("init", "--quiet", "--object-format=sha256", "h", cwd=tmp_path)

    tier = _init(tmp_path / "h").tier

    assert run_git("rev-parse", "memory/main", cwd=tier.folder) == layout.root_id("project")
    assert run_git("rev-parse", "--show-object-format", cwd=tmp_path / "h") == "sha256"


def test_a_bare_host(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """In a bare host the tier has no folder until init runs in a worktree of it."""
    run_git("clone", "--quiet", "--bare", host, "b.git", cwd=tmp_path)
    report = tiersetup.init(tmp_path / "b.git", scope="project", ask_remote=False)
    assert report.tiers[0].tier.folder is None
    assert len(report.notes) == 1
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=tmp_path / "b.git")

    second = _init(tmp_path / "w")

    assert (second.tier.folder, second.mended) == (
        layout.memory_folder(tmp_path / "w"),
        ("folder",),
    )
    assert run_git("status", "--porcelain", cwd=tmp_path / "w") == ""
    assert run_git("status", "--porcelain", cwd=second.tier.folder) == ""
    found = discover.find(tmp_path / "b.git").project
    assert found is not None
    assert found.folder == second.tier.folder


def test_a_submodule(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """A submodule's memory lies in its own git directory, and its superproject has none."""
    run_git("init", "--quiet", "super", cwd=tmp_path)
    run_git("submodule", "--quiet", "add", host, "part", cwd=tmp_path / "super")
    run_git("commit", "--quiet", "--message", "Add part", cwd=tmp_path / "super")

    tier = _init(tmp_path / "super" / "part").tier

    assert tier.git_dir == tmp_path / "super/.git/modules/part/gitmem/memory.git"
    assert run_git("status", "--porcelain", cwd=tmp_path / "super") == ""
    assert run_git("status", "--porcelain", cwd=tier.folder) == ""
    assert discover.find(tmp_path / "super").project is None


def test_a_separate_git_directory(tmp_path: Path, run_git: RunGit) -> None:
    """The memory repository goes where the host's git directory is."""
    run_git("init", "--quiet", f"--separate-git-dir={tmp_path / 'away'}", "h", cwd=tmp_path)

    tier = _init(tmp_path / "h").tier

    assert tier.git_dir == tmp_path / "away/gitmem/memory.git"
    assert run_git("status", "--porcelain", cwd=tier.folder) == ""


def test_a_folder_that_is_no_repository(tmp_path: Path, run_git: RunGit) -> None:
    """There the memory folder is a repository itself."""
    report = _init(tmp_path)

    folder = layout.memory_folder(tmp_path)
    assert report.tier == layout.folder_tier("project", folder)
    assert report.made == ("repository",)
    assert run_git("rev-parse", "memory/main", cwd=folder) == layout.root_id("project")
    again = _init(folder)
    assert (again.tier, again.made, again.mended) == (report.tier, (), ())


def test_a_folder_that_became_a_host(tmp_path: Path, run_git: RunGit) -> None:
    """After git init in the project, init moves the repository to where git clean can't reach it."""
    _apply(_init(tmp_path).tier, "a", run_git)
    folder = layout.memory_folder(tmp_path)
    (folder / "draft.md").write_text("mine")
    (folder / "a.md").write_text("edited")
    tip = run_git("rev-parse", "memory/main", cwd=folder)
    run_git("init", "--quiet", cwd=tmp_path)

    report = _init(tmp_path)

    assert report.made == ("moved-into-host", "exclude", "folder")
    assert report.tier == discover.find(tmp_path).project
    assert report.tier.git_dir == _git_dir(tmp_path)
    assert run_git("rev-parse", "memory/main", cwd=folder) == tip
    assert run_git("status", "--porcelain", cwd=folder) == "M a.md\n?? draft.md".replace("M", " M")
    assert run_git("status", "--porcelain", cwd=tmp_path) == ""


def test_files_that_were_there_first(sealed_home: Path, run_git: RunGit) -> None:
    """Memory files that the user wrote before there was a tier are left as they are."""
    folder = config.user_memory_folder()
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text("mine")

    tiersetup.init(sealed_home, scope="user")

    assert (folder / "mine.md").read_text() == "mine"
    assert run_git("status", "--porcelain", cwd=folder) == "?? mine.md"


@pytest.mark.parametrize("where", ["config", "state"])
def test_no_project_begins_in_our_own_folders(where: str, sealed_home: Path) -> None:
    """The user tier's folder and the state folder are no places for a project."""
    tiersetup.init(sealed_home, scope="user")
    place = config.user_memory_folder() if where == "config" else config.state_dir()
    place.mkdir(parents=True, exist_ok=True)

    with pytest.raises(BadInputError) as raised:
        _init(place)

    assert raised.value.reference == "no-project-here"


@pytest.mark.parametrize("kind", ["file", "link", "repository"])
def test_something_in_the_folders_place(
    kind: str, host: Path, tmp_path: Path, run_git: RunGit
) -> None:
    """What has the place of our folder is refused and stays, and nothing else is left behind."""
    place = host / layout.FOLDER
    if kind == "file":
        place.write_text("mine")
    elif kind == "link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    else:
        (place / "memory").mkdir(parents=True)
        run_git("init", "--quiet", f"--separate-git-dir={tmp_path / 'g'}", cwd=place / "memory")
    before = _all_files(host)

    with pytest.raises(BadInputError) as raised:
        _init(host)

    assert raised.value.reference == "folder-in-the-way"
    assert _all_files(host) == before
    assert not (host / ".git/gitmem").exists()


def test_a_host_that_tracks_our_folder(host: Path, run_git: RunGit) -> None:
    """Init refuses it, also where the files are not checked out, and leaves no trace."""
    blob = run_git("hash-object", "-w", "README.md", cwd=host)
    name = f"{layout.FOLDER}/memory/a.md"
    run_git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", cwd=host)
    before = _all_files(host)

    with pytest.raises(BadInputError) as raised:
        _init(host)

    assert raised.value.reference == "host-tracks-memory"
    assert _all_files(host) == before


def test_a_gitignore_that_takes_our_folder_in(host: Path) -> None:
    """A rule of the project's that wins over info/exclude is told of."""
    (host / ".gitignore").write_text("!.custom-agent/\n")

    report = tiersetup.init(host, scope="project", ask_remote=False)

    assert len(report.notes) == 1
    assert ".gitignore" in report.notes[0]


@pytest.mark.plain_user
def test_a_read_only_folder(tmp_path: Path) -> None:
    """Where nothing can be written, that is said and nothing is left."""
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(BadInputError) as raised:
            _init(tmp_path)
    finally:
        tmp_path.chmod(0o755)

    assert raised.value.reference == "cannot-write"
    assert list(tmp_path.iterdir()) == []


# -- mending -------------------------------------------------------------------------------------


def _delete_folder(host: Path, run_git: RunGit) -> None:
    shutil.rmtree(host / layout.FOLDER)


def _delete_link(host: Path, run_git: RunGit) -> None:
    (layout.memory_folder(host) / ".git").unlink()


def _delete_admin(host: Path, run_git: RunGit) -> None:
    shutil.rmtree(layout.worktree_admin(_git_dir(host)))


def _half_delete_admin(host: Path, run_git: RunGit) -> None:
    (layout.worktree_admin(_git_dir(host)) / "commondir").unlink()


def _prune(host: Path, run_git: RunGit) -> None:
    shutil.rmtree(host / layout.FOLDER)
    run_git("worktree", "prune", "--expire=now", cwd=_git_dir(host))


def _forget_exclude(host: Path, run_git: RunGit) -> None:
    (host / ".git/info/exclude").unlink()


def _forget_config(host: Path, run_git: RunGit) -> None:
    file = _git_dir(host) / "config"
    run_git("config", "--file", file, "--unset", "merge.ff", cwd=host)
    run_git("config", "--file", file, "core.bare", "false", cwd=host)


def _other_head(host: Path, run_git: RunGit) -> None:
    (_git_dir(host) / "HEAD").write_text("ref: refs/heads/master\n")


def _empty_folders(host: Path, run_git: RunGit) -> None:
    shutil.rmtree(_git_dir(host) / "hooks")


def _old_hook(host: Path, run_git: RunGit) -> None:
    hook = layout.hooks_path(_git_dir(host)) / "pre-commit"
    hook.write_text("#!/bin/sh\n# gitmem hook: pre-commit, of gitmem 0.0.1\nexit 1\n")


@pytest.mark.parametrize(
    ("damage", "steps"),
    [
        (_delete_folder, ("folder",)),
        (_delete_link, ("folder",)),
        (_delete_admin, ("folder",)),
        (_half_delete_admin, ("folder",)),
        (_prune, ("folder",)),
        (_forget_exclude, ("exclude",)),
        (_forget_config, ("config",)),
        (_other_head, ("head",)),
        (_empty_folders, ("folders", "hooks")),
        (_old_hook, ("hooks",)),
    ],
)
def test_what_is_broken_is_mended(
    damage: Callable[[Path, RunGit], None], steps: tuple[str, ...], host: Path, run_git: RunGit
) -> None:
    """Init puts right what was deleted or changed, and only that."""
    tier = _init(host).tier
    _apply(tier, "a", run_git)
    tip = run_git("rev-parse", "memory/main", cwd=tier.folder)
    damage(host, run_git)

    report = _init(host)

    assert (report.tier, report.made, report.mended) == (tier, (), steps)
    assert run_git("rev-parse", "memory/main", cwd=tier.folder) == tip
    assert run_git("status", "--porcelain", "--branch", cwd=tier.folder) == "## memory/main"
    assert (layout.memory_folder(host) / "a.md").is_file()
    assert run_git("status", "--porcelain", cwd=host) == ""
    assert _init(host).mended == ()


def test_a_moved_project_is_mended(host: Path, run_git: RunGit) -> None:
    """After a move init says that it put the paths right."""
    _init(host)
    moved = host.rename(host.with_name("moved"))

    report = _init(moved)

    assert report.mended == ("links",)
    assert run_git("status", "--porcelain", cwd=report.tier.folder) == ""


def test_a_deleted_branch_begins_again(host: Path, run_git: RunGit) -> None:
    """Only where memory/main is really gone is it made again, packed refs count."""
    tier = _init(host).tier
    _apply(tier, "a", run_git)
    run_git("pack-refs", "--all", cwd=tier.folder)
    assert _init(host).mended == ()
    run_git("update-ref", "-d", layout.MAIN, cwd=tier.git_dir)

    assert _init(host).mended == ("main",)

    assert run_git("rev-parse", "memory/main", cwd=tier.git_dir) == layout.root_id("project")


def test_a_symbolic_branch_is_refused(host: Path, run_git: RunGit) -> None:
    """Where another ref would decide what is memory, init does not go on."""
    tier = _init(host).tier
    run_git("symbolic-ref", layout.MAIN, "refs/heads/other", cwd=tier.git_dir)

    with pytest.raises(BadInputError) as raised:
        _init(host)

    assert raised.value.reference == "symbolic-ref"


def test_edits_are_left_when_the_folder_is_mended(host: Path, run_git: RunGit) -> None:
    """Edited and untracked files stay as they are; missing ones are written."""
    tier = _init(host).tier
    folder = layout.memory_folder(host)
    for key in ("a", "b"):
        _apply(tier, key, run_git)
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "a.md").write_text("mine")
    (folder / "c.md").write_text("mine too")

    assert _init(host).mended == ("folder",)

    assert (folder / "a.md").read_text() == "mine"
    assert run_git("status", "--porcelain", cwd=folder) == " M a.md\n?? c.md"


def test_files_are_written_byte_for_byte(host: Path, run_git: RunGit) -> None:
    """A user's attributes don't convert what is written to the folder."""
    tier = _init(host).tier
    _apply(tier, "a", run_git)
    attributes = host.parent / "attributes"
    attributes.write_text("*.md text eol=crlf\n")
    run_git("config", "--global", "core.attributesFile", str(attributes), cwd=host)
    shutil.rmtree(host / layout.FOLDER)

    _init(host)

    assert b"\r" not in (layout.memory_folder(host) / "a.md").read_bytes()


# -- what a host goes through ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("clean", "-ffdx"),
        ("gc", "--quiet", "--prune=now"),
        ("stash", "--include-untracked"),
        ("stash", "--all"),
        ("checkout", "--quiet", "--orphan", "other"),
        ("reset", "--quiet", "--hard", "HEAD~1"),
        ("worktree", "prune", "--expire=now"),
    ],
)
def test_the_history_outlives_the_hosts_commands(
    command: tuple[str, ...], host: Path, run_git: RunGit
) -> None:
    """Whatever is cleaned, collected or stashed in the host, memory is there, or comes back."""
    tier = _init(host).tier
    _apply(tier, "a", run_git)
    tip = run_git("rev-parse", "memory/main", cwd=tier.git_dir)
    (host / "untracked").write_text("x")

    run_git(*command, cwd=host)

    found = discover.find(host)
    assert found.project == tier
    tierrepo.restore_folder(found.project)
    assert run_git("rev-parse", "memory/main", cwd=tier.folder) == tip
    assert run_git("status", "--porcelain", cwd=tier.folder) == ""
    assert (layout.memory_folder(host) / "a.md").is_file()
    assert run_git("fsck", "--strict", "--no-dangling", cwd=tier.folder) == ""


def test_the_hosts_own_listing_shows_nothing(host: Path, run_git: RunGit) -> None:
    """Status, branches, tags and worktrees of the host know nothing of memory."""
    tier = _init(host).tier
    _apply(tier, "a", run_git)

    assert run_git("status", "--porcelain", "--untracked-files=all", cwd=host) == ""
    assert run_git("for-each-ref", "--format=%(refname)", cwd=host) == "refs/heads/main"
    assert run_git("worktree", "list", "--porcelain", cwd=host).count("worktree ") == 1


# -- kills -----------------------------------------------------------------------------------------

_KILLER = """\
#!/bin/sh
n=$(cat "$GITMEM_TEST_COUNT")
echo $((n - 1)) > "$GITMEM_TEST_COUNT"
[ "$n" -ne 0 ] || { kill -9 $PPID; exit 1; }
exec "$GITMEM_TEST_GIT" "$@"
"""


def _killed(action: Callable[[], object], at: int, tools: Path, count: Path) -> bool:
    """Run `action` in a child that is killed when it starts git for the `at`th time."""
    count.write_text(str(at))
    child = os.fork()
    if child == 0:
        os.environ |= {
            "GITMEM_TEST_COUNT": str(count),
            "GITMEM_TEST_GIT": shutil.which("git") or "",
            "PATH": f"{tools}:{os.environ['PATH']}",
        }
        action()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with a git that kills who starts it."""
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "git").write_text(_KILLER)
    (folder / "git").chmod(0o755)
    return folder


def test_init_killed_anywhere(host: Path, tools: Path, tmp_path: Path, run_git: RunGit) -> None:
    """After a kill at any start of git the host is sound, and init completes what was begun."""
    template = shutil.copytree(host, tmp_path / "template", symlinks=True)
    before = _fingerprint(template)
    at = 0
    while True:
        shutil.rmtree(host)
        shutil.copytree(template, host, symlinks=True)
        if not _killed(lambda: _init(host), at, tools, tmp_path / "count"):
            break
        assert _fingerprint(host) == before

        tier = _init(host).tier

        assert run_git("rev-parse", "memory/main", cwd=tier.folder) == layout.root_id("project")
        assert run_git("status", "--porcelain", cwd=tier.folder) == ""
        assert not list(host.rglob(".gitmem-new-*"))
        at += 1
    assert at > 5


def test_deinit_killed_anywhere(host: Path, tools: Path, tmp_path: Path, run_git: RunGit) -> None:
    """After a kill at any start of git, init brings all back, or deinit completes."""
    _apply(_init(host).tier, "a", run_git)
    template = shutil.copytree(host, tmp_path / "template", symlinks=True)
    at = 0
    while True:
        shutil.rmtree(host)
        shutil.copytree(template, host, symlinks=True)
        discover.find(host)
        if not _killed(lambda: tiersetup.deinit(host), at, tools, tmp_path / "count"):
            break
        if at % 2:
            folder = _init(host).tier.folder
            assert run_git("status", "--porcelain", cwd=folder) == ""
            assert (layout.memory_folder(host) / "a.md").is_file()
        else:
            tiersetup.deinit(host)
            assert not (host / layout.FOLDER).exists()
        at += 1
    assert at > 2


# -- a remote's memory -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def _templates() -> dict[str, Path]:
    """Repositories that were made once and are copied."""
    return {}


def _make_shared(host: Path, run_git: RunGit) -> None:
    tier = _init(host).tier
    _apply(tier, "a", run_git, author="Ann")
    _apply(tier, "b", run_git, author="Bob")
    _apply(tier, "topic", run_git, author="Ann")
    run_git("branch", "memory/candidate/open", cwd=tier.folder)
    shared = host.with_name("shared.git")
    run_git("clone", "--quiet", "--bare", host, shared, cwd=host)
    run_git("push", "--quiet", shared, "refs/heads/memory/*", cwd=tier.folder)


@pytest.fixture
def shared(
    host: Path,
    run_git: RunGit,
    _templates: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A bare repository that carries the host's code and memory of two people."""
    if "shared" not in _templates:
        template = tmp_path_factory.mktemp("shared-template")
        shutil.copytree(host, template / "host", symlinks=True)
        _make_shared(template / "host", run_git)
        _templates["shared"] = template
    shutil.rmtree(host)
    for name in ("host", "shared.git"):
        shutil.copytree(_templates["shared"] / name, host.with_name(name), symlinks=True)
    discover.find(host)
    return host.with_name("shared.git")


def _clone(shared: Path, run_git: RunGit, *options: str) -> Path:
    clone = shared.with_name("clone")
    run_git("clone", "--quiet", *options, f"file://{shared}", clone, cwd=shared.parent)
    return clone


def _holds(git_dir: Path, commit: str) -> bool:
    listed = os.popen(f"git --git-dir='{git_dir}' cat-file --batch-all-objects --batch-check")
    with listed:
        return commit in listed.read()


@pytest.mark.parametrize(
    "options", [(), ("--depth=1",), ("--filter=blob:none",), ("--single-branch",)]
)
def test_a_remotes_memory_is_offered(
    options: tuple[str, ...], shared: Path, run_git: RunGit
) -> None:
    """Init tells what the remote has, keeps nothing of it, and take_up makes it the project's."""
    run_git("config", "uploadpack.allowFilter", "true", cwd=shared)
    clone = _clone(shared, run_git, *options)
    tip = run_git("rev-parse", "memory/main", cwd=shared)

    report = tiersetup.init(clone, scope="project")

    tier = report.tiers[0].tier
    assert report.offer == tiersetup.Offer(
        remote="origin",
        url=f"file://{shared}",
        tip=tip,
        entries=3,
        approvers=(("Ann <ann@example.org>", 2), ("Bob <bob@example.org>", 1)),
    )
    assert run_git("rev-parse", "memory/main", cwd=tier.folder) == layout.root_id("project")
    assert len(run_git("for-each-ref", cwd=tier.folder).splitlines()) == 1
    assert not _holds(tier.git_dir, tip)
    assert not list((clone / ".git/gitmem").glob(".gitmem-new-*"))

    assert tiersetup.take_up(clone, report.offer) == tier

    assert run_git("rev-parse", "memory/main", cwd=tier.folder) == tip
    assert run_git("status", "--porcelain", cwd=tier.folder) == ""
    assert {file.name for file in layout.memory_folder(clone).glob("*.md")} == {
        "a.md",
        "b.md",
        "topic.md",
    }
    assert run_git("fsck", "--strict", cwd=tier.folder) == ""
    assert run_git("config", "remote.origin.tagOpt", cwd=tier.folder) == "--no-tags"
    run_git("fetch", "--quiet", cwd=tier.folder)
    assert run_git("for-each-ref", "--format=%(refname)", "refs/remotes", cwd=tier.folder) == (
        "refs/remotes/origin/memory/candidate/open\nrefs/remotes/origin/memory/main"
    )
    again = tiersetup.init(clone, scope="project")
    assert (again.offer, again.notes) == (None, ())


def test_the_host_is_untouched_by_an_offer(shared: Path, run_git: RunGit) -> None:
    """Asking the remote and taking up its memory writes nothing into the host's own repository."""
    clone = _clone(shared, run_git, "--depth=1")
    before = _fingerprint(clone)

    offer = tiersetup.init(clone, scope="project").offer
    assert offer is not None
    tiersetup.take_up(clone, offer)

    assert _fingerprint(clone) == before


def test_an_offer_that_is_no_longer_so(shared: Path, host: Path, run_git: RunGit) -> None:
    """What was not shown is not taken up."""
    clone = _clone(shared, run_git)
    report = tiersetup.init(clone, scope="project")
    assert report.offer is not None
    source = discover.find(host).project
    assert source is not None
    _apply(source, "late", run_git)
    run_git("push", "--quiet", shared, "memory/main", cwd=source.folder)

    with pytest.raises(ConflictError) as raised:
        tiersetup.take_up(clone, report.offer)

    assert raised.value.reference == "offer-stale"
    git_dir = report.tiers[0].tier.git_dir
    assert len(run_git("for-each-ref", cwd=git_dir).splitlines()) == 1
    assert not tierrepo.has_remote(git_dir)


def test_a_project_with_memory_is_offered_none(shared: Path, run_git: RunGit) -> None:
    """Where there is memory already, the remote is not asked; an older offer is void."""
    clone = _clone(shared, run_git)
    report = tiersetup.init(clone, scope="project")
    assert report.offer is not None
    _apply(report.tiers[0].tier, "own", run_git)

    assert tiersetup.init(clone, scope="project").offer is None
    with pytest.raises(ConflictError):
        tiersetup.take_up(clone, report.offer)


def test_a_remote_of_the_same_name_begun_elsewhere(shared: Path, run_git: RunGit) -> None:
    """A memory/main that did not begin with gitmem's first commit is told of, not offered."""
    tree = run_git("mktree", cwd=shared)
    commit = run_git("commit-tree", "-m", "x", tree, cwd=shared)
    run_git("update-ref", layout.MAIN, commit, cwd=shared)
    clone = _clone(shared, run_git)

    report = tiersetup.init(clone, scope="project")

    assert report.offer is None
    assert len(report.notes) == 1


def test_a_remote_that_does_not_answer(host: Path, run_git: RunGit) -> None:
    """Init succeeds without the remote, and says that it could not be asked."""
    run_git("remote", "add", "origin", host.parent / "nowhere", cwd=host)

    report = tiersetup.init(host, scope="project")

    assert report.offer is None
    assert len(report.notes) == 1
    assert "'origin' could not be asked" in report.notes[0]


@pytest.mark.parametrize(
    ("names", "asked"),
    [(("up",), "up"), (("up", "origin"), "origin"), (("up", "down"), None)],
)
def test_which_remote_is_asked(
    names: tuple[str, ...], asked: str | None, host: Path, run_git: RunGit
) -> None:
    """The only remote, or else the one called origin."""
    for name in names:
        run_git("remote", "add", name, f"../{name}.git", cwd=host)

    notes = tiersetup.init(host, scope="project").notes

    assert [note.split("'")[1] for note in notes] == ([asked] if asked else [])


def test_the_hosts_settings_reach_the_remote(shared: Path, run_git: RunGit) -> None:
    """A url that only the host's own insteadOf makes one is understood, a relative path too."""
    clone = _clone(shared, run_git)
    run_git("config", f"url.{shared.parent}/.insteadOf", "team:", cwd=clone)
    run_git("remote", "set-url", "origin", "team:shared.git", cwd=clone)

    offer = tiersetup.init(clone, scope="project").offer
    assert offer is not None
    assert offer.url == "team:shared.git"

    run_git("remote", "set-url", "origin", "../shared.git", cwd=clone)
    offer = tiersetup.init(clone / ".git", scope="project").offer or tiersetup.init(clone).offer
    assert offer is not None
    assert offer.url == str(shared)


# -- deinit ----------------------------------------------------------------------------------------


def test_deinit_keeps_the_history(host: Path, run_git: RunGit) -> None:
    """All of gitmem is out of the project and unread, and the next init brings it back."""
    tier = _init(host).tier
    _apply(tier, "a", run_git)
    tip = run_git("rev-parse", "memory/main", cwd=tier.git_dir)

    report = tiersetup.deinit(host)

    assert report == tiersetup.DeinitReport("project", host / ".git/gitmem/retired.git", ())
    assert not (host / layout.FOLDER).exists()
    assert discover.find(host).project is None
    back = _init(host)
    assert back.made == ("brought-back", "exclude", "folder")
    assert back.tier == tier
    assert run_git("rev-parse", "memory/main", cwd=tier.folder) == tip
    assert run_git("status", "--porcelain", cwd=tier.folder) == ""
    assert (layout.memory_folder(host) / "a.md").is_file()
    assert _init(host).mended == ()


def test_deinit_of_a_folder_that_is_a_repository(tmp_path: Path, run_git: RunGit) -> None:
    """The history is kept beside the memory folder, and comes back from a subdirectory too."""
    tier = _init(tmp_path).tier
    _apply(tier, "a", run_git)
    # So that it is on record that the files were there.
    tierrepo.fill_folder(tier)
    (tmp_path / "sub").mkdir()

    report = tiersetup.deinit(tmp_path / "sub")

    assert report.kept_repository == tmp_path / layout.FOLDER / "retired.git"
    assert not layout.memory_folder(tmp_path).exists()
    assert discover.find(tmp_path).here is None
    back = _init(tmp_path / "sub")
    assert (back.tier, back.made) == (tier, ("brought-back",))
    assert run_git("status", "--porcelain", cwd=tier.folder) == ""
    assert (layout.memory_folder(tmp_path) / "a.md").is_file()


def test_deinit_of_the_user_tier(tmp_path: Path, run_git: RunGit) -> None:
    """The user tier goes only where it is named."""
    tier = tiersetup.init(tmp_path, scope="user").tiers[0].tier
    _apply(tier, "a", run_git)

    with pytest.raises(BadInputError) as raised:
        tiersetup.deinit(tmp_path)
    assert raised.value.reference == "scope-needed"

    tiersetup.deinit(tmp_path, scope="user")
    assert discover.find(tmp_path).user is None
    assert tiersetup.init(tmp_path, scope="user").tiers[0].made == ("brought-back",)
    tiersetup.deinit(tmp_path, scope="user", purge=True)
    assert not config.user_memory_folder().exists()
    assert not list(config.user_config_dir().glob("custom-agent/*"))


def test_the_users_own_files_stay(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """Edited and untracked files, links and other folders are kept and told of, also by a purge."""
    tier = _init(host).tier
    for key in ("a", "b", "c"):
        _apply(tier, key, run_git)
    folder = layout.memory_folder(host)
    (folder / "a.md").write_text("edited")
    run_git("update-index", "--assume-unchanged", "b.md", cwd=folder)
    (folder / "b.md").write_text("edited behind git's back")
    (folder / "topic").mkdir()
    (folder / "topic" / "new.md").write_text("mine")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "x").write_text("far")
    (folder / "far").symlink_to(tmp_path / "far")
    (host / layout.FOLDER / "settings.json").write_text("{}")
    own = tuple(folder / name for name in ("a.md", "b.md", "far", "topic/new.md"))
    assert tiersetup.plan_deinit(host, purge=True).own == own

    report = tiersetup.deinit(host, purge=True)

    assert report == tiersetup.DeinitReport("project", None, own)
    left = {str(path.relative_to(host)) for path in (host / layout.FOLDER).rglob("*")}
    assert left == {
        f"{layout.FOLDER}/{name}"
        for name in ("memory", "memory/a.md", "memory/b.md", "memory/far", "memory/topic")
    } | {f"{layout.FOLDER}/memory/topic/new.md", f"{layout.FOLDER}/settings.json"}
    assert (tmp_path / "far" / "x").is_file()


def test_edits_are_edits_again_after_init(host: Path, run_git: RunGit) -> None:
    """What deinit left in the folder is there as an edit when the tier comes back."""
    _apply(_init(host).tier, "a", run_git)
    folder = layout.memory_folder(host)
    (folder / "a.md").write_text("edited")
    tiersetup.deinit(host)

    _init(host)

    assert run_git("status", "--porcelain", cwd=folder) == " M a.md"
    assert (folder / "a.md").read_text() == "edited"


def test_a_file_behind_a_link_is_not_removed(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """A folder of the tier that was replaced by a link is not followed."""
    tier = _init(host).tier
    folder = layout.memory_folder(host)
    (folder / "topic").mkdir()
    (folder / "topic" / "a.md").write_text("text")
    run_git("add", ".", cwd=folder)
    run_git("commit", "--quiet", "--no-verify", "--message", "x", cwd=folder)
    shutil.move(folder / "topic", tmp_path / "topic")
    (folder / "topic").symlink_to(tmp_path / "topic")

    tiersetup.deinit(host, purge=True)

    assert (tmp_path / "topic" / "a.md").is_file()
    assert not tier.git_dir.exists()


def test_the_plan_counts_what_is_destroyed(host: Path, tmp_path: Path, run_git: RunGit) -> None:
    """Entries, candidates, session records, dropped files and sessions of all worktrees are counted."""
    tier = _init(host).tier
    for key in ("a", "b"):
        _apply(tier, key, run_git)
    (layout.memory_folder(host) / "README.md").write_text("no entry")
    run_git("add", "README.md", cwd=tier.folder)
    run_git("commit", "--quiet", "--no-verify", "--message", "x", cwd=tier.folder)
    run_git("branch", "memory/candidate/c1", cwd=tier.folder)
    run_git("update-ref", layout.session_ref("s1"), "HEAD", cwd=tier.folder)
    run_git("worktree", "add", "--quiet", tmp_path / "w", cwd=host)
    dropped = []
    for top in (host, tmp_path / "w"):
        layout.drop_box(top).mkdir(parents=True)
        dropped.append(layout.drop_box(top) / "x.md")
        dropped[-1].write_text("dropped")
    session = layout.sessions_folder(host) / "s1"
    run_git("init", "--quiet", session, cwd=host)

    plan = tiersetup.plan_deinit(host, purge=True)

    assert (plan.entries, plan.candidates, plan.records) == (2, 1, 1)
    assert (plan.dropped, plan.sessions, plan.own) == (tuple(dropped), (session,), ())
    kept = tiersetup.deinit(host)
    assert set(kept.kept_files) == {*dropped, session}
    assert run_git("fsck", cwd=session) == ""
    tiersetup.deinit(host, purge=True)
    assert not (host / layout.FOLDER).exists()
    assert not (tmp_path / "w" / layout.FOLDER).exists()
    assert not (host / ".git/gitmem").exists()


def test_nothing_to_take_out(host: Path) -> None:
    """Where there is no tier, that is said."""
    for scope in ("project", "user"):
        with pytest.raises(NotFoundError) as raised:
            tiersetup.deinit(host, scope=scope)  # type: ignore[arg-type]
        assert raised.value.reference == "no-tier"


def test_two_histories_are_not_mixed(host: Path) -> None:
    """Where an older history is kept, another is not put over it."""
    _init(host)
    (host / ".git/gitmem/retired.git").mkdir()

    with pytest.raises(BadInputError) as raised:
        tiersetup.deinit(host)

    assert raised.value.reference == "retired-in-the-way"
    assert discover.find(host).project is not None
