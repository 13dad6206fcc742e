"""Measure gitmem against plain git in the same run: `python -m bench.run`, a table on stdout.

Each number is the best of several runs, in milliseconds of wall time; a ratio is what matters, since
both sides ran on the same machine within the same minute. Nothing here is a test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import build, review
from gitmem import clock, layout, server
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model.context import Options

RUNS = 7
SYNC = "at most 1.3"


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: our time against the yardstick's, and the ratio that is wanted."""

    what: str
    ours: float
    yardstick: str
    theirs: float
    wanted: str

    def __str__(self) -> str:
        ratio = self.ours / self.theirs
        return (
            f"| {self.what} | {self.ours:.1f} | {self.yardstick} | {self.theirs:.1f} "
            f"| {ratio:.2f} | {self.wanted} |"
        )


def best(action: Callable[[], object], runs: int = RUNS) -> float:
    """The best wall time of `action` in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def best_of_two(
    one: Callable[[], object], other: Callable[[], object], runs: int
) -> tuple[float, float]:
    """As `best`, of two actions in turns: what is close must not hang on who ran when."""
    times = [(best(one, runs=1), best(other, runs=1)) for _ in range(runs)]
    return min(time for time, _ in times), min(time for _, time in times)


def process(*args: str | Path, cwd: Path) -> Callable[[], object]:
    """An action: run a program to its end, its output thrown away."""
    return lambda: subprocess.run(
        [str(arg) for arg in args], cwd=cwd, stdout=subprocess.DEVNULL, check=True
    )


def gitmem(*args: str, cwd: Path) -> Callable[[], object]:
    """An action: the installed program, beside this interpreter."""
    return process(Path(sys.executable).with_name("gitmem"), *args, cwd=cwd)


def context(root: Path) -> list[Row]:
    """A cold context on 1,000 entries with nothing changed since the last run; and one recorded."""
    host = build.host(root / "context")
    memory = build.opened(host)
    build.approve(memory, 1000)
    memory.sessions().start("bench")
    plain, session = gitmem("context", cwd=host), gitmem("context", "--session", "bench", cwd=host)
    plain()
    alone, recorded = best_of_two(plain, session, runs=3 * RUNS)
    return [
        Row(
            "`gitmem context`, 1,000 entries, nothing changed",
            alone,
            '`python -c "import click"`',
            best(process(sys.executable, "-c", "import click", cwd=host)),
            "at most 3",
        ),
        Row("the same with `--session`", recorded, "itself, without", alone, "at most 1.2"),
    ]


def proposals(root: Path) -> Row:
    """1,000 proposals through the API, against the processes that plain git would need."""
    ours = build.opened(build.host(root / "proposals"))
    theirs = build.opened(build.host(root / "by-hand"))
    mine = best(lambda: _propose(ours, 1000), runs=1)
    plain = best(lambda: _by_hand(theirs, 100), runs=1) * 10
    return Row("1,000 proposals through the API", mine, "`git` processes", plain, "at most 0.1")


def _propose(memory: Memory, count: int) -> None:
    for number in range(count):
        memory.propose(
            Draft(f"topic-{number % 100:02d}/new-{number}", f"Rule {number}.", "fact"),
            rationale=f"Because of {number}.",
        )


def _by_hand(memory: Memory, count: int) -> None:
    """A candidate with `hash-object`, an index of its own, `commit-tree` and `update-ref`."""
    place = memory.store("project").place
    git = ["git", f"--git-dir={place.git_dir}"]
    env = {**os.environ, "GIT_INDEX_FILE": str(place.git_dir / "by-hand")}
    main = memory.store("project").main()

    def run(*args: str, text: str = "") -> str:
        done = subprocess.run(
            [*git, *args], input=text, capture_output=True, text=True, check=True, env=env
        )
        return done.stdout.strip()

    for number in range(count):
        text = f"---\ntype: fact\n---\n\nRule {number}.\n"
        blob = run("hash-object", "-w", "--stdin", text=text)
        run("read-tree", main)
        run("update-index", "--add", "--cacheinfo", f"100644,{blob},new-{number}.md")
        commit = run("commit-tree", run("write-tree"), "-p", main, "-m", f"Because of {number}.")
        run("update-ref", f"refs/heads/memory/candidate/by_hand_{number}", commit)


def log(root: Path) -> list[Row]:
    """The log of 10,000 events: cold, and after one new commit."""
    host = build.host(root / "log")
    memory = build.opened(host)
    build.approve(memory, 3334)
    build.packed(memory)
    git_dir = memory.store("project").place.git_dir
    plain = best(
        process("git", f"--git-dir={git_dir}", "log", "--format=%H%x00%B", "memory/main", cwd=host)
    )
    cold = best(lambda: (_forget(), gitmem("log", "--json", cwd=host)()), runs=3)
    after = []
    for number in range(3):
        build.approve(open_memory(host), 1, first=50_000 + number)
        after.append(best(gitmem("log", "--json", cwd=host), runs=1))
    return [
        Row("`gitmem log --json`, 10,000 events, cold", cold, "`git log`", plain, "at most 4"),
        Row("the same after one new commit", min(after), "itself, cold", cold, "at most 0.1"),
    ]


def at_time(root: Path) -> Row:
    """The context at a time in the middle of 10,000 commits, judged from them without any cache."""
    host = build.host(root / "at-time")
    memory = build.opened(host)
    build.approve(memory, 5000)
    build.packed(memory)
    git_dir = memory.store("project").place.git_dir
    at = build.REVIEWER.time + 2500
    moment = clock.rfc3339(at)
    plain = ("rev-list", "-1", "--first-parent", f"--before={at}", "memory/main")
    return Row(
        "`gitmem replay --at`, 10,000 commits",
        best(gitmem("replay", "--at", moment, cwd=host), runs=3),
        "`git rev-list -1 --first-parent --before`",
        best(process("git", f"--git-dir={git_dir}", *plain, cwd=host)),
        "–",
    )


def recorded(root: Path) -> Row:
    """100 contexts of a session, each at another commit, built again: against one context, cold."""
    host = build.host(root / "recorded")
    memory = build.opened(host)
    build.approve(memory, 1000)
    memory.sessions().start("bench")
    for number in range(100):
        build.approve(open_memory(host), 1, first=5000 + number)
        open_memory(host).context(Options(session="bench"))
    cold = best(lambda: (_forget(), gitmem("context", cwd=host)()), runs=3)
    again = best(gitmem("replay", "bench", cwd=host), runs=3)
    return Row("100 recorded contexts built again", again, "`gitmem context`, cold", cold, "–")


def _forget() -> None:
    """Delete all caches: they may be deleted at any time."""
    shutil.rmtree(Path(os.environ["XDG_CACHE_HOME"]), ignore_errors=True)


def decisions(root: Path) -> Row:
    """An apply, in the process, against `git merge --no-ff` of a branch."""
    memory = build.opened(build.host(root / "decisions"))
    ids = [
        memory.propose(Draft(f"entry-{n}", f"Rule {n}.", "fact"), rationale="why").id
        for n in range(40)
    ]
    person = build.REVIEWER
    waiting = iter(ids[:20])
    ours = best(lambda: memory.apply(next(waiting), by=person), runs=20)
    folder = memory.store("project").place.folder
    left = iter(ids[20:])
    merge = ("git", "merge", "-q", "--no-ff", "--no-edit")
    theirs = best(
        lambda: subprocess.run([*merge, f"memory/candidate/{next(left)}"], cwd=folder, check=True),
        runs=20,
    )
    return Row("one apply through the API", ours, "`git merge --no-ff`", theirs, "–")


def pre_receive(root: Path) -> Row:
    """A server's hook on a push of 1,000 approvals, in the quarantine that git makes for them."""
    memory = build.opened(build.host(root / "pushed"))
    build.approve(memory, 1000)
    store = memory.store("project")
    old = store.main()
    bare = root / "server.git"
    clone = ["git", "clone", "-q", "--bare", str(store.place.git_dir), str(bare)]
    subprocess.run(clone, check=True)
    build.approve(memory, 1000, first=1000)
    new = store.main()
    server.install(bare)
    quarantine = bare / "objects" / "tmp_objdir-incoming-bench"
    (quarantine / "pack").mkdir(parents=True)
    git = ["git", f"--git-dir={store.place.git_dir}"]
    packed = subprocess.run(
        [*git, "pack-objects", "-q", "--revs", "--stdout"],
        input=f"{new}\n^{old}\n".encode(),
        capture_output=True,
        check=True,
    ).stdout
    env = {
        **os.environ,
        "GIT_QUARANTINE_PATH": str(quarantine),
        "GIT_OBJECT_DIRECTORY": str(quarantine),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(bare / "objects"),
        "GIT_DIR": ".",
    }
    index = ["git", "index-pack", "--stdin", "--fix-thin"]
    subprocess.run(index, input=packed, cwd=bare, env=env, stdout=subprocess.DEVNULL, check=True)
    told = f"{old} {new} {layout.MAIN}\n".encode()
    hook, listed = ["hooks/pre-receive"], ["git", "rev-list", "--objects", new, f"^{old}"]

    def run(command: list[str]) -> None:
        subprocess.run(
            command, input=told, cwd=bare, env=env, stdout=subprocess.DEVNULL, check=True
        )

    return Row(
        "`pre-receive` on a push of 1,000 approvals, to 1,000",
        best(lambda: run(hook)),
        "`git rev-list --objects`",
        best(lambda: run(listed)),
        "–",
    )


