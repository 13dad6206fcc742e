from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def signed(cli: Any, keys: Any, run_git: Any) -> Any:
    """Approvals are signed, with Ann's key."""
    keys["ann"].sign_with(run_git, cli.at)
    cli.done("config", "approval", "signed", "--yes")
    return cli


def _entries(cli: Any) -> set[str]:
    return {one["id"] for one in cli.json("context")["entries"]}


def test_a_key_comes(signed: Any, keys: Any, run_git: Any) -> None:
    """A file, a key's own text, or what git signs with: from then on its approvals count."""
    bob = keys["bob"]
    assert signed.done("signers", "add", "bob@example.org", str(bob.public), "--yes") == (
        f"added to project: bob@example.org {bob.fingerprint}"
    )
    text = keys["eve"].line("eve").removeprefix("eve ")
    signed.done("signers", "add", "eve@example.org", text, "--yes")
    bob.sign_with(run_git, signed.at)
    signed.apply("fact_a", "A")

    assert _entries(signed) == {"mem_fact_a"}
    assert "signed by bob@example.org" in signed.done("log", "--kind", "candidate.applied")
    shown = signed.done("signers", "list").split("\n")
    assert shown[1:] == [
        f"  person@example.org {keys['ann'].fingerprint}",
        f"  bob@example.org {bob.fingerprint}",
        f"  eve@example.org {keys['eve'].fingerprint}",
    ]


def test_a_key_goes(signed: Any, keys: Any, run_git: Any) -> None:
    """What it approved stays; what it signs from then on does not count, whatever its date."""
    bob = keys["bob"]
    signed.done("signers", "add", "bob@example.org", str(bob.public), "--yes")
    bob.sign_with(run_git, signed.at)
    signed.apply("fact_a", "A")
    signed.done("discard", signed.propose("fact_b", "B"), "--yes")

    said = signed.done("signers", "remove", "bob@example.org", "--yes")
    id_ = signed.propose("fact_c", "C")
    assert signed.error("apply", id_, "--yes") == "signer-not-allowed"
    folder = signed.at / ".custom-agent" / "memory"
    run_git("merge", "-q", "-S", "--no-ff", "--no-edit", f"memory/candidate/{id_}", cwd=folder)

    assert said.startswith(f"removed from project: bob@example.org {bob.fingerprint}, removed")
    assert _entries(signed) == {"mem_fact_a"}
    states = sorted(one["state"] for one in signed.json("list", "--state", "all"))
    assert states == ["applied", "discarded", "pending"]
    assert signed("verify").stdout.startswith("not-signed: ")


def test_a_key_that_comes_back(signed: Any, keys: Any, run_git: Any) -> None:
    """Listed again, a key counts as before."""
    signed.done("signers", "remove", keys["ann"].fingerprint, "--yes")
    assert signed.error("add", "fact_a", "A", "--type", "fact", "--yes") == "signer-not-allowed"

    signed.done("signers", "add", "--yes")
    signed.done("apply", signed.json("list")[0]["id"], "--yes")

    assert _entries(signed) == {"mem_fact_a"}


def test_what_is_no_key(signed: Any) -> None:
    """A private key, half a fingerprint and other text are refused; so is a name with a pattern."""
    for text in ("ssh-ed25519 nonsense", "ABCDEF", str(signed.at)):
        assert signed.error("signers", "add", "bob@example.org", text, "--yes") == "key-unclear"
    assert signed.error("signers", "add", "*", "ssh-ed25519 AAAA", "--yes") == "name-unclear"
    assert signed.error("signers", "remove", "nobody", "--yes") == "no-such-signer"


def test_a_name_with_two_keys(signed: Any, keys: Any) -> None:
    """Which one is meant must be said."""
    signed.done("signers", "add", "person@example.org", str(keys["bob"].public), "--yes")

    assert signed.error("signers", "remove", "person@example.org", "--yes") == "signer-unclear"
    signed.done("signers", "remove", keys["bob"].fingerprint, "--yes")


def test_what_a_person_wrote_into_the_list_stays(signed: Any, keys: Any) -> None:
    """The list is git's own form: comments stay, dates are shown, authorities do not count."""
    (listed, _) = signed.json("signers", "list")
    file = Path(listed["folder"]) / "allowed_signers"
    bob = keys["bob"].line("bob").removeprefix("bob ")
    eve = keys["eve"].line("eve").removeprefix("eve ")
    more = f'# the team\nbob valid-before="20300101" {bob}\neve cert-authority {eve}\n'
    file.write_text(file.read_text() + more)

    signed.done("signers", "remove", "person@example.org", "--yes")

    assert file.read_text() == more
    shown = signed.done("signers", "list").split("\n")
    assert shown[1] == f'  bob {keys["bob"].fingerprint}, valid-before="20300101"'
    assert len(shown) == 3
