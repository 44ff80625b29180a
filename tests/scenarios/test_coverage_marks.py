"""Every edge of every state table is taken by the library or by the swarm, or it is said why it cannot be.

`pytest tests/scenarios/test_coverage_marks.py -m campaign -s` prints the table of hits.
"""

from collections.abc import Iterator
from itertools import chain

import msgspec
import pytest
import trio

from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import load, parse_scenario
from recordings.swarm.generator import draw
from tests.support.edge_coverage import Mark, Marks, every_mark, watching_marks
from tests.support.library import LIBRARY
from tests.support.rare_consumer_groups import RARE_CONSUMER_GROUPS

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
SHORTER_S = {"reference-s": 60, "reference-m": 10, "reference-l": 4, "reference-xl": 7}
SEEDS = 150
FIRST: tuple[int | str, ...] = (
    *(1, 2, 3, 4, 5, 6, 9, 10, 12, 13, 14, 16, 18, 19, 22, 24, 25, 37, 39, 43, 51, 55, 67, 99, 107),
    "first-flight",
)
"""Seeds and lessons that took edges as the first, when this was written: where they no longer do, others are flown."""
TRANSACTIONS = ("transactions", "read_committed")
NEW_PROTOCOL = ("consumer_protocol",)

NOTHING_ASKED = "nothing is asked of a coordinator then, so that nothing can be refused"
CANNOT: dict[Mark, str] = {
    ("transaction", "PrepareEpochFence → PrepareAbort"): (
        "a fence raises the epoch of an Ongoing transaction in memory: what is written next comes from Ongoing"
    ),
    ("transactional producer", "READY → UNINITIALIZED"): (
        "only a producer without a transactional id resets its id (TransactionManager.resetIdempotentProducerId)"
    ),
    ("transactional producer", "ABORTABLE_ERROR → UNINITIALIZED"): "as READY → UNINITIALIZED",
    ("transactional producer", "COMMITTING_TRANSACTION → INITIALIZING"): (
        "a sequence in doubt makes the transaction abortable: the new epoch comes after its abort"
    ),
    ("transactional producer", "INITIALIZING → ABORTABLE_ERROR"): "InitProducerId is answered with no abortable error",
    ("transactional producer", "UNINITIALIZED → FATAL_ERROR"): NOTHING_ASKED,
    ("consumer group member", "UNSUBSCRIBED → PREPARE_LEAVING"): (
        "leaveGroup() does nothing in no group, and the poll timer is not read then (shouldSkipHeartbeat)"
    ),
    ("consumer group member", "JOINING → STABLE"): (
        "a member that joins has no assignment (LocalAssignment.NONE), which equals no target, not even an empty one"
    ),
    ("consumer group member", "RECONCILING → STABLE"): (
        "each other assignment raises the local epoch, so a target that returns does not equal the current one"
    ),
    ("consumer group member", "JOINING → FENCED"): (
        "a heartbeat with epoch 0 is fenced by no coordinator (throwIfConsumerGroupMemberEpochIsInvalid)"
    ),
    ("consumer group member", "PREPARE_LEAVING → UNSUBSCRIBED"): "transitionToFenced() passes through LEAVING",
    ("consumer group member", "PREPARE_LEAVING → FENCED"): "transitionToFenced() makes it UNSUBSCRIBED",
    ("consumer group member", "LEAVING → FENCED"): "transitionToFenced() makes it UNSUBSCRIBED",
    ("consumer group member", "PREPARE_LEAVING → FATAL"): (
        "only unsubscribe(), which no application calls here, waits for callbacks in it (leaveGroup(runCallbacks))"
    ),
    ("transactional producer", "READY → FATAL_ERROR"): NOTHING_ASKED,
}
"""Edges that Kafka's tables have and no flight can take, with the reason."""

RARE_HEAD = """
title = "rare"
until = "40s"
[cluster.config]
"transaction.state.log.num.partitions" = 1
[[topic]]
name = "orders"
"""
EXPIRING = """
"transactional.id.expiration.ms" = 5000
"transaction.remove.expired.transaction.cleanup.interval.ms" = 1000
[[topic]]"""
RARE = (
    # Ids that no producer uses any more expire: after a commit, after an abort, and before the first transaction.
    RARE_HEAD.replace("[[topic]]", EXPIRING)
    + """
[[producer]]
name = "commits"
topics = ["orders"]
limit = 20
transactions = { id = "commits", records = 10 }
[[producer]]
name = "aborts"
topics = ["orders"]
limit = 20
transactions = { id = "aborts", records = 10, abort = 1.0 }
[[producer]]
name = "idles"
topics = ["orders"]
arrivals = [["0s", "0/s"], ["39s", "1/s"]]
transactions = { id = "idles", records = 10 }
""",
    # The first transaction never gets to its partition's leader: under version 2 the coordinator aborts nothing at all.
    RARE_HEAD
    + """
[[producer]]
name = "pay"
topics = ["orders"]
config = { "request.timeout.ms" = 1000, "delivery.timeout.ms" = 8000 }
transactions = { id = "pay", records = 10 }
[[at]]
time = "0s"
do = "slow pay-1 broker-1 to 3s for 20s"
""",
    # A timeout that the coordinator does not allow ends the producer before its first transaction.
    RARE_HEAD.replace("[[topic]]", '"transaction.max.timeout.ms" = 1000\n[[topic]]')
    + """
[[producer]]
name = "pay"
topics = ["orders"]
transactions = { id = "pay", records = 10 }
""",
    # Far apart, a group takes two seconds from its barrier (11.3 s) to its assignment: its coordinator moves meanwhile.
    RARE_HEAD
    + """
[network]
latency = "500ms"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
[[at]]
time = "11400ms"
do = "move coordinator of billing"
""",
    # A member leaves because of a slow poll() while its request to join is in flight.
    RARE_HEAD
    + """
[network]
latency = "500ms"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = { "max.poll.interval.ms" = 1000 }
[[at]]
time = "10s"
do = "stall billing-1 for 20s"
""",
)
"""What the library has no lesson about and the swarm seldom draws."""


