"""One member of a group of the new protocol, as its coordinator holds it: an immutable value that replay replaces."""

from collections.abc import Mapping

import msgspec

from cluster.coordinators.consumer_group.states import MemberAssignmentState
from cluster.protocol.messages import MemberMetadata


class ClassicMemberMetadata(msgspec.Struct, frozen=True):
    """What a consumer group keeps of a member that speaks the classic protocol (ClassicMemberMetadata)."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, MemberMetadata], ...]  # in the member's order of preference

    @property
    def protocol(self) -> str:
        """The protocol that its JoinGroup is answered with: its first."""
        return self.protocols[0][0]


class ConsumerGroupMember(msgspec.Struct, frozen=True):
    """One member. `epoch` is 0 before its first target, -2 while a static member is away.

    `assigned` and `pending_revocation` map a partition to the epoch that assigned it (its assignment epoch). The member
    owns both until its heartbeat says that it has given up the latter. `classic`: of a member that speaks the classic
    protocol, None of the others. Source: Kafka's `ConsumerGroupMember`.
    """

    member_id: str
    client_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] = ()
    topic_regex: str = ""
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberAssignmentState = MemberAssignmentState.STABLE
    assigned: Mapping[str, int] = {}
    pending_revocation: Mapping[str, int] = {}
    classic: ClassicMemberMetadata | None = None

    def reconciled_to(self, epoch: int) -> bool:
        """Whether the member has its whole target of this assignment epoch."""
        return self.state is MemberAssignmentState.STABLE and self.epoch == epoch
