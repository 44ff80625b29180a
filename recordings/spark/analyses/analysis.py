"""An analysis: queries over the exported tables, rows of the report, and facts and sentences of the verdict.

A module of this package answers one question. It defines an `Analysis`, and one line in `table.ANALYSES` adds that to
the report: its queries run, its rows stand in `report.json` under its key, its facts and sentences in the verdict, its
structs in `docs/report.md`. A section of `templates/flight.html.j2` shows the rows.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    Query = Callable[[Tables], DataFrame]
    FlightRows = Mapping[str, list[Row]]
    """The rows of one flight, by the name of the query that found them."""

S = TypeVar("S", bound=msgspec.Struct)


class Gravity(IntEnum):
    """How grave a fact is: the headline names the gravest first."""

    SENDS_FAILED = 1
    PRODUCER_FENCED = 2
    LEADERLESS = 3
    BELOW_MIN_ISR = 4
    CRASHED = 5
    BEHIND = 6
    REBALANCED = 7
    UNOWNED = 8
    PROCESSED_AGAIN = 9
    BROKER_DOWN = 10
    ELECTED = 11
    OTHER = 12


class Fact(NamedTuple):
    """A part of the headline beside loss: `billing rebalances twice`."""

    gravity: Gravity
    text: str


@dataclass(frozen=True, kw_only=True)
class Analysis(Generic[S]):
    """One question about a flight and its answer.

    `key`: the list of a flight in `report.json` that holds the rows. `queries`: name → query; every row has a `run_id`,
    and rows are few, whatever the flight is like. `build`: the rows of one flight as structs of type `row`. `facts`,
    `sentences`: parts of the headline and sentences of the verdict. A flight with a fact is not calm, nor is one that
    is `eventful`.
    """

    key: str
    row: type[S]
    queries: "Mapping[str, Query]"
    build: "Callable[[FlightRows], list[S]]"
    facts: Callable[[FlightReport], Iterable[Fact]] = lambda _: ()
    sentences: Callable[[FlightReport], Iterable[str]] = lambda _: ()
    eventful: Callable[[FlightReport], bool] = lambda _: False

    def rows_of(self, flight: FlightReport) -> list[S]:
        """This analysis's rows of a flight; none if the flight is of a report that did not have the analysis yet."""
        rows: list[S] = getattr(flight, self.key, [])
        return rows


def make(struct: type[S], row: "Row", **more: Any) -> S:  # noqa: ANN401 - whatever fields it has
    """A struct of the row's columns that it has fields for, and `more`."""
    taken = {name: row[name] for name in struct.__struct_fields__ if name in row and name not in more}
    return struct(**taken, **more)


def natural(name: str) -> list[str | int]:
    """Sort key that counts: `orders-2` before `orders-10`."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
