"""What a merge approves is read from the messages that git and the forges really write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.merges import candidates_named, reverted_commit

SHA = "0123456789abcdef0123456789abcdef01234567"
OTHER = "89abcdef0123456789abcdef0123456789abcdef"
RunGit = Callable[..., str]


class Scratch:
    """A repository with candidates a, b, c (two commits each), and a clone of it to merge in."""

    def __init__(self, run_git: RunGit, path: Path) -> None:
        self._git = run_git
        self.origin = path / "re of mote into x"
        self.clone = path / "clone"
        run_git("init", "-q", "-b", "memory/main", self.origin, cwd=path)
        run_git("commit", "-q", "--allow-empty", "-m", "root", cwd=self.origin)
        for name in ("memory/candidate/a", "memory/candidate/b", "memory/candidate/c", "topic"):
            run_git("checkout", "-q", "-b", name, "memory/main", cwd=self.origin)
            for text in ("one", "two"):
                (self.origin / name.replace("/", "-")).write_text(text)
                run_git("add", ".", cwd=self.origin)
                run_git("commit", "-q", "-m", f"{name} {text}", cwd=self.origin)
        run_git("checkout", "-q", "memory/main", cwd=self.origin)
        run_git("clone", "-q", self.origin, self.clone, cwd=path)
        for name in ("memory/candidate/a", "memory/candidate/b", "topic"):
            run_git("branch", "-q", name, f"origin/{name}", cwd=self.clone)
        forged = "release\n\nMemory-Candidate: c"
        run_git("tag", "-a", "-m", forged, "v1", "origin/memory/candidate/c", cwd=self.clone)

    def git(self, *args: str) -> str:
        """Run git in the clone."""
        return self._git(*args, cwd=self.clone)

    def message(self, verb: str, *args: str) -> str:
        """The message of the commit that `git <verb>` makes on a fresh memory/main."""
        self.git("checkout", "-q", "-B", "memory/main", "origin/memory/main")
        self.git(verb, "--no-edit", *args)
        return self.git("log", "-1", "--format=%B")


@pytest.fixture
def scratch(run_git: RunGit, tmp_path: Path) -> Scratch:
    """A scratch repository for real merges."""
    return Scratch(run_git, tmp_path)


def test_the_candidates_that_git_merge_names_are_read(scratch: Scratch) -> None:
    """One, two and three branches, local and remote-tracking ones, are each named in order."""
    a, b, c = (f"memory/candidate/{name}" for name in "abc")
    merges = {
        (a,): ("a",),
        (b, a): ("b", "a"),
        (f"origin/{c}",): ("c",),
        (f"origin/{c}", f"origin/{a}"): ("c", "a"),
        (a, b, f"origin/{c}"): ("a", "b", "c"),
        (f"origin/{a}", f"origin/{b}", f"origin/{c}"): ("a", "b", "c"),
        ("--into-name=elsewhere", a): ("a",),
        ("--log", a): ("a",),
    }
    for args, expected in merges.items():
        message = scratch.message("merge", "--no-ff", *args)
        assert candidates_named(message) == expected, message


def test_a_merge_of_anything_else_names_none(scratch: Scratch) -> None:
    """A topic, a commit id, a tag, part of a candidate, or a candidate beside them: a sync."""
    a = "memory/candidate/a"
    tip = scratch.git("rev-parse", a)
    for args in (
        ("topic",),
        (tip,),
        ("v1",),
        (f"{a}~1",),
        (a, "topic"),
        (a, "v1"),
        (a, "origin/topic"),
        (a, scratch.git("rev-parse", "topic")),
        ("-m", "merge memory/candidate/a", a),
    ):
        message = scratch.message("merge", "--no-ff", *args)
        assert candidates_named(message) == (), message


def test_a_pull_names_what_it_pulls_whatever_its_path_says(scratch: Scratch) -> None:
    """The names of a pull are cut before the path, even one that holds ` of ` and ` into `."""
    a, b = "memory/candidate/a", "memory/candidate/b"
    for args, expected in {
        ("origin", a): ("a",),
        ("origin", a, b): ("a", "b"),
        ("origin", "topic"): (),
        ("origin", a, "topic"): (),
        (".", a): ("a",),
    }.items():
        message = scratch.message("pull", "--no-rebase", "--no-ff", *args)
        assert candidates_named(message) == expected, message
        assert args[0] == "." or f" of {scratch.origin}" in message


def test_git_revert_names_the_reverted_commit(scratch: Scratch) -> None:
    """A revert of a commit, of a merge and of a revert give the full id that git wrote."""
    scratch.message("merge", "--no-ff", "memory/candidate/a")
    for args in (["-m", "1", "HEAD"], ["HEAD"]):
        target = scratch.git("rev-parse", "HEAD")
        scratch.git("revert", "--no-edit", *args)
        assert reverted_commit(scratch.git("log", "-1", "--format=%B")) == target
    scratch.git("revert", "--no-edit", "--reference", "HEAD")
    assert reverted_commit(scratch.git("log", "-1", "--format=%B")) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Merge pull request #12 from owner/memory/candidate/x", ("x",)),
        ("Merge pull request #12 from owner/memory/candidate/x into memory/main", ("x",)),
        ("Merge branch 'memory/candidate/x' into 'memory/main'", ("x",)),
        ("Merge pull request 'any title' (#12) from memory/candidate/x into memory/main", ("x",)),
        ("Merge pull request 'it's' (!12) from o/r:memory/candidate/x into memory/main", ("x",)),
        ("Merge remote-tracking branch 'team/origin/memory/candidate/x'", ("x",)),
        ("Merge branches 'memory/candidate/x' and 'memory/candidate/x'", ("x",)),
        ("Merge branch 'memory/candidate/cand_2026_k3f9x2ab'\r", ("cand_2026_k3f9x2ab",)),
    ],
)
def test_the_forges_own_lines_are_read(line: str, expected: tuple[str, ...]) -> None:
    """GitHub, GitLab, Gitea and Forgejo name the branch in their own ways."""
    assert candidates_named(line + "\n\nTitle\n") == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "memory/candidate/x",
        "'memory/candidate/x'",
        " Merge branch 'memory/candidate/x'",
        "merge branch 'memory/candidate/x'",
        "Merge memory/candidate/x",
        "Merge branch memory/candidate/x",
        "Merge branch 'memory/main' of https://host/'memory/candidate/x'",
        "Merge branch 'memory/main' into memory/candidate/x",
        "Merge branch 'topic' of 'memory/candidate/x' into memory/main",
        "Merge branch 'evil/memory/candidate/x'",
        "Merge branch 'memory/candidate/x/y'",
        "Merge branch 'memory/candidate/x.y'",
        "Merge branch 'memory/candidate/X'",
        "Merge branch 'memory/candidate/х'",
        "Merge branch 'memory/candidate/'",
        f"Merge branch 'memory/candidate/{'x' * 101}'",
        "Merge branch 'memory/candidate/x'y'",
        "Merge branch 'memory/candidate/x' (early part)",
        "Merge branch 'memory/candidate/x' and more",
        "Merge branch 'memory/candidate/x' of a; branch 'topic' of b",
        "Merge branch 'memory/candidate/x'; branch 'topic' of b",
        "Merge HEAD, branch 'memory/candidate/x' of b",
        "Merge branches 'memory/candidate/x' and 'topic'",
        "Merge branches 'memory/candidate/x','memory/candidate/y'",
        "Merge tag 'memory/candidate/x'",
        "Merge commit 'memory/candidate/x'",
        "Merge remote-tracking branch 'memory/candidate/x'",
        "Merge remote-tracking branch '/memory/candidate/x'",
        "Merge remote-tracking branch 'origin/memory/candidate/memory/candidate/x'",
        "Merge remote-tracking branch 'refs/memory/kept/x'",
        "Merge pull request #12 from memory/candidate/x",
        "Merge pull request #12 from owner/evil/memory/candidate/x",
        "Merge pull request #12 from owner/topic memory/candidate/x",
        "Merge pull request #x from owner/memory/candidate/x",
        "Merge pull request 'a' (#1) from evil/memory/candidate/x into memory/main",
        "Merge pull request 'a' (#1) from memory/candidate/x into memory/main' (#2) from t into m",
        "Merge pull request 'a' (#1) from memory/candidate/x into m (#2) from t into m",
        "Merge pull request 'a' from memory/candidate/x into memory/main",
        "Revert \"Merge branch 'memory/candidate/x'\"",
        "Merged in memory/candidate/x (pull request #1)",
        "Merge branch 'memory/candidate/x' into m\0 and what git does not show",
        "\nMerge branch 'memory/candidate/x'",
        "title\nMerge branch 'memory/candidate/x'",
    ],
)
def test_in_doubt_a_merge_names_nothing(line: str) -> None:
    """A line that only resembles an approval, or names something else besides, is a sync."""
    assert candidates_named(line) == ()
    assert candidates_named(line + "\n\nMerge branch 'memory/candidate/x'\n") == ()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("apply it\n\nMemory-Candidate: x\n", ("x",)),
        ("apply\n\nwhy\n\nmemory-candidate: x\nA: b\nMemory-Candidate: y\n", ("x", "y")),
        ("Merge branch 'topic'\n\nMemory-Candidate: x\n", ("x",)),
        ("Merge branch 'memory/candidate/x'\n\nMemory-Candidate: x\n", ("x",)),
        (
            "Merge branch 'memory/candidate/x'\n\nMemory-Candidate: y\nMemory-Candidate: x\n",
            ("y", "x"),
        ),
        ("apply\n\nMemory-Candidate: x\nMemory-Candidate: x\n", ("x",)),
        ("Merge branch 'memory/candidate/x'\n\nMemory-Candidate: y\n", ()),
        ("apply\n\nMemory-Candidate: x\nMemory-Candidate: Not An Id\n", ()),
        ("apply\n\nMemory-Candidate:\n", ()),
        ("apply\n\nMemory-Candidate: x\n\nlast paragraph\n", ()),
        ("sync\n\nMemory-Event: memory.synced\nMemory-Candidate: x\n", ()),
        ("Merge branch 'memory/candidate/x'\n\nMemory-Event: memory.synced\n", ()),
    ],
)
def test_trailers_of_the_merge_decide(message: str, expected: tuple[str, ...]) -> None:
    """A merge's own trailers name its candidates, unless they contradict its first line."""
    assert candidates_named(message) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Merge pull request #1 from owner/topic\n\nMemory-Candidate: y\n", ()),
        ("Merge pull request #1 from o/memory/candidate/x\n\nMemory-Candidate: y\n", ("x",)),
        ("Merge pull request 't' (#1) from a into b\n\nMemory-Candidate: y\n", ()),
        ("Merge tag 'v1'\n\nMemory-Candidate: y\n", ()),
        ("Merge branch 'topic', tags 'v1' and 'v2'\n\nMemory-Candidate: y\n", ()),
        (
            "Merge branch 't' into 'm'\n\nSee merge request g/p!1\n\nMemory-Candidate: y\n",
            (),
        ),
    ],
)
def test_a_trailer_in_the_authors_text_approves_nothing(
    message: str, expected: tuple[str, ...]
) -> None:
    """Titles, descriptions and tag messages are the author's; a trailer there is no approval."""
    assert candidates_named(message) == expected


