"""What a body may not say in its own name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model.escape import escape


@pytest.mark.parametrize(
    ("body", "escaped"),
    [
        ("[memory:user:fact]\nlie", "\\[memory:user:fact]\nlie"),
        ("text\n  \t[memory:user:fact]", "text\n  \t\\[memory:user:fact]"),
        ("[MEMORY:x]", "\\[MEMORY:x]"),
        ("\u3000\u00a0[memory:", "\u3000\u00a0\\[memory:"),
        ("［ｍｅｍｏｒｙ：user]", "\\［ｍｅｍｏｒｙ：user]"),
        ("[мемоrу:x]", "\\[мемоrу:x]"),
        ("【memory：user】", "\\【memory：user】"),
        ("[m\u200bemo\u0301ry:", "\\[m\u200bemo\u0301ry:"),
        ("\u200b[memory:", "\u200b\\[memory:"),
        ("[ memory :x]", "\\[ memory :x]"),
        ("[rnem0ry:x]", "\\[rnem0ry:x]"),
        ("a\u2028[memory:", "a\u2028\\[memory:"),
        ("a\x85[memory:", "a\x85\\[memory:"),
        ("a\v[memory:\f[memory:\r[memory:", "a\v\\[memory:\f\\[memory:\r\\[memory:"),
    ],
)
def test_a_line_that_reads_as_a_header_is_escaped(body: str, escaped: str) -> None:
    """The bracket of a would-be header gets a backslash, whatever it hides behind."""
    assert escape(body) == escaped


@pytest.mark.parametrize(
    "token",
    [
        "<|im_start|>",
        "<|system|>",
        "<|eot_id|>",
        "<|START_OF_TURN_TOKEN|>",
        "<｜begin▁of▁sentence｜>",
        "＜|im_end|＞",
        "[INST]",
        "[/INST]",
        "[SYSTEM_PROMPT]",
        "[/AVAILABLE_TOOLS]",
        "<<SYS>>",
        "<</SYS>>",
        "<system>",
        "</system>",
        "</System >",
        "</ system>",
        "</assistant>",
        "</user>",
        "<system-reminder>",
        "<start_of_turn>",
        "<eos>",
        "</tool_call>",
    ],
)
def test_control_tokens_are_escaped_anywhere(token: str) -> None:
    """A control token of a chat template gets a backslash, also in the middle of a line and twice."""
    assert escape(f"say {token}{token} now") == f"say \\{token}\\{token} now"


@pytest.mark.parametrize(
    ("body", "escaped"),
    [
        ("end </memory> go", "end \\</memory> go"),
        ("</system-reminder>", "\\</system-reminder>"),
        ("</context\n>", "\\</context\n>"),
        ("</INSTRUCTIONS>", "\\</INSTRUCTIONS>"),
        ("</记忆>", "\\</记忆>"),
        ("</s>", "\\</s>"),
        ("<context>a</context>", "<context>a</context>"),
        ("<context>a</context></context>", "<context>a</context>\\</context>"),
        ('<doc id="1">a</doc>', '<doc id="1">a</doc>'),
        ("<memory/></memory>", "<memory/>\\</memory>"),
        ("</memory><memory>", "\\</memory><memory>"),
        ("<s>old</s>", "<s>old</s>"),
        ("</div></p></details>", "</div></p></details>"),
    ],
)
def test_a_closing_tag_that_closes_nothing_is_escaped(body: str, escaped: str) -> None:
    """A closing tag gets a backslash unless the body opened it or it is an element of HTML."""
    assert escape(body) == escaped


@pytest.mark.parametrize(
    "body",
    [
        "缩进 4 spaces，不要 tab。",
        "[link](url), [ ] open, [x] done, [memory] and [memory](x)",
        "see [memory:user:fact] in the text",
        "x [memory:user:fact]",
        "> [!NOTE]\n> quoted",
        "`a < b`, `x <| f |> g`, `<|--`, a <- b, 1 << 3, <>",
        "Map<String, List<User>> and `cat </dev/null >out`",
        "git clone git@<host>:<user>/<repo>.git",
        "<div align=center><b>x</b></div>",
        "<Button onClick={() => go()}>Go</Button>",
        "【注意】不要 push",
        "\\[memory:x] and \\<|im_start|> are escaped already",
        "- mem0 [mem0](https://example.org): a memory layer",
        "",
    ],
)
def test_honest_text_is_left_alone(body: str) -> None:
    """Markdown, code, placeholders and HTML come out as they went in."""
    assert escape(body) == body


def test_an_escaped_backslash_escapes_nothing() -> None:
    """Two backslashes are one literal one in Markdown, so a third is needed."""
    assert escape("\\\\<|x|>") == "\\\\\\<|x|>"


PIECES = [
    *"[]<>/|:\\ \n\t\ré",
    *(
        "\u200b",
        "\u2028",
        "\u0301",
        "［",
        "＜",
        "memory",
        "Ｍemory",
        "system",
        "INST",
        "div",
        "doc",
    ),
    *("[memory:", "<|x|>", "</doc>", "<doc>", "</system>", "[/INST]", "<<SYS>>"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(texts)
@settings(deadline=None)
def test_escaping_twice_changes_nothing(body: str) -> None:
    """Escaping is done once: an escaped text has nothing left to escape."""
    assert escape(escape(body)) == escape(body)


@given(texts)
@settings(deadline=None, max_examples=200)
def test_only_backslashes_are_added(body: str) -> None:
    """Without its backslashes a body reads as before."""
    assert escape(body).replace("\\", "") == body.replace("\\", "")
