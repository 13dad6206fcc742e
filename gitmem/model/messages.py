"""The messages of the commits that gitmem writes: subject, body, trailers.

A subject is what git itself would write for the same move, where there is one, so
that a history reads alike whatever made it. `docs/git-format.md` lists the trailers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gitmem.model import trailers
from gitmem.model.entries import Source

Told = Iterable[tuple[str, str]]


def proposal(
    id_: str,
    keys: Sequence[str],
    rationale: str,
    told: Told,
    *,
    actor: str,
    reopened: bool = False,
) -> str:
    """The first commit of a candidate; `told` are its other trailers."""
    event = "candidate.reopened" if reopened else "candidate.created"
    more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
    return trailers.compose(
        f"memory: propose {keys[0]}{more}",
        rationale.strip(),
        [
            (trailers.EVENT, event),
            (trailers.CANDIDATE, id_),
            *told,
            (trailers.ACTOR, actor),
        ],
    )


def grounds(sources: Iterable[Source], priority: str) -> list[tuple[str, str]]:
    """The trailers for a proposal's priority and evidence."""
    return [
        (trailers.PRIORITY, priority),
        *((trailers.SOURCE, one_line(source)) for source in sources),
    ]


def one_line(source: Source) -> str:
    """A source as the value of a `Memory-Source` trailer."""
    return json.dumps(source.to_json(), ensure_ascii=False, separators=(", ", ": "))


def evidence(id_: str, rationale: str, sources: Iterable[Source], *, actor: str) -> str:
    """A further commit of a candidate that only adds to what is said for it."""
    told = [
        (trailers.EVENT, "candidate.edited"),
        (trailers.CANDIDATE, id_),
        *((trailers.SOURCE, one_line(source)) for source in sources),
        (trailers.ACTOR, actor),
    ]
    return trailers.compose(f"memory: add evidence to {id_}", rationale, told)


def edit(id_: str, note: str, actor: str) -> str:
    """A further commit of a candidate."""
    told = [
        (trailers.EVENT, "candidate.edited"),
        (trailers.CANDIDATE, id_),
        (trailers.ACTOR, actor),
    ]
    return trailers.compose(f"memory: edit {id_}", note, told)


def onto_main(id_: str, actor: str) -> str:
    """The merge of `memory/main` into a candidate. It names none: that would make it an apply."""
    told = [(trailers.EVENT, "candidate.edited"), (trailers.ACTOR, actor)]
    return trailers.compose(f"Merge branch 'memory/main' into memory/candidate/{id_}", "", told)


def apply(id_: str, digest: str, *, remote: str | None) -> str:
    """The merge of a candidate into `memory/main`; `remote` has its branch, if none here has."""
    told = [
        (trailers.EVENT, "candidate.applied"),
        (trailers.CANDIDATE, id_),
        (trailers.DIGEST, digest),
    ]
    named = f"branch 'memory/candidate/{id_}'"
    if remote is not None:
        named = f"remote-tracking branch '{remote}/memory/candidate/{id_}'"
    return trailers.compose(f"Merge {named} into memory/main", "", told)


def revert(message: str, commit: str, parents: Sequence[str], reason: str) -> str:
    """The revert of `commit`, whose own message and parents these are."""
    named = f"This reverts commit {commit}."
    if len(parents) > 1:
        named = f"This reverts commit {commit}, reversing\nchanges made to {parents[0]}."
    body = f"{reason.strip()}\n\n{named}" if reason.strip() else named
    told = [(trailers.EVENT, "memory.reverted"), (trailers.REVERTS, commit)]
    # A lone carriage return is no line end to git, and none may stand in a subject of ours.
    subject = " ".join(trailers.parse(message).subject.split())
    return trailers.compose(f'Revert "{subject}"', body, told)


def restore(commit: str, reason: str) -> str:
    """The commit that puts entries back as approved, where `commit` is nothing to revert whole."""
    body = f"Takes back what {commit} holds without approval."
    return trailers.compose(
        "memory: restore what is approved", "\n\n".join(filter(None, (reason.strip(), body))), []
    )


def closing(verb: str, id_: str, reason: str, told: Told = ()) -> str:
    """The empty commit, and the tag, that end a candidate; `verb` is `discard` or `supersede`."""
    event = "candidate.discarded" if verb == "discard" else "candidate.superseded"
    return trailers.compose(
        f"memory: {verb} {id_}",
        reason,
        [(trailers.EVENT, event), (trailers.CANDIDATE, id_), *told],
    )


def sync(remote: str, conflicts: Told) -> str:
    """The merge of the own line of `memory/main` into that of `remote`.

    `conflicts` are the entries whose other side is a candidate now: (entry, candidate).
    """
    told = [
        (trailers.EVENT, "memory.synced"),
        *((trailers.CONFLICT, f"{entry} {candidate}") for entry, candidate in conflicts),
    ]
    return trailers.compose(
        f"Merge remote-tracking branch '{remote}/memory/main' into memory/main", "", told
    )


def conflict(id_: str, entry: str, kept: Side, other: Side) -> str:
    """The candidate with the other side of a conflict: both versions, for a person to settle it."""
    intro = (
        f"Two people changed {entry}, and the changes don't go together. memory/main has what "
        "reached the remote first; this is the other. Apply it, edit it so that it says "
        "what both mean, or discard it."
    )
    body = "\n\n".join(
        (
            intro,
            f"memory/main has, from {kept.commit}:",
            _quoted(kept.text),
            f"The other has, from {other.commit}:",
            _quoted(other.text),
        )
    )
    told = [
        (trailers.EVENT, "candidate.created"),
        (trailers.CANDIDATE, id_),
        (trailers.PRIORITY, "high"),
        (trailers.ACTOR, "gitmem"),
    ]
    return trailers.compose(f"memory: settle {entry}", body, told)


class Side(NamedTuple):
    """One side of a conflict: the commit that approved it, and its text; None where it deleted it."""

    commit: str
    text: str | None


def _quoted(text: str | None) -> str:
    if text is None:
        return "    (deleted)"
    lines = text.replace("\0", "\ufffd").splitlines()
    return "\n".join(f"    {line}".rstrip() for line in lines)


def split(id_: str, origin: str, remote: str, told: Told) -> str:
    """The candidate with what was put on another here, while that went on elsewhere at `remote`."""
    body = (
        f"{origin} was edited here and, differently, at the remote '{remote}', which keeps the name. "
        "This is what it was here."
    )
    return trailers.compose(
        f"memory: split from {origin}",
        body,
        [
            (trailers.EVENT, "candidate.created"),
            (trailers.CANDIDATE, id_),
            (trailers.ORIGIN, origin),
            *told,
            (trailers.ACTOR, "gitmem"),
        ],
    )
