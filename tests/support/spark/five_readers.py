"""Some flights, and what each of five readers says of them."""

from pathlib import Path

import msgspec

from recordings.spark.report_document import Report
from recordings.spark.report_model import FlightReport
from recordings.tables.summary import summarize
from tests.support.spark.progress import Watched
from tests.support.spark.reader_facts import Facts, of_lines, of_recording, of_report, of_simulator, of_summary


class FiveReaders(msgspec.Struct):
    """Flights by name with what the simulator said of them, Spark's report of them all, the SQL's answers."""

    flights: dict[str, Watched]
    report: Report
    tables: Path
    by_sql: dict[str, Facts]

    def readers(self, name: str) -> dict[str, Facts]:
        """What each reader says of a flight."""
        flight = self.flights[name]
        return {
            "simulator": of_simulator(flight) | of_lines(flight.path),
            "fold": of_recording(flight.path),
            "summary": of_summary(summarize(flight.path)),
            "Spark": of_report(self.reported(name)),
            "SQL": self.by_sql[flight.run_id],
        }

    def reported(self, name: str) -> FlightReport:
        """Spark's report of a flight."""
        [found] = [each for each in self.report.flights if each.run_id == self.flights[name].run_id]
        return found
