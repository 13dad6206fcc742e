"""The git hooks of a tier's repository: put there, taken out, and what they ask the program.

The scripts themselves, and what each does, are in `hooks/` and `docs/hooks.md`. They are a courtesy
to people who use plain git there: nothing relies on them.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitmem import __version__, config, files, layout, mergedriver
from gitmem.errors import BadInputError, RefusedError
from gitmem.git import program, staged
from gitmem.git.lock import cannot_write
from gitmem.layout import Scope, TierPlace
from gitmem.model import entries

State = Literal[
    "current",  # ours, as this gitmem installs it
    "outdated",  # ours, of another gitmem, another interpreter or changed since
    "missing",
    "foreign",  # somebody else's
]
Did = Literal[
    "written",
    "updated",
    "removed",
    "left",  # somebody else's, and NAME.local is taken
]

# The hooks that ask for a look at the entries.
CHECKS = ("pre-commit", "pre-applypatch", "pre-merge-commit")
LOCAL = ".local"
MERGE_DRIVER = "merge-driver"
# The one hook of a server.
SERVER = "pre-receive"

_MARK = re.compile(r"^# gitmem hook: ([a-z-]+).*$", re.MULTILINE)
_MARKED_WITHIN = 100
# As `git merge` leaves them, all three; a text about them has them indented.
_MARKERS = re.compile(rb"^<<<<<<< .*^=======\r?$.*^>>>>>>> ", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^python=.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hook:
    """One script: `local` says whether a hook of the user's own, NAME.local, runs before it."""

    name: str
    state: State
    local: bool


@dataclass(frozen=True, slots=True)
class Status:
    """The hooks of a tier. `active` says whether git looks for hooks in `folder` there.

    `merges` says whether git merges entries there by our rule.
    """

    folder: Path
    active: bool
    hooks: tuple[Hook, ...]
    merges: bool

    @property
    def complete(self) -> bool:
        """Whether git runs all hooks, and the merge driver, as this gitmem has them."""
        return self.active and self.merges and all(hook.state == "current" for hook in self.hooks)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a script. `local` says that a foreign one was moved to or from NAME.local."""

    name: str
    did: Did
    local: bool = False


# -- the scripts -------------------------------------------------------------------------------


def scripts(interpreter: str | None = None) -> dict[str, str]:
    """The text of each script as it is installed, by name, for `interpreter` (None: our own).

    Raises BadInputError `hooks-missing` where the installation has none.
    """
    return {path.name: _for(path, interpreter) for path in _ours(_source())}


def server_script(interpreter: str | None = None) -> str:
    """The text of a server's `pre-receive`, otherwise as `scripts`."""
    return _for(_source() / "server" / SERVER, interpreter)


def _for(path: Path, interpreter: str | None) -> str:
    python = f"python={shlex.quote(interpreter or sys.executable)}"
    return _PYTHON.sub(lambda _: python, _marked(path.read_text("utf-8")), count=1)


def _source() -> Path:
    """The folder with the scripts: in an installed package, else in the checkout."""
    package = Path(__file__).parent
    for folder in (package / "_hooks", package.parent / "hooks"):
        if (folder / "gitmem-common").is_file():
            return folder
    raise BadInputError(
        "hooks-missing", "this installation of gitmem has no hooks", hint="install gitmem again"
    )


def _marked(text: str) -> str:
    return _MARK.sub(rf"# gitmem hook: \1, of gitmem {__version__}", text, count=1)


def _bytes(text: str) -> bytes:
    # The interpreter's path may be no UTF-8.
    return text.encode("utf-8", "surrogateescape")


def _is_ours(path: Path) -> bool:
    """Whether we wrote the file, whichever our version was then. A link is somebody else's."""
    if path.is_symlink() or not path.is_file():
        return False
    begin = path.read_bytes()[:_MARKED_WITHIN].decode("utf-8", "replace")
    return _MARK.search(begin) is not None


# -- putting them there and taking them out ----------------------------------------------------


def status(place: TierPlace) -> Status:
    """Which hooks a tier has. Raises BadInputError `hooks-missing`."""
    folder = layout.hooks_path(place.git_dir)
    asked = ("config", "--type=path", "--get", "core.hooksPath")
    used = program.run(*asked, git_dir=place.git_dir, check=False).text
    return Status(
        folder,
        bool(used) and Path(used) == folder,
        tuple(_hook(folder, name, text) for name, text in scripts().items()),
        mergedriver.is_registered(place.git_dir),
    )


def _hook(folder: Path, name: str, text: str) -> Hook:
    path = folder / name
    local = _local(path).is_file()
    if not path.is_symlink() and not path.exists():
        return Hook(name, "missing", local)
    if not _is_ours(path):
        return Hook(name, "foreign", local)
    current = files.read_if_there(path) == _bytes(text) and path.stat().st_mode & 0o111
    return Hook(name, "current" if current else "outdated", local)


def install(place: TierPlace) -> tuple[Change, ...]:
    """Have a tier's hooks, and its merge driver, as this gitmem has them; what changed.

    A hook of somebody else's is moved to NAME.local, which ours runs first. Where that is taken,
    both stay, and ours is not installed. Raises BadInputError `hooks-missing` and `cannot-write`.
    """
    folder = layout.hooks_path(place.git_dir)
    texts = scripts()
    try:
        folder.mkdir(exist_ok=True)
        stale = [path.name for path in _ours(folder) if path.name not in texts]
        changes = [put(folder, name, text) for name, text in texts.items()]
        for name in stale:
            (folder / name).unlink()
        if mergedriver.register(place.git_dir):
            changes.append(Change(MERGE_DRIVER, "written"))
    except OSError as error:
        raise cannot_write(error) from error
    return (*filter(None, changes), *(Change(name, "removed") for name in stale))


