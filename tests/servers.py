"""Git servers for tests, on loopback: a path, `git http-backend` behind apache2, gitolite over sshd.

`tests/conftest.py` has the fixtures. A server is started when the first test of a process asks for
it, and is stopped with it; where a package is missing, the test is skipped and says which. Two
people have an account on each: `agent` and `reviewer`. Nothing outside a temporary folder is read
or written, but for the folder /run/sshd, without which root's sshd does not start.
"""

from __future__ import annotations

import getpass
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

AGENT = "agent"
REVIEWER = "reviewer"
PEOPLE = (AGENT, REVIEWER)
_PATIENCE = 20.0
# Before a server's command: it ends with this process, however that ends.
_WITH_US = ("setpriv", "--pdeathsig", "TERM")
_SBIN = "/usr/sbin:/sbin"


@dataclass(frozen=True)
class Remote:
    """A new bare repository on a server. `git_dir` is its place on this disk; `server` may be None."""

    git_dir: Path
    urls: dict[str, str]
    server: Server | None

    def url(self, who: str = REVIEWER) -> str:
        """Where `agent` or `reviewer` reaches it."""
        return self.urls[who]


def path_remote(folder: Path) -> Remote:
    """A bare repository that everybody reaches by its path: nobody has a name there."""
    git_dir = folder / "remote.git"
    _git("init", "--quiet", "--bare", str(git_dir))
    return Remote(git_dir, dict.fromkeys(PEOPLE, str(git_dir)), None)


