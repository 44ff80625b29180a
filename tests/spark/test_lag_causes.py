"""What a verdict says of groups that are behind: which, where, and what explains it."""

from typing import Any

import msgspec
import pytest

from cluster.commands import kind_of, parse, targets_of
from recordings.spark import report_model as data
from recordings.spark.lag_causes import is_significant
from recordings.spark.report_cluster_model import HeldBack, LastingTransaction
from recordings.spark.report_model import Effect
from recordings.spark.verdict import verdict
from tests.support.spark.report_samples import (
    CALM,
    EFFECT,
    GROUP,
    INCIDENT,
    LAG,
    LAG_SERIES,
    NO_LAG,
    REBALANCE,
    SECOND_US,
    with_incidents,
)

replace = msgspec.structs.replace


def commanded(text: str, **more: Any) -> data.Incident:  # noqa: ANN401 - any field of an incident
    """An incident: what the command of this text did."""
    command = parse(text)
    return replace(INCIDENT, text=text, kind=kind_of(command), targets=list(targets_of(command)), **more)


def test_a_group_that_never_caught_up_is_not_said_to_have() -> None:
    group = replace(with_incidents().groups[0], series=replace(LAG_SERIES, time_lag_us=[0, 5, 41_000_000, 30_000_000]))
    told = " ".join(verdict(replace(with_incidents(), groups=[group])).sentences)
    assert "billing does not catch up" in told
    assert "catches up" not in told


def test_a_group_that_stays_as_far_behind_as_usual_has_not_caught_up() -> None:
    """Retention that passes a slow group takes its oldest records away again and again."""
    ages = [0, 30_000_000, 41_000_000, 33_000_000, 35_000_000]
    group = replace(
        with_incidents().groups[0],
        lag=replace(LAG, time_lag_p50_us=33_000_000, time_lag_peak_us=41_000_000, time_lag_peak_second=2),
        series=replace(LAG_SERIES, time_lag_us=ages),
    )
    told = " ".join(verdict(replace(with_incidents(), groups=[group])).sentences)
    assert "billing does not catch up" in told
    assert "catches up" not in told


def test_a_group_whose_commit_is_beyond_a_log_that_lost_records_is_not_said_to_have_caught_up() -> None:
    """After an unclean election that is no lag: the group reads nothing until it asks where the log diverges."""
    group = with_incidents().groups[0]
    ahead = replace(group, delivered_then_lost=300)
    told, silent = (" ".join(verdict(replace(with_incidents(), groups=[each])).sentences) for each in (group, ahead))
    assert "billing catches up by 0:48." in told
    assert "catches up" not in silent
    assert "does not catch up" not in silent


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


UNEXPLAINED: dict[str, Any] = {"incidents": [], "rebalances": []}


