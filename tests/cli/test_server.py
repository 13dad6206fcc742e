from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ZERO = "0" * 40


@pytest.fixture
def bare(tmp_path: Path, run_git: Any) -> Path:
    """A bare repository with a hook of somebody's own."""
    run_git("init", "-q", "--bare", "server.git", cwd=tmp_path)
    hook = tmp_path / "server.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    return tmp_path / "server.git"


def test_in_and_out(cli_at: Any, bare: Path) -> None:
    """What is set is said; the own hook runs before, and gets its name back."""
    cli = cli_at(bare.parent)
    (bare / "gitmem-signers").write_text("# nobody yet\n")

    assert cli.done("server", "install", "server.git", "--approval", "signed") == (
        "pre-receive: written, after your own pre-receive.local\n"
        "  approval        signed, 0 in gitmem-signers\n"
        "  approvers       everybody who may push\n"
        "  own-candidates  allowed"
    )
    assert cli.done("server", "install", "server.git").startswith("pre-receive: in place\n")
    (bare / "hooks" / "pre-receive").write_text("#!/bin/sh\n# gitmem hook: pre-receive\n")
    assert cli.done("server", "install", "server.git").startswith("pre-receive: updated\n")
    assert cli.done("server", "uninstall", "server.git") == (
        "pre-receive: removed, your own is back"
    )
    assert cli.done("server", "uninstall", "server.git") == "there is no hook of gitmem"
    assert (bare / "hooks" / "pre-receive").read_text() == "#!/bin/sh\n"
    assert cli.error("server", "install", "nowhere") == "no-bare-repository"


def test_many_refusals(cli_at: Any, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever pushes a thousand refs is told of the first ones, and how many more there are."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    lines = "".join(f"{ZERO} {'1' * 40} refs/memory/kept/c{n}\n" for n in range(50))

    result = cli_at(bare)("server", "run", ".", input=lines)

    assert result.exit_code == 5
    assert result.stderr.count("\n") == 21
    assert result.stderr.endswith("gitmem: and 30 more\n")


def test_a_fault_of_our_own(bare: Path) -> None:
    """It is a no, in one line, without the server's code."""
    program = (
        "from gitmem import server; server.refusals = lambda *_: {}['x']; "
        "from gitmem.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "server", "run", str(bare)],
        input="",
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, "gitmem: KeyError: 'x'\n")
