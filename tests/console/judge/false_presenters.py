"""Presenters with one false statement each; the first ones as the console had them before the judge."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from cluster.view.brokers import BrokerView
from cluster.view.document import partition_lags
from cluster.view.rebalances import RebalanceView
from cluster.view.state import NEVER, ClusterView, GroupView, LogEntry, MemberView, ProducerView
from cluster.view.votes import AssignorVote
from console.presenters import (
    activity_lanes,
    awaited_members,
    causal_chain,
    chrome,
    coordinator_status,
    event_log,
    formatting,
    members,
    overview,
    partition_grids,
    rebalance_causes,
    rebalance_details,
    rebalance_phase,
    rebalances,
    transactions,
)
from console.presenters.producers import table as producers_table
from console.presenters.styled_text import MUTED, WARN, Line, line

Patch = pytest.MonkeyPatch
FalsePresenter = Callable[[Patch], None]
SECOND_US = formatting.SECOND_US


def heartbeats_count_through_a_join(patch: Patch) -> None:
    """W1: the next heartbeat is due an interval after the last answered one, also after a join."""

    def due_us(member: MemberView) -> int:
        return member.last_heartbeat_us + member.heartbeat_interval_ms * 1_000 if member.heartbeats else NEVER

    patch.setattr(awaited_members, "heartbeat_due_us", due_us)
    patch.setattr(members, "heartbeat_due_us", due_us)


def a_dead_coordinator_goes_on(patch: Patch) -> None:
    """W2: the leader of the group's partition coordinates it, also when it is down."""

    def found(view: ClusterView, group: GroupView) -> coordinator_status.CoordinatorStatus:
        leader = view.partitions[group.coordinator_partition].leader
        return coordinator_status.CoordinatorStatus(
            leader, coordinator_status.UP if leader >= 0 else coordinator_status.NO_LEADER
        )

    for module in (coordinator_status, rebalance_phase, overview):
        patch.setattr(module, "coordinator_status", found)
    for user in (awaited_members, rebalance_phase, members):
        patch.setattr(user, "is_up", lambda view, group: found(view, group).state == coordinator_status.UP)


def an_initial_barrier_waits_for_its_last_member(patch: Patch) -> None:
    """W3: `waited 6.0 s for cooperative-3` where group.initial.rebalance.delay.ms ran."""

    def sentence(one: RebalanceView) -> str:
        who = f" ({one.trigger})" if one.trigger else ""
        wait = f", waited {formatting.duration(one.completed_us - one.started_us)} for {last_name(one)}"
        still = f"{one.unowned} paused, {one.kept} kept" if one.unowned or one.kept else "nothing was owned before"
        return f"{one.cause}{who}: {formatting.duration(one.took_us)}{wait}; {one.moved} moved, {still}"

    patch.setattr(rebalance_causes, "summary", sentence)


def last_name(one: RebalanceView) -> str:
    """The name of the member that joined last."""
    return list(one.arrivals)[-1] if one.arrivals else one.leader


def details_name_the_last_member_of_an_initial_barrier(patch: Patch) -> None:
    """W3 in the details of a rebalance."""
    ended = rebalance_details._ended_by

    def ended_by(one: RebalanceView) -> Line:
        if not one.initial:
            return ended(one)
        opened = formatting.duration(one.completed_us - one.started_us)
        return line("  ", last_name(one), f" joined last and closed the barrier, {opened} after it was opened")

    patch.setattr(rebalance_details, "_ended_by", ended_by)


def a_remedy_is_a_constant(patch: Patch) -> None:
    """W4: how to avoid it, by cause alone."""
    original = rebalance_details.details_lines

    def advised(view: ClusterView, group: GroupView, key: str, width: int) -> list[Line]:
        return [*original(view, group, key, width), (), line("how to avoid it"), line("  Start them together.")]

    patch.setattr("tests.console.judge.bench.details_lines", advised)


def details_end_before_the_rebalance(patch: Patch) -> None:
    """W5: `from … to …` stops at Stable, the duration beside it does not."""
    original = rebalance_details._cause

    def cause(view: ClusterView, one: RebalanceView, width: int) -> list[Line]:
        over, stable = formatting.clock(one.started_us + one.took_us, 3), formatting.clock(one.stable_us, 3)
        return [
            tuple((text.replace(f"to {over}", f"to {stable}"), tone) for text, tone in row)
            for row in original(view, one, width)
        ]

    patch.setattr(rebalance_details, "_cause", cause)


