"""The host's remote as a repository of ours reaches it: which one, how, and what comes back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitmem import layout
from gitmem.errors import BadInputError, GitmemError
from gitmem.git import hostremote
from gitmem.git.hostremote import Remote
from gitmem.layout import Host

URL = "https://forge.example/team/app.git"


class Pair:
    """A host, and the bare repository of ours that asks."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.top = place / "host"
        self.ours = place / "ours.git"
        self.git("init", "-q", str(self.top), at=place)
        self.git("init", "-q", "--bare", str(self.ours), at=place)
        self.host = Host(self.top / ".git", self.top)

    def git(self, *args: str, at: Path | None = None) -> str:
        """What git says; it must succeed."""
        command = ["git", "-C", str(at or self.top), *args]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def remote(self) -> Remote | None:
        """The host's remote for our repository."""
        return hostremote.of_host(self.host, self.ours)

    def server(self, name: str = "server.git") -> Path:
        """A repository with a commit on some branches, reached by its path."""
        server = self.place / name
        self.git("init", "-q", "--bare", str(server))
        tree = self.git("hash-object", "-w", "-t", "tree", "/dev/null", at=server)
        who = ("-c", "user.name=A", "-c", "user.email=a@b")
        commit = self.git(*who, "commit-tree", tree, "-m", "x", at=server)
        for ref in ("refs/heads/main", layout.MAIN, "refs/tags/v1"):
            self.git("update-ref", ref, commit, at=server)
        return server


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """A host without a remote."""
    return Pair(tmp_path)


# -- which one -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], None),
        (["up.stream"], "up.stream"),
        (["up", "origin"], "origin"),
        (["up", "down"], None),
        (["origin.url"], "origin.url"),
    ],
)
def test_the_only_remote_or_origin(pair: Pair, names: list[str], found: str | None) -> None:
    """Dots in a name and remotes without a url do not confuse it."""
    pair.git("config", "remote.empty.fetch", "x")
    for name in names:
        pair.git("config", f"remote.{name}.url", URL)

    remote = pair.remote()

    assert (remote.name if remote else None) == found


def test_the_first_of_several_urls_is_fetched_from(pair: Pair) -> None:
    """As git does."""
    pair.git("remote", "add", "origin", URL)
    pair.git("remote", "set-url", "--add", "origin", "https://mirror.example/app.git")

    assert pair.remote() == Remote("origin", URL, ())


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("../up.git", "{place}/up.git"),
        ("sub/./x", "{place}/host/sub/x"),
        ("./a:b", "{place}/host/a:b"),
        ("/srv/y/../x.git", "/srv/y/../x.git"),
        ("git@forge.example:team/app", "git@forge.example:team/app"),
        ("ssh://x/y", "ssh://x/y"),
        ("file:///x/../y", "file:///x/../y"),
        ("ext::sh -c x", "ext::sh -c x"),
    ],
)
def test_a_relative_path_is_the_hosts(pair: Pair, url: str, told: str) -> None:
    """What means a folder beside the host means it from everywhere; all else stays as it is."""
    pair.git("config", "remote.origin.url", url)

    remote = pair.remote()

    assert remote is not None
    assert remote.url == told.format(place=pair.place)


def test_a_shortened_address_is_no_path(pair: Pair) -> None:
    """A rule may make an address of a word with a slash; without one it is a folder."""
    server = pair.server()
    tip = pair.git("rev-parse", layout.MAIN, at=server)
    pair.git("config", "remote.origin.url", "team/server.git")
    plain = pair.remote()
    assert plain is not None
    assert plain.url == str(pair.top / "team/server.git")

    pair.git("config", f"url.{server.parent}/.insteadOf", "team/")
    ruled = pair.remote()

    assert ruled is not None
    assert ruled.url == "team/server.git"
    assert hostremote.tip_of_main(ruled, pair.ours, ask=False) == tip


