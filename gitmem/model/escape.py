"""What a body may not say in its own name: headers of blocks, control tokens, a wrapper's closing tag."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from gitmem.model import disguise

# Tags that agents and chat templates read as the border of a turn, an order or a call: never a
# body's to write, opened or closed. A bare `<user>` or `<tool>` is a placeholder in honest text.
_TURNS = (
    "system assistant developer human system-reminder system_reminder system-prompt system_prompt "
    "tool_call tool_calls tool_response tool_result tool_results function_call function_calls "
    "function_result function_results bos eos bos_token eos_token start_of_turn end_of_turn "
    "start_of_image end_of_image end_of_utterance"
)
_TURN_ENDS = "user model tool function bot ai"

# Llama 2 and Mistral: https://github.com/mistralai/mistral-common, tokens/tokenizers/base.py.
_BRACKETED = "inst system_prompt available_tools tool_calls tool_results tool_content"

# https://html.spec.whatwg.org/multipage/indices.html without what a host may well wrap a text in
# (`data`, `output`, `object`, `search`, …) and `s`, which ends a turn in many templates.
_HTML = (
    "a abbr address area article aside audio b base bdi bdo big blockquote body br button canvas "
    "caption center cite code col colgroup dd del details dfn dialog div dl dt em fieldset figcaption "
    "figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label "
    "legend li link main map mark math menu meter nav ol optgroup option p picture pre progress q rp "
    "rt ruby samp script section select slot small source span strike strong style sub summary sup "
    "svg table tbody td textarea tfoot th thead time title tr track tt u ul var video wbr"
)


@cache
def _marks() -> re.Pattern[str]:
    """What to look for in an unmasked text. Compiled at the first body that has a bracket."""
    turns, ends, bracketed = ("|".join(words.split()) for words in (_TURNS, _TURN_ENDS, _BRACKETED))
    return re.compile(
        # Each alternative begins with its bracket, so that the engine can skip to the next one.
        rf"""
        \[ (?:
            (?P<header> [ ]* (?:m|rn) [ ]* e [ ]* (?:m|rn) [ ]* [o0] [ ]* r [ ]* y [ ]* : )
            | (?P<bracketed> /?(?:{bracketed})\] )
        )
        | < (?:
            (?P<control> \| [^ \n|<>]{{1,64}} \|> | </?sys>> )
            | (?P<turn> (?: /?[ ]*(?:{turns}) | /[ ]*(?:{ends}) ) (?:[ \n][^<>]*)? > )
            | (?P<closing> /[ ]* )? (?P<name> [^ \n<>/|"'=(){{}};,!?.0-9-] [^ \n<>/|"'=(){{}};,]{{0,63}} )
              (?P<rest> (?:[ \n][^<>]*|/)? ) >
        )
        """,
        re.VERBOSE,
    )


def escape(body: str) -> str:
    """`body` with a backslash before whatever could be taken for something that is not the body's.

    That is: the bracket of a line that could be read as a header (`[memory:` after any white space,
    in any case and disguise, also behind characters that only some readers take for a line end);
    the control tokens of chat templates (`<|im_start|>`, `[INST]`, `<<SYS>>`, `</system>`, …), anywhere;
    and a closing tag that closes nothing which the same body opened, since it could close the
    wrapper that a host puts around the text.
    HTML's own elements are left alone. What already has a backslash before it stays as it is, so
    that escaping twice changes nothing; it is not meant to be undone.
    """
    if body.isascii():
        if "[" not in body and "<" not in body:
            return body
    elif not disguise.lookalikes("[", "<").search(body):
        return body
    plain = disguise.unmask(body)
    marked = list(_marked(plain))
    if not marked:
        return body
    origin = range(len(body)) if len(plain) == len(body) else disguise.positions(body)
    return _with_backslashes(body, [origin[index] for index in marked])


def _marked(plain: str) -> Iterator[int]:
    """Where, in an unmasked text, a backslash belongs; ascending."""
    opened: dict[str, int] = {}
    for match in _marks().finditer(plain):
        name = match["name"]
        if match["header"]:
            if not plain[plain.rfind("\n", 0, match.start()) + 1 : match.start()].strip(" "):
                yield match.start()
        elif name is None:
            yield match.start()
        elif not match["closing"]:
            opened[name] = opened.get(name, 0) + (not match["rest"].endswith("/"))
        elif opened.get(name):
            opened[name] -= 1
        elif name not in _html():
            yield match.start()


@cache
def _html() -> frozenset[str]:
    return frozenset(_HTML.split())


def _with_backslashes(body: str, places: list[int]) -> str:
    parts = []
    done = 0
    for place in places:
        before = body[done:place]
        parts.append(before)
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            parts.append("\\")
        done = place
    parts.append(body[done:])
    return "".join(parts)
