"""The state that Kafka's log lines need beside an event: ids, states and offsets of earlier events."""

from typing import NamedTuple

import msgspec

from cluster.assignors import Subscription
from cluster.events import RebalanceStarted


class Line(NamedTuple):
    """One log line without its time: level, context (`[GroupCoordinator id=1 …] `), message, logger."""

    level: str
    context: str
    message: str
    logger: str


class GroupLogState(msgspec.Struct):
    """A group as its coordinator's lines need it.

    `logged_join`: the newcomer whose line preceded the rebalance that it started. `absent`: member ids that the barrier
    closed without. `subscriptions`: by generation, the members' subscriptions, until the leader has assigned.
    `changed_us`: when it last had another epoch, or lost a member; `converted`: it is classic from now on, and its
    rebalance is logged first; `refusal`: why it was not converted. `asynchronous`: its members speak the new protocol
    from their next start on, unless they say otherwise themselves. `consumer`: of the new protocol, perhaps with
    `topic_regex` instead of topics; its members' epochs, rebalance timeouts and instance ids are by member id, and
    `classic` has the ids of those that speak the classic protocol. `offsets_deleted`: when (µs) an administrator last
    deleted offsets of it, and how many.
    """

    partition: str
    broker: int = -1
    state: str = "Empty"
    generation: int = 0
    members: tuple[str, ...] = ()
    protocol: str = ""
    logged_join: str = ""
    absent: list[str] = []
    cooperative: bool = False
    assignment: dict[str, tuple[str, ...]] = {}
    subscriptions: dict[int, dict[str, Subscription]] = {}
    consumer: bool = False
    asynchronous: bool = False
    offsets_deleted: tuple[int, int] = (-1, 0)
    assignors: tuple[str, ...] = ()
    changed_us: int = -1
    converted: bool = False
    refusal: str = ""
    topic_regex: str = ""
    epochs: dict[str, int] = {}
    rebalance_timeouts_ms: dict[str, int] = {}
    instance_ids: dict[str, str] = {}
    classic: dict[str, None] = {}

    def owner_of(self, instance_id: str) -> str:
        """The id of the member that has an instance id."""
        return next((member_id for member_id, known in self.instance_ids.items() if known == instance_id), "")


