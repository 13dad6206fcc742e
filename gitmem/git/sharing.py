"""What a tier shares with its remote: listing, fetching and pushing refs below `memory/`.

The git program does it, with the user's credentials, ssh and proxies, and with what the host's
config says about reaching remotes. Whatever a remote holds is as untrusted as a transcript.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.git import hostremote, program
from gitmem.git.hostremote import Remote
from gitmem.git.program import Result

Show = Callable[[bytes], object]

_HEADS = "refs/heads/memory/"
_TAGS = "refs/tags/memory/"
IN_THE_WAY = "refs/heads/memory"
"""A branch of this name keeps a remote from having any `memory/...`."""

# No hook runs: what they would ask is looked at here, for all refs at once.
_NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")
# Objects of strangers are checked, and no setting of the user's adds to what is fetched or forgotten.
_FETCH = (
    *_NO_HOOKS,
    "-c",
    "fetch.fsckObjects=true",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-prune",
    "--no-prune-tags",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
    "--no-filter",
    "--no-write-fetch-head",
    "--refmap=",
    "--stdin",
)
_PUSH = (*_NO_HOOKS, "push", "--porcelain", "--no-follow-tags", "--no-recurse-submodules")
# A process takes two megabytes of arguments, and an update and its lease are some 250 bytes.
_AT_ONCE = 4000
_NOT_ATOMIC = "does not support --atomic push"


@dataclass(frozen=True, slots=True)
class Update:
    """One ref to push, by its full name: its new commit or tag (None: delete it), and what it had."""

    name: str
    new: str | None
    old: str | None


@dataclass(frozen=True, slots=True)
class Door:
    """A way to a remote: the repository, the remote as it reaches it, and who watches.

    `ask` lets git and ssh ask on the terminal, `show` is given their progress.
    """

    git_dir: Path
    remote: Remote
    ask: bool = False
    show: Show | None = None

    def listed(self) -> dict[str, str]:
        """All refs of the remote below `memory/`, and `IN_THE_WAY` if it has that; ids in hex."""
        result = self._run("ls-remote", "--refs", "--heads", "--tags", "--", self.remote.name)
        if result.code != 0:
            raise self._failed("could not be asked", result)
        pairs = (line.split("\t") for line in result.text.splitlines())
        return {
            name: id_
            for id_, name in pairs
            if name.startswith((_HEADS, _TAGS)) or name == IN_THE_WAY
        }

    def fetch(self, refspecs: Iterable[str]) -> None:
        """Fetch just `refspecs`; nothing else moves."""
        more = ("--unshallow",) if (self.git_dir / "shallow").is_file() else ()
        wanted = "".join(f"{refspec}\n" for refspec in refspecs).encode()
        result = self._run(*_FETCH, *self._progress(), *more, self.remote.name, input=wanted)
        if result.code != 0:
            raise self._failed("could not be fetched from", result)

    def push(self, updates: Sequence[Update], *, atomic: bool) -> dict[str, str]:
        """Push `updates`; gives those that were refused, with the reason, by name.

        `atomic` moves all or none of them. Each is pushed from its old value alone, and nothing is
        ever forced: a branch goes on from there or goes. Raises GitmemError where the remote can't
        be reached.
        """
        refused: dict[str, str] = {}
        for start in range(0, len(updates), _AT_ONCE):
            refused |= self._push(updates[start : start + _AT_ONCE], atomic=atomic)
        return refused

    def _push(self, updates: Sequence[Update], *, atomic: bool) -> dict[str, str]:
        leases = [
            f"--force-with-lease={update.name}:{update.old}"
            for update in updates
            if update.new is None
        ]
        refspecs = [f"{update.new or ''}:{update.name}" for update in updates]
        how = ("--atomic",) if atomic else ()
        args = (*_PUSH, *how, *self._progress(), *leases, self.remote.name, *refspecs)
        result = self._run(*args)
        if result.code == 0:
            return {}
        refused = _refused(result.text)
        if not refused and atomic and _NOT_ATOMIC in result.message:
            return self._push(updates, atomic=False)
        if not refused:
            raise self._failed("could not be pushed to", result)
        return refused

    def _progress(self) -> tuple[str, ...]:
        return ("--progress",) if self.show is not None else ()

    def _run(self, *args: str, input: bytes = b"") -> Result:  # noqa: A002 - subprocess's own word
        env: Mapping[str, str] = hostremote.environment(self.remote, ask=self.ask)
        return program.watch(*args, git_dir=self.git_dir, input=input, env=env, show=self.show)

    def _failed(self, what: str, result: Result) -> GitmemError:
        return program.GitFailedError(
            "remote-failed",
            f"the remote '{self.remote.name}' {what}",
            context=_said(result.message),
            hint="nothing is lost, and nothing is half done: repeat it when the remote answers",
        )


def _said(message: str) -> str | None:
    """What git said without its progress, whose lines end in a carriage return."""
    lines = (line.rpartition("\r")[2].strip() for line in message.split("\n"))
    return "\n".join(line for line in lines if line) or None


def _refused(porcelain: str) -> dict[str, str]:
    """The refs that a push did not move, with the reason, from `git push --porcelain`."""
    refused: dict[str, str] = {}
    for line in porcelain.splitlines():
        flag, _, rest = line.partition("\t")
        if flag == "!":
            refspec, _, why = rest.partition("\t")
            refused[refspec.rpartition(":")[2]] = why
    return refused
