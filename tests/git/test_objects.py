"""Tests of the one reader and writer of objects, against what git itself reads."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInputError
from gitmem.git import bulk
from gitmem.git.bulk import parse_commit, parse_person
from gitmem.git.objects import Objects
from gitmem.model.history import EMPTY_TREE, Blob, Commit, Person

RunGit = Callable[..., str]

PERSON = Person("Ann", "ann@example.org", 1_779_100_200, 120)


@pytest.fixture
def repository(tmp_path: Path, run_git: RunGit) -> Path:
    """An empty bare repository."""
    place = tmp_path / "objects.git"
    run_git("init", "--quiet", "--bare", place, cwd=tmp_path)
    return place


def _write(repository: Path, kind: str, data: bytes) -> str:
    """Any bytes as an object, which git need not like."""
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin", "--literally", "-t", kind],
        cwd=repository,
        input=data,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def _tree(objects: Objects, **files: bytes) -> str:
    return objects.write_tree(
        EMPTY_TREE, {f"{name}.md": objects.write_blob(data) for name, data in files.items()}
    )


def _raw(tree: str, *parents: str, author: bytes = b"A <a@b> 1 +0000", rest: bytes = b"") -> bytes:
    above = b"".join(b"parent %s\n" % parent.encode() for parent in parents)
    head = b"tree %s\n%sauthor %s\ncommitter %s\n" % (tree.encode(), above, author, author)
    return head + (rest or b"\nmessage\n")


AUTHORS = [
    b"A U Thor <a@example.org> 1779100200 +0230",
    b"A U Thor <a@example.org> 1779100200 -0030",
    b" spaced  <  a@b  > 1 +0000",
    b"<only@mail> 1 +0000",
    b"Two <a> b> 5 +0000",
    b"Two <a@b>> 5 +0000",
    "名前 <ä@例.jp> 7 +0900".encode(),
    b"Latin \xe9 <\xff@x> 7 +0900",
    b"No Date <a@b>",
    b"Far <a@b> 99999999999999 +0000",
    b"Further <a@b> 999999999999999999999999 +0000",
]
MESSAGES = [
    b"\nsubject",
    b"\n",
    b"\nsubject\n\nbody\n\nMemory-Actor: agent\n",
    b"\nsubject\r\n\r\nbody\r\n",
    b"\nbefore\0after\n",
    b"\n\n\nblank first\n",
    b"\n:100644 looks like a diff\n",
    b"\n\xff\xfe no utf-8\n",
    b"encoding ISO-8859-1\n\ncaf\xe9\n",
    b"encoding no-such-thing\n\ncaf\xc3\xa9\n",
    b"encoding hex\n\n6162\n",
    b"encoding UTF-8\n\ncaf\xc3\xa9\n",
    b"gpgsig -----BEGIN-----\n parent x\n -----END-----\n\nsigned\n",
    b"parent 1111111111111111111111111111111111111111\n\nlate parent\n",
]


def _same(repository: Path, tip: str) -> tuple[dict[str, Commit], dict[str, Commit]]:
    """The history of `tip` from one `git log`, and from each commit's own bytes."""
    in_bulk = {commit.id: commit for commit, _ in bulk.history(repository, [tip])}
    single = Objects(repository, "project")
    return in_bulk, {id_: single.commit(id_) for id_ in in_bulk}


@pytest.mark.parametrize("author", AUTHORS)
def test_authors_read_alike(repository: Path, author: bytes) -> None:
    """An author is the same read from a log and from the commit, however odd its line is."""
    tip = _write(repository, "commit", _raw(EMPTY_TREE, author=author))
    _write(repository, "tree", b"")
    in_bulk, single = _same(repository, tip)
    assert in_bulk == single
    assert len(in_bulk) == 1


@pytest.mark.parametrize("rest", MESSAGES)
def test_messages_read_alike(repository: Path, rest: bytes) -> None:
    """A message is the same read from a log and from the commit, whatever encoding it names."""
    _write(repository, "tree", b"")
    tip = _write(repository, "commit", _raw(EMPTY_TREE, rest=rest))
    in_bulk, single = _same(repository, tip)
    assert in_bulk == single
    assert len(in_bulk) == 1


def test_messages_are_decoded() -> None:
    """A message in the encoding that its commit names is read in it; a NUL ends it, as for git."""
    commit = parse_commit("0" * 40, _raw(EMPTY_TREE, rest=b"encoding ISO-8859-1\n\ncaf\xe9\n"))
    assert commit.message == "café\n"
    assert parse_commit("0" * 40, _raw(EMPTY_TREE, rest=MESSAGES[4])).message == "before"


