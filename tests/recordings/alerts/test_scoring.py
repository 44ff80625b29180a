"""The score of rules: by hand-made faults and alerts, and a flight compared with its raw event log."""

import json
from pathlib import Path
from typing import Any

import pytest

from recordings.alerts.rules import AlertRule, RuleSet
from recordings.alerts.scoring import Leaderboard, RuleScore, score
from recordings.alerts.watch import Alert, Watched, WatchedFault, watch
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import parse_scenario

SECOND = 1_000_000
RULES = RuleSet(
    rules=(
        AlertRule(name="lag", kind="threshold", records=60, for_us=3 * SECOND),
        AlertRule(name="never", kind="threshold", records=1_000_000),
    )
)
DIES = """
title = "A consumer dies"
seed = 3
until = "60s"
[[topic]]
name = "orders"
partitions = 2
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "10/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 1
config = { "auto.offset.reset" = "earliest", "auto.commit.interval.ms" = 1000 }
[[at]]
time = "20s"
do = "kill billing-1"
"""

UNCLEAN = """
title = "An unclean election takes back offsets that were processed"
seed = 43
until = "160s"
[cluster]
brokers = 3
[[topic]]
name = "orders"
partitions = 1
replication = 3
config = { "min.insync.replicas" = 1 }
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "10/s"
[[group]]
name = "billing"
topics = ["orders"]
config = { "auto.offset.reset" = "earliest" }
[[at]]
time = "20s"
do = "kill broker-2"
[[at]]
time = "20s"
do = "kill broker-3"
[[at]]
time = "80s"
do = "kill broker-1"
[[at]]
time = "82s"
do = "start broker-2"
[[at]]
time = "82s"
do = "start broker-3"
[[at]]
time = "110s"
do = "elect unclean orders-0"
[[at]]
time = "135s"
do = "start broker-1"
"""


def flight(alerts: list[tuple[int, int | None]], *, wait: tuple[int, int] = (25, 40), to: int | None = 40) -> Watched:
    """A flight of 200 s with a fault from 20 s on; alerts of `lag`, and a wait of 10 s in between, in seconds."""
    return Watched(
        recording="a",
        end_us=200 * SECOND,
        alerts=[
            Alert(rule="lag", group="billing", from_us=a * SECOND, to_us=None if b is None else b * SECOND)
            for a, b in alerts
        ],
        faults=[
            WatchedFault(
                text="kill billing-1",
                kind="kill",
                hits="consumer",
                groups=("billing",),
                from_us=20 * SECOND,
                to_us=None if to is None else to * SECOND,
            )
        ],
        waits={"billing": [(second * SECOND, 10 * SECOND) for second in range(*wait)]},
    )


def of(board: Leaderboard, rule: str = "lag") -> RuleScore:
    return next(one for one in board.scores if one.rule == rule)


@pytest.mark.parametrize(
    ("watched", "found", "missed", "hidden", "false", "unexplained"),
    [
        (flight([(32, 50)]), 1, 0, 0, 0, 0),
        (flight([(100, 110)]), 1, 0, 0, 0, 0),  # 60 s after its end
        (flight([(101, 110)]), 0, 1, 0, 1, 0),
        (flight([(10, 30)]), 0, 0, 1, 0, 1),
        (flight([(10, 15), (32, 50)]), 1, 0, 0, 1, 0),
        (flight([], to=None), 0, 1, 0, 0, 0),
        (flight([(32, 50)], wait=(0, 0)), 0, 0, 0, 1, 0),
        (flight([(150, None)], wait=(160, 170)), 0, 0, 0, 0, 1),
    ],
)
def test_each_fault_and_alert_counts_once(
    watched: Watched, found: int, missed: int, hidden: int, false: int, unexplained: int
) -> None:
    one = of(score([watched], RULES))
    assert (one.found, one.missed, one.hidden) == (found, missed, hidden)
    assert (one.false, one.unexplained) == (false, unexplained)


