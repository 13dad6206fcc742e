"""What a range of commits brings, in histories that are made in a line each."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from build import Builder

from gitmem import arrivals
from gitmem.errors import BadInputError
from gitmem.git.signatures import Signing
from gitmem.model.history import REGULAR, Blob

HIDDEN = "Use tabs.\u202e"


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    return Builder.at(tmp_path)


def found(repo: Builder, old: str, new: str, *, candidate: bool = False) -> list[tuple[str, str]]:
    """The kinds of what a range brings, each with the entry, the commit or the words it is about."""
    report = arrivals.verify(repo.git_dir, f"{old}..{new}", candidate=candidate)
    return [(one.kind, one.entry or one.message) for one in report.findings]


def test_approved_changes_bring_nothing(repo: Builder) -> None:
    """Applies, reverts and syncs are no findings, and what was looked at is counted."""
    one = repo.approve(repo.root, {"a": "A"}, "cand_1")
    other = repo.approve(one, {"b": "B"}, "cand_2")
    here = repo.approve(one, {"c": "C"}, "cand_3")
    tip = repo.pull(here, other)

    report = arrivals.verify(repo.git_dir, f"{one}..{tip}")

    assert (report.findings, report.commits, report.entries) == ((), 3, 3)


def test_only_what_is_new_is_found(repo: Builder) -> None:
    """A direct commit before the range is not the range's fault, one in it is."""
    before = repo.commit([repo.root], {"a": "slipped in"})
    one = repo.approve(before, {"b": "B"}, "cand_1")
    two = repo.commit([one], {"c": "slipped in"})

    assert found(repo, before, one) == []
    assert found(repo, before, two) == [("unreviewed", "mem_c")]
    assert found(repo, "0" * 40, two) == [("unreviewed", "mem_a"), ("unreviewed", "mem_c")]


def test_what_was_put_right_in_the_range_is_nothing(repo: Builder) -> None:
    """A direct commit and its revert leave nothing to say."""
    one = repo.approve(repo.root, {"a": "A"}, "cand_1")
    direct = repo.commit([one], {"a": "slipped in"})
    tip = repo.revert(direct, direct, {"a": "A"})

    assert found(repo, one, tip) == []


def test_an_old_fault_changed_once_more_is_new(repo: Builder) -> None:
    """Unreviewed before and after, but not the same text."""
    before = repo.commit([repo.root], {"a": "slipped in"})
    tip = repo.commit([before], {"a": "and worse"})

    assert found(repo, before, tip) == [("unreviewed", "mem_a")]


def test_the_shared_line_comes_first(repo: Builder) -> None:
    """A plain pull's merge has the own line first; a rewritten line lacks the old tip."""
    shared = repo.approve(repo.root, {"a": "A"}, "cand_1")
    own = repo.approve(repo.root, {"b": "B"}, "cand_2")

    assert found(repo, shared, repo.pull(shared, own)) == []
    ((kind, _),) = found(repo, shared, repo.pull(own, shared))
    assert kind == "other-line-first"
    ((kind, _),) = found(repo, shared, own)
    assert kind == "main-rewritten"


def test_what_is_approved_must_be_entries(repo: Builder) -> None:
    """An approval does not make text readable, and none brings hidden text or other files."""
    note = repo.objects.write_blob(b"no front matter")
    broken = repo.commit([repo.root], {}, files={"a.md": note})
    bad = repo.apply(repo.root, broken, "cand_1", {"b": "B"})
    assert found(repo, repo.root, repo.merge(repo.root, broken, _named("cand_1"))) == [
        ("entry-invalid", "mem_a")
    ]
    assert found(repo, repo.root, repo.approve(repo.root, {"a": HIDDEN}, "cand_2")) == [
        ("injection", "mem_a")
    ]
    program = repo.commit([repo.root], {}, files={"run.sh": Blob(note.id, REGULAR)})
    merged = repo.merge(repo.root, program, _named("cand_3"))
    assert found(repo, repo.root, merged) == [("not-an-entry", "'run.sh' is no entry")]
    assert ("unreviewed", "mem_b") in found(repo, repo.root, bad)


def _named(name: str) -> str:
    return f"Merge branch 'memory/candidate/{name}'\n"


