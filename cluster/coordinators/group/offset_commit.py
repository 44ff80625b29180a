"""Offsets of groups: plain commits, and commits in a transaction.

An appended commit is in `group.logged_offsets`; a committed one is in `group.offsets`, which fetches read. In between
it is in `group.pending_commits`, in log order. When a commit is committed, all before it are too, also a commit whose
client got COORDINATOR_NOT_AVAILABLE after offsets.commit.timeout.ms (five seconds).
Source: Kafka's `OffsetMetadataManager`, `ClassicGroup.validateOffsetCommit`.
"""

from functools import partial
from typing import NamedTuple

from cluster.coordinators.decision import Call, Decision, coordinator_error
from cluster.coordinators.group.context import GroupContext, sender_of
from cluster.coordinators.group.group import NOT_ARMED, ClassicGroup, GroupMember
from cluster.coordinators.group.group_offsets import GroupOffsets, PendingCommit
from cluster.coordinators.group.offset_fetch import reply_parked_fetches
from cluster.coordinators.group.states import GroupState
from cluster.coordinators.records import CommittedOffset
from cluster.events import Event, OffsetCommitRefused, OffsetsCommitted, SessionRenewed, TransactionOffsetsRefused
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import NO_MEMBER, OffsetCommitRequest, OffsetCommitResponse
from cluster.protocol.record_batch import NO_EPOCH, NO_PRODUCER_ID
from cluster.reach import reached


class TransactionProducer(NamedTuple):
    """The producer of a transaction that commits offsets; `NOT_TRANSACTIONAL` for a plain commit."""

    producer_id: int
    epoch: int
    transactional_id: str = ""


NOT_TRANSACTIONAL = TransactionProducer(NO_PRODUCER_ID, NO_EPOCH)
_FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID)


def commit(context: GroupContext, request: OffsetCommitRequest, call: Call, now_us: int) -> Decision:
    """OffsetCommit (API 8).

    Accepted without a generation while the group is Empty or does not exist (admin tools, consumers that do not join).
    Answers, in the order of the checks: ILLEGAL_GENERATION (a generation of a group that does not exist),
    COORDINATOR_NOT_AVAILABLE (Dead), FENCED_INSTANCE_ID or UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID
    (neither member nor generation, and the group is not Empty), REBALANCE_IN_PROGRESS (CompletingRebalance; while
    PreparingRebalance a commit is accepted); and OFFSET_METADATA_TOO_LARGE for single partitions. The session starts
    again in Stable and PreparingRebalance. The last write wins: an offset may move back.
    Simplified: an unknown group is ILLEGAL_GENERATION in all versions (Kafka: GROUP_ID_NOT_FOUND from version 9 on).
    """
    group = context.groups.get(request.group)
    member = None if group is None else group.members.get(request.member_id)
    pending = PendingCommit(request, call, sender_of(request) if member is None else member.client_id, member)
    error = validate_commit(group, request, transactional=False)
    if error is not ErrorCode.NONE:
        return refuse_commit(pending, error)
    if group is None:
        group = context.groups[request.group] = ClassicGroup(request.group, now_us)
    if member is not None and (group.state is GroupState.STABLE or group.state is GroupState.PREPARING_REBALANCE):
        pending.renewed_us = now_us + member.session_timeout_ms * 1000
    return begin_commit(context, group, pending, now_us)


def refuse_commit(pending: PendingCommit, error: ErrorCode) -> Decision:
    """Refuse all of a commit."""
    response = OffsetCommitResponse(dict.fromkeys(pending.request.offsets, error))
    return Decision((), [(pending.call, response)], [_refused(pending, error, NOT_ARMED)])


def begin_commit(context: GroupContext, group: GroupOffsets, pending: PendingCommit, now_us: int) -> Decision:
    """Append the offsets of an accepted commit."""
    pending.records, pending.errors = _records(context, pending.request, now_us, NOT_TRANSACTIONAL)
    if not pending.records:
        return _without_records(context, group, pending)
    renewed = _renewed(group, pending, _renew(context, group, pending))
    group.pending_commits.append(pending)
    settle, late = partial(_settle, context, group, pending), partial(_commit_late, group, pending)
    return Decision(tuple(pending.records), [], renewed, settle, late)


