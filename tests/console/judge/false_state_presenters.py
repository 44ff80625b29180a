"""Further false presenters: of transactions, of owners, of the partition-seconds that a rebalance stopped."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from cluster.view.rebalances import RebalanceView
from cluster.view.state import NEVER, ClusterView, GroupView
from cluster.view.transactions import TransactionView
from console.presenters import (
    formatting,
    members,
    overview,
    partition_grids,
    rebalance_details,
    rebalances,
    transactions,
)
from console.presenters.exceptions import group_lag
from console.presenters.exceptions.group_lag import LagParts
from console.presenters.members import identity
from console.presenters.styled_text import ERROR, MOVING, Line, Span, line

Patch = pytest.MonkeyPatch


def a_dead_transaction_coordinator_goes_on(patch: Patch) -> None:
    """The broker that committed the last state coordinates the id, also when it is down."""

    def coordinator(view: ClusterView, one: TransactionView) -> Line:
        del view
        return line(f"broker-{one.coordinator}" if one.coordinator != NEVER else "–")

    patch.setattr(transactions, "coordinator", coordinator)


def the_newest_transaction_is_blamed(patch: Patch) -> None:
    """Readers wait for the open transaction that began last."""
    original = transactions.transaction_of

    def blamed(view: ClusterView, producer_id: int) -> TransactionView | None:
        known = original(view, producer_id)
        newest = max(view.transactions.values(), key=lambda one: one.start_us)
        return newest if known is not None else None

    patch.setattr(transactions, "transaction_of", blamed)


def timeouts_begin_late(patch: Patch) -> None:
    """transaction.timeout.ms seems to last two seconds longer than it does."""
    original = transactions.left_of_timeout_us
    patch.setattr(transactions, "left_of_timeout_us", lambda one, now_us: original(one, now_us) + 2_000_000)


def a_raised_epoch_is_not_shown(patch: Patch) -> None:
    """PrepareEpochFence is left out: the id is Ongoing until its abort is committed."""
    patch.setattr(transactions, "shown_state", lambda one: one.state)


def every_last_stable_offset_is_its_high_watermark(patch: Patch) -> None:
    """No partition is held back."""
    patch.setattr(transactions, "held_back", lambda view: ())


def owners_have_their_neighbours_letters(patch: Patch) -> None:
    """Letters begin with B in the grid, with A in the table of members."""
    patch.setattr(partition_grids, "identity", lambda place: identity(place + 1))


def assigned_members_own(patch: Patch) -> None:
    """The coordinator's assignment is shown as ownership: a dead member keeps its share."""

    def sign(view: ClusterView, group: GroupView, name: str, target: str | None, letters: Mapping[str, Span]) -> Span:
        del view, group, name
        return letters.get(target or "", ("·", ERROR))

    patch.setattr(partition_grids, "owner_sign", sign)


def what_has_no_owner_is_on_its_way(patch: Patch) -> None:
    """`moving` for partitions that no member will take."""
    original = partition_grids.owner_sign

    def sign(view: ClusterView, group: GroupView, name: str, target: str | None, letters: Mapping[str, Span]) -> Span:
        shown = original(view, group, name, target, letters)
        return ("↻", MOVING) if shown[0] == "‖" else shown

    patch.setattr(partition_grids, "owner_sign", sign)


def lag_of_an_owner_is_that_of_all(patch: Patch) -> None:
    """Each cell's height is the lag of the whole group."""

    def lags_in(view: ClusterView, group: GroupView, names: Sequence[str]) -> list[int]:
        del view
        return [group.lag_series.values[-1] if group.lag_series.values else 0] * len(names)

    patch.setattr(partition_grids, "lags_in", lags_in)


def stopped_is_the_time_it_took(patch: Patch) -> None:
    """The table shows its duration times the partitions that paused, also when they paused for a part of it."""
    costs = formatting.partition_seconds

    def rows(self: rebalances.RebalancesListing, key: str) -> tuple[Line]:
        one = self.by_key.get(key)
        longer = one.took_us * one.unowned if one is not None else 0
        patch.setattr(rebalances, "partition_seconds", lambda us: costs(longer or us))
        return original(self, key)

    original = rebalances.RebalancesListing.rows
    patch.setattr(rebalances.RebalancesListing, "rows", rows)


