"""The server's hook, asked by real pushes to a bare repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from build import ANN, Builder
from servers import AGENT, REVIEWER, Remote
from team import Clone, Team

from gitmem import audit, server, settings
from gitmem.errors import BadInputError
from gitmem.git.signatures import Signing
from gitmem.model import messages

RunGit = Callable[..., str]
MAIN = "refs/heads/memory/main"
CANDIDATE = "refs/heads/memory/candidate/"
DISCARDED = "refs/tags/memory/discarded/"
HIDDEN = "Use tabs.\u202e"


class Server:
    """A clone in which a test makes history, and the bare repository that it pushes to."""

    def __init__(self, repo: Builder, bare: Path, main: str) -> None:
        self.repo, self.bare, self.main = repo, bare, main

    def push(self, *refspecs: str, who: str | None = None, to: str | Path | None = None) -> str:
        """What the server says to a push, without `remote: `; nothing where it took it."""
        env = {**os.environ, **({"REMOTE_USER": who} if who is not None else {})}
        command = ["git", f"--git-dir={self.repo.git_dir}", "push", "-q", str(to or self.bare)]
        done = subprocess.run(
            [*command, *refspecs], env=env, capture_output=True, encoding="utf-8", check=False
        )
        lines = [line.removeprefix("remote: ").rstrip() for line in done.stderr.splitlines()]
        said = "\n".join(line.removeprefix("gitmem: ") for line in lines if "gitmem:" in line)
        assert (done.returncode == 0) == (said == ""), done.stderr
        return said

    def close(self, id_: str, tip: str) -> tuple[str, str]:
        """The closing commit of a candidate, and the tag object on it."""
        commit = self.repo.objects.commit(tip)
        message = messages.closing("discard", id_, "no")
        closing = self.repo.objects.write_commit(commit.tree, [tip], message, ANN)
        name = f"memory/discarded/{id_}.{closing[:8]}"
        return closing, self.repo.objects.write_tag(name, closing, ANN, message)

    def config(self, name: str, value: str) -> None:
        server.set_rules(self.bare, {name: value})


@pytest.fixture
def there(tmp_path: Path, run_git: RunGit) -> Server:
    """A server with the hook, and `memory/main` with one approved entry `a`."""
    repo = Builder.at(tmp_path)
    bare = tmp_path / "server.git"
    run_git("init", "-q", "--bare", bare, cwd=tmp_path)
    server.install(bare)
    found = Server(repo, bare, repo.approve(repo.root, {"a": "A"}, "cand_a"))
    assert found.push(f"{found.main}:{MAIN}") == ""
    return found


# -- memory/main ---------------------------------------------------------------------------------


def test_what_is_approved_comes_in(there: Server, run_git: RunGit) -> None:
    """Applies and reverts, several in one push, with their candidates' branches or without."""
    repo = there.repo
    one = repo.propose(there.main, {"b": "B"}, "cand_b")
    applied = repo.apply(there.main, one, "cand_b")
    reverted = repo.revert(applied, applied, {"b": None})

    assert there.push(f"{one}:{CANDIDATE}cand_b") == ""
    assert there.push(f"{reverted}:{MAIN}", f":{CANDIDATE}cand_b") == ""
    assert run_git("rev-parse", MAIN, cwd=there.bare) == reverted


def test_unreviewed_changes_are_refused(there: Server, run_git: RunGit) -> None:
    """One line says which commit, which entry, and what to do; nothing of the push is taken."""
    direct = there.repo.commit([there.main], {"b": "slipped in"})
    candidate = there.repo.propose(there.main, {"c": "C"}, "cand_c")

    assert there.push(f"{direct}:{MAIN}", f"{candidate}:{CANDIDATE}cand_c") == (
        f"memory/main: {direct[:12]} changes mem_b without approval; gitmem adopt {direct[:12]} "
        f"(review it), or gitmem revert {direct[:12]} (take it back)"
    )
    assert run_git("for-each-ref", "--format=%(refname)", cwd=there.bare) == MAIN


