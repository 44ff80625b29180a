"""The prover: what it flies, that a fork is the flight from 0 s on, and that a worst schedule flies again."""

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from cluster.events import Event
from cluster.simulation import Simulation
from recordings.flights.interruptible_run import run_flight
from recordings.flights.runner import fly, make_plan
from recordings.proving import crash_flight, prover
from recordings.proving.crash_flight import crash_step
from recordings.proving.crash_points import Count, CrashOutcome, CrashPoint
from recordings.proving.prover import Question, WindowError, prove
from recordings.proving.worst import write_worst
from recordings.scenarios.loader import load, parse_scenario
from tests.mutants import MUTANTS
from tests.support.crash_points import PIPELINE, pipeline, question

MS, SECOND_US = 1_000, 1_000_000


@pytest.mark.parametrize("kill", ["consumer", "producer", "coordinator", "leader"])
def test_a_fork_and_a_flight_from_the_beginning_bring_the_same(kill: str) -> None:
    asked = question(kill, from_ms=8_014, until_ms=8_015)
    forked, flown = prove(pipeline(), asked, 2), prove(pipeline(), asked, 1, forks=False)
    assert len(forked.flown) >= 2
    assert forked.complete
    assert forked == flown


@pytest.mark.slow
def test_the_outcome_does_not_depend_on_the_number_of_processes() -> None:
    asked = question(from_ms=8_013, until_ms=8_014)
    assert prove(pipeline(), asked, 1) == prove(pipeline(), asked, 3)


