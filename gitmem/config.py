"""What the user's environment says: folders, session, colour, and whether an agent is driving.

This module and `gitmem/git/` are the only ones that read environment variables.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitmem import ids
from gitmem.errors import BadInputError


@dataclass(frozen=True, slots=True)
class AgentSign:
    """An environment variable that an agent tool sets for the commands its agent runs.

    `value` None stands for any value but the empty one. `source` is where the tool's own
    documentation or code says so.
    """

    name: str
    value: str | None
    tool: str
    source: str


# Exact names only, and none that a person's own shell has too: keys and settings that people
# export (CODEX_HOME, GEMINI_API_KEY), what an editor's terminal sets for everybody
# (TERM_PROGRAM, CURSOR_TRACE_ID), AGENT and AI_AGENT with any other value.
AGENT_SIGNS: tuple[AgentSign, ...] = (
    AgentSign("GITMEM_ACTOR", "agent", "gitmem", "docs/security.md"),
    AgentSign("CLAUDECODE", None, "Claude Code", "https://code.claude.com/docs/en/env-vars"),
    AgentSign(
        "CODEX_SANDBOX",
        None,
        "Codex",
        "https://github.com/openai/codex/blob/main/codex-rs/core/src/spawn.rs",
    ),
    AgentSign(
        "CODEX_SANDBOX_NETWORK_DISABLED",
        None,
        "Codex",
        "https://github.com/openai/codex/blob/main/codex-rs/core/src/spawn.rs",
    ),
    AgentSign(
        "CODEX_THREAD_ID",
        None,
        "Codex",
        "https://github.com/openai/codex/blob/main/codex-rs/protocol/src/shell_environment.rs",
    ),
    AgentSign(
        "CODEX_CI",
        None,
        "Codex",
        "https://github.com/openai/codex/blob/main/codex-rs/core/src/unified_exec/process_manager.rs",
    ),
    AgentSign(
        "GEMINI_CLI",
        None,
        "Gemini CLI",
        "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/shell.md",
    ),
    AgentSign(
        "QWEN_CODE",
        None,
        "Qwen Code",
        "https://github.com/QwenLM/qwen-code/blob/main/docs/developers/tools/shell.md",
    ),
    AgentSign(
        "OPENCODE",
        None,
        "OpenCode",
        "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/index.ts",
    ),
    AgentSign("CURSOR_AGENT", None, "Cursor", "https://cursor.com/docs/agent/terminal"),
    AgentSign(
        "COPILOT_CLI",
        None,
        "Copilot CLI",
        "https://github.com/github/copilot-cli/blob/main/changelog.md",
    ),
    AgentSign(
        "COPILOT_AGENT",
        None,
        "Copilot in VS Code",
        "https://github.com/microsoft/vscode/pull/316267",
    ),
    AgentSign("CLINE_ACTIVE", None, "Cline", "https://github.com/cline/cline/pull/7858"),
    AgentSign(
        "AUGMENT_AGENT",
        None,
        "Auggie",
        "https://docs.augmentcode.com/cli/reference#shell-environment",
    ),
    AgentSign("GOOSE_TERMINAL", None, "goose", "https://github.com/aaif-goose/goose/pull/4205"),
    AgentSign("AGENT", "goose", "goose", "https://github.com/aaif-goose/goose/pull/7365"),
    AgentSign("AGENT", "amp", "Amp", "https://ampcode.com/manual/appendix#permissions-delegation"),
    AgentSign(
        "CRUSH",
        "1",
        "Crush",
        "https://github.com/charmbracelet/crush/blob/main/internal/shell/shell.go",
    ),
    AgentSign(
        "PI_CODING_AGENT",
        None,
        "pi",
        "https://github.com/earendil-works/pi/blob/main/packages/coding-agent/src/cli.ts",
    ),
)


def driving_agent(environ: Mapping[str, str] | None = None) -> AgentSign | None:
    """The first sign in `environ` (None: the process's own) that an agent runs this command.

    None means that nothing gives an agent away, not that a person is there.
    """
    seen = os.environ if environ is None else environ
    for sign in AGENT_SIGNS:
        value = seen.get(sign.name, "")
        if value and sign.value in (None, value):
            return sign
    return None


def user_config_dir(environ: Mapping[str, str] | None = None) -> Path:
    """`$XDG_CONFIG_HOME`, by default `~/.config`. Raises BadInputError `home-missing`."""
    return _base_dir("XDG_CONFIG_HOME", ".config", environ)


def user_memory_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the user tier, whether it exists or not. Raises as user_config_dir."""
    return user_config_dir(environ) / "custom-agent" / "memory"


def state_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Our folder in `$XDG_STATE_HOME`, by default `~/.local/state`. Raises as user_config_dir."""
    return _base_dir("XDG_STATE_HOME", ".local/state", environ) / "gitmem"


def cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Our folder in `$XDG_CACHE_HOME`, by default `~/.cache`. Raises as user_config_dir."""
    return _base_dir("XDG_CACHE_HOME", ".cache", environ) / "gitmem"


def transcripts(
    session_id: str, environ: Mapping[str, str] | None = None
) -> tuple[tuple[Path, str], ...]:
    """Where agent tools keep the transcript of a session: folders, each with a pattern in it.

    Claude Code: https://code.claude.com/docs/en/settings (`CLAUDE_CONFIG_DIR`). Codex:
    https://github.com/openai/codex/blob/main/docs/config.md (`CODEX_HOME`).
    """
    seen = os.environ if environ is None else environ
    name = glob.escape(session_id)
    claude = Path(seen.get("CLAUDE_CONFIG_DIR") or _home(seen) / ".claude")
    codex = Path(seen.get("CODEX_HOME") or _home(seen) / ".codex")
    return (
        (claude / "projects", f"*/{name}.jsonl"),
        (codex / "sessions", f"*/*/*/rollout-*-{name}.jsonl"),
    )


def pusher(environ: Mapping[str, str] | None = None) -> str | None:
    """Who pushes, as a server tells its hooks: `GL_USER` (gitolite) or `REMOTE_USER` (git-http-backend)."""
    seen = os.environ if environ is None else environ
    return seen.get("GL_USER") or seen.get("REMOTE_USER") or None


def session(environ: Mapping[str, str] | None = None) -> str | None:
    """The session id in `GITMEM_SESSION`, or None. Raises BadInputError `session-invalid`."""
    name = (os.environ if environ is None else environ).get("GITMEM_SESSION", "")
    if not name:
        return None
    fault = ids.session_fault(name)
    if fault is None:
        return name
    raise BadInputError(
        "session-invalid",
        f"GITMEM_SESSION is '{name}', which is no session id: {fault}",
        hint="set GITMEM_SESSION to the id of a session, or unset it",
    )


def no_color(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the user wants no colour: `NO_COLOR` set to anything (https://no-color.org)."""
    return bool((os.environ if environ is None else environ).get("NO_COLOR"))


def dumb_terminal(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal can print text and nothing else: `TERM` is `dumb` or says nothing."""
    term = (os.environ if environ is None else environ).get("TERM", "")
    return term in ("", "dumb")


def _base_dir(variable: str, default: str, environ: Mapping[str, str] | None) -> Path:
    seen = os.environ if environ is None else environ
    named = Path(seen.get(variable, ""))
    # https://specifications.freedesktop.org/basedir-spec/latest: a relative path is to be ignored.
    return named if named.is_absolute() else _home(seen) / default


def _home(seen: Mapping[str, str]) -> Path:
    home = Path(seen.get("HOME", ""))
    if home.is_absolute():
        return home
    raise BadInputError(
        "home-missing",
        "the environment names no home folder",
        context="HOME is unset or no absolute path",
        hint="set HOME to your home folder",
    )


def joins_lines() -> bool:
    """Whether the git that started us joins two lines of `memory/main`: a pull, and no apply or revert.

    By the words that git puts into the reflog: `pull …`, `merge <what is merged>`, `revert`.
    """
    action = os.environ.get("GIT_REFLOG_ACTION", "")
    return action.startswith(("pull", "merge")) and "memory/candidate/" not in action
