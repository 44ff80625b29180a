"""The bill of a flight: what it costs its groups, its producers and its cluster (docs/bill.md).

Every number is one of the view's and the ledger's, or a duration that follows from events alone. Comparisons, forks,
remedies and plans take their numbers from here.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

LATE_US: Final = 1_000_000
"""A record is late when its acknowledgement takes longer than this, from the first record of its batch."""

BEHIND_US: Final = 6_000_000
"""A group is behind when its time lag is above this: a default auto.commit.interval.ms, and a second's sample."""


class GroupBill(msgspec.Struct, frozen=True, kw_only=True):
    """What a flight costs one group.

    `unread_partition_us`: Σ over partitions of the time without an owner, after the first one, and of the time in which
    they are stalled. `stalled_partition_us`: of it, with an owner that finishes none of the records that wait.
    `stopped_member_us`: Σ over members of the time in which a rebalance keeps them from reading.
    `rebalances`: completed join barriers after the first one. `by_cause`: those of them that ended in a Stable or Empty
    group, by cause.
    `delivered`: distinct records that its application has finished: no cost, but what the costs are paid for.
    `deleted`, `compacted`: acknowledged records that were deleted or replaced before the group came to them.
    `skipped`, `dead_lettered`: records that its application gave up, and went on behind or sent to a dead-letter topic.
    `peak_time_lag_us`: the largest time lag of a sample, at `peak_at_us`. `behind_us`: the time in which its
    time lag is above 6 s, as sampled.
    """

    unread_partition_us: int = 0
    stalled_partition_us: int = 0
    stopped_member_us: int = 0
    rebalances: int = 0
    by_cause: dict[str, int] = {}
    delivered: int = 0
    duplicated: int = 0
    lost: int = 0
    deleted: int = 0
    compacted: int = 0
    skipped: int = 0
    dead_lettered: int = 0
    reread: int = 0
    peak_time_lag_us: int = 0
    peak_at_us: int = 0
    behind_us: int = 0


class ProducerBill(msgspec.Struct, frozen=True, kw_only=True):
    """What a flight costs one producer.

    `refused`: batches that a leader answers with an error; `late` and `failed`: records; `retries`: batches sent again.
    """

    refused: int = 0
    late: int = 0
    failed: int = 0
    retries: int = 0


class ClusterBill(msgspec.Struct, frozen=True, kw_only=True):
    """What a flight costs its users' topics: Σ over partitions, without a live leader and below min.insync.replicas."""

    leaderless_partition_us: int = 0
    below_min_isr_partition_us: int = 0


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of a flight from its start to `at_us`."""

    at_us: int
    groups: dict[str, GroupBill]
    producers: dict[str, ProducerBill]
    cluster: ClusterBill


class Scope(StrEnum):
    """Who pays a measure."""

    GROUP = "group"
    PRODUCER = "producer"
    CLUSTER = "cluster"


class Measure(msgspec.Struct, frozen=True):
    """A row of the bill: its field, its name for people, and its unit. Of every measure less is better.

    A field that ends in `_us` is shown in seconds.
    """

    scope: Scope
    field: str
    name: str
    unit: str

    def of(self, bill: msgspec.Struct) -> int:
        """The value in the bill of one group, one producer or the cluster."""
        value: int = getattr(bill, self.field)
        return value


MEASURES: Final = (
    Measure(Scope.GROUP, "unread_partition_us", "unread", "partition-seconds"),
    Measure(Scope.GROUP, "stopped_member_us", "stopped", "member-seconds"),
    Measure(Scope.GROUP, "rebalances", "rebalances", "rebalances"),
    Measure(Scope.GROUP, "lost", "lost", "records"),
    Measure(Scope.GROUP, "deleted", "deleted unread", "records"),
    Measure(Scope.GROUP, "skipped", "skipped", "records"),
    Measure(Scope.GROUP, "dead_lettered", "dead-lettered", "records"),
    Measure(Scope.GROUP, "compacted", "compacted unread", "records"),
    Measure(Scope.GROUP, "duplicated", "duplicated", "records"),
    Measure(Scope.GROUP, "reread", "re-read", "records"),
    Measure(Scope.GROUP, "peak_time_lag_us", "peak time lag", "seconds"),
    Measure(Scope.GROUP, "behind_us", "behind", "seconds"),
    Measure(Scope.PRODUCER, "failed", "failed", "records"),
    Measure(Scope.PRODUCER, "refused", "refused", "batches"),
    Measure(Scope.PRODUCER, "late", "late", "records"),
    Measure(Scope.PRODUCER, "retries", "retries", "batches"),
    Measure(Scope.CLUSTER, "leaderless_partition_us", "without a live leader", "partition-seconds"),
    Measure(Scope.CLUSTER, "below_min_isr_partition_us", "below min.insync.replicas", "partition-seconds"),
)
"""Every row of the bill, in the order in which it is shown."""


def payers(bill: Bill, scope: Scope) -> Mapping[str, Any]:
    """The bills of a scope by the name of the group or producer; the cluster's name is empty."""
    if scope is Scope.GROUP:
        return bill.groups
    if scope is Scope.PRODUCER:
        return bill.producers
    return {"": bill.cluster}
