"""Moving refs all or none, with a real git that is late, locked out or killed."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import ConflictError, GitmemError
from gitmem.git import refs
from gitmem.git import transaction as transaction_module
from gitmem.git.transaction import RefChange, Transaction, clear_locks, remaining

MAIN, NEW, GONE = "refs/heads/memory/main", "refs/tags/memory/new", "refs/heads/memory/gone"
MISSING = "f" * 40


class Repo:
    """A bare repository with some commits and three refs."""

    def __init__(self, place: Path) -> None:
        self.git_dir = place / "memory.git"
        self.run(
            "init", "-q", "--bare", "--initial-branch=memory/main", str(self.git_dir), at=place
        )
        who = ("-c", "user.name=A", "-c", "user.email=a@b")
        tree = self.run("mktree")
        self.a, self.b, self.c = (
            self.run(*who, "commit-tree", tree, "-m", name) for name in ("a", "b", "c")
        )
        self.run("update-ref", MAIN, self.a)
        self.run("update-ref", GONE, self.b)

    def run(self, *args: str, at: Path | None = None) -> str:
        """What git says; it must succeed."""
        command = ["git", "-C", str(at or self.git_dir), *args]
        return subprocess.run(
            command, input="", capture_output=True, text=True, check=True
        ).stdout.strip()

    def refs(self) -> dict[str, str]:
        """All refs as git has them."""
        lines = self.run("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def locks(self) -> list[str]:
        """The lock files that there are."""
        return sorted(path.name for path in self.git_dir.rglob("*.lock"))

    @property
    def changes(self) -> list[RefChange]:
        """One ref moves, one comes, one goes."""
        return [
            RefChange(MAIN, self.c, self.a),
            RefChange(NEW, self.b, None),
            RefChange(GONE, None, self.b),
        ]

    def move(self, changes: Sequence[RefChange]) -> None:
        """Do them all."""
        with Transaction(self.git_dir, changes) as transaction:
            transaction.prepare()
            transaction.commit()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository of the test's own."""
    return Repo(tmp_path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A held lock is given up at once."""
    patience = ("-c", "core.filesRefLockTimeout=0", "-c", "core.packedRefsTimeout=0")
    monkeypatch.setattr(transaction_module, "_PATIENCE", patience)


# -- all or none -----------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_all_move_together(repo: Repo, packed: bool) -> None:
    """A ref moves, one comes and one goes, loose or packed, and no lock is left."""
    if packed:
        repo.run("pack-refs", "--all")

    repo.move(repo.changes)

    assert repo.refs() == {MAIN: repo.c, NEW: repo.b}
    assert repo.locks() == []


def test_nothing_moves_before_the_commit(repo: Repo) -> None:
    """Whoever reads in between sees the old values; who leaves without a commit changes none."""
    before = repo.refs()
    with Transaction(repo.git_dir, repo.changes) as transaction:
        assert repo.locks() == []
        transaction.prepare()
        assert repo.refs() == before
        assert "main.lock" in repo.locks()

    assert (repo.refs(), repo.locks()) == (before, [])


def test_an_error_in_between_changes_nothing(repo: Repo) -> None:
    """What goes wrong between the two steps comes out as it is, and git lets go."""
    before = repo.refs()
    with (
        pytest.raises(ZeroDivisionError),
        Transaction(repo.git_dir, repo.changes) as transaction,
    ):
        transaction.prepare()
        raise ZeroDivisionError

    assert (repo.refs(), repo.locks()) == (before, [])


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("fault", "reference"),
    [
        (RefChange(MAIN, "b", "c"), "stale"),
        (RefChange(MAIN, None, "c"), "stale"),
        (RefChange(MAIN, "b", None), "stale"),
        (RefChange("refs/heads/memory/none", "b", "c"), "stale"),
        (RefChange("refs/heads/memory/none", None, "c"), "stale"),
        (RefChange("refs/heads/memory/symbolic", "b", "a"), "symbolic-ref"),
        (RefChange("refs/heads/memory/broken", None, "a"), "broken-ref"),
        (RefChange("refs/heads/memory/held", "b", None), "repository-locked"),
        (RefChange(f"{MAIN}/below", "b", None), "git-failed"),
        (RefChange("refs/heads/memory", "b", None), "git-failed"),
        (RefChange("refs/heads/bad..name", "b", None), "git-failed"),
        (RefChange("refs/heads/memory/x", MISSING, None), "git-failed"),
    ],
    ids=range(12),
)
def test_one_that_can_not_move_stops_all(
    repo: Repo, impatient: None, fault: RefChange, reference: str, place: int
) -> None:
    """Whichever of several changes fails, and why: none is made, and it is said which sort it is."""
    heads = repo.git_dir / "refs/heads/memory"
    repo.run("symbolic-ref", "refs/heads/memory/symbolic", MAIN)
    (heads / "broken").write_text("no id\n")
    (heads / "held.lock").write_text("")
    values = {"a": repo.a, "b": repo.b, "c": repo.c}
    wrong = replace(
        fault,
        new=values.get(fault.new or "", fault.new),
        old=values.get(fault.old or "", fault.old),
    )
    others = [change for change in repo.changes if change.name != wrong.name]

    with pytest.raises(GitmemError) as caught:
        repo.move([*others[:place], wrong, *others[place:]])

    assert caught.value.reference == reference
    assert repo.locks() == ["held.lock"]
    (heads / "broken").unlink()
    assert repo.refs() == {MAIN: repo.a, "refs/heads/memory/symbolic": repo.a, GONE: repo.b}


def test_a_stale_change_names_the_ref(repo: Repo) -> None:
    """The error says which ref has moved."""
    with pytest.raises(ConflictError, match=f"'{GONE}' has moved") as caught:
        repo.move([RefChange(MAIN, repo.b, repo.a), RefChange(GONE, None, repo.c)])

    assert caught.value.hint


@pytest.mark.parametrize("gone", [False, True])
def test_a_symbolic_ref_moves_nothing_elsewhere(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    """One that becomes symbolic after the look is changed itself, not what it points to."""
    repo.run("update-ref", NEW, repo.a)
    change = RefChange(NEW, None if gone else repo.b, repo.a)
    with Transaction(repo.git_dir, [change]) as transaction:
        monkeypatch.setattr(refs, "read", lambda *_: repo.run("symbolic-ref", NEW, MAIN))
        transaction.prepare()
        transaction.commit()

    assert repo.refs() == {MAIN: repo.a, GONE: repo.b} | ({} if gone else {NEW: repo.b})


def test_a_lock_that_goes_in_time_is_waited_for(repo: Repo) -> None:
    """Another git holds a ref for a moment: the move waits, as git does."""
    lock = repo.git_dir / f"{MAIN}.lock"
    lock.write_text("")
    timer = threading.Timer(0.2, lock.unlink)
    timer.start()

    repo.move(repo.changes)

    timer.join()
    assert repo.refs() == {MAIN: repo.c, NEW: repo.b}


def test_many_refs_at_once(repo: Repo) -> None:
    """More changes than a pipe holds."""
    names = [f"refs/memory/kept/{'x' * 80}-{number}" for number in range(1500)]

    repo.move([RefChange(name, repo.a, None) for name in names])
    assert len(repo.refs()) == 1502
    repo.move([RefChange(name, None, repo.a) for name in names])

    assert set(repo.refs()) == {MAIN, GONE}


# -- a git that is killed --------------------------------------------------------------------------


@pytest.mark.parametrize("prepared", [False, True])
def test_a_git_that_is_killed_is_an_error(repo: Repo, prepared: bool) -> None:
    """Its death changes nothing and is told; its locks can be cleared, and the next move works."""
    before = repo.refs()
    with (
        pytest.raises(GitmemError) as caught,
        Transaction(repo.git_dir, repo.changes) as transaction,
    ):
        if prepared:
            transaction.prepare()
        transaction._git.kill()
        transaction._git.wait()
        transaction.commit()

    assert caught.value.reference == "git-failed"
    assert repo.refs() == before
    assert bool(repo.locks()) is prepared
    assert remaining(repo.git_dir, repo.changes) == []

    clear_locks(repo.git_dir, repo.changes, since_ns=0)
    assert repo.locks() == []
    repo.move(repo.changes)
    assert repo.refs() == {MAIN: repo.c, NEW: repo.b}


# In the order in which git makes them: new values first, deletions last.
@given(done=st.integers(0, 3), stranger=st.none() | st.integers(0, 2), packed=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_rest_of_a_killed_move(
    shared: Repo, done: int, stranger: int | None, packed: bool
) -> None:
    """What is left is exactly what is not done, and nothing once anybody else has moved a ref."""
    repo = shared
    repo.run("update-ref", "refs/heads/still", repo.a)
    changes = repo.changes
    for number, change in enumerate(changes):
        value = change.new if number < done else change.old
        if number == stranger:
            value = {repo.a: repo.b, repo.b: repo.a}.get(value or "", repo.a)
        args = ["-d", change.name] if value is None else [change.name, value]
        repo.run("update-ref", *args)
    if packed:
        repo.run("pack-refs", "--all")

    # As they may be listed: one that stays what it is, and the deletion before the others.
    still = RefChange("refs/heads/still", repo.a, repo.a)
    listed = [still, changes[2], *changes[:2]]
    rest = remaining(repo.git_dir, listed)

    begun, by_others = 0 < done < 3, stranger is not None
    left = [change for change in listed if change in changes[done:]]
    assert rest == (left if begun and not by_others else [])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A repository whose refs a test sets itself."""
    return Repo(tmp_path_factory.mktemp("shared"))


def test_only_dead_locks_of_this_move_are_cleared(repo: Repo) -> None:
    """Locks of other refs, of another content, from before, or made anew meanwhile stay."""
    since = (repo.git_dir / "HEAD").stat().st_mtime_ns

    def lock(name: str, content: str = "", *, ns: int = since) -> Path:
        path = repo.git_dir / f"{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        subprocess.run(["touch", "-d", f"@{ns // 10**9}.{ns % 10**9:09}", str(path)], check=True)
        return path

    gone = [lock(MAIN, f"{repo.c}\n"), lock(GONE), lock("packed-refs")]
    changes = [*repo.changes, *(RefChange(f"refs/x/{n}", repo.b, None) for n in range(3))]
    stay = [
        lock("refs/heads/memory/other", f"{repo.c}\n"),
        lock("HEAD", f"{repo.a}\n"),
        lock("refs/x/0", f"{repo.b}\n", ns=since - 1),
        lock("index"),
        lock("refs/x/1", f"{repo.b}\n"),
    ]
    again = threading.Timer(0.3, lambda: (stay[-1].unlink(), stay[-1].write_text(f"{repo.b}\n")))
    again.start()

    clear_locks(repo.git_dir, changes, since_ns=since)

    again.join()
    assert [path.name for path in gone if path.exists()] == []
    assert [path.name for path in stay if not path.exists()] == []


def test_nothing_to_clear_costs_nothing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lock nobody waits, not even where a folder or a file is in a ref's place."""
    monkeypatch.setattr(threading.Event, "wait", lambda *_: pytest.fail("it waited"))
    odd = [RefChange(f"{MAIN}/below", repo.a, None), RefChange("refs/heads", repo.a, None)]

    clear_locks(repo.git_dir, [*repo.changes, *odd], since_ns=0)
