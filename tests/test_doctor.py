"""Each fault is made for real, found, and gone once the command is run that its finding names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gitmem import doctor
from gitmem.findings import Finding
from gitmem.git import tierrepo
from gitmem.memory import Draft, Memory, open_memory

RunGit = Callable[..., str]
Commit = Callable[..., str]


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project's memory with one approved entry, `good`."""
    found = open_memory(project)
    found.add(Draft("good", "Approved.", "fact"), by=found.person())
    return found


@pytest.fixture
def folder(memory: Memory) -> Path:
    """The memory folder of the project."""
    return memory.path / ".custom-agent" / "memory"


@pytest.fixture
def git_dir(memory: Memory) -> Path:
    """The repository of the project's memory."""
    return memory.store("project").place.git_dir


@pytest.fixture
def commit(folder: Path, run_git: RunGit) -> Commit:
    """Commits a body as the file of an entry past the hooks, as others would; gives the commit."""

    def commit(key: str, body: str, message: str, *more: str) -> str:
        (folder / f"{key}.md").write_text(f"---\ntype: fact\n---\n\n{body}\n", encoding="utf-8")
        run_git("add", f"{key}.md", cwd=folder)
        run_git("commit", "-q", "--no-verify", "-m", message, *more, cwd=folder)
        return run_git("rev-parse", "HEAD", cwd=folder)

    return commit


def _examine(path: Path) -> dict[str, Finding]:
    """The findings at a place by kind, where no kind comes twice."""
    found = doctor.examine(path)
    kinds = [finding.kind for finding in found]
    assert len(set(kinds)) == len(kinds), kinds
    return dict(zip(kinds, found, strict=True))


def _kinds(path: Path) -> set[str]:
    return {finding.kind for finding in doctor.examine(path)}


@pytest.fixture(scope="module", autouse=True)
def _program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A `gitmem` with the name of this interpreter, which hooks hold, however the tests were begun."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "gitmem").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m gitmem "$@"\n')
    (folder / "gitmem").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield


def _run(command: str, path: Path) -> None:
    """Run a command as a person would type it at `path`."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def _mended(path: Path, kind: str, command: str, *, run: str = "") -> None:
    """The fault is found, names `command`, and is gone when that (or `run`) has been run."""
    finding = _examine(path)[kind]
    assert command in finding.hint
    _run(run or command, path)
    assert kind not in _kinds(path)


def test_nothing_is_wrong(memory: Memory) -> None:
    """Right after init, and after a decision, there is nothing to say."""
    assert doctor.examine(memory.path) == []
    assert doctor.examine(memory.path / ".custom-agent" / "memory") == []


# -- the machine ---------------------------------------------------------------------------------


def test_no_git(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be looked at without git."""
    monkeypatch.setenv("PATH", "/nowhere")

    (finding,) = doctor.examine(memory.path)
    assert (finding.kind, finding.hint) == ("git-missing", "install git 2.39 or newer")


