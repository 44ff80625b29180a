"""reassign and cancel reassignment: which replicas a partition gets, when, and what happens to its records."""

import pytest

from cluster import events as e
from cluster.commands import CommandError, check, parse
from cluster.protocol.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, coordinator_partition
from console.presenters.styled_text import plain
from console.presenters.topology.topics import isr_words
from tests.support.broker_flights import SECOND_US, cluster, flown, log_of, partition, refusals
from tests.support.completed_flight import Flown


def test_a_replica_moves_to_another_broker() -> None:
    flight = flown(cluster((5, "reassign orders-0 to 3,2"), until_s=10, replication=2))
    started, completed = flight.all(e.PartitionReassigned)
    assert (started.step, started.replicas, started.adding, started.removing) == ("started", (3, 2, 1), (3,), (1,))
    assert (completed.step, completed.replicas, completed.adding, completed.removing) == ("completed", (3, 2), (), ())
    assert partition(flight)["replicas"] == [3, 2]
    assert partition(flight)["isr"] == [2, 3]
    assert partition(flight)["leader"] == 3
    (gone,) = flight.all(e.ReplicaDeleted)
    assert (gone.broker, gone.partition) == (1, "orders-0")
    assert "orders-0" not in flight.simulation.brokers[1].replicas
    assert log_of(flight, 3) == log_of(flight, 2)
    assert flight.document["delivery"]["lost"] == 0


def steps(flight: Flown) -> list[str]:
    return [event.step for event in flight.all(e.PartitionReassigned)]


def test_a_replica_that_is_being_added_is_not_missed() -> None:
    """As in `Partition.isUnderReplicated`; the one that is taken away still counts."""
    flight = flown(cluster((4.5, "pause broker-3"), (5, "reassign orders-0 to 3,2"), until_s=8, replication=2))
    assert steps(flight) == ["started"]
    assert (partition(flight)["replicas"], partition(flight)["isr"]) == ([3, 2, 1], [1, 2])
    assert flight.document["topics"]["orders"]["under_replicated"] == 0
    shown = flight.simulation.view.partitions["orders-0"]
    assert plain(isr_words(shown, 1)) == "1,2 +3 −1"
    shown.isr = (1,)
    assert plain(isr_words(shown, 1)) == "▲ 1 of 2 +3 −1"
    assert plain(isr_words(shown, 2)) == "▽ 1 of 2 +3 −1"


def test_more_replicas_keep_the_leader_and_its_epoch() -> None:
    flight = flown(cluster((5, "reassign orders-0 to 1,2,3"), until_s=10, replication=2))
    assert steps(flight) == ["started", "completed"]
    assert partition(flight)["replicas"] == [1, 2, 3]
    assert partition(flight)["isr"] == [1, 2, 3]
    assert [elected.leader_epoch for elected in flight.all(e.LeaderElected, partition="orders-0")] == [0]
    assert not flight.all(e.ReplicaDeleted)


def test_fewer_replicas_are_there_at_once_and_raise_the_epoch_of_a_leader_that_stays() -> None:
    flight = flown(cluster((5, "reassign orders-0 to 1"), until_s=10))
    assert steps(flight) == ["completed"]
    elected = flight.all(e.LeaderElected, partition="orders-0")[-1]
    assert (elected.leader, elected.leader_epoch, elected.isr, elected.reason) == (1, 1, (1,), "reassigned")
    assert [gone.broker for gone in flight.all(e.ReplicaDeleted)] == [2, 3]
    assert flight.document["delivery"]["lost"] == 0


def test_another_order_changes_only_the_preferred_leader() -> None:
    flight = flown(cluster((5, "reassign orders-0 to 3,1,2"), until_s=10))
    assert steps(flight) == ["completed"]
    assert (partition(flight)["leader"], partition(flight)["replicas"]) == (1, [3, 1, 2])


def test_the_same_replicas_change_nothing() -> None:
    flight = flown(cluster((5, "reassign orders-0 to 1,2,3"), until_s=10))
    assert steps(flight) == []
    assert refusals(flight) == []


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            "reassign orders-0 to 3,9",
            "INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes broker 9, but no such broker",
        ),
        (
            "reassign orders-0 to 3,3",
            "INVALID_REPLICA_ASSIGNMENT: The manual partition assignment includes the broker 3 more than once.",
        ),
        (
            "cancel reassignment of orders-0",
            "NO_REASSIGNMENT_IN_PROGRESS: No partition reassignment is in progress.",
        ),
        ("reassign orders-7 to 3", "no partition is named orders-7"),
    ],
)
def test_refused(command: str, reason: str) -> None:
    flight = flown(cluster((5, command), until_s=6, replication=2))
    assert refusals(flight)[0].startswith(reason)
    assert steps(flight) == []