def test_person_with_zone() -> None:
    """A time zone is read in minutes, and times behind the last year are none."""
    assert parse_person(AUTHORS[0]) == Person("A U Thor", "a@example.org", 1779100200, 150)
    assert parse_person(AUTHORS[1]).offset == -30
    assert parse_person(AUTHORS[9]).time == 0
    assert parse_person(b"nothing") == Person("", "", 0, 0)


SETTINGS = [
    ("log.showSignature", "true"),
    ("log.showRoot", "false"),
    ("log.diffMerges", "off"),
    ("log.follow", "true"),
    ("log.mailmap", "true"),
    ("diff.noprefix", "true"),
    ("diff.relative", "true"),
    ("diff.orderFile", "/no/such/file"),
    ("diff.renames", "copies"),
    ("diff.external", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("diff.submodule", "log"),
    ("color.ui", "always"),
    ("i18n.logOutputEncoding", "ISO-8859-1"),
    ("core.quotePath", "true"),
    ("format.pretty", "oneline"),
    ("notes.displayRef", "refs/*"),
    ("log.date", "relative"),
    ("log.decorate", "full"),
]


@pytest.fixture(scope="session")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history with a merge, renames, a type change, a submodule, folders and odd names."""
    place = tmp_path_factory.mktemp("varied") / "varied.git"
    subprocess.run(["git", "init", "--quiet", "--bare", place], check=True)
    objects = Objects(place, "project")
    blob = [objects.write_blob(f"text {number}\n".encode()) for number in range(4)]
    tree = objects.write_tree(EMPTY_TREE, {"a.md": blob[0], "a/b.md": blob[1], "é.md": blob[2]})
    first = objects.write_commit(tree, [], "café\n", PERSON)
    link = Blob(blob[3].id, 0o120000)
    sub = Blob("12" * 20, 0o160000)
    two = objects.write_tree(tree, {"a.md": link, "sub": sub, "é.md": None, "e.md": blob[2]})
    second = objects.write_commit(two, [first], "two\n", PERSON)
    odd = os.fsdecode(b"\xff.md")
    three = objects.write_tree(tree, {"a/b.md": None, "a-b.md": blob[3], odd: blob[0]})
    third = objects.write_commit(three, [first], "three\n", PERSON._replace(name="Jörg"))
    four = objects.write_tree(two, {"sub": Blob("13" * 20, 0o160000), "x/y/z.md": blob[0]})
    fourth = objects.write_commit(four, [second, third], "Merge\n", PERSON)
    refs = place / "refs" / "heads"
    (refs / "main").write_text(fourth + "\n")
    return place


@pytest.mark.parametrize("setting", [None, *SETTINGS])
def test_history_whatever_is_configured(
    varied: Path, run_git: RunGit, setting: tuple[str, str] | None
) -> None:
    """A log gives the commits and changes that the objects give, whatever the user configured."""
    if setting is not None:
        run_git("config", "--global", *setting, cwd=varied)
    tip = (varied / "refs" / "heads" / "main").read_text().strip()
    single = Objects(varied, "project")
    seen = []
    for commit, changes in bulk.history(varied, [tip]):
        assert commit == single.commit(commit.id)
        above = single.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
        assert list(changes.items()) == list(single.path_changes(above, commit.tree).items())
        seen.append(commit.id)
    assert len(seen) == 4
    assert seen[-1] == tip


@pytest.mark.parametrize("tool", ["replace", "graft", "commit-graph"])
def test_nothing_but_objects_has_a_say(
    varied: Path, tmp_path: Path, run_git: RunGit, tool: str
) -> None:
    """Replaced objects, grafts and a lying commit-graph do not change what is read."""
    place = shutil.copytree(varied, tmp_path / "copy.git")
    tip = (place / "refs" / "heads" / "main").read_text().strip()
    honest = Objects(place, "project")
    second, third = honest.commit(tip).parents
    first = honest.commit(second).parents[0]
    if tool == "replace":
        run_git("replace", "--graft", tip, cwd=place)
    elif tool == "graft":
        (place / "info").mkdir(exist_ok=True)
        (place / "info" / "grafts").write_text(f"{tip}\n")
    else:
        run_git("commit-graph", "write", "--reachable", cwd=place)
        _cut_parents(place / "objects" / "info" / "commit-graph", tip)
        assert run_git("rev-list", "--count", tip, cwd=place) == "1"
    assert {commit.id for commit, _ in bulk.history(place, [tip])} == {first, second, third, tip}
    for objects in (Objects(place, "project"), Objects(place, "project")):
        assert objects.commit(tip).parents == (second, third)
        assert set(objects.between(tip, [first])) == {second, third, tip}
        assert objects.merge_bases(second, third) == [first] or objects.merge_bases(
            second, third
        ) == (first,)
        assert objects.is_ancestor(first, tip)


def _cut_parents(graph: Path, commit: str) -> None:
    """Make a commit-graph file say that `commit` has no parents."""
    data = bytearray(graph.read_bytes()[:-20])
    chunks = {}
    for at in range(8, 8 + 12 * (data[6] + 1), 12):
        chunks[bytes(data[at : at + 4])] = struct.unpack(">Q", data[at + 4 : at + 12])[0]
    names, rows = chunks[b"OIDL"], chunks[b"CDAT"]
    place = (data.index(bytes.fromhex(commit), names) - names) // 20
    data[rows + place * 36 + 20 : rows + place * 36 + 28] = struct.pack(
        ">II", 0x70000000, 0x70000000
    )
    graph.chmod(0o644)
    graph.write_bytes(bytes(data) + sha1(data).digest())


def test_environment_has_no_say(
    repository: Path, tmp_path: Path, run_git: RunGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects in an object folder that the environment names are missing here."""
    other = tmp_path / "other.git"
    run_git("init", "--quiet", "--bare", other, cwd=tmp_path)
    foreign = Objects(other, "project").write_blob(b"foreign\n").id
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(other / "objects"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / "objects"))
    monkeypatch.setenv("GIT_DIR", str(other))
    objects = Objects(repository, "project")
    assert not objects.exists(foreign)
    with pytest.raises(BadInputError) as raised:
        objects.data(foreign)
    assert raised.value.reference == "object-missing"
    kept = objects.write_blob(b"ours\n").id
    assert not objects.exists(foreign)
    assert run_git("cat-file", "-t", kept, cwd=repository, env=_plain()) == "blob"


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


