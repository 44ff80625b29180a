"""The twin of a real log flies, and its rebalances are the log's: as many, for the same causes, about as long."""

from collections.abc import Iterable
from pathlib import Path

import pytest
import zstandard

from cluster import events as e
from recordings.bounded_files import RecordingError
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.log_reading.difference import alike
from recordings.log_reading.make import read_logs
from recordings.log_reading.twin_cluster import TwinBrokers
from recordings.log_reading.twin_flight import TwinFlown, write_twin
from recordings.scenarios.loader import load
from tests.fidelity.recorder.raw import raw_of
from tests.support.repository import ROOT
from tests.support.slow_cases import mostly_slow

MEMBER_KILLED = ROOT / "examples" / "member-killed.log"
RUNS = sorted(path.name.removesuffix(".log.zst") for path in raw_of("", "4.3.1").parent.glob("*.log.zst"))
QUICK = ("s04-kill", "s23-cooperative-faults", "s85-consumer-static")
AS_LONG = {"s04-kill", "s05-long-stall", "s16-frozen", "s22x-empty-again", "s23-cooperative-faults"}
"""Together they take as long as in the log. In others it depends on when heartbeats are due: no line says that."""
NOBODY = {"s31-timeout-epoch", "s65-assign", "s67-assign-broker-dies", "s73-follower-stops", "s74-compaction-replicas"}
"""No line of these says who is a member of a group."""
DIFFER = {
    "s10b-assignors": "each member offers other assignors: no line says which",
    "s14-subscription": "a subscription changes",
    "s21b-add-partitions": "a topic gets partitions",
    "s34-cooperative-topics": "a subscription changes",
    "s35-close-at-barrier": "a member closes while the barrier is open; the twin's closes when its line comes, later",
    "s46-out-of-range": "a member fails at its first poll; no line says when it began",
    "s49-pending-expires": "a member has its id and never joins with it",
    "s50-coordinator-at-barrier": "the coordinator moves while the barrier is open",
    "s58-coordinator-before-sync": "the coordinator moves before the assignment is stored",
    "s59-coordinator-of-empty": "the coordinator of an empty group moves",
    "s62-racks": "members and partitions have racks",
    "s63-racks-broker-stops": "members and partitions have racks",
    "s64-follower": "members and partitions have racks",
    "s69-pause-and-rebalance": "a member that does not poll holds the barrier of another's rebalance",
    "s89-consumer-subscription": "a subscription changes",
    "s90-consumer-regex": "topics match an expression",
    "s93-consumer-add-partitions": "a topic gets partitions",
    "s95-consumer-slow-listener": "a listener takes longer than the rebalance timeout",
}
"""Runs whose twins have other rebalances, and what of them no line says or no twin has."""


def twin_of(run: str, place: Path) -> TwinFlown:
    log = place / "server.log"
    with raw_of(run, "4.3.1").open("rb") as packed, log.open("wb") as file:
        zstandard.ZstdDecompressor().copy_stream(packed, file)
    read_logs([log], place / "read")
    return write_twin(place / "read", place / "twin.toml")


@pytest.mark.parametrize("run", mostly_slow(RUNS, QUICK, slow=28))
def test_the_twin_of_a_real_log_has_its_rebalances(run: str, tmp_path: Path) -> None:
    if run in NOBODY:
        with pytest.raises(RecordingError, match="no line says who is a member"):
            twin_of(run, tmp_path)
        return
    groups = [one for one in twin_of(run, tmp_path).groups if not one.group.startswith("warm")]
    same = [one.rebalances[0] == one.rebalances[1] == one.paired for one in groups]
    assert all(same) is (run not in DIFFER), groups
    if run in AS_LONG:
        assert all(alike(*one.total_s) for one in groups), groups


def test_what_was_guessed_stands_in_the_file_and_a_file_is_not_overwritten(tmp_path: Path) -> None:
    twin = twin_of("s22x-empty-again", tmp_path)
    text = (tmp_path / "twin.toml").read_text(encoding="utf-8")
    assert all(f"# guessed: {words}\n" in text for words in twin.inferred)
    with pytest.raises(RecordingError, match="already exists"):
        write_twin(tmp_path / "read", tmp_path / "twin.toml")


@pytest.mark.parametrize(
    ("coordinator", "ids"), [(0, (0, 1, 2)), (1, (1, 2, 3)), (2, (1, 2, 3)), (1001, (1001, 1002, 1003))]
)
def test_a_twin_has_the_brokers_that_lines_name(coordinator: int, ids: tuple[int, ...], tmp_path: Path) -> None:
    """Not as many as their highest number: Strimzi counts from 0, others from 1001."""
    text = MEMBER_KILLED.read_text(encoding="utf-8").replace(
        "GroupCoordinator id=1 ", f"GroupCoordinator id={coordinator} "
    )
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    read_logs([tmp_path / "server.log"], tmp_path / "read")
    (group,) = write_twin(tmp_path / "read", tmp_path / "twin.toml").groups
    assert group.rebalances == (2, 2)
    assert tuple(broker.id for broker in load(tmp_path / "twin.toml").spec.brokers) == ids


