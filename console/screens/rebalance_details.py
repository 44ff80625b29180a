"""The details of one finished rebalance, and the settings that would have changed it."""

from typing import Self

from cluster.view.rebalances import RebalanceView
from console.app_interface import AppInterface
from console.flight import Flight
from console.player import Player
from console.presenters import rebalance_causes
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.rebalance_details import RebalanceDetailsListing, remedies_section
from console.presenters.styled_text import Line
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint
from recordings.remedies.background import BackgroundSearch, RemediesProgress
from recordings.scenarios.overrides import parse_setting

POLL_SECONDS = 0.2
REBALANCE = "rebalance "


def rebalance_place(group: str, key: str) -> str:
    """The place of one rebalance of a group: its group, and `RebalanceView.key`."""
    return f"{REBALANCE}{key} {group}"


class RebalanceDetailsScreen(FlightScreen):
    """First cause, chain of causes, the awaited member, moved partitions, cost, and remedies on demand."""

    def __init__(self, group: str, key: str) -> None:
        self.place, self.above = rebalance_place(group, key), group
        self.group, self.started = group, key
        self._search: BackgroundSearch | None = None
        self._progress: RemediesProgress | None = None
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of `rebalance KEY GROUP`."""
        key, _, group = place.removeprefix(REBALANCE).partition(" ")
        return cls(group, key) if place.startswith(REBALANCE) and group in app.flight.view.groups else None

    def panels(self) -> list[Panel]:
        """One panel of text."""
        return [Panel(1, "details")]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view's record of the rebalance."""
        group = flight.view.groups.get(self.group)
        if group is None:
            return {}
        return {
            "details": lambda width: RebalanceDetailsListing(
                flight.view, group, self.started, width, self._remedies(width)
            )
        }

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """All lines of the board."""
        del panel, listing
        return SizeHint(ALL_THERE_IS)

    def path(self) -> list[str]:
        """Below the group."""
        one = self._rebalance()
        return ["overview", self.group, f"rebalance to {rebalance_causes.number_words(one) if one else 'generation 0'}"]

    def selected_target(self) -> CommandTarget | None:
        """The group of the rebalance."""
        return CommandTarget("group", self.group) if self.group in self.console_app.flight.view.groups else None

    def _rebalance(self) -> RebalanceView | None:
        group = self.console_app.flight.view.groups.get(self.group)
        return next((one for one in group.rebalances if one.key == self.started), None) if group else None

    # --- remedies ---------------------------------------------------------------------------------------------------

    def why_no_remedies(self) -> str | None:
        """Remedies are measured by flying a recording again."""
        if not isinstance(self.console_app.flight.source, Player):
            return "remedies are measured on a recording: record the flight, then play it"
        return None if self._rebalance() is not None else "the view no longer holds this rebalance"

    def toggle_remedies(self) -> None:
        """Begin to measure in another process, or end that."""
        source, one = self.console_app.flight.source, self._rebalance()
        if self._search is not None:
            self._end_search()
            self._progress = None
        elif isinstance(source, Player) and one is not None and self._progress is None:
            self._search = BackgroundSearch(source.path, f"{self.group}:{one.generation}")
            self._progress = self._search.poll()
        self.paint()

    def on_mount(self) -> None:
        """Look regularly how far the search is."""
        self.set_interval(POLL_SECONDS, self._poll)

    def on_unmount(self) -> None:
        """A search that was left ends."""
        self._end_search()

    def _poll(self) -> None:
        if self._search is None:
            return
        self._progress = self._search.poll()
        if self._progress.ended:
            self._end_search()
        self.paint()

    def _end_search(self) -> None:
        if self._search is not None:
            self._search.cancel()
            self._search = None

    def opened(self, panel: str, key: str) -> None:
        """Fly the recording with a remedy's settings, and compare both flights."""
        del panel
        source, app = self.console_app.flight.source, self.console_app
        if isinstance(source, Player) and key:
            settings = tuple(parse_setting(text) for text in key.splitlines())
            app.warn(app.forking.what_if(source.path, settings, " ".join(key.splitlines())))

    def _remedies(self, width: int) -> list[tuple[Line, str]]:
        """The section below the details; a live flight has none."""
        if self.why_no_remedies() is not None:
            return []
        return remedies_section(self._progress, self.console_app.keys_by_action()["act.remedies"], width - 4)
