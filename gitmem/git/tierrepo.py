"""A tier's repository: made whole or not at all, mended, linked to its folder, taken apart.

The git program does it, since worktrees and the format of a repository are its own affair.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from gitmem import files, layout
from gitmem.errors import BadInputError
from gitmem.git import checkout, discover, program, refs
from gitmem.layout import Scope, TierPlace

Mended = Literal["config", "main", "head", "folders"]

_DRAFT = ".gitmem-new-"
# Whatever a user's own settings say: no hook of theirs runs here, and no later format is made.
_PLAIN = (
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "init.defaultObjectFormat=sha1",
    "-c",
    "init.defaultRefFormat=files",
    "-c",
    "init.defaultSubmodulePathConfig=false",
)


@contextmanager
def draft(parent: Path) -> Iterator[Path]:
    """A folder in `parent` to build something in and move it into place; what is left in it goes.

    Removes what killed processes left of theirs.
    """
    for left in parent.glob(f"{_DRAFT}*"):
        ours = left.is_dir() and not left.is_symlink()
        if ours and not _runs(left.name.removeprefix(_DRAFT).partition("-")[0]):
            shutil.rmtree(left)
    made = Path(tempfile.mkdtemp(dir=parent, prefix=f"{_DRAFT}{os.getpid()}-"))
    try:
        yield made
    finally:
        shutil.rmtree(made)


def create(git_dir: Path, scope: Scope, *, bare: bool) -> bool:
    """Make a tier's repository, config and first commit; False where there is one already."""
    if git_dir.exists():
        return False
    git_dir.parent.mkdir(parents=True, exist_ok=True)
    with draft(git_dir.parent if bare else git_dir.parent.parent) as place:
        new = place / "new.git"
        new_bare(new)
        _write_config(new, layout.tier_config(git_dir, bare=bare))
        layout.hooks_path(new).mkdir()
        _write_root(new, scope)
        return _put(new, git_dir)


def mend(git_dir: Path, scope: Scope, *, bare: bool) -> tuple[Mended, ...]:
    """Put right what a tier's repository lacks; what was: `config`, `main`, `head`, `folders`.

    Raises BadInputError `symbolic-ref` where `memory/main` is one.
    """
    mended: list[Mended] = []
    for needed in (git_dir / "objects", git_dir / "refs", layout.hooks_path(git_dir)):
        if not needed.is_dir():
            needed.mkdir()
            mended.append("folders")
    if _mend_config(git_dir, layout.tier_config(git_dir, bare=bare)):
        mended.append("config")
    if _mend_main(git_dir, scope):
        mended.append("main")
    if (
        bare
        and program.run("symbolic-ref", "HEAD", git_dir=git_dir, check=False).text != layout.MAIN
    ):
        program.run("symbolic-ref", "HEAD", layout.MAIN, git_dir=git_dir)
        mended.append("head")
    return tuple(dict.fromkeys(mended))


def take_over(source: Path, target: Path) -> None:
    """Move a tier's repository to another place, from one file system to another if need be."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with draft(target.parent) as place:
            shutil.copytree(source, place / "copy.git", symlinks=True)
            (place / "copy.git").rename(target)
        shutil.rmtree(source)
    # What they say of files is no longer so, and would make missing ones look deleted by hand.
    for name in ("index", "gitmem-index"):
        (target / name).unlink(missing_ok=True)


def is_linked(tier: TierPlace) -> bool:
    """Whether the tier's folder is there and git knows it."""
    if tier.folder is None or not tier.linked:
        return tier.folder is not None and tier.folder.is_dir()
    kept = all((tier.admin_dir / name).is_file() for name in ("HEAD", "commondir", "gitdir"))
    return kept and discover.linked_to(tier.folder) == tier.admin_dir


def check_free(tier: TierPlace) -> None:
    """Raise BadInputError `folder-in-the-way` where something else has the place of the folder."""
    folder = tier.folder or tier.git_dir
    for place in (folder.parent, folder):
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise _in_the_way(place, "it is no folder")
    dot_git = folder / ".git"
    link = discover.linked_to(folder)
    other = link is not None and link.exists() and link != tier.admin_dir
    if tier.linked and (other or dot_git.is_symlink() or dot_git.is_dir()):
        raise _in_the_way(folder, "it is a git repository of its own")


def restore_folder(tier: TierPlace) -> bool:
    """Make the tier's folder again where it is missing or no longer linked; whether that was so.

    Files that lie there are left alone; those of `memory/main` that are missing are written. Not
    to be called inside `checkout.deciding`. Raises as that does, and BadInputError
    `folder-in-the-way` where something else has the place.
    """
    if tier.folder is None or is_linked(tier):
        return False
    check_free(tier)
    with checkout.deciding(place_of(tier)):
        if tier.linked and not is_linked(tier):
            _link(tier, tier.folder)
        checkout.mend(place_of(tier))
    return True


