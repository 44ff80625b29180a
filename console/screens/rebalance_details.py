"""The details of one finished rebalance, and the settings that would have changed it."""

from typing import ClassVar, Self

from cluster.view.rebalances import RebalanceView
from console.app_interface import AppInterface
from console.flight import Flight
from console.forking.remedies import RemediedRebalance
from console.presenters import rebalance_causes
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.rebalance_details import RebalanceDetailsListing, remedies_section
from console.presenters.styled_text import Line
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint

REBALANCE = "rebalance "


def rebalance_place(group: str, key: str) -> str:
    """The place of one rebalance of a group: its group, and `RebalanceView.key`."""
    return f"{REBALANCE}{key} {group}"


class RebalanceDetailsScreen(FlightScreen):
    """First cause, chain of causes, the awaited member, moved partitions, cost, and remedies on demand."""

    footer_actions: ClassVar[tuple[str, ...]] = ("go.back", "act.remedies", "act.why", "list.filter", "act.fork")

    def __init__(self, group: str, key: str) -> None:
        self.place, self.above = rebalance_place(group, key), group
        self.group, self.started = group, key
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
        """Remedies are measured for a rebalance that the view still has."""
        return None if self._rebalance() is not None else "the view no longer holds this rebalance"

    def toggle_remedies(self) -> None:
        """Begin to measure in another process, or end that."""
        app, asked = self.console_app, self._asked()
        if asked is not None:
            app.warn(app.forking.remedies.toggle(app.flight, asked))
        self.paint()

    def opened(self, panel: str, key: str) -> None:
        """Fly the flight with a remedy's settings, and compare both flights."""
        del panel
        app, asked = self.console_app, self._asked()
        recording = app.forking.remedies.recording_of(asked) if asked is not None else None
        if recording is not None and key:
            from recordings.scenarios.overrides import parse_setting  # noqa: PLC0415 - not needed before a remedy is tried

            settings = tuple(parse_setting(text) for text in key.splitlines())
            app.warn(app.forking.what_if(recording, settings, " ".join(key.splitlines())))

    def _asked(self) -> RemediedRebalance | None:
        one = self._rebalance()
        return RemediedRebalance(self.group, one.generation) if one is not None else None

    def _remedies(self, width: int) -> list[tuple[Line, str]]:
        """The section below the cost."""
        app, asked = self.console_app, self._asked()
        if asked is None:
            return []
        progress = app.forking.remedies.progress_of(app.flight.source, asked)
        return remedies_section(progress, app.keys_by_action()["act.remedies"], width - 4)
