"""What sessions keep, what is recorded of them, and what is left when one is forgotten."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from killing import dies_at

from gitmem import clock, layout, records, sessionfiles, tiersetup
from gitmem.errors import BadInputError, ConflictError, NotFoundError
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.context import Options
from gitmem.model.history import Person
from gitmem.sessions import Sessions

RunGit = Callable[..., str]
ANN = Person("Ann", "ann@example.org", 1_780_000_000, 0)
OPTIONS = Options(session="s1")
NOTE = "The parser is in src/parse.py."


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with an approved entry in each tier, and the session s1 with a note."""
    found = open_memory(project)
    found.add(Draft("rule", "Use 4 spaces.", "convention"), by=ANN)
    found.add(Draft("mine", "Speak German.", "preference"), by=ANN, scope="user")
    found.sessions().start("s1")
    found.sessions().put("s1", "parser", "fact", NOTE)
    return found


def again(memory: Memory) -> Memory:
    """The same memory, opened anew: nothing is remembered."""
    return open_memory(memory.path)


def everything(*folders: Path) -> bytes:
    """Every file below some folders, and what is in each object of git."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                data = path.read_bytes()
                found.append(str(path).encode() + b"\n" + data)
                if path.parent.parent.name == "objects":
                    found.append(zlib.decompress(data))
    return b"\n".join(found)


# -- the record --------------------------------------------------------------------------------


def test_what_is_recorded(memory: Memory) -> None:
    """The start with the pins of all tiers, and each context with what went into it."""
    memory.add(Draft("late", "It came late.", "fact"), by=ANN)
    given = memory.context(OPTIONS)

    start, built = memory.sessions().record("s1")

    assert (start.kind, built.kind) == ("session.started", "context.built")
    assert start.pins.keys() == built.pins.keys() == {"user", "project", "session"}
    assert built.pins["project"] == memory.store("project").main() != start.pins["project"]
    assert built.built is not None
    assert built.built.digest == given.context.digest
    assert built.built.entries == {
        "user": ("mem_mine",),
        "project": ("mem_rule", "mem_late"),
        "session": ("mem_parser",),
    }
    assert memory.sessions().given("project", "mem_late") == ["s1"]
    assert memory.sessions().given("project", "mem_mine") == []


def test_what_is_pinned_is_never_collected(memory: Memory, run_git: RunGit) -> None:
    """Also where a tier's branch is rewritten and git cleans up at once."""
    memory.context(OPTIONS)
    (_, built) = memory.sessions().record("s1")
    for store in memory.stores():
        git_dir = store.place.git_dir
        run_git("update-ref", layout.MAIN, layout.root_id(store.place.scope), cwd=git_dir)
        run_git("reflog", "expire", "--expire=now", "--all", cwd=git_dir)
        run_git("gc", "--quiet", "--prune=now", cwd=git_dir)

        run_git("cat-file", "-e", f"{built.pins[store.tier]}^{{tree}}", cwd=git_dir)
        assert run_git("fsck", "--no-dangling", cwd=git_dir) == ""


def test_a_tier_that_did_not_move_is_kept_once(memory: Memory) -> None:
    """The other tier's line grows with its pins, not with the contexts."""
    before = sum(1 for _ in _line(memory, "user"))
    for _ in range(3):
        memory.context(OPTIONS)

    assert sum(1 for _ in _line(memory, "user")) == before
    memory.add(Draft("more", "More.", "fact"), by=ANN, scope="user")
    memory.context(OPTIONS)
    assert sum(1 for _ in _line(memory, "user")) == before + 1


def _line(memory: Memory, scope: str) -> list[str]:
    objects = memory.store(scope).objects
    here: str | None = (
        memory.store(scope).place.git_dir.joinpath(layout.session_ref("s1")).read_text().strip()
    )
    found = []
    while here is not None and "session s1" in objects.commit(here).message:
        found.append(here)
        here = objects.commit(here).parents[0]
    return found


def test_records_are_never_pushed(memory: Memory, tmp_path: Path, run_git: RunGit) -> None:
    """They are this machine's: the hook stops even who asks for it."""
    memory.context(OPTIONS)
    run_git("init", "--quiet", "--bare", "remote.git", cwd=tmp_path)
    folder = layout.memory_folder(memory.path)

    with pytest.raises(AssertionError, match="refs/memory/session/s1"):
        run_git("push", tmp_path / "remote.git", "refs/memory/session/s1", cwd=folder)

    assert run_git("for-each-ref", cwd=tmp_path / "remote.git") == ""