def test_from_a_host_without_a_worktree(pair: Pair) -> None:
    """A bare host's relative url is relative to it."""
    pair.git("config", "remote.origin.url", "../up.git")
    bare = Host(pair.top / ".git", None)

    remote = hostremote.of_host(bare, pair.ours)

    assert remote is not None
    assert remote.url == str(pair.top / "up.git")


# -- which settings --------------------------------------------------------------------------------


def test_only_what_reaches_a_remote_goes_along(pair: Pair) -> None:
    """Credentials, proxies, urls and ssh of the host; nothing that runs, rewrites or redirects."""
    pair.git("remote", "add", "origin", URL)
    reaching = [
        ("core.sshcommand", "ssh -i 'a b'"),
        ("credential.https://forge.example.helper", ""),
        ("credential.https://forge.example.helper", "!f() { echo; }; f"),
        ("http.https://forge.example.extraheader", "Authorization: x=\ny"),
        ("http.proxy", "http://proxy"),
        ("protocol.ext.allow", "never"),
        ("url.https://forge.example/.insteadof", "team:"),
    ]
    others = [
        ("core.hookspath", "/x"),
        ("core.worktree", str(pair.top)),
        ("alias.x", "!x"),
        ("fetch.prune", "true"),
        ("remote.origin.uploadpack", "/x"),
        ("remote.origin.mirror", "true"),
        ("gpg.program", "/x"),
        ("user.name", "Host Person"),
        ("include.path", "more"),
    ]
    for key, value in (*reaching, *others):
        pair.git("config", "--add", key, value)
    (pair.top / ".git" / "more").write_text("[http]\n\tsslVerify\n")

    remote = pair.remote()

    assert remote is not None
    assert sorted(remote.settings) == sorted([*reaching, ("http.sslverify", "true")])


def test_what_holds_here_too_is_not_sent_twice(pair: Pair, sealed_home: Path) -> None:
    """The user's own settings are git's to read; the host's same one counts as one more."""
    pair.git("remote", "add", "origin", URL)
    pair.git("config", "--global", "http.extraHeader", "A: 1")
    pair.git("config", "--global", "--add", "http.extraHeader", "B: 2")
    assert pair.remote() == Remote("origin", URL, ())

    pair.git("config", "http.extraHeader", "B: 2")
    assert pair.remote() == Remote("origin", URL, (("http.extraheader", "B: 2"),))

    pair.git("config", "http.extraHeader", "B: 2", at=pair.ours)
    assert pair.remote() == Remote("origin", URL, ())


def test_settings_reach_git_unseen(pair: Pair) -> None:
    """They hold for the git that asks, whatever is in them, and stand in no argument."""
    server = pair.server("a 'b' $c=\n.git")
    base = f"{server.parent}/"
    remote = Remote("origin", "team:a 'b' $c=\n.git", ((f"url.{base}.insteadof", "team:"),))

    assert hostremote.tip_of_main(remote, pair.ours, ask=False) == pair.git(
        "rev-parse", layout.MAIN, at=server
    )


# -- asking and fetching ---------------------------------------------------------------------------


def test_the_tip_is_that_of_the_branch_itself(pair: Pair) -> None:
    """A mirror's ref whose name ends the same is another ref."""
    server = pair.server()
    remote = Remote("origin", str(server), ())
    tip = pair.git("rev-parse", layout.MAIN, at=server)
    who = ("-c", "user.name=A", "-c", "user.email=a@b")
    tree = pair.git("rev-parse", f"{tip}^{{tree}}", at=server)
    other = pair.git(*who, "commit-tree", tree, "-m", "other", at=server)
    pair.git("update-ref", f"refs/a/{layout.MAIN}", other, at=server)
    pair.git("update-ref", f"refs/x/{layout.MAIN}", other, at=server)
    assert hostremote.tip_of_main(remote, pair.ours, ask=False) == tip

    pair.git("update-ref", "-d", layout.MAIN, at=server)
    assert hostremote.tip_of_main(remote, pair.ours, ask=False) is None


