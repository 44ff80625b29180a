"""Sweep files, their points, and the frontier: without Spark."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recordings.bounded_files import RecordingError
from recordings.comparison.bill import MEASURES
from recordings.scenarios.loader import ScenarioErrors, load
from recordings.spark.runtime.worker_tasks import ATTEMPTS
from recordings.spark.sweep.frontier import Frontier, SweptPoint, judge
from recordings.spark.sweep.kept_flights import KeptFlights, SweptFlight, key_of
from recordings.spark.sweep.sampling import Point, between, first_points
from recordings.spark.sweep.sweep_file import Sweep, load_sweep
from recordings.spark.sweep.sweep_page import Swept, page, replay
from recordings.spark.sweep.tasks import FlightOrder, SweepTask
from tests.support.repository import ROOT

WHOLE = """
title = "How long may a member be silent?"
scenario = "first-join"
seeds = 4
until = "20s"
frontier = ["unread", "duplicated"]
[set]
"checkout:rate" = "10/s"
[vary]
"session.timeout.ms" = [6000, 10000]
"billing:assignors" = [["range"], ["cooperative-sticky", "range"]]
[[range]]
key = "heartbeat.interval.ms"
from = 500
to = 2000
scale = "log"
[sample]
points = 3
rounds = 2
"""
AXES = ("unread_partition_us", "rebalances")


def written(path: Path, text: str = WHOLE) -> Sweep:
    (path / "sweep.toml").write_text(text)
    return load_sweep(path / "sweep.toml")


def test_a_file_says_what_is_flown(tmp_path: Path) -> None:
    sweep = written(tmp_path)
    assert sweep.title == "How long may a member be silent?"
    assert [one.name for one in sweep.scenarios] == ["first-join"]
    assert (len(sweep.seeds), sweep.until_us, sweep.frontier) == (4, 20_000_000, ("unread", "duplicated"))
    assert sweep.fixed == (("checkout", "rate", "10/s"),)
    assert [one.values for one in sweep.lists] == [("6000", "10000"), ("range", "cooperative-sticky,range")]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[vary]\nstatic = [true]", r"sweep.toml:1: give either scenario or scenarios"),
        ("scenario = 'firs-join'\n[vary]\nstatic = [true]", r"sweep.toml:1: .*did you mean first-join"),
        ("scenario = 'first-join'", r"sweep.toml:1: nothing is varied: give \[vary\] or \[\[range\]\]"),
        ("scenario = 'first-join'\n[vary]\nstatic = 3", r"sweep.toml:2: static: 3 is not a list of 1 to 200 values"),
        ("scenario = 'first-join'\n[vary]\nstatic = [1, 1]", r"static has a value twice"),
        ("scenario = 'first-join'\nfrontier = ['unred', 'lost']\n[vary]\nstatic = [true]", r"did you mean unread"),
        ("scenario = 'first-join'\nfrontier = ['lost']\n[vary]\nstatic = [true]", r":2: .*two different"),
        ("scenario = 'first-join'\nsead = 3\n[vary]\nstatic = [true]", r"sweep.toml:2: .*did you mean seeds"),
        ("scenario = 'first-join'\n[[range]]\nkey = 'count'\nfrom = 5\nto = 5", r"sweep.toml:5: to: it must be above"),
        ("scenario = 'first-join'\n[[range]]\nkey = 'a'\nfrom = 0\nto = 5\nscale = 'log'", r":4: .*begins above 0"),
        ("scenario = 'first-join'\n[vary]\nstatic = [true]\n[sample]\npoints = 9", r"the file has no \[\[range\]\]"),
        ("scenario = 'first-join'\n[set]\nstatic = true\n[vary]\nstatic = [true]", r"static is given twice"),
        ("scenario = 'first-join'\n[vary\n", r"sweep.toml:2: not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(ScenarioErrors, match=error):
        written(tmp_path, text)


def test_every_combination_has_the_same_draws_of_every_range(tmp_path: Path) -> None:
    points = first_points(written(tmp_path))
    listed = {tuple(value for _, _, value in each.settings[:2]) for each in points}
    assert listed == {(one, other) for one in ("6000", "10000") for other in ("range", "cooperative-sticky,range")}
    draws = {pair: [each.settings[2] for each in points if _values(each)[:2] == pair] for pair in listed}
    assert len({tuple(each) for each in draws.values()}) == 1
    assert all(each.settings[0][1] == "session.timeout.ms" for each in points)


def test_a_hypercube_has_one_point_in_each_stratum(tmp_path: Path) -> None:
    text = """
