from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitmem import hooks, layout, tiersetup
from gitmem.errors import BadInputError, RefusedError
from gitmem.git import discover, tierrepo
from gitmem.layout import TierPlace
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model import context, trailers

RunGit = Callable[..., str]

DOCS = Path(__file__).parent.parent / "docs" / "hooks.md"

DIRECT = "nothing is committed on memory/main directly"
UNREADABLE = "could not be read by gitmem"
NEVER_REBASED = "memory/main is never rebased"
NOTHING_PUSHED = "nothing is pushed"


@dataclass
class Tier:
    """A project's memory with hooks and a remote; `ids` are the candidates X, Y and Z in it.

    X and Y are pending, Z is pending and on the remote too.
    """

    host: Path
    ids: dict[str, str]

    @property
    def folder(self) -> Path:
        return self.host / ".custom-agent" / "memory"

    @property
    def place(self) -> TierPlace:
        place = self.memory.found.project
        assert place is not None
        return place

    @property
    def memory(self) -> Memory:
        return open_memory(self.host)

    @property
    def hooks(self) -> Path:
        return layout.hooks_path(self.place.git_dir)

    def named(self, text: str) -> str:
        """`text` with the ids of X, Y and Z for their names."""
        return re.sub(r"\b(candidate/|kept/)([XYZ])\b", lambda m: m[1] + self.ids[m[2]], text)

    def try_sh(
        self, script: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell script in the memory folder, whatever comes of it."""
        return subprocess.run(
            ["sh", "-ec", self.named(script)],
            cwd=self.folder,
            env=os.environ | {"GIT_EDITOR": "true"} | (env or {}),
            capture_output=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def sh(self, script: str, env: dict[str, str] | None = None) -> str:
        """Run a shell script that succeeds in the memory folder; its standard output."""
        done = self.try_sh(script, env)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def told(self) -> dict[str, tuple[str, ...]]:
        """Our trailers on the last commit, without `Memory-`."""
        message = trailers.parse(self.sh("git log -1 --format=%B"))
        names = dict.fromkeys(name for name, _ in message.trailers)
        return {name.removeprefix("Memory-"): message.all(name) for name in names}

    def kept(self, name: str) -> str:
        """The anchor of a candidate; nothing where there is none."""
        return self.try_sh(f"git rev-parse --verify --quiet refs/memory/kept/{name}").stdout.strip()

    def head(self) -> str:
        return self.sh("git rev-parse HEAD")


GOOD = "printf -- '---\\ntype: fact\\n---\\n\\nBy hand.\\n' >hand.md; git add hand.md; "
BAD = "printf -- '---\\ntype: rumour\\n---\\n\\nHearsay.\\n' >bad.md; git add bad.md; "
BRANCH = "git switch -qc memory/candidate/by-hand; "
BROKEN = (
    "git switch -qc memory/candidate/broken; "
    + BAD
    + "git commit -qnm bad; git switch -q memory/main; "
)
CONFLICT = (
    "git switch -qc memory/candidate/other; sed -i s/approved/other/ known.md; "
    "git commit -qam other; git switch -q memory/main; "
    "sed -i s/approved/unreviewed/ known.md; git commit -qanm main; "
)
SETTLED = (
    CONFLICT + "git merge -q memory/candidate/other >/dev/null || :; "
    "printf -- '---\\ntype: fact\\n---\\n\\nBoth.\\n' >known.md; git add known.md; "
)
APPLIED = "git merge -q --no-ff memory/candidate/X; "
# A person elsewhere has approved one more.
AHEAD = (
    "git clone -q --no-checkout ../../../remote.git ../../../there; "
    "(cd ../../../there; git switch -q memory/main; git merge -q --no-ff -m "
    "\"Merge branch 'memory/candidate/Z' into memory/main\" origin/memory/candidate/Z; "
    "git push -q origin memory/main); "
)
PATCH = "git format-patch -q -1 --stdout memory/candidate/X >../../../x.patch; "
PUSHED = "git push -q origin memory/main; "


@dataclass(frozen=True)
class Row:
    """One git command: what is done before it, which of our hooks run, and what comes of it.

    `hooks` None: git itself refuses. `told` are the trailers of the commit that it makes, `kept`
    the candidate whose anchor is at HEAD afterwards. `again` tells two rows with one command apart.
    """

    before: str
    command: str
    hooks: tuple[str, ...]
    says: str = ""
    code: int = 0
    told: dict[str, str] | None = None
    kept: str | None = None
    again: str = ""


MERGE = ("pre-merge-commit", "prepare-commit-msg", "post-merge")
COMMIT = ("pre-commit", "prepare-commit-msg", "post-commit")
PICK = ("prepare-commit-msg", "post-commit")
NOTHING: dict[str, str] = {}
X = {"Event": "candidate.applied", "Candidate": "X"}

ROWS = (
    # -- commits on memory/main
    Row(GOOD, 'git commit -m "by hand"', ("pre-commit",), DIRECT, 1),
    Row(GOOD, 'git commit --no-verify -m "by hand"', PICK, told=NOTHING),
    Row(APPLIED, "git commit --amend --no-edit", ("pre-commit",), DIRECT, 1),
    Row("", "git cherry-pick memory/candidate/X", PICK[:1], DIRECT, 1),
    Row(PATCH, "git am ../../../x.patch", ("pre-applypatch",), DIRECT, 1),
    Row("echo >>known.md; ", "git stash", ()),
    # -- merges into memory/main
    Row("", "git merge --no-ff memory/candidate/X", MERGE, told=X),
    Row("", "git merge memory/candidate/X", MERGE, told=X),
    Row("", 'git merge -m "take it" memory/candidate/X', MERGE, told=X),
    Row(
        "",
        "git merge memory/candidate/X memory/candidate/Y",
        MERGE,
        told=X | {"Candidate": "X Y"},
    ),
    Row(
        "git branch -qD memory/candidate/Z; ",
        "git merge origin/memory/candidate/Z",
        MERGE,
        told=X | {"Candidate": "Z"},
    ),
    Row("", "git merge $(git rev-parse memory/candidate/X)", MERGE, told=NOTHING),
    Row(BROKEN, "git merge memory/candidate/broken", MERGE[:1], UNREADABLE, 1),
    Row(CONFLICT, "git merge memory/candidate/other", (), "CONFLICT", 1),
    Row(
        SETTLED,
        "git commit --no-edit",
        COMMIT,
        told=X | {"Candidate": "other"},
        again="after a conflict",
    ),
    Row("", "git merge --no-commit memory/candidate/X", (), "stopped before committing"),
    Row("", "git merge --squash memory/candidate/X", (), "cannot be used together", 128),
    Row("", "git merge --squash --ff memory/candidate/X", ("post-merge",)),
    Row(
        "git merge -q --squash --ff memory/candidate/X; ",
        'git commit -m "by hand"',
        ("pre-commit",),
        DIRECT,
        1,
        again="after a squash",
    ),
    # -- reverts on memory/main
    Row(APPLIED, "git revert --no-edit -m 1 HEAD", PICK, told={"Event": "memory.reverted"}),
    Row(
        APPLIED + "git revert --no-edit -m 1 HEAD; ",
        "git revert --no-edit HEAD",
        PICK,
        told={"Event": "memory.reverted"},
    ),
    Row(
        GOOD + "git commit -qnm x; ",
        "git revert --reference --no-edit HEAD",
        PICK,
        told={"Event": "memory.reverted"},
    ),
    Row(
        GOOD + "git commit -qnm x; git revert --no-commit HEAD; ",
        'git commit -m "take it back"',
        COMMIT,
        told={"Event": "memory.reverted"},
    ),
    # -- what comes from others
    Row(AHEAD, "git fetch", ()),
    Row(AHEAD, "git pull", MERGE, told=NOTHING),
    Row(AHEAD, "git pull --ff-only", ("post-merge",)),
    Row(AHEAD + APPLIED, "git pull --rebase", ("pre-rebase",), NEVER_REBASED, 1),
    Row(APPLIED, "git rebase HEAD~1 --onto HEAD~1^", ("pre-rebase",), NEVER_REBASED, 1),
    # -- on the branch of a candidate
    Row(BRANCH + GOOD, "git commit -m why", COMMIT, told=NOTHING, kept="by-hand"),
    Row(BRANCH + BAD, "git commit -m why", ("pre-commit",), UNREADABLE, 1, again="broken"),
    Row(
        BRANCH + GOOD + "git commit -qm why; ",
        "git commit --amend -m because",
        (*COMMIT, "post-rewrite"),
        kept="by-hand",
    ),
    Row(
        APPLIED + "git switch -q memory/candidate/Y; ",
        "git merge memory/main",
        MERGE,
        told=NOTHING,
        kept="Y",
    ),
    Row(
        APPLIED + "git switch -q memory/candidate/Y; ",
        "git rebase memory/main",
        ("pre-rebase", *PICK, "post-rewrite"),
        kept="Y",
    ),
    Row(BRANCH, "git cherry-pick memory/candidate/Y", PICK, kept="by-hand"),
    Row(
        PATCH + BRANCH,
        "git am ../../../x.patch",
        ("pre-applypatch", "post-applypatch"),
        again="on a branch",
    ),
    Row("", "git worktree add ../../../side memory/candidate/X", ()),
    Row("", "git branch -D memory/candidate/X", ()),
    # -- pushes
    Row("", "git push origin memory/main", ("pre-push",)),
    Row("", "git push", ("pre-push",)),
    Row("", "git push origin HEAD:refs/heads/main", ("pre-push",), NOTHING_PUSHED, 1),
    Row(
        "git --git-dir=../../../remote.git branch main memory/main; ",
        "git push --mirror ../../../remote.git",
        ("pre-push",),
        NOTHING_PUSHED,
        1,
    ),
    Row(
        APPLIED + PUSHED,
        "git push --force origin HEAD~1:memory/main",
        ("pre-push",),
        NOTHING_PUSHED,
        1,
    ),
    Row("", "git push --delete origin memory/main", ("pre-push",), NOTHING_PUSHED, 1),
    Row("", "git push --delete origin memory/candidate/Z", ("pre-push",), NOTHING_PUSHED, 1),
    Row(
        "git merge -q memory/candidate/Z; ",
        "git push --delete origin memory/candidate/Z",
        ("pre-push",),
        again="once it is merged",
    ),
)


# -- the tier in which they run -----------------------------------------------------------------

_templates: list[tuple[Path, dict[str, str]]] = []


def _template(place: Path, run_git: RunGit) -> dict[str, str]:
    """A host with memory, hooks, one approved entry, and a remote that has all but X and Y."""
    host, remote = place / "host", place / "remote.git"
    host.mkdir()
    run_git("init", "-q", cwd=host)
    tiersetup.init(host, scope="project", ask_remote=False)
    memory = open_memory(host)
    tier = memory.found.project
    assert tier is not None
    hooks.install(tier)
    memory.add(Draft("known", "What is approved.", "fact"), by=memory.person())
    ids = {}
    for name in "ZXY":
        draft = Draft(f"fact_{name.lower()}", f"The fact {name}.", "fact")
        ids[name] = memory.propose(draft, rationale=f"because of {name}").id
        if name == "Z":
            run_git("clone", "-q", "--bare", tier.git_dir, remote, cwd=place)
    tierrepo.add_remote(tier.git_dir, "origin", str(remote))
    followed = f'[branch "memory/main"]\n\tremote = origin\n\tmerge = {layout.MAIN}\n'
    with (tier.git_dir / "config").open("a", encoding="utf-8") as config:
        config.write(followed)
    run_git(f"--git-dir={tier.git_dir}", "fetch", "-q", "origin", cwd=place)
    return ids


@pytest.fixture
def tier(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, run_git: RunGit) -> Tier:
    """A copy of the template, whose paths are its own."""
    if not _templates:
        place = tmp_path_factory.mktemp("hooks-template")
        _templates.append((place, _template(place, run_git)))
    source, ids = _templates[0]
    shutil.copytree(source, tmp_path, symlinks=True, dirs_exist_ok=True)
    config = layout.host_repository(tmp_path / "host" / ".git") / "config"
    config.write_text(config.read_text("utf-8").replace(str(source), str(tmp_path)), "utf-8")
    discover.find(tmp_path / "host")
    return Tier(tmp_path / "host", ids)


def _ran(trace: Path) -> tuple[str, ...]:
    """The hooks that git started, in order, each once."""
    started = [json.loads(line) for line in trace.read_text("utf-8").splitlines()]
    return tuple(dict.fromkeys(it["hook_name"] for it in started if it.get("hook_name")))


# -- what git does with them --------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.command} {row.again}".strip())
def test_git_with_hooks(tier: Tier, row: Row) -> None:
    """Each row of the documented table: which hooks run, what they refuse, what they add."""
    tier.sh(row.before or ":")
    before, trace = tier.head(), tier.host / "trace"

    done = tier.try_sh(row.command, {"GIT_TRACE2_EVENT": str(trace)})

    said = done.stdout + done.stderr
    assert done.returncode == row.code or (row.code == 1 and done.returncode), said
    assert _ran(trace) == row.hooks
    assert row.says in said
    if row.code:
        assert tier.head() == before
    if row.told is not None:
        assert tier.head() != before
        told = tier.told()
        named = [tier.ids.get(id_, id_) for id_ in row.told.get("Candidate", "").split()]
        assert told.get("Event", ()) == tuple(filter(None, [row.told.get("Event")]))
        assert told.get("Candidate", ()) == tuple(named)
        if row.told.get("Event") == "memory.reverted":
            assert len(told["Reverts"]) == 1
    if row.kept is not None:
        assert tier.kept(tier.ids.get(row.kept, row.kept)) == tier.head() != before


def test_the_table_in_the_docs_is_the_tested_one() -> None:
    """Each row of the documented table is tested, and each tested row is documented."""
    lines = re.findall(
        r"^\| `(git .*?)`(?: \((.*)\))? \| (.*?) \| (.*) \|$", DOCS.read_text("utf-8"), re.MULTILINE
    )
    documented = {(command, again): (ran, result) for command, again, ran, result in lines}

    expected = {(row.command, row.again): row for row in ROWS}
    assert documented.keys() == expected.keys()
    for key, (ran, result) in documented.items():
        row = expected[key]
        assert tuple(re.findall(r"`(.*?)`", ran)) == row.hooks, key
        assert row.says in result, key
        assert ("refused" in result) == (row.code == 1 and "CONFLICT" not in result), key
        for value in (row.told or {}).values():
            assert all(word in result for word in value.split()), key


def test_a_merge_by_hand_is_no_inferred_apply(tier: Tier) -> None:
    """What the hooks write is what gitmem's log reads, and the context has the entry."""
    tier.sh("git merge -q --no-ff memory/candidate/X")
    tier.sh("git revert --no-edit -m 1 HEAD")
    tier.sh("git revert --no-edit HEAD")

    decided = [
        (event.kind, event.candidate, event.inferred)
        for _, event in tier.memory.log()
        if event.kind in ("candidate.applied", "memory.reverted")
    ]
    assert decided[1:] == [
        ("candidate.applied", tier.ids["X"], False),
        ("memory.reverted", tier.ids["X"], False),
        ("memory.reverted", tier.ids["X"], False),
    ]
    assert "The fact X." in tier.memory.context(context.Options()).context.text


# -- what must not be taken for an apply ---------------------------------------------------------


@pytest.mark.parametrize("branch", ["evil", "Z"])
def test_a_branch_on_the_merged_commit_is_not_applied(tier: Tier, branch: str) -> None:
    """A pull is no apply of a candidate whose branch somebody has put onto the pulled commit."""
    tier.sh(
        AHEAD + "git fetch -q; git branch -f memory/candidate/" + branch + " origin/memory/main"
    )

    tier.sh("git pull -q")

    assert tier.told() == {}


@pytest.mark.parametrize(
    "name", ["memory/candidate/X~0", "memory/candidate/X-2", "candidate/X", "HEAD~1"]
)
def test_only_a_candidates_own_branch_is_applied(tier: Tier, name: str) -> None:
    """Neither a name that begins with a candidate's nor a commit of it is the candidate."""
    tier.sh("git branch memory/candidate/X-2 memory/candidate/Y; git tag candidate/X HEAD~1")
    tier.sh("git branch candidate/X memory/candidate/X")

    tier.try_sh(f'git merge -m "take it" {name}')

    assert tier.ids["X"] not in tier.told().get("Candidate", ())


def test_an_octopus_with_a_stranger_applies_none(tier: Tier) -> None:
    """Where one of several merged branches is no candidate's, no candidate is named."""
    tier.sh("git branch stranger memory/candidate/Y; git merge -q memory/candidate/X stranger")

    assert tier.told() == {}


def test_a_revert_of_something_else_is_not_marked(tier: Tier) -> None:
    """A revert of a commit that memory/main does not have gets no trailer."""
    tier.sh("git switch -q memory/candidate/X; " + GOOD + "git commit -qm x; git switch -q -")
    tier.sh("git merge -q --squash --ff memory/candidate/X; git commit -qnm squashed")

    tier.sh("git revert --no-edit memory/candidate/X")

    assert tier.told() == {}


def test_a_message_that_only_looks_like_a_revert_is_not_marked(tier: Tier) -> None:
    """Without git's own revert, its words do not make one."""
    tier.sh(GOOD + 'git commit -qnm "x\n\nThis reverts commit $(git rev-parse HEAD)."')

    assert tier.told() == {}


# -- the message ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "subject",
        "subject\n",
        "memory: subject",
        "subject\n\nbody",
        "subject\n\nReviewed-by: Ann",
        "subject\n\nbody\n\n# a comment\n#\n",
        "subject\n\nbody\n# ------------------------ >8 ------------------------\n# diff: x\n",
        "\n\nsubject\n\n\n",
        "主题\n\n正文",
    ],
)
def test_trailers_are_added_once(tier: Tier, tmp_path: Path, text: str) -> None:
    """Whatever the message, its trailers stand in a paragraph of their own, also after a second run."""
    tip = tier.sh("git rev-parse memory/candidate/X")
    git_dir = Path(tier.sh("git rev-parse --absolute-git-dir"))
    (git_dir / "MERGE_HEAD").write_text(f"{tip}\n")
    message = tmp_path / "message"
    message.write_text(text, encoding="utf-8")
    hook = [tier.hooks / "prepare-commit-msg", message, "merge"]
    env = os.environ | {"GIT_DIR": str(git_dir), f"GITHEAD_{tip}": tier.named("memory/candidate/X")}

    subprocess.run(hook, cwd=tier.folder, env=env, check=True)
    once = message.read_text("utf-8")
    subprocess.run(hook, cwd=tier.folder, env=env, check=True)

    assert message.read_text("utf-8") == once
    before, after = trailers.parse(text), trailers.parse(once)
    assert after.subject == before.subject.strip()
    assert after.trailers == (
        *before.trailers,
        ("Memory-Event", "candidate.applied"),
        ("Memory-Candidate", tier.ids["X"]),
    )


