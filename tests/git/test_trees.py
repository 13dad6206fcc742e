"""Trees read from objects alone, against what git lists and what git takes for changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInputError
from gitmem.git.indexfile import Entry
from gitmem.git.trees import Trees

BLOBS = [bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"), b"\1" * 20]
MODES = ["100644", "100755", "120000", "160000"]
# A name that is a file here and a folder there, and names that sort oddly around folders.
PATHS = ["a", "a/b", "a/b/c", "a.md", "a-b", "d/x.md", "d/e/y.md", "é.md"]


class Repo:
    """A bare repository in which trees are made by git."""

    def __init__(self, place: Path) -> None:
        self.git_dir = place / "memory.git"
        subprocess.run(["git", "init", "-q", "--bare", str(self.git_dir)], check=True)
        self.trees = Trees(self.git_dir)

    def git(self, *args: str, text: bytes = b"") -> bytes:
        """What git says; it must succeed."""
        command = ["git", f"--git-dir={self.git_dir}", *args]
        return subprocess.run(command, input=text, capture_output=True, check=True).stdout

    def tree(self, files: dict[str, tuple[str, bytes]]) -> bytes:
        """The tree that git makes of these files."""
        (self.git_dir / "index").unlink(missing_ok=True)
        lines = [f"{mode} {oid.hex()} 0\t{path}\0" for path, (mode, oid) in files.items()]
        self.git("update-index", "-z", "--add", "--index-info", text="".join(lines).encode())
        return bytes.fromhex(self.git("write-tree", "--missing-ok").decode().strip())

    def listed(self, tree: bytes) -> dict[bytes, Entry]:
        """What git lists of a tree."""
        found = {}
        for line in self.git("ls-tree", "-r", "-z", tree.hex()).split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.decode().split(" ")
            found[path] = Entry(int(mode, 8), bytes.fromhex(oid))
        return found

    def differing(self, old: bytes, new: bytes) -> dict[bytes, Entry | None]:
        """What git says that `old` has at the paths in which the two differ."""
        args = ("diff-tree", "-r", "-z", "--no-renames", old.hex(), new.hex())
        items = self.git(*args).split(b"\0")[:-1]
        found: dict[bytes, Entry | None] = {}
        for head, path in zip(items[::2], items[1::2], strict=True):
            mode, _, oid, _, _ = head.decode().removeprefix(":").split(" ")
            found[path] = Entry(int(mode, 8), bytes.fromhex(oid)) if int(mode, 8) else None
        return found


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """One repository for all: objects only ever come."""
    return Repo(tmp_path_factory.mktemp("trees"))


def _possible(files: dict[str, tuple[str, bytes]]) -> bool:
    return not any(other.startswith(f"{path}/") for path in files for other in files)


trees = st.dictionaries(
    st.sampled_from(PATHS),
    st.tuples(st.sampled_from(MODES), st.sampled_from(BLOBS)),
    max_size=5,
).filter(_possible)


@given(trees, trees)
@settings(max_examples=60, deadline=None)
def test_as_git_reads_them(
    repo: Repo, one: dict[str, tuple[str, bytes]], other: dict[str, tuple[str, bytes]]
) -> None:
    """Files, modes and differences are git's, where a file becomes a folder as well."""
    old, new = repo.tree(one), repo.tree(other)

    assert repo.trees.files(old) == repo.listed(old)
    assert repo.trees.changed(old, new) == repo.differing(old, new)
    # Against nothing all is new, and nothing differs from itself.
    assert repo.trees.changed(None, new) == dict.fromkeys(repo.listed(new))
    assert repo.trees.changed(new, None) == repo.listed(new)
    assert Trees(repo.git_dir).changed(old, old) == {}


def test_a_commit_has_its_tree(repo: Repo) -> None:
    """Only a commit has one, and only one that is there."""
    tree = repo.tree({"a.md": (MODES[0], BLOBS[0])})
    who = ("-c", "user.name=A", "-c", "user.email=a@b")
    commit = repo.git(*who, "commit-tree", tree.hex(), "-m", "x").decode().strip()
    blob = repo.git("hash-object", "-w", "--stdin", text=b"tree x").decode().strip()

    assert repo.trees.tree(commit) == tree
    for other in (tree.hex(), blob, "f" * 40, "", "HEAD", "z" * 40):
        assert repo.trees.tree(other) is None


def test_the_empty_tree_needs_no_object(repo: Repo) -> None:
    """It has no files whether anybody wrote it or not."""
    empty = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

    assert repo.trees.files(empty) == repo.trees.files(None) == {}


def test_a_blob_is_its_bytes(repo: Repo) -> None:
    """Raw, whatever they are."""
    content = bytes(range(256)) * 3
    oid = bytes.fromhex(repo.git("hash-object", "-w", "--stdin", text=content).decode().strip())

    assert repo.trees.blob(oid) == content


def test_what_is_missing_is_told(repo: Repo) -> None:
    """A tree or a blob that is not there is named, with a way out."""
    tree = repo.tree({"gone/only-here.md": (MODES[0], BLOBS[1])})
    folder = repo.git("rev-parse", f"{tree.hex()}:gone").decode().strip()
    (repo.git_dir / "objects" / folder[:2] / folder[2:]).unlink()

    asked = (
        (folder, lambda: repo.trees.files(tree)),
        (BLOBS[1].hex(), lambda: repo.trees.blob(BLOBS[1])),
    )
    for missing, ask in asked:
        with pytest.raises(BadInputError, match=missing) as caught:
            ask()
        assert caught.value.reference == "object-missing"
        assert caught.value.hint


def test_names_are_bytes(repo: Repo) -> None:
    """A name that is no UTF-8 is a name like others."""
    line = b"100644 blob " + BLOBS[0].hex().encode() + b"\t\xff.md\0"
    tree = bytes.fromhex(repo.git("mktree", "-z", "--missing", text=line).decode().strip())

    assert list(repo.trees.files(tree)) == [b"\xff.md"]


def test_replacements_and_alternates_of_the_environment_have_no_say(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the repository's own objects count."""
    other = Repo(tmp_path)
    hidden = other.tree({"hidden.md": (MODES[0], BLOBS[1])})
    one, two = repo.tree({"a.md": (MODES[0], BLOBS[0])}), repo.tree({"b.md": (MODES[0], BLOBS[0])})
    repo.git("replace", one.hex(), two.hex())
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(other.git_dir / "objects"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", os.fspath(other.git_dir / "objects"))
    fresh = Trees(repo.git_dir)

    assert list(fresh.files(one)) == [b"a.md"]
    with pytest.raises(BadInputError):
        fresh.files(hidden)
