"""The place of a topic whose configuration commands change in flight."""

import msgspec
import pytest

from cluster.commands import parse
from cluster.spec import ScenarioSpec, StepSpec
from recordings.scenarios.loader import load
from tests.console.judge.bench import SECOND_US, false_claims, flown
from tests.console.judge.false_topology import commands_change_no_configuration

COMMANDS = {
    5: "set orders retention.ms 600000 for 10s",
    6: "set orders cleanup.policy compact,delete",
    7: "set payments min.insync.replicas 1",
}


def changed() -> ScenarioSpec:
    spec = load("first-flight").spec
    steps = [StepSpec(at_s * SECOND_US, parse(text), text) for at_s, text in COMMANDS.items()]
    return msgspec.structs.replace(spec, steps=tuple(sorted((*spec.steps, *steps), key=lambda step: step.at_us)))


def test_configuration_in_force_is_what_commands_have_set(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = changed()
    events = flown(spec, spec.seed, 20 * SECOND_US)
    assert false_claims(events, spec, 12) == []
    commands_change_no_configuration(monkeypatch)
    assert false_claims(events, spec, 12)
