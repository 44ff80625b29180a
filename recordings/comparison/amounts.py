"""Amounts of a bill in words: numbers with their unit, in the right number."""

from typing import Final

from recordings.comparison.bill import Measure

SECOND_US: Final = 1_000_000

_NOUNS: Final = {  # field → its noun for one, and for several
    "unread_partition_us": ("unread partition-second", "unread partition-seconds"),
    "stopped_member_us": ("stopped member-second", "stopped member-seconds"),
    "rebalances": ("rebalance", "rebalances"),
    "lost": ("lost record", "lost records"),
    "deleted": ("record deleted unread", "records deleted unread"),
    "skipped": ("skipped record", "skipped records"),
    "dead_lettered": ("dead letter", "dead letters"),
    "compacted": ("record compacted unread", "records compacted unread"),
    "duplicated": ("duplicate", "duplicates"),
    "reread": ("re-read record", "re-read records"),
    "peak_time_lag_us": ("second of peak time lag", "seconds of peak time lag"),
    "behind_us": ("second behind", "seconds behind"),
    "failed": ("failed send", "failed sends"),
    "refused": ("refused batch", "refused batches"),
    "late": ("late record", "late records"),
    "retries": ("retried batch", "retried batches"),
    "leaderless_partition_us": ("leaderless partition-second", "leaderless partition-seconds"),
    "below_min_isr_partition_us": (
        "partition-second below min.insync.replicas",
        "partition-seconds below min.insync.replicas",
    ),
}


def amount(measure: Measure, value: int) -> str:
    """A value as a number for people: seconds of a duration, records, batches."""
    if not measure.field.endswith("_us"):
        return f"{value:,}"
    if 0 < value < SECOND_US // 20:
        return "<0.1"
    if value and value < 100 * SECOND_US:
        return f"{value / SECOND_US:.1f}"
    return f"{value / SECOND_US:,.0f}"


def spoken(measure: Measure, value: int) -> str:
    """A value with its noun: `1 rebalance`, `52 unread partition-seconds`, `0 lost records`."""
    number = amount(measure, value)
    return f"{number} {noun(measure, number)}"


def noun(measure: Measure, number: str) -> str:
    """The noun of a number as it is shown: `rebalance`, `unread partition-seconds`."""
    one, several = _NOUNS[measure.field]
    return one if number == "1" else several
