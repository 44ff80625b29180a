"""The structs of `report.json` that analyses, verdict and charts share; they document it.

Instants and durations are whole microseconds of virtual time (`_us`), `second` a whole virtual second; lag is counted
in records. Every number derives from the events of the flight alone, not from the simulator's objects. An analysis that
no other part reads defines the struct of its rows itself (`analyses.analysis`).
"""

import msgspec

from recordings.spark.report_cluster_model import Availability, LastingTransaction, LogLoss, Outage, ProducerReport

FATES = (
    "acknowledged", "delivered", "lost", "unread", "skipped", "delivered_unacknowledged", "delivered_then_lost",
)  # fmt: skip
"""The fates of a group's records."""
FATES_IN_FULL = (*FATES, "deleted")
"""And how many of the skipped ones were deleted before the group reached them."""
CLASSIC, CONSUMER = "classic", "consumer"
"""The protocols of groups."""
ABANDONED, CONVERTED, UNFINISHED = "coordinator moved", "protocol changed", "unfinished"
"""How a rebalance ends that does not complete."""
RECORDS = (*FATES, "duplicated", "out_of_order_keys")
PRODUCED = ("produced", "acked", "appended")

# Limits of lists that may be long.
POINTS = 600  # of a series
CELLS = 120  # of a heat map's row
HEAT_ROWS = 40  # partitions of a group
WORST = 10  # partitions of a group
REFUSED = 20  # members of a group
ATTENDED = 200  # rebalances of a flight with their members: those that took longest


class LagSeries(msgspec.Struct, frozen=True, kw_only=True):
    """A group's lag over the flight: point n is the highest of the seconds from n × `seconds_per_point` on."""

    seconds_per_point: int
    lag: list[int]
    time_lag_us: list[int]


class Heat(msgspec.Struct, frozen=True, kw_only=True):
    """The lag of single partitions: row n is `partitions[n]`, its cells as in a series. The worst ones, if many."""

    seconds_per_cell: int
    partitions: list[str]
    rows: list[list[int]]


class LagMeasures(msgspec.Struct, frozen=True, kw_only=True):
    """Measures over all seconds of the flight; percentiles are interpolated, a peak's second is its first.

    `lag_area` is in record seconds: ten records behind for a minute are 600.
    """

    lag_p50: float
    lag_p95: float
    lag_p99: float
    lag_peak: int
    lag_peak_second: int
    lag_area: int
    lag_end: int
    time_lag_p50_us: float
    time_lag_p95_us: float
    time_lag_p99_us: float
    time_lag_peak_us: int
    time_lag_peak_second: int


class PartitionLag(LagMeasures, frozen=True, kw_only=True):
    """One of the partitions in which a group was furthest behind."""

    partition: str


class RefusedMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the consumer protocol whose heartbeat the coordinator refused with an error, the `reason`.

    `state`: FENCED (it loses its partitions and joins again with member epoch 0) or FATAL (it ends).
    """

    member: str
    at_us: int
    state: str
    reason: str


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group: the records it read, its lag, the cost of its rebalances. `protocol`: classic or consumer.

    `produced`, `acked` and `appended` are of the topics that it ever subscribed to. Each of their `acknowledged`
    records is `delivered` (finished at least once), `lost` (it can never be finished any more), `skipped` (before the
    group's first position, compacted, or `deleted` before the group reached it) or `unread`; a group that reads
    committed data leaves out aborted ones. `delivered_unacknowledged` and `delivered_then_lost` stand beside that sum;
    `duplicated`: finished once more; `processed`: delivered, acknowledged or not, and duplicated.
    [delivery.md](delivery.md) has the definitions. `rebalances`: completed join barriers, or target assignments of the
    consumer protocol, after the first one; `rebalances_ended`: rebalances that ended (several barriers in a row are
    one), without the one that started the group. `stopped_partition_us`: partitions without an owner until one took
    them, with or without a rebalance (a consumer that calls assign() is the owner of what it names);
    `orphaned_partition_us`: before a rebalance began; `unowned_at_end_us`: to the end.
    `refused_members`: the first 20.
    """

    group: str
    protocol: str = CLASSIC
    topics: list[str]
    partitions: int
    members: int
    produced: int
    acked: int
    appended: int
    processed: int
    acknowledged: int
    delivered: int
    duplicated: int
    lost: int
    unread: int
    skipped: int
    deleted: int
    delivered_unacknowledged: int
    delivered_then_lost: int
    out_of_order_keys: int
    rebalances: int
    rebalances_ended: int
    rebalancing_us: int
    stopped_partition_us: int
    orphaned_partition_us: int
    unowned_at_end_us: int
    stopped_member_us: int
    reread: int
    lag: LagMeasures
    series: LagSeries
    heat: Heat
    worst_partitions: list[PartitionLag]
    refused_members: list[RefusedMember] = []