def a_case_counts_what_was_before_twice(patch: Patch) -> None:
    """`… partition-seconds unowned` also counts those before the rebalance began, which have their own line."""
    original = rebalance_details._cost

    def cost(group: GroupView, one: RebalanceView, width: int) -> list[Line]:
        twice = one.stopped_partition_us + one.unowned_before_us
        return original(group, msgspec.structs.replace(one, stopped_partition_us=twice), width)

    patch.setattr(rebalance_details, "_cost", cost)


def a_rebalance_stops_what_it_keeps(patch: Patch) -> None:
    """The overview's `stopped` counts every partition of the group for the whole rebalance."""
    original = overview.rebalance_words

    def words(last: RebalanceView, now_us: int, width: int) -> Line:
        all_us = last.took_us * (last.unowned + last.kept)
        return original(msgspec.structs.replace(last, stopped_partition_us=all_us), now_us, width)

    patch.setattr(overview, "rebalance_words", words)


def every_partition_is_read(patch: Patch) -> None:
    """No partition is said to be paused."""
    patch.setattr(members, "_owned", lambda member: formatting.ranges(list(member.owned)))


def all_lag_can_be_read(patch: Patch) -> None:
    """Records beyond the last stable offset count as readable."""
    original = group_lag.lag_parts

    def parts(view: ClusterView, group: GroupView) -> LagParts:
        found = original(view, group)
        return found._replace(readable=found.readable + found.held, held=0, worst=None)

    patch.setattr(group_lag, "lag_parts", parts)


def aborted_records_can_be_read(patch: Patch) -> None:
    """Records of aborted transactions, and markers, count as readable."""
    original = group_lag.lag_parts

    def parts(view: ClusterView, group: GroupView) -> LagParts:
        found = original(view, group)
        return found._replace(readable=found.readable + found.control + found.aborted, control=0, aborted=0)

    patch.setattr(group_lag, "lag_parts", parts)


def the_dead_read_on(patch: Patch) -> None:
    """What silent members have assigned counts as readable."""
    original = group_lag.lag_parts

    def parts(view: ClusterView, group: GroupView) -> LagParts:
        found = original(view, group)
        return found._replace(readable=found.readable + found.silent, silent=0)

    patch.setattr(group_lag, "lag_parts", parts)


def a_stuck_group_looks_well(patch: Patch) -> None:
    """The overview says the last rebalance of a group whose readers a transaction holds back."""
    patch.setattr(overview, "stuck_words", lambda view, group, now_us: [])


FALSE_STATE_PRESENTERS = {
    a_stuck_group_looks_well: ("stuck-last-stable-offset", 92),
    all_lag_can_be_read: ("stuck-last-stable-offset", 92),
    aborted_records_can_be_read: ("transaction-abort", 90),
    the_dead_read_on: ("static-restart", 60),
    every_partition_is_read: ("paused-by-hand", 30),
    a_dead_transaction_coordinator_goes_on: ("random 1", 60),
    the_newest_transaction_is_blamed: ("random 2", 60),
    timeouts_begin_late: ("stuck-last-stable-offset", 40),
    a_raised_epoch_is_not_shown: ("zombie-producer", 60),
    every_last_stable_offset_is_its_high_watermark: ("stuck-last-stable-offset", 40),
    owners_have_their_neighbours_letters: ("first-flight", 40),
    assigned_members_own: ("static-restart", 60),
    what_has_no_owner_is_on_its_way: ("static-restart", 60),
    lag_of_an_owner_is_that_of_all: ("first-flight", 40),
    stopped_is_the_time_it_took: ("eager-vs-cooperative", 45),
    a_case_counts_what_was_before_twice: ("static-restart", 110),
    a_rebalance_stops_what_it_keeps: ("eager-vs-cooperative", 45),
}
"""Each false presenter with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""
