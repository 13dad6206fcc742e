"""What an agent gets to read: which entries, in which order, within which budget, as which text.

The text is the same bytes for the same memories and options: no clock, no locale, no order of the
input and no hash seed goes into it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gitmem.model import scan as scanner
from gitmem.model.escape import escape
from gitmem.model.scan import Finding
from gitmem.model.tiers import TIERS, Memory, Overridden, override

Unit = Literal["characters", "bytes", "tokens"]
Scan = Callable[[str], Sequence[Finding]]

# A widely used host cuts what a start hook says at 10,000 characters.
DEFAULT_BUDGET = 9000

_GROUPS = {"forbidden": 0, "preference": 1, "convention": 1, "fact": 2}

# One blank line between blocks, one newline at the end: each block brings a separator, the last one
# brings one newline fewer.
_SEPARATOR = "\n\n"

# Lead bytes of UTF-8 characters of two, three and four bytes.
_TWO = bytes(range(0xC2, 0xE0))
_THREE = bytes(range(0xE0, 0xF0))
_FOUR = bytes(range(0xF0, 0xF5))
_WORDS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 "


@dataclass(frozen=True, slots=True)
class Options:
    """What a context is built by.

    `budget` is the size of the final text in `unit`s, None for no limit. Only `tiers` are read.
    `session` is the session the context is for, `related` those that it was started as related to.
    """

    budget: int | None = DEFAULT_BUDGET
    unit: Unit = "characters"
    tiers: tuple[str, ...] = TIERS
    session: str | None = None
    related: frozenset[str] = frozenset()


class Quarantined(NamedTuple):
    """An entry that is kept out, and everything that the scan found in it."""

    memory: Memory
    findings: tuple[Finding, ...]


class Sizes(NamedTuple):
    """The size of a text: code points, UTF-8 bytes, and estimated tokens (see `tokens`)."""

    characters: int
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Context:
    """A built context.

    `text` is what the agent reads and `digest` the SHA-256 of its UTF-8 bytes in hexadecimal.
    `entries` stand in the order of the text, `left_out` (for want of budget) and `quarantined` in the
    order that they would have. `over_budget`: the `forbidden` entries alone are more than the budget.
    """

    text: str
    digest: str
    entries: tuple[Memory, ...]
    overridden: tuple[Overridden, ...]
    left_out: tuple[Memory, ...]
    quarantined: tuple[Quarantined, ...]
    sizes: Sizes
    budget: int | None
    unit: Unit
    over_budget: bool


def build(
    memories: Iterable[Memory],
    options: Options,
    *,
    scan: Scan = scanner.scan,
    given: frozenset[str] = frozenset(),
) -> Context:
    """The context of approved `memories` (and the session's own), in any order.

    `given` are the ids of entries that this session or a related one was given before. What the scan
    quarantines counts as not there at all: an entry of an earlier tier is then in force.
    """
    clean, quarantined = _quarantine((m for m in memories if m.tier in options.tiers), scan)
    winners, overridden = override(clean)
    ordered = sorted(winners, key=_output_order)
    blocks, over_budget = _within_budget(ordered, options, given)
    kept = sorted(blocks)
    text = _join(blocks[index] for index in kept)
    return Context(
        text=text,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        entries=tuple(ordered[index] for index in kept),
        overridden=tuple(overridden),
        left_out=tuple(memory for index, memory in enumerate(ordered) if index not in blocks),
        quarantined=quarantined,
        sizes=_sizes(text),
        budget=options.budget,
        unit=options.unit,
        over_budget=over_budget,
    )


def block(memory: Memory) -> str:
    """The block of one entry: its header line and its body, without a newline at the end."""
    return block_of(memory.scope, memory.type, memory.body)


def block_of(scope: str, kind: str, body: str) -> str:
    """The block that an entry of that scope, type and body gets."""
    return f"[memory:{scope}:{kind}]\n{escape(clean_body(body))}"


def clean_body(body: str) -> str:
    """`body` with LF line ends and without its leading and trailing blank lines."""
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    if not body[:1].isspace() and not body[-1:].isspace():
        return body
    first = body.rfind("\n", 0, len(body) - len(body.lstrip())) + 1
    last = body.find("\n", len(body.rstrip()))
    return body[first : last if last >= first else len(body)] if body.strip() else ""


def tokens(text: str) -> int:
    """An estimate of the tokens of `text`, by classes of scripts, the same everywhere.

    ASCII letters, digits and spaces count as 4 characters a token, other ASCII as 2; alphabets of
    U+0080 to U+07FF (accented Latin, Greek, Cyrillic, Hebrew, Arabic) as 2; what lies above, Chinese,
    Japanese, Korean and the scripts of India among them, as 1; beyond U+FFFF (emoji, rare ideographs)
    a character is 2 tokens. Rounded up once, at the end.
    """
    return -(-_quarters(text) // 4)


def report(context: Context, unreviewed: Iterable[Mapping[str, object]] = ()) -> dict[str, object]:
    """The context as a JSON document; `unreviewed` are the caller's findings, taken over as they are."""
    return {
        "text": context.text,
        "digest": context.digest,
        "entries": [_entry(memory) for memory in context.entries],
        "overridden": [
            {**_entry(pair.loser), "by": _entry(pair.winner)} for pair in context.overridden
        ],
        "leftOut": [_entry(memory) for memory in context.left_out],
        "unreviewed": [dict(finding) for finding in unreviewed],
        "quarantined": [
            {**_entry(memory), "findings": [finding._asdict() for finding in findings]}
            for memory, findings in context.quarantined
        ],
        "sizes": context.sizes._asdict(),
        "budget": {"limit": context.budget, "unit": context.unit, "over": context.over_budget},
    }


def hook_envelope(text: str) -> dict[str, object]:
    """The JSON document that agent tools accept from a hook at the start of a session.

    Plain text won't do: one of them drops what begins with `[`.
    """
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}


