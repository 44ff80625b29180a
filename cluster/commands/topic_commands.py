"""Commands that make topics, and place their partitions on brokers.

Source: the requests CreateTopics, CreatePartitions and AlterPartitionReassignments of an administrator.
"""

import msgspec


class CreateTopic(msgspec.Struct, frozen=True, tag="create_topic"):
    """Create a topic, as `kafka-topics.sh --create` does.

    None: `num.partitions` and `default.replication.factor` of the brokers, or what `assignment` says: the brokers of
    each partition, its preferred leader first. `config`: `KEY=VALUE` of each topic key. `if_not_exists`: a topic of
    this name is no error.
    """

    topic: str
    partitions: int | None = None
    replicas: int | None = None
    config: tuple[str, ...] = ()
    if_not_exists: bool = False
    assignment: tuple[tuple[int, ...], ...] = ()

    @property
    def named_partitions(self) -> int:
        """The partitions that the command itself says; 1 where the brokers' default counts."""
        return len(self.assignment) or self.partitions or 1


class Reassign(msgspec.Struct, frozen=True, tag="reassign"):
    """Move a partition to these brokers, the preferred leader first, as `kafka-reassign-partitions.sh` does."""

    topic: str
    partition: int
    replicas: tuple[int, ...]


class CancelReassignment(msgspec.Struct, frozen=True, tag="cancel_reassignment"):
    """End a reassignment in progress: the replicas that it adds leave, those that it would remove stay."""

    topic: str
    partition: int


class AddPartitions(msgspec.Struct, frozen=True, tag="add_partitions"):
    """Give a topic this many partitions, more than it has.

    `assignment`: the brokers of each partition, as of a new topic; those of partitions that are there are passed over.
    """

    topic: str
    to: int
    assignment: tuple[tuple[int, ...], ...] = ()
