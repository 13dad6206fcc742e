from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from build import ANN, Builder

from gitmem.errors import RefusedError
from gitmem.git import signatures
from gitmem.git.program import GitFailedError
from gitmem.git.signatures import Signing

RunGit = Callable[..., str]
NAME = "ann@example.org"


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    return Builder.at(tmp_path)


@pytest.fixture
def signing(repo: Builder, keys: Any, run_git: RunGit) -> Signing:
    """Signing with Ann's key."""
    keys["ann"].sign_with(run_git, repo.git_dir)
    return Signing(repo.git_dir, repo.git_dir.parent)


def _written(signing: Signing, repo: Builder, text: str = "a change\n") -> str:
    tree = repo.objects.commit(repo.root).tree
    return signing.write_commit(tree, [repo.root], text, ANN)


def _key_of(repo: Builder, commit: str, allowed: str) -> str | None:
    return signatures.of_commits(repo.git_dir, [commit], allowed.encode())[commit].key


def test_a_signed_commit_is_the_same_but_for_its_signature(repo: Builder, signing: Signing) -> None:
    """Message, people, times, parents and tree are as they would be without one."""
    tree = repo.objects.commit(repo.root).tree
    text, zone = "Größe\n\n body \n\n\nMemory-Event: x\n", ANN._replace(offset=-210)
    signed = repo.objects.commit(signing.write_commit(tree, [repo.root], text, zone, ANN))
    plain = repo.objects.commit(repo.objects.write_commit(tree, [repo.root], text, zone, ANN))

    assert signed._replace(id="") == plain._replace(id="")


def test_a_signature_that_git_can_not_read(repo: Builder, signing: Signing, keys: Any) -> None:
    """At one of an unknown kind git stops: it is not asked, and the others are checked."""
    good = _written(signing, repo)
    forged = []
    for text in (b"x", b"-----BEGIN SSH SIGNATURE-----", b"-----BEGIN SIGNED MESSAGE-----"):
        data = b"tree %b\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\ngpgsig %b\n x\n\nm\n"
        tree = repo.objects.commit(good).tree.encode()
        made = subprocess.run(
            ["git", f"--git-dir={repo.git_dir}", "hash-object", "-wt", "commit", "--stdin"],
            input=data % (tree, text),
            capture_output=True,
            check=True,
        )
        forged.append(made.stdout.decode().strip())
    allowed = keys["ann"].line(NAME).encode()

    found = signatures.of_commits(repo.git_dir, [*forged, good], allowed)

    assert [found[one].key for one in forged] == [None, None, None]
    assert found[good].key == keys["ann"].fingerprint


