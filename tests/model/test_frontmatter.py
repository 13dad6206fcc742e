"""Values, reading and canonical writing of front matter."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model import frontmatter, strictyaml
from gitmem.model.frontmatter import (
    MAX_DEPTH,
    MAX_NODES,
    FrontMatterFault,
    Plain,
    Table,
    Value,
    dump,
    from_json,
    is_core,
    quoted,
    read,
    scalar,
    to_json,
)

CORE = ["", "~", "null", "true", "False", "0", "-12", "0777", "0x1F", "1e5", ".5", "-.inf", ".NaN"]
# What some YAML takes for something else than text, or what has a meaning in its grammar.
AWKWARD = [
    *CORE,
    *["no", "On", "YES", "y", "12:30", "2026-05-18", "2026-05-18T10:30:00Z", "1_000", "0b11", "="],
    *["<<", "- a", "-", "---", "...", "# c", "a # c", "a: b", "a:", "[x", "{x", "*a", "&a", "!t"],
    *["|", ">", "%x", "@x", "`x", "'q'", '"q"', "a\nb", " a", "a ", "\t", "back\\slash", "\x07"],
    *["\u202e", "\u2028", "\x85", "\ufeff", "\xa0", "\U000e0041", "\uffff", "缩进", "😀", "né"],
]

texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(
        alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20
    ),
)
keys = texts.filter(lambda key: len(key) <= 100)
scalars = st.one_of(texts, st.sampled_from(CORE).map(Plain))


def tables(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Table]:
    """Nested mappings of `values`."""
    pairs = st.dictionaries(keys, values, max_size=3).map(lambda found: tuple(found.items()))
    return pairs.map(Table)


values: st.SearchStrategy[Value] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), tables(inner)),
    max_leaves=6,
)
documents = st.dictionaries(keys, values, max_size=4)


def as_other_tools_see(value: Value) -> object:
    """The value that a plain YAML loader gives, except for what a Plain becomes."""
    if isinstance(value, Table):
        return {key: as_other_tools_see(item) for key, item in value.pairs}
    if isinstance(value, tuple):
        return [as_other_tools_see(item) for item in value]
    return value


def agrees(ours: object, theirs: object) -> bool:
    """Whether both are the same, types included, a Plain standing for any scalar."""
    if isinstance(ours, Plain):
        return not isinstance(theirs, (list, dict))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(agrees(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(agrees, ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def shallow(found: dict[str, Value]) -> bool:
    """Whether `found` is within the limits."""
    try:
        dump(found.items())
    except FrontMatterFault:
        return False
    return True


@given(documents.filter(shallow))
@settings(max_examples=80, deadline=None)
def test_what_is_written_is_read_again(found: dict[str, Value]) -> None:
    """Writing loses nothing: neither order nor the difference between text and a plain scalar."""
    written = dump(found.items())

    assert list(strictyaml.load(written)[0].items()) == list(found.items())


@given(documents.filter(shallow))
@settings(max_examples=40, deadline=None)
def test_both_parsers_read_the_same(found: dict[str, Value]) -> None:
    """Without libyaml the same text has the same values and the same lines."""
    written = dump(found.items())

    pure = strictyaml.load(written, parser=strictyaml.PurePythonParser)

    assert pure == strictyaml.load(written)


@given(documents.filter(shallow))
@settings(max_examples=40, deadline=None)
def test_other_tools_read_the_same(found: dict[str, Value]) -> None:
    """PyYAML's own safe loader, of YAML 1.1, sees the same text in every text."""
    theirs = yaml.safe_load(dump(found.items())) or {}

    assert agrees({key: as_other_tools_see(value) for key, value in found.items()}, theirs)


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_is_quoted(text: str) -> None:
    """Whatever some YAML would misread stands in double quotes on one line."""
    assert scalar(text) == quoted(text)
    assert "\n" not in scalar(text)


@pytest.mark.parametrize("text", ["mem_x", "user", "sess_1.2", "a:b", "docs/a.md", "_", "x-y"])
def test_words_stand_plain(text: str) -> None:
    """One word of letters, digits and joining signs needs no quotes."""
    assert scalar(text) == text


def test_hidden_characters_are_escapes() -> None:
    """A character that a person can't see is visible in the file."""
    assert quoted('a\u202eb\U000e0041"\\\n\x07') == r'"a\u202eb\U000e0041\"\\\n\u0007"'


@pytest.mark.parametrize("text", ["12", "1e5", "0777", "true", "null", "~", ".inf", "-1.", "0o7"])
def test_core_scalars_stay_verbatim(text: str) -> None:
    """What YAML 1.2 takes for a number, a boolean or null is kept as it was written."""
    found, _ = strictyaml.load(f"x: {text}\n")

    assert found == {"x": Plain(text)}
    assert dump(found.items()) == f"x: {text}\n"


