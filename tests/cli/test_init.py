from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_sets_both_tiers_up(cli_at: Callable[[Path], Any], host: Path, sealed_home: Path) -> None:
    """It says where each tier is, and the second time that nothing was to do."""
    cli = cli_at(host)
    users = sealed_home / ".config" / "custom-agent" / "memory"

    first, second = cli.done("init"), cli.done("init")

    assert first.splitlines() == [
        f"project memory: set up, {host}/.custom-agent/memory",
        f"user memory: set up, {users}",
    ]
    assert second.splitlines() == [
        f"project memory: as it was, {host}/.custom-agent/memory",
        f"user memory: as it was, {users}",
    ]


def test_one_tier(cli_at: Callable[[Path], Any], host: Path) -> None:
    """--scope does one."""
    assert cli_at(host).done("init", "--scope", "user").startswith("user memory: set up, ")
    assert not (host / ".custom-agent").exists()


def test_json(cli_at: Callable[[Path], Any], host: Path) -> None:
    """A program learns what was made and mended."""
    found = cli_at(host).json("init")

    assert [one["scope"] for one in found["tiers"]] == ["project", "user"]
    assert found["tiers"][0]["folder"] == f"{host}/.custom-agent/memory"
    assert found["tiers"][0]["mended"] == []
    assert found["offer"] is None


def test_mends(cli: Any) -> None:
    """A folder that was deleted is made again, and it says so."""
    import shutil

    shutil.rmtree(cli.at / ".custom-agent" / "memory")

    assert cli.done("init", "--scope", "project").startswith("project memory: mended (")


@pytest.fixture
def clone(cli: Any, run_git: Any, tmp_path: Path) -> Path:
    """A clone whose remote carries memory beside the code, approved by one person."""
    cli.apply()
    remote = tmp_path / "remote.git"
    run_git("clone", "--quiet", "--bare", str(cli.at), str(remote), cwd=tmp_path)
    folder = cli.at / ".custom-agent" / "memory"
    run_git("push", "--quiet", str(remote), "memory/main", cwd=folder)
    run_git("clone", "--quiet", str(remote), "clone", cwd=tmp_path)
    return tmp_path / "clone"


def test_a_strangers_memory_is_not_read(cli_at: Callable[[Path], Any], clone: Path) -> None:
    """Where nobody can be asked it is offered, and not taken up until a person says yes."""
    cli = cli_at(clone)

    result = cli("init")

    assert result.exit_code == 4
    assert "has memory: 1 entry at " in result.stderr
    assert "approved by: Test Person <person@example.org> (1)\n" in result.stderr
    assert f"gitmem -C {clone} init --yes" in result.stderr
    assert cli.done("context") == ""

    assert cli("init", "--yes").exit_code == 0
    assert cli.done("context") == "[memory:project:preference]\nUse 4 spaces."


@pytest.mark.usefixtures("at_terminal")
@pytest.mark.parametrize(("typed", "code"), [("n\n", 1), ("y\n", 0)])
def test_a_person_is_asked(
    cli_at: Callable[[Path], Any], clone: Path, typed: str, code: int
) -> None:
    """At a terminal the offer is shown and the question asked."""
    cli = cli_at(clone)

    result = cli("init", input=typed)

    assert result.exit_code == code
    assert "take it up? [y/N]" in result.stderr
    assert (cli.done("context") != "") == (code == 0)


def test_an_agent_takes_nothing_up(
    cli_at: Callable[[Path], Any], clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may set up, and may not decide that a stranger's memory counts."""
    monkeypatch.setenv("CLAUDECODE", "1")
    cli = cli_at(clone)

    result = cli("init", "--yes")

    assert result.exit_code == 4
    assert "error: only a person decides about memory" in result.stderr
    assert cli.done("context") == ""


def test_a_host_that_tracks_our_folder(
    cli_at: Callable[[Path], Any], host: Path, run_git: Any
) -> None:
    """It is refused with the way out, at every command."""
    (host / ".custom-agent").mkdir()
    (host / ".custom-agent" / "x").write_text("x", encoding="utf-8")
    run_git("add", ".", cwd=host)

    for args in (["init"], ["list"], ["context"]):
        result = cli_at(host)(*args, "--json")
        assert result.exit_code == 2
        assert json.loads(result.stdout)["error"] == "host-tracks-memory"


def test_the_hosts_branches_stay(cli_at: Callable[[Path], Any], host: Path) -> None:
    """The host's refs and status are what they were."""

    def seen() -> list[bytes]:
        return [
            subprocess.check_output(["git", *args], cwd=host)
            for args in (["for-each-ref"], ["status", "--porcelain"], ["config", "--list"])
        ]

    before = seen()
    cli_at(host).done("init")

    assert seen() == before
