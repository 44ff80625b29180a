"""The verdict on two flights, where they part, and what was given to one of them only."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cluster.config import spoken_duration
from console.forking.fork_line import NO_COMPARISON
from console.presenters.list_view import CONTINUED, Listing
from console.presenters.raster.axis import short_clock
from console.presenters.styled_text import ACCENT, MUTED, PLAIN, STRONG, WARN, Line, fit, line, wrapped

if TYPE_CHECKING:
    from cluster.view.state import LogEntry
    from recordings.comparison.diff import FlightDiff, Side

GIVEN_SHOWN = 3
UNDER_WAY = "two flights are being compared: the comparison is shown here when it is complete"
PARTING = "≠"  # where two flights part


def verdict_words(found: "FlightDiff") -> str:
    """The first sentence, as `diff` says it."""
    if not found.equal:
        return found.verdict
    events = min(found.a.course.events, found.b.course.events)
    length = spoken_duration(found.until_us // 1_000 * 1_000)
    return f"The flights are equal: {events:,} events in {length} of virtual time."


def parting_us(found: "FlightDiff") -> int | None:
    """The instant of the first divergence; None without one."""
    return found.logs.divergence.at_us if found.logs.divergence is not None else None


def parting_words(found: "FlightDiff") -> str:
    """`first divergence 5:00.123, only in fork: broker-2 is not available`."""
    parting = found.logs.divergence
    if parting is None:
        return "no divergence except the commands of one flight only"
    at = short_clock(parting.at_us, 3)
    for side, entries in ((found.a, parting.a), (found.b, parting.b)):
        if entries and entries[0].at_us == parting.at_us:
            return f"first divergence {at}, only in {side.label}: {entries[0].text}"
    return f"first divergence {at}"


def _given_at(one: "LogEntry") -> str:
    """`kill broker-2 at 5:00.0`; the reason of a refusal is a sentence of Kafka's."""
    return f"{one.text.removesuffix('.')} at {short_clock(one.at_us)}"


def given_words(found: "FlightDiff") -> list[str]:
    """`only fork: kill broker-2 at 5:00.0`, for each flight that has something of its own."""
    said = []
    sides: list[tuple[Side, Sequence[str], Sequence[str]]] = [
        (found.a, found.settings_a, [_given_at(one) for one in found.logs.given_a]),
        (found.b, found.settings_b, [_given_at(one) for one in found.logs.given_b]),
    ]
    for side, settings, given in sides:
        words = [*settings, *given]
        more = [f"{len(words) - GIVEN_SHOWN} more"] if len(words) > GIVEN_SHOWN else []
        if words:
            said.append(f"only {side.label}: {', '.join([*words[:GIVEN_SHOWN], *more])}")
    return said


class VerdictListing(Listing):
    """The verdict, the first divergence, what differs at the start, notes: line by line."""

    title = "verdict"

    def __init__(self, found: "FlightDiff", notes: Sequence[str], key: str, width: int) -> None:
        super().__init__(width)
        self.found = found
        self._lines = [row for words in _paragraphs(found, notes, key) for row in wrapped(words, width - 4, indent=2)]

    def note(self) -> Line:
        """Where the flights part, for a terminal that has no room for more than the verdict."""
        at_us = parting_us(self.found)
        words = f" first divergence {short_clock(at_us)}" if at_us is not None else ""
        return line((PARTING, WARN), (words, MUTED)) if words else ()

    def row_keys(self) -> list[str]:
        """Lines that cannot be selected."""
        return [f"{CONTINUED}{number}" for number in range(len(self._lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(line("  ", *self._lines[int(key[1:])]), self.width),)


class NoComparisonListing(Listing):
    """The place before there is a comparison; `under_way`: while the first one is flown."""

    title = "comparison"

    def __init__(self, width: int, *, under_way: bool) -> None:
        super().__init__(width)
        self.vacant = line((UNDER_WAY if under_way else NO_COMPARISON, MUTED))


def _paragraphs(found: "FlightDiff", notes: Sequence[str], key: str) -> Iterator[Line]:
    yield line((verdict_words(found), STRONG))
    if found.equal:
        return
    jumps = parting_us(found) is not None
    yield line(
        (parting_words(found), PLAIN), *((("  ", PLAIN), (key, ACCENT), (" goes there", MUTED)) if jumps else ())
    )
    for words in given_words(found):
        yield line((words, MUTED))
    for words in notes:
        yield line((words, WARN))
