"""The states of a classic consumer group, and every legal transition between them.

The diagram of the documentation, the tests of illegal transitions and the console's hints derive from `GROUP_STATES`.
Source: Kafka's `ClassicGroupState`.
"""

from enum import StrEnum

from cluster.protocol.state_machine import StateTable


class GroupState(StrEnum):
    """The state of a group; the value is the name that Kafka prints."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupEvent(StrEnum):
    """An event that changes the state of a group; the value is its description in documentation and errors."""

    REBALANCE_NEEDED = "a member came, went or changed"
    BARRIER_CLOSED = "the join barrier closed with members"
    BARRIER_CLOSED_EMPTY = "the join barrier closed without members"
    ASSIGNMENT_STORED = "the leader's assignment is safe in the log"
    LOADED = "the log has a generation with members"
    UNLOADED = "the coordinator resigned, or the group was deleted"


_S, _E = GroupState, GroupEvent

GROUP_STATES = StateTable(
    "group",
    _S.EMPTY,
    {
        _S.EMPTY: {
            _E.REBALANCE_NEEDED: _S.PREPARING_REBALANCE,
            _E.LOADED: _S.STABLE,
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
    },
)
