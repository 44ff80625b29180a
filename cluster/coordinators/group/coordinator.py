"""The classic group coordinator of one broker for one partition of `__consumer_offsets`.

Theory of operation. The leader of the partition coordinates every group whose id hashes to the partition. The broker
passes each request and the time to `handle` and executes the returned `Decision` (see `decision.py`). It calls
`on_deadline` at the instant of `next_deadline_us`. After a failover the new leader makes a new coordinator, replays the
whole partition and calls `loaded`. Join barriers, parked calls, pending member ids and deadlines are not in the
partition: they are lost with the old coordinator, whose `unload` answers its parked calls. A closed connection does not
reach the coordinator: as in Kafka, only a LeaveGroup or the end of a session removes a member.

The rules are in the other modules of this package, one idea each; this file only dispatches to them.
Source: Kafka's `GroupCoordinatorService`, `GroupCoordinatorShard`, `GroupMetadataManager`.
"""

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from cluster.coordinators.decision import Call, Decision, Draft
from cluster.coordinators.group.admin import ADMIN_HANDLERS
from cluster.coordinators.group.context import GroupContext, GroupSettings, Handler, reply_parked, sender_of, serves
from cluster.coordinators.group.group import JOIN_BARRIER, NOT_ARMED, RETENTION, SESSION, ClassicGroup
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
    GroupMetadataValue,
    GroupRecord,
    GroupTombstone,
    OffsetTombstone,
)
from cluster.events import GroupLoaded, GroupUnloaded, HeartbeatAnswered, OffsetsCommitted
from cluster.protocol.api import Request, Response
from cluster.protocol.api_table import error_response
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
        *ADMIN_HANDLERS,
    )
)


class GroupCoordinator:
    """One broker's coordinator for the groups of one partition of `__consumer_offsets`.

    `config` has Kafka's broker keys (absent keys: Kafka's defaults). `new_uuid` returns the text of a fresh UUID
    (36 characters) for member ids. A new coordinator is loading: pass the partition's records to `replay`, then call
    `loaded`, also for an empty partition. For reading: `groups`, and each group's `members`, `state`, `offsets`, …
    """

    def __init__(self, broker: int, config: Mapping[str, object], new_uuid: Callable[[], str]) -> None:
        self._context = GroupContext(broker, GroupSettings.of(config), new_uuid)
        self.loading = True
        self.resigned = False

    @property
    def groups(self) -> dict[str, ClassicGroup]:
        """Group id → group, for reading only."""
        return self._context.groups

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
        return handler(self._context, request, call, now_us)

    def commit_in_transaction(
        self, request: OffsetCommitRequest, producer: TransactionProducer, call: Call, now_us: int
    ) -> Decision:
        """TxnOffsetCommit (API 28): the offsets count when `end_transaction` commits the transaction of `producer`."""
        if self.loading or self.resigned:
            return self._unavailable(request, call)
        return commit_in_transaction(self._context, request, producer, call, now_us)

    def next_deadline_us(self) -> int | None:
        """The instant of the next `on_deadline` call, or None. Every other call may change it."""
        return self._context.deadlines.next_us()

    def on_deadline(self, now_us: int) -> Decision:
        """Handle every due deadline, earliest first; at equal instants sessions, barriers, syncs, retention."""
        context, draft = self._context, Draft(now_us)
        while (name := context.deadlines.pop_due(now_us)) is not None:
            kind, group_id, member_id = name
            group = context.groups.get(group_id)
            if kind == RETENTION:
                retention_deadline(context, draft)
            elif group is None:
                continue
            elif kind == SESSION:
                session_deadline(context, group, member_id, draft)
            elif kind == JOIN_BARRIER:
                barrier_deadline(context, group, draft)
            else:
                sync_deadline(context, group, draft)
        return draft.decision()

    def replay(self, record: GroupRecord) -> None:
        """Apply a record of the partition: one just appended, or while loading every record in log order.

        In office, a group's own record changes only `stored`: memory is ahead of the log until the record is committed.
        """
        groups = self._context.groups
        match record:
            case CommittedOffset():
                replay_offset(self._group(record.group), record)
            case GroupMetadataValue():
                self._group(record.group).stored = record
            case OffsetTombstone():
                if record.group in groups:
                    replay_offset_tombstone(groups[record.group], record.partition)
            case GroupTombstone() if self.loading:
                remove_group(self._context, record.group)
            case GroupTombstone():
                self._group(record.group).stored = None
            case _:
                assert_never(record)

    def end_transaction(self, producer_id: int, committed: bool, now_us: int) -> Decision:
        """Apply a transaction marker of the partition: a COMMIT makes pending offsets count, an ABORT drops them."""
        draft = Draft(now_us)
        for group in self._context.groups.values():
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
        self._context.groups.clear()
        self._context.deadlines.clear()
        self.loading, self.resigned = False, True
        return draft.decision()

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
        if isinstance(request, HeartbeatRequest) and isinstance(answer, HeartbeatResponse):
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
