"""`flightdeck report` as a user runs it: in a process of its own, on a machine without Java but pip's."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from recordings.journal.reader import Recording
from recordings.spark.report_document import Report
from recordings.spark.report_model import FlightReport
from tests.support.repository import ROOT
from tests.support.spark.java_homes import FLIGHTDECK, left_over, without_java


class Made(NamedTuple):
    """What the command made and said."""

    out: Path
    report: Report
    said: str
    complained: str
    left_over: list[str]

    def flight(self, recording: Path) -> FlightReport:
        """What the report tells of a recording."""
        run_id = Recording(recording).header.run_id
        return next(each for each in self.report.flights if each.run_id == run_id)


def make_report(recordings: Sequence[Path], place: Path) -> Made:
    """Run the command; its environment, and the report in `deep/out`, are below `place`."""
    environment, out = without_java(place), place / "deep" / "out"
    answer = subprocess.run(
        [*FLIGHTDECK, "report", *map(str, recordings), "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    assert answer.returncode == 0, answer.stderr
    report = msgspec.json.decode((out / "report.json").read_bytes(), type=Report, strict=True)
    return Made(out, report, answer.stdout, answer.stderr, left_over(environment))
