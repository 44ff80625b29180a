"""Numbers as people write them, and the story of a rebalance in sentences."""

import msgspec
import pytest

from recordings.spark import formatting as figures
from recordings.spark.rebalance_causes import cause_in_words
from recordings.spark.rebalance_narrative import narrative
from tests.support.spark.report_samples import (
    REBALANCE,
    SECOND_US,
)

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


def test_partition_time_names_the_partitions() -> None:
    assert figures.partition_time(3, 132 * SECOND_US) == "3 partitions × 44 s"
    assert figures.partition_time(1, 2 * SECOND_US) == "1 partition × 2 s"
    assert figures.partition_time(0, 0) == "0 partitions"


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
