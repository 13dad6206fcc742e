"""The YAML at the head of a file: its values, reading it, and writing it in one canonical form.

Reading is strict (`strictyaml`) and imported when it is first needed, because YAML costs 20 ms;
values and the writer need nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

from gitmem.errors import BadInputError

MAX_FILE_BYTES = 256 * 1024
MAX_FRONT_MATTER_BYTES = 64 * 1024
MAX_DEPTH = 8
MAX_NODES = 4096
# libyaml reads a key of at most 1,024 bytes; an escape such as \U000e0001 takes ten of them.
MAX_KEY_LENGTH = 100

Path: TypeAlias = tuple[str | int, ...]
Value: TypeAlias = Union[str, "Plain", "Table", tuple["Value", ...]]
Pairs: TypeAlias = tuple[tuple[str, "Value"], ...]


class FrontMatterFault(BadInputError):  # noqa: N818 - a fault lies in a file, as in `key_fault`
    """Front matter that can't be taken.

    `line` is the 1-based line of the file, where there is one; `what` the message without it.
    """

    def __init__(self, what: str, *, line: int | None = None) -> None:
        super().__init__(
            "front-matter-invalid",
            what if line is None else f"line {line}: {what}",
            hint="write 'key: value' lines between two lines of three dashes, "
            "without anchors, aliases, tags or repeated keys",
        )
        self.what = what
        self.line = line


@dataclass(frozen=True, slots=True)
class Plain:
    """An unquoted scalar which the core schema of YAML 1.2 takes for null, a boolean or a number.

    `text` is what the file says, verbatim: `12`, `1e5`, `0777`, `true`, `~`, or nothing at all.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping below the top level: its pairs in the order of the file, each key once."""

    pairs: Pairs = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read: its top-level values in order, and all text after the closing fence.

    `lines` gives the line of the file for each path of keys and list indices. `body` has LF line
    ends and ends with one, unless it is empty.
    """

    values: dict[str, Value]
    lines: dict[Path, int]
    body: str

    def fault(self, what: str, *path: str | int) -> FrontMatterFault:
        """A fault in the value at `path`."""
        return FrontMatterFault(what, line=self.lines.get(path))


# ---- reading

_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r\n|\n|\r)")
_CLOSING = re.compile(rb"(?:\r\n|\n|\r)---[ \t]*(?:\r\n|\n|\r|\Z)")


def read(data: bytes) -> Document:
    """Read a file of front matter and body; raises FrontMatterFault.

    A byte order mark, CRLF or CR line ends and a missing final newline are what editors leave:
    they are taken, and gone in the result.
    """
    from gitmem.model import strictyaml

    text = _decode(data).removeprefix("\ufeff")
    text = unify_newlines(text)
    return strictyaml.read(text if text.endswith("\n") else text + "\n")


def _decode(data: bytes) -> str:
    if len(data) > MAX_FILE_BYTES:
        raise FrontMatterFault(f"the file is larger than {MAX_FILE_BYTES // 1024} KiB")
    nul = data.find(0)
    if nul >= 0:
        raise FrontMatterFault("there is a NUL byte", line=_line_at(data, nul))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = _line_at(data, error.start)
        raise FrontMatterFault("the text is not valid UTF-8", line=line) from None


def _line_at(data: bytes, offset: int) -> int:
    before = data[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def unify_newlines(text: str) -> str:
    """`text` with LF for each CRLF and each lone CR."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def body_start(data: bytes) -> int:
    """The offset of the first byte after the closing fence of a valid file, without any YAML.

    It agrees with `read`. Raises FrontMatterFault where there are no two fences.
    """
    opening = _OPENING.match(data)
    if opening is None:
        raise no_front_matter()
    # The line end of the opening fence also begins a closing one that follows at once.
    closing = _CLOSING.search(data, opening.end() - 1)
    if closing is None:
        raise unclosed()
    return closing.end()


def no_front_matter() -> FrontMatterFault:
    """The fault of a file whose first line is no fence."""
    return FrontMatterFault("the file does not begin with front matter (a line '---')", line=1)


def unclosed() -> FrontMatterFault:
    """The fault of a file without a second fence."""
    return FrontMatterFault("the front matter that begins here has no closing line '---'", line=1)


# ---- meaning of scalars

# YAML 1.2.2, 10.3.2: the core schema's null, booleans, integers and floats.
_CORE = re.compile(
    r"""(?: ~ | null | Null | NULL | true | True | TRUE | false | False | FALSE
      | [-+]?[0-9]+ | 0o[0-7]+ | 0x[0-9a-fA-F]+
      | [-+]? (?: \.[0-9]+ | [0-9]+ (?:\.[0-9]*)? ) (?:[eE][-+]?[0-9]+)?
      | [-+]? \. (?: inf | Inf | INF ) | \. (?: nan | NaN | NAN ) )? \Z""",
    re.VERBOSE,
)


def is_core(text: str) -> bool:
    """Whether the core schema of YAML 1.2 takes `text`, unquoted, for anything but text."""
    return _CORE.match(text) is not None


def as_text(value: Value) -> str | None:
    """What the file says for a scalar, verbatim; None for a list or a mapping."""
    if isinstance(value, str):
        return value
    return value.text if isinstance(value, Plain) else None


# ---- JSON

_JSON_WORDS: dict[str, bool | None] = {"null": None, "true": True, "false": False}
_JSON_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]{0,17})\Z")


def to_json(value: Value) -> object:
    """`value` for `json.dumps`; a Plain that JSON would write otherwise (`0777`) becomes text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Table):
        return {key: to_json(item) for key, item in value.pairs}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    return _plain_to_json(value.text)


