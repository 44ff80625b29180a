"""A scenario of a series of lag, flown: its lag is that of the series."""

import math

import pytest

from cluster.events import Event
from cluster.view.document import group_lag
from cluster.view.fold import fold
from cluster.view.state import ClusterView
from recordings.flights.runner import fly, make_plan
from recordings.importing.draft import ClusterDraft, LagSample, ProducerDraft
from recordings.importing.make import Imported, scenario_of
from recordings.scenarios.loader import parse_scenario
from tests.support.lag_samples import RESUMED_S, lag_at, samples

SECOND_US = 1_000_000
HALF = 0.5  # of the rates of the series: a small flight


def imported(lag_series: list[LagSample], group: str = "billing") -> Imported:
    draft = ClusterDraft()
    draft.group(group).lag_series = lag_series
    draft.group(group).config = {"auto.commit.interval.ms": "500", "max.poll.records": "20"}  # lag is committed lag
    return scenario_of(draft, "Imported", "A test.")


def flown_lag(text: str, seconds: list[int]) -> list[int]:
    """The lag of billing at each second, from the events."""
    scenario = parse_scenario(text, "lag.toml")
    view, left, found = ClusterView(), list(seconds), []

    def see(event: Event) -> None:
        while left and event.at_us >= left[0] * SECOND_US:
            found.append(group_lag(view, view.groups["billing"]))
            left.pop(0)
        fold(view, event)

    fly(make_plan(scenario, until_us=(seconds[-1] + 1) * SECOND_US), log=see)
    return found


def error(text: str) -> float:
    """The root mean square of the differences between the flight and the series, as a share of the peak."""
    seconds = list(range(30, 200, 10))
    pairs = zip(flown_lag(text, seconds), (HALF * lag_at(second) for second in seconds), strict=True)
    return math.sqrt(sum((a - b) ** 2 for a, b in pairs) / len(seconds)) / (HALF * lag_at(RESUMED_S))


@pytest.mark.slow
def test_the_lag_of_the_flight_is_that_of_the_series() -> None:
    made = imported(samples(lambda second: HALF * lag_at(second)))
    assert error(made.text) < 0.06
    assert error(made.text.replace('rate = "50', 'rate = "35')) > 0.1
    assert error(made.text.replace('for 58s"', 'for 40s"')) > 0.1


def test_what_is_fitted_is_said() -> None:
    said = imported(samples(lag_at)).guessed
    assert said[:3] == [
        "billing: 100 records/s arrive and 250 are processed, fitted to its lag",
        "billing: no member polls for 58 s from 60 s",
        "billing: the fit errs by 0 records, 0.0 % of its peak",
    ]
    assert "billing: one record takes 12ms, as fast as it catches up" in said
    assert all(len(one.split()) <= 20 for one in said)


def test_a_stop_that_comes_too_early_is_flown_when_the_group_is_stable() -> None:
    made = imported(samples(lambda second: lag_at(second + 40)))
    assert "billing: no member polls for 58 s from 60 s, in the series at 20.0 s" in made.guessed
    assert {step.at_us for step in made.spec.steps} == {60 * SECOND_US}


def test_a_high_rate_is_scaled_down() -> None:
    made = imported(samples(lambda second: 50 * lag_at(second)))
    assert "rates: one record stands for 5, so that 1,000 arrive in a second" in made.guessed
    [producer] = made.spec.producers
    assert producer.rate_per_second == pytest.approx(1_000, rel=0.01)
    assert made.spec.groups[0].application.per_record_us == pytest.approx(3 * 5e6 / 12_500, rel=0.01)


def test_the_time_of_a_record_that_a_file_has_is_scaled_with_the_records() -> None:
    draft = ClusterDraft()
    draft.group("billing").lag_series = samples(lambda second: 50 * lag_at(second))
    draft.group("billing").per_record_us = 200
    draft.producers["load"] = ProducerDraft(("orders",), rate=4_000.0)
    made = scenario_of(draft, "Imported", "A test.")
    assert made.spec.groups[0].application.per_record_us == 5 * 200
    assert made.spec.producers[0].rate_per_second == pytest.approx(4_000 / 5)


def test_lag_without_a_stop_leaves_the_guesses_as_they_are() -> None:
    made = imported(samples(lambda _: 50.0))
    assert "billing: no stop explains its lag, 50 records on average" in made.guessed
    assert made.spec.steps == ()
    assert any("no file has a rate" in one for one in made.guessed)


def test_the_flight_lasts_until_the_group_has_caught_up() -> None:
    made = imported(samples(lambda second: lag_at(second - 200), until_s=500))
    assert made.spec.until_us >= 318 * SECOND_US + 38 * SECOND_US
