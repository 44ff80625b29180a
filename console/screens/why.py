"""The overlay of `why?`: answers on the selected subject, each fact a link to its instant."""

from collections.abc import Callable

from textual.binding import Binding

from console.presenters.formatting import clock
from console.presenters.why.answers import Subject
from console.presenters.why.listing import COMMAND, WhyListing
from console.presenters.why.questions import subject_named
from console.screens.flight_screen import FlightScreen
from console.screens.overlays import ChosenCommand, Overlay
from console.widgets.panel import Panel

NOTHING_SELECTED = "select a row with a name first"
WHY_NOT_IN_LOGS = "logs tell causes of rebalances only: enter on a rebalance shows what they say of it"


class WhyScreen(Overlay):
    """The answers on a subject as the flight goes on. The result is a command's text, to be edited."""

    BINDINGS = [Binding("w", "close", "close", show=False, id="why.close")]  # noqa: RUF012

    def __init__(self, below: FlightScreen, subject: Subject) -> None:
        def listing(width: int) -> WhyListing:
            flight = below.console_app.flight
            source = flight.source
            limits = source.broker_session_us, width, source.producer_configs
            return WhyListing(flight.view, subject, flight.now_us, *limits)

        super().__init__(listing)
        self.below = below

    def on_panel_opened(self, message: Panel.Opened) -> None:
        """Go to the instant of a fact, or put a command into the command line."""
        chosen: ChosenCommand | None = None
        if message.key.startswith(COMMAND):
            chosen = ChosenCommand(message.key.removeprefix(COMMAND))
            chosen.edit = True
        else:
            refusal = show_instant(self.below, int(message.key.partition("/")[0]))
            if refusal:
                self.notify(refusal, severity="warning", timeout=4)
        self.dismiss(chosen)


def show_instant(screen: FlightScreen, at_us: int) -> str:
    """Seek to an instant in a recording; live, show the newest line of the event log at or before it."""
    seekable = screen.console_app.flight.seekable
    if seekable is not None:
        return seekable.seek(at_us)
    panel = screen.board.panels.get("events")
    if panel is not None and panel.reveal(at_us):
        panel.focus()
        return ""
    return f"the event log here has no line at {clock(at_us, 3)}"


def open_why(screen: FlightScreen | None, name: str, then: Callable[[ChosenCommand | None], None]) -> str:
    """Open the overlay on a name, or on the selection without one. Returns the reason of a refusal."""
    if screen is None:
        return NOTHING_SELECTED
    if screen.console_app.flight.view.logs is not None:
        return WHY_NOT_IN_LOGS
    subject = subject_named(screen.console_app.flight.view, name) if name else screen.why_subject()
    if subject is None:
        return f"nothing is known of {name} yet" if name else NOTHING_SELECTED
    screen.app.push_screen(WhyScreen(screen, subject), then)
    return ""
