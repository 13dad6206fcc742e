"""A folder with links and other things in every position: nothing is read or written through one."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.git import folder as folder_module
from gitmem.git import indexfile
from gitmem.git.folder import Folder, Found, Kind, blob_id, safe

MINE = "a person's own\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder, with a person's file and folder beside it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text(MINE)
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def here(root: Path) -> Iterator[Folder]:
    """That folder, opened."""
    with Folder(root) as opened:
        yield opened


def _untouched(root: Path) -> bool:
    outside = root.parent / "outside"
    return [(path.name, path.read_text()) for path in outside.iterdir()] == [("x.md", MINE)]


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


# -- names -----------------------------------------------------------------------------------------

_PARTS = ["", ".git", ".GIT", "git~1", "GiT~1", "git", " ", ".", "..", ":", "::$INDEX_ALLOCATION"]
_PARTS += ["\\", "\u200c", "\u206f", "\ufeff", "a", "é", "~1", "~2", ".gitmodules"]
_NAMES = st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3).map("".join)


@given(st.lists(_NAMES, min_size=1, max_size=2).map("/".join).filter(bool))
@settings(max_examples=150, deadline=None)
def test_what_git_refuses_is_not_safe(names: Callable[[str], bool], path: str) -> None:
    """No path that git would not put into its index, on whatever system, is taken for safe."""
    assert names(path) or not safe(path.encode())


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bool]:
    """Whether git takes a path where HFS+ and NTFS count."""
    place = tmp_path_factory.mktemp("names")
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    config = ["-c", "core.protectHFS=true", "-c", "core.protectNTFS=true"]

    def taken(path: str) -> bool:
        (place / ".git" / "index").unlink(missing_ok=True)
        entry = f"100644,{'1' * 40},{path}"
        command = ["git", "-C", str(place), *config, "update-index", "--add", "--cacheinfo", entry]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    return taken


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        "a/.GIT/b",
        ".g\u200cit",
        ".git ",
        ".git...",
        ".git:x",
        "git~1",
        "GIT~1.",
        "git~1:x",
        "",
        "a//b",
        "/a",
        "a/",
        ".",
        "a/../b",
        "a\\b",
        ".\ufeffgit",
    ],
)
def test_unsafe_paths(path: str) -> None:
    """Each form of git's own folder, each step out of the folder and each empty name."""
    assert not safe(path.encode())


@pytest.mark.parametrize(
    "path",
    [
        "a.md",
        ".gitignore",
        ".github/x",
        "git",
        "git~2",
        "..a",
        "a..",
        "é/缩.md",
        "...",
        "x.git",
        "a:b",
    ],
)
def test_safe_paths(path: str) -> None:
    """Names that only look like them are a person's to take; so is one that is no UTF-8."""
    assert safe(path.encode())
    assert safe(path.encode() + b"\xff")


# -- looking ---------------------------------------------------------------------------------------


def _a_file(path: Path) -> None:
    path.write_text(MINE)


def _an_executable(path: Path) -> None:
    path.write_text(MINE)
    path.chmod(0o755)


def _a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind", "content"),
    [
        (lambda path: None, Kind.MISSING, None),
        (_a_file, Kind.FILE, MINE),
        (_an_executable, Kind.FILE, MINE),
        (lambda path: path.symlink_to("../outside/x.md"), Kind.LINK, "../outside/x.md"),
        (lambda path: path.symlink_to("nowhere"), Kind.LINK, "nowhere"),
        (lambda path: path.symlink_to("x.md"), Kind.LINK, "x.md"),
        (lambda path: path.symlink_to("../outside"), Kind.LINK, "../outside"),
        (lambda path: path.mkdir(), Kind.FOLDER, None),
        (os.mkfifo, Kind.OTHER, None),
        (_a_socket, Kind.OTHER, None),
    ],
    ids=range(10),
)
def test_what_lies_at_a_path(
    root: Path, here: Folder, make: Callable[[Path], None], kind: Kind, content: str | None
) -> None:
    """Each thing is told as what it is, with the id that git gives it; only plain files are read."""
    make(root / "x.md")
    files = _open_files()

    found = here.look(b"x.md")

    assert found.kind is kind
    assert found.oid == (None if content is None else blob_id(content.encode()))
    if content is not None:
        assert found.stat == here.stamps(b"x.md") == indexfile.pack_stat((root / "x.md").lstat())
    assert here.read(b"x.md") == (MINE.encode() if kind is Kind.FILE else None)
    # Behind it lies nothing, unless it is a folder.
    beyond = {Kind.LINK: Kind.BEHIND_LINK, Kind.MISSING: Kind.MISSING, Kind.FOLDER: Kind.MISSING}
    assert here.look(b"x.md/x.md") == Found(beyond.get(kind, Kind.BEHIND_FILE))
    assert here.read(b"x.md/x.md") is None
    assert _open_files() == files


