"""One tier's entries and candidates, as refs and objects have them. The only writer.

A store answers from what the refs say at the moment of the question. It knows
nothing of users' intentions: the use cases in `memory` do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitmem import clock, ids, layout, trust
from gitmem.errors import BadInputError, ObjectMissingError, RefusedError
from gitmem.git import refs
from gitmem.git.objects import Objects
from gitmem.git.signatures import Signature, Signing
from gitmem.git.transaction import RefChange
from gitmem.layout import TierPlace
from gitmem.model import candidates, entries, merge, trailers
from gitmem.model.approval import (
    Ancestry,
    Applied,
    Judgement,
    Ledger,
    Trust,
    anyone,
    candidates_in,
    join,
    judge,
    merge_contents,
)
from gitmem.model.candidates import Candidate, Proposed, State
from gitmem.model.events import DECISIONS, Event, Line, by_commit, rationale, sources
from gitmem.model.history import Blob, Commit, Content, Person
from gitmem.signed import Signed

# They may lie in the tree beside the entries (docs/git-format.md).
_NO_ENTRIES = frozenset({"README.md", "LICENSE", "CODEOWNERS", ".gitlab-ci.yml"})


def is_customary(path: str) -> bool:
    """Whether `path` is a file that may lie in the tree though it is no entry."""
    return path in _NO_ENTRIES or path.startswith(".github/")


@dataclass(frozen=True, slots=True)
class Stub:
    """A candidate's state, before anything of its content is read."""

    id: str
    state: State
    tip: str
    ref: str
    line: Applied
    remote: str | None = None
    decided: str | None = None
    fault: str | None = None
    """Why nothing of it can be read: an object is missing."""


Refused = dict[tuple[str, ...], list[tuple[Stub, dict[str, Content]]]]
"""Discarded candidates by their entries' keys, with the contents that they proposed."""


