"""What a name on the command line means: a candidate or an approved entry."""

from __future__ import annotations

from dataclasses import dataclass

from gitmem import ids
from gitmem.errors import BadInputError, NotFoundError
from gitmem.memory import Memory
from gitmem.model.candidates import Candidate
from gitmem.store import Store


@dataclass(frozen=True, slots=True)
class Approved:
    """An approved entry: where it is, and its file's text."""

    store: Store
    key: str
    text: str

    @property
    def id(self) -> str:
        """The entry's id."""
        return ids.entry_id(self.key)


def resolve(memory: Memory, name: str, scope: str | None) -> Candidate | Approved:
    """The candidate whose id `name` is, or the entry, or the candidate that it is a part of.

    Raises NotFoundError `no-such-candidate` or `no-such-entry`, BadInputError `ambiguous-id`.
    """
    try:
        found = memory.find_candidate(name, scope=scope)
    except BadInputError as error:
        if error.reference != "ambiguous-id":
            raise
        entry = approved(memory, name, scope)
        if entry is None:
            raise
        return entry
    if found is not None and found.id == name:
        return found
    entry = approved(memory, name, scope)
    if entry is not None:
        return entry
    if found is not None:
        return found
    if name.startswith("mem_"):
        raise NotFoundError(
            "no-such-entry",
            f"there is no approved entry '{name}'",
            hint=f"gitmem why {name} tells whether there was one",
        )
    raise NotFoundError(
        "no-such-candidate",
        f"neither a candidate nor an approved entry is called '{name}'",
        hint="gitmem list --state all shows all candidates",
    )


def approved(memory: Memory, name: str, scope: str | None) -> Approved | None:
    """The approved entry `name` (an id or a key), the project's first; None where there is none."""
    key = ids.key_of(name)
    if not ids.is_key(key):
        return None
    for store in memory.stores(scope):
        text = store.text(store.approved_content(key))
        if text is not None:
            return Approved(store, key, text)
    return None