def test_a_new_replica_that_is_down_leaves_it_in_progress_until_it_is_back() -> None:
    flight = flown(
        cluster(
            (3, "kill broker-3"), (20, "reassign orders-0 to 3,2"), (40, "start broker-3"), until_s=60, replication=2
        )
    )
    started, completed = flight.all(e.PartitionReassigned)
    assert started.at_us == 20 * SECOND_US
    assert 40 * SECOND_US < completed.at_us < 50 * SECOND_US
    assert partition(flight)["isr"] == [2, 3]


def test_a_new_replica_that_crashes_on_the_way_leaves_it_in_progress() -> None:
    flight = flown(cluster((5, "reassign orders-0 to 3,2"), (5.002, "crash broker-3"), until_s=60, replication=2))
    assert steps(flight) == ["started"]
    assert partition(flight)["replicas"] == [3, 2, 1]
    assert flight.simulation.view.partitions["orders-0"].adding == (3,)
    assert flight.document["delivery"]["lost"] == 0


def test_a_cancelled_one_leaves_the_former_replicas_in_their_new_order() -> None:
    flight = flown(
        cluster(
            (3, "kill broker-3"), (20, "reassign orders-0 to 3,2"), (21, "cancel reassignment of orders-0"),
            (25, "start broker-3"), until_s=40, replication=2,
        )
    )  # fmt: skip
    assert steps(flight) == ["started", "cancelled"]
    assert partition(flight)["replicas"] == [2, 1]
    assert partition(flight)["leader"] == 1
    assert flight.all(e.LeaderElected, partition="orders-0")[-1].leader_epoch == 1
    assert "orders-0" not in flight.simulation.brokers[3].replicas


def test_one_that_is_turned_back_by_its_former_replicas_stays_in_progress() -> None:
    """Kafka's builder keeps the former list of adding replicas where the new one is empty."""
    flight = flown(
        cluster(
            (3, "kill broker-3"), (20, "reassign orders-0 to 3,2"), (21, "reassign orders-0 to 1,2"),
            (22, "cancel reassignment of orders-0"), (25, "start broker-3"), until_s=40, replication=2,
        )
    )  # fmt: skip
    back = flight.all(e.PartitionReassigned)[1]
    assert (back.step, back.replicas, back.adding, back.removing) == ("started", (1, 2, 3), (3,), (3,))
    assert steps(flight) == ["started", "started", "cancelled"]
    assert partition(flight)["replicas"] == [1, 2]


def test_a_removed_replica_that_was_down_deletes_its_log_when_it_is_back() -> None:
    flight = flown(
        cluster(
            (3, "kill broker-1"), (20, "reassign orders-0 to 3,2"), (30, "start broker-1"), until_s=40, replication=2
        )
    )
    assert steps(flight) == ["started", "completed"]
    (gone,) = flight.all(e.ReplicaDeleted)
    assert gone.broker == 1
    assert gone.at_us > 30 * SECOND_US


def test_a_replica_comes_back_to_a_broker_that_had_one() -> None:
    flight = flown(cluster((5, "reassign orders-0 to 3,2"), (8, "reassign orders-0 to 1,2"), until_s=90, replication=2))
    assert steps(flight) == ["started", "completed"] * 2
    assert log_of(flight, 1) == log_of(flight, 2)
    assert flight.document["delivery"]["lost"] == 0


def test_fewer_replicas_lower_what_acks_all_needs() -> None:
    flight = flown(
        cluster((5, "reassign orders-0 to 1"), until_s=10, topic={"min.insync.replicas": 2}, producer={"acks": "all"})
    )
    assert not flight.all(e.BatchFailed)
    assert not [each for each in flight.all(e.BatchRetried) if each.error == "NOT_ENOUGH_REPLICAS"]
    assert flight.simulation.view.topics["orders"].min_insync_replicas == 1


