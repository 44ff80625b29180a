"""What a report says: numbers as people write them, a verdict that follows from them, the story of a rebalance."""

from typing import Any

import msgspec
import pytest

from cluster.commands import kind_of, parse, targets_of
from recordings.spark import formatting as figures
from recordings.spark import report_model as data
from recordings.spark.analyses.membership import MemberReport
from recordings.spark.analyses.replication import ReplicaChanges
from recordings.spark.lag_causes import is_significant
from recordings.spark.rebalance_causes import cause_in_words
from recordings.spark.rebalance_narrative import narrative
from recordings.spark.report_cluster_model import Availability, HeldBack, LastingTransaction, LogLoss, Outage
from recordings.spark.report_model import Effect, Storm
from recordings.spark.verdict import verdict
from tests.support.spark.report_samples import (
    CALM,
    EFFECT,
    GROUP,
    INCIDENT,
    LAG,
    LAG_SERIES,
    NO_LAG,
    PRODUCER,
    REBALANCE,
    SECOND_US,
    with_incidents,
)

replace = msgspec.structs.replace

OLDEST = "its oldest uncommitted record is 41 s old."
UNOWNED = "12 partitions × 11 s without an owner"


def commanded(text: str, **more: Any) -> data.Incident:  # noqa: ANN401 - any field of an incident
    """An incident: what the command of this text did."""
    command = parse(text)
    return replace(INCIDENT, text=text, kind=kind_of(command), targets=list(targets_of(command)), **more)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 s"),
        (850, "850 µs"),
        (45_400, "45 ms"),
        (999_400, "999 ms"),
        (999_500, "1 s"),
        (1_000_000, "1 s"),
        (9_440_000, "9.4 s"),
        (41_000_000, "41 s"),
        (125_000_000, "2 min 5 s"),
        (120_000_000, "2 min"),
        (3_720_000_000, "1 h 2 min"),
    ],
)
def test_durations_have_the_digits_that_matter(us: int, text: str) -> None:
    assert figures.duration(us) == text


def test_instants_and_counts() -> None:
    assert figures.clock(164_020_651) == "2:44"
    assert figures.clock(3_723_000_000) == "1:02:03"
    assert figures.exact_clock(164_020_651) == "2:44.020"
    assert figures.many(0, "record") == "no record"
    assert figures.many(1, "record") == "1 record"
    assert figures.many(1_234, "key", "keys") == "1,234 keys"
    assert figures.listed(["a", "b", "c"]) == "a, b and c"


def test_partition_time_names_the_partitions() -> None:
    assert figures.partition_time(3, 132 * SECOND_US) == "3 partitions × 44 s"
    assert figures.partition_time(1, 2 * SECOND_US) == "1 partition × 2 s"
    assert figures.partition_time(0, 0) == "0 partitions"


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
        "Producers retry 2 batches: NOT_ENOUGH_REPLICAS twice.",
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_the_errors_of_a_producer_stand_worst_first_whatever_the_order_of_a_map(turned: bool) -> None:
    errors = {"NETWORK_EXCEPTION": 1, "REQUEST_TIMED_OUT": 5, "NOT_ENOUGH_REPLICAS": 1}
    counts = dict(reversed(errors.items())) if turned else errors
    failing = replace(PRODUCER, failed=7, failures=counts, retried=counts, retries=7)
    judged = verdict(replace(CALM, producers=[failing]))
    assert judged.sentences[1:] == [
        "checkout-1 fails to send 7 records (REQUEST_TIMED_OUT, NETWORK_EXCEPTION and NOT_ENOUGH_REPLICAS).",
        "Producers retry 7 batches: REQUEST_TIMED_OUT 5 times, NETWORK_EXCEPTION once and NOT_ENOUGH_REPLICAS once.",
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
    both = verdict(replace(CALM, outages=[outage, frozen])).sentences[1]
    assert both == "broker-2 is down or frozen for 30 s and broker-3 for 30 s."


def test_a_group_that_never_caught_up_is_not_said_to_have() -> None:
    group = replace(with_incidents().groups[0], series=replace(LAG_SERIES, time_lag_us=[0, 5, 41_000_000, 30_000_000]))
    told = " ".join(verdict(replace(with_incidents(), groups=[group])).sentences)
    assert "billing does not catch up" in told
    assert "catches up" not in told


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ([691, 29, 20, 15], "Of these records, 691 are in orders-0."),
        ([0, 136, 101, 0], "Of these records, all are in orders-1 and orders-2."),
        ([200, 200, 200, 155], None),
        ([700, 55], "Of these records, 700 are in orders-0."),
        ([375, 380], None),
        ([755], None),
    ],
)
def test_one_or_two_partitions_that_have_nearly_all_of_the_lag_are_named(ends: list[int], said: str | None) -> None:
    """Two of two partitions are no finding, nor is the only one."""
    worst = [
        data.PartitionLag(partition=f"orders-{number}", **msgspec.structs.asdict(replace(NO_LAG, lag_end=end)))
        for number, end in enumerate(ends)
    ]
    group = replace(
        with_incidents().groups[0],
        series=replace(LAG_SERIES, time_lag_us=[0, 5, 41_000_000, 30_000_000]),
        lag=replace(LAG, lag_end=sum(ends)),
        worst_partitions=worst,
        partitions=len(ends),
    )
    told = verdict(replace(with_incidents(), groups=[group])).sentences
    assert [each for each in told if each.startswith("Of these records")] == ([] if said is None else [said])


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


