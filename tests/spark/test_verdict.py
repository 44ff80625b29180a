"""A verdict that follows from the numbers of a report: its headline and its sentences."""

import msgspec
import pytest

from recordings.spark import report_model as data
from recordings.spark.analyses.membership import MemberReport
from recordings.spark.analyses.replication import ReplicaChanges
from recordings.spark.report_cluster_model import Availability, LogLoss, Outage
from recordings.spark.report_model import Storm
from recordings.spark.verdict import verdict
from tests.support.spark.report_samples import (
    CALM,
    GROUP,
    PRODUCER,
    REBALANCE,
    SECOND_US,
    with_incidents,
)

replace = msgspec.structs.replace


OLDEST = "its oldest uncommitted record is 41 s old."
UNOWNED = "12 partitions × 11 s without an owner"


def test_a_calm_flight_is_called_calm() -> None:
    judged = verdict(CALM)
    assert judged.level == "calm"
    assert judged.headline.startswith("Calm: ")
    assert judged.sentences == ["1,000 records produced, 1,000 acknowledged, none of them lost."]


def test_trouble_is_told_with_its_cause_its_cost_and_its_end() -> None:
    judged = verdict(with_incidents())
    assert judged.level == "eventful"
    assert judged.headline == (
        "No acknowledged record is lost; billing up to 41 s behind; billing rebalances once;"
        " 13 records processed again."
    )
    assert judged.sentences[1:] == [
        f"billing is furthest behind at 0:32: {OLDEST}",
        "The lag of billing peaks at 500 records at 0:30.",
        "Faults in force meanwhile: “kill billing-2” at 0:10.",
        "billing catches up by 0:48.",
        "billing rebalances once after its start (session expired).",
        f"billing leaves {UNOWNED} and re-reads 13 records.",
        "The costliest rebalance begins at 0:30, because the session of billing-2 expires.",
        "Before it begins, 3 partitions × 44 s have no owner.",
        "Its join barrier waits longest for billing-1 (1 s).",
    ]


def test_lost_and_disordered_records_come_first() -> None:
    totals = replace(CALM.totals, lost=7, out_of_order_keys=1)
    group = replace(CALM.groups[0], lost=7)
    judged = verdict(replace(CALM, totals=totals, groups=[group]))
    assert judged.level == "harm"
    assert judged.headline == "Data loss: 7 acknowledged records lost and 1 key processed out of order."
    assert "7 of them lost by billing" in judged.sentences[0]
    disordered = verdict(replace(CALM, totals=replace(CALM.totals, out_of_order_keys=2)))
    assert disordered.headline == "Order broken: 2 keys processed out of order."


def test_what_a_log_lost_is_data_loss_although_every_group_had_processed_it() -> None:
    """As after an unclean election: no group lacks a record, and no replica's log holds it any more."""
    group = replace(CALM.groups[0], delivered_then_lost=300)
    judged = verdict(replace(CALM, log_losses=[LogLoss(topic="orders", records=300)], groups=[group]))
    assert judged.level == "harm"
    assert judged.headline == "Data loss: 300 acknowledged records lost from the log."
    assert judged.sentences == [
        "1,000 records produced, 1,000 acknowledged, 300 of them lost from the log.",
        "Topic orders loses 300 acknowledged records: no replica's log holds them any more.",
        "billing has processed 300 acknowledged records that no replica's log holds any more.",
    ]


def test_what_a_log_lost_is_told_also_where_no_group_reads_it() -> None:
    judged = verdict(replace(CALM, log_losses=[LogLoss(topic="orders", records=1)], groups=[]))
    assert judged.headline == "Data loss: 1 acknowledged record lost from the log."
    assert judged.sentences[1:] == ["Topic orders loses 1 acknowledged record: no replica's log holds it any more."]


@pytest.mark.parametrize(
    ("losing", "words"),
    [([7], "7 lost by billing-0"), ([7, 5], "12 lost by 2 groups in all")],
)
def test_losses_of_the_log_and_of_groups_are_told_apart(losing: list[int], words: str) -> None:
    groups = [replace(CALM.groups[0], group=f"billing-{n}", lost=lost) for n, lost in enumerate(losing)]
    totals = replace(CALM.totals, lost=sum(losing))
    judged = verdict(replace(CALM, log_losses=[LogLoss(topic="orders", records=9)], totals=totals, groups=groups))
    assert judged.headline == f"Data loss: 9 acknowledged records lost from the log and {words}."
    assert judged.sentences[2:] == [
        f"billing-{n} loses {lost} acknowledged records that it never processes." for n, lost in enumerate(losing)
    ]


