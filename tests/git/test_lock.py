"""The process lock and git's index lock: one holder, whoever asks, and nothing of others is taken."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.errors import BadInputError, ConflictError
from gitmem.git import lock as lock_module
from gitmem.git.lock import IndexLock, held, process_lock

HOLD = """
import sys
from pathlib import Path
from gitmem.git.lock import process_lock
with process_lock(Path(sys.argv[-1]), wait=0):
    print("in", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock on `tmp_path`; its command has a secret in it."""
    command = [sys.executable, "-c", HOLD, "apply", "--reason", "s3cret", str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        yield process
        process.kill()


# -- one process -----------------------------------------------------------------------------------


def test_a_lock_that_is_a_link(tmp_path: Path) -> None:
    """The holder's name is written into the lock: never into what a link leads to."""
    other = tmp_path / "other"
    other.write_text("mine\n")
    (tmp_path / lock_module.LOCK_FILE).symlink_to(other)
    with pytest.raises(BadInputError) as caught, process_lock(tmp_path, wait=0):
        pytest.fail("it is held")
    assert caught.value.reference == "cannot-write"
    assert other.read_text() == "mine\n"


def test_the_holder_is_named_without_its_secrets(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    """Who waits in vain is told the process and what it does, and nothing that it was given."""
    with pytest.raises(ConflictError) as caught, process_lock(tmp_path, wait=0):
        pytest.fail("two are in")

    assert caught.value.reference == "repository-locked"
    assert caught.value.context == f"held by process {holder.pid} (-c apply)"
    with pytest.raises(RuntimeError):
        held(tmp_path)


def test_a_killed_holder_holds_nothing(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    """The kernel lets go; the file that stays behind keeps nobody out, whatever it says."""
    holder.kill()
    holder.wait()
    (tmp_path / "gitmem.lock").write_text("4194304 (a longer command)\n" * 10)

    with process_lock(tmp_path, wait=0):
        (line,) = (tmp_path / "gitmem.lock").read_text().splitlines()
        assert line.startswith(f"{os.getpid()} (")


def test_the_next_gets_in_when_the_first_leaves(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    """Waiting ends with the other's work, not with the patience."""
    timer = threading.Timer(0.1, holder.kill)
    timer.start()

    with process_lock(tmp_path, wait=60):
        pass

    timer.join()


def test_a_process_keeps_itself_out(tmp_path: Path) -> None:
    """A second use within the first, or in another thread, is refused and harms the first not."""
    other = tmp_path / "link"
    other.symlink_to(tmp_path)
    with process_lock(other, wait=0):
        file = held(tmp_path)
        with pytest.raises(ConflictError), process_lock(tmp_path, wait=0):
            pytest.fail("two are in")
        # Under whatever name.
        assert held(other) == held(tmp_path) == file
        os.fstat(file)
    with pytest.raises(RuntimeError, match="not inside deciding"):
        held(tmp_path)
    with process_lock(other, wait=0):
        pass


def test_an_error_inside_lets_go(tmp_path: Path) -> None:
    """However the block is left, the next one gets in and no file stays open."""
    for _ in range(2):
        with pytest.raises(KeyError), process_lock(tmp_path, wait=0):
            file = held(tmp_path)
            raise KeyError
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)


def test_a_lock_lives_in_a_child_that_keeps_it(tmp_path: Path) -> None:
    """A git that was given the descriptor holds on for as long as it runs, and no longer."""
    with process_lock(tmp_path, wait=0):
        keep = held(tmp_path)
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[keep])
    with pytest.raises(ConflictError), process_lock(tmp_path, wait=0):
        pytest.fail("two are in")

    child.communicate()

    with process_lock(tmp_path, wait=0):
        pass


def test_one_repository_is_not_another(tmp_path: Path) -> None:
    """Two tiers are decided in at once."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()

    with process_lock(one, wait=0), process_lock(two, wait=0):
        assert held(one) != held(two)


@pytest.mark.parametrize("what", ["missing", "folder", "file"])
def test_a_place_that_takes_no_lock(tmp_path: Path, what: str) -> None:
    """Where the lock file can't be opened, nothing was changed, and that is said."""
    place = tmp_path / "memory.git"
    if what == "folder":
        (place / "gitmem.lock").mkdir(parents=True)
    if what == "file":
        place.write_text("")

    with pytest.raises(BadInputError) as caught, process_lock(place, wait=0):
        pytest.fail("it is in")

    assert caught.value.reference == "cannot-write"
    assert str(place) in (caught.value.context or "")


# -- git's index lock ------------------------------------------------------------------------------


def test_git_is_held_off(tmp_path: Path) -> None:
    """While the lock is ours git can't write the index; then it can, and nothing of us is left."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "a").write_text("a")
    lock = IndexLock(tmp_path / ".git")
    add = ["git", "-C", str(tmp_path), "add", "a"]

    lock.take(wait=0)
    refused = subprocess.run(add, capture_output=True, text=True, check=False)
    lock.release()

    assert "index.lock': File exists" in refused.stderr
    subprocess.run(add, check=True)
    assert not (tmp_path / ".git" / "gitmem-hold").exists()


def test_a_lock_of_git_is_waited_for_and_left(tmp_path: Path) -> None:
    """What is not ours is neither released nor counted as ours; it is waited for."""
    lock = IndexLock(tmp_path)
    for content in (b"", b"DIRC", b"gitmem holds this index\nand more"):
        lock.path.write_bytes(content)
        assert not lock.ours()
        lock.release()
        with pytest.raises(ConflictError) as caught:
            lock.take(wait=0.05)
        assert caught.value.reference == "repository-locked"
        assert str(lock.path) in (caught.value.context or "")
        assert lock.path.read_bytes() == content
        assert [path.name for path in tmp_path.iterdir()] == ["index.lock"]
    timer = threading.Timer(0.1, lock.path.unlink)
    timer.start()

    lock.take(wait=60)

    timer.join()
    assert lock.ours()


def test_a_lock_that_a_killed_one_left_is_ours(tmp_path: Path) -> None:
    """Whoever holds the process lock takes it over, and a half-made one is no hindrance."""
    IndexLock(tmp_path).take(wait=0)
    (tmp_path / "gitmem-hold").write_bytes(b"gitmem ho")

    lock = IndexLock(tmp_path)
    assert lock.ours()
    lock.take(wait=0)
    lock.release()
    lock.release()
    lock.take(wait=0)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.lock"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """There the lock is made as git makes it: whoever makes the file has it."""

    def no_links(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", no_links)
    lock = IndexLock(tmp_path)
    lock.path.write_bytes(b"")
    with pytest.raises(ConflictError):
        lock.take(wait=0)
    lock.path.unlink()

    lock.take(wait=0)

    assert lock.ours()


def test_another_fault_is_no_lock(tmp_path: Path) -> None:
    """A folder that is gone is told as such, not as somebody's lock."""
    with pytest.raises(FileNotFoundError):
        IndexLock(tmp_path / "gone").take(wait=0)


def test_the_error_of_a_disk_says_what_to_do() -> None:
    """What the system said is passed on."""
    error = lock_module.cannot_write(OSError(errno.ENOSPC, "No space left on device", "/x"))

    assert (error.reference, error.context) == (
        "cannot-write",
        "[Errno 28] No space left on device: '/x'",
    )
