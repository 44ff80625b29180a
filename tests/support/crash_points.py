"""A small pipeline whose processes are killed at every event of a window."""

from recordings.flights.runner import Plan, make_plan
from recordings.proving.prover import Question
from recordings.scenarios.loader import parse_scenario
from tests.support.scenario_builders import MS

PIPELINE = """
title = "Orders become invoices"
until = "60s"
start_jitter = "0ms"
[cluster.config]
"group.initial.rebalance.delay.ms" = 0
"offsets.topic.num.partitions" = 1
"transaction.state.log.num.partitions" = 1
[[topic]]
name = "orders"
partitions = 2
[[topic]]
name = "invoices"
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "10/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = {{ "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000, "max.poll.records" = 5 }}
[group.application]
per_record = "{per_record}"
commit = "{commit}"
writes = "invoices"
[[group]]
name = "readers"
topics = ["invoices"]
config = {{ "auto.offset.reset" = "earliest", "isolation.level" = "read_committed" }}
"""


def pipeline(commit: str = "after-each-poll", per_record: str = "5ms") -> Plan:
    return make_plan(parse_scenario(PIPELINE.format(commit=commit, per_record=per_record), "pipeline.toml"))


def question(kill: str = "consumer", group: str = "billing", from_ms: int = 8_005, until_ms: int = 8_018) -> Question:
    return Question(group=group, kill=kill, from_us=from_ms * MS, until_us=until_ms * MS)
