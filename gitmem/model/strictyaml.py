"""A strict reader for front matter: python-frontmatter splits, libyaml scans, nothing is guessed.

Importing this module costs 20 ms; `frontmatter` is the door to it. Scalars mean what YAML 1.2
says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol, TypeAlias, cast

import frontmatter
from frontmatter.default_handlers import YAMLHandler
from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner

from gitmem.model.frontmatter import (
    MAX_DEPTH,
    MAX_FRONT_MATTER_BYTES,
    MAX_KEY_LENGTH,
    MAX_NODES,
    Document,
    FrontMatterFault,
    Path,
    Plain,
    Table,
    Value,
    is_core,
    no_front_matter,
    unclosed,
)


class PurePythonParser(Reader, Scanner, Parser):
    """The events of PyYAML's own parser, eight times slower than libyaml's."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


class EventSource(Protocol):
    """What both parsers are: an event at a time."""

    def get_event(self) -> Event | None:
        """The next event, or None behind the last."""


ParserFactory: TypeAlias = Callable[[str], EventSource]


def _default_parser() -> ParserFactory:
    try:
        from yaml._yaml import CParser
    except ImportError:
        # PyYAML was built without libyaml.
        return PurePythonParser
    return CParser


DEFAULT_PARSER = _default_parser()

# U+0085, U+2028 and U+2029 end a line in YAML 1.1 and don't in 1.2. U+FEFF, where it begins a line,
# is nothing to libyaml and a key's first character to PyYAML's own parser.
_UNFIT = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
# `frontmatter.parse` strips white space from both ends of what it gets and of what `split` returns;
# a character which no file may hold keeps the body as it is.
_FENCE = "\0"


class StrictHandler(YAMLHandler):
    """python-frontmatter's handler for one file; `lines` is filled by `load`."""

    def __init__(self, parser: ParserFactory = DEFAULT_PARSER) -> None:
        super().__init__(fm_boundary=re.compile(r"^---[ \t]*$", re.MULTILINE))
        self.lines: dict[Path, int] = {}
        self._parser = parser

    def split(self, text: str) -> tuple[str, str]:
        """The front matter, from the end of its first fence on, and the fenced body."""
        try:
            front, content = super().split(text)
        except ValueError:
            raise unclosed() from None
        return front, _FENCE + content

    def load(self, fm: str, **_: object) -> dict[str, Value]:
        """The top-level values of `fm`, whose first line is line 1 of the file."""
        values, self.lines = load(fm, parser=self._parser)
        return values


def read(text: str, *, parser: ParserFactory = DEFAULT_PARSER) -> Document:
    """Read a whole file, decoded, with LF line ends and a final one; raises FrontMatterFault."""
    handler = StrictHandler(parser)
    # `frontmatter.parse` would skip blank lines, and lines would be counted wrong.
    if not handler.detect(text):
        raise no_front_matter()
    values, content = frontmatter.parse(text + _FENCE, handler=handler)
    # What `load` gave comes back as a dict of objects.
    return Document(
        cast("dict[str, Value]", values), handler.lines, content[1:-1].removeprefix("\n")
    )


def load(
    text: str, *, parser: ParserFactory = DEFAULT_PARSER
) -> tuple[dict[str, Value], dict[Path, int]]:
    """The top-level values of a YAML text and the line of each path; raises FrontMatterFault."""
    if len(text.encode("utf-8")) > MAX_FRONT_MATTER_BYTES:
        limit = MAX_FRONT_MATTER_BYTES // 1024
        raise FrontMatterFault(f"the front matter is larger than {limit} KiB", line=1)
    unfit = _UNFIT.search(text)
    if unfit is not None:
        line = text.count("\n", 0, unfit.start()) + 1
        raise FrontMatterFault(
            f"the character U+{ord(unfit[0]):04X} may stand here only as an escape in quotes",
            line=line,
        )
    try:
        composer = _Composer(parser(text))
        return composer.document(), composer.lines
    except MarkedYAMLError as error:
        raise _syntax_fault(error, text) from None
    except ReaderError as error:
        raise FrontMatterFault(f"the YAML can't be read: {error.reason}") from None


