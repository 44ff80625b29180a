"""What commands do to brokers, leaderships and logs: crash, elections, the controller, coordinators' places."""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.broker.broker import Broker
from cluster.broker.controller_channel import NO_CONTROLLER, ControllerChannel
from cluster.commands import catalogue as c
from cluster.controller.controller import NotElected
from cluster.controller.elections import ElectionKind
from cluster.simulation.active_faults import Refused
from cluster.spec import MOST_PARTITIONS
from cluster.view import ClusterView


class Cluster(Protocol):
    """What these commands act on: the simulation, as far as they need it."""

    control: ControllerChannel
    topics: dict[str, int]

    def add_partitions(self, topic: str, to: int) -> list[str]:
        """Give a topic more partitions; returns their names."""

    @property
    def view(self) -> ClusterView:
        """What the events so far add up to."""


class BrokerOperations:
    """Carries them out; the functions are those of `Operations`, which keeps the books of faults."""

    def __init__(
        self,
        simulation: Cluster,
        *,
        living: Callable[[str], object],
        mended: Callable[[str], object],
        injure: Callable[[tuple[str, ...], c.Command, int | None, Callable[[], object]], object],
        launch: Callable[[str], object],
    ) -> None:
        self._simulation = simulation
        self._living, self._mended, self._injure, self._launch = living, mended, injure, launch
        self.handlers: dict[type, Callable[[Any], None]] = {
            c.Crash: self._crash,
            c.Elect: self._elect,
            c.FailOverController: self._fail_over_controller,
            c.MoveCoordinator: self._move_coordinator,
            c.DeleteRecords: self._delete_records,
            c.AddPartitions: self._add_partitions,
        }

    def _crash(self, command: c.Crash) -> None:
        broker = self._living(command.broker)
        assert isinstance(broker, Broker)
        self._mended(command.broker)
        broker.end("crash")
        self._injure(("down", command.broker), command, command.for_us, lambda: self._launch(command.broker))

    # --- what an administrator asks of the controller -----------------------------------------------------------------

    def _control(self) -> ControllerChannel:
        control = self._simulation.control
        if control.active == NO_CONTROLLER:
            raise Refused("there is no active controller")
        return control

    def _decided(self, partition: str, decide: Callable[[], None]) -> None:
        """Let the controller decide about a partition, and tell the brokers."""
        control = self._control()
        try:
            decide()
        except NotElected as reason:
            raise Refused(str(reason)) from reason
        control.publish([partition])

    def _elect(self, command: c.Elect) -> None:
        kind: ElectionKind = "PREFERRED" if command.kind == "preferred" else "UNCLEAN"
        name = f"{command.topic}-{command.partition}"
        self._decided(name, lambda: self._simulation.control.controller.elect_leader(kind, name))

    def _fail_over_controller(self, _: c.FailOverController) -> None:
        if not self._control().fail_over():
            raise Refused("no other broker is running")

    def _move_coordinator(self, command: c.MoveCoordinator) -> None:
        name = self._simulation.view.groups[command.group].coordinator_partition
        self._decided(name, lambda: self._simulation.control.controller.move_leader(name))

    def _delete_records(self, command: c.DeleteRecords) -> None:
        """DeleteRecords (API 21), asked of the leader."""
        name = f"{command.topic}-{command.partition}"
        control = self._control()
        leader = control.brokers.get(control.controller.partitions[name].leader)
        replica = leader.replicas[name] if leader is not None and leader.running else None
        if replica is None or not replica.is_leader:
            raise Refused(f"LEADER_NOT_AVAILABLE: nobody leads {name}")
        if command.before > replica.high_watermark:
            raise Refused(f"OFFSET_OUT_OF_RANGE: the high watermark of {name} is {replica.high_watermark}")
        replica.advance_log_start(command.before, "delete records")

    def _add_partitions(self, command: c.AddPartitions) -> None:
        """CreatePartitions (API 37)."""
        control = self._control()
        known = self._simulation.topics[command.topic]
        if command.to <= known:
            raise Refused(f"INVALID_PARTITIONS: {command.topic} has {known} partitions already")
        if command.to > MOST_PARTITIONS:
            raise Refused(f"a topic has at most {MOST_PARTITIONS:,} partitions here")
        control.publish(self._simulation.add_partitions(command.topic, command.to))
