"""`report --follow`: reports on a flight that goes on, the last of which is the report of the whole flight."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from recordings.journal.format import FOOTER
from recordings.journal.reader import Recording
from recordings.spark import following
from recordings.spark.errors import ReportInterruptedError
from recordings.spark.following import follow
from recordings.spark.html_page import HTML
from recordings.spark.report import Reported

REFRESH = '<meta http-equiv="refresh" content="1">'


@pytest.mark.slow
@pytest.mark.timeout(300)  # two reports, on a machine that may be busy
def test_a_flight_is_followed_to_its_end(rare: Path, spark: SparkSession, tmp_path: Path) -> None:
    """Half of a recording, as a recorder has it on its way; after the first report it comes to its end."""
    growing = shutil.copytree(rare, tmp_path / "growing.flight")
    (growing / FOOTER).unlink()
    [segment] = growing.glob("segment-*")
    lines = b"".join(Recording(rare).event_lines()).splitlines(keepends=True)
    segment.unlink()
    part = growing / "segment-000001.jsonl.part"
    part.write_bytes(b"".join(lines[: len(lines) // 2]) + b'{"kind":"poll_')
    seen: list[tuple[int, bool]] = []

    def made(reported: Reported) -> None:
        [flight] = reported.report.flights
        seen.append((flight.virtual_us, REFRESH in (tmp_path / "out" / HTML).read_text()))
        if len(seen) == 1:
            part.unlink()
            shutil.copytree(rare, growing, dirs_exist_ok=True)

    last = follow(growing, tmp_path / "out", spark=spark, made=made, refresh_s=0.1)
    [whole], footer = last.report.flights, Recording(rare).footer
    assert footer is not None
    assert (whole.complete, whole.events, whole.virtual_us) == (True, footer.events, footer.virtual_us)
    assert len(seen) == 2
    assert seen[0][0] < seen[1][0] == whole.virtual_us
    assert [reloads for _, reloads in seen] == [True, False]


@pytest.mark.parametrize(("reports", "says"), [(0, "nothing was written to"), (1, "has the last report")])
def test_what_is_left_of_an_interrupted_one_is_told(
    reports: int, says: str, rare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = shutil.copytree(rare, tmp_path / "growing.flight")
    (growing / FOOTER).unlink()
    monkeypatch.setattr(following, "report", Mock(side_effect=[Mock()] * reports + [KeyboardInterrupt]))
    with pytest.raises(ReportInterruptedError, match=says):
        follow(growing, tmp_path / "out", spark=Mock(), refresh_s=0.01)
