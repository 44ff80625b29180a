"""Headlines with one false statement each."""

from collections.abc import Callable

import pytest

from cluster.view.rolling.state import RollingRestartView
from cluster.view.state import ClusterView, GroupView, PartitionView
from cluster.view.transactions import TransactionView
from console.presenters import awaited_members, transactions
from console.presenters.exceptions import cluster_conditions, facts, group_conditions, headline
from console.presenters.exceptions.facts import ClusterFacts, ConditionWords
from console.presenters.producers import table

Patch = pytest.MonkeyPatch


def _ranked(patch: Patch, **replaced: Callable[[ClusterFacts], ConditionWords | None]) -> None:
    """Replace conditions of the ranking, by the names of their functions."""
    ranking = tuple(one._replace(find=replaced.get(one.find.__name__, one.find)) for one in headline.RANKING)
    patch.setattr(headline, "RANKING", ranking)


def a_rebalance_outranks_a_dead_leader(patch: Patch) -> None:
    """The ranking upside down: the mildest condition that holds is the headline."""
    patch.setattr(headline, "RANKING", headline.RANKING[::-1])


def a_dead_leader_is_live(patch: Patch) -> None:
    """Partitions count as led while the controller has not noticed the death of their leader."""
    _ranked(patch, without_leader=lambda facts: None)


def partitions_below_minimum_are_under_replicated(patch: Patch) -> None:
    """The milder of two true statements."""
    _ranked(patch, below_minimum=lambda facts: None)


def one_more_partition_is_below_minimum(patch: Patch) -> None:
    """One partition too many is counted below min.insync.replicas."""
    original = facts.longest_first

    def fewer(head: str, *parts: str) -> ConditionWords:
        number, _, words = head.partition(" partition")
        return original(f"{int(number) + 1} partition{words}" if "below" in words else head, *parts)

    patch.setattr(cluster_conditions, "longest_first", fewer)


def internal_partitions_are_counted_silently(patch: Patch) -> None:
    """Partitions of __consumer_offsets count as partitions of the topics that users declared."""
    patch.setattr(cluster_conditions, "_counted", lambda facts, partitions: f"{len(partitions)} partitions")


def barriers_close_later(patch: Patch) -> None:
    """The barrier closes five seconds after the instant that is said."""
    original = group_conditions.group_wait

    def wait(facts: ClusterFacts, group: GroupView) -> group_conditions.GroupWait:
        return original(ClusterFacts(facts.view, facts.now_us - 5_000_000, facts.session_us), group)

    patch.setattr(group_conditions, "group_wait", wait)


def another_member_is_awaited(patch: Patch) -> None:
    """Of all awaited members the last one is told, which can act."""
    original = awaited_members.awaited_joins
    patch.setattr(group_conditions, "awaited_joins", lambda *of: original(*of)[::-1])


def a_group_held_up_is_told_twice(patch: Patch) -> None:
    """Of two groups that rebalance, the one that a member holds up is told as the one that no member holds up too."""

    def twice(facts: ClusterFacts) -> ConditionWords | None:
        found = group_conditions.rebalance_under_way(facts)
        return (group_conditions.waits_for_unable(facts) or found) if found else None

    _ranked(patch, rebalance_under_way=twice)


def every_partition_is_owned(patch: Patch) -> None:
    """The cost of a rebalance is counted without the partitions of one topic."""
    original = ClusterFacts.unowned

    def fewer(facts: ClusterFacts, group: GroupView) -> tuple[int, int]:
        unowned, total = original(facts, group)
        return max(0, unowned - 1), total

    patch.setattr(ClusterFacts, "unowned", fewer)