def fill_folder(tier: TierPlace) -> None:
    """Write the files of `memory/main` that the folder lacks. Raises as `checkout.deciding`."""
    with checkout.deciding(place_of(tier)):
        checkout.mend(place_of(tier))


def catch_up(tier: TierPlace) -> bool:
    """End what a killed process began, and bring a lagging folder to `memory/main`; whether that was so."""
    place = place_of(tier)
    if not checkout.lags(place):
        return False
    with checkout.deciding(place):
        checkout.mend(place)
    return True


def place_of(tier: TierPlace) -> checkout.Place:
    """The tier as `checkout` knows it."""
    return checkout.Place(tier.git_dir, tier.folder, tier.admin_dir)


def _link(tier: TierPlace, folder: Path) -> None:
    """Have git make what it keeps about a worktree elsewhere, and move that to the folder."""
    folder.parent.mkdir(exist_ok=True)
    forget_folder(tier.git_dir)
    branch = layout.MAIN.removeprefix("refs/heads/")
    with draft(folder.parent) as place:
        new = place / layout.WORKTREE
        # Without files, which git would convert as the user's attributes say.
        add = (*_PLAIN, "worktree", "add", "--force", "--quiet", "--no-checkout", str(new), branch)
        program.run(*add, git_dir=tier.git_dir)
        if folder.is_dir():
            (new / ".git").replace(folder / ".git")
        else:
            new.replace(folder)
    discover.mend_links(tier)


def own_files(tier: TierPlace, git_dir: Path) -> tuple[Path, ...]:
    """The files in the tier's folder that its commit does not hold just so, sorted.

    `git_dir` is where the repository lies now. Compared by content, since an index may be told to
    look away from a file.
    """
    if tier.folder is None:
        return ()
    committed = _committed(tier, git_dir)
    return tuple(
        file
        for file in files_in(tier.folder)
        if file not in committed or committed[file] != _blob_id(file)
    )


def take_out_files(tier: TierPlace, git_dir: Path) -> tuple[Path, ...]:
    """Empty the tier's folder but for its user's own files, which are given back, and unlink it."""
    if tier.folder is None or not tier.folder.is_dir():
        return ()
    own = own_files(tier, git_dir)
    # The link goes first: `init` after a kill then sees a folder to fill, not one with deletions.
    if tier.linked and discover.linked_to(tier.folder) is not None:
        (tier.folder / ".git").unlink()
    for file in _committed(tier, git_dir):
        if file not in own and file.is_file() and not _through_link(tier.folder, file):
            file.unlink()
            _remove_emptied(tier.folder, file.parent)
    remove_empty(tier.folder)
    return own


def remove_empty(folder: Path) -> None:
    """Remove a folder that holds nothing but folders; one with a file somewhere stays as it is."""
    if folder.is_symlink():
        return
    places = []
    for place, folders, others in os.walk(folder, topdown=False):
        if others or any(Path(place, name).is_symlink() for name in folders):
            return
        places.append(Path(place))
    for emptied in places:
        emptied.rmdir()


def destroy(git_dir: Path) -> None:
    """Remove a repository: at once for whoever looks for it, whenever the removal ends."""
    with draft(git_dir.parent) as place:
        git_dir.rename(place / git_dir.name)


def add_remote(git_dir: Path, name: str, url: str) -> None:
    """Make or set the tier's remote."""
    seen = set()
    for key, value in layout.remote_config(name, url):
        how = "--add" if key in seen else "--replace-all"
        program.run("config", "--file", str(git_dir / "config"), how, key, value)
        seen.add(key)


def remove_remote(git_dir: Path, name: str) -> None:
    """Take a remote out of the tier's config; what was fetched of it stays."""
    args = ("config", "--file", str(git_dir / "config"), "--remove-section", f"remote.{name}")
    program.run(*args)


def has_remote(git_dir: Path) -> bool:
    """Whether the tier has a remote of its own."""
    args = ("config", "--file", str(git_dir / "config"), "--get-regexp", r"^remote\..*\.url$")
    return program.run(*args, check=False).code == 0


def new_bare(place: Path) -> None:
    """Make an empty bare repository with nothing of the user's set-up in it.

    SHA-1 and plain ref files, said explicitly: git 3.0 would make what libgit2 can't open.
    """
    branch = layout.MAIN.removeprefix("refs/heads/")
    program.run(
        *(*_PLAIN, "init", "--quiet", "--bare", "--template=", "--object-format=sha1"),
        *(f"--initial-branch={branch}", str(place)),
    )


def tree_paths(git_dir: Path, commit: str) -> dict[bytes, str]:
    """The regular files in a commit's tree: the blob's id in hex by path."""
    listed = program.run("ls-tree", "-r", "-z", "--full-tree", commit, git_dir=git_dir).out
    lines = (line.partition(b"\t") for line in listed.split(b"\0") if line.startswith(b"100"))
    return {path: head.split()[2].decode() for head, _, path in lines}


