"""Places of topics: configuration that commands change in flight, groups that subscribe late."""

from pathlib import Path

import msgspec
import pytest

from cluster.commands import parse
from cluster.spec import ScenarioSpec, StepSpec
from recordings.scenarios.loader import load
from tests.console.judge.bench import SECOND_US, false_at_the_end, false_claims, flown, is_found_false
from tests.console.judge.false_topology import (
    commands_change_no_configuration,
    readers_stand_in_the_order_of_subscription,
)

COMMANDS = {
    5: "set orders retention.ms 600000 for 10s",
    6: "set orders cleanup.policy compact,delete",
    7: "set payments min.insync.replicas 1",
}


def changed() -> ScenarioSpec:
    spec = load("first-flight").spec
    steps = [StepSpec(at_s * SECOND_US, parse(text), text) for at_s, text in COMMANDS.items()]
    return msgspec.structs.replace(spec, steps=tuple(sorted((*spec.steps, *steps), key=lambda step: step.at_us)))


@pytest.mark.slow
def test_configuration_in_force_is_what_commands_have_set(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = changed()
    events = flown(spec, spec.seed, 20 * SECOND_US)
    assert false_claims(events, spec, 12) == []
    commands_change_no_configuration(monkeypatch)
    assert is_found_false(events, spec, 12)


PATTERN_FIRST = """
title = "The first group of the scenario is the last to subscribe"
seed = 1
until = "3s"

[[topic]]
name = "orders"
partitions = 2

[[group]]
name = "search"
members = 1
topic_regex = "ord.*"
config = { "group.protocol" = "consumer" }

[[group]]
name = "billing"
members = 1
topics = ["orders"]
"""


def test_readers_stand_in_the_order_of_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pattern-first.toml"
    path.write_text(PATTERN_FIRST)
    spec = load(str(path)).spec
    events = flown(spec, spec.seed, 3 * SECOND_US)
    assert false_at_the_end(events, spec) == []
    readers_stand_in_the_order_of_subscription(monkeypatch)
    assert any("readers ['billing', " in claim for claim in false_at_the_end(events, spec))