@pytest.mark.parametrize(
    ("held_from_s", "said"),
    [
        (0, "A transaction of gateway-1 holds the last stable offset of payments-0 back from 0:00 for 50 s."),
        (30, "A transaction of gateway-1 holds the last stable offset of payments-0 back from 0:30 for 20 s."),
        (None, None),
    ],
)
def test_a_transaction_is_blamed_only_while_no_earlier_one_is_open(held_from_s: int | None, said: str | None) -> None:
    one = HeldBack(
        partition="payments-0",
        producer="gateway-1",
        from_us=0,
        until_us=50 * SECOND_US,
        outcome="COMMIT",
        first_offset=9,
        waiting=12,
        held_from_us=None if held_from_s is None else held_from_s * SECOND_US,
        groups=["audit"],
    )
    told = verdict(replace(CALM, held_back=[one])).sentences[1:]
    assert told == ([] if said is None else [said, "At its end 12 offsets wait behind it."])


def test_the_repair_is_never_blamed() -> None:
    """A high watermark that moves only when a broker is back shows the lag at the instant of the repair."""
    fault = commanded("kill broker-3", at_us=8 * SECOND_US, cleared_us=31 * SECOND_US)
    repair = commanded("start broker-3", at_us=31 * SECOND_US, repairs=True, fault=False)
    told = " ".join(verdict(replace(with_incidents(), incidents=[fault, repair])).sentences)
    assert "Faults in force meanwhile: “kill broker-3” at 0:08." in told
    assert "start broker-3" not in told
    only = " ".join(verdict(replace(with_incidents(), incidents=[repair])).sentences)
    assert "No fault is in force, and no command comes shortly before." in only


def test_a_fault_that_was_over_before_is_not_blamed() -> None:
    over = commanded("stall billing-1 for 1s", at_us=0, cleared_us=SECOND_US)
    older = replace(LAG, time_lag_peak_us=20 * SECOND_US)
    group = replace(with_incidents().groups[0], lag=older)
    told = " ".join(verdict(replace(with_incidents(), groups=[group], incidents=[over])).sentences)
    assert "stall billing-1" not in told


def test_the_fault_that_covers_most_of_the_wait_comes_first() -> None:
    short = commanded("stall billing-3 for 1s", at_us=30 * SECOND_US, cleared_us=31 * SECOND_US)
    long = commanded("kill billing-2", at_us=5 * SECOND_US)
    told = " ".join(verdict(replace(with_incidents(), incidents=[long, short])).sentences)
    assert "“kill billing-2” at 0:05 and “stall billing-3 for 1s” at 0:30" in told


def test_a_change_is_named_when_no_fault_explains_the_lag() -> None:
    change = commanded("scale billing to 4", at_us=3 * SECOND_US, fault=False)
    told = " ".join(verdict(replace(with_incidents(), incidents=[change])).sentences)
    assert "No fault is in force; commands then: “scale billing to 4” at 0:03." in told


def test_scaling_out_long_after_the_lag_began_is_not_blamed_for_it() -> None:
    late = replace(LAG, time_lag_peak_us=20 * SECOND_US)
    group = replace(with_incidents().groups[0], lag=late)
    change = commanded("scale billing to 4", at_us=25 * SECOND_US, fault=False)
    told = " ".join(verdict(replace(with_incidents(), groups=[group], incidents=[change])).sentences)
    assert "scale billing" not in told


