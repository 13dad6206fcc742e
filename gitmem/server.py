"""A server that says no: the `pre-receive` hook of a bare repository, and what it asks.

It is one process for a push of any size, looks at the objects where git keeps them apart until the
push is taken, and refuses what it can't check. What a repository had before is not asked about:
whatever was taken once stays, and only what comes in must be right. `docs/server.md` has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gitmem import arrivals, config, hooks, ids, layout
from gitmem.errors import BadInputError, ObjectMissingError
from gitmem.git import program
from gitmem.git.bulk import Borrowed
from gitmem.git.lock import cannot_write
from gitmem.git.objects import Objects
from gitmem.hooks import Change
from gitmem.layout import MAIN
from gitmem.model import trailers
from gitmem.model.approval import Ancestry, Judgement, Ledger, anyone, judge
from gitmem.model.history import Commit
from gitmem.signed import Signed, since
from gitmem.store import closed_by, closing_of
from gitmem.trust import Signer, signers_in

_NONE = "0" * 40
_PRIVATE = "refs/memory/"
_OURS = ("refs/heads/memory/", "refs/tags/memory/", _PRIVATE)
# Beside the hooks, so that an administrator finds it.
SIGNERS = "gitmem-signers"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a repository on a server asks of a push: `gitmem.*` in its own config.

    `approvers` are the accounts, or names of signers, who may decide; empty for everybody who may
    push. With `signed`, a decision must be signed by one of `signers`. `own_candidates` says
    whether one may approve what one proposed.
    """

    approvers: tuple[str, ...] = ()
    signed: bool = False
    own_candidates: bool = True
    signers: tuple[Signer, ...] = ()


class Update(NamedTuple):
    """A ref and where it is to go; None: it is new, or to be deleted."""

    ref: str
    old: str | None
    new: str | None


class Refusal(NamedTuple):
    """Why a ref must not move so, and what to do, in one line."""

    ref: str
    why: str


# -- put there and taken out -------------------------------------------------------------------


def install(repository: Path) -> Change | None:
    """Put the hook into a bare repository; None where it is there. What was there runs before it.

    Raises BadInputError `no-bare-repository`, `hooks-elsewhere`, `hooks-missing`, `cannot-write`.
    """
    folder = _hooks_folder(repository)
    try:
        folder.mkdir(exist_ok=True)
        return hooks.put(folder, hooks.SERVER, hooks.server_script())
    except OSError as error:
        raise cannot_write(error) from error


def uninstall(repository: Path) -> Change | None:
    """Take the hook out; what ran before it gets its name back. None where there is none of ours."""
    try:
        return hooks.take_out(_hooks_folder(repository), hooks.SERVER)
    except OSError as error:
        raise cannot_write(error) from error


def _hooks_folder(repository: Path) -> Path:
    place = repository.resolve()
    asked = ("rev-parse", "--is-bare-repository", "--absolute-git-dir", "--git-path", "hooks")
    found = program.run(*asked, cwd=place if place.is_dir() else None, git_dir=place, check=False)
    bare, _, rest = found.text.partition("\n")
    if found.code != 0 or bare != "true":
        raise BadInputError(
            "no-bare-repository",
            f"'{repository}' is no bare repository",
            context=found.message or None,
            hint="name the repository on the server, the folder that holds HEAD and objects",
        )
    git_dir, _, named = rest.partition("\n")
    folder = (place / named).resolve()
    if folder != (Path(git_dir) / "hooks").resolve():
        raise BadInputError(
            "hooks-elsewhere",
            f"git runs the hooks in '{folder}' for this repository, and perhaps for others",
            hint=f"give it its own: git -C '{place}' config core.hooksPath '{git_dir}/hooks'",
        )
    return Path(git_dir) / "hooks"


def set_rules(repository: Path, settings: Mapping[str, str]) -> None:
    """Write settings into a repository's own config, by their names below `gitmem.`."""
    _hooks_folder(repository)
    for name, value in settings.items():
        program.run("config", f"gitmem.{name}", value, git_dir=repository.resolve())


def rules(repository: Path) -> Rules:
    """What a repository asks of a push.

    Raises BadInputError `rules-unclear`: what can't be read is not taken for nothing.
    """
    git_dir = repository.resolve()
    listed = program.run("config", "--list", "-z", git_dir=git_dir).out.decode("utf-8", "replace")
    told: dict[str, str] = {}
    for item in listed.split("\0"):
        name, _, value = item.partition("\n")
        if name.startswith("gitmem."):
            told[name.removeprefix("gitmem.")] = value
    approval = told.get("approval", "open")
    own = told.get("owncandidates", "allowed")
    if approval not in ("open", "signed") or own not in ("allowed", "refused"):
        raise BadInputError(
            "rules-unclear",
            "gitmem.approval is open or signed, gitmem.ownCandidates allowed or refused",
            hint=f"git -C '{git_dir}' config --list shows what is set",
        )
    approvers = tuple(told.get("approvers", "").replace(",", " ").split())
    signers = signers_in(git_dir / SIGNERS) if approval == "signed" else ()
    return Rules(approvers, approval == "signed", own == "allowed", signers)


