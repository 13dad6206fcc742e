"""The index file against git: what git wrote is read, and what is written git reads."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.git import indexfile
from gitmem.git.indexfile import EXECUTABLE, FILE, LINK, SUBMODULE, Entry

EMPTY_BLOB = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
LONG = "/".join(["x" * 200] * 30)
# The order of bytes is not that of characters, nor that of a tree.
NAMES = ["a", "a.md", "a/b", "a/b.md", "a-b", "é.md", "缩/进.md", "Z", "z\\z", 'q"q', "t\tt", LONG]


class Repo:
    """A repository of plain git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = folder / ".git" / "index"
        folder.mkdir()
        self.git("init", "-q", "--object-format=sha1", "--template=")

    def git(self, *args: str, text: bytes = b"") -> bytes:
        """What git says; it must succeed."""
        command = ["git", "-C", str(self.folder), *args]
        return subprocess.run(command, input=text, capture_output=True, check=True).stdout

    def add(self, *lines: str) -> None:
        """Put lines as of `ls-files --stage` into the index."""
        text = "\0".join([*lines, ""]).encode()
        self.git("update-index", "-z", "--add", "--index-info", text=text)

    def files(self, *names: str) -> None:
        """Make files and add them."""
        for name in names:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name}\n")
        self.git("add", "--all")

    def read(self) -> dict[bytes, Entry] | None:
        """The index as gitmem reads it."""
        return indexfile.unpack(self.index.read_bytes())

    def told(self) -> dict[bytes, tuple[int, bytes, tuple[int, ...]]]:
        """The index as git tells it: mode, id and the numbers of the time stamps."""
        listed = self.git("-c", "core.quotePath=off", "ls-files", "--stage", "--debug", "-z")
        found = {}
        pattern = rb"(\d+) (\w{40}) 0\t(.*?)\0  ctime: ([^\n]*)\n((?:  [^\n]*\n){4})"
        for mode, oid, path, first, rest in re.findall(pattern, listed, re.DOTALL):
            numbers = tuple(map(int, re.findall(rb"\d+", first + rest.partition(b"flags")[0])))
            found[path] = (int(mode, 8), bytes.fromhex(oid.decode()), numbers)
        return found


def _numbers(entry: Entry) -> tuple[int, ...]:
    return tuple(int.from_bytes(entry.stat[at : at + 4]) for at in range(0, 36, 4))


def _as_told(entries: dict[bytes, Entry]) -> dict[bytes, tuple[int, bytes, tuple[int, ...]]]:
    return {path: (entry.mode, entry.oid, _numbers(entry)) for path, entry in entries.items()}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A repository whose index a test puts there itself."""
    return Repo(tmp_path_factory.mktemp("shared") / "repo")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An empty repository."""
    return Repo(tmp_path / "repo")


# -- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_git_wrote_is_read(repo: Repo, version: str) -> None:
    """Modes, ids, time stamps and paths of each version, long paths and prefixes included."""
    repo.files("a.md", "topic/b.md")
    repo.git("update-index", "--index-version", version)
    modes = [f"{mode:o} {EMPTY_BLOB.hex()} 0\tm/{mode:o}" for mode in (FILE, EXECUTABLE, LINK)]
    nested = [f"100644 {EMPTY_BLOB.hex()} 0\tdeep/{name}" for name in (*NAMES[4:], "x" * 300, "y")]
    repo.add(*modes, *nested, f"{SUBMODULE:o} {'1' * 40} 0\tother")
    # A flag of its own makes version 3 what it is.
    repo.git("update-index", "--skip-worktree", "a.md")
    wanted = b"\x00\x00\x00" + (b"\x03" if version == "2" else version.encode().translate(_DIGIT))
    assert repo.index.read_bytes()[4:8] == wanted

    found = repo.read()

    assert found is not None
    assert _as_told(found) == repo.told()
    assert len(found) == 6 + len(nested)
    assert indexfile.tree_id(found).hex() == repo.git("write-tree", "--missing-ok").decode().strip()


_DIGIT = bytes.maketrans(b"34", b"\x03\x04")


def test_time_stamps_are_those_of_the_file(repo: Repo) -> None:
    """What `stat` gives, packed, is what git packed, also for times that 32 bits don't hold."""
    repo.files("a.md")
    os.utime(repo.folder / "a.md", ns=(0, (2**32 + 7) * 10**9 + 5))
    repo.git("add", "a.md")
    found = repo.read()

    assert found is not None
    assert found[b"a.md"].stat == indexfile.pack_stat((repo.folder / "a.md").stat())
    assert indexfile.modified_ns(found[b"a.md"].stat) == 7 * 10**9 + 5


def test_extensions_that_may_be_skipped(repo: Repo) -> None:
    """The caches that git keeps behind the entries say nothing of their own."""
    repo.files("a.md", "topic/b.md")
    repo.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "x")
    repo.git("-c", "index.threads=2", "update-index", "--force-untracked-cache")
    repo.git("status")
    data = repo.index.read_bytes()

    assert b"TREE" in data
    assert b"UNTR" in data
    assert _as_told(indexfile.unpack(data) or {}) == repo.told()


