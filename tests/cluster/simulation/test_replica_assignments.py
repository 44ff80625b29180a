"""Which brokers have the replicas of a topic whose scenario or command assigns them, and what may not be assigned."""

import msgspec
import pytest

from cluster import events as e
from cluster.commands import CommandError, parse
from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import ScenarioErrors, parse_scenario
from recordings.scenarios.writer import write_scenario
from recordings.swarm.placement import Placement
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies

SECOND_US = 1_000_000
ASSIGNED = ((3, 1), (3, 2), (3, 1))
TEXT = """
title = "t"
until = "12s"
[cluster]
brokers = 3
config = { "offsets.topic.num.partitions" = 2, "group.initial.rebalance.delay.ms" = 0 }
[[topic]]
name = "orders"
replica_assignment = [[3, 1], [3, 2], [3, 1]]
[[producer]]
name = "w"
topics = ["orders"]
start = "5s"
rate = "20/s"
limit = 60
[[group]]
name = "g"
topics = ["orders"]
start = "5s"
config = { "auto.offset.reset" = "earliest" }
"""


def assigned(*steps: tuple[str, str], more: str = "") -> ScenarioSpec:
    text = TEXT.replace("[[producer]]", f"{more}[[producer]]", 1)
    return parse_scenario(text + "".join(f'[[at]]\ntime = "{at}"\ndo = "{do}"\n' for at, do in steps), "t.toml").spec


def places(flight: Flown, topic: str = "orders") -> list[tuple[int, tuple[int, ...]]]:
    """The leader that the first election of each partition of a topic gave it, and its replicas."""
    found = {fact.partition: fact for fact in reversed(flight.all(e.LeaderElected))}
    return [(found[name].leader, tuple(found[name].replicas)) for name in sorted(found) if name.startswith(f"{topic}-")]


def test_a_topic_begins_on_the_brokers_that_the_scenario_assigns() -> None:
    flight = flown(assigned())
    assert places(flight) == [(replicas[0], replicas) for replicas in ASSIGNED]
    assert flight.document["delivery"]["by_group"]["g"]["delivered"] == 60
    (created,) = flight.all(e.TopicCreated, topic="orders")
    assert (created.partitions, created.replication_factor) == (3, 2)


def test_without_an_assignment_the_places_are_others() -> None:
    spec = assigned()
    free = tuple(msgspec.structs.replace(topic, replica_assignment=()) for topic in spec.topics)
    flight = flown(msgspec.structs.replace(spec, topics=free))
    assert places(flight) == [(1, (1, 2)), (2, (2, 3)), (3, (3, 1))]


def test_the_view_is_the_truth_of_assigned_replicas() -> None:
    assert lies(assigned(("7s", "kill broker-3 for 2s"), ("11s", "elect preferred orders-0"))) == []


def test_added_partitions_are_placed_as_in_any_topic() -> None:
    flight = flown(assigned(("6s", "add partitions orders to 5")))
    assert places(flight)[3:] == [(1, (1, 2)), (2, (2, 3))]


def refusals(*steps: tuple[str, str]) -> list[str]:
    return [refused.reason for refused in flown(assigned(*steps)).all(e.CommandRefused)]


def test_a_command_assigns_replicas_as_kafka_topics_does() -> None:
    """Of partitions that are there already nothing is looked at."""
    line = "kafka-topics.sh --create --topic returns --replica-assignment 2:1,3:1"
    more = "kafka-topics.sh --alter --topic returns --partitions 4 --replica-assignment 9:8,9:8,1:3,2:3"
    spec = assigned(("5s", line), ("7s", more), ("8s", "add partitions returns to 5"))
    assert lies(spec) == []
    found = places(flown(spec), "returns")
    assert found[:4] == [(2, (2, 1)), (3, (3, 1)), (1, (1, 3)), (2, (2, 3))]
    assert len(found) == 5


def test_what_a_step_assigns_counts_among_the_names_of_the_scenario() -> None:
    names = assigned(("5s", "create topic returns assignment 2:1,3:1")).names()
    assert names.topics == {"orders": 3, "returns": 2}


def test_the_controller_refuses_what_kafka_refuses() -> None:
    refused = "INVALID_REPLICA_ASSIGNMENT: "
    uneven = f"{refused}The manual partition assignment includes a partition with 1 replica(s), but this is not"
    uneven += " consistent with previous partitions, which have 2 replica(s)."
    assert refusals(
        ("5s", "create topic a assignment 1:9"),
        ("5s", "create topic a assignment 1:1"),
        ("5s", "create topic a assignment 1:2,3"),
        ("5s", "add partitions orders to 5 assignment 1:2,1:2,1:2,1:2"),
        ("5s", "add partitions orders to 4 assignment 1:2,1:2,1:2,1"),
        ("5s", "add partitions orders to 3 assignment 1:2"),
    ) == [
        f"{refused}The manual partition assignment includes broker 9, but no such broker is registered.",
        f"{refused}The manual partition assignment includes the broker 1 more than once.",
        uneven,
        f"{refused}Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        uneven,
        "INVALID_PARTITIONS: orders has 3 partitions already",
    ]


