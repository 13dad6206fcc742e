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