def test_an_old_git(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that obeys too little is named with its version."""
    git = shutil.which("git")
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text(
        f'#!/bin/sh\ncase "$*" in *version) echo git version 2.34.1;; *) exec {git} "$@";; esac\n'
    )
    old.chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{old.parent}:{path}")

    finding = _examine(memory.path)["git-too-old"]
    assert finding.message == "git is 2.34.1, and gitmem needs 2.39 or newer"
    monkeypatch.setenv("PATH", path)
    assert doctor.examine(memory.path) == []


def test_no_identity(memory: Memory, sealed_home: Path) -> None:
    """Git does not know who the user is, and says how to tell it."""
    (sealed_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    command = 'git config --global user.name "Your Name" && git config --global user.email'

    _mended(memory.path, "no-identity", command, run=f"{command} you@example.com")


def test_no_memory_here(host: Path) -> None:
    """Neither tier is there; init makes both."""
    hints = [finding.hint for finding in doctor.examine(host)]
    assert hints == ["gitmem init --scope project", "gitmem init --scope user"]

    for hint in hints:
        _run(hint, host)
    assert doctor.examine(host) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
def test_somebody_elses_repository(memory: Memory, git_dir: Path) -> None:
    """Git does not trust it, and what it says to do helps."""
    for place in (memory.path, memory.path / ".git", git_dir):
        os.chown(place, 65534, 65534)
    for place in (memory.path, git_dir):
        finding = _examine(memory.path)["unsafe-repository"]
        assert finding.hint.endswith(f"safe.directory {place}")
        _run(finding.hint.removeprefix("if you trust it: "), memory.path)
    assert doctor.examine(memory.path) == []


def test_a_file_where_the_cache_should_be(memory: Memory, sealed_home: Path) -> None:
    """What is no folder is named, and can be moved away."""
    cache = sealed_home / ".cache" / "gitmem"
    shutil.rmtree(cache, ignore_errors=True)
    cache.write_text("mine")

    _mended(memory.path, "folder-in-the-way", f"mv {cache} {cache}.old")


@pytest.mark.plain_user
def test_a_state_folder_that_can_not_be_written(memory: Memory, sealed_home: Path) -> None:
    """The witness has no place, and that would go unseen."""
    state = sealed_home / ".local" / "state" / "gitmem"
    state.chmod(0o500)

    _mended(memory.path, "cannot-write", f"chmod u+rwx {state}")


# -- the repository ------------------------------------------------------------------------------


def test_a_project_that_was_moved(memory: Memory, tmp_path: Path) -> None:
    """The old place is named, and any command of gitmem's there mends it."""
    moved = tmp_path / "elsewhere"
    memory.path.rename(moved)
    finding = _examine(moved)["links-stale"]

    assert str(moved / ".git" / "gitmem" / "memory.git" / "config") in finding.message
    _mended(moved, "links-stale", "gitmem init")
    assert doctor.examine(moved) == []


def test_a_config_that_somebody_changed(memory: Memory, git_dir: Path, run_git: RunGit) -> None:
    """What merges rely on is named by its key."""
    run_git("config", "merge.ff", "only", cwd=git_dir)

    assert _examine(memory.path)["config-wrong"].message.endswith("rely on: merge.ff")
    _mended(memory.path, "config-wrong", "gitmem init")


def test_a_lock_that_a_killed_git_left(memory: Memory, git_dir: Path) -> None:
    """An old one is named; a young one is git at work."""
    lock = git_dir / "refs" / "heads" / "memory" / "main.lock"
    lock.touch()
    assert doctor.examine(memory.path) == []
    os.utime(lock, (time.time() - 3600,) * 2)

    _mended(memory.path, "lock-left", f"rm {lock}")


def test_a_shallow_repository(
    memory: Memory, tmp_path: Path, git_dir: Path, run_git: RunGit
) -> None:
    """A part of the history is not enough, and git can fetch the rest."""
    copy = tmp_path / "copy.git"
    run_git("clone", "-q", "--bare", git_dir, copy, cwd=tmp_path)
    run_git("remote", "add", "origin", copy, cwd=git_dir)
    (git_dir / "shallow").write_text(run_git("rev-parse", "memory/main", cwd=git_dir) + "\n")
    command = "gitmem git --scope project fetch --unshallow"

    assert command in {finding.hint for finding in doctor.examine(memory.path)}
    _run(command, memory.path)
    assert "shallow" not in _kinds(memory.path)


def test_missing_objects(memory: Memory, tmp_path: Path, git_dir: Path, run_git: RunGit) -> None:
    """What refs need and is gone can be had from another clone."""
    copy = tmp_path / "copy.git"
    run_git("clone", "-q", "--bare", git_dir, copy, cwd=tmp_path)
    run_git("remote", "add", "origin", copy, cwd=git_dir)
    blob = run_git("rev-parse", "memory/main:good.md", cwd=git_dir)
    (git_dir / "objects" / blob[:2] / blob[2:]).unlink()
    found = {finding.kind: finding for finding in doctor.examine(memory.path)}

    assert f"missing, such as blob {blob}" in found["objects-missing"].message
    _run(found["objects-missing"].hint, memory.path)
    assert "objects-missing" not in _kinds(memory.path)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda hook: hook.unlink(), "hook-missing"),
        (lambda hook: hook.write_text("#!/bin/sh\n# mine\n"), "hook-foreign"),
        (lambda hook: hook.write_text(hook.read_text() + "# more\n"), "hook-outdated"),
        (lambda hook: hook.chmod(0o644), "hook-outdated"),
    ],
    ids=["missing", "foreign", "changed", "not-executable"],
)
def test_hooks(memory: Memory, git_dir: Path, change: Callable[[Path], None], kind: str) -> None:
    """A hook that is not as this gitmem has it is installed again; a foreign one runs before it."""
    change(git_dir / "hooks" / "pre-push")

    _mended(memory.path, kind, "gitmem hooks install")


