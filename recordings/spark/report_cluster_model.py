"""The structs of `report.json` about producers, brokers, partitions and transactions; `report_model` has the others."""

import msgspec


class AckLatency(msgspec.Struct, frozen=True, kw_only=True):
    """How long acknowledged batches took, from their first record to the acknowledgement, in steps of 0.1 ms.

    `batches` were acknowledged; `late`: records whose batch took longer than a second; the slowest was acknowledged at
    `slowest_at_us`. With acks=0 a batch is done when its request is written.
    """

    batches: int
    late: int
    p50_us: float
    p95_us: float
    p99_us: float
    slowest_us: int
    slowest_at_us: int


class QueueTime(msgspec.Struct, frozen=True, kw_only=True):
    """How long batches waited in the producer: from their first record to their first request, in steps of 0.1 ms.

    One that failed without a request waited until then; `unsent` counts those. Batches that the end of the process or
    of the flight found there are left out. `longest_at_us`: when the one that waited longest left.
    """

    batches: int
    unsent: int
    p50_us: float
    p95_us: float
    p99_us: float
    longest_us: int
    longest_at_us: int


class ProducerDelays(msgspec.Struct, frozen=True, kw_only=True):
    """When a producer could not go on: each list has the first of every `seconds_per_cell` seconds in which it was so.

    `waiting`: a batch that was acknowledged had waited for more than a second, counted from its first record; `failed`:
    a batch failed; `refused`: a send() threw.
    """

    seconds_per_cell: int
    waiting: list[int]
    failed: list[int]
    refused: list[int]


class ProducerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A producer instance: records `acked` and `failed` (a send() that throws too), batches sent again (`retries`).

    `failures`: error → records that failed with it; `retried`: error → how often a batch failed with it and was put
    back (it may expire before it is sent again); `fenced`: how often the producer became Fenced. `latency` is null if
    nothing of it was acknowledged, `queued` if no batch left it, `delays` if it had none.
    """

    producer: str
    acked: int
    failed: int
    retries: int
    fenced: int
    failures: dict[str, int]
    retried: dict[str, int]
    latency: AckLatency | None = None
    queued: QueueTime | None = None
    delays: ProducerDelays | None = None


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch in which a broker is frozen, or down: from its process's end until the controller unfences it.

    `how`: stop, kill, crash, disk, or pause (frozen).
    """

    broker: int
    how: str
    from_us: int
    until_us: int


class Spell(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch in which a topic had this many such partitions at once."""

    from_us: int
    until_us: int
    partitions: int


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that was not always available; times are sums over its partitions, `longest` those of the worst one.

    `without_leader`: partitions that at some time had no leader with a running process; `below_min_isr`: partitions
    that had a leader and fewer in-sync replicas than `min.insync.replicas`: leaders refuse acks=all then. The spells
    say when, and how many at once; of more than 200 different stretches they have the longest.
    """

    topic: str
    without_leader: int
    without_leader_us: int
    longest_without_leader_us: int
    below_min_isr: int
    below_min_isr_us: int
    longest_below_min_isr_us: int
    without_leader_spells: list[Spell] = []
    below_min_isr_spells: list[Spell] = []


class LogLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A user's topic that lost acknowledged records from its logs: no replica holds these `records` any more.

    Each counts once, whether or not groups had processed it before. Left out are records of aborted transactions, and
    records that were deleted on purpose.
    """

    topic: str
    records: int


class LastingTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction open in a partition for more than 15 s, for which a group of committed reads waited.

    From its first record there until its marker; `until_us` is null where the flight ended before. `producer` wrote it.
    """

    group: str
    partition: str
    producer: str
    from_us: int
    until_us: int | None


class HeldBack(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction in a partition, from its first record there until its marker: one of the 100 longest, or over 15 s.

    `outcome`: `COMMIT`, `ABORT`, `truncated` (its records are in no log any more), or null like `until_us` if it is
    open at the end. Readers of committed data (`groups`) wait for what is behind `first_offset`: `waiting` counts the
    offsets from there to the high watermark at its end. From `held_from_us` on no earlier transaction was open there:
    this one held the last stable offset back; null for never.
    """

    partition: str
    producer: str
    from_us: int
    until_us: int | None
    outcome: str | None
    first_offset: int
    waiting: int
    held_from_us: int | None
    groups: list[str]