def a_transaction_times_out_early(patch: Patch) -> None:
    """`times out in` counts half of transaction.timeout.ms."""
    original = transactions.left_of_timeout_us
    patch.setattr(cluster_conditions, "left_of_timeout_us", lambda one, now_us: original(one, now_us) // 2)


def an_overdue_transaction_still_has_time(patch: Patch) -> None:
    """`times out in 0.0 s` after transaction.timeout.ms, until the coordinator's next check."""
    original = transactions.left_of_timeout_us
    patch.setattr(cluster_conditions, "left_of_timeout_us", lambda one, now_us: max(1, original(one, now_us)))


def a_raised_epoch_ends_the_transaction(patch: Patch) -> None:
    """A transaction holds back no reader once its epoch is raised, although its abort is not committed."""
    original = cluster_conditions._holders

    def holders(facts: ClusterFacts) -> list[tuple[PartitionView, int, TransactionView | None]]:
        return [one for one in original(facts) if one[2] is None or not one[2].fencing]

    patch.setattr(cluster_conditions, "_holders", holders)


def a_pending_fence_waits_for_the_timeout(patch: Patch) -> None:
    """`times out in …` of a transaction whose producer is fenced already."""
    original = cluster_conditions.stuck_transaction

    def patient(facts: ClusterFacts) -> ConditionWords | None:
        found = original(facts)
        forms = (form.replace("abort under way", "times out in 1.0 s") for form in found.forms) if found else ()
        return ConditionWords(tuple(forms)) if found else None

    _ranked(patch, stuck_transaction=patient)


def producers_that_stand_still_run(patch: Patch) -> None:
    """A producer with batches and without an acknowledgement is `Running`."""
    _ranked(patch, still_producer=lambda facts: None)
    patch.setattr(table, "still_us", lambda producer, now_us, limits: 0)


def the_dead_send_on(patch: Patch) -> None:
    """A producer whose process died is calm."""
    _ranked(patch, dead_producer=lambda facts: None)


def the_silent_are_not_named(patch: Patch) -> None:
    """A group with a silent member is calm."""
    patch.setattr(group_conditions, "silent_ids", lambda view, group: [])


def frozen_members_are_forgotten(patch: Patch) -> None:
    """A frozen process is calm once its group has removed the member."""
    _ranked(patch, frozen_outside=lambda facts: None)


def all_groups_are_stable(patch: Patch) -> None:
    """The calm words count empty groups as Stable."""

    def calm(view: ClusterView) -> str:
        return "all groups Stable, all partitions in sync"

    patch.setattr(headline, "calm_words", calm)


def restarts_come_later(patch: Patch) -> None:
    """A rolling restart has asked one member fewer than its schedule says."""
    original = RollingRestartView.restarted
    patch.setattr(RollingRestartView, "restarted", lambda one, now_us: original(one, now_us) - 1)


def a_rollout_is_over_at_once(patch: Patch) -> None:
    """Nothing is under way, neither in the headline nor in the table."""
    _ranked(patch, operation_under_way=lambda facts: None)


def long_pauses_are_calm(patch: Patch) -> None:
    """A member that has paused its partitions for half a minute is no exception."""
    _ranked(patch, long_pause=lambda facts: None)


def a_pause_is_told_late(patch: Patch) -> None:
    """Half a minute has passed since pause(), and the headline waits for ten seconds more."""
    patch.setattr(group_conditions, "PAUSED_US", 40_000_000)


FALSE_HEADLINES = {
    long_pauses_are_calm: ("paused-by-hand", 58),
    a_pause_is_told_late: ("paused-by-hand", 58),
    a_rebalance_outranks_a_dead_leader: ("coordinator-failover", 125),
    a_dead_leader_is_live: ("coordinator-failover", 125),
    partitions_below_minimum_are_under_replicated: ("below-min-isr", 60),
    one_more_partition_is_below_minimum: ("below-min-isr", 60),
    internal_partitions_are_counted_silently: ("below-min-isr", 60),
    barriers_close_later: ("first-flight", 40),
    another_member_is_awaited: ("eager-vs-cooperative", 45),
    a_group_held_up_is_told_twice: ("deploy-storm", 75),
    every_partition_is_owned: ("first-flight", 40),
    a_transaction_times_out_early: ("stuck-last-stable-offset", 92),
    an_overdue_transaction_still_has_time: ("stuck-last-stable-offset", 92),
    a_raised_epoch_ends_the_transaction: ("stuck-last-stable-offset", 92),
    a_pending_fence_waits_for_the_timeout: ("stuck-last-stable-offset", 92),
    producers_that_stand_still_run: ("broker-down", 90),
    the_silent_are_not_named: ("static-restart", 60),
    frozen_members_are_forgotten: ("committed-offset-moves-back", 72),
    all_groups_are_stable: ("first-flight", 40),
    restarts_come_later: ("rolling-restart-dynamic", 100),
    a_rollout_is_over_at_once: ("rolling-restart-dynamic", 100),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""
