"""What a tier shares with its remote: listing, fetching and pushing refs below `memory/`.

The git program does it, with the user's credentials, ssh and proxies, and with what the host's
config says about reaching remotes. Whatever a remote holds is as untrusted as a transcript.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem import layout
from gitmem.errors import GitmemError
from gitmem.git import hostremote, program, refs
from gitmem.git.hostremote import Remote
from gitmem.git.program import Result
from gitmem.git.transaction import RefChange, Transaction

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
    # One transaction for all refs: twice as fast as one for each.
    "--atomic",
    "--refmap=",
    "--stdin",
)
_PUSH = (*_NO_HOOKS, "push", "--porcelain", "--no-follow-tags", "--no-recurse-submodules")
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

    def push(
        self, updates: Sequence[Update], *, atomic: bool, kept: Iterable[str] = ()
    ) -> dict[str, str]:
        """Push `updates`; gives those that were refused, with the reason, by name.

        Branches of candidates go as one pattern, since git takes seconds for a thousand names:
        all that are here must be in `updates`, be there already, or be in `kept`.

        `atomic` moves all or none of them. Nothing is ever forced: a branch goes on from what it
        is there or, if it is still at its old value, goes. What was moved is noted as git notes
        it. Raises GitmemError where the remote can't be reached.
        """
        refused = self._push(updates, atomic=atomic, kept=kept)
        self._note(update for update in updates if update.name not in refused)
        return refused

    def _push(
        self, updates: Sequence[Update], *, atomic: bool, kept: Iterable[str]
    ) -> dict[str, str]:
        leases, refspecs = [], []
        for update in updates:
            if update.new is None:
                leases.append(f"--force-with-lease={update.name}:{update.old}")
            if update.new is None or not update.name.startswith(layout.CANDIDATES):
                refspecs.append(f"{update.new or ''}:{update.name}")
        if any(update.new and update.name.startswith(layout.CANDIDATES) for update in updates):
            refspecs += [
                f"{layout.CANDIDATES}*:{layout.CANDIDATES}*",
                *(f"^{name}" for name in kept),
            ]
        how = ("--atomic",) if atomic else ()
        args = (*_PUSH, *how, *self._progress(), *leases, "--", self._push_to(), *refspecs)
        result = self._run(*args)
        if result.code == 0:
            return {}
        refused = _refused(result.text)
        if not refused and atomic and _NOT_ATOMIC in result.message:
            return dict.fromkeys((update.name for update in updates), _NOT_ATOMIC)
        if not refused:
            raise self._failed("could not be pushed to", result)
        return refused

    def _push_to(self) -> str:
        """The remote's url: by its name git would note each branch in a transaction of its own.

        Where its config says more than we write there, only the name means all of that.
        """
        section = f"remote.{self.remote.name}."
        known = {key for key, _ in layout.remote_config(self.remote.name, "")}
        keys = {key for key, _ in hostremote.config_of(self.git_dir) if key.startswith(section)}
        return self.remote.url if keys <= known else self.remote.name

    def _note(self, pushed: Iterable[Update]) -> None:
        """Have the remote-tracking branches stand where the remote's do now."""
        start = layout.tracking(self.remote.name)
        known = refs.listed(self.git_dir, start)
        wanted = {
            start + update.name.removeprefix(_HEADS): update.new
            for update in pushed
            if update.name.startswith(_HEADS)
        }
        new = {name: tip for name, tip in wanted.items() if tip and name not in known}
        if new and refs.create_packed(self.git_dir, new):
            known |= new
        changes = [
            RefChange(name, tip, known.get(name))
            for name, tip in wanted.items()
            if known.get(name) != tip
        ]
        if changes:
            with Transaction(self.git_dir, changes) as transaction:
                transaction.prepare()
                transaction.commit()

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
