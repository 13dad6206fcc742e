"""The recorded contexts of sessions, built again."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem import layout, rebuild, settings, trust
from gitmem.errors import BadInputError, GitmemError, NotFoundError
from gitmem.memory import Draft, Memory
from gitmem.model.context import Options
from gitmem.rebuild import Rebuilt

RunGit = Callable[..., str]


@pytest.fixture
def memory(project: Path) -> Memory:
    """The memory of a project."""
    return gitmem.open(project)


def approve(memory: Memory, key: str, body: str, *, scope: str = "project") -> str:
    """Put an approved entry into memory; gives the commit."""
    draft = Draft(key, body, "fact")
    return memory.add(draft, by=memory.person(), scope=scope).commit


def build(memory: Memory, name: str = "s1", *, budget: int | None = 9000) -> str:
    """Give a session a context."""
    given = memory.context(Options(budget=budget, session=name))
    assert given.warnings == ()
    return given.context.text


def started(memory: Memory, *related: str, name: str = "s1") -> Memory:
    """The memory with a session in it."""
    memory.sessions().start(name, related)
    return memory


def again(memory: Memory, name: str = "s1") -> list[Rebuilt]:
    """The contexts of a session, built with nothing known."""
    return rebuild.session(gitmem.open(memory.path), name)


def kinds(found: list[Rebuilt]) -> list[list[str]]:
    """Of each context the kinds of its differences."""
    return [[one.kind for one in each.differences] for each in found]


def test_the_same_bytes_whatever_came_later(memory: Memory) -> None:
    """Changes, deletions and reverts since then have no say."""
    approve(memory, "a", "A.")
    approve(memory, "u", "Of the user.", scope="user")
    given = [build(started(memory))]
    changed = approve(memory, "a", "Another A.")
    given.append(build(memory))
    memory.revert(changed, by=memory.person())
    given.append(build(memory, budget=40))
    memory.rewrite("a", None, by=memory.person())
    approve(memory, "b", "B.")
    found = again(memory)

    assert [one.same for one in found] == [True, True, True]
    assert [one.context.text for one in found if one.context is not None] == given


def test_the_session_s_own_text(memory: Memory) -> None:
    """What it held at each moment, also after it changed its mind and ended."""
    sessions = started(memory).sessions()
    sessions.put("s1", "plan", "fact", "First.")
    given = [build(memory)]
    sessions.put("s1", "plan", "fact", "Second.")
    given.append(build(memory))
    sessions.drop("s1", "plan")
    given.append(build(memory))
    sessions.end("s1")
    found = again(memory)

    assert [one.same for one in found] == [True, True, True]
    assert [one.context.text for one in found if one.context is not None] == given


def test_a_forgotten_text(memory: Memory) -> None:
    """It names the entries that are gone; a context without any is the same all the same."""
    approve(memory, "a", "A.")
    sessions = started(memory).sessions()
    build(memory)
    sessions.put("s1", "plan", "fact", "Secret.")
    sessions.put("s1", "a", "fact", "Another A.")
    build(memory)
    sessions.forget("s1")
    first, second = again(memory)

    assert first.same
    (difference,) = second.differences
    assert (difference.kind, difference.entries) == ("session-forgotten", ("mem_a", "mem_plan"))
    assert second.context is not None
    assert second.context.text == "[memory:project:fact]\nA.\n"


def test_what_was_given_before_counts_as_then(memory: Memory) -> None:
    """The budget prefers what related sessions were given: as it was, not as it is now."""
    approve(memory, "first", "Rule 0.")
    build(started(memory, name="older"), "older", budget=35)
    approve(memory, "second", "Rule 1.")
    text = build(started(memory, "older"), budget=35)
    assert text == "[memory:project:fact]\nRule 0.\n"
    approve(memory, "z", "Newest.")
    build(memory, "older", budget=None)
    (found,) = again(memory)

    assert found.same
    assert found.context is not None
    assert found.context.text == text


def test_pinned_contexts(memory: Memory) -> None:
    """They are built of the commits of the start, and so again."""
    approve(memory, "a", "A.")
    started(memory)
    approve(memory, "a", "Another A.")
    given = memory.context(Options(session="s1"), pinned=True)
    (found,) = again(memory)

    assert found.same
    assert given.context.text == "[memory:project:fact]\nA.\n"


def test_a_rewritten_history(memory: Memory, run_git: RunGit) -> None:
    """The commits that a record pins stay, whatever `memory/main` was moved to and gc removes."""
    approve(memory, "a", "A.")
    build(started(memory))
    git_dir = memory.store("project").place.git_dir
    root = layout.root_id("project")
    run_git(f"--git-dir={git_dir}", "update-ref", "refs/heads/memory/main", root, cwd=git_dir)
    run_git(
        f"--git-dir={git_dir}", "reflog", "expire", "--expire-unreachable=now", "--all", cwd=git_dir
    )
    run_git(f"--git-dir={git_dir}", "gc", "-q", "--prune=now", cwd=git_dir)
    (found,) = again(memory)

    assert found.same


def test_no_cache_is_asked(memory: Memory, sealed_home: Path) -> None:
    """A cache that lies changes nothing; neither does one that can't be read."""
    approve(memory, "a", "A.")
    build(started(memory))
    build(memory)
    for cache in (sealed_home / ".cache").rglob("*.json"):
        document = json.loads(cache.read_text())
        document["view"]["entries"] = []
        cache.write_text(json.dumps(document))
    assert memory.context(Options()).context.text == ""

    assert kinds(again(memory)) == [[], []]


