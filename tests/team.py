"""A team for tests: clones of one memory, without folders, and the bare repository that they share."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from gitmem import layout, sync
from gitmem.git import refs, tierrepo
from gitmem.layout import TierPlace, Tiers
from gitmem.memory import Draft, Memory
from gitmem.model.history import Person
from gitmem.store import Store


class Clone:
    """One person's memory of a project."""

    def __init__(self, git_dir: Path, name: str) -> None:
        self.git_dir = git_dir
        self.person = Person(name, f"{name.lower()}@example.org", 1_780_000_000, 0)
        place = TierPlace("project", git_dir, None, git_dir, None, linked=False)
        self.memory = Memory(Tiers(None, place, None), git_dir)
        self.asked: list[sync.Question] = []

    @property
    def store(self) -> Store:
        """The store of the project's memory."""
        return self.memory.store("project")

    @property
    def main(self) -> str:
        """The commit of `memory/main`."""
        return self.store.main()

    def propose(self, key: str, body: str | None, *, why: str = "Because.") -> str:
        """A candidate that changes, makes or (None) deletes an entry; its id."""
        draft = Draft(key, body, "fact") if body is not None else Draft(key, delete=True)
        return self.memory.propose(draft, rationale=why, scope="project").id

    def apply(self, id_: str) -> str:
        """Approve a candidate; the commit."""
        return self.memory.apply(id_, by=self.person).commit

    def approve(self, key: str, body: str | None) -> str:
        """Propose and approve in one; the commit."""
        return self.apply(self.propose(key, body))

    def sync(self, *, rejoin: bool = False) -> sync.Report:
        """Sync as a person who agrees to everything."""
        (report,) = sync.sync(
            self.memory, by=self.person, agree=self.asked.append, scope="project", rejoin=rejoin
        )
        return report

    def push_candidates(self) -> sync.Report:
        """Show the candidates at the remote."""
        (report,) = sync.push_candidates(self.memory, agree=self.asked.append, scope="project")
        return report

    def body(self, key: str) -> str | None:
        """What is approved of an entry."""
        entry = self.store.entry(key, self.store.approved_content(key))
        return None if entry is None else entry.body

    def states(self) -> dict[str, str]:
        """The state of each candidate."""
        return {stub.id: stub.state for stub in self.store.stubs()}

    def branches(self) -> dict[str, str]:
        """The branches of candidates here, by id."""
        found = refs.listed(self.git_dir, layout.CANDIDATES)
        return {name.removeprefix(layout.CANDIDATES): tip for name, tip in found.items()}


class Team:
    """A remote at `url` (a new bare repository by its path, if none is given) and its clones."""

    def __init__(self, folder: Path, names: tuple[str, ...], url: str | None = None) -> None:
        self.folder = folder
        self.remote = folder / "remote.git"
        self.url = url or str(self.remote)
        if url is None:
            git("init", "--quiet", "--bare", str(self.remote))
        first, *others = names
        tierrepo.create(folder / f"{first}.git", "project", bare=True)
        tierrepo.add_remote(folder / f"{first}.git", "origin", self.url)
        for name in others:
            shutil.copytree(folder / f"{first}.git", folder / f"{name}.git")
        self.clones = [Clone(folder / f"{name}.git", name) for name in names]

    def sync(self) -> None:
        """Everybody syncs, until all know what all have done."""
        for clone in (*self.clones, *self.clones):
            clone.sync()

    def there(self) -> dict[str, str]:
        """The refs of the remote."""
        listed = git(
            "--git-dir", str(self.remote), "for-each-ref", "--format=%(refname) %(objectname)"
        )
        return dict(line.split() for line in listed.splitlines())


def git(*args: str) -> str:
    """Standard output of a git that succeeds."""
    done = subprocess.run(["git", *args], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"git {' '.join(args)}\n{done.stderr}"
    return done.stdout
