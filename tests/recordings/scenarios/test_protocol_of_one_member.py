"""`group.protocol` of one member, where its group has a key that the new protocol forbids: refused, with the remedy."""

import pytest

from cluster import events as e
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import ScenarioErrors, SettingError, parse_scenario
from recordings.scenarios.overrides import apply_settings, parse_setting
from tests.support.completed_flight import flown
from tests.support.scenario_builders import spec

FORBIDDEN = {
    "session.timeout.ms": "20000",
    "heartbeat.interval.ms": "2000",
    "partition.assignment.strategy": '["range"]',
}
REMEDY = "(billing has it for all members: set group.protocol of billing and restart only billing-1, or give the key"
EACH = pytest.mark.parametrize("key", FORBIDDEN)


def text(key: str, more: str = "") -> str:
    return f"""
title = "One key for all members"
seed = 1
until = "40s"
[[topic]]
name = "orders"
partitions = 4
[[group]]
name = "billing"
topics = ["orders"]
members = 3
config = {{ "{key}" = {FORBIDDEN[key]} }}
{more}
"""


def step(at_s: int, do: str) -> str:
    return f'[[at]]\ntime = "{at_s}s"\ndo = "{do}"\n'


def refused(key: str, more: str) -> str:
    with pytest.raises(ScenarioErrors) as errors:
        parse_scenario(text(key, more), "t.toml")
    return str(errors.value)


@EACH
def test_a_step_a_table_and_a_setting_are_refused_at_load(key: str) -> None:
    words = f"{key} cannot be set when group.protocol=CONSUMER {REMEDY}"
    assert words in refused(key, step(20, "set billing-1 group.protocol consumer"))
    assert words in refused(key, '[group.member."billing-1"]\nconfig = { "group.protocol" = "consumer" }')
    with pytest.raises(SettingError) as error:
        apply_settings(parse_scenario(text(key), "t.toml").spec, [parse_setting("billing-1:group.protocol=consumer")])
    assert words in str(error.value)


@EACH
def test_a_command_is_refused_in_flight(key: str) -> None:
    value = ("range",) if key.endswith("strategy") else int(FORBIDDEN[key])
    flight = flown(spec((20, "set g-1 group.protocol consumer"), consumer={key: value}, until_s=22))
    (one,) = flight.all(e.CommandRefused)
    assert (
        " cannot be set when group.protocol=CONSUMER (g has it for all members: set group.protocol of g" in one.reason
    )


@EACH
@pytest.mark.parametrize("deploy", ["restart billing-1", "rollout statefulset billing", "rollout deployment billing"])
def test_the_remedy_and_each_deploy_migrate(key: str, deploy: str) -> None:
    steps = step(15, "set billing group.protocol consumer") + step(16, deploy)
    flight = fly(make_plan(parse_scenario(text(key, steps), "t.toml")))
    assert flight.not_given == ()
    assert flight.view["groups"]["billing"]["protocol"] == "consumer"
    assert len(flight.view["groups"]["billing"]["classic_members"]) == (2 if deploy == "restart billing-1" else 0)


@EACH
def test_a_key_of_single_members_lets_the_others_change(key: str) -> None:
    given = (
        text(key).replace("config =", "# ") + f'[group.member."billing-2"]\nconfig = {{ "{key}" = {FORBIDDEN[key]} }}\n'
    )
    given += step(15, "set billing-1 group.protocol consumer") + step(16, "restart billing-1")
    flight = fly(make_plan(parse_scenario(given, "t.toml")))
    assert flight.view["groups"]["billing"]["classic_members"] == ["billing-2", "billing-3"]


def test_a_forbidden_key_of_a_new_member_is_refused_in_flight() -> None:
    steps = [(15, "set g group.protocol consumer"), (20, "set g-2 session.timeout.ms 15000")]
    (one,) = flown(spec(*steps, members=2, until_s=22)).all(e.CommandRefused)
    assert one.reason == "session.timeout.ms cannot be set when group.protocol=CONSUMER"
