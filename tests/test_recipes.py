"""The recipes in `fixtures/repos/`: the same object ids each time, and the approved view that they name."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from build import AGENT, ANN, Builder

RECIPES = sorted((Path(__file__).parent.parent / "fixtures" / "repos").glob("*/recipe.toml"))


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _built(repo: Builder, recipe: dict[str, Any]) -> dict[str, str]:
    """The ids of a recipe's commits, by name."""
    ids: dict[str, str] = {}
    for commit in recipe["commit"]:
        changes = {key: body or None for key, body in commit["changes"].items()}
        ids[commit["name"]] = repo.commit(
            [ids[name] for name in commit["parents"]],
            changes,
            commit["message"],
            author=AGENT if commit.get("author") == "agent" else ANN,
        )
    return ids


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.parent.name)
def test_a_recipe_gives_its_ids_and_its_view(path: Path, tmp_path: Path) -> None:
    """Built anew it is the same history, and is judged as it says."""
    recipe = _read(path)
    repo = Builder.at(tmp_path)
    ids = _built(repo, recipe)

    assert ids == {commit["name"]: commit["id"] for commit in recipe["commit"]}
    for tip in recipe["tip"]:
        found = (repo.approved(ids[tip["name"]]), sorted(repo.unreviewed(ids[tip["name"]])))
        assert found == (tip["approved"], tip["unreviewed"]), tip["name"]


def test_there_are_recipes() -> None:
    """The folder is where the test looks."""
    assert [path.parent.name for path in RECIPES] == ["forge-merges", "two-clones"]
