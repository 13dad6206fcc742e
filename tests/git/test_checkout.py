from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode

import gitmem
from gitmem.errors import BadInputError, ConflictError
from gitmem.git import indexfile
from gitmem.git.checkout import (
    MAIN,
    FolderState,
    Left,
    Place,
    RefChange,
    deciding,
    folder_state,
    mend,
    move,
)
from gitmem.git.transaction import clear_locks

OLD = {"a.md": "a one\n", "b.md": "b one\n", "gone.md": "gone\n", "topic/c.md": "c one\n"}
NEW = {"a.md": "a two\n", "b.md": "b one\n", "topic/c.md": "c two\n", "topic/new.md": "new\n"}
PACKAGE = Path(gitmem.__file__).parents[1]
KILL_AT = Path(__file__).with_name("kill_at.py")
OURS = {"gitmem.lock", "gitmem-index"}


def python(*args: str | Path) -> subprocess.Popen[str]:
    """Another process with this package, and pipes to talk with it."""
    return subprocess.Popen(
        [sys.executable, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )


def git(*args: str | Path, cwd: Path, check: bool = True) -> str:
    done = subprocess.run(
        ["git", *map(str, args)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n")


@dataclass
class World:
    """A tier's repository with a worktree on `memory/main`, and commits to move it to."""

    place: Place
    old: str = ""
    new: str = ""
    modes: dict[str, FileMode] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        assert self.place.folder is not None
        return self.place.folder

    def commit(self, files: dict[str, str], parent: str | None, message: str = "change") -> str:
        repo = pygit2.Repository(str(self.place.git_dir))
        index = pygit2.Index()
        for path, text in files.items():
            mode = self.modes.get(path, FileMode.BLOB)
            index.add(pygit2.IndexEntry(path, repo.create_blob(text.encode()), mode))
        someone = pygit2.Signature("Someone", "someone@example.org", 0, 0)
        tree = index.write_tree(repo)
        parents = [parent] if parent else []
        return str(repo.create_commit(None, someone, someone, message, tree, parents))

    def raw_tree(self, entries: list[tuple[str, bytes, str]], parent: str) -> str:
        """A commit of a tree that no well-meaning program writes."""
        body = b"".join(
            f"{mode} ".encode() + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries
        )
        repo = pygit2.Repository(str(self.place.git_dir))
        tree = repo.odb.write(pygit2.enums.ObjectType.TREE, body)
        someone = pygit2.Signature("Someone", "someone@example.org", 0, 0)
        return str(repo.create_commit(None, someone, someone, "bad", tree, [parent]))

    def blob(self, text: str) -> str:
        return str(pygit2.Repository(str(self.place.git_dir)).create_blob(text.encode()))

    def git(self, *args: str | Path, check: bool = True) -> str:
        return git(*args, cwd=self.folder, check=check)

    def ref(self, name: str = MAIN) -> str | None:
        done = git("rev-parse", "--verify", "--quiet", name, cwd=self.place.git_dir, check=False)
        return done or None

    def status(self) -> list[str]:
        return self.git("status", "--porcelain", "--untracked-files=all").splitlines()

    def move(self, new: str | None = None, *more: RefChange) -> list[Left]:
        with deciding(self.place):
            return move(self.place, [RefChange(MAIN, new or self.new, self.ref()), *more])

    def mend(self) -> list[Left]:
        with deciding(self.place):
            return mend(self.place)

    def files(self) -> dict[str, str]:
        found = (p for p in self.folder.rglob("*") if p.is_file() and ".git" not in p.parts)
        return {str(p.relative_to(self.folder)): p.read_text() for p in found}

    def leftovers(self) -> set[str]:
        """Whatever a move needs for a while and must not leave."""
        git_dir, admin = self.place.git_dir, self.place.admin_dir
        names = {p.name for where in (git_dir, admin) for p in where.iterdir()}
        found = {name for name in names if name.startswith("gitmem")} - OURS
        found |= {p.name for p in git_dir.rglob("*.lock")} - OURS
        return found | {p.name for p in self.folder.rglob(".gitmem*")}


def make(root: Path, kind: str) -> World:
    root.mkdir(parents=True)
    folder = root / "memory"
    if kind == "linked":
        git_dir = root / "memory.git"
        git("init", "--quiet", "--bare", git_dir, cwd=root)
        world = World(Place(git_dir, folder, git_dir / "worktrees" / "memory"))
    else:
        git("init", "--quiet", "--initial-branch=memory/main", folder, cwd=root)
        world = World(Place(folder / ".git", folder, folder / ".git"))
    git("config", "core.autocrlf", "false", cwd=world.place.git_dir)
    world.old = world.commit(OLD, None, "start")
    world.new = world.commit(NEW, world.old)
    git("update-ref", MAIN, world.old, cwd=world.place.git_dir)
    if kind == "linked":
        git("worktree", "add", "--quiet", folder, "memory/main", cwd=git_dir)
    else:
        git("reset", "--quiet", "--hard", cwd=folder)
    return world


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    root = tmp_path_factory.mktemp("templates")
    return {kind: make(root / kind, kind) for kind in ("linked", "plain")}


def copied(templates: dict[str, World], kind: str, root: Path) -> World:
    template = templates[kind]
    shutil.copytree(template.folder.parent, root, symlinks=True)
    folder = root / "memory"
    if kind == "plain":
        world = World(Place(folder / ".git", folder, folder / ".git"))
    else:
        git_dir = root / "memory.git"
        world = World(Place(git_dir, folder, git_dir / "worktrees" / "memory"))
        (folder / ".git").write_text(f"gitdir: {world.place.admin_dir}\n")
        (world.place.admin_dir / "gitdir").write_text(f"{folder / '.git'}\n")
    world.old, world.new = template.old, template.new
    return world


@pytest.fixture(params=["linked", "plain"])
def world(request: pytest.FixtureRequest, templates: dict[str, World], tmp_path: Path) -> World:
    return copied(templates, request.param, tmp_path / "world")


@pytest.fixture
def linked(templates: dict[str, World], tmp_path: Path) -> World:
    return copied(templates, "linked", tmp_path / "world")


# -- moving ------------------------------------------------------------------------------------


def test_ref_index_and_files_move_together(world: World) -> None:
    """After a move, main, index and files are the new commit's, and nothing else is left."""
    assert world.move() == []

    assert world.ref() == world.new
    assert world.status() == []
    assert world.files() == NEW
    assert world.leftovers() == set()
    git("fsck", "--strict", cwd=world.place.git_dir)


def test_files_have_the_customary_mode(linked: World) -> None:
    """Files are written readable for all and writable for the owner, whatever the umask."""
    before = os.umask(0o077)
    try:
        linked.move()
    finally:
        os.umask(before)

    assert (linked.folder / "a.md").stat().st_mode & 0o777 == 0o644


def test_first_and_last_commit(linked: World) -> None:
    """Main can come into being and go away, with the files."""
    linked.move(linked.old)
    with deciding(linked.place):
        assert move(linked.place, [RefChange(MAIN, None, linked.old)]) == []
    assert linked.files() == {}
    with deciding(linked.place):
        assert move(linked.place, [RefChange(MAIN, linked.new, None)]) == []

    assert linked.files() == NEW
    assert linked.status() == []


def test_other_refs_go_with_it(world: World) -> None:
    """A candidate's branch goes and a tag comes in the same move."""
    branch, tag = "refs/heads/memory/candidate/x", "refs/tags/memory/discarded/x.12345678"
    git("update-ref", branch, world.new, cwd=world.place.git_dir)

    world.move(world.new, RefChange(branch, None, world.new), RefChange(tag, world.old, None))

    assert (world.ref(), world.ref(branch), world.ref(tag)) == (world.new, None, world.old)


@pytest.mark.parametrize(
    "stale",
    [
        RefChange("refs/heads/memory/candidate/x", None, "1" * 40),
        RefChange("refs/heads/memory/candidate/none", None, "1" * 40),
        RefChange("refs/heads/memory/candidate/x", "OLD", None),
    ],
)
def test_all_refs_move_or_none(world: World, stale: RefChange) -> None:
    """One ref with another value than expected stops the whole move, before any file is touched."""
    git("update-ref", "refs/heads/memory/candidate/x", world.new, cwd=world.place.git_dir)
    change = RefChange(stale.name, world.old if stale.new else None, stale.old)

    with deciding(world.place), pytest.raises(ConflictError) as caught:
        move(world.place, [RefChange(MAIN, world.new, world.old), change])

    assert caught.value.reference == "stale"
    assert stale.name in caught.value.message
    assert world.ref() == world.old
    assert world.files() == OLD
    assert world.status() == []
    assert world.leftovers() == set()


def test_a_lost_swap_ends_at_the_present_value(world: World) -> None:
    """Where main has moved meanwhile, index and files end at the value that it has."""
    third = world.commit({"a.md": "three\n"}, world.old)
    with deciding(world.place):
        mend(world.place)
        git("update-ref", MAIN, third, cwd=world.place.git_dir)
        with pytest.raises(ConflictError, match="moved"):
            move(world.place, [RefChange(MAIN, world.new, world.old)])

    assert world.ref() == third
    assert world.files() == {"a.md": "three\n"}
    assert world.status() == []


def test_a_symbolic_main_is_refused(linked: World) -> None:
    """A symbolic ref is never followed and never replaced."""
    git("symbolic-ref", MAIN, "refs/heads/elsewhere", cwd=linked.place.git_dir)
    git("update-ref", "refs/heads/elsewhere", linked.old, cwd=linked.place.git_dir)

    with deciding(linked.place), pytest.raises(BadInputError) as caught:
        move(linked.place, [RefChange(MAIN, linked.new, linked.old)])

    assert caught.value.reference == "symbolic-ref"
    assert linked.ref("refs/heads/elsewhere") == linked.old


def test_only_inside_deciding(linked: World) -> None:
    """Without the process lock nothing is moved or mended."""
    with pytest.raises(RuntimeError, match="deciding"):
        move(linked.place, [RefChange(MAIN, linked.new, linked.old)])
    with pytest.raises(RuntimeError, match="deciding"):
        mend(linked.place)


def test_an_object_that_is_missing_moves_nothing(linked: World) -> None:
    """A commit whose blob is not there is an error, and leaves no trace."""
    with deciding(linked.place), pytest.raises(BadInputError, match="missing"):
        move(
            linked.place,
            [
                RefChange(
                    MAIN, linked.raw_tree([("100644", b"a.md", "1" * 40)], linked.old), linked.old
                )
            ],
        )

    assert linked.files() == OLD
    assert linked.leftovers() == set()


# -- what a person did in the folder -----------------------------------------------------------


def test_edits_stay_and_never_block(world: World) -> None:
    """Edited, deleted and untracked files are left and named; the index is the new tree all the same."""
    (world.folder / "a.md").write_text("my edit\n")
    (world.folder / "topic/c.md").unlink()
    (world.folder / "topic/new.md").write_text("mine, untracked\n")
    (world.folder / "other.md").write_text("mine too\n")

    left = world.move()

    assert left == [
        Left("a.md", "edited"),
        Left("topic/c.md", "deleted by hand"),
        Left("topic/new.md", "an untracked file is in the way"),
    ]
    assert (world.folder / "a.md").read_text() == "my edit\n"
    assert (world.folder / "topic/new.md").read_text() == "mine, untracked\n"
    assert world.status() == [" M a.md", " D topic/c.md", " M topic/new.md", "?? other.md"]
    assert world.git("write-tree") == world.git("rev-parse", f"{world.new}^{{tree}}")


def test_an_edit_of_a_file_that_goes_stays(linked: World) -> None:
    """A file that the new commit does not have is not deleted if it was edited."""
    (linked.folder / "gone.md").write_text("edited\n")

    assert linked.move() == [Left("gone.md", "edited")]
    assert linked.status() == ["?? gone.md"]


def test_a_staged_edit_stays_as_an_edit(world: World) -> None:
    """What was staged is not taken for the commit's: the file stays, and shows as edited."""
    (world.folder / "a.md").write_text("staged\n")
    (world.folder / "fresh.md").write_text("staged too\n")
    world.git("add", "a.md", "fresh.md")

    assert world.move() == [Left("a.md", "edited")]
    assert world.status() == [" M a.md", "?? fresh.md"]
    assert (world.folder / "a.md").read_text() == "staged\n"


def test_what_is_already_there_is_no_edit(linked: World) -> None:
    """A file that already holds the new content is taken as it is."""
    (linked.folder / "a.md").write_text(NEW["a.md"])
    (linked.folder / "topic/new.md").write_text(NEW["topic/new.md"])

    assert linked.move() == []
    assert linked.status() == []


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_flags_that_hide_an_edit_do_not_cost_it(linked: World, flag: str) -> None:
    """An edit that git was told to overlook is left, and shows again."""
    linked.git("update-index", flag, "a.md")
    (linked.folder / "a.md").write_text("hidden edit\n")

    assert linked.move() == [Left("a.md", "edited")]
    assert (linked.folder / "a.md").read_text() == "hidden edit\n"
    assert linked.status() == [" M a.md"]


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_flag_does_not_hide_an_edit_of_another_entry(linked: World, flag: str) -> None:
    """The index is written afresh, so that an overlooked edit of an entry that stays shows too."""
    linked.git("update-index", flag, "b.md")
    (linked.folder / "b.md").write_text("hidden edit\n")

    assert linked.move() == []
    assert linked.status() == [" M b.md"]


def test_an_edit_in_the_moment_of_the_index_is_seen(linked: World) -> None:
    """Time stamps that an edit can share with the index are not believed, as in git."""
    file, index = linked.folder / "b.md", linked.place.admin_dir / "index"
    file.write_text("b two\n")
    entries = indexfile.unpack(index.read_bytes()) or {}
    entries[b"b.md"] = entries[b"b.md"]._replace(stat=indexfile.pack_stat(file.stat()))
    index.write_bytes(indexfile.pack(entries))
    os.utime(index, ns=(0, file.stat().st_mtime_ns))

    assert folder_state(linked.place).edited == ("b.md",)
    assert linked.move() == []
    assert linked.status() == [" M b.md"]


def test_nothing_is_written_through_a_link(linked: World, tmp_path: Path) -> None:
    """A parent that is a link is not followed, neither for writing nor for deleting."""
    outside = tmp_path / "outside"
    shutil.move(linked.folder / "topic", outside)
    (linked.folder / "topic").symlink_to(outside)

    left = linked.move()

    assert left == [Left("topic/c.md", "behind a link"), Left("topic/new.md", "behind a link")]
    assert {p.name: p.read_text() for p in outside.iterdir()} == {"c.md": "c one\n"}


def test_a_link_in_place_of_a_file_stays(linked: World, tmp_path: Path) -> None:
    """A file that was replaced by a link counts as edited, and the link's target is untouched."""
    target = tmp_path / "target"
    target.write_text(OLD["a.md"])
    (linked.folder / "a.md").unlink()
    (linked.folder / "a.md").symlink_to(target)

    assert linked.move() == [Left("a.md", "edited")]
    assert target.read_text() == OLD["a.md"]


def test_things_in_the_way(linked: World) -> None:
    """A folder, a pipe and a file where a folder should be are left and named."""
    (linked.folder / "a.md").unlink()
    (linked.folder / "a.md").mkdir()
    shutil.rmtree(linked.folder / "topic")
    (linked.folder / "topic").write_text("a file\n")
    (linked.folder / "gone.md").unlink()
    os.mkfifo(linked.folder / "gone.md")

    assert linked.move() == [
        Left("a.md", "a folder is in the way"),
        Left("topic/c.md", "behind a file"),
        Left("topic/new.md", "behind a file"),
    ]
    assert (linked.folder / "topic").read_text() == "a file\n"


def test_a_file_becomes_a_folder_and_back(linked: World) -> None:
    """Where a file was, a folder can be, and the reverse; folders that are empty then go."""
    swapped = linked.commit({"a.md/deep/x.md": "x\n", "topic": "file\n"}, linked.new)
    linked.move()

    assert linked.move(swapped) == []
    assert linked.files() == {"a.md/deep/x.md": "x\n", "topic": "file\n"}
    assert linked.move(linked.new) == []
    assert linked.files() == NEW
    assert linked.status() == []


def test_only_empty_folders_go(linked: World) -> None:
    """A folder with something of a person's in it stays."""
    (linked.folder / "topic/mine.txt").write_text("mine\n")

    linked.move(linked.commit({"a.md": "a\n"}, linked.old))

    assert linked.files() == {"a.md": "a\n", "topic/mine.txt": "mine\n"}


def test_attributes_have_no_say(linked: World) -> None:
    """Files hold the blob's bytes, whatever attributes and line-end settings say."""
    linked.git("config", "--global", "core.autocrlf", "true")
    (linked.place.git_dir / "info").mkdir(exist_ok=True)
    (linked.place.git_dir / "info/attributes").write_text("* text eol=crlf\n")
    wild = linked.commit({"a.md": "x\n$Id$\n", ".gitattributes": "* eol=crlf ident\n"}, linked.old)

    assert linked.move(wild) == []
    assert (linked.folder / "a.md").read_bytes() == b"x\n$Id$\n"


def test_names_that_git_refuses_reach_neither_folder_nor_index(linked: World) -> None:
    """A tree from elsewhere can't write into `.git`, out of the folder, or the index."""
    blob = linked.blob("bad\n")
    bad = linked.raw_tree(
        [
            ("100644", b"../escape.md", blob),
            ("100644", b".GIT", blob),
            ("100644", b"good.md", blob),
            ("100644", b"x/.git/hooks/post-commit", blob),
        ],
        linked.old,
    )

    left = linked.move(bad)

    assert {each.path for each in left if each.reason == "has an unsafe name"} == {
        "../escape.md",
        ".GIT",
        "x/.git/hooks/post-commit",
    }
    assert linked.files() == {"good.md": "bad\n"}
    assert linked.git("ls-files") == "good.md"
    assert not (linked.folder.parent / "escape.md").exists()


def test_links_and_submodules_are_not_made(linked: World) -> None:
    """A link in the tree is named and not made; a program is written as one."""
    linked.modes = {"run.md": FileMode.BLOB_EXECUTABLE, "link.md": FileMode.LINK}
    odd = linked.commit({"run.md": "#!/bin/sh\n", "link.md": "/etc/passwd"}, linked.old)

    assert linked.move(odd) == [Left("link.md", "is a link in the tree")]
    assert not (linked.folder / "link.md").is_symlink()
    assert linked.status() == [" D link.md"]


@pytest.mark.parametrize(
    "form",
    [
        ["index.version=4"],
        ["core.splitIndex=true"],
        ["core.untrackedCache=true"],
        ["core.sparseCheckout=true"],
        ["core.sparseCheckout=true", "core.sparseCheckoutCone=true", "index.sparse=true"],
    ],
)
def test_any_form_of_index(world: World, form: list[str]) -> None:
    """Whatever form the index had, the new one is the new tree, and edits stay."""
    for setting in form:
        world.git("config", *setting.split("="))
    if "core.sparseCheckout=true" in form:
        world.git("sparse-checkout", "set", "--no-cone" if len(form) == 1 else "--cone", "other")
        world.git("sparse-checkout", "disable")
        for setting in form:
            world.git("config", *setting.split("="))
    world.git("update-index", "--force-write-index")
    (world.folder / "a.md").write_text("edited\n")

    assert world.move() == [Left("a.md", "edited")]
    assert world.git("write-tree") == world.git("rev-parse", f"{world.new}^{{tree}}")
    assert world.mend() == []
    assert (world.folder / "a.md").read_text() == "edited\n"
    assert (world.folder / "topic/c.md").read_text() == NEW["topic/c.md"]


# -- where the worktree stands elsewhere -------------------------------------------------------


@pytest.mark.parametrize("head", [["switch", "--create", "other"], ["switch", "--detach"]])
def test_another_branch_keeps_index_and_files(world: World, head: list[str]) -> None:
    """Where HEAD is not main, only refs move."""
    world.git(*head, "--quiet")

    assert world.move() == []

    assert world.ref() == world.new
    assert world.files() == OLD
    assert world.status() == []
    assert world.leftovers() == set()
    world.git("switch", "--quiet", "memory/main")
    assert world.mend() == []
    assert world.files() == NEW


def test_a_folder_that_is_not_there(linked: World) -> None:
    """Without a folder the refs move; made again, it gets the present files."""
    shutil.rmtree(linked.folder)
    assert linked.move() == []
    linked.folder.mkdir()
    (linked.folder / ".git").write_text(f"gitdir: {linked.place.admin_dir}\n")

    assert linked.mend() == []
    assert linked.files() == NEW
    assert linked.status() == []


@pytest.mark.parametrize(
    ("command", "word"), [("merge", "merge"), ("cherry-pick", "cherry-pick"), ("rebase", "rebase")]
)
def test_an_operation_in_progress_is_not_disturbed(world: World, command: str, word: str) -> None:
    """In the middle of a merge nothing is moved, mended or lost."""
    world.git("branch", "side", world.new)
    (world.folder / "a.md").write_text("conflicting\n")
    world.git("commit", "--quiet", "--all", "--message=mine")
    world.git(command, "side", check=False)
    state, text = world.status(), (world.folder / "a.md").read_text()
    if command == "rebase":
        world.git("symbolic-ref", "HEAD", MAIN)

    with deciding(world.place), pytest.raises(ConflictError) as caught:
        assert mend(world.place) == []
        move(world.place, [RefChange(MAIN, world.new, world.ref())])

    assert caught.value.reference == "operation-in-progress"
    assert word in caught.value.message
    assert folder_state(world.place).operation == word
    assert ((world.folder / "a.md").read_text(), world.leftovers()) == (text, set())
    assert command == "rebase" or world.status() == state


# -- mending -----------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_main_moved_by_others(world: World, *, known: bool) -> None:
    """A push or `update-ref` is followed, also where no record says what the index was read from."""
    if known:
        world.mend()
    (world.folder / "a.md").write_text("edited\n")
    git("update-ref", MAIN, world.new, cwd=world.place.git_dir)

    assert world.mend() == [Left("a.md", "edited")]
    assert world.status() == [" M a.md"]
    assert (world.folder / "topic/c.md").read_text() == "c two\n"
    assert world.mend() == []


def test_a_plain_commit_is_no_lag(world: World) -> None:
    """After a plain commit the next look finds nothing to do and keeps what is staged."""
    world.mend()
    (world.folder / "a.md").write_text("committed\n")
    world.git("commit", "--quiet", "--all", "--message=mine")
    assert world.mend() == []
    (world.folder / "b.md").write_text("staged\n")
    world.git("add", "b.md")

    assert world.mend() == []
    assert world.status() == ["M  b.md"]


def test_a_plain_commit_and_then_a_push(world: World) -> None:
    """What was committed by hand is no edit, also where main has moved on since."""
    world.mend()
    (world.folder / "a.md").write_text("committed\n")
    world.git("commit", "--quiet", "--all", "--message=mine")
    git("update-ref", MAIN, world.commit(NEW, world.ref()), cwd=world.place.git_dir)

    assert world.mend() == []
    assert world.files() == NEW


def test_an_old_index_written_late_is_mended(world: World) -> None:
    """An index of an older commit, put in place by a git that was slow, is brought along."""
    world.mend()
    index = world.place.admin_dir / "index"
    old = index.read_bytes()
    world.move()
    index.write_bytes(old)

    assert world.mend() == []
    assert world.status() == []


def test_looking_twice_writes_once(linked: World) -> None:
    """Where nothing lags, nothing is written: no index, no record, no file."""
    linked.move()
    linked.mend()
    paths = [linked.place.admin_dir / "index", linked.place.admin_dir / "gitmem-index"]
    before = [p.stat() for p in paths]

    assert linked.mend() == []
    assert [p.stat().st_mtime_ns for p in paths] == [s.st_mtime_ns for s in before]
    assert [p.stat().st_ino for p in paths] == [s.st_ino for s in before]


@pytest.mark.parametrize("lost", ["index", "gitmem-index"])
def test_what_is_derived_can_be_deleted(world: World, lost: str) -> None:
    """Index or record can go at any time: they come back, and an edit stays."""
    world.move()
    (world.folder / "a.md").write_text("edited\n")
    (world.place.admin_dir / lost).unlink()

    world.mend()

    assert world.status() == [" M a.md"]


def test_deleted_by_hand_is_not_made_again(linked: World) -> None:
    """Deleting every file is a person's edit, as long as the folder is the same."""
    linked.move()
    for path in NEW:
        (linked.folder / path).unlink()
    third = linked.commit({**NEW, "a.md": "three\n"}, linked.new)

    assert linked.mend() == []
    assert linked.move(third) == [Left("a.md", "deleted by hand")]


def test_a_folder_made_again_keeps_what_lies_in_it(linked: World) -> None:
    """A new folder gets all files, but none over what a person has put there."""
    linked.move()
    shutil.rmtree(linked.folder)
    linked.folder.mkdir()
    (linked.folder / ".git").write_text(f"gitdir: {linked.place.admin_dir}\n")
    (linked.folder / "mine.md").write_text("mine\n")

    assert linked.mend() == []
    assert linked.files() == {**NEW, "mine.md": "mine\n"}


# -- locks -------------------------------------------------------------------------------------


def test_git_that_holds_the_index(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that holds the index stops a move with a clear error, and its lock is left alone."""
    monkeypatch.setattr("gitmem.git.checkout._WAIT_TO_MOVE", 0.1)
    monkeypatch.setattr("gitmem.git.checkout._WAIT_TO_MEND", 0.1)
    lock = world.place.admin_dir / "index.lock"
    lock.write_text("")

    with pytest.raises(ConflictError) as caught:
        world.move()

    assert caught.value.reference == "repository-locked"
    assert str(lock) in (caught.value.context or "")
    assert world.ref() == world.old
    git("update-ref", MAIN, world.new, cwd=world.place.git_dir)
    assert [each.path for each in world.mend()] == ["."]
    lock.unlink()
    assert world.leftovers() == set()
    assert world.mend() == []
    assert world.files() == NEW


def test_git_that_holds_a_ref(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A held ref stops a move after a while, with nothing changed and the lock left alone."""
    patience = ("-c", "core.filesRefLockTimeout=50")
    monkeypatch.setattr("gitmem.git.transaction._PATIENCE", patience)
    lock = world.place.git_dir / f"{MAIN}.lock"
    lock.write_text("")

    with pytest.raises(ConflictError) as caught:
        world.move()

    assert caught.value.reference == "repository-locked"
    assert lock.exists()
    assert world.files() == OLD
    assert world.leftovers() == {"main.lock"}


HOLD = """
import sys
from pathlib import Path
from gitmem.git.checkout import Place, deciding
place = Place(*map(Path, sys.argv[2:]))
with deciding(place):
    print("in", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(linked: World) -> Iterator[subprocess.Popen[str]]:
    with python("-c", HOLD, "holding", *paths(linked.place)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        yield process
        process.kill()


def test_only_one_decides(linked: World, holder: subprocess.Popen[str]) -> None:
    """While another process decides, nobody else does; the error says who it is."""
    with pytest.raises(ConflictError) as caught, deciding(linked.place, wait=0.1):
        pass

    assert caught.value.reference == "repository-locked"
    assert str(holder.pid) in (caught.value.context or "")
    assert "holding" in (caught.value.context or "")


def test_the_next_waits_its_turn(linked: World, holder: subprocess.Popen[str]) -> None:
    """Who waits gets in as soon as the other has left, however it left."""
    os.kill(holder.pid, signal.SIGKILL)
    with deciding(linked.place):
        assert move(linked.place, [RefChange(MAIN, linked.new, linked.old)]) == []


MOVE = """
import sys
from pathlib import Path
from gitmem.git.checkout import MAIN, Place, RefChange, deciding, move
new, old, *paths = sys.argv[1:]
place = Place(*map(Path, paths))
with deciding(place):
    move(place, [RefChange(MAIN, new, old)])
"""
WAITING_HOOK = """#!/bin/sh
test "$1" = prepared || exit 0
cd "${0%/*}" && touch began
while test ! -e go; do sleep 0.02; done
"""


def test_a_git_that_outlives_its_gitmem(linked: World) -> None:
    """The lock lasts until the git of a killed process has ended too, and git then changes nothing."""
    hooks = linked.place.git_dir / "hooks"
    hook = hooks / "reference-transaction"
    hook.write_text(WAITING_HOOK)
    hook.chmod(0o755)
    with python("-c", MOVE, linked.new, linked.old, *paths(linked.place)) as process:
        while not (hooks / "began").exists():
            assert process.poll() is None
        process.kill()
    try:
        with pytest.raises(ConflictError, match="deciding"), deciding(linked.place, wait=0.1):
            pass
    finally:
        (hooks / "go").touch()

    assert linked.mend() == []
    assert linked.ref() == linked.old
    assert linked.leftovers() == set()
    assert linked.move() == []


ADD_LINES = """
import sys
from pathlib import Path
import pygit2
from gitmem.git import refs
from gitmem.git.checkout import MAIN, Place, RefChange, deciding, mend, move
place = Place(*map(Path, sys.argv[2:]))
repo = pygit2.Repository(str(place.git_dir))
someone = pygit2.Signature("Someone", "s@example.org", 0, 0)
for number in range(4):
    with deciding(place, wait=60):
        mend(place)
        old = refs.read(place.git_dir, MAIN)
        tree = repo.TreeBuilder(repo[old].tree)
        name = f"{sys.argv[1]}-{number}.md"
        tree.insert(name, repo.create_blob(name.encode()), pygit2.enums.FileMode.BLOB)
        new = str(repo.create_commit(None, someone, someone, name, tree.write(), [old]))
        move(place, [RefChange(MAIN, new, old)])
"""


def test_two_at_once_serialise(linked: World) -> None:
    """Two processes that decide at once both land everything."""
    both = [python("-c", ADD_LINES, name, *paths(linked.place)) for name in ("x", "y")]
    for process in both:
        process.communicate()
    assert [process.returncode for process in both] == [0, 0]

    expected = {f"{name}-{number}.md" for name in ("x", "y") for number in range(4)}
    assert set(linked.files()) == expected | set(OLD)
    assert linked.status() == []


# -- kills -------------------------------------------------------------------------------------


def paths(place: Place) -> list[Path]:
    assert place.folder is not None
    return [place.git_dir, place.folder, place.admin_dir]


@pytest.fixture(scope="module")
def killer() -> Iterator[subprocess.Popen[str]]:
    with python(KILL_AT) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def killed_at(killer: subprocess.Popen[str], step: int, world: World) -> bool:
    branch = RefChange("refs/heads/memory/candidate/x", None, world.new)
    changes = [RefChange(MAIN, world.new, world.old), branch]
    order = {
        "at": step,
        "place": [str(p) for p in paths(world.place)],
        "changes": [[c.name, c.new, c.old] for c in changes],
    }
    assert killer.stdin is not None
    assert killer.stdout is not None
    killer.stdin.write(json.dumps(order) + "\n")
    killer.stdin.flush()
    answer = killer.stdout.readline().strip()
    assert answer in ("killed", "done 0")
    return answer == "killed"


@pytest.mark.parametrize(
    "case",
    [("linked", False, 1), ("linked", True, 4), ("plain", False, 3)],
    ids=["linked", "lagging", "plain"],
)
def test_a_kill_at_any_step(
    killer: subprocess.Popen[str],
    templates: dict[str, World],
    tmp_path: Path,
    case: tuple[str, bool, int],
) -> None:
    """Killed before any step, the repository is before or after, and the next look mends it."""
    kind, lagging, stride = case
    step = 0
    while True:
        world = copied(templates, kind, tmp_path / str(step))
        if lagging:
            git("update-ref", MAIN, world.commit({"x": "x"}, None), cwd=world.place.git_dir)
            world.mend()
            git("update-ref", MAIN, world.old, cwd=world.place.git_dir)
        (world.folder / "b.md").write_text("edited\n")
        git("update-ref", "refs/heads/memory/candidate/x", world.new, cwd=world.place.git_dir)
        killed = killed_at(killer, step, world)
        # While main has been moved by others, a plain commit undoes that: so it is in git.
        committed = "" if lagging else commit_something(world)
        world.mend()
        check_mended(world, committed)
        if not killed:
            break
        shutil.rmtree(tmp_path / str(step))
        step += stride
    assert step > 30


def commit_something(world: World) -> str:
    """Subject and paths of main's last commit, after a plain commit was tried."""
    (world.folder / "mine.txt").write_text("mine\n")
    world.git("add", "mine.txt", check=False)
    world.git("commit", "--quiet", "--message=mine", check=False)
    return world.git("log", "-1", "--format=%s", "--name-only", MAIN)


def check_mended(world: World, committed: str) -> None:
    """Before or after, index and files with it; the commit failed, or is what it says and no more."""
    tip = world.ref() or ""
    if committed.startswith("mine"):
        assert committed.split() == ["mine", "mine.txt"]
        tip = world.git("rev-parse", f"{tip}^")
    assert (tip, world.ref("refs/heads/memory/candidate/x")) in (
        (world.old, world.new),
        (world.new, None),
    )
    assert (world.folder / "b.md").read_text() == "edited\n"
    assert set(world.status()) <= {" M b.md", "?? mine.txt"}
    assert world.leftovers() == set()
    git("fsck", "--strict", cwd=world.place.git_dir)


def test_a_move_that_git_did_not_live_to_end(linked: World) -> None:
    """Where main had moved and the rest had not, the rest is done, and dead locks go."""
    branch = "refs/heads/memory/candidate/x"
    git_dir = linked.place.git_dir
    git("update-ref", branch, linked.new, cwd=git_dir)
    changes = [[MAIN, linked.new, linked.old], [branch, None, linked.new]]
    journal = {"main": MAIN, "commits": [linked.old, linked.new], "changes": changes}
    (git_dir / "gitmem-journal").write_text(json.dumps(journal))
    (git_dir / f"{branch}.lock").write_text("")
    (git_dir / "packed-refs.lock").write_text("")
    git("update-ref", MAIN, linked.new, cwd=git_dir)

    assert linked.mend() == []
    assert linked.ref(branch) is None
    assert linked.files() == NEW
    assert linked.leftovers() == set()


def test_a_rest_that_others_have_moved_stays(linked: World) -> None:
    """A ref that has another value by now is not part of the unfinished move any more."""
    branch = "refs/heads/memory/candidate/x"
    git("update-ref", branch, linked.new, cwd=linked.place.git_dir)
    changes = [[MAIN, linked.new, linked.old], [branch, None, linked.old]]
    journal = {"main": MAIN, "commits": [linked.old, linked.new], "changes": changes}
    (linked.place.git_dir / "gitmem-journal").write_text(json.dumps(journal))
    git("update-ref", MAIN, linked.new, cwd=linked.place.git_dir)

    assert linked.mend() == []
    assert linked.ref(branch) == linked.new
    assert linked.files() == NEW
    assert linked.leftovers() == set()


def test_what_was_not_begun_is_not_done(linked: World) -> None:
    """A journal of a move that had not begun is no reason to move, whatever happened to a branch."""
    branch = "refs/heads/memory/candidate/x"
    changes = [[MAIN, linked.new, linked.old], [branch, None, linked.new]]
    journal = {"main": MAIN, "commits": [linked.old, linked.new], "changes": changes}
    (linked.place.git_dir / "gitmem-journal").write_text(json.dumps(journal))

    assert linked.mend() == []
    assert linked.ref() == linked.old
    assert linked.files() == OLD


def test_locks_of_others_stay(linked: World) -> None:
    """A lock that is older than the journal, or holds what we never wrote, is somebody's."""
    git_dir = linked.place.git_dir
    ours, theirs = git_dir / "HEAD.lock", git_dir / f"{MAIN}.lock"
    ours.write_text(f"{linked.new}\n")
    theirs.write_text(f"{linked.old}\n")

    clear_locks(git_dir, [RefChange(MAIN, linked.new, linked.old)], since_ns=0)
    assert (ours.exists(), theirs.exists()) == (False, True)
    theirs.write_text("")
    after = theirs.stat().st_mtime_ns + 1
    clear_locks(git_dir, [RefChange(MAIN, linked.new, linked.old)], since_ns=after)
    assert theirs.exists()


# -- races with plain git ----------------------------------------------------------------------

COMMITTING = """
i=0
while test ! -e "$STOP"; do
    i=$((i + 1))
    echo "$i" >"mine-$((i % 3)).txt"
    git add . ':!*.md' 2>/dev/null && git commit --quiet $ALL --message=hammer 2>/dev/null
done
"""


@pytest.mark.parametrize("how", ["", "--all"])
def test_plain_commits_at_any_moment(world: World, tmp_path: Path, how: str) -> None:
    """Somebody who commits all the time neither undoes a move nor carries one in."""
    stop = tmp_path / "stop"
    env = {**os.environ, "STOP": str(stop), "ALL": how}
    hammer = subprocess.Popen(["sh", "-c", COMMITTING], cwd=world.folder, env=env)
    try:
        while world.ref() == world.old:
            assert hammer.poll() is None
        for number in range(6):
            move_on(world, number)
    finally:
        stop.touch()
        hammer.wait()

    log = git("log", "--format=%x00%s", "--name-only", MAIN, cwd=world.place.git_dir)
    seen = set()
    for commit in log.split("\0")[1:]:
        subject, *names = commit.split()
        seen.add(subject)
        if subject == "hammer":
            assert all(name.startswith("mine-") for name in names), log
        elif subject == "move":
            assert names == ["a.md"], log
    assert {"hammer", "move"} <= seen
    world.mend()
    assert git("show", f"{MAIN}:a.md", cwd=world.place.git_dir) == "number 5"


def move_on(world: World, number: int) -> None:
    """One move on top of whatever main is, again where a commit came in between."""
    repo = pygit2.Repository(str(world.place.git_dir))
    while True:
        with deciding(world.place):
            old = world.ref() or ""
            tree = repo.TreeBuilder(repo[old].tree)
            tree.insert("a.md", world.blob(f"number {number}\n"), FileMode.BLOB)
            someone = pygit2.Signature("Someone", "someone@example.org", 0, 0)
            new = str(repo.create_commit(None, someone, someone, "move", tree.write(), [old]))
            try:
                move(world.place, [RefChange(MAIN, new, old)])
            except ConflictError as error:
                assert error.reference == "stale"
            else:
                return


# -- faults of the disk ------------------------------------------------------------------------


@pytest.mark.parametrize("room", [0, 200])
def test_a_full_disk_changes_nothing(world: World, room: int) -> None:
    """Where index or journal find no room, nothing moves, and nothing is left."""
    world.mend()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(BadInputError) as caught, deciding(world.place):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            move(world.place, [RefChange(MAIN, world.new, world.old)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert caught.value.reference == "cannot-write"
    assert caught.value.hint
    assert world.ref() == world.old
    assert world.files() == OLD
    assert world.mend() == []
    assert world.status() == []
    assert world.leftovers() == set()


def test_a_file_that_can_not_be_written_waits(linked: World) -> None:
    """A file without room does not hold up the decision: it is named, and comes later."""
    big = linked.commit({**OLD, "a.md": "x" * 5000}, linked.old)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with deciding(linked.place):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
        try:
            left = move(linked.place, [RefChange(MAIN, big, linked.old)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert [each.path for each in left] == ["a.md"]
    assert left[0].reason.startswith("can't be written")
    assert linked.ref() == big
    assert (linked.folder / "a.md").read_text() == OLD["a.md"]
    assert linked.mend() == []
    assert (linked.folder / "a.md").read_text() == "x" * 5000
    assert linked.leftovers() == set()


@pytest.mark.plain_user
def test_a_folder_that_is_read_only(linked: World) -> None:
    """Files in a read-only folder are named, the decision stands, and they come later."""
    (linked.folder / "topic").chmod(0o555)
    try:
        left = linked.move()
    finally:
        (linked.folder / "topic").chmod(0o755)

    assert {each.path for each in left} == {"topic/c.md", "topic/new.md"}
    assert linked.ref() == linked.new
    assert linked.mend() == []
    assert linked.files() == NEW


@pytest.mark.plain_user
@pytest.mark.parametrize("where", [".", "worktrees/memory", "refs/heads/memory"])
def test_a_repository_that_is_read_only(linked: World, where: str) -> None:
    """A repository that can't be written gives one clear error, and nothing changes."""
    linked.mend()
    (linked.place.git_dir / where).chmod(0o555)
    try:
        with pytest.raises(BadInputError) as caught:
            linked.move()
    finally:
        (linked.place.git_dir / where).chmod(0o755)

    assert caught.value.reference == "cannot-write"
    assert linked.files() == OLD
    assert linked.mend() == []
    assert linked.status() == []
    assert linked.leftovers() == set()


# -- the state of the folder -------------------------------------------------------------------


def test_state_of_a_folder(world: World) -> None:
    """A person's changes are told against the commit that the index was read from."""
    world.move()
    (world.folder / "a.md").write_text("edited\n")
    (world.folder / "b.md").unlink()
    (world.folder / "fresh.md").write_text("untracked\n")
    (world.folder / "notes.txt").write_text("no entry\n")
    world.git("add", "fresh.md")

    assert folder_state(world.place) == FolderState(
        MAIN, None, world.new, ("a.md",), ("b.md",), ("fresh.md",)
    )


@pytest.mark.parametrize("known", [True, False])
def test_state_where_main_has_moved_alone(world: World, *, known: bool) -> None:
    """A lagging folder shows no edits that nobody made, with a record and without one."""
    if known:
        world.mend()
    git("update-ref", MAIN, world.new, cwd=world.place.git_dir)

    assert folder_state(world.place) == FolderState(MAIN, None, world.old)


def test_state_without_a_folder(linked: World) -> None:
    """Without a folder there is nothing to tell but HEAD."""
    shutil.rmtree(linked.folder)

    assert folder_state(linked.place) == FolderState(MAIN, None, None)


def test_state_of_a_detached_folder(linked: World) -> None:
    """A detached HEAD has no branch."""
    linked.git("switch", "--quiet", "--detach")

    assert folder_state(linked.place) == FolderState(None, None, linked.old)