# -- what the hook asks ------------------------------------------------------------------------


def refusals(git_dir: Path, pushed: str) -> list[Refusal]:
    """Why a push must not be taken, empty where it may; `pushed` is the hook's standard input.

    Raises GitmemError where that can't be found out.
    """
    updates = [update for update in _updates(pushed) if update.ref.startswith(_OURS)]
    if not updates:
        return []
    return list(_Push(git_dir.resolve(), updates, config.pusher()).refusals())


def _updates(pushed: str) -> Iterator[Update]:
    # Not by what else may end a line: a ref's name can hold U+2028.
    for line in pushed.split("\n"):
        old, _, rest = line.partition(" ")
        new, _, ref = rest.partition(" ")
        if ref:
            yield Update(ref, None if old == _NONE else old, None if new == _NONE else new)


class _Push:
    """One push, and all that is known of the repository it goes to."""

    def __init__(self, git_dir: Path, updates: Iterable[Update], pusher: str | None) -> None:
        self.git_dir = git_dir
        self.updates = list(updates)
        self.pusher = pusher
        self.rules = rules(git_dir)
        self.borrowed = Borrowed.pushed(git_dir)
        self.present = dict(_refs(git_dir))
        self.main = next((one for one in self.updates if one.ref == MAIN), None)

    def refusals(self) -> Iterator[Refusal]:
        for update in self.updates:
            try:
                yield from self._refused(update)
            except ObjectMissingError as error:
                yield Refusal(update.ref, f"{error.message}; push it again with a whole clone")

    def _refused(self, update: Update) -> Iterator[Refusal]:
        if update.ref == MAIN:
            yield from self._main(update)
        elif update.ref.startswith(layout.CANDIDATES):
            yield from self._candidate(update)
        elif update.ref.startswith(layout.DISCARDED):
            yield from self._tag(update)
        elif update.ref.startswith(_PRIVATE):
            yield Refusal(update.ref, "this is of your own clone: push refs/heads/memory/* alone")
        elif update.new is not None:
            yield Refusal(
                update.ref,
                "no such thing is shared: memory/main, memory/candidate/* and the tags "
                "memory/discarded/* are",
            )

    # -- what there is, with the push ------------------------------------------------------

    @cached_property
    def objects(self) -> Objects:
        tips = {one.new for one in self.updates} | {one.old for one in self.updates}
        tips.add(self.present.get(MAIN))
        commits = self._commits(sorted(tip for tip in tips if tip is not None))
        if not commits:
            return Objects(self.git_dir, "project", self.borrowed)
        return arrivals.opened(self.git_dir, *commits, borrowed=self.borrowed)

    def _commits(self, ids_: list[str]) -> list[str]:
        """Those that are commits, that of `memory/main` first."""
        known = Objects(self.git_dir, "project", self.borrowed).commits_among(ids_)
        main = self.tip_of_main
        return sorted(known, key=lambda id_: (id_ != main, id_))

    @cached_property
    def tip_of_main(self) -> str | None:
        """Where `memory/main` will stand."""
        return self.main.new if self.main is not None else self.present.get(MAIN)

    @cached_property
    def signed(self) -> Signed | None:
        """Which approvals count, where they must be signed: all that was taken before does."""
        if not self.rules.signed:
            return None
        start = self.present.get(MAIN)
        return since(self.objects, self.git_dir, start, self.rules.signers, self.borrowed)

    @cached_property
    def ledger(self) -> Ledger | None:
        """The judgements on `memory/main` as it will be."""
        tip = self.tip_of_main
        if tip is None:
            return None
        if self.signed is not None:
            self.signed.prepare(tip)
        return judge(self.objects, tip, trust=self.signed or anyone)

    # -- memory/main -----------------------------------------------------------------------

    def _main(self, update: Update) -> Iterator[Refusal]:
        ledger = self.ledger
        if update.new is None or ledger is None:
            yield Refusal(update.ref, "memory/main is never deleted: what was approved stays")
            return
        given = arrivals.Range(update.old, update.new)
        found = list(arrivals.on_main(self.objects, given, ledger, self.signed or anyone))
        for one in found:
            yield Refusal(update.ref, f"{one.message}; {one.hint}")
        if not found:
            yield from self._decisions(update, ledger)

    def _decisions(self, update: Update, ledger: Ledger) -> Iterator[Refusal]:
        before = ledger.position[update.old] + 1 if update.old is not None else 0
        for judgement in ledger.line[before:]:
            if judgement.kind == "start":
                continue
            why = self._may_not(judgement.commit)
            own = None if why is not None else self._own_candidate(judgement)
            if why is not None or own is not None:
                yield Refusal(update.ref, f"{judgement.commit[:12]}: {why or own}")
                if self.signed is None:
                    # It is the same for all: whoever pushes decides.
                    return

    def _may_not(self, commit: str) -> str | None:
        """Why a commit that decides, or the one who pushes it, may not."""
        if self.signed is not None:
            found = self.signed.signature(commit)
            if found is None:
                return "no allowed signer signed it; sign it, or have somebody who may approve it"
            who = found.signer or ""
        else:
            who = self.pusher or ""
        if not self.rules.approvers or who in self.rules.approvers:
            return None
        if not who:
            return "the server does not know who you are; push with an account that may approve"
        return f"'{who}' may not decide here; ask {', '.join(self.rules.approvers)}"

    def _own_candidate(self, judgement: Judgement) -> str | None:
        if self.rules.own_candidates:
            return None
        signature = self.signed.signature(judgement.commit) if self.signed is not None else None
        deciders = {"user", self.pusher if signature is None else signature.signer}
        for candidate in judgement.applied:
            actor = _actor(self.objects.commit(candidate.first))
            if actor in deciders:
                return f"'{actor}' proposed {candidate.id}; somebody else has to approve it"
        return None

    # -- candidates ------------------------------------------------------------------------

    def _candidate(self, update: Update) -> Iterator[Refusal]:
        id_ = update.ref.removeprefix(layout.CANDIDATES)
        fault = ids.candidate_fault(id_)
        ledger = self.ledger
        if update.new is not None and fault is not None:
            yield Refusal(update.ref, f"'{id_}' is no name of a candidate: {fault}; rename it")
        elif update.new is None:
            if update.old is not None and not self._may_go(id_, update.old):
                yield Refusal(update.ref, f"it is not decided; to close it: gitmem discard {id_}")
        elif ledger is None:
            yield Refusal(update.ref, "there is no memory/main yet; a person pushes that first")
        else:
            rewritten = update.old is not None and not self.objects.is_ancestor(
                update.old, update.new
            )
            if rewritten and not self._may_go(id_, update.old or ""):
                yield Refusal(
                    update.ref, "it would be rewritten; add commits to it, or propose another one"
                )
            for one in arrivals.of_candidate(self.objects, ledger, update.new):
                yield Refusal(update.ref, f"{one.message}; {one.hint}")

    def _may_go(self, id_: str, tip: str) -> bool:
        """Whether a candidate's branch may leave `tip`: it is decided, or the pusher's own."""
        ledger = self.ledger
        if ledger is not None and (tip in ledger.inside or tip in ledger.position):
            return True
        return self._is_closed(id_, tip) or self._is_own(tip)

    def _is_closed(self, id_: str, tip: str) -> bool:
        tags = {**self.present, **{one.ref: one.new or _NONE for one in self.updates}}
        for ref, tag in tags.items():
            if not ref.startswith(layout.DISCARDED) or closed_by(ref) != id_ or tag == _NONE:
                continue
            closing = closing_of(self.objects, self.ledger or Ledger(), ref, tag)
            if closing is not None and self.objects.is_ancestor(tip, closing.id):
                return True
        return False

    def _is_own(self, tip: str) -> bool:
        if self.pusher is None or self.ledger is None:
            return False
        main = self.ledger.line[-1].commit
        own = Ancestry(self.objects, self.ledger).own_line(main, tip)
        if not own:
            return True
        author = own[0].author
        return self.pusher in (_actor(own[0]), author.email, author.email.partition("@")[0])

    # -- discard tags ----------------------------------------------------------------------

    def _tag(self, update: Update) -> Iterator[Refusal]:
        if update.old is not None:
            yield Refusal(
                update.ref,
                "a discarded candidate stays on record; to take it up again: gitmem reopen",
            )
            return
        if update.new is None:
            return
        ledger = self.ledger if self.ledger is not None else Ledger()
        closing = closing_of(self.objects, ledger, update.ref, update.new)
        if closing is None:
            yield Refusal(update.ref, "it closes no candidate; gitmem discard makes such a tag")
            return
        why = self._may_not(closing.id)
        if (
            why is None
            and self.signed is not None
            and not self.signed.closes(closing.id, update.new)
        ):
            why = "no allowed signer signed the tag; gitmem discard signs both"
        if why is not None:
            yield Refusal(update.ref, why)


def _refs(git_dir: Path) -> Iterator[tuple[str, str]]:
    told = ("for-each-ref", "--format=%(objectname) %(refname)")
    listed = program.run(*told, MAIN, layout.DISCARDED, git_dir=git_dir).text
    for line in listed.splitlines():
        id_, _, ref = line.partition(" ")
        yield ref, id_


def _actor(first: Commit) -> str:
    """Who made a candidate with this first commit."""
    return trailers.parse(first.message).first(trailers.ACTOR) or first.author.name
