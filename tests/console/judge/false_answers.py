"""Answers of `why?` with one false statement each."""

from collections.abc import Callable

import pytest

from cluster.view.state import MemberView
from console.presenters import formatting
from console.presenters.exceptions import facts
from console.presenters.why import (
    brokers,
    groups,
    lags,
    members,
    partitions,
    paused,
    producers,
    questions,
    transactions,
)
from console.presenters.why.answers import Question, WhyFact, WhyFacts

Patch = pytest.MonkeyPatch


def a_barrier_closes_later(patch: Patch) -> None:
    """The timer that ends the wait has five seconds more."""
    original = formatting.countdown
    patch.setattr(groups, "countdown", lambda us: original(us + 5_000_000))


def one_member_fewer_is_awaited(patch: Patch) -> None:
    """Of several awaited members one is left out."""
    original = facts.and_more
    patch.setattr(groups, "and_more", lambda names, of="": original(names[: max(1, len(names) - 1)], of))


def a_rebalance_began_later(patch: Patch) -> None:
    """Facts of the group link to an instant one second late."""
    patch.setattr(groups, "WhyFact", lambda at_us, text: WhyFact(at_us + 1_000_000, text))


def a_line_of_the_log_is_older(patch: Patch) -> None:
    """Lines of the event log link to an instant late."""
    original = WhyFacts.last

    def last(known: WhyFacts, subject: str, *events: str) -> tuple[WhyFact, ...]:
        return tuple(fact._replace(at_us=fact.at_us + 1_500_000) for fact in original(known, subject, *events))

    patch.setattr(WhyFacts, "last", last)


def silent_members_are_calm(patch: Patch) -> None:
    """A group whose member ended without LeaveGroup goes on."""
    patch.setattr(groups, "silent_ids", lambda view, group: [])


def a_member_was_removed_for_another_reason(patch: Patch) -> None:
    """The coordinator's decision and the client's are exchanged."""
    left, expired = members.DECIDED["member left"], members.DECIDED["session expired"]
    patch.setitem(members.DECIDED, "member left", expired)
    patch.setitem(members.DECIDED, "session expired", left)


def a_broker_is_fenced_later(patch: Patch) -> None:
    """The session of a dead broker has two seconds more."""
    original = formatting.countdown
    patch.setattr(brokers, "countdown", lambda us: original(us + 2_000_000))


def an_under_replicated_partition_is_calm(patch: Patch) -> None:
    """A replica out of sync is forgotten."""
    asked = tuple(one for one in partitions.PARTITION_QUESTIONS if one is not partitions.under_replicated)
    patch.setitem(questions.QUESTIONS, "partition", questions.QUESTIONS["partition"]._replace(asked=asked))


def a_member_that_waits_for_another_is_calm(patch: Patch) -> None:
    """A member that has joined is not told whom the group waits for."""
    asked = tuple(one for one in questions.QUESTIONS["member"].asked if one is not members.group_rebalances)
    patch.setitem(questions.QUESTIONS, "member", questions.QUESTIONS["member"]._replace(asked=asked))


def a_broker_out_of_sync_is_calm(patch: Patch) -> None:
    """A broker that runs again is in sync at once."""
    asked = tuple(one for one in questions.QUESTIONS["broker"].asked if one is not brokers.out_of_sync)
    patch.setitem(questions.QUESTIONS, "broker", questions.QUESTIONS["broker"]._replace(asked=asked))


def unread_partitions_are_calm(patch: Patch) -> None:
    """A partition without an owner is read."""
    asked = tuple(one for one in partitions.PARTITION_QUESTIONS if one is not partitions.not_consumed)
    patch.setitem(questions.QUESTIONS, "partition", questions.QUESTIONS["partition"]._replace(asked=asked))


def a_batch_expires_later(patch: Patch) -> None:
    """delivery.timeout.ms has three seconds more."""
    original = formatting.countdown
    patch.setattr(producers, "countdown", lambda us: original(us + 3_000_000))


def failed_records_are_calm(patch: Patch) -> None:
    """Records that were given up are forgotten."""
    asked = tuple(one for one in questions.QUESTIONS["producer"].asked if one is not producers.records_failed)
    patch.setitem(questions.QUESTIONS, "producer", questions.QUESTIONS["producer"]._replace(asked=asked))


def a_producer_that_holds_readers_back_is_calm(patch: Patch) -> None:
    """A running producer whose abandoned transaction holds the last stable offset back is well."""
    asked = tuple(one for one in questions.QUESTIONS["producer"].asked if one is not producers.holds_readers_back)
    patch.setitem(questions.QUESTIONS, "producer", questions.QUESTIONS["producer"]._replace(asked=asked))


def a_transaction_is_younger(patch: Patch) -> None:
    """A transaction is open for a second less."""
    original = formatting.duration
    patch.setattr(transactions, "duration", lambda us: original(max(0, us - 1_000_000)))


def refused_epochs_are_calm(patch: Patch) -> None:
    """Requests of a fenced producer were accepted."""
    asked = tuple(one for one in questions.QUESTIONS["transaction"].asked if one is not transactions.requests_refused)
    patch.setitem(questions.QUESTIONS, "transaction", questions.QUESTIONS["transaction"]._replace(asked=asked))


def groups_held_back_are_calm(patch: Patch) -> None:
    """A group reads on below a last stable offset that is stuck."""
    asked = tuple(one for one in questions.QUESTIONS["group"].asked if one is not partitions.readers_held_back)
    patch.setitem(questions.QUESTIONS, "group", questions.QUESTIONS["group"]._replace(asked=asked))


