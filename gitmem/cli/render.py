"""Candidates, events and findings as a person reads them. Pure: values in, text out.

Everything that others wrote passes through `visible`: it can't move the cursor or forge a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import click

from gitmem import clock, ids
from gitmem.differences import unified
from gitmem.dropbox import Dropped
from gitmem.findings import Finding, Report
from gitmem.model.candidates import Candidate
from gitmem.model.events import Event
from gitmem.stories import Chapter, Story
from gitmem.visible import visible

_WIDTH = 10
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


# -- candidates --------------------------------------------------------------------------------


def listed(candidate: Candidate) -> str:
    """A candidate in the list: what it is about, and below that the first line of its reasons."""
    about = f"{candidate.tier} {candidate.type or 'unknown'}"
    names = ", ".join(item.id for item in candidate.entries) or "no entry"
    rest = visible(f"  {about}  {names}{_flags(candidate)}")
    return f"{_bold(visible(candidate.id))}{rest}\n    {visible(_first_line(candidate.rationale))}"


def _flags(candidate: Candidate) -> str:
    flags: list[str] = [] if candidate.state == "pending" else [candidate.state]
    flags += ["conflicts"] if candidate.conflicts and candidate.state == "pending" else []
    flags += ["broken"] if candidate.broken is not None else []
    flags += [f"of {candidate.remote}"] if candidate.remote is not None else []
    flags += [f"priority {candidate.priority}"] if candidate.priority in ("high", "low") else []
    return f"  [{', '.join(flags)}]" if flags else ""


def dropped(item: Dropped) -> str:
    """A file in the drop box, in the list."""
    if item.drop is None:
        return (
            f"{_bold(visible(item.path.name))}  [dropped, broken]\n    {visible(item.fault or '')}"
        )
    kind = "deletes" if item.drop.delete else item.drop.type or "patch"
    head = f"{_bold(visible(item.path.name))}  project {kind}  {ids.entry_id(item.drop.key)}"
    return f"{head}  [dropped]\n    {visible(_first_line(item.drop.rationale))}"


def dropped_json(item: Dropped) -> dict[str, Any]:
    """A file in the drop box with the fields of a candidate; what is not known is null."""
    drop = item.drop
    return {
        "id": item.path.name,
        "state": "dropped",
        "broken": item.fault,
        "conflicts": [],
        "scope": "project",
        "type": drop.type if drop else None,
        "entries": [ids.entry_id(drop.key)] if drop else [],
        "commit": None,
        "base": None,
        "digest": None,
        "createdAt": clock.rfc3339(item.at) if item.at else None,
        "rationale": drop.rationale if drop else None,
        "sources": [source.to_json() for source in drop.sources] if drop else [],
        "priority": drop.priority if drop else None,
        "actor": None,
    }


def candidate(found: Candidate) -> str:
    """All that is said about a candidate, above its text or its difference."""
    state = found.state if found.remote is None else f"{found.state}, of {found.remote}"
    entries = ", ".join(item.id for item in found.entries) or "none"
    rows = [
        ("candidate", f"{found.id} ({state})"),
        ("entries", f"{entries} ({found.tier} {found.type or 'unknown'})"),
        ("proposed", _proposed(found)),
        ("commit", found.commit),
        ("digest", found.digest),
        ("broken", found.broken),
        ("conflicts", ", ".join(found.conflicts) if found.state == "pending" else None),
        ("edited", _edited(found)),
        _decided(found),
        ("why", found.rationale),
        *(("and why", text) for text in found.more_rationale),
        *(("evidence", source(one)) for one in found.sources),
    ]
    return "\n".join(_row(label, value) for label, value in rows if value)


def _proposed(found: Candidate) -> str:
    priority = f", priority {found.priority}" if found.priority else ""
    guessed = ", read from a commit without trailers" if found.inferred else ""
    return f"{clock.rfc3339(found.created_at)} by {found.actor}{priority}{guessed}"


def _edited(found: Candidate) -> str | None:
    if not found.edited:
        return None
    when = "" if found.state == "pending" else " before it was decided"
    return f"it is not as it was proposed: it was edited{when}"


def _decided(found: Candidate) -> tuple[str, str | None]:
    """What became of a candidate: the answer to whoever proposed it."""
    if found.decided is None:
        return "decided", None
    parts = [f"as {found.decided[:10]}"]
    if found.signer:
        parts.append(f"signed by {found.signer}")
    if found.superseded_by:
        parts.append(f"by {found.superseded_by}")
    if found.never:
        parts.append("never to be proposed again")
    if found.reason:
        parts.append(f"because: {found.reason}")
    return found.state, ", ".join(parts)


def source(given: Mapping[str, Any]) -> str:
    """One piece of evidence: where it was said, and what."""
    session, turn = given.get("sessionId"), given.get("turnId")
    where = [f"session {session}"] if session else []
    where += [f"turn {turn}"] if turn else []
    said = given.get("evidence")
    return "\n".join(part for part in (", ".join(where), str(said) if said else "") if part)


def difference(text: str) -> str:
    """A unified diff, in colours."""
    return "\n".join(_coloured(line) for line in text.split("\n"))


def _coloured(line: str) -> str:
    if line.startswith(("+++", "---")):
        return _bold(line)
    colour = _DIFF_COLOURS.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def file(title: str, text: str | None) -> str:
    """A file's text under its name."""
    shown = visible(text, multiline=True).removesuffix("\n") if text is not None else "(deleted)"
    return f"{_bold(visible(title))}\n{shown}"


