"""Instants as people type them: `12m30s`, `1:20.5`, `00:12:41`, and from here `+10s`, `-500ms`."""

import re
from typing import NamedTuple

from cluster.config import MICROSECONDS, parse_duration

_PART = r"[0-9]+(?:\.[0-9]+)?(?:us|ms|s|m|h)"
_DURATIONS = re.compile(rf"(?:{_PART}\s*)+")
_CLOCK = re.compile(r"(?:([0-9]+):)?([0-9]{1,2}):([0-9]{1,2}(?:\.[0-9]{1,6})?)")


class At(NamedTuple):
    """An instant of a flight in µs; `relative`: so far from here (back: negative)."""

    us: int
    relative: bool = False

    def seen_from(self, now_us: int) -> int:
        """The instant itself."""
        return now_us + self.us if self.relative else self.us


def parse_instant(text: str) -> At | None:
    """Read an instant; None when the text is none."""
    sign, rest = (text[0], text[1:].strip()) if text[:1] in {"+", "-"} else ("", text.strip())
    us = _absolute(rest)
    if us is None:
        return None
    return At(-us if sign == "-" else us, relative=bool(sign))


def _absolute(text: str) -> int | None:
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        hours, minutes, seconds = clock.groups(default="0")
        return int(hours) * MICROSECONDS["h"] + int(minutes) * MICROSECONDS["m"] + parse_duration(f"{seconds}s")
    if _DURATIONS.fullmatch(text) is None:
        return None
    try:
        return sum(parse_duration(part) for part in re.findall(_PART, text))
    except ValueError:  # less than a microsecond: no instant
        return None
