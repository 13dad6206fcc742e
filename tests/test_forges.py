"""What runs on forges: the action, the pipeline's template, the hooks of pre-commit, and docs/forges.md.

The scripts in them are run here as a runner would, from a clone, with the variables that it sets.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema

from gitmem import doctor
from gitmem.memory import Draft, Memory, open_memory

RunGit = Callable[..., str]
ROOT = Path(__file__).parent.parent
PROGRAMS = Path(sys.executable).parent
DOC = (ROOT / "docs" / "forges.md").read_text(encoding="utf-8")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
TEMPLATE = list(yaml.safe_load_all((ROOT / "templates" / "memory.yml").read_text("utf-8")))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
NOTHING = "0" * 40


def _blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL)
    return found


WORKFLOW, INCLUDE, PRE_COMMIT = map(yaml.safe_load, _blocks("yaml"))


# -- their form ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "schema"),
    [
        (ACTION, "github-actions"),
        (WORKFLOW, "github-workflows"),
        (TEMPLATE[0], "gitlab-ci"),
        (TEMPLATE[1], "gitlab-ci"),
        (INCLUDE, "gitlab-ci"),
    ],
    ids=["action", "workflow", "template-spec", "template", "include"],
)
def test_the_forges_schemas_accept_it(document: Any, schema: str) -> None:
    """Each file is what its forge says that it must be, and a wrong key is noticed."""
    rules = get_builtin_schema(f"vendor.{schema}")
    validator = jsonschema.validators.validator_for(rules)(rules)
    # YAML 1.1 reads a workflow's key `on` as true.
    right = {"on" if key is True else key: value for key, value in document.items()}

    assert [error.message for error in validator.iter_errors(right)] == []
    assert not validator.is_valid({**right, "jobs": 1, "runs": 1, "stages": 1, "include": 1})


def test_no_strangers_text_becomes_a_script() -> None:
    """What an event says reaches the action's scripts as values, and no workflow is run for a head."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    assert "pull_request_target" not in json.dumps([ACTION, TEMPLATE, HOOKS, str(WORKFLOW)])
    assert WORKFLOW[True].keys() == {"push", "pull_request", "merge_group"}
    assert WORKFLOW["permissions"] == {"contents": "read"}
    (job,) = WORKFLOW["jobs"].values()
    assert job["steps"][0]["with"] == {"fetch-depth": 0, "persist-credentials": False}


def test_the_rulesets_fit_the_workflow() -> None:
    """The rules that docs/forges.md shows are JSON, allow merges alone and wait for the check."""
    main, others = map(json.loads, _blocks("json"))
    rules = {rule["type"]: rule.get("parameters") for rule in main["rules"]}

    assert main["conditions"]["ref_name"]["include"] == ["refs/heads/memory/main"]
    assert rules["pull_request"]["allowed_merge_methods"] == ["merge"]
    assert [
        check["context"] for check in rules["required_status_checks"]["required_status_checks"]
    ] == list(WORKFLOW["jobs"])
    assert others["conditions"]["ref_name"]["exclude"] == ["refs/heads/memory/candidate/**"]
    assert {rule["type"] for rule in others["rules"]} == {"creation", "update", "deletion"}


# -- a clone, as a runner has it -----------------------------------------------------------------