class Store:
    """The repository of one tier."""

    def __init__(self, place: TierPlace) -> None:
        self.place = place
        self.tier = place.scope
        self.objects = Objects(place.git_dir, place.scope)
        # Of which tip, and judged with which approval setting.
        self._ledger: tuple[str, str, Ledger] | None = None
        self._signed: tuple[str, Signed | None] | None = None
        self._remember = True
        # What each pending candidate says, and at which tip; and the same the other way round.
        self._said: dict[str, tuple[str, str]] = {}
        self._saying: dict[str, set[str]] = {}
        self._mark: refs.Mark | None = None
        # What the discarded candidates change, by the keys, for tags and an approval setting.
        self._refused: tuple[tuple[refs.Mark, str], Refused] | None = None
        # A review asks for the same ones again and again, and YAML is slow.
        self._entries: dict[tuple[str, str], entries.Entry] = {}

    # -- what is approved ------------------------------------------------------------------

    def main(self) -> str:
        """The commit of `memory/main`. Raises BadInputError `main-missing` or `symbolic-ref`."""
        tip = refs.read(self.place.git_dir, layout.MAIN)
        if tip is None:
            raise BadInputError(
                "main-missing",
                f"the {self.tier} memory has no branch memory/main",
                hint=f"run: gitmem init --scope {self.tier}",
            )
        return tip

    def ledger(self) -> Ledger:
        """The judgements on the approval line of `memory/main`."""
        tip, approval = self.main(), trust.name(self.place.git_dir)
        if self._ledger is None or self._ledger[:2] != (tip, approval):
            before = self._ledger
            known = before[2] if before is not None and before[1] == approval else None
            self.objects.prefetch([tip], [before[0]] if before is not None else ())
            ledger = judge(self.objects, tip, known=known, trust=self.trust_in(tip))
            self._ledger = (tip, approval, ledger)
        return self._ledger[2]

    @property
    def approval(self) -> str:
        """The approval setting that the ledger was judged with, as `trust.name` gives it."""
        self.ledger()
        return self._ledger[1] if self._ledger is not None else trust.OPEN

    @property
    def signed(self) -> Signed | None:
        """What says which approvals count, where they must be signed; else None."""
        return self._trust(trust.name(self.place.git_dir))

    def trust_in(self, *tips: str) -> Trust:
        """What says which approvals count, for judging the lines of `tips`."""
        signed = self.signed
        if signed is None:
            return anyone
        for tip in tips:
            signed.prepare(tip)
        return signed

    def check_signatures_again(self) -> None:
        """From now on take no cache's word for a signature."""
        self._ledger, self._signed, self._remember = None, None, False

    def _trust(self, approval: str) -> Signed | None:
        """What says which approvals count under the present setting, made once for each."""
        if self._signed is None or self._signed[0] != approval:
            signed = None
            if approval != trust.OPEN:
                git_dir = self.place.git_dir
                found = trust.read(git_dir)
                signed = Signed(self.objects, git_dir, found, remember=self._remember)
            self._signed = (approval, signed)
        return self._signed[1]

    def ledger_at(self, commit: str, *, approval: str | None = None) -> Ledger:
        """The judgements on the approval line of any commit.

        With `approval` `open` signatures have no say; otherwise today's setting holds.
        """
        self.objects.prefetch([commit])
        trusted = anyone if approval == trust.OPEN else self.trust_in(commit)
        return judge(self.objects, commit, trust=trusted)

    def joined(self, first: str, other: str) -> Ledger:
        """The ledger of a sync of two lines that nobody has made yet, as `approval.join` gives it."""
        self.objects.prefetch([first, other])
        return join(self.objects, first, other, trust=self.trust_in(first, other))

    def approved(self) -> dict[str, Blob]:
        """The approved entries, by key."""
        contents = self.ledger().view.contents(self.objects)
        return {key: content for key, content in contents.items() if content is not None}

    def approved_content(self, key: str) -> Content:
        """The approved content of one entry."""
        return self.ledger().view.content(self.objects, key)

    def entry(self, key: str, content: Content) -> entries.Entry | None:
        """The entry that a content is; None for none. Raises EntryFault where it is not one."""
        if content is None:
            return None
        entries.check_ordinary(content)
        known = self._entries.get((key, content.id))
        if known is None:
            known = entries.parse(key, self.objects.data(content.id), tier=self.tier)
            self._entries[key, content.id] = known
        return known

    def text(self, content: Content) -> str | None:
        """A content as text; None for none. Bytes that are no UTF-8 are shown as U+FFFD.

        Of a submodule there is only the commit's id.
        """
        if content is None or content.submodule:
            return None if content is None else f"{content.id}\n"
        return self.objects.data(content.id).decode("utf-8", "replace")

    def positions(self) -> dict[str, int]:
        """For each approved entry, the position of the first approval of its present content."""
        ledger = self.ledger()
        first: dict[tuple[str, Content], int] = {}
        for position, judgement in enumerate(ledger.line):
            for key, (_, after) in judgement.changes.items():
                if after is not None:
                    first.setdefault((key, after), position)
        return {key: first.get((key, content), 0) for key, content in self.approved().items()}

    def signer(self, key: str) -> str | None:
        """Who signed the approval of an entry's present content, where approvals must be signed."""
        signed, content = self.signed, self.approved_content(key)
        if signed is None or content is None:
            return None
        for judgement in reversed(self.ledger().line):
            if key in judgement.changes and judgement.changes[key][1] == content:
                found = _signature(judgement.commit, signed)
                return None if found is None else found.signer
        return None

    def other_files_before(self, judgement: Judgement) -> dict[str, Content]:
        """The files that are no entries and that a commit changed, as they were before it.

        Only those that `memory/main` still has as the commit left them.
        """
        tree = self.objects.commit(judgement.commit).tree
        above = layout.EMPTY_TREE
        if judgement.parents:
            above = self.objects.commit(judgement.parents[0]).tree
        lasting = self.objects.path_changes(tree, self.objects.commit(self.main()).tree)
        return {
            path: before
            for path, (before, _) in self.objects.path_changes(above, tree).items()
            if entries.key_of_path(path) is None and path not in lasting
        }

    def fork_for(self, keys: Iterable[str]) -> str | None:
        """The newest commit of `memory/main` below which none of `keys` has unreviewed content.

        None where its very first commit has.
        """
        ledger, wanted = self.ledger(), set(keys)
        here = ledger.line[-1]
        while wanted & here.view.held.keys():
            if not here.parents:
                return None
            here = ledger.of(here.parents[0])
        return here.commit

    # -- which candidates there are --------------------------------------------------------

    def stubs(self) -> list[Stub]:
        """All candidates with their states, in order of id; of one id, the open one first."""
        found: dict[tuple[str, str], Stub] = {}
        for stub in self._all_stubs():
            found.setdefault((stub.id, stub.line.first), stub)
        order = {state: place for place, state in enumerate(candidates.STATES)}
        return sorted(found.values(), key=lambda stub: (stub.id, order[stub.state]))

    def open_stub(self, id_: str) -> Stub | None:
        """The candidate whose branch is open here, as `stubs` has it, without a look at any other."""
        ledger, ref = self.ledger(), layout.candidate_ref(id_)
        tip = refs.read(self.place.git_dir, ref) if ids.is_candidate_id(id_) else None
        if tip is None or tip in ledger.inside:
            return None
        return self._stub(id_, "pending", tip, ref, ledger)

    def pending(self) -> list[Stub]:
        """The candidates that wait for a decision."""
        return [stub for stub in self.stubs() if stub.state == "pending"]

    def _all_stubs(self) -> Iterator[Stub]:
        """Every reading of every candidate, the one that counts before the others."""
        yield from self.decided_on_main()
        # A merge by hand leaves the branch, and its anchor, of what it applied.
        git_dir, ledger = self.place.git_dir, self.ledger()
        inside = ledger.inside
        heads = refs.listed(git_dir, layout.CANDIDATES)
        for ref, tip in heads.items():
            id_ = ref.removeprefix(layout.CANDIDATES)
            if ids.is_candidate_id(id_) and tip not in inside:
                yield self._stub(id_, "pending", tip, ref, ledger)
        closed = self._still_closed()
        ended = {commit for stub in closed for commit in (*stub.line.commits, stub.decided)}
        for ref, tip in refs.listed(git_dir, "refs/remotes/").items():
            remote, found, id_ = ref.removeprefix("refs/remotes/").partition("/memory/candidate/")
            open_ = tip not in ended and tip not in inside
            if found and open_ and ids.is_candidate_id(id_):
                yield replace(self._stub(id_, "pending", tip, ref, ledger), remote=remote)
        yield from closed
        for ref, tip in refs.listed(git_dir, layout.KEPT).items():
            if tip not in ended and tip not in inside:
                yield self._stub(ref.removeprefix(layout.KEPT), "withdrawn", tip, ref, ledger)

    def stub(self, id_: str, tip: str) -> Stub:
        """The branch of the candidate `id_` here, as it stands or stood at `tip`."""
        return self._stub(id_, "pending", tip, layout.candidate_ref(id_), self.ledger())

    def decided_on_main(self) -> list[Stub]:
        """The candidates that the approval line has, as the last event on it left them."""
        found: dict[tuple[str, str], Stub] = {}
        ledger = self.ledger()
        for judgement in ledger.line:
            for line in judgement.applied:
                key = (line.id, line.first)
                if key not in found:
                    found[key] = Stub(
                        line.id, "applied", line.tip, "", line, decided=judgement.commit
                    )
            # A revert of something that nobody approved takes back nothing of a candidate.
            if judgement.reverts is not None and judgement.changes:
                self._undo(judgement, found)
        return list(found.values())

    def _undo(self, judgement: Judgement, found: dict[tuple[str, str], Stub]) -> None:
        """Follow a revert, and the revert of a revert, to the apply that it is about."""
        target = self.ledger().of(judgement.reverts or "")
        state: State = "reverted"
        while target.reverts is not None:
            state = "applied" if state == "reverted" else "reverted"
            target = self.ledger().of(target.reverts)
        for line in target.applied:
            key = (line.id, line.first)
            found[key] = replace(found[key], state=state, decided=judgement.commit)

    def closed(self) -> list[Stub]:
        """What the valid discard tags closed, also where it was reopened since."""
        tags = refs.listed(self.place.git_dir, layout.DISCARDED)
        stubs = (self._discarded(ref, id_) for ref, id_ in tags.items())
        found = [stub for stub in stubs if stub is not None]
        signed = self.signed if found else None
        if signed is None:
            return found
        signed.prepare_closings(stub.decided for stub in found if stub.decided is not None)
        return [stub for stub in found if signed.closes(stub.decided or "", tags[stub.ref])]

    def _still_closed(self) -> list[Stub]:
        closed = self.closed()
        reopened = self._reopened(closed) if closed else set()
        return [stub for stub in closed if stub.decided not in reopened]

    def _reopened(self, closed: Sequence[Stub]) -> set[str]:
        """What the candidates that there are, open, applied or closed again, name as reopened."""
        tips = refs.listed(self.place.git_dir, layout.CANDIDATES, "refs/remotes/", layout.KEPT)
        ledger = self.ledger()
        stubs = [
            self._stub(id_, "pending", tip, ref, ledger)
            for ref, tip in tips.items()
            if (id_ := _named(ref)) is not None
        ]
        lines = [stub.line for stub in (*stubs, *closed) if stub.fault is None]
        applied = [line for judgement in ledger.line for line in judgement.applied]
        found: set[str] = set()
        for line in (*lines, *applied):
            message = self.objects.commit(line.first).message
            if trailers.REOPENS in message:
                found.update(trailers.parse(message).all(trailers.REOPENS))
        return found

    def _discarded(self, ref: str, id_: str) -> Stub | None:
        """What a tag below `memory/discarded/` closes, if it is valid.

        It is annotated, its suffix fits, and it points to an empty commit on top of
        the candidate's line.
        """
        try:
            return self._closing(ref, id_)
        except ObjectMissingError:
            return None

    def _closing(self, ref: str, id_: str) -> Stub | None:
        closing = closing_of(self.objects, self.ledger(), ref, id_)
        if closing is None:
            return None
        event = trailers.parse(closing.message).first(trailers.EVENT)
        state: State = "superseded" if event == "candidate.superseded" else "discarded"
        stub = self._stub(closed_by(ref), state, closing.parents[0], ref, self.ledger())
        return replace(stub, decided=closing.id)

    def _stub(self, id_: str, state: State, tip: str, ref: str, ledger: Ledger) -> Stub:
        try:
            return Stub(id_, state, tip, ref, self._line(id_, tip, ledger))
        except ObjectMissingError as error:
            return Stub(id_, state, tip, ref, Applied(id_, (tip,)), fault=error.message)

    def _line(self, id_: str, tip: str, ledger: Ledger) -> Applied:
        """The candidate's own commits, from its first to `tip`."""
        own = Ancestry(self.objects, ledger).own_line(ledger.line[-1].commit, tip)
        mine = [line for line in candidates_in(own, id_) if line.id == id_]
        return mine[-1] if mine else Applied(id_, (tip,))

    # -- what a candidate says -------------------------------------------------------------

    def candidate(self, stub: Stub) -> Candidate:
        """All of a candidate."""
        if stub.fault is not None:
            return _unreadable(self.tier, stub)
        try:
            return self._readable(stub)
        except ObjectMissingError as error:
            return _unreadable(self.tier, replace(stub, fault=error.message))

    def _readable(self, stub: Stub) -> Candidate:
        base, proposed, files, broken = self._content(stub)
        commits = [self.objects.commit(id_) for id_ in stub.line.commits]
        messages = [trailers.parse(commit.message) for commit in commits]
        added = [self._adds_evidence(commit) for commit in commits[1:]]
        further = [message.body for message in messages[1:]]
        said = [
            rationale(messages[0]),
            *(body for body, only in zip(further, added, strict=True) if not only),
        ]
        why = "\n\n".join(text for text in said if text)
        given = [source for message in messages for source in sources(message)]
        priorities = [message.first(trailers.PRIORITY) for message in messages]
        found = Candidate(
            stub.id,
            self.tier,
            stub.state,
            stub.tip,
            stub.line,
            base,
            proposed,
            why,
            tuple(_unique(given or self._written_sources(proposed))),
            next((priority for priority in reversed(priorities) if priority), None),
            messages[0].first(trailers.ACTOR) or commits[0].author.name,
            commits[0].committer.time,
            stub.ref,
            remote=stub.remote,
            broken=broken,
            decided=stub.decided,
            digest=candidates.digest(self.objects, stub.id, why, proposed, files),
            inferred=messages[0].first(trailers.EVENT) is None,
            type=self._type(proposed),
            edited=not all(added),
            more_rationale=tuple(
                body for body, only in zip(further, added, strict=True) if only and body
            ),
            files=files,
        )
        return self._with_decision(found)

    def _adds_evidence(self, commit: Commit) -> bool:
        """Whether a candidate's further commit leaves what is proposed as it is."""
        if len(commit.parents) != 1:
            return False
        above = self.objects.commit(commit.parents[0]).tree
        for path, (before, after) in self.objects.path_changes(above, commit.tree).items():
            key = entries.key_of_path(path)
            if key is None or self._fingerprint(key, before) != self._fingerprint(key, after):
                return False
        return True

    def _fingerprint(self, key: str, content: Content) -> str:
        return candidates.fingerprint_of(self.objects, key, content)

    def _with_decision(self, candidate: Candidate) -> Candidate:
        if candidate.decided is None:
            return candidate
        message = trailers.parse(self.objects.commit(candidate.decided).message)
        signature = _signature(candidate.decided, self.signed)
        candidate = replace(candidate, signer=signature.signer if signature is not None else None)
        if candidate.state in ("discarded", "superseded"):
            return replace(
                candidate,
                reason=message.body or None,
                never=message.first(trailers.NEVER) is not None,
                superseded_by=message.first(trailers.SUPERSEDED_BY),
            )
        return candidate

    def _content(
        self, stub: Stub
    ) -> tuple[str | None, tuple[Proposed, ...], dict[str, Content], str | None]:
        """A candidate's base, its entries, the other files that it changes, and why it is broken."""
        ledger, main = self.ledger(), self.main()
        if stub.state in ("applied", "reverted"):
            return self._content_when_applied(stub)
        ancestry = Ancestry(self.objects, ledger)
        own = ancestry.own_line(main, stub.tip)
        if not own:
            return main, (), {}, "it has no commit of its own: memory/main contains it"
        base = ancestry.base(main, stub.tip, own)
        proposed = tuple(
            self._proposed(item.key, item.base, item.theirs, grounded=item.grounded)
            for item in ancestry.proposals(base, stub.tip)
        )
        tree = base.view.tree if base is not None else layout.EMPTY_TREE
        files = self._other_files(tree, self.objects.commit(stub.tip).tree)
        broken = self._fault(proposed, files)
        return (base.commit if base is not None else None), proposed, files, broken

    def _content_when_applied(
        self, stub: Stub
    ) -> tuple[str | None, tuple[Proposed, ...], dict[str, Content], str | None]:
        above = self.objects.commit(stub.line.first).parents
        base = above[0] if above else None
        tree = self.objects.commit(base).tree if base is not None else layout.EMPTY_TREE
        changes = self.objects.changes(tree, self.objects.commit(stub.tip).tree)
        proposed = tuple(
            Proposed(key, before, after, self.approved_content(key), after)
            for key, (before, after) in changes.items()
        )
        return base, proposed, {}, None

    def _proposed(self, key: str, base: Content, theirs: Content, *, grounded: bool) -> Proposed:
        approved = self.approved_content(key)
        merged = merge_contents(self.objects, key, base, approved, theirs)
        if isinstance(merged, merge.Conflict):
            return Proposed(key, base, theirs, approved, None, merged.reason, grounded)
        return Proposed(key, base, theirs, approved, merged, None, grounded)

    def _other_files(self, old: str, new: str) -> dict[str, Content]:
        """The files that are no entries in which two trees differ, as the second has them."""
        return {
            path: after
            for path, (_, after) in self.objects.path_changes(old, new).items()
            if entries.key_of_path(path) is None
        }

    def _fault(self, proposed: Sequence[Proposed], files: Mapping[str, Content]) -> str | None:
        """Why a candidate can't be applied, whatever it would be merged with."""
        strange = [p for p, after in files.items() if after is not None and not is_customary(p)]
        if strange:
            return f"'{strange[0]}' is no entry"
        for item in proposed:
            try:
                self.entry(item.key, item.content)
            except entries.EntryFault as fault:
                return f"{item.id}: {fault.message}"
        return None

    def _type(self, proposed: Sequence[Proposed]) -> str | None:
        for item in proposed:
            for content in (item.content, item.base):
                try:
                    entry = self.entry(item.key, content)
                except entries.EntryFault:
                    continue
                if entry is not None:
                    return entry.type
        return None

    def _written_sources(self, proposed: Sequence[Proposed]) -> list[dict[str, Any]]:
        """The evidence in the entries themselves, for a candidate whose message has none."""
        found: list[dict[str, Any]] = []
        for item in proposed:
            try:
                entry = self.entry(item.key, item.content)
                before = self.entry(item.key, item.base)
            except entries.EntryFault:
                continue
            known = before.sources if before is not None else ()
            if entry is not None:
                found.extend(s.to_json() for s in entry.sources if s not in known)
        return found

    # -- the event log ---------------------------------------------------------------------

    def events(self) -> list[Event]:
        """The event log of this tier."""
        return [event for _, found in self.events_by_commit() for event in found]

    def events_by_commit(self) -> Iterator[tuple[str, list[Event]]]:
        """The event log of this tier, with the commit that each part of it is read from.

        Commits of the approval line that say nothing are there too.
        """
        tips = refs.listed(self.place.git_dir, layout.CANDIDATES, layout.KEPT, "refs/remotes/")
        if tips:
            self.objects.prefetch(self.objects.commits_among(set(tips.values())), [self.main()])
        lines = [
            Line(
                stub.line,
                stub.decided if stub.state in ("discarded", "superseded") else None,
                superseded=stub.state == "superseded",
            )
            for stub in self._log_stubs()
        ]
        found = by_commit(self.objects, self.ledger(), lines)
        signed = self.signed
        if signed is None:
            return found
        return (
            (commit, [_with_signer(event, signed) for event in events]) for commit, events in found
        )

    def _log_stubs(self) -> Iterator[Stub]:
        """The candidates that the approval line has not, reopened ones included."""
        ledger = self.ledger()
        heads = refs.listed(self.place.git_dir, layout.CANDIDATES, "refs/remotes/", layout.KEPT)
        for ref, tip in heads.items():
            id_ = _named(ref)
            if id_ is not None and tip not in ledger.inside and tip not in ledger.position:
                stub = self._stub(id_, "pending", tip, ref, ledger)
                if stub.fault is None:
                    yield stub
        yield from self.closed()

    # -- writing ---------------------------------------------------------------------------

    def write_candidate(
        self,
        contents: Mapping[str, bytes | None],
        message: str,
        author: Person,
        files: Mapping[str, Content] | None = None,
    ) -> str:
        """Write the first commit of a candidate and give its id; no ref moves.

        `contents` are the entries' new bytes, None deletes; `files` other files, by path.
        It stands on `memory/main`, or on what is below unreviewed content of these entries.
        """
        above = self.fork_for(contents)
        below = layout.EMPTY_TREE if above is None else self.objects.commit(above).tree
        tree = self.objects.write_tree(below, {**(files or {}), **self.written(contents)})
        return self.objects.write_commit(tree, [] if above is None else [above], message, author)

    def written(self, contents: Mapping[str, bytes | None]) -> dict[str, Content]:
        """Write the blobs of entries (by key); gives them by path, as `write_tree` wants them."""
        return {
            entries.path_of(key): None if data is None else self.objects.write_blob(data)
            for key, data in contents.items()
        }

    def open_candidate(self, id_: str, commit: str, said: str | None = None) -> None:
        """Make the branch of a new candidate, and its local anchor.

        With `said` (from `said_by`) the next look for the same need not read it.
        """
        git_dir = self.place.git_dir
        unchanged = refs.mark(git_dir, layout.CANDIDATES) == self._mark
        refs.create(git_dir, layout.candidate_ref(id_), commit)
        refs.create(git_dir, layout.kept_ref(id_), commit)
        if said is not None:
            self._note(layout.candidate_ref(id_), said, commit)
            if unchanged:
                self._mark = refs.mark(git_dir, layout.CANDIDATES)

    def write_decision(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        by: Person,
        committer: Person | None = None,
    ) -> str:
        """Write the commit of an apply, a revert, a sync or a closing; no ref moves.

        It is signed where approvals must be, with the user's own signing set-up. Raises
        RefusedError `not-an-approver`, `not-signed` and `signer-not-allowed`.
        """
        signed, settings = self.signed, trust.read(self.place.git_dir).settings
        if signed is None:
            _check_approver(settings, by.email, self.tier)
            return self.objects.write_commit(tree, parents, message, by, committer)
        commit = self.signing().write_commit(tree, parents, message, by, committer)
        found = signed.signature(commit)
        if found is None:
            raise RefusedError(
                "signer-not-allowed",
                f"the key that git signs with here is no allowed signer's of the {self.tier} memory",
                hint=f"gitmem signers list --scope {self.tier} shows whose is; to add your own: "
                f"gitmem signers add --scope {self.tier}",
            )
        _check_approver(settings, found.signer or "", self.tier)
        return commit

    def signing(self) -> Signing:
        """Where and as git signs for this tier: with the host's settings and the user's."""
        place = self.place
        host = place.host.top or place.host.common_dir if place.host is not None else None
        return Signing(place.git_dir, host or place.folder or place.git_dir)

    def write_closing(
        self, found: Candidate, message: str, person: Person
    ) -> tuple[str, list[RefChange]]:
        """Write the empty commit and the tag that end a candidate.

        Gives the commit, and the refs that have to move together: the tag comes, the branch
        and the anchor go.
        """
        tree = self.objects.commit(found.commit).tree
        closing = self.write_decision(tree, [found.commit], message, person)
        ref = layout.discarded_ref(found.id, closing)
        writer = self.objects if self.signed is None else self.signing()
        tag = writer.write_tag(ref.removeprefix("refs/tags/"), closing, person, message)
        return closing, [RefChange(ref, tag, None), *self.leaving(found)]

    def leaving(self, found: Candidate) -> list[RefChange]:
        """The refs of a candidate that go when it is decided.

        Of a remote's those only that are of its own line: another one may have its name here.
        """
        names = (layout.candidate_ref(found.id), layout.kept_ref(found.id))
        tips = ((name, refs.read(self.place.git_dir, name)) for name in names)
        return [
            RefChange(name, None, tip)
            for name, tip in tips
            if tip is not None
            and (
                found.remote is None
                or self._stub(found.id, "pending", tip, name, self.ledger()).line.first
                == found.first
            )
        ]

    def new_id(self, at: int, wanted: str | None = None) -> str:
        """A candidate id that nothing here has; `wanted`, if that is one."""
        if wanted is not None and all(stub.id != wanted for stub in self.stubs()):
            return wanted
        while True:
            id_ = ids.new_candidate_id(clock.year(at), clock.random_suffix())
            if refs.read(self.place.git_dir, layout.candidate_ref(id_)) is None:
                return id_

    # -- finding the same again ------------------------------------------------------------

    def same_pending(self, said: str) -> str | None:
        """The pending candidate whose entries say what `said` (from `said_by`) says, or None."""
        self._look_at_new()
        for ref in sorted(self._saying.get(said, ())):
            tip = refs.read(self.place.git_dir, ref)
            if tip != self._said[ref][1]:
                self._forget(ref)
                if tip is not None:
                    self._look_at(ref, tip)
            if ref in self._saying.get(said, ()):
                return ref.removeprefix(layout.CANDIDATES)
        return None

    def same_discarded(self, said: str) -> list[Candidate]:
        """The candidates that a person discarded and whose entries said what `said` says.

        At their end, or as they were proposed. What only expired is none of them.
        """
        known = (refs.mark(self.place.git_dir, layout.DISCARDED), self.approval)
        if self._refused is None or self._refused[0] != known:
            by_keys: Refused = {}
            for stub in filter(self._was_refused, self.closed()):
                for changes in self._all_changes(stub):
                    by_keys.setdefault(tuple(sorted(changes)), []).append((stub, changes))
            self._refused = (known, by_keys)
        keys = tuple(line.partition(" ")[0] for line in said.split("\n"))
        near = self._refused[1].get(keys, [])
        same = [stub for stub, changes in near if self.said_by(changes) == said]
        reopened = self._reopened(same) if same else set()
        found = dict.fromkeys(stub for stub in same if stub.decided not in reopened)
        return [self.candidate(stub) for stub in found]

    def _was_refused(self, stub: Stub) -> bool:
        if stub.state != "discarded" or stub.decided is None or stub.fault is not None:
            return False
        message = trailers.parse(self.objects.commit(stub.decided).message)
        return message.first(trailers.EXPIRED) is None

    def _all_changes(self, stub: Stub) -> list[dict[str, Content]]:
        """What a closed candidate makes of its entries, and what it made of them at first."""
        try:
            return [self._changes(tip) for tip in {stub.tip, stub.line.first}]
        except ObjectMissingError:
            return []

    def _changes(self, tip: str) -> dict[str, Content]:
        """What a candidate with this tip makes of each of its entries."""
        ancestry = Ancestry(self.objects, self.ledger())
        own = ancestry.own_line(self.main(), tip)
        base = ancestry.base(self.main(), tip, own)
        return {item.key: item.theirs for item in ancestry.proposals(base, tip)}

    def _look_at_new(self) -> None:
        mark = refs.mark(self.place.git_dir, layout.CANDIDATES)
        if mark == self._mark:
            return
        self._mark = mark
        for ref, tip in refs.listed(self.place.git_dir, layout.CANDIDATES).items():
            if ref in self._said and self._said[ref][1] != tip:
                self._forget(ref)
            if ref not in self._said:
                self._look_at(ref, tip)

    def _look_at(self, ref: str, tip: str) -> None:
        try:
            self._note(ref, self.said_by(self._changes(tip)), tip)
        except ObjectMissingError:
            # It says nothing that could be the same; `list` shows it as broken.
            self._note(ref, "", tip)

    def _note(self, ref: str, said: str, tip: str) -> None:
        self._said[ref] = (said, tip)
        self._saying.setdefault(said, set()).add(ref)

    def _forget(self, ref: str) -> None:
        said, _ = self._said.pop(ref)
        self._saying[said].discard(ref)

    def said_by(self, changes: Mapping[str, Content]) -> str:
        """What a set of entries says, evidence and dates apart, as one comparable text."""
        return "\n".join(
            f"{key} {candidates.fingerprint_of(self.objects, key, content)}"
            for key, content in sorted(changes.items())
        )


