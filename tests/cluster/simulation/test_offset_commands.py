"""An administrator's commands on committed offsets: what the coordinator stores, and what members read after it."""

import msgspec
import pytest

from cluster import events as e
from cluster.config import Value
from cluster.protocol.names import ADMIN_CLIENT
from cluster.spec import ScenarioSpec
from cluster.view.committed import RESET
from tests.support.broker_flights import flown as true_flown
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import SECOND_US, spec

SUBSCRIBED = "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
STOPPED = (10.0, "scale g to 0")


def of_protocol(protocol: str, *steps: tuple[float, str], until_s: float) -> ScenarioSpec:
    """A group on two partitions that commits after each poll; it has read from 4 s on, and stops as a step says."""
    scenario = spec(*steps, until_s=until_s, commit="after-each-poll")
    (group,) = scenario.groups
    config: dict[str, Value] = {"auto.offset.reset": "earliest"}
    config |= {"group.protocol": "consumer"} if protocol == "consumer" else group.config
    return msgspec.structs.replace(scenario, groups=(msgspec.structs.replace(group, config=config),))


def rehearsed(*steps: tuple[float, str], until_s: float = 16, protocol: str = "classic") -> Flown:
    """Fly it."""
    return flown(of_protocol(protocol, *steps, until_s=until_s))


def resets(flight: Flown) -> list[dict[str, int]]:
    return [event.offsets for event in flight.all(e.OffsetsCommitted, member=ADMIN_CLIENT)]


def refusals(flight: Flown) -> list[str]:
    return [event.reason for event in flight.all(e.CommandRefused)]


def committed(flight: Flown, before_us: int) -> dict[str, int]:
    """What members had committed, from their commits alone."""
    found: dict[str, int] = {}
    for event in flight.all(e.OffsetsCommitted):
        if event.at_us < before_us and event.member != ADMIN_CLIENT:
            found |= event.offsets
    return found


def ends(flight: Flown, before_us: int) -> dict[str, int]:
    """The logs' ends, from the appends alone."""
    found = {"orders-0": 0, "orders-1": 0}
    for event in flight.all(e.RecordsAppended):
        if event.at_us < before_us and event.partition in found:
            found[event.partition] = event.base_offset + event.count
    return found


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_that_is_active_is_refused_in_the_tools_words(protocol: str) -> None:
    flight = rehearsed((8.0, "reset offsets of g to earliest"), until_s=9, protocol=protocol)
    said = "Assignments can only be reset if the group 'g' is inactive, but the current state is Stable."
    assert refusals(flight) == [said]
    assert resets(flight) == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_read_again_from_the_earliest_offset(protocol: str) -> None:
    steps = (STOPPED, (12.0, "reset offsets of g to earliest"), (13.0, "scale g to 1"))
    flight = rehearsed(*steps, until_s=25, protocol=protocol)
    assert refusals(flight) == []
    assert resets(flight) == [{"orders-0": 0, "orders-1": 0}]
    moved: dict[str, int] = {}
    for event in flight.all(e.PositionsReset, 13 * SECOND_US):
        assert event.reason == "committed"
        moved |= event.positions
    assert moved == {"orders-0": 0, "orders-1": 0}
    before = committed(flight, 12 * SECOND_US)
    steps_back = flight.simulation.view.groups["g"].steps_back
    assert {one.partition: (one.before, one.after, one.cause) for one in steps_back} == {
        name: (offset, 0, RESET) for name, offset in before.items()
    }
    assert sum(one.read_again for one in steps_back) == sum(before.values())
    assert flight.document["delivery"]["duplicated"] == sum(before.values())


@pytest.mark.parametrize(
    ("to", "wanted"),
    [
        ("to latest", lambda before, end: end),
        ("to current", lambda before, end: before),
        ("to offset 3", lambda before, end: 3),
        ("to offset 999999", lambda before, end: end),
        ("by -2", lambda before, end: before - 2),
        ("by -999999", lambda before, end: 0),
        ("by 999999", lambda before, end: end),
        ("to 60s ago", lambda before, end: 0),
        ("to 0s ago", lambda before, end: end),
        ("to instant 0s", lambda before, end: 0),
        ("to instant 60s", lambda before, end: end),
    ],
)
def test_each_new_offset_is_within_its_log(to: str, wanted: object) -> None:
    flight = rehearsed(STOPPED, (14.0, f"reset offsets of g {to}"), until_s=15)
    before, end = committed(flight, 14 * SECOND_US), ends(flight, 14 * SECOND_US - 20_000)
    assert callable(wanted)
    assert refusals(flight) == []
    assert resets(flight) == [{name: wanted(before[name], end[name]) for name in before}]


