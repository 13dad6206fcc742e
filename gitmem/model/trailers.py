"""A commit's message as subject, body and trailers, by git's own rules for the last paragraph.

The rules are those of `git log --format=%(trailers:only,unfold)` with git's default
configuration, so that what git shows and what gitmem reads agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

EVENT = "Memory-Event"
CANDIDATE = "Memory-Candidate"
PRIORITY = "Memory-Priority"
SOURCE = "Memory-Source"
ACTOR = "Memory-Actor"
SESSION = "Memory-Session"
REVERTS = "Memory-Reverts"
REOPENS = "Memory-Reopens"
SUPERSEDED_BY = "Memory-Superseded-By"
ORIGIN = "Memory-Origin"
NEVER = "Memory-Never"
EXPIRED = "Memory-Expired"
CONFLICT = "Memory-Conflict"
DIGEST = "Memory-Digest"

# What git calls white space; Python's own notion has a dozen characters more.
_SPACE = " \t\n\r"
_COMMENT = "#"
_CUT = "------------------------ >8 ------------------------"
_SCISSORS = f"{_COMMENT} {_CUT}\n"
_GENERATED = ("Signed-off-by: ", "(cherry picked from commit ")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*\Z")
_TRAILER = re.compile(r"([A-Za-z0-9-]+)[ \t]*:")
_ALL_TRAILERS = re.compile(r"(?:[A-Za-z0-9-]+[ \t]*:[^\n]*(?:\n|\Z))+\Z")
_EACH_TRAILER = re.compile(r"^([A-Za-z0-9-]+)[ \t]*:([^\n]*)", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_FOLD = re.compile(r"\n[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Message:
    """A commit's message, taken apart. Whatever is no subject and no trailer is in `body`."""

    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]

    def first(self, name: str) -> str | None:
        """The value of the first trailer called `name` (in any case), or None."""
        wanted = name.lower()
        for key, value in self.trailers:
            if key.lower() == wanted:
                return value
        return None

    def all(self, name: str) -> tuple[str, ...]:
        """The values of all trailers called `name` (in any case), in order."""
        wanted = name.lower()
        return tuple(value for key, value in self.trailers if key.lower() == wanted)


@lru_cache(maxsize=1 << 15)
def parse(message: str) -> Message:
    """Take `message` apart as git does.

    The subject is git's `%s`: the first paragraph on one line. A value that was folded over
    several lines is unfolded. The body is the rest without blank lines at its ends, including
    lines that stand in or below the last paragraph and are no trailers, so that nothing that
    git shows is lost. Like git, it stops reading at a NUL.
    """
    text = _without_leading_blank_lines(message.partition("\0")[0])
    if _is_plain(text):
        stripped = text.rstrip(_SPACE)
        start = stripped.rfind("\n\n") + 2
        # At least what git takes for the last paragraph: a line of white space ends one, too.
        tail = stripped[start:] if start >= 2 else stripped
        if ":" not in tail or (start < 2 and not _BLANK_LINE.search(tail)):
            return _message(stripped, ())
        if start >= 2 and _ALL_TRAILERS.match(tail):
            found = _EACH_TRAILER.findall(tail)
            trailers = tuple([(key, value.strip(_SPACE)) for key, value in found])
            return _message(stripped[:start], trailers)
    return _parse_by_line(text)


def _without_leading_blank_lines(text: str) -> str:
    """`text` from its first line on that is not blank, with that line's own indentation."""
    if text[:1] not in _SPACE:
        return text
    bare = text.lstrip(_SPACE)
    return text[text.rfind("\n", 0, len(text) - len(bare)) + 1 :] if bare else ""


def _is_plain(text: str) -> bool:
    """Whether nothing in `text` can move the end of what git reads trailers from."""
    return "\n#" not in text and text[:1] != _COMMENT and "\nConflicts:\n" not in text


def _message(text: str, trailers: tuple[tuple[str, str], ...]) -> Message:
    subject, _, body = text.partition("\n\n")
    if "\n" in subject:
        subject, body = _split_title(text)
    return Message(subject.rstrip(_SPACE), _trim(body), trailers)


def _split_title(text: str) -> tuple[str, str]:
    """The first paragraph, joined to one line, and what follows it."""
    lines = text.split("\n")
    end = next((i for i, line in enumerate(lines) if not line.strip(_SPACE)), len(lines))
    return " ".join(line.rstrip(_SPACE) for line in lines[:end]), "\n".join(lines[end:])


def _trim(body: str) -> str:
    return _without_leading_blank_lines(body.rstrip(_SPACE))


def _parse_by_line(text: str) -> Message:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    end = _end_of_log(lines)
    start = _start_of_trailers(lines[:end])
    trailers, others = _read_block(lines[start:end]) if start is not None else ((), [])
    if not trailers:
        return _message(text, ())
    rest = [_trim("".join(part)) for part in (lines[:start], others, lines[end:])]
    return _message("\n\n".join(part for part in rest if part), trailers)