def put(folder: Path, name: str, text: str) -> Change | None:
    """Have one script in a folder; None where nothing had to change. Raises OSError."""
    path, state = folder / name, _hook(folder, name, text).state
    if state == "current":
        return None
    if state == "foreign":
        if _local(path).is_symlink() or _local(path).exists():
            return Change(name, "left", local=True)
        path.rename(_local(path))
    files.write_whole(path, _bytes(text))
    path.chmod(path.stat().st_mode | 0o111)
    return Change(name, "updated" if state == "outdated" else "written", local=state == "foreign")


def uninstall(place: TierPlace) -> tuple[Change, ...]:
    """Take out what `install` wrote, and nothing else; NAME.local gets its own name back.

    Raises BadInputError `cannot-write`.
    """
    try:
        gone = [_taken_out(path) for path in _ours(layout.hooks_path(place.git_dir))]
        if mergedriver.unregister(place.git_dir):
            gone.append(Change(MERGE_DRIVER, "removed"))
    except OSError as error:
        raise cannot_write(error) from error
    return tuple(gone)


def take_out(folder: Path, name: str) -> Change | None:
    """Take one script out of a folder, if it is ours. Raises OSError."""
    return _taken_out(folder / name) if _is_ours(folder / name) else None


def _taken_out(path: Path) -> Change:
    path.unlink()
    local = _local(path).is_file()
    if local:
        _local(path).rename(path)
    return Change(path.name, "removed", local=local)


def _ours(folder: Path) -> list[Path]:
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if path.suffix != LOCAL and _is_ours(path)]


def _local(path: Path) -> Path:
    return path.with_name(path.name + LOCAL)


# -- what they ask -----------------------------------------------------------------------------


def run(name: str, git_dir: Path, index: Path) -> None:
    """Answer the hook `name` of a worktree with this git directory and index file.

    Raises RefusedError `entries-do-not-parse`, with the way out, and BadInputError `hook-unknown`.
    """
    if name not in CHECKS:
        raise BadInputError(
            "hook-unknown",
            f"no hook '{name}' asks gitmem anything",
            hint="gitmem hooks install puts the hooks in place that fit this gitmem",
        )
    faults = check_entries(git_dir, index)
    if faults:
        raise RefusedError(
            "entries-do-not-parse",
            f"nothing is committed: {'an entry' if len(faults) == 1 else f'{len(faults)} entries'}"
            " could not be read by gitmem",
            context="\n".join(f"{path}: {fault}" for path, fault in faults.items()),
            hint=_way_out(name),
        )


def _way_out(name: str) -> str:
    if name == "pre-merge-commit":
        return "put it right, git add it and git commit; or take the merge back: git merge --abort"
    if name == "pre-applypatch":
        return "take the patch back: git am --abort"
    return "put it right, git add it and commit again"


def merge(base: Path, ours: Path, theirs: Path, path: str) -> None:
    """Merge a file of the worktree that git runs in, as its merge driver; as `merge_files`."""
    asked = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    repository = Path(program.run(*asked).text)
    mergedriver.merge_files(base, ours, theirs, path, tier=_tier(repository.resolve()))


def check_entries(git_dir: Path, index: Path) -> dict[str, str]:
    """Why files that the next commit adds or changes are no entries, by path, sorted.

    Looked at is what ends in `.md` and is none of the files that may lie beside the entries.
    """
    tier = _tier(staged.common_dir(git_dir))
    found = staged.changed(git_dir, index)
    wanted = {path: blob for path, blob in found.items() if _is_meant_as_entry(path)}
    regular = [blob.id for blob in wanted.values() if blob.regular]
    texts = staged.contents(git_dir, dict.fromkeys(regular)) if regular else {}
    faults = {
        path: _fault(path, texts.get(blob.id) if blob.regular else None, tier)
        for path, blob in sorted(wanted.items())
    }
    return {path: fault for path, fault in faults.items() if fault is not None}


def check_files(texts: Mapping[str, bytes], tier: Scope) -> dict[str, str]:
    """Why files are no entries, by path from the top of the memory's folder, in the order given.

    For tools that run hooks of their own, such as pre-commit. Looked at is what check_entries
    looks at.
    """
    wanted = (path for path in texts if _is_meant_as_entry(path))
    faults = {path: _fault(path, texts[path], tier) for path in wanted}
    return {path: fault for path, fault in faults.items() if fault is not None}


def _is_meant_as_entry(path: str) -> bool:
    return path.endswith(".md") and path != "README.md" and not path.startswith(".github/")


def _fault(path: str, data: bytes | None, tier: Scope) -> str | None:
    if data is None:
        return "it is a link, an executable or a submodule, not an ordinary file"
    if _MARKERS.search(data):
        return "the markers of a conflict are still in it"
    try:
        entries.parse(path.removesuffix(".md"), data, tier=tier)
    except entries.EntryFault as fault:
        return fault.message
    return None


def _tier(repository: Path) -> Scope:
    user = layout.folder_tier("user", config.user_memory_folder())
    return "user" if user.git_dir.resolve() == repository else "project"
