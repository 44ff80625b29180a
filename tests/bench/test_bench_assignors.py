"""How long a rebalance's assignment takes; `pytest tests/bench/test_bench_assignors.py`.

The yardstick: kafka-python's sticky assignor needs 0.43 to 0.48 s for 2,000 partitions and 200 members.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from cluster.assignors import ASSIGNORS, Subscription
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


def test_the_hash_of_a_key(benchmark: BenchmarkFixture) -> None:
    assert benchmark(murmur2, b"customer-42") == -542987495
