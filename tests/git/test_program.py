"""The door to git: what it lets in from the environment, and how it tells what went wrong."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.errors import BadInputError, ConflictError
from gitmem.git import program
from gitmem.git.program import GitFailedError

# Each would let whoever started us choose a repository, its content or its format.
REDIRECTING = [
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES"),
    *("GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_PARAMETERS", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE"),
    *("GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_LITERAL_PATHSPECS", "GIT_ICASE_PATHSPECS"),
    *("GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION", "GIT_MERGE_AUTOEDIT", "GIT_ATTR_SOURCE"),
    *("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "GIT_TEMPLATE_DIR", "GIT_REF_PARANOIA"),
]
IDENTITY = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]
NETWORK = ["GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_SSL_CAINFO", "GIT_ALLOW_PROTOCOL"]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """The git directory of a bare repository."""
    git_dir = tmp_path / "memory.git"
    program.run("init", "--quiet", "--bare", str(git_dir))
    return git_dir


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script that is called `git` on the PATH; the test writes it."""
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.touch(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    return script


# -- what git gets to see --------------------------------------------------------------------------


def test_what_would_redirect_git_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of git's own variables only those of the network pass, and what is not git's all does."""
    for name in (*REDIRECTING, *IDENTITY, *NETWORK, "GIT_EDITOR", "GIT_NEW_IN_A_LATER_GIT"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("GITHUB_TOKEN", "mine")
    monkeypatch.setenv("GIT_TRACE2_EVENT", "/tmp/trace")

    env, personal = program.environment(), program.environment(identity=True)

    ours = {
        "GIT_DEFAULT_HASH",
        "GIT_DEFAULT_REF_FORMAT",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_GRAFT_FILE",
        "GIT_NO_LAZY_FETCH",
    }
    terminal = {"GIT_TERMINAL_PROMPT", "GIT_TRACE2_EVENT"}
    assert {name for name in env if name.startswith("GIT_")} == ours | terminal | set(NETWORK)
    assert personal.keys() - env.keys() == {*IDENTITY, "GIT_EDITOR"}
    assert (env["GITHUB_TOKEN"], env["HOME"]) == ("mine", os.environ["HOME"])


def test_a_caller_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """What gitmem itself wants of one run holds, over what is always set too."""
    monkeypatch.setenv("GIT_INDEX_FILE", "theirs")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    extra = {"GIT_INDEX_FILE": "ours", "GIT_GRAFT_FILE": "none"}

    env = program.environment(extra=extra)

    assert env["GIT_INDEX_FILE"] == "ours"
    assert env["GIT_GRAFT_FILE"] == "none"
    assert program.environment()["LC_ALL"] == "C.UTF-8"
    assert "GIT_INDEX_FILE" not in program.environment()


@pytest.mark.parametrize("name", ["run", "converse", "start"])
def test_each_way_to_start_git_is_sealed(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A hook's variables and settings reach no git of ours, whichever way it starts."""
    elsewhere = tmp_path / "elsewhere"
    program.run("init", "--quiet", "--bare", str(elsewhere))
    program.run("config", "x.y", "theirs", git_dir=elsewhere)
    program.run("config", "x.y", "ours", git_dir=repo)
    monkeypatch.setenv("GIT_DIR", str(elsewhere))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "x.y")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "theirs")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'x.y=theirs'")
    args = ("config", "x.y")

    if name == "run":
        said = program.run(*args, git_dir=repo).out
    elif name == "converse":
        said = program.converse(*args, git_dir=repo, input=b"")
    else:
        with program.start(*args, git_dir=repo) as process:
            said = process.communicate()[0]

    assert said == b"ours\n"