scenario = "first-join"
[[range]]
key = "heartbeat.interval.ms"
from = 0
to = 16000
[[range]]
key = "checkout:rate"
from = 1.0
to = 100.0
scale = "log"
unit = "/s"
[sample]
points = 16
"""
    points = first_points(written(tmp_path, text))
    intervals = sorted(int(each.settings[0][2]) // 1000 for each in points)
    assert intervals in ([*range(16)], [*range(15), 16])  # the last may be rounded up to the end
    assert all(each.settings[1][2].endswith("/s") for each in points)
    rates = sorted(float(each.settings[1][2][:-2]) for each in points)
    assert all(100 ** (number / 16) <= rate * 1.001 for number, rate in enumerate(rates))
    assert points == first_points(written(tmp_path, text)), "the same file has the same points"


@pytest.mark.parametrize(("low", "high"), [(1e6, 2e7), (1e-7, 2e-6)])
def test_a_drawn_setting_has_no_exponent(low: float, high: float, tmp_path: Path) -> None:
    """No key of Kafka's, and no field of a scenario, reads `1.9e+07`."""
    ends = f"from = {low:.7f}\nto = {high:.7f}"
    text = f"scenario = 'first-join'\n[[range]]\nkey = 'checkout:rate'\n{ends}\n[sample]\npoints = 4"
    drawn = [each.settings[0][2] for each in first_points(written(tmp_path, text))]
    assert all(re.fullmatch(r"\d+(\.\d+)?", value) for value in drawn)
    assert all(low <= float(value) <= high for value in drawn)


def test_new_points_are_half_way_between_neighbours_on_the_frontier(tmp_path: Path) -> None:
    sweep = written(tmp_path)
    listed = ((None, "session.timeout.ms", "6000"), ("billing", "assignors", "range"))
    other = ((None, "session.timeout.ms", "10000"), ("billing", "assignors", "range"))
    low = Point(0, (*listed, (None, "heartbeat.interval.ms", "500")))
    high = Point(0, (*other, (None, "heartbeat.interval.ms", "2000")))
    middle = (None, "heartbeat.interval.ms", "1000")
    assert between(sweep, [low, high], [low, high]) == [Point(0, (*listed, middle)), Point(0, (*other, middle))]
    assert between(sweep, [low, high], [Point(0, (*listed, middle)), Point(0, (*other, middle))]) == []
    assert between(sweep, [low], [low]) == []


def flight(key: str, seed: int, costs: Sequence[int] | None) -> SweptFlight:
    measures = {measure.field: 0 for measure in MEASURES} | dict(zip(AXES, costs or (), strict=False))
    return SweptFlight(
        key=key,
        scenario="s",
        settings=[],
        seed=seed,
        held=True,
        failure=None if costs else "a bug",
        measures=measures if costs else None,
    )


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12))
def test_the_frontier_is_what_nothing_dominates(costs: list[tuple[int, int]]) -> None:
    points: list[tuple[Point, str, list[str], list[str]]] = [
        (Point(number, ()), "s", [], [str(number)]) for number in range(len(costs))
    ]
    found = judge(points, {str(n): flight(str(n), 0, one) for n, one in enumerate(costs)}, AXES)
    for one, mine in zip(found.points, costs, strict=True):
        dominated = any(each[0] <= mine[0] and each[1] <= mine[1] and each != mine for each in costs)
        assert one.on_frontier != dominated, (mine, costs)


def test_a_point_with_a_failed_or_a_missing_flight_is_not_judged() -> None:
    points: list[tuple[Point, str, list[str], list[str]]] = [
        (Point(number, ()), "s", [], [f"{number}a", f"{number}b"]) for number in range(3)
    ]
    flights = {key: flight(key, seed, costs) for key, seed, costs in (
        ("0a", 1, (5, 1)), ("0b", 2, (9, 1)), ("1a", 1, (0, 0)), ("1b", 2, None), ("2a", 1, (0, 0)),
    )}  # fmt: skip
    found = judge(points, flights, AXES)
    assert found.missing == 1
    assert [each.on_frontier for each in found.points] == [True, False, False]
    assert found.points[0].measures[AXES[0]].median == 7
    assert found.points[0].seed == 1
    assert [(each.seed, each.reason) for each in found.points[1].failed] == [(2, "a bug")]


