"""A candidate on one screen: what it does, why, on which evidence, and what an agent gets of it.

Pure: values in, lines out. What a decision is about (the change, the rationale, what the scan finds)
is always shown whole; what only helps is cut where the terminal has no room for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitmem import clock
from gitmem.cli import width
from gitmem.cli.common import age
from gitmem.cli.lines import (
    Line,
    Span,
    Style,
    laid_out,
    one_line,
    quoted,
    shortened,
    word_difference,
)
from gitmem.differences import Changed, Version
from gitmem.model.candidates import Candidate
from gitmem.model.scan import scan
from gitmem.transcripts import Place
from gitmem.visible import mixed_script_words

_MARGIN = 10
_VERBS: dict[str, Style] = {"delete": "old", "new": "new", "conflict": "warn"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one candidate's screen says.

    `flags` are what makes it risky or unfit, `rivals` the other candidates for its entries, `near`
    its neighbours, a line each. `difference` is what the user's own filter made of its difference,
    and takes the place of ours.
    """

    found: Candidate
    changes: Sequence[Changed]
    now: int
    flags: tuple[str, ...] = ()
    rivals: tuple[tuple[Candidate, Sequence[Changed]], ...] = ()
    near: tuple[str, ...] = ()
    difference: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a screen; what is not `needed` may be cut."""

    rows: tuple[Line, ...]
    needed: bool = True


# -- sections ----------------------------------------------------------------------------------


def title(text: str, flags: Sequence[str], columns: int) -> Line:
    """The line at the head of a screen."""
    warned = f" {', '.join(flags)} " if flags else ""
    head = width.cut(f"-- {text} --", columns)
    room = columns - width.width(head)
    shown = width.cut(warned, room)
    rest = "-" * max(room - width.width(shown), 0)
    return (Span(head, "bold"), Span(shown, "warn"), Span(rest, "rule"))


def sections(sheet: Sheet, columns: int, *, coloured: bool) -> list[Section]:
    """All that there is to say about a candidate, in the order of reading."""
    blocks = _section("agents", list(_blocks(sheet)), columns, needed=False)
    made = [
        *_changes(sheet, columns, coloured=coloured),
        *_grounds(sheet, columns),
        *_rivals(sheet, columns, coloured=coloured),
        blocks,
    ]
    return [section for section in made if section.rows]


def _rivals(sheet: Sheet, columns: int, *, coloured: bool) -> Iterator[Section]:
    """What other candidates would make of the same entries; each has a number, which is a key."""
    shared = {changed.id for changed in sheet.changes}
    for number, (found, changes) in enumerate(sheet.rivals, 1):
        head = (Span(one_line(found.id), "bold"), Span(f"  {proposed(found, sheet.now)}"))
        yield _section(f"or {number}", [head], columns)
        for changed in changes:
            if changed.id in shared:
                yield from _change(changed, columns, coloured=coloured)
        yield _section("why", quoted(found.rationale), columns)


def _grounds(sheet: Sheet, columns: int) -> Iterator[Section]:
    """What is said for and against a candidate, besides its text."""
    found = sheet.found
    yield _section("broken", quoted(found.broken or "", "warn"), columns)
    yield _section("file", [(Span(one_line(path)),) for path in found.files], columns)
    yield _section("why", quoted(found.rationale), columns)
    yield _section("scan", list(_findings(sheet.changes)), columns)
    yield _section("proposed", [(Span(proposed(found, sheet.now)),)], columns)
    evidence = [line for source in _sources(sheet) for line in _source(source)]
    yield _section("evidence", evidence, columns, needed=False)
    near = [(Span(width.cut(one_line(text), columns - _MARGIN)),) for text in sheet.near]
    yield _section("near", near, columns, needed=False)


def _section(
    label: str, body: Sequence[Line], columns: int, *, needed: bool = True, empty: bool = False
) -> Section:
    said = any(span.text for line in body for span in line)
    rows = laid_out(body, columns, label=label, margin=_MARGIN) if said or empty else []
    return Section(tuple(rows), needed)


def _changes(sheet: Sheet, columns: int, *, coloured: bool) -> Iterator[Section]:
    """What the candidate does to each entry."""
    for changed in sheet.changes:
        head = (Span(one_line(changed.id), "bold"), Span(f"  {_about(sheet.found, changed)}"))
        yield Section(
            tuple(laid_out([head], columns, label=changed.verb, margin=_MARGIN)),
        )
        if sheet.difference is None:
            yield from _change(changed, columns, coloured=coloured)
    if sheet.difference is not None:
        yield Section(tuple((Span(row),) for row in sheet.difference.split("\n")))


def _about(found: Candidate, changed: Changed) -> str:
    """Tier and type, what is strange about the file, what does not go together."""
    before = changed.before.type if changed.before else None
    after = changed.after.type if changed.after else before
    kinds = [kind or "no entry" for kind in (before or after, after)]
    about = f"{found.tier} {' -> '.join(dict.fromkeys(kinds))}"
    about += f", {changed.kind}" if changed.kind else ""
    about += f", present text signed by {changed.signer}" if changed.signer else ""
    return one_line(f"{about}: {changed.conflict}" if changed.conflict else about)


def _change(changed: Changed, columns: int, *, coloured: bool) -> Iterator[Section]:
    if changed.verb == "conflict":
        for label, side in (("approved", changed.before), ("wanted", changed.after)):
            body = list(_difference(changed.base, side, coloured=coloured))
            yield _section(label, body or [(Span("as it was", "dim"),)], columns)
    else:
        body = list(_difference(changed.before, changed.after, coloured=coloured))
        yield _section("", body, columns, empty=True)


def _difference(before: Version | None, after: Version | None, *, coloured: bool) -> Iterator[Line]:
    old, new = _said(before), _said(after)
    for one, other in zip(old, new, strict=True):
        if one != other:
            yield from word_difference(one, other, coloured=coloured)


def _said(version: Version | None) -> tuple[str, str]:
    """The unusual front matter and the body of an entry, each ending its last line."""
    if version is None:
        return "", ""
    return version.rest, f"{version.body.removesuffix(chr(10))}\n"


def _findings(changes: Iterable[Changed]) -> Iterator[Line]:
    """What the scan objects to in what would be approved."""
    for changed in changes:
        if changed.after is None:
            continue
        text = changed.after.rest + changed.after.body
        for finding in scan(text):
            said = f"{finding.rule}: {finding.message}"
            kept = "kept out of every context" if finding.confidence == "high" else "low"
            yield (Span(one_line(f"{said} ({kept})"), "warn"),)
        for word in mixed_script_words(text):
            yield (Span(one_line(f"mixed scripts: {word} (it looks Latin and is not)"), "warn"),)


def proposed(found: Candidate, now: int) -> str:
    """Who proposed it, and when."""
    parts = [f"by {found.actor}", f"{ago(now - found.created_at)}"]
    parts += [f"priority {found.priority}"] if found.priority in ("high", "low") else []
    parts += [f"only on {found.remote}"] if found.remote else []
    parts += ["from a commit without trailers"] if found.inferred else []
    return one_line(f"{', '.join(parts)} ({clock.rfc3339(found.created_at)})")


def ago(seconds: int) -> str:
    """How long ago that is."""
    return f"{age(seconds)} ago" if seconds >= 60 else "just now"


def _sources(sheet: Sheet) -> list[Mapping[str, Any]]:
    """The evidence of the candidate, and what its entries have besides."""
    found = [dict(source) for source in sheet.found.sources]
    for changed in sheet.changes:
        known = changed.before.sources if changed.before else ()
        for source in changed.after.sources if changed.after else ():
            said = source.to_json()
            if source not in known and said not in found:
                found.append(said)
    return list(found)


def _source(given: Mapping[str, Any]) -> Iterator[Line]:
    """A piece of evidence, quoted, and where it was said."""
    where = [
        f"{name} {given[key]}"
        for name, key in (("session", "sessionId"), ("turn", "turnId"))
        if given.get(key)
    ]
    if given.get("evidence"):
        yield from quoted(f"“{str(given['evidence']).strip()}”")
    if where:
        yield (Span(one_line(f"  {', '.join(where)}"), "dim"),)


def _blocks(sheet: Sheet) -> Iterator[Line]:
    """What an agent's context gains, as it would stand there, and how much that is.

    The text of a new entry stands on the screen already; it is repeated where a context writes it
    in another way.
    """
    tier = sheet.found.tier
    for changed in sheet.changes:
        if changed.verb in ("conflict", "nothing"):
            continue
        before, after = (
            version.block(tier) or "" if version else ""
            for version in (changed.before, changed.after)
        )
        more = len(after) - len(before)
        size = f"{more:+} {'character' if abs(more) == 1 else 'characters'}"
        header, _, body = after.partition("\n")
        if changed.verb == "new" and changed.after and body == changed.after.body:
            yield (Span(one_line(f"{size}: {header} and the text above")),)
            continue
        yield (Span(size),)
        if after:
            yield from quoted(after)


def transcript(source: Mapping[str, Any], place: Place | None, columns: int) -> list[Line]:
    """What a piece of evidence quotes: where that is, and what was said around it."""
    if place is None:
        return quoted(f"no transcript of session {source.get('sessionId')} is here", "note")
    if place.record is None:
        where = f"{place.path} says nothing of the kind; it begins:"
    else:
        where = f"{place.path}, line {place.record}"
    rows: list[Line] = [(Span(one_line(where), "note" if place.record else "warn"),)]
    for record, speaker, text in place.texts:
        label = one_line(speaker)[: _MARGIN - 1]
        style: Style = "bold" if record == place.record else "plain"
        rows += laid_out(quoted(text, style), columns, label=label, margin=_MARGIN)
    return rows


# -- pages -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page:
    """What is on the screen at a time. One that is too `long` for it is for the pager."""

    rows: tuple[Line, ...]
    long: bool = False


def pages(sheet: Sheet, columns: int, rows: int, *, coloured: bool) -> list[Page]:
    """The one page of a candidate, or, where it has too many entries for that, a list to walk through.

    The list's first page names all entries; each entry has a page behind it.
    """
    parts = sections(sheet, columns, coloured=coloured)
    shown = fitted(parts, columns, rows)
    if shown is not None:
        return [Page(tuple(shown))]
    if len(sheet.changes) < 2 or sheet.difference is not None:
        return [Page(tuple(whole(parts)), long=True)]
    walk = [
        overview(sheet, columns),
        *(_entry(sheet, changed, columns, coloured=coloured) for changed in sheet.changes),
    ]
    return [_page(parts, columns, rows) for parts in walk]


def overview(sheet: Sheet, columns: int) -> list[Section]:
    """A candidate of many entries: their names instead of their texts."""
    names = [
        (
            Span(f"{number:3} {changed.verb:8} ", _VERBS.get(changed.verb, "plain")),
            Span(one_line(f"{changed.id}  {_about(sheet.found, changed)}")),
        )
        for number, changed in enumerate(sheet.changes, 1)
    ]
    listed = Section(tuple(shortened(name, columns, Span("")) for name in names), needed=False)
    made = [listed, *_grounds(sheet, columns)]
    return [section for section in made if section.rows]


def _entry(sheet: Sheet, changed: Changed, columns: int, *, coloured: bool) -> list[Section]:
    alone = replace(sheet, changes=(changed,))
    blocks = _section("agents", list(_blocks(alone)), columns, needed=False)
    made = [*_changes(alone, columns, coloured=coloured), blocks]
    return [section for section in made if section.rows]


def _page(parts: Sequence[Section], columns: int, rows: int) -> Page:
    shown = fitted(parts, columns, rows)
    return Page(tuple(whole(parts)), long=True) if shown is None else Page(tuple(shown))


def fitted(parts: Sequence[Section], columns: int, rows: int) -> list[Line] | None:
    """The sections in at most `rows` rows; None where what is needed takes more."""
    room = rows - sum(len(part.rows) for part in parts if part.needed)
    sizes = [len(part.rows) for part in parts if not part.needed]
    if room < len(sizes):
        return None
    given = iter(_shared(sizes, room))
    shown: list[Line] = []
    for part in parts:
        shown += part.rows if part.needed else _cut(part.rows, next(given), columns)
    return shown


def _shared(sizes: Sequence[int], room: int) -> list[int]:
    """As fair a part of `room` for each size as the others leave it; at least 1."""
    given = [0] * len(sizes)
    for left, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        given[index] = min(sizes[index], room // (len(sizes) - left))
        room -= given[index]
    return given


def _cut(rows: Sequence[Line], count: int, columns: int) -> list[Line]:
    """As many rows as there is room for; the last one says how many are missing."""
    if len(rows) <= count:
        return list(rows)
    more = Span(f" … {len(rows) - count} more, p shows all", "dim")
    return [*rows[: count - 1], shortened(rows[count - 1], columns, more)]


def whole(parts: Sequence[Section]) -> list[Line]:
    """All rows of all sections."""
    return [row for part in parts for row in part.rows]
