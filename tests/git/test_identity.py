"""Tests of who the user is, in git's own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.errors import BadInputError
from gitmem.git import identity


def test_person_as_git_knows_them(tmp_path: Path) -> None:
    """Name and address are those that git would write here."""
    found = identity.person(tmp_path)
    assert (found.name, found.email) == ("Test Person", "person@example.org")


def test_no_identity(tmp_path: Path, sealed_home: Path) -> None:
    """Where git knows nobody, the error says how to change that."""
    (sealed_home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    with pytest.raises(BadInputError) as raised:
        identity.person(tmp_path)
    assert raised.value.reference == "no-identity"
    assert "git config --global user.name" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("config", "variable", "expected"),
    [
        ("[core]\n\tpager = most\n", ("NO", "more"), "most"),
        ("[core]\n\tpager = most\n", ("PAGER", "more"), "most"),
        ("", ("PAGER", "more"), "more"),
        ("[core]\n\tpager = most\n", ("GIT_PAGER", "cat"), "cat"),
    ],
)
def test_pager(
    sealed_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: str,
    variable: tuple[str, str],
    expected: str,
) -> None:
    """It is found where git finds it, in git's order."""
    (sealed_home / ".gitconfig").write_text(config)
    monkeypatch.setenv(*variable)

    assert identity.pager(sealed_home) == expected


def test_diff_filter(tmp_path: Path, sealed_home: Path) -> None:
    """There is one where the user has configured one."""
    assert identity.diff_filter(tmp_path) is None

    (sealed_home / ".gitconfig").write_text("[interactive]\n\tdiffFilter = delta --color-only\n")

    assert identity.diff_filter(tmp_path) == "delta --color-only"