@pytest.mark.parametrize("path", sorted((ROOT / "examples/sweeps").glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_are_sweeps(path: Path) -> None:
    assert first_points(load_sweep(path))


def test_the_page_of_the_format_shows_a_sweep(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/sweep.md").read_text(), re.DOTALL)
    sweep = written(tmp_path, block)
    assert (len(first_points(sweep)), sweep.rounds) == (32, 2)


def test_a_process_that_ended_with_each_attempt_is_the_failure_of_its_flight(tmp_path: Path) -> None:
    """It is not for good: a sweep that is resumed tries again."""
    order = FlightOrder("abc", 0, ((None, "session.timeout.ms", "6000"),), 7)
    failed = SweepTask(written(tmp_path), str(tmp_path / "out"), recordings=None, allow_code=False).fly(order, ATTEMPTS)
    assert (failed.seed, failed.repeatable) == (7, False)
    assert failed.failure is not None
    assert "its process ended 3 times" in failed.failure


def test_a_directory_for_recordings_that_cannot_be_written_ends_the_sweep(tmp_path: Path) -> None:
    """It is no failure of its flight, which would be kept as one."""
    (tmp_path / "file").write_text("")
    task = SweepTask(written(tmp_path), str(tmp_path / "out"), recordings=tmp_path / "file", allow_code=False)
    with pytest.raises(RecordingError, match="file"):
        task.fly(FlightOrder("abc", 0, (), 7))


def test_a_scenario_is_flown_again_by_its_file_unless_it_is_the_library_s(tmp_path: Path) -> None:
    """`flightdeck run own` would look for a scenario of the library."""
    (tmp_path / "own.toml").write_text(load("first-join").text)
    sweep = written(tmp_path, WHOLE.replace('scenario = "first-join"', 'scenarios = ["own.toml", "first-join"]'))
    assert sweep.run_as == [str(tmp_path / "own.toml"), "first-join"]
    assert [load(one).text for one in sweep.run_as] == [one.text for one in sweep.scenarios]


@pytest.mark.parametrize(("until_us", "words"), [(20_000_000, "--until 20s"), (1_500_000, "--until 1500000us")])
def test_a_point_s_flight_is_flown_again_up_to_the_same_end(until_us: int, words: str) -> None:
    point = SweptPoint(
        point=Point(0, ()), scenario="s", settings=[], flights=1, failed=[], measures={}, seed=3, held=True
    )
    swept = Swept(
        title="t",
        scenarios=["s"],
        run_as=["there/s.toml"],
        seeds=[3],
        fixed=[],
        until_us=until_us,
        rounds=1,
        flown_now=1,
        seconds=0,
        frontier=Frontier(axes=AXES, points=[point], missing=0),
    )
    assert replay(swept, point) == f"flightdeck run there/s.toml --seed 3 {words} --record s-seed-3.flight"


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (1, "One flight for each point: the seed alone may make a difference."),
        (5, "Medians, with the least and the most of 5 flights: fewer than 6 have no interval."),
        (6, "Medians, with their 95 % interval where it is wider."),
    ],
)
def test_few_seeds_have_no_interval_of_the_median(seeds: int, words: str) -> None:
    """The least and the most of three flights hold the median in three of four cases, not in 95 of 100."""
    points: list[tuple[Point, str, list[str], list[str]]] = [
        (Point(0, ()), "s", [], [str(seed) for seed in range(seeds)])
    ]
    flights = {str(seed): flight(str(seed), seed, (seed, 1)) for seed in range(seeds)}
    swept = Swept(
        title="t",
        scenarios=["s"],
        run_as=["s"],
        seeds=list(range(seeds)),
        fixed=[],
        until_us=None,
        rounds=1,
        flown_now=seeds,
        seconds=0,
        frontier=judge(points, flights, AXES),
    )
    assert f"{words} The command" in page(swept)


def test_a_place_that_cannot_be_written_is_named_in_the_system_s_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RecordingError) as refused:
        KeptFlights(f"{tmp_path}/file/out").prepare()
    assert str(refused.value) == f"cannot keep flights in {tmp_path}/file/out: Not a directory"


def test_a_kept_flight_is_whole_or_not_there(tmp_path: Path) -> None:
    kept = KeptFlights(str(tmp_path / "out"))
    kept.prepare()
    kept.keep(flight("abc", 3, (5, 1)))
    (tmp_path / "out/flights/.def.json").write_text("{")  # a process was killed while it wrote
    assert kept.keys() == {"abc"}
    assert kept.has("abc")
    assert not kept.has("def")
    assert json.loads((tmp_path / "out/flights/abc.json").read_text())["seed"] == 3


def test_the_name_of_a_flight_holds_everything_that_it_depends_on(tmp_path: Path) -> None:
    scenario = written(tmp_path).scenarios[0]
    names = {
        key_of(scenario, settings, seed, until_us)
        for settings in ((), ((None, "static", "true"),), (("billing", "static", "true"),))
        for seed in (1, 2)
        for until_us in (None, 5)
    }
    assert len(names) == 12


@pytest.mark.parametrize("named_by", ["scenario", "setting"])
def test_the_name_of_a_flight_holds_the_code_of_its_own_assignor(named_by: str, tmp_path: Path) -> None:
    assignors = 'assignors = ["mine.Assignor"]' if named_by == "scenario" else ""
    (tmp_path / "own.toml").write_text(
        'title = "Own"\nuntil = "5s"\n[[topic]]\nname = "t"\npartitions = 2\n'
        f'[[group]]\nname = "g"\ntopics = ["t"]\nmembers = 1\n{assignors}\n'
    )
    scenario = load(tmp_path / "own.toml")
    settings = ((None, "assignors", "range, mine.Assignor"),) if named_by == "setting" else ()
    names = []
    for text in (None, "class Assignor: ...", "class Assignor: 'changed'", "class Assignor: ..."):
        if text is not None:
            (tmp_path / "mine.py").write_text(text)
        names.append(key_of(scenario, settings, 1, None))
    assert len(set(names)) == 3
    assert names[1] == names[3], "the same code again"


def _values(point: Point) -> tuple[str, ...]:
    return tuple(value for _, _, value in point.settings)
