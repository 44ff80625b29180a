"""A group of the new protocol in its coordinator's memory. Replay alone changes its epochs, members and targets.

Theory of operation. Three epochs move it. The *group epoch* rises with each change of members, subscriptions or topics.
The *assignment epoch* is the group epoch that the target was computed for. A *member epoch* is the assignment epoch
that the member has moved to. There is no barrier: each heartbeat moves its own member one step (`reconciliation.py`).
A partition has at most one owner: a member owns what is assigned to it and what it has not confirmed to have given up.
Source: Kafka's `ConsumerGroup`, `ModernGroup`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from cluster.coordinators.assignors import SubscriptionType, subscription_type
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.states import CONSUMER_GROUP_STATES, ConsumerGroupState
from cluster.coordinators.group.group_offsets import GroupOffsets

FIRST_EPOCH: Final = 1  # of a group that has no record yet; its first member makes it 2
NOT_COMPUTED: Final = -1
LEFT_FOR_A_WHILE: Final = -2  # LEAVE_GROUP_STATIC_MEMBER_EPOCH
CONSUMER_PROTOCOL_TYPE: Final = "consumer"  # the protocol type of classic groups of consumers
_BY_KAFKAS_HASH: Final = ("uniform", "range")


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched, of which version of the topics' metadata, and when."""

    topics: tuple[str, ...]
    version: int
    at_us: int


class ConsumerGroup(GroupOffsets):
    """One group. Its methods keep its maps consistent; the protocol's rules are in the package's other modules."""

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.state = CONSUMER_GROUP_STATES.initial
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_us = NOT_COMPUTED
        self.members: dict[str, ConsumerGroupMember] = {}
        self.static_members: dict[str, str] = {}  # group.instance.id → member id
        self.targets: dict[str, tuple[str, ...]] = {}  # member id → partitions
        self.owners: dict[str, str] = {}  # partition → the member that owns it
        self.regexes: dict[str, ResolvedRegex] = {}
        self.checked_metadata = (-1, -1)  # version of the topics' metadata, and the group epoch, at the last check

    @property
    def dead(self) -> bool:
        """Whether the coordinator has dropped the group."""
        return self.state is ConsumerGroupState.DEAD

    @property
    def unused(self) -> bool:
        """Whether it has no durable state: never, for it is made by a record."""
        return False

    # --- what replay does -------------------------------------------------------------------------------------------

    def put_member(self, member: ConsumerGroupMember) -> None:
        """Add a member, or replace it by its newer value, with the partitions that it owns."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._disown(old)
        self.members[member.member_id] = member
        for name in (*member.assigned, *member.pending_revocation):
            owner = self.owners.setdefault(name, member.member_id)
            assert owner == member.member_id, f"{self.group_id}: {name} of {owner} is given to {member.member_id}"
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove_member(self, member_id: str) -> None:
        """Remove a member with what it owns. Its target has a tombstone of its own."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._disown(member)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]

    def _disown(self, member: ConsumerGroupMember) -> None:
        for name in (*member.assigned, *member.pending_revocation):
            if self.owners.get(name) == member.member_id:
                del self.owners[name]

    def settle_state(self) -> bool:
        """Derive the state from epochs and members; returns whether it has changed."""
        state = self._derived_state()
        if state is self.state:
            return False
        self.state = CONSUMER_GROUP_STATES.next_state(self.state, state)
        return True

    def end(self) -> None:
        """The coordinator drops the group."""
        self.state = CONSUMER_GROUP_STATES.next_state(self.state, ConsumerGroupState.DEAD)

    def _derived_state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        for member in self.members.values():
            if not member.reconciled_to(self.assignment_epoch):
                return ConsumerGroupState.RECONCILING
        return ConsumerGroupState.STABLE

    # --- what rules ask ---------------------------------------------------------------------------------------------

    def target_of(self, member_id: str, instance_id: str | None) -> tuple[str, ...]:
        """The target of a member; of a static one, that of the member which has its instance id."""
        known = member_id if instance_id is None else self.static_members.get(instance_id, "")
        return self.targets.get(known, ())

    def with_member(self, member: ConsumerGroupMember) -> list[ConsumerGroupMember]:
        """The members as they will be, with this one, which takes the place of a static member's former id."""
        former = self.static_members.get(member.instance_id) if member.instance_id is not None else None
        others = [one for name, one in self.members.items() if name not in {member.member_id, former}]
        return [*others, member]

    def topics_of(
        self, member: ConsumerGroupMember, regexes: Mapping[str, ResolvedRegex] | None = None
    ) -> tuple[str, ...]:
        """The topics of a member's subscription, by name. A regular expression that is not resolved matches none."""
        if not member.topic_regex:
            return member.topics
        resolved = (self.regexes if regexes is None else regexes).get(member.topic_regex)
        topics = dict.fromkeys((*member.topics, *(resolved.topics if resolved is not None else ())))
        return tuple(sorted(topics))

    def subscribed_topics(
        self, members: Iterable[ConsumerGroupMember], regexes: Mapping[str, ResolvedRegex] | None = None
    ) -> list[str]:
        """All topics that these members subscribe to, by name."""
        topics: dict[str, None] = {}
        for member in members:
            topics.update(dict.fromkeys(self.topics_of(member, regexes)))
        return sorted(topics)

    def classic_members(self, without: Collection[str] = ()) -> list[ConsumerGroupMember]:
        """The members that speak the classic protocol, without those of these member ids."""
        known = self.members.values()
        return [member for member in known if member.classic is not None and member.member_id not in without]

    def supports_classic(self, protocol_type: str, protocols: Collection[str]) -> bool:
        """Whether a classic member with these protocols may join: all classic members support one of them."""
        if protocol_type != CONSUMER_PROTOCOL_TYPE:
            return False
        offers = [dict(one.classic.protocols) for one in self.classic_members() if one.classic is not None]
        return any(all(name in offer for offer in offers) for name in protocols)

    def waits_for_release(self, member: ConsumerGroupMember) -> bool:
        """Whether another member still owns a partition of this member's target."""
        target = self.targets.get(member.member_id, ())
        return any(name not in member.assigned and name in self.owners for name in target)

    def regex_members(self, regex: str) -> int:
        """How many members subscribe to a regular expression."""
        return sum(1 for member in self.members.values() if member.topic_regex == regex)

    def subscribed_regexes(self, members: Iterable[ConsumerGroupMember]) -> list[str]:
        """The regular expressions that these members subscribe to."""
        return list(dict.fromkeys([member.topic_regex for member in members if member.topic_regex]))


def subscription_type_of(members: Iterable[ConsumerGroupMember]) -> SubscriptionType:
    """Whether all these members subscribe to the same."""
    return subscription_type([(member.topics, member.topic_regex) for member in members])


def preferred_assignor(members: Iterable[ConsumerGroupMember], default: str) -> str:
    """The assignor that most members name; of equals, the first of Kafka's hash map. None names one: the default."""
    counts: dict[str, int] = dict.fromkeys(_BY_KAFKAS_HASH, 0)
    for member in members:
        if member.assignor is not None:
            counts[member.assignor] = counts.get(member.assignor, 0) + 1
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else default


def ordered(partitions: Iterable[str]) -> tuple[str, ...]:
    """Partitions by topic, then number."""
    return tuple(sorted(partitions, key=_place))


def _place(name: str) -> tuple[str, int]:
    topic, _, number = name.rpartition("-")
    return topic, int(number)