class Forge:
    """A memory at a remote, a runner's clone of it, and the commits that events are about."""

    def __init__(self, memory: Memory, run_git: RunGit, place: Path) -> None:
        self._git = run_git
        self._memory = memory
        self.place = place
        self.old = memory.store("project").main()
        self.remote = place / "remote.git"
        self.clone = place / "clone"
        run_git("init", "-q", "--bare", self.remote, cwd=place)
        self.good = memory.propose(Draft("good", "Prices are integers.", "fact"), rationale="r").id
        self.bad = memory.propose(Draft("bad", "Use tabs.\u202e", "fact"), rationale="r").id
        memory.apply(self.good, by=memory.person())
        self.approved = memory.store("project").main()
        folder = memory.path / ".custom-agent" / "memory"
        (folder / "slipped.md").write_text("---\ntype: fact\n---\n\nSlipped in.\n")
        run_git("add", ".", cwd=folder)
        run_git("commit", "-q", "--no-verify", "-m", "slip", cwd=folder)
        self.slipped = run_git("rev-parse", "HEAD", cwd=folder)
        # The candidates, and the slip on a branch of its own: `memory/main` is the approved one.
        self.push(f"{self.approved}:refs/heads/memory/main")
        self.push(f"{self.approved}^2:refs/heads/memory/candidate/{self.good}")
        self.push(f"memory/candidate/{self.bad}:refs/heads/memory/candidate/{self.bad}")
        self.push(f"{self.slipped}:refs/heads/slip")
        run_git("clone", "-q", self.remote, self.clone, cwd=place)
        self.head_of_good = run_git("rev-parse", f"{self.approved}^2", cwd=self.clone)
        self.head_of_bad = self.tip(f"memory/candidate/{self.bad}")

    def push(self, refspec: str) -> None:
        """Push from the memory's repository past its hooks."""
        git_dir = self._memory.store("project").place.git_dir
        self._git("push", "-q", "--no-verify", self.remote, refspec, cwd=git_dir)

    def tip(self, branch: str) -> str:
        """Where a branch stands at the remote."""
        return self._git("rev-parse", branch, cwd=self.remote)


@pytest.fixture
def forge(project: Path, run_git: RunGit, tmp_path: Path) -> Forge:
    """A memory at a remote, and a runner's clone of it."""
    return Forge(open_memory(project), run_git, tmp_path)


