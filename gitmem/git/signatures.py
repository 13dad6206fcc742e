"""Signatures of commits and tags: made with the user's own set-up, checked against keys that we name.

Both happen in a bench, a git directory of ours that has nothing of its own but borrows the
objects: neither the config of the memory's repository, which may name any program as the one that
checks, nor its replace refs or grafts have a say. What the user's own config names (ssh or gpg,
which program, which key, which agent) holds.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError, RefusedError
from gitmem.git import program
from gitmem.git.bulk import NOTHING_BORROWED, Batch, Borrowed
from gitmem.model.history import EMPTY_TREE, Person

_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_FIELDS = ("%H", "%G?", "%GF", "%GP", "%GS", "%GK")
# As git's `%G?` says: a good signature (U: of a key of unknown trust, X: that has expired since,
# Y: by a key that has). A key's trust and dates are not what we go by: which keys count is.
_GOOD = frozenset("GUXY")
# The two kinds that git is asked about. At any other it stops, and would check none.
_BEGIN = ("-----BEGIN SSH SIGNATURE-----", "-----BEGIN PGP SIGNATURE-----")
_COMMIT_SIGNED = re.compile(rf"^gpgsig (?:{'|'.join(_BEGIN)})$".encode(), re.MULTILINE)
_TAG_SIGNED = re.compile(rf"^(?:{'|'.join(_BEGIN)})$".encode(), re.MULTILINE)
# What git says where it could not look. Nothing that is signed can make it say so.
_FAILED = re.compile(r"^error: c.*$", re.MULTILINE)
_SSH_GOOD = re.compile(r'^Good "git" signature for (.*) with \S+ key (SHA256:\S+)$', re.MULTILINE)
_PGP_VALID = re.compile(r"^\[GNUPG:\] VALIDSIG ([0-9A-F]+)(?: \S+){8} ([0-9A-F]+)", re.MULTILINE)
_PGP_MISSING = re.compile(r"^\[GNUPG:\] NO_PUBKEY ([0-9A-F]+)", re.MULTILINE)
_PGP_SIGNER = re.compile(r"^\[GNUPG:\] (?:GOOD|EXP|EXPKEY)SIG \S+ (.*)$", re.MULTILINE)
_SSHSIG = re.compile(rb"-----BEGIN SSH SIGNATURE-----(.*?)-----END SSH SIGNATURE-----", re.DOTALL)
_SIGNING = ("gpg.", "user.signingkey")


class Signature(NamedTuple):
    """What git found of a commit's or tag's signature.

    `key` is the fingerprint of the key that made it, `SHA256:…` for ssh and 40 hexadecimal digits
    for OpenPGP, None where no good signature is; `signer` whom the key is listed for, or the
    user id in the key. `missing` is the end of the fingerprint of an OpenPGP key that is not in
    the keyring, so that nobody knows whether the signature is good.
    """

    key: str | None
    signer: str | None
    missing: str | None = None


UNSIGNED = Signature(None, None)


class PublicKey(NamedTuple):
    """A key as it stands in an allowed-signers file, `ssh-ed25519 AAAA…`, or an OpenPGP fingerprint."""

    text: str
    fingerprint: str


@contextmanager
def _bench(git_dir: Path, borrowed: Borrowed) -> Iterator[tuple[Path, dict[str, str]]]:
    """A git directory with nothing but the objects of `git_dir`, and the environment for it."""
    place = Path(tempfile.mkdtemp(prefix="gitmem-"))
    try:
        for name in ("objects", "refs"):
            (place / name).mkdir()
        (place / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        (place / "config").write_bytes(_CONFIG)
        objects = {"GIT_OBJECT_DIRECTORY": str(git_dir / "objects")}
        yield place, borrowed.environment(git_dir) or objects
    finally:
        shutil.rmtree(place)


# -- checking ----------------------------------------------------------------------------------


def of_commits(
    git_dir: Path, ids: Iterable[str], allowed: bytes, borrowed: Borrowed = NOTHING_BORROWED
) -> dict[str, Signature]:
    """The signatures of commits, asked for with one git process.

    `allowed` is the content of an allowed-signers file (ssh-keygen(1)); OpenPGP keys are looked up
    in the user's keyring. Raises GitFailedError `signatures-unchecked` where git can't look.
    """
    found = dict.fromkeys(ids, UNSIGNED)
    wanted = _signed_ones(git_dir, list(found), borrowed)
    if not wanted:
        return found
    told = [f"--format={'%x00'.join(_FIELDS)}", "--no-walk=unsorted", "--stdin"]
    with _bench(git_dir, borrowed) as (place, env):
        done = program.run(
            *_checking(place, allowed),
            "log",
            "-z",
            "--no-color",
            "--no-show-signature",
            "--no-notes",
            *told,
            git_dir=place,
            env=env,
            input="".join(f"{id_}\n" for id_ in wanted).encode(),
        )
    _check_ran(done)
    fields = done.out.decode("utf-8", "replace").split("\0")
    for at in range(0, len(fields) - 1, len(_FIELDS)):
        id_, *said = fields[at : at + len(_FIELDS)]
        found[id_] = _graded(*said)
    return found


def _signed_ones(git_dir: Path, ids: list[str], borrowed: Borrowed) -> list[str]:
    """Those of `ids` with a signature of a kind that git can be asked about."""
    read = Batch(git_dir, borrowed).read_all(ids)
    heads = (item[1].partition(b"\n\n")[0] if item is not None else b"" for item in read)
    return [id_ for id_, head in zip(ids, heads, strict=True) if _is_signed(head)]


def _is_signed(head: bytes) -> bool:
    # git takes all such lines for one signature, and the first for its kind.
    first = head.find(b"\ngpgsig ")
    return first >= 0 and _COMMIT_SIGNED.match(head, first + 1) is not None


def _check_ran(done: program.Result) -> None:
    failed = _FAILED.search(done.message)
    if failed is not None:
        raise program.GitFailedError(
            "signatures-unchecked",
            "git could not check signatures, so that nobody knows which approvals count",
            context=done.message,
            hint="install what it misses (ssh-keygen, gpg), or make room for its files",
        )


def _graded(grade: str, key: str, primary: str, signer: str, key_id: str) -> Signature:
    # An ssh key that no line allows has a good signature too, of unknown trust.
    good = grade in _GOOD if not key.startswith("SHA256:") else grade == "G"
    if good and key:
        return Signature(primary or key, signer or None)
    return Signature(None, None, key_id or None) if grade == "E" else UNSIGNED


def of_tag(
    git_dir: Path, id_: str, allowed: bytes, borrowed: Borrowed = NOTHING_BORROWED
) -> Signature:
    """The signature of an annotated tag; `allowed`, and what is raised, as for `of_commits`."""
    item = Batch(git_dir, borrowed).read(id_)
    if item is None or item[0] != b"tag" or _TAG_SIGNED.search(item[1]) is None:
        return UNSIGNED
    with _bench(git_dir, borrowed) as (place, env):
        done = program.run(
            *_checking(place, allowed),
            "verify-tag",
            "--raw",
            id_,
            git_dir=place,
            env=env,
            check=False,
        )
    _check_ran(done)
    said = done.err.decode("utf-8", "replace")
    # git tells what gpg said in this form, and what ssh-keygen said as it is.
    if said.startswith("[GNUPG:]"):
        pgp, signer = _PGP_VALID.search(said), _PGP_SIGNER.search(said)
        missing = _PGP_MISSING.search(said)
        if pgp is None or "[GNUPG:] REVKEYSIG" in said:
            return Signature(None, None, missing[1] if missing is not None else None)
        return Signature(pgp[2], signer[1] if signer is not None else None)
    ssh = _SSH_GOOD.search(said) if done.code == 0 else None
    return UNSIGNED if ssh is None else Signature(ssh[2], ssh[1])


def _checking(place: Path, allowed: bytes) -> tuple[str, ...]:
    file = place / "allowed_signers"
    file.write_bytes(allowed)
    return (
        "-c",
        f"gpg.ssh.allowedSignersFile={file}",
        # Whose key is revoked is said by who takes it out of the allowed ones.
        "-c",
        "gpg.ssh.revocationFile=",
        "-c",
        "gpg.minTrustLevel=undefined",
        "-c",
        "core.commitGraph=false",
    )


# -- signing -----------------------------------------------------------------------------------


class Signing(NamedTuple):
    """Where objects are signed: the repository, and the folder whose git settings say how."""

    git_dir: Path
    place: Path

    def write_commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Person,
        committer: Person | None = None,
    ) -> str:
        """Write a signed commit; no ref moves. Raises RefusedError `not-signed`."""
        above = [arg for parent in parents for arg in ("-p", parent)]
        told = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", *above, "-F", "-", tree)
        with _bench(self.git_dir, NOTHING_BORROWED) as (bench, env):
            people = {**_person("AUTHOR", author), **_person("COMMITTER", committer or author)}
            return self._signed(told, bench, {**env, **people}, message)

    def write_tag(self, name: str, target: str, tagger: Person, message: str) -> str:
        """Write a signed annotated tag; no ref is made. Raises RefusedError `not-signed`."""
        told = ("tag", "-s", "--cleanup=verbatim", "-F", "-", name, target)
        with _bench(self.git_dir, NOTHING_BORROWED) as (bench, env):
            # The signature begins a line of its own.
            text = message if message.endswith("\n") else f"{message}\n"
            self._signed(told, bench, {**env, **_person("COMMITTER", tagger)}, text)
            return (bench / "refs" / "tags" / name).read_text("ascii").strip()

    def own_key(self, person: Person) -> PublicKey:
        """The key that git signs with here. Raises RefusedError `not-signed`."""
        probe = self.write_commit(EMPTY_TREE, (), "which key is it?\n", person)
        item = Batch(self.git_dir).read(probe)
        found = _SSHSIG.search(item[1] if item is not None else b"")
        if found is not None:
            return ssh_key(_key_in(base64.b64decode(found[1])))
        key = of_commits(self.git_dir, [probe], b"")[probe].key
        if key is None:
            raise _not_signed("git signs here in a way that is neither ssh nor OpenPGP")
        return PublicKey(key, key)

    def told_key(self) -> PublicKey | None:
        """The ssh key that git is told to sign with here, as its file has it; None where none says.

        Nothing is signed, so that nobody is asked for a passphrase or a touch. Raises RefusedError
        `not-signed` where git would sign with ssh and does not know with which key.
        """
        if self._asked("gpg.format") != "ssh":
            return None
        given = self._asked("user.signingKey", "--type=path")
        if given is None:
            if self._asked("gpg.ssh.defaultKeyCommand") is not None:
                return None
            raise _not_signed("user.signingKey is not set")
        for path in (Path(given), Path(f"{given}.pub")):
            try:
                return ssh_key(path.read_text("utf-8"))
            except (OSError, ValueError):
                continue
        return None

    def _asked(self, key: str, *how: str) -> str | None:
        found = program.run("config", *how, "--get", key, cwd=self.place, check=False)
        return found.text if found.code == 0 and found.text else None

    def _signed(self, args: Sequence[str], bench: Path, env: Mapping[str, str], text: str) -> str:
        settings = _settings(self.place)
        told = {"GIT_CONFIG_COUNT": str(len(settings))}
        for at, (key, value) in enumerate(settings):
            told |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
        done = program.run(
            *args,
            git_dir=bench,
            cwd=self.place,
            env={**env, **told},
            input=text.encode("utf-8", "surrogateescape"),
            check=False,
        )
        if done.code != 0:
            raise _not_signed(done.message)
        return done.text


def _settings(place: Path) -> list[tuple[str, str]]:
    """The settings about signing that hold in the folder `place`, the host's own included."""
    listed = program.run("config", "--list", "-z", cwd=place).out
    items = [os.fsdecode(item).partition("\n") for item in listed.split(b"\0") if item]
    return [(key, value) for key, _, value in items if key.startswith(_SIGNING)]


