"""What each of five readers says of a flight, as facts that can be compared: what, of which name, when.

The simulator's own objects, the fold with its view document, `summary`, Spark's report, and SQL of its own (DuckDB,
`sql/*.sql`) over the exported tables.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from cluster.events import Event
from cluster.storage.offset_ranges import IntervalSet
from cluster.view import ClusterView, document, fold
from cluster.view.document import group_lag, group_time_lag_us
from recordings.journal.reader import Recording
from recordings.spark.report_model import FATES, FlightReport
from recordings.tables.summary import Summary
from tests.support.expected_document import INTERNAL
from tests.support.independent_bill import IndependentBill
from tests.support.spark.progress import Watched

SECOND_US = 1_000_000
SQL = Path(__file__).parent / "sql"
MADE = ("produced", "acked", "appended")
READ = (*FATES, "duplicated", "out_of_order_keys")
FROM_LOGS = "lost from the log"
"""Whose is a topic, or "" for all: what no replica's log holds any more, read before or not."""
UNOWNED = "without an owner"
"""Partition-milliseconds in which no consumer of a group held a partition that one had held."""
REREAD = "re-read"
"""Records that members read again of partitions that a rebalance gave them."""

DELETED = "deleted unread"
"""Acknowledged records that were deleted before a group reached them."""

PROCESSED = "processed"
"""Records that the members of a group finished, repetitions and unacknowledged ones too.

Not the aborted ones that a broken broker hands out to a group that reads committed data: they are an anomaly, `G1a`.
"""

Fact = tuple[str, str, int]
"""What ("lag", "lost"…), whose (a group, or "" for all), at which second (-1: in the end)."""
Facts = dict[Fact, int]


def of_document(told: dict[str, Any]) -> Facts:
    """The view document's facts, of any origin."""
    delivery = told["delivery"]
    facts = {(name, "", -1): delivery[name] for name in (*MADE, *READ)}
    for group, counts in delivery["by_group"].items():
        facts |= {(name, group, -1): counts[name] for name in (*MADE, *READ)}
        apart = ("delivered", "delivered_unacknowledged", "duplicated")
        facts[PROCESSED, group, -1] = sum(counts[name] for name in apart)
        facts["rebalances", group, -1] = told["groups"][group]["rebalances"]
        facts["lag at the end", group, -1] = told["groups"][group]["lag"]
        facts[UNOWNED, group, -1] = told["groups"][group]["stopped_partition_ms"]
    return facts


def of_simulator(watched: Watched) -> Facts:
    """What brokers, coordinators and clients say themselves."""
    lag = of_lag({place: (lag, time_lag_ms) for place, (lag, time_lag_ms) in watched.lag.items()})
    deleted = {(DELETED, group, -1): records for group, records in watched.deleted.items()}
    return of_document(watched.told) | lag | of_log_losses(watched.gone) | deleted


def of_lines(path: Path) -> Facts:
    """What the lines of a journal say that no simulated process counts."""
    recording, journal = Recording(path), IndependentBill()
    for lines in recording.event_lines():
        for line in lines.splitlines():
            journal.take(msgspec.json.decode(line))
    groups = journal.bill(recording.survey().totals.virtual_us)["groups"]
    return {(REREAD, name, -1): group["reread"] for name, group in groups.items()}


def of_log_losses(losses: Mapping[str, int]) -> Facts:
    """Topic → acknowledged records lost from its logs."""
    return {(FROM_LOGS, topic, -1): records for topic, records in losses.items()} | {
        (FROM_LOGS, "", -1): sum(losses.values())
    }


def _vanished(view: ClusterView) -> dict[str, int]:
    """The fold's word on it, partition by partition; it keeps the acknowledged, the lost and the aborted apart."""
    losses: Counter[str] = Counter()
    for name, partition in view.partitions.items():
        for producer, gone in partition.lost_serials.items():
            aborted = partition.aborted_serials.get(producer, IntervalSet())
            acked = partition.acked_serials.get(producer, IntervalSet())
            losses[name.rpartition("-")[0]] += acked.within(gone).without(aborted).size
    return {topic: records for topic, records in losses.items() if records and topic not in INTERNAL}


def of_lag(series: Mapping[tuple[str, int], tuple[int, int]]) -> Facts:
    """(Group, second) → lag and its age in ms, and what follows from them."""
    facts: Facts = {}
    for (group, second), (lag, time_lag_ms) in series.items():
        facts["lag", group, second], facts["time lag", group, second] = lag, time_lag_ms
        peak = "highest lag", group, -1
        facts[peak] = max(lag, facts.get(peak, 0))
    return facts


def of_fold(events: Iterable[Event], virtual_us: int) -> Facts:
    """What the fold makes of the events, looked at after every second."""
    view, second = ClusterView(), 0
    series: dict[tuple[str, int], tuple[int, int]] = {}

    def look(now_us: int) -> None:
        for name, group in view.groups.items():
            series[name, second] = group_lag(view, group), group_time_lag_us(view, group, now_us) // 1000

    for event in events:
        while event.at_us > second * SECOND_US:
            look(second * SECOND_US)
            second += 1
        fold(view, event)
    while second * SECOND_US <= virtual_us:
        look(second * SECOND_US)
        second += 1
    return of_document(document(view, virtual_us)) | of_lag(series) | of_log_losses(_vanished(view))


def of_recording(path: Path) -> Facts:
    """The fold of a recording."""
    recording = Recording(path)
    return of_fold(recording.events(), recording.survey().totals.virtual_us)


