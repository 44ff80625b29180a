"""Commands on links: cut, isolate, hold, slow, lose responses; heal and release undo them.

Each command is a fault of its own. Several faults on one link end independently. The same command on the same link
again takes the place of the first. `heal A B` ends the faults of that link alone; `heal` ends those of every link.
"""

from collections.abc import Callable

from cluster.commands import catalogue as c
from cluster.network import Action, InFlightRequest, LinkCut, LinkDelay, LinkFault, LinkHold, LinkSelector
from cluster.protocol.api import Request
from cluster.protocol.api_table import API_BY_NAME
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, FaultKey, Handlers
from cluster.simulation.running_cluster import RunningCluster


class LostResponses(LinkFault):
    """The next `left` responses to one kind of request are lost with the connection that carries them.

    TCP loses no byte of a connection that stays up. A response is lost when the connection breaks after the broker
    executed the request. The client sees a disconnect.
    """

    diverts = True

    def __init__(
        self, selectors: tuple[LinkSelector, ...], request: type[Request], left: int, exhausted: Callable[[], object]
    ) -> None:
        super().__init__(selectors)
        self._request, self.left, self._exhausted = request, left, exhausted

    def divert(self, action: Action, argument: object) -> tuple[Action, object]:
        """Reset the connection instead of delivering a response that the client still waits for."""
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


class LinkCommands:
    """Executes commands on links."""

    def __init__(self, cluster: RunningCluster, active: ActiveFaults) -> None:
        self._network, self._active = cluster.network, active
        self._faults: dict[FaultKey, LinkFault] = {}
        self.handlers: Handlers = {
            c.Cut: self._cut,
            c.Heal: self._heal,
            c.Hold: self._hold,
            c.Release: self._release,
            c.SlowLink: self._slow,
            c.Isolate: self._isolate,
            c.LoseResponses: self._lose,
        }

    def _start_fault(self, key: FaultKey, command: c.Command, for_us: int | None, fault: LinkFault) -> None:
        if any(selector.source == selector.target for selector in fault.selectors):
            raise CommandRefusedError("a process has no link to itself")
        self._active.start(key, command, for_us, lambda: self._revert(key))
        self._faults[key] = fault
        self._network.inject("/".join(key), fault)

    def _revert(self, key: FaultKey) -> None:
        self._active.forget(key)
        del self._faults[key]
        self._network.clear("/".join(key))

    def _cut(self, command: c.Cut) -> None:
        if command.one_way:
            key: FaultKey = ("cut one way", command.a, command.b)
            self._start_fault(key, command, command.for_us, LinkCut((LinkSelector(command.a, command.b),)))
        else:
            key = ("cut", *sorted((command.a, command.b)))
            self._start_fault(key, command, command.for_us, LinkCut(both_ways(command.a, command.b)))

    def _isolate(self, command: c.Isolate) -> None:
        selectors = LinkSelector(command.broker, None), LinkSelector(None, command.broker)
        self._start_fault(("isolate", command.broker), command, command.for_us, LinkCut(selectors))

    def _hold(self, command: c.Hold) -> None:
        key = ("hold", *sorted((command.a, command.b)))
        self._start_fault(key, command, command.for_us, LinkHold(both_ways(command.a, command.b)))

    def _release(self, command: c.Release) -> None:
        key = ("hold", *sorted((command.a, command.b)))
        if key not in self._faults:
            raise CommandRefusedError(f"nothing is held between {command.a} and {command.b}")
        self._revert(key)

    def _slow(self, command: c.SlowLink) -> None:
        key = ("slow link", *sorted((command.a, command.b)))
        self._start_fault(key, command, command.for_us, LinkDelay(both_ways(command.a, command.b), command.to_us))

    def _lose(self, command: c.LoseResponses) -> None:
        api = API_BY_NAME[command.api]
        key = ("lose", command.broker, command.client or "any client", command.api)
        selectors = (LinkSelector(command.broker, command.client),)
        fault = LostResponses(selectors, api.request, command.count, lambda: self._revert(key))
        self._start_fault(key, command, None, fault)

    def _heal(self, command: c.Heal) -> None:
        if command.a is None or command.b is None:
            keys = list(self._faults)
        else:
            between = both_ways(command.a, command.b)
            keys = [
                key for key, fault in self._faults.items() if all(selector in between for selector in fault.selectors)
            ]
            if not keys:
                self._refuse_part_of_a_fault(command.a, command.b)
        if not keys:
            raise CommandRefusedError("no such link fault is in force")
        for key in keys:
            self._revert(key)

    def _refuse_part_of_a_fault(self, first: str, second: str) -> None:
        """An isolation ends as a whole: one link of it could heal without an event that says so."""
        for key, fault in self._faults.items():
            if fault.covers(first, second) or fault.covers(second, first):
                text = self._active.faults[key].text
                raise CommandRefusedError(f"{text!r} is not of this link alone; 'heal' ends it, with every link fault")
