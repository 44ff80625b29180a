"""Build the structs of the report from the rows of all queries: one flight after the other, in plain Python."""

import tomllib
from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from recordings.spark import report_model as data
from recordings.spark.analyses.analysis import make
from recordings.spark.analyses.table import ANALYSES
from recordings.spark.report_document import Flight
from recordings.spark.report_model import PRODUCED, RECORDS, FlightReport
from recordings.spark.verdict import UNJUDGED, verdict

if TYPE_CHECKING:
    from pyspark.sql import Row

    from recordings.spark.analyses.analysis import FlightRows
    from recordings.spark.queries import QueryResults


def assemble(results: "QueryResults") -> list[FlightReport]:
    """The flights, in the order in which they were flown, of the rows of every query."""
    flown: dict[str, QueryResults] = defaultdict(lambda: defaultdict(list))
    for name, rows in results.items():
        for row in rows:
            flown[row["run_id"]][name].append(row)
    flights = [_flight(rows) for rows in flown.values() if rows["flights"]]
    return sorted(flights, key=lambda flight: (flight.started, flight.run_id))


def _flight(rows: "FlightRows") -> FlightReport:
    [row] = rows["flights"]
    scenario = tomllib.loads(row["scenario_text"])
    built = {analysis.key: analysis.build(rows) for analysis in ANALYSES}
    flight = make(
        Flight,
        row,
        title=str(scenario.get("title", row["scenario"])),
        lesson=str(scenario.get("lesson", "")).strip(),
        verdict=UNJUDGED,
        totals=_totals(rows["topics"], built["groups"]),
        reconciliation=_reconciliation(row, rows["kinds"]),
        **built,
    )
    return msgspec.structs.replace(flight, verdict=verdict(flight))


def _totals(topics: "list[Row]", groups: list[data.Group]) -> data.Totals:
    topics = [topic for topic in topics if not topic["internal"]]
    return data.Totals(
        **{name: sum(topic[name] for topic in topics) for name in PRODUCED},
        **{name: sum(getattr(group, name) for group in groups) for name in RECORDS},
    )


def _reconciliation(flight: "Row", kinds: "list[Row]") -> data.Reconciliation:
    """Compare the recording's counts with the tables'; `seq` counts from 1, so that gaps show."""
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