def evenly_behind(lag_end: int, *, processed: int, skipped: int = 0) -> data.Group:
    """A group that reads 1,000 records of four partitions, and does not catch up with any of them."""
    lag = {**msgspec.structs.asdict(NO_LAG), "lag_end": lag_end // 4}
    return replace(
        with_incidents().groups[0],
        series=replace(LAG_SERIES, time_lag_us=[0, 5, 41_000_000, 30_000_000]),
        lag=replace(LAG, lag_end=lag_end),
        worst_partitions=[data.PartitionLag(partition=f"orders-{number}", **lag) for number in range(4)],
        partitions=4,
        appended=1000,
        processed=processed,
        skipped=skipped,
    )


@pytest.mark.parametrize(
    ("processed", "skipped", "more", "said"),
    [
        (600, 0, {}, True),
        (949, 0, {}, True),
        (950, 0, {}, False),
        (600, 400, {}, False),
        (600, 0, {"incidents": [commanded("kill billing-2", at_us=0)]}, False),
        (600, 0, {"rebalances": [REBALANCE]}, False),
        (600, 0, {"rebalances": [replace(REBALANCE, group="audit")]}, True),
        (600, 0, {"rebalances": [replace(REBALANCE, cause="metadata changed")]}, True),
    ],
)
def test_members_that_process_less_than_producers_write_are_named_without_a_fault(
    processed: int, skipped: int, more: dict[str, Any], said: bool
) -> None:
    """Four partitions are equally behind when the flight of 50 s ends."""
    group = evenly_behind(400, processed=processed, skipped=skipped)
    flight = replace(with_incidents(), groups=[group], virtual_us=50 * SECOND_US, **{**UNEXPLAINED, **more})
    words = f"Producers write 20.0 records/s to its topics, and its members process {processed / 50:.1f} records/s."
    assert (words in verdict(flight).sentences) is said


@pytest.mark.parametrize(("lag_end", "said"), [(52, True), (48, False)])
def test_aborted_records_are_no_sign_that_members_process_too_little(lag_end: int, said: bool) -> None:
    """A group that reads committed data processes none of them, and may be only a few records behind."""
    group = evenly_behind(lag_end, processed=600)
    flight = replace(with_incidents(), groups=[group], virtual_us=50 * SECOND_US, **UNEXPLAINED)
    told = " ".join(verdict(flight).sentences)
    assert "billing does not catch up" in told
    assert ("Producers write" in told) is said


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
    judged = verdict(replace(CALM, held_back=[one]))
    assert judged.sentences[1:] == ([] if said is None else [said, "At its end 12 offsets wait behind it."])
    assert (judged.level == "calm") == (said is None)
    assert ("payments-0 held back for" in judged.headline) == (said is not None)


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


def test_a_peak_at_another_time_is_not_explained_by_the_worst_stretch() -> None:
    """A group may be furthest behind in one fault, and have most records to read in another."""
    group = replace(
        with_incidents().groups[0],
        lag=replace(LAG, time_lag_peak_us=29 * SECOND_US, time_lag_peak_second=40, lag_peak=1_197, lag_peak_second=120),
        series=replace(LAG_SERIES, seconds_per_point=20, time_lag_us=[0, 0, 29_000_000, 0, 0, 4_000_000, 20_000_000]),
    )
    first = commanded("kill broker-1 for 30s", at_us=11 * SECOND_US, cleared_us=41 * SECOND_US)
    second = commanded("kill broker-2 for 30s", at_us=99 * SECOND_US, cleared_us=125 * SECOND_US)
    flight = replace(with_incidents(), groups=[group], incidents=[first, second], virtual_us=150 * SECOND_US)
    told = " ".join(verdict(flight).sentences)
    assert "“kill broker-1 for 30s” at 0:11. billing catches up by 1:00. The lag of billing peaks at 1,197" in told
    assert "at 2:00. Faults in force meanwhile: “kill broker-2 for 30s” at 1:39." in told
    assert told.count("The lag of billing peaks") == 1


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


@pytest.mark.parametrize(
    "text",
    [
        "reset offsets of billing by -200",
        "reset offsets of billing to offsets 0,7 in orders-0,orders-1",
        "delete offsets of billing in orders-0",
        "delete group billing",
    ],
)
def test_an_administrator_s_offsets_explain_lag_of_records_that_were_older(text: str) -> None:
    """The records after an older offset had been committed long before: the stretch begins where they were appended."""
    moved = commanded(text, at_us=25 * SECOND_US, fault=False)
    assert f"No fault is in force; commands then: “{text}” at 0:25." in told_of(moved)
    assert text not in told_of(replace(moved, refused="the group is not inactive"))
    assert text not in told_of(replace(moved, at_us=40 * SECOND_US))


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


def test_one_transaction_in_three_partitions_is_one() -> None:
    """A reader of committed data waits for it in each partition that its producer added to it."""
    held = [
        LastingTransaction(
            group="billing", partition=f"orders-{n}", producer="old-1", from_us=(12 + n) * SECOND_US, until_us=until_us
        )
        for n, until_us in enumerate((30 * SECOND_US, 30 * SECOND_US + 900, 30 * SECOND_US + 400))
    ]
    told = told_of(lasting_transactions=held)
    assert "waits for the transaction of old-1 in orders-0, open from 0:12 until 0:30. That transaction" in told
    assert "That transaction is open in 2 more partitions." in told
    assert "more transaction" not in told
    later = replace(held[0], from_us=31 * SECOND_US, until_us=None)
    other = replace(held[0], producer="gateway-1", from_us=15 * SECOND_US)
    assert "billing waits for 2 more transactions meanwhile." in told_of(lasting_transactions=[*held, later, other])
    assert "partition." not in told_of(lasting_transactions=[held[0], other])


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


@pytest.mark.parametrize(
    ("baseline", "peak", "is_notable"), [(0, 9, False), (0, 10, True), (100, 140, False), (100, 150, True)]
)
def test_usual_ups_and_downs_are_not_notable(baseline: int, peak: int, is_notable: bool) -> None:
    effect: Effect = replace(EFFECT, baseline=baseline, peak=peak)
    assert is_significant(effect) is is_notable
