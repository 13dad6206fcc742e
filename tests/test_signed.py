"""Which approvals count where they must be signed, in histories that are made in a line each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from build import ANN, Builder

from gitmem import config
from gitmem.errors import BadInputError
from gitmem.git import signatures
from gitmem.git.objects import Objects
from gitmem.git.signatures import Signature, Signing
from gitmem.model.approval import judge
from gitmem.signed import Signed
from gitmem.trust import Settings, Signer, Trust, ssh_signer, without_signer


class World:
    """A memory with one approved entry, signed by Ann and Bob from there on."""

    def __init__(self, repo: Builder, keys: Any, run_git: Callable[..., str]) -> None:
        self.repo, self.keys, self.run_git = repo, keys, run_git
        self.start = repo.approve(repo.root, {"a": "A"}, "cand_a")
        names = ("ann", "bob")
        listed = filter(None, (ssh_signer(keys[name].line(name)) for name in names))
        self.trust = Trust(Settings("signed", self.start), tuple(listed))

    def sign(self, commit: str, who: str) -> str:
        """The same commit, signed."""
        self.keys[who].sign_with(self.run_git, self.repo.git_dir)
        plain = self.repo.objects.commit(commit)
        signing = Signing(self.repo.git_dir, self.repo.git_dir)
        return signing.write_commit(plain.tree, plain.parents, plain.message, ANN)

    def view(self, tip: str, trust: Trust | None = None) -> tuple[list[str], set[str]]:
        """The approved entries at `tip`, and those whose file is unreviewed."""
        objects = Objects(self.repo.git_dir, "project")
        signed = Signed(objects, self.repo.git_dir, trust or self.trust)
        signed.prepare(tip)
        view = judge(objects, tip, trust=signed).view
        return sorted(view.contents(objects)), set(view.held)


@pytest.fixture
def world(tmp_path: Path, keys: Any, run_git: Callable[..., str]) -> World:
    return World(Builder.at(tmp_path), keys, run_git)


def test_signed_approvals_count(world: World) -> None:
    """By anybody who is listed; unsigned ones and others' do not, and what is older does."""
    repo = world.repo
    one = world.sign(repo.approve(world.start, {"b": "B"}, "cand_b"), "ann")
    two = world.sign(repo.approve(one, {"c": "C"}, "cand_c"), "bob")
    three = world.sign(repo.approve(two, {"d": "D"}, "cand_d"), "eve")
    four = repo.approve(three, {"e": "E"}, "cand_e")

    assert world.view(four) == (["a", "b", "c"], {"d", "e"})
    assert world.view(world.start) == (["a"], set())


def test_a_revert_must_be_signed(world: World) -> None:
    """One that is not takes nothing back."""
    revert = world.repo.revert(world.start, world.start, {"a": None})

    assert world.view(revert) == (["a"], {"a"})
    assert world.view(world.sign(revert, "ann")) == ([], set())


def test_nothing_comes_in_over_an_unsigned_merge(world: World) -> None:
    """What others approved and signed elsewhere, a project with the same beginning, say."""
    repo = world.repo
    elsewhere = world.sign(repo.approve(repo.root, {"x": "X"}, "cand_x"), "ann")
    pulled = repo.pull(world.start, elsewhere)

    assert world.view(pulled) == (["a"], {"x"})
    assert world.view(world.sign(pulled, "bob")) == (["a", "x"], set())


def test_exempt_are_the_ancestors_alone(world: World) -> None:
    """Not what stands beside the start, however old it says to be."""
    repo = world.repo
    beside = repo.approve(repo.root, {"x": "X"}, "cand_x")
    joined = world.sign(repo.pull(world.start, beside), "ann")

    assert world.view(joined) == (["a"], {"x"})


def test_a_start_that_is_missing(world: World) -> None:
    """Then nothing is exempt."""
    gone = Trust(Settings("signed", "1" * 40), world.trust.signers)

    assert world.view(world.start, gone) == ([], {"a"})


