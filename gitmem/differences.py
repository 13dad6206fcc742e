"""What a candidate changes, as a person reads it before deciding.

Each entry is compared with what is approved now and what an apply would make of
it; where the two do not go together, both sides stand there. Hidden characters
are written out, so that what is read is what an agent would get.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gitmem import layout
from gitmem.memory import Memory
from gitmem.model import context, frontmatter
from gitmem.model.candidates import Candidate, Proposed
from gitmem.model.entries import Entry, EntryFault, Source, path_of
from gitmem.model.history import SUBMODULE, Change, Content
from gitmem.store import Store
from gitmem.visible import visible

# Every candidate has these two lines, and history knows better (docs/git-format.md).
_MARKS = re.compile(r"^(?:appliedFrom: [a-z0-9_-]+|appliedBy: user)\n", re.MULTILINE)
_FRONT = re.compile(r"---\n.*?^---\n", re.DOTALL | re.MULTILINE)
_KINDS = {0o120000: "a link", SUBMODULE: "a submodule", 0o100755: "an executable"}


def difference(memory: Memory, found: Candidate) -> str:
    """The change of a candidate as a unified diff, safe to print; empty where there is none.

    Of a decided candidate it is what it changed; of any other, what it would change now.
    """
    store = memory.store(found.tier)
    parts = [*_entries(store, found), *_other_files(store, found)]
    return "\n".join(part for part in parts if part)


Verb = Literal["new", "change", "delete", "conflict", "nothing"]


@dataclass(frozen=True, slots=True)
class Version:
    """An entry's content as a person reads it.

    `rest` is what its front matter says besides type, evidence, dates and marks of approval, as
    YAML. Where the file is no entry, `type` is None and `body` the whole file.
    """

    type: str | None
    body: str
    rest: str = ""
    sources: tuple[Source, ...] = ()

    def block(self, scope: str) -> str | None:
        """The block of an agent's context that comes of it; None of what is no entry."""
        return None if self.type is None else context.block_of(scope, self.type, self.body)


@dataclass(frozen=True, slots=True)
class Changed:
    """What an apply would do to one entry, or what it would be where that conflicts.

    `before` is what is approved now and `after` what an apply would make of it, in a conflict what
    the candidate wants; None is no entry. `base` is what the candidate was made from. `kind` says
    what is strange about the file, `conflict` what does not go together, `signer` who signed what
    is approved now, where approvals must be signed.
    """

    id: str
    verb: Verb
    before: Version | None
    after: Version | None
    base: Version | None
    kind: str | None = None
    conflict: str | None = None
    signer: str | None = None


def changes(memory: Memory, found: Candidate) -> list[Changed]:
    """What a pending candidate would do, entry by entry."""
    store = memory.store(found.tier)
    return [_changed(store, item) for item in found.entries]


def says(memory: Memory, found: Candidate, text: str) -> bool:
    """Whether `text` stands, in whatever case, in a candidate's texts, its grounds or its names."""
    store = memory.store(found.tier)
    quoted = [str(source.get("evidence") or "") for source in found.sources]
    texts = [store.text(item.content) or "" for item in found.entries]
    names = [item.id for item in found.entries]
    whole = "\n".join([found.id, *names, found.rationale, found.actor, *quoted, *texts])
    return text.casefold() in whole.casefold()


def _changed(store: Store, item: Proposed) -> Changed:
    after = item.result if item.conflict is None else item.content
    return Changed(
        item.id,
        _verb(item),
        _version(store, item.key, item.approved),
        _version(store, item.key, after),
        _version(store, item.key, item.base),
        _KINDS.get(after.mode) if after is not None else None,
        item.conflict,
        store.signer(item.key),
    )


def _verb(item: Proposed) -> Verb:
    if item.conflict is not None:
        return "conflict"
    if item.result == item.approved:
        return "nothing"
    if item.result is None:
        return "delete"
    return "new" if item.approved is None else "change"


def _version(store: Store, key: str, content: Content) -> Version | None:
    if content is None:
        return None
    try:
        entry = store.entry(key, content)
    except EntryFault:
        return Version(None, store.text(content) or "")
    return None if entry is None else Version(entry.type, entry.body, _rest(entry), entry.sources)


def _rest(entry: Entry) -> str:
    related = (("relatedSessions", entry.related_sessions),) if entry.related_sessions else ()
    return frontmatter.dump([*related, *entry.extra]) if related or entry.extra else ""


def unified(old: str | None, new: str | None, before: str, after: str) -> str:
    """The difference of two texts, safe to print, without a final line end; None is no file."""
    if old == new:
        return ""
    lines = difflib.unified_diff(
        _lines(old),
        _lines(new),
        before if old is not None else "/dev/null",
        after if new is not None else "/dev/null",
        lineterm="",
    )
    return "\n".join(visible(line.removesuffix("\n"), multiline=True) for line in lines)


def _lines(text: str | None) -> list[str]:
    """The lines as git counts them: only LF ends one."""
    if not text:
        return []
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else [*lines[:-1], f"{lines[-1]}\n\\ No newline at end"]


def _entries(store: Store, found: Candidate) -> Iterator[str]:
    for item in found.entries:
        path = path_of(item.key)
        if found.state in ("applied", "reverted"):
            yield _compared(store, path, (item.base, item.content), "before", found.id)
        elif item.conflict is not None:
            yield _both_sides(store, found, item)
        else:
            yield _compared(store, path, (item.approved, item.result), "approved", found.id)


def _both_sides(store: Store, found: Candidate, item: Proposed) -> str:
    path = path_of(item.key)
    ours = _compared(store, path, (item.base, item.approved), "base", "approved")
    theirs = _compared(store, path, (item.base, item.content), "base", found.id)
    return "\n".join(
        [
            f"conflict in {visible(item.id)}: {visible(item.conflict or '')}",
            "what is approved now:",
            ours or "  as it was",
            "what the candidate wants:",
            theirs or "  as it was",
        ]
    )


def _compared(store: Store, path: str, change: Change, before: str, after: str) -> str:
    old, new = change
    kinds = []
    if new is not None and not new.regular:
        kinds.append(f"{path} is {_KINDS.get(new.mode, 'no plain file')}")
    text = unified(
        _readable(store, old), _readable(store, new), f"{before}/{path}", f"{after}/{path}"
    )
    return "\n".join([*kinds, text] if text else kinds)


def _readable(store: Store, content: Content) -> str | None:
    text = store.text(content)
    if text is None:
        return None
    front = _FRONT.match(text)
    if front is None:
        return text
    return _MARKS.sub("", front[0]) + text[front.end() :]


def _other_files(store: Store, found: Candidate) -> Iterator[str]:
    """The files that are no entries, against the base: they have no approval of their own."""
    if not found.files:
        return
    base = store.objects.commit(found.base).tree if found.base else layout.EMPTY_TREE
    tip = store.objects.commit(found.commit).tree
    for path, change in store.objects.path_changes(base, tip).items():
        if path in found.files:
            yield _compared(store, path, change, "base", found.id)
