"""The git program: the only place that starts it.

Used where the user's own set-up must count (fetch, push, credentials, signing,
identity, worktrees, gc) and where one cold look is cheaper than loading
pygit2. `docs/architecture.md` has the table, operation by operation.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gitmem.errors import BadInputError, ConflictError, GitmemError

# Variables that say how the user reaches the network; all other GIT_* ones would let whoever
# started us (a hook exports GIT_DIR and GIT_INDEX_FILE) choose the repository or its content.
_KEPT = frozenset(
    {
        "GIT_ALLOW_PROTOCOL",
        "GIT_ASKPASS",
        "GIT_EXEC_PATH",
        "GIT_HTTP_PROXY_AUTHMETHOD",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_NO_VERIFY",
        "GIT_TERMINAL_PROMPT",
    }
)
# Who the user is and what they read and write with, where the question is just that.
_IDENTITY = frozenset(
    {
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_EDITOR",
        "GIT_PAGER",
    }
)


@dataclass(frozen=True, slots=True)
class Result:
    """What one run of git gave back: exit code, and both streams as bytes."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Standard output as text, without its final line end."""
        return self.out.decode("utf-8", "surrogateescape").removesuffix("\n")

    @property
    def message(self) -> str:
        """What git said of its failure: standard error as text, stripped."""
        return self.err.decode("utf-8", "replace").strip()


class GitFailedError(GitmemError):
    """A run of git that should have worked."""


def environment(
    *, identity: bool = False, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment for a git process: the user's, without what would redirect git."""
    kept = _KEPT | _IDENTITY if identity else _KEPT
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in kept or name.startswith("GIT_TRACE")
    }
    env["LC_ALL"] = "C.UTF-8"
    # Old git ignores both; new git would otherwise make what libgit2 can't open.
    env["GIT_DEFAULT_HASH"] = "sha1"
    env["GIT_DEFAULT_REF_FORMAT"] = "files"
    env["GIT_NO_REPLACE_OBJECTS"] = "1"
    # What is missing is said; no config may name a place, or a program, to have it from.
    env["GIT_NO_LAZY_FETCH"] = "1"
    # Grafts have no switch of their own: an absent file is how git is told that there are none.
    env["GIT_GRAFT_FILE"] = os.devnull
    env.update(extra or {})
    return env


def command(git_dir: Path | None, args: Sequence[str]) -> list[str]:
    """The argument vector for git on the repository `git_dir` (None: whatever cwd says)."""
    where = [] if git_dir is None else [f"--git-dir={git_dir}"]
    return [
        "git",
        *where,
        "-c",
        "core.fsmonitor=false",
        "-c",
        "advice.graftFileDeprecated=false",
        *args,
    ]


def run(
    *args: str,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    input: bytes | None = None,  # noqa: A002 - subprocess's own word
    check: bool = True,
    identity: bool = False,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Result:
    """Run git to its end with no terminal; `timeout` is in seconds.

    Raises GitFailedError `git-failed` where `check` is set and git exits non-zero, and
    `git-timeout`, and BadInputError `git-missing` where there is no git program.
    """
    try:
        done = subprocess.run(
            command(git_dir, args),
            cwd=cwd,
            input=input if input is not None else b"",
            capture_output=True,
            env=environment(identity=identity, extra=env),
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        message = f"'{_verb(args)}' did not end within {timeout:g} seconds"
        raise GitFailedError("git-timeout", message) from error
    except FileNotFoundError as error:
        raise _missing(error, cwd) from error
    result = Result(done.returncode, done.stdout, done.stderr)
    if check and result.code != 0:
        raise failed(args, result)
    return result


def failed(args: Sequence[str], result: Result) -> GitmemError:
    """The error for a run of git that went wrong, with a reference of its own where we know the cause."""
    message = result.message
    if "dubious ownership" in message:
        named = re.search(r"dubious ownership in repository at '(.+)'", message)
        folder = shlex.quote(named[1]) if named else "<folder>"
        return BadInputError(
            "unsafe-repository",
            "the repository belongs to another user",
            context=message,
            hint=f"if you trust it: git config --global --add safe.directory {folder}",
        )
    if ".lock': File exists" in message:
        return ConflictError(
            "repository-locked",
            f"'{_verb(args)}' found the repository locked",
            context=message,
            hint="repeat when the other git process has ended; remove the lock file if none runs",
        )
    return GitFailedError(
        "git-failed",
        f"'{_verb(args)}' failed with exit code {result.code}",
        context=message or None,
    )


def _verb(args: Sequence[str]) -> str:
    """The command as a person would say it: `git worktree add`, without options for git itself."""
    rest = list(args)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] == "-c" else 1]
    return " ".join(["git", *rest[:2]])


