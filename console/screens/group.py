"""The screen of one group: rebalance phase, members and their timers, assignment, past rebalances, events."""

from collections.abc import Mapping, Sequence
from typing import Self

from cluster.view.state import GroupView
from console.app_interface import AppInterface
from console.command_line import member_place, partition_place
from console.flight import Flight
from console.presenters.awaited_members import members_of
from console.presenters.consumer_groups.members_table import ReconciliationListing
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.members import MembersListing
from console.presenters.partition_grids import OwnershipListing, worst_partition
from console.presenters.rebalance_phase import PhaseListing
from console.presenters.rebalances import NOW, RebalancesListing
from console.screens.flight_screen import WIDEST, FlightScreen, ListFactory
from console.screens.rebalance_details import rebalance_place
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, PanelSlot, SizeHint

OTHERS = 4 + 4 + 3 + 1  # lines of the phase, of two topics' owners, of the last rebalance, of the events' title


class GroupScreen(FlightScreen):
    """Phase, members, ownership, rebalances and events of one group; its place is the group's name."""

    AUTO_FOCUS = "#members"
    presets: Mapping[str, Sequence[str]] = {
        "on-call": ("phase", "reconciliation", "members", "rebalances"),
        "learning": ("phase", "reconciliation", "members", "ownership", "events"),
    }

    def __init__(self, group: str, member: str = "") -> None:
        self.place = self.group = group
        super().__init__()
        self.board.panels["members"].selected = member

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of a group, or of a member's group with the member selected."""
        member = app.flight.view.members.get(place)
        if member is not None:
            return cls(member.group, place)
        return cls(place) if place in app.flight.names().groups else None

    def glossary(self) -> tuple[str, ...]:
        """Of the group's protocol."""
        group = self.console_app.flight.view.groups.get(self.group)
        if group is not None and group.consumer is not None:
            return (
                "lag",
                "states of a group of the new protocol",
                "states of its members at the coordinator",
                "states of its members as clients",
            )
        return "lag", "states of a group", "states of a member"

    def panels(self) -> list[Panel]:
        """Five panels, and one for the reconciliation of a group of the new protocol."""
        names = ("phase", "members", "ownership", "rebalances", "events", "reconciliation")
        panels = [Panel(number, name) for number, name in enumerate(names, 1)]
        panels[-1].display = False
        return panels

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view; no listing before the group exists."""
        view, now_us = flight.view, flight.now_us
        session_us = flight.source.broker_session_us
        group = view.groups.get(self.group)
        if group is None:
            return {}
        reconciliation = self.board.panels["reconciliation"]
        if reconciliation.display != (group.consumer is not None):
            reconciliation.display = group.consumer is not None
        subjects = {self.group, *(member.member for member in members_of(view, self.group))}
        return {
            "phase": lambda width: PhaseListing(view, group, now_us, width, session_us),
            "members": lambda width: MembersListing(view, group, now_us, width, brief=self._is_brief(group)),
            "ownership": lambda width: OwnershipListing(view, group, width),
            "rebalances": lambda width: RebalancesListing(view, group, now_us, width),
            "events": lambda width: EventLogListing(view, width, subjects, self.unfolded),
            "reconciliation": lambda width: ReconciliationListing(view, group, now_us, width),
        }

    def _is_brief(self, group: GroupView) -> bool:
        """Whether each member gets one line, because two lines each would fold the other panels."""
        members = self.console_app.flight.view.members.values()
        number = sum(1 for member in members if member.group == group.group)
        return 2 + 2 * number > self.board.size.height - OTHERS and not self.board.maximized

    def arrangement(self, width: int) -> Arrangement:
        """Reconciliation below the phase; on wide terminals the events are beside the rebalances."""
        names = ("phase", "reconciliation", "members", "ownership")
        top = [[PanelSlot(name)] for name in names if self.board.panels[name].display]
        if width >= WIDEST:
            return [*top, [PanelSlot("rebalances", 3), PanelSlot("events", 2)]]
        return [*top, [PanelSlot("rebalances")], [PanelSlot("events")]]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The phase is firm; the events take the remaining lines."""
        if panel.id == "phase":
            return SizeHint(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def selected_target(self) -> CommandTarget | None:
        """The selected member, or the group itself."""
        panel = self.console_app.focused_panel()
        if self.group not in self.console_app.flight.view.groups:
            return None
        if panel is not None and panel.id == "members" and panel.selected:
            return CommandTarget("member", panel.selected)
        if panel is not None and panel.id == "reconciliation" and panel.selected:
            name = self.console_app.flight.view.groups[self.group].members.get(panel.selected, "")
            if name in self.console_app.flight.view.members:
                return CommandTarget("member", name)
        return CommandTarget("group", self.group)

    def opened(self, panel: str, key: str) -> None:
        """Open a finished rebalance, a topic's worst partition or a member; or select the awaited member."""
        if panel == "rebalances" and key == NOW:
            self.notify("the details open when the rebalance is over; panel 1 shows its phase", timeout=3)
        elif panel == "rebalances":
            self.console_app.go(rebalance_place(self.group, key))
        elif panel == "ownership" and self.console_app.flight.view.partitions_by_topic.get(key):
            self.console_app.go(partition_place(worst_partition(self.console_app.flight.view, key)))
        elif panel == "phase":
            self.board.panels["members"].selected = key
            self.board.panels["members"].focus()
        elif panel == "members":
            self.console_app.go(member_place(key))
        elif panel == "reconciliation":
            name = self.console_app.flight.view.groups[self.group].members.get(key, "")
            if name in self.console_app.flight.view.members:
                self.console_app.go(member_place(name))