def _named(ref: str) -> str | None:
    """The id of the candidate that a branch, here or at a remote, or an anchor is of."""
    id_ = ref.removeprefix(layout.KEPT)
    if id_ == ref:
        id_ = ref.partition("/memory/candidate/")[2]
    return id_ if ids.is_candidate_id(id_) else None


def _signature(decided: str, signed: Signed | None) -> Signature | None:
    """The signature that a decision needed; None where it needed none."""
    if signed is None or signed.is_exempt(decided):
        return None
    return signed.signature(decided)


def _with_signer(event: Event, signed: Signed) -> Event:
    """A decision with who signed it; None for both where none had to."""
    if event.kind not in DECISIONS:
        return event
    found = _signature(event.commit, signed)
    told = {"signer": found and found.signer, "signingKey": found and found.key}
    return replace(event, details={**event.details, **told})


def _check_approver(settings: trust.Settings, who: str, tier: str) -> None:
    if not settings.approvers or who in settings.approvers:
        return
    raise RefusedError(
        "not-an-approver",
        f"'{who}' is none of those who decide about the {tier} memory",
        context=f"they are: {', '.join(settings.approvers)}",
        hint="ask one of them, or: gitmem config approvers",
    )


def closed_by(ref: str) -> str:
    """The id of the candidate that a tag with this name would close."""
    return ref.removeprefix(layout.DISCARDED).rpartition(".")[0]