def _end_of_log(lines: Sequence[str]) -> int:
    """The index of the line before which git looks for trailers.

    Behind it lie a scissors line and all below, or a final run of comments, empty lines and an
    old-style list of conflicts.
    """
    cutoff = lines.index(_SCISSORS) if _SCISSORS in lines else len(lines)
    ignored_from = 0
    in_conflicts = False
    for index, line in enumerate(lines[:cutoff]):
        if line[0] in "#\n" or line == "Conflicts:\n":
            in_conflicts = in_conflicts or line[0] == "C"
            ignored_from = ignored_from or index
        elif ignored_from and not (in_conflicts and line[0] == "\t"):
            ignored_from = 0
            in_conflicts = False
    return ignored_from or cutoff


def _end_of_title(lines: Sequence[str]) -> int:
    """The index of the first blank line: above it stands the title, which holds no trailers."""
    return next((i for i, line in enumerate(lines) if not line.strip(_SPACE)), len(lines))


def _start_of_trailers(lines: Sequence[str]) -> int | None:
    """The index of the first line of the trailer block, or None where the last paragraph is none.

    It is one if all its lines are trailers, or if one was made by git and a quarter of them are
    trailers. Indented lines count with the line that they continue.
    """
    generated = False
    trailers = others = continued = 0
    seen = False
    for index in range(len(lines) - 1, _end_of_title(lines) - 1, -1):
        line = lines[index]
        if line[0] == _COMMENT:
            others, continued = others + continued, 0
        elif not line.strip(_SPACE):
            if not seen:
                continue
            others += continued
            enough = trailers * 3 >= others if generated else trailers and not others
            return index + 1 if enough else None
        else:
            seen = True
            if line.startswith(_GENERATED):
                generated = True
                trailers, continued = trailers + 1, 0
            elif _TRAILER.match(line):
                trailers, continued = trailers + 1, 0
            elif line[0] in _SPACE:
                continued += 1
            else:
                others, continued = others + 1 + continued, 0
    return None


def _read_block(lines: Sequence[str]) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """The trailers of a trailer block, unfolded, and its lines that are none."""
    folded: list[str] = []
    others: list[str] = []
    in_trailer = False
    for line in lines:
        if in_trailer and line[0] in _SPACE:
            folded[-1] += line
            continue
        in_trailer = _TRAILER.match(line) is not None
        (folded if in_trailer else others).append(line)
    return tuple([_unfold(trailer) for trailer in folded]), others


def _unfold(trailer: str) -> tuple[str, str]:
    name, _, value = trailer.partition(":")
    return name.rstrip(" \t"), _FOLD.sub(" ", value.strip(_SPACE))


def compose(subject: str, body: str, trailers: Sequence[tuple[str, str]]) -> str:
    """The message that `parse` takes apart into these three again.

    What comes back differs only so far: the subject and the values lose white space at their
    ends, the body loses blank lines at its ends and its CRs become line ends. Two kinds of line
    come back indented by one space, since git would read them as something else: one that holds
    git's scissors, and, in a message without trailers, one of the body that would be taken for a
    trailer.

    Raises ValueError for a blank subject, a subject or value of more than one line, a NUL, and a
    name that is not made of letters, digits and `-`.
    """
    paragraphs = [_guard(_one_line(subject, "subject")), _normal_body(body)]
    if not paragraphs[0]:
        raise ValueError("the subject is blank")
    lines = [_trailer_line(name, value) for name, value in trailers]
    if not lines and parse("\n\n".join(paragraphs)).trailers:
        paragraphs[1] = _indent_trailers(paragraphs[1])
    paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def _one_line(text: str, what: str) -> str:
    stripped = text.strip(_SPACE)
    if any(char in stripped for char in "\n\r\0"):
        raise ValueError(f"the {what} has a line end or a NUL in it")
    return stripped


def _trailer_line(name: str, value: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"'{name}' is no name of a trailer")
    return f"{name}: {_one_line(value, f'value of {name}')}".rstrip(" ")


def _normal_body(body: str) -> str:
    if "\0" in body:
        raise ValueError("the body has a NUL in it")
    unix = body.replace("\r\n", "\n").replace("\r", "\n")
    return _trim("\n".join(map(_guard, unix.split("\n"))) if _CUT in unix else unix)


def _guard(line: str) -> str:
    """`line`, indented where git would drop everything below it, whatever its comment character."""
    return f" {line}" if _CUT in line and line[0] not in " \t" else line


def _indent_trailers(body: str) -> str:
    return "\n".join(f" {line}" if _TRAILER.match(line) else line for line in body.split("\n"))
