"""What a report says of its recordings together: which alert rule finds their faults, how they differ from others.

The first is what `flightdeck alerts` says of them, the second what `flightdeck compare` says. Both read recordings: the
tables of an export have no order of events.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession

from recordings.alerts import words
from recordings.alerts.rules import RuleSet
from recordings.journal.catalogue import recordings_at
from recordings.spark.alert_lab.alert_lab import scored
from recordings.spark.alert_lab.lab_result import LabResult
from recordings.spark.alert_lab.lab_tasks import LabOrder
from recordings.spark.compare import compared
from recordings.spark.compare.compare import compared_in
from recordings.spark.compare.compared import Compared
from recordings.spark.compare.flight_sets import PairedSets, find_sets, pair_sets
from recordings.spark.errors import ReportError
from recordings.spark.report_document import Report
from recordings.tables.export import is_exported


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is to say of all its recordings: with `rules`, how these do; `against` which they are compared."""

    rules: RuleSet | None = None
    against: Path | None = None


class AcrossFlights:
    """Answers for the recordings at `places`. Raises ReportError or RecordingError before Spark starts."""

    def __init__(self, asked: Asked, places: Sequence[str | Path], *, salvage: bool) -> None:
        self._rules, self._salvage = asked.rules, salvage
        self._paths = flights_at(places)
        self._paired: PairedSets | None = None
        exported = [str(place) for place in places if is_exported(place)]
        if exported and asked != Asked():
            raise ReportError(
                f"{exported[0]} holds exported tables: --alerts and --against read recordings; give their directory"
            )
        if asked.against is not None:
            first, second = find_sets([asked.against], [Path(place) for place in places])
            self._names = first.name, second.name
            self._paired = pair_sets(first, second)

    def alerts(self, session: SparkSession, progress: Callable[[str], object]) -> LabResult | None:
        """The rules, scored on all recordings."""
        if self._rules is None:
            return None
        progress("scoring alert rules")
        orders = [LabOrder(recording=str(path.absolute())) for path in self._paths]
        return scored(session, self._rules, orders, salvage=self._salvage)

    def compared(self, session: SparkSession, progress: Callable[[str], object]) -> Compared | None:
        """All recordings against the others, pair by pair."""
        if self._paired is None:
            return None
        progress("comparing pairs of flights")
        return compared_in(session, *self._names, self._paired, salvage=self._salvage)


def sentences(report: Report) -> Iterator[tuple[str, list[str]]]:
    """Headings and sentences of what the report says of all flights together."""
    if report.compared is not None:
        yield f"{report.compared.b} against {report.compared.a}", compared.sentences(report.compared)
    if report.alerts is not None:
        yield "Which alert finds the faults?", words.sentences(report.alerts.leaderboard)


def flights_at(places: Sequence[str | Path]) -> list[Path]:
    """The recordings at places that hold no exported tables; of a directory of recordings all of them."""
    found = []
    for place in places:
        if not is_exported(place):
            found += recordings_at(Path(place)) or [Path(place)]
    return found
