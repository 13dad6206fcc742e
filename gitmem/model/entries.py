"""Memory entries: one Markdown file each, read strictly and written in one canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gitmem import ids
from gitmem.errors import BadInputError
from gitmem.model import frontmatter
from gitmem.model.frontmatter import Document, FrontMatterFault, Pairs, Table, Value
from gitmem.model.history import Blob

TYPES = ("preference", "convention", "fact", "forbidden")
SCOPES = ("user", "project", "session")
MAX_BODY_BYTES = 64 * 1024

_SUFFIX = ".md"
# In the handbook's order, which is the order of writing.
_KEYS = (
    "id",
    "type",
    "scope",
    "createdAt",
    "appliedFrom",
    "appliedBy",
    "sources",
    "relatedSessions",
)
_SOURCE_KEYS = ("sessionId", "turnId", "evidence")
# Smaller files can't break a limit once they are written canonically: an escape triples a character
# at most, and indentation makes an item of a list eleven times as long.
_SURELY_SMALL = 2048


class EntryFault(BadInputError):  # noqa: N818 - a fault lies in a file, as in `key_fault`
    """A file or a value that is no entry.

    `line` is the 1-based line of the file, where there is one; `what` the message without it.
    """

    def __init__(self, what: str, *, line: int | None = None, hint: str | None = None) -> None:
        message = what if line is None else f"line {line}: {what}"
        super().__init__("entry-invalid", message, hint=hint)
        self.what = what
        self.line = line


@dataclass(frozen=True, slots=True)
class Source:
    """Where an entry comes from: the session, the turn in it, and what was said there."""

    session_id: str | None = None
    turn_id: str | None = None
    evidence: str | None = None
    extra: Pairs = ()

    def to_json(self) -> dict[str, object]:
        """The source as a JSON object with the handbook's names; what is not known is left out."""
        return {key: frontmatter.to_json(value) for key, value in _source_pairs(self)}

    @classmethod
    def from_json(cls, value: object) -> Source:
        """The source of a decoded JSON object; raises EntryFault."""
        if not isinstance(value, Mapping):
            raise EntryFault("a source must be an object with sessionId, turnId and evidence")
        given = {str(key): item for key, item in value.items() if item is not None}
        for key in _SOURCE_KEYS:
            if not isinstance(given.get(key, ""), str):
                raise EntryFault(f"'{key}' of a source must be text")
        try:
            pairs = tuple((key, frontmatter.from_json(item)) for key, item in given.items())
        except FrontMatterFault as fault:
            raise EntryFault(fault.what) from None
        return _source_of(Table(pairs))


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `body` has LF line ends and neither blank lines around it nor a final newline.

    `extra` are the keys that gitmem doesn't know, in the order of the file.
    """

    key: str
    type: str
    scope: str
    body: str
    created_at: str | None = None
    applied_from: str | None = None
    applied_by: str | None = None
    sources: tuple[Source, ...] = ()
    related_sessions: tuple[str, ...] = ()
    extra: Pairs = ()

    @property
    def id(self) -> str:
        """The id under which other tools refer to the entry: `mem_<key>`."""
        return ids.entry_id(self.key)


# ---- paths and bodies, without any YAML


def path_of(key: str) -> str:
    """The path of the entry `key` in its tier's tree."""
    return key + _SUFFIX


def key_of_path(path: str) -> str | None:
    """The key of the entry at `path`, or None where no entry can lie there."""
    if not path.endswith(_SUFFIX):
        return None
    key = path[: -len(_SUFFIX)]
    return key if ids.is_key(key) else None


def body_start(data: bytes) -> int:
    """The offset of the first byte after the front matter of a valid file; raises EntryFault."""
    try:
        return frontmatter.body_start(data)
    except FrontMatterFault as fault:
        raise EntryFault(fault.what, line=fault.line) from None


def context_body(body: bytes | str) -> str:
    """A body as a context shows it: LF line ends, no blank lines before or after, no final newline.

    A line is blank if it has only spaces and tabs. Bytes must be valid UTF-8.
    """
    text = body if isinstance(body, str) else body.decode("utf-8")
    text = frontmatter.unify_newlines(text)
    content = text.rstrip(" \t\n")
    end = text.find("\n", len(content))
    start = text.rfind("\n", 0, len(text) - len(text.lstrip(" \t\n"))) + 1
    return text[start : end if end >= 0 else None] if content else ""


# ---- reading


