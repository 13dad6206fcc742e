from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem import clock

FIRST, LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"


@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_a_time_comes_back(at: int) -> None:
    """What is written is that second in UTC, in the one form, in every year."""
    text = clock.rfc3339(at)

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)
    assert datetime.fromisoformat(text).timestamp() == at
    assert clock.year(at) == int(text[:4])


@given(st.integers(), st.integers())
def test_any_number_can_be_written(one: int, other: int) -> None:
    """A file may have any time: it is written, and a later one never as an earlier."""
    early, late = sorted((one, other))

    assert FIRST <= clock.rfc3339(early) <= clock.rfc3339(late) <= LAST


@pytest.mark.parametrize("at", [0, -1, 951_782_400, 1_779_100_200, 4_102_444_800])
def test_as_the_system_writes_it(at: int) -> None:
    """The system's own `date` says the same."""
    command = ["date", "-u", "-d", f"@{at}", "+%Y-%m-%dT%H:%M:%SZ"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)

    assert clock.rfc3339(at) == said.stdout.strip()


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A local time zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "zone",
    ["UTC0", "IST-5:30", "NST3:30NDT,M3.2.0,M11.1.0", "CET-1CEST,M3.5.0,M10.5.0/3", "XYZ11:45"],
    indirect=True,
)
@pytest.mark.parametrize("at", [1_768_478_400, 1_784_116_800])
def test_an_offset_is_the_one_that_git_writes(
    zone: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """East and west, whole hours or not, in winter and in summer."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{at}")
    command = ["git", "var", "GIT_COMMITTER_IDENT"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sign, hours, minutes = re.findall(r"([+-])(\d\d)(\d\d)$", said)[0]

    assert clock.utc_offset(at) == int(f"{sign}1") * (int(hours) * 60 + int(minutes))


def test_now_is_a_whole_second_of_today() -> None:
    """As git keeps it."""
    before, now, after = int(time.time()), clock.now(), int(time.time())

    assert isinstance(now, int)
    assert before <= now <= after


def test_suffixes_do_not_collide() -> None:
    """Of the length that is asked for, of letters and digits, and all of these in use."""
    made = [clock.random_suffix() for _ in range(2000)]

    assert len(set(made)) == 2000
    assert set("".join(made)) == set("abcdefghijklmnopqrstuvwxyz0123456789")
    assert {len(suffix) for suffix in made} == {8}
    assert len(clock.random_suffix(20)) == 20
