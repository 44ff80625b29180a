"""`flightdeck compare` on recorded flights: true to their journals, and clear about what it cannot read."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from recordings.bounded_files import RecordingError
from recordings.comparison.diff import diff
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import load
from recordings.spark.compare.compare import HTML, JSON, compare_sets
from recordings.spark.errors import ReportError
from tests.support.independent_bill import IndependentBill

SEEDS = range(1, 5)
SETS = {"patient": "45000", "hasty": "6000"}
COUNTED = ("unread_partition_us", "rebalances", "stopped_member_us", "duplicated", "reread", "peak_time_lag_us")


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Four seeds of `dynamic-restart` with two session timeouts."""
    home = tmp_path_factory.mktemp("sets")
    for name, timeout in SETS.items():
        (home / name).mkdir()
        for seed in SEEDS:
            settings = [(None, "session.timeout.ms", timeout)]
            plan = make_plan(load("dynamic-restart"), seed=seed, until_us=45_000_000, settings=settings)
            fly(plan, record=home / name / f"{seed}.flight")
    return {name: home / name for name in SETS}


def told_by_journal(path: Path) -> Mapping[str, Any]:
    """The bill of a recording by code that shares nothing with the meter."""
    recording, bill = Recording(path), IndependentBill()
    for event in recording.events():
        bill.take(msgspec.json.decode(msgspec.json.encode(event)))
    footer = recording.footer
    assert footer is not None
    found: Mapping[str, Any] = bill.bill(footer.virtual_us)
    return found


@pytest.mark.slow
def test_a_comparison_says_what_the_journals_say(sets: dict[str, Path], tmp_path: Path, spark: SparkSession) -> None:
    compared = compare_sets(sets["patient"], sets["hasty"], tmp_path / "out", spark=spark)
    assert [pair.seed for pair in compared.judged] == list(SEEDS)
    bills = [[told_by_journal(Path(pair.a)), told_by_journal(Path(pair.b))] for pair in compared.pairs]
    differing = 0
    for each in compared.differences.rows:
        if each.field not in COUNTED:
            continue
        amounts = [[bill["groups"][each.name][each.field] for bill in pair] for pair in bills]
        assert each.a == pytest.approx(mean(a for a, _ in amounts)), each
        assert each.b == pytest.approx(mean(b for _, b in amounts)), each
        one_way = len({(b > a) - (b < a) for a, b in amounts}) == 1
        least = 100_000 if each.field.endswith("_us") else max(each.a, each.b) / 100
        assert each.differs == (one_way and abs(each.difference) >= least), each
        differing += each.differs
    assert differing > 3
    written = json.loads((tmp_path / "out" / JSON).read_bytes())
    assert written == msgspec.json.decode(msgspec.json.encode(compared))
    assert (tmp_path / "out" / HTML).read_text().startswith("<!doctype html>")


def test_one_pair_has_the_amounts_of_diff(sets: dict[str, Path], tmp_path: Path, spark: SparkSession) -> None:
    a, b = (sets[name] / "2.flight" for name in SETS)
    found = compare_sets(a, b, tmp_path / "out", spark=spark)
    mine = {(each.scope, each.name, each.field): (each.a, each.b) for each in found.differences.rows}
    of_diff = {(row.scope, row.name, row.field): (row.a, row.b) for row in diff(a, b).bills.differing}
    alone = {key for key in of_diff if key[0] not in {scope for scope, _, _ in mine}}
    assert mine == {key: amounts for key, amounts in of_diff.items() if key not in alone}
    assert mine


@pytest.mark.slow
def test_a_damaged_recording_costs_its_pair_alone(sets: dict[str, Path], tmp_path: Path, spark: SparkSession) -> None:
    damaged = shutil.copytree(sets["hasty"], tmp_path / "damaged")
    [segment, *_] = sorted((damaged / "3.flight").glob("segment-*"))
    segment.write_bytes(segment.read_bytes()[: segment.stat().st_size // 2])
    shutil.rmtree(damaged / "4.flight")
    found = compare_sets(sets["patient"], damaged, tmp_path / "out", spark=spark)
    assert [pair.seed for pair in found.judged] == [1, 2]
    assert [pair.seed for pair in found.failed] == [3]
    assert "3.flight" in (found.failed[0].failure or "")
    assert [Path(path).name for path in found.only_a] == ["4.flight"]
    salvaged = compare_sets(sets["patient"], damaged, tmp_path / "out", salvage=True, spark=spark)
    assert [pair.seed for pair in salvaged.judged] == [1, 2, 3]
    assert salvaged.judged[2].warnings
    assert salvaged.judged[2].shortened
    segment.write_bytes(segment.read_bytes()[:100])  # nothing of it can be read
    stump = compare_sets(sets["patient"], damaged, tmp_path / "out", salvage=True, spark=spark)
    assert [pair.seed for pair in stump.judged] == [1, 2]
    assert "the flights cannot be compared" in (stump.failed[0].failure or "")


@pytest.mark.slow
def test_what_cannot_be_compared_is_refused_before_spark_starts(sets: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for a, b, out, reason in (
        (sets["hasty"], tmp_path / "empty", tmp_path / "out", "empty holds no recording: give a recording, or a"),
        (sets["hasty"], tmp_path / "none", tmp_path / "out", "none does not exist, so it is not a recording"),
        (sets["hasty"] / "1.flight", sets["patient"], tmp_path / "file", "file is not a directory"),
    ):
        with pytest.raises((RecordingError, ReportError), match=reason):
            compare_sets(a, b, out, master="spark://nowhere:1")
    assert not (tmp_path / "out").exists()
