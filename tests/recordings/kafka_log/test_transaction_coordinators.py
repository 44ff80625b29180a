"""Who was elected as a transaction coordinator, and who resigned: as in real logs, and as the events say it."""

import re
from collections import defaultdict

import pytest

from cluster import events as e
from cluster.events import Event
from cluster.protocol.names import coordinator_partition
from recordings.flights.runner import fly, make_plan
from recordings.kafka_log.renderer import KafkaLog
from recordings.scenarios.loader import load, parse_scenario
from tests.fidelity.recorder.raw import raw_of, read_run
from tests.fidelity.traces import SCENARIOS
from tests.support.kafka_log_lines import lines_of

NAME = "__transaction_state-3"
SAID = re.compile(
    r"\[Transaction(?:Coordinator id=| State Manager )(?P<broker>\d+)\]:? (?P<words>(?:Elected|Resigned) as the txn"
    r" coordinator for partition (?P<number>\d+) at epoch (?:None|Some\(\d+\)|\d+)"
    r"|(?:Loading|Unloaded|No cached) .*?__transaction_state-(?P<partition>\d+) [a-z -]+(?: \d+)?)(?: \(kafka.*)?$"
)


def said(lines: list[str], number: int) -> dict[int, list[str]]:
    """What each broker says of a partition of `__transaction_state`, in order."""
    found: dict[int, list[str]] = defaultdict(list)
    for one in filter(None, map(SAID.search, lines)):
        if str(number) in (one["number"], one["partition"]):
            found[int(one["broker"])].append(one["words"])
    return dict(found)


def test_brokers_say_what_those_of_a_real_cluster_say_when_a_coordinator_is_killed() -> None:
    lines: list[str] = []
    fly(make_plan(load(str(SCENARIOS / "s60-transaction-coordinator.toml"))), log=KafkaLog(lines.append))
    number = coordinator_partition("pay60", 50)
    real = said(read_run(raw_of("s60-transaction-coordinator", "4.3.1")).lines, number)
    assert sorted(real) == [1, 3]
    assert said(lines, number) == real
    without = said([line for line in lines if "No cached" not in line], number)
    assert without != real


# --- made by hand -----------------------------------------------------------------------------------------------------


def elected(leader: int, epoch: int, at_us: int = 5, reason: str = "broker fenced") -> Event:
    return e.LeaderElected(
        partition=NAME, leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=(1, 2, 3), reason=reason, at_us=at_us
    )


def led(broker: int, epoch: int, at_us: int = 5) -> Event:
    return e.LeadershipTaken(
        partition=NAME, broker=broker, leader_epoch=epoch, log_start=0, high_watermark=0, log_end=0, bytes=0,
        at_us=at_us,
    )  # fmt: skip


def has(transactional_id: str) -> Event:
    return e.TransactionStateChanged(
        transactional_id=transactional_id, broker=1, state="Empty", producer_id=1, epoch=0, timeout_ms=1, start_us=-1,
        partitions=(), at_us=2,
    )  # fmt: skip


IDS = [name for name in (f"pay-{number}" for number in range(200)) if coordinator_partition(name, 4) == 3][:2]
BEGUN = [
    e.TopicCreated(
        topic="__transaction_state", partitions=4, replication_factor=3, min_insync_replicas=2, internal=True
    ),
    elected(1, 0, 0, "created"),
    led(1, 0, 0),
]
RESIGNED = "Resigned as the txn coordinator for partition 3 at epoch"
NOTHING = f"No cached transaction metadata found for {NAME} during become-follower transition"
CACHED = "Unloaded transaction metadata TxnMetadataCacheEntry(coordinatorEpoch=0, numTransactionalEntries=2) for"
UNLOADED = f"{CACHED} {NAME} on become-follower transition"
ELECTED = [
    "Elected as the txn coordinator for partition 3 at epoch 1",
    f"Loading transaction metadata from {NAME} at epoch 1",
]


def told(*events: Event) -> dict[int, list[str]]:
    return said(lines_of(*BEGUN, *map(has, IDS), *events), 3)


def test_the_former_coordinator_forgets_its_ids_and_the_other_replicas_had_none() -> None:
    assert told(elected(2, 1), led(2, 1)) == {
        1: [f"{RESIGNED} Some(1)", UNLOADED], 2: ELECTED, 3: [f"{RESIGNED} Some(1)", NOTHING]
    }  # fmt: skip


def test_one_whose_process_ended_says_nothing_and_has_nothing_when_it_is_back() -> None:
    events = [e.BrokerStopped(broker=1, how="kill", at_us=3), elected(2, 1), led(2, 1)]
    assert 1 not in told(*events)
    back = e.BrokerStateChanged(broker=1, state="Running", at_us=9)
    assert told(*events, back)[1] == [f"{RESIGNED} Some(1)", NOTHING]


