"""What the next commit changes, against git's own listing, in every state of an index."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitmem.errors import GitmemError
from gitmem.git import staged
from gitmem.model.history import Blob


class Repo:
    """A repository with a worktree."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.git_dir = folder / ".git"
        self.git("init", "-q")

    def git(self, *args: str, text: bytes = b"", check: bool = True) -> str:
        """What git says."""
        command = ["git", *args]
        done = subprocess.run(
            command, input=text, capture_output=True, check=check, cwd=self.folder
        )
        return os.fsdecode(done.stdout).strip()

    def write(self, path: str, text: str = "x\n") -> None:
        """Write a file and add it."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.git("add", "--", path)

    def commit(self) -> None:
        """Commit what is added."""
        self.git("commit", "-q", "-m", "x")

    def changed(self, index: Path | None = None) -> dict[str, Blob]:
        """What gitmem sees."""
        return staged.changed(self.git_dir, index or self.git_dir / "index")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository without a commit."""
    return Repo(tmp_path / "repo")


def _blob(text: str) -> str:
    done = subprocess.run(
        ["git", "hash-object", "--stdin"], input=text.encode(), capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def test_before_the_first_commit_all_is_new(repo: Repo) -> None:
    """An unborn branch has nothing, so that each file counts."""
    repo.write("a.md", "a\n")

    assert repo.changed() == {"a.md": Blob(_blob("a\n"), 0o100644)}


def test_added_and_changed_but_not_deleted(repo: Repo) -> None:
    """Modes count, moves are what they are, and what only lies in the folder does not."""
    for name in ("same.md", "edited.md", "gone.md", "mode.md", "moved.md", "folder/x.md"):
        repo.write(name, f"{name}\n")
    repo.commit()
    repo.write("edited.md", "other\n")
    repo.git("rm", "-q", "gone.md")
    repo.git("update-index", "--chmod=+x", "mode.md")
    repo.git("mv", "moved.md", "here.md")
    repo.git("rm", "-rq", "folder")
    repo.write("folder", "a file now\n")
    (repo.folder / "link").symlink_to("same.md")
    repo.git("add", "link")
    (repo.folder / "same.md").write_text("not added\n")
    (repo.folder / "untracked.md").write_text("x")

    assert repo.changed() == {
        "edited.md": Blob(_blob("other\n"), 0o100644),
        "mode.md": Blob(_blob("mode.md\n"), 0o100755),
        "here.md": Blob(_blob("moved.md\n"), 0o100644),
        "folder": Blob(_blob("a file now\n"), 0o100644),
        "link": Blob(_blob("same.md"), 0o120000),
    }


def test_names_are_as_they_are(repo: Repo) -> None:
    """Blanks, quotes, line ends and bytes that are no UTF-8 come back as the system has them."""
    names = ["a b", 'q"q', "n\nn", "t\tt", "é", os.fsdecode(b"\xff.md"), "-x"]
    for name in names:
        repo.write(name, "x")

    assert sorted(repo.changed()) == sorted(names)


def test_another_index_counts(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A commit of some paths has an index of its own, named from wherever the hook runs."""
    repo.write("a.md")
    repo.commit()
    repo.write("b.md")
    other = repo.git_dir / "next-index"
    other.write_bytes((repo.git_dir / "index").read_bytes())
    repo.git("rm", "-q", "--cached", "b.md")
    monkeypatch.chdir(repo.git_dir)
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere"))

    assert repo.changed() == {}
    assert list(repo.changed(Path("next-index"))) == ["b.md"]


def test_a_linked_worktree_has_its_own_head(repo: Repo, tmp_path: Path) -> None:
    """The index is compared with the commit that this worktree is on."""
    repo.write("a.md")
    repo.commit()
    linked = tmp_path / "linked"
    repo.git("worktree", "add", "-q", "--detach", str(linked))
    repo.write("b.md")
    repo.commit()
    admin = repo.git_dir / "worktrees" / "linked"

    assert staged.changed(admin, repo.git_dir / "index").keys() == {"b.md"}
    assert staged.changed(admin, admin / "index") == {}
    assert staged.common_dir(admin) == repo.git_dir.resolve()
    assert staged.common_dir(repo.git_dir) == repo.git_dir.resolve()


def test_a_conflict_hides_nothing(repo: Repo) -> None:
    """What is not settled is listed as having no content, and what is settled beside it as it is."""
    repo.write("a.md", "base\n")
    repo.commit()
    repo.git("switch", "-qc", "other")
    repo.write("a.md", "theirs\n")
    repo.commit()
    repo.git("switch", "-q", "-")
    repo.write("a.md", "ours\n")
    repo.commit()
    repo.git("merge", "other", check=False)
    repo.write("b.md", "b\n")

    found = repo.changed()

    assert found["b.md"] == Blob(_blob("b\n"), 0o100644)
    assert found.get("a.md", Blob("0" * 40, 0)) == Blob("0" * 40, 0)
    assert staged.contents(repo.git_dir, [blob.id for blob in found.values()]) == {
        _blob("b\n"): b"b\n"
    }


def test_a_broken_index_is_told(repo: Repo) -> None:
    """A hook must not let pass what it could not read."""
    repo.write("a.md")
    (repo.git_dir / "index").write_bytes(b"DIRC broken")

    with pytest.raises(GitmemError) as caught:
        repo.changed()

    assert caught.value.reference == "git-failed"


def test_contents_are_bytes_and_what_is_missing_is_left_out(repo: Repo) -> None:
    """Empty, binary and headers that look like git's own answer come back byte for byte."""
    texts = [b"", b"\0\xff\n", b"x" * 100_000, f"{'1' * 40} blob 3\nabc\n".encode(), b"no end"]
    ids = [repo.git("hash-object", "-w", "--stdin", text=text) for text in texts]

    found = staged.contents(repo.git_dir, [*ids, "1" * 40, ids[0]])

    assert found == dict(zip(ids, texts, strict=True))
    assert staged.contents(repo.git_dir, []) == {}
