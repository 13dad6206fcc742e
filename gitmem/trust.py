"""Whose approvals count in a memory: what the user has set, outside the memory's repository.

Who can write to a repository could decide what counts there, so none of this lies in it. Each
memory has a folder of its own below `$XDG_CONFIG_HOME/gitmem/memories/`:

- `settings.json`: the settings, and what the memory is known by;
- `allowed_signers`: the ssh keys that count, in git's own form (ssh-keygen(1), ALLOWED SIGNERS);
- `allowed_keys`: the OpenPGP keys that count, a name and a fingerprint a line;
- `removed_signers.json`: keys that no longer do, each with the last commit up to which it does.

A memory is known as the witness knows it, by its folder's device and inode; by its path, where it
was cloned anew; and by the commit from which on approvals are signed, where it was copied.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from gitmem import config, files, layout
from gitmem.errors import BadInputError, NotFoundError

Approval = Literal["open", "signed"]
OPEN = "open"

# A line of an allowed-signers file, `#` apart: principals, perhaps options, the kind of key, the key.
_SSH_LINE = re.compile(r"^\s*([^#\s]\S*)\s+(?:(.*?)\s+)?((?:ssh|ecdsa|sk)-\S+)\s+(\S+)")
_FINGERPRINT = re.compile(r"(?:[0-9A-F]{40}|[0-9A-F]{64})\Z")
_FILES = ("settings.json", "allowed_signers", "allowed_keys", "removed_signers.json")
_ROOTS = frozenset(layout.root_id(scope) for scope in ("user", "project"))


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user has set for one memory.

    `approval` says whether approvals must be signed, `start` the commit from which on: its
    ancestors and itself are exempt, and so are the closing commits in `closed`, which were there.
    `approvers` are the e-mail addresses, or names in the list of signers, of those who may decide;
    empty for everybody. `own_candidates` says whether one may approve what one proposed.
    `expire_after` is the number of days after which `expire` closes a candidate; None for never.
    """

    approval: Approval = "open"
    start: str | None = None
    closed: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    own_candidates: bool = True
    expire_after: int | None = None


@dataclass(frozen=True, slots=True)
class Signer:
    """A key whose signatures count: for whom it is listed, and its fingerprint.

    `dates` are the times between which git takes signatures by it. They are shown, and no
    safeguard: a commit's time is what its maker writes. `until` is set on a key that was removed:
    it counts for that commit's ancestors and itself, and for the closing commits in `closed`.
    `line` is how it stands in its file.
    """

    name: str
    key: str
    line: str
    dates: str | None = None
    until: str | None = None
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trust:
    """The settings of a memory, and the keys that count in it."""

    settings: Settings = field(default_factory=Settings)
    signers: tuple[Signer, ...] = ()
    removed: tuple[Signer, ...] = ()

    @property
    def signed(self) -> bool:
        """Whether approvals must be signed."""
        return self.settings.approval == "signed"

    def allowed(self) -> bytes:
        """An allowed-signers file with all ssh keys that count or did."""
        listed = (one.line for one in (*self.signers, *self.removed))
        lines = [line for line in listed if ssh_signer(line) is not None]
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


# -- where it lies -----------------------------------------------------------------------------


def read(git_dir: Path) -> Trust:
    """The trust of the memory whose repository is `git_dir`; the defaults where nothing is set.

    Raises BadInputError `settings-unreadable`: what can't be read is not taken for nothing.
    """
    place = _known_as(git_dir)
    if place is None:
        return Trust()
    document = _document(place / "settings.json")
    if not isinstance(document, dict):
        raise _unreadable(place / "settings.json")
    return Trust(_settings(document, place), tuple(_signers(place)), tuple(_removed(place)))


def name(git_dir: Path) -> str:
    """The approval setting as one text: where it is the same, the same commits count.

    `open`, or `signed` with the start commit and a digest of all that is set. Raises as `read`.
    """
    place = _known_as(git_dir)
    if place is None:
        return OPEN
    document = _document(place / "settings.json")
    if not isinstance(document, dict) or document.get("approval") not in (OPEN, "signed"):
        raise _unreadable(place / "settings.json")
    if document["approval"] == OPEN:
        return OPEN
    seen = [files.read_if_there(place / file) or b"" for file in _FILES]
    digests = "".join(hashlib.sha256(data).hexdigest() for data in seen)
    return f"signed {document.get('start')} {hashlib.sha256(digests.encode()).hexdigest()[:16]}"


