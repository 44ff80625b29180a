"""The place of a conversation: requests and answers between processes as a sequence diagram."""

from collections.abc import Sequence
from typing import Self

from console.app_interface import AppInterface
from console.command_line import CONVERSATION
from console.flight import ONLY_RECORDED, Flight
from console.presenters.conversations.followed import FollowedConversation
from console.presenters.conversations.listing import ConversationListing, MessageListing
from console.presenters.conversations.messages import producer_id_name
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.transactions import transaction_of
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint


class ConversationScreen(FlightScreen):
    """The messages of the chosen processes, and the event behind the selected one."""

    AUTO_FOCUS = "#messages"
    place, key, help = CONVERSATION, "V", "requests and answers of the selection, as a sequence diagram"

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        self.place = " ".join((CONVERSATION, *self.names))
        self.shown = ConversationListing({}, (), 0)
        self._followed, self._newest = FollowedConversation(), ""
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The conversation of `conversation A B`; without names that of the selected process or group."""
        word, *names = place.split(" ")
        if word != CONVERSATION:
            return None
        return cls(names or _selected(app.selected_target(), app.flight))

    def panels(self) -> list[Panel]:
        """The messages, and the event of the selected one."""
        return [Panel(1, "messages"), Panel(2, "event")]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the messages up to the shown instant; the newest is followed while it is selected."""
        return {"messages": lambda width: self._messages(flight, width), "event": self._event}

    def _messages(self, flight: Flight, width: int) -> ConversationListing:
        names = _with_producer_ids(self.names, flight)
        messages = self._followed.messages(flight.source.newest().conversation, names)
        listing = ConversationListing(messages, names, width)
        panel = self.board.panels["messages"]
        self.shown = listing
        newest = self._followed.newest
        if panel.selected in {"", self._newest} or panel.selected not in listing.messages:
            panel.selected = newest
        self._newest = newest
        return listing

    def _event(self, width: int) -> MessageListing:
        return MessageListing(self.shown.messages.get(self.board.panels["messages"].selected), width)

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The messages take the remaining lines."""
        if panel.id == "messages":
            return SizeHint(ALL_THERE_IS, 3)
        return SizeHint(panel.wanted_height(listing), firm=True)

    def path(self) -> list[str]:
        """The names are below the conversation."""
        return ["overview", CONVERSATION, *([" ".join(self.names)] if self.names else [])]

    def selected_target(self) -> CommandTarget | None:
        """The first of the processes that is a member or producer."""
        view = self.console_app.flight.view
        for name in self.names:
            if name in view.members or name in view.producers:
                return CommandTarget("member" if name in view.members else "producer", name)
        return None

    def opened(self, panel: str, key: str) -> None:
        """Go to the instant of a message in a recording."""
        if panel == "messages" and key in self.shown.messages:
            seekable, at_us = self.console_app.flight.seekable, self.shown.messages[key].event.at_us
            self.console_app.warn(ONLY_RECORDED if seekable is None else seekable.seek(at_us))


def _selected(target: CommandTarget | None, flight: Flight) -> list[str]:
    """The names of a selected member, producer (with its transactional id) or group (with its members)."""
    view = flight.view
    if target is None:
        return []
    if target.kind == "group":
        return [member.member for member in view.members.values() if member.group == target.name]
    if target.kind == "producer" and target.name in view.producers:
        one = transaction_of(view, view.producers[target.name].producer_id)
        return list(dict.fromkeys([target.name, *([one.transactional_id] if one is not None else [])]))
    return [target.name] if target.kind == "member" else []


def _with_producer_ids(names: Sequence[str], flight: Flight) -> list[str]:
    """The names, and the producer ids that their transactional ids have now: markers name nothing else."""
    found = (flight.view.transactions.get(name) for name in names)
    return [*names, *(producer_id_name(one.producer_id) for one in found if one is not None)]
