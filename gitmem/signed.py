"""The trust of a memory whose approvals must be signed: which commits and closings count.

Signatures are checked with one git process for many commits, and what was found is remembered by
commit in the user's cache, for one list of keys. `verify` does not ask it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem import config, files
from gitmem.errors import BadInputError
from gitmem.git import signatures
from gitmem.git.bulk import NOTHING_BORROWED, Borrowed
from gitmem.git.objects import Objects
from gitmem.git.signatures import Signature
from gitmem.model.approval import kind_of
from gitmem.model.history import Commit
from gitmem.trust import Settings, Signer, Trust

_VERSION = 1


class Signed:
    """Says of an apply, revert or sync whether it counts: an `approval.Trust`.

    Exempt are the start commit and its ancestors. With `remember` false nothing is looked up in
    the cache, nor written there.
    """

    def __init__(
        self,
        objects: Objects,
        git_dir: Path,
        trust: Trust,
        *,
        remember: bool = True,
        borrowed: Borrowed = NOTHING_BORROWED,
    ) -> None:
        self.objects = objects
        self.trust = trust
        self._git_dir = git_dir
        self._borrowed = borrowed
        self._allowed = trust.allowed()
        self._ancestors: dict[str, frozenset[str]] = {}
        self._remember = remember
        self._found: dict[str, Signature] = self._remembered() if remember else {}

    def __call__(self, commit: Commit) -> bool:
        """Whether `commit` counts as what it is."""
        return self.is_exempt(commit.id) or self.signature(commit.id) is not None

    def is_exempt(self, commit: str) -> bool:
        """Whether a commit, a closing one too, stood before approvals had to be signed."""
        settings = self.trust.settings
        if commit in settings.closed:
            return True
        return settings.start is not None and commit in self._up_to(settings.start)

    def signature(self, commit: str) -> Signature | None:
        """The signature of a commit, if it is one that counts."""
        self._check([commit])
        found = self._found[commit]
        return found if self._counts(found, commit) else None

    def closes(self, closing: str, tag: str) -> bool:
        """Whether a closing commit counts, to which the tag object `tag` points."""
        if self.is_exempt(closing):
            return True
        if tag not in self._found:
            of_tag = signatures.of_tag(self._git_dir, tag, self._allowed, self._borrowed)
            self._check_known(of_tag)
            self._found[tag] = of_tag
            self._write()
        return self.signature(closing) is not None and self._counts(self._found[tag], closing)

    def prepare(self, tip: str) -> None:
        """Check all approvals that the history of `tip` may have, with one process."""
        waiting, seen = [tip], set()
        wanted: list[str] = []
        while waiting:
            here = waiting.pop()
            if here in seen or self.is_exempt(here):
                continue
            seen.add(here)
            commit = self.objects.commit(here)
            waiting.extend(commit.parents)
            if kind_of(commit) not in ("start", "direct"):
                wanted.append(here)
        self._check(wanted)

    def prepare_closings(self, closings: Iterable[str]) -> None:
        """Check these closing commits with one process."""
        self._check(one for one in closings if not self.is_exempt(one))

    def _up_to(self, tip: str) -> frozenset[str]:
        """The commit `tip` and its ancestors; nothing where it is not here."""
        known = self._ancestors.get(tip)
        if known is None:
            waiting, seen = ([tip] if self.objects.exists(tip) else []), set[str]()
            while waiting:
                here = waiting.pop()
                if here not in seen:
                    seen.add(here)
                    waiting.extend(self.objects.commit(here).parents)
            known = self._ancestors[tip] = frozenset(seen)
        return known

    def _counts(self, found: Signature, commit: str) -> bool:
        if any(one.key == found.key for one in self.trust.signers):
            return True
        return any(
            commit in one.closed or (one.until is not None and commit in self._up_to(one.until))
            for one in self.trust.removed
            if one.key == found.key
        )

    def _check(self, commits: Iterable[str]) -> None:
        wanted = [id_ for id_ in commits if id_ not in self._found]
        if not wanted:
            return
        found = signatures.of_commits(self._git_dir, wanted, self._allowed, self._borrowed)
        for one in found.values():
            self._check_known(one)
        self._found.update(found)
        self._write()

    def _check_known(self, found: Signature) -> None:
        """Raise BadInputError `key-missing` where a key that counts is not there to check with."""
        for one in (*self.trust.signers, *self.trust.removed):
            if found.missing is not None and one.key.endswith(found.missing):
                raise BadInputError(
                    "key-missing",
                    f"the OpenPGP key of {one.name} is not in your keyring: nobody knows "
                    "whether what it signed counts",
                    context=one.key,
                    hint=f"gpg --import a file with it, or: gpg --recv-keys {one.key}",
                )

    # -- the cache -------------------------------------------------------------------------

    def _path(self) -> Path:
        seen = self._git_dir.stat()
        return config.cache_dir() / "signatures" / f"{seen.st_dev}-{seen.st_ino}.json"

    def _key(self) -> list[object]:
        return [_VERSION, hashlib.sha256(self._allowed).hexdigest()]

    def _remembered(self) -> dict[str, Signature]:
        try:
            data = files.read_if_there(self._path())
            document = json.loads(data) if data is not None else None
            if not isinstance(document, dict) or document.get("of") != self._key():
                return {}
            found: Mapping[str, list[str | None]] = document["found"]
            known = {id_: Signature(key, signer) for id_, (key, signer) in found.items()}
        except (
            OSError,
            BadInputError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
        ):
            return {}
        texts = (text for item in known.values() for text in item[:2])
        return known if all(text is None or isinstance(text, str) for text in texts) else {}

    def _write(self) -> None:
        """Remember the good ones. Where it can't be written nothing happens."""
        if not self._remember:
            return
        found = {id_: [one.key, one.signer] for id_, one in self._found.items() if one.key}
        with suppress(OSError, BadInputError):
            path = self._path()
            path.parent.mkdir(parents=True, exist_ok=True)
            document = {"of": self._key(), "found": found}
            files.write_whole(path, json.dumps(document, separators=(",", ":")).encode())


def since(
    objects: Objects,
    git_dir: Path,
    start: str | None,
    signers: Iterable[Signer],
    borrowed: Borrowed = NOTHING_BORROWED,
) -> Signed:
    """What counts where all that came after `start` must be signed by one of `signers`."""
    trust = Trust(Settings("signed", start), tuple(signers))
    return Signed(objects, git_dir, trust, remember=False, borrowed=borrowed)