def test_what_a_session_was_given_goes_first(memory: Memory) -> None:
    """Within a small budget, what it or a related session had before is kept."""
    memory.context(OPTIONS)
    for number in range(5):
        memory.add(Draft(f"new-{number}", f"Newer {number}.", "convention"), by=ANN)
    memory.sessions().start("s2", related=("s1",))
    memory.sessions().start("s3")
    tight = Options(42, tiers=("project",))

    def first(session: str) -> list[str]:
        options = Options(tight.budget, tight.unit, tight.tiers, session)
        return [one.id for one in memory.context(options).context.entries]

    assert first("s2") == ["mem_rule"]
    assert first("s3") != ["mem_rule"]


def test_contexts_of_one_moment_are_all_recorded(memory: Memory) -> None:
    """Processes that build at once: each context has its number and none is lost."""
    memory.context(OPTIONS)
    together(6, lambda _: again(memory).context(OPTIONS))

    numbers = [one.built.number for one in memory.sessions().record("s1") if one.built]
    assert numbers == list(range(1, 8))


def together(count: int, action: Callable[[int], object]) -> None:
    """Do an action in that many processes at once; each must succeed."""
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            failed = 1
            try:
                action(number)
                failed = 0
            finally:
                os._exit(failed)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * count


def test_a_record_that_can_not_be_read(memory: Memory, run_git: RunGit) -> None:
    """The context is given all the same, with a warning; who asks for the record is told."""
    memory.context(OPTIONS)
    git_dir = memory.store("project").place.git_dir
    tip = (git_dir / layout.session_ref("s1")).read_text().strip()
    (git_dir / "objects" / tip[:2] / tip[2:]).unlink()

    given = again(memory).context(OPTIONS)

    assert NOTE in given.context.text
    assert any("can't be read" in warning for warning in given.warnings)
    with pytest.raises(BadInputError) as error:
        again(memory).sessions().record("s1")
    assert error.value.reference == "record-unreadable"
    assert again(memory).sessions().listed()[0].state == "unreadable"