def test_a_merge_driver_that_is_missing(memory: Memory, git_dir: Path) -> None:
    """It is registered again."""
    (git_dir / "info" / "attributes").unlink()

    _mended(memory.path, "merge-driver-missing", "gitmem hooks install")


def test_two_foreign_hooks(memory: Memory, git_dir: Path) -> None:
    """Where both names are taken a person must choose, and the way is named."""
    hook = git_dir / "hooks" / "pre-push"
    for path in (hook, hook.with_name("pre-push.local")):
        path.write_text("#!/bin/sh\n")

    _mended(memory.path, "hook-foreign", f"rm {hook}.local && gitmem hooks install")


# -- the folder ----------------------------------------------------------------------------------


def test_a_folder_that_is_gone(memory: Memory, folder: Path) -> None:
    """It is made again."""
    shutil.rmtree(folder)

    _mended(memory.path, "folder-apart", "gitmem init")
    assert (folder / "good.md").exists()


def test_a_folder_that_lost_its_link(memory: Memory, folder: Path) -> None:
    """Files without the .git file beside them are nobody's worktree."""
    (folder / ".git").unlink()

    _mended(memory.path, "folder-apart", "gitmem init")


def test_a_folder_on_another_branch(memory: Memory, folder: Path, run_git: RunGit) -> None:
    """No decision goes on there."""
    run_git("switch", "-q", "-c", "memory/candidate/x", cwd=folder)

    _mended(memory.path, "folder-elsewhere", "gitmem git --scope project switch memory/main")


def test_a_merge_under_way(memory: Memory, folder: Path, run_git: RunGit) -> None:
    """It can be finished or given up."""
    id_ = memory.propose(Draft("new", "New.", "fact"), rationale="r").id
    run_git("merge", "-q", "--no-commit", f"memory/candidate/{id_}", cwd=folder)

    _mended(memory.path, "operation-in-progress", "gitmem git --scope project merge --abort")


def test_a_folder_that_lags_behind(memory: Memory, folder: Path, run_git: RunGit) -> None:
    """Only the ref was moved, as a push into it does."""
    memory.add(Draft("later", "Later.", "fact"), by=memory.person())
    git_dir = memory.store("project").place.git_dir
    run_git("update-ref", "refs/heads/memory/main", "refs/heads/memory/main^", cwd=git_dir)
    present = {finding.kind: finding.hint for finding in doctor.examine(memory.path)}
    assert present["folder-behind"] == "gitmem init"

    _run("gitmem init", memory.path)
    assert "folder-behind" not in _kinds(memory.path)
    assert run_git("status", "--porcelain", cwd=folder) == ""


def test_a_killed_decision(memory: Memory, git_dir: Path) -> None:
    """Its journal says that something is to be ended."""
    (git_dir / "gitmem-journal").write_text('{"main": "refs/heads/memory/main", "commits": []}')

    _mended(memory.path, "folder-behind", "gitmem init")


@pytest.mark.parametrize("change", ["edit", "delete", "add"])
def test_uncommitted_edits(memory: Memory, folder: Path, change: str) -> None:
    """They are read by nobody, and can become a candidate."""
    file = folder / ("new.md" if change == "add" else "good.md")
    if change == "delete":
        file.unlink()
    else:
        file.write_text("---\ntype: fact\n---\n\nBy hand.\n", encoding="utf-8")

    assert file.name in _examine(memory.path)["uncommitted-edits"].message
    _mended(
        memory.path,
        "uncommitted-edits",
        "gitmem adopt --scope project",
        run="gitmem adopt --scope project --yes",
    )


