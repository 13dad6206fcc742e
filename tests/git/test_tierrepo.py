"""A tier's repository in odd places, beside what others left, and with two who make it at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem import layout
from gitmem.errors import GitmemError
from gitmem.git import tierrepo

ODD = ["a b", "q\"uo'te", "back\\slash", "new\nline", "tab\t", "#hash;", " blank ", "é缩", "\udcff"]


def _git(git_dir: Path, *args: str, text: str = "") -> str:
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", *args], input=text.encode(), capture_output=True, check=True
    )
    return os.fsdecode(done.stdout).removesuffix("\n")


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- made whole or not at all ----------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_in_a_folder_of_any_name(tmp_path: Path, name: str, scope: layout.Scope) -> None:
    """Git reads each setting back as it was meant, and there is nothing left to mend."""
    git_dir = tmp_path / name / ("memory.git" if scope == "project" else ".git")
    bare = scope == "project"
    if not bare:
        git_dir.parent.mkdir()

    assert tierrepo.create(git_dir, scope, bare=bare)

    for key, value in layout.tier_config(git_dir, bare=bare).items():
        assert _git(git_dir, "config", "--file", f"{git_dir}/config", key) == value
    assert tierrepo.wrong_config(git_dir, layout.tier_config(git_dir, bare=bare)) == {}
    assert tierrepo.mend(git_dir, scope, bare=bare) == ()
    assert _git(git_dir, "rev-parse", layout.MAIN) == layout.root_id(scope)
    assert _git(git_dir, "fsck", "--strict") == ""
    assert len(_names(tmp_path)) == 1


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    """Whatever it is: a repository, a folder or a file."""
    for name in ("folder", "file"):
        place = tmp_path / name
        place.mkdir() if name == "folder" else place.touch()
        assert not tierrepo.create(place, "project", bare=True)
    assert _names(tmp_path / "folder") == []


CREATE = """
import sys
from pathlib import Path
from gitmem.git import tierrepo
sys.stdin.readline()
print(tierrepo.create(Path(sys.argv[1]), "project", bare=True))
"""


def test_two_at_once_make_one(tmp_path: Path) -> None:
    """One of them makes it, the others are told so, and no draft of anybody is left."""
    git_dir = tmp_path / "gitmem" / "memory.git"
    command = [sys.executable, "-c", CREATE, str(git_dir)]
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]

    said = sorted(process.communicate("go\n")[0] for process in both)

    assert said == ["False\n", "False\n", "True\n"]
    assert tierrepo.mend(git_dir, "project", bare=True) == ()
    assert _names(git_dir.parent) == ["memory.git"]


def test_a_git_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a repository is never in its place, nor beside it."""
    bad = tmp_path / "bin" / "git"
    bad.parent.mkdir()
    bad.write_text(
        '#!/bin/sh\ncase "$*" in *hash-object*) exit 9;; esac\nexec /usr/bin/env -S "$REAL" "$@"\n'
    )
    bad.chmod(0o755)
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True)
    monkeypatch.setenv("REAL", real.stdout.strip())
    monkeypatch.setenv("PATH", f"{bad.parent}{os.pathsep}{os.environ['PATH']}")

    with pytest.raises(GitmemError):
        tierrepo.create(tmp_path / "host" / "memory.git", "project", bare=True)

    assert _names(tmp_path / "host") == []


# -- drafts ----------------------------------------------------------------------------------------


def test_a_draft_goes_with_what_is_left_in_it(tmp_path: Path) -> None:
    """Moved away or not, after an error or not."""
    with tierrepo.draft(tmp_path) as one, tierrepo.draft(tmp_path) as two:
        assert one != two
        (one / "kept").mkdir()
        (one / "kept").rename(tmp_path / "kept")
        (two / "left").write_text("x")
    with pytest.raises(KeyError), tierrepo.draft(tmp_path) as three:
        (three / "left").write_text("x")
        raise KeyError

    assert _names(tmp_path) == ["kept"]