def test_a_fast_forward_to_a_candidate_is_refused(there: Server) -> None:
    """It approves nothing."""
    candidate = there.repo.propose(there.main, {"b": "B"}, "cand_b")

    assert "changes mem_b without approval" in there.push(f"{candidate}:{MAIN}")


def test_a_plain_pull_is_told_what_to_do(there: Server) -> None:
    """Its merge has the own line first; the other way round it comes in."""
    repo = there.repo
    theirs = repo.approve(there.main, {"b": "B"}, "cand_b")
    ours = repo.approve(there.main, {"c": "C"}, "cand_c")
    assert there.push(f"{theirs}:{MAIN}") == ""

    said = there.push(f"{repo.pull(ours, theirs)}:{MAIN}")

    assert said.startswith("memory/main: ")
    assert "; gitmem sync; with git alone: git switch --detach origin/memory/main && git" in said
    assert said.count("\n") == 0
    assert there.push(f"{repo.pull(theirs, ours)}:{MAIN}") == ""


def test_a_rewritten_or_deleted_main_is_refused(there: Server) -> None:
    """By force or not."""
    other = there.repo.approve(there.repo.root, {"b": "B"}, "cand_b")

    assert "does not have it; gitmem sync" in there.push(f"+{other}:{MAIN}")
    assert there.push(f":{MAIN}") == (
        "memory/main: memory/main is never deleted: what was approved stays"
    )


def test_what_was_wrong_before_stops_nobody(there: Server) -> None:
    """A repository that had unreviewed changes when the hook came goes on."""
    server.uninstall(there.bare)
    direct = there.repo.commit([there.main], {"x": "slipped in"})
    assert there.push(f"{direct}:{MAIN}") == ""
    server.install(there.bare)

    assert there.push(f"{there.repo.approve(direct, {'b': 'B'}, 'cand_b')}:{MAIN}") == ""


def test_files_that_are_no_entries_are_refused(there: Server) -> None:
    """In memory/main and in a candidate."""
    repo = there.repo
    program = {"run.sh": repo.objects.write_blob(b"#!/bin/sh\n")}
    tip = repo.commit([there.main], {}, files=program)
    merged = repo.merge(there.main, tip, "Merge branch 'memory/candidate/cand_p'\n")

    said = "'run.sh' is no entry; take it out with a further commit: memory holds entries, <key>.md"
    assert there.push(f"{tip}:{CANDIDATE}cand_p") == f"memory/candidate/cand_p: {said}"
    assert there.push(f"{merged}:{MAIN}") == f"memory/main: {said}"


# -- candidates ----------------------------------------------------------------------------------


def test_candidates_must_parse_and_hide_nothing(there: Server) -> None:
    """What a reviewer could not use or see is refused at once."""
    repo = there.repo
    broken = repo.commit([there.main], {}, files={"b.md": repo.objects.write_blob(b"text")})
    hidden = repo.propose(there.main, {"b": HIDDEN}, "cand_b")

    assert "mem_b can't be read" in there.push(f"{broken}:{CANDIDATE}cand_b")
    assert "mem_b has what no context may hold" in there.push(f"{hidden}:{CANDIDATE}cand_b")
    assert "is no name of a candidate" in there.push(f"{there.main}:{CANDIDATE}a/b")
    assert there.push(f"{repo.propose(there.main, {'b': 'B'}, 'cand_b')}:{CANDIDATE}cand_b") == ""


def test_others_undecided_candidates_stay(there: Server) -> None:
    """They are not deleted or rewritten, only added to; one's own may be."""
    repo = there.repo
    tip = repo.propose(there.main, {"b": "B"}, "cand_b")
    further = repo.commit([tip], {"b": "BB"})
    other = repo.propose(there.main, {"b": "C"}, "cand_b")
    branch = f"{CANDIDATE}cand_b"
    assert there.push(f"{tip}:{branch}", who="agent") == ""
    assert there.push(f"{further}:{branch}", who="bob") == ""

    assert there.push(f":{branch}", who="bob") == (
        "memory/candidate/cand_b: it is not decided; to close it: gitmem discard cand_b"
    )
    assert "it would be rewritten" in there.push(f"+{other}:{branch}", who="bob")
    assert "it would be rewritten" in there.push(f"+{other}:{branch}")
    assert there.push(f"+{other}:{branch}", who="agent") == ""
    assert there.push(f":{branch}", who="agent") == ""