def test_every_event_of_the_window_has_a_crash_before_its_instant_and_one_after_it() -> None:
    seen: list[Event] = []
    plan, asked = pipeline(), question(from_ms=8_013, until_ms=8_015)
    simulation = Simulation(plan.spec, plan.settings.seed, sinks=[seen.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(9 * SECOND_US)

    run_flight(main, simulation.timeline)
    proof = prove(plan, asked, 2)
    within = [event for event in seen if 8_013_000 <= event.at_us <= 8_015_000]
    instants = sorted({event.at_us for event in within})
    assert (proof.events, proof.instants, proof.without_victim) == (len(within), len(instants), 0)
    for victim in ("billing-1", "billing-2"):
        mine = [each.point for each in proof.flown if each.point.victim == victim]
        assert [point.seq for point in mine if point.seq is not None] == [event.seq for event in within]
        assert [point.at_us for point in mine if point.seq is None] == instants


@pytest.mark.slow
def test_work_that_takes_no_time_and_its_commit_are_one_turn_that_a_crash_cuts() -> None:
    """Between two turns no record is both worked on and not committed: only a death within the turn repeats it."""
    proof = prove(pipeline(per_record="0ms"), question(until_ms=8_009), 2)
    repeats = {each.point.kind for each in proof.flown if each.outcome.counts["billing"].duplicated and each.point.seq}
    assert "records_processed" in repeats
    assert proof.most("lost") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commit", "group", "lost", "duplicated"),
    [
        ("before-processing", "billing", True, False),
        ("after-each-poll", "billing", False, True),
        ("after-each-poll", "readers", False, True),
        ("transaction", "readers", False, False),
    ],
)
def test_the_bounds_are_what_the_commit_policy_promises(
    commit: str, group: str, lost: bool, duplicated: bool, tmp_path: Path
) -> None:
    plan = pipeline(commit)
    kill = "consumer" if group == "billing" else "producer"
    asked = question(kill, group, 8_023, 8_028) if commit == "transaction" else question(kill, group)
    proof = prove(plan, asked, 2)
    assert proof.complete
    assert (proof.most("lost") > 0, proof.most("duplicated") > 0) == (lost, duplicated)
    written = write_worst(plan, proof, tmp_path)  # flies each again, and holds its counts
    assert [each.what for each in written] == ["lost"] * lost + ["duplicated"] * duplicated
    for each in written:
        result = fly(make_plan(load(each.scenario)))
        worst = proof.worst(each.what)
        assert worst is not None
        counts = result.view["delivery"]["by_group"][group]
        assert (counts["lost"], counts["duplicated"]) == (
            worst.outcome.counts[group].lost,
            worst.outcome.counts[group].duplicated,
        )
        assert result.held
        assert not result.interrupted


def test_an_output_that_is_never_committed_is_lost_to_its_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their own ledger does not know it: its transaction was aborted, and its input counts as processed."""
    MUTANTS["counts_offsets_of_aborted_transactions"].breaks(monkeypatch)
    proof = prove(pipeline("transaction"), question("producer", "readers", 8_024, 8_026), 2)
    assert proof.most("lost") == 1
    assert not any(each.outcome.counts["readers"].lost for each in proof.flown)


@pytest.mark.slow
def test_each_point_of_an_instant_with_several_turns_flies_again_as_a_step() -> None:
    """Not one of them is known by its instant alone."""
    plan, asked = pipeline(per_record="0ms"), question(until_ms=8_009)
    proof = prove(plan, asked, 2)
    per_instant: dict[int, list[prover.Flown]] = {}
    for each in proof.flown:
        if each.point.victim == "billing-1":
            per_instant.setdefault(each.point.at_us, []).append(each)
    crowded = max(per_instant.values(), key=lambda flown: len({str(each.outcome) for each in flown}))
    assert len({str(each.outcome) for each in crowded}) > 1
    for each in crowded:
        again = crash_flight.fly_from_the_beginning(
            plan.spec, plan.settings.seed, each.point, asked.down_us, proof.groups
        )
        assert again == each.outcome


def test_a_step_after_an_event_of_another_instant_is_refused() -> None:
    plan = pipeline()
    step = crash_step(CrashPoint(8 * SECOND_US, "billing-1", "", 1_000), SECOND_US)
    spec = msgspec.structs.replace(plan.spec, steps=(step,), until_us=20 * SECOND_US)
    settings = msgspec.structs.replace(plan.settings, until_us=20 * SECOND_US)
    result = fly(msgspec.structs.replace(plan, spec=spec, settings=settings))
    assert [refused.reason.partition(",")[0].startswith("event 1000 is at ") for refused in result.refused] == [True]
    assert result.view["members"]["billing-1"]["alive"]


def test_a_window_ends_with_the_flight() -> None:
    proof = prove(pipeline(), Question(group="billing", from_us=59_998 * MS), 2)
    assert (proof.from_us, proof.until_us) == (59_998 * MS, 60_000 * MS)


def test_a_window_without_a_beginning_or_an_event_proves_nothing() -> None:
    never = parse_scenario(PIPELINE.format(commit="auto", per_record="0ms").replace("members = 2", "members = 0"), "n")
    with pytest.raises(WindowError, match="never Stable"):
        prove(make_plan(never), Question(group="billing"), 1)
    with pytest.raises(WindowError, match="no event"):
        prove(pipeline(), Question(group="billing", from_us=1, until_us=2), 1)
    with pytest.raises(WindowError, match="ends before"):
        prove(pipeline(), Question(group="billing", from_us=61 * SECOND_US), 1)


def test_a_group_that_does_not_catch_up_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash_flight, "PATIENCE_US", 0)
    proof = prove(pipeline(), question(from_ms=8_013, until_ms=8_014), 2)
    assert proof.stuck
    assert not proof.complete


def test_a_flight_that_fails_is_told_and_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(prover, "land", fails)
    proof = prove(pipeline(), question(from_ms=8_013, until_ms=8_014), 2)
    assert {each.outcome.failure for each in proof.flown} == {"RuntimeError: broken on purpose"}
    assert not proof.complete


def test_counts_of_a_crash_come_from_the_ledger_and_not_from_its_kind() -> None:
    what: Literal["lost"] = "lost"
    point = CrashPoint(1, "billing-1", "poll_returned", 7)
    flown = [
        prover.Flown(point, CrashOutcome(caught_up=True, counts={"billing": Count(lost=count, duplicated=0, unread=0)}))
        for count in (1, 4, 4)
    ]
    proof = prove(pipeline(), question(from_ms=8_013, until_ms=8_014), 1)
    proof.flown = flown
    assert proof.most(what) == 4
    assert proof.worst(what) is flown[1]
    assert proof.worst("duplicated") is None
