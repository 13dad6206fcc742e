"""Unified diffs of entry files, applied exactly: no fuzz, but a hunk may have moved."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem import ids
from gitmem.errors import BadInputError
from gitmem.model.entries import key_of_path

if TYPE_CHECKING:
    from unidiff.patch import Hunk, Line

# What git writes besides text: modes other than an ordinary file's, renames, copies, binary data.
_STRANGE = re.compile(
    r"^(?:(?:old|new) mode|(?:new|deleted) file mode (?!100644$)|rename |copy |GIT binary).*$",
    re.MULTILINE,
)
# As unidiff marks the line "\\ No newline at end of file".
LINE_TYPE_NO_NEWLINE = "\\"

Reader = Callable[[str], "str | None"]
"""Gives the text of an entry's file by key; None where there is no such entry."""


def apply(diff: str, read: Reader) -> dict[str, str | None]:
    """The files that `diff` makes of what `read` gives, by key; None where it deletes one.

    Raises BadInputError: `patch-invalid` (no unified diff), `patch-no-entry` (a file that
    is no entry, a rename, a mode) and `patch-does-not-apply`, with the hunk that doesn't.
    """
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    strange = _STRANGE.search(diff)
    if strange is not None:
        raise BadInputError(
            "patch-no-entry",
            "the patch does more than change text",
            context=strange[0],
            hint="an entry is an ordinary file under its own name",
        )
    try:
        patch = PatchSet(diff)
    except UnidiffParseError as error:
        raise BadInputError(
            "patch-invalid", "that is no unified diff", context=str(error)
        ) from None
    if not patch:
        raise BadInputError("patch-invalid", "the patch changes no file")
    changed: dict[str, str | None] = {}
    for file in patch:
        key = _key(file.source_file, file.target_file)
        if key in changed:
            raise BadInputError("patch-invalid", f"the patch has '{file.path}' twice")
        before = read(key)
        # Not unidiff's own word, which takes a file that is only emptied for a removed one.
        added, removed = (name == "/dev/null" for name in (file.source_file, file.target_file))
        if added and before is not None:
            raise _unfit(key, "it makes the entry anew, and there is one")
        if not added and before is None:
            raise _unfit(key, "there is no such approved entry")
        after = _patched(key, before or "", [_Hunk.of(hunk) for hunk in file])
        if removed and after:
            raise _unfit(key, "it deletes the entry, which has more text than the patch knows")
        changed[key] = None if removed else after
    return changed


@dataclass(frozen=True, slots=True)
class _Hunk:
    """A hunk: its first line in the old file (1-based; 0 in an empty one), and both texts."""

    start: int
    before: list[str]
    after: list[str]
    name: str

    @classmethod
    def of(cls, hunk: Hunk) -> _Hunk:
        old = f"{hunk.source_start},{hunk.source_length}"
        new = f"{hunk.target_start},{hunk.target_length}"
        return cls(
            hunk.source_start,
            _side(hunk, lambda line: line.is_context or line.is_removed),
            _side(hunk, lambda line: line.is_context or line.is_added),
            f"@@ -{old} +{new} @@",
        )


def _side(hunk: Hunk, belongs: Callable[[Line], bool]) -> list[str]:
    """One side's lines; the last has no line end where the diff says so."""
    lines: list[str] = []
    mine = False
    for line in hunk:
        if line.line_type == LINE_TYPE_NO_NEWLINE:
            if mine:
                lines[-1] = lines[-1].removesuffix("\n")
            continue
        mine = belongs(line)
        if mine:
            lines.append(str(line.value))
    return lines


def _key(source: str, target: str) -> str:
    names = {_bare(name) for name in (source, target)} - {None}
    if len(names) != 1:
        raise BadInputError(
            "patch-no-entry",
            "the patch renames a file",
            context=f"{source} to {target}",
            hint="delete the one entry and propose the other",
        )
    path = names.pop() or ""
    key = key_of_path(path)
    if key is None:
        raise BadInputError(
            "patch-no-entry",
            f"'{path}' is no entry",
            hint="a patch may change files such as pref_indent.md or build/tests.md",
        )
    return key


def _bare(name: str) -> str | None:
    if name == "/dev/null":
        return None
    return name[2:] if name.startswith(("a/", "b/")) else name


def _patched(key: str, text: str, hunks: list[_Hunk]) -> str:
    lines = _lines(text)
    shift = 0
    lowest = 0
    for hunk in hunks:
        wanted = shift + (max(hunk.start - 1, 0) if hunk.before else hunk.start)
        at = _find(lines, hunk.before, wanted, lowest)
        if at is None:
            raise _unfit(key, f"the hunk {hunk.name} does not match the approved text")
        lines[at : at + len(hunk.before)] = hunk.after
        lowest = at + len(hunk.after)
        shift += len(hunk.after) - len(hunk.before) + (at - wanted)
    return "".join(lines)


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _find(lines: list[str], wanted: list[str], at: int, lowest: int) -> int | None:
    """Where `wanted` stands, the nearest to `at`; two equally near places are none."""
    if not wanted:
        return min(max(at, lowest), len(lines))
    size = len(wanted)
    places = [i for i in range(lowest, len(lines) - size + 1) if lines[i : i + size] == wanted]
    if not places:
        return None
    places.sort(key=lambda place: (abs(place - at), place))
    if len(places) > 1 and abs(places[0] - at) == abs(places[1] - at):
        return None
    return places[0]


def _unfit(key: str, why: str) -> BadInputError:
    return BadInputError(
        "patch-does-not-apply",
        f"the patch does not fit {ids.entry_id(key)}",
        context=why,
        hint="make it anew against the approved entry: gitmem git show memory/main:" + f"{key}.md",
    )
