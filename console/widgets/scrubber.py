"""The flight strip with mouse input: a press or drag posts the column to seek to."""

from textual import events
from textual.message import Message

from console.widgets.canvas import Canvas


class Scrubber(Canvas):
    """Posts `Scrubbed` while the left mouse button is held."""

    class Scrubbed(Message):
        """The mouse button is held at column `x`; `first` for the press, not for a drag."""

        def __init__(self, x: int, *, first: bool) -> None:
            super().__init__()
            self.x, self.first = x, first

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._held = False

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin a drag."""
        if event.button == 1:
            self._held = True
            self.capture_mouse()
            self.post_message(self.Scrubbed(event.x, first=True))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Post the column during a drag."""
        if self._held:
            self.post_message(self.Scrubbed(event.x, first=False))

    def on_mouse_up(self) -> None:
        """End the drag."""
        if self._held:
            self._held = False
            self.release_mouse()