def test_decided_candidates_go(there: Server) -> None:
    """Once applied or discarded, in the same push or before, anybody may remove the branch."""
    repo = there.repo
    for id_ in ("cand_b", "cand_c"):
        tip = repo.propose(there.main, {"b": id_}, id_)
        assert there.push(f"{tip}:{CANDIDATE}{id_}", who="agent") == ""
        closing, tag = there.close(id_, tip)
        move = f"{tag}:{DISCARDED}{id_}.{closing[:8]}"
        if id_ == "cand_b":
            assert there.push(move, f":{CANDIDATE}{id_}", who="bob") == ""
        else:
            applied = repo.apply(there.main, tip, id_)
            assert there.push(f"{applied}:{MAIN}", who="bob") == ""
            assert there.push(f":{CANDIDATE}{id_}", who="bob") == ""


def test_a_candidate_before_memory(there: Server, tmp_path: Path, run_git: RunGit) -> None:
    """What it changes can't be told where there is nothing to change."""
    run_git("init", "-q", "--bare", "empty.git", cwd=tmp_path)
    server.install(tmp_path / "empty.git")
    tip = there.repo.propose(there.main, {"b": "B"}, "cand_b")

    said = there.push(f"{tip}:{CANDIDATE}cand_b", to=tmp_path / "empty.git")
    assert said.endswith("there is no memory/main yet; a person pushes that first")
    both = (f"{tip}:{CANDIDATE}cand_b", f"{there.main}:{MAIN}")
    assert there.push(*both, to=tmp_path / "empty.git") == ""


# -- discard tags and other refs -----------------------------------------------------------------


def test_discard_tags_are_valid_and_stay(there: Server) -> None:
    """One that closes nothing is refused, and none is moved or removed."""
    repo = there.repo
    tip = repo.propose(there.main, {"b": "B"}, "cand_b")
    closing, tag = there.close("cand_b", tip)
    ref = f"{DISCARDED}cand_b.{closing[:8]}"

    for bad in (closing, repo.objects.write_tag("x", tip, ANN, "no")):
        assert "it closes no candidate; gitmem discard" in there.push(f"{bad}:{ref}")
    assert "it closes no candidate" in there.push(f"{tag}:{DISCARDED}cand_b.00000000")
    assert there.push(f"{tag}:{ref}") == ""
    other = repo.objects.write_tag("x", closing, ANN, "another text")
    for move in (f"+{other}:{ref}", f":{ref}"):
        assert there.push(move) == (
            f"memory/discarded/cand_b.{closing[:8]}: a discarded candidate stays on record; "
            "to take it up again: gitmem reopen"
        )


def test_what_is_not_shared(there: Server) -> None:
    """Session records and anchors are refused, and so is what has no meaning below memory/."""
    for ref in ("refs/memory/session/s1", "refs/memory/kept/cand_b"):
        assert there.push(f"{there.main}:{ref}") == (
            f"{ref}: this is of your own clone: push refs/heads/memory/* alone"
        )
    assert "no such thing is shared" in there.push(f"{there.main}:refs/heads/memory/other")
    assert "no such thing is shared" in there.push(f"{there.main}:refs/tags/memory/v1")


def test_other_refs_are_left_alone(there: Server) -> None:
    """Code beside the memory comes and goes as before, with no look at it."""
    code = there.repo.commit([], {}, files={"x.py": there.repo.objects.write_blob(b"x")})

    assert there.push(f"{code}:refs/heads/main", f"{code}:refs/tags/v1") == ""
    assert there.push(":refs/tags/v1") == ""


# -- who may -------------------------------------------------------------------------------------


