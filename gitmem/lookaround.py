"""Files as they lay when a session was given a context: worktrees to look around in.

One for each durable tier, detached, below a folder of the user's choice. The tiers' own folders,
hooks and config stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitmem import ids
from gitmem.errors import ConflictError, NotFoundError
from gitmem.git import worktrees
from gitmem.git.worktrees import Worktree
from gitmem.memory import Memory
from gitmem.model import replay
from gitmem.model.records import Record
from gitmem.rebuild import no_such_context
from gitmem.store import Store


@dataclass(frozen=True, slots=True)
class Laid:
    """A tier's files at a commit. `unreviewed` are the ids of entries whose file nobody approved."""

    tier: str
    path: Path
    commit: str
    unreviewed: tuple[str, ...] = ()


def lay_out(memory: Memory, session: str, number: int | None, folder: Path) -> list[Laid]:
    """Put the durable tiers into `folder`, all or none, as they stood at a session's start.

    With `number`, as its context with that number was built. Raises ConflictError
    `folder-in-the-way` where there is something in it already, NotFoundError `no-such-context`.
    """
    record = _record(memory.sessions().record(session), number)
    _check_free(folder)
    made: list[tuple[Store, Laid]] = []
    try:
        for store, pin in _pinned(memory, record.pins):
            path = folder.resolve() / store.tier
            found = Laid(store.tier, path, pin, _unreviewed(store, pin))
            worktrees.add(store.place.git_dir, path, pin, f"of {record.session}")
            made.append((store, found))
    except BaseException:
        for store, found in made:
            _take_away(store, found.path)
        _remove_empty(folder)
        raise
    return [found for _, found in made]


def take_away(memory: Memory, folder: Path) -> list[Path]:
    """Remove what `lay_out` put into `folder`, and the folder where nothing else is in it.

    Raises NotFoundError `no-such-checkout` where nothing of ours is there, ConflictError
    `checkout-changed` where a file in it was changed: then all stays.
    """
    found = [
        (store, tree)
        for store in memory.stores()
        if (tree := worktrees.ours_at(store.place.git_dir, folder / store.tier)) is not None
    ]
    if not found:
        raise NotFoundError(
            "no-such-checkout",
            f"there is nothing in '{folder}' that a replay put there",
            hint="gitmem git worktree list shows all worktrees of a memory",
        )
    for _, tree in found:
        worktrees.check_unchanged(tree)
    for store, tree in found:
        worktrees.remove(store.place.git_dir, tree)
    _remove_empty(folder)
    return [tree.path for _, tree in found]


def _record(records: Sequence[Record], number: int | None) -> Record:
    if number is None:
        return records[0]
    for record in records:
        if record.built is not None and record.built.number == number:
            return record
    raise no_such_context(number)


def _pinned(memory: Memory, pins: Mapping[str, str]) -> list[tuple[Store, str]]:
    return [(store, pins[store.tier]) for store in memory.stores() if store.tier in pins]


def _unreviewed(store: Store, commit: str) -> tuple[str, ...]:
    steps = replay.steps(store.objects, store.ledger_at(commit))
    return tuple(ids.entry_id(key) for key in replay.standing(steps, commit).held)


def _check_free(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        raise ConflictError(
            "folder-not-empty",
            f"'{folder}' has something in it already",
            hint="name a folder that is not there, or an empty one",
        )


def _take_away(store: Store, path: Path) -> None:
    tree: Worktree | None = worktrees.ours_at(store.place.git_dir, path)
    if tree is not None:
        worktrees.remove(store.place.git_dir, tree)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
