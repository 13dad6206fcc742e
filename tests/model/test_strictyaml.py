"""The strict reader against PyYAML on text that nobody would write, and on some that people do."""

from __future__ import annotations

import contextlib

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model import strictyaml
from gitmem.model.entries import EntryFault, parse
from gitmem.model.frontmatter import (
    MAX_KEY_LENGTH,
    MAX_NODES,
    FrontMatterFault,
    Path,
    Plain,
    Table,
    Value,
    is_core,
    read,
)

# Pieces of YAML: what they make together is now valid, now not.
_PIECES = (
    *("a", "b", "key", "x y", "1", "true", "~", "no", "12:30", "é", "😀", "\xa0", "=", "<<"),
    *(": ", ":", ":\n", "\n", "\n  ", "\n    ", "\n- ", "\n  - ", "- ", "-", "? ", "?", " ", "  "),
    *("[", "]", "{", "}", ", ", ",", "'", '"', "''", '""', "#", " # c", "\\", "\\n", "\\x41"),
    *("%", "@", "`", "---", "...", "\t", "|", "|-\n", ">+", ">2\n", "\ufeff"),
    *("&a", " &a ", "*a", " *a", "!", " !!str ", "!<x> "),
)
_pieces = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)
_lines = st.lists(
    st.tuples(
        st.sampled_from(["", "", "  ", "    ", " "]),
        st.sampled_from(["a: ", "b: ", "'a': ", "a:\n  ", "- ", "- a: ", "- - ", "? ", "--- "]),
        st.sampled_from(
            ["", "x", "1", "'1'", '"~"', "*a", "&a x", "{a: [x]}", "|\n   x", "# c", "\n"]
        ),
    ).map("".join),
    max_size=6,
).map("\n".join)
wild = _pieces | _pieces.map("a: ".__add__) | _lines


class Refused(Exception):  # noqa: N818 - an answer, no error
    """PyYAML takes it, and a rule of ours doesn't."""


def _by_pyyaml(text: str) -> tuple[object, dict[Path, int]]:
    """What PyYAML's composer makes of `text`, and the line of each path. Raises YAMLError, Refused."""
    if "\ufeff" in text:
        raise Refused
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise Refused
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    lines: dict[Path, int] = {}
    if node is None:
        return {}, lines
    if not isinstance(node, yaml.MappingNode):
        raise Refused
    return _plain(node, (), lines), lines


def _plain(node: yaml.Node, path: Path, lines: dict[Path, int]) -> object:
    if isinstance(node, yaml.ScalarNode):
        return Plain(node.value) if not node.style and is_core(node.value) else node.value
    if isinstance(node, yaml.SequenceNode):
        items = []
        for number, item in enumerate(node.value):
            lines[*path, number] = item.start_mark.line + 1
            items.append(_plain(item, (*path, number), lines))
        return items
    found: dict[str, object] = {}
    for key, item in node.value:
        name = _plain(key, path, lines)
        if not isinstance(name, str) or name in found:
            raise Refused
        lines[*path, name] = key.start_mark.line + 1
        found[name] = _plain(item, (*path, name), lines)
    return found


def _told(value: Value) -> object:
    """A value as `_plain` gives it."""
    if isinstance(value, Table):
        return {key: _told(item) for key, item in value.pairs}
    return [_told(item) for item in value] if isinstance(value, tuple) else value


@given(wild)
@settings(max_examples=400, deadline=None)
def test_pyyaml_is_right(text: str) -> None:
    """The reader takes what PyYAML takes but for what is forbidden, with the same values and lines."""
    try:
        theirs = _by_pyyaml(text)
    except (yaml.YAMLError, Refused):
        with pytest.raises(FrontMatterFault) as caught:
            strictyaml.load(text)
        assert caught.value.line is not None
        # In a file one more line follows, the closing fence.
        assert 1 <= caught.value.line <= text.count("\n") + 2
        return

    values, lines = strictyaml.load(text)

    assert ({key: _told(value) for key, value in values.items()}, lines) == theirs


@given(wild)
@settings(max_examples=200, deadline=None)
def test_no_text_has_two_readings(text: str) -> None:
    """With and without libyaml a text that both take is the same entry, on the same lines."""
    found = []
    for parser in (strictyaml.DEFAULT_PARSER, strictyaml.PurePythonParser):
        # Some texts are taken by one alone, such as a tab behind a colon.
        with contextlib.suppress(FrontMatterFault):
            found.append(strictyaml.load(text, parser=parser))

    assert found[1:] in ([], found[:1])


@pytest.mark.parametrize(
    "text", ["\ufeffa: b\n", "a: b\n\ufeffc: d\n", "a:\n  \ufeff\n", "\ufeff\n"]
)
def test_a_byte_order_mark_within_is_refused(text: str) -> None:
    """An invisible character that one parser drops and another keeps makes no key another one."""
    for parser in (strictyaml.DEFAULT_PARSER, strictyaml.PurePythonParser):
        with pytest.raises(FrontMatterFault, match=r"U\+FEFF"):
            strictyaml.load(text, parser=parser)