def test_what_the_dead_left_goes_and_nothing_else(tmp_path: Path) -> None:
    """Drafts of processes that run stay; so does what only has such a name, and what it links to."""
    with subprocess.Popen(["sleep", "0"]) as dead:
        pass
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tmp_path / "place"
    place.mkdir()
    for name in (f"{dead.pid}-x", "x", "", f"{os.getpid()}-x", "1-x", "9" * 30):
        (place / f".gitmem-new-{name}").mkdir()
    (place / f".gitmem-new-{dead.pid}-file").write_text("mine")
    (place / f".gitmem-new-{dead.pid}-link").symlink_to(outside)

    with tierrepo.draft(place):
        pass

    assert [name.removeprefix(".gitmem-new-") for name in _names(place)] == sorted(
        ["1-x", f"{dead.pid}-file", f"{dead.pid}-link", f"{os.getpid()}-x"]
    )
    assert outside.is_dir()


# -- mended ----------------------------------------------------------------------------------------


def test_each_lack_is_put_right_once(tmp_path: Path) -> None:
    """Folders, settings, the branch and HEAD: what was wrong is named, and then nothing is."""
    git_dir = tmp_path / "memory.git"
    tierrepo.create(git_dir, "project", bare=True)
    config = ("config", "--file", f"{git_dir}/config")
    _git(git_dir, *config, "--add", "merge.ff", "only")
    _git(git_dir, *config, "user.name", "Mine")
    _git(git_dir, "symbolic-ref", "HEAD", "refs/heads/other")
    _git(git_dir, "update-ref", "-d", layout.MAIN)
    (git_dir / "hooks").rmdir()

    assert tierrepo.mend(git_dir, "project", bare=True) == ("folders", "config", "main", "head")
    assert tierrepo.mend(git_dir, "project", bare=True) == ()
    assert _git(git_dir, *config, "--get-all", "merge.ff") == "false"
    assert _git(git_dir, *config, "user.name") == "Mine"


def test_a_detached_head_is_put_right(tmp_path: Path) -> None:
    """A bare repository's HEAD is on the branch, not on a commit of it."""
    git_dir = tmp_path / "memory.git"
    tierrepo.create(git_dir, "project", bare=True)
    _git(git_dir, "update-ref", "--no-deref", "HEAD", layout.root_id("project"))

    assert tierrepo.mend(git_dir, "project", bare=True) == ("head",)
    assert _git(git_dir, "symbolic-ref", "HEAD") == layout.MAIN


# -- moved -----------------------------------------------------------------------------------------


def _elsewhere(tmp_path: Path) -> Path | None:
    """A folder on another file system than `tmp_path`, if there is one to be had."""
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or shm.stat().st_dev == tmp_path.stat().st_dev:
        return None
    return shm


@pytest.mark.parametrize("far", [False, True])
def test_a_repository_moves_whole(tmp_path: Path, far: bool) -> None:
    """Also to another file system; what it said of files stays behind, links are kept as they are."""
    base = _elsewhere(tmp_path) if far else tmp_path
    if base is None:
        pytest.skip("there is no second file system that can be written")
    source = tmp_path / "source.git"
    target = base / f"gitmem-test-{os.getpid()}" / "deep" / "target.git"
    tierrepo.create(source, "project", bare=True)
    (source / "link").symlink_to("nowhere")
    for name in ("index", "gitmem-index"):
        (source / name).write_bytes(b"stale")
    try:
        tierrepo.take_over(source, target)

        assert not source.exists()
        assert _names(target.parent) == ["target.git"]
        assert _git(target, "rev-parse", layout.MAIN) == layout.root_id("project")
        assert (target / "link").readlink() == Path("nowhere")
        assert {"index", "gitmem-index"} & set(_names(target)) == set()
    finally:
        with tierrepo.draft(tmp_path) as bin_:
            subprocess.run(["mv", str(target.parent.parent), str(bin_)], check=True)


def test_a_repository_is_gone_at_once(tmp_path: Path) -> None:
    """Whoever looks in the middle of the removal finds none; what lies beside it stays."""
    git_dir = tmp_path / "memory.git"
    tierrepo.create(git_dir, "project", bare=True)
    (tmp_path / "mine").touch()

    tierrepo.destroy(git_dir)

    assert _names(tmp_path) == ["mine"]