def test_more_replicas_raise_it_again() -> None:
    flight = flown(
        cluster(
            (5, "reassign orders-0 to 1"), (10, "reassign orders-0 to 1,2,3"), (15, "kill broker-2"),
            (15, "kill broker-3"), until_s=40, topic={"min.insync.replicas": 2}, producer={"acks": "all"},
        )
    )  # fmt: skip
    assert flight.simulation.view.topics["orders"].min_insync_replicas == 2
    assert [each for each in flight.all(e.BatchRetried) if "NOT_ENOUGH_REPLICAS" in each.error]


def test_a_coordinator_stays_when_its_leader_stays() -> None:
    flight = flown(cluster((10, "reassign __consumer_offsets-0 to 2"), until_s=20))
    assert len(flight.all(e.RebalanceStarted)) == len(flown(cluster(until_s=20)).all(e.RebalanceStarted))
    assert flight.document["delivery"]["lost"] == 0


def test_a_coordinator_moves_with_its_leader() -> None:
    flight = flown(cluster((10, "reassign __consumer_offsets-0 to 3,1"), until_s=30))
    assert flight.document["groups"]["g"]["coordinator"] == 3
    assert flight.document["groups"]["g"]["state"] == "Stable"


def test_new_partitions_get_as_many_replicas_as_the_first_has_now() -> None:
    flight = flown(cluster((5, "reassign orders-0 to 1"), (10, "add partitions orders to 2"), until_s=15))
    assert partition(flight, "orders-1")["replicas"] == [2]


def test_the_view_refuses_where_the_leader_of_a_grown_partition_does() -> None:
    """Of two partitions the second has a third replica: min.insync.replicas counts up to three there, to two else."""
    flight = flown(
        cluster(
            (5, "reassign orders-1 to 2,3,1"), (8, "set orders min.insync.replicas 3"), (10, "kill broker-1"),
            until_s=30, partitions=2, replication=2, producer={"acks": "all"},
        )
    )  # fmt: skip
    refused = {event.partition for event in flight.all(e.BatchRetried) if event.error == "NOT_ENOUGH_REPLICAS"}
    assert refused == {name for name in ("orders-0", "orders-1") if is_short(flight, name)} == {"orders-0", "orders-1"}
    assert flight.simulation.view.topics["orders"].min_insync_replicas == 3


def is_short(flight: Flown, name: str) -> bool:
    view = flight.simulation.view
    one = view.partitions[name]
    return len(one.isr) < min(view.topics["orders"].min_insync_replicas, len(one.replicas))


def coordinators(flight: Flown) -> list[int]:
    return [found.broker for found in flight.all(e.CoordinatorFound, member="g-1")]


def test_a_reassigned_partition_of_the_offsets_takes_its_coordinator_along() -> None:
    """The group keeps its generation and its offsets: the new leader has loaded them before it answers."""
    offsets = f"{OFFSETS_TOPIC}-{coordinator_partition('g', cluster(until_s=1).internal_topics()[OFFSETS_TOPIC])}"
    (first,) = coordinators(flown(cluster(until_s=10)))
    away, other = {1, 2, 3} - {first}
    flight = flown(cluster((20, f"reassign {offsets} to {away},{other}"), until_s=40))
    assert steps(flight)[-1] == "completed"
    assert partition(flight, offsets)["leader"] == away
    assert coordinators(flight)[0] == first
    assert coordinators(flight)[-1] == away
    assert flight.document["groups"]["g"]["generation"] == 1
    late = [event for event in flight.all(e.OffsetsCommitted, group="g") if event.at_us > 25 * SECOND_US]
    assert late
    assert flight.document["delivery"]["duplicated"] == 0


@pytest.mark.parametrize(
    "command",
    [
        f"reassign {TRANSACTIONS_TOPIC}-0 to 2,3", f"elect preferred {OFFSETS_TOPIC}-0",
        f"cancel reassignment of {OFFSETS_TOPIC}-0",
    ],
)  # fmt: skip
def test_an_administrator_may_name_partitions_of_internal_topics(command: str) -> None:
    names = cluster(until_s=1).names()
    check(parse(command), names)
    with pytest.raises(CommandError, match="no partition is named"):
        check(parse(f"reassign {OFFSETS_TOPIC}-1 to 1"), names)
    with pytest.raises(CommandError, match="no partition is named"):
        check(parse(f"delete records {OFFSETS_TOPIC}-0 before 3"), names)
