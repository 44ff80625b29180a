"""What a report says: numbers as people write them, a verdict that follows from them, the story of a rebalance."""

import msgspec
import pytest

from recordings.spark import figures
from recordings.spark.report_data import Effect, Storm
from recordings.spark.stories import story
from recordings.spark.verdict import cause_in_words, notable, verdict
from tests.spark.samples import CALM, EFFECT, INCIDENT, REBALANCE, SECOND_US, troubled

replace = msgspec.structs.replace


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


def test_a_calm_flight_is_called_calm() -> None:
    judged = verdict(CALM)
    assert judged.level == "calm"
    assert judged.headline.startswith("A calm flight")
    assert judged.sentences == ["1,000 records produced, 1,000 acknowledged, none of them was lost."]


def test_trouble_is_told_with_its_cause_its_cost_and_its_end() -> None:
    judged = verdict(troubled())
    assert judged.level == "eventful"
    assert judged.headline == (
        "Nothing was lost, but billing fell 41 s behind and rebalanced once, and 13 records had to be processed again."
    )
    told = " ".join(judged.sentences)
    assert "“kill billing-2” at 0:10; it had caught up 23 s after that" in told
    assert "its partitions stood still for 2 min 15 s in all" in told
    assert "because the session of billing-2 expired: before it even began, partitions had waited 2 min 12 s" in told
    assert "it waited longest for billing-1 (1 s)" in told


def test_lost_and_disordered_records_come_first() -> None:
    totals = replace(CALM.totals, lost=7, out_of_order_keys=1)
    group = replace(CALM.groups[0], lost=7)
    judged = verdict(replace(CALM, totals=totals, groups=[group]))
    assert judged.level == "harm"
    assert judged.headline == "Records came to harm: 7 acknowledged records lost and 1 key processed out of order."
    assert "billing lost 7 of them" in judged.sentences[0]


def test_a_group_that_never_caught_up_is_not_said_to_have() -> None:
    never = replace(INCIDENT, effects=[replace(EFFECT, recovered_us=None)])
    assert "it did not catch up again" in " ".join(verdict(replace(troubled(), incidents=[never])).sentences)


def test_lag_that_nothing_explains_is_told_without_a_cause() -> None:
    later = replace(INCIDENT, at_us=50 * SECOND_US)
    told = " ".join(verdict(replace(troubled(), incidents=[later])).sentences)
    assert "furthest behind at 0:32" in told
    assert "kill billing-2" not in told


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
    assert told[0] == "The flight did not come to its end: what follows holds up to 1:00."
    assert "2 events missing" in told[1]
    assert "billing was in a storm: 4 rebalances in 30 s" in told[-2]
    assert told[-1] == "At the end partitions of billing had had no owner for 5 s in all."


@pytest.mark.parametrize(
    ("baseline", "peak", "is_notable"), [(0, 9, False), (0, 10, True), (100, 140, False), (100, 150, True)]
)
def test_usual_ups_and_downs_are_not_notable(baseline: int, peak: int, is_notable: bool) -> None:
    effect: Effect = replace(EFFECT, baseline=baseline, peak=peak)
    assert notable(effect) is is_notable


def test_causes_name_who_set_them_off() -> None:
    assert cause_in_words(REBALANCE) == "the session of billing-2 expired"
    assert cause_in_words(replace(REBALANCE, trigger="")) == "session expired"
    assert cause_in_words(replace(REBALANCE, cause="something new")) == "something new"


def test_the_story_of_a_rebalance() -> None:
    told = story(REBALANCE)
    assert told.startswith("At 0:30.000 the session of billing-2 expired, and the group began to rebalance.")
    assert "without an owner for 2 min 12 s in all, and nobody knew" in told
    assert "Generation 2 has 3 members; the last to join was billing-1, after 1 s." in told
    assert "joining 1 s, assigning 4 ms and handing out 2 ms" in told
    assert "4 partitions changed hands" in told
    assert "13 records had to be read again" in told


@pytest.mark.parametrize(
    ("ends", "words"),
    [("Empty", "became empty"), ("coordinator moved", "begin again at the new one"), ("unfinished", "was not over")],
)
def test_rebalances_that_did_not_end_well_say_so(ends: str, words: str) -> None:
    stopped = replace(REBALANCE, ends=ends, ended_us=None, assigned_us=None, barriers=2)
    assert words in story(stopped)
    assert "It had to begin 2 times" in story(stopped)


def test_the_first_rebalance_waits_for_latecomers_not_for_somebody() -> None:
    first = story(replace(REBALANCE, initial=True, cause="member joined"))
    assert "so that others can still come" in first
    assert "the last to join" not in first