# -- where git works -----------------------------------------------------------------------------


def test_another_worktree_has_the_same_hooks(tier: Tier, tmp_path: Path) -> None:
    """In a worktree of a candidate entries are looked at, and the anchor follows."""
    tier.sh("git worktree add -q ../../../side memory/candidate/X")

    done = tier.try_sh("cd ../../../side; " + BAD + "git commit -qm bad")
    tier.sh("cd ../../../side; git reset -q --hard; " + GOOD + "git commit -qm good")

    assert UNREADABLE in done.stderr
    assert tier.kept(tier.ids["X"]) == tier.sh("git rev-parse memory/candidate/X")


@pytest.mark.parametrize("branch", ["memory/candidate/Big.Name", "memory/candidate/a/b", "other"])
def test_only_a_candidate_gets_an_anchor(tier: Tier, branch: str) -> None:
    """A branch whose name is no candidate id is left alone."""
    before = tier.sh("git for-each-ref refs/memory")

    tier.sh(f"git switch -qc {branch}; " + GOOD + "git commit -qm x")

    assert tier.sh("git for-each-ref refs/memory") == before


def test_the_user_tier_has_hooks(tmp_path: Path, run_git: RunGit) -> None:
    """Where the repository is `.git` in the folder, the same is refused and added."""
    place = tiersetup.init(tmp_path, scope="user").tiers[0].tier
    assert place.folder is not None
    memory = open_memory(tmp_path)
    id_ = memory.propose(Draft("mine", "Mine.", "fact"), rationale="so", scope="user").id
    script = GOOD.replace("type:", "scope: project\\ntype:") + "git commit -qm x"

    refused = subprocess.run(
        ["sh", "-c", script], cwd=place.folder, capture_output=True, encoding="utf-8", check=False
    )
    run_git("rm", "-qf", "hand.md", cwd=place.folder)
    run_git("merge", "-q", f"memory/candidate/{id_}", cwd=place.folder)
    on_branch = "git switch -qc memory/candidate/by-hand; " + script
    unfit = subprocess.run(
        ["sh", "-c", on_branch],
        cwd=place.folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert DIRECT in refused.stderr
    message = trailers.parse(run_git("log", "-1", "--format=%B", "memory/main", cwd=place.folder))
    assert message.all("Memory-Candidate") == (id_,)
    assert "the scope is 'project', and the file is user memory" in unfit.stderr


def test_the_program_is_not_started_for_what_the_shell_settles(
    tier: Tier, gone: dict[str, str]
) -> None:
    """A merge of what gitmem wrote, a revert of it, a push and an empty commit need no Python."""
    done = tier.try_sh(
        "git merge -q memory/candidate/X; git merge -q memory/candidate/Y;"
        "git revert --no-edit -m 1 HEAD~1; git push -q;"
        + BRANCH
        + "git commit -q --allow-empty -m x; git rm -q known.md; git commit -qm x",
        gone,
    )

    assert done.returncode == 0
    assert "not checked" not in done.stderr


def test_a_merge_is_looked_at_where_both_sides_changed_an_entry(tier: Tier) -> None:
    """Two readable files can make an unreadable one, where git merges them as text."""
    tier.sh('rm "$(git rev-parse --git-path info/attributes)"')
    both = tier.folder / "both.md"
    lines = ["---", "type: fact", "x: 1", "y: 1", "---", "", "Text.", ""]
    both.write_text("\n".join(lines))
    tier.sh("git add both.md; git commit -qnm both; " + BRANCH)
    both.write_text("\n".join([*lines[:2], "z: 1", *lines[2:]]))
    tier.sh("git commit -qam x -m 'Memory-Event: candidate.created'; git switch -q memory/main")
    both.write_text("\n".join([*lines[:4], "z: 1", *lines[4:]]))
    tier.sh("git commit -qanm main")

    refused = tier.try_sh("git merge -q memory/candidate/by-hand")

    assert UNREADABLE in refused.stderr
    assert "both.md: line" in refused.stderr


def test_a_commit_of_some_files_is_looked_at_alone(tier: Tier) -> None:
    """`git commit FILE` commits no other file, and only that one is read."""
    tier.sh(BRANCH + GOOD + BAD)

    refused = tier.try_sh("git commit -qm x bad.md")
    tier.sh("git commit -qm x hand.md")

    assert "bad.md" in refused.stderr
    assert "hand.md" not in refused.stderr


def test_a_decided_candidate_may_go_from_the_remote(tier: Tier) -> None:
    """The branch of a discarded candidate can be deleted there, a later one of that name not."""
    tier.memory.discard(tier.ids["Z"], by=tier.memory.person(), reason="no")
    tier.sh("git push -q --delete origin memory/candidate/Z")
    tier.sh(BRANCH + GOOD + "git commit -qm x; git push -q origin HEAD:memory/candidate/Z")

    done = tier.try_sh("git push -q --delete origin memory/candidate/Z")

    assert NOTHING_PUSHED in done.stderr


# -- without the program -------------------------------------------------------------------------


@pytest.fixture
def gone(tier: Tier) -> dict[str, str]:
    """An environment without gitmem, whose interpreter has gone too."""
    common = tier.hooks / "gitmem-common"
    common.write_text(common.read_text("utf-8").replace(sys.executable, "/gone/python3"), "utf-8")
    git = shutil.which("git")
    assert git is not None
    return {"PATH": f"{Path(git).parent}:/usr/bin:/bin"}


def test_git_works_without_gitmem(tier: Tier, gone: dict[str, str]) -> None:
    """Entries are not looked at, and a message says so; all that the shell decides stays."""
    candidate = tier.try_sh(BRANCH + BAD + "git commit -qm bad", gone)
    direct = tier.try_sh("git switch -q memory/main; " + GOOD + "git commit -qm direct", gone)
    tier.sh("git rm -qf hand.md; git merge -q memory/candidate/X", gone)

    assert candidate.returncode == 0
    assert "the entries are not checked" in candidate.stderr
    assert "gitmem hooks install" in candidate.stderr
    assert DIRECT in direct.stderr
    assert tier.told()["Candidate"] == (tier.ids["X"],)


def test_git_works_where_gitmem_is_broken(tier: Tier, gone: dict[str, str], tmp_path: Path) -> None:
    """A program that fails in its own way refuses nothing."""
    broken = tmp_path / "bin" / "gitmem"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho Traceback >&2\nexit 1\n")
    broken.chmod(0o755)
    env = {"PATH": f"{broken.parent}:{gone['PATH']}"}

    done = tier.try_sh(BRANCH + BAD + "git commit -qm bad", env)

    assert done.returncode == 0
    assert "Traceback" in done.stderr
    assert "the entries are not checked" in done.stderr


def test_the_program_on_the_path_is_second(
    tier: Tier, gone: dict[str, str], tmp_path: Path
) -> None:
    """Where the interpreter is gone, a gitmem on the PATH is asked."""
    other = tmp_path / "bin" / "gitmem"
    other.parent.mkdir()
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m gitmem "$@"\n')
    other.chmod(0o755)
    env = {"PATH": f"{other.parent}:{gone['PATH']}"}

    assert UNREADABLE in tier.try_sh(BRANCH + BAD + "git commit -qm bad", env).stderr


def test_git_works_with_half_of_the_hooks(tier: Tier) -> None:
    """Where the common part is gone, each hook says so and stops nothing."""
    (tier.hooks / "gitmem-common").unlink()

    done = tier.try_sh(GOOD + "git commit -qm x; git push -q origin HEAD:memory/candidate/x")

    assert done.returncode == 0
    assert "run: gitmem hooks install" in done.stderr


def test_no_module_is_loaded_from_the_memory_folder(tier: Tier) -> None:
    """An agent's file that has the name of a module is not run by a hook."""
    for name in ("gitmem", "yaml", "click", "json"):
        (tier.folder / f"{name}.py").write_text("open('run', 'w')\nraise SystemExit(0)\n")

    assert UNREADABLE in tier.try_sh(BRANCH + BAD + "git commit -qm bad").stderr
    assert not (tier.folder / "run").exists()


# -- putting them there and taking them out ------------------------------------------------------


def _states(place: TierPlace) -> set[str]:
    return {hook.state for hook in hooks.status(place).hooks}


def test_init_installs_hooks(host: Path) -> None:
    """After init each hook is there, and git uses them, in both tiers."""
    for report in tiersetup.init(host, ask_remote=False).tiers:
        assert hooks.status(report.tier).complete


def test_install_changes_nothing_twice(tier: Tier) -> None:
    """What is current stays."""
    assert hooks.install(tier.place) == ()
    assert _states(tier.place) == {"current"}


@pytest.mark.parametrize("how", ["older", "other-interpreter", "not-executable"])
def test_what_is_outdated_is_replaced(tier: Tier, how: str) -> None:
    """A hook of ours is known whatever its version, and brought up to date."""
    name = "gitmem-common" if how == "other-interpreter" else "pre-push"
    hook = tier.hooks / name
    if how == "older":
        hook.write_text("#!/bin/sh\n# gitmem hook: pre-push, of gitmem 0.0.1\nexit 1\n")
    elif how == "not-executable":
        hook.chmod(0o644)
    else:
        hook.write_text(hook.read_text("utf-8").replace(sys.executable, "/old/python3"))

    assert {hook.name for hook in hooks.status(tier.place).hooks if hook.state == "outdated"} == {
        name
    }
    assert hooks.install(tier.place) == (hooks.Change(name, "updated"),)
    assert hooks.status(tier.place).complete


def test_a_hook_that_is_no_longer_ours_goes(tier: Tier) -> None:
    """A hook that an older gitmem had and this one has not is removed."""
    old = tier.hooks / "post-checkout"
    old.write_text("#!/bin/sh\n# gitmem hook: post-checkout, of gitmem 0.0.1\n")

    assert hooks.install(tier.place) == (hooks.Change("post-checkout", "removed"),)
    assert not old.exists()


def test_a_hook_of_somebody_else_runs_first(tier: Tier) -> None:
    """It is moved to NAME.local, its refusal stands, it gets the input, and its name back."""
    theirs = "#!/bin/sh\ncat >../../../input\ntest ! -e stop\n"
    hook = tier.hooks / "pre-push"
    hooks.uninstall(tier.place)
    hook.write_text(theirs)
    hook.chmod(0o755)
    assert {one.state for one in hooks.status(tier.place).hooks if one.name == "pre-push"} == {
        "foreign"
    }

    assert hooks.Change("pre-push", "written", local=True) in hooks.install(tier.place)
    tier.sh("git push -q origin memory/candidate/X")
    stopped = tier.try_sh("touch stop; git push -q origin memory/candidate/Y")
    refused = tier.try_sh("rm stop; git push -q origin HEAD:refs/heads/other")

    assert stopped.returncode == 1
    assert NOTHING_PUSHED in refused.stderr
    assert "refs/heads/other" in (tier.host.parent / "input").read_text()
    assert hooks.Change("pre-push", "removed", local=True) in hooks.uninstall(tier.place)
    assert [path.name for path in tier.hooks.iterdir()] == ["pre-push"]
    assert hook.read_text() == theirs


def test_no_hook_of_somebody_else_is_lost(tier: Tier) -> None:
    """Where NAME.local is taken, both stay; a link is somebody else's wherever it leads."""
    hook, local = tier.hooks / "pre-push", tier.hooks / "pre-push.local"
    ours = hook.rename(tier.host / "elsewhere")
    hook.symlink_to(ours)
    local.write_text("#!/bin/sh\n")
    before = ours.read_text()

    assert hooks.install(tier.place) == (hooks.Change("pre-push", "left", local=True),)
    assert not hooks.status(tier.place).complete
    hooks.uninstall(tier.place)

    assert (hook.readlink(), ours.read_text()) == (ours, before)
    assert local.read_text() == "#!/bin/sh\n"


def test_uninstalled_hooks_are_missing(tier: Tier) -> None:
    """After uninstall git is as it was without gitmem."""
    assert {change.did for change in hooks.uninstall(tier.place)} == {"removed"}
    assert _states(tier.place) == {"missing"}

    tier.sh(GOOD + "git commit -qm x")


def test_status_sees_that_git_uses_other_hooks(tier: Tier) -> None:
    """A hooks path that leads elsewhere switches ours off, and the status says so."""
    tier.sh("git config core.hooksPath /nowhere")
    place = tier.place
    # Looking for the tier has put the path right.
    assert hooks.status(place).active
    tier.sh("git config core.hooksPath /nowhere")

    assert not hooks.status(place).active


def test_the_package_brings_the_scripts() -> None:
    """The build puts the folder `hooks` where the installed package looks for it."""
    project = tomllib.loads((DOCS.parent.parent / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]

    assert included["hooks"] == "gitmem/_hooks"
    assert hooks._source() == DOCS.parent.parent / "hooks"
    assert {row_hook for row in ROWS for row_hook in row.hooks} | {
        "gitmem-common"
    } == hooks.scripts().keys()


def test_scripts_are_plain_shell() -> None:
    """Each script is text that a POSIX shell can read, and names its interpreter safely."""
    texts = hooks.scripts("/a dir/it's/python3")

    for text in texts.values():
        done = subprocess.run(["sh", "-n"], input=text.encode(), capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    asked = texts["gitmem-common"].partition("\n\n")[2].partition("\n")[0] + '\nprintf %s "$python"'
    assert subprocess.check_output(["sh", "-c", asked]) == b"/a dir/it's/python3"


# -- what they ask -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "path", "fault"),
    [
        ("ln -s known.md link.md; git add link.md", "link.md", "it is a link"),
        ("cp known.md run.md; chmod +x run.md; git add run.md", "run.md", "an executable"),
        ("cp known.md Big.md; git add Big.md", "Big.md", "capital letters"),
        ("cp known.md other.md; git add other.md", "other.md", "the id is 'mem_known'"),
        ("printf '\\377' >raw.md; git add raw.md", "raw.md", ""),
        ("mkdir a; " + BAD + "git mv bad.md a/bad.md", "a/bad.md", "no type"),
        ("git switch -q --orphan new; " + BAD, "bad.md", "no type"),
    ],
)
def test_what_is_no_entry_is_named(tier: Tier, script: str, path: str, fault: str) -> None:
    """Each file that was meant as an entry and is none is told with its reason."""
    tier.sh(script)
    git_dir = Path(tier.sh("git rev-parse --absolute-git-dir"))

    faults = hooks.check_entries(git_dir, git_dir / "index")

    assert faults.keys() == {path}
    assert fault in faults[path]


def test_what_may_lie_there_is_left_alone(tier: Tier) -> None:
    """Files beside the entries, deletions, and entries that are not touched are not looked at."""
    tier.sh(BAD + "git commit -qnm bad")
    tier.sh("mkdir .github; touch README.md .github/x.md LICENSE; git add .; git rm -q known.md")
    git_dir = Path(tier.sh("git rev-parse --absolute-git-dir"))

    assert hooks.check_entries(git_dir, git_dir / "index") == {}


@pytest.mark.parametrize("name", hooks.CHECKS)
def test_a_refusal_says_the_way_out(tier: Tier, name: str) -> None:
    """The error names the file and what to do in the state in which git waits."""
    tier.sh(BAD)
    git_dir = Path(tier.sh("git rev-parse --absolute-git-dir"))

    with pytest.raises(RefusedError) as raised:
        hooks.run(name, git_dir, git_dir / "index")

    assert raised.value.reference == "entries-do-not-parse"
    assert raised.value.context is not None
    assert raised.value.context.startswith("bad.md: line 2: 'rumour' is no type")
    assert "git" in (raised.value.hint or "")


def test_a_hook_that_nobody_knows_is_bad_input(tier: Tier) -> None:
    """A script of another gitmem may ask what this one can't answer; it then lets git go on."""
    with pytest.raises(BadInputError) as raised:
        hooks.run("post-checkout", tier.folder, tier.folder)

    assert raised.value.reference == "hook-unknown"