def test_who_decides(there: Server) -> None:
    """By the account that pushes, whatever name a commit bears; candidates are free."""
    there.config("approvers", "ann, bob")
    repo = there.repo
    tip = repo.propose(there.main, {"b": "B"}, "cand_b")
    applied = repo.apply(there.main, tip, "cand_b")
    closing, tag = there.close("cand_b", tip)
    discard = f"{tag}:{DISCARDED}cand_b.{closing[:8]}"

    assert there.push(f"{tip}:{CANDIDATE}cand_b", who="agent") == ""
    refused = "'agent' may not decide here; ask ann, bob"
    assert there.push(f"{applied}:{MAIN}", who="agent") == f"memory/main: {applied[:12]}: {refused}"
    assert there.push(discard, who="agent").endswith(f": {refused}")
    assert "does not know who you are" in there.push(f"{applied}:{MAIN}")
    assert there.push(f"{applied}:{MAIN}", who="bob") == ""


def test_nobody_approves_an_own_candidate(there: Server) -> None:
    """By the candidate's actor."""
    there.config("ownCandidates", "refused")
    repo = there.repo
    applied = repo.approve(there.main, {"b": "B"}, "cand_b")
    message = messages.proposal("cand_c", ["c"], "Because.", [], actor="user")
    by_hand = repo.apply(there.main, repo.commit([there.main], {"c": "C"}, message), "cand_c")

    assert there.push(f"{applied}:{MAIN}", who="agent").endswith(
        "'agent' proposed cand_b; somebody else has to approve it"
    )
    assert "'user' proposed cand_c" in there.push(f"{by_hand}:{MAIN}", who="bob")
    assert there.push(f"{applied}:{MAIN}", who="bob") == ""


class Signed:
    """A server that takes only what Ann signed."""

    def __init__(self, there: Server, keys: Any, run_git: RunGit) -> None:
        there.config("approval", "signed")
        (there.bare / server.SIGNERS).write_text(f"{keys['ann'].line('ann@example.org')}\n")
        self.keys, self.run_git, self.there = keys, run_git, there
        self.signing = Signing(there.repo.git_dir, there.repo.git_dir)

    def sign(self, commit: str, who: str = "ann") -> str:
        self.keys[who].sign_with(self.run_git, self.there.repo.git_dir)
        plain = self.there.repo.objects.commit(commit)
        return self.signing.write_commit(plain.tree, plain.parents, plain.message, ANN)


@pytest.fixture
def signed(there: Server, keys: Any, run_git: RunGit) -> Signed:
    return Signed(there, keys, run_git)


def test_approvals_must_be_signed(there: Server, signed: Signed) -> None:
    """Forged ones are refused, also by a key that is not listed; whoever pushes signed ones may."""
    applied = there.repo.approve(there.main, {"b": "B"}, "cand_b")

    assert there.push(f"{applied}:{MAIN}", who="ann").startswith(
        f"memory/main: {applied[:12]} changes mem_b in a merge or revert that no allowed signer signed"
    )
    assert "no allowed signer" in there.push(f"{signed.sign(applied, 'eve')}:{MAIN}")
    assert there.push(f"{signed.sign(applied)}:{MAIN}", who="agent") == ""


def test_only_approvers_signatures_count(there: Server, signed: Signed) -> None:
    """A listed key is not enough where approvers are named."""
    there.config("approvers", "bob@example.org")
    applied = signed.sign(there.repo.approve(there.main, {"b": "B"}, "cand_b"))

    assert there.push(f"{applied}:{MAIN}", who="bob@example.org").endswith(
        ": 'ann@example.org' may not decide here; ask bob@example.org"
    )
    there.config("approvers", "bob@example.org ann@example.org")
    assert there.push(f"{applied}:{MAIN}") == ""


def test_discards_must_be_signed(there: Server, signed: Signed) -> None:
    """The closing commit and its tag, both."""
    tip = there.repo.propose(there.main, {"b": "B"}, "cand_b")
    closing, tag = there.close("cand_b", tip)
    ref = f"{DISCARDED}cand_b.{closing[:8]}"
    assert "no allowed signer signed it" in there.push(f"{tag}:{ref}")

    good = signed.sign(closing)
    ref = f"{DISCARDED}cand_b.{good[:8]}"
    bare = there.repo.objects.write_tag("x", good, ANN, "no\n")
    assert "no allowed signer signed the tag" in there.push(f"{bare}:{ref}")
    assert there.push(f"{signed.signing.write_tag('x', good, ANN, 'no')}:{ref}") == ""


