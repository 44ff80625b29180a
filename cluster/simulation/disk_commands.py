"""What commands do to a broker's disk: slow it down, fill it."""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.broker.broker import Broker
from cluster.commands import catalogue as c
from cluster.simulation.active_faults import FaultBook, Refused


class Fleet(Protocol):
    """The simulation, as far as its disks go."""

    def process(self, name: str) -> object:
        """A process by its name."""


class DiskOperations:
    """Carries out commands on disks."""

    def __init__(self, fleet: Fleet, book: FaultBook, launch: Callable[[str], object]) -> None:
        self._fleet, self._book, self._launch = fleet, book, launch
        self.handlers: dict[type, Callable[[Any], None]] = {c.SlowDisk: self._slow, c.FillDisk: self._fill}

    def _broker(self, name: str) -> Broker:
        broker = self._fleet.process(name)
        assert isinstance(broker, Broker)
        return broker

    def _slow(self, command: c.SlowDisk) -> None:
        disk, key = self._broker(command.broker).disk, ("slow disk", command.broker)
        if command.to_us:
            self._book.begin(key, command, command.for_us, lambda: disk.slow_down(0))
        elif key in self._book.faults:  # as fast as it ever was
            self._book.over(key)
        else:
            raise Refused(f"the disk of {command.broker} is not slow")
        disk.slow_down(command.to_us)

    def _fill(self, command: c.FillDisk) -> None:
        broker = self._broker(command.broker)
        if broker.disk.full:
            raise Refused(f"the disk of {command.broker} is full already")
        self._book.begin(("full disk", command.broker), command, command.for_us, lambda: self._make_room(broker))
        broker.disk.fill(full=True)

    def _make_room(self, broker: Broker) -> None:
        """There is room again; a broker that halted for want of it is started."""
        halted = broker.halted
        broker.disk.fill(full=False)
        if halted:
            self._launch(broker.name)
