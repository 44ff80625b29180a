"""The rolling restart of brokers: each in turn, by a controlled shutdown, as an operator or its runbook does it.

Theory of operation. The brokers that run are restarted in the order of their numbers, the active controller last, as
Strimzi's KafkaRoller does. The next one is stopped when the last one serves again and, behind the gate, no partition
has fewer in-sync replicas than replicas. That is looked at once a second. A broker that does not run in its turn is
left alone. Source of the gate: `kafka-topics.sh --describe --under-replicated-partitions`.
"""

from typing import Final

from cluster import events as e
from cluster.broker.broker import Broker
from cluster.commands import catalogue as c
from cluster.simulation.active_faults import CommandRefusedError, Handlers
from cluster.simulation.process_commands import ProcessCommands
from cluster.simulation.running_cluster import RunningCluster

BROKERS: Final = "brokers"
LOOK_US: Final = 1_000_000


class BrokerRoll:
    """Executes `rolling restart brokers`; at most one is under way."""

    def __init__(self, cluster: RunningCluster, processes: ProcessCommands) -> None:
        self._cluster, self._processes = cluster, processes
        self._command: c.RollingRestartBrokers | None = None
        self._rolls = 0
        self._left: list[str] = []
        self._last = ""  # the broker that was restarted last, and when
        self._last_us = 0
        self.handlers: Handlers = {c.RollingRestartBrokers: self._begin}

    def _begin(self, command: c.RollingRestartBrokers) -> None:
        if self._command is not None:
            raise CommandRefusedError("a rolling restart of the brokers is under way")
        control = self._cluster.control
        running = [broker for broker in self._cluster.brokers.values() if broker.alive and not broker.stopping]
        if not running:
            raise CommandRefusedError("no broker is running")
        running.sort(key=lambda broker: (broker.id == control.active, broker.id))
        self._left = [broker.name for broker in running]
        self._command, self._last = command, ""
        self._rolls += 1
        names = tuple(self._left)
        self._cluster.emit(
            e.RolloutStarted(
                target=BROKERS,
                workload=BROKERS,
                max_unavailable=1,
                max_surge=0,
                replaced=names,
                ready=tuple(name for name in names if self._serves(name)),
                names=names,
            )
        )
        self._look(self._rolls)

    def end(self) -> None:
        """Restart no further broker. Raises CommandRefusedError if no rolling restart is under way."""
        if self._command is None:
            raise CommandRefusedError("no rolling restart of the brokers is under way")
        self._end("ended")

    def _end(self, how: str) -> None:
        self._command = None
        self._cluster.emit(e.RolloutEnded(target=BROKERS, workload=BROKERS, how=how))

    def _look(self, roll: int) -> None:
        """Restart the next broker if it may be, and look again in a second."""
        if self._command is None or roll != self._rolls:
            return
        if self._may_go_on(self._command):
            if not self._left:
                self._end("complete")
                return
            self._restart(self._left.pop(0), self._command)
        self._cluster.timeline.call_later(LOOK_US, self._look, roll)

    def _may_go_on(self, command: c.RollingRestartBrokers) -> bool:
        now_us = self._cluster.timeline.now_us
        if self._last and not self._serves(self._last):
            return False
        if self._last and self._left and now_us < self._last_us + command.every_us:
            return False
        return not (command.wait_for_isr and self._under_replicated())

    def _restart(self, name: str, command: c.RollingRestartBrokers) -> None:
        broker = self._broker(name)
        if not broker.alive or broker.stopping:
            return
        self._last, self._last_us = name, self._cluster.timeline.now_us
        self._cluster.emit(
            e.RolloutAdvanced(
                target=BROKERS,
                workload=BROKERS,
                stops=(name,),
                starts=(name,),
                replicas=len(self._cluster.brokers),
                max_unavailable=1,
                max_surge=0,
                awaits_isr=command.wait_for_isr,
            )
        )
        self._processes.restart_at(name, self._last_us + command.down_us)

    def _under_replicated(self) -> bool:
        partitions = self._cluster.control.controller.partitions.values()
        return any(len(partition.isr) < partition.replication_factor for partition in partitions)

    def _serves(self, name: str) -> bool:
        """Whether a broker has registered, was let in by the controller, and is not shutting down."""
        broker = self._broker(name)
        up = broker.running and not (broker.starting or broker.stopping)
        return up and broker.id in self._cluster.control.controller.live()

    def _broker(self, name: str) -> Broker:
        process = self._processes.process(name)
        assert isinstance(process, Broker)
        return process