@pytest.mark.parametrize("text", ["no", "on", "yes", "12:30", "2026-05-18", "1_000", "0b1", "nan"])
def test_yaml_1_1_scalars_are_text(text: str) -> None:
    """What only YAML 1.1 took for something else is text."""
    assert strictyaml.load(f"x: {text}\n")[0] == {"x": text}
    assert not is_core(text)


def test_block_style() -> None:
    """The layout: two spaces a level, lists below their key, empty ones beside it."""
    found: dict[str, Value] = {
        "a": Table((("b", ("x", Plain(""), (), Table())), ("c", "two words"))),
        "d": (Table((("e", "f"), ("g", ("h",)))), ("i", ("j",))),
        "k": Plain(""),
    }

    assert dump(found.items()) == (
        "a:\n  b:\n    - x\n    -\n    - []\n    - {}\n"
        '  c: "two words"\nd:\n  - e: f\n    g:\n      - h\n  - - i\n    - - j\nk:\n'
    )


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("2026-05-18T10:30:00Z", True),
        ("2026-04-31T10:30:00Z", False),
        ("2024-02-29T00:00:00Z", False),
        ("0000-01-01T00:00:00Z", False),
        ("2026-05-18T24:00:00Z", False),
        ("2026-05-18", False),
    ],
)
def test_times_stand_plain_where_they_are_meant(text: str, plain: bool) -> None:
    """A time as the handbook writes it is plain if every YAML reader can make a time of it."""
    written = dump([("createdAt", text)], times=("createdAt",))

    assert written == f"createdAt: {text if plain else quoted(text)}\n"
    yaml.safe_load(written)


FAULTS = {
    "---\na: b\na: c\n---\n": (3, "the key 'a' is given twice, first on line 2"),
    "---\nx:\n  a: b\n  'a': c\n---\n": (4, "the key 'a' is given twice, first on line 3"),
    "---\nx:\n  - {a: b, a: c}\n---\n": (3, "the key 'a' is given twice, first on line 3"),
    "---\na: &x b\n---\n": (2, "there is an anchor, '&x'"),
    "---\n\na: *x\n---\n": (3, "there is an alias, '*x'"),
    "---\na: !!str b\n---\n": (2, "there is a tag, 'tag:yaml.org,2002:str'"),
    "---\na: ! b\n---\n": (2, "there is a tag, '!'"),
    "---\na: !x [b]\n---\n": (2, "there is a tag, '!x'"),
    "---\n? !x a\n: b\n---\n": (2, "there is a tag, '!x'"),
    "---\na: b\n1: c\n---\n": (3, "a key must be text, and '1' is none"),
    "---\na: b\n~: c\n---\n": (3, "a key must be text, and '~' is none"),
    "---\n[a]: c\n---\n": (2, "a key must be text, and a list or a mapping is none"),
    "---\n? {a: b}\n: c\n---\n": (2, "a key must be text, and a list or a mapping is none"),
    "---\n- a\n---\n": (2, "the front matter is no mapping"),
    "---\njust text\n---\n": (2, "the front matter is no mapping"),
    "---\na: b\n...\n--- # next\nc: d\n---\n": (4, "more than one document"),
    "---\na: b\n\tc: d\n---\n": (3, "the YAML is broken"),
    '---\na: b\nc: "d\ne: f\n---\n': (3, "the YAML is broken"),
    "---\na: [b\n---\n": (2, "the YAML is broken"),
    "---\na: b\n%YAML 1.1\n---\n": (3, "the YAML is broken"),
    "---\na: b\nc: \x07\n---\n": (3, "the character U+0007"),
    "---\na: b\nc: x\u2028y\n---\n": (3, "the character U+2028"),
    '---\na: "\\0"\n---\n': (2, "an escape stands for NUL"),
    "---\na: b\n" + "k" * 101 + ": c\n---\n": (3, "a key is longer than 100 characters"),
    "---\na: b\nc: " + "[" * 8 + "]" * 8 + "\n---\n": (3, "nested more than 8 deep"),
    "---\na: b\nc: [" + "x," * MAX_NODES + "]\n---\n": (3, "more than 4096 values"),
    "---\na: " + "x" * 65536 + "\n---\n": (1, "the front matter is larger than 64 KiB"),
    "a: b\n": (1, "the file does not begin with front matter"),
    "\n---\na: b\n---\n": (1, "the file does not begin with front matter"),
    "---- \na: b\n---\n": (1, "the file does not begin with front matter"),
    "---\na: b\n": (1, "the front matter that begins here has no closing line"),
    "": (1, "the file does not begin with front matter"),
    "---\na: b\n---\nx\n\0": (5, "there is a NUL byte"),
    "x" * (256 * 1024 + 1): (None, "the file is larger than 256 KiB"),
}


