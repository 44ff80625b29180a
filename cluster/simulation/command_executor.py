"""Executes commands: one table of handlers, made of the tables of the command modules.

A command that is impossible when its turn comes changes nothing. It is emitted as `command_refused`, so that a rerun
emits the same.
"""

from cluster import events as e
from cluster.commands import Command, CommandError, check, text_of
from cluster.commands import catalogue as c
from cluster.simulation.active_faults import ActiveFault, ActiveFaults, CommandRefusedError, FaultKey, Handlers
from cluster.simulation.autoscalers import Autoscalers
from cluster.simulation.broker_commands import BrokerCommands
from cluster.simulation.broker_roll import BROKERS, BrokerRoll
from cluster.simulation.disk_commands import DiskCommands
from cluster.simulation.group_commands import GroupCommands
from cluster.simulation.link_commands import LinkCommands
from cluster.simulation.nemesis import NemesisSchedule
from cluster.simulation.offset_commands import OffsetCommands
from cluster.simulation.partition_pauses import PartitionPauses
from cluster.simulation.process_commands import ProcessCommands
from cluster.simulation.rollouts import Rollouts
from cluster.simulation.running_cluster import RunningCluster
from cluster.simulation.transaction_commands import TransactionCommands


class CommandExecutor:
    """Executes commands on a running cluster."""

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        self._active = active = ActiveFaults(cluster.timeline, cluster.emit)
        processes = ProcessCommands(cluster, active)
        self.crashed = processes.crashed
        rollouts = Rollouts(cluster, active, processes)
        self.pod_changed = rollouts.pod_changed
        pauses = PartitionPauses(active, processes)
        self.partitions_resumed = pauses.resumed
        broker_roll = BrokerRoll(cluster, processes)
        groups = GroupCommands(cluster, active, processes, rollouts)
        self.start_autoscalers = Autoscalers(cluster, groups.replicas).start

        def end_rollout(command: c.EndRollout) -> None:
            if command.of == BROKERS:
                broker_roll.end()
            else:
                rollouts.end(command.of)

        self._handlers: Handlers = {
            c.Mark: lambda _: None,
            **processes.handlers,
            **pauses.handlers,
            **groups.handlers,
            **rollouts.handlers,
            **broker_roll.handlers,
            c.EndRollout: end_rollout,
            **BrokerCommands(cluster, active, processes).handlers,
            **LinkCommands(cluster, active).handlers,
            **OffsetCommands(cluster).handlers,
            **TransactionCommands(cluster, active).handlers,
            **DiskCommands(cluster, active, processes.launch).handlers,
            **NemesisSchedule(cluster, active).handlers,
        }

    def execute(self, command: Command) -> None:
        """Execute a command now, or emit why it is refused."""
        try:
            check(command, self._cluster.names())
            handler = self._handlers.get(type(command))
            if handler is None:
                raise CommandRefusedError("it is not built yet")
            handler(command)
        except (CommandRefusedError, CommandError) as refusal:
            self._cluster.emit(e.CommandRefused(text=text_of(command), reason=str(refusal)))

    @property
    def faults(self) -> dict[FaultKey, ActiveFault]:
        """Every fault in force."""
        return self._active.faults
