"""One flight in which all happens that a metric tells of, recorded once for each process of the test run."""

from pathlib import Path

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario

TROUBLED = """
title = "Everything that a metric tells of"
seed = 11
until = "90s"

[cluster]
brokers = 3

[[topic]]
name = "orders"
partitions = 1
config = { "min.insync.replicas" = 1 }
[[topic]]
name = "payments"
partitions = 2

[[producer]]
name = "checkout"
topics = ["orders"]
rate = "10/s"
config = { "delivery.timeout.ms" = 12000, "request.timeout.ms" = 5000 }
[[producer]]
name = "gateway"
topics = ["payments"]
rate = "10/s"
transactions = { id = "gateway-{n}", records = 10, abort = 0.3 }

[[group]]
name = "billing"
topics = ["orders", "payments"]
members = 2
config = { "auto.offset.reset" = "earliest", "session.timeout.ms" = 8000 }
[[group]]
name = "ledger"
topics = ["payments"]
members = 2
config = { "group.protocol" = "consumer", "auto.offset.reset" = "earliest", "isolation.level" = "read_committed" }

[[at]]
time = "12s"
do = "kill broker-2"
[[at]]
time = "12s"
do = "kill broker-3"
[[at]]
time = "30s"
do = "kill broker-1"
[[at]]
time = "33s"
do = "start broker-2"
[[at]]
time = "33s"
do = "start broker-3"
[[at]]
time = "52s"
do = "elect unclean orders-0"
[[at]]
time = "53s"
do = "set orders min.insync.replicas 2"
[[at]]
time = "56s"
do = "start broker-1"
[[at]]
time = "58s"
do = "add partitions payments to 4"
[[at]]
time = "60s"
do = "kill billing-2 for 10s"
[[at]]
time = "66s"
do = "pause broker-2 for 6s"
[[at]]
time = "67s"
do = "pause ledger-2 for 12s"
[[at]]
time = "70s"
do = "pause checkout-1 for 5s"
[[at]]
time = "74s"
do = "delete records payments-0 before 40"
[[at]]
time = "76s"
do = "restart gateway-1"
[[at]]
time = "79s"
do = "reassign payments-1 to 1,2"
[[at]]
time = "80s"
do = "pause broker-3 for 5s"
[[at]]
time = "80.5s"
do = "reassign payments-1 to 3,2"
"""


@pytest.fixture(scope="session")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with transactions, a truncation, added partitions, and processes that end and stand still."""
    path = tmp_path_factory.mktemp("metrics") / "troubled.flight"
    fly(make_plan(parse_scenario(TROUBLED, "troubled.toml")), record=path)
    return path
