"""Sweeps flown by Spark: true to their journals, resumed without a flight flown twice, and whole without a worker."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import msgspec
import pytest
from pyspark.sql import SparkSession

from recordings.bounded_files import RecordingError
from recordings.comparison.bill import MEASURES
from recordings.journal.reader import Recording
from recordings.spark.standalone import standalone_cluster
from recordings.spark.sweep.sweep import run_sweep
from recordings.spark.sweep.sweep_file import Sweep, load_sweep
from recordings.spark.sweep.sweep_page import page, replay, sentences
from tests.support.independent_bill import IndependentBill

SMALL = """
scenario = "dynamic-restart"
seeds = 2
until = "70s"
[vary]
"session.timeout.ms" = [6000, 45000]
"heartbeat.interval.ms" = [1000, 8000]
"""
START = "from console.cli.start import main; main()"
COUNTED = ("unread_partition_us", "rebalances", "stopped_member_us", "duplicated", "peak_time_lag_us")


def small(place: Path, text: str = SMALL) -> Sweep:
    (place / "small.toml").write_text(text)
    return load_sweep(place / "small.toml")


def times(place: Path) -> dict[str, int]:
    return {each.name: each.stat().st_mtime_ns for each in (place / "flights").glob("*.json")}


def test_a_sweep_says_what_its_journals_say_and_resumes(spark: SparkSession, tmp_path: Path) -> None:
    """An impossible combination (a heartbeat above the session) is a row with its seed; the others are judged."""
    sweep, out, records = small(tmp_path), tmp_path / "out", tmp_path / "records"
    records.mkdir()
    swept = run_sweep(sweep, str(out), recordings=records, spark=spark)
    assert (swept.flown_now, swept.frontier.missing) == (8, 0)
    refused = [each for each in swept.frontier.points if each.failed]
    assert [each.settings for each in refused] == [["session.timeout.ms=6000", "heartbeat.interval.ms=8000"]]
    assert [each.seed for each in refused[0].failed] == list(sweep.seeds)
    for path in records.glob("*.flight"):
        _assert_same(path, json.loads((out / f"flights/{path.stem}.json").read_text()))
    assert len(list(records.glob("*.flight"))) == 6
    rows = duckdb.read_parquet(f"{out}/results.parquet/*.parquet").select("key, seed, failure, rebalances").fetchall()
    kept = {path.stem: json.loads(path.read_text()) for path in (out / "flights").glob("*.json")}
    assert sorted(row[0] for row in rows) == sorted(kept)
    for key, seed, failure, rebalances in sorted(rows):
        one = kept[key]
        assert (seed, failure) == (one["seed"], one["failure"])
        assert rebalances == (one["measures"] or {}).get("rebalances")

    before = times(out)
    again = run_sweep(sweep, str(out), spark=spark)
    assert again.flown_now == 0
    assert again.frontier == swept.frontier
    assert times(out) == before
    missing = min(before)
    (out / "flights" / missing).unlink()
    assert run_sweep(sweep, str(out), spark=spark).flown_now == 1
    assert {name: at for name, at in times(out).items() if name != missing} == {
        name: at for name, at in before.items() if name != missing
    }
    html = page(swept)
    assert all(sentence in html for sentence in sentences(swept))
    assert "http://" not in html.replace("http://www.w3.org", "")
    best = swept.frontier.best[0]
    command = replay(swept, best)
    assert f"--seed {best.seed}" in command
    assert all(setting in command for setting in best.settings)


def _assert_same(path: Path, kept: dict[str, object]) -> None:
    """What a flight of the sweep cost, told by its recording's raw lines."""
    recording = Recording(path)
    bill = IndependentBill()
    for event in recording.events():
        bill.take(msgspec.json.decode(msgspec.json.encode(event)))
    footer = recording.footer
    assert footer is not None
    told = bill.bill(footer.virtual_us)
    for field in COUNTED:
        groups = [group[field] for group in told["groups"].values()]
        assert kept["measures"][field] == (max(groups) if field.startswith("peak") else sum(groups)), field  # type: ignore[index]


def test_a_foreign_directory_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(RecordingError, match="exists already and is no sweep's directory"):
        run_sweep(small(tmp_path), str(tmp_path / "mine"), spark=spark)


def test_a_second_round_adds_points_between_the_neighbours_of_the_first(spark: SparkSession, tmp_path: Path) -> None:
    text = """
scenario = "dynamic-restart"
seeds = 1
until = "60s"
[[range]]
key = "session.timeout.ms"
from = 6000
to = 45000
[sample]
points = 3
rounds = 2
"""
    sweep = small(tmp_path, text)
    one = run_sweep(msgspec.structs.replace(sweep, rounds=1), str(tmp_path / "out"), spark=spark)
    two = run_sweep(sweep, str(tmp_path / "out"), spark=spark)
    added = len(two.frontier.points) - len(one.frontier.points)
    assert two.flown_now == added
    assert (added > 0) == (len({each.settings[0] for each in one.frontier.best}) > 1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_killed_sweep_is_continued_without_flying_a_flight_twice(tmp_path: Path) -> None:
    text = SMALL.replace("seeds = 2", "seeds = 6")
    (tmp_path / "small.toml").write_text(text)
    command = [sys.executable, "-c", START, "sweep", str(tmp_path / "small.toml"), "--out"]
    command.append(str(tmp_path / "out"))
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while first.poll() is None and len(times(tmp_path / "out")) < 5:
        time.sleep(0.1)
    assert first.poll() is None, "it was to be killed on its way"
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = times(tmp_path / "out")
    assert 5 <= len(before) < 24
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # one combination is impossible
    report = json.loads(done.stdout)
    assert report["flown_now"] == 24 - len(before)
    assert {name: at for name, at in times(tmp_path / "out").items() if name in before} == before


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_killed_worker_costs_a_sweep_nothing(tmp_path: Path) -> None:
    sweep = small(tmp_path, SMALL.replace("seeds = 2", "seeds = 4"))
    killed: list[int] = []
    with standalone_cluster(2) as cluster:

        def kill_one(ended: int, of: int, left_s: float | None) -> None:
            if ended >= 2 and not killed:
                killed.append(ended)
                os.killpg(cluster.workers[0].pid, signal.SIGKILL)

        swept = run_sweep(sweep, str(tmp_path / "out"), master=cluster.url, progress=kill_one)
    assert killed
    assert killed[0] < 16, "it was killed on the way"
    assert (swept.flown_now, swept.frontier.missing) == (16, 0)
    assert {len(each.failed) for each in swept.frontier.points} == {0, 4}
    judged = [each for each in swept.frontier.points if each.measures]
    assert len(judged) == 3
    assert all(set(each.measures) == {measure.field for measure in MEASURES} for each in judged)
