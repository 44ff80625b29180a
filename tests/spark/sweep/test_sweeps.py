"""Sweeps flown by Spark: true to their journals, resumed without a flight flown twice, and whole without a worker."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import duckdb
import msgspec
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from recordings.bounded_files import RecordingError
from recordings.comparison.bill import MEASURES
from recordings.journal.reader import Recording
from recordings.scenarios.loader import SettingError
from recordings.spark.runtime.standalone import standalone_cluster
from recordings.spark.runtime.worker_tasks import one_a_task
from recordings.spark.sweep.kept_flights import key_of
from recordings.spark.sweep.sampling import first_points
from recordings.spark.sweep.sweep import run_sweep
from recordings.spark.sweep.sweep_file import Sweep, load_sweep
from recordings.spark.sweep.sweep_page import Swept, page, replay, sentences
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
    whole = (place / "flights").glob("[!.]*.json")  # a hidden one is being written
    return {each.name: each.stat().st_mtime_ns for each in whole}


@pytest.mark.slow
def test_a_sweep_says_what_its_journals_say_and_resumes(spark: SparkSession, tmp_path: Path) -> None:
    """An impossible combination (a heartbeat above the session) is a row with its seed; the others are judged."""
    sweep, out, records = small(tmp_path), tmp_path / "out", tmp_path / "records"
    records.mkdir()
    killed = key_of(sweep.scenarios[0], first_points(sweep)[0].settings, sweep.seeds[0], sweep.until_us)
    (records / f"{killed}.flight").mkdir()  # what an attempt leaves that was killed on its way
    (records / f"{killed}.flight" / "header.json").write_text("{}")
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
    missing = f"{killed}.json"
    (out / "flights" / missing).write_bytes(
        msgspec.json.encode(kept[killed] | {"measures": None, "failure": "its process ended", "repeatable": False})
    )
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


def test_each_flight_is_a_task_of_its_own(spark: SparkSession) -> None:
    """Else one that kills its process would take others with it; dealt by hash, some share a task."""
    number = 40
    rows = spark.createDataFrame([(each, f"{each:x}") for each in range(number)], "number bigint, key string")
    for dealt, alone in ((one_a_task(rows, number), True), (rows.repartition(number, "key"), False)):
        tasks = {row[0] for row in dealt.select(sf.spark_partition_id()).collect()}
        assert (len(tasks) == number) == alone


def test_a_damaged_result_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "out/flights").mkdir(parents=True)
    (tmp_path / "out/flights/abc.json").write_text('{"key": "abc", "seed": ')
    with pytest.raises(RecordingError, match=r"flights/abc.json is damaged: remove it"):
        run_sweep(small(tmp_path), str(tmp_path / "out"), spark=spark)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('[vary]\n"sesion.timeout.ms" = [6000, 7000]', "sesion.timeout.ms"),
        ('[vary]\n"session.timeout.ms" = [6000, "soon"]', "session.timeout.ms=soon"),
        ('[[range]]\nkey = "sesion.timeout.ms"\nfrom = 1\nto = 9', "sesion.timeout.ms"),
    ],
)
def test_a_value_that_no_point_can_have_is_a_slip_and_nothing_is_flown(tmp_path: Path, text: str, error: str) -> None:
    sweep = small(tmp_path, f'scenario = "dynamic-restart"\n{text}')
    with pytest.raises(SettingError, match=f"no flight was started: .*{error}"):
        run_sweep(sweep, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_foreign_directory_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(RecordingError, match="already exists and is not a sweep's directory"):
        run_sweep(small(tmp_path), str(tmp_path / "mine"), spark=spark)


@pytest.mark.slow
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
    """Ctrl-C, then kill -9: the one says how to continue and nothing else, after both the same command does."""
    (tmp_path / "small.toml").write_text(SMALL.replace("seeds = 2", "seeds = 6"))
    out = tmp_path / "out"
    command = [sys.executable, "-c", START, "sweep", str(tmp_path / "small.toml"), "--out", str(out)]
    assert _ended_by(signal.SIGINT, command, out, 3) == (
        f"flightdeck: interrupted: the same command continues; {out} keeps what has ended\n"
    )
    assert not _ended_by(signal.SIGKILL, command, out, 8)
    before = times(out)
    assert 8 <= len(before) < 24
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # one combination is impossible
    report = json.loads(done.stdout)
    assert report["flown_now"] == 24 - len(before)
    assert {name: at for name, at in times(out).items() if name in before} == before


def _ended_by(number: signal.Signals, command: list[str], out: Path, after: int) -> str:
    """Start a sweep, end it when so many flights have ended, and wait for its Java; returns its stderr."""
    mark = f"SWEEP_OF_A_TEST={out}-{number}"
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | dict([mark.split("=")]),
    )
    while process.poll() is None and len(times(out)) < after:
        time.sleep(0.1)
    assert process.poll() is None, "it was to be ended on its way"
    os.killpg(process.pid, number)
    said = process.communicate()[1]
    while _runs(mark.encode()):  # Java and its workers notice, and until then a flight may end
        time.sleep(0.1)
    return said


def _runs(mark: bytes) -> bool:
    """Whether a process has this in its environment."""
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in place.read_bytes().split(b"\0"):
                return True
        except OSError:  # it has just ended, or is another user's
            continue
    return False


def _sweep_losing_a_worker(place: Path) -> tuple[Swept, list[int]]:
    """A sweep on two workers of which one is killed when two flights have ended, and how many had when it was."""
    sweep = small(place, SMALL.replace("seeds = 2", "seeds = 4"))
    killed: list[int] = []
    with standalone_cluster(2) as cluster:

        def kill_one(ended: int, of: int, left_s: float | None) -> None:
            if ended >= 2 and not killed:
                killed.append(ended)
                os.killpg(cluster.workers[0].pid, signal.SIGKILL)

        return run_sweep(sweep, str(place / "out"), master=cluster.url, progress=kill_one), killed


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_killed_worker_costs_a_sweep_nothing(tmp_path: Path) -> None:
    """In a process of its own: this one may run a session on another master."""
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:
        swept, killed = apart.submit(_sweep_losing_a_worker, tmp_path).result()
    assert killed
    assert killed[0] < 16, "it was killed on the way"
    assert (swept.flown_now, swept.frontier.missing) == (16, 0)
    assert {len(each.failed) for each in swept.frontier.points} == {0, 4}
    judged = [each for each in swept.frontier.points if each.measures]
    assert len(judged) == 3
    assert all(set(each.measures) == {measure.field for measure in MEASURES} for each in judged)
