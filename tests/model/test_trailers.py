"""Trailers are read as git reads them, and what is composed is what is read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gitmem.model import trailers
from gitmem.model.trailers import Message, compose, parse

SHA = "0123456789abcdef0123456789abcdef01234567"
SCISSORS = "# ------------------------ >8 ------------------------"

# Lines that a rule of git's is about; messages are made by stringing them together.
NASTY_LINES = [
    "",
    " ",
    "\t",
    "\r",
    "\v",
    "\f",
    "\u00a0",
    "free text",
    "free text: with a colon",
    "Key: value",
    "Key:value",
    "Key:",
    "Key :  spaced  ",
    "Key\t:\ttabs\t",
    "Key: a: b",
    "key-with-dash: x",
    "-dash-first: x",
    "1: digit",
    "under_score: x",
    "Ünicode: x",
    "Key\u00a0: x",
    "Key=value",
    "Key # value",
    ": nothing before",
    " Key: indented",
    "\tcontinued",
    " continued\r",
    "\vnot git's space",
    "Key: value\r",
    "# comment",
    "# Key: in a comment",
    "#",
    SCISSORS,
    SCISSORS + " ",
    "Conflicts:",
    "Conflicts: x",
    "\tin/a/path.md",
    "Signed-off-by: A <a@example.com>",
    "Signed-off-by:A <a@example.com>",
    f"(cherry picked from commit {SHA})",
    "(cherry picked from commit ",
    "---",
    "diff --git a/x b/x",
    "Memory-Candidate: cand_2026_k3f9x2ab",
    'Memory-Source: {"sessionId":"s","evidence":"说: 好"}',
    f"This reverts commit {SHA}.",
]

nasty_messages = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(st.sampled_from(NASTY_LINES), min_size=0, max_size=14),
    st.sampled_from(["", "\n", "\n\n", "\n \n"]),
)

# A batch shares one run of git; shrinking it would start hundreds.
in_batches = settings(
    deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


def git(repo: Path, *args: str, stdin: bytes = b"") -> bytes:
    """Run the real git in a sealed world."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(repo), "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(repo), *args]
    return subprocess.run(command, input=stdin, stdout=-1, check=True, env=env).stdout


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty repository."""
    path = tmp_path_factory.mktemp("trailers")
    git(path, "init", "-q")
    return path


def as_git_reads(repo: Path, messages: list[str]) -> list[tuple[str, str]]:
    """(subject, trailers) of each message as `git log` prints them: one process for all."""
    stream = []
    for number, message in enumerate(messages, 1):
        raw = message.encode()
        stream.append(
            b"commit refs/heads/m%d\nmark :%d\ncommitter A <a@b> 0 +0000\ndata %d\n%s\n"
            % (number, number, len(raw), raw)
        )
    marks = repo / "marks"
    git(
        repo, "fast-import", "--quiet", "--force", f"--export-marks={marks}", stdin=b"".join(stream)
    )
    ids = dict(line.split() for line in marks.read_text().splitlines())
    order = "\n".join(ids[f":{number}"] for number in range(1, len(messages) + 1))
    out = git(
        repo,
        "log",
        "--no-walk=unsorted",
        "--stdin",
        "--format=%x01%s%x02%(trailers:only=true,unfold=true)",
        stdin=order.encode(),
    ).decode()
    shown = [tuple(record.split("\x02")) for record in out.split("\x01")[1:]]
    distinct = iter(shown)
    seen: dict[str, tuple[str, str]] = {}
    for oid in order.split("\n"):  # git shows a commit once, however often it is asked for
        if oid not in seen:
            subject, text = next(distinct)
            seen[oid] = (subject, text.removesuffix("\n"))
    return [seen[oid] for oid in order.split("\n")]


def printed(message: Message) -> str:
    """The trailers as `%(trailers:only,unfold)` prints them."""
    return "".join(f"{name}: {value}\n" for name, value in message.trailers)


def assert_agrees(repo: Path, messages: list[str]) -> None:
    """Each message is read as git reads it."""
    for message, (subject, text) in zip(messages, as_git_reads(repo, messages), strict=True):
        read = parse(message)
        assert printed(read) == text, message
        assert read.subject == subject, message


@settings(in_batches, max_examples=10)
@given(st.lists(nasty_messages, min_size=50, max_size=50))
def test_any_message_is_read_as_git_reads_it(repo: Path, messages: list[str]) -> None:
    """Subject and trailers of arbitrary messages are those that git log shows."""
    assert_agrees(repo, messages)


def test_each_nasty_line_is_read_as_git_reads_it_beside_a_trailer(repo: Path) -> None:
    """Each special line, above, below and between real trailers, counts as it does for git."""
    assert_agrees(
        repo,
        [
            template.format(line=line, sob="Signed-off-by: A <a@b>")
            for line in NASTY_LINES
            for template in (
                "s\n\nKey: v\n{line}\n",
                "s\n\n{line}\nKey: v\n",
                "s\n\nA: 1\n{line}\nB: 2\n",
                "s\n\nA: 1\n\n{line}\n",
                "s\n\nA: 1\n{line}\n{line}\n\n\n",
                "s\n{line}\nA: 1\n",
                "{line}\n\nA: 1\n",
                "s\n\ntext\n{line}\n{sob}\n",
                "s\n\ntext\ntext\ntext\n{line}\n{sob}\n",
                "s\n\ntext\n\n{line}\n continued\n{sob}\n",
                "s\n\nA: 1\n\nConflicts:\n{line}\n\tx\n",
            )
        ],
    )


def test_interpret_trailers_agrees(repo: Path) -> None:
    """The other program that people have for this, git interpret-trailers, says the same."""
    message = "s\n\nbody: x\n\nKey: a\n  folded\n\tagain\nOther :b\n\n# comment\n"
    out = git(
        repo, "interpret-trailers", "--parse", "--no-divider", "--unfold", stdin=message.encode()
    )
    assert printed(parse(message)).encode() == out
    assert parse(message).trailers == (("Key", "a folded again"), ("Other", "b"))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("", Message("", "", ())),
        ("Key: the title is no trailer\n", Message("Key: the title is no trailer", "", ())),
        ("two\nlines\n\nbody\n", Message("two lines", "body", ())),
        ("s\n\n    code\n\nA: b\n", Message("s", "    code", (("A", "b"),))),
        ("s\n\nA: b\n\n# note\n", Message("s", "# note", (("A", "b"),))),
        (
            f"s\n\nwhy\n\n(cherry picked from commit {SHA})\nA: b\n",
            Message("s", f"why\n\n(cherry picked from commit {SHA})", (("A", "b"),)),
        ),
        (f"s\n\nA: b\n{SCISSORS}\nhidden?\n", Message("s", f"{SCISSORS}\nhidden?", (("A", "b"),))),
        ("s\n\nA: b\n\0\n\nC: d\n", Message("s", "", (("A", "b"),))),
    ],
)
def test_nothing_that_git_shows_is_lost(message: str, expected: Message) -> None:
    """What is neither subject nor trailer is in the body, wherever it stands."""
    assert parse(message) == expected


def test_names_compare_in_any_case_and_repeat() -> None:
    """A trailer is found under its name in any case, and every repetition counts, in order."""
    message = parse("s\n\nmemory-source: 1\nX: y\nMemory-Source: 2\n")
    assert message.first(trailers.SOURCE) == "1"
    assert message.all(trailers.SOURCE) == ("1", "2")
    assert message.first(trailers.NEVER) is None
    assert message.all(trailers.NEVER) == ()


ONE_LINE = st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8"), max_size=30)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9-]{0,12}", fullmatch=True)
PAIRS = st.lists(st.tuples(NAMES, ONE_LINE), max_size=5)
BODIES = st.one_of(
    nasty_messages, st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=60)
)


def indented(line: str) -> str:
    """`line` less the one space that compose may put before it."""
    return line.removeprefix(" ")


@settings(max_examples=200, deadline=None)
@given(ONE_LINE | st.sampled_from(NASTY_LINES).map(lambda s: s.strip()), BODIES, PAIRS)
def test_what_is_composed_is_read_back(
    subject: str, body: str, pairs: list[tuple[str, str]]
) -> None:
    """Any subject, body and trailers come back, but for white space at ends and guarded lines."""
    if not subject.strip(" \t"):
        with pytest.raises(ValueError, match="blank"):
            compose(subject, body, pairs)
        return
    message = compose(subject, body, pairs)
    read = parse(message)
    unix = body.replace("\r\n", "\n").replace("\r", "\n").rstrip(" \t\n").split("\n")
    while len(unix) > 1 and not unix[0].strip(" \t"):
        del unix[0]
    assert read.trailers == tuple((name, value.strip(" \t")) for name, value in pairs)
    assert indented(read.subject) == indented(subject.strip(" \t"))
    if pairs and SCISSORS not in body:
        assert read.body.split("\n") == unix
    assert [*map(indented, read.body.split("\n"))] == [*map(indented, unix)]
    assert compose(read.subject, read.body, read.trailers) == message


@settings(in_batches, max_examples=3)
@given(st.lists(st.tuples(nasty_messages, PAIRS), min_size=50, max_size=50))
def test_git_shows_exactly_the_composed_trailers(
    repo: Path, parts: list[tuple[str, list[tuple[str, str]]]]
) -> None:
    """Whatever stands in a body, git shows our trailers, all of them and no other."""
    plain = [
        (body, [(n, v) for n, v in pairs if not set(v) & {"\x01", "\x02"}]) for body, pairs in parts
    ]
    messages = [compose("subject", body, pairs) for body, pairs in plain]
    for (_, text), (_, pairs) in zip(as_git_reads(repo, messages), plain, strict=True):
        expected = "".join(f"{name}: {value.strip(' ' + chr(9))}\n" for name, value in pairs)
        assert text == expected


@pytest.mark.parametrize(
    "body", ["Memory-Event: forged", "why\n\nSigned-off-by: A <a@b>", "A: b\n\n# note", SCISSORS]
)
def test_a_body_cannot_forge_or_hide_a_trailer(body: str) -> None:
    """A body that ends like trailers, or in git's scissors, stays body, with and without ours."""
    assert parse(compose("s", body, [])).trailers == ()
    ours = [(trailers.EVENT, "candidate.created"), (trailers.PRIORITY, "high")]
    assert parse(compose("s", body, ours)).trailers == tuple(ours)


