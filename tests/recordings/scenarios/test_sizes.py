"""What is too large for any machine is refused in words, before it takes the memory."""

import pytest

from recordings.flights.runner import make_plan
from recordings.scenarios.loader import ScenarioErrors, SettingError, apply_settings, parse_scenario

SMALL = """\
title = "t"
until = "1m"
[[topic]]
name = "orders"
partitions = 4
[[producer]]
name = "checkout"
topics = ["orders"]
count = 1
keys = { kind = "zipf", distinct = 10 }
[[group]]
name = "billing"
topics = ["orders"]
members = 2
[[at]]
time = "10s"
do = "scale billing to 3"
"""
HUGE = 1_000_000_000_000


@pytest.mark.parametrize(
    ("written", "instead", "line", "words"),
    [
        ("partitions = 4", f"partitions = {HUGE}", 5, "partitions: 1,000,000,000,000 are too many"),
        ("partitions = 4", "partitions = 50001", 5, "at most 50,000"),
        ("count = 1", f"count = {HUGE}", 9, "producers: 1,000,000,000,000"),
        ("distinct = 10", f"distinct = {HUGE}", 10, "keys: 1,000,000,000,000 distinct ones"),
        ("members = 2", f"members = {HUGE}", 14, "members: 1,000,000,000,000"),
        ("to 3", f"to {HUGE}", 17, "members: 1,000,000,000,000"),
        ("scale billing to 3", f"add partitions orders to {HUGE}", 17, "partitions: 1,000,000,000,000"),
        ("count = 1", 'count = 1\nrate = "1000000000000/s"', 10, "is too fast: a rate is at most 1000000/s"),
        ("count = 1", 'count = 20\nrate = "1000000/s"', 10, "together send 20,000,000 records/s: at most 10,000,000"),
        (
            "count = 1",
            'rate = "50000/s"\nsize = "1B"\nconfig = { "batch.size" = 1, "buffer.memory" = 9223372036854775807 }',
            11,
            "batches of 70 bytes can wait in it: at most 1,000,000",
        ),
        ('until = "1m"', 'until = "9000h"', 2, "until: a flight lasts at most 8784h"),
    ],
)
def test_a_slip_of_the_finger_is_refused_at_its_line(written: str, instead: str, line: int, words: str) -> None:
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(SMALL.replace(written, instead), "f.toml")
    (error,) = caught.value.errors
    assert error.line == line
    assert words in error.reason


def test_settings_are_held_to_the_same_sizes() -> None:
    scenario = parse_scenario(SMALL, "f.toml")
    with pytest.raises(SettingError, match="2000000 is above 2000"):
        apply_settings(scenario.spec, [("billing", "members", "2000000"), ("billing", "static", "false")])
    with pytest.raises(SettingError, match="lasts at most 8784h"):
        make_plan(scenario, until_us=10**17)


def test_what_fits_is_not_refused() -> None:
    assert parse_scenario(SMALL.replace("partitions = 4", "partitions = 10000"), "f.toml").spec.topics[0].partitions