def test_a_checksum_that_git_was_told_to_skip(repo: Repo) -> None:
    """Zeros in its place are no damage; anything else that does not fit is."""
    repo.files("a.md")
    data = repo.index.read_bytes()

    assert indexfile.unpack(data[:-20] + bytes(20)) == repo.read()
    assert indexfile.unpack(data[:-1] + bytes([data[-1] ^ 1])) is None


def test_a_conflict_is_left_to_git(repo: Repo) -> None:
    """An index with stages is no state to build on."""
    lines = [f"100644 {EMPTY_BLOB.hex()} {stage}\ta.md" for stage in (1, 2, 3)]
    repo.add(f"100644 {EMPTY_BLOB.hex()} 0\tb.md", *lines)

    assert repo.read() is None


@pytest.mark.parametrize("form", ["split", "sparse"])
def test_an_index_that_is_only_a_part_is_left_to_git(repo: Repo, form: str) -> None:
    """Where other files or trees hold the rest, what is here is not the whole."""
    repo.files("a.md", "topic/b.md", "other/c.md")
    repo.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "x")
    if form == "split":
        repo.git("update-index", "--split-index")
    else:
        repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "topic")
        assert b"sdir" in repo.index.read_bytes()

    assert repo.read() is None


def test_an_unknown_extension_that_must_be_understood(repo: Repo) -> None:
    """One with a small first letter changes what the rest means: a later git may write one."""
    repo.files("a.md")
    body = repo.index.read_bytes()[:-20]
    for name, known in ((b"abcd", False), (b"Abcd", True)):
        data = body + name + (3).to_bytes(4) + b"xyz"
        data += hashlib.sha1(data).digest()
        assert (indexfile.unpack(data) is not None) is known


def test_no_index_file_breaks_the_reader(repo: Repo) -> None:
    """Cut off anywhere it is none, and with any byte changed it is none or some entries."""
    repo.files("a.md", "topic/b.md")
    repo.git("update-index", "--index-version", "4")
    data = repo.index.read_bytes()

    for end in range(len(data)):
        # Also without a checksum, so that the reader gets to see it.
        assert indexfile.unpack(data[:end]) is None
        assert indexfile.unpack(data[: 12 + end % 90] + bytes(20)) is None
    for at in range(len(data) - 20):
        changed = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 : -20] + bytes(20)
        found = indexfile.unpack(changed)
        assert found is None or all(len(entry.oid) == 20 for entry in found.values())


def test_other_files_are_none(tmp_path: Path) -> None:
    """A later version, another file or nothing at all is left to git."""
    good = indexfile.pack({})
    for data in (b"", b"DIRC", b"\0" * 40, b"PACK" + good[4:], good[:7] + b"\x05" + good[8:]):
        body = data[:-20]
        assert indexfile.unpack(data) is None
        assert indexfile.unpack(body + hashlib.sha1(body).digest()) is None
    assert indexfile.unpack(good) == {}


# -- writing ---------------------------------------------------------------------------------------

entries = st.dictionaries(
    st.sampled_from([name.encode() for name in NAMES if name not in ("a", "Z")])
    | st.integers(1, 20).map(lambda length: b"p" * length)
    | st.sampled_from([4094, 4095, 4096, 5000]).map(lambda length: b"l" * length),
    st.builds(
        Entry,
        st.sampled_from([FILE, EXECUTABLE, LINK, SUBMODULE]),
        st.binary(min_size=20, max_size=20).filter(any),
        st.binary(min_size=36, max_size=36),
    ),
    max_size=8,
)


@given(entries)
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_again(given_: dict[bytes, Entry]) -> None:
    """Nothing is lost, whatever the order, and the size is told beforehand."""
    data = indexfile.pack(given_)

    assert indexfile.unpack(data) == given_
    assert len(data) == indexfile.size(given_)
    assert indexfile.pack(dict(reversed(given_.items()))) == data


@given(entries)
@settings(max_examples=25, deadline=None)
def test_git_reads_what_is_written(shared: Repo, given_: dict[bytes, Entry]) -> None:
    """By git's own word the file holds the same of each entry, and makes the same tree."""
    shared.index.write_bytes(indexfile.pack(given_))

    assert shared.told() == _as_told(given_)
    assert (
        shared.git("write-tree", "--missing-ok").decode().strip() == indexfile.tree_id(given_).hex()
    )


def test_the_empty_tree() -> None:
    """No entries are git's empty tree."""
    assert indexfile.tree_id({}).hex() == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_a_tree_is_sorted_as_git_sorts(shared: Repo) -> None:
    """A folder counts as if its name ended in a slash: `a-b`, `a.md`, `a/`, `a0`."""
    blob = Entry(FILE, EMPTY_BLOB)
    given_ = dict.fromkeys((b"a0", b"a/x", b"a.md", b"a-b", b"ab/y", b"ab-", b"ab."), blob)
    shared.index.write_bytes(indexfile.pack(given_))

    assert (
        shared.git("write-tree", "--missing-ok").decode().strip() == indexfile.tree_id(given_).hex()
    )
