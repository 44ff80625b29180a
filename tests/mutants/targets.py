"""Assignors of the coordinator that are broken on purpose (KIP-848)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cluster.coordinators.assignors import (
    ConsumerGroupSpec,
    ServerAssignor,
    TargetAssignment,
    uniform,
    uniform_heterogeneous,
)
from cluster.coordinators.assignors.range import ServerRangeAssignor
from cluster.coordinators.assignors.uniform import UniformAssignor, UniformHomogeneousAssignmentBuilder
from cluster.coordinators.assignors.uniform_heterogeneous import Levels, UniformHeterogeneousAssignmentBuilder

Patch = pytest.MonkeyPatch


def _instead(patch: Patch, sound: type[ServerAssignor], broken: Callable[[ConsumerGroupSpec, Any], Any]) -> None:
    """`broken` gets the group and the sound assign."""
    assign = sound.assign
    patch.setattr(sound, "assign", lambda assignor, group: broken(group, lambda given: assign(assignor, given)))


# --- any assignor -----------------------------------------------------------------------------------------------------


def assigns_every_partition_to_every_member(patch: Patch) -> None:
    def generous(group: ConsumerGroupSpec, assign: Callable[[ConsumerGroupSpec], TargetAssignment]) -> TargetAssignment:
        target = assign(group)
        return dict.fromkeys(target, tuple(name for held in target.values() for name in held))

    _instead(patch, UniformAssignor, generous)


def leaves_one_partition_out(patch: Patch) -> None:
    def careless(group: ConsumerGroupSpec, assign: Callable[[ConsumerGroupSpec], TargetAssignment]) -> TargetAssignment:
        target = assign(group)
        return {member: held[1:] if member == min(target) else held for member, held in target.items()}

    _instead(patch, UniformAssignor, careless)


def leaves_the_last_member_out(patch: Patch) -> None:
    """Its partitions go to the others: the target is complete, and the member is never told anything."""

    def forgetful(
        group: ConsumerGroupSpec, assign: Callable[[ConsumerGroupSpec], TargetAssignment]
    ) -> TargetAssignment:
        rest = sorted(group.members)[: max(1, len(group.members) - 1)]
        return assign(group._replace(members={member: group.members[member] for member in rest}))

    _instead(patch, ServerRangeAssignor, forgetful)


# --- uniform ----------------------------------------------------------------------------------------------------------


def starts_from_nothing(patch: Patch) -> None:
    """The target so far is ignored, so that each rebalance moves what it likes."""

    def restless(group: ConsumerGroupSpec, assign: Callable[[ConsumerGroupSpec], TargetAssignment]) -> TargetAssignment:
        return assign(group._replace(members={m: spec._replace(assigned=()) for m, spec in group.members.items()}))

    _instead(patch, UniformAssignor, restless)


def takes_all_subscriptions_for_equal(patch: Patch) -> None:
    _instead(patch, UniformAssignor, lambda group, assign: assign(group._replace(subscription_type="HOMOGENEOUS")))


def takes_no_subscriptions_for_equal(patch: Patch) -> None:
    _instead(patch, UniformAssignor, lambda group, assign: assign(group._replace(subscription_type="HETEROGENEOUS")))


def revokes_nothing(patch: Patch) -> None:
    patch.setattr(UniformHomogeneousAssignmentBuilder, "_keep", lambda _, held, *__: held)


def revokes_by_number(patch: Patch) -> None:
    """A member above its quota keeps the smallest numbers, not the first ones of Java's HashSet."""
    patch.setattr(uniform, "in_hash_order", lambda places, _: places)


def balances_nothing(patch: Patch) -> None:
    patch.setattr(UniformHeterogeneousAssignmentBuilder, "_balance", lambda *_: None)


def balances_only_once(patch: Patch) -> None:
    patch.setattr(uniform_heterogeneous, "MOST_ROUNDS", 1)


def ranks_topics_by_name(patch: Patch) -> None:
    patch.setattr(UniformHeterogeneousAssignmentBuilder, "_rank", lambda _, topic: (0.0, 0, topic))


def stops_at_members_that_give_nothing(patch: Patch) -> None:
    """A most loaded member without a partition of the topic ends the balancing of that topic."""
    step = Levels.next_most_loaded

    def impatient(levels: Levels, held: dict[int, list[int]]) -> int:
        fullest = levels._order[levels._high_next] if levels._high_next >= levels._high_start else levels._order[-1]
        return step(levels, held) if held[fullest] else -1

    patch.setattr(Levels, "next_most_loaded", impatient)


# --- range ------------------------------------------------------------------------------------------------------------


def places_static_members_by_member_id(patch: Patch) -> None:
    def by_id(group: ConsumerGroupSpec, assign: Callable[[ConsumerGroupSpec], TargetAssignment]) -> TargetAssignment:
        return assign(group._replace(members={m: spec._replace(instance_id=None) for m, spec in group.members.items()}))

    _instead(patch, ServerRangeAssignor, by_id)


BREAKS_A_TARGET = (
    assigns_every_partition_to_every_member,
    leaves_one_partition_out,
    leaves_the_last_member_out,
    starts_from_nothing,
    takes_all_subscriptions_for_equal,
    revokes_nothing,
    balances_nothing,
    balances_only_once,
    stops_at_members_that_give_nothing,
)
"""What the rules of every target catch by themselves."""

TARGET_MUTANTS = (
    *BREAKS_A_TARGET,
    takes_no_subscriptions_for_equal,
    revokes_by_number,
    ranks_topics_by_name,
    places_static_members_by_member_id,
)
"""What Kafka's results catch."""
