"""Numbers and times for display: short, of a fixed shape, with their unit."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

from cluster.view.document import partition_order

SECOND_US = 1_000_000
UNKNOWN = "–"
_STEPS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
BYTES = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
EIGHTHS = " ▏▎▍▌▋▊▉█"
LEVELS = "▁▂▃▄▅▆▇█"


def count(number: float) -> str:
    """A number in at most five cells: `7`, `999`, `1.2k`, `12.4k`, `124k`, `1.2M`."""
    for size, suffix in _STEPS:
        if abs(number) >= size:
            scaled = number / size
            return f"{scaled:.1f}{suffix}" if abs(scaled) < 99.95 else f"{scaled:.0f}{suffix}"
    return f"{number:.0f}"


def many(number: int, noun: str, plural: str = "") -> str:
    """A number of things: `1 member`, `2,000 members`, `3 processes`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def whole_offset(number: int) -> str:
    """An offset in at most seven cells: whole as long as it fits, because offsets are compared with one another."""
    return f"{number}" if number < 10_000_000 else count(number)


def duration(us: float) -> str:
    """A duration with its unit, cut and never rounded up, as clocks are: `34 ms`, `0.4 s`, `12 s`, `4:19`, `1:02:03`.

    Milliseconds below 0.1 s, tenths below 10 s, seconds below 100 s; hours as soon as there is one.
    """
    whole = int(us)
    if whole < 0:
        return "-" + duration(-whole)
    if whole < SECOND_US // 10:
        return f"{whole // 1_000} ms" if whole else "0 s"
    seconds, rest = divmod(whole, SECOND_US)
    if seconds < 10:
        return f"{seconds}.{rest // 100_000} s"
    if seconds < 100:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}:{seconds:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def memory(number: int) -> str:
    """Bytes in binary units, cut: `0 B`, `16 KiB`, `31.9 MiB`."""
    unit = next((name for name, size in BYTES.items() if number >= size), "B")
    tenths = 10 * number // BYTES[unit]
    return f"{tenths // 10} {unit}" if tenths >= 1_000 or not tenths % 10 else f"{tenths / 10:.1f} {unit}"


def partition_seconds(us: int) -> str:
    """Time without an owner, summed over partitions, as a number of partition-seconds: `0`, `<0.1`, `9.8`, `1,257`."""
    if 0 < us < SECOND_US // 10:
        return "<0.1"
    seconds, rest = divmod(us, SECOND_US)
    return f"{seconds}.{rest // 100_000}" if us and seconds < 10 else f"{seconds:,}"


def setting(ms: int) -> str:
    """A configured duration: `3 s`, `1.5 s`, `500 ms`, `5:00`."""
    if 1_000 < ms < 10_000 and ms % 1_000 and not ms % 100:
        return f"{ms // 1_000}.{ms % 1_000 // 100} s"
    if ms % 1_000 or ms == 0:
        return f"{ms} ms"
    return f"{ms // 1_000} s" if ms < 100_000 else duration(ms * 1_000)


def countdown(us: float) -> str:
    """The rest of a timer in µs: like `duration`, never below zero, and without a jump between its shapes."""
    return duration(us) if us >= SECOND_US // 10 else "0.0 s"


def clock(us: int, decimals: int = 1) -> str:
    """Virtual time: `00:12:41.3`, cut (never rounded up) after `decimals` digits."""
    seconds, rest = divmod(us, SECOND_US)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:06}"[: len(text) + 1 + decimals] if decimals else text


def moment(us: int) -> str:
    """An instant in a table: `12:41.3`, with hours when there are any."""
    text = clock(us)
    return text[3:] if us < 3600 * SECOND_US else text


def rate(per_second: float) -> str:
    """Records a second: `200/s`, `2.4k/s`."""
    return f"{count(per_second)}/s"


def speed(factor: float) -> str:
    """A speed in the header's form: `×20`, `×0.1`, `flat out`; `×-4` is backwards."""
    if factor < 0:
        return f"×-{speed(-factor)[1:]}"
    if factor == math.inf:
        return "flat out"
    if factor >= 10:
        return f"×{factor:,.0f}"
    return f"×{factor:.3g}" if factor >= 0.1 or factor <= 0 else f"×{factor:.2g}"


def bar(share: float, width: int) -> str:
    """A horizontal bar in eighths of a cell; any share above 0 shows at least an eighth."""
    eighths = max(0, min(width * 8, round(share * width * 8)))
    if share > 0:
        eighths = max(1, eighths)
    full, part = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[part] if part else "")).ljust(width)


def level(share: float) -> str:
    """A vertical bar in one cell, for a share of the largest value; 0 is the lowest line."""
    return LEVELS[max(0, min(7, math.ceil(share * 8) - 1))]


def spark(values: Sequence[int | None], width: int) -> str:
    """The last `width` values as a sparkline, newest right; missing ones are blank.

    The scale runs from zero to the largest value shown. Flat lines of different values look alike; the number beside
    the line shows the difference.
    """
    shown = values[-width:] if width > 0 else ()
    top = max((value for value in shown if value is not None), default=0) or 0
    levels = [" " if value is None else LEVELS[min(7, value * 8 // (top + 1))] for value in shown]
    return "".join(levels).rjust(width)


def resampled(first_second: int, values: Sequence[int], width: int, seconds: int = 60) -> list[int | None]:
    """The last `seconds` of one sample a second in at most `width` cells; a cell holds its largest sample.

    Cells count from second 0, so that the line moves only when a cell is full. None: no sample.
    """
    width = min(width, seconds)
    if width <= 0 or not values:
        return []
    last_second = first_second + len(values) - 1
    last = last_second * width // seconds
    cells: list[int | None] = [None] * width
    for second in range(max(first_second, last_second - seconds + 1), last_second + 1):
        place = second * width // seconds - last + width - 1
        if place < 0:
            continue
        value, known = values[second - first_second], cells[place]
        if known is None or value > known:
            cells[place] = value
    return cells


def ranges(partitions: Iterable[str]) -> str:
    """`orders-0`, `orders-1`, `orders-2`, `payments-4` as `orders 0-2 · payments 4`."""
    return _ranges(tuple(partitions))


@lru_cache(maxsize=1024)  # what a member owns is the same in most frames
def _ranges(partitions: tuple[str, ...]) -> str:
    by_topic: dict[str, list[int]] = {}
    for name in sorted(partitions, key=partition_order):
        topic, number = partition_order(name)
        by_topic.setdefault(topic, []).append(number)
    return " · ".join(f"{topic} {number_ranges(numbers)}" for topic, numbers in by_topic.items())


def number_ranges(numbers: Sequence[int]) -> str:
    """Rising numbers, at least one, as `0-2,5`."""
    parts: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        parts.append(str(first) if first == last else f"{first}-{last}")
        if number is not None:
            first = last = number
    return ",".join(parts)