def test_several_groups_that_lose_records_have_a_sentence_each() -> None:
    groups = [replace(CALM.groups[0], group=f"group-{n}", lost=n) for n in (1, 2)]
    judged = verdict(replace(CALM, totals=replace(CALM.totals, lost=3), groups=groups))
    assert judged.headline == "Data loss: 3 acknowledged records lost by 2 groups in all."
    assert judged.sentences == [
        "1,000 records produced, 1,000 acknowledged.",
        "group-1 loses 1 acknowledged record that it never processes.",
        "group-2 loses 2 acknowledged records that it never processes.",
    ]


def test_a_flight_in_which_sends_failed_is_never_calm() -> None:
    failing = replace(
        PRODUCER, failed=6, failures={"NETWORK_EXCEPTION": 6}, retried={"NOT_ENOUGH_REPLICAS": 2}, retries=2
    )
    judged = verdict(replace(CALM, producers=[failing]))
    assert judged.level == "eventful"
    assert judged.headline == "No acknowledged record is lost; 6 records fail to send."
    assert judged.sentences[1:] == [
        "checkout-1 fails to send 6 records (NETWORK_EXCEPTION).",
        "Batches fail with retriable errors twice: NOT_ENOUGH_REPLICAS twice.",
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_the_errors_of_a_producer_stand_worst_first_whatever_the_order_of_a_map(turned: bool) -> None:
    errors = {"NETWORK_EXCEPTION": 1, "REQUEST_TIMED_OUT": 5, "NOT_ENOUGH_REPLICAS": 1}
    counts = dict(reversed(errors.items())) if turned else errors
    failing = replace(PRODUCER, failed=7, failures=counts, retried=counts, retries=7)
    judged = verdict(replace(CALM, producers=[failing]))
    assert judged.sentences[1:] == [
        "checkout-1 fails to send 7 records (REQUEST_TIMED_OUT, NETWORK_EXCEPTION and NOT_ENOUGH_REPLICAS).",
        (
            "Batches fail with retriable errors 7 times:"
            " REQUEST_TIMED_OUT 5 times, NETWORK_EXCEPTION once and NOT_ENOUGH_REPLICAS once."
        ),
    ]


def test_a_fenced_producer_is_named() -> None:
    judged = verdict(replace(CALM, producers=[replace(PRODUCER, fenced=1)]))
    assert judged.level == "eventful"
    assert judged.headline == "No acknowledged record is lost; checkout-1 fenced."
    assert "checkout-1 is fenced." in judged.sentences


def test_what_brokers_suffered_is_told() -> None:
    topic = Availability(
        topic="orders",
        without_leader=4,
        without_leader_us=36 * SECOND_US,
        longest_without_leader_us=9 * SECOND_US,
        below_min_isr=1,
        below_min_isr_us=42 * SECOND_US,
        longest_below_min_isr_us=42 * SECOND_US,
    )
    outage = Outage(broker=2, how="kill", from_us=0, until_us=30 * SECOND_US)
    judged = verdict(replace(CALM, outages=[outage], availability=[topic]))
    assert judged.level == "eventful"
    assert judged.headline == (
        "No acknowledged record is lost; 4 partitions without a live leader for up to 9 s;"
        " 1 partition below min.insync.replicas."
    )
    assert judged.sentences[1:] == [
        "broker-2 is down for 30 s.",
        "orders has no live leader: 4 partitions × 9 s, at worst 9 s.",
        "orders is below min.insync.replicas: 1 partition × 42 s; leaders refuse acks=all meanwhile.",
    ]
    assert verdict(replace(CALM, outages=[outage])).headline.endswith("; broker-2 down.")
    frozen = replace(outage, broker=3, how="pause")
    assert verdict(replace(CALM, outages=[frozen])).sentences[1] == "broker-3 is frozen for 30 s."
    again = replace(outage, from_us=40 * SECOND_US, until_us=45 * SECOND_US)
    several = verdict(replace(CALM, outages=[outage, frozen, replace(outage, broker=1), again]))
    assert several.sentences[1] == "broker-1 is down for 30 s, broker-2 for 35 s and broker-3 is frozen for 30 s."
    assert several.headline.endswith("; broker-1 and broker-2 down and broker-3 frozen.")


def test_elections_and_in_sync_replicas_are_told_with_their_reasons() -> None:
    rows = [
        ReplicaChanges(topic="orders", elections={"unclean": 1}, shrinks=3, expands=2, fewest_in_sync=1),
        ReplicaChanges(topic="safe", elections={"broker fenced": 2}, shrinks=0, expands=0, fewest_in_sync=3),
    ]
    judged = verdict(replace(CALM, replication=rows))
    assert judged.headline == "No acknowledged record is lost; the controller elects 3 leaders."
    assert judged.sentences[1:] == [
        "The controller elects 3 leaders in orders and safe (broker fenced twice and unclean once).",
        "The in-sync replicas of orders shrink 3 times and grow twice.",
    ]
    lasting = [replace(rows[0], elections={}, expands=0)]
    assert verdict(replace(CALM, replication=lasting)).sentences[1:] == [
        "The in-sync replicas of orders shrink 3 times and never grow again."
    ]


def crashing(name: str, reasons: dict[str, int]) -> MemberReport:
    """A member of billing whose process crashed."""
    return MemberReport(
        group="billing",
        member=name,
        starts=1,
        stops={"crash": sum(reasons.values())},
        removals={},
        crashes=reasons,
        down_us=0,
        longest_down_us=0,
        down_at_end=False,
        frozen_us=0,
    )


def test_members_that_crash_are_told_with_the_reason() -> None:
    poison = "poison record: key 0 in orders-2 at offset 128"
    judged = verdict(replace(CALM, membership=[crashing("billing-3", {poison: 4})]))
    assert judged.headline == "No acknowledged record is lost; billing-3 crashes 4 times."
    assert judged.sentences[1:] == [f"billing-3 crashes 4 times ({poison})."]
    errors = {"OffsetOutOfRangeException: position 100": 1, "OffsetOutOfRangeException: position 7": 1, poison: 1}
    many = [crashing(f"billing-{n}", errors) for n in range(1, 6)]
    told = verdict(replace(CALM, membership=many))
    assert told.headline.endswith("; billing-1, billing-2, billing-3 and 2 more crash 15 times.")
    assert told.sentences[1] == "billing-1 crashes 3 times (OffsetOutOfRangeException, and 1 other reason)."
    assert told.sentences[-1] == "2 more members of billing crash."


def test_a_headline_has_as_many_facts_as_it_has_words_for() -> None:
    groups = [replace(GROUP, group=f"billing-{n}", rebalances=1) for n in range(2)]
    away = replace(REBALANCE, after_partition_us=30 * SECOND_US, after_partitions=3)
    flight = replace(with_incidents(), groups=[*with_incidents().groups, *groups], rebalances=[away])
    said = verdict(flight).headline
    assert said == "No acknowledged record is lost; billing up to 41 s behind; 3 groups rebalance 3 times."
    assert any("unowned without a rebalance" in each for each in verdict(flight).sentences)


def test_join_barriers_are_told_apart_from_the_rebalances_that_they_end() -> None:
    group = replace(GROUP, rebalances=7)
    two = [replace(REBALANCE, rebalance=n) for n in (2, 3)]
    told = verdict(replace(CALM, groups=[group], rebalances=two)).sentences
    assert "billing completes 7 join barriers after its start, in 2 rebalances (session expired twice)." in told


def test_what_has_no_owner_at_the_end_is_not_denied_before() -> None:
    group = replace(GROUP, rebalances=1, unowned_at_end_us=5 * SECOND_US)
    told = verdict(replace(CALM, groups=[group], rebalances=[REBALANCE])).sentences
    assert not any("no partition" in each for each in told)
    kept = verdict(replace(CALM, groups=[replace(group, unowned_at_end_us=0)], rebalances=[REBALANCE])).sentences
    assert "billing leaves no partition without an owner." in kept


def test_partitions_that_wait_for_a_static_member_are_told() -> None:
    away = replace(REBALANCE, initial=True, rebalance=1, after_partition_us=30 * SECOND_US, after_partitions=3)
    judged = verdict(replace(CALM, rebalances=[replace(away, orphaned_partition_us=0, stopped_partition_us=0)]))
    assert judged.level == "eventful"
    assert judged.headline == (
        "No acknowledged record is lost; billing leaves 3 partitions × 10 s unowned without a rebalance."
    )
    assert (
        "billing leaves 3 partitions × 10 s unowned without a rebalance: a static member is away." in judged.sentences
    )


def test_damage_storms_and_orphans_are_told() -> None:
    storm = Storm(
        group="billing",
        from_us=SECOND_US,
        until_us=31 * SECOND_US,
        rebalances=4,
        causes=["member joined"] * 4,
        stopped_partition_us=0,
        reread=0,
    )
    broken = replace(CALM.reconciliation, equal=False, missing_events=2)
    group = replace(CALM.groups[0], unowned_at_end_us=5 * SECOND_US)
    flight = replace(CALM, complete=False, storms=[storm], reconciliation=broken, groups=[group])
    told = verdict(flight).sentences
    assert verdict(flight).level == "eventful"
    assert told[0] == "The recording stops early: everything here holds up to 1:00."
    assert told[1] == "The tables lack 2 recorded events: trust no number here."
    assert told[-2] == "Rebalance storm in billing from 0:01: 4 rebalances in 30 s."
    assert told[-1] == "Partitions of billing have no owner when the flight ends: 5.0 partition-seconds."


def test_no_sentence_uses_a_pronoun_as_subject() -> None:
    """The house's language: an actor and Kafka's noun."""
    every = [verdict(flight) for flight in (CALM, with_incidents())]
    words = " ".join(sentence for each in every for sentence in (each.headline, *each.sentences)).lower().split()
    assert not {"nobody", "somebody", "who", "whoever", "everybody"} & set(words)


def test_members_that_the_coordinator_refuses_are_named_with_the_error() -> None:
    fenced = data.RefusedMember(member="billing-2", at_us=80 * SECOND_US, state="FENCED", reason="UNKNOWN_MEMBER_ID")
    fatal = data.RefusedMember(member="billing-3", at_us=40 * SECOND_US, state="FATAL", reason="UNRELEASED_INSTANCE_ID")
    said = verdict(replace(CALM, groups=[replace(GROUP, refused_members=[fatal, fenced])]))
    assert said.level == "eventful"
    assert tuple(said.sentences[1:3]) == (
        "The coordinator of billing fences billing-2 at 1:20 (UNKNOWN_MEMBER_ID).",
        "Fenced members of billing lose their partitions and join again with member epoch 0.",
    )
    assert "A fatal error in billing ends billing-3 at 0:40 (UNRELEASED_INSTANCE_ID)." in said.sentences
    assert verdict(CALM).level == "calm"


def test_a_group_of_the_consumer_protocol_has_its_epochs_and_instants() -> None:
    group = replace(GROUP, protocol="consumer", rebalances=2, stopped_partition_us=2 * SECOND_US)
    first = replace(REBALANCE, protocol="consumer", rebalance=1, initial=True, started_us=0, waited_us=0, generation=2)
    joined = replace(first, rebalance=2, initial=False, cause="member joined", started_us=5 * SECOND_US, generation=4)
    left = replace(joined, rebalance=3, cause="member left", started_us=41 * SECOND_US, generation=5)
    slow = replace(left, rebalance=4, started_us=50 * SECOND_US, waited_for="billing-3", waited_us=9 * SECOND_US)
    said = verdict(replace(CALM, groups=[group], rebalances=[first, joined, left, slow])).sentences
    assert said[1:4] == [
        "billing rebalances twice after its start, up to group epoch 5.",
        "Its causes: member joined at 0:05; member left at 0:41 and 0:50.",
        "billing leaves 12 partitions × 167 ms without an owner.",
    ]
    assert "billing is Reconciling from 0:50 (group epoch 5): billing-3 revokes its partitions only after 9 s." in said
    assert not any("barrier" in each for each in said)
