"""What a memory is known by, and what is read of its settings."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from build import Builder

from gitmem import trust
from gitmem.errors import BadInputError, NotFoundError
from gitmem.trust import Settings, Signer, Trust


@pytest.fixture
def repo(tmp_path: Path) -> Builder:
    """A memory with one approved entry, whose approvals are signed from there on."""
    repo = Builder.at(tmp_path)
    start = repo.approve(repo.root, {"a": "A"}, "cand_1")
    trust.write(repo.git_dir, Trust(Settings("signed", start)))
    return repo


def test_nothing_is_set(tmp_path: Path) -> None:
    """Then everything counts, and no file is made."""
    git_dir = Builder.at(tmp_path).git_dir

    assert trust.read(git_dir) == Trust()
    assert trust.name(git_dir) == "open"


def test_all_comes_back(repo: Builder, keys: Any) -> None:
    """What is written is what is read."""
    ann = trust.ssh_signer(keys["ann"].line("ann"))
    bob = trust.ssh_signer(keys["bob"].line("bob"))
    pgp = trust.pgp_signer(f"Eve Example {'AB' * 20}")
    assert ann is not None
    assert bob is not None
    assert pgp is not None
    settings = Settings("signed", repo.root, ("c" * 40,), ("ann",), own_candidates=False)
    whole = trust.without_signer(Trust(settings, (ann, bob, pgp)), bob.key, repo.root, ["d" * 40])

    trust.write(repo.git_dir, whole)

    assert trust.read(repo.git_dir) == whole
    assert whole.removed[0].until == repo.root
    with pytest.raises(NotFoundError):
        trust.without_signer(whole, bob.key, repo.root, [])


def test_the_name_says_what_counts(repo: Builder, keys: Any) -> None:
    """It changes with every setting that changes which commits count."""
    start = trust.read(repo.git_dir).settings.start
    ann = trust.ssh_signer(keys["ann"].line("ann"))
    assert ann is not None
    names = [trust.name(repo.git_dir)]
    for changed in (
        Trust(Settings("signed", start), (ann,)),
        trust.without_signer(Trust(Settings("signed", start), (ann,)), ann.key, repo.root, []),
        Trust(Settings("signed", repo.root)),
        Trust(Settings("open", start)),
    ):
        trust.write(repo.git_dir, changed)
        names.append(trust.name(repo.git_dir))

    assert len(set(names)) == 5
    assert names[-1] == "open"
    assert names[0].startswith(f"signed {start} ")


def test_a_memory_that_was_moved(repo: Builder, tmp_path: Path) -> None:
    """It is the same folder under another name."""
    moved = repo.git_dir.rename(tmp_path / "elsewhere.git")

    assert trust.read(moved).signed


def test_a_memory_that_was_cloned_anew(repo: Builder) -> None:
    """Another folder in the same place: in doubt its approvals must be signed as well."""
    whole = repo.git_dir.rename(repo.git_dir.with_suffix(".old"))
    shutil.copytree(whole, repo.git_dir)
    shutil.rmtree(whole)

    assert trust.read(repo.git_dir).signed


def test_a_memory_that_was_copied(repo: Builder, tmp_path: Path) -> None:
    """It has the commit from which on they are signed, until something else is set for it."""
    copy = shutil.copytree(repo.git_dir, tmp_path / "copy.git")
    assert trust.read(copy).signed

    trust.write(copy, Trust(Settings("open")))

    assert not trust.read(copy).signed
    assert trust.read(repo.git_dir).signed


def test_another_memory(repo: Builder, tmp_path: Path) -> None:
    """What is set for one holds for no other, also where both have signed from the start."""
    trust.write(repo.git_dir, Trust(Settings("signed", trust.layout.root_id("project"))))
    other = tmp_path / "other"
    other.mkdir()

    assert not trust.read(Builder.at(other).git_dir).signed


def test_a_number_that_was_given_out_again(repo: Builder, tmp_path: Path) -> None:
    """Another repository with the device and inode of one that is gone."""
    other = tmp_path / "other"
    other.mkdir()
    git_dir = Builder.at(other).git_dir
    record = trust.folder(repo.git_dir)
    seen = git_dir.stat()
    shutil.rmtree(repo.git_dir)
    record.rename(record.with_name(f"{seen.st_dev}-{seen.st_ino}"))

    assert not trust.read(git_dir).signed


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"approval": "no"}', '{"approval": "signed", "start": 1}', '{"closed": 1}'],
)
def test_settings_that_cannot_be_read(repo: Builder, text: str) -> None:
    """They are not taken for none: nobody knows what counts."""
    (trust.folder(repo.git_dir) / "settings.json").write_text(text)

    with pytest.raises(BadInputError) as error:
        trust.read(repo.git_dir)

    assert error.value.reference == "settings-unreadable"


def test_removed_signers_that_cannot_be_read(repo: Builder) -> None:
    """The same for those."""
    (trust.folder(repo.git_dir) / "removed_signers.json").write_text('[{"name": "x"}]')

    with pytest.raises(BadInputError):
        trust.read(repo.git_dir)


def test_forgotten(repo: Builder) -> None:
    """With the memory its settings go."""
    place = trust.folder(repo.git_dir)

    trust.forget(repo.git_dir)

    assert not place.exists()
    assert list(place.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", None),
        ("# ann ssh-ed25519 AAAA", None),
        ("ann", None),
        ("ann ssh-ed25519", None),
        ("ann ssh-ed25519 ????", None),
    ],
)
def test_lines_that_name_nobody(line: str, expected: Signer | None) -> None:
    """Comments, halves and nonsense."""
    assert trust.ssh_signer(line) == expected
    assert trust.pgp_signer(line) == expected


def test_options_of_a_key(keys: Any) -> None:
    """Dates are shown; an authority, whose keys nobody could list, is none."""
    line = keys["ann"].line("ann")
    ann = trust.ssh_signer(line.replace("ann ", 'ann namespaces="git,file",valid-after="2026" ', 1))

    assert ann is not None
    assert (ann.key, ann.dates) == (keys["ann"].fingerprint, 'valid-after="2026"')
    assert trust.ssh_signer(line.replace("ann ", "ann cert-authority ", 1)) is None