def check_ordinary(content: Blob) -> None:
    """Raise EntryFault where what lies at an entry's path is no ordinary file."""
    if not content.regular:
        raise EntryFault("it is a link, an executable or a submodule, not an ordinary file")


def parse(key: str, data: bytes, *, tier: str) -> Entry:
    """The entry `key` from its file in `tier` (user, project or session); raises EntryFault.

    Only `type` and a body are required. An `id` or a `scope` that is there must be the one that
    follows from the file's name and tier. A known key with nothing behind it is as if absent.
    """
    try:
        document = frontmatter.read(data)
        entry = of_document(key, document, tier=tier)
    except FrontMatterFault as fault:
        raise EntryFault(fault.what, line=fault.line) from None
    # A file may be within the limits while its canonical form is not.
    return entry if len(data) < _SURELY_SMALL else check(entry)


def of_document(key: str, document: Document, *, tier: str) -> Entry:
    """The entry `key` of a file that was read already; raises EntryFault or FrontMatterFault."""
    _check_key(key)
    _check_identity(key, document, tier)
    return Entry(
        key,
        _type(document),
        tier,
        _body(document.body),
        _text(document, "createdAt"),
        _text(document, "appliedFrom"),
        _text(document, "appliedBy"),
        sources_of(document),
        _related(document),
        tuple(pair for pair in document.values.items() if pair[0] not in _KEYS),
    )


def _check_key(key: str) -> None:
    fault = ids.key_fault(key)
    if fault is not None:
        raise EntryFault(f"'{key}' is no entry key: {fault}")


def _check_identity(key: str, document: Document, tier: str) -> None:
    if tier not in SCOPES:
        raise EntryFault(f"'{tier}' is no scope; there are {', '.join(SCOPES)}")
    given = _text(document, "id")
    if given is not None and given != ids.entry_id(key):
        expected = ids.entry_id(key)
        raise document.fault(f"the id is '{given}', and the file's name says '{expected}'", "id")
    scope = _text(document, "scope")
    if scope is not None and scope != tier:
        raise document.fault(f"the scope is '{scope}', and the file is {tier} memory", "scope")


def _type(document: Document) -> str:
    given = _text(document, "type")
    if given is None:
        raise FrontMatterFault("the type is missing", line=document.lines.get(("type",), 1))
    if given not in TYPES:
        raise document.fault(_type_fault(given), "type")
    return given


def _type_fault(given: str) -> str:
    return f"'{given}' is no type; there are {', '.join(TYPES)}"


def _text(document: Document, key: str) -> str | None:
    value = document.values.get(key)
    if value is None or _is_nothing(value):
        return None
    text = frontmatter.as_text(value)
    if text is None:
        raise document.fault(f"'{key}' must be text", key)
    return text


def _is_nothing(value: Value) -> bool:
    return isinstance(value, frontmatter.Plain) and not value.text


def _items(document: Document, key: str) -> tuple[Value, ...]:
    value = document.values.get(key, ())
    if _is_nothing(value):
        return ()
    if not isinstance(value, tuple):
        raise document.fault(f"'{key}' must be a list", key)
    return value


def _related(document: Document) -> tuple[str, ...]:
    texts: list[str] = []
    for number, item in enumerate(_items(document, "relatedSessions")):
        text = frontmatter.as_text(item)
        if text is None:
            raise document.fault("a related session must be text", "relatedSessions", number)
        texts.append(text)
    return tuple(texts)


def sources_of(document: Document) -> tuple[Source, ...]:
    """The sources that a file names; raises FrontMatterFault."""
    sources: list[Source] = []
    for number, item in enumerate(_items(document, "sources")):
        if not isinstance(item, Table):
            what = "a source must be a mapping of sessionId, turnId and evidence"
            raise document.fault(what, "sources", number)
        try:
            sources.append(_source_of(item))
        except EntryFault as fault:
            raise document.fault(fault.what, "sources", number) from None
    return tuple(sources)


def _source_of(table: Table) -> Source:
    known: dict[str, str] = {}
    extra: list[tuple[str, Value]] = []
    for key, value in table.pairs:
        if key not in _SOURCE_KEYS:
            extra.append((key, value))
            continue
        text = frontmatter.as_text(value)
        if text is None:
            raise EntryFault(f"'{key}' of a source must be text")
        if not _is_nothing(value):
            known[key] = text
    session_id, turn_id, evidence = map(known.get, _SOURCE_KEYS)
    return Source(session_id, turn_id, evidence, tuple(extra))