def who_left_joined_last(patch: Patch) -> None:
    """W5: `cooperative-10 joined last`, whose LeaveGroup closed the barrier."""
    patch.setattr(rebalance_causes, "joined_last", lambda one: True)


def the_first_cause_is_left_out(patch: Patch) -> None:
    """W5: the chain lacks the faults of the awaited member before the rebalance."""
    original = causal_chain.causal_chain

    def shortened(view: ClusterView, group: GroupView, one: RebalanceView) -> list[LogEntry]:
        return [noted for noted in original(view, group, one) if noted.at_us >= one.started_us]

    patch.setattr(rebalance_details, "causal_chain", shortened)


def a_blocking_member_is_left_out(patch: Patch) -> None:
    """The first member that does not offer an assignor is not named."""
    original = AssignorVote.blocked.fget  # type: ignore[attr-defined]
    patch.setattr(
        AssignorVote,
        "blocked",
        property(lambda vote: {name: rest[1:] or rest for name, rest in original(vote).items()}),
    )


def a_hanging_transaction_is_merely_long(patch: Patch) -> None:
    """What no coordinator will end is shown in the state of its transactional id."""
    patch.setattr(transactions, "is_hanging", lambda one, partition: False)


def durations_are_rounded(patch: Patch) -> None:
    """W6: rounded below ten seconds, cut above, minutes up to a hundred."""

    def duration(us: float) -> str:
        if us < 50_000:
            return f"{us / 1_000:.0f} ms" if us else "0 s"
        if us < 9_950_000:
            return f"{us / SECOND_US:.1f} s"
        seconds = int(us / SECOND_US)
        return f"{seconds} s" if seconds < 100 else f"{seconds // 60}:{seconds % 60:02}"

    for module in (
        formatting,
        rebalance_phase,
        awaited_members,
        members,
        overview,
        rebalance_causes,
        rebalance_details,
        rebalances,
    ):
        patch.setattr(module, "duration", duration)


def the_last_minute_is_some_seconds(patch: Patch) -> None:
    """W7: the newest seconds, as many as there are cells."""
    patch.setattr(overview, "last_minute", lambda series, width: formatting.spark(series.values, width))