def test_only_what_is_empty_throughout_goes(tmp_path: Path) -> None:
    """A file or a link somewhere within keeps all of it."""
    for name in ("empty/a/b", "file/a/b", "link/a/b", "broken/a"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file/a/x").touch()
    (tmp_path / "link/a/b/x").symlink_to(tmp_path / "empty")
    (tmp_path / "broken/x").symlink_to("nowhere")
    (tmp_path / "to-empty").symlink_to("empty")

    for name in ("file", "link", "broken", "to-empty", "missing", "empty"):
        tierrepo.remove_empty(tmp_path / name)

    assert _names(tmp_path) == ["broken", "file", "link", "to-empty"]
    assert (tmp_path / "file/a/b").is_dir()
    assert (tmp_path / "link/a/b/x").is_symlink()


# -- remotes and what git lists --------------------------------------------------------------------


def test_a_remote_is_set_whole(tmp_path: Path) -> None:
    """Set twice it says the last, each line once, and nothing of another remote changes."""
    git_dir = tmp_path / "memory.git"
    tierrepo.create(git_dir, "project", bare=True)
    assert not tierrepo.has_remote(git_dir)
    _git(git_dir, "config", "remote.other.pushurl", "x")
    assert not tierrepo.has_remote(git_dir)

    for url in ("https://one.example/x", "https://two.example/a b"):
        tierrepo.add_remote(git_dir, "or.igin", url)

    listed = _git(git_dir, "config", "--get-regexp", r"^remote\.or\.igin\.").splitlines()
    wanted = layout.remote_config("or.igin", "https://two.example/a b")
    assert sorted(listed) == sorted(f"{key} {value}" for key, value in wanted)
    assert tierrepo.has_remote(git_dir)


def test_what_git_lists_of_a_history(tmp_path: Path) -> None:
    """Regular files alone, merges of the first-parent line alone, and no error for what is missing."""
    git_dir = tmp_path / "memory.git"
    tierrepo.create(git_dir, "project", bare=True)
    root = layout.root_id("project")
    blob = _git(git_dir, "hash-object", "-w", "--stdin", text="x")
    lines = [
        f"100644 blob {blob}\ta.md",
        f"100755 blob {blob}\tb\nb.md",
        f"120000 blob {blob}\tlink.md",
        f"160000 commit {root}\tsub",
    ]
    tree = _git(git_dir, "mktree", "-z", text="\0".join([*lines, ""]))

    def commit(author: str, *parents: str) -> str:
        above = [part for parent in parents for part in ("-p", parent)]
        who = ("-c", f"user.name={author}", "-c", "user.email=x@y")
        return _git(git_dir, *who, "commit-tree", tree, "-m", "x", *above)

    side = commit("Side", commit("Inner", root, commit("x", root)))
    tip = commit("Bé", commit("Plain", commit("Ann", root, side)), side)

    assert tierrepo.tree_paths(git_dir, tip) == {b"a.md": blob, b"b\nb.md": blob}
    assert tierrepo.merge_authors(git_dir, tip) == ["Bé <x@y>", "Ann <x@y>"]
    assert tierrepo.merge_authors(git_dir, root) == []
    assert tierrepo.is_ancestor(git_dir, root, tip)
    assert not tierrepo.is_ancestor(git_dir, tip, root)
    assert not tierrepo.is_ancestor(git_dir, "1" * 40, tip)


def test_files_in_a_folder(tmp_path: Path) -> None:
    """All but folders and git's own, in order, not through links, and none behind a link itself."""
    folder = tmp_path / "folder"
    for name in ("b", "a/z", "a/.git", ".git/x", "a-b", "c/.git/x", "c/y"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "link").symlink_to(tmp_path)
    (tmp_path / "alias").symlink_to(folder)

    found = [str(path.relative_to(folder)) for path in tierrepo.files_in(folder)]

    assert found == ["a/z", "a-b", "b", "c/y", "link"]
    assert tierrepo.files_in(tmp_path / "alias") == ()
    assert tierrepo.files_in(folder / "b") == ()
    assert tierrepo.files_in(tmp_path / "missing") == ()
