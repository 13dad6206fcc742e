from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import gitmem
from gitmem import tiersetup


def test_the_verbs_of_the_command_line(host: Path) -> None:
    """A program proposes, decides and reads with what `gitmem` exports, and nothing is printed."""
    tiersetup.init(host)
    memory = gitmem.open(host)

    outcome = memory.propose(
        gitmem.Draft("pref_indent", "Use 4 spaces.", "preference"),
        rationale="The user said so.",
        sources=[gitmem.Source("s1", "t2", "always 4")],
    )
    decision = memory.apply(outcome.id, by=memory.person())

    assert isinstance(decision, gitmem.Decision)
    text = memory.context(gitmem.Options()).context.text
    assert text == "[memory:project:preference]\nUse 4 spaces.\n"


def test_every_name_is_there() -> None:
    """What the package promises can be had, and is what its home has."""
    for name in gitmem.__all__:
        assert getattr(gitmem, name) is not None
    assert gitmem.Memory is import_module("gitmem.memory").Memory


def test_no_other_name() -> None:
    """A name that there is not is an ordinary AttributeError."""
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        gitmem.Nothing  # noqa: B018


def test_importing_is_cheap() -> None:
    """Who only imports the package loads neither git nor YAML."""
    code = (
        "import sys, gitmem\n"
        "print({'pygit2', 'yaml', 'subprocess', 'pathlib', 'gitmem.memory'} & set(sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(Path(gitmem.__file__).parents[1])},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )

    assert done.stdout == "set()\n"


def test_a_program_may_ask_for_the_type(tmp_path: Path) -> None:
    """Errors of the package are one family, with a stable name each."""
    with pytest.raises(gitmem.GitmemError) as caught:
        gitmem.open(tmp_path / "nowhere")

    assert caught.value.reference == "no-such-folder"