def test_only_one_mark_stands_before_the_front_matter() -> None:
    """An editor leaves one; behind a second the file does not begin with a fence."""
    assert read(b"\xef\xbb\xbf---\na: b\n---\n").values == {"a": "b"}
    with pytest.raises(FrontMatterFault, match="does not begin"):
        read(b"\xef\xbb\xbf" * 2 + b"---\na: b\n---\n")


@pytest.mark.parametrize(
    "code",
    [0, 1, 8, 0xB, 0xC, 0x1F, 0x7F, 0x80, 0x85, 0x9F, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF],
)
def test_a_character_that_is_none_is_named_with_its_line(code: int) -> None:
    """Control characters and other lines' ends stand in front matter as escapes only."""
    with pytest.raises(FrontMatterFault) as caught:
        strictyaml.load(f"\na: b\nc: x{chr(code)}y\n")

    assert caught.value.line == 3
    assert f"U+{code:04X}" in caught.value.message


@pytest.mark.parametrize(
    "code", [0x20, 0x7E, 0xA0, 0x2027, 0x202A, 0xD7FF, 0xE000, 0xFFFD, 0x10000]
)
def test_all_other_characters_are_text(code: int) -> None:
    """Whatever a person may write stands as it is."""
    assert strictyaml.load(f"a: x{chr(code)}y\n")[0] == {"a": f"x{chr(code)}y"}


@pytest.mark.parametrize(
    "text",
    [
        *("a: " + opening * 20_000 for opening in ("[", "{a: ", "[{a: ", "- ", "? ", "{? ")),
        *(opening * 20_000 for opening in ("[", "- ", "? ", "a: ", "{", "!", "&", "'", '"')),
        "\n".join(" " * depth + "a:" for depth in range(300)),
        "a: [" + "]" * 60_000,
        "a: " + "[],{}" * 10_000,
        "a: [" + "[],{}," * 10_000 + "]",
        "".join(f"k{number}: v\n" for number in range(MAX_NODES)),
        "a: " + "\n\n  x" * 12_000 + ": y",
    ],
    ids=range(21),
)
def test_what_would_exhaust_a_reader_is_a_fault(text: str) -> None:
    """Nesting without end and endless lists meet a limit before they cost anything."""
    with pytest.raises(FrontMatterFault):
        strictyaml.load(text)


def test_the_limits_themselves_are_allowed() -> None:
    """The deepest nesting, the longest key and as many values as there may be."""
    deepest = "a: " + "[" * 7 + "]" * 7
    most = "a: [" + "x," * (MAX_NODES - 3) + "]"
    longest = "\\U000e0001" * MAX_KEY_LENGTH

    assert strictyaml.load(deepest)[0]
    assert len(strictyaml.load(most)[0]["a"]) == MAX_NODES - 3
    assert strictyaml.load(f'"{longest}": b')[0] == {"\U000e0001" * MAX_KEY_LENGTH: "b"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b\n c: d\n", 2),
        ("a:\n  b: c\n d: e\n", 3),
        (" a: b\nc: d\n", 2),
        ("a: b\n\tc: d\n", 2),
        ("a:\n\tb: c\n", 2),
        ("a: [b\nc: d\n", 2),
        ("a: b: c\n", 1),
        ("a: 'b' c\n", 1),
        ("a: |\n b\nc\n", 3),
    ],
)
def test_odd_indentation_is_told_at_its_line(text: str, line: int) -> None:
    """What stands wrongly is a fault at its own line, and never guessed at."""
    with pytest.raises(FrontMatterFault) as caught:
        strictyaml.load(text)

    assert caught.value.line == line


def test_a_merge_key_is_a_key_like_others() -> None:
    """YAML 1.2 knows no `<<`: nothing comes into an entry that does not stand there."""
    values, _ = strictyaml.load("a: b\n<<: {type: forbidden}\n")

    assert values == {"a": "b", "<<": Table((("type", "forbidden"),))}


@given(
    st.lists(
        st.sampled_from([b"---", b"---\n", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\t"])
        | st.sampled_from([b"type: fact\n", b"id: mem_a\n", b"sources:\n", b"- sessionId: s\n"])
        | wild.map(str.encode),
        max_size=8,
    ).map(b"".join)
)
@settings(max_examples=300, deadline=None)
def test_whatever_the_bytes_are_they_are_an_entry_or_a_fault(data: bytes) -> None:
    """No file that somebody pushed ends in anything but an answer."""
    with contextlib.suppress(EntryFault):
        parse("a", b"---\n" + data, tier="project")
