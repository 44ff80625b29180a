"""Why a group rebalances: the cause for scenarios, screens and reports, and the reason that Kafka's coordinator logs.

A coordinator knows its own actions (it removed a member, it loaded a group) and the client's `reason` (KIP-800). It
also knows the change that a JoinGroup brings (the member's metadata, or none, from the leader). The cause comes from
these alone.
Source of the details: Kafka's `GroupMetadataManager` (every caller of `prepareRebalance`).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cluster.coordinators.group.group import ClassicGroup, GroupMember
from cluster.coordinators.group.states import GroupState
from cluster.protocol import reasons
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import JoinGroupRequest, MemberMetadata
from cluster.protocol.rebalance_causes import RebalanceCause

_C = RebalanceCause

CAUSE_OF_CLIENT_REASON = {
    reasons.METADATA_CHANGED: _C.METADATA_CHANGED,
    reasons.SUBSCRIPTION_CHANGED: _C.SUBSCRIPTION_CHANGED,
    reasons.ASSIGNMENT_DOES_NOT_MATCH: _C.SUBSCRIPTION_CHANGED,
    reasons.REVOKED: _C.PARTITIONS_REVOKED,
}
"""A client's reason → the cause of the rebalance that its JoinGroup starts."""

LOST_COORDINATOR = tuple(
    f"{reasons.REBALANCE_FAILED}{name}Exception"
    for name in (
        "NotCoordinator",
        "CoordinatorNotAvailable",
        "CoordinatorLoadInProgress",
        "Disconnect",
        "UnknownMemberId",
    )
)
"""The reasons of a client that lost its join, its sync or its member id with its coordinator."""


class Trigger(NamedTuple):
    """The trigger of a rebalance: its cause, the member that caused it ("" for none), and the reason in Kafka's words.

    `member` is the client id; `detail` is the reason as Kafka's coordinator logs it.
    """

    cause: RebalanceCause
    member: str
    member_id: str
    detail: str


def newcomer(group: ClassicGroup, member: GroupMember, reason: str) -> Trigger:
    """The join of an unknown member. After a coordinator's move it may be an old member whose id was not in the log."""
    cause = _C.COORDINATOR_MOVED if group.interrupted else _C.MEMBER_JOINED
    instance = member.instance_id or "null"
    detail = f"Adding new member {member.member_id} with group instance id {instance}; {_client(reason)}"
    return Trigger(cause, member.client_id, member.member_id, detail)


def rejoin(group: ClassicGroup, member: GroupMember, request: JoinGroupRequest) -> Trigger:
    """A known member's JoinGroup, before the group takes over its metadata.

    The client's reason counts if it is a reason to rebalance. Otherwise the coordinator compares the metadata: other
    topics or protocols, fewer owned partitions (the next round of a cooperative rebalance, KIP-429), a leader without
    a change, or a follower whose metadata differ only in the generation: it joined once more.
    """
    reason = request.reason
    leads_stable = group.leader == member.member_id and group.state is GroupState.STABLE
    if group.interrupted:
        cause = _C.COORDINATOR_MOVED
    else:
        cause = CAUSE_OF_CLIENT_REASON.get(reason) or _compared(
            group, member.protocols, request.protocols, leads_stable=leads_stable
        )
    member_id = member.member_id
    if leads_stable:
        detail = f"Leader {member_id} re-joining group during {group.state.value}; {_client(reason)}"
    else:
        detail = f"Updating metadata for member {member_id} during {group.state.value}; {_client(reason)}"
    return Trigger(cause, member.client_id, member_id, detail)


def _compared(
    group: ClassicGroup, before: Mapping[str, MemberMetadata], now: Mapping[str, MemberMetadata], *, leads_stable: bool
) -> RebalanceCause:
    old, new = next(iter(before.values()), None), now.get(next(iter(before), ""))
    if old is None or new is None or sorted(old.topics) != sorted(new.topics):
        return _C.SUBSCRIPTION_CHANGED
    if list(before) != list(now):  # the log stores only the selected protocol: after a move the list differs
        return _C.COORDINATOR_MOVED if group.loaded_again else _C.SUBSCRIPTION_CHANGED
    if frozenset(new.owned_partitions) < frozenset(old.owned_partitions):
        return _C.PARTITIONS_REVOKED
    return _C.LEADER_REJOINED if leads_stable else _C.MEMBER_JOINED


def static_replaced(group: ClassicGroup, member: GroupMember, reason: str) -> Trigger:
    """A static member's restart that needs a rebalance; `member` has the new member id."""
    who = f"static member {member.member_id} with instance id {member.instance_id}"
    if group.state is GroupState.STABLE:
        detail = f"Group's selectedProtocol will change because {who} joined with change of protocol; {_client(reason)}"
    else:
        detail = f"Updating metadata for {who}; {_client(reason)}"
    return Trigger(_C.STATIC_MEMBER_REPLACED, member.client_id, member.member_id, detail)


def cause_of_leaving(reason: str) -> RebalanceCause:
    """The cause of a LeaveGroup, by its reason."""
    return _C.POLL_INTERVAL_EXCEEDED if reason == reasons.POLL_TIMEOUT else _C.MEMBER_LEFT


def left(cause: RebalanceCause, removed: Sequence[tuple[str, str]]) -> Trigger:
    """LeaveGroup of these (client id, member id): one rebalance for all, triggered by the first."""
    member, member_id = removed[0]
    ids = ", ".join(one for _, one in removed)
    return Trigger(cause, member, member_id, f"explicit `LeaveGroup` request for ({ids}) members.")


def expired(member: str, member_id: str) -> Trigger:
    """The end of a member's session."""
    return Trigger(_C.SESSION_EXPIRED, member, member_id, f"removing member {member_id} on heartbeat expiration.")


def never_synced(missing: Sequence[tuple[str, str]]) -> Trigger:
    """Members (client id, member id) without a SyncGroup in time."""
    member, member_id = missing[0]
    ids = ", ".join(one for _, one in missing)
    return Trigger(_C.SYNC_TIMED_OUT, member, member_id, f"Removing [{ids}] on pending sync request expiration")


def not_stored(leader: GroupMember, error: ErrorCode) -> Trigger:
    """A failed append of the leader's assignment. (The missing space is Kafka's.)"""
    detail = f"Error {error.name} when storing group assignmentduring SyncGroup (member: {leader.member_id})."
    return Trigger(_C.SYNC_TIMED_OUT, leader.client_id, leader.member_id, detail)


def over_capacity(group: ClassicGroup, max_size: int) -> Trigger:
    """A loaded group with more members than the new coordinator allows."""
    detail = (
        f"Freshly-loaded group {group.group_id} (size {len(group.members)}) is over capacity {max_size}."
        " Rebalancing in order to give a chance for consumers to commit offsets"
    )
    return Trigger(_C.COORDINATOR_MOVED, "", "", detail)


def lost_its_coordinator(reason: str) -> bool:
    """Whether a client's reason is that its last join ended with its coordinator."""
    return reason in LOST_COORDINATOR


def _client(reason: str) -> str:
    return f"client reason: {reason or reasons.NOT_PROVIDED}"