def of_summary(found: Summary) -> Facts:
    """`summary --json`."""
    facts = {(name, "", -1): found.delivery[name] for name in (*MADE, *READ)}
    for row in found.groups:
        facts |= {(name, row.group, -1): found.delivery["by_group"][row.group][name] for name in (*MADE, *READ)}
        rows = {name: getattr(row, name) for name in ("delivered", "duplicated", "lost", "unread", "rebalances")}
        facts |= {(name, row.group, -1): count for name, count in rows.items()}
        facts["lag at the end", row.group, -1] = row.lag
        facts[UNOWNED, row.group, -1] = round(row.stopped_partition_s * 1_000)
        facts[REREAD, row.group, -1] = found.bill.groups[row.group].reread
        facts[DELETED, row.group, -1] = found.bill.groups[row.group].deleted
    return facts


def of_report(flight: FlightReport) -> Facts:
    """Spark's report of a flight that is short enough for a point a second."""
    facts = {(name, "", -1): getattr(flight.totals, name) for name in (*MADE, *READ)}
    facts |= of_log_losses({each.topic: each.records for each in flight.log_losses})
    for group in flight.groups:
        assert group.series.seconds_per_point == 1
        facts |= {(name, group.group, -1): getattr(group, name) for name in (*MADE, *READ, "rebalances")}
        both = zip(group.series.lag, group.series.time_lag_us, strict=True)
        facts |= of_lag({(group.group, n): (lag, age_us // 1000) for n, (lag, age_us) in enumerate(both)})
        facts["lag at the end", group.group, -1] = group.lag.lag_end
        facts[REREAD, group.group, -1] = group.reread
        facts[DELETED, group.group, -1] = group.deleted
        facts[PROCESSED, group.group, -1] = group.processed
        ended_us = group.stopped_partition_us + group.orphaned_partition_us
        facts[UNOWNED, group.group, -1] = (ended_us + group.unowned_at_end_us) // 1_000
        facts["highest lag", group.group, -1] = group.lag.lag_peak
    return facts


def of_tables(place: Path, without: str = "") -> dict[str, Facts]:
    """What the SQL says of each flight in exported tables, by run id; `without`: a table that it does not see."""
    with duckdb.connect() as base:
        for table in sorted((place / "tables").iterdir()):
            rows = f"SELECT * FROM read_parquet('{table}/*.parquet', union_by_name = true)"
            base.execute(f"CREATE VIEW {table.name} AS {rows} {'WHERE false' if table.name == without else ''}")
        for path in sorted(SQL.glob("*.sql")):
            base.execute(path.read_text(encoding="utf-8"))
        return {run_id: _of_tables(base, run_id) for (run_id,) in base.execute("SELECT run_id FROM flights").fetchall()}


def _of_tables(base: duckdb.DuckDBPyConnection, run_id: str) -> Facts:
    def rows(query: str) -> list[dict[str, Any]]:
        found = base.execute(query, [run_id])
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    groups = [row["group"] for row in rows('SELECT "group" FROM group_declared WHERE run_id = ?')]
    facts: Facts = {(name, group, -1): 0 for group in ("", *groups) for name in (*MADE, *READ)}
    facts |= {(name, group, -1): 0 for name in ("rebalances", UNOWNED, DELETED) for group in groups}
    for row in rows("SELECT name, records FROM topic_total WHERE run_id = ?"):
        facts[row["name"], "", -1] = int(row["records"])
    for row in rows('SELECT "group", name, records FROM group_total WHERE run_id = ?'):
        facts[row["name"], row["group"], -1] = int(row["records"])
        if row["name"] in READ:
            facts[row["name"], "", -1] += int(row["records"])
    for row in rows('SELECT "group", us // 1000 AS ms FROM unowned WHERE run_id = ?'):
        facts[UNOWNED, row["group"], -1] = int(row["ms"])
    for row in rows("SELECT * FROM delivery WHERE run_id = ?"):
        facts[DELETED, row["group"], -1] = int(row["deleted"])
        for name in (*FATES, "duplicated"):
            facts[name, row["group"], -1] = int(row[name])
            facts[name, "", -1] += int(row[name])
    facts |= _processed(rows, groups)
    lost = rows("SELECT topic, records FROM log_loss WHERE run_id = ?")
    facts |= of_log_losses({row["topic"]: int(row["records"]) for row in lost})
    behind = 'SELECT "group", second, lag, time_lag_us // 1000 AS age FROM group_lag WHERE run_id = ?'
    series = {(row["group"], row["second"]): (int(row["lag"]), int(row["age"])) for row in rows(behind)}
    ends = {group: max(second for name, second in series if name == group) for group, _ in series}
    facts |= {("lag at the end", group, -1): series[group, second][0] for group, second in ends.items()}
    return facts | of_lag(series)


def _processed(rows: Callable[[str], list[dict[str, Any]]], groups: Iterable[str]) -> Facts:
    """From the offsets that members finished; no word of a flight in which they may pass what compaction took."""
    if rows("SELECT 1 FROM log_compacted WHERE run_id = ? LIMIT 1"):
        return {}
    told = rows('SELECT "group", records FROM processed WHERE run_id = ?')
    finished = {row["group"]: int(row["records"]) for row in told}
    return {(PROCESSED, group, -1): finished.get(group, 0) for group in groups}


def disagreements(tellings: Mapping[str, Facts]) -> list[str]:
    """Where readers differ from the first one, in words, over whatever they tell of. A fact that is missing differs."""
    (first, true), *others = tellings.items()
    found = []
    for reader, told in others:
        about = {what for what, _, _ in told}
        for fact in dict.fromkeys((*true, *told)):
            if fact[0] in about and true.get(fact) != told.get(fact):
                what, whose, second = fact
                place = f"{what}{f' of {whose}' if whose else ''}{f' at {second} s' if second >= 0 else ''}"
                found.append(f"{place}: {first} {true.get(fact)}, {reader} {told.get(fact)}")
    return found
