"""The overview: the state of the whole cluster, the first screen of a flight."""

from collections.abc import Mapping, Sequence

from cluster.commands import undo_of
from console.command_line import broker_place, producer_place, topic_place
from console.flight import Flight
from console.presenters.active_faults import ActiveFaultsListing
from console.presenters.event_log import EventLogListing
from console.presenters.exceptions.operations import operations
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.logged.groups import LoggedGroupsListing
from console.presenters.logged.producers import LoggedProducersListing
from console.presenters.overview import BrokersListing, GroupsListing
from console.presenters.partition_grids import TopicsListing
from console.presenters.producers.table import ProducersListing
from console.presenters.raster.axis import ZOOMS, axis_for
from console.presenters.raster.grid import RasterGrid
from console.presenters.raster.listing import LINES_AROUND, RasterListing, axis_width
from console.screens.flight_screen import WIDE, WIDEST, FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, PanelSlot, SizeHint

KINDS = {"groups": "group", "topics": "topic", "brokers": "broker", "producers": "producer"}


class OverviewScreen(FlightScreen):
    """Groups, topics, brokers, producers, events, the active faults and the operations under way.

    On the widest terminals the partitions of the worst group over time stand beside the events.
    """

    place, in_logs = "overview", True
    presets: Mapping[str, Sequence[str]] = {
        "on-call": ("groups", "topics", "brokers", "producers", "faults"),
        "learning": ("groups", "brokers", "events", "faults"),
    }

    def __init__(self) -> None:
        self._worst = ""  # the first of the groups
        self._grid: RasterGrid | None = None
        super().__init__()

    def panels(self) -> list[Panel]:
        """Five panels, one for faults and operations while there are any, one for the widest terminals."""
        panels = [Panel(number, name) for number, name in enumerate((*KINDS, "events", "faults", "ownership"), 1)]
        for panel in panels[-2:]:
            panel.display = False
        return panels

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view, for every frame."""
        view, now_us = flight.view, flight.now_us
        logs = view.logs
        for name in ("topics", "brokers"):  # in logs there are none
            self._show(name, logs is None)
        self._show("producers", logs is None or bool(logs.producers))
        if logs is not None:
            return {
                "groups": lambda width: LoggedGroupsListing(logs, now_us, width),
                "producers": lambda width: LoggedProducersListing(logs, width),
                "events": lambda width: EventLogListing(view, width),
            }
        self._show("faults", bool(view.faults or operations(view, now_us)))
        self._show("ownership", bool(view.groups) and self.size.width >= WIDEST)

        def groups(width: int) -> Listing:
            listing = GroupsListing(view, now_us, width, flight.group_lags)
            self._worst = next(iter(listing.row_keys()), "")
            return listing

        factories: dict[str, ListFactory] = {
            "groups": groups,
            "topics": lambda width: TopicsListing(view, now_us, width),
            "brokers": lambda width: BrokersListing(view, width),
            "producers": lambda width: ProducersListing(view, now_us, width, flight.source.producer_configs),
            "events": lambda width: EventLogListing(view, width, None, self.unfolded),
            "faults": lambda width: ActiveFaultsListing(view, now_us, width),
        }
        if self.board.panels["ownership"].display:
            factories["ownership"] = lambda width: self._ownership(flight, width)
        return factories

    def _show(self, name: str, shown: bool) -> None:
        panel = self.board.panels[name]
        if panel.display != shown:
            panel.display = shown

    def _ownership(self, flight: Flight, width: int) -> RasterListing:
        axis = axis_for(flight.now_us, axis_width(width), ZOOMS[0])
        group, room = flight.view.groups[self._worst], max(1, self.board.panels["ownership"].size.height - LINES_AROUND)
        listing = RasterListing(flight.view, group, axis, width, room=room, grid=self._grid)
        self._grid = listing.grid
        return listing

    def arrangement(self, width: int) -> Arrangement:
        """Brokers beside producers on the widest terminals; events beside faults while a fault is active."""
        last = [PanelSlot("events")]
        if not self.board.panels["topics"].display:
            producers = [[PanelSlot("producers")]] if self.board.panels["producers"].display else []
            return [[PanelSlot("groups")], *producers, last]
        faults = [[PanelSlot("faults")]] if self.board.panels["faults"].display else []
        if self.board.panels["faults"].display:
            if width < WIDE:
                return [[PanelSlot(name)] for name in (*KINDS, "faults", "events")]
            last = [PanelSlot("events", 3), PanelSlot("faults", 2)]
        top = [[PanelSlot("groups")], [PanelSlot("topics")]]
        if width >= WIDEST:
            beside = [PanelSlot("events", 2), PanelSlot("ownership", 3)]
            return [*top, [PanelSlot("brokers", 2), PanelSlot("producers", 3)], *faults, beside]
        if width >= WIDE:
            return [*top, [PanelSlot("brokers")], [PanelSlot("producers")], last]
        return [[PanelSlot(name)] for name in (*KINDS, "events")]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The events take the remaining lines."""
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def glossary(self) -> tuple[str, ...]:
        """Lag, and the states of groups, brokers and producers."""
        return "lag", "states of a group", "states of a broker", "states of a producer"

    def path(self) -> list[str]:
        """The root of all paths."""
        return [self.place]

    def selected_target(self) -> CommandTarget | None:
        """The selected row of the focused panel."""
        panel = self.console_app.focused_panel()
        if panel is None or not panel.selected or panel.id not in KINDS:
            return None
        return CommandTarget(KINDS[panel.id], panel.selected)

    def opened(self, panel: str, key: str) -> None:
        """Open a group, a topic, a broker, a producer, or the fault menu or undo command of another row."""
        if panel in {"groups", "ownership"}:
            self.console_app.go(key if panel == "groups" else self._worst)
        elif panel == "topics":
            self.console_app.go(topic_place(key))
        elif panel == "brokers":
            self.console_app.go(broker_place(key))
        elif panel == "producers":
            self.console_app.go(producer_place(key))
        elif panel == "faults":
            ending = self._ending(key)
            if ending:
                self.console_app.open_line(":", ending)
        else:
            self.console_app.action_fault()

    def _ending(self, key: str) -> str:
        """The command that ends a fault or an operation; empty without one."""
        flight = self.console_app.flight
        if not key.isdecimal():
            found = {one.key: one.ending for one in operations(flight.view, flight.now_us)}
            return found.get(key, "")
        fault = flight.view.faults.get(int(key))
        return undo_of(fault.kind, fault.targets) if fault is not None else ""
