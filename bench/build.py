"""Repositories of a given size, built fast: the objects that many decisions would have made."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gitmem import layout, tiersetup
from gitmem.git import discover, refs
from gitmem.memory import Memory, actor_person, open_memory
from gitmem.model import trailers
from gitmem.model.entries import Entry, path_of, serialize
from gitmem.model.history import Person
from gitmem.store import Store

REVIEWER = Person("Bench Reviewer", "reviewer@example.com", 1_780_000_000, 0)
TYPES = ("preference", "convention", "fact")


def host(folder: Path) -> Path:
    """A host repository with one commit and a project tier."""
    folder.mkdir(parents=True)
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "start"]):
        subprocess.run(["git", *args], cwd=folder, check=True)
    tiersetup.init(folder, scope="project")
    return folder


def entry(number: int, *, body: str | None = None, scope: str = "project") -> Entry:
    """A typical entry: three lines of text in one of a hundred topics."""
    return Entry(
        key=f"topic-{number % 100:02d}/entry-{number:05d}",
        type=TYPES[number % 3],
        scope=scope,
        body=body or f"Rule {number}: write it down.\n\nIt holds for module {number % 17}.",
        created_at="2026-05-18T10:30:00Z",
        applied_from=f"cand_2026_{number:08d}",
        applied_by="user",
    )


def approve(memory: Memory, count: int, *, first: int = 0) -> None:
    """Put `count` candidates with one entry each, and their applies, on `memory/main`."""
    store = memory.store("project")
    objects, main = store.objects, store.main()
    old = main
    for number in range(first, first + count):
        main = _apply_one(store, main, number)
    objects.exists(main)
    _set(store, old, main)


def _apply_one(store: Store, main: str, number: int) -> str:
    objects = store.objects
    item = entry(number)
    id_ = item.applied_from or ""
    blob = objects.write_blob(serialize(item))
    tree = objects.write_tree(objects.commit(main).tree, {path_of(item.key): blob})
    told = [
        (trailers.EVENT, "candidate.created"),
        (trailers.CANDIDATE, id_),
        (trailers.PRIORITY, "medium"),
        (trailers.SOURCE, '{"sessionId": "sess_1", "turnId": "turn_2", "evidence": "he said so"}'),
        (trailers.ACTOR, "agent"),
    ]
    message = trailers.compose(f"memory: propose {item.key}", f"Because of {number}.", told)
    tip = objects.write_commit(tree, [main], message, actor_person("agent", 1_780_000_000 + number))
    told = [(trailers.EVENT, "candidate.applied"), (trailers.CANDIDATE, id_)]
    subject = f"Merge branch 'memory/candidate/{id_}' into memory/main"
    person = REVIEWER._replace(time=1_780_000_000 + number)
    return objects.write_commit(tree, [main, tip], trailers.compose(subject, "", told), person)


def _set(store: Store, old: str, new: str) -> None:
    git_dir = store.place.git_dir
    subprocess.run(["git", f"--git-dir={git_dir}", "update-ref", layout.MAIN, new, old], check=True)
    if refs.read(git_dir, layout.MAIN) != new:
        raise RuntimeError("memory/main did not move")


def packed(memory: Memory) -> None:
    """Pack the project's objects, as git's own housekeeping does after a while."""
    git_dir = memory.store("project").place.git_dir
    subprocess.run(["git", f"--git-dir={git_dir}", "gc", "-q"], check=True)


def opened(folder: Path) -> Memory:
    """The memory of a host folder."""
    discover.find(folder)
    return open_memory(folder)


def git_dir(folder: Path) -> Path:
    """The repository of a host's memory."""
    return opened(folder).store("project").place.git_dir