def test_a_direct_commit_beside_the_entries_must_be_signed(there: Server, signed: Signed) -> None:
    """A workflow of a forge is no entry, and not for everybody to change."""
    files = {".github/workflows/x.yml": there.repo.objects.write_blob(b"on: push\n")}
    direct = there.repo.commit([there.main], {}, files=files)

    assert "no allowed signer signed it" in there.push(f"{direct}:{MAIN}")
    assert there.push(f"{signed.sign(direct)}:{MAIN}") == ""


# -- in and out ----------------------------------------------------------------------------------


def test_the_own_hook_runs_first(there: Server, run_git: RunGit) -> None:
    """It gets what git says, may refuse, and has its name back in the end."""
    assert server.uninstall(there.bare) is not None
    hook = there.bare / "hooks" / "pre-receive"
    hook.write_text(
        '#!/bin/sh\ncat >"$GIT_DIR/seen"\n[ ! -e "$GIT_DIR/no" ] || { echo gitmem: no >&2; exit 1; }\n'
    )
    hook.chmod(0o755)
    text = hook.read_text()
    changed = server.install(there.bare)
    assert changed is not None
    assert changed.local
    assert server.install(there.bare) is None
    tip = there.repo.propose(there.main, {"b": "B"}, "cand_b")

    assert there.push(f"{tip}:{CANDIDATE}cand_b") == ""
    assert (there.bare / "seen").read_text() == f"{'0' * 40} {tip} {CANDIDATE}cand_b\n"
    (there.bare / "no").touch()
    assert there.push(f"{tip}:{CANDIDATE}cand_c") == "no"

    server.uninstall(there.bare)
    assert hook.read_text() == text
    assert server.uninstall(there.bare) is None


def test_what_it_cannot_check_it_refuses(there: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing program, settings that nobody understands, a fault of its own: never a yes."""
    tip = there.repo.propose(there.main, {"b": "B"}, "cand_b")
    move = f"{tip}:{CANDIDATE}cand_b"
    hook = there.bare / "hooks" / "pre-receive"
    text = hook.read_text()

    hook.write_text(text.replace(f"python={sys.executable}", "python=/nowhere/python"))
    assert "gitmem no longer runs on this server" in there.push(move)
    hook.write_text(text.replace(f"python={sys.executable}", "python=false"))
    assert there.push(move) == "nothing was taken: gitmem could not check it on this server"
    hook.write_text(text)
    there.config("approval", "perhaps")
    assert "gitmem could not check it" in there.push(move)
    there.config("approval", "open")
    assert there.push(move) == ""


def test_a_fault_of_its_own_is_told_in_one_line(there: Server, tmp_path: Path) -> None:
    """Without the server's paths and code; and the push is refused."""
    input_ = f"{'1' * 40} {'2' * 40} {MAIN}\n"
    command = [sys.executable, "-P", "-m", "gitmem", "server", "run", str(there.bare)]
    env = {**os.environ, "GIT_QUARANTINE_PATH": str(tmp_path)}
    done = subprocess.run(
        command, input=input_, capture_output=True, encoding="utf-8", check=False, env=env
    )

    assert done.returncode != 0
    assert "do not lie in the repository" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["missing", "worktree", "shared"])
def test_where_it_does_not_go(there: Server, where: str, tmp_path: Path, run_git: RunGit) -> None:
    """Into no other folder than the hooks of a bare repository."""
    if where == "worktree":
        run_git("init", "-q", "worktree", cwd=tmp_path)
    place = there.bare if where == "shared" else tmp_path / where
    if where == "shared":
        run_git("config", "core.hooksPath", tmp_path / "hooks", cwd=there.bare)

    with pytest.raises(BadInputError) as error:
        server.install(place)

    expected = "hooks-elsewhere" if where == "shared" else "no-bare-repository"
    assert error.value.reference == expected


