"""Time and randomness: the only place that asks the machine for either."""

from __future__ import annotations

import time
from datetime import UTC, datetime

# The first and the last second with a year of four digits.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def now() -> int:
    """The present time in whole seconds since the epoch, as git keeps it."""
    return int(time.time())


def utc_offset(at: int) -> int:
    """The local offset from UTC at `at`, in minutes, as git keeps it beside a time."""
    offset = datetime.fromtimestamp(at).astimezone().utcoffset()
    return int(offset.total_seconds() // 60) if offset else 0


def rfc3339(at: int) -> str:
    """`at` (seconds since the epoch) as RFC 3339 in UTC: `2026-05-18T10:30:00Z`.

    A time that has no such form, as a file's may, is the nearest that has one.
    """
    written = datetime.fromtimestamp(min(max(at, _FIRST), _LAST), UTC)
    return f"{written.replace(tzinfo=None).isoformat()}Z"


def from_rfc3339(text: str) -> int:
    """The seconds since the epoch that `rfc3339` wrote as `text`. Raises ValueError."""
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())


def year(at: int) -> int:
    """The UTC year of `at`."""
    return datetime.fromtimestamp(at, UTC).year


def random_suffix(length: int = 8) -> str:
    """`length` random letters and digits, enough that clones never collide."""
    # Here alone: it costs as much to load as a start of git.
    import secrets

    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
