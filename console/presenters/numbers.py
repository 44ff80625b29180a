"""Numbers and times as people read them: short, of a fixed shape, with their unit."""

import math

SECOND_US = 1_000_000
UNKNOWN = "–"
_STEPS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
EIGHTHS = " ▏▎▍▌▋▊▉█"
LEVELS = "▁▂▃▄▅▆▇█"


def count(number: float) -> str:
    """A number in at most five cells: `7`, `999`, `1.2k`, `12.4k`, `124k`, `1.2M`."""
    for size, suffix in _STEPS:
        if abs(number) >= size:
            scaled = number / size
            return f"{scaled:.1f}{suffix}" if abs(scaled) < 99.95 else f"{scaled:.0f}{suffix}"
    return f"{number:.0f}"


def duration(us: float) -> str:
    """A duration with its unit: `0.4 s`, `12 s`, `4:19`, `1:02:03`; below 0.05 s in milliseconds."""
    if us < 0:
        return "-" + duration(-us)
    if us < 50_000:
        return f"{us / 1_000:.0f} ms" if us else "0 s"
    if us < 9_950_000:
        return f"{us / SECOND_US:.1f} s"
    seconds = int(us / SECOND_US)
    if seconds < 100:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 100:
        return f"{minutes}:{seconds:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def setting(ms: int) -> str:
    """A configured duration: `3 s`, `500 ms`, `5:00`."""
    if ms % 1_000 or ms == 0:
        return f"{ms} ms"
    return f"{ms // 1_000} s" if ms < 100_000 else duration(ms * 1_000)


def countdown(us: float) -> str:
    """What is left of a timer: like `duration`, never below zero, and without a jump between its shapes."""
    return duration(max(0, us)) if us >= 50_000 else "0.0 s"


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
    """A speed as the header names it: `×20`, `×0.1`, `flat out`."""
    if factor == math.inf:
        return "flat out"
    if factor >= 10:
        return f"×{factor:,.0f}"
    return f"×{factor:.3g}" if factor >= 0.1 or factor <= 0 else f"×{factor:.2g}"


def bar(share: float, width: int) -> str:
    """A horizontal bar in eighths of a cell; anything above nothing shows at least an eighth."""
    eighths = max(0, min(width * 8, round(share * width * 8)))
    if share > 0:
        eighths = max(1, eighths)
    full, part = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[part] if part else "")).ljust(width)


def level(share: float) -> str:
    """A vertical bar in one cell, for a share of the largest; nothing is the lowest line."""
    return LEVELS[max(0, min(7, math.ceil(share * 8) - 1))]


def spark(values: list[int], width: int) -> str:
    """The last `width` values as a sparkline, newest right; missing ones on the left are blank.

    All are drawn against the largest of them and zero, so that two flat lines of different heights look alike only
    when both are all there is: the number beside the line says which.
    """
    shown = values[-width:]
    top = max(shown, default=0)
    if not top:
        return (LEVELS[0] * len(shown)).rjust(width)
    return "".join(LEVELS[min(7, value * 8 // (top + 1))] for value in shown).rjust(width)