def closing_of(objects: Objects, ledger: Ledger, ref: str, id_: str) -> Commit | None:
    """The closing commit to which the tag object `id_` points under the name `ref`, if it is valid.

    It is annotated, its suffix fits, and it points to an empty commit on top of a candidate's
    line. Raises BadInputError `object-missing`.
    """
    tag, suffix = objects.tag(id_), ref.rpartition(".")[2]
    if tag is None or not ids.is_candidate_id(closed_by(ref)) or len(suffix) != 8:
        return None
    if not tag[0].startswith(suffix) or objects.kind(tag[0]) != "commit":
        return None
    closing = objects.commit(tag[0])
    if len(closing.parents) != 1:
        return None
    tip = closing.parents[0]
    empty = objects.commit(tip).tree == closing.tree
    return closing if empty and tip not in ledger.position else None


def _unreadable(tier: str, stub: Stub) -> Candidate:
    """What can be said of a candidate of which an object is missing."""
    return Candidate(
        stub.id,
        tier,
        stub.state,
        stub.tip,
        stub.line,
        None,
        (),
        "",
        (),
        None,
        "unknown",
        0,
        stub.ref,
        remote=stub.remote,
        broken=stub.fault,
        decided=stub.decided,
        inferred=True,
    )


def _unique(found: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    seen: list[Mapping[str, Any]] = []
    for source in found:
        if source not in seen:
            seen.append(source)
            yield source


__all__ = ["Commit", "Store", "Stub", "is_customary"]
