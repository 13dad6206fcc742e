"""The host's remote, asked with the host's own settings from repositories of ours.

Never through the host's repository: that may be shallow or partial, and nothing of a stranger's
memory may end up in it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gitmem import layout
from gitmem.errors import GitmemError
from gitmem.git import program
from gitmem.layout import Host, TierPlace

# Which of the host's settings say how a remote is reached.
_REACHING = ("credential.", "http.", "protocol.", "ssh.", "url.")
_REACHING_KEYS = ("core.askpass", "core.gitproxy", "core.sshcommand")
# And which say who the user is.
_IDENTIFYING = ("author.", "commit.gpgsign", "committer.", "gpg.", "user.")
# Seconds; a person at a terminal may take longer to type a passphrase.
_PATIENCE = 60.0
# Objects of strangers are checked, and no setting of the user's adds to what is fetched.
_FETCH = (
    "-c",
    "fetch.fsckObjects=true",
    "-c",
    f"core.hooksPath={os.devnull}",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
    "--no-filter",
    "--refmap=",
)


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote as a repository of ours reaches it.

    `url` is the host's before its `insteadOf` rules, made absolute where it is a relative path.
    `settings` are the host's config values, as (key, value), that one needs besides the user's.
    """

    name: str
    url: str
    settings: tuple[tuple[str, str], ...]


def of_host(host: Host, git_dir: Path) -> Remote | None:
    """The host's only remote, or its `origin`, for use from the repository `git_dir`; or None."""
    place = host.top or host.common_dir
    config = _config(None, place)
    urls: dict[str, str] = {}
    for key, value in config:
        if key.startswith("remote.") and key.endswith(".url"):
            urls.setdefault(key.removeprefix("remote.").removesuffix(".url"), value)
    name = next(iter(urls)) if len(urls) == 1 else "origin"
    if name not in urls:
        return None
    # Those that hold here too are left out: some, such as a header, must not be sent twice.
    besides = Counter(config) - Counter(_config(git_dir, place))
    url = urls[name] if _ruled(urls[name], config) else absolute(urls[name], place)
    return Remote(name, url, tuple(_reaching(besides.elements())))


def of_tier(tier: TierPlace) -> Remote | None:
    """The remote that the tier's own config names, as it is reached from there; or None."""
    named = own(tier.git_dir)
    return None if named is None else reached(tier, *named)


def reached(tier: TierPlace, name: str, url: str) -> Remote:
    """A remote as the tier reaches it, with the host's settings where there is a host."""
    if tier.host is None:
        return Remote(name, url, ())
    place = tier.host.top or tier.host.common_dir
    besides = Counter(_config(None, place)) - Counter(_config(tier.git_dir, place))
    return Remote(name, url, tuple(_reaching(besides.elements())))


def own(git_dir: Path) -> tuple[str, str] | None:
    """The name and the url of the remote in the repository's own config: `origin` before others."""
    config = config_of(git_dir)
    urls: dict[str, str] = {}
    for key, value in config:
        if key.startswith("remote.") and key.endswith(".url"):
            urls.setdefault(key.removeprefix("remote.").removesuffix(".url"), value)
    name = "origin" if "origin" in urls else next(iter(urls), None)
    return None if name is None else (name, urls[name])


def config_of(git_dir: Path) -> list[tuple[str, str]]:
    """The repository's own config, as (key, value) in its order."""
    return _config(git_dir, git_dir, "--local")


def unseen(host: Host, git_dir: Path, *, reaching: bool) -> tuple[tuple[str, str], ...]:
    """The host's settings that plain git in the repository `git_dir` lacks, as (key, value).

    Of these who the user is and how commits are signed, and with `reaching` how remotes are
    reached. A key that the repository's own config has is meant to be so.
    """
    place = host.top or host.common_dir
    own = {key for key, _ in _config(git_dir, place, "--local")}
    besides = Counter(_config(None, place)) - Counter(_config(git_dir, place))
    return tuple(
        (key, value)
        for key, value in besides.elements()
        if key not in own and (key.startswith(_IDENTIFYING) or (reaching and _reaches(key)))
    )


def _ruled(url: str, config: Iterable[tuple[str, str]]) -> bool:
    """Whether an `insteadOf` rule makes an address of `url`, which may look like a path."""
    return any(
        key.startswith("url.") and key.endswith(".insteadof") and url.startswith(value)
        for key, value in config
    )


def absolute(url: str, place: Path) -> str:
    """`url`, or the path that it means in the folder `place` where it is a relative one."""
    if ":" in url.split("/", maxsplit=1)[0] or url.startswith("/"):
        return url
    return os.path.normpath(place / url)


def tip_of_main(remote: Remote, git_dir: Path, *, ask: bool) -> str | None:
    """The remote's `memory/main` in hex, or None where it has none.

    `ask` allows git and ssh to ask on the terminal. Raises GitmemError where it does not answer.
    """
    args = ("ls-remote", "--", remote.url, layout.MAIN)
    listed = _run(args, remote, git_dir, ask=ask)
    # git gives each ref that ends so, such as a mirror's `refs/mirror/refs/heads/memory/main`.
    tips = dict(line.split("\t")[::-1] for line in listed.splitlines())
    return tips.get(layout.MAIN)


def fetch(remote: Remote, git_dir: Path, refspecs: Iterable[str], *, ask: bool) -> None:
    """Fetch just `refspecs` into the repository `git_dir`. Raises as tip_of_main."""
    _run((*_FETCH, "--", remote.url, *refspecs), remote, git_dir, ask=ask)


def fetch_copy(copy: Path, git_dir: Path, refspecs: Iterable[str]) -> None:
    """Fetch `refspecs` from `copy`, a repository of ours on this disk."""
    fetch(Remote("", str(copy), (("protocol.file.allow", "always"),)), git_dir, refspecs, ask=False)


def why_not(error: GitmemError) -> str:
    """The last line of what git said when a remote could not be asked."""
    return (error.context or error.message).splitlines()[-1]


def _run(args: Iterable[str], remote: Remote, git_dir: Path, *, ask: bool) -> str:
    env = environment(remote, ask=ask)
    return program.run(*args, git_dir=git_dir, env=env, timeout=None if ask else _PATIENCE).text


def environment(remote: Remote, *, ask: bool) -> dict[str, str]:
    """The variables with which git reaches `remote`: `ask` as in tip_of_main.

    The settings are not given as arguments, since everybody may read another process's arguments.
    """
    env = {"GIT_CONFIG_COUNT": str(len(remote.settings))}
    for at, (key, value) in enumerate(remote.settings):
        env[f"GIT_CONFIG_KEY_{at}"] = key
        env[f"GIT_CONFIG_VALUE_{at}"] = value
    if not ask:
        env["GIT_TERMINAL_PROMPT"] = "0"
        env["SSH_ASKPASS_REQUIRE"] = "never"
    return env


def _config(git_dir: Path | None, place: Path, *which: str) -> list[tuple[str, str]]:
    listed = program.run("config", *which, "--list", "-z", git_dir=git_dir, cwd=place).out
    items = [os.fsdecode(item).partition("\n") for item in listed.split(b"\0") if item]
    # Without a value git means "true".
    return [(key, value if equals else "true") for key, equals, value in items]


def _reaching(config: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    yield from (pair for pair in config if _reaches(pair[0]))


def _reaches(key: str) -> bool:
    return key in _REACHING_KEYS or key.startswith(_REACHING)