def test_edits_can_be_put_away(memory: Memory, folder: Path) -> None:
    """The other way out is git's own."""
    (folder / "new.md").write_text("mine", encoding="utf-8")

    _mended(
        memory.path, "uncommitted-edits", "gitmem git --scope project stash --include-untracked"
    )


def test_an_exclude_line_that_is_gone(memory: Memory, run_git: RunGit) -> None:
    """The code's git status would show the memory folder."""
    (memory.path / ".git" / "info" / "exclude").write_text("")

    _mended(memory.path, "exclude-missing", "gitmem init")
    assert run_git("status", "--porcelain", cwd=memory.path) == ""


def test_a_gitignore_that_takes_the_folder_in(memory: Memory) -> None:
    """A project's own rule wins over the exclude line, and git names it."""
    (memory.path / ".gitignore").write_text("!.custom-agent/\n")
    command = "git check-ignore -v .custom-agent"

    assert command in _examine(memory.path)["ignored-not"].hint
    shown = subprocess.run(command.split(), cwd=memory.path, capture_output=True, check=False)
    assert shown.stdout == b".gitignore:1:!.custom-agent/\t.custom-agent\n"
    (memory.path / ".gitignore").unlink()
    assert doctor.examine(memory.path) == []


def test_a_host_that_tracks_memory(memory: Memory, folder: Path, run_git: RunGit) -> None:
    """Nothing else is looked at: the code's repository must let go of it first."""
    (memory.path / ".custom-agent" / "notes").write_text("mine")
    run_git("add", "--force", ".custom-agent/notes", cwd=memory.path)

    (finding,) = doctor.examine(memory.path)
    assert finding.kind == "host-tracks-memory"
    _run(finding.hint.partition(": ")[2].removesuffix(", then commit"), memory.path)
    assert doctor.examine(memory.path) == []


def test_the_drop_box(memory: Memory) -> None:
    """What waits for long, and what can never become a candidate."""
    box = memory.path / ".custom-agent" / "candidates"
    box.mkdir()
    (box / "bad.md").write_text("no entry")
    (box / "old.md").write_text(
        "---\nid: mem_dropped\ntype: fact\nrationale: why\n---\n\nDropped.\n", encoding="utf-8"
    )
    assert _kinds(memory.path) == {"drop-faulty"}
    os.utime(box / "old.md", (time.time() - 100_000,) * 2)

    _mended(memory.path, "drop-unclaimed", "gitmem adopt", run="gitmem adopt --yes")
    assert [one.entries[0].id for one in memory.candidates()] == ["mem_dropped"]
    _mended(memory.path, "drop-faulty", f"rm {box / 'bad.md'}")


# -- plain git's view ----------------------------------------------------------------------------


def test_settings_of_the_code_alone(memory: Memory, git_dir: Path, run_git: RunGit) -> None:
    """Plain git would commit in the memory folder as somebody else."""
    run_git("config", "user.name", "Ann at Work", cwd=memory.path)
    finding = _examine(memory.path)["setting-unseen"]
    assert "Ann at Work" not in finding.hint + finding.message

    _run(finding.hint, memory.path)
    assert doctor.examine(memory.path) == []
    assert run_git("config", "user.name", cwd=git_dir) == "Ann at Work"
    run_git("config", "user.name", "Ann for memory", cwd=git_dir)
    assert doctor.examine(memory.path) == []


def test_how_remotes_are_reached(memory: Memory, git_dir: Path, run_git: RunGit) -> None:
    """Of interest where the memory has a remote; each value of a key is taken over."""
    key = "url.ssh://git@example.org/.insteadOf"
    for value in ("work:", "job:"):
        run_git("config", "--add", key, value, cwd=memory.path)
    assert doctor.examine(memory.path) == []
    run_git("remote", "add", "origin", "work:memory.git", cwd=git_dir)

    found = {finding.kind: finding for finding in doctor.examine(memory.path)}
    _run(found["setting-unseen"].hint, memory.path)
    assert "setting-unseen" not in _kinds(memory.path)
    assert run_git("config", "--get-all", key, cwd=git_dir) == "work:\njob:"


