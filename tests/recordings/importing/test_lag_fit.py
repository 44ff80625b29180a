"""A fitted stop: what a series was made with, and nothing where there is no stop."""

import random
from collections.abc import Callable
from unittest.mock import Mock

import pytest

from recordings.importing import lag_fit
from recordings.importing.draft import LagSample
from recordings.importing.lag_fit import LagFit, fit
from tests.support.lag_samples import ARRIVING, END_S, LEVEL, PROCESSED, RESUMED_S, STOPPED_S, lag_at, samples


def found(lag: Callable[[float], float], until_s: int = END_S) -> LagFit:
    fitted = fit(samples(lag, until_s))
    assert fitted is not None
    return fitted


def test_a_stop_has_what_the_series_was_made_with() -> None:
    fitted = found(lag_at)
    assert (fitted.stops_at_s, fitted.resumes_at_s) == pytest.approx((STOPPED_S, RESUMED_S), abs=0.1)
    assert (fitted.arriving_per_s, fitted.processed_per_s) == pytest.approx((ARRIVING, PROCESSED), rel=0.01)
    assert fitted.level_records == pytest.approx(LEVEL, abs=1)
    assert fitted.error_records < 1


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_the_error_of_the_fit(seed: int) -> None:
    draws = random.Random(seed)
    fitted = found(lambda second: lag_at(second) + draws.gauss(0, 100))
    assert (fitted.stops_at_s, fitted.resumes_at_s) == pytest.approx((STOPPED_S, RESUMED_S), abs=3)
    assert (fitted.arriving_per_s, fitted.processed_per_s) == pytest.approx((ARRIVING, PROCESSED), rel=0.1)
    assert 50 < fitted.error_records < 130


def test_a_group_that_has_not_caught_up_when_the_series_ends_will() -> None:
    fitted = found(lag_at, until_s=140)
    assert fitted.caught_up_at_s == pytest.approx(RESUMED_S + 5_800 / 150, abs=8)
    assert fitted.processed_per_s == pytest.approx(PROCESSED, rel=0.15)


def test_a_series_that_ends_while_lag_grows_has_no_processing_rate() -> None:
    fitted = found(lag_at, until_s=110)
    assert (fitted.processed_per_s, fitted.caught_up_at_s) == (None, None)
    assert fitted.arriving_per_s == pytest.approx(ARRIVING, rel=0.02)


@pytest.mark.parametrize("lag", [lambda _: 50.0, lambda second: 500.0 - second, lambda second: 50 + 5 * (second % 2)])
def test_lag_that_is_level_or_falls_has_no_stop(lag: Callable[[float], float]) -> None:
    assert fit(samples(lag)) is None


def test_a_lag_that_hardly_falls_is_fitted_in_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end would move out for ever by ever less: 370,000 fits of a tent for these fifteen samples."""
    on = Mock(side_effect=lag_fit._on)
    monkeypatch.setattr(lag_fit, "_on", on)
    lags = (380, 85, 190, 295, 0, 105, 210, 315, 20, 125, 230, 335, 40, 145, 2)
    fit([LagSample(15.0 * number, float(lag)) for number, lag in enumerate(lags)])
    assert 1_000 < on.call_count < 15_000
