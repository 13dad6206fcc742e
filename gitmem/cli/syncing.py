"""What `sync` and `push-candidates` ask and tell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gitmem.cli.common import State, emit, emit_json, is_terminal, note, tell_left, warn
from gitmem.errors import ExitCode
from gitmem.visible import visible

if TYPE_CHECKING:
    from gitmem.sync import Moved, Question, Report

_SHOWN = 5


def progress() -> Callable[[bytes], object] | None:
    """Where git's progress goes: a person's terminal, or nowhere."""
    if not is_terminal():
        return None

    def show(said: bytes) -> None:
        sys.stderr.buffer.write(said)
        sys.stderr.buffer.flush()

    return show


def agree(state: State, question: Question, *, yes: bool) -> None:
    """Have a person agree to a first sync. Raises as `State.confirm`."""
    told = _asked(question)
    if yes:
        note(told)
    asked = "show it there?" if question.kind == "push" else "join the two?"
    state.confirm(asked, yes=yes, shown=told)


def _asked(question: Question) -> str:
    from gitmem.cli.remote import will_show
    from gitmem.cli.render import counted

    shown = f"this shows there: {will_show(question.visible)}"
    if question.kind == "push":
        names = f"\ncandidates: {_names(question.visible.candidates)}"
        return visible(
            f"{question.url} has no {question.scope} memory yet\n{shown}"
            + (names if question.visible.candidates else ""),
            multiline=True,
        )
    approvers = [f"{name} ({count})" for name, count in question.approvers]
    return visible(
        f"{question.url} has {question.scope} memory that began on its own: "
        f"{counted(question.entries, 'entry')}, approved by {_names(approvers) or 'nobody'}\n"
        f"it counts here from now on, and {shown}",
        multiline=True,
    )


def tell(reports: Iterable[Report], *, as_json: bool) -> ExitCode:
    """Print what was done, and give the exit code for it."""
    reports = list(reports)
    if as_json:
        emit_json([_json(report) for report in reports])
    for report in reports:
        if not as_json:
            emit(visible("\n".join(_lines(report)), multiline=True))
        _warn(report)
    if any(report.refused for report in reports):
        return ExitCode.REFUSED
    if any(report.conflicts or report.split for report in reports):
        return ExitCode.CONFLICT
    return ExitCode.DONE


def _lines(report: Report) -> Iterator[str]:
    there = f"{report.scope} memory, {report.remote}"
    if not (report.came or report.went or report.withdrawn or report.refused):
        yield f"{there}: nothing new"
    else:
        yield f"{there}:"
    yield from _moved("came", report.came)
    yield from _moved("went", report.went)
    if report.withdrawn:
        yield f"  withdrawn there: {_names(report.withdrawn)}"
    for conflict in report.conflicts:
        yield (
            f"  conflict: {conflict.entry} stays as {report.remote} has it; "
            f"{conflict.candidate} has yours"
        )
    for candidate, made in report.split:
        yield (
            f"  conflict: {candidate} was edited on both sides and stays as {report.remote} has it; "
            f"{made} has yours"
        )


def _moved(way: str, moved: Moved) -> Iterator[str]:
    from gitmem.cli.render import counted

    for names, noun in (
        (moved.entries, "entry"),
        (moved.candidates, "candidate"),
        (moved.discarded, "closed candidate"),
    ):
        if names:
            yield f"  {way}: {counted(len(names), noun)}: {_names(names)}"


def _names(names: Iterable[str]) -> str:
    found = list(names)
    more = len(found) - _SHOWN
    return ", ".join([*found[:_SHOWN], *([f"{more} more"] if more > 0 else [])])


def _warn(report: Report) -> None:
    tell_left(report)
    for commit, entry in report.unreviewed:
        warn(
            f"{entry} is as it was approved: what {commit[:12]} made of it was never reviewed "
            f"(gitmem adopt {commit[:12]})"
        )
    for candidate in report.unreadable:
        warn(f"{candidate} of {report.remote} is damaged, or too strange for git to fetch")
    for name, reason in report.refused.items():
        warn(f"{report.remote} does not take {name.removeprefix('refs/')}: {reason}")


def _json(report: Report) -> dict[str, Any]:
    def moved(found: Moved) -> dict[str, list[str]]:
        return {
            "entries": found.entries,
            "candidates": found.candidates,
            "discarded": found.discarded,
        }

    return {
        "scope": report.scope,
        "remote": report.remote,
        "url": report.url,
        "came": moved(report.came),
        "went": moved(report.went),
        "withdrawn": report.withdrawn,
        "conflicts": [{"entry": one.entry, "candidate": one.candidate} for one in report.conflicts],
        "split": [{"candidate": old, "into": new} for old, new in report.split],
        "unreviewed": [{"commit": commit, "entry": entry} for commit, entry in report.unreviewed],
        "unreadable": report.unreadable,
        "refused": report.refused,
        "left": [{"path": item.path, "reason": item.reason} for item in report.left],
    }
