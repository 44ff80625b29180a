"""What commands do to the network: cut, isolate, hold, slow, lose responses – and what undoes them.

Each is a fault of its own: several on one link end each at its time. The same command at the same place again takes the
place of the first.
"""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.commands import catalogue as c
from cluster.network import Action, InFlightRequest, LinkCut, LinkDelay, LinkFault, LinkHold, LinkSelector, Network
from cluster.protocol.api import Request
from cluster.protocol.api_table import API_BY_NAME
from cluster.simulation.active_faults import FaultBook, FaultKey, Refused


class Fleet(Protocol):
    """The simulation, as far as its links go."""

    network: Network


class LostResponses(LinkFault):
    """The next `left` responses to one kind of request are lost with the connection that carries them.

    TCP loses nothing inside a living connection: an answer is lost when the connection breaks after the broker did what
    it was asked for. The client sees a disconnect.
    """

    diverts = True

    def __init__(
        self, selectors: tuple[LinkSelector, ...], request: type[Request], left: int, exhausted: Callable[[], object]
    ) -> None:
        super().__init__(selectors)
        self._request, self.left, self._exhausted = request, left, exhausted

    def divert(self, action: Action, argument: object) -> tuple[Action, object]:
        """A response that somebody waits for becomes the end of its connection."""
        if (
            self.left == 0
            or not isinstance(argument, InFlightRequest)
            or argument.response is None
            or argument.completed
        ):
            return action, argument
        if not isinstance(argument.request, self._request):
            return action, argument
        self.left -= 1
        if self.left == 0:
            self._exhausted()
        return argument.connection.reset, None


def both_ways(first: str, second: str) -> tuple[LinkSelector, ...]:
    """The two directions between two processes."""
    return LinkSelector(first, second), LinkSelector(second, first)


class LinkOperations:
    """Carries out commands on links."""

    def __init__(self, fleet: Fleet, book: FaultBook) -> None:
        self._fleet, self._book = fleet, book
        self._faults: dict[FaultKey, LinkFault] = {}
        self.handlers: dict[type, Callable[[Any], None]] = {
            c.Cut: self._cut,
            c.Heal: self._heal,
            c.Hold: self._hold,
            c.Release: self._release,
            c.SlowLink: self._slow,
            c.Isolate: self._isolate,
            c.LoseResponses: self._lose,
        }

    def _injure(self, key: FaultKey, command: c.Command, for_us: int | None, fault: LinkFault) -> None:
        if any(selector.source == selector.target for selector in fault.selectors):
            raise Refused("a process has no link to itself")
        self._book.begin(key, command, for_us, lambda: self._mend(key))
        self._faults[key] = fault
        self._fleet.network.inject("/".join(key), fault)

    def _mend(self, key: FaultKey) -> None:
        self._book.over(key)
        del self._faults[key]
        self._fleet.network.clear("/".join(key))

    def _cut(self, command: c.Cut) -> None:
        if command.one_way:
            key: FaultKey = ("cut one way", command.a, command.b)
            self._injure(key, command, command.for_us, LinkCut((LinkSelector(command.a, command.b),)))
        else:
            key = ("cut", *sorted((command.a, command.b)))
            self._injure(key, command, command.for_us, LinkCut(both_ways(command.a, command.b)))

    def _isolate(self, command: c.Isolate) -> None:
        selectors = LinkSelector(command.broker, None), LinkSelector(None, command.broker)
        self._injure(("isolate", command.broker), command, command.for_us, LinkCut(selectors))

    def _hold(self, command: c.Hold) -> None:
        key = ("hold", *sorted((command.a, command.b)))
        self._injure(key, command, command.for_us, LinkHold(both_ways(command.a, command.b)))

    def _release(self, command: c.Release) -> None:
        key = ("hold", *sorted((command.a, command.b)))
        if key not in self._faults:
            raise Refused(f"nothing is held between {command.a} and {command.b}")
        self._mend(key)

    def _slow(self, command: c.SlowLink) -> None:
        key = ("slow link", *sorted((command.a, command.b)))
        self._injure(key, command, command.for_us, LinkDelay(both_ways(command.a, command.b), command.to_us))

    def _lose(self, command: c.LoseResponses) -> None:
        api = API_BY_NAME.get(command.api)
        if api is None:
            raise Refused(f"nobody sends {command.api} yet")
        key = ("lose", command.broker, command.client or "anybody", command.api)
        selectors = (LinkSelector(command.broker, command.client),)
        self._injure(key, command, None, LostResponses(selectors, api.request, command.count, lambda: self._mend(key)))

    def _heal(self, command: c.Heal) -> None:
        if command.a is None or command.b is None:
            keys = list(self._faults)
        else:
            between = both_ways(command.a, command.b)
            keys = [
                key for key, fault in self._faults.items() if all(selector in between for selector in fault.selectors)
            ]
        for key in keys:
            self._mend(key)
        healed = bool(keys)
        if command.a is not None and command.b is not None:  # what an isolation did here, say
            healed = self._fleet.network.clear_between(command.a, command.b) or healed
        if not healed:
            raise Refused("no such link is injured")
