"""What a range of commits brings to memory, on `memory/main` or on a candidate's line.

`gitmem verify --range` reports it, and a server's `pre-receive` hook refuses it. Both ask about
what comes in, not about what was there before, so that an old fault stops nobody's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gitmem import ids, layout
from gitmem.errors import BadInputError
from gitmem.findings import Finding, Report, unreviewed
from gitmem.git import program
from gitmem.git.bulk import NOTHING_BORROWED, Borrowed
from gitmem.git.objects import Objects
from gitmem.model import entries, scan
from gitmem.model.approval import Ancestry, Ledger, Trust, anyone, judge
from gitmem.model.history import Change, Content
from gitmem.signed import Signed, since
from gitmem.store import is_customary
from gitmem.trust import signers_in

_NONE = "0" * 40


class Range(NamedTuple):
    """What `new` has and `old` has not; `old` is None where all of it is new."""

    old: str | None
    new: str


def verify(
    git_dir: Path, written: str, *, candidate: bool = False, signers: Path | None = None
) -> Report:
    """Look at the range `A..B` of the repository `git_dir`, which need not be one that gitmem made.

    B is a `memory/main` that stood at A before; with `candidate`, the tip of a candidate that is
    to be applied to A. As A, `0` forty times is the beginning. Findings are of what the range
    brought alone. With `signers`, a file that lists keys, what was approved after A counts only
    if one of them signed it. Raises BadInputError `range-unclear`, `shallow`, `file-unreadable`.
    """
    given = _range(git_dir, written)
    objects = opened(git_dir, *filter(None, (given.new, given.old)))
    if candidate:
        if given.old is None:
            raise BadInputError(
                "range-unclear",
                "a candidate is one for a memory/main, and the range names none",
                hint="write origin/memory/main..NEW",
            )
        ledger = judge(objects, given.old)
        line = Ancestry(objects, ledger).own_line(given.old, given.new)
        wrong = tuple(of_candidate(objects, ledger, given.new))
        return Report(wrong, len(line), len(ledger.view.contents(objects)))
    trust: Trust = anyone
    if signers is not None:
        trust = _signed_by(signers, objects, git_dir, given)
    ledger = judge(objects, given.new, trust=trust)
    before = ledger.position.get(given.old, -1) + 1 if given.old is not None else 0
    approved = ledger.view.contents(objects)
    found = on_main(objects, given, ledger, trust)
    return Report(tuple(found), len(ledger.line) - before, len(approved))


def _signed_by(signers: Path, objects: Objects, git_dir: Path, given: Range) -> Signed:
    if not signers.is_file():
        raise BadInputError("file-unreadable", f"'{signers}' is no file")
    found = since(objects, git_dir, given.old, signers_in(signers))
    found.prepare(given.new)
    return found


def _range(git_dir: Path, written: str) -> Range:
    old, dots, new = written.partition("..")
    if not old or not dots or not new or new.startswith("."):
        raise BadInputError(
            "range-unclear",
            f"'{written}' is no range",
            hint="write OLD..NEW, two commits or branches: origin/memory/main..memory/main",
        )
    if program.run("rev-parse", "--is-shallow-repository", git_dir=git_dir).text == "true":
        raise BadInputError(
            "shallow",
            "this clone has only a part of the history: what was approved can't be read from it",
            hint="git fetch --unshallow (in a workflow: fetch-depth: 0)",
        )
    return Range(None if old == _NONE else _commit(git_dir, old), _commit(git_dir, new))


def _commit(git_dir: Path, name: str) -> str:
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = program.run(*asked, git_dir=git_dir, check=False)
    if found.code == 0:
        return found.text
    raise BadInputError(
        "range-unclear",
        f"'{name}' is no commit here",
        context=found.message or None,
        hint="git fetch origin '+refs/heads/memory/*:refs/remotes/origin/memory/*' fetches memory",
    )


def repository_at(place: Path) -> Path:
    """The repository that the folder `place` belongs to: a clone of memory, made by whatever tool.

    Raises BadInputError `no-repository`.
    """
    asked = ("rev-parse", "--path-format=absolute", "--git-common-dir")
    found = program.run(*asked, cwd=place, check=False)
    if found.code == 0:
        return Path(found.text)
    raise BadInputError(
        "no-repository",
        f"'{place}' lies in no git repository",
        context=found.message or None,
        hint="run it in a clone of the memory's repository",
    )


def opened(git_dir: Path, *tips: str, borrowed: Borrowed = NOTHING_BORROWED) -> Objects:
    """The objects of a repository with the history of `tips`, of the tier that the first is of."""
    objects = Objects(git_dir, "project", borrowed)
    objects.prefetch(tips)
    *_, root = first_parents(objects, tips[0])
    if root != layout.root_id("user"):
        return objects
    objects = Objects(git_dir, "user", borrowed)
    objects.prefetch(tips)
    return objects


def first_parents(objects: Objects, tip: str) -> Iterator[str]:
    """The commits of the first-parent line of `tip`, itself the first."""
    here: str | None = tip
    while here is not None:
        yield here
        here = next(iter(objects.commit(here).parents), None)


# -- memory/main -------------------------------------------------------------------------------


def on_main(
    objects: Objects, given: Range, ledger: Ledger, trust: Trust = anyone
) -> Iterator[Finding]:
    """What is wrong with moving `memory/main` as `given`.

    `ledger` is that of its end, judged with `trust`.
    """
    if given.old is not None and given.old not in first_parents(objects, given.new):
        yield _other_line(objects, given)
        return
    before = ledger.position[given.old] if given.old is not None else -1
    yield from _unreviewed(objects, ledger, before, trust)
    yield from _invalid(objects, _approved_since(objects, ledger, before))
    old = objects.commit(given.old).tree if given.old is not None else layout.EMPTY_TREE
    changed = objects.path_changes(old, objects.commit(given.new).tree)
    yield from _strange(objects.tier, given.new, changed)


def _other_line(objects: Objects, given: Range) -> Finding:
    old, new = given.old or "", given.new
    if objects.is_ancestor(old, new):
        return Finding(
            "other-line-first",
            objects.tier,
            new,
            None,
            f"{new[:12]} merges memory/main into another line instead of that line into it",
            "gitmem sync; with git alone: git switch --detach origin/memory/main && "
            "git merge --no-ff -m \"Merge branch 'memory/main'\" memory/main",
        )
    return Finding(
        "main-rewritten",
        objects.tier,
        old,
        None,
        f"memory/main stood at {old[:12]} and {new[:12]} does not have it",
        "gitmem sync joins the two lines; memory/main is never rewritten",
    )


def _unreviewed(objects: Objects, ledger: Ledger, before: int, trust: Trust) -> Iterator[Finding]:
    """The entries that stand unreviewed at the end because of what came after position `before`."""
    blamed = {
        (ledger.position[found.commit], key)
        for key in ledger.view.held
        for found in ledger.culprits(key)
    }
    for position, key in sorted(blamed):
        if position > before:
            commit = objects.commit(ledger.line[position].commit)
            yield unreviewed(objects.tier, commit, key, trust)


def _approved_since(
    objects: Objects, ledger: Ledger, before: int
) -> dict[str, tuple[str, Content]]:
    """For each entry, what approved its present content after `before`, and that content."""
    found: dict[str, tuple[str, Content]] = {}
    for judgement in ledger.line[before + 1 :]:
        for key, (_, after) in judgement.changes.items():
            if after is not None and after == ledger.view.content(objects, key):
                found.setdefault(key, (judgement.commit, after))
    return found


# -- candidates --------------------------------------------------------------------------------


def of_candidate(objects: Objects, ledger: Ledger, tip: str) -> Iterator[Finding]:
    """What is wrong with the candidate at `tip`; `ledger` is that of the `memory/main` it is for."""
    main = ledger.line[-1].commit
    ancestry = Ancestry(objects, ledger)
    own = ancestry.own_line(main, tip)
    if not own:
        return
    base = ancestry.base(main, tip, own)
    proposed = list(ancestry.proposals(base, tip))
    for proposal in proposed:
        if not proposal.grounded:
            yield Finding(
                "unreviewed-base",
                objects.tier,
                tip,
                ids.entry_id(proposal.key),
                f"{tip[:12]} stands on content of {ids.entry_id(proposal.key)} that nobody approved",
                f"gitmem adopt {tip[:12]} shows all of it as a candidate",
            )
    yield from _invalid(objects, {item.key: (tip, item.theirs) for item in proposed})
    tree = base.view.tree if base is not None else layout.EMPTY_TREE
    yield from _strange(objects.tier, tip, objects.path_changes(tree, objects.commit(tip).tree))


# -- both --------------------------------------------------------------------------------------


def _invalid(objects: Objects, contents: Mapping[str, tuple[str, Content]]) -> Iterator[Finding]:
    """The contents, by key with the commit that brought each, that are no fit entries."""
    given = {key: content for key, (_, content) in contents.items() if content is not None}
    objects.load({content.id for content in given.values() if content.regular})
    for key, content in sorted(given.items()):
        commit, id_ = contents[key][0], ids.entry_id(key)
        try:
            if not content.regular:
                raise entries.EntryFault("it is a link, an executable or a submodule")
            entry = entries.parse(key, objects.data(content.id), tier=objects.tier)
        except entries.EntryFault as fault:
            yield Finding(
                "entry-invalid",
                objects.tier,
                commit,
                id_,
                f"{id_} can't be read: {fault.message}",
                f"put {entries.path_of(key)} right with a further commit (gitmem edit)",
            )
            continue
        found = [one for one in scan.scan(entry.body) if one.confidence == "high"]
        if found:
            yield Finding(
                "injection",
                objects.tier,
                commit,
                id_,
                f"{id_} has what no context may hold: {found[0].message}",
                f"take it out of {entries.path_of(key)} with a further commit (gitmem edit)",
            )


def _strange(tier: str, commit: str, changed: Mapping[str, Change]) -> Iterator[Finding]:
    for path in no_entries(changed):
        yield Finding(
            "not-an-entry",
            tier,
            commit,
            None,
            f"'{path}' is no entry",
            "take it out with a further commit: memory holds entries, <key>.md",
        )


def no_entries(changed: Mapping[str, Change]) -> Iterable[str]:
    """The paths of files that came and are neither entries nor may lie beside them."""
    return [
        path
        for path, (_, after) in changed.items()
        if after is not None and entries.key_of_path(path) is None and not is_customary(path)
    ]
