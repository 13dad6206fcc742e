"""What a scan's rule is, and what it finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol

Confidence = Literal["high", "low"]


class Finding(NamedTuple):
    """A place in a text, `start` to `end` in characters, that `rule` objects to.

    `high` keeps an entry out of every context; `low` is only shown to the person who reviews.
    """

    rule: str
    confidence: Confidence
    start: int
    end: int
    message: str


class Rule(Protocol):
    """One rule, one module of this package: its kebab-case `NAME` and how it finds."""

    NAME: str

    def find(self, text: str) -> Iterable[Finding]:
        """Each place in `text` that the rule objects to, in any order."""