def test_a_frozen_coordinator_resigns_when_it_goes_on() -> None:
    events = [e.BrokerPaused(broker=1, at_us=3), elected(2, 1), led(2, 1)]
    assert 1 not in told(*events)
    assert told(*events, e.BrokerResumed(broker=1, at_us=9))[1] == [f"{RESIGNED} Some(1)", UNLOADED]
    killed = e.BrokerStopped(broker=1, how="kill", at_us=8)
    assert 1 not in told(*events, killed, e.BrokerResumed(broker=1, at_us=9))


def test_each_change_of_the_isr_lets_followers_resign_again() -> None:
    change = e.IsrChanged(partition=NAME, isr=(1, 2), reason="shrink: not caught up", at_us=6)
    assert told(change) == {broker: [f"{RESIGNED} Some(0)", NOTHING] for broker in (2, 3)}


def test_without_a_leader_all_replicas_resign() -> None:
    assert told(elected(-1, 1)) == {
        1: [f"{RESIGNED} Some(1)", UNLOADED],
        2: [f"{RESIGNED} Some(1)", NOTHING],
        3: [f"{RESIGNED} Some(1)", NOTHING],
    }


@pytest.mark.parametrize(("broker", "more"), [(1, [f"{CACHED} {NAME} following local partition deletion"]), (3, [])])
def test_a_replica_that_is_deleted_resigns_without_an_epoch(broker: int, more: list[str]) -> None:
    gone = e.ReplicaDeleted(partition=NAME, broker=broker, bytes=0, log_end=0, at_us=6)
    assert told(gone) == {broker: [f"{RESIGNED} None", *more]}


def test_of_partitions_that_no_transactional_id_needs_nothing_is_said() -> None:
    assert said(lines_of(*BEGUN, elected(2, 1), led(2, 1)), 3) == {}


# --- flights ----------------------------------------------------------------------------------------------------------

FLIGHT = """
title = "t"
until = "50s"
[cluster]
brokers = 3
config = { "transaction.state.log.num.partitions" = 2, "offsets.topic.num.partitions" = 2 }
[[topic]]
name = "orders"
[[producer]]
name = "p"
topics = ["orders"]
count = 3
rate = "20/s"
transactions = { id = "pay-{n}", records = 20 }
"""
STEPS = (
    ("10s", "kill broker-2 for 12s"),
    ("30s", "pause broker-1 for 12s"),
    ("35s", "reassign __transaction_state-0 to 3,2"),
    ("47s", "elect preferred __transaction_state-1"),
)


def in_ms(line: str) -> int:
    hours, minutes, seconds, ms = map(int, re.findall(r"\d+", line)[:4])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms


def judged(events: list[Event], lines: list[str]) -> list[str]:
    """What is wrong with the lines of a flight, by books of its events that share nothing with the writer's."""
    wrong = []
    taken = [
        (one.at_us // 1000, one.broker, one.partition.rpartition("-")[2], one.leader_epoch)
        for one in events
        if isinstance(one, e.LeadershipTaken) and one.at_us and one.partition.startswith("__transaction_state-")
    ]
    elected_lines, unloaded = [], list[tuple[int, int, str, int, int]]()
    for line in lines:
        found = SAID.search(line)
        if found is None:
            continue
        at_ms, words = in_ms(line), found["words"]
        numbers = list(map(int, re.findall(r"\d+", words)))
        if words.startswith("Elected"):
            elected_lines.append((at_ms, int(found["broker"]), found["number"], numbers[1]))
        elif words.startswith("Unloaded"):
            unloaded.append((at_ms, int(found["broker"]), found["partition"], numbers[0], numbers[1]))
    if sorted(elected_lines) != sorted(taken):
        wrong.append("not each leader says that it was elected")
    for at_ms, of, number, epoch, count in unloaded:
        begun = [one for one in events if isinstance(one, e.LeadershipTaken) and one.at_us // 1000 <= at_ms]
        if (of, f"__transaction_state-{number}", epoch) not in {
            (one.broker, one.partition, one.leader_epoch) for one in begun
        }:
            wrong.append(f"broker {of} unloads what it has not loaded")
        ids = {
            one.transactional_id
            for one in events
            if isinstance(one, e.TransactionStateChanged)
            and one.at_us // 1000 <= at_ms
            and coordinator_partition(one.transactional_id, 2) == int(number)
        }
        if count != len(ids):
            wrong.append(f"broker {of} unloads {count} ids, not {len(ids)}")
    return wrong if unloaded else [*wrong, "nobody unloads anything"]


def test_the_lines_of_a_flight_are_what_its_events_say() -> None:
    steps = "".join(f'[[at]]\ntime = "{at}"\ndo = "{do}"\n' for at, do in STEPS)
    events, lines = list[Event](), list[str]()
    write = KafkaLog(lines.append)

    def sink(event: Event) -> None:
        events.append(event)
        write(event)

    fly(make_plan(parse_scenario(FLIGHT + steps, "t.toml")), log=sink)
    assert judged(events, lines) == []
    assert judged(events, [line for line in lines if "Elected" not in line]) != []
    assert judged(events, [line.replace("Entries=", "Entries=1") for line in lines]) != []
    assert judged(events, [line.replace("coordinatorEpoch=", "coordinatorEpoch=7") for line in lines]) != []
