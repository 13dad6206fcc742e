"""What a proposal is told, and what it adds, where the same was proposed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gitmem import layout
from gitmem.errors import RefusedError
from gitmem.git import checkout, refs, tierrepo
from gitmem.git.transaction import RefChange
from gitmem.model import entries, messages, trailers
from gitmem.model.candidates import Candidate, Proposed
from gitmem.model.entries import EntryFault, Source
from gitmem.model.history import Person
from gitmem.store import Store


def refuse_discarded(store: Store, said: str, rationale: str, *, again: bool) -> None:
    """Raise RefusedError where a person discarded what `said` (from `Store.said_by`) says.

    `discarded-before`, which `again` with another rationale overrides, `rationale-not-new` where
    it is the one that did not convince, and `never-again`, which nothing overrides.
    """
    before = store.same_discarded(said)
    for found in sorted(before, key=lambda one: not one.never):
        _refuse(store, found, rationale, again=again)


def _refuse(store: Store, found: Candidate, rationale: str, *, again: bool) -> None:
    why = f"because: {found.reason}" if found.reason else "no reason was given"
    if found.never:
        raise RefusedError(
            "never-again",
            f"this was discarded as {found.id}, and is never to be proposed again",
            context=why,
            hint=f"only a person can take it up: gitmem reopen {found.id}",
        )
    if not again:
        raise RefusedError(
            "discarded-before",
            f"this was proposed before, and discarded as {found.id}",
            context=why,
            hint="where there are new grounds: repeat it with --again and a new --rationale",
        )
    if rationale.strip() in _rationales(store, found):
        raise RefusedError(
            "rationale-not-new",
            f"{found.id} was discarded with just this rationale",
            context=why,
            hint="say what is new: --again --rationale TEXT",
        )


def add_evidence(
    store: Store, id_: str, rationale: str, sources: Sequence[Source], author: Person
) -> bool:
    """Add to a pending candidate what is new in another proposal of the same; whether any is.

    A further commit on its line adds sources, and a rationale of its own. What is proposed stays
    as it is, and so does the digest that an approval is bound to.
    """
    stub = store.open_stub(id_)
    if stub is None or not any(_news(store, store.candidate(stub), rationale, sources)):
        return False
    place = tierrepo.place_of(store.place)
    with checkout.deciding(place):
        stub = store.open_stub(id_)
        if stub is None:
            # It was decided about while we waited.
            return False
        found = store.candidate(stub)
        new, why = _news(store, found, rationale, sources)
        files = store.written({item.key: _with(store, item, new) for item in _kept(found, new)})
        tree = store.objects.write_tree(store.objects.commit(found.commit).tree, files)
        message = messages.evidence(id_, why, new, actor=author.name)
        commit = store.objects.write_commit(tree, [found.commit], message, author)
        kept = layout.kept_ref(id_)
        checkout.move(
            place,
            [
                RefChange(layout.candidate_ref(id_), commit, found.commit),
                RefChange(kept, commit, refs.read(store.place.git_dir, kept)),
            ],
        )
    return True


def _news(
    store: Store, found: Candidate, rationale: str, sources: Sequence[Source]
) -> tuple[list[Source], str]:
    """Of sources and a rationale, those that a candidate has not; no text for none."""
    new = [source for source in sources if source.to_json() not in found.sources]
    known = rationale.strip() in _rationales(store, found)
    return new, "" if known else rationale.strip()


def _rationales(store: Store, found: Candidate) -> set[str]:
    """What each commit of a candidate says for itself."""
    commits = map(store.objects.commit, found.line.commits)
    return {trailers.parse(commit.message).body.strip() for commit in commits}


def _kept(found: Candidate, new: Sequence[Source]) -> list[Proposed]:
    """The entries whose files name the sources."""
    return [item for item in found.entries if new and item.content is not None]


def _with(store: Store, item: Proposed, new: Sequence[Source]) -> bytes | None:
    """An entry's file with more sources; as it is where it can't be read or take any more."""
    try:
        entry = store.entry(item.key, item.content)
        if entry is not None:
            more = [source for source in new if source not in entry.sources]
            return entries.serialize(replace(entry, sources=(*entry.sources, *more)))
    except EntryFault:
        pass
    return None if item.content is None else store.objects.data(item.content.id)
