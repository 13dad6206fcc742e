from __future__ import annotations

import re
from pathlib import Path

import pytest

from gitmem import config
from gitmem.errors import BadInputError

# An environment as the tool makes it, and the tool.
AGENTS: list[tuple[dict[str, str], str]] = [
    ({"CLAUDECODE": "1"}, "Claude Code"),
    ({"CODEX_SANDBOX": "seatbelt"}, "Codex"),
    ({"CODEX_SANDBOX_NETWORK_DISABLED": "1"}, "Codex"),
    ({"CODEX_THREAD_ID": "0199a213-81c0-7800-8aa1-bbab2a035a53"}, "Codex"),
    ({"CODEX_CI": "1"}, "Codex"),
    ({"GEMINI_CLI": "1"}, "Gemini CLI"),
    ({"QWEN_CODE": "1"}, "Qwen Code"),
    ({"OPENCODE": "1", "AGENT": "1"}, "OpenCode"),
    ({"CURSOR_AGENT": "1", "CURSOR_TRACE_ID": "x"}, "Cursor"),
    ({"COPILOT_CLI": "1"}, "Copilot CLI"),
    ({"COPILOT_AGENT": "1"}, "Copilot in VS Code"),
    ({"CLINE_ACTIVE": "true"}, "Cline"),
    ({"AUGMENT_AGENT": "1"}, "Auggie"),
    ({"GOOSE_TERMINAL": "1"}, "goose"),
    ({"AGENT": "goose"}, "goose"),
    ({"AGENT": "amp"}, "Amp"),
    ({"CRUSH": "1", "AGENT": "crush"}, "Crush"),
    ({"PI_CODING_AGENT": "true"}, "pi"),
    ({"GITMEM_ACTOR": "agent", "HOME": "/home/ada"}, "gitmem"),
]


@pytest.mark.parametrize(("environ", "tool"), AGENTS)
def test_agent_is_recognised(environ: dict[str, str], tool: str) -> None:
    """What a tool sets for its agent's commands gives the agent away."""
    sign = config.driving_agent(environ)

    assert sign is not None
    assert sign.tool == tool
    assert environ[sign.name] == (sign.value or environ[sign.name])


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"CLAUDECODE": ""},
        {"claudecode": "1"},
        {"CLAUDECODE_X": "1", "XCLAUDECODE": "1"},
        {"ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": "/home/ada/.claude"},
        {"CODEX_HOME": "/home/ada/.codex", "OPENAI_API_KEY": "k"},
        {"GEMINI_API_KEY": "k", "GEMINI_MODEL": "m"},
        {"OPENCODE_CONFIG": "/home/ada/opencode.json", "OPENCODE_BIN_PATH": "/usr/bin/opencode"},
        {"CURSOR_TRACE_ID": "x", "TERM_PROGRAM": "vscode", "VSCODE_PID": "1"},
        {"COPILOT_MODEL": "m", "COPILOT_GITHUB_TOKEN": "t"},
        {"GOOSE_PROVIDER": "p", "AGENT_SESSION_ID": "s"},
        {"AGENT": "1"},
        {"AGENT": "/run/agent.sock", "AI_AGENT": "1"},
        {"SSH_AGENT_PID": "12", "CRUSH": "soda"},
        {"GITMEM_ACTOR": "user"},
        {"CI": "true"},
    ],
    ids=lambda environ: ",".join(environ) or "nothing",
)
def test_person_is_left_alone(environ: dict[str, str]) -> None:
    """Keys, settings and names that a person's shell has too say nothing of an agent."""
    assert config.driving_agent(environ) is None


def test_every_sign_has_a_source_and_a_test() -> None:
    """A sign names where its tool documents it, and stands in the table above."""
    tried = {(name, value) for environ, _ in AGENTS for name, value in environ.items()}

    for sign in config.AGENT_SIGNS:
        assert re.match(r"https://|docs/", sign.source), sign
        assert any(name == sign.name and sign.value in (None, value) for name, value in tried), (
            f"{sign.name} is not tried"
        )


def test_driving_agent_reads_the_process_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument the process's own variables count, as they are at the call."""
    assert config.driving_agent() is None

    monkeypatch.setenv("GEMINI_CLI", "1")

    sign = config.driving_agent()
    assert sign is not None
    assert sign.name == "GEMINI_CLI"


def test_folders_by_default() -> None:
    """Where XDG says nothing, the folders lie where its specification puts them below HOME."""
    environ = {"HOME": "/home/ada"}

    assert config.user_config_dir(environ) == Path("/home/ada/.config")
    assert config.user_memory_folder(environ) == Path("/home/ada/.config/custom-agent/memory")
    assert config.state_dir(environ) == Path("/home/ada/.local/state/gitmem")
    assert config.cache_dir(environ) == Path("/home/ada/.cache/gitmem")


def test_folders_by_xdg() -> None:
    """XDG variables move each folder, and HOME is then not needed."""
    environ = {"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k"}

    assert config.user_config_dir(environ) == Path("/c")
    assert config.user_memory_folder(environ) == Path("/c/custom-agent/memory")
    assert config.state_dir(environ) == Path("/s/gitmem")
    assert config.cache_dir(environ) == Path("/k/gitmem")


@pytest.mark.parametrize("value", ["", "relative/path", "./here", "~/config"])
def test_relative_xdg_is_ignored(value: str) -> None:
    """A relative XDG path counts as unset, as its specification says."""
    environ = {"HOME": "/home/ada", "XDG_CONFIG_HOME": value}

    assert config.user_config_dir(environ) == Path("/home/ada/.config")


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "ada"}])
def test_home_missing(environ: dict[str, str]) -> None:
    """Without a home folder nothing is guessed: the error says what to set."""
    with pytest.raises(BadInputError) as caught:
        config.cache_dir(environ)

    assert caught.value.reference == "home-missing"
    assert caught.value.hint == "set HOME to your home folder"


def test_folders_read_the_process_environment(sealed_home: Path) -> None:
    """Without an argument the process's own variables count."""
    assert config.user_config_dir() == sealed_home / ".config"
    assert config.state_dir() == sealed_home / ".local" / "state" / "gitmem"
    assert config.cache_dir() == sealed_home / ".cache" / "gitmem"


def test_session() -> None:
    """GITMEM_SESSION gives the session; unset and empty give none."""
    assert config.session({"GITMEM_SESSION": "s-2026.1"}) == "s-2026.1"
    assert config.session({"GITMEM_SESSION": ""}) is None
    assert config.session({}) is None
    assert config.session() is None


def test_session_outside_the_grammar() -> None:
    """A session id that could leave its folder is an error, not a file name."""
    with pytest.raises(BadInputError) as caught:
        config.session({"GITMEM_SESSION": "../../etc"})

    assert caught.value.reference == "session-invalid"


@pytest.mark.parametrize(
    ("environ", "expected"), [({}, False), ({"NO_COLOR": ""}, False), ({"NO_COLOR": "0"}, True)]
)
def test_no_color(environ: dict[str, str], expected: bool) -> None:
    """NO_COLOR counts whatever its value, but not when empty."""
    assert config.no_color(environ) is expected


@pytest.mark.parametrize(
    ("environ", "expected"), [({}, True), ({"TERM": "dumb"}, True), ({"TERM": "xterm"}, False)]
)
def test_dumb_terminal(environ: dict[str, str], expected: bool) -> None:
    """A terminal that says nothing of itself can do nothing."""
    assert config.dumb_terminal(environ) is expected