def told_of(*incidents: data.Incident, **more: Any) -> str:  # noqa: ANN401 - any field of a flight
    """The verdict's words on a stretch from 0:12 to 0:32."""
    group = replace(with_incidents().groups[0], lag=replace(LAG, time_lag_peak_us=20 * SECOND_US))
    return " ".join(verdict(replace(with_incidents(), groups=[group], incidents=[*incidents], **more)).sentences)


def test_a_subscription_explains_lag_of_records_that_were_older() -> None:
    change = commanded("subscribe billing-2 to orders,payments", at_us=30 * SECOND_US, fault=False)
    assert "commands then: “subscribe billing-2 to orders,payments” at 0:30." in told_of(change)


def test_a_seek_explains_lag_of_records_that_were_older() -> None:
    seek = commanded("seek billing orders-0 to 0", at_us=25 * SECOND_US, fault=False)
    assert "No fault is in force; commands then: “seek billing orders-0 to 0” at 0:25." in told_of(seek)
    late = commanded("seek billing orders-0 to 0", at_us=40 * SECOND_US, fault=False)
    other = commanded("mark “seek billing orders-0 to 0”".replace("“", '"').replace("”", '"'), at_us=25 * SECOND_US)
    for incident in (late, replace(other, fault=False), replace(seek, refused="no member of billing holds orders-0")):
        assert "seek billing" not in told_of(incident)


def test_an_autoscaler_is_named_whenever_it_resized_the_group() -> None:
    scaled = commanded("scale billing to 1", at_us=25 * SECOND_US, fault=False, source="autoscaler")
    words = "No fault is in force; commands then: “scale billing to 1” by its autoscaler at 0:25."
    assert words in told_of(scaled)
    assert "autoscaler" not in told_of(replace(scaled, source="operator"))
    earlier = replace(scaled, at_us=5 * SECOND_US)  # its member has started up in the stretch, and joins
    joined = replace(REBALANCE, started_us=20 * SECOND_US, cause="member joined")
    assert words.replace("0:25", "0:05") in told_of(earlier, rebalances=[joined])
    for other in (
        replace(joined, cause="session expired"),
        replace(joined, started_us=3 * SECOND_US),
        replace(joined, group="audit"),
    ):
        assert "“scale billing to 1”" not in told_of(earlier, rebalances=[other])
    assert "autoscaler" not in told_of(replace(scaled, targets=["audit"], text="scale audit to 1"))


def test_a_transaction_that_held_committed_reads_back_is_named() -> None:
    hanging = LastingTransaction(
        group="billing", partition="orders-0", producer="gateway-1", from_us=10 * SECOND_US, until_us=None
    )
    words = "billing reads committed records, and waits for the transaction of gateway-1 in orders-0"
    told = told_of(lasting_transactions=[hanging])
    assert f"{words}, open from 0:10 to the end." in told
    assert "no command comes shortly before" not in told
    fault = commanded("stall billing-1 for 5s", at_us=14 * SECOND_US, cleared_us=19 * SECOND_US)
    both = told_of(fault, lasting_transactions=[replace(hanging, until_us=31 * SECOND_US)])
    assert f"Faults in force meanwhile: “stall billing-1 for 5s” at 0:14. {words}, open from 0:10 until 0:31." in both
    for other in (
        replace(hanging, group="audit"),
        replace(hanging, until_us=11 * SECOND_US),
        replace(hanging, from_us=40 * SECOND_US),
    ):
        assert "no command comes shortly before" in told_of(lasting_transactions=[other])


def test_a_rolling_restart_is_under_way_until_its_last_member_is_back() -> None:
    restart = commanded("rolling restart billing every 10s down 5s", at_us=0, fault=False, lasts_us=45 * SECOND_US)
    late = replace(LAG, time_lag_peak_us=20 * SECOND_US)
    group = replace(with_incidents().groups[0], lag=late)
    told = " ".join(verdict(replace(with_incidents(), groups=[group], incidents=[restart])).sentences)
    assert "commands then: “rolling restart billing every 10s down 5s” at 0:00." in told


def test_another_group_s_fault_is_not_blamed() -> None:
    foreign = commanded("kill audit-1")
    audit = replace(GROUP, group="audit")
    told = " ".join(
        verdict(replace(with_incidents(), groups=[*with_incidents().groups, audit], incidents=[foreign])).sentences
    )
    assert "kill audit-1" not in told


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


def test_a_group_that_starts_late_is_said_to() -> None:
    first = replace(REBALANCE, rebalance=1, initial=True, started_us=20 * SECOND_US)
    told = " ".join(verdict(replace(with_incidents(), incidents=[], rebalances=[first])).sentences)
    assert "billing has no members until 0:20; the records are older." in told