def _plain_to_json(text: str) -> object:
    if text in _JSON_WORDS:
        return _JSON_WORDS[text]
    if _JSON_INTEGER.match(text):
        return int(text)
    if text[-1:].isdigit() and is_core(text) and not text.startswith(("0o", "0x")):
        number = float(text)
        if repr(number) == text:
            return number
    return text


def from_json(value: object, depth: int = 1) -> Value:
    """The value of a decoded JSON document; numbers, booleans and null become Plain.

    `depth` is how deep a list or mapping would stand. Raises FrontMatterFault.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (Mapping, list, tuple)):
        _check_depth(depth)
    if isinstance(value, Mapping):
        return Table(tuple((str(key), from_json(item, depth + 1)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(from_json(item, depth + 1) for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        return Plain(".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf")
    if value is None or isinstance(value, (bool, int, float)):
        return Plain("null" if value is None else repr(value).lower())
    raise FrontMatterFault(f"a {type(value).__name__} is no JSON value")


# ---- writing

# A word which every YAML, of version 1.1 too, reads as the same text. Whatever begins with a digit
# or a sign is quoted, because some reader may take it for a number, a time or a date.
_WORD = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./@+:-]*[A-Za-z0-9_/@+-])?\Z")
_MISREAD = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])

# Characters that a person can't see, or that no quoted text may hold. The list is written out,
# because `str.isprintable` changes with Python's Unicode tables and the bytes must not.
_ESCAPED = re.compile(
    '["\\\\\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f'
    "\u2028-\u202f\u205f-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


# The handbook writes `createdAt` unquoted. A YAML 1.1 reader makes a time of it, which it is; one
# that is on no calendar would be an error there.
_TIME = re.compile(
    r"""(?!0000) [0-9]{4} -
      (?: (?:0[13578]|1[02]) - (?:0[1-9]|[12][0-9]|3[01])
        | (?:0[469]|11) - (?:0[1-9]|[12][0-9]|30)
        | 02 - (?:0[1-9]|1[0-9]|2[0-8]) )
      T (?:[01][0-9]|2[0-3]) : [0-5][0-9] : [0-5][0-9] Z \Z""",
    re.VERBOSE,
)


def dump(pairs: Iterable[tuple[str, Value]], *, times: Container[str] = ()) -> str:
    """Write top-level `pairs` as YAML in block style, without fences; raises FrontMatterFault.

    Text is unquoted where it is one word that nothing misreads, else in double quotes on one line;
    a Plain stands as it is. Below a key in `times`, text of the form `2026-05-18T10:30:00Z` is
    unquoted too (29 February is quoted). The same pairs give the same text, everywhere.
    """
    lines: list[str] = []
    for key, value in pairs:
        if key in times and isinstance(value, str) and _TIME.match(value):
            lines.append(f"{scalar(key)}: {value}")
        else:
            _entry(lines, f"{scalar(key)}:", value, "  ", 1)
    lines.append("")
    return "\n".join(lines)


def scalar(text: str) -> str:
    """`text` as YAML writes it: a word, or double-quoted with hidden characters as escapes."""
    if _WORD.match(text) and text.lower() not in _MISREAD:
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """`text` in double quotes on one line."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    short = _SHORT.get(char)
    if short is not None:
        return short
    code = ord(char)
    if code == 0:
        raise FrontMatterFault("a text holds a NUL character")
    if 0xD800 <= code <= 0xDFFF:
        raise FrontMatterFault("a text holds half a surrogate pair, which UTF-8 can't write")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _table(lines: list[str], pairs: Iterable[tuple[str, Value]], indent: str, depth: int) -> None:
    _check_depth(depth)
    for key, value in pairs:
        _entry(lines, f"{indent}{scalar(key)}:", value, indent + "  ", depth)


def _entry(lines: list[str], head: str, value: Value, indent: str, depth: int) -> None:
    """Append `head` with its value: behind it where that is one line, else below it at `indent`."""
    inline = _inline(value)
    if inline is not None:
        lines.append(f"{head} {inline}" if inline else head)
        return
    lines.append(head)
    _block(lines, value, indent, depth + 1)


def _inline(value: Value) -> str | None:
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, Plain):
        if not is_core(value.text):
            raise FrontMatterFault(f"'{value.text}' is text, and no plain null, boolean or number")
        return value.text
    if isinstance(value, Table):
        return None if value.pairs else "{}"
    return None if value else "[]"


def _block(lines: list[str], value: Value, indent: str, depth: int) -> None:
    if isinstance(value, Table):
        _table(lines, value.pairs, indent, depth)
        return
    _check_depth(depth)
    for item in value if isinstance(value, tuple) else ():
        inline = _inline(item)
        if inline is not None:
            lines.append(f"{indent}- {inline}" if inline else f"{indent}-")
            continue
        first = len(lines)
        _block(lines, item, indent + "  ", depth + 1)
        lines[first] = f"{indent}- {lines[first][len(indent) + 2 :]}"


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FrontMatterFault(f"lists and mappings are nested more than {MAX_DEPTH} deep")