# -- remotes -------------------------------------------------------------------------------------


@pytest.fixture
def shared(memory: Memory, git_dir: Path, tmp_path: Path, run_git: RunGit) -> Path:
    """A remote, as gitmem sets one up, with all of the memory."""
    shared = tmp_path / "shared.git"
    run_git("init", "-q", "--bare", shared, cwd=tmp_path)
    tierrepo.add_remote(git_dir, "origin", str(shared))
    run_git("push", "-q", "origin", cwd=git_dir)
    return shared


def _elsewhere(shared: Path, place: Path, run_git: RunGit) -> None:
    """Somebody else applies a candidate of their own and pushes that."""
    run_git("clone", "-q", "-b", "memory/main", shared, place, cwd=shared)
    run_git("switch", "-q", "-c", "memory/candidate/theirs", cwd=place)
    (place / "theirs.md").write_text("---\ntype: fact\n---\n\nTheirs.\n", encoding="utf-8")
    run_git("add", ".", cwd=place)
    run_git("commit", "-q", "-m", "theirs", cwd=place)
    run_git("switch", "-q", "memory/main", cwd=place)
    run_git("merge", "-q", "--no-ff", "--no-edit", "memory/candidate/theirs", cwd=place)
    run_git("push", "-q", "origin", "memory/main", cwd=place)


def test_a_remote_that_is_up_to_date(memory: Memory, shared: Path) -> None:
    """There is nothing to say of it, whatever else its settings hold."""
    assert doctor.examine(memory.path) == []


def test_a_remote_that_plain_git_has_added(
    memory: Memory, shared: Path, git_dir: Path, run_git: RunGit
) -> None:
    """It would fetch the branches of the code, and push to them."""
    run_git("remote", "remove", "origin", cwd=git_dir)
    run_git("remote", "add", "origin", shared, cwd=git_dir)
    _mended(memory.path, "remote-config", f"gitmem remote --scope project {shared}")


def test_a_remote_that_was_never_asked(
    memory: Memory, shared: Path, git_dir: Path, run_git: RunGit
) -> None:
    """Nothing is known of its memory."""
    run_git("update-ref", "-d", "refs/remotes/origin/memory/main", cwd=git_dir)

    _mended(memory.path, "never-synced", "gitmem sync", run="gitmem sync --yes")


def test_approvals_that_were_not_pushed(memory: Memory, shared: Path) -> None:
    """Others can't see them yet."""
    memory.add(Draft("later", "Later.", "fact"), by=memory.person())
    assert _examine(memory.path)["unpushed"].message == "'origin' lacks 2 commits of memory/main"

    _mended(memory.path, "unpushed", "gitmem sync", run="gitmem sync --yes")


def test_a_remote_that_is_ahead(
    memory: Memory, shared: Path, tmp_path: Path, run_git: RunGit
) -> None:
    """Once it was fetched."""
    _elsewhere(shared, tmp_path / "theirs", run_git)
    _run("gitmem git fetch -q", memory.path)

    _mended(
        memory.path, "behind", "gitmem sync", run="gitmem git pull -q --no-edit origin memory/main"
    )


def test_a_remote_that_has_gone_apart(
    memory: Memory, shared: Path, tmp_path: Path, run_git: RunGit
) -> None:
    """Both have approvals that the other lacks."""
    _elsewhere(shared, tmp_path / "theirs", run_git)
    memory.add(Draft("later", "Later.", "fact"), by=memory.person())
    _run("gitmem git fetch -q", memory.path)
    assert _examine(memory.path)["diverged"].message == (
        "memory/main and that of 'origin' have gone apart: 2 commits here, 2 commits there"
    )

    run = "gitmem sync --yes"
    _mended(memory.path, "diverged", "gitmem sync", run=run)
    assert doctor.examine(memory.path) == []


