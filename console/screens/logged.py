"""The screens of a recording of logs: one group, one of its rebalances, and the transactional ids."""

from typing import Self

from cluster.view.logged.state import LoggedGroup, LogsView
from console.app_interface import AppInterface
from console.flight import Flight
from console.presenters.event_log import EventLogListing
from console.presenters.list_view import Listing
from console.presenters.logged.details import LoggedDetailsListing
from console.presenters.logged.group import LoggedMembersListing, LoggedRebalancesListing, LoggedStateListing
from console.presenters.logged.producers import LoggedProducersListing, LoggedTransactionalIdsListing
from console.screens.flight_screen import WIDEST, FlightScreen, ListFactory
from console.screens.rebalance_details import REBALANCE, rebalance_place
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, PanelSlot, SizeHint

TRANSACTIONS = "transactions"


def _logged(flight: Flight, group: str) -> LoggedGroup | None:
    logs = flight.view.logs
    return logs.groups.get(group) if logs is not None else None


class LoggedGroupScreen(FlightScreen):
    """State, members, rebalances and events of one group that logs tell of; its place is the group's name."""

    AUTO_FOCUS = "#rebalances"
    in_logs = True

    def __init__(self, group: str) -> None:
        self.place = self.group = group
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of a group of a recording of logs."""
        return cls(place) if _logged(app.flight, place) is not None else None

    def glossary(self) -> tuple[str, ...]:
        """Of groups."""
        return ("states of a group",)

    def panels(self) -> list[Panel]:
        """Four panels."""
        return [Panel(number, name) for number, name in enumerate(("group", "members", "rebalances", "events"), 1)]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view; no listing before a line names the group."""
        view, now_us, group = flight.view, flight.now_us, _logged(flight, self.group)
        if group is None:
            return {}
        subjects = {self.group, *group.named}
        return {
            "group": lambda width: LoggedStateListing(group, now_us, width),
            "members": lambda width: LoggedMembersListing(group, width),
            "rebalances": lambda width: LoggedRebalancesListing(group, now_us, width),
            "events": lambda width: EventLogListing(view, width, subjects, self.unfolded),
        }

    def arrangement(self, width: int) -> Arrangement:
        """On wide terminals the events are beside the rebalances."""
        top = [[PanelSlot("group")], [PanelSlot("members")]]
        if width >= WIDEST:
            return [*top, [PanelSlot("rebalances", 3), PanelSlot("events", 2)]]
        return [*top, [PanelSlot("rebalances")], [PanelSlot("events")]]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The state is firm; the events take the remaining lines."""
        if panel.id == "group":
            return SizeHint(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def opened(self, panel: str, key: str) -> None:
        """Open a rebalance."""
        if panel == "rebalances":
            self.console_app.go(rebalance_place(self.group, key))


class LoggedRebalanceScreen(FlightScreen):
    """What a coordinator's lines tell of one rebalance."""

    in_logs = True
    footer_actions = ("go.back", "time.previous", "time.next", "list.filter")

    def __init__(self, group: str, key: str) -> None:
        self.place, self.above = rebalance_place(group, key), group
        self.group, self.key_of_rebalance = group, key
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of `rebalance PLACE GROUP` in a recording of logs."""
        key, _, group = place.removeprefix(REBALANCE).partition(" ")
        known = place.startswith(REBALANCE) and _logged(app.flight, group) is not None
        return cls(group, key) if known else None

    def panels(self) -> list[Panel]:
        """One panel of text."""
        return [Panel(1, "details")]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view."""
        logs, group = flight.view.logs, _logged(flight, self.group)
        if logs is None or group is None:
            return {}
        key, now_us = self.key_of_rebalance, flight.now_us
        return {"details": lambda width: LoggedDetailsListing(logs, group, key, now_us, width)}

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """All lines of the board."""
        del panel, listing
        return SizeHint(ALL_THERE_IS)

    def path(self) -> list[str]:
        """Below the group."""
        return ["overview", self.group, f"rebalance {self.key_of_rebalance}"]


class LoggedTransactionsScreen(FlightScreen):
    """What lines of transaction coordinators and transactional producers tell."""

    AUTO_FOCUS = "#ids"
    in_logs = True

    def __init__(self) -> None:
        self.place = TRANSACTIONS
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The place of transactions, if a line so far names a transactional id."""
        logs = app.flight.view.logs
        return cls() if place == TRANSACTIONS and logs is not None and _of_transactions(logs) else None

    def panels(self) -> list[Panel]:
        """Three panels."""
        return [Panel(number, name) for number, name in enumerate(("ids", "producers", "events"), 1)]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view."""
        view, logs = flight.view, flight.view.logs
        if logs is None:
            return {}
        subjects = _of_transactions(logs)
        return {
            "ids": lambda width: LoggedTransactionalIdsListing(logs, width),
            "producers": lambda width: LoggedProducersListing(logs, width, transactional=True),
            "events": lambda width: EventLogListing(view, width, subjects, self.unfolded),
        }

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The events take the remaining lines."""
        return SizeHint(ALL_THERE_IS, 3) if panel.id == "events" else super().size_hint(panel, listing)


def _of_transactions(logs: LogsView) -> set[str]:
    """The transactional ids, and the producers that have one."""
    return {*logs.transactional_ids, *(name for name, one in logs.producers.items() if one.transactional_id)}
