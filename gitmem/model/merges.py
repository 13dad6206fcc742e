"""What a merge commit says that it merges, and what a revert says that it reverts.

The merger writes that message and the author of what is merged does not, so it decides what a
merge approves. Every name and title in it is untrusted, and in doubt nothing is approved.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitmem.ids import is_candidate_id
from gitmem.model import trailers

# git allows no white space and no colon in a ref's name, which is what makes cutting safe.
_CANDIDATE = r"memory/candidate/[a-z0-9_-]+"
_REMOTE = r"(?:(?!memory/candidate/)[^\s/']+/)+"
_LOCAL_LIST = rf"branch(?:es)? '{_CANDIDATE}'(?:(?:, | and )'{_CANDIDATE}')*"
_REMOTE_LIST = (
    rf"remote-tracking branch(?:es)? '{_REMOTE}{_CANDIDATE}'"
    rf"(?:(?:, | and )'{_REMOTE}{_CANDIDATE}')*"
)
# `git fmt-merge-msg`: each kind once, local branches first; then where they came from, where to.
# "; " would begin the names of another repository.
_GIT = re.compile(
    rf"Merge (?P<names>{_LOCAL_LIST}(?:, {_REMOTE_LIST})?|{_REMOTE_LIST})"
    r"(?: (?:of|into) (?:(?!; ).)+)?\Z"
)
_PULL_REQUEST = "Merge pull request "
# https://docs.github.com/pull-requests: "#12 from owner/branch".
_GITHUB = re.compile(
    rf"{_PULL_REQUEST}#[0-9]+ from [^\s/]+/(?P<names>{_CANDIDATE})(?: (?:of|into) .+)?\Z"
)
# Gitea and Forgejo (services/pull/merge.go): the author's title stands before the names, so the
# names are read from the right, and nothing but one word each may stand around them.
_GITEA = re.compile(
    rf"{_PULL_REQUEST}'.*' \([#!][0-9]+\) from (?:(?:[^\s/:]+/[^\s/:]+|<deleted>):)?"
    rf"(?P<names>{_CANDIDATE})"
    r" into \S+\Z"
)
_TAG = re.compile(r"Merge .*\btags? '")
_ID = re.compile(r"memory/candidate/([a-z0-9_-]+)")

_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_REVERTS = re.compile(r"^This reverts commit ([0-9a-f]{40})(?![0-9A-Za-z])", re.MULTILINE)


@lru_cache(maxsize=1 << 15)
def candidates_named(message: str) -> tuple[str, ...]:
    """The ids of the candidates that the merge with this message names, in order.

    Empty where it names anything else besides, or nothing: then the merge is a sync. Its
    `Memory-Candidate` trailers decide, else its first line. Since in doubt nothing is approved,
    trailers that leave out a candidate of the first line contradict it, trailers in a text of
    the merged side's author (a pull request's, a tag's) don't count, and a merge whose
    `Memory-Event` says that it is a sync is one.
    """
    named = _named_by_line(message.partition("\n")[0].rstrip(" \t\r"))
    if _holds_authors_text(message):
        return named
    parsed = trailers.parse(message)
    if "memory.synced" in parsed.all(trailers.EVENT):
        return ()
    declared = parsed.all(trailers.CANDIDATE)
    if not declared:
        return named
    doubtful = not all(map(is_candidate_id, declared)) or not set(named) <= set(declared)
    return () if doubtful else tuple(dict.fromkeys(declared))


def _holds_authors_text(message: str) -> bool:
    """Whether the author of the merged side wrote a part of this message.

    That is a pull request's title, an annotated tag's message or a GitLab merge request's text.
    """
    return (
        message.startswith(_PULL_REQUEST)
        or _TAG.match(message) is not None
        or "\nSee merge request " in message
    )


def _named_by_line(line: str) -> tuple[str, ...]:
    if not line.startswith("Merge ") or "\0" in line:
        return ()
    match = _GIT.match(line) or _GITHUB.match(line) or _GITEA.match(line)
    if match is None:
        return ()
    ids = _ID.findall(match["names"])
    return tuple(dict.fromkeys(ids)) if all(map(is_candidate_id, ids)) else ()


def reverted_commit(message: str) -> str | None:
    """The full id of the commit that this message says it reverts, or None.

    A `Memory-Reverts` trailer decides, else git's "This reverts commit <id>" at the start of a
    line. An abbreviated id, or several that differ, name no commit.
    """
    if "reverts" not in message.lower():
        return None
    declared = set(trailers.parse(message).all(trailers.REVERTS))
    named = declared or set(_REVERTS.findall(message.partition("\0")[0]))
    if len(named) != 1:
        return None
    commit = named.pop()
    return commit if _COMMIT.match(commit) else None
