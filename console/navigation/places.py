"""The places of the console: the stack of screens, the history that back and forward go through, where links lead."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.app import App
from textual.screen import Screen

from cluster.view.state import ClusterView
from console.actions import find
from console.command_line import PRODUCER
from console.navigation.links import objects_of
from console.presenters.styled_text import PlaceLink
from console.screens.catalogue import PLACES, SCREENS
from console.screens.flight_screen import FlightScreen
from console.screens.overlays import Overlay
from console.screens.why import show_instant
from console.widgets.panel import Panel

if TYPE_CHECKING:
    from console.app_interface import AppInterface

OVERVIEW = SCREENS[0]
MOST_VISITS = 200
SHARES_COVERED = 3
NO_EARLIER, NO_LATER = "no place before this one", "no place after this one"
NOT_IN_LOGS = "this recording was read from logs: its lines tell groups, rebalances and producers, and nothing of {}"
NO_PRODUCER = "the application of {} has no producer"
LISTED = {
    "topic": (OVERVIEW.place, "topics"),
    "broker": (OVERVIEW.place, "brokers"),
    "producer": (OVERVIEW.place, "producers"),
    "transaction": ("transactions", "ids"),
}
"""Kind of object → the place and panel that list it, for an object without a place of its own."""


class Visit(NamedTuple):
    """A visit of a place: the panel that had the focus, and its selected row."""

    place: str
    panel: str = ""
    selected: str = ""


class Places:
    """Shows places above the overview, which is always the bottom of the stack, and remembers those visited."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self.forget()

    def forget(self) -> None:
        """Another flight begins: its places are others."""
        self._visits = [Visit(OVERVIEW.place)]
        self._at = 0
        self._last = OVERVIEW.place

    def screen(self) -> FlightScreen | None:
        """The screen that is shown, below any overlay."""
        stack = self._app.screen_stack
        return next((screen for screen in reversed(stack) if isinstance(screen, FlightScreen)), None)

    def shown(self) -> list[FlightScreen | Overlay]:
        """The screens that are seen, from the top: overlays, and the screen below them."""
        shown: list[FlightScreen | Overlay] = []
        for screen in reversed(self._app.screen_stack):
            if isinstance(screen, FlightScreen | Overlay):
                shown.append(screen)
            if isinstance(screen, FlightScreen):
                break
        return shown

    def turns(self) -> list[Callable[[], None]]:
        """What paints the screens that are seen; one of them a frame keeps its cost below that of a screen alone.

        An overlay takes turns with the bars of the screen below it, and with each third of the rows of its panels.
        """
        turns: list[Callable[[], None]] = []
        for screen in self.shown():
            if isinstance(screen, Overlay):
                turns.append(screen.paint)
            elif not turns:
                turns.append(partial(screen.paint, 1))
            else:
                turns += [screen.paint_bars, *SHARES_COVERED * [partial(screen.paint, SHARES_COVERED, bars=False)]]
        return turns

    def here(self) -> str:
        """The place that is shown, as `go` names it."""
        screen = self.screen()
        return screen.place if screen is not None and screen.place else OVERVIEW.place

    # --- moves ------------------------------------------------------------------------------------------------------

    def go(self, place: str) -> None:
        """Show a place; the overview for an unknown one. What logs do not tell of is refused."""
        screen = self._screen_for(place)
        if screen is None and place != OVERVIEW.place and self._view().logs is not None:
            cast("AppInterface", self._app).warn(NOT_IN_LOGS.format(place))
        elif screen is None and place.startswith(PRODUCER):
            cast("AppInterface", self._app).warn(NO_PRODUCER.format(place.removeprefix(PRODUCER)))
        else:
            self.show(screen)

    def show(self, screen: FlightScreen | None) -> None:
        """Show a screen; the overview for none."""
        self._leave()
        self._show(screen)
        self._enter()

    def up(self) -> None:
        """Leave the place for the one above it."""
        if len(self._app.screen_stack) > 1:
            self._leave()
            self._app.pop_screen()
            self._enter()

    def move(self, by: int) -> str:
        """Go back (-1) or forward (1) in the history. Returns the reason of a refusal.

        0 goes to the place before this; again, and it returns.
        """
        if not by:
            self.go(self._last)
            return ""
        if not 0 <= self._at + by < len(self._visits):
            return NO_EARLIER if by < 0 else NO_LATER
        self._leave()
        self._at += by
        visit = self._visits[self._at]
        self._show(self._screen_for(visit.place))
        screen = self.screen()
        if screen is not None and visit.panel in screen.board.panels:
            screen.board.panels[visit.panel].selected = visit.selected
            screen.focus_on(visit.panel)
        return ""

    def _view(self) -> ClusterView:
        return cast("AppInterface", self._app).flight.view

    def _screen_for(self, place: str) -> FlightScreen | None:
        known = [screen for screen in SCREENS if screen.in_logs or self._view().logs is None]
        opened = (screen.for_place(place, cast("AppInterface", self._app)) for screen in known)
        return next((screen for screen in opened if screen is not None), None)

    def _show(self, screen: FlightScreen | None) -> None:
        """Show a screen above the place that it belongs to."""
        above = screen.above if screen is not None else ""
        while len(stack := self._app.screen_stack) > 1 and not (above and _is_place(stack[-1], above)):
            self._app.pop_screen()
        if screen is None or isinstance(screen, OVERVIEW):
            return
        below = self._screen_for(above) if above and self.here() != above else None
        if below is not None:
            self._app.push_screen(below)
        self._app.push_screen(screen)

    def _leave(self) -> None:
        """Remember the focus and the selection of the place that is left."""
        self._last = self.here()
        screen = self.screen()
        panel = screen.focused if screen is not None else None
        if isinstance(panel, Panel) and self._visits[self._at].place == self._last:
            self._visits[self._at] = Visit(self._last, panel.id or "", panel.selected)

    def _enter(self) -> None:
        """Add the place that is shown now to the history; what was ahead of the former one is forgotten."""
        here = self.here()
        if here == self._visits[self._at].place:
            return
        self._visits = [*self._visits[: self._at + 1], Visit(here)][-MOST_VISITS:]
        self._at = len(self._visits) - 1

    # --- links ------------------------------------------------------------------------------------------------------

    def follow(self, link: PlaceLink) -> str:
        """Go where a link leads, or do what it does. Returns the reason of a refusal."""
        screen = self.screen()
        match link.kind:
            case "action":
                self._app.call_later(self._app.run_action, find(link.name).does)
            case "instant" if screen is not None:
                return show_instant(screen, int(link.name))
            case "panel":
                self._focus(OVERVIEW.place, link.name)
            case "place":
                return self._named(link.name)
            case _:
                self._object(link)
        return ""

    def _named(self, name: str) -> str:
        """Go to a place, or to an object's place."""
        found = objects_of(self._view()).get(name)
        if name in PLACES or found is None:
            if self._screen_for(name) is None:
                return f"there is no place {name}"
            self.go(name)
        else:
            self._object(found)
        return ""

    def _object(self, link: PlaceLink) -> None:
        """Go to an object's own place, or to the list that it stands in."""
        place = self._place_of(link)
        if place:
            self.go(place)
        elif link.kind in LISTED:
            self._focus(*LISTED[link.kind], link.name)

    def _place_of(self, link: PlaceLink) -> str:
        """The place of an object; empty without one of its own."""
        of_kind = f"{link.kind} {link.name}"
        if self._screen_for(of_kind) is not None:
            return of_kind
        by_name = link.name not in PLACES and objects_of(self._view()).get(link.name) == link
        return link.name if by_name and self._screen_for(link.name) is not None else ""

    def _focus(self, place: str, panel: str, selected: str = "") -> None:
        """Show a place with the focus on a panel, and a row selected in it."""
        if self.here() != place:
            self.go(place)
        screen = self.screen()
        if screen is not None and panel in screen.board.panels:
            if selected:
                screen.board.panels[panel].selected = selected
            screen.focus_on(panel)


def _is_place(screen: Screen[object], place: str) -> bool:
    return isinstance(screen, FlightScreen) and screen.place == place
