"""What is found that a person should look at: by `verify`, in a range of commits, in a push."""

from __future__ import annotations

from dataclasses import dataclass

from gitmem import ids
from gitmem.model.approval import Trust, kind_of
from gitmem.model.history import Commit


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person should look at, and the way out of it. `tier` None: of no tier."""

    kind: str
    tier: str | None
    commit: str | None
    entry: str | None
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found, and how much it looked at."""

    findings: tuple[Finding, ...]
    commits: int
    entries: int


def unreviewed(tier: str, commit: Commit, key: str, trust: Trust) -> Finding:
    """What is to be said of a commit that left an entry as nobody approved it.

    `trust` says which approvals count: this one may only lack a signature.
    """
    id_ = ids.entry_id(key)
    unsigned = kind_of(commit) != kind_of(commit, trust)
    lacking = "in a merge or revert that no allowed signer signed"
    return Finding(
        "not-signed" if unsigned else "unreviewed",
        tier,
        commit.id,
        id_,
        f"{commit.id[:12]} changes {id_} {lacking if unsigned else 'without approval'}",
        f"gitmem adopt {commit.id[:12]} (review it), or gitmem revert {commit.id[:12]} (take it back)",
    )