def folder(git_dir: Path) -> Path:
    """Where the settings of a memory lie, or would."""
    return _known_as(git_dir) or _own_folder(git_dir)


def write(git_dir: Path, trust: Trust) -> None:
    """Record the settings and the keys of a memory. The user's own lines in the lists stay."""
    before = _known_as(git_dir)
    place = _own_folder(git_dir)
    if before is not None and before != place and not place.exists():
        _take_over(before, place)
    place.mkdir(parents=True, exist_ok=True)
    for name in _LISTS:
        _write_list(place, name, trust.signers)
    _write_json(place / "removed_signers.json", [_signer_json(one) for one in trust.removed])
    settings = {"path": str(git_dir), **_settings_json(trust.settings)}
    _write_json(place / "settings.json", settings)


def forget(git_dir: Path) -> None:
    """Delete what is set for a memory, which is about to go itself."""
    with suppress(OSError, BadInputError):
        place = _own_folder(git_dir)
        for file in _FILES:
            (place / file).unlink(missing_ok=True)
        place.rmdir()


def _base() -> Path:
    return config.user_config_dir() / "gitmem" / "memories"


def _own_folder(git_dir: Path) -> Path:
    seen = git_dir.stat()
    return _base() / f"{seen.st_dev}-{seen.st_ino}"


def _known_as(git_dir: Path) -> Path | None:
    """The folder with what is set for this memory, whatever it is known by."""
    base = _base()
    if not base.is_dir():
        return None
    own, others = _own_folder(git_dir), []
    for place in sorted(base.iterdir()):
        document = _document(place / "settings.json")
        if document is None:
            continue
        if not isinstance(document, dict):
            raise _unreadable(place / "settings.json")
        if place == own and not _of_another(git_dir, document):
            return place
        others.append((place, document))
    for place, document in others:
        if document.get("path") == str(git_dir):
            return place
    for place, document in others:
        start = document.get("start")
        if isinstance(start, str) and start not in _ROOTS and _has(git_dir, start):
            return place
    return None


def _of_another(git_dir: Path, document: Mapping[str, object]) -> bool:
    """Whether settings are those of a memory that is gone and whose inode was given out again."""
    path, start = document.get("path"), document.get("start")
    if not isinstance(path, str) or not isinstance(start, str) or path == str(git_dir):
        return False
    return not _has(git_dir, start)


def _has(git_dir: Path, commit: str) -> bool:
    return _holds(git_dir, git_dir.stat().st_ino, commit)


@lru_cache(maxsize=256)
def _holds(git_dir: Path, _inode: int, commit: str) -> bool:
    """Whether a repository has a commit: asked at every look, and a process each time."""
    from gitmem.git.bulk import Batch

    return Batch(git_dir).read(commit) is not None


def _take_over(before: Path, place: Path) -> None:
    """Copy the lists of a memory that is known by something else now."""
    place.mkdir(parents=True)
    for name in _LISTS:
        data = files.read_if_there(before / name)
        if data is not None:
            files.write_whole(place / name, data)


# -- the files ---------------------------------------------------------------------------------


def _document(path: Path) -> object:
    data = files.read_if_there(path)
    if data is None:
        return None
    try:
        document: object = json.loads(data)
    except ValueError as error:
        raise _unreadable(path) from error
    return document


def _unreadable(path: Path) -> BadInputError:
    return BadInputError(
        "settings-unreadable",
        f"'{path}' can't be read, so nobody knows which approvals count",
        hint="put it right, or remove it and set up again: gitmem config approval signed",
    )


def _settings(document: dict[str, Any], place: Path) -> Settings:
    approval, start = document.get("approval", "open"), document.get("start")
    closed, approvers = document.get("closed", []), document.get("approvers", [])
    own, expire_after = document.get("ownCandidates", True), document.get("expireAfter")
    texts = [*closed, *approvers] if isinstance(closed, list | tuple) else [None]
    fits = approval in ("open", "signed") and isinstance(own, bool)
    fits = fits and (expire_after is None or type(expire_after) is int)
    if not fits or not all(isinstance(text, str) for text in [*texts, start or ""]):
        raise _unreadable(place / "settings.json")
    return Settings(approval, start, tuple(closed), tuple(approvers), own, expire_after)