def test_every_line_that_has_a_broker_names_it() -> None:
    brokers = TwinBrokers()
    for event in (
        e.IsrChanged(partition="orders-0", isr=(7, 2001), reason="unknown"),
        e.BrokerFenced(broker=9, reason="session expired"),
        e.ClientDisconnected(client="orders-1", broker=-1, cause="not established"),
        e.CoordinatorFound(group="orders", member="orders-1", broker=8),
    ):
        brokers.take(event)
    assert brokers.ids() == (7, 8, 9, 2001)


def test_a_log_that_names_too_many_brokers_has_no_twin() -> None:
    brokers = TwinBrokers()
    for number in range(5_000):
        brokers.take(e.BrokerFenced(broker=number, reason="session expired"))
    with pytest.raises(RecordingError, match="more than 1,000 brokers"):
        brokers.ids()


def coordinators(events: Iterable[e.Event]) -> set[tuple[str, int]]:
    """Each group with each broker that coordinated it, from its beginning on."""
    return {
        (event.group, event.broker)
        for event in events
        if isinstance(event, e.RebalanceStarted | e.GroupLoaded) and not event.group.startswith("warm")
    }


@pytest.mark.parametrize("run", ["s30-broker-dies", "s43-leader-killed"])
def test_replicas_and_coordinators_stand_where_lines_say(run: str, tmp_path: Path) -> None:
    twin_of(run, tmp_path)
    spec = load(tmp_path / "twin.toml").spec
    assert all(topic.replica_assignment for topic in spec.topics)
    assert {name: len(lists) for name, lists in spec.internal_assignment.items()} == {
        "__consumer_offsets": 50,
        "__transaction_state": 50,
    }
    logged = list(Recording(tmp_path / "read", logs=True).events())
    told = {one.partition: one.replicas for one in reversed(logged) if isinstance(one, e.LeaderElected)}
    for topic in spec.topics:
        for number, replicas in enumerate(topic.replica_assignment):
            assert told[f"{topic.name}-{number}"] == replicas
    flown: list[e.Event] = []
    fly(make_plan(load(tmp_path / "twin.toml")), log=flown.append)
    assert coordinators(flown) == coordinators(logged)


PLACED = """\
1795756211000 INFO [QuorumController id=9] Replayed PartitionRecord for new partition orders-0 with topic ID x1 and \
PartitionRegistration(replicas=[7, 5], directories=[d, f], isr=[7, 5], removingReplicas=[], addingReplicas=[], elr=[], \
lastKnownElr=[], leader=7, leaderRecoveryState=RECOVERED, leaderEpoch=0, partitionEpoch=0).
1795756212000 INFO [Broker id=5] Skipped the become-follower state change for orders-1 with topic id Some(x1), \
partition registration PartitionRegistration(replicas=[5, 6, 7], directories=[d, f, g], isr=[5, 7], \
removingReplicas=[7], addingReplicas=[6], elr=[], lastKnownElr=[], leader=5, leaderRecoveryState=RECOVERED, \
leaderEpoch=3, partitionEpoch=8) and isNew=false since it is already a follower with leader epoch 3.
1795756213000 INFO [Consumer clientId=c-1, groupId=g] Adding newly assigned partitions: orders-0
1795756213000 INFO [GroupCoordinator id=5 topic=__consumer_offsets partition=1] Pending dynamic member with id c-1-x \
joins group g in Empty state. Adding to the group now.
"""


@pytest.mark.parametrize("others", [(), (6, 5)])
def test_a_topic_has_its_replicas_only_if_lines_have_those_of_each_partition(
    others: tuple[int, ...], tmp_path: Path
) -> None:
    """The line of a partition that is being reassigned says where it neither was nor will be."""
    text = PLACED.replace("newly assigned partitions: orders-0", "newly assigned partitions: orders-0, orders-1")
    if others:
        text = text.replace("[5, 6, 7]", str(list(others))).replace("Replicas=[7]", "Replicas=[]")
        text = text.replace("Replicas=[6]", "Replicas=[]")
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    read_logs([tmp_path / "server.log"], tmp_path / "read")
    twin = write_twin(tmp_path / "read", tmp_path / "twin.toml")
    (topic,) = load(tmp_path / "twin.toml").spec.topics
    assert topic.replica_assignment == (((7, 5), others) if others else ())
    said = "where the replicas of orders are: lines have them of 1 of 2 partitions"
    assert (said in twin.left_out) is not bool(others)
