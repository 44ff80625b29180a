"""Durations, sizes and rates as people write them in scenario files and commands: `20ms`, `1KiB`, `200/s`.

Inside the program a duration is an integer number of microseconds, a size an integer number of bytes and a rate a float
of records a second. Every `format_…` gives the shortest text that its `parse_…` reads back to the same value.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Final

MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
PERIODS = {"s": 1, "m": 60, "h": 3_600}

_ISO_DURATION = re.compile(r"P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]{1,9})?)S)?)?")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)(.*)", re.DOTALL)
_PARTS = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:us|ms|s|m|h)){2,}")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-z]+)")

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

FIRST_DATE: Final = "1970-01-01T00:00:00.000"
"""The date of instant 0 of a flight, whose records have their instants as timestamps."""

LONGEST_TEXT: Final = 40
LONGEST_DECIMALS: Final = 400
MOST_US = 1_000_000 * MICROSECONDS["h"]
MOST_BYTES: Final = (1 << 63) - 1
MOST_PER_SECOND: Final = 1_000_000  # virtual time is counted in microseconds
"""Beyond these a number is a slip of the finger, and its arithmetic would leave 64 bits."""


_EXAMPLES: Final = {"duration": "30s", "rate": "200/s", "size": "1KiB"}


def written(value: object, noun: str) -> str:
    """A value that a file or a command gives for a `duration`, `rate` or `size`, if it is text. Raises ValueError."""
    if isinstance(value, str):
        return value
    example = _EXAMPLES[noun]
    shown = _cut(str(value).lower() if isinstance(value, bool) else repr(value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    how = "needs a unit and quotation marks:" if is_number else f"is not a {noun}: write it like"
    raise ValueError(f'{shown} {how} "{example}"')


def parse_duration(text: str) -> int:
    """Read a duration (`500us`, `20ms`, `1.5s`, `10m`, `2h`, `1h5m`) in microseconds.

    Several units go from the largest to the smallest, each once. Raises ValueError, saying what is wrong, for a missing
    or unknown unit, for units in another order and for less than a whole microsecond.
    """
    compound = text.strip() if len(text) <= LONGEST_TEXT else ""
    parts = _descending(compound) if _PARTS.fullmatch(compound) else [text]
    us = sum(_whole(part, MICROSECONDS, "duration", "500us, 20ms, 30s, 10m, 2h, 1h5m", "microsecond") for part in parts)
    if us > MOST_US:
        raise ValueError(f"{text.strip()!r} is too long: a duration is at most {format_duration(MOST_US)}")
    return us


def format_duration(us: int) -> str:
    """Write microseconds in the largest unit that divides them: 90_000_000 is `90s`, 120_000_000 is `2m`, 0 is `0s`."""
    return _shortest(us, MICROSECONDS, "s")


def spoken_duration(us: int) -> str:
    """Write microseconds for people, the largest unit first: `1 h 16 m 49.365 s`, `5 m`, `2.5 s`, `0 s`."""
    hours, rest = divmod(us, MICROSECONDS["h"])
    minutes, rest = divmod(rest, MICROSECONDS["m"])
    seconds = f"{Decimal(rest) / MICROSECONDS['s']:f}"
    seconds = seconds.rstrip("0").rstrip(".") if "." in seconds else seconds
    parts = [f"{hours} h" if hours else "", f"{minutes} m" if minutes else "", f"{seconds} s" if rest else ""]
    return " ".join(part for part in parts if part) or "0 s"


def parse_iso_duration(text: str) -> int:
    """Read an ISO-8601 duration as Java's `Duration.parse` does (`PT1H30M`, `P2DT0.5S`) in microseconds.

    Raises ValueError for anything else, and for a negative one.
    """
    match = _ISO_DURATION.fullmatch(text.upper()) if len(text) <= LONGEST_TEXT else None
    if match is None or text.upper().endswith(("P", "T")):
        text = _cut(text)
        raise ValueError(f"{text!r} is not a duration: write it like PT1H, PT30M, P1DT12H, PT0.5S")
    days, hours, minutes, seconds = [Fraction(number or "0") for number in match.groups()]
    us = int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * MICROSECONDS["s"])
    if us > MOST_US:
        raise ValueError(f"{text!r} is too long: a duration is at most {format_duration(MOST_US)}")
    return us


def parse_size(text: str) -> int:
    """Read a size (`512B`, `1KiB`, `1.5MiB`) in bytes. Raises ValueError, saying what is wrong."""
    size = _whole(text, BYTES, "size", "512B, 1KiB, 16MiB, 1GiB", "byte")
    if size > MOST_BYTES:
        raise ValueError(f"{text.strip()!r} is too large: a size is at most {format_size(MOST_BYTES)}")
    return size


def format_size(size_bytes: int) -> str:
    """Write bytes in the largest unit that divides them: 1024 is `1KiB`."""
    return _shortest(size_bytes, BYTES, "B")


def parse_datetime(text: str) -> int:
    """A date as Kafka's tools read it, as microseconds since 1970; without a zone it is UTC. Raises ValueError.

    Source: `Utils.getDateTime`.
    """
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        read = datetime.fromisoformat(text)
        since = (read if read.tzinfo is not None else read.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        raise ValueError(f"{_cut(text)!r} is not a date: write it like {FIRST_DATE}") from None
    return since // timedelta(microseconds=1)


def parse_rate(text: str) -> float:
    """Read a rate (`200/s`, `3/m`, `1000/h`) in records a second. Raises ValueError, saying what is wrong."""
    number, slash, period = text.strip().partition("/")
    if not slash or not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", number) or period not in PERIODS:
        raise ValueError(f"{_cut(text)!r} is not a rate: write it like 200/s, 3/m")
    whole, _, decimals = number.partition(".")
    if len(decimals) > LONGEST_DECIMALS:
        raise ValueError(f"{_cut(text)!r} has more than {LONGEST_DECIMALS} decimals")
    per_second = Fraction(number) / PERIODS[period] if len(whole) <= LONGEST_TEXT else math.inf
    if per_second > MOST_PER_SECOND:
        raise ValueError(f"{_cut(text)!r} is too fast: a rate is at most {MOST_PER_SECOND}/s, a record each us")
    return float(per_second)


def format_rate(per_second: float) -> str:
    """Write records a second as a whole number in the shortest period that has one, else as a decimal a second."""
    for unit, seconds in PERIODS.items():
        count = round(per_second * seconds)
        if float(Fraction(count, seconds)) == per_second:
            return f"{count}/{unit}"
    return f"{Decimal(repr(per_second)):f}/s"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _descending(text: str) -> list[str]:
    """The parts of a duration of several units. Raises ValueError unless each unit is smaller than the one before."""
    parts = _PART.findall(text)
    factors = [MICROSECONDS[unit] for _, unit in parts]
    if any(later >= earlier for earlier, later in pairwise(factors)):
        raise ValueError(f"{text!r} is not a duration: write larger units first, each once, as in 1h5m10s")
    return [f"{number}{unit}" for number, unit in parts]


def _whole(text: str, units: dict[str, int], noun: str, examples: str, smallest: str) -> int:
    match = _NUMBER.fullmatch(text.strip()) if len(text) <= LONGEST_TEXT else None
    if match is None:
        text = _cut(text)
        raise ValueError(f"{text!r} is not a {noun}: write it like {examples}")
    number, unit = match.groups()
    if unit not in units:
        known = ", ".join(units)
        raise ValueError(f"{text!r} has no unit: {known}" if not unit else f"{text!r}: unknown unit {unit!r} ({known})")
    value = Fraction(number) * units[unit]
    if value.denominator != 1:
        raise ValueError(f"{text!r} is less than a whole {smallest}")
    return int(value)


def _shortest(value: int, units: dict[str, int], zero: str) -> str:
    if value == 0:
        return f"0{zero}"
    unit, factor = next((unit, factor) for unit, factor in reversed(units.items()) if value % factor == 0)
    return f"{value // factor}{unit}"
