"""The states of a classic consumer group, and every legal move between them.

The diagram of the documentation, the tests of illegal moves and the console's hints derive from `GROUP_MOVES`.
Source: Kafka's `ClassicGroupState`.
"""

from enum import Enum


class GroupState(Enum):
    """A group's state; the value is how Kafka prints it."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupEvent(Enum):
    """What moves a group; the value is how a reader would say it."""

    REBALANCE_NEEDED = "a member came, went or changed"
    BARRIER_CLOSED = "the join barrier closed with members"
    BARRIER_CLOSED_EMPTY = "the join barrier closed without members"
    ASSIGNMENT_STORED = "the leader's assignment is safe in the log"
    UNLOADED = "the coordinator resigned, or the group was deleted"


_S, _E = GroupState, GroupEvent

GROUP_MOVES: dict[GroupState, dict[GroupEvent, GroupState]] = {
    _S.EMPTY: {
        _E.REBALANCE_NEEDED: _S.PREPARING_REBALANCE,
        _E.UNLOADED: _S.DEAD,
    },
    _S.PREPARING_REBALANCE: {
        _E.BARRIER_CLOSED: _S.COMPLETING_REBALANCE,
        _E.BARRIER_CLOSED_EMPTY: _S.EMPTY,
        _E.UNLOADED: _S.DEAD,
    },
    _S.COMPLETING_REBALANCE: {
        _E.REBALANCE_NEEDED: _S.PREPARING_REBALANCE,
        _E.ASSIGNMENT_STORED: _S.STABLE,
        _E.UNLOADED: _S.DEAD,
    },
    _S.STABLE: {
        _E.REBALANCE_NEEDED: _S.PREPARING_REBALANCE,
        _E.UNLOADED: _S.DEAD,
    },
    _S.DEAD: {},
}


class IllegalTransition(Exception):  # noqa: N818  it names a move, and its readers know what raised means
    """A bug of ours: a group was moved by something that cannot happen in its state."""

    def __init__(self, state: GroupState, event: GroupEvent) -> None:
        super().__init__(f"a group in state {state.value} cannot be moved by {event.value!r}")
        self.state = state
        self.event = event


def next_state(state: GroupState, event: GroupEvent) -> GroupState:
    """Where `event` takes a group from `state`; raises IllegalTransition when the table has no such move."""
    try:
        return GROUP_MOVES[state][event]
    except KeyError:
        raise IllegalTransition(state, event) from None
