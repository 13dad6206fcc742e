"""Which of several entries with one id is in force."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInputError
from gitmem.model.tiers import TIERS, Memory, override


def make(tier: str, kind: str, key: str = "k", position: int = 0, body: str = "text") -> Memory:
    """An entry of which only what matters here is given."""
    return Memory(
        key=key,
        id=f"mem_{key}",
        tier=tier,
        scope=tier,
        type=kind,
        body=body,
        position=position,
        commit="c" * 40,
        blob=f"{tier}-{kind}-{key}-{position}-{body}",
    )


@pytest.mark.parametrize(
    ("kinds", "in_force"),
    [
        (("preference", "convention", "fact"), "session"),
        (("preference", "fact", None), "project"),
        (("fact", None, "fact"), "session"),
        (("forbidden", "preference", "fact"), "user"),
        (("forbidden", "forbidden", "fact"), "project"),
        (("forbidden", None, "fact"), "user"),
        (("fact", "forbidden", "fact"), "project"),
        (("fact", "forbidden", None), "project"),
        (("forbidden", "fact", None), "user"),
        ((None, "fact", None), "project"),
    ],
)
def test_later_tier_wins_but_forbidden_gives_way_only_to_forbidden(
    kinds: tuple[str | None, ...], in_force: str
) -> None:
    """Over all chains of tiers the right entry is in force, and each other one is a loser to it."""
    memories = [make(tier, kind) for tier, kind in zip(TIERS, kinds, strict=True) if kind]

    winners, overridden = override(memories)

    assert [memory.tier for memory in winners] == [in_force]
    assert [pair.loser for pair in overridden] == [m for m in memories if m.tier != in_force]
    assert {pair.winner.tier for pair in overridden} <= {in_force}


def test_other_ids_do_not_override() -> None:
    """Entries with different ids stand beside each other, in the order of the tiers."""
    memories = [make("project", "fact", "b"), make("user", "fact", "a")]

    assert override(memories) == ([memories[1], memories[0]], [])


def test_twins_in_one_tier_go_by_position() -> None:
    """Of two entries with one id in one tier the newer one is in force."""
    old, new = make("user", "fact", position=9), make("user", "fact", position=10)

    winners, overridden = override([new, old])

    assert winners == [new]
    assert overridden == [(new, old)]


def test_session_tier_holds_no_forbidden_entry() -> None:
    """An entry that nobody reviewed can't be of type forbidden."""
    with pytest.raises(BadInputError, match="session tier") as caught:
        make("session", "forbidden")

    assert caught.value.reference == "session-forbidden"


@given(
    st.lists(
        st.builds(
            make,
            st.sampled_from(["user", "project"]),
            st.sampled_from(["forbidden", "preference", "fact"]),
            st.sampled_from(["a", "b"]),
            st.integers(0, 2),
            st.sampled_from(["x", "y"]),
        ),
        max_size=4,
    )
)
@settings(deadline=None)
def test_order_of_the_input_never_shows(memories: list[Memory]) -> None:
    """Every permutation gives the same, and every entry is either in force or a loser."""
    expected = override(memories)

    assert all(override(list(order)) == expected for order in itertools.permutations(memories))
    assert len(expected[0]) + len(expected[1]) == len(memories)
    assert len({memory.id for memory in expected[0]}) == len(expected[0])