def _quarantine(
    memories: Iterable[Memory], scan: Scan
) -> tuple[list[Memory], tuple[Quarantined, ...]]:
    clean = []
    kept_out = []
    for memory in memories:
        findings = tuple(scan(memory.body))
        if any(finding.confidence == "high" for finding in findings):
            kept_out.append(Quarantined(memory, findings))
        else:
            clean.append(memory)
    kept_out.sort(key=lambda one: _output_order(one.memory))
    return clean, tuple(kept_out)


def _output_order(memory: Memory) -> tuple[int, int, int, str, str, str]:
    """`forbidden`, then preferences and conventions, then facts; by tier; the newest first; by id."""
    return (
        _GROUPS[memory.type],
        TIERS.index(memory.tier),
        -memory.position,
        memory.id,
        memory.key,
        memory.blob,
    )


def _within_budget(
    ordered: Sequence[Memory], options: Options, given: frozenset[str]
) -> tuple[dict[int, str], bool]:
    """The blocks that are kept, by index, and whether `forbidden` alone is over the budget.

    Every `forbidden` block stays. Then comes what is related to the session, then the rest, each in the
    order of the output. One that doesn't fit is passed over and a later, smaller one may still be
    taken: the budget is there to be used.
    """
    if options.budget is None:
        return {index: block(memory) for index, memory in enumerate(ordered)}, False
    measure = _MEASURES[options.unit]
    # The text ends in one newline where each block is measured with a whole separator.
    room = options.budget * _SCALES[options.unit] + measure(_SEPARATOR) - measure("\n")
    indexes = sorted(
        range(len(ordered)), key=lambda index: _budget_order(ordered[index], options, given)
    )
    blocks: dict[int, str] = {}
    over_budget = False
    for index in indexes:
        memory = ordered[index]
        forbidden = memory.type == "forbidden"
        # A character is at least one of any unit, and escaping only adds: most need no more than this.
        if len(clean_body(memory.body)) > room and not forbidden:
            continue
        rendered = block(memory)
        size = measure(rendered + _SEPARATOR)
        if size <= room or forbidden:
            blocks[index] = rendered
            room -= size
            over_budget = room < 0
    return blocks, over_budget


def _budget_order(memory: Memory, options: Options, given: frozenset[str]) -> tuple[bool, bool]:
    return memory.type != "forbidden", not _is_related(memory, options, given)


def _is_related(memory: Memory, options: Options, given: frozenset[str]) -> bool:
    if memory.id in given or not memory.sessions.isdisjoint(options.related):
        return True
    return options.session is not None and options.session in memory.sessions


def _join(blocks: Iterable[str]) -> str:
    text = _SEPARATOR.join(blocks)
    return text + "\n" if text else ""


def _sizes(text: str) -> Sizes:
    return Sizes(characters=len(text), bytes=_bytes(text), tokens=tokens(text))


def _bytes(text: str) -> int:
    return len(text.encode())


def _quarters(text: str) -> int:
    """Quarters of a token: they add up over blocks, where rounded tokens would not.

    The classes of scripts in `tokens` are those of the lengths in UTF-8, which can be counted fast
    and depend on no version of Unicode.
    """
    data = text.encode()
    total = len(data)
    words, two, three, four = (
        total - len(data.translate(None, delete)) for delete in (_WORDS, _TWO, _THREE, _FOUR)
    )
    other = total - words - 2 * two - 3 * three - 4 * four
    return words + 2 * other + 2 * two + 4 * three + 8 * four


_MEASURES: dict[Unit, Callable[[str], int]] = {
    "characters": len,
    "bytes": _bytes,
    "tokens": _quarters,
}
_SCALES: dict[Unit, int] = {"characters": 1, "bytes": 1, "tokens": 4}


def _entry(memory: Memory) -> dict[str, object]:
    return {
        "id": memory.id,
        "scope": memory.scope,
        "type": memory.type,
        "tier": memory.tier,
        "commit": memory.commit,
        "blob": memory.blob,
    }