def _syntax_fault(error: MarkedYAMLError, text: str) -> FrontMatterFault:
    what = ", ".join(part for part in (error.problem, error.context) if part)
    last = text.rstrip().count("\n") + 1
    line = error.problem_mark.line + 1 if error.problem_mark else last
    # What is never closed is found at the end, and the mistake is where it begins.
    if line > last and error.context_mark:
        line = error.context_mark.line + 1
    return FrontMatterFault(f"the YAML is broken: {what}", line=min(line, last))


class _Composer:
    """Builds values from parser events, so that every limit is checked before anything grows."""

    def __init__(self, parser: EventSource) -> None:
        self.lines: dict[Path, int] = {}
        self._parser = parser
        self._nodes = 0

    def _next(self) -> Event:
        event = self._parser.get_event()
        if event is None:
            raise FrontMatterFault("the YAML ends too early")
        return event

    def document(self) -> dict[str, Value]:
        self._next()
        if isinstance(self._next(), StreamEndEvent):
            return {}
        event = self._next()
        self._check(event)
        if not isinstance(event, MappingStartEvent):
            raise _fault("the front matter is no mapping of 'key: value' lines", event)
        pairs = self._pairs((), 1)
        self._next()
        event = self._next()
        if not isinstance(event, StreamEndEvent):
            raise _fault("the front matter holds more than one document", event)
        return dict(pairs)

    def _check(self, event: Event) -> None:
        if isinstance(event, AliasEvent):
            raise _fault(f"there is an alias, '*{event.anchor}'", event)
        if isinstance(event, (ScalarEvent, CollectionStartEvent)):
            if event.anchor is not None:
                raise _fault(f"there is an anchor, '&{event.anchor}'", event)
            if event.tag is not None:
                raise _fault(f"there is a tag, '{event.tag}'", event)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _fault(f"the front matter has more than {MAX_NODES} values", event)

    def _value(self, event: Event, path: Path, depth: int) -> Value:
        self._check(event)
        if isinstance(event, ScalarEvent):
            return _scalar(event)
        if depth >= MAX_DEPTH:
            raise _fault(f"lists and mappings are nested more than {MAX_DEPTH} deep", event)
        if isinstance(event, SequenceStartEvent):
            return self._items(path, depth + 1)
        return Table(tuple(self._pairs(path, depth + 1)))

    def _items(self, path: Path, depth: int) -> tuple[Value, ...]:
        items: list[Value] = []
        event = self._next()
        while not isinstance(event, SequenceEndEvent):
            here = (*path, len(items))
            self.lines[here] = _line(event)
            items.append(self._value(event, here, depth))
            event = self._next()
        return tuple(items)

    def _pairs(self, path: Path, depth: int) -> list[tuple[str, Value]]:
        pairs: list[tuple[str, Value]] = []
        event = self._next()
        while not isinstance(event, MappingEndEvent):
            key = self._key(event)
            here = (*path, key)
            if here in self.lines:
                first = self.lines[here]
                raise _fault(f"the key '{key}' is given twice, first on line {first}", event)
            self.lines[here] = _line(event)
            pairs.append((key, self._value(self._next(), here, depth)))
            event = self._next()
        return pairs

    def _key(self, event: Event) -> str:
        self._check(event)
        key = _scalar(event) if isinstance(event, ScalarEvent) else None
        if not isinstance(key, str):
            what = f"'{key.text}'" if key else "a list or a mapping"
            raise _fault(f"a key must be text, and {what} is none (put it in quotes)", event)
        if len(key) > MAX_KEY_LENGTH:
            raise _fault(f"a key is longer than {MAX_KEY_LENGTH} characters", event)
        return key


def _scalar(event: ScalarEvent) -> str | Plain:
    value = event.value
    if event.implicit[0]:
        return Plain(value) if is_core(value) else value
    if _NOT_TEXT.search(value):
        raise _fault("an escape stands for NUL or for half a surrogate pair", event)
    return value


def _line(event: Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _fault(what: str, event: Event) -> FrontMatterFault:
    return FrontMatterFault(what, line=_line(event))