def test_nothing_to_check_with(
    repo: Builder, signing: Signing, keys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing program does not make signatures bad: nobody knows then, and that is said."""
    commit, tag = _written(signing, repo), signing.write_tag("x", repo.root, ANN, "no\n")
    for name in ("git", "sh"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    for look in (
        lambda: signatures.of_commits(repo.git_dir, [commit], b""),
        lambda: signatures.of_tag(repo.git_dir, tag, b""),
    ):
        with pytest.raises(GitFailedError) as error:
            look()
        assert error.value.reference == "signatures-unchecked"


def test_who_signed(repo: Builder, signing: Signing, keys: Any) -> None:
    """Of many commits at once: the key and the name that it is listed for, or nothing."""
    signed, bare = _written(signing, repo), repo.commit([repo.root], {})
    allowed = f"{keys['ann'].line(NAME)}\n".encode()

    found = signatures.of_commits(repo.git_dir, [bare, signed], allowed)

    assert found[signed] == (keys["ann"].fingerprint, NAME, None)
    assert found[bare] == (None, None, None)
    assert _key_of(repo, signed, keys["bob"].line("bob")) is None
    assert _key_of(repo, signed, "") is None
    assert signatures.of_commits(repo.git_dir, [], b"") == {}


def test_a_signature_on_another_commit(repo: Builder, signing: Signing, keys: Any) -> None:
    """A signature that is moved to another text is none."""
    data = subprocess.run(
        ["git", f"--git-dir={repo.git_dir}", "cat-file", "commit", _written(signing, repo)],
        capture_output=True,
        check=True,
    ).stdout
    forged = subprocess.run(
        ["git", f"--git-dir={repo.git_dir}", "hash-object", "-w", "-t", "commit", "--stdin"],
        input=data.replace(b"a change", b"another one"),
        capture_output=True,
        check=True,
    )

    assert _key_of(repo, forged.stdout.decode().strip(), keys["ann"].line(NAME)) is None


def test_a_signed_tag(repo: Builder, signing: Signing, keys: Any) -> None:
    """It points to its commit under its name, no ref is made, and its signer is known."""
    id_ = signing.write_tag("memory/discarded/x.1", repo.root, ANN, "no\n")
    allowed = keys["ann"].line(NAME).encode()

    assert repo.objects.tag(id_) is not None
    assert not (repo.git_dir / "refs" / "tags" / "memory").exists()
    assert signatures.of_tag(repo.git_dir, id_, allowed) == (keys["ann"].fingerprint, NAME, None)
    assert signatures.of_tag(repo.git_dir, id_, keys["eve"].line("eve").encode()).key is None
    bare = repo.objects.write_tag("x", repo.root, ANN, "no\n")
    assert signatures.of_tag(repo.git_dir, bare, allowed).key is None


def test_the_repository_has_no_say(
    repo: Builder, signing: Signing, keys: Any, run_git: RunGit, tmp_path: Path
) -> None:
    """Neither its config, which could name any program, nor replace refs, nor variables."""
    liar = tmp_path / "liar"
    liar.write_text(
        f"#!/bin/sh\necho 'Good \"git\" signature for {NAME} with ED25519 key SHA256:x'\n"
    )
    liar.chmod(0o755)
    keys["eve"].sign_with(run_git, repo.git_dir)
    forged, good = _written(signing, repo), repo.commit([repo.root], {})
    run_git("config", "gpg.ssh.program", liar, cwd=repo.git_dir)
    run_git("config", "gpg.ssh.allowedSignersFile", tmp_path / "eves", cwd=repo.git_dir)
    run_git("config", "log.showSignature", "true", cwd=repo.git_dir)
    run_git("replace", good, forged, cwd=repo.git_dir)
    (tmp_path / "eves").write_text(keys["eve"].line(NAME))

    allowed = keys["ann"].line(NAME)

    assert _key_of(repo, forged, allowed) is None
    assert _key_of(repo, good, f"{allowed}\n{keys['eve'].line('eve')}") is None


def test_the_hosts_settings_say_how_to_sign(
    repo: Builder, host: Path, keys: Any, run_git: RunGit
) -> None:
    """A key that only the host's own config names signs, and a passphrase agent is the user's."""
    run_git("config", "gpg.format", "ssh", cwd=host)
    run_git("config", "user.signingKey", f"key::{keys['bob'].public.read_text()}", cwd=host)
    agent = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    env = dict(part.split("=", 1) for part in agent.replace("\n", "").split(";") if "=" in part)
    try:
        subprocess.run(
            ["ssh-add", "-q", str(keys["bob"].path)],
            env={**os.environ, **env},
            check=True,
            stderr=subprocess.DEVNULL,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SSH_AUTH_SOCK", env["SSH_AUTH_SOCK"])
            commit = _written(Signing(repo.git_dir, host), repo)
    finally:
        os.kill(int(env["SSH_AGENT_PID"]), 15)

    assert _key_of(repo, commit, keys["bob"].line("bob")) == keys["bob"].fingerprint


def test_no_way_to_sign(repo: Builder, run_git: RunGit) -> None:
    """Where git can't sign, nothing is written, and what git said is told."""
    run_git("config", "--global", "gpg.format", "ssh", cwd=repo.git_dir)

    with pytest.raises(RefusedError) as error:
        _written(Signing(repo.git_dir, repo.git_dir.parent), repo)

    assert error.value.reference == "not-signed"
    assert "signingkey" in (error.value.context or "").lower()


def test_the_own_key(repo: Builder, signing: Signing, keys: Any) -> None:
    """What git signs with, wherever the key is."""
    found = signing.own_key(ANN)

    assert found.fingerprint == keys["ann"].fingerprint
    assert f"x {found.text}" == keys["ann"].line("x")


@pytest.mark.parametrize(
    "text", ["", "ssh-ed25519", "ssh-ed25519 !!", "ssh-rsa AAAAC3NzaC1lZDI1NTE5"]
)
def test_what_is_no_ssh_key(text: str) -> None:
    """Text that says one kind and holds another, or nothing."""
    with pytest.raises(ValueError, match="no ssh public key"):
        signatures.ssh_key(text)


@pytest.fixture
def pgp(sealed_home: Path, run_git: RunGit) -> Iterator[str]:
    """The fingerprint of Ann's OpenPGP key, with which git signs."""
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed")
    (sealed_home / ".gnupg").mkdir(mode=0o700)
    quick = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key"]
    subprocess.run(
        [*quick, f"Ann <{NAME}>", "ed25519", "sign", "0"], check=True, capture_output=True
    )
    listed = subprocess.run(
        ["gpg", "--list-keys", "--with-colons"], capture_output=True, text=True, check=True
    ).stdout
    key = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))
    run_git("config", "--global", "user.signingKey", key, cwd=sealed_home)
    yield key
    subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=True, capture_output=True)


def test_openpgp(repo: Builder, pgp: str, run_git: RunGit) -> None:
    """A commit's and a tag's signer by gpg: the key's own fingerprint, whatever trust it has."""
    signing = Signing(repo.git_dir, repo.git_dir.parent)
    commit = _written(signing, repo)
    tag = signing.write_tag("x", commit, ANN, "no\n")

    expected = (pgp, f"Ann <{NAME}>", None)
    assert signatures.of_commits(repo.git_dir, [commit], b"")[commit] == expected
    assert signatures.of_tag(repo.git_dir, tag, b"") == expected
    assert signing.own_key(ANN).fingerprint == pgp


def test_openpgp_without_the_key(repo: Builder, pgp: str, sealed_home: Path) -> None:
    """What can't be checked here is not taken for unsigned for ever."""
    signing = Signing(repo.git_dir, repo.git_dir.parent)
    commit = _written(signing, repo)
    tag = signing.write_tag("x", commit, ANN, "no\n")
    subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=True, capture_output=True)
    (sealed_home / ".gnupg").rename(sealed_home / "elsewhere")

    assert signatures.of_commits(repo.git_dir, [commit], b"")[commit] == (None, None, pgp[-16:])
    assert signatures.of_tag(repo.git_dir, tag, b"") == (None, None, pgp[-16:])
