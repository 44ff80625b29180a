"""Typed instants: `12m30s`, `1:20.5`, `00:12:41`; `+10s` and `-500ms` are relative to the cursor. And typed speeds."""

import math
import re
from typing import NamedTuple

from cluster.commands import CommandError
from cluster.config import MICROSECONDS, parse_duration

FLAT_OUT = "flat-out"
"""The typed speed without a limit; `flat out`, as the header shows it, is read too."""
_PART = r"[0-9]+(?:\.[0-9]+)?(?:us|ms|s|m|h)"
_DURATIONS = re.compile(rf"(?:{_PART}\s*)+")
_CLOCK = re.compile(r"(?:([0-9]+):)?([0-9]{1,2}):([0-9]{1,2}(?:\.[0-9]{1,6})?)")


class Instant(NamedTuple):
    """An instant of a flight in µs; with `relative`, an offset from the cursor, negative for back."""

    us: int
    relative: bool = False

    def from_cursor(self, now_us: int) -> int:
        """The absolute instant in µs, for a cursor at `now_us`."""
        return now_us + self.us if self.relative else self.us


THE_END = Instant(1 << 60)
"""The live instant, or the end of a recording: `go live`."""


def parse_instant(text: str) -> Instant | None:
    """Parse an instant; None if the text is not one."""
    if text.strip() == "live":
        return THE_END
    sign, rest = (text[0], text[1:].strip()) if text[:1] in {"+", "-"} else ("", text.strip())
    us = _absolute(rest)
    if us is None:
        return None
    return Instant(-us if sign == "-" else us, relative=bool(sign))


def with_unit(text: str) -> str | None:
    """An instant whose last number has no unit, with the next smaller one: `5m10s` for `5m10`; None for other text."""
    units = re.findall(r"[a-z]+", text)
    made = text + {"h": "m", "m": "s", "s": "ms"}.get(units[-1] if units else "", "s")
    return made if text[-1:].isdigit() and parse_instant(made) is not None else None


def _absolute(text: str) -> int | None:
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        hours, minutes, seconds = clock.groups(default="0")
        return int(hours) * MICROSECONDS["h"] + int(minutes) * MICROSECONDS["m"] + parse_duration(f"{seconds}s")
    if _DURATIONS.fullmatch(text) is None:
        return None
    try:
        return sum(parse_duration(part) for part in re.findall(_PART, text))
    except ValueError:  # less than a microsecond is not an instant
        return None


def speed_factor(rest: str, column: int, usage: str) -> float:
    """Virtual seconds per second; infinity is as fast as possible. Raises CommandError."""
    if rest in {FLAT_OUT, "flat out", "max"}:
        return math.inf
    try:
        factor = float(rest.removeprefix("×").removeprefix("x"))
    except ValueError:
        raise CommandError(f"a speed is a number or `{FLAT_OUT}`: {usage}", column) from None
    if not 0.01 <= abs(factor) <= 10_000:
        raise CommandError("a speed is from 0.01 to 10000, backwards from -0.01; `pause` stops time", column)
    return factor
