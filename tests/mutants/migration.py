"""Online migration of groups that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from cluster.coordinators.consumer_group import classic_members, migration
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import ClassicGroup

Patch = pytest.MonkeyPatch


def forgets_what_classic_members_own(patch: Patch) -> None:
    """An upgraded group begins with members that own nothing: the new member gets what they still read."""
    convert = migration._consumer_group_of

    def forgetful(context: GroupContext, classic: ClassicGroup) -> ConsumerGroup:
        group = convert(context, classic)
        for member in list(group.members.values()):
            group.put_member(replace(member, assigned={}))
        return group

    patch.setattr(migration, "_consumer_group_of", forgetful)


def leaves_classic_members_alone(patch: Patch) -> None:
    """A heartbeat of a classic member never says that it must join again."""
    patch.setattr(classic_members, "_must_rejoin", lambda *_: False)


def downgrades_without_tombstones(patch: Patch) -> None:
    """The records of the consumer group stay in the log, and a new coordinator finds both groups."""
    patch.setattr(migration, "group_tombstones", lambda *_: [])


def downgrades_without_a_rebalance(patch: Patch) -> None:
    """The classic group is Stable with the last targets, and the partitions of the member that left have no owner."""
    patch.setattr(migration, "prepare_rebalance", lambda *_: None)


BROKEN: tuple[Callable[[Patch], None], ...] = (
    forgets_what_classic_members_own,
    leaves_classic_members_alone,
    downgrades_without_tombstones,
    downgrades_without_a_rebalance,
)
