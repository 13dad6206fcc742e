"""Findings as forges show them beside a change: workflow commands of GitHub, reports of GitLab."""

from __future__ import annotations

import hashlib
from typing import Any

from gitmem import ids
from gitmem.findings import Finding
from gitmem.model.entries import path_of
from gitmem.visible import visible


def github(found: Finding) -> str:
    """A finding as an `::error` command, which Forgejo and Gitea read too.

    The form and what must be escaped:
    https://docs.github.com/actions/reference/workflow-commands-for-github-actions and
    https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts
    """
    where = [f"file={_property(path)}"] if (path := _path(found)) is not None else []
    told = ",".join([*where, f"title={_property(f'gitmem: {found.kind}')}"])
    return f"::error {told}::{_data(f'{found.message}: {found.hint}')}"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(found: Finding) -> dict[str, Any]:
    """A finding as an issue of a code quality report.

    https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format: each has a path.
    One about no file of an entry stands at the README, which need not be there.
    """
    known = "\0".join(
        [found.kind, found.tier or "", found.commit or "", found.entry or "", found.message]
    )
    return {
        "description": f"{visible(found.message)}: {visible(found.hint)}",
        "check_name": f"gitmem:{found.kind}",
        "fingerprint": hashlib.sha256(known.encode("utf-8", "surrogateescape")).hexdigest(),
        "severity": "major",
        "location": {"path": _path(found) or "README.md", "lines": {"begin": 1}},
    }


def _path(found: Finding) -> str | None:
    """The entry's file, from the top of the memory's repository."""
    return path_of(ids.key_of(found.entry)) if found.entry is not None else None
