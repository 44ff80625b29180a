"""A producer whose process died has a headline, and the judge misses it where it is not said."""

from pathlib import Path

import pytest

from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import load
from tests.console.judge.bench import SECOND_US, false_claims, flown
from tests.console.judge.false_headlines import the_dead_send_on

SCENARIO = """
title = "A producer dies"
seed = 1
until = "30s"

[[topic]]
name = "orders"
partitions = 2

[[producer]]
name = "shop"
topics = ["orders"]
rate = "20/s"

[[producer]]
name = "audit"
topics = ["orders"]
rate = "5/s"

[[at]]
time = "10s"
do = "kill shop-1"
"""


@pytest.fixture
def spec(tmp_path: Path) -> ScenarioSpec:
    path = tmp_path / "dead.toml"
    path.write_text(SCENARIO)
    return load(str(path)).spec


def test_a_dead_producer_is_said_and_missed(spec: ScenarioSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    events = tuple(flown(spec, spec.seed, 30 * SECOND_US))
    assert false_claims(events, spec) == []
    the_dead_send_on(monkeypatch)
    claims = false_claims(events, spec)
    assert any(", headline of rank" in claim for claim in claims), claims