def is_ancestor(git_dir: Path, older: str, newer: str) -> bool:
    """Whether the commit `older` is in the history of `newer`; one that is not there is not."""
    args = ("merge-base", "--is-ancestor", older, newer)
    return program.run(*args, git_dir=git_dir, check=False).code == 0


def refs_containing(git_dir: Path, commit: str) -> list[str]:
    """The refs that reach `commit`, by full name, sorted."""
    args = ("for-each-ref", f"--contains={commit}", "--format=%(refname)")
    return program.run(*args, git_dir=git_dir).text.splitlines()


def merge_authors(git_dir: Path, tip: str) -> list[str]:
    """The author of each merge on the first-parent line of `tip`: free text, as name and address."""
    args = (
        "log",
        "--first-parent",
        "--merges",
        "--format=%an <%ae>",
        "-z",
        "--encoding=UTF-8",
        tip,
    )
    listed = program.run(*args, git_dir=git_dir).out.split(b"\0")
    return [author.decode("utf-8", "replace").strip() for author in listed if author.strip()]


def forget_folder(git_dir: Path) -> None:
    """Remove what a repository keeps about its linked folder."""
    admin = layout.worktree_admin(git_dir)
    if admin.is_dir():
        shutil.rmtree(admin)


def files_in(folder: Path) -> tuple[Path, ...]:
    """All that is no folder below `folder`, sorted; nothing where `folder` is a link."""
    return tuple(_files(folder)) if folder.is_dir() and not folder.is_symlink() else ()


def _committed(tier: TierPlace, git_dir: Path) -> dict[Path, str]:
    if tier.folder is None:
        return {}
    admin = layout.worktree_admin(git_dir)
    tree = tree_paths(admin if (admin / "HEAD").is_file() else git_dir, "HEAD")
    return {tier.folder / os.fsdecode(path): blob for path, blob in tree.items()}


def _files(folder: Path) -> Iterator[Path]:
    """All that is no folder below `folder`, without following links, but for git's own `.git`."""
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            if entry != folder / ".git":
                yield from _files(entry)
        elif entry.name != ".git":
            yield entry


def _through_link(folder: Path, file: Path) -> bool:
    within = file.relative_to(folder)
    return any((folder / part).is_symlink() for part in (within, *within.parents))


def _remove_emptied(folder: Path, place: Path) -> None:
    while place != folder and not any(place.iterdir()):
        place.rmdir()
        place = place.parent


def _blob_id(file: Path) -> str | None:
    if file.is_symlink() or not file.is_file():
        return None
    content = file.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _runs(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def _put(new: Path, place: Path) -> bool:
    """Move a folder into its place; False if another process was first."""
    try:
        new.rename(place)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            return False
        raise
    return True


def _in_the_way(place: Path, why: str) -> BadInputError:
    return BadInputError(
        "folder-in-the-way",
        f"'{place}' has the place of the memory folder",
        context=why,
        hint="move it away, then run 'gitmem init' again",
    )


def _write_config(git_dir: Path, settings: dict[str, str]) -> None:
    """Write to the config of a repository just made; git's own answers about the disk stay."""
    text = (git_dir / "config").read_bytes()
    text = text.replace(b"bare = true", b"bare = " + settings["core.bare"].encode())
    section = "core"
    for key, value in settings.items():
        header, _, name = key.partition(".")
        if header != section:
            text += os.fsencode(f"[{header}]\n")
            section = header
        if key != "core.bare":
            text += os.fsencode(f"\t{name} = {_quoted(value)}\n")
    files.write_whole(git_dir / "config", text)


def _quoted(value: str) -> str:
    """A config value as git reads it back."""
    if re.fullmatch(r"[A-Za-z0-9/._-]+", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _mend_config(git_dir: Path, settings: dict[str, str]) -> bool:
    wrong = wrong_config(git_dir, settings)
    for key, value in wrong.items():
        program.run("config", "--file", str(git_dir / "config"), "--replace-all", key, value)
    return bool(wrong)


def wrong_config(git_dir: Path, settings: dict[str, str]) -> dict[str, str]:
    """Those of `settings` that the repository's own config does not have so."""
    listed = program.run("config", "--file", str(git_dir / "config"), "--list", "-z").out
    have = dict(os.fsdecode(item).partition("\n")[::2] for item in listed.split(b"\0"))
    return {key: value for key, value in settings.items() if have.get(key.lower()) != value}


def _mend_main(git_dir: Path, scope: Scope) -> bool:
    if refs.read(git_dir, layout.MAIN) is not None:
        return False
    _write_root(git_dir, scope)
    return True


def _write_root(git_dir: Path, scope: Scope) -> None:
    """Write the first commit and have `memory/main` begin with it, unless that ref is there."""
    hash_object = ("hash-object", "-w", "--stdin", "-t")
    program.run(*hash_object, "tree", git_dir=git_dir)
    root = program.run(
        *hash_object, "commit", git_dir=git_dir, input=layout.root_commit(scope)
    ).text
    program.run(*_PLAIN, "update-ref", layout.MAIN, root, "0" * 40, git_dir=git_dir)