# -- what nobody approved ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        ("Prices (#12)",),
        ("Prices (!12)",),
        ("Prices\n\nMemory-Event: candidate.created\nMemory-Candidate: cand_2026_k3f9x2ab",),
        ("Revert \"Merge branch 'x'\"\n\nThis reverts merge request !12",),
        (f"revert {'1' * 40}\n\nrevert Prices",),
    ],
    ids=["github", "gitlab", "rebase", "gitlab-revert", "gitea-revert"],
)
def test_a_merge_style_that_approves_nothing(
    memory: Memory, commit: Commit, more: tuple[str, ...]
) -> None:
    """Squashed and rebased candidates are told from plain commits, and put right by one command."""
    before = memory.store("project").main()
    commit("tests", "Run make test.", "Tests (#11)")
    last = commit("cents", "Prices are integers.", *more)
    found = {finding.kind: finding for finding in doctor.examine(memory.path)}
    command = f"gitmem adopt {before[:12]}..{last[:12]}"

    assert set(found) == {"unreviewed", "merge-style"}
    assert found["merge-style"].hint.startswith(f"{command}; ")
    _run(f"gitmem apply --yes $({command} --yes | cut -d: -f1)", memory.path)
    assert doctor.examine(memory.path) == []


def test_the_merge_style_of_a_remote(
    memory: Memory, shared: Path, tmp_path: Path, run_git: RunGit
) -> None:
    """It is told before anything of it is taken over."""
    place = tmp_path / "theirs"
    run_git("clone", "-q", "-b", "memory/main", shared, place, cwd=shared)
    (place / "cents.md").write_text("---\ntype: fact\n---\n\nIn cents.\n", encoding="utf-8")
    run_git("add", ".", cwd=place)
    run_git("commit", "-q", "-m", "Prices (#12)", cwd=place)
    run_git("push", "-q", "origin", "memory/main", cwd=place)
    last = run_git("rev-parse", "HEAD", cwd=place)
    _run("gitmem git fetch -q", memory.path)
    found = _examine(memory.path)

    assert found.keys() == {"behind", "merge-style"}
    assert f"{last[:12]} on memory/main of 'origin' was" in found["merge-style"].message
    before = memory.store("project").main()
    command = f"gitmem adopt {before[:12]}..{last[:12]}"
    assert found["merge-style"].hint.startswith(f"gitmem sync, then {command}; ")
    _run("gitmem sync --yes", memory.path)
    _run(f"gitmem apply --yes $({command} --yes | cut -d: -f1)", memory.path)
    _run("gitmem sync --yes", memory.path)
    assert doctor.examine(memory.path) == []


def test_a_plain_commit_is_no_merge_style(memory: Memory, commit: Commit) -> None:
    """It is just unreviewed, and what verify names helps."""
    last = commit("cents", "Prices are integers.", "Prices")

    assert set(_examine(memory.path)) == {"unreviewed"}
    _mended(memory.path, "unreviewed", f"gitmem revert {last[:12]}", run=f"gitmem revert -y {last}")


def test_a_rewritten_main(memory: Memory, git_dir: Path, folder: Path, run_git: RunGit) -> None:
    """The witness remembers, and the way back is named."""
    run_git("reset", "-q", "--hard", "HEAD^", cwd=folder)
    finding = _examine(memory.path)["main-rewritten"]

    _run(finding.hint.partition(": ")[2].partition(";")[0], memory.path)
    _run("gitmem init", memory.path)
    assert doctor.examine(memory.path) == []


def test_broken_records(memory: Memory, git_dir: Path) -> None:
    """A candidate's branch that holds nothing is told, and all else is still looked at."""
    (git_dir / "refs" / "heads" / "memory" / "candidate").mkdir()
    (git_dir / "refs" / "heads" / "memory" / "candidate" / "x").write_text("nothing\n")

    assert "broken-record" in _kinds(memory.path)


def test_a_symbolic_main(memory: Memory, git_dir: Path, run_git: RunGit) -> None:
    """It is told once, though many checks stumble over it."""
    run_git("symbolic-ref", "refs/heads/memory/main", "refs/heads/memory/other", cwd=git_dir)

    assert [one.kind for one in doctor.examine(memory.path)].count("symbolic-ref") == 1


# -- signing -------------------------------------------------------------------------------------