class Attendance(msgspec.Struct, frozen=True, kw_only=True):
    """A member in a rebalance: when it stopped, joined, synced and was Stable again; null where it did not.

    Of the consumer protocol: the coordinator waited for it to revoke partitions from `asked_us` to `gave_up_us`; at
    `reached_us` it had its target assignment.
    """

    member: str
    newcomer: bool
    stopped_us: int | None
    joined_us: int | None
    synced_us: int | None
    ready_us: int | None
    asked_us: int | None = None
    gave_up_us: int | None = None
    reached_us: int | None = None


class Rebalance(msgspec.Struct, frozen=True, kw_only=True):
    """A rebalance, from its cause to its cost.

    `closed_us`: the join barrier closed; `assigned_us`: the leader's assignment came; null: the rebalance did not get
    this far. `ends`: `Stable`, `Empty`, `coordinator moved`, `protocol changed` or `unfinished`; `barriers`: how often
    it began anew. Of the consumer `protocol` the `generation` is the group epoch, `closed_us` the instant of the last
    target assignment, `barriers` counts group epochs, and `waited_for` took longest to revoke partitions.
    `moved` counts partitions with another owner than before. The costs are as in a group; `after_partition_us` is a
    cost of its own: stretches without an owner that began after the rebalance and ended without another (a static
    member was away). `stopped_partitions`, `orphaned_partitions`, `after_partitions`: how many partitions. `attendance`
    may be left out ([]) when there are very many rebalances.
    """

    group: str
    protocol: str = CLASSIC
    rebalance: int
    generation: int | None
    cause: str
    trigger: str
    initial: bool
    started_us: int
    closed_us: int | None
    assigned_us: int | None
    ended_us: int | None
    ends: str
    barriers: int
    members: int | None
    waited_for: str
    waited_us: int
    moved: int
    stopped_partition_us: int
    orphaned_partition_us: int
    after_partition_us: int
    stopped_partitions: int
    orphaned_partitions: int
    after_partitions: int
    stopped_member_us: int
    reread: int
    attendance: list[Attendance]


class Storm(msgspec.Struct, frozen=True, kw_only=True):
    """At least three rebalances of a group, each within a minute of the one before; `causes` of each, in order.

    First joins of an Empty group, and others within 3 s of one, are left out.
    """

    group: str
    from_us: int
    until_us: int
    rebalances: int
    causes: list[str]
    stopped_partition_us: int
    reread: int


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of an incident on a group's lag.

    `baseline`: the highest lag of the ten seconds before; `peak`: the highest until the next incident; `recovered_us`:
    from the incident until lag was no higher than the baseline again, null for never.
    """

    group: str
    baseline: int
    peak: int
    peak_second: int
    time_lag_peak_us: int
    recovered_us: int | None


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """A command that changed something. `source`: operator, scenario or nemesis; `refused`: the reason, or "".

    `kind`: what it does (`kill`, `scale`); `targets`: the processes, groups, topics and partitions that it names.
    `fault`: it started a fault; `mended_us`: when that fault ended, null when it lasts to the flight's end. `repairs`:
    it ends what another command began. `lasts_us`: how long a rolling restart goes on, 0 for any other command.
    """

    at_us: int
    text: str
    kind: str
    targets: list[str]
    source: str
    fault: bool
    cleared_us: int | None = msgspec.field(name="mended_us")
    repairs: bool
    lasts_us: int
    refused: str
    effects: list[Effect]


class Reconciliation(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the tables hold every recorded event: `recorded` and `found` count events by kind.

    `missing_events`: sequence numbers that no table has.
    """

    equal: bool
    recorded: dict[str, int]
    found: dict[str, int]
    missing_events: int


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Records of the whole flight: sums over the groups, and, of producers, over all users' topics."""

    produced: int
    acked: int
    appended: int
    acknowledged: int
    delivered: int
    duplicated: int
    lost: int
    unread: int
    skipped: int
    delivered_unacknowledged: int
    delivered_then_lost: int
    out_of_order_keys: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The flight in words. `level`: `calm`, `eventful`, `harm` (records lost, or out of order).

    Records that a log lost are harm also when every group had processed them.
    """

    level: str
    headline: str
    sentences: list[str]


class FlightReport(msgspec.Struct, frozen=True, kw_only=True):
    """One flight. `complete` is false after a crash, Ctrl-C or damage; `warnings` name the missing parts then."""

    run_id: str
    scenario: str
    title: str
    lesson: str
    seed: int
    settings: list[str]
    started: str
    flightdeck: str
    virtual_us: int
    events: int
    commands: int
    journal_sha256: str
    complete: bool
    warnings: list[str]
    verdict: Verdict
    totals: Totals
    groups: list[Group]
    producers: list[ProducerReport]
    outages: list[Outage]
    availability: list[Availability]
    log_losses: list[LogLoss]
    lasting_transactions: list[LastingTransaction] = []
    incidents: list[Incident]
    rebalances: list[Rebalance]
    storms: list[Storm]
    reconciliation: Reconciliation