@pytest.mark.plain_user
def test_where_nothing_can_be_written(memory: Memory) -> None:
    """A sandbox gets its context, and is told that it is not recorded."""
    memory.context(OPTIONS)
    git_dir = memory.store("project").place.git_dir
    folders = [path for path in (git_dir, *git_dir.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        given = again(memory).context(OPTIONS)
    finally:
        for folder in folders:
            folder.chmod(0o755)

    assert NOTE in given.context.text
    assert any("could not be recorded" in warning for warning in given.warnings)
    assert len(memory.sessions().record("s1")) == 2


def test_a_session_of_which_nothing_can_be_read(memory: Memory) -> None:
    """Durable memory is given all the same, with a warning."""
    folder = memory.sessions().folder("s1")
    folder.file.write_text("{")
    shutil.rmtree(folder.git_dir / "objects")
    (folder.git_dir / "objects").mkdir()

    given = memory.context(OPTIONS)

    assert [one.id for one in given.context.entries] == ["mem_mine", "mem_rule"]
    assert any("nothing is recorded" in warning for warning in given.warnings)


# -- the text ----------------------------------------------------------------------------------


def test_an_agent_may_write_the_file_itself(memory: Memory) -> None:
    """What it says counts, and is kept before a context is built of it."""
    folder = memory.sessions().folder("s1")
    document = json.loads(folder.file.read_text("utf-8"))
    document["entries"][0]["body"] = "The parser has moved."
    folder.file.write_text(json.dumps(document), encoding="utf-8")

    given = memory.context(OPTIONS)

    assert "The parser has moved." in given.context.text
    (_, built) = memory.sessions().record("s1")
    assert folder.at(built.pins["session"]).entry("parser").body == "The parser has moved."


def test_a_broken_file_is_kept_aside(memory: Memory) -> None:
    """It is said, what was written before counts, and nothing is emptied in silence."""
    folder = memory.sessions().folder("s1")
    folder.file.write_text('{"entries": [')

    given = memory.context(OPTIONS)
    assert NOTE in given.context.text
    assert any("no JSON" in warning for warning in given.warnings)
    assert folder.file.read_text() == '{"entries": ['

    aside = memory.sessions().put("s1", "more", "fact", "More.")

    assert aside is not None
    assert Path(aside).read_text() == '{"entries": ['
    assert [one.key for one in memory.sessions().text("s1").kept] == ["parser", "more"]
    assert memory.context(OPTIONS).warnings == ()


def test_a_file_that_is_gone(memory: Memory) -> None:
    """Somebody removed it: what was written last is still known."""
    memory.sessions().folder("s1").file.unlink()

    given = memory.context(OPTIONS)

    assert NOTE in given.context.text
    assert any("the file is gone" in warning for warning in given.warnings)


def test_writers_of_one_moment(memory: Memory) -> None:
    """Both succeed: no entry of another process is lost."""
    together(6, lambda n: again(memory).sessions().put("s1", f"key-{n}", "fact", "A note."))

    kept = {one.key for one in memory.sessions().text("s1").kept}
    assert kept == {"parser", *(f"key-{number}" for number in range(6))}


def test_forbidden_is_not_overridden(memory: Memory) -> None:
    """A session can't take back what a person forbade, and no other session sees its notes."""
    memory.add(Draft("push", "Never push --force.", "forbidden"), by=ANN)
    memory.sessions().put("s1", "push", "fact", "Push as you like.")
    memory.sessions().put("s1", "rule", "fact", "Use tabs.")
    memory.sessions().start("s2")

    text = memory.context(OPTIONS).context.text

    assert "Never push --force." in text
    assert "Push as you like." not in text
    assert "Use tabs." in text
    assert "Use 4 spaces." not in text
    assert "Use tabs." not in memory.context(Options(session="s2")).context.text


def test_an_injection_in_a_note_is_kept_out(memory: Memory) -> None:
    """The scan reads what agents write as well."""
    memory.sessions().put("s1", "hidden", "fact", "Nothing to see\u202e here.")

    given = memory.context(OPTIONS)

    assert [one.memory.id for one in given.context.quarantined] == ["mem_hidden"]
    (_, built) = memory.sessions().record("s1")
    assert built.built is not None
    assert built.built.quarantined == {"session": ("mem_hidden",)}


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "endless"])
def test_a_file_that_is_none(memory: Memory, tmp_path: Path, kind: str) -> None:
    """An agent may put anything there: nothing is followed, waited for or read without end."""
    folder = memory.sessions().folder("s1")
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(folder.file.read_bytes())
    folder.file.unlink()
    if kind == "link":
        folder.file.symlink_to(elsewhere)
    elif kind == "pipe":
        os.mkfifo(folder.file)
    elif kind == "folder":
        folder.file.mkdir()
    else:
        with folder.file.open("wb") as stream:
            stream.truncate(1 << 40)

    given = memory.context(OPTIONS)

    assert NOTE in given.context.text
    assert any("can't be read" in warning for warning in given.warnings)
    memory.sessions().put("s1", "more", "fact", "More.")
    assert [one.key for one in memory.sessions().text("s1").kept] == ["parser", "more"]
    assert b"More." not in elsewhere.read_bytes()


def test_what_an_agent_plants_in_the_repository(memory: Memory, tmp_path: Path) -> None:
    """It may write there too: none of its hooks runs, and no link leads our writing elsewhere."""
    git_dir = memory.sessions().folder("s1").git_dir
    ran, own = tmp_path / "ran", tmp_path / "own"
    own.write_text("mine\n")
    hook = git_dir / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    tip = (git_dir / layout.MAIN).read_text()
    (git_dir / layout.MAIN).unlink()
    (git_dir / layout.MAIN).symlink_to(own)
    own.write_text(tip)

    memory.sessions().put("s1", "more", "fact", "More.")

    assert NOTE in memory.context(OPTIONS).context.text
    assert not ran.exists()
    assert own.read_text() == tip
    (git_dir / "gitmem.lock").unlink()
    (git_dir / "gitmem.lock").symlink_to(own)
    with pytest.raises(BadInputError) as error:
        memory.sessions().put("s1", "again", "fact", "Again.")
    assert error.value.reference == "cannot-write"
    memory.sessions().forget("s1")
    assert own.read_text() == tip


# -- where it lies -----------------------------------------------------------------------------


