"""unsubscribe() by hand, in both group protocols: who leaves, what is lost, and what brings the member back."""

import pytest

from cluster import events as e
from cluster.spec import ScenarioSpec
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario
from tests.console.judge.bench import false_claims
from tests.console.judge.bench import flown as judged_flight
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import SECOND_US
from tests.support.slow_cases import partly_campaign

BOTH = pytest.mark.parametrize("protocol", ["classic", "consumer"])
FLIGHT = """
title = "A member unsubscribes, and subscribes again"
seed = 1
until = "80s"
start_jitter = "0ms"
[[topic]]
name = "orders"
partitions = 4
[[topic]]
name = "payments"
partitions = 2
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "50/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
static = STATIC
config = { "group.protocol" = "PROTOCOL", "auto.offset.reset" = "earliest" }
application = { on_revoked = "LISTENER" }
"""


def text(protocol: str, *steps: tuple[int, str], static: bool = False, listener: str = "nothing") -> str:
    given = FLIGHT.replace("PROTOCOL", protocol).replace("STATIC", str(static).lower()).replace("LISTENER", listener)
    return given + "".join(f'[[at]]\ntime = "{at_s}s"\ndo = "{do}"\n' for at_s, do in steps)


def scenario(protocol: str, *steps: tuple[int, str], static: bool = False, listener: str = "nothing") -> ScenarioSpec:
    return parse_scenario(text(protocol, *steps, static=static, listener=listener), "t.toml").spec


def owners(flight: Flown) -> dict[str, int]:
    members = flight.document["members"]
    return {name: len(members[name]["owned"]) for name in members}


def refused(flight: Flown) -> list[str]:
    return [one.reason for one in flight.all(e.CommandRefused)]


@pytest.mark.slow
@BOTH
def test_a_member_leaves_at_once_and_the_other_one_gets_its_partitions(protocol: str) -> None:
    flight = flown(scenario(protocol, (22, "unsubscribe billing-1")))
    (revoked,) = flight.all(e.PartitionsRevoked, member="billing-1", after_us=20 * SECOND_US)
    assert (revoked.lost, len(revoked.partitions)) == (False, 2)
    (left,) = flight.all(e.MemberRemoved)
    assert (left.member, left.reason) == ("billing-1", "member left")
    assert left.at_us - 22 * SECOND_US < SECOND_US
    assert owners(flight) == {"billing-1": 0, "billing-2": 4}
    assert flight.document["members"]["billing-1"]["alive"]
    assert flight.document["members"]["billing-1"]["state"] == ("Left" if protocol == "classic" else "UNSUBSCRIBED")
    assert [one.topics for one in flight.all(e.SubscriptionChanged)] == [()]


@pytest.mark.slow
@BOTH
def test_nothing_is_committed_so_the_other_member_reads_again(protocol: str) -> None:
    """Unlike close(); a listener that commits prevents it."""
    steps = (22, "unsubscribe billing-1")
    assert flown(scenario(protocol, steps)).document["delivery"]["duplicated"] > 10
    assert flown(scenario(protocol, steps, listener="commit")).document["delivery"]["duplicated"] == 0
    assert flown(scenario(protocol, (22, "stop billing-1"))).document["delivery"]["duplicated"] == 0


@BOTH
@pytest.mark.parametrize("back", ["subscribe billing-1 to orders", "restart billing-1"])
def test_subscribe_and_a_restart_bring_it_back(protocol: str, back: str) -> None:
    flight = flown(scenario(protocol, (22, "unsubscribe billing-1"), (40, back)))
    assert owners(flight) == {"billing-1": 2, "billing-2": 2}
    assert [one.topics for one in flight.all(e.SubscriptionChanged)] == [(), ("orders",)]
    assert flight.document["delivery"]["lost"] == 0


@pytest.mark.slow
@BOTH
def test_a_static_member_keeps_its_partitions_as_kafka_does(protocol: str) -> None:
    """The classic one sends no LeaveGroup; the new one says -2, and its partitions wait for its session, too."""
    flight = flown(scenario(protocol, (22, "unsubscribe billing-1"), static=True))
    (expired,) = flight.all(e.MemberRemoved)
    assert (expired.member, expired.reason) == ("billing-1", "session expired")
    assert expired.at_us > 60 * SECOND_US
    again = flown(scenario(protocol, (22, "unsubscribe billing-1"), (40, "subscribe billing-1 to orders"), static=True))
    assert again.all(e.MemberRemoved) == []
    assert owners(again) == {"billing-1": 2, "billing-2": 2}
    if protocol == "consumer":
        assert -2 in [one.epoch for one in again.all(e.MemberEpochChanged, member="billing-1")]


@pytest.mark.slow
@BOTH
def test_it_may_unsubscribe_while_the_group_rebalances_or_the_coordinator_is_away(protocol: str) -> None:
    steps = [(20, "scale billing to 4"), (20, "unsubscribe billing-1"), (30, "subscribe billing-1 to payments")]
    steps += [(40, "kill broker-1"), (40, "kill broker-2"), (41, "unsubscribe billing-2"), (50, "start broker-1")]
    steps += [(50, "start broker-2"), (62, "subscribe billing-2 to orders")]
    spec = scenario(protocol, *steps)
    assert lies(spec) == []
    assert sum(owners(flown(spec)).values()) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "static"),
    [("consumer", True), *partly_campaign([("classic", True), ("classic", False), ("consumer", False)], 3)],
)
def test_view_invariants_and_screens_say_what_is_true(protocol: str, static: bool) -> None:
    steps = [(22, "unsubscribe billing-1"), (40, "subscribe billing-1 to orders"), (50, "unsubscribe billing-2")]
    steps += [(60, "restart billing-2"), (70, "unsubscribe billing-1"), (75, "stop billing-1")]
    spec = scenario(protocol, *steps, static=static)
    assert lies(spec) == []
    events = judged_flight(spec, spec.seed, spec.until_us)
    assert false_claims(events, spec) == []
    assert not fly(make_plan(parse_scenario(text(protocol, *steps, static=static), "t.toml"))).invariants["violations"]


@BOTH
def test_what_cannot_unsubscribe_is_refused(protocol: str) -> None:
    steps = [(20, "unsubscribe billing-1"), (22, "unsubscribe billing-1"), (25, "kill billing-2")]
    steps += [(26, "unsubscribe billing-2")]
    reasons = refused(flown(scenario(protocol, *steps)))
    assert reasons == ["billing-1 subscribes to no topic already", "billing-2 is not running: start it first"]
