"""The place of one member: what it is and does, its timers, its partitions, its generations, its events."""

from typing import Self

from console.app_interface import AppInterface
from console.command_line import MEMBER, member_place, partition_place
from console.flight import Flight
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.processes.facts import FactsListing
from console.presenters.processes.member_facts import member_facts
from console.presenters.processes.member_tables import (
    AtCoordinatorListing,
    GenerationsListing,
    MemberTimersListing,
    OwnedListing,
)
from console.screens.flight_screen import WIDEST, FlightScreen, ListFactory
from console.screens.rebalance_details import rebalance_place
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, PanelSlot, SizeHint


class MemberScreen(FlightScreen):
    """Facts, timers, owned partitions, generations and events of one member."""

    AUTO_FOCUS = "#partitions"
    help = "a member's timers, partitions, generations, commits"

    def __init__(self, member: str, group: str) -> None:
        self.shown, self.place, self.above = member, member_place(member), group
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of `member billing-3`."""
        name = place.removeprefix(MEMBER)
        group = _group_of(app.flight, name)
        return cls(name, group) if place.startswith(MEMBER) and group else None

    def panels(self) -> list[Panel]:
        """Five panels, and one for a member of a group of the new protocol."""
        names = ("facts", "timers", "partitions", "generations", "events", "coordinator")
        panels = [Panel(number, name) for number, name in enumerate(names, 1)]
        panels[-1].display = False
        return panels

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view; no listing before the member is declared."""
        view, now_us, name = flight.view, flight.now_us, self.shown
        member = view.members.get(name)
        if member is None or member.group not in view.groups:
            return {}
        group = view.groups[member.group]
        panel = self.board.panels["coordinator"]
        if panel.display != (group.consumer is not None):
            panel.display = group.consumer is not None
        return {
            "facts": lambda width: FactsListing(member_facts(view, member, now_us), width, f"member {name}"),
            "timers": lambda width: MemberTimersListing(view, group, name, now_us, width),
            "partitions": lambda width: OwnedListing(view, group, member, now_us, width),
            "generations": lambda width: GenerationsListing(view, group, member, now_us, width),
            "events": lambda width: EventLogListing(view, width, {name}, self.unfolded),
            "coordinator": lambda width: AtCoordinatorListing(view, group, member, now_us, width),
        }

    def arrangement(self, width: int) -> Arrangement:
        """What the coordinator keeps is below the timers; on wide terminals events are beside generations."""
        names = ("facts", "timers", "coordinator", "partitions")
        top = [[PanelSlot(name)] for name in names if self.board.panels[name].display]
        if width >= WIDEST:
            return [*top, [PanelSlot("generations", 3), PanelSlot("events", 2)]]
        return [*top, [PanelSlot("generations")], [PanelSlot("events")]]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """Facts and timers are firm: a low terminal shows the first facts. The events take the remaining lines."""
        if panel.id in {"facts", "timers"}:
            return SizeHint(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def path(self) -> list[str]:
        """Its group is above the member."""
        return ["overview", self.above, self.shown]

    def selected_target(self) -> CommandTarget | None:
        """The selected partition, else the member."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if panel is not None and panel.id == "partitions" and panel.selected in view.partitions:
            return CommandTarget("partition", panel.selected)
        return CommandTarget("member", self.shown) if self.shown in view.members else None

    def opened(self, panel: str, key: str) -> None:
        """Open the group, a partition, or the rebalance of a generation."""
        view, app = self.console_app.flight.view, self.console_app
        member = view.members.get(self.shown)
        if member is None:
            return
        if panel == "facts":
            facts = member_facts(view, member, app.flight.now_us)
            app.follow(next(one.opens for one in facts if one.label == key and one.opens is not None))
        elif panel == "partitions":
            app.go(partition_place(key))
        elif panel == "generations":
            stays = view.lives.members[self.shown].stays
            number = next((one.generation for one in stays if str(one.joined_us) == key), -1)
            found = [one.key for one in view.groups[member.group].rebalances if one.generation == number]
            if found:
                app.go(rebalance_place(member.group, found[-1]))


def _group_of(flight: Flight, name: str) -> str:
    """The group of a member, declared or to be declared; empty for any other name."""
    member = flight.view.members.get(name)
    if member is not None:
        return member.group
    return next((group for group, names in flight.names().groups.items() if name in names), "")