@pytest.mark.parametrize("loaded", [False, True])
def test_missing_objects_are_said(repository: Path, loaded: bool) -> None:
    """What is missing or of another kind is an error with a name, by both ways of reading."""
    objects = Objects(repository, "project")
    tree = _write(repository, "tree", b"")
    if loaded:
        objects.write_blob(b"loads pygit2")
    for ask in (objects.commit, objects.data, objects.tag, objects.kind):
        with pytest.raises(BadInputError) as raised:
            ask("1" * 40)
        assert raised.value.reference == "object-missing"
    for ask in (objects.commit, objects.data):
        with pytest.raises(BadInputError) as raised:
            ask(tree)
        assert raised.value.reference == "object-missing"
    assert objects.tag(tree) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"tree HEAD\n\nx",
        b"tree \xff\nparent \xff\n\nx",
        b"author x\n\nno tree",
    ],
)
def test_invalid_commits_are_said(repository: Path, data: bytes) -> None:
    """Bytes that are no commit are an error with a name."""
    id_ = _write(repository, "commit", data)
    with pytest.raises(BadInputError) as raised:
        Objects(repository, "project").commit(id_)
    assert raised.value.reference == "object-missing"


@pytest.mark.parametrize("target", [b"HEAD", b"x y z", b"", b"\xff" * 40])
def test_invalid_tags_are_none(repository: Path, target: bytes) -> None:
    """A tag that does not name an object by its id points to nothing."""
    id_ = _write(repository, "tag", b"object %s\ntype commit\ntag x\n\nmessage\n" % target)
    assert Objects(repository, "project").tag(id_) is None


def test_late_parents_are_none(repository: Path) -> None:
    """A parent that stands behind the author is none, as for git."""
    rest = b"parent %s\n\nmessage\n" % (b"1" * 40)
    id_ = _write(repository, "commit", _raw(EMPTY_TREE, rest=rest))
    assert Objects(repository, "project").commit(id_).parents == ()


NAMES = st.text(st.sampled_from("ab-.0~é"), min_size=1, max_size=3).filter(
    lambda name: name not in (".", "..")
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.dictionaries(PATHS, st.sampled_from([b"1", b"2", None])), max_size=3))
def test_trees_are_gits(edits: list[dict[str, bytes | None]]) -> None:
    """A tree that was written in steps is the one that git's own index makes of the same files."""
    place = Path(os.environ["HOME"]) / "trees.git"
    if not place.exists():
        subprocess.run(["git", "init", "--quiet", "--bare", place], check=True)
    objects = Objects(place, "project")
    tree = EMPTY_TREE
    files: dict[str, Blob] = {}
    for edit in edits:
        clean = {
            path: data
            for path, data in edit.items()
            if not any(_nested(path, other) for other in (*edit, *files))
        }
        contents = {p: None if d is None else objects.write_blob(d) for p, d in clean.items()}
        tree = objects.write_tree(tree, contents)
        files |= {path: blob for path, blob in contents.items() if blob is not None}
        files = {path: blob for path, blob in files.items() if contents.get(path, blob)}
    assert objects.paths(tree) == files
    lines = "".join(f"100644 {blob.id}\t{path}\0" for path, blob in files.items())
    env = {**os.environ, "GIT_INDEX_FILE": str(place / "test-index")}
    (place / "test-index").unlink(missing_ok=True)
    subprocess.run(
        ["git", "update-index", "-z", "--index-info"],
        cwd=place,
        env=env,
        input=lines.encode(),
        check=True,
    )
    made = subprocess.run(
        ["git", "write-tree"], cwd=place, env=env, capture_output=True, check=True
    )
    assert tree == made.stdout.decode().strip()