@pytest.mark.parametrize("text", FAULTS, ids=range(len(FAULTS)))
def test_faults_name_the_line(text: str) -> None:
    """Each thing that front matter may not hold is said with its line in the file."""
    line, what = FAULTS[text]

    with pytest.raises(FrontMatterFault) as caught:
        read(text.encode())

    assert caught.value.line == line
    assert what in caught.value.message
    assert line is None or caught.value.message.startswith(f"line {line}: ")
    assert caught.value.reference == "front-matter-invalid"


@pytest.mark.parametrize(
    "text", [text for text, (_, what) in FAULTS.items() if "YAML is" not in what and "---" in text]
)
def test_faults_do_not_depend_on_libyaml(text: str) -> None:
    """The pure parser gives the same faults with the same lines."""
    if "\0" in text:
        return
    with pytest.raises(FrontMatterFault) as caught:
        strictyaml.read(text, parser=strictyaml.PurePythonParser)

    assert caught.value.line == FAULTS[text][0]


def test_half_a_surrogate_pair_is_refused_without_libyaml_too() -> None:
    """PyYAML's own parser takes an escape which libyaml doesn't."""
    for parser in (strictyaml.DEFAULT_PARSER, strictyaml.PurePythonParser):
        with pytest.raises(FrontMatterFault, match="line 1: "):
            strictyaml.load('a: "\\ud800"\n', parser=parser)


def test_invalid_utf8_names_the_line() -> None:
    """Bytes that are no UTF-8 are said with their line, whatever ends the lines."""
    with pytest.raises(FrontMatterFault) as caught:
        read(b"---\r\na: b\r---\r\n\nx \xff\n")

    assert caught.value.message == "line 5: the text is not valid UTF-8"


@pytest.mark.parametrize(
    "data",
    [
        b"---\na: b\n---\n    x  \n---\ny \n",
        b"\xef\xbb\xbf---\r\na: b\r\n---\r\n    x  \r\n---\r\ny ",
        b"---\ra: b\r---\r    x  \r---\ry \r",
        b"--- \t\na: b\n---  \n    x  \n---\ny ",
    ],
)
def test_what_editors_leave_is_read(data: bytes) -> None:
    """Marks, line ends and blanks behind fences don't matter, and the body keeps every space."""
    document = read(data)

    assert document.values == {"a": "b"}
    assert document.body == "    x  \n---\ny \n"
    assert document.lines == {("a",): 2}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "text", ["---\na: b\n---\n\nx\n---\n", "---\n---\nx", "---\na: b\n---", "---\n---\n---\n"]
)
def test_body_start_agrees_with_reading(text: str, newline: str) -> None:
    """The cheap way to the body finds what reading finds."""
    data = text.replace("\n", newline).encode()

    rest = data[frontmatter.body_start(data) :].decode().replace(newline, "\n")

    assert rest.removesuffix("\n") == read(data).body.removesuffix("\n")


@pytest.mark.parametrize("text", ["", "x\n---\n---\n", "---\na: b\n", "---x\n---\n"])
def test_body_start_refuses_what_has_no_fences(text: str) -> None:
    """Without two fences there is no body."""
    with pytest.raises(FrontMatterFault):
        frontmatter.body_start(text.encode())


@pytest.mark.parametrize(
    "value", [None, True, False, 0, -5, 1.5, 1e-07, "1", "null", [], {}, {"a": [1, {"b": None}]}]
)
def test_json_comes_back(value: object) -> None:
    """A JSON document becomes values and the same document again."""
    assert json.dumps(to_json(from_json(value))) == json.dumps(value)


@pytest.mark.parametrize("text", CORE)
def test_json_keeps_the_text_of_unusual_scalars(text: str) -> None:
    """A plain scalar that JSON writes in another way becomes text and loses no sign."""
    found = to_json(Plain(text))

    assert found == text or json.dumps(found) == text


def test_json_is_taken_only_so_deep() -> None:
    """A document nested without end is a fault and no crash."""
    with pytest.raises(FrontMatterFault, match="nested more than 8 deep"):
        from_json(json.loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)))


@pytest.mark.parametrize(
    "value", ["a\0b", "\ud800", Plain("text"), (((((((("x",),),),),),),),)], ids=range(4)
)
def test_what_no_file_can_hold_is_not_written(value: Value) -> None:
    """Values built in code meet the same limits."""
    with pytest.raises(FrontMatterFault):
        dump([("a", value)])