def _body(text: str) -> str:
    body = context_body(text)
    if not body.strip():
        raise EntryFault("the body is empty", hint="write below the front matter what to remember")
    if len(body) > MAX_BODY_BYTES // 4 and len(body.encode("utf-8")) > MAX_BODY_BYTES:
        raise EntryFault(f"the body is larger than {MAX_BODY_BYTES // 1024} KiB")
    return body


# ---- writing


def check(entry: Entry) -> Entry:
    """`entry`, its body brought into form, or EntryFault where no file could hold it."""
    return _checked(entry)[0]


def serialize(entry: Entry) -> bytes:
    """The canonical file of `entry`: the same entry gives the same bytes. Raises as `check` does.

    Keys stand in the handbook's order, unknown ones behind them in theirs.
    """
    return _checked(entry)[1]


def _checked(entry: Entry) -> tuple[Entry, bytes]:
    _check_key(entry.key)
    if entry.type not in TYPES:
        raise EntryFault(_type_fault(entry.type))
    if entry.scope not in SCOPES:
        raise EntryFault(f"'{entry.scope}' is no scope; there are {', '.join(SCOPES)}")
    try:
        body = _body(entry.body)
        data = _rendered(entry, body)
    except FrontMatterFault as fault:
        raise EntryFault(fault.what) from None
    except UnicodeEncodeError:
        raise EntryFault("a text holds half a surrogate pair, which UTF-8 can't write") from None
    return (entry if body == entry.body else replace(entry, body=body)), data


def _rendered(entry: Entry, body: str) -> bytes:
    if "\0" in body:
        raise FrontMatterFault("the body holds a NUL character")
    front = frontmatter.dump(_pairs(entry), times=("createdAt",))
    if len(front) >= _SURELY_SMALL or _has_extra(entry):
        _check_front(front)
    return f"---\n{front}---\n\n{body}\n".encode()


def _has_extra(entry: Entry) -> bool:
    return bool(entry.extra) or any(source.extra for source in entry.sources)


def _check_front(front: str) -> None:
    """Read `front` back as a file would be, with every limit; the lines of a fault mean nothing."""
    from gitmem.model import strictyaml

    strictyaml.load("\n" + front)


def _pairs(entry: Entry) -> list[tuple[str, Value]]:
    _check_extra(entry.extra, _KEYS)
    pairs: list[tuple[str, Value]] = [
        ("id", entry.id),
        ("type", entry.type),
        ("scope", entry.scope),
    ]
    texts = (entry.created_at, entry.applied_from, entry.applied_by)
    pairs += [(key, text) for key, text in zip(_KEYS[3:6], texts, strict=True) if text is not None]
    pairs.append(("sources", tuple(Table(tuple(_source_pairs(it))) for it in entry.sources)))
    pairs.append(("relatedSessions", entry.related_sessions))
    pairs += entry.extra
    return pairs


def _source_pairs(source: Source) -> list[tuple[str, Value]]:
    _check_extra(source.extra, _SOURCE_KEYS)
    texts = (source.session_id, source.turn_id, source.evidence)
    pairs: list[tuple[str, Value]] = [
        (key, text) for key, text in zip(_SOURCE_KEYS, texts, strict=True) if text is not None
    ]
    pairs += source.extra
    return pairs


def _check_extra(extra: Iterable[tuple[str, Value]], known: tuple[str, ...]) -> None:
    for key, _ in extra:
        if key in known:
            raise FrontMatterFault(f"'{key}' is a known key and can't stand among the unknown ones")


# ---- comparing


def sessions(entry: Entry) -> set[str]:
    """The sessions that `entry` comes from or is related to."""
    seen = {source.session_id for source in entry.sources if source.session_id}
    return seen.union(entry.related_sessions)


def substance(entry: Entry) -> tuple[object, ...]:
    """What `entry` says, for comparing: all but where it comes from and how it was approved.

    The order of unknown keys says nothing.
    """
    return (entry.key, entry.type, entry.scope, entry.body, _unordered(Table(entry.extra)))


def _unordered(value: Value) -> Value:
    # Sorted and no set, whose order changes from process to process: a digest is made of it.
    if isinstance(value, Table):
        pairs = ((key, _unordered(item)) for key, item in value.pairs)
        return Table(tuple(sorted(pairs, key=lambda pair: pair[0])))
    if isinstance(value, tuple):
        return tuple(_unordered(item) for item in value)
    return value