def test_neither_replacements_nor_grafts_have_a_say(repo: Path) -> None:
    """Who can write refs or files in the repository can't have git show another history."""
    who = dict.fromkeys(IDENTITY, "x@y")
    tree = program.run("mktree", git_dir=repo).text

    def commit(message: str, *parents: str) -> str:
        args = ("commit-tree", tree, "-m", message, *(f"-p{parent}" for parent in parents))
        return program.run(*args, git_dir=repo, env=who).text

    one, other = commit("one"), commit("other")
    tip = commit("tip", one)
    program.run("replace", tip, commit("another tip", other), git_dir=repo)
    (repo / "info").mkdir(exist_ok=True)
    (repo / "info" / "grafts").write_text(f"{tip} {other}\n")

    result = program.run("log", "--format=%s", tip, git_dir=repo)

    assert (result.text, result.message) == ("tip\none", "")


def test_no_terminal_is_asked(fake_git: Path) -> None:
    """Git's input is empty where nothing is given, so that no run waits for a person."""
    fake_git.write_text("#!/bin/sh\nexec cat\n")
    own = os.dup(0)
    reading, writing = os.pipe()
    os.write(writing, b"what a person types")
    os.close(writing)
    os.dup2(reading, 0)
    try:
        assert program.run("anything").out == b""
        assert program.run("anything", input=b"given").out == b"given"
    finally:
        os.dup2(own, 0)
        os.close(own)
        os.close(reading)


# -- what comes back -------------------------------------------------------------------------------


def test_a_result_keeps_its_bytes(fake_git: Path) -> None:
    """One line end goes, bytes that are no UTF-8 come back as they were, and the code is git's."""
    fake_git.write_text("#!/bin/sh\nprintf 'a\\377\\n\\n'\nprintf ' x\\377 \\n' >&2\nexit 3\n")

    result = program.run("x", check=False)

    assert (result.code, result.out) == (3, b"a\xff\n\n")
    assert os.fsencode(result.text) == b"a\xff\n"
    assert result.message == "x\ufffd"


@pytest.mark.parametrize(
    ("said", "kind", "reference"),
    [
        (
            "fatal: detected dubious ownership in repository at '/x'",
            BadInputError,
            "unsafe-repository",
        ),
        (
            "fatal: Unable to create '/x/index.lock': File exists.",
            ConflictError,
            "repository-locked",
        ),
        ("fatal: something else", GitFailedError, "git-failed"),
        ("", GitFailedError, "git-failed"),
    ],
)
def test_what_git_says_is_passed_on(
    fake_git: Path, said: str, kind: type[Exception], reference: str
) -> None:
    """A known cause has a reference of its own; the rest has git's words, and the command's."""
    fake_git.write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(said)} >&2\nexit 128\n")

    for start in (
        lambda: program.run("-c", "a.b=c", "worktree", "add", "x"),
        lambda: program.converse("worktree", "add", "x", git_dir=Path("/x"), input=b""),
    ):
        with pytest.raises(kind) as caught:
            start()
        assert caught.value.reference == reference
        assert caught.value.context == (said or None)
        if reference == "git-failed":
            assert caught.value.message == "'git worktree add' failed with exit code 128"


@pytest.mark.parametrize("code", [1, 128, 255])
def test_an_unchecked_failure_is_a_result(fake_git: Path, code: int) -> None:
    """Where a failure is an answer, it is one."""
    fake_git.write_text(f"#!/bin/sh\nexit {code}\n")

    assert program.run("x", check=False).code == code


def test_a_git_that_is_killed_is_told(fake_git: Path) -> None:
    """A signal is a failure like others."""
    fake_git.write_text("#!/bin/sh\nkill -9 $$\n")

    with pytest.raises(GitFailedError, match="exit code -9"):
        program.run("x")


def test_a_git_that_does_not_end(fake_git: Path) -> None:
    """After the time it was given it is stopped, and that is said."""
    fake_git.write_text("#!/bin/sh\nexec sleep 60\n")

    with pytest.raises(GitFailedError, match=r"did not end within 0\.1 seconds") as caught:
        program.run("fetch", timeout=0.1)

    assert caught.value.reference == "git-timeout"


