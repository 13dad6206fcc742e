from __future__ import annotations

import io
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from gitmem.cli import common, context
from gitmem.cli.common import State
from gitmem.config import AGENT_SIGNS, AgentSign
from gitmem.errors import BadInputError, NeedsPersonError
from gitmem.model import candidates, entries, events, tiers
from gitmem.model.context import DEFAULT_BUDGET


def test_choices_are_the_models() -> None:
    """What a command offers is what there is."""
    assert common.TYPES == entries.TYPES
    assert common.PRIORITIES == candidates.PRIORITIES
    assert common.STATES == candidates.STATES
    assert common.KINDS == events.KINDS
    assert tiers.TIERS == context.TIERS
    assert context.command.params[0].default == str(DEFAULT_BUDGET)


@pytest.mark.parametrize("sign", AGENT_SIGNS, ids=lambda sign: f"{sign.name}={sign.value or ''}")
def test_no_agent_decides(sign: AgentSign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sign of an agent stops a decision and tells the person how to take it."""
    monkeypatch.setenv(sign.name, sign.value or "1")
    place = tmp_path / "my project"
    state = State(place, ("discard", "cand_x", "--yes", "--reason", "it's wrong", "-y"))

    with pytest.raises(NeedsPersonError) as caught:
        state.refuse_agent()

    command = f"gitmem -C {shlex.quote(str(place))} discard cand_x --reason 'it'\"'\"'s wrong'"
    assert caught.value.reference == "person-needed"
    assert sign.tool in (caught.value.context or "")
    assert caught.value.hint == (
        f"ask the person to run: {command}\nif you are that person: env -u {sign.name} {command}"
    )


def test_nothing_gives_an_agent_away(tmp_path: Path) -> None:
    """Where no sign is set a person may decide."""
    State(tmp_path, ("apply", "x")).refuse_agent()


def test_without_a_terminal_yes_is_needed(tmp_path: Path) -> None:
    """Where nobody can be asked, the command is named that decides without asking."""
    state = State(tmp_path, ("apply", "x"))

    with pytest.raises(NeedsPersonError) as caught:
        state.confirm("apply x?", yes=False)

    assert caught.value.reference == "yes-missing"
    assert caught.value.hint == f"if it is decided: gitmem -C {tmp_path} apply --yes x"


def test_yes_is_not_asked(tmp_path: Path) -> None:
    """With --yes nobody is asked, and it says so."""
    assert State(tmp_path).confirm("apply x?", yes=True) is False


@pytest.mark.usefixtures("at_terminal")
@pytest.mark.parametrize("typed", ["y\n", "Y\n", "yes\n", " yes \n", "y"])
def test_agreement(tmp_path: Path, typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A yes in any common form is one."""
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    assert State(tmp_path).confirm("apply x?", yes=False) is True


@pytest.mark.usefixtures("at_terminal")
@pytest.mark.parametrize("typed", ["n\n", "\n", "", "sure\n"])
def test_no_agreement(tmp_path: Path, typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything else is a no, the end of the input too."""
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    with pytest.raises(click.Abort):
        State(tmp_path).confirm("apply x?", yes=False)


def test_a_question_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output is for data."""
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))

    assert common.ask("which?", "y/n/q") == "q"
    assert capsys.readouterr() == ("", "which? [y/n/q] ")


def test_what_can_not_be_read(tmp_path: Path) -> None:
    """A file that is missing or no text is bad input."""
    (tmp_path / "latin").write_bytes(b"caf\xe9")

    with pytest.raises(BadInputError) as missing:
        State(tmp_path).read_text("nothing")
    with pytest.raises(BadInputError) as latin:
        State(tmp_path).read_text("latin")

    assert (missing.value.reference, latin.value.reference) == ("file-unreadable", "not-utf-8")


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    "args",
    [
        ["apply", "{id}"],
        ["discard", "{id}"],
        ["revert", "{applied}"],
        ["add", "mine", "Text.", "--type", "fact"],
        ["edit", "mem_old", "--body-file", "-"],
        ["adopt"],
        ["reopen", "{discarded}"],
        ["verify", "--accept"],
        ["deinit"],
        ["deinit", "--purge"],
    ],
    ids=lambda args: " ".join(args[:2]),
)
@pytest.mark.parametrize("yes", [[], ["--yes"]], ids=["asked", "yes"])
def test_every_deciding_command_refuses_an_agent(
    cli: Any, run_git: Any, args: list[str], yes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent decides nothing, with --yes or without, and nothing changes."""
    monkeypatch.delenv("CLAUDECODE")
    applied = cli.apply("old", "Old text.")
    discarded = cli.propose("bad", "Bad text.")
    cli.done("discard", discarded, "--yes")
    id_ = cli.propose()
    monkeypatch.setenv("CLAUDECODE", "1")
    names = {"id": id_, "applied": applied, "discarded": discarded}
    folder = cli.at / ".custom-agent" / "memory"
    before = run_git("for-each-ref", cwd=folder)

    result = cli(*[arg.format(**names) for arg in args], *yes, input="New text.")

    assert result.exit_code == 4
    assert result.stdout == ""
    assert result.stderr.startswith("error: only a person decides about memory\n")
    assert run_git("for-each-ref", cwd=folder) == before


@pytest.mark.parametrize(
    "args",
    [
        ["apply", "{id}"],
        ["discard", "{id}"],
        ["revert", "{applied}"],
        ["add", "mine", "Text.", "--type", "fact"],
        ["edit", "mem_old", "--body-file", "-"],
        ["adopt"],
        ["verify", "--accept"],
        ["deinit"],
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_every_deciding_command_needs_yes_without_a_terminal(
    cli: Any, run_git: Any, args: list[str]
) -> None:
    """Where nobody can be asked, nothing is decided, and the error says how to decide."""
    names = {"applied": cli.apply("old", "Old text."), "id": cli.propose()}
    folder = cli.at / ".custom-agent" / "memory"
    before = run_git("for-each-ref", cwd=folder)

    result = cli(*[arg.format(**names) for arg in args], input="New text.")

    assert result.exit_code == 4
    assert result.stderr.splitlines()[-1].startswith("hint: if it is decided: gitmem -C ")
    assert " --yes" in result.stderr
    assert run_git("for-each-ref", cwd=folder) == before