def _person(role: str, person: Person) -> dict[str, str]:
    sign = "-" if person.offset < 0 else "+"
    zone = f"{sign}{abs(person.offset) // 60:02d}{abs(person.offset) % 60:02d}"
    return {
        f"GIT_{role}_NAME": person.name,
        f"GIT_{role}_EMAIL": person.email,
        f"GIT_{role}_DATE": f"@{person.time} {zone}",
    }


def _not_signed(why: str) -> GitmemError:
    return RefusedError(
        "not-signed",
        "git could not sign, and approvals here must be signed; nothing was changed",
        context=why or None,
        hint="set up signing, for example: git config --global gpg.format ssh && "
        "git config --global user.signingKey ~/.ssh/id_ed25519.pub",
    )


# -- keys --------------------------------------------------------------------------------------


def ssh_key(text: str) -> PublicKey:
    """The public key `text`, `ssh-ed25519 AAAA…`. Raises ValueError where it is none."""
    kind, _, data = text.strip().partition(" ")
    try:
        blob = base64.b64decode(data.split(" ", maxsplit=1)[0], validate=True)
    except binascii.Error as error:
        raise ValueError(f"no ssh public key: {error}") from error
    if not blob or _strings(blob)[:1] != [kind.encode()]:
        raise ValueError("no ssh public key: it does not hold what it says")
    return PublicKey(f"{kind} {base64.b64encode(blob).decode()}", fingerprint(blob))


def fingerprint(blob: bytes) -> str:
    """The fingerprint of an ssh key as ssh-keygen prints it, from the key's own bytes."""
    import hashlib

    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _key_in(signature: bytes) -> str:
    """The public key in an ssh signature (PROTOCOL.sshsig: magic, version, public key, …)."""
    blob = _strings(signature[10:])[0]
    return f"{_strings(blob)[0].decode('ascii', 'replace')} {base64.b64encode(blob).decode()}"


def _strings(data: bytes) -> list[bytes]:
    """The strings of ssh's wire format (RFC 4251, section 5), as far as they are whole."""
    found: list[bytes] = []
    while len(data) >= 4:
        (size,) = struct.unpack(">I", data[:4])
        if len(data) < 4 + size:
            break
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found
