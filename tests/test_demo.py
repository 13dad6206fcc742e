"""The demo's scratch project: real proposals, and nothing left of it or taken from the user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from gitmem import audit, demo
from gitmem.git import program
from gitmem.model import context


@pytest.fixture
def scratch_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scratch folders are made."""
    root = tmp_path / "scratch"
    root.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(root))
    return root


def _tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_each_proposal_quotes_the_rule_file(scratch_root: Path) -> None:
    """What the demo's agent claims to have read stands there, word for word."""
    with demo.scratch() as made:
        rules = made.rules.read_text(encoding="utf-8")
        found = [made.memory.candidate(outcome.id) for outcome in made.proposed]

        assert len(made.memory.candidates()) == len(found)
        assert [item.type for item in found] == ["forbidden", "convention", "fact"]
        for item in found:
            (source,) = item.sources
            assert source["sessionId"] == demo.SESSION
            assert source["evidence"] in rules
            assert (item.actor, item.broken, item.conflicts) == (demo.ACTOR, None, ())
            assert item.rationale
        # Nothing is in force before a person decides.
        assert made.memory.context(context.Options()).context.text == ""


def test_the_scan_finds_nothing_in_it(scratch_root: Path) -> None:
    """What a new user sees first is approved as any memory is, and passes every check."""
    with demo.scratch() as made:
        chosen = [one for one in made.proposed if demo.apply_by_default(one, made)]
        for outcome in chosen:
            made.memory.apply(outcome.id, by=made.person)

        text = made.memory.context(context.Options()).context.text
        assert len(chosen) == 2
        assert text.startswith("[memory:project:forbidden]\n")
        assert text.count("[memory:") == 2
        assert audit.verify(made.memory).findings == ()


def test_nothing_is_left(scratch_root: Path) -> None:
    """Also after an error, and with read-only objects in it; with `keep` all of it stays."""
    with demo.scratch():
        assert len(list(scratch_root.iterdir())) == 1
    with pytest.raises(KeyError), demo.scratch():
        raise KeyError
    assert list(scratch_root.iterdir()) == []

    with demo.scratch(keep=True) as made:
        pass
    assert made.rules.exists()
    shutil.rmtree(made.folder.parent)


def test_a_beginning_that_fails_leaves_nothing(
    scratch_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without git there is an error, and no folder."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Exception, match="git program is not on the PATH"), demo.scratch():
        pytest.fail("it began")

    assert list(scratch_root.iterdir()) == []


def test_the_users_settings_and_folders_have_no_part(
    scratch_root: Path, sealed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks, signing, templates, an absent identity and a driving agent change nothing, nor does it."""
    bad = sealed_home / "bad"
    bad.mkdir()
    for name in ("pre-commit", "commit-msg", "reference-transaction", "post-checkout"):
        (bad / name).write_text("#!/bin/sh\nexit 1\n")
        (bad / name).chmod(0o755)
    for key, value in (
        ("core.hooksPath", str(bad)),
        ("commit.gpgSign", "true"),
        ("gpg.program", "false"),
        ("init.templateDir", str(bad)),
        ("init.defaultBranch", "trunk"),
        ("core.excludesFile", str(bad / "ignore")),
        ("core.autocrlf", "true"),
    ):
        program.run("config", "--global", key, value)
    (bad / "ignore").write_text("CLAUDE.md\n")
    program.run("config", "--global", "--unset-all", "user.name")
    program.run("config", "--global", "--unset-all", "user.email")
    monkeypatch.setenv("CLAUDECODE", "1")
    before = _tree(sealed_home)

    with demo.scratch() as made:
        assert len(made.memory.candidates()) == 3
        log = program.run("log", "--format=%an <%ae>", cwd=made.folder).text
        assert log == "Demo Person <demo@example.org>"
        status = program.run("status", "--porcelain", cwd=made.folder).text
        assert status == ""

    assert _tree(sealed_home) == before


def test_two_demos_are_two(scratch_root: Path) -> None:
    """Run at once they have nothing in common but the first commit."""
    with demo.scratch() as one, demo.scratch() as other:
        assert one.folder != other.folder
        one.memory.discard(one.proposed[0].id, by=one.person)
        assert len(other.memory.candidates()) == 3


def test_the_rules_are_those_of_a_project(scratch_root: Path) -> None:
    """The scratch project is a repository that plain git works in."""
    with demo.scratch() as made:
        shown = subprocess.run(
            ["git", "show", "HEAD:CLAUDE.md"],
            cwd=made.folder,
            env={**os.environ},
            capture_output=True,
            check=True,
        )
        assert shown.stdout.decode() == demo.RULES == made.rules.read_text(encoding="utf-8")
