"""The screen of one topic: its load, its partitions, who reads them, its configuration, its events."""

from typing import Self

from console.app_interface import AppInterface
from console.command_line import TOPIC, member_place, partition_place, topic_place
from console.flight import Flight
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.topology.topic_configuration import ConfigurationListing
from console.presenters.topology.topics import OF, TopicListing, TopicPartitionsListing, TopicReadersListing
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint


class TopicScreen(FlightScreen):
    """Load, partitions, readers, configuration and events of one topic."""

    AUTO_FOCUS = "#partitions"
    help = "a topic's partitions, readers, load, configuration"

    def __init__(self, topic: str) -> None:
        self.topic, self.place = topic, topic_place(topic)
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of `topic orders`."""
        name = place.removeprefix(TOPIC)
        known = name in app.flight.view.topics or name in app.flight.names().topics
        return cls(name) if place.startswith(TOPIC) and known else None

    def panels(self) -> list[Panel]:
        """Five panels."""
        names = ("topic", "partitions", "readers", "configuration", "events")
        return [Panel(number, name) for number, name in enumerate(names, 1)]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view; no listing before the topic exists."""
        view, spec = flight.view, flight.source.spec
        topic = view.topics.get(self.topic)
        if topic is None:
            return {}
        subjects = {self.topic, *view.partitions_by_topic.get(self.topic, ())}
        return {
            "topic": lambda width: TopicListing(view, topic, flight.now_us, width),
            "partitions": lambda width: TopicPartitionsListing(view, topic, width),
            "readers": lambda width: TopicReadersListing(view, topic, width),
            "configuration": lambda width: ConfigurationListing(view, topic, spec, width),
            "events": lambda width: EventLogListing(view, width, subjects, self.unfolded),
        }

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The sum is firm; the events take the remaining lines."""
        if panel.id == "topic":
            return SizeHint(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def path(self) -> list[str]:
        """Below the overview."""
        return ["overview", self.topic]

    def selected_target(self) -> CommandTarget | None:
        """The selected partition, group or owner, else the topic."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if self.topic not in view.topics:
            return None
        if panel is not None and panel.id == "partitions" and panel.selected in view.partitions:
            return CommandTarget("partition", panel.selected)
        if panel is not None and panel.id == "readers" and panel.selected:
            group, _, member = panel.selected.partition(OF)
            return CommandTarget("member", member) if member else CommandTarget("group", group)
        return CommandTarget("topic", self.topic)

    def opened(self, panel: str, key: str) -> None:
        """Open a partition, a group, an owner; a key of the configuration opens the line that changes it."""
        if panel == "partitions":
            self.console_app.go(partition_place(key))
        elif panel == "readers":
            group, _, member = key.partition(OF)
            self.console_app.go(member_place(member) if member else group)
        elif panel == "configuration":
            self.console_app.open_line(":", f"set {self.topic} {key} ")
