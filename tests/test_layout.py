"""Tests of where everything lies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitmem import layout
from gitmem.layout import Host


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("project", "ae1e350d19b4944c70fa0671365470fa86e1605e"),
        ("user", "9f8ec29abce8fc537b6c1d27dd9e4f644801cac8"),
    ],
)
def test_the_first_commit_has_a_fixed_id(scope: layout.Scope, expected: str) -> None:
    """Each tier of a scope begins with the same commit, everywhere and for good."""
    assert layout.root_id(scope) == expected


@pytest.mark.parametrize("scope", ["project", "user"])
def test_git_gives_the_first_commit_the_same_id(scope: layout.Scope, tmp_path: Path) -> None:
    """The id that is written down is the one that git computes."""
    hashed = subprocess.run(
        ["git", "hash-object", "-t", "commit", "--stdin"],
        input=layout.root_commit(scope),
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )

    assert hashed.stdout.decode().strip() == layout.root_id(scope)


def test_refs_are_named_in_one_place() -> None:
    """Candidates, their tags and anchors, and sessions have the refs of the data model."""
    assert layout.candidate_ref("cand_1") == "refs/heads/memory/candidate/cand_1"
    assert layout.discarded_ref("cand_1", "0123456789abcdef") == (
        "refs/tags/memory/discarded/cand_1.01234567"
    )
    assert layout.kept_ref("cand_1") == "refs/memory/kept/cand_1"
    assert layout.session_ref("s1") == "refs/memory/session/s1"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/p/src", "/p/src"),
        ("/p/.custom-agent", "/p/.custom-agent"),
        ("/p/.custom-agent/memory", "/p"),
        ("/p/.custom-agent/memory/topic/x", "/p"),
        ("/p/.custom-agent/sessions/s1", "/p"),
        ("/p/.custom-agent/candidates", "/p"),
        ("/p/.custom-agent/retired.git/refs", "/p"),
        ("/p/.custom-agent/clones/q", "/p/.custom-agent/clones/q"),
    ],
)
def test_our_folders_are_stepped_out_of(path: str, expected: str) -> None:
    """From a folder of ours one looks from the project's root; others' folders stay."""
    assert layout.outside_our_folder(Path(path)) == Path(expected)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/p/.git/gitmem/memory.git/hooks", "/p/.git"),
        ("/p/.git/gitmem/retired.git", "/p/.git"),
        ("/p/.git/gitmem", None),
        ("/src/gitmem/tests", None),
    ],
)
def test_a_tiers_repository_names_its_host(path: str, expected: str | None) -> None:
    """Within a tier's repository the host's common git directory is known from the path."""
    assert layout.host_common_dir(Path(path)) == (Path(expected) if expected else None)


def test_a_hosts_tier_is_bare_until_it_has_a_folder() -> None:
    """The admin directory is that of the linked folder, or the repository itself without one."""
    host = Host(Path("/p/.git"), Path("/p"))

    bare = layout.host_tier(host, None)
    linked = layout.host_tier(host, Path("/p/.custom-agent/memory"))

    assert (bare.linked, bare.admin_dir) == (False, Path("/p/.git/gitmem/memory.git"))
    assert (linked.linked, linked.admin_dir) == (
        True,
        Path("/p/.git/gitmem/memory.git/worktrees/memory"),
    )


@pytest.mark.parametrize(
    ("git_dir", "expected"),
    [
        ("/p/.git/gitmem/memory.git", "/p/.git/gitmem/retired.git"),
        ("/p/.custom-agent/memory/.git", "/p/.custom-agent/retired.git"),
    ],
)
def test_a_retired_repository_lies_outside_the_folder(git_dir: str, expected: str) -> None:
    """What deinit keeps is beside the memory folder or beside the bare repository."""
    assert layout.retired_repository(Path(git_dir)) == Path(expected)


def test_a_remote_carries_nothing_but_memory() -> None:
    """Every refspec of a tier's remote is below memory/, and tags come only by name."""
    config = layout.remote_config("origin", "https://example.org/m.git")

    refspecs = [value for key, value in config if key.endswith((".fetch", ".push"))]
    assert all("/memory/*:" in value and value.endswith("/memory/*") for value in refspecs)
    assert ("remote.origin.tagopt", "--no-tags") in config
