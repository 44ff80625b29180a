"""Panels whose rows have cells: keys and mouse move the chosen cell."""

from textual import events
from textual.binding import Binding
from textual.message import Message

from console.widgets.panel import Panel


class CellPanel(Panel):
    """Posts `Shifted` and `Pointed`; the screen knows what a column is."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("left", "shift(-1)", "left", show=False, id="raster.left"),
        Binding("right", "shift(1)", "right", show=False, id="raster.right"),
        Binding("shift+left", "shift(-10)", "ten left", show=False, id="raster.far-left"),
        Binding("shift+right", "shift(10)", "ten right", show=False, id="raster.far-right"),
    ]

    class Shifted(Message):
        """The chosen cell moves by a number of cells."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Pointed(Message):
        """The mouse chooses the cell at a column of the panel."""

        def __init__(self, x: int) -> None:
            super().__init__()
            self.x = x

    def action_shift(self, by: int) -> None:
        """Choose another cell of the row."""
        self.post_message(self.Shifted(by))

    def on_click(self, event: events.Click) -> None:
        """Choose the cell; the panel itself selects the row."""
        self.post_message(self.Pointed(event.x))


class RasterPanel(CellPanel):
    """A raster, with the barriers above its rows."""

    def _scroll(self, visible: int) -> None:
        """With the first row selected, the barriers above it are shown, too."""
        super()._scroll(visible)
        if not self._wheeled and self.selected in self._selectable()[:1]:
            self._top = 0


class LinkPanel(CellPanel):
    """A matrix of links; `h` and `l` are its keys, too, and `e` edits the command of the chosen link."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("h", "shift(-1)", "left", show=False, id="links.left"),
        Binding("l", "shift(1)", "right", show=False, id="links.right"),
        Binding("e", "screen.edit_link", "edit", show=False, id="links.edit"),
    ]
