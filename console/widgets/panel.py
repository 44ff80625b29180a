"""A panel: a titled list with scrolling, filtering and a selected row."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from textual import events
from textual.binding import Binding
from textual.message import Message

from console.presenters.list_view import CONTINUED, Listing, holds, ordered
from console.presenters.styled_text import (
    ACCENT,
    EMPTY,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    cut,
    length,
    line,
    plain,
)
from console.visible import visible
from console.widgets.canvas import Canvas

if TYPE_CHECKING:
    from cluster.view.state import ClusterView

MARK: Span = ("▸", ACCENT)
SORT_SECONDS = 2.0  # rows in a chosen order change places so often
LINES_A_FRAME = 40  # a frame draws about so many lines anew, and the others of a larger panel in the next frames
WITHOUT_TITLES = 8  # so many rows that need attention take the line of the titles where room is short, more do not
TOGETHER = 8  # neighbouring rows that a frame draws together: a short panel never shows two instants
MOST_COPIED = 74_994  # bytes that terminals take for the clipboard (OSC 52), as k9s knows them


class Panel(Canvas, can_focus=True):
    """Shows a `Listing`. The selection follows the row's key when rows are added, removed or moved."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("up,k", "move(-1)", "up", show=False, id="panel.up"),
        Binding("down,j", "move(1)", "down", show=False, id="panel.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="panel.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="panel.page-down"),
        Binding("home,g", "edge(0)", "first", show=False, id="panel.first"),
        Binding("end,G", "edge(-1)", "last", show=False, id="panel.last"),
        Binding("enter", "open", "open", show=False, id="panel.open"),
        Binding("n", "match(1)", "next match", show=False, id="panel.next-match"),
        Binding("N", "match(-1)", "match before", show=False, id="panel.previous-match"),
        Binding("s", "sort", "sort", show=False, id="panel.sort"),
        Binding("S", "reverse", "reverse", show=False, id="panel.reverse"),
        Binding("y", "copy", "copy", show=False, id="panel.copy"),
    ]

    class Opened(Message):
        """A row is to be opened, or the object in one of its cells."""

        def __init__(self, panel: "Panel", key: str, *, in_cell: bool = False) -> None:
            super().__init__()
            self.panel, self.key, self.in_cell = panel, key, in_cell

    def __init__(self, number: int, name: str) -> None:
        super().__init__(id=name)
        self.number = number
        self._selected = ""
        self.pattern = ""
        self._listing: Listing | None = None
        self._make: Callable[[int], Listing] | None = None
        self._made_at: object = None
        self._keys: Sequence[str] = ()
        self._all = 0
        self._top = 0
        self._visible = 0  # rows at the last paint
        self._lines_of: dict[str, Sequence[Line]] = {}  # the lines of each row at the last paint, without the mark
        self._columns: tuple[int, Line] = (0, EMPTY)  # the width and the header that these lines stand below
        self._share = 0
        self._walked = False  # the user has selected a row here
        self._missed = ""  # the selected row that is gone: it is selected again when it is back
        self.order = ""  # the title of the column that orders the rows; empty: the listing's own order
        self.largest_first = True
        self._sorted: list[str] = []
        self._sorted_at = 0.0
        self._first = ""
        self._copied = ("", 0)  # the row that was copied from last, and how much of it
        self._wheeled = False  # the wheel scrolled away from the selection: do not scroll back to it

    # --- drawing ----------------------------------------------------------------------------------------------------

    def show(self, listing: Listing, make: Callable[[int], Listing] | None = None, shares: int = 0) -> None:
        """Show a listing. `make` makes the one of now for a width, for what happens between two frames.

        `shares`: the rows are drawn anew in so many frames, more for a large panel; 0: all of them at once.
        """
        self._make, self._made_at = make, self._version()
        self._take(listing, shares)

    def _version(self) -> object:
        """What a listing was made of: the view and its last event; unknown to a panel that its screen removes."""
        if not self.is_attached:
            return None
        view = cast("ClusterView", self.app.flight.view)  # type: ignore[attr-defined]
        return id(view), view.seq

    def _redraw(self) -> None:
        """Draw between two frames."""
        self._renew()
        self._draw()

    def _renew(self) -> None:
        """Take the listing of now, if events came since the last one was made: rows that it has may be gone."""
        if self._make is not None and self.size.width and self._made_at != self._version():
            self._made_at = self._version()
            self._take(self._make(self.size.width))

    def _take(self, listing: Listing, shares: int = 0) -> None:
        keys = self._in_order(listing)
        self._all = len(keys)
        self._listing = listing
        self._keys = [key for key in keys if listing.matches(key, self.pattern)] if self.pattern else keys
        self._keep_selection()
        self._draw(shares)

    def _in_order(self, listing: Listing) -> Sequence[str]:
        """The rows' keys in the chosen order. Rows change places on a slow beat, not under the eyes of a reader."""
        keys = listing.row_keys()
        value = listing.sortable().get(self.order) if self.order else None
        if value is None:
            return keys
        now = time.monotonic()
        if now - self._sorted_at > SORT_SECONDS or set(keys) != set(self._sorted):
            self._sorted = ordered(keys, value, largest_first=self.largest_first)
            self._sorted_at = now
        return self._sorted

    def wanted_height(self, listing: Listing) -> int:
        """The lines that show everything: the title, the header, every row."""
        rows = max(1, len(listing.row_keys())) * listing.row_height
        return 1 + (1 if listing.header() else 0) + rows

    def _draw(self, shares: int = 0) -> None:
        listing, height = self._listing, self.size.height
        if listing is None or not height or not self.size.width:
            return
        header = listing.header()
        rows_first = max(1, 0 if self.pattern or self.order else min(WITHOUT_TITLES, len(listing.exceptions())))
        if height - 2 < rows_first * listing.row_height:
            header = EMPTY  # a row that needs attention, or the only one, is more useful than the header
        above = 1 + (1 if header else 0)
        visible = (height - above) // listing.row_height
        self._scroll(max(1, visible))
        lines: list[Line] = []
        chosen: list[int] = []
        self._draw_rows(listing, self._keys[self._top : self._top + visible], header, shares)
        for key, rows in self._lines_of.items():
            if key == self.selected and self.has_focus:
                chosen.extend(range(above + len(lines), above + len(lines) + len(rows)))
                lines.extend((_marked(rows[0]), *rows[1:]))
            else:
                lines.extend(rows)
        if not self._keys:
            words: Line = listing.vacant if not self.pattern else line((f"nothing matches {self.pattern}", MUTED))
            lines.append(line("  ", *words))
        title = self._title(listing, visible)
        self.paint([title, header, *lines] if header else [title, *lines], chosen)

    def _draw_rows(self, listing: Listing, keys: Sequence[str], header: Line, shares: int) -> None:
        """Draw this frame's share of the rows anew; all of them where the columns have moved."""
        shares = max(shares, -(-len(keys) * listing.row_height // LINES_A_FRAME)) if shares else 1
        columns = (self.size.width, header)
        known = self._lines_of if shares > 1 and columns == self._columns else {}
        self._columns, self._share = columns, (self._share + 1) % shares
        self._lines_of = {}
        for place, key in enumerate(keys):
            rows = known.get(key) if place // TOGETHER % shares != self._share else None
            self._lines_of[key] = listing.rows(key) if rows is None else rows

    def _title(self, listing: Listing, visible: int) -> Line:
        focused = self.has_focus
        words = f" by {self.order} {'↓' if self.largest_first else '↑'}" if self.order in listing.sortable() else ""
        name: Span = (f"{listing.title}{words}", STRONG if focused else MUTED)
        number = f"{self.number} " if self.number else ""
        left = line(("▍" if focused else " ", ACCENT), (number, ACCENT if focused else FAINT), name, " ")
        note = listing.note()
        if self.pattern:
            note = line((f"/{self.pattern}  ", WARN), (f"{len(self._keys)} of {self._all}", PLAIN))
        elif (calm := self._calm(listing, visible)) != EMPTY:
            note = calm
        elif self._keys and not visible:
            note = line((f"folded: {len(self._keys)}", MUTED))
        elif len(self._keys) > visible:
            last = min(len(self._keys), self._top + visible)
            seen: Line = line((f"{self._top + 1}–{last} of {len(self._keys)}", PLAIN))
            note = (*seen, ("  ", PLAIN), *note) if note else seen
        room = self.size.width - length(left) - 1
        note = cut(note, max(0, room - 3))
        rule = max(0, room - length(note) - (1 if note else 0))
        tail: Line = ((" ", PLAIN), *note) if note else EMPTY
        return (*left, ("─" * rule, FAINT), *tail, (" ", PLAIN))

    def _calm(self, listing: Listing, visible: int) -> Line:
        """What the title says of hidden rows that all need no attention, while the panel has no focus."""
        if (
            self.has_focus
            or self.order
            or self._top
            or len(self._keys) <= visible
            or len(listing.exceptions()) > visible
        ):
            return EMPTY
        return listing.calm_words(self._keys[visible:])

    # --- selection --------------------------------------------------------------------------------------------------

    @property
    def selected(self) -> str:
        """The key of the selected row; empty for none."""
        return self._selected

    @selected.setter
    def selected(self, key: str) -> None:
        self._selected, self._missed = key, ""

    def _selectable(self) -> list[str]:
        return [key for key in self._keys if CONTINUED not in key]

    def _keep_selection(self) -> None:
        keys = self._selectable()
        first, before = keys[0] if keys else "", self._first
        self._first = first
        newest_first = self._listing is not None and self._listing.newest_first and not self.order
        follows = newest_first and self.selected == before
        if self._missed in keys:
            self.selected = self._missed
        elif follows:
            self._selected = first
        elif self.selected not in keys:
            self._selected, self._missed = first, self._missed or self._selected

    def _scroll(self, visible: int) -> None:
        last_top = max(0, len(self._keys) - visible)
        listing = self._listing
        if visible != self._visible and not self._walked and not self._wheeled:
            self._top = 0  # what a lower panel scrolled to before the layout was done is forgotten
        self._visible = visible
        pinned = not self.has_focus and listing is not None and (listing.newest_first or bool(listing.exceptions()))
        if pinned and not self._wheeled:
            self._top = 0  # without the focus a panel shows first what needs attention
        elif self.selected in self._keys and not self._wheeled:
            place = self._keys.index(self.selected)
            if place < self._top:
                self._top = place
            elif place >= self._top + visible:
                self._top = place - visible + 1
        self._top = max(0, min(self._top, last_top))

    def _select(self, key: str) -> None:
        self._wheeled, self._walked = False, True
        self.selected = key
        self._redraw()

    def action_move(self, by: int) -> None:
        """Select the row that is `by` rows further down; without selectable rows, scroll."""
        keys = self._selectable()
        if not keys:
            self._top = max(0, self._top + by)
            self._redraw()
            return
        place = keys.index(self.selected) if self.selected in keys else 0
        if 0 <= place + by < len(keys) or len(keys) == len(self._keys):
            self._select(keys[max(0, min(len(keys) - 1, place + by))])
        else:  # beyond the last row that can be selected there is text: scroll
            self._wheeled = True
            self._top = max(0, self._top + by)
            self._redraw()

    def action_page(self, by: int) -> None:
        """Move by the number of visible rows."""
        height = self._listing.row_height if self._listing is not None else 1
        self.action_move(by * max(1, (self.size.height - 2) // height))

    def action_edge(self, place: int) -> None:
        """Select the first or the last row; without selectable rows, scroll there."""
        keys = self._selectable()
        if keys:
            self._select(keys[place])
        if len(keys) < len(self._keys):
            self._wheeled, self._top = True, 0 if place == 0 else len(self._keys)
            self._redraw()

    def action_match(self, by: int) -> None:
        """Select the next or the previous row that the filter shows; after the last comes the first."""
        keys = self._selectable()
        if not self.pattern:
            self.notify("no filter is set: / filters the rows", severity="warning", timeout=4)
        elif self.selected in keys:
            self._select(keys[(keys.index(self.selected) + by) % len(keys)])
        else:
            self.action_move(by)

    def action_sort(self) -> None:
        """Order the rows by the next column, and after the last one as the listing has them."""
        titles = list(self._listing.sortable()) if self._listing is not None else []
        if not titles:
            self.notify("this list cannot be sorted", severity="warning", timeout=4)
            return
        following = titles.index(self.order) + 1 if self.order in titles else 0
        self.sort_by(titles[following] if following < len(titles) else "")

    def action_reverse(self) -> None:
        """Turn the order of the rows round."""
        if self.order:
            self.sort_by(self.order, largest_first=not self.largest_first)
        else:
            self.notify("no column orders the rows: s chooses one", severity="warning", timeout=4)

    def sort_by(self, title: str, *, largest_first: bool | None = None) -> None:
        """Order the rows by a column, numbers from the largest and words from the first; an empty title ends that."""
        self._renew()
        listing = self._listing
        if listing is None:
            return
        self.order, self.largest_first = title, self._natural(title) if largest_first is None else largest_first
        self._sorted, self._top = [], 0
        self._take(listing)

    def _natural(self, title: str) -> bool:
        """Whether a column's order begins with the largest: that of numbers does, that of words does not."""
        listing = self._listing
        value = listing.sortable().get(title) if listing is not None else None
        if listing is None or value is None:
            return True
        return not any(isinstance(value(key), str) for key in listing.row_keys() if CONTINUED not in key)

    def _sort_under(self, title: str) -> None:
        """A click on a column's title: order by it, turn it round, and back to the listing's own order."""
        if self._listing is None or title not in self._listing.sortable():
            self.notify(f"rows are not ordered by {title}", severity="warning", timeout=4)
        elif self.order != title:
            self.sort_by(title)
        elif self._natural(title) == self.largest_first:
            self.sort_by(title, largest_first=not self.largest_first)
        else:
            self.sort_by("")

    def action_copy(self) -> None:
        """Copy the selected row's name; again its text, and then all rows."""
        self._renew()
        listing = self._listing
        if listing is None:
            return
        key = self.selected
        row = " ".join(plain(one).strip() for one in listing.rows(key)).strip() if key in self._keys else ""
        name = key if key and key in row.split() else ""
        choices = [(words, text) for words, text in ((f"{name}", name), ("the row", row)) if text]
        choices.append((f"all {len(self._keys)} rows of {listing.title}", self.whole_text()))
        place = (self._copied[1] + 1) % len(choices) if self._copied[0] == key and key else 0
        self._copied = key, place
        words, text = choices[place]
        if len(text.encode()) > MOST_COPIED:
            self.notify(f"{words}: {len(text) // 1_000} kB are too much for a clipboard", severity="warning", timeout=4)
            return
        self.app.copy_to_clipboard(visible(text))
        following = choices[place + 1][0] if place + 1 < len(choices) else ""
        self.notify(f"copied {words}" + (f"; y again copies {following}" if following else ""), timeout=3)

    def whole_text(self) -> str:
        """Title, header and all rows as plain text, also those without room."""
        self._renew()
        listing = self._listing
        if listing is None:
            return ""
        rows = [row for key in self._keys for row in listing.rows(key)]
        return "\n".join([listing.title, *(plain(row).rstrip() for row in (listing.header(), *rows) if row)])

    def instant_of(self, key: str) -> int | None:
        """The instant that a row tells of, in µs."""
        self._renew()
        return self._listing.instant_of(key) if self._listing is not None and key in self._keys else None

    def unfolds(self, key: str) -> bool:
        """Whether enter on a row shows or hides the rows that it stands for."""
        self._renew()
        return self._listing is not None and key in self._keys and self._listing.unfolds(key)

    def action_open(self) -> None:
        """Open the selected row, or the object of a listing without selectable rows."""
        key = self.selected or (self._listing.opens if self._listing is not None else "")
        if key:
            self.post_message(self.Opened(self, key))

    def _open_at(self, key: str, x: int, y: int) -> None:
        """Open the object in a cell of a row, what a name in it stands for, or the row."""
        opened = self._listing.object_at(key, x) if self._listing is not None else ""
        link = self.link_under(x, y)
        if opened:
            self.post_message(self.Opened(self, opened, in_cell=True))
        elif link is not None and link.name != key:
            self.post_message(self.Followed(link))
        elif CONTINUED not in key:
            self.action_open()

    def reveal(self, at_us: int) -> bool:
        """Scroll to the newest row at or before an instant; False if there is none, or no room for it."""
        self._renew()
        key = self._listing.key_at(at_us) if self._listing is not None else ""
        if key not in self._keys or self.size.height < 2:
            return False
        self.selected, self._wheeled = key, False
        self._top = list(self._keys).index(key)
        self._redraw()
        return True

    def filter(self, pattern: str) -> None:
        """Show only rows that match; an empty pattern shows all. Raises FilterError, and keeps the filter before."""
        holds("", pattern)
        self.pattern = pattern
        self._top, self._first = 0, ""  # the first match is kept among all rows: it is not the newest of them
        if self._listing is not None:
            self._renew()
            self._take(self._listing)
        self._missed = ""  # the row that a filter selects stays selected without it

    # --- mouse and focus --------------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Select the row under the mouse; a double click opens it."""
        self._renew()
        listing = self._listing
        if listing is None:
            return
        link = self.link_under(event.x, event.y) if event.y == 1 else None
        if link is not None and link.kind == "column":
            self._sort_under(link.name)
            return
        line_number = event.y - 1 - (1 if listing.header() else 0)
        place = self._top + line_number // listing.row_height
        if line_number < 0 or place >= len(self._keys):
            return
        key = self._keys[place].partition(CONTINUED)[0]
        if key in self._keys:
            self._select(key)
        if event.chain == 2:
            self._open_at(self._keys[place], event.x, event.y)

    def on_mouse_scroll_down(self) -> None:
        """Scroll without selecting."""
        self._wheeled = True
        self._top += 1
        self._redraw()

    def on_mouse_scroll_up(self) -> None:
        """Scroll without selecting."""
        self._wheeled = True
        self._top = max(0, self._top - 1)
        self._redraw()

    def on_focus(self) -> None:
        """Draw the title and the selected row for the new focus."""
        self._wheeled = False
        self._redraw()

    def on_blur(self) -> None:
        """Draw the title and the selected row for the new focus."""
        self._redraw()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._redraw()


def _marked(row: Line) -> Line:
    """The row with the selection mark in its margin."""
    if row and row[0][0].startswith(" "):
        return (MARK, (row[0][0][1:], row[0][1]), *row[1:])
    return row
