"""A person at work on the queue: one candidate a screen, one key a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gitmem import adoption, differences, review
from gitmem.cli import common, editing, problems, render
from gitmem.cli.lines import Span, painted, quoted
from gitmem.cli.terminal import END, REDRAW, Terminal
from gitmem.cli.viewing import View, Viewer
from gitmem.errors import ConflictError, GitmemError
from gitmem.model.entries import EntryFault, parse

if TYPE_CHECKING:
    from gitmem.memory import Decision, Memory
    from gitmem.model.candidates import Proposed
    from gitmem.model.history import Person
    from gitmem.review import Item, Name, Neighbour, Queue


class Then(Enum):
    """What comes after a key."""

    SHOW = auto()
    """The first candidate that is left, as it is now."""
    ASK = auto()
    """The same question, below what was printed."""
    NEXT = auto()
    """The candidate after this one."""
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


class _Back(Exception):  # noqa: N818 - nothing is wrong
    """The person thought better of it."""


class Reviewer:
    """Shows one candidate after the other, and carries out each decision at once.

    Whatever ends it, an interrupt or a closed terminal included, the decisions so far are made and
    no other is.
    """

    def __init__(
        self, memory: Memory, queue: Callable[[], Queue], by: Person, terminal: Terminal
    ) -> None:
        """`queue` gives what waits now, in the order of review."""
        self.memory = memory
        self.by = by
        self.terminal = terminal
        self._queue = queue
        found = queue()
        self._left = list(found.items)
        self._done = found.done
        self._viewer = Viewer(memory, self._left, terminal)
        self._passed: set[Name] = set()
        self._undoable: list[tuple[Item, Decision, str]] = []
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
        waiting = render.counted(len(self._queue().items), "candidate")
        self.terminal.show(f"{self._decided()}; {waiting} to decide")

    def _more(self) -> bool:
        """Whether anything is left, be it what came up since the queue was read."""
        if not self._left:
            self._left = [item for item in self._queue().items if item.name not in self._passed]
        return bool(self._left)

    def _one(self) -> Then:
        """Show the first candidate that is left and do what is wanted with it."""
        name = self._left[0].name
        then = Then.ASK if self._look() else self.later()
        while then is Then.ASK:
            then = self._act(self.terminal.key(self._question()))
        if then is Then.NEXT:
            self._leave(name)
        return then

    def _leave(self, name: Name) -> None:
        self._left = [item for item in self._left if item.name != name]

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
        if pressed.isdigit() and 0 < int(pressed) <= len(self._view.sheet.rivals):
            return self._prefer(self._view.sheet.rivals[int(pressed) - 1][0].id)
        self._viewer.say("That key decides nothing; ? lists those that are there.")
        return Then.ASK

    def _failed(self, error: GitmemError) -> Then:
        if error.reference == "stale":
            self._viewer.say("It has changed while you were reading. This is what it is now:")
        else:
            self.terminal.show(problems.text(error))
        return Then.SHOW

    # -- what is shown -----------------------------------------------------------------------

    def _look(self) -> bool:
        """Show the first candidate that is left; False where it waits no more."""
        item = self._viewer.read(self._left[0])
        if item is None:
            return False
        self._view = self._viewer.view(item)
        self._viewer.show_page(self._view, 0, self._title(0))
        return True

    def _title(self, at: int) -> str:
        view = self._view
        parts = [f"{len(self._left)} to go", view.found.id]
        if view.item.batch is not None:
            parts.append(f"{self._in_batch()} of {view.item.batch}")
        if len(view.pages) > 1:
            parts.append(f"entry {at} of {len(view.pages) - 1}" if at else "its entries")
        return " -- ".join(parts)

    def _in_batch(self) -> int:
        """How many of this batch are left, this one included."""
        return sum(item.batch == self._view.item.batch for item in self._left)

    def _question(self) -> str:
        names = [key.name for key in KEYS if key.fits(self)]
        names += [str(number) for number in range(1, len(self._view.sheet.rivals) + 1)]
        asked = "apply it?" if self.can_apply else "what now?"
        shown = (Span(f"{asked} [{','.join(names)}]", "note"),)
        return f"{painted(shown, coloured=self.terminal.coloured)} "

    def _decided(self) -> str:
        made = [f"{count} {verb}" for verb, count in self._counts.items() if count]
        return ", ".join(made) or "nothing decided"

    # -- deciding ----------------------------------------------------------------------------

    def _decide(self, item: Item, verb: str, decision: Callable[[], Decision]) -> Then:
        """Carry out a decision to its end, whatever is pressed meanwhile."""
        tier, _ = item.name
        rivals = [(tier, rival) for rival in item.rivals]
        with self.terminal.undisturbed():
            made = decision()
            self._undoable.append((item, made, verb))
            self._counts[verb] += 1
            done = review.close_done(self.memory, [*self._done, *rivals], by=self.by)
            self._done = ()
        self._viewer.say(f"{verb} {item.found.id}")
        for id_ in done:
            self._viewer.say(f"{id_} says what is approved now: closed as superseded")
        common.tell_left(made)
        self._viewer.decided(item.found, applied=verb == "applied")
        return Then.NEXT

    def apply(self) -> Then:
        """Approve what was shown, no more and no less."""
        view = self._view
        if view.unseen and not self._shown_whole(view):
            return Then.ASK
        return self._decide(view.item, "applied", partial(self._applied, view.item))

    def _applied(self, item: Item) -> Decision:
        tier, id_ = item.name
        return self.memory.apply(id_, by=self.by, expect=item.found.digest, scope=tier)

    def _shown_whole(self, view: View) -> bool:
        """Show the pages that nobody has looked at yet; whether it is still to be applied."""
        rows = [row for at in view.unseen for row in view.pages[at].rows]
        self._viewer.show(rows, long=True)
        view.seen.update(view.unseen)
        entries = render.counted(len(view.sheet.changes), "entry")
        return self._confirmed(f"these are all of its {entries}: apply them?")

    def _confirmed(self, question: str) -> bool:
        return self.terminal.key(f"{question} [y,n] ") == "y"

    def discard(self) -> Then:
        """Close it, with a reason or without; a reason that begins with ! is for good."""
        item = self._view.item
        tier, id_ = item.name
        reason = self.terminal.line(
            "why not? (Enter: no reason; ! in front: never again; Ctrl-D: back) "
        )
        if reason is None:
            return Then.ASK
        never = reason.startswith("!")
        return self._decide(
            item,
            "discarded",
            lambda: self.memory.discard(
                id_,
                by=self.by,
                reason=reason.removeprefix("!").strip(),
                never=never,
                expect=item.found.digest,
                scope=tier,
            ),
        )

    def undo(self) -> Then:
        """Take back the last decision and show its candidate again."""
        item, made, verb = self._undoable[-1]
        tier, id_ = item.name
        with self.terminal.undisturbed():
            if verb == "applied":
                self.memory.revert(made.commit, by=self.by, reason="undone", scope=tier)
            adoption.reopen(self.memory, id_, by=self.by, scope=tier)
            self._undoable.pop()
            self._counts[verb] -= 1
            self._left.insert(0, item)
        self._viewer.say(f"{id_} waits again")
        return Then.SHOW

    def later(self) -> Then:
        """Leave the first candidate that is left for another time."""
        self._passed.add(self._left[0].name)
        return Then.NEXT

    def apply_batch(self) -> Then:
        """Show the rest of this batch in full, ask, and apply exactly what was shown."""
        batch = [item for item in self._left if item.batch == self._view.item.batch]
        shown = [
            item
            for old in batch
            if (item := self._viewer.read(old)) is not None and not item.found.conflicts
        ]
        rows = [row for item in shown for row in self._viewer.whole(item)]
        self._viewer.show(rows, long=not self._viewer.fits(rows))
        if self._confirmed(f"apply these {render.counted(len(shown), 'candidate')}?"):
            for item in shown:
                self._decide(item, "applied", partial(self._applied, item))
                self._leave(item.name)
        return Then.SHOW

    # -- changing ----------------------------------------------------------------------------

    def edit(self) -> Then:
        """Change it in the editor, or settle its conflicts there, and show it again."""
        view = self._view
        if view.found.conflicts:
            conflicts = self.memory.unsettled(view.found.id, scope=view.found.tier)
            whole = editing.without_markers
            settled = {one.key: self._edited(one.key, one.text, whole=whole) for one in conflicts}
            return self._saved(settled, self.memory.settle)
        chosen = view.found.entries[view.at - 1 :][:1] if view.at else view.found.entries
        texts = {one.key: self._edited(one.key, self._text(one)) for one in chosen}
        return self._saved(texts, self.memory.edit)

    def _saved(self, texts: Mapping[str, bytes | None], save: Callable[..., str]) -> Then:
        """Save what was edited, unless the candidate changed meanwhile: then both are shown."""
        tier, id_ = self._view.item.name
        try:
            with self.terminal.undisturbed():
                save(id_, texts, by=self.by, expect=self._view.found.digest, scope=tier)
        except ConflictError as error:
            if error.reference != "stale":
                raise
            self._viewer.say("It has changed while you were writing, and this is not saved:")
            for text in filter(None, texts.values()):
                self._viewer.show(quoted(text.decode("utf-8", "replace")))
        return Then.SHOW

    def _text(self, proposed: Proposed) -> str:
        """What an entry's file is to be, or what it is where it is to go."""
        content = proposed.content if proposed.content is not None else proposed.base
        return self.memory.store(self._view.found.tier).text(content) or ""

    def _edited(
        self, key: str, text: str, whole: Callable[[str, bytes], bytes] = lambda _key, data: data
    ) -> bytes | None:
        """What a person makes of a text, None where they empty it; nothing typed is lost by a slip.

        `whole` raises where it is not finished. Raises _Back where they give up.
        """
        while True:
            data = editing.edited(self.memory, key, text)
            if data is None:
                return None
            try:
                parse(key, whole(key, data), tier=self._view.found.tier)
            except (EntryFault, ConflictError) as error:
                self.terminal.show(problems.text(error))
                if not self._confirmed("edit it again?"):
                    raise _Back from error
                text = data.decode("utf-8", "replace")
            else:
                return data

    def split(self) -> Then:
        """Walk through its entries and say which stay; the others become a candidate of their own."""
        view = self._view
        tier, id_ = view.item.name
        kept = []
        for number, one in enumerate(view.found.entries):
            if len(view.pages) > 1:
                self._viewer.show_page(view, number + 1, self._title(number + 1))
            pressed = self.terminal.key(f"keep {one.id} in it? [y,n,q] ")
            if pressed not in ("y", "n"):
                raise _Back
            kept += [one.key] if pressed == "y" else []
        with self.terminal.undisturbed():
            rest = review.split(self.memory, id_, kept, by=self.by, scope=tier)
        found = self.memory.candidate(rest, scope=tier)
        self._left.insert(1, review.Item(found, view.item.risks))
        self._viewer.say(f"{rest} has the other {render.counted(len(found.entries), 'entry')}")
        return Then.SHOW

    def join(self) -> Then:
        """Put its text into a neighbour, in the editor, and show what comes of it."""
        view = self._view
        chosen = self._chosen(view.neighbours)
        key = view.found.entries[0].key
        text = review.joined_text(self.memory, view.found, key, chosen)
        data = self._edited(chosen.key, text)
        with self.terminal.undisturbed():
            id_ = review.join(self.memory, view.found, key, chosen, data, by=self.by)
        if id_ == view.found.id:
            return Then.SHOW
        self._viewer.say(f"{id_} has it now; {view.found.id} is closed as superseded")
        self._leave(view.item.name)
        return self._prefer(id_)

    def _chosen(self, neighbours: Sequence[Neighbour]) -> Neighbour:
        """The neighbour that a person means. Raises _Back where they mean none."""
        if len(neighbours) == 1:
            return neighbours[0]
        numbers = ",".join(str(number) for number in range(1, len(neighbours) + 1))
        pressed = self.terminal.key(f"into which neighbour? [{numbers}] ")
        if not pressed.isdigit() or not 0 < int(pressed) <= len(neighbours):
            raise _Back
        return neighbours[int(pressed) - 1]

    # -- looking around ----------------------------------------------------------------------

    def everything(self) -> Then:
        """All that there is to say, in the pager."""
        self._viewer.show(self._viewer.whole(self._view.item), long=True)
        self._view.seen.update(self._view.unseen)
        return Then.ASK

    def next_entry(self) -> Then:
        """The page of the next entry."""
        return self._turn_to(self._view.at + 1)

    def previous_entry(self) -> Then:
        """The page before."""
        return self._turn_to(self._view.at - 1)

    def _turn_to(self, at: int) -> Then:
        self._viewer.show_page(self._view, at, self._title(at))
        return Then.ASK

    def transcript(self) -> Then:
        """The evidence where it was said, from the tools' own transcripts."""
        rows = list(self._viewer.said_around(self._view.found))
        self._viewer.show(rows or quoted("it names no evidence", "note"), long=True)
        return Then.ASK

    def search(self) -> Then:
        """Go to the next candidate that says what is looked for; with nothing typed, once more."""
        typed = self.terminal.line("look for (Enter: as before): ")
        self._sought = typed or self._sought
        if not self._sought or typed is None:
            return Then.ASK
        for old in [*self._left[1:], self._left[0]]:
            item = self._viewer.read(old)
            if item is not None and differences.says(self.memory, item.found, self._sought):
                return self._prefer(item.found.id)
        self._viewer.say(f"none of those left says '{self._sought}'")
        return Then.ASK

    def _prefer(self, id_: str) -> Then:
        """Have a candidate that is left come first."""
        self._left.sort(key=lambda item: item.found.id != id_)
        return Then.SHOW

    def help(self) -> Then:
        """What the keys do."""
        for key in KEYS:
            if key.fits(self):
                self.terminal.show(f"{key.name:6} {key.purpose}")
        if self._view.sheet.rivals:
            self.terminal.show("1…     go to that other candidate for the same entry")
        return Then.ASK

    # -- when a key is there -----------------------------------------------------------------

    @property
    def can_apply(self) -> bool:
        """Whether what is shown can be applied as it is."""
        return self._view.found.broken is None and not self._view.found.conflicts

    @property
    def can_split(self) -> bool:
        """Whether it has entries that could be decided about one by one."""
        return len(self._view.found.entries) > 1

    @property
    def can_join(self) -> bool:
        """Whether it is a new entry that has neighbours."""
        changes = self._view.sheet.changes
        return bool(self._view.neighbours) and changes[0].verb == "new"

    @property
    def can_undo(self) -> bool:
        """Whether something was decided."""
        return bool(self._undoable)

    @property
    def has_batch(self) -> bool:
        """Whether what comes next belongs to the same batch."""
        return self._view.item.batch is not None and self._in_batch() > 1

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
    Key("s", "split it: some entries stay, the rest waits", lambda r: r.can_split, Reviewer.split),
    Key("e", "edit it, or settle its conflict, and show it again", _always, Reviewer.edit),
    Key("m", "merge its text into a neighbour", lambda r: r.can_join, Reviewer.join),
    Key("v", "show the evidence where it was said", _always, Reviewer.transcript),
    Key("u", "undo the last decision", lambda r: r.can_undo, Reviewer.undo),
    Key(
        "a",
        "apply the rest of this batch, shown in full first",
        lambda r: r.has_batch,
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