def test_a_remote_that_does_not_answer(pair: Pair) -> None:
    """It is an error with git's own last words; an option for a url is no option."""
    for url in (str(pair.place / "gone"), "--upload-pack=none", "no-such-scheme://x"):
        with pytest.raises(GitmemError) as caught:
            hostremote.tip_of_main(Remote("origin", url, ()), pair.ours, ask=False)
        assert url.partition(":")[0] in (caught.value.context or "")
        why = hostremote.why_not(caught.value)
        assert why
        assert "\n" not in why


def test_nothing_comes_but_what_was_asked_for(pair: Pair, sealed_home: Path) -> None:
    """No tag, no other branch and no FETCH of the user's making, whatever their settings say."""
    server = pair.server()
    for key, value in (
        ("remote.x.fetch", "+refs/*:refs/*"),
        ("remote.x.url", str(server)),
        ("fetch.prune", "true"),
        ("remote.x.tagOpt", "--tags"),
        ("core.hooksPath", str(pair.place / "hooks")),
    ):
        pair.git("config", key, value, at=pair.ours)
    hook = pair.place / "hooks" / "reference-transaction"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch '{pair.place}/ran'\n")
    hook.chmod(0o755)

    hostremote.fetch(
        Remote("x", str(server), ()), pair.ours, [f"{layout.MAIN}:refs/x/main"], ask=False
    )

    assert pair.git("for-each-ref", "--format=%(refname)", at=pair.ours) == "refs/x/main"
    assert not (pair.place / "ran").exists()


def test_a_broken_object_is_not_taken(pair: Pair) -> None:
    """What a stranger sends is checked before it is ours."""
    server = pair.server()
    bad = subprocess.run(
        ["git", "-C", str(server), "hash-object", "-w", "-t", "commit", "--literally", "--stdin"],
        input=f"tree {layout.EMPTY_TREE}\nauthor no address\ncommitter x\n\nx\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    pair.git("update-ref", layout.MAIN, bad, at=server)

    with pytest.raises(GitmemError):
        hostremote.fetch(
            Remote("x", str(server), ()), pair.ours, [f"{layout.MAIN}:refs/x/y"], ask=False
        )

    assert pair.git("for-each-ref", at=pair.ours) == ""


def test_a_copy_of_ours_is_reached_where_files_are_not_allowed(
    pair: Pair, sealed_home: Path
) -> None:
    """The user may have switched off remotes that are files: that is about others' files."""
    pair.git("config", "--global", "protocol.file.allow", "never")
    server = pair.server()
    with pytest.raises(GitmemError):
        hostremote.tip_of_main(Remote("x", str(server), ()), pair.ours, ask=False)

    hostremote.fetch_copy(server, pair.ours, [f"{layout.MAIN}:refs/x/main"])

    assert pair.git("for-each-ref", "--format=%(refname)", at=pair.ours) == "refs/x/main"


def test_nobody_is_asked_who_is_not_there(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal neither git nor ssh asks for anything; with one both may."""
    seen = pair.place / "seen"
    ssh = pair.place / "ssh"
    ssh.write_text(f"#!/bin/sh\nenv >'{seen}'\nexit 1\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH", str(ssh))
    monkeypatch.delenv("GIT_TERMINAL_PROMPT")
    for ask in (False, True):
        with pytest.raises(GitmemError):
            hostremote.tip_of_main(Remote("x", "host:app.git", ()), pair.ours, ask=ask)
        env = seen.read_text().splitlines()
        assert ("SSH_ASKPASS_REQUIRE=never" in env) is not ask
        assert ("GIT_TERMINAL_PROMPT=0" in env) is not ask


def test_the_last_words_of_an_error() -> None:
    """Of what git said the last line says why; without any, our own message does."""
    assert hostremote.why_not(BadInputError("x", "ours", context="one\ntwo")) == "two"
    assert hostremote.why_not(BadInputError("x", "ours")) == "ours"
