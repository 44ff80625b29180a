from __future__ import annotations

import pytest

from cluster.coordinators.group.group import ClassicGroup
from cluster.coordinators.group.states import GROUP_STATES, GroupEvent, GroupState
from cluster.protocol.state_machine import IllegalTransition

PREVIOUS = {  # ClassicGroupState.validPreviousStates
    GroupState.EMPTY: {GroupState.PREPARING_REBALANCE},
    GroupState.PREPARING_REBALANCE: {GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY},
    GroupState.COMPLETING_REBALANCE: {GroupState.PREPARING_REBALANCE},
    GroupState.STABLE: {GroupState.COMPLETING_REBALANCE, GroupState.EMPTY},  # Empty: Kafka makes a loaded group Stable
    GroupState.DEAD: {
        GroupState.STABLE,
        GroupState.PREPARING_REBALANCE,
        GroupState.COMPLETING_REBALANCE,
        GroupState.EMPTY,
    },
}


def test_states_are_named_as_kafka_prints_them() -> None:
    assert [state.value for state in GroupState] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]


@pytest.mark.parametrize("event", GroupEvent)
@pytest.mark.parametrize("state", GroupState)
def test_every_pair_moves_by_the_table_or_raises(state: GroupState, event: GroupEvent) -> None:
    group = ClassicGroup("g", 0)
    group.state = state
    if GROUP_STATES.allows(state, event):
        group.transition(event, 7)
        assert (group.previous_state, group.state, group.since_us) == (state, GROUP_STATES.next_state(state, event), 7)
    else:
        with pytest.raises(IllegalTransition, match=state.value):
            group.transition(event, 7)
        assert group.state is state


@pytest.mark.parametrize("target", GroupState)
def test_the_table_allows_what_kafka_allows(target: GroupState) -> None:
    # Kafka's Dead can die again; ours is not there to be unloaded twice
    assert set(GROUP_STATES.predecessors(target)) == PREVIOUS[target]


def test_next_state_names_the_illegal_transition() -> None:
    with pytest.raises(IllegalTransition) as raised:
        GROUP_STATES.next_state(GroupState.EMPTY, GroupEvent.ASSIGNMENT_STORED)
    assert (raised.value.state, raised.value.event) == (GroupState.EMPTY, GroupEvent.ASSIGNMENT_STORED)