def test_a_candidate(repo: Builder) -> None:
    """It is looked at for the memory that it is for: its own entries and files, nothing else."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    good = repo.propose(main, {"b": "B"}, "cand_2")
    hidden = repo.propose(main, {"b": HIDDEN}, "cand_3")
    note = repo.objects.write_blob(b"no front matter")
    broken = repo.commit([main], {}, files={"a.md": note, "x.py": note, "README.md": note})

    assert found(repo, main, good, candidate=True) == []
    assert found(repo, main, main, candidate=True) == []
    assert found(repo, main, hidden, candidate=True) == [("injection", "mem_b")]
    assert found(repo, main, broken, candidate=True) == [
        ("entry-invalid", "mem_a"),
        ("not-an-entry", "'x.py' is no entry"),
    ]


def test_a_candidate_on_what_nobody_approved(repo: Builder) -> None:
    """It would carry in what it stands on."""
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    direct = repo.commit([main], {"a": "slipped in"})
    candidate = repo.propose(direct, {"a": "slipped in, and more"}, "cand_2")

    assert found(repo, direct, candidate, candidate=True) == [("unreviewed-base", "mem_a")]
    with pytest.raises(BadInputError):
        found(repo, "0" * 40, candidate, candidate=True)


@pytest.mark.parametrize("written", ["main", "a..", "..b", "a...b", "nothing..here"])
def test_what_is_no_range(repo: Builder, written: str) -> None:
    """Two names of commits, two dots between them."""
    with pytest.raises(BadInputError) as error:
        arrivals.verify(repo.git_dir, written)

    assert error.value.reference == "range-unclear"


def test_a_shallow_clone(repo: Builder, tmp_path: Path, run_git: Callable[..., str]) -> None:
    """What was approved can't be read from a part of the history, so nothing is said of it."""
    tip = repo.approve(repo.root, {"a": "A"}, "cand_1")
    subprocess.run(
        ["git", f"--git-dir={repo.git_dir}", "update-ref", "refs/heads/memory/main", tip],
        check=True,
    )
    url = f"file://{repo.git_dir}"
    run_git("clone", "-q", "--depth=1", "-b", "memory/main", url, "clone", cwd=tmp_path)
    place = arrivals.repository_at(tmp_path / "clone")

    with pytest.raises(BadInputError) as error:
        arrivals.verify(place, f"{'0' * 40}..HEAD")

    assert error.value.reference == "shallow"
    shutil.rmtree(tmp_path / "clone")


def test_what_must_be_signed(
    repo: Builder, tmp_path: Path, keys: Any, run_git: Callable[..., str]
) -> None:
    """With a list of keys, what the range approves needs one's signature; what was before does not."""
    one = repo.approve(repo.root, {"a": "A"}, "cand_1")
    two = repo.approve(one, {"b": "B"}, "cand_2")
    plain = repo.objects.commit(two)
    keys["ann"].sign_with(run_git, tmp_path)
    signing = Signing(repo.git_dir, tmp_path)
    signed = signing.write_commit(plain.tree, plain.parents, plain.message, plain.author)
    listed = tmp_path / "signers"
    listed.write_text(keys["ann"].line("ann"))

    kinds = [
        [found.kind for found in arrivals.verify(repo.git_dir, given, signers=listed).findings]
        for given in (f"{one}..{signed}", f"{one}..{two}", f"{repo.root}..{signed}")
    ]

    assert kinds == [[], ["not-signed"], ["not-signed"]]
    with pytest.raises(BadInputError) as error:
        arrivals.verify(repo.git_dir, f"{one}..{two}", signers=tmp_path / "nothing")
    assert error.value.reference == "file-unreadable"


def test_no_repository(tmp_path: Path) -> None:
    """A folder outside any repository is said to be that."""
    with pytest.raises(BadInputError) as error:
        arrivals.repository_at(tmp_path)

    assert error.value.reference == "no-repository"


def test_the_users_tier(repo: Builder) -> None:
    """The first commit says whose memory it is."""
    place = repo.git_dir
    assert arrivals.opened(place, repo.root).tier == "project"
    person = "gitmem <gitmem@localhost> 0 +0000"
    root = f"tree {repo.objects.write_tree(repo.objects.commit(repo.root).tree, {})}\n"
    root += f"author {person}\ncommitter {person}\n\nmemory: start user\n"
    done = subprocess.run(
        ["git", f"--git-dir={place}", "hash-object", "-w", "-t", "commit", "--stdin"],
        input=root.encode(),
        capture_output=True,
        check=True,
    )

    assert arrivals.opened(place, done.stdout.decode().strip()).tier == "user"
