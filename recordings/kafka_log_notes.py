"""What Kafka's log lines need beside an event: ids, states and offsets seen before."""

from typing import NamedTuple

import msgspec


class Line(NamedTuple):
    """One log line without its time: level, context (`GroupCoordinator 1]: `), message, logger."""

    level: str
    context: str
    message: str
    logger: str


class GroupNotes(msgspec.Struct):
    """What a coordinator's lines say of a group beyond the event itself."""

    partition: str
    broker: int = -1
    state: str = "Empty"
    generation: int = 0
    members: int = 0
    protocol: str = ""


class PartitionNotes(msgspec.Struct):
    """What a broker's lines say of a partition beyond the event itself."""

    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    high_watermark: int = 0
    log_end: int = 0


class Notes:
    """What was seen so far, as far as lines need it."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupNotes] = {}
        self.partitions: dict[str, PartitionNotes] = {}
        self.member_ids: dict[str, str] = {}
        self.instance_ids: dict[str, str] = {}
        self.groups_of: dict[str, str] = {}
        self.coordinators: dict[str, int] = {}
        self.topics: dict[str, tuple[str, ...]] = {}
        self.transactional_ids: dict[str, str] = {}
        self.controller = -1

    def group(self, name: str) -> GroupNotes:
        """What is known of a group."""
        return self.groups.setdefault(name, GroupNotes(""))

    def partition(self, name: str) -> PartitionNotes:
        """What is known of a partition."""
        return self.partitions.setdefault(name, PartitionNotes())

    def member_id(self, member: str) -> str:
        """The id that the coordinator last gave to a member; its name before that."""
        return self.member_ids.get(member, member)

    def instance(self, member: str) -> str:
        """A member's `group.instance.id` as Kafka's coordinator prints it."""
        instance = self.instance_ids.get(member, "")
        return f"Some({instance})" if instance else "None"