class LoggedRegistration(NamedTuple):
    """A partition's registration as its changes are logged: the fields under Kafka's names, in its order."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removingReplicas: tuple[int, ...]  # noqa: N815 - as Kafka prints it
    addingReplicas: tuple[int, ...]  # noqa: N815
    leader: int
    leaderEpoch: int  # noqa: N815
    partitionEpoch: int  # noqa: N815


class PartitionLogState(msgspec.Struct):
    """A partition as brokers' lines need it.

    `epoch` counts the controller's changes; `epochs`: the leader epochs of its records, each with its first offset.
    `adding`, `removing`: replicas of a reassignment in progress. `changed`: the registration before the last change of
    leader or ISR, and the number of its event: a reassignment told next is part of the same record.
    """

    leader: int = -1
    leader_epoch: int = -1
    previous_leader: int = -1
    previous_epoch: int = -1
    epoch: int = 0
    isr: tuple[int, ...] = ()
    replicas: tuple[int, ...] = ()
    high_watermark: int = 0
    log_end: int = 0
    epochs: dict[int, int] = {}
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    changed: tuple[LoggedRegistration, int] | None = None

    def registration(self) -> LoggedRegistration:
        """The partition as the controller has it."""
        places = self.replicas, self.isr, self.removing, self.adding
        return LoggedRegistration(*places, self.leader, self.leader_epoch, self.epoch)


class MemberLogState(msgspec.Struct):
    """A consumer as its own lines need it: `generation` and `member_id` as the consumer knows them.

    `asked`: the reason of its last requested rejoin. `hands_over`: it revokes the partitions that its new assignment
    lacks (KIP-429). `listened`: its rebalance listener was called, with the line that says so. `unpositioned`: newly
    assigned partitions without a position. `reset_to`: its first position in each partition, and the leader epoch that
    came with it. `joined_topics`: the subscription of its last JoinGroup. `claimed`: the generation and the owned
    partitions in that request. `counts`: the partition counts of the topics that it assigned as a leader.
    `commits_in_hand`: commits that its coordinator (`found` last) has not answered. `unheard`: commits whose connection
    is gone. `ended_commits`: the lines that its next poll() writes of them; that poll() has begun when an event follows
    after it has `joined`. `unread`: the lines of responses that it has not read yet. `beat_refused`: the error of a
    refused heartbeat whose response has not arrived. `join_arrived`: its coordinator has received its JoinGroup.
    `asynchronous`: its process speaks the new protocol, as an AsyncKafkaConsumer; `starts_asynchronous`: its next one.
    `assignors`: what it offers, if not what its group does. `local_epoch`: of its target under the new protocol.
    `reconciles`: it has said that it reconciles that target.
    """

    group: str = ""
    instance_id: str = ""
    topics: tuple[str, ...] = ()
    generation: int = -1
    member_id: str = ""
    coordinator: int = -1
    found: int = -1
    commits_in_hand: int = 0
    unheard: int = 0
    ended_commits: list[str] = []
    joined: bool = False
    unread: list[Line] = []
    beat_refused: str = ""
    running: bool = False
    asked: str = ""
    join_arrived: bool = False
    state: str = "Left"
    hands_over: bool = False
    listened: bool = False
    fenced_by_commit: bool = False
    former: str = ""
    joined_topics: tuple[str, ...] = ()
    claimed: tuple[int, tuple[str, ...]] = (-1, ())
    counts: dict[str, int] = {}
    owned: dict[str, None] = {}
    paused: dict[str, None] = {}
    unpositioned: dict[str, None] = {}
    reset_to: dict[str, tuple[int, int | None]] = {}
    subscribes_later: bool = False
    asynchronous: bool = False
    starts_asynchronous: bool = False
    assignors: tuple[str, ...] = ()
    local_epoch: int = -1
    reconciles: bool = False


class ShutdownProgress(msgspec.Struct):
    """A broker's controlled shutdown: its start, and the controller's progress with it."""

    asked_us: int
    begun: bool = False
    granted: bool = False


class KafkaLogState:
    """The state of a flight's log lines."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupLogState] = {}
        self.partitions: dict[str, PartitionLogState] = {}
        self.members: dict[str, MemberLogState] = {}
        self.member_ids: dict[str, str] = {}  # client id → the id that the coordinator gave it last
        self.pending: dict[str, None] = {}  # member ids that were assigned and have not joined yet
        self.min_insync: dict[str, int] = {}
        self.partition_counts: dict[str, int] = {}
        self.transactional_ids: dict[str, str] = {}
        self.transaction_partitions = 50
        self.producer_ids: dict[str, int] = {}  # of running producers
        self.producer_epochs: dict[str, int] = {}
        self.ongoing_epochs: dict[str, int] = {}  # transactional id → the epoch that it was last Ongoing with
        self.with_epochs: dict[str, None] = {}  # transactional ids whose transactions end with another epoch
        self.timed_out: dict[str, None] = {}  # transactional ids whose transaction is aborted for its age
        self.committed_epochs: dict[tuple[str, str], int | None] = {}  # by group and partition
        self.controller = -1
        self.starting: dict[int, None] = {}  # brokers that take no connections yet
        self.stopping: dict[int, ShutdownProgress] = {}  # brokers that were asked to stop
        self.away: dict[int, None] = {}  # brokers whose process has ended
        self.frozen: dict[int, dict[str, None]] = {}  # frozen brokers → the partitions that they have got meanwhile
        self.grown: dict[str, None] = {}  # topics that have got partitions
        self.to_lead: dict[int, dict[str, None]] = {}  # broker → partitions that it was elected for, but does not lead
        self.just_led: dict[int, dict[str, None]] = {}  # broker → partitions of the same change that it leads by now
        self.unseen: dict[int, dict[str, None]] = {}  # frozen brokers → partitions whose change they do not know yet
        self.transactions_cached: dict[tuple[int, str], int] = {}  # a coordinator and its partition → its leader epoch
        self.transactional_in: dict[str, dict[str, None]] = {}  # partition → the transactional ids that it has
        self.coordinating: dict[str, None] = {}  # internal partitions that groups and transactional ids need

    def group(self, name: str) -> GroupLogState:
        """The state of a group."""
        return self.groups.setdefault(name, GroupLogState(""))

    def partition(self, name: str) -> PartitionLogState:
        """The state of a partition."""
        return self.partitions.setdefault(name, PartitionLogState())

    def member(self, name: str) -> MemberLogState:
        """The state of a consumer."""
        return self.members.setdefault(name, MemberLogState())

    def topics_of(self, group: str) -> tuple[str, ...]:
        """The topics that the running members of a group subscribe to."""
        members = (member for member in self.members.values() if member.group == group and member.running)
        return tuple(dict.fromkeys(topic for member in members for topic in member.topics))

    def read_epoch(self, member: str, partition: str, offset: int) -> int | None:
        """The leader epoch that a member's position has: of the record before it, if the member has read that."""
        begun, epoch = self.member(member).reset_to.get(partition, (-1, None))
        if offset == begun:
            return epoch
        earlier = [epoch for epoch, first in self.partition(partition).epochs.items() if first < offset]
        return max(earlier, default=None)

    def concerns_the_scenario(self, partition: str) -> bool:
        """Whether a partition's lines are worth writing: 49 of 50 partitions of an internal topic serve no group."""
        return not partition.startswith("__") or partition in self.coordinating

    def newcomer_of(self, event: RebalanceStarted) -> bool:
        """Whether a rebalance begins because of a member that the coordinator did not hold before."""
        return event.detail.startswith("Adding new member ")

    def under_min_isr(self, partition: str) -> bool:
        """Whether a partition has fewer in-sync replicas than `min.insync.replicas` (or all its replicas)."""
        known = self.partition(partition)
        wanted = self.min_insync.get(partition.rpartition("-")[0], 1)
        return len(known.isr) < min(wanted, len(known.replicas))
