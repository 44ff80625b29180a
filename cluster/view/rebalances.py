"""The read model of rebalances, under way and completed, and of what a group of the new protocol has (KIP-848)."""

from typing import Final

import msgspec

from cluster.view.votes import AssignorVote

NEVER: Final = -1


class Revocation(msgspec.Struct, gc=False):
    """What a member of the new protocol had to revoke: from its first UNREVOKED_PARTITIONS until the coordinator knew.

    `done_us`: NEVER while it has not. A member that was removed meanwhile has revoked nothing: `removed_for` is the
    reason.
    """

    asked_us: int
    partitions: tuple[str, ...]
    done_us: int = NEVER
    removed_for: str = ""


class MemberReconciliation(msgspec.Struct, gc=False):
    """The way of the members of the new protocol to their targets, in place of a barrier (KIP-848).

    `reached_us`: member → when it had its whole target, in this order; at most the last ones are kept. `revocations`:
    member → the partitions that it had to revoke.
    """

    reached_us: dict[str, int] = {}
    revocations: dict[str, Revocation] = {}

    def removed(self, member: str, at_us: int, reason: str) -> None:
        """The coordinator removes a member, which ends what it had to do."""
        self.reached_us.pop(member, None)
        left = self.revocations.get(member)
        if left is not None and left.done_us == NEVER:
            left.done_us, left.removed_for = at_us, reason

    @property
    def slowest(self) -> str:
        """The member that took longest to revoke partitions; "" without one."""
        took = {name: one.done_us - one.asked_us for name, one in self.revocations.items() if one.done_us != NEVER}
        return max(took, key=lambda name: took[name], default="")


class OpenRebalance(msgspec.Struct, gc=False):
    """An open rebalance: `joined` and `synced` (member id → instant), and the latest instant of the barrier's end.

    `detail` is the coordinator's reason in Kafka's words. `attempts` counts the openings of the barrier until the group
    is Stable. `removed`: member → the reason of its removal meanwhile. `unowned_since_us`: partition → when it lost its
    owner, also of partitions that have an owner again. `unowned_before_us`: the sum of the time without an owner before
    the rebalance began. `follows`: the generation whose assignment made a member revoke partitions, if that is the
    cause (KIP-429). `reconciliation`: of a group of the new protocol, whose rebalances have no barrier: members take
    partitions over while it is open, so `stopped_partition_us` and `reread` count by then.
    """

    started_us: int
    cause: str
    trigger: str
    initial: bool
    closes_at_us: int
    joined: dict[str, int] = {}
    newcomers: dict[str, str] = {}
    synced: dict[str, int] = {}
    completed_us: int = NEVER
    last_joined: str = ""
    waited_us: int = 0
    detail: str = ""
    generation: int = 0
    attempts: int = 1
    extensions: int = 0
    extended: str = ""
    removed: dict[str, str] = {}
    unowned_since_us: dict[str, int] = {}
    unowned_before_us: int = 0
    follows: int = 0
    stopped_partition_us: int = 0
    reread: int = 0
    reconciliation: MemberReconciliation | None = None

    def member_removed(self, member_id: str, member: str, reason: str) -> None:
        """The coordinator removes a member: it does not count here any more."""
        for noted in (self.joined, self.newcomers, self.synced):
            noted.pop(member_id, None)
        self.removed[member] = reason


class RebalanceView(msgspec.Struct, gc=False):
    """A completed rebalance: its cause, its duration, the partitions that it moved, and its cost.

    `arrivals`: the last members to join, with their instants, in order. `moves`: the first moved partitions, each with
    the owner before and after. `unowned` counts partitions that had no owner for a while, `kept` those with an owner
    throughout. `stable_us`: when the group became Stable; `assigned_us`: when the last member so far took its
    partitions over. Other fields: as in `OpenRebalance`.
    """

    generation: int
    cause: str
    trigger: str
    started_us: int
    stable_us: int
    waited_for: str
    waited_us: int
    moved: int
    members: int
    stopped_partition_us: int = 0
    reread: int = 0
    detail: str = ""
    initial: bool = False
    before: int = 0
    assigned_us: int = NEVER
    follows: int = 0
    coordinator: int = NEVER
    assignor: str = ""
    leader: str = ""
    completed_us: int = NEVER
    attempts: int = 1
    extensions: int = 0
    extended: str = ""
    arrivals: dict[str, int] = {}
    newcomers: tuple[str, ...] = ()
    removed: dict[str, str] = {}
    moves: list[tuple[str, str, str]] = []
    unowned: int = 0
    kept: int = 0
    unowned_before_us: int = 0
    vote: AssignorVote | None = None
    reconciliation: MemberReconciliation | None = None

    @property
    def key(self) -> str:
        """Its start in µs; under the new protocol two may begin at one instant, and the group epoch is part of it."""
        return str(self.started_us) if self.reconciliation is None else f"{self.started_us}/{self.generation}"

    @property
    def took_us(self) -> int:
        """Microseconds from the rebalance's start until the last member had its partitions."""
        return max(self.stable_us, self.assigned_us) - self.started_us


class ConsumerGroupMemberView(msgspec.Struct, gc=False):
    """A member at its coordinator. `epoch` is -2 while a static member is away.

    `state`: STABLE, UNREVOKED_PARTITIONS (it must revoke `pending_revocation` by `fenced_at_us`, -1: no such limit),
    UNRELEASED_PARTITIONS (partitions of its target belong to other members yet).
    `classic`: it speaks the classic protocol. `awaited_until_us`: the requests (JoinGroup, SyncGroup) that the
    coordinator then awaits from it, and until when.
    """

    epoch: int = 0
    previous_epoch: int = 0
    state: str = "STABLE"
    assigned: tuple[str, ...] = ()
    pending_revocation: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    fenced_at_us: int = -1
    instance_id: str = ""
    topics: tuple[str, ...] = ()
    topic_regex: str = ""
    classic: bool = False
    awaited_until_us: dict[str, int] = {}


class ConsumerGroupView(msgspec.Struct, gc=False):
    """What a group of the new protocol has instead of a barrier. `members`: by member id, as in `GroupView.members`.

    `topic_regex`: as declared for its members. `regexes`: each resolved expression → its topics. `computed`: how many
    targets were computed. `rebalance`: from the epoch that left Stable or Empty until the group is so again. `awaited`:
    partition → the member that had not taken it over yet when the group became Stable.
    """

    group_epoch: int = 0
    assignment_epoch: int = 0
    members: dict[str, ConsumerGroupMemberView] = {}
    topic_regex: str = ""
    regexes: dict[str, tuple[str, ...]] = {}
    computed: int = 0
    rebalance: OpenRebalance | None = None
    awaited: dict[str, str] = {}

    @property
    def reconciled(self) -> bool:
        """Whether every member has its target assignment of the group epoch."""
        return self.assignment_epoch == self.group_epoch and all(
            one.state == "STABLE" and one.epoch == self.group_epoch for one in self.members.values()
        )

    def taken(self, member: str, partitions: tuple[str, ...]) -> tuple[str, ...]:
        """The partitions that a member takes over because of a rebalance; the others come back to it."""
        if self.rebalance is not None:
            return partitions
        return tuple(name for name in partitions if self.awaited.pop(name, "") == member)