def _nested(one: str, other: str) -> bool:
    return one.startswith(other + "/") or other.startswith(one + "/")


def test_kept_contents_are_written(repository: Path, run_git: RunGit) -> None:
    """What was only kept in memory is in the repository once a tree has it."""
    objects = Objects(repository, "project")
    blob = objects.keep(b"merged\n")
    tree = objects.write_tree(EMPTY_TREE, {"a.md": blob})
    assert run_git("cat-file", "blob", f"{tree}:a.md", cwd=repository) == "merged"


def test_no_tree_without_its_files(repository: Path) -> None:
    """A tree is not written with a file that is missing."""
    objects = Objects(repository, "project")
    with pytest.raises(BadInputError) as raised:
        objects.write_tree(EMPTY_TREE, {"a.md": Blob("1" * 40, 0o100644)})
    assert raised.value.reference == "object-missing"


PEOPLE = [
    PERSON,
    Person("", "", 0, 0),
    Person("A <b> \n\0C", "<x@y>", 5, -90),
    Person(" .dotted, ", "", 5, 0),
    Person("half \udcff", "x@y", 5, 0),
]


@pytest.mark.parametrize("person", PEOPLE)
def test_written_commits_are_sound(repository: Path, run_git: RunGit, person: Person) -> None:
    """A commit and a tag of anybody pass git's own check, whatever the name holds."""
    objects = Objects(repository, "project")
    tree = _tree(objects, a=b"text\n")
    commit = objects.write_commit(tree, [], "subject\n\nbody\n", person, PERSON)
    objects.write_tag("x", commit, person, "message\n")
    assert "error" not in run_git("fsck", "--strict", "--no-dangling", cwd=repository)
    assert Objects(repository, "project").commit(commit).author.time == person.time


def test_written_commits_are_gits(repository: Path, run_git: RunGit) -> None:
    """A commit that is written here has the id that git gives it."""
    objects = Objects(repository, "project")
    tree = _tree(objects, a=b"text\n")
    when = "1779100200 +0200"
    env = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    gits = run_git(*who, "commit-tree", tree, "-m", "café", cwd=repository, env=env)
    assert objects.write_commit(tree, [], "café\n", PERSON) == gits


def test_text_merge_of_other_bytes(repository: Path) -> None:
    """Files that are no UTF-8 have no text merge, and are no error."""
    objects = Objects(repository, "project")
    sides = [b"a\xff\nb\nc\n", b"A\xff\nb\nc\n", b"a\xff\nb\nC\n"]
    assert objects.text_merge(*map(objects.write_blob, sides)) is None
    good = [b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n"]
    assert objects.text_merge(*map(objects.write_blob, good)) == b"A\nb\nC\n"
    clash = [b"a\n", b"b\n", b"c\n"]
    assert objects.text_merge(*map(objects.write_blob, clash)) is None


def test_all_merge_bases(repository: Path, run_git: RunGit) -> None:
    """Two lines that crossed have two bases, by id, as git says."""
    objects = Objects(repository, "project")
    root = objects.write_commit(_tree(objects, a=b"0"), [], "root", PERSON)
    one = objects.write_commit(_tree(objects, a=b"1"), [root], "one", PERSON)
    two = objects.write_commit(_tree(objects, a=b"2"), [root], "two", PERSON)
    left = objects.write_commit(_tree(objects, a=b"3"), [one, two], "left", PERSON)
    right = objects.write_commit(_tree(objects, a=b"4"), [two, one], "right", PERSON)
    assert list(objects.merge_bases(left, right)) == sorted([one, two])
    assert list(objects.merge_bases(left, right)) == sorted(
        run_git("merge-base", "--all", left, right, cwd=repository).split()
    )
    assert list(objects.merge_bases(one, left)) == [one]
    stranger = objects.write_commit(EMPTY_TREE, [], "other", PERSON)
    assert list(objects.merge_bases(one, stranger)) == []
    assert objects.between(left, [one])[-1] == left
    assert not objects.is_ancestor(left, one)
