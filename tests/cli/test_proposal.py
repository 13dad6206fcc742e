"""A proposal from one JSON document, as agents and scripts write it, and from options beside it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.cli.proposal import Proposal, of_json
from gitmem.errors import BadInputError, GitmemError
from gitmem.memory import Draft
from gitmem.model.entries import Source

ENTRY = {"key": "a", "type": "fact", "body": "A."}


def _of(**more: object) -> Proposal:
    return of_json(json.dumps({"entries": [ENTRY], **more}))


def test_all_that_a_document_may_say() -> None:
    """Each field comes back, an entry by its key or by its id, and null is as if absent."""
    document = {
        "rationale": "because",
        "sources": [{"sessionId": "s", "turnId": None, "evidence": "said", "extra": [1, None]}],
        "priority": "high",
        "actor": "tool",
        "scope": "user",
        "entries": [
            ENTRY,
            {"id": "mem_b/c", "delete": True},
            {"key": "d", "id": "mem_d", "body": None, "type": None, "delete": None},
        ],
    }

    found = of_json(json.dumps(document))

    assert found.drafts == (
        Draft("a", "A.", "fact", delete=False),
        Draft("b/c", None, None, delete=True),
        Draft("d", None, None, delete=False),
    )
    assert (found.rationale, found.priority, found.actor, found.scope) == (
        "because",
        "high",
        "tool",
        "user",
    )
    (source,) = found.sources
    assert (source.session_id, source.turn_id, source.evidence) == ("s", None, "said")
    assert source.to_json()["extra"] == [1, None]


def test_what_is_not_said_is_none() -> None:
    """A document of entries alone leaves the rest to the options."""
    assert _of() == Proposal((Draft("a", "A.", "fact"),))
    assert _of(rationale=None, sources=None, priority=None, actor=None, scope=None) == _of()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "it is no JSON"),
        ("{", "it is no JSON"),
        ("{} {}", "it is no JSON"),
        ("\ufeff{}", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ('{"entries": [' + "1" * 5000 + "]}", "it is no JSON"),
        ("[]", "the document is no object"),
        ("null", "the document is no object"),
        ("{}", "'entries' is missing or empty"),
        ('{"entries": []}', "'entries' is missing or empty"),
        ('{"entries": {}}', "'entries' of the document must be a list"),
        ('{"entries": "a"}', "'entries' of the document must be a list"),
        ('{"entries": [1]}', "an entry is no object"),
        ('{"entries": [{}]}', "an entry has neither 'key' nor 'id'"),
        ('{"entries": [{"key": 1}]}', "'key' of an entry must be text"),
        ('{"entries": [{"id": "a"}]}', "'a' is no entry's id"),
        ('{"entries": [{"key": "a", "id": "mem_b"}]}', "the key 'a' and the id 'mem_b'"),
        ('{"entries": [{"key": "a", "delete": 1}]}', "'delete' of an entry must be true or false"),
        ('{"entries": [{"key": "a", "delete": "no"}]}', "'delete' of an entry must be true or"),
        ('{"entries": [{"key": "a", "body": ["x"]}]}', "'body' of an entry must be text"),
        ('{"entries": [{"key": "a", "text": "x"}]}', "an entry has no field 'text'"),
        ('{"entries": [{"key": "a"}], "why": "x"}', "the document has no field 'why'"),
        ('{"entries": [{"key": "a"}], "rationale": 1}', "'rationale' of the document must be text"),
        ('{"entries": [{"key": "a"}], "sources": {}}', "'sources' of the document must be a list"),
        ('{"entries": [{"key": "a"}], "entries": [{"key": "b"}]}', "'entries' stands twice"),
        ('{"entries": [{"key": "a", "body": "x", "body": "y"}]}', "'body' stands twice"),
    ],
    ids=range(26),
)
def test_a_document_that_is_none_says_why(text: str, what: str) -> None:
    """Whatever is wrong is named in one line: nothing is guessed, and nothing taken for less."""
    with pytest.raises(BadInputError) as caught:
        of_json(text)

    assert caught.value.reference == "json-invalid"
    assert what in caught.value.message


@pytest.mark.parametrize("source", [1, "s", [], {"sessionId": 1}, {"x": {"y": [[[[[[[[]]]]]]]]}}])
def test_a_source_of_another_form_is_refused(source: object) -> None:
    """Evidence that can't be kept as it is said is not kept as something else."""
    with pytest.raises(GitmemError):
        _of(sources=[source])


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["a", "mem_a", "", "\ud800", "fact"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["entries", "key", "id", "body", "type", "sources", "scope", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(anything)
@settings(max_examples=200, deadline=None)
def test_any_json_is_a_proposal_or_an_error(document: object) -> None:
    """No document that an agent sends ends in anything else."""
    try:
        found = of_json(json.dumps(document))
    except GitmemError:
        return

    assert found.drafts
    assert all(isinstance(draft.key, str) for draft in found.drafts)


# -- options beside it -----------------------------------------------------------------------------

SOURCE, OTHER = Source("s"), Source("t")


def test_an_option_says_it_with_that() -> None:
    """What an option says holds, also where it is empty; what none says stays."""
    said = Proposal((), "old", (SOURCE,), "low", "tool", "user")

    assert said.with_options(None, (), None, None, None) == said
    assert said.with_options("", (OTHER, SOURCE), "high", "", "project") == Proposal(
        (), "", (SOURCE, OTHER), "high", "", "project"
    )