def test_a_removed_key_counts_up_to_what_was_seen(world: World) -> None:
    """Its later signatures do not count, back-dated as they may be; others' do."""
    repo = world.repo
    one = world.sign(repo.approve(world.start, {"b": "B"}, "cand_b"), "bob")
    key = world.keys["bob"].fingerprint
    removed = without_signer(world.trust, key, one, ())
    two = world.sign(repo.approve(one, {"c": "C"}, "cand_c"), "bob")
    three = world.sign(repo.approve(two, {"d": "D"}, "cand_d"), "ann")

    assert world.view(three) == (["a", "b", "c", "d"], set())
    assert world.view(three, removed) == (["a", "b", "d"], {"c"})


def _cache(world: World) -> Path:
    (path,) = (config.cache_dir() / "signatures").iterdir()
    return path


def test_what_was_found_is_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the same keys no commit is checked twice; many are checked at once."""
    asked: list[int] = []
    real = signatures.of_commits

    def counted(git_dir: Path, ids: Any, *rest: Any) -> dict[str, Signature]:
        wanted = list(ids)
        asked.append(len(wanted))
        return real(git_dir, wanted, *rest)

    monkeypatch.setattr(signatures, "of_commits", counted)
    tip = world.start
    for number in range(4):
        tip = world.sign(world.repo.approve(tip, {f"k{number}": "x"}, f"cand_{number}"), "ann")

    assert world.view(tip) == world.view(tip)
    assert asked == [4]
    world.view(world.repo.approve(tip, {"z": "Z"}, "cand_z"))
    assert asked == [4, 1]
    world.view(world.repo.approve(tip, {"z": "Z"}, "cand_z"))
    assert asked == [4, 1, 1], "what is not good may become so: it is not remembered"
    world.view(tip, Trust(world.trust.settings, world.trust.signers[:1]))
    assert asked == [4, 1, 1, 4]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"of": 1}', '{"found": {}}', '{"of": OF, "found": {"x": 1}}']
)
def test_a_cache_that_can_be_anything(world: World, text: str) -> None:
    """What can't be what was written is not looked at."""
    tip = world.sign(world.repo.approve(world.start, {"b": "B"}, "cand_b"), "ann")
    expected = world.view(tip)
    path = _cache(world)
    path.write_text(text.replace("OF", json.dumps(json.loads(path.read_text())["of"])))

    assert world.view(tip) == expected


def test_a_forged_cache(world: World) -> None:
    """It can lie to a reader that asks it, and not to one that does not."""
    tip = world.repo.approve(world.start, {"b": "B"}, "cand_b")
    world.view(tip)
    path = _cache(world)
    document = json.loads(path.read_text())
    document["found"][tip] = [world.keys["ann"].fingerprint, "ann"]
    path.write_text(json.dumps(document))
    objects = Objects(world.repo.git_dir, "project")

    assert world.view(tip) == (["a", "b"], set())
    unasked = Signed(objects, world.repo.git_dir, world.trust, remember=False)
    assert not unasked(objects.commit(tip))


def test_a_key_of_openpgp_is_one_by_its_fingerprint(world: World) -> None:
    """Which keys count is said by their fingerprints alone, never by a name in a key."""
    objects = Objects(world.repo.git_dir, "project")
    listed = Trust(world.trust.settings, (Signer("ann", "AB" * 20, f"ann {'AB' * 20}"),))
    signed = Signed(objects, world.repo.git_dir, listed)

    assert signed._counts(Signature("AB" * 20, "whoever"), "1" * 40)
    assert not signed._counts(Signature("CD" * 20, "ann"), "1" * 40)
    assert not signed._counts(Signature(None, "ann"), "1" * 40)


def test_a_key_that_is_not_in_the_keyring(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that counts nobody knows what it signed; another one is nobody's."""
    tip = world.repo.approve(world.start, {"b": "B"}, "cand_b")
    found = {tip: Signature(None, None, "CD" * 8)}
    monkeypatch.setattr(signatures, "of_commits", lambda *_: found)
    for key, raised in (("CD" * 20, True), ("AB" * 20, False)):
        objects = Objects(world.repo.git_dir, "project")
        listed = Trust(world.trust.settings, (Signer("ann", key, f"ann {key}"),))
        signed = Signed(objects, world.repo.git_dir, listed)
        if raised:
            with pytest.raises(BadInputError) as error:
                signed.prepare(tip)
            assert error.value.reference == "key-missing"
        else:
            assert signed.signature(tip) is None
