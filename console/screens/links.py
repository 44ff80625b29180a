"""The overlay of links: every name and instant on the screen below, to go there by key."""

from typing import cast

from textual.binding import Binding

from console.app_interface import AppInterface
from console.navigation.links import FoundLink, LinksListing, links_in, objects_of
from console.presenters.styled_text import PlaceLink
from console.screens.flight_screen import FlightScreen
from console.screens.overlays import Overlay
from console.widgets.panel import Panel

DONE_BY_KEYS = {"action", "column", "panel"}  # links that are no names: they have keys of their own


class LinksScreen(Overlay):
    """The links of a screen, those of the selected row first."""

    BINDINGS = [Binding("l", "close", "close", show=False, id="links.close")]  # noqa: RUF012

    def __init__(self, below: FlightScreen) -> None:
        found = shown_links(below)
        super().__init__(lambda width: LinksListing(found, width))
        self._links = {LinksListing.key_of(one.link): one.link for one in found}

    def on_panel_opened(self, message: Panel.Opened) -> None:
        """Close, and go where the link leads."""
        self.dismiss(None)
        cast("AppInterface", self.app).follow(self._links[message.key])


def shown_links(screen: FlightScreen) -> list[FoundLink]:
    """Each link that a screen shows once: of the selected row, of the focused panel, of all other lines."""
    objects = objects_of(screen.console_app.flight.view)
    panels = [panel for panel in screen.board.panels.values() if panel.region]
    panels.sort(key=lambda panel: not panel.has_focus)
    lines = [row for panel in panels for row in panel.chosen_lines]
    lines += screen.bars["crumbs"].drawn
    lines += [row for panel in panels for row in panel.drawn]
    lines += screen.bars["ticker"].drawn
    found: dict[PlaceLink, FoundLink] = {}
    for row in lines:
        for one in links_in(row, objects):
            if one.link.kind not in DONE_BY_KEYS:
                found.setdefault(one.link, one)
    return list(found.values())