def test_a_plan_is_one_commit_of_offsets_within_their_logs() -> None:
    steps = (STOPPED, (14.0, "reset offsets of g to offsets 999999,3 in orders-1,orders-0"))
    flight = rehearsed(*steps, until_s=15)
    assert refusals(flight) == []
    assert resets(flight) == [{"orders-1": ends(flight, 14 * SECOND_US - 20_000)["orders-1"], "orders-0": 3}]


def test_nothing_of_a_plan_is_committed_without_each_leader() -> None:
    """The broker that leads one of the partitions has just died; the group's coordinator lives."""
    plan = "reset offsets of g to offsets 1,2 in orders-0,orders-1"
    leaders = {one.partition: one.leader for one in rehearsed(STOPPED, until_s=12).all(e.LeaderElected)}
    coordinator = leaders["__consumer_offsets-0"]
    lost = next(name for name in ("orders-0", "orders-1") if leaders[name] != coordinator)
    assert leaders["orders-0"] != leaders["orders-1"]
    flight = rehearsed(STOPPED, (12.0, f"kill broker-{leaders[lost]}"), (12.1, plan), until_s=14)
    assert refusals(flight) == [f"LEADER_NOT_AVAILABLE: {lost} has no leader"]
    assert resets(flight) == []


@pytest.mark.parametrize("to", ["5s ago", "instant 9s"])
def test_by_time_it_is_the_first_batch_not_older(to: str) -> None:
    flight = rehearsed(STOPPED, (14.0, f"reset offsets of g to {to} in orders-1"), until_s=15)
    appended = [event for event in flight.all(e.RecordsAppended, partition="orders-1") if event.at_us < 9 * SECOND_US]
    ((name, offset),) = resets(flight)[0].items()
    assert name == "orders-1"
    assert appended[-1].base_offset <= offset <= appended[-1].base_offset + appended[-1].count


def test_a_group_that_never_joined_begins_where_it_is_told() -> None:
    flight = rehearsed(
        (0.1, "stop g-1"), (8.0, "reset offsets of g to offset 5 in orders"), (9.0, "start g-1"), until_s=20
    )
    assert resets(flight) == [{"orders-0": 5, "orders-1": 5}]
    (first,) = {offset for event in flight.all(e.PositionsReset) for offset in event.positions.values()}
    assert first == 5
    assert flight.document["delivery"]["skipped"] == 10


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (((0.1, "stop g-1"), (8.0, "reset offsets of g to latest")), "g has no committed offset: name topics to reset"),
        (
            ((0.1, "stop g-1"), (8.0, "reset offsets of g by 2 in orders-1")),
            "Cannot shift offset for partition orders-1 since there is no current committed offset",
        ),
        (
            (STOPPED, (11.0, "pause broker-1"), (11.1, "pause broker-2"), (11.2, "pause broker-3"),
             (12.0, "reset offsets of g to latest")),
            "COORDINATOR_NOT_AVAILABLE: no broker coordinates g now",
        ),
        (
            (STOPPED, (12.0, "move coordinator of g"), (12.003, "reset offsets of g to latest")),
            "COORDINATOR_LOAD_IN_PROGRESS: broker-3 loads __consumer_offsets-0",
        ),
        ((STOPPED, (12.0, "reset offsets of g to latest in orders-7")), "no topic or partition is named orders-7"),
    ],
)  # fmt: skip
def test_what_cannot_be_reset_is_refused(steps: tuple[tuple[float, str], ...], said: str) -> None:
    flight = rehearsed(*steps, until_s=14)
    assert [one.partition(" (did")[0] for one in refusals(flight)] == [said]
    assert resets(flight) == []


def test_what_the_log_refuses_later_is_told_then() -> None:
    """Both followers of `__consumer_offsets-0` are frozen: the commit waits for offsets.commit.timeout.ms."""
    steps = (
        STOPPED,
        (12.0, "pause broker-1"),
        (12.0, "pause broker-3"),
        (12.1, "reset offsets of g to latest in orders-1"),
    )
    flight = rehearsed(*steps, until_s=20)
    (told,) = flight.all(e.CommandRefused)
    assert told.reason == "COORDINATOR_NOT_AVAILABLE: the coordinator of g has not confirmed it"
    assert told.at_us == 17_100_000


