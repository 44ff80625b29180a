"""What Kafka's log lines need beside an event: ids, states and offsets seen before."""

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
    """What a coordinator's lines say of a group beyond the event itself.

    `logged_join`: the newcomer whose line came before the rebalance that it set off. `absent`: member ids that the
    barrier closed without. `subscriptions`: by generation, what its members said, until its leader has assigned.
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


class PartitionLogState(msgspec.Struct):
    """What a broker's lines say of a partition beyond the event itself.

    `epoch` counts the controller's changes; `epochs`: the leader epochs of its records, each with its first offset.
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


class MemberLogState(msgspec.Struct):
    """What a consumer's lines say of itself: `generation` and `member_id` as it knows them.

    `asked`: the reason that it has given last for a rejoin; `hands_over`: it gives up what its assignment does not have
    any more (KIP-429); `unpositioned`: partitions that it was just given; `reset_to`: where it began to read them, and
    the leader epoch that came with that. `joined_topics`: what it subscribed to at its last JoinGroup; `claimed`: the
    generation and the partitions that it said there it had; `counts`: how many partitions each topic had that it
    assigned as a leader. `commits_in_hand`: its coordinator (`found` last) has not answered them; `unheard`: nor will
    those be heard, for the connection is gone; `ended_commits`: what its next poll() says of them, which has begun when
    something happens after it has `joined`. `unread`: what it says of answers that it has not read yet. `beat_refused`:
    the error of a heartbeat that was refused, of which it does not know yet. `join_arrived`: its coordinator has seen
    its JoinGroup.
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
    fenced_by_commit: bool = False
    former: str = ""
    joined_topics: tuple[str, ...] = ()
    claimed: tuple[int, tuple[str, ...]] = (-1, ())
    counts: dict[str, int] = {}
    owned: dict[str, None] = {}
    unpositioned: dict[str, None] = {}
    reset_to: dict[str, tuple[int, int | None]] = {}
    subscribes_later: bool = False


class ShutdownProgress(msgspec.Struct):
    """A broker's controlled shutdown: since when, and how far the controller is with it."""

    asked_us: int
    begun: bool = False
    granted: bool = False


class KafkaLogState:
    """What was seen so far, as far as lines need it."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupLogState] = {}
        self.partitions: dict[str, PartitionLogState] = {}
        self.members: dict[str, MemberLogState] = {}
        self.member_ids: dict[str, str] = {}  # client id → the id that the coordinator gave it last
        self.pending: dict[str, None] = {}  # member ids that were handed out and did not come back yet
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
        self.to_lead: dict[int, dict[str, None]] = {}  # broker → partitions that it is to lead and does not yet
        self.just_led: dict[int, dict[str, None]] = {}  # broker → those of the same change that it has begun to lead
        self.coordinating: dict[str, None] = {}  # internal partitions that some group of the scenario depends on

    def group(self, name: str) -> GroupLogState:
        """What is known of a group."""
        return self.groups.setdefault(name, GroupLogState(""))

    def partition(self, name: str) -> PartitionLogState:
        """What is known of a partition."""
        return self.partitions.setdefault(name, PartitionLogState())

    def member(self, name: str) -> MemberLogState:
        """What is known of a consumer."""
        return self.members.setdefault(name, MemberLogState())

    def topics_of(self, group: str) -> tuple[str, ...]:
        """What the members of a group that run subscribe to."""
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
        """Whether lines about a partition tell anybody anything: 49 of 50 partitions of an internal topic do not."""
        return not partition.startswith("__") or partition in self.coordinating

    def newcomer_of(self, event: RebalanceStarted) -> bool:
        """Whether a rebalance begins because of a member that the coordinator did not hold before."""
        return event.detail.startswith("Adding new member ")

    def under_min_isr(self, partition: str) -> bool:
        """Whether a partition has fewer in-sync replicas than `min.insync.replicas` (or all its replicas)."""
        known = self.partition(partition)
        wanted = self.min_insync.get(partition.rpartition("-")[0], 1)
        return len(known.isr) < min(wanted, len(known.replicas))