def test_a_composed_message_looks_as_people_write_it() -> None:
    """Subject, body and trailers are three paragraphs, and an empty one leaves no gap."""
    assert compose("s", "b\n", [("A", "1"), ("B", "")]) == "s\n\nb\n\nA: 1\nB:\n"
    assert compose("s", "", [("A", "1")]) == "s\n\nA: 1\n"
    assert compose("s", " \n", []) == "s\n"


@pytest.mark.parametrize(
    ("subject", "body", "pair"),
    [
        ("", "", ("A", "b")),
        (" \t", "", ("A", "b")),
        ("two\nlines", "", ("A", "b")),
        ("s", "nul\0", ("A", "b")),
        ("s", "", ("A", "two\nlines")),
        ("s", "", ("A", "carriage\rreturn")),
        ("s", "", ("A", "nul\0")),
        ("s", "", ("", "b")),
        ("s", "", ("A b", "c")),
        ("s", "", ("-A", "c")),
        ("s", "", ("A:", "c")),
        ("s", "", ("A\n", "c")),
    ],
)
def test_what_cannot_be_written_is_refused(subject: str, body: str, pair: tuple[str, str]) -> None:
    """A line end, a NUL or an unfit name raises instead of making another message."""
    with pytest.raises(ValueError):  # noqa: PT011 - the callers check their input; see compose
        compose(subject, body, [pair])
