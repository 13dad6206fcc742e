"""The queue: its order, its batches, what is near, and what may be done to a candidate in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitmem import review
from gitmem.errors import BadInputError
from gitmem.memory import Draft, Memory, open_memory
from gitmem.model import trailers
from gitmem.model.entries import Source
from gitmem.model.history import Person


@pytest.fixture
def memory(project: Path) -> Memory:
    """A project with memory."""
    return open_memory(project)


@pytest.fixture
def by(memory: Memory) -> Person:
    """The person who reviews."""
    return memory.person()


def propose(
    memory: Memory, key: str, body: str = "", session: str | None = None, **more: Any
) -> str:
    sources = [Source(session, "turn-1", "words")] if session else []
    draft = Draft(key, body or f"The rule {key}.", more.pop("kind", "fact"))
    return memory.propose(draft, rationale="why", sources=sources, **more).id


def items(memory: Memory) -> dict[str, review.Item]:
    """The queue by the first entry that each one is about."""
    return {item.found.entries[0].key: item for item in review.queue(memory).items}


def test_what_is_risky_comes_first_and_alone(memory: Memory, by: Person) -> None:
    """A deletion, `forbidden`, user memory, flagged text, and what somebody wrote by hand."""
    memory.apply(propose(memory, "gone"), by=by)
    memory.apply(propose(memory, "plain"), by=by)
    memory.add(Draft("mine", "Mine.", "fact"), by=by)
    propose(memory, "new", session="s1")
    propose(memory, "plain", "Another.", session="s1")
    propose(memory, "bidi", "a\u202eb", session="s1")
    propose(memory, "mixed", "pаypal", session="s1")
    propose(memory, "never", kind="forbidden", session="s1")
    propose(memory, "mine", "Yours.", session="s1")
    propose(memory, "user", scope="user", session="s1")
    memory.propose(Draft("gone", delete=True), rationale="why")

    found = items(memory)

    assert {key: item.risks for key, item in found.items() if item.risks} == {
        "bidi": ("flagged text",),
        "mixed": ("flagged text",),
        "never": ("forbidden",),
        "mine": ("edited by hand before",),
        "user": ("user memory",),
        "gone": ("deletes",),
    }
    assert set(list(found)[-2:]) == {"new", "plain"}
    assert {key for key, item in found.items() if item.batch} == {"new", "plain"}
    assert found["new"].batch == "project s1"


def test_what_a_person_edited_before_it_was_applied(memory: Memory, by: Person) -> None:
    """A text that somebody put right is worth a look before it changes."""
    id_ = propose(memory, "a")
    store = memory.store("project")
    text = store.text(memory.candidate(id_).entries[0].content) or ""
    memory.edit(id_, {"a": text.replace("rule", "law").encode()}, by=by)
    memory.apply(id_, by=by)
    propose(memory, "a", "Another.")

    assert items(memory)["a"].risks == ("edited by hand before",)


def test_batches(memory: Memory, by: Person) -> None:
    """Two of one session are a batch; one alone, a conflict and rivals are none."""
    memory.apply(propose(memory, "c"), by=by)
    propose(memory, "c", "Here.", session="s1")
    memory.apply(propose(memory, "c", "There."), by=by)
    for key, session in (("a", "s1"), ("b", "s1"), ("d", "s2"), ("e", None)):
        propose(memory, key, session=session)
    propose(memory, "r", "One way.", session="s1")
    propose(memory, "r", "Another way.", session="s1")

    found = {item.found.entries[0].key: item.batch for item in review.queue(memory).items}

    assert found == {
        "c": None, "a": "project s1", "b": "project s1", "d": None, "e": None, "r": None,
    }  # fmt: skip


def test_rivals_stand_together(memory: Memory) -> None:
    """Candidates for one entry follow each other and know each other."""
    first = propose(memory, "r", "One way.")
    propose(memory, "a")
    second = propose(memory, "r", "Another way.")

    queue = review.queue(memory).items

    place = [item.found.id for item in queue]
    assert abs(place.index(first) - place.index(second)) == 1
    rivals = {item.found.id: item.rivals for item in queue}
    assert (rivals[first], rivals[second]) == ((second,), (first,))


def test_what_is_done_with(memory: Memory, by: Person) -> None:
    """What approved memory says by now is not in the queue, and is closed as superseded."""
    twin = propose(memory, "a", "Same.")
    rival = propose(memory, "a", "Same, more.")
    memory.edit(rival, {"a": _text(memory, twin, "a")}, by=by)
    memory.apply(rival, by=by)

    assert review.queue(memory) == review.Queue((), (("project", twin),))
    assert memory.candidate(twin).state == "pending"
    assert review.close_done(memory, [("project", twin), ("project", "nothing")], by=by) == [twin]
    closed = memory.candidate(twin)
    assert (closed.state, closed.superseded_by) == ("superseded", rival)


def _text(memory: Memory, name: str, key: str) -> bytes:
    found = memory.candidate(name)
    (item,) = [item for item in found.entries if item.key == key]
    return (memory.store(found.tier).text(item.content) or "").encode()


# -- neighbours ----------------------------------------------------------------------------------


def test_neighbours(memory: Memory, by: Person) -> None:
    """Near texts of entries and of candidates, the likest first; never itself or what it changes."""
    memory.apply(propose(memory, "commits", "Commit messages are written in English."), by=by)
    mine = propose(memory, "messages", "Commit messages are always written in English.")
    other = propose(memory, "language", "Commit messages are written in plain English.")
    propose(memory, "tabs", "No tabs.")
    change = propose(memory, "commits", "Commit messages are written in British English.")
    hood = review.Neighbourhood(memory, review.queue(memory).items)

    def near(id_: str) -> list[tuple[str, str | None]]:
        found = memory.candidate(id_)
        body = review.body(memory, found, found.entries[0]) or ""
        return [(one.key, one.candidate) for one in hood.near(found, found.entries[0].key, body)]

    assert near(mine)[0] == ("commits", None)
    assert set(near(mine)) == {("commits", None), ("language", other), ("commits", change)}
    assert ("commits", None) not in near(change)

    hood.decided(memory.candidate(other), applied=True)
    assert ("language", None) in near(mine)


def test_chinese_neighbours(memory: Memory) -> None:
    """Likeness needs no spaces between words."""
    propose(memory, "a", "提交信息必须使用英文，不要使用表情符号。")
    mine = propose(memory, "b", "提交信息一律使用英文，不要使用表情符号。")
    hood = review.Neighbourhood(memory, review.queue(memory).items)
    found = memory.candidate(mine)

    (near,) = hood.near(found, "b", review.body(memory, found, found.entries[0]) or "")

    assert near.key == "a"


# -- split ---------------------------------------------------------------------------------------


def test_split(memory: Memory, by: Person) -> None:
    """Some entries stay, the rest waits under a new id that names its origin."""
    drafts = [Draft(key, f"The rule {key}.", "fact") for key in ("a", "b", "c")]
    said = Source("s1", "t1", "words")
    id_ = memory.propose(*drafts, rationale="All three.", sources=[said], actor="qwen").id

    rest = review.split(memory, id_, ["a"], by=by)

    kept, made = memory.candidate(id_), memory.candidate(rest)
    assert [item.key for item in kept.entries] == ["a"]
    assert [item.key for item in made.entries] == ["b", "c"]
    assert (made.rationale, made.actor) == ("All three.", "qwen")
    assert made.sources == ({"sessionId": "s1", "turnId": "t1", "evidence": "words"},)
    message = memory.store("project").objects.commit(made.first).message
    assert trailers.parse(message).first(trailers.ORIGIN) == id_
    memory.apply(id_, by=by)
    memory.apply(rest, by=by)
    bodies = [entry.body for entry in memory.entries("project")]
    assert bodies == ["The rule a.", "The rule b.", "The rule c."]
    sources = [entry.applied_from for entry in memory.entries("project")]
    assert sources == [id_, rest, rest]


def test_split_of_changes_and_deletions(memory: Memory, by: Person) -> None:
    """What is taken out is as approved again, and the rest is what it was."""
    for key in ("a", "b", "c"):
        memory.apply(propose(memory, key), by=by)
    drafts = (Draft("a", "A."), Draft("b", delete=True), Draft("c", "C."))
    id_ = memory.propose(*drafts, rationale="r").id

    rest = review.split(memory, id_, ["a"], by=by)
    memory.apply(rest, by=by)
    memory.apply(id_, by=by)

    assert {entry.key: entry.body for entry in memory.entries("project")} == {"a": "A.", "c": "C."}


@pytest.mark.parametrize("keys", [[], ["a", "b"], ["x"]])
def test_nothing_to_split(memory: Memory, by: Person, keys: list[str]) -> None:
    """All of it or none of it is no split."""
    drafts = (Draft("a", "A.", "fact"), Draft("b", "B.", "fact"))
    id_ = memory.propose(*drafts, rationale="r").id

    with pytest.raises(BadInputError) as caught:
        review.split(memory, id_, keys, by=by)

    assert caught.value.reference == "nothing-to-split"
    assert len(memory.candidates()) == 1


# -- join ----------------------------------------------------------------------------------------


def test_into_an_approved_entry(memory: Memory, by: Person) -> None:
    """The candidate changes the entry that there is, and brings no new one."""
    memory.apply(propose(memory, "commits", "In English."), by=by)
    id_ = propose(memory, "messages", "No emoji.", session="s1")
    found = memory.candidate(id_)
    neighbour = review.Neighbour("commits", None, 80, "In English.")

    text = review.joined_text(memory, found, "messages", neighbour)
    carrier = review.join(memory, found, "messages", neighbour, text.encode(), by=by)

    assert carrier == id_
    assert text.endswith("\nIn English.\n\nNo emoji.\n")
    assert "sessionId: s1" in text
    assert [item.key for item in memory.candidate(id_).entries] == ["commits"]
    memory.apply(id_, by=by)
    assert [entry.body for entry in memory.entries("project")] == ["In English.\n\nNo emoji."]


def test_into_another_candidate(memory: Memory, by: Person) -> None:
    """The other one has both texts, and this one is closed as superseded by it."""
    other = propose(memory, "commits", "In English.")
    mine = propose(memory, "messages", "No emoji.")
    found = memory.candidate(mine)
    neighbour = review.Neighbour("commits", other, 80, "In English.")

    text = review.joined_text(memory, found, "messages", neighbour)
    carrier = review.join(memory, found, "messages", neighbour, text.encode(), by=by)

    assert carrier == other
    closed = memory.candidate(mine)
    assert (closed.state, closed.superseded_by) == ("superseded", other)
    assert _text(memory, other, "commits").decode().endswith("\nIn English.\n\nNo emoji.\n")
