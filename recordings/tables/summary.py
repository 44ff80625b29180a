"""A recording's main tables, without Spark: one pass of the fold that serves every screen.

Every row comes from the fold's view at the end; only a group's highest lag is noted on the way, at the beginning of
each virtual second, as its trend is.
"""

from pathlib import Path
from typing import Any

import msgspec

from cluster.events import CommandRefused, Event, FaultEnded, FaultStarted
from cluster.view import ClusterView, document
from recordings.bounded_files import RecordingError
from recordings.comparison.bill import Bill
from recordings.comparison.meter import BillMeter
from recordings.comparison.ranking import Ranking, rank_groups
from recordings.journal.misfits import MISFITS, taken
from recordings.journal.reader import Recording
from recordings.tables.committed_offsets import CommittedOffsetRow, committed_offset_rows
from recordings.tables.open_transactions import OpenTransactionRow, OpenTransactions
from recordings.tables.partition_loads import PartitionLoadRow, PartitionLoads, TopicLoadRow

SECOND_US = 1_000_000


class GroupRow(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group at the end; `peak_lag` was its highest, first reached at `peak_lag_s`.

    acknowledged = delivered + lost + unread + skipped (docs/delivery.md).
    """

    group: str
    state: str
    members: int
    generation: int
    rebalances: int
    lag: int
    peak_lag: int
    peak_lag_s: int
    delivered: int
    duplicated: int
    lost: int
    unread: int
    skipped: int
    acknowledged: int
    delivered_unacknowledged: int
    delivered_then_lost: int
    stopped_partition_s: float


class RebalanceRow(msgspec.Struct, frozen=True, kw_only=True):
    """A rebalance: its start, cause and duration, the last member to join, partitions moved and stopped.

    The join barrier of a group that was Empty waits for no member: it closes after `initial_delay_s`.
    """

    at_s: float
    group: str
    generation: int
    cause: str
    trigger: str
    took_s: float
    waited_for: str
    waited_s: float
    initial_delay_s: float
    moved: int
    members: int
    stopped_partition_s: float
    reread: int


class ProducerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A producer at the end; records, and `retries` in batches."""

    producer: str
    state: str
    sent: int
    acked: int
    failed: int
    retries: int
    batches: int


class TopicRow(msgspec.Struct, frozen=True, kw_only=True):
    """A topic at the end."""

    topic: str
    partitions: int
    records: int
    bytes: int
    leaderless: int
    under_replicated: int


class FaultRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fault; `ended_s` is None when it lasted to the end."""

    at_s: float
    text: str
    ended_s: float | None


class RefusedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A command of an operator or of a step that the cluster refused, or a step whose `after_event` did not come."""

    at_s: float
    text: str
    reason: str


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `flightdeck summary --json` prints. `rebalances`: the last 500 of each group, in time order.

    `rankings`: the groups that read the same topics, by what they cost (docs/bill.md).
    """

    recording: str
    scenario: str
    seed: int
    settings: list[str]
    started: str
    complete: bool
    virtual_s: float
    events: int
    commands: int
    journal_sha256: str
    groups: list[GroupRow]
    rebalances: list[RebalanceRow]
    committed_offsets: list[CommittedOffsetRow]
    open_transactions: list[OpenTransactionRow]
    producers: list[ProducerRow]
    topics: list[TopicRow]
    topic_loads: list[TopicLoadRow]
    partition_loads: list[PartitionLoadRow]
    faults: list[FaultRow]
    refused: list[RefusedRow]
    delivery: dict[str, Any]
    kinds: dict[str, int]
    bill: Bill
    rankings: list[Ranking]
    warnings: list[str]


def summarize(path: Path, *, salvage: bool = False) -> Summary:
    """The main tables of a recording. Raises RecordingError: no recording, or damaged (unless `salvage`)."""
    recording = Recording(path, salvage=salvage)
    pass_ = _Pass()
    for event in recording.events():
        if not taken(recording, event, pass_.take):
            break
    totals, header = recording.survey().totals, recording.header
    try:
        found = document(pass_.view, totals.virtual_us)
        bill = pass_.meter.bill(totals.virtual_us)
    except MISFITS as error:
        raise RecordingError(f"{path} is damaged: its events contradict each other") from error
    return Summary(
        recording=str(path),
        scenario=header.scenario,
        seed=header.settings.seed,
        settings=[f"{scope}:{key}={value}" if scope else f"{key}={value}" for scope, key, value in header.settings.set],
        started=header.started,
        complete=totals.complete,
        virtual_s=totals.virtual_us / SECOND_US,
        events=totals.events,
        commands=totals.commands,
        journal_sha256=totals.journal_sha256,
        groups=pass_.groups(found),
        rebalances=_rebalances(pass_.view),
        committed_offsets=committed_offset_rows(pass_.view),
        open_transactions=pass_.open_transactions.rows(pass_.view, totals.virtual_us),
        producers=[_row(ProducerRow, "producer", name, fields) for name, fields in found["producers"].items()],
        topics=[_row(TopicRow, "topic", name, fields) for name, fields in found["topics"].items()],
        topic_loads=pass_.loads.topics(pass_.view, totals.virtual_us),
        partition_loads=pass_.loads.partitions(pass_.view, totals.virtual_us),
        faults=pass_.faults(),
        refused=pass_.refused,
        delivery=found["delivery"],
        kinds=totals.kinds,
        bill=bill,
        rankings=rank_groups(pass_.view, bill),
        warnings=recording.warnings,
    )


class _Pass:
    """The fold, and the values noted on the way."""

    def __init__(self) -> None:
        self.meter = BillMeter()
        self.view = self.meter.view
        self.open_transactions, self.loads = OpenTransactions(), PartitionLoads()
        self._sampled_us = 0
        self._peaks: dict[str, tuple[int, int]] = {}
        self.refused: list[RefusedRow] = []
        self._faults: dict[int, tuple[FaultStarted, int | None]] = {}

    def take(self, event: Event) -> None:
        view = self.view
        self.meter(event)
        if view.next_sample_us != self._sampled_us:
            self._sampled_us = view.next_sample_us
            self._note_lags(event.at_us // SECOND_US)
        self.open_transactions.note(event)
        self.loads.note(event)
        if isinstance(event, FaultStarted):
            self._faults[event.fault] = event, None
        elif isinstance(event, FaultEnded) and event.fault in self._faults:
            self._faults[event.fault] = self._faults[event.fault][0], event.at_us
        elif isinstance(event, CommandRefused):
            self.refused.append(RefusedRow(at_s=event.at_us / SECOND_US, text=event.text, reason=event.reason))

    def _note_lags(self, second: int) -> None:
        for name, group in self.view.groups.items():
            values = group.lag_series.values
            if values and values[-1] > self._peaks.get(name, (0, 0))[0]:
                self._peaks[name] = values[-1], second

    def groups(self, found: dict[str, Any]) -> list[GroupRow]:
        rows = []
        for name, fields in found["groups"].items():
            peak, second = self._peaks.get(name, (0, 0))
            if fields["lag"] > peak:
                peak, second = fields["lag"], found["now_ms"] // 1_000
            extra = {
                "peak_lag": peak,
                "peak_lag_s": second,
                "stopped_partition_s": fields["stopped_partition_ms"] / 1e3,
            }
            rows.append(_row(GroupRow, "group", name, fields | found["delivery"]["by_group"][name] | extra))
        return rows

    def faults(self) -> list[FaultRow]:
        return [
            FaultRow(
                at_s=event.at_us / SECOND_US,
                text=event.text,
                ended_s=ended_us / SECOND_US if ended_us is not None else None,
            )
            for event, ended_us in self._faults.values()
        ]


def _rebalances(view: ClusterView) -> list[RebalanceRow]:
    rows = [
        RebalanceRow(
            at_s=each.started_us / SECOND_US,
            group=name,
            generation=each.generation,
            cause=each.cause,
            trigger=each.trigger,
            took_s=each.took_us / SECOND_US,
            waited_for=each.waited_for if not each.initial else "",
            waited_s=each.waited_us / SECOND_US if not each.initial else 0.0,
            initial_delay_s=each.waited_us / SECOND_US if each.initial else 0.0,
            moved=each.moved,
            members=each.members,
            stopped_partition_s=each.stopped_partition_us / SECOND_US,
            reread=each.reread,
        )
        for name, group in view.groups.items()
        for each in group.rebalances
    ]
    return sorted(rows, key=lambda row: row.at_s)


def _row(row: type[Any], key: str, name: str, fields: dict[str, Any]) -> Any:  # noqa: ANN401 - a row of that type
    """A row of the document's fields that its type has."""
    return row(**{key: name}, **{field: fields[field] for field in row.__struct_fields__ if field != key})