def fly(spec: ScenarioSpec, seed: int, marks: Marks) -> None:
    """Fly a scenario to its end, seen by the marks."""
    marks.forget_flight()
    simulation = Simulation(spec, seed, sinks=[marks])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(spec.until_us)

    trio.run(main, clock=simulation.timeline)


def of_library(name: str) -> ScenarioSpec:
    """A scenario; the loads are cut short."""
    spec = load(name).spec
    return msgspec.structs.replace(spec, until_us=SHORTER_S[name] * SECOND_US) if name in SHORTER_S else spec


def fly_library(marks: Marks, names: list[str]) -> None:
    """The scenarios, each with its own seed."""
    for spec in map(of_library, names):
        fly(spec, spec.seed, marks)


def fly_rare(marks: Marks) -> None:
    """Flights made for edges that are seldom taken."""
    for text in RARE:
        fly(parse_scenario(text, "rare.toml").spec, 1, marks)
    for text, _ in RARE_CONSUMER_GROUPS.values():
        fly(parse_scenario(text, "rare.toml").spec, 1, marks)


def of_swarm(seed: int) -> ScenarioSpec:
    """A random cluster; every third with transactions, and every third with the new protocol, whatever it drew."""
    drawn = draw(seed, MINUTE_US, (TRANSACTIONS, NEW_PROTOCOL, ())[seed % 3]).spec
    return msgspec.structs.replace(drawn, seed=seed)


def all_flights() -> Iterator[ScenarioSpec]:
    """The library and the swarm, those of `FIRST` before the others."""
    seeds, lessons = [one for one in FIRST if isinstance(one, int)], [one for one in FIRST if isinstance(one, str)]
    yield from chain(map(of_swarm, seeds), map(of_library, lessons))
    yield from (of_library(name) for name in LIBRARY if name not in lessons)
    yield from (of_swarm(seed) for seed in range(1, SEEDS + 1) if seed not in seeds)


def missing(marks: Marks) -> list[Mark]:
    """The edges that no flight has taken."""
    return [mark for mark in every_mark() if not marks.hits[mark] and mark not in CANNOT]


def wrong(marks: Marks) -> list[Mark]:
    """The edges that no table has, and those that can be taken after all."""
    return [mark for mark in marks.hits if mark not in every_mark() or (mark in CANNOT and marks.hits[mark])]


def test_no_edge_stands_twice_and_reasons_are_given_for_edges_that_are_there() -> None:
    marks = every_mark()
    assert len(marks) == len(set(marks))
    assert set(CANNOT) <= set(marks)
    assert all(CANNOT.values())


def test_marks_count_what_a_flight_takes_and_nothing_else() -> None:
    with watching_marks() as marks:
        fly_library(marks, ["transaction-abort"])
    assert marks.hits["group", "Empty → PreparingRebalance (a member came, went or changed)"]
    assert marks.hits["transaction", "PrepareAbort → CompleteAbort"]
    assert marks.hits["transactional producer", "ABORTING_TRANSACTION → READY"]
    assert marks.hits["partition", "leader: created"]
    assert not marks.hits["broker", "ended: crash"]
    seen = dict(marks.hits)
    fly_library(marks, ["transaction-abort"])  # the tables are not watched any more
    assert (
        marks.hits["transaction", "PrepareAbort → CompleteAbort"] == seen["transaction", "PrepareAbort → CompleteAbort"]
    )
    assert set(marks.hits) <= set(every_mark())


@pytest.mark.slow
def test_rare_flights_take_the_edges_that_they_are_made_for() -> None:
    with watching_marks() as marks:
        fly_rare(marks)
    for edge in ("Empty → Dead", "CompleteCommit → Dead", "CompleteAbort → Dead", "Empty → PrepareAbort"):
        assert marks.hits["transaction", edge], edge
    assert marks.hits["transactional producer", "INITIALIZING → FATAL_ERROR"]
    assert marks.hits["rejoin", "Outdated"]
    for _, mark in RARE_CONSUMER_GROUPS.values():
        assert marks.hits[mark], mark
    assert marks.hits["group", "CompletingRebalance → Dead (the coordinator resigned, or the group was deleted)"]


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_every_edge_is_taken_by_the_library_or_the_swarm() -> None:
    """By the first of their flights: it ends with the last edge."""
    with watching_marks() as marks:
        fly_rare(marks)
        for spec in all_flights():
            fly(spec, spec.seed, marks)
            if not missing(marks):
                break
    assert not missing(marks)
    assert not wrong(marks)


@pytest.mark.campaign
@pytest.mark.timeout(1_800)
def test_no_flight_of_the_library_or_the_swarm_takes_another_edge(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the table of hits."""
    with watching_marks() as marks:
        fly_rare(marks)
        for spec in all_flights():
            fly(spec, spec.seed, marks)
    with capsys.disabled():
        print("\n" + "\n".join(marks.table()))  # noqa: T201 - the table that was asked for
        print(f"{sum(1 for mark in every_mark() if marks.hits[mark])} of {len(every_mark())} edges")  # noqa: T201
    assert not missing(marks)
    assert not wrong(marks)