def lag_arrows_are_noise(patch: Patch) -> None:
    """W8: now against ten seconds ago, amber at once."""

    def trend(group: GroupView, lag: int) -> tuple[str, str]:
        del lag
        values = group.lag_series.values[-10:]
        if len(values) < 2:
            return "", MUTED
        change = values[-1] - values[0]
        if abs(change) <= max(10, values[0] // 20):
            return "→", MUTED
        return ("↗", WARN) if change > 0 else ("↘", MUTED)

    patch.setattr(overview, "lag_trend", trend)


def new_leaders_are_counted_by_half(patch: Patch) -> None:
    """A row of new leaders counts some of them."""
    original = event_log._counted
    patch.setattr(event_log, "_counted", lambda elected: original(elected[::2]))


def a_row_holds_entries_of_other_partitions(patch: Patch) -> None:
    """What a row unfolds to are elections that there were not."""
    original = event_log._counted

    def counted(elected: Sequence[LogEntry]) -> event_log.MergedEntry:
        wrong = [msgspec.structs.replace(one, text=one.text.replace("→", "→ 1")) for one in elected]
        return original(elected)._replace(parts=wrong)

    patch.setattr(event_log, "_counted", counted)


def a_row_of_several_subjects_counts_one_more(patch: Patch) -> None:
    """What a row of several members stands for is one entry too many."""
    original = event_log.merged

    def merged(entries: Sequence[LogEntry]) -> list[event_log.MergedEntry]:
        rows = original(entries)
        return [row._replace(parts=[*row.parts, row.parts[0]]) if ", " in row.entry.text else row for row in rows]

    patch.setattr(event_log, "merged", merged)


def a_row_leaves_its_last_entry_out(patch: Patch) -> None:
    """What a row stands for is one entry too few."""
    original = event_log.merged

    def merged(entries: Sequence[LogEntry]) -> list[event_log.MergedEntry]:
        rows = original(entries)
        return [row._replace(parts=row.parts[:-1]) if not row.entry.elected_for else row for row in rows]

    patch.setattr(event_log, "merged", merged)


def a_lag_of_nothing_rises(patch: Patch) -> None:
    """A group that has just caught up keeps the arrow of its last half minute."""
    original = overview.lag_trend
    patch.setattr(overview, "lag_trend", lambda group, lag: original(group, max(1, lag)))


def the_dead_are_counted_with_the_living(patch: Patch) -> None:
    """W9: `5 members own 9 of 12`, one of them dead."""
    patch.setattr(rebalance_phase, "silent_ids", lambda view, group: [])
    patch.setattr(overview, "silent_ids", lambda view, group: [])


def plurals_do_not_agree(patch: Patch) -> None:
    """W9: `1 members`."""
    patch.setattr(rebalance_phase, "members_words", lambda number: f"{number} members")


def internal_partitions_are_counted_in_silence(patch: Patch) -> None:
    """W9: what a broker leads, __consumer_offsets included."""
    original = overview.BrokersListing.__init__

    def made(self: overview.BrokersListing, view: ClusterView, width: int) -> None:
        original(self, view, width)
        self.leads = {broker: number + self.internal[broker] for broker, number in self.leads.items()}

    patch.setattr(overview.BrokersListing, "__init__", made)


def lanes_lag_behind(patch: Patch) -> None:
    """The poll lane shows the minute before the last ten seconds."""
    original = activity_lanes.poll_lane
    patch.setattr(members, "poll_lane", lambda member, now_us, width: original(member, now_us - 10 * SECOND_US, width))


def all_processing_is_late(patch: Patch) -> None:
    """V8: ordinary processing is amber."""
    patch.setattr(activity_lanes, "LATE_SHARE", 1_000)


def a_member_has_the_lag_of_its_commits(patch: Patch) -> None:
    """What a member has yet to read is counted from committed offsets, as the lag of its group is."""

    def behind(view: ClusterView, member: MemberView) -> int:
        lags = partition_lags(view, view.groups[member.group])
        return sum(lags[name] for name in member.positions)

    patch.setattr(members, "member_lag", behind)


def heartbeats_are_drawn_elsewhere(patch: Patch) -> None:
    """The heartbeat lane is four seconds late."""
    original = activity_lanes.heartbeat_lane

    def late(member: MemberView, beats: Sequence[Any], now_us: int, width: int) -> Line:
        return original(member, beats, now_us + 4 * SECOND_US, width)

    patch.setattr(members, "heartbeat_lane", late)


def sessions_end_at_the_polls_limit(patch: Patch) -> None:
    """A session's bar and number count against max.poll.interval.ms."""
    original = members._drain
    patch.setattr(members, "_drain", lambda left_us, limit_us: original(limit_us - left_us, limit_us))


def polls_are_counted_from_the_heartbeat(patch: Patch) -> None:
    """The poll clock starts with the last heartbeat."""

    def age_us(member: MemberView, now_us: int) -> int:
        return max(0, now_us - member.last_heartbeat_us) if member.last_heartbeat_us != NEVER else 0

    patch.setattr(members, "poll_age_us", age_us)


def only_the_first_awaited_member_is_shown(patch: Patch) -> None:
    """The phase bar shows only the first awaited member."""
    original = awaited_members.awaited_joins
    patch.setattr(rebalance_phase, "awaited_joins", lambda view, group, now_us: original(view, group, now_us)[:1])


def topics_are_always_in_sync(patch: Patch) -> None:
    """The health of every topic is good."""
    patch.setattr(partition_grids, "topic_health", lambda view, topic, now_us: line("● all in sync"))


def no_transaction_holds_a_topic_back(patch: Patch) -> None:
    """No partition waits for a transaction."""
    patch.setattr(partition_grids, "is_stuck", lambda view, partition, now_us: False)


def dead_brokers_are_up(patch: Patch) -> None:
    """A broker that the controller has not fenced yet is up."""

    def state(broker: BrokerView) -> str:
        return "down" if broker.fenced else "up"

    patch.setattr(overview, "broker_state", state)
    patch.setattr(chrome, "broker_state", state)


def faults_leave_no_mark(patch: Patch) -> None:
    """The strip draws everything but faults."""
    marks = {kind: mark for kind, mark in event_log.MARKS.items() if kind != "fault"}
    patch.setattr(chrome, "MARKS", {**marks, "fault": ("─", MUTED, 9)})


def events_name_another_generation(patch: Patch) -> None:
    """`is Stable in generation 3` of the second one."""
    original = event_log.entry_line

    def changed(noted: LogEntry) -> Line:
        return tuple((text.replace("generation 1", "generation 2"), tone) for text, tone in original(noted))

    patch.setattr(event_log, "entry_line", changed)


def a_process_ends_by_another_command(patch: Patch) -> None:
    """The end of a process is told with the command that ended another one."""
    original = event_log._with_command

    def with_command(ended: LogEntry, command: LogEntry) -> LogEntry:
        found = original(ended, command)
        found.text = found.text.replace(f"{ended.subject})", "broker-1)")
        return found

    patch.setattr(event_log, "_with_command", with_command)


def rates_are_totals(patch: Patch) -> None:
    """Acknowledged a second: those of all seconds together."""

    def rates(producer: ProducerView, now_us: int) -> list[int]:
        return [producer.acked] if producer.acked_series.values else []

    patch.setattr(producers_table, "acked_rates", rates)


def the_nearest_limit_is_of_a_former_member(patch: Patch) -> None:
    """`poll() is due within 0.0 s` of a member that max.poll.interval.ms took out of its group."""
    original = rebalance_phase._nearest_limit

    def nearest(view: ClusterView, group: GroupView, now_us: int) -> Line:
        for member in awaited_members.members_of(view, group.group):
            if member.alive and member.member not in group.members.values() and member.removed_for:
                left = formatting.countdown(member.last_poll_us + member.max_poll_interval_ms * 1_000 - now_us)
                said = f"    nearest limit: {member.member} poll() is due within {left} (max.poll.interval.ms)"
                return line((said, MUTED))
        return original(view, group, now_us)

    patch.setattr(rebalance_phase, "_nearest_limit", nearest)


FALSE_PRESENTERS: dict[FalsePresenter, tuple[str, int]] = {
    a_process_ends_by_another_command: ("broker-down", 90),
    heartbeats_count_through_a_join: ("eager-vs-cooperative", 45),
    a_dead_coordinator_goes_on: ("coordinator-failover", 125),
    an_initial_barrier_waits_for_its_last_member: ("first-flight", 40),
    details_name_the_last_member_of_an_initial_barrier: ("first-flight", 40),
    a_remedy_is_a_constant: ("first-flight", 40),
    details_end_before_the_rebalance: ("eager-vs-cooperative", 45),
    who_left_joined_last: ("deploy-storm", 75),
    the_first_cause_is_left_out: ("first-flight", 40),
    a_blocking_member_is_left_out: ("assignor-upgrade", 30),
    a_hanging_transaction_is_merely_long: ("hanging-transaction", 80),
    durations_are_rounded: ("first-flight", 40),
    the_last_minute_is_some_seconds: ("coordinator-failover", 125),
    lag_arrows_are_noise: ("coordinator-failover", 125),
    new_leaders_are_counted_by_half: ("coordinator-failover", 125),
    a_row_of_several_subjects_counts_one_more: ("coordinator-failover", 125),
    a_row_leaves_its_last_entry_out: ("coordinator-failover", 125),
    a_row_holds_entries_of_other_partitions: ("coordinator-failover", 125),
    a_lag_of_nothing_rises: ("offset-reset", 40),
    the_dead_are_counted_with_the_living: ("static-restart", 60),
    plurals_do_not_agree: ("first-flight", 40),
    internal_partitions_are_counted_in_silence: ("first-flight", 40),
    lanes_lag_behind: ("first-flight", 40),
    all_processing_is_late: ("deploy-storm", 75),
    a_member_has_the_lag_of_its_commits: ("first-flight", 40),
    heartbeats_are_drawn_elsewhere: ("first-flight", 40),
    sessions_end_at_the_polls_limit: ("first-flight", 40),
    polls_are_counted_from_the_heartbeat: ("first-flight", 40),
    only_the_first_awaited_member_is_shown: ("eager-vs-cooperative", 45),
    topics_are_always_in_sync: ("coordinator-failover", 125),
    no_transaction_holds_a_topic_back: ("stuck-last-stable-offset", 75),
    dead_brokers_are_up: ("coordinator-failover", 125),
    faults_leave_no_mark: ("first-flight", 40),
    events_name_another_generation: ("first-flight", 40),
    the_nearest_limit_is_of_a_former_member: ("poll-too-slow", 340),
    rates_are_totals: ("first-flight", 40),
}
"""Each false presenter with a flight that shows it: scenario of the library, seconds of it."""
