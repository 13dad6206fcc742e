"""The servers of the tests themselves: who may do what there, and that they come and go."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from servers import AGENT, PEOPLE, REVIEWER, Remote

RunGit = Callable[..., str]
MAIN = "refs/heads/memory/main"
CANDIDATE = "refs/heads/memory/candidate/cents"


def _push(host: Path, url: str, *refspecs: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "push", url, *refspecs],
        cwd=host,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def _refs(remote: Remote, run_git: RunGit) -> list[str]:
    return run_git("for-each-ref", "--format=%(refname)", cwd=remote.git_dir).splitlines()


def test_both_may_push_candidates_and_fetch(remote: Remote, host: Path, run_git: RunGit) -> None:
    """What the reviewer has pushed, the agent can read; both may push a candidate."""
    run_git("push", remote.url(REVIEWER), f"main:{MAIN}", cwd=host)
    run_git("push", remote.url(AGENT), f"main:{CANDIDATE}", cwd=host)

    for who in PEOPLE:
        listed = run_git("ls-remote", remote.url(who), cwd=host)
        assert [line.split()[1] for line in listed.splitlines()] == [CANDIDATE, MAIN]
    assert _refs(remote, run_git) == [CANDIDATE, MAIN]


def test_each_test_has_a_repository_of_its_own(remote: Remote, run_git: RunGit) -> None:
    """Nothing is there of another test's."""
    assert _refs(remote, run_git) == []


def test_gitolite_keeps_the_agent_to_candidates(
    ssh_server: Remote, host: Path, run_git: RunGit
) -> None:
    """Whatever hook is or is not there, `memory/main` is not the agent's, nor is any tag."""
    for ref in (MAIN, "refs/heads/main", "refs/tags/memory/discarded/cents.01234567"):
        refused = _push(host, ssh_server.url(AGENT), f"main:{ref}")
        assert (refused.returncode, "DENIED" in refused.stderr) == (1, True), refused.stderr

    assert _refs(ssh_server, run_git) == []


@pytest.mark.parametrize(
    ("fixture", "variable"), [("http_server", "REMOTE_USER"), ("ssh_server", "GL_USER")]
)
def test_a_hook_learns_who_pushes(
    fixture: str, variable: str, host: Path, request: pytest.FixtureRequest
) -> None:
    """The account's name stands in the variable of that server, and a hook can refuse."""
    remote: Remote = request.getfixturevalue(fixture)
    hook = remote.git_dir / "hooks" / "pre-receive"
    hook.write_text(f'#!/bin/sh\necho "it is ${variable}"\n[ "${variable}" = {REVIEWER} ]\n')
    hook.chmod(0o755)
    by_agent = _push(host, remote.url(AGENT), f"main:{CANDIDATE}")
    by_reviewer = _push(host, remote.url(REVIEWER), f"main:{MAIN}")

    assert (by_agent.returncode, by_reviewer.returncode) == (1, 0)
    assert "remote: it is agent" in by_agent.stderr
    assert "remote: it is reviewer" in by_reviewer.stderr


@pytest.mark.parametrize("fixture", ["http_server", "ssh_server"])
def test_a_hook_can_run_the_program(
    fixture: str, host: Path, request: pytest.FixtureRequest
) -> None:
    """The server's own user can start this Python and load gitmem."""
    remote: Remote = request.getfixturevalue(fixture)
    hook = remote.git_dir / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\nexec {sys.executable} -P -m gitmem --version\n")
    hook.chmod(0o755)

    pushed = _push(host, remote.url(REVIEWER), f"main:{MAIN}")
    assert "remote: gitmem " in pushed.stderr
    assert pushed.returncode == 0


def test_a_stranger_is_not_let_in(http_server: Remote, host: Path) -> None:
    """An account with another password gets no answer."""
    url = http_server.url(AGENT).replace("agent@", "agent:wrong@")

    assert "Authentication failed" in _push(host, url, f"main:{CANDIDATE}").stderr


@pytest.mark.parametrize("fixture", ["http_server", "ssh_server"])
def test_a_server_that_is_killed_cuts_a_push(
    fixture: str, host: Path, tmp_path: Path, run_git: RunGit, request: pytest.FixtureRequest
) -> None:
    """The push ends at once, though its hook would wait; started again, the server takes it."""
    remote: Remote = request.getfixturevalue(fixture)
    server = remote.server
    assert server is not None
    arrived = server.folder / "run" / remote.git_dir.name
    arrived.parent.mkdir(exist_ok=True)
    hook = remote.git_dir / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\n: >{arrived}\nsleep 60\n")
    hook.chmod(0o755)
    push = subprocess.Popen(
        ["git", "push", remote.url(REVIEWER), f"main:{MAIN}"], cwd=host, stderr=subprocess.DEVNULL
    )
    while not arrived.exists():
        assert push.poll() is None
    server.stop()

    assert push.wait(timeout=20) != 0
    assert _push(host, remote.url(REVIEWER), f"main:{MAIN}").returncode != 0
    assert _refs(remote, run_git) == []
    hook.unlink()
    server.start()
    assert _push(host, remote.url(REVIEWER), f"main:{MAIN}").returncode == 0
    assert _refs(remote, run_git) == [MAIN]
