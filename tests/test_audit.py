"""What `verify` finds in histories that are made in a line each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from build import Builder

from gitmem import audit, views
from gitmem.layout import TierPlace
from gitmem.store import Store


def test_what_came_back_over_another_line_is_found(tmp_path: Path) -> None:
    """It was put right on one line only: the file is unreviewed again, and verify names the commit."""
    repo = Builder.at(tmp_path)
    main = repo.approve(repo.root, {"a": "A"}, "cand_1")
    direct = repo.commit([main], {"a": "slipped in"})
    put_right = repo.commit([direct], {"a": "A"})
    other = repo.approve(direct, {"b": "B"}, "cand_2")
    tip = repo.pull(put_right, other, {"a": "slipped in", "b": "B"})
    command = ["git", "--git-dir", str(repo.git_dir), "update-ref", "refs/heads/memory/main", tip]
    subprocess.run(command, check=True)
    store = Store(TierPlace("project", repo.git_dir, None, repo.git_dir, None, linked=False))

    assert [(found.commit, found.entry) for found in audit._unreviewed(store)] == [
        (direct, "mem_a")
    ]
    assert [(key, commit) for key, commit, _ in views.judged(store).unreviewed] == [("a", direct)]
