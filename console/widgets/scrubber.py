"""The flight strip as something to be taken hold of: pressing and dragging on it asks to be at that place."""

from textual import events
from textual.message import Message

from console.widgets.canvas import Canvas


class Scrubber(Canvas):
    """Says where the mouse holds it."""

    class Scrubbed(Message):
        """The mouse is held at the column `x`; `first` when it was pressed there, not dragged."""

        def __init__(self, x: int, *, first: bool) -> None:
            super().__init__()
            self.x, self.first = x, first

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._held = False

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold."""
        if event.button == 1:
            self._held = True
            self.capture_mouse()
            self.post_message(self.Scrubbed(event.x, first=True))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag."""
        if self._held:
            self.post_message(self.Scrubbed(event.x, first=False))

    def on_mouse_up(self) -> None:
        """Let go."""
        if self._held:
            self._held = False
            self.release_mouse()
