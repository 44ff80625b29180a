"""pause() and resume() of partitions, which the application of a member calls for an operator.

Theory of operation. Each command to pause is a fault. It is in force until none of its partitions is paused any longer:
they are resumed, by a command or by worker threads, or revoked, or their process ends. Of two commands on one partition
the later one says when it is resumed, because a consumer keeps one flag for each partition.
Source: `KafkaConsumer.pause`, `SubscriptionState.TopicPartitionState`.
"""

from functools import partial

from cluster.clients.consumer.consumer import Consumer
from cluster.commands import catalogue as c
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, FaultKey, Handlers
from cluster.simulation.process_commands import ProcessCommands


class PartitionPauses:
    """Executes commands that pause and resume partitions of a member."""

    def __init__(self, active: ActiveFaults, processes: ProcessCommands) -> None:
        self._active, self._processes = active, processes
        self._of_faults: dict[FaultKey, dict[str, None]] = {}  # the partitions that each fault still pauses
        self.handlers: Handlers = {c.PausePartitions: self._pause, c.ResumePartitions: self._resume}

    def resumed(self, member: str, partitions: tuple[str, ...]) -> None:
        """End the faults none of whose partitions is paused any longer."""
        for key in [key for key in self._of_faults if key[1] == member]:
            held = self._of_faults[key]
            for name in partitions:
                held.pop(name, None)
            if not held:
                del self._of_faults[key]
                self._active.forget(key)

    def _pause(self, command: c.PausePartitions) -> None:
        member, partitions = self._assigned(command.member, command.partitions)
        if not partitions:
            raise CommandRefusedError(f"{member.name} has no partition to pause")
        self.resumed(member.name, partitions)
        key = ("partitions", member.name, ",".join(partitions))
        self._of_faults[key] = dict.fromkeys(partitions)
        self._active.start(key, command, command.for_us, partial(self._revert, key))
        member.pause_soon(partitions, paused=True)

    def _revert(self, key: FaultKey) -> None:
        member = self._processes.process(key[1])
        partitions = tuple(self._of_faults.pop(key))
        if isinstance(member, Consumer) and member.alive:
            member.pause_soon(partitions, paused=False)

    def _resume(self, command: c.ResumePartitions) -> None:
        member, partitions = self._assigned(command.member, command.partitions)
        paused = member.paused_or_soon
        partitions = tuple(name for name in partitions if name in paused)
        if not partitions:
            which = "none of these partitions" if command.partitions else "no partition"
            raise CommandRefusedError(f"{member.name} has paused {which}")
        member.pause_soon(partitions, paused=False)
        self.resumed(member.name, partitions)

    def _assigned(self, name: str, partitions: tuple[str, ...]) -> tuple[Consumer, tuple[str, ...]]:
        """The member, and these partitions, or all of its own. Raises CommandRefusedError where Kafka throws."""
        member = self._processes.running_member(name)
        for partition in partitions:
            if partition not in member.owned:
                holder = self._processes.holder(member.group, partition)
                reason = f"IllegalStateException: No current assignment for partition {partition}"
                raise CommandRefusedError(f"{reason} ({holder} owns it)" if holder else reason)
        return member, partitions or member.owned
