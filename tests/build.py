"""Histories for tests of the approval rules: real commits in a real repository, made in a line each."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitmem.git.objects import Objects
from gitmem.model import entries, messages, trailers
from gitmem.model.approval import Ledger, judge
from gitmem.model.entries import Entry
from gitmem.model.history import EMPTY_TREE, Blob, Content, Person

Changes = Mapping[str, str | None]

AGENT = Person("agent", "agent@gitmem.invalid", 1_780_000_000, 0)
ANN = Person("Ann", "ann@example.org", 1_780_000_000, 0)


def text(key: str, body: str, *, kind: str = "fact", applied_from: str | None = None) -> bytes:
    """The file of a project entry."""
    entry = Entry(key=key, type=kind, scope="project", body=body, created_at="2026-05-18T10:30:00Z")
    if applied_from is not None:
        entry = Entry(
            key=key,
            type=kind,
            scope="project",
            body=body,
            created_at="2026-05-18T10:30:00Z",
            applied_from=applied_from,
            applied_by="user",
        )
    return entries.serialize(entry)


class Builder:
    """Makes commits in the bare repository `git_dir`. A change is a key and a body, None deletes."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir
        self.objects = Objects(git_dir, "project")
        self._clock = itertools.count(1_780_000_000)
        self.skew = 0
        self.stopped = False
        self.root = self.commit([], {}, "memory: start project\n")

    @classmethod
    def at(cls, folder: Path) -> Builder:
        """A builder on a new repository."""
        git_dir = folder / "memory.git"
        subprocess.run(["git", "init", "-q", "--bare", str(git_dir)], check=True)
        return cls(git_dir)

    # -- commits ---------------------------------------------------------------------------

    def commit(
        self,
        parents: Sequence[str],
        changes: Changes,
        message: str = "a change\n",
        *,
        author: Person = ANN,
        committer: Person | None = None,
        tree: str | None = None,
        files: Mapping[str, Content] | None = None,
        at: int | None = None,
    ) -> str:
        """A commit whose tree is that of the first parent (or `tree`) with `changes`.

        `at` is its time, in seconds; without it, one after all before. Its committer is the
        author where no other is given.
        """
        above = self.objects.commit(parents[0]).tree if parents else EMPTY_TREE
        contents: dict[str, Content] = {
            entries.path_of(key): None if body is None else self.objects.write_blob(text(key, body))
            for key, body in changes.items()
        }
        written = self.objects.write_tree(tree or above, {**contents, **(files or {})})
        time = self._now() if at is None else at
        people = [person._replace(time=time) for person in (author, committer or author)]
        return self.objects.write_commit(written, list(parents), message, *people)

    def _now(self) -> int:
        """A second later each time, plus the skew in seconds; always the same where it is stopped."""
        return (1_780_000_000 if self.stopped else next(self._clock)) + self.skew

    def propose(self, base: str, changes: Changes, name: str, **more: object) -> str:
        """A candidate as gitmem makes one."""
        message = messages.proposal(name, list(changes) or ["x"], "Because.", [], actor="agent")
        return self.commit([base], changes, message, author=AGENT)

    def plain(self, base: str, changes: Changes) -> str:
        """A candidate as an agent with nothing but git makes one."""
        return self.commit([base], changes, "I learnt this\n", author=AGENT)

    def merge(
        self, ours: str, theirs: str | Sequence[str], message: str, changes: Changes | None = None
    ) -> str:
        """A merge whose tree is `ours` with `changes`; None: with what the candidate changed."""
        others = [theirs] if isinstance(theirs, str) else list(theirs)
        if changes is not None:
            return self.commit([ours, *others], changes, message)
        files: dict[str, Content] = {}
        for other in others:
            base = self.objects.merge_bases(ours, other)
            tree = self.objects.commit(base[0]).tree if base else EMPTY_TREE
            changed = self.objects.path_changes(tree, self.objects.commit(other).tree)
            files |= {path: after for path, (_, after) in changed.items()}
        return self.commit([ours, *others], {}, message, files=files)

    def apply(
        self,
        ours: str,
        theirs: str,
        name: str,
        changes: Changes | None = None,
    ) -> str:
        """The merge of the candidate `name` as git writes it."""
        return self.merge(
            ours, theirs, f"Merge branch 'memory/candidate/{name}' into memory/main\n", changes
        )

    def approve(self, main: str, changes: Changes, name: str) -> str:
        """A candidate made on `main` and applied there."""
        return self.apply(main, self.propose(main, changes, name), name)

    def pull(self, ours: str, theirs: str, changes: Changes | None = None) -> str:
        """The merge of another line of memory/main, as `git pull` writes it."""
        return self.merge(ours, theirs, "Merge branch 'memory/main' of /srv/team\n", changes)

    def revert(self, main: str, named: str, changes: Changes) -> str:
        """A revert of `named` as git writes it, with `changes` on top of `main`."""
        return self.commit([main], changes, f'Revert "x"\n\nThis reverts commit {named}.\n')

    # -- answers ---------------------------------------------------------------------------

    def judged(self, tip: str) -> Ledger:
        """The ledger of `tip`, judged with nothing known and nothing remembered."""
        return judge(Objects(self.git_dir, "project"), tip)

    def approved(self, tip: str) -> dict[str, str]:
        """The bodies of the approved view at `tip`, by key; of what is no entry, its text."""
        objects = Objects(self.git_dir, "project")
        ledger = judge(objects, tip)
        found: dict[str, str] = {}
        for key, content in ledger.view.contents(objects).items():
            assert content is not None
            found[key] = self.body(objects, key, content)
        return found

    def body(self, objects: Objects, key: str, content: Blob) -> str:
        """A content's body where it is an entry, else its text."""
        data = objects.data(content.id)
        try:
            return entries.parse(key, data, tier="project").body
        except entries.EntryFault:
            return data.decode("utf-8", "replace")

    def unreviewed(self, tip: str) -> set[str]:
        """The entries that have unreviewed content at `tip`."""
        return set(self.judged(tip).view.held)

    def kind(self, tip: str) -> str:
        """What the judge takes the commit `tip` for."""
        return self.judged(tip).line[-1].kind


def trailer(name: str, value: str) -> str:
    """A message with one trailer, as forged as can be."""
    return trailers.compose("a change", "", [(name, value)])