def test_a_tier_that_is_gone(memory: Memory, sealed_home: Path) -> None:
    """Without the user's memory the context can't be built, and this is why."""
    approve(memory, "u", "Of the user.", scope="user")
    build(started(memory))
    shutil.rmtree(sealed_home / ".config" / "custom-agent")
    (found,) = again(memory)

    assert kinds([found]) == [["tier-missing"]]
    assert found.context is None


def test_an_object_that_is_gone(memory: Memory) -> None:
    """The pinned commit, or a text: it is said which."""
    approve(memory, "u", "Of the user.", scope="user")
    build(started(memory))
    store = memory.store("user")
    blob = store.approved()["u"].id
    for id_ in (blob, store.main()):
        path = store.place.git_dir / "objects" / id_[:2] / id_[2:]
        path.chmod(0o644)
        path.unlink()
        (found,) = again(memory)

        assert kinds([found]) == [["object-missing"]]
        assert id_[:10] in found.differences[0].message
        assert found.context is None


def test_a_record_with_a_wrong_digest(memory: Memory, run_git: RunGit) -> None:
    """Where every input is there and the text is another one, it is not called the same."""
    approve(memory, "a", "A.")
    build(started(memory))
    git_dir = memory.store("project").place.git_dir
    ref = layout.session_ref("s1")
    commit = run_git(f"--git-dir={git_dir}", "cat-file", "commit", ref, cwd=git_dir)
    (found,) = again(memory)
    for old, new, kind in (
        (found.built.digest, "0" * 64, "text-differs"),
        ('"rule":1', '"rule":7', "rule-changed"),
        ('"project":"open"', '"project":"strict"', "approval-changed"),
    ):
        commit = commit.replace(old, new)
        asked = ["git", f"--git-dir={git_dir}", "hash-object", "-t", "commit", "-w", "--stdin"]
        made = subprocess.run(
            asked, input=commit + "\n", capture_output=True, text=True, check=True
        )
        run_git(f"--git-dir={git_dir}", "update-ref", ref, made.stdout.strip(), cwd=git_dir)

        (found,) = again(memory)
        assert kind in [one.kind for one in found.differences]
        assert not found.same


