"""A transaction that a crash takes from its coordinator's log: lost, neither open nor committed."""

from pathlib import Path

import pytest

from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import load
from tests.console.judge.bench import false_at_the_end, flown
from tests.console.judge.false_producer_places import lost_transactions_are_open

SCENARIO = """
title = "A crash takes what the only replica of __transaction_state had not flushed"
seed = 1
until = "34s"

[cluster]
brokers = 1
config."transaction.state.log.replication.factor" = 1
config."transaction.state.log.min.isr" = 1

[[topic]]
name = "payments"
partitions = 1
replication = 1

[[producer]]
name = "shop"
topics = ["payments"]
rate = "5/s"
transactions = { id = "pay", records = 10 }

# A clean stop flushes the log.
[[at]]
time = "3.9s"
do = "stop broker-1 for 1s"

[[at]]
time = "14.5s"
do = "crash broker-1 for 1s"
"""


@pytest.fixture
def spec(tmp_path: Path) -> ScenarioSpec:
    path = tmp_path / "lost.toml"
    path.write_text(SCENARIO)
    return load(str(path)).spec


def test_a_lost_transaction_is_said_and_missed(spec: ScenarioSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    events = flown(spec, spec.seed, spec.until_us)
    assert false_at_the_end(events, spec) == []
    lost_transactions_are_open(monkeypatch)
    assert any(", place of producer shop-1: ▶ open, not ✖ lost" in claim for claim in false_at_the_end(events, spec))
