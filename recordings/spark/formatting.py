"""Numbers, instants and durations as text for people."""

from collections.abc import Mapping

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
SHOWN = 3  # of a list: the rest is counted


def count(number: float) -> str:
    """A number with thousands separators: `12,345`."""
    return f"{number:,.0f}"


def many(number: int, noun: str, plural: str = "") -> str:
    """`1 record`, `2 records`, `no record`."""
    if number == 0:
        return f"no {noun}"
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def clock(at_us: int) -> str:
    """An instant of the flight: `2:44`, `1:02:03`."""
    seconds = at_us // SECOND_US
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02}"
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def exact_clock(at_us: int) -> str:
    """An instant to the millisecond: `2:44.020`."""
    return f"{clock(at_us)}.{at_us // 1000 % 1000:03}"


def duration(us: float) -> str:
    """A duration with the two or three digits that matter: `850 µs`, `45 ms`, `9.4 s`, `2 min 5 s`, `1 h 2 min`."""
    if us == 0:
        return "0 s"
    if us < 999.5:
        return f"{us:.0f} µs"
    if us < 999_500:
        return f"{us / 1_000:.0f} ms"
    if us < 9.95 * SECOND_US:
        return f"{us / SECOND_US:.1f} s".replace(".0 s", " s")
    if us < 99.5 * SECOND_US:
        return f"{us / SECOND_US:.0f} s"
    minutes, seconds = divmod(round(us / SECOND_US), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def partition_time(partitions: int, total_us: int) -> str:
    """A sum over partitions with its mean: `3 partitions × 44 s`, of 132 partition-seconds."""
    if partitions == 0:
        return "0 partitions"
    return f"{many(partitions, 'partition')} × {duration(total_us / partitions)}"


def times(number: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def first_few(names: list[str]) -> str:
    """The first few of several names, each once, and how many more: `a, b, c and 2 more`."""
    names = list(dict.fromkeys(names))
    more = [f"{len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return listed([*names[:SHOWN], *more])


def by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names with their counts, the highest first, then by name: a map of Spark's has no order."""
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))