def test_a_push_of_many_refs_is_one_process(there: Server, tmp_path: Path) -> None:
    """One interpreter for all of them, and a bounded number of git processes."""
    log = tmp_path / "starts"
    hook = there.bare / "hooks" / "pre-receive"
    counting = tmp_path / "python"
    counting.write_text(f'#!/bin/sh\necho started >>{log}\nexec {sys.executable} "$@"\n')
    counting.chmod(0o755)
    hook.write_text(hook.read_text().replace(f"python={sys.executable}", f"python={counting}"))
    tips = [there.repo.propose(there.main, {f"k{n}": "x"}, f"cand_{n}") for n in range(50)]

    assert there.push(*(f"{tip}:{CANDIDATE}cand_{n}" for n, tip in enumerate(tips))) == ""
    assert log.read_text() == "started\n"


def test_on_real_servers(
    remote: Remote, tmp_path: Path, keys: Any, run_git: RunGit, sealed_home: Path
) -> None:
    """Over a path, http and ssh: the agent proposes and does not approve, a forged approval is
    refused, the reviewer's signed one goes through.
    """
    repo = Builder.at(tmp_path)
    there = Server(repo, remote.git_dir, repo.approve(repo.root, {"a": "A"}, "cand_a"))
    assert there.push(f"{there.main}:{MAIN}", to=remote.url(REVIEWER)) == ""
    server.install(remote.git_dir)
    tip = repo.propose(there.main, {"b": "B"}, "cand_b")
    forged = repo.apply(there.main, tip, "cand_b")
    branch = f"{CANDIDATE}cand_b"

    assert there.push(f"{tip}:{branch}", to=remote.url(AGENT)) == ""
    if remote.server is not None:
        # A path has no accounts.
        there.config("approvers", REVIEWER)
        refused = there.push(f"{forged}:{MAIN}", to=remote.url(AGENT))
        assert refused.endswith("'agent' may not decide here; ask reviewer")
    there.config("approvers", "ann@example.org")
    signed = Signed(there, keys, run_git)
    assert "no allowed signer signed" in there.push(f"{forged}:{MAIN}", to=remote.url(REVIEWER))
    moves = (f"{signed.sign(forged)}:{MAIN}", f":{branch}")
    assert there.push(*moves, to=remote.url(REVIEWER)) == ""


def test_a_team_that_signs(tmp_path: Path, keys: Any, run_git: RunGit) -> None:
    """Syncs sign what they join, the server takes all of it, and both read the same memory."""
    team = Team(tmp_path, ("ann", "bob"))
    ann, bob = team.clones

    def as_(clone: Clone) -> Clone:
        keys[clone.person.name].sign_with(run_git, tmp_path)
        return clone

    ann.approve("a", "A")
    ann.sync()
    bob.sync()
    server.install(team.remote)
    server.set_rules(team.remote, {"approval": "signed"})
    listed = "".join(f"{keys[name].line(name)}\n" for name in ("ann", "bob"))
    (team.remote / server.SIGNERS).write_text(listed)
    for clone in team.clones:
        settings.set_approval(as_(clone).store, "signed", clone.person)
        for name in ("ann", "bob"):
            settings.add_signer(clone.store, clone.person, name, str(keys[name].public))

    as_(ann).approve("b", "B")
    as_(bob).approve("c", "C")
    bob.memory.discard(bob.propose("d", "D"), by=bob.person)
    as_(ann).approve("k", "one")
    as_(bob).approve("k", "two")
    reports = [as_(clone).sync() for clone in (ann, bob, ann)]

    assert ann.main == bob.main
    assert [report.refused for report in reports] == [{}, {}, {}]
    assert [ann.body(key) for key in "abck"] == ["A", "B", "C", "one"]
    assert [judgement.kind for judgement in ann.store.ledger().line][-1] == "sync"
    assert sorted(ann.states().values()) == [*["applied"] * 5, "discarded", "pending"]
    assert audit.verify(ann.memory).findings == ()