def reviews(root: Path) -> list[Row]:
    """A review of 500 candidates on 1,000 entries, and the keys that 50 candidates take."""
    host = build.host(root / "review")
    memory = build.opened(host)
    build.approve(memory, 1000)
    waiting = review.queue(memory, 500)
    folder = memory.store("project").place.folder
    diff = ("git", "diff", f"memory/main...memory/candidate/{waiting[0]}")
    plain = best(process(*diff, cwd=folder or host))
    first = best(lambda: review.first_screen(host), runs=3)
    inbox = best(gitmem("inbox", cwd=host))
    bare = best(gitmem("--version", cwd=host))
    key = review.key_to_screen(host, [" ", "y"] * 20)
    keys = [
        review.keys_for_fifty(build.host(root / f"fifty-{batches}"), batches=batches)
        for batches in (False, True)
    ]
    yardstick = "`git diff` of one candidate"
    return [
        Row("`gitmem review` to its first screen, 500 candidates", first, yardstick, plain, "–"),
        Row("`gitmem inbox` there, as a prompt runs it", inbox, "`gitmem --version`", bare, "–"),
        Row("from a key to the next screen there, median", key, yardstick, plain, "50 ms"),
        Row(
            "keys for 50 candidates, 5 to edit, 5 in conflict (no ms)", keys[0], "one each", 50, "–"
        ),
        Row("the same in batches of five sessions (no ms)", keys[1], "one each", 50, "–"),
    ]