def _settings_json(settings: Settings) -> dict[str, Any]:
    return {
        "approval": settings.approval,
        "start": settings.start,
        "closed": list(settings.closed),
        "approvers": list(settings.approvers),
        "ownCandidates": settings.own_candidates,
        "expireAfter": settings.expire_after,
    }


def _lines(path: Path) -> list[str]:
    data = files.read_if_there(path)
    return [] if data is None else data.decode("utf-8", "surrogateescape").splitlines()


def _signers(place: Path) -> Iterator[Signer]:
    for name, signer_in in _LISTS.items():
        yield from filter(None, map(signer_in, _lines(place / name)))


def signers_in(path: Path) -> tuple[Signer, ...]:
    """The keys in one list for both: lines of git's allowed-signers form, and of OpenPGP keys."""
    found = (ssh_signer(line) or pgp_signer(line) for line in _lines(path))
    return tuple(one for one in found if one is not None)


def ssh_signer(line: str) -> Signer | None:
    """The signer that a line of an allowed-signers file names; None for a comment and the like.

    None too for an authority that signs other keys: which those are nobody could say here.
    """
    match = _SSH_LINE.match(line)
    if match is None:
        return None
    from gitmem.git import signatures

    name, options, kind, data = match.groups()
    told = (options or "").split(",")
    try:
        key = signatures.ssh_key(f"{kind} {data}").fingerprint
    except ValueError:
        return None
    if "cert-authority" in told:
        return None
    dates = [part for part in told if part.startswith("valid-")]
    return Signer(name, key, line.strip(), ", ".join(dates) or None)


def pgp_signer(line: str) -> Signer | None:
    """The signer that a line of the list of OpenPGP keys names; None for a comment and the like."""
    name, _, key = line.strip().rpartition(" ")
    if name[:1] in ("", "#") or not _FINGERPRINT.match(key):
        return None
    return Signer(name.strip(), key, line.strip())


_LISTS = {"allowed_signers": ssh_signer, "allowed_keys": pgp_signer}


def _removed(place: Path) -> Iterator[Signer]:
    path = place / "removed_signers.json"
    document: Any = _document(path)
    if document is None:
        return
    try:
        for item in list(document):
            until, closed = item["until"], tuple(item["closed"])
            yield Signer(item["name"], item["key"], item["line"], None, until, closed)
    except (TypeError, LookupError) as error:
        raise _unreadable(path) from error


def _signer_json(signer: Signer) -> dict[str, Any]:
    return {
        "name": signer.name,
        "key": signer.key,
        "line": signer.line,
        "until": signer.until,
        "closed": list(signer.closed),
    }


def _write_json(path: Path, document: object) -> None:
    files.write_whole(path, (json.dumps(document, indent=2) + "\n").encode())


def _write_list(place: Path, name: str, signers: Iterable[Signer]) -> None:
    """Have just these signers in a list; its comments, and what names none, stay as they are."""
    signer_in, path = _LISTS[name], place / name
    wanted = [one.line for one in signers if signer_in(one.line) is not None]
    kept = [line for line in _lines(path) if line.strip() in wanted or signer_in(line) is None]
    there = {line.strip() for line in kept}
    kept += [line for line in wanted if line not in there]
    if kept or path.exists():
        text = "".join(f"{line}\n" for line in kept)
        files.write_whole(path, text.encode("utf-8", "surrogateescape"))


# -- keys come and go --------------------------------------------------------------------------


def with_signer(trust: Trust, signer: Signer) -> Trust:
    """`trust` with one more key that counts."""
    others = tuple(one for one in trust.signers if (one.name, one.key) != (signer.name, signer.key))
    return replace(trust, signers=(*others, signer))


def without_signer(trust: Trust, key: str, until: str, closed: Iterable[str]) -> Trust:
    """`trust` in which a key counts up to the commit `until` alone, and for the closings `closed`.

    Raises NotFoundError `no-such-signer`.
    """
    gone = [one for one in trust.signers if one.key == key]
    if not gone:
        raise NotFoundError(
            "no-such-signer",
            f"no key {key} is listed",
            hint="gitmem signers list shows those that are",
        )
    ended = tuple(replace(one, until=until, closed=tuple(closed)) for one in gone)
    left = tuple(one for one in trust.signers if one.key != key)
    return replace(trust, signers=left, removed=(*trust.removed, *ended))
