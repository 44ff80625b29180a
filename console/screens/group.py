"""The signature screen: one group, who waits for whom and why, its members' clocks, what they own, what it cost."""

from cluster.view.state import GroupView
from console.flight import Flight
from console.presenters.awaited_members import members_of
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.members import MembersListing
from console.presenters.partition_grids import OwnershipListing
from console.presenters.rebalance_phase import PhaseListing
from console.presenters.rebalances import NOW, RebalancesListing
from console.screens.flight_screen import WIDEST, FlightScreen, Maker
from console.screens.rebalance_details import CaseFileScreen
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, Place, Wish

OTHERS = 4 + 4 + 3 + 1  # lines of the phase, of two topics' owners, of the last rebalance, of the events' title


class GroupScreen(FlightScreen):
    """Phase bar, members, ownership, rebalances, events of one group."""

    AUTO_FOCUS = "#members"

    def __init__(self, group: str, member: str = "") -> None:
        self.group = group
        super().__init__()
        self.board.panels["members"].selected = member

    def panels(self) -> list[Panel]:
        """Five of them; the first says what is going on."""
        return [Panel(n, name) for n, name in enumerate(("phase", "members", "ownership", "rebalances", "events"), 1)]

    def makers(self, flight: Flight) -> dict[str, Maker]:
        """From the view, for every frame; nothing before the group is declared."""
        view, now_us = flight.view, flight.now_us
        session_us = flight.source.broker_session_us
        group = view.groups.get(self.group)
        if group is None:
            return {}
        subjects = {self.group, *(member.member for member in members_of(view, self.group))}
        return {
            "phase": lambda width: PhaseListing(view, group, now_us, width, session_us),
            "members": lambda width: MembersListing(view, group, now_us, width, brief=self._is_brief(group)),
            "ownership": lambda width: OwnershipListing(view, group, width),
            "rebalances": lambda width: RebalancesListing(view, group, now_us, width),
            "events": lambda width: EventLogListing(view, width, subjects),
        }

    def _is_brief(self, group: GroupView) -> bool:
        """Whether a line for each member has to do, because two would fold what else there is to see."""
        members = self.console_app.flight.view.members.values()
        number = sum(1 for member in members if member.group == group.group)
        return 2 + 2 * number > self.board.size.height - OTHERS and not self.board.maximized

    def arrangement(self, width: int) -> Arrangement:
        """On wide screens the group's events stand beside its rebalances."""
        top = [[Place("phase")], [Place("members")], [Place("ownership")]]
        if width >= WIDEST:
            return [*top, [Place("rebalances", 3), Place("events", 2)]]
        return [*top, [Place("rebalances")], [Place("events")]]

    def wish(self, panel: Panel, listing: Listing) -> Wish:
        """The phase keeps its lines; events take what is left."""
        if panel.id == "phase":
            return Wish(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return Wish(ALL_THERE_IS, 3)
        return super().wish(panel, listing)

    def path(self) -> list[str]:
        """One below the overview."""
        return ["overview", self.group]

    def thing(self) -> CommandTarget | None:
        """The selected member, or the group itself."""
        panel = self.console_app.focused_panel()
        if self.group not in self.console_app.flight.view.groups:
            return None
        if panel is not None and panel.id == "members" and panel.selected:
            return CommandTarget("member", panel.selected)
        return CommandTarget("group", self.group)

    def opened(self, panel: str, key: str) -> None:
        """A rebalance that is over has a case file; a member, its fault menu."""
        if panel == "rebalances" and key == NOW:
            self.notify("its case file opens when it is over; panel 1 says how far it is", timeout=3)
        elif panel == "rebalances":
            self.app.push_screen(CaseFileScreen(self.group, key))
        elif panel == "members":
            self.console_app.action_fault()