def test_a_partition_needs_an_active_broker_of_its_own() -> None:
    down = ("1s", "kill broker-2")
    fenced = "INVALID_REPLICA_ASSIGNMENT: All brokers specified in the manual partition assignment for partition"
    (first, more) = refusals(
        down, ("11s", "create topic a assignment 3,2"), ("11s", "add partitions orders to 4 assignment 1,1,1,2")
    )
    assert first == f"{fenced} 1 are fenced or in controlled shutdown."
    assert "1 replica(s)" in more  # the numbers of replicas are looked at first


@pytest.mark.parametrize("number", ["partitions", "replicas"])
def test_an_assignment_is_given_without_its_numbers(number: str) -> None:
    text = f"create topic a {number} 2 assignment 1:2,2:3"
    with pytest.raises(CommandError, match=f"leave `{number} N` out") as refused:
        parse(text)
    assert refused.value.column == text.index("1:2")


def test_a_topic_that_is_created_later_waits_for_a_replica_of_each_partition() -> None:
    late = '[[topic]]\nname = "late"\ncreated = "12s"\nreplica_assignment = [[2], [1]]\n'
    spec = assigned(("1s", "kill broker-2 for 12s"), more=late)
    flight = flown(msgspec.structs.replace(spec, until_us=30 * SECOND_US))
    assert places(flight, "late") == [(2, (2,)), (1, (1,))]
    (created,) = flight.all(e.TopicCreated, topic="late")
    assert created.at_us > 13 * SECOND_US


def test_what_is_written_is_read_back() -> None:
    spec = assigned(more='[[topic]]\nname = "late"\nreplication = 2\n')
    text = write_scenario(spec)
    assert "replica_assignment = [[3, 1], [3, 2], [3, 1]]\n" in text
    assert parse_scenario(text, "again.toml").spec == spec


def test_a_healed_core_is_judged_by_the_brokers_that_are_assigned() -> None:
    """`check` works out by itself where replicas are."""
    spec = assigned(("6s", "add partitions orders to 5"))
    there = {name: replicas for name, replicas in Placement(spec, (1, 2, 3)).inside.items() if name[:6] == "orders"}
    brokers = flown(spec).simulation.brokers.values()
    assert there == {name: tuple(sorted(broker.id for broker in brokers if name in broker.replicas)) for name in there}


# --- Kafka's own topics -----------------------------------------------------------------------------------------------

INTERNAL = """replica_assignment = { __consumer_offsets = [[1, 3], [1, 2]], __transaction_state = [[2], [3]] }
"""


def internal(more: str = "", lists: str = INTERNAL) -> ScenarioSpec:
    counts = '"transaction.state.log.num.partitions" = 2, "offsets.topic.num.partitions"'
    text = TEXT.replace('"offsets.topic.num.partitions"', counts, 1).replace("[[topic]]", f"{lists}[[topic]]", 1)
    return parse_scenario(text + more, "t.toml").spec


def test_coordinators_are_on_the_brokers_that_the_scenario_assigns() -> None:
    flight = flown(internal())
    assert places(flight, "__consumer_offsets") == [(1, (1, 3)), (1, (1, 2))]
    assert places(flight, "__transaction_state") == [(2, (2,)), (3, (3,))]
    assert {found.broker for found in flight.all(e.CoordinatorFound)} == {1}
    assert {found.broker for found in flown(assigned()).all(e.CoordinatorFound)} == {3}
    assert lies(internal('[[at]]\ntime = "7s"\ndo = "kill broker-3 for 2s"\n')) == []


def test_internal_topics_are_written_as_they_were_read() -> None:
    assert parse_scenario(write_scenario(internal()), "again.toml").spec == internal()
    inside = Placement(internal(), (3,)).inside
    assert [inside[f"__consumer_offsets-{number}"] for number in range(2)] == [(3,), ()]
    assert [inside[f"__transaction_state-{number}"] for number in range(2)] == [(), (3,)]


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ("__consumer_offsets = [[3, 1]]", "__consumer_offsets: offsets.topic.num.partitions is 2, and its replica_as"),
        ("__consumer_offsets = [[3], [9]]", "partition 1 has broker 9, and the cluster has no such broker"),
        ("__consumer_offsets = [[3], []]", "__consumer_offsets: partition 1 has no broker"),
        ("__consumer_offset = [[3], [1]]", "unknown key __consumer_offset (did you mean __consumer_offsets?)"),
    ],
)
def test_an_assignment_of_internal_topics_that_cannot_be_is_refused(lists: str, reason: str) -> None:
    with pytest.raises(ScenarioErrors) as refused:
        internal(lists=f"replica_assignment = {{ {lists} }}\n")
    assert reason in str(refused.value)


def test_the_brokers_key_of_the_number_of_replicas_is_not_contradicted() -> None:
    """It counts where no list says it; both together have to agree."""
    text = write_scenario(internal()).replace("config = {", 'config = { "offsets.topic.replication.factor" = 3,', 1)
    with pytest.raises(
        ScenarioErrors, match=r"offsets.topic.replication.factor is 3, and its replica_assignment has 2"
    ):
        parse_scenario(text, "t.toml")
