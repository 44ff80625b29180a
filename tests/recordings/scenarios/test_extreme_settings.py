"""Every number that Kafka permits can be flown: each key at both ends of its range, at 0 and at 1."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import msgspec
import pytest

from cluster.config import CONFIG_KEYS, ConfigKey, cross_errors, refused_config
from cluster.events import Event
from recordings.flights.runner import LastEvent, fly, make_plan
from recordings.scenarios.loader import ScenarioErrors, SettingError, apply_settings, parse_scenario
from tests.support.slow_cases import mostly_slow

TEXT = """
title = "Everything that has a setting"
until = "2500ms"
[cluster]
brokers = 2
config = { "offsets.topic.num.partitions" = 2, "transaction.state.log.num.partitions" = 2 }
[[topic]]
name = "orders"
partitions = 2
[[topic]]
name = "invoices"
[[producer]]
name = "plain"
topics = ["orders"]
rate = "20/s"
config = { "acks" = "1", "enable.idempotence" = false }
[[producer]]
name = "exact"
topics = ["orders"]
rate = "20/s"
transactions = { id = "exact-{n}", records = 5 }
[[group]]
name = "billing"
topics = ["orders"]
members = 2
[[group]]
name = "audit"
topics = ["orders"]
application = { commit = "transaction", writes = "invoices" }
[[at]]
time = "1s"
do = "kill broker-2"
[[at]]
time = "1500ms"
do = "start broker-2"
"""

MOST_EVENTS = 40_000
SECONDS = 20
NUMBERS = [key for key in CONFIG_KEYS if key.kind in ("int", "int_ms", "int_bytes", "float")]


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail rather than hang: a flight whose time stands still does not end by itself."""

    def late(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def values_of(key: ConfigKey) -> list[float]:
    low = 0 if key.low is None else key.low
    high = 0 if key.high is None else key.high
    return sorted({low, high, *(value for value in (0, 1) if low <= value <= high)})


def settings_of(key: ConfigKey, value: float) -> list[tuple[str, str, str]]:
    scopes = {"broker": ["cluster"], "topic": ["orders"], "producer": ["plain", "exact"], "consumer": ["billing"]}
    return [(scope, key.name, str(value)) for scope in scopes[key.scope]]


def fly_with(settings: list[tuple[str, str, str]]) -> int:
    """How many events the flight had, or 0 when the settings were refused in words."""
    scenario = parse_scenario(TEXT, "extreme.toml")
    try:
        plan = make_plan(scenario, settings=[(scope, key, value) for scope, key, value in settings])
    except (ScenarioErrors, SettingError) as error:
        assert str(error)  # noqa: PT017 - refused, in words
        return 0
    events = 0

    def count(event: Event) -> None:
        nonlocal events
        events = event.seq
        if events >= MOST_EVENTS:
            raise LastEvent

    fly(plan, log=count)
    return events


@pytest.mark.parametrize(
    "key", mostly_slow(NUMBERS, quick=NUMBERS[::16], slow=38), ids=lambda key: f"{key.scope}:{key.name}"
)
def test_every_number_that_is_permitted_can_be_flown(key: ConfigKey) -> None:
    for value in values_of(key):
        with at_most(SECONDS):
            fly_with(settings_of(key, value))


def test_neighbours_at_zero_can_be_flown() -> None:
    """Ages and backoffs divide one another or wait for one another."""
    for scope in ("plain", "exact", "billing"):
        pair = [(scope, "metadata.max.age.ms", "0"), (scope, "retry.backoff.ms", "0")]
        with at_most(SECONDS):
            assert fly_with([*pair, (scope, "retry.backoff.max.ms", "0"), (scope, "reconnect.backoff.ms", "0")]) > 100


def test_most_numbers_are_flown_and_not_refused() -> None:
    spec = parse_scenario(TEXT, "extreme.toml").spec
    flown = 0
    for key in NUMBERS:
        for value in values_of(key):
            config = {key.name: value}
            flown += not (cross_errors(key.scope, msgspec.to_builtins(config)) or refused_config(key.name, value))
    assert flown > 150
    assert apply_settings(spec, []) == spec
