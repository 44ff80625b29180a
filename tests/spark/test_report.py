"""The report as `flightdeck report` makes it: what is in its files, and that they equal the fold and the recording."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from recordings.bounded_files import RecordingError
from recordings.spark.errors import ReportError
from recordings.spark.report import report
from recordings.spark.report_model import Group
from recordings.tables.export import export
from tests.support.spark.fleet import EVERY_RUN
from tests.support.spark.folded_view import Folded, final
from tests.support.spark.report_command import Made

pytestmark = pytest.mark.timeout(300)  # a Java virtual machine, and a machine that may be busy

Truths = Mapping[str, Folded]


def test_a_machine_without_java_makes_a_report(made: Made) -> None:
    assert sorted(path.name for path in made.out.iterdir()) == ["flights", "report.html", "report.json"]
    assert len(list((made.out / "flights").iterdir())) == len(made.report.flights)
    assert str(made.out / "report.html") in made.said
    stages = [line.split("%  ")[1] for line in made.complained.splitlines()]  # nothing else is on stderr
    assert stages[:3] == ["reading the recordings", "starting Spark", "analysing"]
    assert stages[-1] == "writing"
    assert made.left_over == []


def test_the_page_fetches_nothing_and_tells_every_flight(made: Made) -> None:
    text = (made.out / "report.html").read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert len(made.report.flights) == 3 + len(EVERY_RUN)
    for each in made.report.flights:
        assert each.verdict.headline.replace("'", "&#39;") in text


def test_totals_equal_the_fold_s(made: Made, recorded: list[Path], truths: Truths) -> None:
    for each in map(made.flight, recorded[:3]):
        truth = final(truths[each.run_id])
        for name in each.totals.__struct_fields__:
            assert getattr(each.totals, name) == truth["delivery"][name], name
        assert {group.group for group in each.groups} == set(truth["groups"])
        for group in each.groups:
            _assert_equal(group, truth["groups"][group.group], truth["delivery"]["by_group"][group.group])


def _assert_equal(group: Group, fields: dict[str, int], delivery: dict[str, int]) -> None:
    for name in ("produced", "acked", "appended", "delivered", "duplicated", "lost", "unread"):
        assert getattr(group, name) == delivery[name], name
    assert group.lag.lag_end == fields["lag"]
    waited_us = group.stopped_partition_us + group.orphaned_partition_us + group.unowned_at_end_us
    assert waited_us // 1000 == fields["stopped_partition_ms"]


def test_tables_hold_what_was_recorded(made: Made) -> None:
    for each in made.report.flights:
        assert each.reconciliation.equal
        assert each.reconciliation.recorded == each.reconciliation.found
        assert sum(each.reconciliation.found.values()) == each.events > 0


def test_the_eventful_flight_is_told(made: Made, eventful: Path) -> None:
    found = made.flight(eventful)
    assert found.title == "Everything happens"
    assert found.verdict.level == "eventful"
    told = " ".join(found.verdict.sentences)
    assert "session expired" in told
    [expired] = [each for each in found.rebalances if each.cause == "session expired"]
    assert expired.trigger == "billing-2"
    assert expired.orphaned_partition_us > 5_000_000
    assert {each.member for each in expired.attendance} == {"billing-1", "billing-3"}
    assert [each.text for each in found.incidents][:2] == ["kill billing-2", "start billing-2"]
    assert found.groups[0].series.lag
    assert max(found.groups[0].series.lag) == found.groups[0].lag.lag_peak


@pytest.mark.slow
def test_exported_tables_serve_as_well_as_recordings(rare: Path, spark: SparkSession, tmp_path: Path) -> None:
    export([rare], tmp_path / "tables-of")
    first = report([rare], tmp_path / "first", spark=spark)
    seen: list[float] = []
    again = report(
        [tmp_path / "tables-of"], tmp_path / "out", spark=spark, progress=lambda _, share: seen.append(share)
    )
    assert again.report.flights == first.report.flights
    assert len(again.report.flights) == 1
    assert seen == sorted(seen)
    assert seen[-1] < 1


@pytest.mark.slow
def test_tables_of_another_version_are_refused_with_what_they_lack(
    eventful: Path, spark: SparkSession, tmp_path: Path
) -> None:
    export([eventful], tmp_path / "older")
    shutil.rmtree(tmp_path / "older" / "tables" / "records_lost")
    with pytest.raises(ReportError, match=r"no table `records_lost` at .*older.*another version.*flightdeck export"):
        report([tmp_path / "older"], tmp_path / "out", spark=spark)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_damaged_recording_is_refused_or_read_up_to_the_damage(
    rare: Path, spark: SparkSession, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.flight"
    damaged.mkdir()
    for path in rare.iterdir():
        if path.is_file():
            text = path.read_bytes()
            (damaged / path.name).write_bytes(
                text.replace(b'"offset":13', b'"offset":oh') if "segment" in path.name else text
            )
    with pytest.raises(RecordingError, match="damaged"):
        report([damaged], tmp_path / "out", spark=spark)
    assert not (tmp_path / "out").exists()
    made = report([damaged], tmp_path / "out", spark=spark, salvage=True)
    [found] = made.report.flights
    assert not found.complete
    assert made.warnings == found.warnings
    assert found.verdict.sentences[0].startswith("The recording stops early")
    assert found.reconciliation.equal
