"""From the answers of `findings` to the structs of `report_data`: one flight after the other, in plain Python."""

import re
import tomllib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from recordings.spark import report_model as data
from recordings.spark.report_model import FATES
from recordings.spark.verdict import UNJUDGED, verdict

if TYPE_CHECKING:
    from pyspark.sql import Row

    Rows = dict[str, list[Row]]

SECOND_US = 1_000_000
ENDED = ("Stable", "Empty")
RECORDS = (*FATES, "duplicated", "out_of_order_keys")
PRODUCED = ("produced", "acked", "appended")
COSTS = ("orphaned_partition_us", "stopped_member_us", "reread")

S = TypeVar("S", bound=msgspec.Struct)


def assemble(answers: "Rows") -> list[data.Flight]:
    """The flights, in the order in which they were flown, of the answers to every question."""
    flown: dict[str, Rows] = defaultdict(lambda: defaultdict(list))
    for name, rows in answers.items():
        for row in rows:
            flown[row["run_id"]][name].append(row)
    flights = [_flight(rows) for rows in flown.values() if rows["flights"]]
    return sorted(flights, key=lambda flight: (flight.started, flight.run_id))


def natural(name: str) -> list[str | int]:
    """Sort key that counts: `orders-2` before `orders-10`."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _make(struct: type[S], row: "Row", **more: Any) -> S:  # noqa: ANN401 - whatever fields it has
    """A struct of the row's columns that it has fields for, and `more`."""
    taken = {name: row[name] for name in struct.__struct_fields__ if name in row and name not in more}
    return struct(**taken, **more)


def _flight(rows: "Rows") -> data.Flight:
    [row] = rows["flights"]
    scenario = tomllib.loads(row["scenario_text"])
    rebalances = _rebalances(rows)
    declared = sorted(rows["declared"], key=lambda group: int(group["seq"]))
    groups = [_group(group, rows, rebalances) for group in declared]
    topics = [topic for topic in rows["topics"] if not topic["internal"]]
    flight = _make(
        data.Flight,
        row,
        title=str(scenario.get("title", row["scenario"])),
        lesson=str(scenario.get("lesson", "")).strip(),
        verdict=UNJUDGED,
        totals=data.Totals(
            **{name: sum(topic[name] for topic in topics) for name in PRODUCED},
            **{name: sum(getattr(group, name) for group in groups) for name in RECORDS},
        ),
        groups=groups,
        producers=[
            _make(data.Producer, row) for row in sorted(rows["producers"], key=lambda row: natural(row["producer"]))
        ],
        outages=[
            _make(data.Outage, row) for row in sorted(rows["outages"], key=lambda row: (row["from_us"], row["broker"]))
        ],
        availability=[
            _make(data.Availability, row) for row in sorted(rows["availability"], key=lambda row: str(row["topic"]))
        ],
        log_losses=[_make(data.LogLoss, row) for row in sorted(rows["log_losses"], key=lambda row: str(row["topic"]))],
        incidents=_incidents(rows),
        rebalances=rebalances,
        storms=[_make(data.Storm, storm) for storm in sorted(rows["storms"], key=lambda storm: int(storm["from_us"]))],
        reconciliation=_reconciliation(row, rows["kinds"]),
    )
    return msgspec.structs.replace(flight, verdict=verdict(flight))


def _rebalances(rows: "Rows") -> list[data.Rebalance]:
    attended: dict[tuple[str, int], list[data.Attendance]] = defaultdict(list)
    for row in sorted(rows["attendance"], key=lambda row: natural(row["member"])):
        attended[row["group"], row["rebalance"]].append(_make(data.Attendance, row))
    found = sorted(rows["rebalances"], key=lambda row: (row["started_us"], row["group"], row["rebalance"]))
    return [_make(data.Rebalance, row, attendance=attended[row["group"], row["rebalance"]]) for row in found]


def _group(declared: "Row", rows: "Rows", rebalances: list[data.Rebalance]) -> data.Group:
    name = declared["group"]
    mine = [each for each in rebalances if each.group == name]
    over = [each for each in mine if each.ends in ENDED]
    first = sum(1 for each in over if each.initial and each.rebalance == 1)
    topics = [topic for topic in rows["topics"] if topic["topic"] in set(declared["topics"])]
    [measures] = _of(rows["groups"], name)
    [readers] = _of(rows["readers"], name)
    unowned = _of(rows["unowned"], name)
    worst = sorted(_of(rows["partitions"], name), key=lambda row: int(row["rank"]))[: data.WORST]
    return data.Group(
        group=name,
        topics=list(declared["topics"]),
        partitions=declared["partitions"],
        members=declared["members"],
        **{each: sum(topic[each] for topic in topics) for each in PRODUCED},
        processed=readers["processed"],
        **{each: readers[each] for each in RECORDS},
        rebalances=max(0, declared["join_barriers"] - 1),
        rebalances_ended=len(over) - first,
        rebalancing_us=sum(each.ended_us - each.started_us for each in over if each.ended_us is not None),
        stopped_partition_us=sum(each.stopped_partition_us + each.after_partition_us for each in mine),
        **{cost: sum(getattr(each, cost) for each in mine) for cost in COSTS},
        unowned_at_end_us=unowned[0]["unowned_us"] if unowned else 0,
        lag=_make(data.LagMeasures, measures),
        series=_series(_of(rows["series"], name)),
        heat=_heat(_of(rows["heat"], name)),
        worst_partitions=[_make(data.PartitionLag, row) for row in worst],
    )


def _of(rows: "list[Row]", group: str) -> "list[Row]":
    return [row for row in rows if row["group"] == group]


def _series(rows: "list[Row]") -> data.Series:
    points = {row["point"]: row for row in rows}
    last = max(points, default=-1)
    return data.Series(
        seconds_per_point=rows[0]["seconds"] if rows else 1,
        lag=[points[n]["lag"] if n in points else 0 for n in range(last + 1)],
        time_lag_us=[points[n]["time_lag_us"] if n in points else 0 for n in range(last + 1)],
    )


def _heat(rows: "list[Row]") -> data.Heat:
    cells: dict[str, dict[int, int]] = defaultdict(dict)
    for row in rows:
        cells[row["partition"]][row["point"]] = row["lag"]
    last = max((row["point"] for row in rows), default=-1)
    names = sorted(cells, key=natural)
    return data.Heat(
        seconds_per_cell=rows[0]["seconds"] if rows else 1,
        partitions=names,
        rows=[[cells[name].get(n, 0) for n in range(last + 1)] for name in names],
    )


def _incidents(rows: "Rows") -> list[data.Incident]:
    effects: dict[int, list[data.Effect]] = defaultdict(list)
    for row in sorted(rows["effects"], key=lambda row: natural(row["group"])):
        effects[row["incident"]].append(_make(data.Effect, row))
    found = sorted(rows["incidents"], key=lambda row: int(row["incident"]))
    return [_make(data.Incident, row, effects=effects[row["incident"]]) for row in found]


def _reconciliation(flight: "Row", kinds: "list[Row]") -> data.Reconciliation:
    """What the recording counted beside what the tables hold; `seq` counts from 1, so that gaps show."""
    found = {row["kind"]: row["events"] for row in sorted(kinds, key=lambda row: str(row["kind"]))}
    recorded = dict(sorted(flight["kinds"].items()))
    missing = flight["events"] - sum(found.values())
    last = max((row["last_seq"] for row in kinds), default=0)
    return data.Reconciliation(
        equal=recorded == found and missing == 0 and last == flight["events"],
        recorded=recorded,
        found=found,
        missing_events=missing,
    )
