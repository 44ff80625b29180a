"""Two recorded flights compared: the verdict, the first divergence that matters, and both bills."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from recordings.comparison.bill import Scope
from recordings.comparison.course import Course, courses_of
from recordings.comparison.divergence import ComparedLogs, compared_logs
from recordings.comparison.event_differences import first_difference
from recordings.comparison.pairing import PairedBills, paired
from recordings.comparison.verdict import balance, costs, verdict, without_comparison
from recordings.journal.comparison import Divergence
from recordings.journal.reader import Recording
from recordings.journal.upgrade import upgraded_lines


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of two flights: its name in a table and, if another, in sentences; its course."""

    label: str
    course: Course
    spoken: str = ""

    @property
    def subject(self) -> str:
        """Its name in sentences."""
        return self.spoken or self.label


class FlightDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two flights compared up to `until_us`.

    `equal`: every event is the same. `settings_a` and `settings_b`: what only one flight was started with.
    `first_difference`: where the logs of events do not differ, the first event that does, by more than its settings, if
    the events were compared one by one (`compared_events`).
    """

    a: Side
    b: Side
    until_us: int
    equal: bool
    verdict: str
    balance: str
    bills: PairedBills
    logs: ComparedLogs
    settings_a: list[str]
    settings_b: list[str]
    compared_events: bool = False
    first_difference: Divergence | None = None

    def report(self) -> dict[str, Any]:
        """The object that `flightdeck diff --json` prints."""
        structs = msgspec.structs.asdict(self)
        fields: dict[str, Any] = msgspec.to_builtins(
            {name: value for name, value in structs.items() if name not in {"a", "b", "bills"}}
        )
        for key, side in (("a", self.a), ("b", self.b)):
            course = side.course
            fields[key] = {
                "label": side.label,
                "recording": course.recording,
                "scenario": course.scenario,
                "seed": course.settings.seed,
                "virtual_us": course.virtual_us,
                "bill": msgspec.to_builtins(course.bill),
            }
        rows = [msgspec.to_builtins(row) | {"b_is_better": row.b_is_better} for row in self.bills.differing]
        fields["bill"] = {
            "differing": rows,
            "equal": self.bills.equal,
            "only_a": msgspec.to_builtins(self.bills.only_a),
            "only_b": msgspec.to_builtins(self.bills.only_b),
        }
        return fields


def diff(a: Path, b: Path, *, salvage: bool = False) -> FlightDiff:
    """Compare two recordings up to the end of the shorter one.

    Raises RecordingError: no recording, damaged (unless `salvage`), or NotComparableError.
    """
    return diff_of(a, b, courses_of((a, b), salvage=salvage), salvage=salvage)


def diff_of(a: Path, b: Path, courses: Sequence[Course], *, salvage: bool = False) -> FlightDiff:
    """Compare two recordings whose courses are read already, up to one instant. Raises as `diff` does."""
    first, second = labels(a, b)
    found = compare(Side(label=first, course=courses[0]), Side(label=second, course=courses[1]))
    if found.equal or found.logs.divergence is not None:
        return found
    left, right = [_lines(Recording(path, salvage=salvage)) for path in (a, b)]
    equal, difference = first_difference(left, right, found.until_us)
    return msgspec.structs.replace(found, first_difference=difference, equal=equal, compared_events=True)


def compare(a: Side, b: Side) -> FlightDiff:
    """Compare two courses that end at the same instant. Raises NotComparableError."""
    one, other = a.course, b.course
    bills = paired(one.bill, other.bill)
    found = costs(one.bill, other.bill, bills)
    equal = bool(one.journal_sha256) and one.journal_sha256 == other.journal_sha256
    given_a, given_b = _started_with(one), _started_with(other)
    groups = bills.pairs[Scope.GROUP]
    idle = _idle(a, b, groups) or _idle(b, a, [(name_b, name) for name, name_b in groups])
    return FlightDiff(
        a=a,
        b=b,
        until_us=min(one.until_us, other.until_us),
        equal=equal,
        verdict=idle or verdict(a.subject, b.subject, found, partly=bool(bills.only_a or bills.only_b)),
        balance="" if idle else balance(found, b.subject),
        bills=bills,
        logs=compared_logs(one.log, other.log),
        settings_a=[each for each in given_a if each not in given_b],
        settings_b=[each for each in given_b if each not in given_a],
    )


def _idle(side: Side, other: Side, pairs: Sequence[tuple[str, str]]) -> str:
    """The verdict on a flight in which groups read nothing that the other flight's read; "" where all read."""
    groups, others = side.course.bill.groups, other.course.bill.groups
    found = [name for name, theirs in pairs if not groups[name].delivered and others[theirs].delivered]
    return without_comparison(side.subject, found) if found else ""


def labels(a: Path, b: Path) -> tuple[str, str]:
    """The names of two recordings in sentences: their directories' names, or A and B if these say nothing."""
    names = [path.resolve().name.removesuffix(".flight") for path in (a, b)]
    if names[0] == names[1] or any(len(name.split()) != 1 for name in names):
        return "A", "B"
    return names[0], names[1]


def _started_with(course: Course) -> list[str]:
    settings = [f"{scope}:{key}={value}" if scope else f"{key}={value}" for scope, key, value in course.settings.set]
    return [f"scenario {course.scenario}", f"seed {course.settings.seed}", *settings]


def _lines(recording: Recording) -> Iterator[bytes]:
    return upgraded_lines(recording.event_lines(), recording.header.format)