def _missing(error: FileNotFoundError, cwd: Path | None) -> GitmemError:
    if cwd is not None and not cwd.is_dir():
        return BadInputError("no-such-folder", f"there is no folder '{cwd}'", context=str(error))
    return BadInputError(
        "git-missing",
        "the git program is not on the PATH",
        context=str(error),
        hint="install git 2.39 or newer",
    )


def call(
    args: Sequence[str],
    *,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run git on the user's own terminal and streams; gives its exit code."""
    try:
        done = subprocess.run(
            command(git_dir, args), cwd=cwd, env=environment(identity=True, extra=env), check=False
        )
    except FileNotFoundError as error:
        raise _missing(error, cwd) from error
    return done.returncode


def watch(
    *args: str,
    git_dir: Path,
    input: bytes = b"",  # noqa: A002 - subprocess's own word
    env: Mapping[str, str] | None = None,
    show: Callable[[bytes], object] | None = None,
) -> Result:
    """Run git to its end and give `show` what it says on standard error as it comes, such as progress.

    Its exit code is the caller's to look at. Raises BadInputError `git-missing`.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(input)
        given.seek(0)
        try:
            process = subprocess.Popen(
                command(git_dir, args),
                stdin=given,
                stdout=out,
                stderr=subprocess.PIPE,
                env=environment(extra=env),
            )
        except FileNotFoundError as error:
            raise _missing(error, None) from error
        said = bytearray()
        with process:
            if process.stderr is None:
                raise GitFailedError("git-failed", f"'{_verb(args)}' has no pipe")
            while chunk := os.read(process.stderr.fileno(), 1 << 16):
                said += chunk
                if show is not None:
                    show(chunk)
        out.seek(0)
        return Result(process.returncode, out.read(), bytes(said))


def converse(
    *args: str,
    git_dir: Path,
    input: bytes,  # noqa: A002 - subprocess's word
    env: Mapping[str, str] | None = None,
) -> bytes:
    """Give git all of `input`, then read all that it prints; for much output after a short input.

    Reads in one go, where `run` polls both pipes. Raises as `run`.
    """
    process = start(*args, git_dir=git_dir, env=env)
    with process:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise GitFailedError("git-failed", f"'git {args[0]}' has no pipes")
        try:
            process.stdin.write(input)
            process.stdin.close()
        except BrokenPipeError:
            # It ended early; its own message, below, says why.
            pass
        out = process.stdout.read()
        err = process.stderr.read()
    if process.returncode != 0:
        raise failed(args, Result(process.returncode, out, err))
    return out


def start(
    *args: str,
    git_dir: Path | None = None,
    env: Mapping[str, str] | None = None,
    keep: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start git with pipes on its input and output, for a conversation such as `cat-file --batch`.

    The file descriptors in `keep` stay open in it: a lock held through one lasts until both
    have ended. Ctrl-C does not reach it; it ends when its input does.
    """
    try:
        return subprocess.Popen(
            command(git_dir, args),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(extra=env),
            pass_fds=keep,
            process_group=0,
        )
    except FileNotFoundError as error:
        raise _missing(error, None) from error


def edit(editor: str, file: Path) -> int:
    """Start the user's editor on `file` as git does, through a shell; gives its exit code.

    An interrupt meanwhile is the editor's affair.
    """
    if editor == ":":
        return 0
    line = ["sh", "-c", f'{editor} "$@"', editor, str(file)]
    with _interrupts_left_to_child():
        return subprocess.run(line, env=environment(identity=True), check=False).returncode


# As git sets them where the user does not: end where all fits on a screen, pass colours on.
_PAGER_DEFAULTS = {"LESS": "FRX", "LV": "-c"}


def page(pager: str, text: str) -> int:
    """Show `text` in the user's pager as git does, through a shell; gives its exit code.

    An interrupt meanwhile is the pager's affair. A pager that is left early is content.
    """
    env = {**_PAGER_DEFAULTS, **environment(identity=True)}
    with _interrupts_left_to_child():
        shown = subprocess.Popen(["sh", "-c", pager], stdin=subprocess.PIPE, env=env)
        with shown, suppress(BrokenPipeError):
            shown.communicate(text.encode())
    return shown.returncode


def filtered(command_line: str, text: str) -> str | None:
    """What a filter of the user's makes of `text`, through a shell; None where it fails."""
    done = subprocess.run(
        ["sh", "-c", command_line],
        input=text.encode(),
        capture_output=True,
        env=environment(identity=True),
        check=False,
    )
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


@contextmanager
def _interrupts_left_to_child() -> Iterator[None]:
    """Ignore what Ctrl-C sends; a child, unlike with SIG_IGN, gets it as ever."""
    signals = (signal.SIGINT, signal.SIGQUIT)
    before = {number: signal.signal(number, lambda _number, _frame: None) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
