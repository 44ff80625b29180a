"""A plan: every row flies the same seeds, a failure is a row, and a plan that was killed goes on where it was."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from recordings.bounded_files import RecordingError
from recordings.comparison.meter import BillMeter
from recordings.flights.runner import FlightError, Plan, fly, make_plan
from recordings.planning import flying
from recordings.planning.grid import parse_variation, rows_of
from recordings.planning.planner import Planned, PlanOrder, fly_plan
from recordings.planning.storage import FLIGHTS, PLAN
from recordings.scenarios.loader import SettingError, parse_scenario
from tests.support.minimal_scenario import DECLARED

KILLED = f"""
title = "A member dies"
until = "30s"
{DECLARED}config = {{ "session.timeout.ms" = 9000 }}
[[at]]
time = "10s"
do = "kill billing-2"
"""


def order(*varied: str, seeds: int = 2, first: int | None = None, text: str = KILLED) -> PlanOrder:
    rows = rows_of([parse_variation(each) for each in varied or ("session.timeout.ms=9000,6000",)])
    return PlanOrder(scenario=parse_scenario(text, "killed.toml"), rows=rows, seeds=seeds, first_seed=first)


def essence(planned: Planned) -> list[tuple[int, int, str]]:
    return [(each.row, each.seed, each.journal_sha256) for each in planned.flights]


def test_a_row_is_what_run_flies_with_its_settings_and_seeds() -> None:
    planned = fly_plan(order(first=5))
    assert planned.complete
    assert [(each.row, each.seed) for each in planned.flights] == [(0, 5), (0, 6), (1, 5), (1, 6)]
    for flight, value in zip(planned.flights, ("9000", "9000", "6000", "6000"), strict=True):
        meter = BillMeter()
        plan = make_plan(
            parse_scenario(KILLED, "killed.toml"),
            seed=flight.seed,
            settings=[(None, "session.timeout.ms", value)],
        )
        flown = fly(plan, meter=meter)
        assert (flight.journal_sha256, flight.bill) == (flown.journal_sha256, meter.bill(flown.virtual_us))


def test_it_does_not_matter_how_many_processes_fly() -> None:
    assert essence(fly_plan(order(seeds=1), jobs=2)) == essence(fly_plan(order(seeds=1)))


def test_a_plan_is_resumed_without_flying_one_of_its_flights_again(tmp_path: Path) -> None:
    """The directory is what a kill leaves behind: whole lines, and the beginning of one."""
    whole = fly_plan(order(), out=tmp_path / "plan")
    path = tmp_path / "plan" / FLIGHTS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    resumed = fly_plan(order(), out=tmp_path / "plan")
    assert (whole.flown_now, resumed.flown_now, resumed.missing) == (4, 1, 0)
    assert essence(resumed) == essence(whole)
    assert resumed.judgement == whole.judgement
    assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted(lines)
    more = fly_plan(order(seeds=3), out=tmp_path / "plan")
    assert (more.flown_now, more.seeds) == (2, [1, 2, 3])


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (order("session.timeout.ms=9000,6001"), "a plan with other values (--vary)"),
        (order(first=2), "a plan with another first seed (--seed)"),
        (order(text=KILLED.replace("30s", "29s")), "a plan with another scenario and another end (--until)"),
        (msgspec.structs.replace(order(), fixed=((None, "linger.ms", "7"),)), "a plan with other settings (--set)"),
    ],
)
def test_the_directory_of_another_plan_is_refused(other: PlanOrder, reason: str, tmp_path: Path) -> None:
    fly_plan(msgspec.structs.replace(order(), until_us=1_000_000) if "end" not in reason else order(), out=tmp_path)
    if "end" not in reason:
        other = msgspec.structs.replace(other, until_us=1_000_000)
    with pytest.raises(RecordingError, match="choose another directory") as refused:
        fly_plan(other, out=tmp_path)
    assert reason in str(refused.value)


def test_a_directory_that_is_no_plans_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").touch()
    with pytest.raises(RecordingError, match="is not a plan's directory"):
        fly_plan(order(), out=tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (PLAN, "{}", "plan.json is damaged"),
        (FLIGHTS, "{}\n", "flights.jsonl, line 1: "),
        (FLIGHTS, '{"row":9,"seed":1}\n', "line 1: the plan has no row 9"),
    ],
)
def test_a_damaged_directory_says_where(name: str, text: str, reason: str, tmp_path: Path) -> None:
    short = msgspec.structs.replace(order(seeds=1), until_us=1_000_000)
    fly_plan(short, out=tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(RecordingError, match=reason):
        fly_plan(short, out=tmp_path)


def test_two_plans_do_not_fly_into_one_directory(tmp_path: Path) -> None:
    short = msgspec.structs.replace(order(seeds=1), until_us=1_000_000)

    def again(_ended: int, _failed: int, _of: int) -> None:
        fly_plan(short, out=tmp_path)

    with pytest.raises(RecordingError, match="another `flightdeck plan` is flying into"):
        fly_plan(short, out=tmp_path, progress=again)


def test_a_flight_that_fails_is_a_row_with_its_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One flight hits a bug of ours: the others are flown, and the failure is not flown again."""
    real, flown = fly, Counter[tuple[str, int]]()

    def fly_badly(plan: Plan, *, record: Path | None, meter: BillMeter) -> object:
        flown[plan.settings.set[0][2], plan.settings.seed] += 1
        if plan.settings.seed == 2 and plan.settings.set[0][2] == "6000":
            raise FlightError(ZeroDivisionError("a bug"), plan, 7, 3, [])
        return real(plan, record=record, meter=meter)

    monkeypatch.setattr(flying, "fly", fly_badly)
    order_ = msgspec.structs.replace(order(), until_us=12_000_000)
    for planned in (fly_plan(order_, out=tmp_path), fly_plan(order_, out=tmp_path)):
        first, second = planned.judgement.rows
        assert (first.judged, second.judged, planned.complete, planned.interrupted) == (True, False, False, False)
        assert [each.seed for each in second.failed] == [2]
        assert "ZeroDivisionError: a bug" in second.failed[0].reason
        assert second.flights == 1
    assert flown == {(value, seed): 1 for value in ("9000", "6000") for seed in (1, 2)}


def test_an_impossible_combination_is_a_row_with_the_reason() -> None:
    short = order("session.timeout.ms=9000,6000", "heartbeat.interval.ms=3000,7000", seeds=1)
    planned = fly_plan(msgspec.structs.replace(short, until_us=1_000_000))
    assert [row.judged for row in planned.judgement.rows] == [True, True, True, False]
    assert (
        "heartbeat.interval.ms (7000) must be below session.timeout.ms (6000)"
        in planned.judgement.rows[3].failed[0].reason
    )
    assert not planned.complete


@pytest.mark.parametrize(
    ("varied", "reason"),
    [
        ("billing:sesion.timeout.ms=1,2", "did you mean session.timeout.ms"),
        ("session.timeout.ms=0,-1", "session.timeout.ms"),
        ("biling:members=1,2", "did you mean billing"),
    ],
)
def test_what_is_wrong_in_every_row_is_bad_input(varied: str, reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        fly_plan(order(varied))
