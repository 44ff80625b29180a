"""The states of a group of the new protocol and of its members, and every legal transition between them.

A group's state follows from its epochs and members: the coordinator derives it after each change, so each state may
follow nearly every other. A group object begins Empty, is loaded into any state, and ends Dead.
Source: Kafka's `ConsumerGroup.ConsumerGroupState`, `modern.MemberState`, `CurrentAssignmentBuilder`.
"""

from enum import StrEnum

from cluster.protocol.state_machine import StateTable, by_next_state


class ConsumerGroupState(StrEnum):
    """The state of a group of the new protocol; the value is the name that Kafka prints.

    Assigning: the target assignment is older than the group epoch. Reconciling: a member has not reached its target.
    """

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


_G = ConsumerGroupState
_WITH_MEMBERS = (_G.ASSIGNING, _G.RECONCILING, _G.STABLE)

CONSUMER_GROUP_STATES = by_next_state(
    "consumer group",
    _G.EMPTY,
    {
        _G.EMPTY: (*_WITH_MEMBERS, _G.DEAD),
        _G.ASSIGNING: (_G.RECONCILING, _G.STABLE, _G.EMPTY, _G.DEAD),
        _G.RECONCILING: (_G.ASSIGNING, _G.STABLE, _G.EMPTY, _G.DEAD),
        _G.STABLE: (_G.ASSIGNING, _G.RECONCILING, _G.EMPTY, _G.DEAD),
        _G.DEAD: (),
    },
)


class MemberAssignmentState(StrEnum):
    """How far a member is on the way to its target; the value is Kafka's name."""

    STABLE = "STABLE"
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"


class MemberAssignmentEvent(StrEnum):
    """The result of a step towards the target; the value is its description in documentation and errors."""

    REVOCATION_NEEDED = "it must revoke partitions first"
    PARTITIONS_UNRELEASED = "other members still own partitions of its target"
    TARGET_REACHED = "it has its whole target"


_S, _E = MemberAssignmentState, MemberAssignmentEvent
_STEPS = {
    _E.REVOCATION_NEEDED: _S.UNREVOKED_PARTITIONS,
    _E.PARTITIONS_UNRELEASED: _S.UNRELEASED_PARTITIONS,
    _E.TARGET_REACHED: _S.STABLE,
}

MEMBER_ASSIGNMENT_STATES = StateTable(
    "member's assignment",
    _S.STABLE,
    {_S.STABLE: _STEPS, _S.UNREVOKED_PARTITIONS: _STEPS, _S.UNRELEASED_PARTITIONS: _STEPS},
)
"""A step begins anew from the newest target, so each result may follow each state."""