def test_a_record_with_a_missing_commit(memory: Memory) -> None:
    """It is an error of its own, not a session without contexts."""
    build(started(memory))
    git_dir = memory.store("project").place.git_dir
    ref = git_dir / layout.session_ref("s1")
    ref.write_text(f"{'1' * 40}\n")
    with pytest.raises(BadInputError) as caught:
        again(memory)

    assert caught.value.reference == "record-unreadable"


@pytest.mark.parametrize(
    ("name", "reference"),
    [("nobody", "no-such-session"), ("../x", "session-invalid"), ("a b", "session-invalid")],
)
def test_an_unknown_session(memory: Memory, name: str, reference: str) -> None:
    """One that was never here, and what is no session's id."""
    with pytest.raises(GitmemError) as caught:
        rebuild.session(memory, name)

    assert caught.value.reference == reference


def test_which_context(memory: Memory) -> None:
    """By number, the last one if nothing is said."""
    build(started(memory))
    build(memory)
    found = again(memory)

    assert [rebuild.one_of(found, number).built.number for number in (1, 2, None)] == [1, 2, 2]
    for none, number in ((found, 3), (found, 0), ([], None)):
        with pytest.raises(NotFoundError) as caught:
            rebuild.one_of(none, number)
        assert caught.value.reference == "no-such-context"


def test_what_it_would_be_now(memory: Memory) -> None:
    """With the same options and the session's present text; of one that is over, without it."""
    approve(memory, "a", "A.")
    sessions = started(memory).sessions()
    build(memory)
    approve(memory, "a", "Another A.")
    sessions.put("s1", "plan", "fact", "Today.")
    (found,) = again(memory)
    durable = "[memory:project:fact]\nAnother A.\n"

    now = rebuild.present(memory, found).context.text
    assert now == f"{durable}\n[memory:session:fact]\nToday.\n"
    sessions.end("s1")
    assert rebuild.present(memory, found).context.text == durable
    assert len(sessions.record("s1")) == 3


# -- signed approvals --------------------------------------------------------------------------


@pytest.fixture
def signed(memory: Memory, keys: Any, run_git: RunGit) -> Memory:
    """A memory with a context from before and one since approvals must be signed, by Ann's key."""
    started(memory)
    approve(memory, "a", "A.")
    build(memory)
    keys["ann"].sign_with(run_git, memory.path)
    settings.set_approval(memory.store("project"), "signed", memory.person())
    approve(memory, "b", "B.")
    build(memory)
    return memory


def test_each_by_the_setting_of_its_time(signed: Memory) -> None:
    """A context from before signatures is judged without them, and a later one with them."""
    first, second = again(signed)

    assert (first.same, second.same) == (True, True)
    assert first.built.approval["project"] == "open"
    assert second.built.approval["project"].startswith("signed ")
    assert second.context is not None
    assert "B." in second.context.text


def test_an_unsigned_approval_is_in_no_context_then_and_now(
    signed: Memory, run_git: RunGit
) -> None:
    """What a plain merge brought was not given, and replay does not bring it."""
    outcome = signed.propose(Draft("c", "C.", "fact"), rationale="why")
    folder = layout.memory_folder(signed.path)
    branch = f"memory/candidate/{outcome.id}"
    run_git(
        "-c",
        "commit.gpgSign=false",
        "merge",
        "-q",
        "--no-verify",
        "--no-ff",
        "--no-edit",
        branch,
        cwd=folder,
    )

    given = gitmem.open(signed.path).context(Options(session="s1"))

    assert "C." not in given.context.text
    assert [one.same for one in again(signed)] == [True, True, True]


def test_other_signers_are_named_as_the_reason(signed: Memory, keys: Any) -> None:
    """Where the key of that time never counted, by what is set today, the setting is to blame."""
    git_dir = signed.store("project").place.git_dir
    there = trust.read(git_dir)
    other = trust.ssh_signer(keys["bob"].line("bob"))
    assert other is not None
    trust.write(git_dir, replace(there, signers=(other,), removed=()))

    first, second = again(signed)

    assert first.same
    assert "approval-changed" in [one.kind for one in second.differences]
