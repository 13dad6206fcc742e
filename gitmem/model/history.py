"""What the model needs to know of a git history: values, and a protocol to ask for them.

The storage layer answers with pygit2, tests with whatever they like. Nothing in
here reads a file or runs git.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

REGULAR = 0o100644
SUBMODULE = 0o160000


class Person(NamedTuple):
    """An author or a committer: time in seconds since the epoch, offset in minutes from UTC."""

    name: str
    email: str
    time: int
    offset: int


class Commit(NamedTuple):
    """A commit as git stores it. Ids are 40 hex digits."""

    id: str
    parents: tuple[str, ...]
    tree: str
    message: str
    author: Person
    committer: Person


class Blob(NamedTuple):
    """What a tree has at an entry's path: the object's id and its mode.

    The mode is part of the content: a link or an executable with an entry's
    text is another thing than that entry.
    """

    id: str
    mode: int

    @property
    def regular(self) -> bool:
        """Whether it is an ordinary, not executable, file."""
        return self.mode == REGULAR

    @property
    def submodule(self) -> bool:
        """Whether `id` is another repository's commit, of which there is nothing to read here."""
        return self.mode == SUBMODULE


Content = Blob | None
"""An entry's content somewhere; None where there is no such entry."""

Change = tuple[Content, Content]
"""An entry's content before and after."""


class History(Protocol):
    """One tier's objects. Ids that don't exist raise BadInputError `object-missing`."""

    @property
    def tier(self) -> str:
        """Whose repository it is: `user` or `project`."""

    def commit(self, id_: str) -> Commit:
        """The commit `id_`."""

    def contents(self, tree: str) -> Mapping[str, Blob]:
        """All entries of a tree, by key."""

    def content(self, tree: str, key: str) -> Content:
        """One entry of a tree."""

    def changes(self, old: str, new: str) -> Mapping[str, Change]:
        """The entries in which two trees differ, by key, in order of their paths."""

    def data(self, blob: str) -> bytes:
        """A blob's bytes, also of one that was only handed to `keep`."""

    def keep(self, data: bytes) -> Blob:
        """What an entry with these bytes is in a tree. Nothing is written: it is kept in memory."""

    def merge_bases(self, one: str, other: str) -> Sequence[str]:
        """All best common ancestors, in order of their ids."""

    def between(self, tip: str, excluded: Iterable[str]) -> Sequence[str]:
        """What `tip` reaches and none of `excluded` does, parents first, ties by id."""

    def text_merge(self, base: Blob, ours: Blob, theirs: Blob) -> bytes | None:
        """What git's own text merge makes of three files; None where it finds a conflict."""


EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
