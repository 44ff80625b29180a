"""What screens say of committed offsets that an administrator resets and deletes."""

import msgspec
import pytest

from cluster.spec import ScenarioSpec
from cluster.view import fold_groups
from cluster.view.committed import LATE
from tests.console.judge.bench import SECOND_US, false_claims, flown
from tests.support.scenario_builders import spec

STEPS = (
    (10.0, "scale g to 0"),
    (12.0, "reset offsets of g to earliest"),
    (12.5, "delete offsets of g in orders-1"),
    (13.0, "scale g to 1"),
)


def reset() -> ScenarioSpec:
    scenario = spec(*STEPS, until_s=18, commit="after-each-poll")
    (group,) = scenario.groups
    config = {"auto.offset.reset": "earliest", **group.config}
    return msgspec.structs.replace(scenario, groups=(msgspec.structs.replace(group, config=config),))


def test_an_administrator_is_named_and_no_member(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = reset()
    events = flown(scenario, 1, 18 * SECOND_US)
    assert false_claims(events, scenario, 6) == []
    monkeypatch.setattr(fold_groups, "cause_of", lambda *_: LATE)
    assert any("went back" in claim for claim in false_claims(events, scenario, 6))