# -- events ------------------------------------------------------------------------------------


def event(found: Event) -> str:
    """One line of the log."""
    about = ids.entry_id(found.key) if found.key is not None else found.candidate or ""
    if "session" in found.details:
        return visible(f"{_head(found)}  {_of_session(found.details)}")
    if found.key is not None and found.candidate is not None:
        about += f" ({found.candidate})"
    guessed = "  inferred" if found.inferred else ""
    signer = found.details.get("signer")
    signed = f"  signed by {signer}" if signer else ""
    return visible(f"{_head(found)}  {about}  {found.actor or 'unknown'}{signed}{guessed}")


def _head(found: Event) -> str:
    return f"{clock.rfc3339(found.at)}  {found.commit[:10]}  {found.tier:7}  {found.kind:20}"


def _of_session(details: Mapping[str, Any]) -> str:
    if "digest" not in details:
        return str(details["session"])
    entries = sum(len(ids_) for ids_ in details["entries"].values())
    size = f"{details['sizes']['characters']} characters"
    return f"{details['session']} number {details['number']}: {counted(entries, 'entry')}, {size}"


def snapshots(document: Mapping[str, Any]) -> str:
    """The difference between an event's snapshots, below its line."""
    before, after = document["before"], document["after"]
    if document["entry"] is None:
        return ""
    text = unified(before, after, f"before/{document['entry']}", f"after/{document['entry']}")
    return "\n".join(f"    {line}" for line in difference(text).split("\n")) if text else ""


def story(found: Story) -> str:
    """Where an entry comes from, newest first."""
    kind = found.entry.type if found.entry is not None else "unreadable"
    state = kind if found.text is not None else "deleted"
    head = f"{_bold(visible(found.id))}  {found.tier} {visible(state)}"
    if found.sessions:
        head += "\n" + _row("given to", ", ".join(found.sessions))
    return "\n\n".join([head, *map(_chapter, found.chapters)])


def _chapter(found: Chapter) -> str:
    decided, proposed = found.decided, found.proposed
    verb = {"memory.reverted": "reverted", "memory.synced": "synced"}.get(decided.kind, "approved")
    rows = [(verb, f"{clock.rfc3339(decided.at)} by {decided.actor}, commit {decided.commit[:10]}")]
    if decided.details.get("signer"):
        rows.append(("signed", f"{decided.details['signer']}, {decided.details['signingKey']}"))
    if decided.details.get("reason"):
        rows.append(("reason", str(decided.details["reason"])))
    if proposed is not None:
        rows.append(("proposed", f"{clock.rfc3339(proposed.at)} by {proposed.actor}"))
        rows.append(("candidate", proposed.candidate or ""))
        rows.append(("why", str(proposed.details.get("rationale") or "")))
        rows += [("evidence", source(one)) for one in proposed.details.get("sources") or ()]
    text = "\n".join(_row(label, value) for label, value in rows if value)
    changed = unified(body(found.before), body(found.after), "before", "after")
    return f"{text}\n{difference(changed)}" if changed else text


def body(text: str | None) -> str | None:
    """The text of an entry's file below its front matter."""
    if text is None:
        return None
    return re.sub(r"\A---\n.*?^---\n+", "", text, count=1, flags=re.DOTALL | re.MULTILINE)


# -- verify ------------------------------------------------------------------------------------


def finding(found: Finding) -> str:
    """A finding and the way out of it."""
    kind = click.style(found.kind, fg="red")
    return f"{kind}: {visible(found.message)}\n  {visible(found.hint)}"


def verified(report: Report) -> str:
    """How much was looked at, and how it stands."""
    count = len(report.findings)
    looked = f"{counted(report.commits, 'commit')}, {counted(report.entries, 'approved entry')}"
    return f"{counted(count, 'finding') if count else 'no findings'} in {looked}"


def finding_json(found: Finding) -> dict[str, Any]:
    """A finding as `verify --json` gives it."""
    return {
        "kind": found.kind,
        "tier": found.tier,
        "commit": found.commit,
        "entry": found.entry,
        "message": found.message,
        "hint": found.hint,
    }


# -- words and lines ---------------------------------------------------------------------------


def counted(number: int, noun: str) -> str:
    """A number with its noun, as one says it."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def _row(label: str, value: str) -> str:
    lines = visible(value, multiline=True).split("\n")
    head = click.style(f"{label:{_WIDTH}}", dim=True)
    return "\n".join([f"{head} {lines[0]}", *(f"{'':{_WIDTH}} {line}" for line in lines[1:])])


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def _bold(text: str) -> str:
    return click.style(text, bold=True)


def blocks(texts: Iterable[str]) -> str:
    """Texts with one blank line between them."""
    return "\n\n".join(text for text in texts if text)


def shown(text: str) -> str:
    """A whole text, safe to print."""
    return visible(text, multiline=True)


def review(found: Candidate, text: str) -> str:
    """A candidate with its reasons, and below them the difference `text`."""
    return blocks([candidate(found), difference(text)])
