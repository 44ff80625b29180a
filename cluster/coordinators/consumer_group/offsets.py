"""Offsets of a group of the new protocol: commits and fetches carry the member epoch.

A commit with an older epoch is accepted for partitions that the member was given no later than in that epoch, and that
it still has (KIP-1251): a member that moves to a new epoch meanwhile need not commit again.
Source: Kafka's `ConsumerGroup` (validateOffsetCommit, validateOffsetFetch), `OffsetMetadataManager`.
"""

from collections.abc import Iterable

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.decision import Call, Decision
from cluster.coordinators.group.context import GroupContext, sender_of
from cluster.coordinators.group.group_offsets import PendingCommit
from cluster.coordinators.group.offset_commit import (
    TransactionProducer,
    begin_commit,
    commit_for_producer,
    refuse_commit,
)
from cluster.coordinators.group.offset_fetch import fetch_from
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import NO_MEMBER, OffsetCommitRequest, OffsetFetchRequest, OffsetFetchResponse
from cluster.reach import reached


def commit(
    context: GroupContext, group: ConsumerGroup, request: OffsetCommitRequest, call: Call, now_us: int
) -> Decision:
    """OffsetCommit (API 8): it does not renew the session.

    Answers UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH (a classic member: ILLEGAL_GENERATION), or NONE;
    OFFSET_METADATA_TOO_LARGE for single partitions. Without an epoch it is accepted while the group has no members
    (admin tools, consumers that do not join).
    """
    member = group.members.get(request.member_id)
    pending = PendingCommit(request, call, sender_of(request) if member is None else member.client_id, None)
    error = validate_epoch(group, request, _too_large(context, request))
    if error is not ErrorCode.NONE:
        return refuse_commit(pending, error)
    return begin_commit(context, group, pending, now_us)


def commit_in_transaction(
    context: GroupContext,
    group: ConsumerGroup,
    request: OffsetCommitRequest,
    producer: TransactionProducer,
    call: Call,
    now_us: int,
) -> Decision:
    """TxnOffsetCommit (API 28): as OffsetCommit; an old epoch is ILLEGAL_GENERATION, which the API knows."""
    named = request.generation >= 0 or request.member_id != NO_MEMBER or request.instance_id is not None
    error = validate_epoch(group, request, _too_large(context, request)) if named else ErrorCode.NONE
    if error is ErrorCode.STALE_MEMBER_EPOCH:
        error = ErrorCode.ILLEGAL_GENERATION
    return commit_for_producer(context, request, producer, call, now_us, error)


def _too_large(context: GroupContext, request: OffsetCommitRequest) -> list[str]:
    limit = context.settings.offset_metadata_max_bytes
    return [name for name, (_, _, metadata) in request.offsets.items() if len(metadata) > limit]


def validate_epoch(group: ConsumerGroup, request: OffsetCommitRequest, unchecked: Iterable[str]) -> ErrorCode:
    """The error that refuses the sender's offsets, or NONE. `unchecked`: partitions that are refused anyway."""
    if request.generation < 0 and not group.members:
        return ErrorCode.NONE
    member = group.members.get(request.member_id)
    if member is None:
        reached("commit: unknown member of a consumer group")
        return ErrorCode.UNKNOWN_MEMBER_ID
    if request.generation == member.epoch:
        return ErrorCode.NONE
    stale = ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    if request.generation > member.epoch:
        return stale
    passed = list(unchecked)
    for name in request.offsets:
        given_in = member.assigned.get(name, member.pending_revocation.get(name))
        if name not in passed and (given_in is None or request.generation < given_in):
            reached("commit: stale member epoch")
            return stale
    reached("commit: an older epoch will do")
    return ErrorCode.NONE


def fetch(group: ConsumerGroup, request: OffsetFetchRequest, call: Call) -> Decision:
    """OffsetFetch (API 9): UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH for a member that is not in its epoch."""
    if request.member_id is not None or request.member_epoch >= 0:
        member = group.members.get(request.member_id or NO_MEMBER)
        error = ErrorCode.NONE
        if member is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        elif member.epoch != request.member_epoch:
            reached("offsets: fetched with a stale epoch")
            error = ErrorCode.STALE_MEMBER_EPOCH
        if error is not ErrorCode.NONE:
            return Decision((), [(call, OffsetFetchResponse(error, {}))])
    return fetch_from(group, request, call)
