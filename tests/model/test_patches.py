"""Tests for unified diffs of entry files."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import BadInputError
from gitmem.model import patches

FILE = "".join(f"line {number}\n" for number in range(20))


def _diff(
    before: str | None, after: str | None, name: str = "topic/one.md", context: int = 3
) -> str:
    lines = difflib.unified_diff(
        (before or "").splitlines(keepends=True),
        (after or "").splitlines(keepends=True),
        "/dev/null" if before is None else f"a/{name}",
        "/dev/null" if after is None else f"b/{name}",
        n=context,
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _apply(diff: str, before: str | None) -> dict[str, str | None]:
    return patches.apply(diff, lambda key: before if key == "topic/one" else None)


@given(
    st.lists(st.sampled_from("abcd"), max_size=15), st.lists(st.sampled_from("abcd"), max_size=15)
)
def test_a_diff_applied_gives_the_other_side(before: list[str], after: list[str]) -> None:
    """Law: for any two files, the diff between them leads from the one to the other."""
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    if old != new:
        assert _apply(_diff(old, new), old) == {"topic/one": new}


def test_an_entry_made_and_deleted() -> None:
    """`/dev/null` on one side."""
    assert _apply(_diff(None, FILE), None) == {"topic/one": FILE}
    assert _apply(_diff(FILE, None), FILE) == {"topic/one": None}


def test_a_hunk_that_has_moved() -> None:
    """Lines added above it since do not matter."""
    changed = FILE.replace("line 10\n", "line ten\n")

    assert _apply(_diff(FILE, changed), f"new\nnew\n{FILE}") == {
        "topic/one": f"new\nnew\n{changed}"
    }


def test_several_hunks() -> None:
    """Each is looked for below the one before it."""
    changed = FILE.replace("line 2\n", "").replace("line 15\n", "line 15\nmore\n")

    assert _apply(_diff(FILE, changed), FILE) == {"topic/one": changed}


def test_a_file_without_a_final_newline() -> None:
    """Read and written as it is."""
    assert _apply(_diff("one\ntwo", "one\n2"), "one\ntwo") == {"topic/one": "one\n2"}


def test_the_hunk_that_does_not_apply_is_named() -> None:
    """No fuzz: a context line that differs is enough."""
    diff = _diff(FILE, FILE.replace("line 10\n", "line ten\n"))
    with pytest.raises(BadInputError, match="does not fit mem_topic/one") as error:
        _apply(diff, FILE.replace("line 9\n", "line nine\n"))
    assert error.value.reference == "patch-does-not-apply"
    assert error.value.context == "the hunk @@ -8,7 +8,7 @@ does not match the approved text"


def test_two_places_equally_near_are_none() -> None:
    """Where it could go to either, nothing is guessed."""
    diff = "--- a/topic/one.md\n+++ b/topic/one.md\n@@ -3 +3 @@\n-x\n+y\n"
    with pytest.raises(BadInputError, match="does not fit"):
        _apply(diff, "a\nx\nb\nx\n")


@pytest.mark.parametrize(
    ("diff", "reference"),
    [
        ("no diff at all\n", "patch-invalid"),
        ("--- a/x.md\n+++ b/x.md\n@@ -1,9 +1 @@\n-x\n", "patch-invalid"),
        (_diff("a\n", "b\n", "README.md"), "patch-no-entry"),
        (_diff("a\n", "b\n", "Topic/One.md"), "patch-no-entry"),
        (_diff("a\n", "b\n", "../one.md"), "patch-no-entry"),
        ("--- a/x.md\n+++ b/y.md\n@@ -1 +1 @@\n-x\n+y\n", "patch-no-entry"),
        (_diff(None, "b\n"), "patch-does-not-apply"),
        (_diff("a\n", "b\n", "other.md"), "patch-does-not-apply"),
        (_diff("a\n", "b\n") * 2, "patch-invalid"),
        ("new file mode 120000\n" + _diff(None, "b\n"), "patch-no-entry"),
        ("old mode 100644\nnew mode 100755\n" + _diff("a\n", "b\n"), "patch-no-entry"),
        (
            _diff("", None) or "--- a/topic/one.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
            "patch-does-not-apply",
        ),
    ],
)
def test_what_is_refused(diff: str, reference: str) -> None:
    """Each with a name of its own: no diff, no entry, a rename, an entry that is or isn't there."""
    with pytest.raises(BadInputError) as error:
        _apply(diff, "a\n")
    assert error.value.reference == reference
