"""The meaning of numbers on a screen: a cut duration is an interval that has to hold the truth."""

import re

SECOND_US = 1_000_000
DURATION = r"(?:\d+ ms|\d+\.\d s|\d+ s|\d+:\d\d|\d+:\d\d:\d\d)"


def interval(text: str) -> tuple[int, int]:
    """The durations (µs) that are written like this: from … up to, but not including, …; hours have their place."""
    if match := re.fullmatch(r"(\d+) ms", text):  # also a configured one, which is exact
        return int(match[1]) * 1_000, (int(match[1]) + 1) * 1_000
    if match := re.fullmatch(r"(\d+)\.(\d) s", text):
        tenths = int(match[1]) * 10 + int(match[2])
        return tenths * 100_000, (tenths + 1) * 100_000
    if match := re.fullmatch(r"(\d+) s", text):
        seconds = int(match[1])
        return (0, 1_000) if not seconds else (seconds * SECOND_US, (seconds + 1) * SECOND_US)
    parts = [int(part) for part in text.split(":")]
    if any(part >= 60 for part in parts):
        raise ValueError(text)
    seconds = sum(part * 60**place for place, part in enumerate(reversed(parts)))
    return seconds * SECOND_US, (seconds + 1) * SECOND_US


def says(text: str, truth_us: int) -> bool:
    """Whether a duration is written as it is. What is left of a timer that has run out is nothing."""
    try:
        low, high = interval(text)
    except ValueError:
        return False
    return low <= max(0, truth_us) < high


def partition_seconds(text: str) -> tuple[float, float]:
    """The partition-seconds that are written like this, from … up to."""
    if text == "<0.1":
        return 0.0, 0.1
    number = float(text.replace(",", ""))
    return number, number + (0.1 if "." in text else 1.0)


def stopped_says(text: str, truth_us: int) -> bool:
    """Whether partition-seconds are written as they are; `0` and `<0.1` are not the same."""
    if text in {"0", "<0.1"}:
        return (truth_us == 0) if text == "0" else 0 < truth_us < 100_000
    low, high = partition_seconds(text)
    return low <= truth_us / SECOND_US < high


def bytes_says(text: str, truth: int) -> bool:
    """Whether bytes are written as they are, cut: `16 KiB`, `1.5 MiB`."""
    number, unit = text.split()
    size = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
    step = 1 if size == 1 or float(number) >= 100 else 0.1
    return float(number) * size <= truth < (float(number) + step) * size


def instant(text: str) -> int:
    """`00:12:41.350` or `12:41.3` in µs."""
    whole, _, fraction = text.partition(".")
    seconds = 0
    for part in whole.split(":"):
        seconds = seconds * 60 + int(part)
    return seconds * SECOND_US + int(fraction.ljust(6, "0"))


def bar_says(text: str, share: float) -> bool:
    """Whether a bar of eighths shows a share, to an eighth and a half of a cell."""
    eighths = sum(" ▏▎▍▌▋▊▉█".index(cell) for cell in text)
    return abs(eighths - min(1.0, max(0.0, share)) * 8 * len(text)) <= 1.5


def counted(text: str) -> tuple[float, float]:
    """The counts that are written like this: `7`, `1.2k`, `3M`."""
    scale = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}.get(text[-1], 1)
    digits = text.rstrip("kMG")
    step = scale * (0.1 if "." in digits else 1) if scale > 1 else 0
    return float(digits) * scale - step / 2, float(digits) * scale + step / 2


def counts(text: str, truth: float) -> bool:
    """Whether a count is written as it is."""
    low, high = counted(text)
    return low <= truth <= high