@pytest.mark.parametrize("content", [b"", b"x\r\n", bytes(range(256)), b"x" * 200_000])
def test_ids_are_gits(tmp_path: Path, content: bytes) -> None:
    """A blob's id is the one that git computes."""
    command = ["git", "hash-object", "--stdin", "--no-filters"]
    told = subprocess.run(command, input=content, capture_output=True, check=True, cwd=tmp_path)

    assert blob_id(content).hex() == told.stdout.decode().strip()


# -- writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [b"link/x.md", b"a/link/x.md", b"link", b"a/link/new/x.md"])
def test_nothing_goes_through_a_link(root: Path, here: Folder, path: bytes) -> None:
    """A link to a person's folder, at the top or below, is neither written through nor cleaned."""
    (root / "a").mkdir()
    for place in (root / "link", root / "a" / "link"):
        place.symlink_to(root.parent / "outside")
    (root.parent / "outside" / ".gitmem-new").write_text(MINE)

    here.clean(path)
    for act in (lambda: here.write(path, b"ours"), lambda: here.remove(path)):
        if path == b"link":
            # The link itself is a file of its folder.
            act()
            continue
        with pytest.raises(folder_module._BlockedError):
            act()

    (root.parent / "outside" / ".gitmem-new").unlink()
    assert _untouched(root)


def test_a_write_is_whole_and_replaces_what_is_there(root: Path, here: Folder) -> None:
    """The file has its mode whatever the umask, takes a link's place, and its folders are made."""
    (root / "x.md").symlink_to("../outside/x.md")
    before = os.umask(0o077)
    try:
        here.write(b"x.md", b"one")
        here.write(b"a/b/y.md", b"two", executable=True)
    finally:
        os.umask(before)

    assert here.read(b"x.md") == b"one"
    assert stat.S_IMODE((root / "x.md").lstat().st_mode) == 0o644
    assert stat.S_IMODE((root / "a/b/y.md").lstat().st_mode) == 0o755
    assert _untouched(root)


def test_a_write_that_fails_leaves_nothing(root: Path, here: Folder) -> None:
    """A folder in the way, or a draft that a killed process left: what is there stays."""
    (root / "x.md").mkdir()
    (root / "x.md" / "inner").write_text(MINE)
    (root / ".gitmem-new").write_text("left over")

    with pytest.raises(FileExistsError):
        here.write(b"x.md", b"ours")
    here.clean(b"x.md")
    with pytest.raises(IsADirectoryError):
        here.write(b"x.md", b"ours")

    assert sorted(path.name for path in root.rglob("*")) == ["inner", "x.md"]


def test_a_link_that_comes_in_between(root: Path, here: Folder) -> None:
    """While somebody swaps a folder for a link and back, no file ever appears behind the link."""
    (root / "a").mkdir()
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            # Now and then `write` makes the folder in the moment in which there is none.
            with contextlib.suppress(OSError):
                (root / "a").rename(root / "real")
                (root / "a").symlink_to(root.parent / "outside")
            with contextlib.suppress(OSError):
                (root / "a").unlink()
                (root / "real").rename(root / "a")

    other = threading.Thread(target=swap)
    other.start()
    try:
        for number in range(500):
            with contextlib.suppress(OSError, folder_module._BlockedError):
                here.write(b"a/new-%d.md" % number, b"ours")
                here.remove(b"a/x.md")
    finally:
        stop.set()
        other.join()

    assert _untouched(root)


# -- removing and walking --------------------------------------------------------------------------


def test_only_the_file_and_emptied_folders_go(root: Path, here: Folder) -> None:
    """A folder with anything else in it stays; one that is removed twice is an error."""
    for path in ("a/b/c/x.md", "a/y.md"):
        here.write(path.encode(), b"")

    here.remove(b"a/b/c/x.md")

    assert sorted(path.name for path in root.rglob("*")) == ["a", "y.md"]
    with pytest.raises(FileNotFoundError):
        here.remove(b"a/b/c/x.md")
    here.remove(b"a/y.md")
    assert list(root.iterdir()) == []


def test_a_walk_sees_files_and_links_alone(root: Path, here: Folder) -> None:
    """In order of bytes, without git's own, not into links, and with names that are no UTF-8."""
    for path in ("b.md", "a/z.md", ".git/config", "a/.git", "a-b.md", ".hidden"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("")
    (root / "link").symlink_to(root.parent / "outside")
    (root / "empty").mkdir()
    (root / os.fsdecode(b"\xff.md")).write_text("")

    assert list(here.walk()) == [b".hidden", b"a/z.md", b"a-b.md", b"b.md", b"link", b"\xff.md"]


def test_no_file_is_left_open(root: Path) -> None:
    """Whatever happens in it, a folder that is closed holds nothing open."""
    files = _open_files()
    (root / "link").symlink_to(".")
    with Folder(root) as here:
        here.write(b"a/b/x.md", b"")
        for path in (b"a/b/x.md", b"a", b"link/x", b"a/b/x.md/y", b"none/x"):
            here.look(path)
            here.read(path)
            here.clean(path)
        list(here.walk())

    assert _open_files() == files
