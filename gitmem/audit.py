"""`verify`: the whole history and all that stands in it, looked at with nobody's word for it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from gitmem import ids, index, layout, views, witness
from gitmem.errors import GitmemError
from gitmem.findings import Finding, Report, unreviewed
from gitmem.git import refs
from gitmem.memory import Memory
from gitmem.model import entries
from gitmem.model.approval import anyone
from gitmem.model.rule import RULE
from gitmem.store import Store, is_customary


def verify(memory: Memory, *, scope: str | None = None) -> Report:
    """Look at the whole history of the tiers. No cache is asked, and nothing is changed."""
    findings: list[Finding] = []
    commits = count = 0
    for store in memory.stores(scope):
        try:
            store.check_signatures_again()
            findings += _findings(store)
            commits += len(store.ledger().line)
            count += len(store.approved())
        except GitmemError as error:
            findings.append(
                Finding(
                    error.reference,
                    store.tier,
                    None,
                    None,
                    error.message,
                    error.hint or "gitmem git fsck",
                )
            )
    return Report(tuple(findings), commits, count)


def _findings(store: Store) -> Iterator[Finding]:
    yield from _rewritten(store)
    yield from _start(store)
    yield from _unreviewed(store)
    yield from _invalid_entries(store)
    yield from _strange_files(store)
    yield from _tags(store)
    yield from _refs(store)
    yield from _replacements(store)
    yield from _cache(store)


def _rewritten(store: Store) -> Iterator[Finding]:
    seen = witness.read(store.place.git_dir)
    if seen is None or seen in store.ledger().position:
        return
    yield Finding(
        "main-rewritten",
        store.tier,
        seen,
        None,
        f"memory/main stood at {seen[:12]} and no longer has it: approved memory is missing",
        f"to have it back: gitmem git update-ref refs/heads/memory/main {seen}; "
        "if it was meant: gitmem verify --accept",
    )


def _unreviewed(store: Store) -> Iterator[Finding]:
    """Each entry whose present file no approval covers, with the commits that made it so."""
    ledger = store.ledger()
    to_blame = [(found.commit, key) for key in ledger.view.held for found in ledger.culprits(key)]
    for commit, key in sorted(to_blame, key=lambda pair: (ledger.position[pair[0]], pair[1])):
        yield unreviewed(store.tier, store.objects.commit(commit), key, store.signed or anyone)


def _start(store: Store) -> Iterator[Finding]:
    """That nobody can tell from which commit on approvals must be signed."""
    start = store.signed.trust.settings.start if store.signed is not None else None
    if start is not None and not store.objects.exists(start):
        yield Finding(
            "start-missing",
            store.tier,
            start,
            None,
            f"approvals must be signed since {start[:12]}, which is not here: no commit is exempt",
            f"fetch it; or: gitmem config --scope {store.tier} approval signed",
        )


def _invalid_entries(store: Store) -> Iterator[Finding]:
    approving = {
        (key, after): judgement.commit
        for judgement in store.ledger().line
        for key, (_, after) in judgement.changes.items()
    }
    for key, content in sorted(store.approved().items()):
        try:
            store.entry(key, content)
        except entries.EntryFault as fault:
            yield Finding(
                "entry-invalid",
                store.tier,
                approving.get((key, content)),
                ids.entry_id(key),
                f"{ids.entry_id(key)} is approved and can't be read: {fault.message}",
                f"gitmem edit {key}, or gitmem why {key} and revert what brought it",
            )


def _strange_files(store: Store) -> Iterator[Finding]:
    tip = store.main()
    paths = store.objects.paths(store.objects.commit(tip).tree)
    known = {_folded(path): path for path in paths if entries.key_of_path(path) is not None}
    for path in sorted(paths):
        if entries.key_of_path(path) is not None or is_customary(path):
            continue
        twin = known.get(_folded(path))
        what = f"'{path}' is no entry and never reaches a context"
        if twin is not None:
            what = f"'{path}' can be taken for '{twin}': another case or another Unicode form"
        commit = _last_to_touch(store, path)
        yield Finding(
            "entry-twin" if twin is not None else "not-an-entry",
            store.tier,
            commit,
            None,
            what,
            f"gitmem revert {commit[:12]}",
        )


def _last_to_touch(store: Store, path: str) -> str:
    ledger = store.ledger()
    for judgement in reversed(ledger.line):
        tree = store.objects.commit(judgement.commit).tree
        above = [store.objects.commit(parent).tree for parent in judgement.line_parents]
        befores = above or [layout.EMPTY_TREE]
        if all(path in store.objects.path_changes(before, tree) for before in befores):
            return judgement.commit
    return ledger.line[-1].commit


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


def _tags(store: Store) -> Iterator[Finding]:
    valid = {stub.ref for stub in store.closed()}
    unsigned = ", or no allowed signer signed it" if store.signed is not None else ""
    for ref, id_ in refs.listed(store.place.git_dir, layout.DISCARDED).items():
        if ref not in valid:
            name = ref.removeprefix("refs/tags/")
            yield Finding(
                "broken-record",
                store.tier,
                id_,
                None,
                f"the tag {name} closes no candidate{unsigned}",
                f"look at it: gitmem git show {name}; to take it out: gitmem git tag -d {name}",
            )


def _refs(store: Store) -> Iterator[Finding]:
    """Refs that hold no commit, and candidates of which an object is missing."""
    git_dir = store.place.git_dir
    broken = dict.fromkeys(refs.malformed(git_dir, "refs/"), "holds no commit id")
    for ref in refs.listed(git_dir, layout.CANDIDATES):
        if not ids.is_candidate_id(ref.removeprefix(layout.CANDIDATES)):
            broken[ref] = "has a name that no candidate can have"
    for stub in store.stubs():
        if stub.fault is not None:
            broken[stub.ref] = f"can't be read: {stub.fault}"
    for ref, what in sorted(broken.items()):
        yield Finding(
            "broken-record",
            store.tier,
            None,
            None,
            f"{ref} {what}",
            f"fetch it again, or take it out: gitmem git update-ref -d {ref}",
        )


def _replacements(store: Store) -> Iterator[Finding]:
    for ref in refs.listed(store.place.git_dir, "refs/replace/"):
        replaced = ref.removeprefix("refs/replace/")
        yield Finding(
            "replace-ref",
            store.tier,
            replaced,
            None,
            f"git shows another object for {replaced[:12]} than the one that gitmem reads",
            f"gitmem git replace -d {replaced}",
        )
    if (store.place.git_dir / "info" / "grafts").exists():
        yield Finding(
            "grafts",
            store.tier,
            None,
            None,
            "info/grafts makes git show another history than the one that gitmem reads",
            f"remove {store.place.git_dir / 'info' / 'grafts'}",
        )


def _cache(store: Store) -> Iterator[Finding]:
    git_dir = store.place.git_dir
    cached = index.read(git_dir, store.main(), rule=RULE, approval=store.approval)
    if cached is not None and cached != views.judged(store):
        yield Finding(
            "cache-disagrees",
            store.tier,
            cached.tip,
            None,
            "the view cache says something else than the history: contexts since may be wrong",
            f"delete it: rm '{index.path_of(git_dir)}'",
        )


def accept(memory: Memory, *, scope: str | None = None) -> list[str]:
    """Take the present `memory/main` for the one to watch over; gives the tips."""
    tips = []
    for store in memory.stores(scope):
        witness.write(store.place.git_dir, store.main())
        tips.append(store.main())
    return tips


def witnessed(findings: Iterable[Finding]) -> bool:
    """Whether nothing says that approved memory vanished."""
    return all(finding.kind != "main-rewritten" for finding in findings)