class Server:
    """A process that serves repositories below a folder of its own.

    `stop` cuts every connection at once, as a crash does; `start` brings it back on the same port.
    """

    programs: ClassVar[dict[str, str]]

    def __init__(self) -> None:
        self.check_installed()
        self.folder = Path(tempfile.mkdtemp(prefix="gitmem-server-"))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._count = 0

    def check_installed(self) -> None:
        """Skip the test that asks, and say why, where a program of this server is not installed."""
        helpers = {"setpriv": "util-linux", "unshare": "util-linux"}
        for program, package in (self.programs | helpers).items():
            if _which(program) is None:
                pytest.skip(f"needs {program} (package {package})")

    def repository(self) -> Remote:
        """A new and empty repository."""
        raise NotImplementedError

    def let_in(self, home: Path) -> None:
        """Have git in this home folder reach the server as either of the people."""
        raise NotImplementedError

    def command(self) -> list[str]:
        """What serves, in the foreground."""
        raise NotImplementedError

    def start(self) -> None:
        """Serve, if nobody does, and come back when somebody listens."""
        if self._process is not None and self._process.poll() is None:
            return
        log = self.folder / "server.log"
        command = self.command()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # apache2 ends by a signal to its process group, and sshd gives connections their own.
                start_new_session=True,
                env={"PATH": _path(), "HOME": str(self.folder), "LC_ALL": "C.UTF-8"},
            )
        deadline = time.monotonic() + _PATIENCE
        while not _listens(self.port):
            said = log.read_text(encoding="utf-8", errors="replace")
            assert self._process.poll() is None, f"{command}\n{said}"
            assert time.monotonic() < deadline, f"{command} does not listen\n{said}"
            time.sleep(0.02)

    def stop(self) -> None:
        """Kill it and whatever it has started."""
        if self._process is not None:
            for pid in _family(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop for good, and remove the folder."""
        if self._process is not None:
            # Unlike a killed one it waits for its children, so that nothing is left of them.
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE)
        self.stop()
        shutil.rmtree(self.folder)


class HttpServer(Server):
    """`git http-backend` behind apache2; both accounts may push, and hooks see REMOTE_USER."""

    programs: ClassVar[dict[str, str]] = {"apache2": "apache2", "htpasswd": "apache2-utils"}

    def check_installed(self) -> None:
        super().check_installed()
        command = [*_as_nobody(), "sh", "-c", 'exec "$0" -c "import gitmem"', sys.executable]
        if subprocess.run(command, cwd="/", capture_output=True, check=False).returncode != 0:
            pytest.skip(f"the user nobody, as whom apache2 runs, can't run {sys.executable}")

    def __init__(self) -> None:
        super().__init__()
        # Where nobody is really another user, it must reach and write what root has made.
        self.folder.chmod(0o755)
        for name in ("run", "repos"):
            (self.folder / name).mkdir()
            (self.folder / name).chmod(0o777)
        _write(self.folder / ".gitconfig", "[safe]\n\tdirectory = *\n")
        passwords = self.folder / "passwords"
        for who in PEOPLE:
            create = () if passwords.exists() else ("-c",)
            _run("htpasswd", *create, "-b", str(passwords), who, f"{who}-password")
        _write(self.folder / "apache.conf", self._config())
        self.start()

    def _config(self) -> str:
        modules = Path("/usr/lib/apache2/modules")
        names = "mpm_prefork authn_core authn_file authz_core authz_user auth_basic alias env cgi"
        loaded = "".join(
            f"LoadModule {name}_module {modules}/mod_{name}.so\n" for name in names.split()
        )
        backend = Path(_git("--exec-path")) / "git-http-backend"
        return f"""\
ServerRoot {self.folder}
DefaultRuntimeDir {self.folder}/run
ServerName 127.0.0.1
Listen 127.0.0.1:{self.port}
PidFile {self.folder}/run/pid
Mutex file:{self.folder}/run
ErrorLog {self.folder}/run/error.log
{loaded}
SetEnv GIT_PROJECT_ROOT {self.folder}/repos
SetEnv GIT_HTTP_EXPORT_ALL
SetEnv HOME {self.folder}
PassEnv PATH
ScriptAlias /git/ {backend}/
<Location /git/>
    AuthType Basic
    AuthName git
    AuthUserFile {self.folder}/passwords
    Require valid-user
</Location>
"""

    def command(self) -> list[str]:
        apache = _which("apache2")
        assert apache is not None
        return [
            *_as_nobody(),
            *_WITH_US,
            apache,
            "-D",
            "FOREGROUND",
            "-f",
            f"{self.folder}/apache.conf",
        ]

    def repository(self) -> Remote:
        self._count += 1
        name = f"memory-{self._count}.git"
        git_dir = self.folder / "repos" / name
        _git("init", "--quiet", "--bare", "--shared=0666", str(git_dir))
        at = f"127.0.0.1:{self.port}/git/{name}"
        return Remote(git_dir, {who: f"http://{who}@{at}" for who in PEOPLE}, self)

    def let_in(self, home: Path) -> None:
        # git takes a password out of there that a server has refused.
        lines = "".join(f"http://{who}:{who}-password@127.0.0.1:{self.port}\n" for who in PEOPLE)
        _write(home / ".git-credentials", lines)
        _append(home / ".gitconfig", "[credential]\n\thelper = store\n")


class SshServer(Server):
    """gitolite3 over an sshd of our own; the agent may push `memory/candidate/*` alone.

    Hooks see GL_USER. gitolite's home is the server's folder.
    """

    programs: ClassVar[dict[str, str]] = {
        "gitolite": "gitolite3",
        "sshd": "openssh-server",
        "ssh": "openssh-client",
        "ssh-keygen": "openssh-client",
    }

    def __init__(self) -> None:
        super().__init__()
        for name in ("host", *PEOPLE):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._key(name)))
        self._gitolite("setup", "-a", REVIEWER)
        shell = f"{self._gitolite('query-rc', 'GL_BINDIR')}/gitolite-shell"
        keys = [
            f'restrict,command="{shell} {who}" {self._key(who, ".pub").read_text()}'
            for who in PEOPLE
        ]
        _write(self.folder / "authorized_keys", "".join(keys))
        _write(self.folder / "sshd_config", self._server_config())
        _write(self.folder / "ssh_config", self._people_config())
        host_key = self._key("host", ".pub").read_text().split()[:2]
        _write(self.folder / "known_hosts", f"gitmem-server {' '.join(host_key)}\n")
        if os.geteuid() == 0:
            # As the service's own start script does; it is empty, and sshd changes into it.
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.start()

    def _key(self, name: str, suffix: str = "") -> Path:
        return self.folder / f"{name}-key{suffix}"

    def _gitolite(self, *args: str) -> str:
        env = {"PATH": _path(), "HOME": str(self.folder), "USER": getpass.getuser()}
        return _run("gitolite", *args, env=env).strip()

    def _server_config(self) -> str:
        # HOME is set here too: the shell that sshd starts would read the user's own files.
        return f"""\
ListenAddress 127.0.0.1:{self.port}
HostKey {self._key("host")}
AuthorizedKeysFile {self.folder}/authorized_keys
AllowUsers {getpass.getuser()}
AuthenticationMethods publickey
PermitRootLogin prohibit-password
PermitUserRC no
PidFile none
SetEnv HOME={self.folder}
StrictModes no
UsePAM no
"""

    def _people_config(self) -> str:
        people = "".join(f"Host {who}\n\tIdentityFile {self._key(who)}\n" for who in PEOPLE)
        return f"""\
{people}
Host *
	HostName 127.0.0.1
	Port {self.port}
	User {getpass.getuser()}
	BatchMode yes
	HostKeyAlias gitmem-server
	IdentitiesOnly yes
	IdentityAgent none
	LogLevel ERROR
	StrictHostKeyChecking yes
	UserKnownHostsFile {self.folder}/known_hosts
"""

    def command(self) -> list[str]:
        sshd = _which("sshd")
        assert sshd is not None
        # sshd starts itself again for each connection, so that it wants its whole path.
        return [*_WITH_US, sshd, "-D", "-e", "-f", str(self.folder / "sshd_config")]

    def repository(self) -> Remote:
        self._count += 1
        name = f"memory-{self._count}"
        repositories = " ".join(f"memory-{number + 1}" for number in range(self._count))
        rules = f"""\
repo {repositories}
    RW+ = {REVIEWER}
    RW memory/candidate/ = {AGENT}
    R = {AGENT}
"""
        _write(self.folder / ".gitolite" / "conf" / "gitolite.conf", rules)
        self._gitolite("compile")
        git_dir = self.folder / "repositories" / f"{name}.git"
        return Remote(git_dir, {who: f"ssh://{who}/{name}" for who in PEOPLE}, self)

    def let_in(self, home: Path) -> None:
        command = f"ssh -F {shlex.quote(str(self.folder / 'ssh_config'))}"
        _append(home / ".gitconfig", f"[core]\n\tsshCommand = {command}\n")


def _as_nobody() -> list[str]:
    """For what won't serve as root: root then seems to be the user nobody, who owns root's files.

    Where a system has no user namespaces it is that user indeed.
    """
    if os.geteuid() != 0:
        return []
    seeming = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"]
    if subprocess.run([*seeming, "true"], capture_output=True, check=False).returncode == 0:
        return seeming
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]


def _family(pid: int) -> list[int]:
    """A process and all that descend from it, parents first."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # After the name, which stands in brackets and may hold any: the state, and the parent.
            parent = int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    family = [pid]
    for member in family:
        family += children.get(member, [])
    return family


def _path() -> str:
    return f"{os.environ['PATH']}:{_SBIN}"


def _which(program: str) -> str | None:
    return shutil.which(program, path=_path())


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _run(*args: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(args, env=env, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{args}\n{done.stderr}"
    return done.stdout


def _git(*args: str) -> str:
    return _run("git", *args).strip()


def _free_port() -> int:
    """A port that nobody has, and that no system gives to whoever connects to another."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


__all__ = [
    "AGENT",
    "PEOPLE",
    "REVIEWER",
    "HttpServer",
    "Remote",
    "Server",
    "SshServer",
    "path_remote",
]
