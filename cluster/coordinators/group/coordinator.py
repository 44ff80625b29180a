"""The group coordinator of one broker for one partition of `__consumer_offsets`, for groups of both protocols.

Theory of operation. The leader of the partition coordinates every group whose id hashes to the partition. The broker
passes each request and the time to `handle` and executes the returned `Decision` (see `decision.py`). It calls
`on_deadline` at the instant of `next_deadline_us`. After a failover the new leader makes a new coordinator, replays the
whole partition and calls `loaded`. Join barriers, parked calls, pending member ids and deadlines are not in the
partition: they are lost with the old coordinator, whose `unload` answers its parked calls. A closed connection does not
reach the coordinator: as in Kafka, only a LeaveGroup or the end of a session removes a member.

The rules are in the other modules of this package, one idea each; this file only dispatches to them.
Source: Kafka's `GroupCoordinatorService`, `GroupCoordinatorShard`, `GroupMetadataManager`.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from cluster.coordinators.consumer_group.admin import describe_consumer_group, group_tombstones
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.consumer_group.heartbeat import heartbeat as consumer_group_heartbeat
from cluster.coordinators.consumer_group.lifecycle import consumer_deadline, handle_for, load, unload
from cluster.coordinators.consumer_group.offsets import commit_in_transaction as commit_in_transaction_of
from cluster.coordinators.consumer_group.replay import replay_consumer_group
from cluster.coordinators.consumer_group.sessions import session_deadline_us
from cluster.coordinators.consumer_group.topic_metadata import TopicMetadata
from cluster.coordinators.decision import Call, Decision, Draft, coordinator_error
from cluster.coordinators.group.admin import ADMIN_HANDLERS
from cluster.coordinators.group.context import GroupContext, GroupSettings, Handler, reply_parked, sender_of, serves
from cluster.coordinators.group.group import JOIN_BARRIER, NOT_ARMED, RETENTION, SESSION, SYNC, ClassicGroup
from cluster.coordinators.group.group_offsets import GroupOffsets
from cluster.coordinators.group.heartbeat import heartbeat, leave, session_deadline
from cluster.coordinators.group.join import join
from cluster.coordinators.group.join_barrier import barrier_deadline, close_if_all_joined, prepare_rebalance
from cluster.coordinators.group.offset_commit import TransactionProducer, commit, commit_in_transaction
from cluster.coordinators.group.offset_fetch import fetch
from cluster.coordinators.group.offset_replay import replay_marker, replay_offset, replay_offset_tombstone
from cluster.coordinators.group.offset_retention import remove_group, retention_deadline, schedule_check
from cluster.coordinators.group.rebalance_causes import over_capacity
from cluster.coordinators.group.states import GroupEvent
from cluster.coordinators.group.sync import sync, sync_deadline
from cluster.coordinators.records import (
    CommittedOffset,
    ConsumerGroupRecord,
    GroupMetadataValue,
    GroupRecord,
    GroupTombstone,
    OffsetTombstone,
)
from cluster.events import GroupLoaded, GroupProtocolConverted, GroupUnloaded, HeartbeatAnswered, OffsetsCommitted
from cluster.protocol.api import GroupRequest, Request, Response
from cluster.protocol.api_table import error_response
from cluster.protocol.consumer_group_messages import (
    JOIN_EPOCH,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

HANDLERS: dict[type[Request], Handler[Any]] = dict(
    (
        serves(OffsetCommitRequest, commit),
        serves(OffsetFetchRequest, fetch),
        serves(JoinGroupRequest, join),
        serves(HeartbeatRequest, heartbeat),
        serves(LeaveGroupRequest, leave),
        serves(SyncGroupRequest, sync),
        serves(ConsumerGroupHeartbeatRequest, consumer_group_heartbeat),
        serves(ConsumerGroupDescribeRequest, describe_consumer_group),
        *ADMIN_HANDLERS,
    )
)


class GroupCoordinator:
    """One broker's coordinator for the groups of one partition of `__consumer_offsets`.

    `config` has Kafka's broker keys (absent keys: Kafka's defaults). `new_uuid` returns the text of a fresh UUID
    (36 characters) for member ids. A new coordinator is loading: pass the partition's records to `replay`, then call
    `loaded`, also for an empty partition. For reading: `groups`,
    `consumer_groups`, `all_groups` (both), and each group's `members`, `state`, `offsets`, …
    """

    def __init__(
        self,
        broker: int,
        config: Mapping[str, object],
        new_uuid: Callable[[], str],
        topics: TopicMetadata | None = None,
    ) -> None:
        self._context = GroupContext(broker, GroupSettings.of(config), new_uuid, topics or TopicMetadata())
        self.all_groups: Mapping[str, object] = ChainMap[str, Any](self._context.groups, self._context.consumer_groups)
        self.loading = True
        self.resigned = False

    @property
    def groups(self) -> dict[str, ClassicGroup]:
        """Group id → group, for reading only."""
        return self._context.groups

    @property
    def consumer_groups(self) -> dict[str, ConsumerGroup]:
        """Group id → group of the new protocol, for reading only."""
        return self._context.consumer_groups

    def session_deadline_us(self, group_id: str, member_id: str) -> int:
        """When the session of a member of a group of the new protocol ends, -1 for none; for reading only."""
        return session_deadline_us(self._context, group_id, member_id)

    def configure(self, settings: GroupSettings) -> None:
        """Apply a changed broker configuration. Deadlines already set stay as they are."""
        self._context.settings = settings

    def handle(self, request: Request, call: Call, now_us: int) -> Decision:
        """Answer, park or refuse a request. Raises TypeError for a request of another API."""
        handler = HANDLERS.get(type(request))
        if handler is None:
            raise TypeError(f"{type(request).__name__} is not a request for a group coordinator")
        if self.loading or self.resigned:
            return self._unavailable(request, call)
        context = self._context
        group = context.consumer_groups.get(request.group) if isinstance(request, GroupRequest) else None
        if group is not None and isinstance(request, JoinGroupRequest) and not group.members:
            return convert_to_classic(context, group, request, call)
        decision = handle_for(context, group, request, call, now_us) if group is not None else None
        return handler(context, request, call, now_us) if decision is None else decision

    def commit_in_transaction(
        self, request: OffsetCommitRequest, producer: TransactionProducer, call: Call, now_us: int
    ) -> Decision:
        """TxnOffsetCommit (API 28): the offsets count when `end_transaction` commits the transaction of `producer`."""
        if self.loading or self.resigned:
            return self._unavailable(request, call)
        group = self._context.consumer_groups.get(request.group)
        if group is not None:
            return commit_in_transaction_of(self._context, group, request, producer, call, now_us)
        return commit_in_transaction(self._context, request, producer, call, now_us)

    def next_deadline_us(self) -> int | None:
        """The instant of the next `on_deadline` call, or None. Every other call may change it."""
        return self._context.deadlines.next_us()

    def on_deadline(self, now_us: int) -> Decision:
        """Handle every due deadline, earliest first; at equal instants sessions, barriers, syncs, retention.

        One of a group of the new protocol is handled alone: the next one must see its records replayed.
        """
        context, draft = self._context, Draft(now_us)
        while (name := context.deadlines.pop_due(now_us)) is not None:
            kind, group_id, member_id = name
            if (consumer_group := context.consumer_groups.get(group_id)) is not None:
                if not (draft.records or draft.events or draft.replies):
                    return consumer_deadline(context, consumer_group, kind, member_id, now_us)
                context.deadlines.set(name, now_us)  # after this decision
                return draft.decision()
            group = context.groups.get(group_id)
            if kind == RETENTION:
                retention_deadline(context, draft)
            elif group is None:
                continue
            elif kind == SESSION:
                session_deadline(context, group, member_id, draft)
            elif kind == JOIN_BARRIER:
                barrier_deadline(context, group, draft)
            elif kind == SYNC:
                sync_deadline(context, group, draft)
        return draft.decision()

    def replay(self, record: GroupRecord) -> None:
        """Apply a record of the partition: one just appended, or while loading every record in log order.

        In office, a classic group's own record changes only `stored`: memory is ahead of the log until the record is
        committed. A group of the new protocol is changed by its records only.
        """
        groups = self._context.groups
        match record:
            case CommittedOffset():
                replay_offset(self._holder(record.group) or self._group(record.group), record)
            case GroupMetadataValue():
                self._group(record.group).stored = record
            case OffsetTombstone():
                if (group := self._holder(record.group)) is not None:
                    replay_offset_tombstone(group, record.partition)
            case GroupTombstone() if self.loading:
                _end_classic_group(self._context, record.group)
            case GroupTombstone():
                if record.group in groups:
                    groups[record.group].stored = None
            case ConsumerGroupRecord():
                replay_consumer_group(self._context, record)
            case _:
                assert_never(record)

    def end_transaction(self, producer_id: int, committed: bool, now_us: int) -> Decision:
        """Apply a transaction marker of the partition: a COMMIT makes pending offsets count, an ABORT drops them."""
        draft = Draft(now_us)
        for group in (*self._context.groups.values(), *self._context.consumer_groups.values()):
            stored = replay_marker(group, producer_id, committed=committed)
            if stored and not self.loading:
                draft.emit(
                    OffsetsCommitted(
                        group=group.group_id, member="", generation=-1, offsets=stored, session_deadline_us=NOT_ARMED
                    )
                )
        return draft.decision()

    def loaded(self, now_us: int) -> Decision:
        """End the loading: every group becomes Stable or Empty, and every member gets a new session.

        A group above group.max.size rebalances: its barrier refuses the last members to rejoin.
        """
        context, draft = self._context, Draft(now_us)
        self.loading = False
        schedule_check(context, now_us)
        for group in context.groups.values():
            group.restore()
            for member in group.members.values():
                context.arm(member, now_us)
            draft.emit(_loaded(group, context.broker))
            if len(group.members) > context.settings.max_size:
                prepare_rebalance(context, group, over_capacity(group, context.settings.max_size), draft)
                close_if_all_joined(context, group, draft)
        for consumer_group in context.consumer_groups.values():
            draft.events.extend(load(context, consumer_group, now_us))
        return draft.decision()

    def unload(self, now_us: int) -> Decision:
        """End the coordinator: the broker no longer leads the partition. Parked calls are answered NOT_COORDINATOR.

        Every later request gets the same answer, and no deadline is left.
        """
        draft = Draft(now_us)
        for group in self._context.groups.values():
            for member_id, call in group.parked_joins.items():
                reply_parked(draft, call, JoinGroupResponse(ErrorCode.NOT_COORDINATOR, member_id=member_id))
            for call in group.parked_syncs.values():
                draft.reply(call, SyncGroupResponse(ErrorCode.NOT_COORDINATOR))
            for call, _ in group.parked_fetches:
                draft.reply(call, OffsetFetchResponse(ErrorCode.NOT_COORDINATOR, {}))
            group.parked_joins.clear()
            group.parked_syncs.clear()
            group.parked_fetches.clear()
            group.transition(GroupEvent.UNLOADED, now_us)
            if not self.loading:
                draft.emit(GroupUnloaded(group=group.group_id, broker=self._context.broker))
        for consumer_group in self._context.consumer_groups.values():
            if not self.loading:
                unload(self._context, consumer_group, draft)
        self._context.groups.clear()
        self._context.consumer_groups.clear()
        self._context.deadlines.clear()
        self.loading, self.resigned = False, True
        return draft.decision()

    def _holder(self, group_id: str) -> GroupOffsets | None:
        """The group that holds the offsets of this id, of either protocol."""
        return self._context.consumer_groups.get(group_id) or self._context.groups.get(group_id)

    def _group(self, group_id: str) -> ClassicGroup:
        """The group of a record. A group that only stores offsets is created by its first offset."""
        group = self._context.groups.get(group_id)
        if group is None:
            group = self._context.groups[group_id] = ClassicGroup(group_id, NOT_ARMED)
        return group

    def _unavailable(self, request: Request, call: Call) -> Decision:
        answer: Response = (
            error_response(request, ErrorCode.NOT_COORDINATOR) if self.resigned else answer_while_loading(request)
        )
        decision = Decision((), [(call, answer)])
        if isinstance(request, ConsumerGroupHeartbeatRequest) and isinstance(answer, ConsumerGroupHeartbeatResponse):
            if request.member_epoch >= JOIN_EPOCH:
                decision.events.append(
                    HeartbeatAnswered(
                        group=request.group,
                        member=request.client_id,
                        member_id=request.member_id,
                        error=answer.error.name,
                        session_deadline_us=NOT_ARMED,
                    )
                )
        elif isinstance(request, HeartbeatRequest) and isinstance(answer, HeartbeatResponse):
            decision.events.append(
                HeartbeatAnswered(
                    group=request.group,
                    member=sender_of(request),
                    member_id=request.member_id,
                    error=answer.error.name,
                    session_deadline_us=NOT_ARMED,
                )
            )
        return decision


def convert_to_classic(context: GroupContext, group: ConsumerGroup, request: JoinGroupRequest, call: Call) -> Decision:
    """End an empty group of the new protocol for a classic member: its JoinGroup goes on when that is committed."""
    converted = GroupProtocolConverted(group=group.group_id, protocol="classic", broker=context.broker)

    def then(error: ErrorCode, now_us: int) -> Decision:
        failed = coordinator_error(error)
        if failed is not ErrorCode.NONE:
            return Decision((), [(call, error_response(request, failed))])
        return join(context, request, call, now_us)

    return Decision(tuple(group_tombstones(group)), then=then, appended=lambda: [converted])


def _end_classic_group(context: GroupContext, group_id: str) -> None:
    """Drop a group whose tombstone is replayed. Offsets stay if a group of the new protocol took its place."""
    group = context.groups.get(group_id)
    if group is not None and (group.logged_offsets or group.transactional_offsets):
        group.stored = None
    else:
        remove_group(context, group_id)


def answer_while_loading(request: Request) -> Response:
    """The response while the partition is being replayed.

    Heartbeat NONE (members survive a coordinator's move), SyncGroup REBALANCE_IN_PROGRESS (they join again), everything
    else COORDINATOR_LOAD_IN_PROGRESS. Source: Kafka's `GroupCoordinator` (validateGroupStatus and its callers).
    """
    match request:
        case HeartbeatRequest():
            return error_response(request, ErrorCode.NONE)
        case SyncGroupRequest():
            return error_response(request, ErrorCode.REBALANCE_IN_PROGRESS)
        case _:
            return error_response(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def _loaded(group: ClassicGroup, broker: int) -> GroupLoaded:
    return GroupLoaded(
        group=group.group_id,
        broker=broker,
        state=group.state.value,
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader_name,
        members={member_id: member.client_id for member_id, member in group.members.items()},
        assignment=group.assignment,
        session_deadlines_us={member_id: member.session_deadline_us for member_id, member in group.members.items()},
        offsets={partition: record.offset for partition, record in group.offsets.items()},
    )
