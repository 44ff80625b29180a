"""How long a rebalance's assignment takes; `pytest tests/bench/test_bench_assignors.py`.

The yardstick is kafka-python's sticky assignor, measured beside ours.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from cluster.assignors import ASSIGNORS, Subscription
from cluster.coordinators.assignors import SERVER_ASSIGNORS, ConsumerGroupSpec, ConsumerMemberSpec
from cluster.protocol import murmur2

SIZES = [(2_000, 200), (10_000, 1_000)]
TOPICS = 20


def counts_of(partitions: int) -> dict[str, int]:
    return {f"topic-{number:02}": partitions // TOPICS for number in range(TOPICS)}


def fresh_members(members: int, *, equal: bool) -> dict[str, Subscription]:
    topics = tuple(counts_of(0))
    return {
        f"member-{number:04}": Subscription(topics if equal else topics[number % 3 : TOPICS - number % 5])
        for number in range(members)
    }


def after_a_leave(name: str, partitions: int, members: int, *, equal: bool) -> dict[str, Subscription]:
    before = fresh_members(members, equal=equal)
    assignment = ASSIGNORS[name].assign(counts_of(partitions), before)
    after = {member: Subscription(told.topics, tuple(assignment[member]), 1) for member, told in before.items()}
    del after["member-0007"]
    return after


@pytest.mark.parametrize(("partitions", "members"), SIZES)
@pytest.mark.parametrize("name", sorted(ASSIGNORS))
def test_a_fresh_group(benchmark: BenchmarkFixture, name: str, partitions: int, members: int) -> None:
    assignment = benchmark(ASSIGNORS[name].assign, counts_of(partitions), fresh_members(members, equal=True))
    assert sum(map(len, assignment.values())) == partitions


@pytest.mark.parametrize(("partitions", "members"), SIZES)
@pytest.mark.parametrize("name", ["cooperative-sticky", "sticky"])
def test_a_member_leaves(benchmark: BenchmarkFixture, name: str, partitions: int, members: int) -> None:
    subscriptions = after_a_leave(name, partitions, members, equal=True)
    assignment = benchmark(ASSIGNORS[name].assign, counts_of(partitions), subscriptions)
    assert sum(map(len, assignment.values())) == partitions


@pytest.mark.parametrize(("partitions", "members"), SIZES)
def test_a_member_leaves_a_group_of_many_interests(benchmark: BenchmarkFixture, partitions: int, members: int) -> None:
    subscriptions = after_a_leave("sticky", partitions, members, equal=False)
    assignment = benchmark(ASSIGNORS["sticky"].assign, counts_of(partitions), subscriptions)
    assert sum(map(len, assignment.values())) == partitions


def target_group(partitions: int, members: int, *, equal: bool, after: str) -> ConsumerGroupSpec:
    """The group of `fresh_members`, or of `after_a_leave`, as the coordinator sees it (KIP-848)."""
    specs = {
        name: ConsumerMemberSpec(tuple(given.topics)) for name, given in fresh_members(members, equal=equal).items()
    }
    fresh = ConsumerGroupSpec(specs, counts_of(partitions), "HOMOGENEOUS" if equal else "HETEROGENEOUS")
    if after == "fresh":
        return fresh
    target = SERVER_ASSIGNORS["uniform"].assign(fresh)
    left = {name: spec._replace(assigned=target[name]) for name, spec in specs.items() if name != "member-0007"}
    return fresh._replace(members=left)


@pytest.mark.parametrize(("partitions", "members"), SIZES)
@pytest.mark.parametrize("after", ["fresh", "after a leave"])
@pytest.mark.parametrize("equal", [True, False], ids=["equal subscriptions", "different subscriptions"])
def test_uniform(benchmark: BenchmarkFixture, partitions: int, members: int, after: str, *, equal: bool) -> None:
    target = benchmark(SERVER_ASSIGNORS["uniform"].assign, target_group(partitions, members, equal=equal, after=after))
    assert sum(map(len, target.values())) == partitions


def test_the_hash_of_a_key(benchmark: BenchmarkFixture) -> None:
    assert benchmark(murmur2, b"customer-42") == -542987495


# --- against another implementation, in the same run ---------------------------------------------------------------


class TheirCluster:
    """What kafka-python's assignor asks of its metadata."""

    def topics(self) -> set[str]:
        return set(counts_of(0))

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(PARTITIONS // TOPICS))


class TheirMember(NamedTuple):
    """A member as kafka-python's assignor gets it."""

    member_id: str
    metadata: object


PARTITIONS, MEMBERS = SIZES[0]
AT_LEAST_FASTER = 25
AT_MOST_LONGER = 10


def seconds(work: Callable[[], object], times: int) -> float:
    """The best of several: whatever else the machine did only makes it longer."""
    found = []
    for _ in range(times):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def theirs(assignor: Any, subscriptions: dict[str, Subscription]) -> Callable[[], Any]:  # noqa: ANN401 - it has no types
    members = [
        TheirMember(
            name,
            assignor._metadata(
                told.topics, told.owned_partitions if told.generation_id >= 0 else None, told.generation_id
            ),
        )
        for name, told in subscriptions.items()
    ]
    return lambda: assignor().assign(TheirCluster(), members)


@pytest.mark.parametrize("after", ["fresh", "after a leave"])
def test_sticky_is_much_faster_than_kafka_pythons(after: str) -> None:
    """`-s` prints the figures."""
    sticky = pytest.importorskip(
        "kafka.coordinator.assignors.sticky.sticky_assignor", reason="kafka-python is not installed (`.[test]` has it)"
    )
    if after == "fresh":
        subscriptions = fresh_members(MEMBERS, equal=True)
    else:
        subscriptions = after_a_leave("sticky", PARTITIONS, MEMBERS, equal=True)
    counts = counts_of(PARTITIONS)
    their_assign = theirs(sticky.StickyPartitionAssignor, subscriptions)
    ours = seconds(lambda: ASSIGNORS["sticky"].assign(counts, subscriptions), 20)
    theirs_s = seconds(their_assign, 3)
    sizes = sorted(len(held) for held in ASSIGNORS["sticky"].assign(counts, subscriptions).values())
    assert sizes == sorted(len(held.partitions()) for held in their_assign().values()), "the same shape of result"
    sys.stdout.write(
        f"\n{PARTITIONS} partitions, {len(subscriptions)} members, {after}: {1e3 * ours:.2f} ms;"
        f" kafka-python {1e3 * theirs_s:.0f} ms: {theirs_s / ours:.0f} times as long\n"
    )
    assert theirs_s >= AT_LEAST_FASTER * ours


@pytest.mark.parametrize("after", ["fresh", "after a leave"])
def test_a_group_five_times_as_large_takes_at_most_ten_times_as_long(after: str) -> None:
    def best(partitions: int, members: int) -> float:
        subscriptions = (
            fresh_members(members, equal=True)
            if after == "fresh"
            else after_a_leave("sticky", partitions, members, equal=True)
        )
        return seconds(lambda: ASSIGNORS["sticky"].assign(counts_of(partitions), subscriptions), 20)

    small, large = (best(*size) for size in SIZES)
    sys.stdout.write(f"\nsticky, {after}: {1e3 * small:.2f} ms and {1e3 * large:.2f} ms: {large / small:.1f} times\n")
    assert large <= AT_MOST_LONGER * small


@pytest.mark.parametrize("after", ["fresh", "after a leave"])
@pytest.mark.parametrize("equal", [True, False], ids=["equal subscriptions", "different subscriptions"])
def test_uniform_is_no_slower_than_sticky(after: str, *, equal: bool) -> None:
    """The coordinator computes it for each join and leave, where the classic protocol asks the leader."""
    counts = counts_of(PARTITIONS)
    group = target_group(PARTITIONS, MEMBERS, equal=equal, after=after)
    subscriptions = (
        fresh_members(MEMBERS, equal=equal)
        if after == "fresh"
        else after_a_leave("sticky", PARTITIONS, MEMBERS, equal=equal)
    )
    uniform = seconds(lambda: SERVER_ASSIGNORS["uniform"].assign(group), 20)
    sticky = seconds(lambda: ASSIGNORS["sticky"].assign(counts, subscriptions), 20)
    sys.stdout.write(f"\n{after}: uniform {1e3 * uniform:.2f} ms, sticky {1e3 * sticky:.2f}: {uniform / sticky:.2f}\n")
    assert uniform <= sticky
