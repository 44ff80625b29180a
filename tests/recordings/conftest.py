"""A small flight for every test here: two members, one producer, and something that happens."""

from pathlib import Path

import pytest

from recordings.flights.runner import FlightResult, Plan, Replay, fly, make_plan
from recordings.scenarios.loader import Scenario, parse_scenario
from tests.support.operator_commands import operated

TINY = """
title = "Small"
seed = 5
until = "20s"

[[topic]]
name = "orders"
partitions = 4

[[producer]]
name = "checkout"
topics = ["orders"]
rate = "20/s"

[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = { "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000, "heartbeat.interval.ms" = 1000 }

[[at]]
time = "12s"
do = "kill billing-2"

[[expect]]
that = "groups.billing.members == 2 && groups.billing.state == 'Stable'"
by = "12s"
[[expect]]
that = "groups.billing.members == 1"
at = "20s"
[[expect]]
event = "member_removed"
where = { reason = "session expired" }
count = 1
"""

EVENTFUL = """
title = "Something happens all the time"
seed = 7
until = "4m"

[[topic]]
name = "orders"
partitions = 6
[[topic]]
name = "payments"
partitions = 3

[[producer]]
name = "checkout"
topics = ["orders", "payments"]
count = 2
rate = "20/s"

[[group]]
name = "billing"
topics = ["orders"]
members = 3
[group.config]
"auto.offset.reset" = "earliest"
"session.timeout.ms" = 10000
"max.poll.interval.ms" = 20000
"max.poll.records" = 50
[group.application]
per_record = "2ms"
[[group]]
name = "audit"
topics = ["orders", "payments"]
members = 2
start = "5s"

[[at]]
time = "30s"
do = "kill billing-2 for 25s"
[[at]]
time = "80s"
do = "stall billing-1 for 30s"
[[at]]
time = "120s"
do = "kill broker-2 for 40s"
[[at]]
time = "180s"
do = "restart audit-1"
[[at]]
time = "215s"
do = "scale billing to 4"
"""


@pytest.fixture(scope="session")
def tiny() -> Scenario:
    return parse_scenario(TINY, "tiny.toml")


@pytest.fixture(scope="session")
def eventful() -> Plan:
    """Four minutes with kills, a slow poll, an election, a restart and a newcomer."""
    return make_plan(parse_scenario(EVENTFUL, "eventful.toml"))


@pytest.fixture(scope="session")
def plan(tiny: Scenario) -> Plan:
    return make_plan(tiny)


@pytest.fixture
def recorded(plan: Plan, tmp_path: Path) -> tuple[Path, FlightResult]:
    """A recording of the small scenario with an operator's commands, and what its flight reported."""
    path = tmp_path / "recorded.flight"
    return path, fly(plan, record=path, replay=Replay(by_time=operated()))
