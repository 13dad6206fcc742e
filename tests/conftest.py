"""The sealed world in which every test runs, and the repositories that are cheap to have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel

sys.path.insert(0, str(Path(__file__).parent))

import schema
from servers import HttpServer, Remote, Server, SshServer, path_remote

from gitmem import tiersetup
from gitmem.config import AGENT_SIGNS

schema.check_all()

RunGit = Callable[..., str]

_GIT_CONFIG = """\
[user]
	name = Test Person
	email = person@example.org
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
[commit]
	gpgSign = false
[gc]
	auto = 0
"""
# Variables that change what git, click or a pager does, besides all GIT_*, GITMEM_*, XDG_* and LC_*.
_DROPPED = {
    *(sign.name for sign in AGENT_SIGNS),
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "EMAIL",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LESS",
    "NO_COLOR",
    "PAGER",
    "PYTHONUNBUFFERED",
    "SSH_ASKPASS",
}
_DROPPED_PREFIXES = ("GIT_", "GITMEM_", "XDG_", "LC_")


def _leaks(name: str) -> bool:
    return name in _DROPPED or name.startswith(_DROPPED_PREFIXES)


def _seal(home: Path) -> dict[str, str]:
    """The variables of a sealed world around `home`, whose folders are made."""
    folders = {
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_CACHE_HOME": home / ".cache",
        "XDG_STATE_HOME": home / ".local" / "state",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    # In HOME, not elsewhere: gitmem keeps GIT_CONFIG_GLOBAL from the git that it starts.
    config = home / ".gitconfig"
    config.write_text(_GIT_CONFIG, encoding="utf-8")
    return {
        "HOME": str(home),
        **{name: str(folder) for name, folder in folders.items()},
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        # An editor that nobody expected fails instead of waiting for a person.
        "GIT_EDITOR": "false",
        "EDITOR": "false",
        "VISUAL": "false",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "80",
    }


def _run_git(*args: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        ["git", *map(str, args)],
        cwd=cwd,
        env=env,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    said = f"git {' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr}"
    assert done.returncode == 0, said
    return done.stdout.removesuffix("\n")


@pytest.fixture(autouse=True)
def sealed_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the machine's own configuration, identity and variables out of the test; give HOME."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if _leaks(name):
            monkeypatch.delenv(name)
    for name, value in _seal(home).items():
        monkeypatch.setenv(name, value)
    # libgit2 reads HOME once, when it is loaded.
    pygit2.settings.homedir = str(home)
    search_path = pygit2.settings.search_path
    search_path[ConfigLevel.GLOBAL] = str(home)
    search_path[ConfigLevel.XDG] = str(home / ".config" / "git")
    search_path[ConfigLevel.SYSTEM] = str(home / "no-system-configuration")
    return home


@pytest.fixture
def run_git() -> RunGit:
    """`run_git(*args, cwd=…)`: standard output of a git that succeeds, without the last line end."""
    return _run_git


@pytest.fixture(scope="session")
def _host_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host repository with two commits, always with the same object ids."""
    place = tmp_path_factory.mktemp("host-template")
    env = {name: value for name, value in os.environ.items() if not _leaks(name)}
    env |= _seal(place / "home")
    host = place / "host"
    host.mkdir()
    _run_git("init", "--quiet", cwd=host, env=env)
    for number, (name, text) in enumerate(
        [("README.md", "# A project\n"), ("src/app.py", 'print("hello")\n')]
    ):
        file = host / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        date = f"2026-01-0{number + 1}T12:00:00Z"
        env |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        _run_git("add", "--all", cwd=host, env=env)
        _run_git("commit", "--quiet", "--message", f"Add {name}", cwd=host, env=env)
    return host


@pytest.fixture
def host(_host_template: Path, tmp_path: Path) -> Path:
    """A host repository of the test's own: two commits on `main`, and a clean worktree."""
    return shutil.copytree(_host_template, tmp_path / "host", symlinks=True)


@pytest.fixture(scope="session")
def _project_template(_host_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project and a user's folder that `gitmem init` has set up."""
    place = tmp_path_factory.mktemp("project-template")
    host = shutil.copytree(_host_template, place / "host", symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _seal(place / "home").items():
            patch.setenv(name, value)
        tiersetup.init(host, ask_remote=False)
    return place


@pytest.fixture
def project(_project_template: Path, tmp_path: Path, sealed_home: Path) -> Path:
    """A host repository with the tiers of the project and of the user set up, both empty."""
    shutil.copytree(
        _project_template / "home" / ".config",
        sealed_home / ".config",
        symlinks=True,
        dirs_exist_ok=True,
    )
    return shutil.copytree(_project_template / "host", tmp_path / "host", symlinks=True)


@pytest.fixture
def path_server(tmp_path: Path) -> Remote:
    """An empty bare repository, reached by its path."""
    return path_remote(tmp_path)


@pytest.fixture(scope="session")
def _http_server() -> Iterator[Server]:
    server = HttpServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def _ssh_server() -> Iterator[Server]:
    server = SshServer()
    yield server
    server.close()


def _let_in(server: Server, home: Path) -> Remote:
    """A new repository on a server, whose people have the test's own home."""
    server.let_in(home)
    return server.repository()


@pytest.fixture
def http_server(_http_server: Server, sealed_home: Path) -> Iterator[Remote]:
    """An empty repository behind apache2, and in HOME the passwords of both accounts."""
    yield _let_in(_http_server, sealed_home)
    _http_server.start()


@pytest.fixture
def ssh_server(_ssh_server: Server, sealed_home: Path) -> Iterator[Remote]:
    """An empty repository in gitolite, and in HOME a configuration with both accounts' keys."""
    yield _let_in(_ssh_server, sealed_home)
    _ssh_server.start()


@pytest.fixture(params=["path", "http", "ssh"])
def remote(request: pytest.FixtureRequest) -> Remote:
    """An empty repository on each kind of server in turn."""
    found: Remote = request.getfixturevalue(f"{request.param}_server")
    return found


@dataclass(frozen=True)
class Key:
    """An ssh key of a test: its private file, the public one beside it, and its fingerprint."""

    path: Path
    fingerprint: str

    @property
    def public(self) -> Path:
        return self.path.with_suffix(".pub")

    def line(self, name: str) -> str:
        """How it stands in an allowed-signers file."""
        return f"{name} {' '.join(self.public.read_text().split()[:2])}"

    def sign_with(self, run_git: RunGit, cwd: Path) -> None:
        """Have git sign with it, as a user sets that up."""
        run_git("config", "--global", "gpg.format", "ssh", cwd=cwd)
        run_git("config", "--global", "user.signingKey", self.public, cwd=cwd)


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Key]:
    """Real ssh keys of `ann`, `bob` and `eve`."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    place = tmp_path_factory.mktemp("keys")
    found = {}
    for name in ("ann", "bob", "eve"):
        path = place / name
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
        subprocess.run(made, check=True)
        said = subprocess.run(
            ["ssh-keygen", "-l", "-f", str(path)], capture_output=True, text=True, check=True
        )
        found[name] = Key(path, said.stdout.split()[1])
    return found


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what root, whom file permissions do not stop, can't show."""
    if item.get_closest_marker("plain_user") and os.geteuid() == 0:
        pytest.skip("root is not stopped by file permissions")