def a_stalled_reader_is_calm(patch: Patch) -> None:
    """A group goes on although a member that is stalled owns partitions with lag."""
    asked = tuple(one for one in questions.QUESTIONS["group"].asked if one is not lags.reader_stands_still)
    patch.setitem(questions.QUESTIONS, "group", questions.QUESTIONS["group"]._replace(asked=asked))


def _without(patch: Patch, kind: str, question: Question) -> None:
    asked = tuple(one for one in questions.QUESTIONS[kind].asked if one is not question)
    patch.setitem(questions.QUESTIONS, kind, questions.QUESTIONS[kind]._replace(asked=asked))


def a_member_without_coordinator_is_calm(patch: Patch) -> None:
    """A member goes on although its coordinator is down."""
    _without(patch, "member", members.coordinator_away)


def a_late_heartbeat_is_calm(patch: Patch) -> None:
    """A member goes on although its heartbeat is not answered."""
    _without(patch, "member", members.heartbeat_late)


def a_member_at_dead_leaders_is_calm(patch: Patch) -> None:
    """A member goes on although it owns partitions whose leader is dead."""
    _without(patch, "member", members.owned_leaders_away)


def a_group_at_dead_leaders_is_calm(patch: Patch) -> None:
    """A group goes on although partitions of its topics are led by a dead broker."""
    _without(patch, "group", partitions.group_leaders_away)


def a_stall_has_no_end(patch: Patch) -> None:
    """The end of the fault that stalls a member is left out."""
    patch.setattr(members, "fault_ends", lambda facts, name, *timers: "; ".join(timers))


def a_lag_behind_a_stall_has_no_end(patch: Patch) -> None:
    """The end of the fault that stalls the member with the lag is left out."""
    patch.setattr(lags, "fault_ends", lambda *_: "")


def an_evicted_member_is_calm(patch: Patch) -> None:
    """A group goes on although a running member was removed from it."""
    _without(patch, "group", members.group_lost_a_member)


def most_of_a_lag_is_on_the_partition_with_least(patch: Patch) -> None:
    """The partition that is named has least of the lag."""
    patch.setattr(lags, "max", lambda lag, key, default=None: min(lag, key=key, default=default), raising=False)


def a_member_with_paused_partitions_is_calm(patch: Patch) -> None:
    """A member reads on although it called pause() for all its partitions."""
    _without(patch, "member", paused.partitions_paused)


def a_lag_on_paused_partitions_has_no_cause(patch: Patch) -> None:
    """A group's lag is on a partition, and no member is said to have paused it."""
    patch.setattr(lags, "why_unread", _unless_paused(paused.why_unread))


def a_paused_partition_is_read(patch: Patch) -> None:
    """A partition goes on although its owner called pause() for it."""
    patch.setattr(partitions, "why_unread", _unless_paused(paused.why_unread))


def _unless_paused(why_unread: Callable[[MemberView, str], paused.Unread | None]) -> Callable[..., object]:
    def reads(member: MemberView, partition: str) -> paused.Unread | None:
        reason = why_unread(member, partition)
        return None if reason is not None and reason.words == paused.PAUSED else reason

    return reads


def pause_was_called_later(patch: Patch) -> None:
    """The fact that a member called pause() leads to another instant."""
    pause_of = paused._pause_of

    def later(member: MemberView, partition: str) -> WhyFact:
        fact = pause_of(member, partition)
        return fact._replace(at_us=fact.at_us + 7_000)

    patch.setattr(paused, "_pause_of", later)


FALSE_ANSWERS = {
    a_member_with_paused_partitions_is_calm: ("paused-by-hand", 30),
    a_lag_on_paused_partitions_has_no_cause: ("paused-by-hand", 30),
    a_paused_partition_is_read: ("paused-by-hand", 30),
    pause_was_called_later: ("paused-by-hand", 30),
    a_stall_has_no_end: ("first-flight", 40),
    a_lag_behind_a_stall_has_no_end: ("first-flight", 40),
    a_member_without_coordinator_is_calm: ("coordinator-failover", 125),
    a_late_heartbeat_is_calm: ("coordinator-failover", 125),
    a_member_at_dead_leaders_is_calm: ("coordinator-failover", 125),
    a_group_at_dead_leaders_is_calm: ("coordinator-failover", 125),
    an_evicted_member_is_calm: ("poll-too-slow", 340),
    a_stalled_reader_is_calm: ("first-flight", 75),
    most_of_a_lag_is_on_the_partition_with_least: ("first-flight", 40),
    groups_held_back_are_calm: ("stuck-last-stable-offset", 75),
    a_batch_expires_later: ("below-min-isr", 60),
    failed_records_are_calm: ("zombie-producer", 60),
    a_producer_that_holds_readers_back_is_calm: ("stuck-last-stable-offset", 75),
    a_transaction_is_younger: ("stuck-last-stable-offset", 60),
    refused_epochs_are_calm: ("zombie-producer", 60),
    a_broker_is_fenced_later: ("coordinator-failover", 125),
    an_under_replicated_partition_is_calm: ("coordinator-failover", 125),
    a_member_that_waits_for_another_is_calm: ("first-flight", 40),
    a_broker_out_of_sync_is_calm: ("coordinator-failover", 125),
    unread_partitions_are_calm: ("first-flight", 40),
    a_barrier_closes_later: ("first-flight", 40),
    one_member_fewer_is_awaited: ("first-flight", 40),
    a_rebalance_began_later: ("first-flight", 40),
    a_line_of_the_log_is_older: ("static-restart", 60),
    silent_members_are_calm: ("static-restart", 60),
    a_member_was_removed_for_another_reason: ("static-restart", 110),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""
