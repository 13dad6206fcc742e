"""git's text merge of bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.git.objects import Objects
from gitmem.git.textmerge import marked_merge, text_merge

BASE = b"a\n\nb\n\nc\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        (b"A\n\nb\n\nc\n", b"a\n\nb\n\nC\n", b"A\n\nb\n\nC\n"),
        (b"A\n\nb\n\nc\n", b"X\n\nb\n\nc\n", None),
        (b"\xff\n\nb\n\nc\n", b"a\n\nb\n\nC\n", None),
        (BASE, b"", b""),
        (BASE, BASE, BASE),
    ],
)
def test_text_merge(ours: bytes, theirs: bytes, merged: bytes | None) -> None:
    """Both sides' changes, or None where they clash and where a side is no text."""
    assert text_merge(BASE, ours, theirs) == merged


def test_what_was_only_computed_merges_alike(tmp_path: Path, run_git: object) -> None:
    """Whether a blob lies in the repository must not decide what counts."""
    assert callable(run_git)
    run_git("init", "-q", "--bare", str(tmp_path), cwd=tmp_path)
    objects = Objects(tmp_path, "project")
    sides = (BASE, b"A\n\nb\n\nc\n", b"a\n\nb\n\nC\n")
    kept = [objects.keep(data) for data in sides]
    before = objects.text_merge(*kept)
    written = [objects.write_blob(data) for data in sides]

    assert written == kept
    assert before == objects.text_merge(*written) == b"A\n\nb\n\nC\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        ("A\n\nb\n\nc\n", "a\n\nb\n\nC\n", "A\n\nb\n\nC\n"),
        (
            "A\n\nb\n\nc\n",
            "X\n\nb\n\nc\n",
            "<<<<<<< approved now\nA\n=======\nX\n>>>>>>> proposed\n\nb\n\nc\n",
        ),
    ],
)
def test_marked_merge(ours: str, theirs: str, merged: str) -> None:
    """Both sides stand between markers where they clash, and only there."""
    assert marked_merge(BASE.decode(), ours, theirs, ("approved now", "proposed")) == merged
