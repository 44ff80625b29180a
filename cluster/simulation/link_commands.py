"""What commands do to the network: cut, isolate, hold, slow, lose responses – and what undoes them.

Each is a fault of its own: several on one link end each at its time. The same command at the same place again takes the
place of the first.
"""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.commands import catalogue as c
from cluster.network import Action, Call, Cut, Hold, Injury, Network, Place, Slow
from cluster.protocol import messages, transaction_messages
from cluster.protocol.messages import Request
from cluster.simulation.active_faults import FaultBook, FaultKey, Refused


class Fleet(Protocol):
    """The simulation, as far as its links go."""

    network: Network


class LostResponses(Injury):
    """The next `left` responses to one kind of request are lost with the connection that carries them.

    TCP loses nothing inside a living connection: an answer is lost when the connection breaks after the broker did what
    it was asked for. The client sees a disconnect.
    """

    diverts = True

    def __init__(
        self, places: tuple[Place, ...], request: type[Request], left: int, exhausted: Callable[[], object]
    ) -> None:
        super().__init__(places)
        self._request, self.left, self._exhausted = request, left, exhausted

    def divert(self, action: Action, argument: object) -> tuple[Action, object]:
        """A response that somebody waits for becomes the end of its connection."""
        if self.left == 0 or not isinstance(argument, Call) or argument.response is None or argument.done:
            return action, argument
        if not isinstance(argument.request, self._request):
            return action, argument
        self.left -= 1
        if self.left == 0:
            self._exhausted()
        return argument.connection.reset, None


def both_ways(first: str, second: str) -> tuple[Place, ...]:
    """The two directions between two processes."""
    return Place(first, second), Place(second, first)


class LinkOperations:
    """Carries out commands on links."""

    def __init__(self, fleet: Fleet, book: FaultBook) -> None:
        self._fleet, self._book = fleet, book
        self._injuries: dict[FaultKey, Injury] = {}
        self.handlers: dict[type, Callable[[Any], None]] = {
            c.Cut: self._cut,
            c.Heal: self._heal,
            c.Hold: self._hold,
            c.Release: self._release,
            c.SlowLink: self._slow,
            c.Isolate: self._isolate,
            c.LoseResponses: self._lose,
        }

    def _injure(self, key: FaultKey, command: c.Command, for_us: int | None, injury: Injury) -> None:
        if any(place.source == place.target for place in injury.places):
            raise Refused("a process has no link to itself")
        self._book.begin(key, command, for_us, lambda: self._mend(key))
        self._injuries[key] = injury
        self._fleet.network.injure("/".join(key), injury)

    def _mend(self, key: FaultKey) -> None:
        self._book.over(key)
        del self._injuries[key]
        self._fleet.network.mend("/".join(key))

    def _cut(self, command: c.Cut) -> None:
        if command.one_way:
            key: FaultKey = ("cut one way", command.a, command.b)
            self._injure(key, command, command.for_us, Cut((Place(command.a, command.b),)))
        else:
            key = ("cut", *sorted((command.a, command.b)))
            self._injure(key, command, command.for_us, Cut(both_ways(command.a, command.b)))

    def _isolate(self, command: c.Isolate) -> None:
        places = Place(command.broker, None), Place(None, command.broker)
        self._injure(("isolate", command.broker), command, command.for_us, Cut(places))

    def _hold(self, command: c.Hold) -> None:
        key = ("hold", *sorted((command.a, command.b)))
        self._injure(key, command, command.for_us, Hold(both_ways(command.a, command.b)))

    def _release(self, command: c.Release) -> None:
        key = ("hold", *sorted((command.a, command.b)))
        if key not in self._injuries:
            raise Refused(f"nothing is held between {command.a} and {command.b}")
        self._mend(key)

    def _slow(self, command: c.SlowLink) -> None:
        key = ("slow link", *sorted((command.a, command.b)))
        self._injure(key, command, command.for_us, Slow(both_ways(command.a, command.b), command.to_us))

    def _lose(self, command: c.LoseResponses) -> None:
        name = f"{command.api}Request"
        request = getattr(messages, name, None) or getattr(transaction_messages, name, None)
        if request is None:
            raise Refused(f"nobody sends {command.api} yet")
        key = ("lose", command.broker, command.client or "anybody", command.api)
        places = (Place(command.broker, command.client),)
        self._injure(key, command, None, LostResponses(places, request, command.count, lambda: self._mend(key)))

    def _heal(self, command: c.Heal) -> None:
        if command.a is None or command.b is None:
            keys = list(self._injuries)
        else:
            between = both_ways(command.a, command.b)
            keys = [key for key, injury in self._injuries.items() if all(place in between for place in injury.places)]
        for key in keys:
            self._mend(key)
        healed = bool(keys)
        if command.a is not None and command.b is not None:  # what an isolation did here, say
            healed = self._fleet.network.spare(command.a, command.b) or healed
        if not healed:
            raise Refused("no such link is injured")