def sharing(root: Path) -> list[Row]:
    """1,000 new candidates to a remote and from there, against plain git with the same refs."""
    hosts = {name: build.host(root / f"share-{name}") for name in ("here", "there", "plain")}
    bare = {name: root / f"{name}.git" for name in ("ours", "plain")}
    for place in bare.values():
        subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    for name, host in hosts.items():
        gitmem("remote", str(bare["plain" if name == "plain" else "ours"]), cwd=host)()
        gitmem("sync", "--yes", cwd=host)()
    memory = build.opened(hosts["here"])
    _propose(memory, 1000)
    build.packed(memory)
    git = ("git", f"--git-dir={build.git_dir(hosts['here'])}")
    subprocess.run([*git, "remote", "add", "plain", str(bare["plain"])], check=True)
    push = best(gitmem("sync", cwd=hosts["here"]), runs=1)
    refspec = "refs/heads/memory/candidate/*:refs/heads/memory/candidate/*"
    plain_push = best(process(*git, "push", "-q", "plain", refspec, cwd=root), runs=1)
    fetch = best(gitmem("sync", cwd=hosts["there"]), runs=1)
    plain = ("git", f"--git-dir={build.git_dir(hosts['plain'])}", "fetch", "-q", "origin")
    plain_fetch = best(process(*plain, cwd=root), runs=1)
    return [
        Row("`gitmem sync`, 1,000 candidates to push", push, "`git push`", plain_push, SYNC),
        Row("`gitmem sync`, 1,000 candidates to fetch", fetch, "`git fetch`", plain_fetch, SYNC),
    ]


def main() -> None:
    """Build, measure, print."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as name:
        root = Path(name)
        for variable, folder in (("HOME", "home"), ("XDG_CACHE_HOME", "cache")):
            os.environ[variable] = str(root / folder)
        os.environ["XDG_CONFIG_HOME"] = str(root / "config")
        os.environ["XDG_STATE_HOME"] = str(root / "state")
        (root / "home").mkdir()
        identity = "[user]\n\tname = Bench\n\temail = bench@example.com\n"
        (root / "home" / ".gitconfig").write_text(identity, encoding="utf-8")
        print("| what | ms | against | ms | ratio | wanted |")
        print("|---|---|---|---|---|---|")
        rows = [
            *context(root),
            proposals(root),
            *log(root),
            decisions(root),
            at_time(root),
            recorded(root),
            pre_receive(root),
            *reviews(root),
            *sharing(root),
        ]
        for row in rows:
            print(row)


if __name__ == "__main__":
    main()
