"""The answers that a proposal gets: discarded before, pending already and now with more evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem import layout
from gitmem.errors import GitmemError
from gitmem.memory import Draft, Memory, Outcome, open_memory
from gitmem.model.entries import Source

ONE, TWO = Source("s1", "t1", "tabs!"), Source("s2", "t9", "really, tabs")


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with memory."""
    return open_memory(project)


def propose(
    memory: Memory,
    body: str = "Use tabs.",
    rationale: str = "The user said so.",
    *sources: Source,
    again: bool = False,
) -> Outcome:
    """A proposal of one entry, as another process makes it."""
    draft = Draft("indent", body, "preference")
    return open_memory(memory.path).propose(
        draft, rationale=rationale, sources=sources, again=again, actor="claude-code"
    )


def refusal(memory: Memory, rationale: str = "The user said so.", *, again: bool = False) -> str:
    with pytest.raises(GitmemError) as caught:
        propose(memory, "Use tabs.", rationale, again=again)
    assert caught.value.exit_code == 5
    return f"{caught.value.reference}: {caught.value.context}"


# -- what was discarded ------------------------------------------------------------------------


def test_what_was_discarded_is_refused_with_the_reason(memory: Memory) -> None:
    """Whoever proposes it again is told why not; other words are another proposal."""
    memory.discard(propose(memory).id, by=memory.person(), reason="we use spaces")

    assert refusal(memory) == "discarded-before: because: we use spaces"
    assert memory.candidates() == []
    assert propose(memory, "Use 2 spaces.").made


def test_again_needs_a_new_rationale(memory: Memory) -> None:
    """The one that did not convince does not do."""
    memory.discard(propose(memory).id, by=memory.person())

    assert refusal(memory, again=True) == "rationale-not-new: no reason was given"
    assert propose(memory, "Use tabs.", "The formatter wants it now.", again=True).made


def test_never_again(memory: Memory) -> None:
    """That nothing overrides but a person, who reopens it."""
    by = memory.person()
    id_ = propose(memory).id
    memory.discard(id_, by=by, reason="no", never=True)

    assert refusal(memory, "Another one.", again=True) == "never-again: because: no"
    from gitmem import adoption

    adoption.reopen(memory, id_, by=by)
    assert not propose(memory).made


def test_what_was_edited_before_it_was_discarded(memory: Memory) -> None:
    """The text as it was proposed was refused with it."""
    by = memory.person()
    id_ = propose(memory).id
    text = memory.store("project").text(memory.candidate(id_).entries[0].content) or ""
    memory.edit(id_, {"indent": text.replace("tabs", "TABS").encode()}, by=by)
    memory.discard(id_, by=by)

    assert refusal(memory).startswith("discarded-before")


def test_a_person_is_not_refused(memory: Memory) -> None:
    """Who discarded it may put it into memory all the same."""
    by = memory.person()
    memory.discard(propose(memory).id, by=by, never=True)

    memory.add(Draft("indent", "Use tabs.", "preference"), by=by)

    assert [entry.body for entry in memory.entries()] == ["Use tabs."]


def test_a_deletion(memory: Memory) -> None:
    """To forget an entry is proposed and refused like any other change."""
    by = memory.person()
    memory.apply(propose(memory).id, by=by)
    drop = Draft("indent", delete=True)
    memory.discard(memory.propose(drop, rationale="why").id, by=by)

    with pytest.raises(GitmemError, match="proposed before"):
        memory.propose(drop, rationale="why")


def test_what_is_dropped_is_not_refused(memory: Memory) -> None:
    """Nobody is there to be told: the person sees it again, and it does not stay in the drop box."""
    by = memory.person()
    memory.discard(propose(memory).id, by=by, reason="no")
    here = memory.found.here
    assert here is not None
    box = layout.drop_box(here.root)
    box.mkdir(parents=True, exist_ok=True)
    text = "---\nid: mem_indent\ntype: preference\nrationale: Once more.\n---\n\nUse tabs.\n"
    (box / "x.md").write_text(text, encoding="utf-8")

    (claim,) = open_memory(memory.path).claim()

    assert claim.fault is None
    assert len(memory.candidates()) == 1


# -- more evidence -----------------------------------------------------------------------------


def test_evidence_is_added(memory: Memory) -> None:
    """A second session that says the same backs the candidate that there is."""
    first = propose(memory, "Use tabs.", "The user said so.", ONE)
    before = memory.candidate(first.id)

    again = propose(memory, "Use tabs.", "Said once more.", TWO)

    found = memory.candidate(first.id)
    assert (again.id, again.made) == (first.id, False)
    assert len(memory.candidates()) == 1
    assert found.sources == (ONE.to_json(), TWO.to_json())
    assert (found.rationale, found.more_rationale) == ("The user said so.", ("Said once more.",))
    assert found.digest == before.digest
    assert found.commit != before.commit
    assert not found.edited


def test_what_was_seen_before_evidence_came_is_applied(memory: Memory) -> None:
    """The digest holds, and the entry names all its sources."""
    first = propose(memory, "Use tabs.", "The user said so.", ONE)
    seen = memory.candidate(first.id).digest
    propose(memory, "Use tabs.", "The user said so.", TWO)

    memory.apply(first.id, by=memory.person(), expect=seen)

    assert memory.entries()[0].sources == (ONE, TWO)


def test_nothing_new_adds_nothing(memory: Memory) -> None:
    """The same evidence and the same words move no ref."""
    first = propose(memory, "Use tabs.", "The user said so.", ONE)
    before = memory.candidate(first.id).commit

    again = propose(memory, "Use tabs.", "The user said so.", ONE)

    assert again.note == "it is pending already"
    assert memory.candidate(first.id).commit == before


def test_a_rationale_alone(memory: Memory) -> None:
    """It is kept beside the first one, once."""
    first = propose(memory)
    for _ in range(2):
        propose(memory, "Use tabs.", "The linter wants it.")

    found = memory.candidate(first.id)
    assert found.more_rationale == ("The linter wants it.",)
    assert len(found.line.commits) == 2


def test_an_edit_after_evidence(memory: Memory) -> None:
    """It changes the digest, and its note counts as before."""
    by = memory.person()
    id_ = propose(memory).id
    propose(memory, "Use tabs.", "Said once more.", TWO)
    seen = memory.candidate(id_)
    text = memory.store("project").text(seen.entries[0].content) or ""

    memory.edit(id_, {"indent": text.replace("tabs", "TABS").encode()}, by=by, note="Louder.")

    found = memory.candidate(id_)
    assert found.edited
    assert found.digest != seen.digest
    assert found.rationale == "The user said so.\n\nLouder."
    assert found.more_rationale == ("Said once more.",)
