from __future__ import annotations

from gitmem.cli import annotations
from gitmem.findings import Finding

FOUND = Finding(
    "unreviewed",
    "project",
    "a" * 40,
    "mem_build/tests",
    "100% of it\nis, new: here",
    "gitmem adopt",
)


def test_a_workflow_command() -> None:
    """What would end the command or one of its properties is escaped; a line can't be forged."""
    assert annotations.github(FOUND) == (
        "::error file=build/tests.md,title=gitmem%3A unreviewed"
        "::100%25 of it<U+000A>is, new: here: gitmem adopt"
    )


def test_a_finding_about_no_entry() -> None:
    """It stands at no file, or where a report must name one, at the README."""
    found = Finding("main-rewritten", "project", None, None, "gone", "gitmem sync")

    assert annotations.github(found) == "::error title=gitmem%3A main-rewritten::gone: gitmem sync"
    assert annotations.gitlab(found)["location"]["path"] == "README.md"


def test_a_code_quality_report() -> None:
    """The fields that GitLab asks for; the same finding has the same fingerprint."""
    issue = annotations.gitlab(FOUND)

    assert issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
    assert issue["location"] == {"path": "build/tests.md", "lines": {"begin": 1}}
    assert issue["check_name"] == "gitmem:unreviewed"
    assert issue == annotations.gitlab(FOUND)
