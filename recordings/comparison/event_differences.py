"""The first event that differs between two flights by more than the settings that it names.

A changed setting is repeated in events: what a member declares, until when its session runs. Such differences are the
echo of the setting, and not what it does.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from recordings.journal.comparison import Divergence

SECOND_US: Final = 1_000_000

DECLARED: Final = frozenset({"topic_created", "group_declared", "member_declared", "producer_declared"})
"""Kinds of events that say what a flight was started with."""

ECHOES: Final = frozenset(
    {
        "seq",
        "member_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "session_deadline_us",
        "session_deadlines_us",
        "closes_at_us",
        "expires_at_us",
        "timeout_ms",
    }
)
"""Fields that name a setting, or an instant that follows from one, and ids."""

_DECODER = msgspec.json.Decoder(dict[str, Any])


def first_difference(a: Iterator[bytes], b: Iterator[bytes], until_us: int) -> tuple[bool, Divergence | None]:
    """Whether the events (lines in chunks) up to an instant are equal, and the first that differs by more than echoes.

    None without such an event.
    """
    equal, left, right = True, _Lines(a, until_us), _Lines(b, until_us)
    while True:
        one, other = left.next(), right.next()
        if one is not None and one == other:
            continue
        first, second = left.event(one), right.event(other)
        if first is None and second is None:
            return equal, None
        equal = False
        first, second = left.after_declarations(first), right.after_declarations(second)
        if _without_echoes(first) != _without_echoes(second):
            seq, at_us = min((side["seq"], side["at_us"]) for side in (first, second) if side is not None)
            return False, Divergence(seq=seq, at_s=at_us / SECOND_US, recorded=first, rerun=second)


def _without_echoes(event: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if event is None else {key: value for key, value in event.items() if key not in ECHOES}


class _Lines:
    """The lines of one flight's events up to an instant, one by one."""

    def __init__(self, chunks: Iterator[bytes], until_us: int) -> None:
        self._lines = (line for chunk in chunks for line in chunk.splitlines())
        self._until_us = until_us

    def next(self) -> bytes | None:
        """The next line, None at the end."""
        return next(self._lines, None)

    def event(self, line: bytes | None) -> dict[str, Any] | None:
        """The event of a line; None at the end."""
        event = None if line is None else _DECODER.decode(line)
        return None if event is None or event["at_us"] > self._until_us else event

    def after_declarations(self, event: dict[str, Any] | None) -> dict[str, Any] | None:
        """This event, or the next one that declares nothing; None at the end."""
        while event is not None and event["kind"] in DECLARED:
            event = self.event(self.next())
        return event
