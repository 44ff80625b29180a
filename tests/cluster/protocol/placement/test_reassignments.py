"""What a reassignment adds and removes, when it has arrived, and what a cancellation leaves: Kafka's own cases.

The cases are those of PartitionReassignmentReplicasTest and PartitionReassignmentRevertTest of Kafka 4.3.1.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.protocol.placement.reassignments import (
    Reassignment,
    completed,
    reverted,
    toward,
    why_not_assigned,
)

Brokers = tuple[int, ...]
REPLICAS = st.lists(st.integers(0, 6), min_size=1, max_size=5, unique=True).map(tuple)


@pytest.mark.parametrize(
    ("current", "target", "removing", "adding", "replicas"),
    [
        ((3, 2, 1), (3, 2, 1), (), (), (3, 2, 1)),
        ((3, 2, 1), (3, 6, 2, 1, 5), (), (5, 6), (3, 6, 2, 1, 5)),
        ((3, 2, 1, 0), (3, 1), (0, 2), (), (3, 1, 0, 2)),
        ((3, 2, 1, 0), (7, 3, 1, 9), (0, 2), (7, 9), (7, 3, 1, 9, 0, 2)),
        ((3, 2, 1, 0), (0, 1, 3, 2), (), (), (0, 1, 3, 2)),
    ],
)
def test_removing_replicas_stand_behind_the_target(
    current: Brokers, target: Brokers, removing: Brokers, adding: Brokers, replicas: Brokers
) -> None:
    under_way = toward(Reassignment(current), target)
    assert under_way == Reassignment(replicas, adding, removing)
    assert under_way.in_progress == bool(adding or removing)


@pytest.mark.parametrize(
    ("current", "target", "isr", "arrived"),
    [
        ((0, 1, 2), (3, 4, 5), (0, 1, 2, 3, 4), None),
        ((0, 1, 2), (3, 4, 5), (0, 1, 2, 3, 4, 5), ((3, 4, 5), (3, 4, 5))),
        ((0, 1, 2), (0, 1, 3), (0, 1, 2, 3), ((0, 1, 3), (0, 1, 3))),
        ((0, 1, 2), (0, 1, 3), (0, 2, 3), ((0, 1, 3), (0, 3))),  # one that stays may be missing
        ((0, 1, 2), (0, 1, 3), (2, 3), ((0, 1, 3), (3,))),
        ((0, 1, 2), (0, 1, 3), (0, 1, 2), None),
        ((0, 1, 2, 3), (1, 2, 3, 4, 5), (0, 1, 2, 4, 5), ((1, 2, 3, 4, 5), (1, 2, 4, 5))),
        ((0, 1, 2, 3), (1, 2, 3, 4, 5), (0, 1, 2, 3, 5), None),
        ((0, 1, 2, 3, 4), (2, 3, 4, 5), (0, 1, 2, 3, 5), None),  # fewer replicas: all that stay are needed
        ((0, 1, 2, 3, 4), (2, 3, 4, 5), (0, 1, 2, 3, 4), None),
    ],
)
def test_it_has_arrived_when_the_isr_suffices(
    current: Brokers, target: Brokers, isr: Brokers, arrived: tuple[Brokers, Brokers] | None
) -> None:
    under_way = toward(Reassignment(current), target)
    assert completed(under_way, isr) == arrived
    assert set(under_way.original) == set(current)


def test_without_a_reassignment_nothing_arrives() -> None:
    assert completed(Reassignment((0, 1, 2)), (0, 1, 2)) is None


@pytest.mark.parametrize(
    ("replicas", "adding", "removing", "isr", "left"),
    [
        ((3, 2, 1), (), (), (3, 2), ((3, 2, 1), (3, 2), False)),
        ((3, 2, 1), (), (2, 1), (3, 2), ((3, 2, 1), (3, 2), False)),
        ((4, 5, 3, 2, 1), (4, 5), (), (4, 5, 2), ((3, 2, 1), (2,), False)),
        ((4, 5, 3, 2, 1), (4, 5), (2,), (4, 5, 2), ((3, 2, 1), (2,), False)),
        ((4, 5, 3, 2, 1), (4, 5), (2,), (4, 5), ((3, 2, 1), (3,), True)),
    ],
)
def test_a_cancellation_takes_the_adding_replicas_back(
    replicas: Brokers, adding: Brokers, removing: Brokers, isr: Brokers, left: tuple[Brokers, Brokers, bool]
) -> None:
    assert tuple(reverted(Reassignment(replicas, adding, removing), isr)) == left


@given(REPLICAS, REPLICAS, st.data())
def test_whatever_arrives_is_the_target_and_whatever_is_cancelled_the_former_replicas(
    current: Brokers, target: Brokers, data: st.DataObject
) -> None:
    under_way = toward(Reassignment(current), target)
    assert set(under_way.target) == set(target)
    assert set(under_way.original) == set(current)
    isr = tuple(data.draw(st.lists(st.sampled_from(under_way.replicas), unique=True, min_size=1)))
    arrived = completed(under_way, isr)
    if arrived is not None:
        assert arrived[0] == target
        assert set(arrived[1]) == set(isr) & set(target)
        assert arrived[1]
    back = reverted(under_way, isr)
    assert set(back.replicas) == set(current)
    assert set(back.isr) <= set(current)
    assert back.isr
    assert back.unclean == (not set(isr) & set(current))


def test_what_cannot_be_assigned_is_named() -> None:
    assert why_not_assigned((), (1, 2)) == "The manual partition assignment includes an empty replica list."
    assert "includes broker 9, but no such broker is registered" in why_not_assigned((1, 9), (1, 2))
    assert "includes the broker 1 more than once" in why_not_assigned((1, 2, 1), (1, 2))
    assert why_not_assigned((2, 1), (1, 2)) == ""