def commit_in_transaction(
    context: GroupContext, request: OffsetCommitRequest, producer: TransactionProducer, call: Call, now_us: int
) -> Decision:
    """TxnOffsetCommit (API 28): the offsets count when the transaction commits.

    As OffsetCommit, but accepted also in CompletingRebalance and without member and generation (producers before
    KIP-447). It does not renew the session. The log fences the producer: it refuses the append.
    """
    error = validate_commit(context.groups.get(request.group), request, transactional=True)
    return commit_for_producer(context, request, producer, call, now_us, error)


def commit_for_producer(
    context: GroupContext,
    request: OffsetCommitRequest,
    producer: TransactionProducer,
    call: Call,
    now_us: int,
    error: ErrorCode,
) -> Decision:
    """Append the offsets of a transaction, unless `error` refuses them."""
    if error is not ErrorCode.NONE:
        response = OffsetCommitResponse(dict.fromkeys(request.offsets, error))
        if error not in _FENCED:
            return Decision((), [(call, response)])
        reached("commit: in a transaction, fenced")
        return Decision((), [(call, response)], [_fenced(request, producer, error)])
    records, errors = _records(context, request, now_us, producer)
    if not records:
        return Decision((), [(call, OffsetCommitResponse(errors))])

    def settle(error: ErrorCode, now_us: int) -> Decision:
        del now_us
        errors.update((record.partition, coordinator_error(error)) for record in records)
        old = error is ErrorCode.INVALID_PRODUCER_EPOCH
        return Decision((), [(call, OffsetCommitResponse(errors))], [_fenced(request, producer, error)] if old else [])

    return Decision(tuple(records), [], [], settle)


def _fenced(request: OffsetCommitRequest, producer: TransactionProducer, error: ErrorCode) -> TransactionOffsetsRefused:
    return TransactionOffsetsRefused(
        transactional_id=producer.transactional_id,
        group=request.group,
        member_id=request.member_id,
        generation=request.generation,
        error=error.name,
    )