def test_the_keys_of_approvals(memory: Memory, keys: dict[str, Any], run_git: RunGit) -> None:
    """A key of one's own that does not count, none that does, and git that knows of none."""
    keys["ann"].sign_with(run_git, memory.path)
    _run("gitmem config approval signed --yes", memory.path)
    assert doctor.examine(memory.path) == []
    keys["bob"].sign_with(run_git, memory.path)
    add = "gitmem signers add --scope project"
    _mended(memory.path, "key-not-listed", add, run=f"{add} --yes")
    for name in ("ann", "bob"):
        _run(f"gitmem signers remove --yes {keys[name].fingerprint}", memory.path)
    _mended(memory.path, "no-signers", add, run=f"{add} --yes")

    run_git("config", "--global", "--unset", "user.signingKey", cwd=memory.path)
    assert "user.signingKey" in _examine(memory.path)["not-signed"].hint


# -- sessions ------------------------------------------------------------------------------------


def test_a_session_without_a_record(memory: Memory, git_dir: Path, run_git: RunGit) -> None:
    """Nothing could be replayed of it; its start can be recorded again while it is open."""
    memory.sessions().start("s1")
    assert doctor.examine(memory.path) == []
    run_git("update-ref", "-d", "refs/memory/session/s1", cwd=git_dir)
    _mended(memory.path, "record-missing", "gitmem session start s1")
    memory.sessions().end("s1")
    run_git("update-ref", "-d", "refs/memory/session/s1", cwd=git_dir)

    _mended(memory.path, "record-missing", "gitmem session forget s1")


def test_a_broken_record(memory: Memory, git_dir: Path, run_git: RunGit) -> None:
    """A commit without its document is no record, and can be let go."""
    memory.sessions().start("s1")
    message = "x\n\nno document\n\nMemory-Event: session.started\nMemory-Session: s1"
    odd = run_git("commit-tree", "-m", message, "memory/main^{tree}", cwd=git_dir)
    run_git("update-ref", "refs/memory/session/s1", odd, cwd=git_dir)
    finding = _examine(memory.path)["record-unreadable"]

    _run(finding.hint.partition(": ")[2], memory.path)
    assert _kinds(memory.path) == {"record-missing"}


def test_a_session_file_that_can_not_be_read(memory: Memory) -> None:
    """The text before it is used, and nobody would notice."""
    memory.sessions().start("s1")
    file = memory.path / ".custom-agent" / "sessions" / "s1" / "s1.memory.json"
    file.write_text("{")

    _mended(memory.path, "session-unreadable", "gitmem session forget s1")


def test_what_a_kill_left_of_a_forgotten_session(memory: Memory) -> None:
    """Its text was to be gone for good."""
    left = memory.path / ".custom-agent" / "sessions" / ".gitmem-forgotten-s1-abcdefgh"
    left.mkdir(parents=True)
    (left / "s1.memory.json").write_text("{}")

    _mended(memory.path, "session-left", f"rm -r {left}")


# -- all of it -----------------------------------------------------------------------------------


def _contents(place: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(place)): (path.stat().st_mode, path.read_bytes())
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def test_nothing_is_changed(
    memory: Memory, commit: Commit, folder: Path, tmp_path: Path, sealed_home: Path
) -> None:
    """Whatever is wrong: repositories, folders, caches and the witness are as before."""
    commit("cents", "Prices are integers.", "Prices (#12)")
    (folder / "good.md").write_text("edited")
    (memory.path / ".git" / "info" / "exclude").write_text("")
    moved = tmp_path / "elsewhere"
    memory.path.rename(moved)
    before = _contents(moved), _contents(sealed_home)

    kinds = {finding.kind for finding in doctor.examine(moved)}
    assert {"links-stale", "uncommitted-edits", "exclude-missing", "merge-style"} <= kinds
    assert (_contents(moved), _contents(sealed_home)) == before


def test_the_docs_name_each_kind() -> None:
    """The table in docs/doctor.md has all kinds that doctor itself tells of."""
    source = Path(doctor.__file__).read_text(encoding="utf-8")
    table = (Path(__file__).parent.parent / "docs" / "doctor.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r'finding\(\s*"([a-z]+(?:-[a-z]+)+|shallow|[a-z]+)"', source))

    assert len(kinds) > 25
    assert {kind for kind in kinds if f"`{kind}`" not in table} == set()