def test_from_every_worktree(memory: Memory, tmp_path: Path, run_git: RunGit) -> None:
    """One project, one set of sessions, and the host's status stays as it was."""
    run_git("worktree", "add", "--quiet", tmp_path / "other", cwd=memory.path)

    other = open_memory(tmp_path / "other")

    assert NOTE in other.context(OPTIONS).context.text
    assert run_git("status", "--porcelain", cwd=memory.path) == ""
    assert run_git("status", "--porcelain", cwd=tmp_path / "other") == ""


def test_sessions_of_two_projects(memory: Memory, tmp_path: Path, run_git: RunGit) -> None:
    """They share a user tier and a session's name, and nothing else."""
    memory.context(OPTIONS)
    run_git("init", "--quiet", "other", cwd=tmp_path)
    tiersetup.init(tmp_path / "other", scope="project", ask_remote=False)
    other = open_memory(tmp_path / "other")

    assert other.sessions().listed() == []
    with pytest.raises(NotFoundError):
        other.sessions().check("s1")
    other.sessions().start("s1")
    assert NOTE not in other.context(OPTIONS).context.text
    assert (
        next(iter(other.log(session="s1")))[1].details["pins"].get("project")
        == other.store("project").main()
    )
    (tmp_path / "nowhere").mkdir()
    assert open_memory(tmp_path / "nowhere").sessions().listed() == []


def test_outside_a_project(memory: Memory, tmp_path: Path, sealed_home: Path) -> None:
    """The user's sessions lie in the state folder."""
    (tmp_path / "nowhere").mkdir()
    found = open_memory(tmp_path / "nowhere")
    found.sessions().start("u1")
    found.sessions().put("u1", "a", "fact", "At home.")

    assert "At home." in found.context(Options(session="u1")).context.text
    assert (sealed_home / ".local/state/gitmem/sessions") in found.sessions().folder(
        "u1"
    ).path.parents
    assert "At home." not in memory.context(OPTIONS).context.text


# -- the end -----------------------------------------------------------------------------------


def test_nothing_of_a_forgotten_text_stays(memory: Memory, sealed_home: Path) -> None:
    """Every file and every object is read: of the notes there are only the names of entries."""
    memory.context(OPTIONS)
    memory.sessions().put("s1", "parser", "fact", "The parser was rewritten.")
    memory.sessions().folder("s1").file.write_text('{"broken": "src/parse.py"')
    memory.sessions().put("s1", "more", "fact", "Zweite Notiz.")
    memory.context(OPTIONS)
    host, home = memory.path, sealed_home
    texts = (b"src/parse.py", b"was rewritten", b"Zweite Notiz")
    assert all(text in everything(host, home) for text in texts)

    memory.sessions().forget("s1")

    left = everything(host, home)
    assert not any(text in left for text in texts)
    assert memory.sessions().record("s1")[-1].kind == "session.ended"
    assert memory.sessions().given("session", "mem_more") == ["s1"]


def test_a_text_that_can_not_be_read_is_forgotten_too(memory: Memory, sealed_home: Path) -> None:
    """Why it could not be read is in the record, in words that quote nothing of it."""
    folder = memory.sessions().folder("s1")
    document = json.loads(folder.file.read_text("utf-8"))
    for field, value in (("key", "Ann lives in Oslo"), ("type", "Ann lives in Oslo")):
        changed = document | {"entries": [document["entries"][0] | {field: value}]}
        folder.file.write_text(json.dumps(changed), encoding="utf-8")
        memory.context(OPTIONS)
    faults = [one.built.session_fault for one in memory.sessions().record("s1") if one.built]
    assert None not in faults

    memory.sessions().forget("s1")

    assert b"lives in Oslo" not in everything(memory.path, sealed_home)


@pytest.mark.parametrize("command", ["forget", "prune"])
def test_forgotten_without_its_record(memory: Memory, command: str) -> None:
    """A record that can't be read or written is said, and keeps no text here."""
    memory.context(OPTIONS)
    memory.sessions().start("s2")
    git_dir = memory.store("project").place.git_dir
    tip = (git_dir / layout.session_ref("s1")).read_text().strip()
    (git_dir / "objects" / tip[:2] / tip[2:]).unlink()
    sessions = again(memory).sessions()

    if command == "forget":
        warnings = sessions.forget("s1")
    else:
        pruned = sessions.prune(-1)
        assert pruned.sessions == ("s1", "s2")
        warnings = pruned.warnings

    (warning,) = warnings
    assert warning.startswith("the end of s1 could not be recorded: ")
    assert not sessions.folder("s1").path.exists()
    assert sessions.given("project", "mem_rule") == []


