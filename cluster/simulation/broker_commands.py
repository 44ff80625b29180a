"""Commands on brokers, leaderships and logs: crash, elections, the controller, coordinators, log starts."""

from collections.abc import Callable

from cluster.broker.broker import Broker
from cluster.broker.controller_channel import NO_CONTROLLER, ControllerChannel
from cluster.commands import catalogue as c
from cluster.controller.controller import RequestRefused
from cluster.controller.elections import ElectionKind
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, Handlers
from cluster.simulation.process_commands import ProcessCommands
from cluster.simulation.running_cluster import RunningCluster
from cluster.spec import MOST_PARTITIONS, TopicRefusedError, admitted_topic


class BrokerCommands:
    """Executes commands on brokers and partitions."""

    def __init__(self, cluster: RunningCluster, active: ActiveFaults, processes: ProcessCommands) -> None:
        self._cluster, self._active, self._processes = cluster, active, processes
        self.handlers: Handlers = {
            c.Crash: self._crash,
            c.Elect: self._elect,
            c.FailOverController: self._fail_over_controller,
            c.MoveCoordinator: self._move_coordinator,
            c.DeleteRecords: self._delete_records,
            c.AddPartitions: self._add_partitions,
            c.CreateTopic: self._create_topic,
            c.Reassign: self._reassign,
            c.CancelReassignment: self._cancel_reassignment,
        }

    def _crash(self, command: c.Crash) -> None:
        processes, name = self._processes, command.broker
        broker = processes.running_process(name)
        assert isinstance(broker, Broker)
        processes.clear_faults(name)
        broker.end("crash")
        self._active.start(("down", name), command, command.for_us, lambda: processes.launch(name))

    # --- requests of an administrator to the controller ---------------------------------------------------------------

    def _control(self) -> ControllerChannel:
        control = self._cluster.control
        if control.active == NO_CONTROLLER:
            raise CommandRefusedError("there is no active controller")
        return control

    def _change_and_publish(self, partition: str, change: Callable[[], None]) -> None:
        """Let the controller change a partition, and send its metadata to the brokers."""
        control = self._control()
        try:
            change()
        except RequestRefused as reason:
            raise CommandRefusedError(str(reason)) from reason
        control.publish([partition])

    def _elect(self, command: c.Elect) -> None:
        kind: ElectionKind = "PREFERRED" if command.kind == "preferred" else "UNCLEAN"
        name = f"{command.topic}-{command.partition}"
        self._change_and_publish(name, lambda: self._cluster.control.controller.elect_leader(kind, name))

    def _fail_over_controller(self, _: c.FailOverController) -> None:
        if not self._control().fail_over():
            raise CommandRefusedError("no other broker is running")

    def _move_coordinator(self, command: c.MoveCoordinator) -> None:
        name = self._cluster.view.groups[command.group].coordinator_partition
        self._change_and_publish(name, lambda: self._cluster.control.controller.move_leader(name))

    def _delete_records(self, command: c.DeleteRecords) -> None:
        """DeleteRecords (API 21), sent to the partition's leader."""
        name = f"{command.topic}-{command.partition}"
        control = self._control()
        leader = control.brokers.get(control.controller.partitions[name].leader)
        replica = leader.replicas.get(name) if leader is not None and leader.running else None
        if replica is None or not replica.is_leader:
            raise CommandRefusedError(f"LEADER_NOT_AVAILABLE: {name} has no leader")
        if command.before > replica.high_watermark:
            raise CommandRefusedError(f"OFFSET_OUT_OF_RANGE: the high watermark of {name} is {replica.high_watermark}")
        replica.advance_log_start(command.before, "delete records")

    def _add_partitions(self, command: c.AddPartitions) -> None:
        """CreatePartitions (API 37)."""
        control = self._control()
        known = self._cluster.topics[command.topic]
        if command.to <= known:
            raise CommandRefusedError(f"INVALID_PARTITIONS: {command.topic} has {known} partitions already")
        if command.to > MOST_PARTITIONS:
            raise CommandRefusedError(f"a topic has at most {MOST_PARTITIONS:,} partitions here")
        control.publish(self._cluster.add_partitions(command.topic, command.to, command.assignment))

    def _reassign(self, command: c.Reassign) -> None:
        """AlterPartitionReassignments (API 45)."""
        name, controller = f"{command.topic}-{command.partition}", self._cluster.control.controller
        self._change_and_publish(name, lambda: controller.reassign(name, command.replicas))

    def _cancel_reassignment(self, command: c.CancelReassignment) -> None:
        name, controller = f"{command.topic}-{command.partition}", self._cluster.control.controller
        self._change_and_publish(name, lambda: controller.cancel_reassignment(name))

    def _create_topic(self, command: c.CreateTopic) -> None:
        """CreateTopics (API 19)."""
        control, cluster = self._control(), self._cluster
        if command.if_not_exists and command.topic in cluster.topics:
            return
        try:
            topic = admitted_topic(cluster.spec, command, cluster.topics)
        except TopicRefusedError as refusal:
            raise CommandRefusedError(str(refusal)) from refusal
        control.publish(cluster.create_topic(topic))