def test_without_git_there_is_a_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each way to start git tells that there is none; a folder that is gone is another thing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for start in (
        lambda: program.run("x"),
        lambda: program.start("x"),
        lambda: program.call(["x"]),
        lambda: program.converse("x", git_dir=tmp_path, input=b""),
    ):
        with pytest.raises(BadInputError) as caught:
            start()
        assert (caught.value.reference, caught.value.hint) == (
            "git-missing",
            "install git 2.39 or newer",
        )
    for away in (
        lambda: program.run("x", cwd=tmp_path / "gone"),
        lambda: program.call(["x"], cwd=tmp_path / "gone"),
    ):
        with pytest.raises(BadInputError) as caught:
            away()
        assert caught.value.reference == "no-such-folder"


# -- conversations ---------------------------------------------------------------------------------


def test_much_output_after_a_short_input(repo: Path) -> None:
    """More than a pipe holds comes back whole."""
    blob = program.run("hash-object", "-w", "--stdin", git_dir=repo, input=b"x" * 100_000).out
    asked = blob * 50

    answer = program.converse("cat-file", "--batch", git_dir=repo, input=asked)

    assert len(answer) == 50 * (len(blob) + len(b" blob 100000\n") - 1 + 100_001)


def test_a_git_that_does_not_listen(fake_git: Path) -> None:
    """It ends before it has read all: its own words are the error, not the broken pipe."""
    fake_git.write_text("#!/bin/sh\nexec 0<&-\necho 'fatal: no such thing' >&2\nexit 1\n")

    with pytest.raises(GitFailedError) as caught:
        program.converse("x", git_dir=Path("/x"), input=b"x" * 1_000_000)

    assert caught.value.context == "fatal: no such thing"


def test_ctrl_c_does_not_reach_a_conversation(fake_git: Path, tmp_path: Path) -> None:
    """A git in the middle of a transaction is in a group of its own, with what it was given to keep."""
    fake_git.write_text("#!/bin/sh\nexec cat\n")
    with (tmp_path / "lock").open("wb") as kept, (tmp_path / "other").open("wb") as other:
        with program.start("x", keep=(kept.fileno(),)) as process:
            files = {path.name for path in Path(f"/proc/{process.pid}/fd").iterdir()}
            assert os.getpgid(process.pid) == process.pid != os.getpgid(0)
            process.communicate(b"")
        assert str(kept.fileno()) in files
        assert str(other.fileno()) not in files


# -- the user's own terminal -----------------------------------------------------------------------


def test_a_call_has_the_users_streams_and_identity(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`gitmem git …` is the user's git on the memory's repository, with its exit code."""
    code = (
        "import sys; from pathlib import Path; from gitmem.git import program; "
        "sys.exit(program.call(sys.argv[2:], git_dir=Path(sys.argv[1])))"
    )
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ann")
    monkeypatch.setenv("GIT_DIR", "/nowhere")

    def call(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, str(repo), *args]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    blob = call("hash-object", "-w", "--stdin", text="x").stdout.strip()
    assert call("cat-file", "blob", blob).stdout == "x"
    assert call("var", "GIT_AUTHOR_IDENT").stdout.startswith("Ann <")
    assert call("rev-parse", "--verify", "-q", "nothing").returncode == 1


@pytest.mark.parametrize(
    ("editor", "code"),
    [(":", 0), ("true", 0), ("false", 1), ("sh -c 'exit 7'", 7), ("none-such", 127)],
)
def test_an_editor_is_started_as_git_does(tmp_path: Path, editor: str, code: int) -> None:
    """Through a shell, with options; a colon is none at all."""
    assert program.edit(editor, tmp_path / "x") == code


def test_an_editor_gets_the_file_and_no_redirection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name with blanks and quotes is one argument, and a git within finds the user's own place."""
    monkeypatch.setenv("GIT_INDEX_FILE", "theirs")
    file = tmp_path / "a 'b' $c.md"

    code = program.edit("printf '%s' \"${GIT_INDEX_FILE-unset}\" >", file)

    assert (code, file.read_text()) == (0, "unset")