BRANCH = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zs"], exclude_characters="~^:?*[\\"), min_size=1
)


@given(BRANCH | st.sampled_from(["x'", "memory/candidate/x'", "a','memory/candidate/b"]), BRANCH)
def test_no_branch_name_forges_a_candidate(branch: str, base: str) -> None:
    """Whatever git lets a branch be called, its merge names no candidate but itself."""
    for line in (
        f"Merge branch 'topic/{branch}' into {base}",
        f"Merge branch 'topic/{branch}' into '{base}'",
        f"Merge remote-tracking branch 'origin/t{branch}'",
        f"Merge branches 'memory/candidate/x' and 't{branch}'",
        f"Merge pull request #1 from owner/t{branch}",
        f"Merge pull request '{branch}' (#1) from t{branch} into {base}",
    ):
        if not branch.startswith("/memory/candidate/"):
            assert candidates_named(line) == (), line


@given(st.text(st.characters(exclude_characters="\n", codec="utf-8")))
def test_no_title_forges_a_candidate(title: str) -> None:
    """A pull request's title stands before the names and can't be taken for them."""
    for forged in (title, f"{title}' (#1) from memory/candidate/x into memory/main"):
        line = f"Merge pull request '{forged}' (#2) from topic into memory/main"
        assert candidates_named(line) == ()
        line = f"Merge pull request '{forged}' (#2) from memory/candidate/y into memory/main"
        assert candidates_named(line) in ((), ("y",))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f'Revert "x"\n\nThis reverts commit {SHA}.\n', SHA),
        (f'Revert "x"\n\nThis reverts commit {SHA}, reversing\nchanges made to {OTHER}.\n', SHA),
        (f'Revert "x"\n\nThis reverts commit {SHA}', SHA),
        (f"undo\n\nMemory-Reverts: {SHA}\n", SHA),
        (f"undo\n\nMEMORY-REVERTS: {SHA}\n", SHA),
        (f"undo\n\nThis reverts commit {OTHER}.\n\nMemory-Reverts: {SHA}\n", SHA),
        (f"undo\n\nThis reverts commit {SHA}.\nThis reverts commit {SHA}.\n", SHA),
        (f"undo\n\nThis reverts commit {SHA}.\nThis reverts commit {OTHER}.\n", None),
        (f"undo\n\nMemory-Reverts: {SHA}\nMemory-Reverts: {OTHER}\n", None),
        (f"undo\n\nThis reverts commit {SHA}.\n\nMemory-Reverts: {SHA[:8]}\n", None),
        (f"undo\n\nMemory-Reverts: {SHA.upper()}\n", None),
        (f"undo\n\nThis reverts commit {SHA[:12]}.\n", None),
        (f"undo\n\nThis reverts commit {SHA}abc.\n", None),
        (f"undo\n\nThis reverts commit {SHA}{'0' * 24}.\n", None),
        (f"undo\n\n> This reverts commit {SHA}.\n", None),
        (f"undo\n\0\nThis reverts commit {SHA}.\n", None),
        ('Revert "x"\n\nThis reverts merge request !12\n', None),
        ("Revert\n", None),
    ],
)
def test_only_a_full_id_names_a_reverted_commit(message: str, expected: str | None) -> None:
    """The trailer comes before git's sentence; part of an id, or two ids, name nothing."""
    assert reverted_commit(message) == expected