def test_forgotten_while_it_is_written(memory: Memory) -> None:
    """Whoever comes second is told; what was written is gone in either order."""
    folder = memory.sessions().folder("s1")
    child = os.fork()
    if child == 0:
        try:
            for number in range(200):
                again(memory).sessions().put("s1", f"k{number}", "fact", "Late.")
        except (NotFoundError, ConflictError):
            os._exit(0)
        finally:
            os._exit(1)
    while b"Late." not in folder.file.read_bytes():
        pass
    memory.sessions().forget("s1")

    assert os.waitpid(child, 0)[1] == 0
    assert list(folder.path.parent.iterdir()) == []


def test_prune_takes_the_old_and_what_was_left_behind(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash leaves sessions that nobody ends; a kill may leave half of one that was forgotten."""
    parent = memory.sessions().folder("s1").path.parent
    shutil.copytree(parent / "s1", parent / ".gitmem-forgotten-s0-x", symlinks=True)
    memory.sessions().start("s2")
    assert memory.sessions().prune(3600).sessions == ()
    assert not (parent / ".gitmem-forgotten-s0-x").exists()

    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + 7200)

    assert memory.sessions().prune(3600).sessions == ("s1", "s2")
    assert list(parent.iterdir()) == []
    assert {one.state for one in memory.sessions().listed()} == {"forgotten"}


def test_a_kill_while_a_session_is_begun_or_forgotten(memory: Memory) -> None:
    """It is there or it is not, and can be begun or forgotten then."""
    for step in range(0, 60, 3):
        killed = dies_at(step, lambda: again(memory).sessions().start("s3"))
        found = {one.id: one.state for one in again(memory).sessions().listed()}
        assert found.get("s3", "open") == "open"
        again(memory).sessions().start("s3")
        assert again(memory).context(Options(session="s3")).warnings == ()
        again(memory).sessions().forget("s3")
        names = [
            memory.store(scope).place.git_dir / layout.session_ref("s3") for scope in memory.scopes
        ]
        for name in names:
            name.unlink(missing_ok=True)
        if not killed:
            break
    assert not killed
    assert sorted(path.name for path in memory.sessions().folder("s1").path.parent.iterdir()) == [
        "s1"
    ]


def test_where_no_memory_is_set_up(host: Path) -> None:
    """There is nowhere to record it."""
    with pytest.raises(BadInputError) as error:
        Sessions(open_memory(host).found)
    assert error.value.reference == "no-such-tier"


def test_a_lost_race_is_run_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes between our look and our move: both are in the record."""
    place = memory.sessions().home
    lost = iter([True, False])
    last = records.last

    def looked(*args: object) -> object:
        found = last(*args)  # type: ignore[arg-type]
        if next(lost, False):
            records.append(place, [], "s1", lambda one: one)
        return found

    monkeypatch.setattr(records, "last", looked)
    memory.context(OPTIONS)

    assert [one.kind for one in memory.sessions().record("s1")] == [
        "session.started",
        "session.started",
        "context.built",
    ]


def test_a_session_that_is_over_is_closed_to_writers(memory: Memory) -> None:
    """Also where the file itself says so."""
    memory.sessions().end("s1")
    with pytest.raises(ConflictError):
        memory.sessions().put("s1", "a", "fact", "A.")
    assert sessionfiles.listed(memory.sessions().home)[0].read().text.ended_at is not None


def test_a_purge_takes_the_users_own_sessions_along(tmp_path: Path, sealed_home: Path) -> None:
    """Outside a project they lie in the state folder: what is destroyed is destroyed there, too."""
    (tmp_path / "nowhere").mkdir()
    tiersetup.init(tmp_path / "nowhere", scope="user", ask_remote=False)
    found = open_memory(tmp_path / "nowhere")
    found.sessions().start("u1")
    found.sessions().put("u1", "a", "fact", "At home.")
    found.context(Options(session="u1"))
    assert len(tiersetup.plan_deinit(tmp_path, scope="user", purge=True).sessions) == 1

    tiersetup.deinit(tmp_path, scope="user", purge=True)

    assert b"At home." not in everything(sealed_home)
    assert list((sealed_home / ".local" / "state" / "gitmem" / "sessions").iterdir()) == []
    assert [path for path in (sealed_home / ".cache").rglob("*") if path.is_file()] == []
