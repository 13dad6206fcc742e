"""What a reviewer has before them: a candidate of the queue, read now, on the pages of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from gitmem import clock, differences, ids, review, transcripts
from gitmem.cli import render, screen
from gitmem.cli.lines import Line, Span, one_line, painted
from gitmem.cli.screen import Page, Sheet
from gitmem.cli.terminal import Terminal
from gitmem.errors import BadInputError
from gitmem.memory import Memory
from gitmem.model.candidates import Candidate
from gitmem.review import Item, Neighbour, Neighbourhood

# The title above a page, the line below it, and the question.
_FRAME_ROWS = 3


@dataclass
class View:
    """A candidate on the screen: its pages, and which of them were shown."""

    item: Item
    sheet: Sheet
    pages: Sequence[Page]
    neighbours: Sequence[Neighbour]
    at: int = 0
    seen: set[int] = field(default_factory=set)

    @property
    def found(self) -> Candidate:
        """The candidate as it was read for this view."""
        return self.item.found

    @property
    def unseen(self) -> list[int]:
        """The pages that nobody has looked at yet."""
        return [at for at in range(len(self.pages)) if at not in self.seen]


class Viewer:
    """Reads candidates anew and shows them."""

    def __init__(self, memory: Memory, items: Sequence[Item], terminal: Terminal) -> None:
        """`items` are the queue, among which neighbours are looked for."""
        self.memory = memory
        self.terminal = terminal
        self._items = items

    @cached_property
    def neighbourhood(self) -> Neighbourhood | None:
        """What near texts are looked for in; None where the library for that is not installed."""
        try:
            return Neighbourhood(self.memory, self._items)
        except BadInputError:
            return None

    def read(self, item: Item) -> Item | None:
        """An item of the queue with its candidate as it is now; None where it waits no more."""
        tier, id_ = item.name
        found = self.memory.find_candidate(id_, scope=tier)
        if found is None or found.id != id_ or found.state != "pending":
            return None
        return replace(item, found=found)

    def view(self, item: Item) -> View:
        """The pages of a candidate that was read just now."""
        columns, rows = self.terminal.size
        neighbours = self._neighbours(item.found)
        sheet = self._sheet(item, neighbours)
        pages = screen.pages(sheet, columns, rows - _FRAME_ROWS, coloured=self.terminal.coloured)
        return View(item, sheet, pages, neighbours)

    def _sheet(self, item: Item, neighbours: Sequence[Neighbour]) -> Sheet:
        found, memory = item.found, self.memory
        filtered = None
        if self.terminal.coloured and memory.diff_filter:
            plain = differences.difference(memory, found)
            filtered = memory.filter_diff(render.difference(plain))
        rivals = [rival for id_ in item.rivals if (rival := self._rival(found, id_)) is not None]
        return Sheet(
            found,
            differences.changes(memory, found),
            clock.now(),
            item.risks,
            tuple((rival, differences.changes(memory, rival)) for rival in rivals),
            tuple(_named(number, one) for number, one in enumerate(neighbours, 1)),
            filtered,
        )

    def _rival(self, found: Candidate, id_: str) -> Candidate | None:
        rival = self.memory.find_candidate(id_, scope=found.tier)
        return rival if rival is not None and rival.state == "pending" else None

    def _neighbours(self, found: Candidate) -> list[Neighbour]:
        """What is near to the text of a candidate that has one."""
        if self.neighbourhood is None or len(found.entries) != 1:
            return []
        (item,) = found.entries
        body = review.body(self.memory, found, item)
        return [] if body is None else self.neighbourhood.near(found, item.key, body)

    def decided(self, found: Candidate, *, applied: bool) -> None:
        """Note that a candidate waits no more."""
        if self.neighbourhood is not None:
            self.neighbourhood.decided(found, applied=applied)

    # -- on the terminal ---------------------------------------------------------------------

    def show_page(self, view: View, at: int, title: str) -> None:
        """Put a page on the screen, or in the pager where it is too long."""
        view.at = at
        page = view.pages[at]
        head = screen.title(title, view.sheet.flags, self.terminal.size[0])
        self.show([head, *page.rows], long=page.long)
        if page.long and self.terminal.paged:
            self.show([head, *page.rows[:1]])
        view.seen.add(at)

    def show(self, rows: Sequence[Line], *, long: bool = False) -> None:
        """Print rows, or have the pager show them where they are `long`."""
        text = "\n".join(painted(row, coloured=self.terminal.coloured) for row in rows)
        if long and self.terminal.paged:
            self.memory.run_pager(f"{text}\n")
        else:
            self.terminal.show(text)

    def say(self, text: str) -> None:
        """Tell the person something."""
        self.show([(Span(one_line(text), "note"),)])

    def whole(self, item: Item) -> list[Line]:
        """All that there is to say about a candidate, under its title."""
        columns = self.terminal.size[0]
        sheet = self._sheet(item, self._neighbours(item.found))
        parts = screen.sections(sheet, columns, coloured=self.terminal.coloured)
        return [screen.title(item.found.id, item.risks, columns), *screen.whole(parts)]

    def fits(self, rows: Sequence[Line]) -> bool:
        """Whether rows fit on the screen with a question below them."""
        return len(rows) <= self.terminal.size[1] - _FRAME_ROWS

    def said_around(self, found: Candidate) -> Iterator[Line]:
        """The evidence where it was said, from the tools' own transcripts."""
        for source in found.sources:
            yield from screen.transcript(source, transcripts.find(source), self.terminal.size[0])


def _named(number: int, neighbour: Neighbour) -> str:
    """A neighbour in a line, with the number by which it can be chosen."""
    where = neighbour.candidate or "approved"
    first = neighbour.body.partition("\n")[0]
    name = ids.entry_id(neighbour.key)
    return f"{number} {name} ({where}, {neighbour.likeness}% alike): {first}"