def validate_commit(group: ClassicGroup | None, request: OffsetCommitRequest, *, transactional: bool) -> ErrorCode:
    """The error that refuses the sender's offsets, or NONE (KIP-447 for transactions)."""
    if group is None:
        return ErrorCode.ILLEGAL_GENERATION if request.generation >= 0 else ErrorCode.NONE
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if request.generation >= 0 or request.member_id != NO_MEMBER or request.instance_id is not None:
        error = group.validate_member(request.member_id, request.instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation != group.generation:
            reached("commit: old generation")
            return ErrorCode.ILLEGAL_GENERATION
    elif not transactional:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not transactional and group.state is GroupState.COMPLETING_REBALANCE:
        reached("commit: the group rebalances")
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _records(
    context: GroupContext, request: OffsetCommitRequest, now_us: int, producer: TransactionProducer
) -> tuple[list[CommittedOffset], dict[str, ErrorCode]]:
    """A record for each partition whose metadata text is short enough, and the errors of all partitions."""
    limit = context.settings.offset_metadata_max_bytes
    records = []
    errors = {}
    for partition, (offset, leader_epoch, metadata) in request.offsets.items():
        if len(metadata) > limit:
            errors[partition] = ErrorCode.OFFSET_METADATA_TOO_LARGE
        else:
            errors[partition] = ErrorCode.NONE
            of = producer.producer_id, producer.epoch
            records.append(CommittedOffset(request.group, partition, offset, leader_epoch, metadata, now_us, *of))
    return records, errors


def _without_records(context: GroupContext, group: GroupOffsets, pending: PendingCommit) -> Decision:
    """Answer a commit without offsets to store; it still renews its member's session."""
    deadline_us = _renew(context, group, pending)
    if pending.errors:
        event: OffsetsCommitted | OffsetCommitRefused = _refused(
            pending, ErrorCode.OFFSET_METADATA_TOO_LARGE, deadline_us
        )
    else:
        event = _committed(pending, deadline_us)
    return Decision((), [(pending.call, OffsetCommitResponse(pending.errors))], [event])


def _settle(
    context: GroupContext, group: GroupOffsets, pending: PendingCommit, error: ErrorCode, now_us: int
) -> Decision:
    """Handle the result of a commit's append: answer the commit, and the fetches that waited for it."""
    del now_us
    decision = Decision()
    deadline_us = _renew(context, group, pending)
    pending.settled = True
    if error is not ErrorCode.NONE:
        reported = coordinator_error(error)
        pending.errors.update((record.partition, reported) for record in pending.records)
        decision.events.append(_refused(pending, reported, deadline_us))
        reached("commit: not written")
        if error.definite:  # else it is in the log and may still be committed
            group.pending_commits.remove(pending)
            if group.unused:
                context.groups.pop(group.group_id, None)
    elif not group.dead:  # else the next coordinator emits what it loads
        _mark_committed_up_to(group, pending, deadline_us, decision)
    decision.replies.append((pending.call, OffsetCommitResponse(pending.errors)))
    if group.parked_fetches:
        reply_parked_fetches(group, decision)
    return decision


def _commit_late(group: GroupOffsets, pending: PendingCommit) -> Decision:
    """Apply a commit whose records are committed after its timeout: they count without another commit."""
    decision = Decision()
    if not group.dead and pending in group.pending_commits:
        reached("commit: timed out and safe after all")
        _mark_committed_up_to(group, pending, NOT_ARMED, decision)
        reply_parked_fetches(group, decision)
    return decision


def _mark_committed_up_to(group: GroupOffsets, last: PendingCommit, deadline_us: int, decision: Decision) -> None:
    """Apply a commit and every earlier one: their records are committed."""
    while True:
        done = group.pending_commits.popleft()
        for record in done.records:
            group.offsets[record.partition] = record
        if done.records:
            decision.events.append(_committed(done, deadline_us if done is last else NOT_ARMED))
        if done is last:
            return


def _renew(context: GroupContext, group: GroupOffsets, pending: PendingCommit) -> int:
    """Extend the session to the deadline of the commit's arrival, unless it runs longer or is not armed."""
    member = pending.member
    if pending.renewed_us == NOT_ARMED or not isinstance(member, GroupMember) or not isinstance(group, ClassicGroup):
        return NOT_ARMED
    if group.members.get(member.member_id) is not member or group.dead:
        return NOT_ARMED
    if member.session_deadline_us == NOT_ARMED or member.is_new:
        return NOT_ARMED
    if pending.renewed_us > member.session_deadline_us:
        member.session_deadline_us = pending.renewed_us
        context.deadlines.set(member.session_name, pending.renewed_us)
    return member.session_deadline_us


def _renewed(group: GroupOffsets, pending: PendingCommit, deadline_us: int) -> list[Event]:
    if deadline_us == NOT_ARMED or pending.member is None:
        return []
    name, member_id = pending.name, pending.request.member_id
    return [SessionRenewed(group=group.group_id, member=name, member_id=member_id, session_deadline_us=deadline_us)]


def _committed(pending: PendingCommit, deadline_us: int) -> OffsetsCommitted:
    return OffsetsCommitted(
        group=pending.request.group,
        member=pending.name,
        generation=pending.request.generation,
        offsets={record.partition: record.offset for record in pending.records},
        member_id=pending.request.member_id,
        session_deadline_us=deadline_us,
    )


def _refused(pending: PendingCommit, error: ErrorCode, deadline_us: int) -> OffsetCommitRefused:
    return OffsetCommitRefused(
        group=pending.request.group,
        member=pending.name,
        generation=pending.request.generation,
        error=error.name,
        member_id=pending.request.member_id,
        session_deadline_us=deadline_us,
        offsets={name: offset for name, (offset, _, _) in pending.request.offsets.items()},
    )