def test_the_group_that_was_behind_for_longest_is_named_not_the_one_with_the_highest_peak() -> None:
    peak = replace(with_incidents().groups[0], group="spiky")
    ages = [0, 30 * SECOND_US, 30 * SECOND_US, 30 * SECOND_US]
    steady = replace(
        GROUP,
        group="steady",
        lag=replace(NO_LAG, lag_p95=480, lag_peak=500, lag_end=490, time_lag_peak_us=30 * SECOND_US),
        series=data.LagSeries(seconds_per_point=16, lag=[0, 480, 480, 490], time_lag_us=ages),
    )
    told = verdict(replace(with_incidents(), groups=[peak, steady], incidents=[], rebalances=[]))
    assert "steady up to 30 s behind" in told.headline
    assert "steady does not catch up: 490 records behind when the flight ends." in told.sentences


def test_lasting_lag_of_another_group_is_told() -> None:
    tail = replace(LAG_SERIES, time_lag_us=[0, 0, 0, 16 * SECOND_US])
    other = replace(GROUP, group="other", lag=replace(NO_LAG, lag_end=702), series=tail)
    told = verdict(replace(with_incidents(), groups=[with_incidents().groups[0], other])).sentences
    assert "other is 702 records behind when the flight ends." in told


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


@pytest.mark.parametrize(
    ("baseline", "peak", "is_notable"), [(0, 9, False), (0, 10, True), (100, 140, False), (100, 150, True)]
)
def test_usual_ups_and_downs_are_not_notable(baseline: int, peak: int, is_notable: bool) -> None:
    effect: Effect = replace(EFFECT, baseline=baseline, peak=peak)
    assert is_significant(effect) is is_notable


def test_causes_name_who_set_them_off() -> None:
    assert cause_in_words(REBALANCE) == "the session of billing-2 expires"
    assert cause_in_words(replace(REBALANCE, trigger="")) == "session expired"
    assert cause_in_words(replace(REBALANCE, cause="something new")) == "something new"


def test_the_story_of_a_rebalance() -> None:
    told = narrative(REBALANCE)
    assert told.startswith("At 0:30.000 the session of billing-2 expires, and the group begins to rebalance.")
    assert "Before the rebalance begins, 3 partitions × 44 s have no owner." in told
    assert "Generation 2 has 3 members; billing-1 joins last, after 1 s." in told
    assert "Phases: joining 1 s · assigning 4 ms · syncing 2 ms." in told
    assert "4 partitions move to another member" in told
    assert "During the rebalance 4 partitions × 775 ms have no owner; members pause for 40 ms in all." in told
    assert "13 records are re-read" in told


def test_the_story_of_a_rebalance_of_the_consumer_protocol() -> None:
    """It has epochs and a target assignment: no generation, no barrier, no phases of joining."""
    new = replace(
        REBALANCE, protocol="consumer", generation=7, waited_for="billing-3", assigned_us=None, stopped_member_us=0
    )
    told = narrative(new)
    assert told.startswith("At 0:30.000 the session of billing-2 expires, and the group epoch rises.")
    assert "Group epoch 7 has 3 members." in told
    assert "States: Assigning 1 s · Reconciling 6 ms." in told
    assert "billing-3 is the slowest to revoke its partitions: 1 s." in told
    assert "have no owner; no member pauses." in told
    assert "The group epoch rises 3 times" in narrative(replace(new, barriers=3))
    assert "computes its first target assignment at once" in narrative(replace(new, initial=True))
    assert "another group protocol" in narrative(replace(new, ends="protocol changed"))
    for ends in ("Stable", "Empty", "coordinator moved", "unfinished"):
        for word in ("barrier", "Generation", "joins last", "rejoin", "attempt"):
            assert word not in narrative(replace(new, ends=ends, barriers=3)), word


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


@pytest.mark.parametrize(
    ("ends", "words"),
    [("Empty", "becomes Empty"), ("coordinator moved", "rejoin at the new one"), ("unfinished", "is not complete")],
)
def test_rebalances_that_did_not_end_well_say_so(ends: str, words: str) -> None:
    stopped = replace(REBALANCE, ends=ends, ended_us=None, assigned_us=None, barriers=2)
    assert words in narrative(stopped)
    assert "it takes 2 attempts" in narrative(stopped)


def test_the_first_rebalance_waits_for_the_delay_not_for_a_member() -> None:
    first = narrative(replace(REBALANCE, initial=True, cause="member joined"))
    assert "stays open for group.initial.rebalance.delay.ms" in first
    assert "joins last" not in first