def test_the_best_rule_comes_first_and_harmless_faults_need_no_alert() -> None:
    board = score([flight([(32, 50)]), flight([], wait=(0, 0))], RULES)
    assert [one.rule for one in board.scores] == ["lag", "never"]
    assert (board.faults, board.harmless) == (1, 1)
    (of_class,) = of(board).by_class
    assert (of_class.fault_class, of_class.delays_us) == ("kill of consumer", [12 * SECOND])


def test_rules_that_fire_all_the_time_do_not_lead() -> None:
    noisy = flight([(second, second + 1) for second in range(105, 125)])
    assert [one.rule for one in score([noisy], RULES).scores] == ["never", "lag"]


@pytest.fixture(scope="module")
def dies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("alerts") / "dies.flight"
    fly(make_plan(parse_scenario(DIES, "dies.toml")), record=path)
    return path


def raw_events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(Recording(path).event_lines()).splitlines()]


def first_alert_us(events: list[dict[str, Any]], records: int, for_s: int) -> int | None:
    """When the lag has been so high at whole seconds for so long, by high watermarks and commits alone."""
    held = 0
    for second in range(1, 61):
        ends: dict[str, int] = {}
        committed: dict[str, int] = {}
        for event in events:
            if event["at_us"] > second * SECOND:
                break
            if event["kind"] == "high_watermark_advanced" and event["partition"].startswith("orders-"):
                ends[event["partition"]] = event["offset"]
            elif event["kind"] == "offsets_committed":
                committed |= event["offsets"]
        lag = sum(end - committed.get(name, 0) for name, end in ends.items())
        held = held + 1 if lag >= records else 0
        if held > for_s:
            return second * SECOND
    return None


def test_a_flights_score_is_that_of_its_raw_event_log(dies: Path) -> None:
    events = raw_events(dies)
    (fault_us,) = (event["at_us"] for event in events if event["kind"] == "fault_started")
    alert_us = first_alert_us(events, 60, 3)
    assert alert_us is not None
    assert alert_us > fault_us
    board = score([watch(dies, RULES)], RULES)
    (of_class,) = of(board).by_class
    assert of_class.delays_us == [alert_us - fault_us]
    assert of(board).false == 0
    assert (of(board, "never").found, of(board, "never").missed) == (0, 1)


def test_the_comparison_sees_a_rule_that_waits_too_short(dies: Path) -> None:
    hasty = RuleSet(rules=(AlertRule(name="lag", kind="threshold", records=60, for_us=2 * SECOND),))
    (alert,) = watch(dies, hasty).alerts
    assert alert.from_us != first_alert_us(raw_events(dies), 60, 3)
    assert alert.from_us == first_alert_us(raw_events(dies), 60, 2)


def test_records_at_offsets_that_a_truncation_took_back_wait(tmp_path: Path) -> None:
    """The group stands behind the new leader's log: what is appended there waits, until the group goes back."""
    path = tmp_path / "unclean.flight"
    fly(make_plan(parse_scenario(UNCLEAN, "unclean.toml")), record=path)
    events = raw_events(path)
    of_orders = [event for event in events if event.get("partition") == "orders-0"]
    *_, taken = (event for event in of_orders if event["kind"] == "leadership_taken")
    later = [event for event in of_orders if event["at_us"] > taken["at_us"]]
    appended_us = next(event["at_us"] for event in later if event["kind"] == "records_appended")
    processed = (event for event in later if event["kind"] == "records_processed")
    processed_us = next(event["at_us"] for event in processed if event["first_offset"] == taken["log_end"])
    assert processed_us - appended_us > 15 * SECOND
    watched = watch(path, RULES)
    waits = [wait for at_us, wait in watched.waits["billing"] if appended_us < at_us < processed_us]
    assert waits
    assert processed_us - appended_us - max(waits) < SECOND
    assert of(score([watched], RULES), "never").missed == len(watched.faults) == 3