def test_the_next_coordinator_has_the_new_offsets() -> None:
    steps = (STOPPED, (12.0, "reset offsets of g to offset 4"), (13.0, "move coordinator of g"))
    flight = rehearsed(*steps, until_s=15)
    (loaded,) = flight.all(e.GroupLoaded, 13 * SECOND_US)
    assert loaded.offsets == {"orders-0": 4, "orders-1": 4}


# --- delete -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_is_not_deleted(protocol: str) -> None:
    steps = ((8.0, "delete group g"), (8.0, "delete offsets of g in orders"))
    flight = rehearsed(*steps, until_s=9, protocol=protocol)
    assert refusals(flight) == [
        "NON_EMPTY_GROUP: The group is not empty.",
        f"GROUP_SUBSCRIBED_TO_TOPIC: {SUBSCRIBED}",
    ]
    assert not flight.all(e.OffsetsDeleted)
    assert not flight.all(e.GroupDeleted)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_of_a_deleted_group_begin_at_auto_offset_reset(protocol: str) -> None:
    steps = (
        STOPPED,
        (12.0, "delete group g"),
        (13.0, "scale g to 1"),
        (20.0, "scale g to 0"),
        (22.0, "delete group g"),
    )
    flight = rehearsed(*steps, (24.0, "delete group g"), until_s=25, protocol=protocol)
    assert refusals(flight) == ["GROUP_ID_NOT_FOUND: The group id does not exist."]
    assert len(flight.all(e.GroupDeleted)) == 2
    assert {event.reason for event in flight.all(e.PositionsReset, 13 * SECOND_US)} == {"earliest"}
    assert flight.document["groups"]["g"]["state"] == "Dead"
    before = committed(flight, 12 * SECOND_US)
    assert flight.document["delivery"]["duplicated"] >= sum(before.values())


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_deleted_offsets_are_gone_and_the_others_stay(protocol: str) -> None:
    steps = (STOPPED, (12.0, "delete offsets of g in orders-1"), (12.5, "delete offsets of g in orders-1"))
    flight = rehearsed(*steps, (13.0, "move coordinator of g"), until_s=15, protocol=protocol)
    assert refusals(flight) == []
    (deleted,) = flight.all(e.OffsetsDeleted)
    assert (deleted.group, deleted.partitions) == ("g", ("orders-1",))
    found: list[e.GroupLoaded | e.ConsumerGroupLoaded] = [
        *flight.all(e.GroupLoaded, 13 * SECOND_US),
        *flight.all(e.ConsumerGroupLoaded, 13 * SECOND_US),
    ]
    (loaded,) = found
    assert loaded.offsets == {"orders-0": committed(flight, 12 * SECOND_US)["orders-0"]}
    assert flight.simulation.view.groups["g"].readers["orders-1"].committed == -1


def test_a_deleted_group_that_is_reset_exists_again() -> None:
    steps = (STOPPED, (12.0, "delete group g"), (13.0, "reset offsets of g to offset 4 in orders"))
    flight = rehearsed(*steps, (14.0, "scale g to 1"), until_s=25)
    assert resets(flight) == [{"orders-0": 4, "orders-1": 4}]
    positions = flight.all(e.PositionsReset, 14 * SECOND_US)
    assert {(name, at) for one in positions for name, at in one.positions.items()} == {("orders-0", 4), ("orders-1", 4)}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_view_is_the_truth_throughout(protocol: str) -> None:
    """Brokers, coordinators and clients are asked at every second for what the events have told."""
    moved = (STOPPED, (11.1, "reset offsets of g to earliest"), (11.2, "delete offsets of g in orders-1"))
    gone = ((12.0, "scale g to 1"), (17.1, "scale g to 0"), (17.6, "delete group g"))
    back = ((18.1, "reset offsets of g to offset 3 in orders-0"), (18.6, "scale g to 1"))
    scenario = of_protocol(protocol, *moved, *gone, *back, until_s=23)
    flight = true_flown(scenario)
    assert refusals(flight) == []
    assert len(flight.all(e.OffsetsDeleted)) == (2 if protocol == "classic" else 1)
    assert flight.document["delivery"]["duplicated"] > 0
