"""OffsetFetch: the committed offsets of a group.

Source: Kafka's `OffsetMetadataManager.fetchOffsets`, `GroupCoordinatorService.fetchOffsets`.
"""

from cluster.coordinators.decision import Call, Decision
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group_offsets import GroupOffsets
from cluster.coordinators.group.offset_replay import has_open_transaction
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import OffsetFetchRequest, OffsetFetchResponse
from cluster.reach import reached

NO_OFFSET = (ErrorCode.NONE, -1, -1, "")
UNSTABLE_OFFSET = (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1, -1, "")


def fetch(context: GroupContext, request: OffsetFetchRequest, call: Call, now_us: int) -> Decision:
    """OffsetFetch (API 9): the committed offsets; offset -1 for a partition or a group without one.

    With `require_stable` (every consumer since KIP-447), a partition with an open transaction's offset answers
    UNSTABLE_OFFSET_COMMIT. While a plain commit of a requested partition is pending, the request is parked until that
    result is known (Kafka queues the read behind the write). After a timeout it answers UNSTABLE_OFFSET_COMMIT.
    """
    del now_us
    group = context.groups.get(request.group)
    if group is None:
        response = OffsetFetchResponse(ErrorCode.NONE, dict.fromkeys(request.partitions, NO_OFFSET))
        return Decision((), [(call, response)])
    return fetch_from(group, request, call)


def fetch_from(group: GroupOffsets, request: OffsetFetchRequest, call: Call) -> Decision:
    """Answer from what the group has, or park the request."""
    partitions = tuple(request.partitions)
    if request.require_stable and _waits(group, partitions):
        reached("offsets: the fetch is parked")
        group.parked_fetches.append((call, partitions))
        return Decision()
    return Decision((), [(call, _fetched(group, partitions, require_stable=request.require_stable))])


def reply_parked_fetches(group: GroupOffsets, decision: Decision) -> None:
    """Answer the parked fetches without a pending commit left, in the order of arrival."""
    waiting = []
    for call, partitions in group.parked_fetches:
        if _waits(group, partitions):
            waiting.append((call, partitions))
        else:
            decision.replies.append((call, _fetched(group, partitions, require_stable=True)))
    group.parked_fetches[:] = waiting


def _waits(group: GroupOffsets, partitions: tuple[str, ...]) -> bool:
    """Whether a commit of one of the partitions is pending and its client has no answer yet."""
    return any(
        record.partition in partitions
        for commit in group.pending_commits
        if not commit.settled
        for record in commit.records
    )


def _fetched(group: GroupOffsets, partitions: tuple[str, ...], *, require_stable: bool) -> OffsetFetchResponse:
    unclear = [record.partition for commit in group.pending_commits for record in commit.records]
    answer = {}
    for partition in partitions:
        stored = group.offsets.get(partition)
        if require_stable and (partition in unclear or has_open_transaction(group, partition)):
            reached("offsets: unstable")
            answer[partition] = UNSTABLE_OFFSET
        elif stored is None:
            answer[partition] = NO_OFFSET
        else:
            answer[partition] = (ErrorCode.NONE, stored.offset, stored.leader_epoch, stored.metadata)
    return OffsetFetchResponse(ErrorCode.NONE, answer)