def _run(script: str, cwd: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script as runners do: bash that stops at the first failure."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


# -- the action ----------------------------------------------------------------------------------


def _act(forge: Forge, event: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the action's check, with gitmem where its first step would have put it."""
    temp = forge.place / "runner"
    (temp / "gitmem" / "bin").mkdir(parents=True, exist_ok=True)
    program = temp / "gitmem" / "bin" / "gitmem"
    if not program.exists():
        program.symlink_to(PROGRAMS / "gitmem")
    step = ACTION["runs"]["steps"][1]
    # What an expression is of an event that does not have it: nothing.
    variables = {**dict.fromkeys(step["env"], ""), "MEMORY": ".", "RUNNER_TEMP": str(temp), **event}
    assert step["env"].keys() >= event.keys()
    return _run(step["run"], forge.clone, variables)


def _push(ref: str, before: str, sha: str) -> dict[str, str]:
    return {"EVENT": "push", "REF": f"refs/heads/{ref}", "BEFORE": before, "SHA": sha}


def _pull_request(branch: str, head: str, base: str = "memory/main") -> dict[str, str]:
    return {
        "EVENT": "pull_request",
        "REF": "refs/pull/12/merge",
        "BASE_REF": base,
        "HEAD_REF": branch,
        "PULL_REQUEST_HEAD": head,
    }


def test_the_action_passes_what_was_approved(forge: Forge) -> None:
    """Pushes of memory/main and of candidates, pull requests, queues, and the whole of it at night."""
    main = "refs/heads/memory/main"
    for event in (
        _push("memory/main", forge.old, forge.approved),
        _push("memory/main", NOTHING, forge.approved),
        _push(f"memory/candidate/{forge.good}", NOTHING, forge.head_of_good),
        _pull_request(f"memory/candidate/{forge.good}", forge.head_of_good),
        {"EVENT": "merge_group", "QUEUE_BASE": forge.old, "SHA": forge.approved},
        {"EVENT": "schedule", "REF": main, "SHA": forge.approved},
        {"EVENT": "workflow_dispatch", "REF": main, "SHA": forge.approved},
    ):
        done = _act(forge, event)
        assert (done.returncode, done.stdout) == (0, ""), (event, done.stdout, done.stderr)


def test_the_action_stops_what_was_not(forge: Forge) -> None:
    """Each finding is an annotation, at the entry's file where it is about one."""
    for event in (
        _push("memory/main", forge.approved, forge.slipped),
        {"EVENT": "merge_group", "QUEUE_BASE": forge.approved, "SHA": forge.slipped},
    ):
        done = _act(forge, event)
        assert done.returncode == 1
        assert done.stdout.startswith("::error file=slipped.md,title=gitmem%3A unreviewed::")
    done = _act(forge, _push("memory/main", forge.slipped, forge.approved))
    assert (done.returncode, "title=gitmem%3A main-rewritten" in done.stdout) == (1, True)
    for event in (
        _push(f"memory/candidate/{forge.bad}", NOTHING, forge.head_of_bad),
        _pull_request(f"memory/candidate/{forge.bad}", forge.head_of_bad),
    ):
        done = _act(forge, event)
        assert (done.returncode, "::error file=bad.md," in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("event", "code", "told"),
    [
        (_pull_request("fix-prices", NOTHING), 1, "its merge would approve nothing"),
        (_pull_request("memory/candidate/x", NOTHING, "main"), 2, "is not for memory/main"),
        (_push("main", NOTHING, NOTHING), 2, "this event is none of memory"),
        ({"EVENT": "issues", "REF": "refs/heads/main"}, 2, "this event is none of memory"),
        (_pull_request("$(touch pwned)`touch pwned`", NOTHING), 1, "would approve nothing"),
        (_push("memory/main", "1" * 40, NOTHING), 2, ""),
    ],
    ids=["other-branch", "other-base", "code", "issue", "injection", "unknown-commit"],
)
def test_the_action_refuses_what_it_can_not_judge(
    forge: Forge, event: dict[str, str], code: int, told: str
) -> None:
    """A branch that is no candidate, another base, an unknown commit: nothing passes by mistake."""
    done = _act(forge, event)

    assert (done.returncode, told in done.stdout) == (code, True), done.stdout
    assert not (forge.clone / "pwned").exists()


def test_a_clone_without_history_is_refused(forge: Forge, run_git: RunGit) -> None:
    """The default depth of a checkout is not enough, and the message says what to set."""
    shallow = forge.place / "shallow"
    url = f"file://{forge.remote}"
    run_git("clone", "-q", "--depth=1", "-b", "memory/main", url, shallow, cwd=forge.place)
    forge.clone = shallow
    done = _act(forge, _push("memory/main", NOTHING, forge.approved))

    assert (done.returncode, "fetch-depth: 0" in done.stderr) == (2, True)


# -- the pipeline --------------------------------------------------------------------------------


def _pipeline(forge: Forge, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the job's script, with gitmem where `before_script` would have put it."""
    program = forge.place / "clone.gitmem" / "bin" / "gitmem"
    program.parent.mkdir(parents=True, exist_ok=True)
    if not program.exists():
        program.symlink_to(PROGRAMS / "gitmem")
    given = {"CI_PROJECT_DIR": str(forge.clone), "CI_PROJECT_PATH": "team/webshop", **variables}
    return _run("\n".join(TEMPLATE[1]["memory"]["script"]), forge.clone, given)


def _branch(source: str, branch: str, sha: str, before: str = NOTHING) -> dict[str, str]:
    return {
        "CI_PIPELINE_SOURCE": source,
        "CI_COMMIT_BRANCH": branch,
        "CI_COMMIT_SHA": sha,
        "CI_COMMIT_BEFORE_SHA": before,
    }


def _merge_request(branch: str, sha: str) -> dict[str, str]:
    return {
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": branch,
        "CI_MERGE_REQUEST_PROJECT_PATH": "team/webshop",
        "CI_COMMIT_SHA": sha,
        "CI_COMMIT_BEFORE_SHA": NOTHING,
    }


def test_the_pipeline_passes_what_was_approved(forge: Forge) -> None:
    """As the action, with an empty report."""
    for variables in (
        _branch("push", "memory/main", forge.approved, forge.old),
        _branch("push", f"memory/candidate/{forge.good}", forge.head_of_good),
        _branch("schedule", "memory/main", forge.approved),
        _merge_request(f"memory/candidate/{forge.good}", forge.head_of_good),
    ):
        done = _pipeline(forge, variables)
        report = json.loads((forge.clone / "gl-code-quality-report.json").read_text("utf-8"))
        assert (done.returncode, report) == (0, []), (variables, done.stdout, done.stderr)


def test_the_pipeline_stops_what_was_not(forge: Forge) -> None:
    """The job fails, its log and its report name each finding."""
    for variables, path in (
        (_branch("push", "memory/main", forge.slipped, forge.approved), "slipped.md"),
        (_branch("push", f"memory/candidate/{forge.bad}", forge.head_of_bad), "bad.md"),
        (_merge_request(f"memory/candidate/{forge.bad}", forge.head_of_bad), "bad.md"),
    ):
        done = _pipeline(forge, variables)
        (found,) = json.loads((forge.clone / "gl-code-quality-report.json").read_text("utf-8"))
        assert (done.returncode, found["location"]["path"]) == (1, path)
        assert found["check_name"].removeprefix("gitmem:") in done.stdout
    done = _pipeline(forge, _merge_request("fix-prices", forge.slipped))
    assert (done.returncode, "would approve nothing" in done.stdout) == (1, True)


def test_a_merge_request_from_a_fork_is_judged_by_its_target(forge: Forge, run_git: RunGit) -> None:
    """The fork's own memory/main may say anything: that of the project it is for counts."""
    fork = forge.place / "fork.git"
    run_git("clone", "-q", "--bare", forge.remote, fork, cwd=forge.place)
    run_git("update-ref", "refs/heads/memory/main", forge.slipped, cwd=fork)
    run_git("remote", "set-url", "origin", fork, cwd=forge.clone)
    variables = _merge_request(f"memory/candidate/{forge.good}", forge.head_of_good)
    url = str(forge.remote).removesuffix(".git")
    target = {"CI_PROJECT_PATH": "bot/webshop", "CI_MERGE_REQUEST_PROJECT_URL": url}
    done = _pipeline(forge, {**variables, **target})

    assert done.returncode == 0, done.stderr
    fetched = run_git("rev-parse", "refs/remotes/origin/memory/main", cwd=forge.clone)
    assert fetched == forge.approved


# -- pre-commit ----------------------------------------------------------------------------------


def _hook(id_: str, cwd: Path, *files: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a hook as pre-commit does: without a shell, with the programs of its environment."""
    (hook,) = (hook for hook in HOOKS if hook["id"] == id_)
    env = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", **variables}
    return subprocess.run(
        [*shlex.split(hook["entry"]), *files],
        cwd=cwd,
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_pre_commit_knows_the_hooks() -> None:
    """Each has what pre-commit wants, and the example names these hooks."""
    assert [hook["id"] for hook in HOOKS] == ["gitmem-entries", "gitmem-verify"]
    assert all({"id", "name", "entry", "language"} <= hook.keys() for hook in HOOKS)
    (repo,) = PRE_COMMIT["repos"]
    assert [hook["id"] for hook in repo["hooks"]] == [hook["id"] for hook in HOOKS]
    entries = HOOKS[0]
    meant = [
        path
        for path in ("cents.md", "db/keys.md", "README.md", ".github/x.md", "CODEOWNERS")
        if re.search(entries["files"], path) and not re.search(entries["exclude"], path)
    ]
    assert meant == ["cents.md", "db/keys.md"]


def test_entries_are_checked(forge: Forge) -> None:
    """A file that can't be read as an entry is named with its line."""
    (forge.clone / "db").mkdir()
    (forge.clone / "db" / "good.md").write_text("---\ntype: fact\n---\n\nGood.\n")
    (forge.clone / "bad.md").write_text("---\ntype: rumour\n---\n\nBad.\n")

    assert _hook("gitmem-entries", forge.clone, "db/good.md").returncode == 0
    done = _hook("gitmem-entries", forge.clone, "db/good.md", "bad.md")
    assert done.returncode == 1
    assert done.stdout.startswith("bad.md: ")
    assert "rumour" in done.stdout


def test_a_push_is_checked(forge: Forge, run_git: RunGit) -> None:
    """As the server would: memory/main by what it brings, a candidate by what it is."""
    run_git("checkout", "-q", "-b", "memory/main", "origin/memory/main", cwd=forge.clone)

    def push(branch: str, old: str, new: str) -> int:
        return _hook(
            "gitmem-verify",
            forge.clone,
            PRE_COMMIT_REMOTE_NAME="origin",
            PRE_COMMIT_REMOTE_BRANCH=f"refs/heads/{branch}",
            PRE_COMMIT_FROM_REF=old,
            PRE_COMMIT_TO_REF=new,
        ).returncode

    assert push("memory/main", forge.old, forge.approved) == 0
    assert push("memory/main", forge.approved, forge.slipped) == 1
    assert push(f"memory/candidate/{forge.good}", forge.old, forge.head_of_good) == 0
    assert push(f"memory/candidate/{forge.bad}", forge.old, forge.head_of_bad) == 1
    assert push("code", forge.old, forge.slipped) == 0
    # A first push of memory/main has no ancestor there: pre-commit then names the branch alone.
    first = _hook(
        "gitmem-verify",
        forge.clone,
        PRE_COMMIT_REMOTE_BRANCH="refs/heads/memory/main",
        PRE_COMMIT_LOCAL_BRANCH="refs/heads/memory/main",
    )
    assert first.returncode == 0


# -- and here ------------------------------------------------------------------------------------


def _gitmem(project: Path, *args: str) -> str:
    done = subprocess.run(
        [PROGRAMS / "gitmem", *args],
        cwd=project,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{args}\n{done.stdout}{done.stderr}"
    return done.stdout.removesuffix("\n")


@pytest.fixture
def shared(project: Path, tmp_path: Path, run_git: RunGit) -> Path:
    """The remote of the project's memory, with a candidate, as a forge has it."""
    remote = tmp_path / "forge.git"
    run_git("init", "-q", "--bare", remote, cwd=tmp_path)
    _gitmem(project, "remote", str(remote))
    args = ("--type", "fact", "--body", "Prices are integers.", "--rationale", "r")
    _gitmem(project, "propose", "cents", *args)
    _gitmem(project, "sync", "--yes")
    return remote


def _on_the_forge(shared: Path, run_git: RunGit, *commands: tuple[str, ...]) -> None:
    """What a button of the forge does to `memory/main`."""
    work = shared.parent / "forge"
    run_git("clone", "-q", "-b", "memory/main", shared, work, cwd=shared)
    for command in commands:
        run_git(*command, cwd=work)
    run_git("push", "-q", "origin", "memory/main", cwd=work)


def test_a_pull_request_that_was_merged_comes_with_sync(
    project: Path, shared: Path, run_git: RunGit
) -> None:
    """It is approved here, and the candidate's branch goes on both sides."""
    (id_,) = (one.id for one in open_memory(project).candidates())
    message = f"Merge pull request #12 from team/memory/candidate/{id_}\n\nmemory: propose cents"
    branch = f"origin/memory/candidate/{id_}"
    _on_the_forge(shared, run_git, ("merge", "-q", "--no-ff", "-m", message, branch))

    _gitmem(project, "sync", "--yes")

    assert _gitmem(project, "context") == "[memory:project:fact]\nPrices are integers."
    assert open_memory(project).candidate(id_).state == "applied"
    assert run_git("branch", "--format=%(refname:short)", cwd=shared) == "memory/main"
    assert _gitmem(project, "doctor") == ""


def test_a_squashed_pull_request_is_put_right(project: Path, shared: Path, run_git: RunGit) -> None:
    """It comes and counts for nothing; one command makes a candidate of it, another approves that."""
    (id_,) = (one.id for one in open_memory(project).candidates())
    _on_the_forge(
        shared,
        run_git,
        ("merge", "-q", "--squash", f"origin/memory/candidate/{id_}"),
        ("commit", "-q", "-m", "memory: propose cents (#12)"),
        ("push", "-q", "origin", f":memory/candidate/{id_}"),
    )
    _gitmem(project, "sync", "--yes")
    assert _gitmem(project, "context") == ""
    found = {finding.kind: finding for finding in doctor.examine(project)}
    command = found["merge-style"].hint.partition(";")[0].split()
    assert command[:2] == ["gitmem", "adopt"]

    adopted = _gitmem(project, *command[1:], "--yes").partition(":")[0]
    _gitmem(project, "apply", "--yes", adopted)
    _gitmem(project, "sync", "--yes")

    assert _gitmem(project, "context") == "[memory:project:fact]\nPrices are integers."
    assert _gitmem(project, "doctor") == ""
    assert _gitmem(project, "verify") == ""
