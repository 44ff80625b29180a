"""Commands of an administrator on committed offsets, as kafka-consumer-groups.sh gives them.

The tool looks at the group, at the logs and at the committed offsets, and sends a request to the group's coordinator:
all in the turn of the command. Source: Kafka's `ConsumerGroupCommand`, `OffsetsUtils`, `AlterConsumerGroupOffsets`.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster.broker.broker import Broker
from cluster.broker.coordinator_runtime import AdminCall
from cluster.broker.replica import Replica
from cluster.commands import Command, text_of
from cluster.commands import catalogue as c
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.group.group_offsets import GroupOffsets
from cluster.coordinators.group.states import GroupState
from cluster.events import CommandRefused
from cluster.protocol import messages as m
from cluster.protocol.api import Request, Response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import NO_MEMBER
from cluster.protocol.names import ADMIN_CLIENT
from cluster.protocol.offset_resets import cannot_shift, only_inactive, partitions_meant, reset_offset
from cluster.simulation.active_faults import CommandRefusedError, Handlers
from cluster.simulation.running_cluster import RunningCluster


class OffsetCommands:
    """Executes commands on committed offsets. What the coordinator refuses later is emitted then."""

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        self.handlers: Handlers = {
            c.ResetOffsets: self._reset,
            c.ResetToPlan: self._reset_to_plan,
            c.DeleteGroup: self._delete_group,
            c.DeleteOffsets: self._delete_offsets,
        }

    def _reset(self, command: c.ResetOffsets) -> None:
        """OffsetCommit (API 8) without member and generation, for a group that is inactive."""
        group = self._group(command.group)
        committed = {} if group is None else {name: one.offset for name, one in group.offsets.items()}
        places = partitions_meant(command.places, self._cluster.topics) if command.places else tuple(committed)
        offsets = {name: self._offset(command, name, committed) for name in places}
        if not offsets:
            raise CommandRefusedError(f"{command.group} has no committed offset: name topics to reset")
        self._commit(command, offsets)

    def _reset_to_plan(self, command: c.ResetToPlan) -> None:
        """One OffsetCommit of all rows; before it, the leader of each partition says where its log begins and ends."""
        self._group(command.group)
        offsets = {}
        for name, offset in zip(command.partitions, command.offsets, strict=True):
            leader = self._leader(name)
            offsets[name] = reset_offset("offset", offset, leader.log.log_start, leader.high_watermark, None)
        self._commit(command, offsets)

    def _commit(self, command: c.ResetOffsets | c.ResetToPlan, offsets: dict[str, int]) -> None:
        rows = {name: (offset, -1, "") for name, offset in offsets.items()}
        self._ask(
            command,
            command.group,
            m.OffsetCommitRequest(command.group, -1, NO_MEMBER, None, rows, client_id=ADMIN_CLIENT),
            lambda answer: _first_error(answer.errors),
        )

    def _delete_group(self, command: c.DeleteGroup) -> None:
        """DeleteGroups (API 42)."""
        request = m.DeleteGroupsRequest((command.group,))
        self._ask(command, command.group, request, lambda answer: _first_error(answer.errors))

    def _delete_offsets(self, command: c.DeleteOffsets) -> None:
        """OffsetDelete (API 47). Offsets of other topics are deleted even if one topic is refused."""
        request = m.OffsetDeleteRequest(command.group, partitions_meant(command.places, self._cluster.topics))
        self._ask(
            command,
            command.group,
            request,
            lambda answer: _first_error(answer.errors) if answer.error is ErrorCode.NONE else answer.error,
        )

    def _offset(self, command: c.ResetOffsets, name: str, committed: dict[str, int]) -> int:
        """A partition's new offset. Source: `OffsetsUtils.resetByDuration`, `resetToDateTime`; see `reset_offset`."""
        replica = self._leader(name)
        start, end = replica.log.log_start, replica.high_watermark
        if command.where in ("ago", "instant"):  # without a younger record: the latest offset
            ago = command.where == "ago"
            since_us = max(0, self._cluster.timeline.now_us - command.amount) if ago else command.amount
            return min(replica.log.first_since(since_us), end)
        if command.where == "shift" and name not in committed:
            raise CommandRefusedError(cannot_shift(name))
        return reset_offset(command.where, command.amount, start, end, committed.get(name))

    def _leader(self, name: str) -> Replica:
        broker = self._broker_of(name)
        replica = broker.replicas.get(name) if broker is not None else None
        if replica is None or not replica.is_leader:
            raise CommandRefusedError(f"LEADER_NOT_AVAILABLE: {name} has no leader")
        return replica

    # --- the group's coordinator --------------------------------------------------------------------------------------

    def _broker_of(self, partition: str) -> Broker | None:
        """The running broker that leads a partition."""
        broker = self._cluster.brokers.get(self._cluster.control.controller.partitions[partition].leader)
        return broker if broker is not None and broker.running else None

    def _coordinator(self, group: str) -> tuple[Broker, GroupCoordinator]:
        """The broker that coordinates a group, and its coordinator, which has loaded the group's partition."""
        partition = self._cluster.view.groups[group].coordinator_partition
        broker = self._broker_of(partition)
        hosted = broker.group_coordinators.hosted.get(partition) if broker is not None else None
        if broker is None or hosted is None:
            raise CommandRefusedError(f"COORDINATOR_NOT_AVAILABLE: no broker coordinates {group} now")
        if hosted.coordinator.loading:
            raise CommandRefusedError(f"COORDINATOR_LOAD_IN_PROGRESS: broker-{broker.id} loads {partition}")
        return broker, hosted.coordinator

    def _group(self, name: str) -> GroupOffsets | None:
        """The group as its coordinator has it, None for one that it does not know; refused while it is active."""
        _, coordinator = self._coordinator(name)
        consumer_group = coordinator.consumer_groups.get(name)
        group = coordinator.groups.get(name)
        state = ""
        if consumer_group is not None and consumer_group.members:
            state = consumer_group.state.value
        elif group is not None and group.state not in (GroupState.EMPTY, GroupState.DEAD):
            state = group.state.value
        if state:
            raise CommandRefusedError(only_inactive(name, state))
        return consumer_group or group

    def _ask(self, command: Command, group: str, request: Request, error_in: Callable[[Any], ErrorCode | None]) -> None:
        """Send a request to the coordinator. Its error refuses the command, now or when it is known."""
        broker, _ = self._coordinator(group)
        at_once: list[ErrorCode] = []
        asked = False

        def answered(response: Response) -> None:
            error = error_in(response)
            if error is not None and not asked:
                at_once.append(error)
            elif error is not None:
                self._cluster.emit(CommandRefused(text=text_of(command), reason=_words(error, group)))

        broker.group_coordinators.for_key(group, AdminCall(request, answered))
        asked = True
        if at_once:
            raise CommandRefusedError(_words(at_once[0], group))


def _first_error(errors: dict[str, ErrorCode]) -> ErrorCode | None:
    return next((error for error in errors.values() if error is not ErrorCode.NONE), None)


_SAID: Final = {
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
}
"""What an error says. Source: Kafka's `Errors`."""


def _words(error: ErrorCode, group: str) -> str:
    return f"{error.name}: {_SAID.get(error, f'the coordinator of {group} has not confirmed it')}"
