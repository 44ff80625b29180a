"""Commands on a broker's disk: slow it down, fill it."""

from collections.abc import Callable

from cluster.broker.broker import Broker
from cluster.commands import catalogue as c
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, Handlers
from cluster.simulation.running_cluster import RunningCluster


class DiskCommands:
    """Executes commands on disks; `launch` starts a process that does not run."""

    def __init__(self, cluster: RunningCluster, active: ActiveFaults, launch: Callable[[str], object]) -> None:
        self._cluster, self._active, self._launch = cluster, active, launch
        self.handlers: Handlers = {c.SlowDisk: self._slow, c.FillDisk: self._fill}

    def _broker(self, name: str) -> Broker:
        broker = self._cluster.process(name)
        assert isinstance(broker, Broker)
        return broker

    def _slow(self, command: c.SlowDisk) -> None:
        disk, key = self._broker(command.broker).disk, ("slow disk", command.broker)
        if command.to_us:
            self._active.start(key, command, command.for_us, lambda: disk.slow_down(0))
        elif key in self._active.faults:  # 0: the disk is as fast as before the fault
            self._active.forget(key)
        else:
            raise CommandRefusedError(f"the disk of {command.broker} is not slow")
        disk.slow_down(command.to_us)

    def _fill(self, command: c.FillDisk) -> None:
        broker = self._broker(command.broker)
        if broker.disk.full:
            raise CommandRefusedError(f"the disk of {command.broker} is full already")
        self._active.start(("full disk", command.broker), command, command.for_us, lambda: self._make_room(broker))
        broker.disk.fill(full=True)

    def _make_room(self, broker: Broker) -> None:
        """Free the disk, and start the broker if it halted because the disk was full."""
        halted = broker.halted
        broker.disk.fill(full=False)
        if halted:
            self._launch(broker.name)
