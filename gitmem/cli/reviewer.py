"""A person at work on the queue: one candidate a screen, one key a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gitmem import adoption, clock, differences, transcripts
from gitmem.cli import common, editing, problems, render, screen
from gitmem.cli.lines import Line, Span, one_line, painted, quoted
from gitmem.cli.screen import Page, Sheet
from gitmem.cli.terminal import END, REDRAW, Terminal
from gitmem.errors import ConflictError, GitmemError
from gitmem.model.entries import EntryFault, parse

if TYPE_CHECKING:
    from gitmem.memory import Decision, Memory
    from gitmem.model.candidates import Candidate, Proposed
    from gitmem.model.history import Person

# The title above a page, the line below it, and the question.
_FRAME_ROWS = 3


class Turn(NamedTuple):
    """A candidate whose turn comes, and what its place in the queue says about it."""

    tier: str
    id: str
    batch: str | None = None
    flags: tuple[str, ...] = ()


class Then(Enum):
    """What comes after a key."""

    SHOW = auto()
    """The candidate, or another one, as it is now."""
    ASK = auto()
    """The same question, below what was printed."""
    NEXT = auto()
    """The next candidate."""
    QUIT = auto()


class Key(NamedTuple):
    """A key: what it is for, when it is there, and what it does."""

    char: str
    purpose: str
    fits: Callable[[Reviewer], bool]
    act: Callable[[Reviewer], Then]

    @property
    def name(self) -> str:
        """The key as it is written."""
        return "space" if self.char == " " else self.char


@dataclass
class View:
    """The candidate on the screen: its pages, and which of them were shown."""

    turn: Turn
    found: Candidate
    sheet: Sheet
    pages: Sequence[Page]
    at: int = 0
    seen: set[int] = field(default_factory=set)


class _Back(Exception):  # noqa: N818 - nothing is wrong
    """The person thought better of it."""


class Reviewer:
    """Shows one candidate after the other, and carries out each decision at once.

    Whatever ends it, an interrupt or a closed terminal included, the decisions so far are made and
    no other is.
    """

    def __init__(
        self, memory: Memory, turns: Callable[[], list[Turn]], by: Person, terminal: Terminal
    ) -> None:
        """`turns` gives the queue as it is now, in its order."""
        self.memory = memory
        self.by = by
        self.terminal = terminal
        self._turns = turns
        self._left = turns()
        self._passed: set[tuple[str, str]] = set()
        self._undoable: list[tuple[Turn, Decision, str]] = []
        self._counts: Counter[str] = Counter()
        self._sought = ""
        self._view: View

    @property
    def waiting(self) -> bool:
        """Whether there is anything to review."""
        return bool(self._left)

    # -- the loop ----------------------------------------------------------------------------

    def run(self) -> None:
        """Go through the queue until it is empty or the person has enough."""
        then = Then.SHOW
        try:
            while then is not Then.QUIT and self._more():
                then = self._one()
        except KeyboardInterrupt:
            self.terminal.show(f"\n{self._decided()}")
            raise
        waiting = render.counted(len(self._turns()), "candidate")
        self.terminal.show(f"{self._decided()}; {waiting} to decide")

    def _more(self) -> bool:
        """Whether there is another turn, be it one that came up since the queue was read."""
        if not self._left:
            self._left = [turn for turn in self._turns() if turn[:2] not in self._passed]
        return bool(self._left)

    def _one(self) -> Then:
        """Show the first candidate that is left and do what is wanted with it."""
        turn = self._left[0]
        then = Then.ASK if self._look(turn) else self.later(turn)
        while then is Then.ASK:
            then = self._act(self.terminal.key(self._question()))
        if then is Then.NEXT:
            self._left.remove(turn)
        return then

    def _act(self, pressed: str) -> Then:
        """What a key does. What goes wrong is told, and the candidate is shown as it is now."""
        if pressed == END:
            return Then.QUIT
        if pressed == REDRAW:
            return Then.SHOW
        for key in KEYS:
            if key.char == pressed and key.fits(self):
                try:
                    return key.act(self)
                except _Back:
                    return Then.ASK
                except GitmemError as error:
                    return self._failed(error)
        self._say("That key decides nothing; ? lists those that are there.")
        return Then.ASK

    def _failed(self, error: GitmemError) -> Then:
        if error.reference == "stale":
            self._say("It has changed while you were reading. This is what it is now:")
        else:
            self.terminal.show(problems.text(error))
        return Then.SHOW

    # -- what is shown -----------------------------------------------------------------------

    def _look(self, turn: Turn) -> bool:
        """Show a candidate as it is now; False where it waits no more."""
        found = self.memory.find_candidate(turn.id, scope=turn.tier)
        if found is None or found.id != turn.id or found.state != "pending":
            return False
        columns, rows = self.terminal.size
        coloured = self.terminal.coloured
        sheet = self._sheet(turn, found)
        pages = screen.pages(sheet, columns, rows - _FRAME_ROWS, coloured=coloured)
        self._view = View(turn, found, sheet, pages)
        self._show_page(0)
        return True

    def _sheet(self, turn: Turn, found: Candidate) -> Sheet:
        filtered = None
        if self.terminal.coloured and self.memory.diff_filter:
            plain = differences.difference(self.memory, found)
            filtered = self.memory.filter_diff(render.difference(plain))
        return Sheet(
            found,
            differences.changes(self.memory, found),
            clock.now(),
            turn.flags,
            difference=filtered,
        )

    def _show_page(self, at: int) -> None:
        """Put a page on the screen, or in the pager where it is too long."""
        view = self._view
        view.at = at
        page = view.pages[at]
        self._print([self._title(), *page.rows], long=page.long)
        if page.long and self.terminal.paged:
            self._print([self._title(), *page.rows[:1]])
        view.seen.add(at)

    def _title(self) -> Line:
        view = self._view
        parts = [f"{len(self._left)} to go", one_line(view.turn.id)]
        if len(view.pages) > 1:
            parts.append(f"entry {view.at} of {len(view.pages) - 1}" if view.at else "its entries")
        return screen.title(" -- ".join(parts), view.sheet.flags, self.terminal.size[0])

    def _print(self, rows: Sequence[Line], *, long: bool = False) -> None:
        text = "\n".join(painted(row, coloured=self.terminal.coloured) for row in rows)
        if long and self.terminal.paged:
            self.memory.run_pager(f"{text}\n")
        else:
            self.terminal.show(text)

    def _say(self, text: str) -> None:
        self.terminal.show(
            painted((Span(one_line(text), "note"),), coloured=self.terminal.coloured)
        )

    def _question(self) -> str:
        names = ",".join(key.name for key in KEYS if key.fits(self))
        asked = "apply it?" if self.can_apply else "what now?"
        return f"{painted((Span(f'{asked} [{names}]', 'note'),), coloured=self.terminal.coloured)} "

    def _decided(self) -> str:
        made = [f"{count} {verb}" for verb, count in self._counts.items() if count]
        return ", ".join(made) or "nothing decided"

    # -- deciding ----------------------------------------------------------------------------

    def _decide(self, turn: Turn, verb: str, decision: Callable[[], Decision]) -> Then:
        """Carry out a decision to its end, whatever is pressed meanwhile."""
        with self.terminal.undisturbed():
            made = decision()
            self._undoable.append((turn, made, verb))
            self._counts[verb] += 1
        self._say(f"{verb} {turn.id}")
        common.tell_left(made)
        return Then.NEXT

    def apply(self) -> Then:
        """Approve what was shown, no more and no less."""
        view = self._view
        if len(view.seen) < len(view.pages) and not self._shown_whole():
            return Then.ASK
        return self._decide(view.turn, "applied", partial(self._applied, view.turn, view.found))

    def _applied(self, turn: Turn, found: Candidate) -> Decision:
        return self.memory.apply(turn.id, by=self.by, expect=found.digest, scope=turn.tier)

    def _shown_whole(self) -> bool:
        """Show the pages that nobody has looked at yet; whether it is still to be applied."""
        view = self._view
        unseen = [at for at in range(len(view.pages)) if at not in view.seen]
        self._print([row for at in unseen for row in view.pages[at].rows], long=True)
        view.seen.update(unseen)
        entries = render.counted(len(view.sheet.changes), "entry")
        return self.terminal.key(f"these are all of its {entries}: apply them? [y,n] ") == "y"

    def discard(self) -> Then:
        """Close it, with a reason or without; a reason that begins with ! is for good."""
        view = self._view
        asked = "why not? (Enter: no reason; ! in front: never again; Ctrl-D: back) "
        reason = self.terminal.line(asked)
        if reason is None:
            return Then.ASK
        never = reason.startswith("!")
        return self._decide(
            view.turn,
            "discarded",
            lambda: self.memory.discard(
                view.turn.id,
                by=self.by,
                reason=reason.removeprefix("!").strip(),
                never=never,
                expect=view.found.digest,
                scope=view.turn.tier,
            ),
        )

    def undo(self) -> Then:
        """Take back the last decision and show its candidate again."""
        turn, made, verb = self._undoable[-1]
        with self.terminal.undisturbed():
            if verb == "applied":
                self.memory.revert(made.commit, by=self.by, reason="undone", scope=turn.tier)
            adoption.reopen(self.memory, turn.id, by=self.by, scope=turn.tier)
            self._undoable.pop()
            self._counts[verb] -= 1
            self._left.insert(0, turn)
        self._say(f"{turn.id} waits again")
        return Then.SHOW

    def later(self, turn: Turn | None = None) -> Then:
        """Leave what is on the screen, or `turn`, for another time."""
        self._passed.add((turn or self._view.turn)[:2])
        return Then.NEXT

    def apply_batch(self) -> Then:
        """Show the rest of this batch in full, ask, and apply exactly what was shown."""
        batch = self._view.turn.batch
        shown = [
            (turn, found)
            for turn in self._left
            if turn.batch == batch
            and (found := self.memory.find_candidate(turn.id, scope=turn.tier)) is not None
            and found.state == "pending"
            and not found.conflicts
        ]
        rows = [row for turn, found in shown for row in self._in_full(turn, found)]
        self._print(rows, long=len(rows) > self.terminal.size[1] - _FRAME_ROWS)
        count = render.counted(len(shown), "candidate")
        if self.terminal.key(f"apply these {count}? [y,n] ") == "y":
            for turn, found in shown:
                self._decide(turn, "applied", partial(self._applied, turn, found))
                self._left.remove(turn)
        return Then.SHOW

    def _in_full(self, turn: Turn, found: Candidate) -> list[Line]:
        columns = self.terminal.size[0]
        parts = screen.sections(self._sheet(turn, found), columns, coloured=self.terminal.coloured)
        return [screen.title(turn.id, turn.flags, columns), *screen.whole(parts)]

    # -- editing -----------------------------------------------------------------------------

    def edit(self) -> Then:
        """Change it in the editor, or settle its conflicts there, and show it again."""
        view = self._view
        tier, id_ = view.turn.tier, view.turn.id
        if view.found.conflicts:
            settled = {
                item.key: self._edited(item.key, item.text, whole=editing.without_markers)
                for item in self.memory.unsettled(id_, scope=tier)
            }
            with self.terminal.undisturbed():
                self.memory.settle(id_, settled, by=self.by, scope=tier)
            return Then.SHOW
        chosen = view.found.entries[view.at - 1 :][:1] if view.at else view.found.entries
        texts = {item.key: self._edited(item.key, self._text(item)) for item in chosen}
        with self.terminal.undisturbed():
            self.memory.edit(id_, texts, by=self.by, scope=tier)
        return Then.SHOW

    def _text(self, item: Proposed) -> str:
        """What an entry's file is to be, or what it is where it is to go."""
        content = item.content if item.content is not None else item.base
        return self.memory.store(self._view.turn.tier).text(content) or ""

    def _edited(
        self, key: str, text: str, whole: Callable[[str, bytes], bytes] = lambda _key, data: data
    ) -> bytes | None:
        """What a person makes of a text, None where they empty it; nothing typed is lost by a mistake.

        `whole` raises where it is not finished. Raises _Back where they give up.
        """
        while True:
            data = editing.edited(self.memory, key, text)
            if data is None:
                return None
            try:
                parse(key, whole(key, data), tier=self._view.turn.tier)
            except (EntryFault, ConflictError) as error:
                self.terminal.show(problems.text(error))
                if self.terminal.key("edit it again? [y,n] ") != "y":
                    raise _Back from error
                text = data.decode("utf-8", "replace")
            else:
                return data

    # -- looking around ----------------------------------------------------------------------

    def everything(self) -> Then:
        """All that there is to say, in the pager."""
        view = self._view
        parts = screen.sections(view.sheet, self.terminal.size[0], coloured=self.terminal.coloured)
        self._print([self._title(), *screen.whole(parts)], long=True)
        view.seen.update(range(len(view.pages)))
        return Then.ASK

    def next_entry(self) -> Then:
        """The page of the next entry."""
        self._show_page(self._view.at + 1)
        return Then.ASK

    def previous_entry(self) -> Then:
        """The page before."""
        self._show_page(self._view.at - 1)
        return Then.ASK

    def transcript(self) -> Then:
        """The evidence where it was said, from the tools' own transcripts."""
        columns = self.terminal.size[0]
        rows = [
            row
            for source in self._view.found.sources
            for row in screen.transcript(source, transcripts.find(source), columns)
        ]
        self._print(rows or quoted("it names no evidence", "note"), long=True)
        return Then.ASK

    def search(self) -> Then:
        """Go to the next candidate that says what is looked for; with nothing typed, once more."""
        typed = self.terminal.line("look for (Enter: as before): ")
        self._sought = typed or self._sought
        if not typed and not self._sought:
            return Then.ASK
        for turn in [*self._left[1:], self._left[0]]:
            found = self.memory.find_candidate(turn.id, scope=turn.tier)
            if found is not None and differences.says(self.memory, found, self._sought):
                self._left.remove(turn)
                self._left.insert(0, turn)
                return Then.SHOW
        self._say(f"none of those left says '{self._sought}'")
        return Then.ASK

    def help(self) -> Then:
        """What the keys do."""
        for key in KEYS:
            if key.fits(self):
                self.terminal.show(f"{key.name:6} {key.purpose}")
        return Then.ASK

    # -- when a key is there -----------------------------------------------------------------

    @property
    def can_apply(self) -> bool:
        """Whether what is shown can be applied as it is."""
        return self._view.found.broken is None and not self._view.found.conflicts

    @property
    def can_undo(self) -> bool:
        """Whether something was decided."""
        return bool(self._undoable)

    @property
    def in_batch(self) -> bool:
        """Whether what comes next belongs to the same batch."""
        batch = self._view.turn.batch
        return batch is not None and sum(turn.batch == batch for turn in self._left) > 1

    @property
    def has_next_entry(self) -> bool:
        """Whether there is a page behind this one."""
        return self._view.at + 1 < len(self._view.pages)

    @property
    def has_previous_entry(self) -> bool:
        """Whether there is a page before this one."""
        return self._view.at > 0


def _always(_reviewer: Reviewer) -> bool:
    return True


KEYS = (
    Key("y", "apply it: merge it into memory", lambda r: r.can_apply, Reviewer.apply),
    Key("n", "discard it, with a reason or without", _always, Reviewer.discard),
    Key("e", "edit it, or settle its conflict, and show it again", _always, Reviewer.edit),
    Key("v", "show the evidence where it was said", _always, Reviewer.transcript),
    Key("u", "undo the last decision", lambda r: r.can_undo, Reviewer.undo),
    Key(
        "a",
        "apply the rest of this batch, shown in full first",
        lambda r: r.in_batch,
        Reviewer.apply_batch,
    ),
    Key("j", "its next entry", lambda r: r.has_next_entry, Reviewer.next_entry),
    Key("k", "its previous entry", lambda r: r.has_previous_entry, Reviewer.previous_entry),
    Key("p", "show all of it in the pager", _always, Reviewer.everything),
    Key(" ", "leave it for another time", _always, Reviewer.later),
    Key("/", "look for a candidate", _always, Reviewer.search),
    Key("q", "stop; what is decided stays decided", _always, lambda _: Then.QUIT),
    Key("?", "show this list", _always, Reviewer.help),
)
