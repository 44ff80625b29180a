"""Elections: Kafka's own cases are in the oracles; here is what holds for every partition."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.controller.elections import NO_LEADER, ElectionKind, elect, epoch_steps, isr_without

KINDS: tuple[ElectionKind, ...] = get_args(ElectionKind)
PARTITIONS = st.permutations(range(1, 6)).flatmap(
    lambda order: st.tuples(
        st.just(order),
        st.lists(st.sampled_from(order), min_size=1, unique=True),
        st.sampled_from([NO_LEADER, *order]),
        st.sets(st.sampled_from(order)),
    )
)


@given(st.sampled_from(KINDS), PARTITIONS)
def test_only_an_unclean_election_leaves_the_isr(
    kind: ElectionKind, partition: tuple[list[int], list[int], int, set[int]]
) -> None:
    replicas, isr, leader, alive = partition
    election = elect(kind, replicas, isr, leader, alive.__contains__)
    if alive.intersection(isr):
        assert election.leader in alive.intersection(isr)
        assert election.isr == tuple(isr)
    elif alive and kind == "UNCLEAN":
        assert election.leader == next(broker for broker in replicas if broker in alive)
        assert election.isr == (election.leader,)
    else:
        assert election.leader == NO_LEADER
        assert election.isr == tuple(isr)
    assert election.clean == (election.leader in isr or election.leader == NO_LEADER)


@given(PARTITIONS)
def test_a_leader_that_may_stay_stays_unless_the_preferred_one_is_asked_for(
    partition: tuple[list[int], list[int], int, set[int]],
) -> None:
    replicas, isr, leader, alive = partition
    if leader in isr and leader in alive:
        assert elect("ONLINE", replicas, isr, leader, alive.__contains__).leader == leader
        assert elect("UNCLEAN", replicas, isr, leader, alive.__contains__).leader == leader
    if replicas[0] in isr and replicas[0] in alive:
        assert elect("PREFERRED", replicas, isr, leader, alive.__contains__).leader == replicas[0]


def test_the_isr_never_becomes_empty() -> None:
    assert isr_without((1, 2, 3), 2) == (1, 3)
    assert isr_without((1, 3), 2) == (1, 3)
    assert isr_without((2,), 2) == (2,)


@pytest.mark.parametrize(
    ("change", "leader_epoch", "partition_epoch"),
    [
        ({"leader_changes": True}, 1, 1),
        ({"leader_changes": True, "isr_changes": True}, 1, 1),
        ({"leader_changes": False, "isr_changes": True}, 0, 1),
        ({"leader_changes": False, "replica_leaves": True}, 1, 1),
        ({"leader_changes": False}, 0, 0),
    ],
)
def test_epochs_step_together_only_when_clients_have_to_look_again(
    change: dict[str, bool], leader_epoch: int, partition_epoch: int
) -> None:
    assert epoch_steps(**change) == (leader_epoch, partition_epoch)
