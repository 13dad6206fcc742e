"""The recipes in `fixtures/repos/`: the same object ids each time, and what is made of each."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from build import AGENT, ANN, Builder

from gitmem import adoption, audit, doctor
from gitmem.memory import Memory, open_memory
from gitmem.model.history import Person

RECIPES = sorted((Path(__file__).parent.parent / "fixtures" / "repos").glob("*/recipe.toml"))
NAMES = [path.parent.name for path in RECIPES]


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _people(recipe: Mapping[str, Any]) -> dict[str, Person]:
    """The people whom a recipe names, besides the two whom all have."""
    found = {"agent": AGENT, "ann": ANN}
    for name, who in recipe.get("people", {}).items():
        called, _, email = who.removesuffix(">").partition(" <")
        found[name] = Person(called, email, 0, 0)
    return found


def _built(repo: Builder, recipe: Mapping[str, Any]) -> dict[str, str]:
    """The ids of a recipe's commits, by name. `<name>` in a message is an earlier commit's id."""
    ids: dict[str, str] = {}
    people = _people(recipe)
    for commit in recipe["commit"]:
        author = commit.get("author", "ann")
        message = re.sub(
            r"<([a-z0-9-]+)>", lambda found: ids.get(found[1], found[0]), commit["message"]
        )
        ids[commit["name"]] = repo.commit(
            [ids[name] for name in commit["parents"]],
            {key: body or None for key, body in commit["changes"].items()},
            message,
            author=people[author],
            committer=people[commit.get("committer", author)],
        )
    return ids


@pytest.mark.parametrize("path", RECIPES, ids=NAMES)
def test_a_recipe_gives_its_ids_and_its_view(path: Path, tmp_path: Path) -> None:
    """Built anew it is the same history, and is judged as it says."""
    recipe = _read(path)
    repo = Builder.at(tmp_path)
    ids = _built(repo, recipe)

    assert ids == {commit["name"]: commit["id"] for commit in recipe["commit"]}
    for tip in recipe["tip"]:
        found = (repo.approved(ids[tip["name"]]), sorted(repo.unreviewed(ids[tip["name"]])))
        assert found == (tip["approved"], tip["unreviewed"]), tip["name"]


def _at_tip(project: Path, recipe: Mapping[str, Any], tip: str) -> tuple[Memory, dict[str, str]]:
    """A project whose `memory/main` is at `tip`, and the commits' ids by name."""
    memory = open_memory(project)
    place = memory.store("project").place
    ids = _built(Builder(place.git_dir), recipe)
    for command in (("update-ref", "refs/heads/memory/main", ids[tip]), ("reset", "-q", "--hard")):
        subprocess.run(["git", *command], cwd=place.folder, check=True)
    return open_memory(project), ids


def _events(memory: Memory, names: Mapping[str, str]) -> list[str]:
    return [
        " ".join(filter(None, (event.kind, event.candidate, event.key, names[event.commit])))
        for _, event in memory.log(scope="project")
    ]


def _findings(memory: Memory, names: Mapping[str, str]) -> list[str]:
    return [
        " ".join(filter(None, (finding.kind, finding.entry, names[finding.commit or ""])))
        for finding in audit.verify(memory, scope="project").findings
    ]


TIPS = [
    pytest.param(path, tip, id=f"{path.parent.name}-{tip['name']}")
    for path in RECIPES
    for tip in _read(path)["tip"]
]
TO_ADOPT = [given for given in TIPS if "adopt" in given.values[1]]


@pytest.mark.parametrize(("path", "tip"), TIPS)
def test_a_tip_has_its_events_and_findings(
    path: Path, tip: Mapping[str, Any], project: Path
) -> None:
    """`memory/main` at a tip: what the log says of it, and what verify finds."""
    memory, ids = _at_tip(project, _read(path), tip["name"])
    names = {id_: name for name, id_ in ids.items()}

    assert _events(memory, names) == tip["events"]
    assert _findings(memory, names) == tip["findings"]


@pytest.mark.parametrize(("path", "tip"), TO_ADOPT)
def test_adopt_puts_a_tip_right(path: Path, tip: Mapping[str, Any], project: Path) -> None:
    """One command makes one candidate of it; applied, it is memory, and verify finds nothing."""
    memory, ids = _at_tip(project, _read(path), tip["name"])
    name = "..".join(ids[part][:12] for part in tip["adopt"].split(".."))

    (adopted,) = adoption.adopt(memory, [name], by=memory.person())
    memory.apply(adopted.candidate, by=memory.person())

    approved = {entry.key: entry.body for entry in memory.entries("project")}
    assert approved == tip["adopted"]
    assert audit.verify(open_memory(project)).findings == ()


# A branch of plain commits says nothing of how it was merged.
STYLED = [given for given in TIPS if given.values[1]["name"] != "merge-of-any-branch"]


@pytest.mark.parametrize(("path", "tip"), STYLED)
def test_doctor_knows_the_style(path: Path, tip: Mapping[str, Any], project: Path) -> None:
    """Where a forge left something unreviewed, doctor says that its merge style does not fit."""
    memory, _ = _at_tip(project, _read(path), tip["name"])

    found = {finding.kind for finding in doctor.examine(memory.path)}
    assert ("merge-style" in found) == ("adopt" in tip)


def test_there_are_recipes() -> None:
    """The folder is where the test looks."""
    assert NAMES == ["gitea", "github", "gitlab", "two-clones"]
    assert all(
        {"events", "findings"} <= tip.keys() for path in RECIPES for tip in _read(path)["tip"]
    )


@pytest.mark.parametrize("tip", ["squash", "rebase"])
def test_a_candidate_that_was_squashed_can_still_be_applied(tip: str, project: Path) -> None:
    """Where its branch is still there, to apply it is the other way to put the merge right."""
    (path,) = (path for path in RECIPES if path.parent.name == "github")
    memory, ids = _at_tip(project, _read(path), tip)
    git_dir = memory.store("project").place.git_dir
    branch = "refs/heads/memory/candidate/cand_2026_k3f9x2ab"
    subprocess.run(["git", "update-ref", branch, ids["edited"]], cwd=git_dir, check=True)
    memory = open_memory(project)

    memory.apply("cand_2026_k3f9x2ab", by=memory.person())

    assert "cents" in memory.store("project").approved()
    assert audit.verify(open_memory(project)).findings == ()
