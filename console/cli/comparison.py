"""The readable output of compared flights: verdict, divergence, bills, rankings and remedies."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cluster.config import spoken_duration
from console.cli import output
from console.presenters.event_log import merged_entries
from console.presenters.formatting import clock
from recordings.comparison.amounts import amount, spoken
from recordings.comparison.bill import MEASURES, Measure, Scope
from recordings.comparison.meter import BillMeter
from recordings.comparison.pairing import DifferingAmount, shows
from recordings.comparison.ranking import SHOWN_OF_GROUPS, has_rivals, rank_groups
from recordings.comparison.verdict import joined

if TYPE_CHECKING:
    from cluster.spec import ScenarioSpec
    from cluster.view.state import LogEntry
    from recordings.comparison.course import Course
    from recordings.comparison.diff import FlightDiff, Side
    from recordings.comparison.ranking import RankedWay, Ranking
    from recordings.flights.fork import ForkResult
    from recordings.flights.rerun import RerunResult
    from recordings.flights.runner import FlightResult
    from recordings.journal.comparison import Divergence
    from recordings.remedies.measure import Remedies
    from recordings.remedies.search import RemediesSearch

SECOND_US = 1_000_000
GIVEN_SHOWN = 5
_EFFECTS = {"better": "✔", "worse": "✖", "none": "·", "failed": "·"}
MEASURES_SHOWN = 5  # in the columns of a ranking of many ways
NEARLY_EQUAL = "Amounts within a twentieth of each other count as equal: the next row decides."
WIDEST = 80  # characters of a table that has its ways side by side
_SHORT = {"partition-seconds": "partition-s", "member-seconds": "member-s", "seconds": "s"}
_BY_FIELD = {(measure.scope, measure.field): measure for measure in MEASURES}


def of_diff(found: "FlightDiff") -> str:
    """The verdict first; then what differs at the start, where the flights part, and what each costs."""
    if found.equal:
        length = spoken_duration(found.until_us // 1_000 * 1_000)
        events = min(found.a.course.events, found.b.course.events)
        return "\n".join([f"The flights are equal: {events:,} events in {length} of virtual time.", *_ends(found)])
    lines = [found.verdict, "", *_sides(found.a, found.b), *_ends(found), *_started(found)]
    return "\n".join([*lines, *_divergence(found), *_bill(found)])


def meter_for(spec: "ScenarioSpec") -> BillMeter | None:
    """A meter for a flight whose groups can be ranked; None for any other."""
    return BillMeter() if has_rivals(spec) else None


def of_run(result: "FlightResult", record: Path | None, meter: BillMeter | None, *, strict: bool = False) -> str:
    """A flight; with a meter, its groups that read the same topics ranked by what they cost."""
    lines = [output.of_flight(result, record, strict=strict)]
    if meter is not None:
        lines += map(of_ranking, rank_groups(meter.view, meter.bill(result.virtual_us)))
    return "\n\n".join(lines)


def of_fork(found: "ForkResult", record: Path | None, *, strict: bool = False) -> str:
    """Refused commands, the comparison with the recorded flight, settings that wait, the fork's flight in short."""
    lines = [f"✖ refused, and without effect: {each.text}: {each.reason}" for each in found.refused]
    lines += [of_diff(found.diff), ""] if found.diff is not None else []
    for change in found.settings:
        if change.effect != "now":
            who = ", ".join(change.processes) or change.scope
            lines.append(f"{change.scope} {change.key}={change.value} counts {change.effect} of {who}")
    return "\n".join([*lines, *_flight(found.flight, record, strict=strict)])


def of_rerun(result: "RerunResult", record: Path | None, *, strict: bool = False) -> str:
    """A what-if by what it costs, with its flight in short; any other rerun by the first event that differs."""
    if result.diff is None:
        return output.of_rerun(result, record, strict=strict)
    return "\n".join([of_diff(result.diff), "", *_flight(result.flight, record, strict=strict)])


def _flight(flight: "FlightResult", record: Path | None, *, strict: bool) -> Iterable[str]:
    """A flight whose expectations were written for another one: only those that fail now are listed."""
    yield from output.flight_lines(flight, record)
    for violation in flight.invariants["violations"]:
        yield f"  ✖ {output.violation_text(violation)}"
    failed = [each for each in flight.expectations if each["ok"] is False or (strict and each.get("already"))]
    judged = sum(1 for each in flight.expectations if each["ok"] is not None)
    if judged:
        rest = "" if not failed else "; these did not:" if len(failed) > 1 else "; this one did not:"
        yield f"{judged - len(failed)} of {judged} expectations of the scenario held{rest}"
    for each in failed[:GIVEN_SHOWN]:
        yield f"  ✖ {each.get('that') or each['event']}"
    if len(failed) > GIVEN_SHOWN:
        yield f"  and {len(failed) - GIVEN_SHOWN} more (--json)"


def _sides(*sides: "Side") -> Iterable[str]:
    width = max(len(side.label) for side in sides)
    for side in sides:
        course = side.course
        length = spoken_duration(course.virtual_us // 1_000 * 1_000)
        where = course.recording or "not recorded"
        yield f"  {side.label:<{width}}  {where}  ({course.scenario}, seed {course.settings.seed}, {length})"


def _ends(found: "FlightDiff") -> list[str]:
    """The end of the comparison, where one flight is longer."""
    if found.a.course.virtual_us == found.b.course.virtual_us:
        return []
    shorter, longer = sorted((found.a, found.b), key=lambda side: side.course.virtual_us)
    end = spoken_duration(found.until_us // 1_000 * 1_000)
    return [f"  compared up to {end}, where {shorter.label} ends; {longer.label} is longer"]


def _started(found: "FlightDiff") -> Iterable[str]:
    for side, settings, given in (
        (found.a, found.settings_a, found.logs.given_a),
        (found.b, found.settings_b, found.logs.given_b),
    ):
        shown = [(entry.text.removesuffix("."), clock(entry.at_us)) for entry in given[:GIVEN_SHOWN]]
        said = [*settings, *(f"{text} at {at}" for text, at in shown)]
        if len(given) > GIVEN_SHOWN:
            said.append(f"{len(given) - GIVEN_SHOWN} more")
        if said:
            yield f"  only {side.label}: {', '.join(said)}"


def _divergence(found: "FlightDiff") -> list[str]:
    parting = found.logs.divergence
    if parting is None:
        return ["", *_first_difference(found, found.first_difference)]
    lines = ["", f"The first divergence that matters is at {clock(parting.at_us, 3)}."]
    if parting.before:
        lines += ["  in both, before it", *_entries(parting.before)]
    for side, entries in ((found.a, parting.a), (found.b, parting.b)):
        lines += [f"  {side.label}, from then on", *(_entries(entries) or ["    nothing more"])]
    return lines


def _first_difference(found: "FlightDiff", difference: "Divergence | None") -> list[str]:
    nothing = "Nothing that the event log tells is different."
    if difference is None:
        if found.compared_events:
            return ["No event differs by more than the settings that it names."]
        counts = [f"{side.course.events:,} in {side.label}" for side in (found.a, found.b)]
        return [
            nothing if found.a.course.events == found.b.course.events else f"{nothing} Events: {', '.join(counts)}."
        ]
    at = clock(int(difference.at_s * SECOND_US), 3)
    lines = [nothing, f"The first event that differs by more than its settings is at {at}."]
    for side, event in ((found.a, difference.recorded), (found.b, difference.rerun)):
        instant = "" if event is None else f"{event['at_us'] / SECOND_US:.6f} s  "  # all that may differ
        lines.append(f"    {side.label}: {instant}{event_text(event)}")
    return lines


def event_text(event: dict[str, Any] | None) -> str:
    """An event as its kind and fields."""
    if event is None:
        return "(nothing)"
    fields = ", ".join(f"{key}={value}" for key, value in event.items() if key not in {"kind", "seq", "at_us"})
    return f"{event['kind']}  {fields}"


def _entries(entries: "Sequence[LogEntry]") -> list[str]:
    return [f"    {clock(entry.at_us, 3)}  {entry.text}" for entry in merged_entries(entries)]


# --- the bill ---------------------------------------------------------------------------------------------------------


def _bill(found: "FlightDiff") -> Iterable[str]:
    rows = [row for row in found.bills.differing if shows(row)]
    yield ""
    if rows:
        yield from _table(rows, found.a.label, found.b.label)
    same = [name for name in found.bills.equal if name not in {row.measure for row in rows}]
    if same:
        yield f"the same: {', '.join(same)}"
    for side, alone in ((found.a, found.bills.only_a), (found.b, found.bills.only_b)):
        if alone:
            yield f"only in {side.label}: {', '.join(f'{scope} {name}' for scope, name in alone)}"
    if found.balance:
        yield found.balance


def _table(rows: Sequence[DifferingAmount], a: str, b: str) -> Iterable[str]:
    measures = [_BY_FIELD[row.scope, row.field] for row in rows]
    texts = [(row, amount(each, row.a), amount(each, row.b)) for row, each in zip(rows, measures, strict=True)]
    wide_a = max(len(a), *(len(left) for _, left, _ in texts))
    wide_b = max(len(b), *(len(right) for _, _, right in texts))
    named = max(len(row.measure) for row in rows)
    units = max(len(row.unit) for row in rows)
    payer: tuple[Scope, str] | None = None
    yield f"  {'':<{named}}  {a:>{wide_a}}  {b:>{wide_b}}"
    for row, left, right in texts:
        if payer != (row.scope, row.name):
            payer = row.scope, row.name
            yield _payer(row)
        mark = f"{b} better" if row.b_is_better else f"{b} worse"
        line = f"  {row.measure:<{named}}  {left:>{wide_a}}  {right:>{wide_b}}  {row.unit:<{units}}  {mark}"
        causes = ", ".join(_cause(cause, more, row) for cause, more in row.by_cause.items())
        yield line + (f" ({causes})" if causes else "")


def _cause(cause: str, more: int, row: DifferingAmount) -> str:
    """`member left +2`, `stalled -74.0`."""
    return f"{cause} {'+' if more > 0 else '-'}{amount(_BY_FIELD[row.scope, row.field], abs(more))}"


def _payer(row: DifferingAmount) -> str:
    if row.scope is Scope.CLUSTER:
        return "cluster"
    other = f" and {row.name_b}" if row.name_b != row.name else ""
    return f"{row.scope} {row.name}{other}"


# --- rankings ---------------------------------------------------------------------------------------------------------


def of_ranking(ranking: "Ranking") -> str:
    """The sentence, and a table of the measures in which the ways differ, the best way first.

    A few ways stand side by side, with a row for each measure: so the table fits a terminal and a document.
    """
    known = (*MEASURES, *SHOWN_OF_GROUPS)
    differing = [next(each for each in known if each.field == field) for field in ranking.fields]
    for ranks_above in (False, True):
        beside = _beside(ranking.ways, differing, ranks_above)
        if max(map(len, beside), default=0) <= WIDEST:
            return "\n".join([ranking.sentence, *beside])
    measures = differing[:MEASURES_SHOWN]
    heads = ["", "", *map(_head, measures)]
    rows = [
        [
            f"{way.rank}." if way.rank else "✗",
            way.name if way.rank else f"{way.name}: {_idle(way)}",
            *(amount(each, way.amounts[each.field]) for each in measures),
        ]
        for way in ranking.ways
    ]
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
    lines = [ranking.sentence]
    for row in (heads, *rows):
        cells = [f"{row[0]:>{widths[0]}}", f"{row[1]:<{widths[1]}}"]
        cells += [f"{text:>{width}}" for text, width in zip(row[2:], widths[2:], strict=True)]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def _beside(ways: "Sequence[RankedWay]", measures: Sequence[Measure], ranks_above: bool) -> list[str]:
    """A column for each way that is compared, and a line for each other one; `ranks_above` splits the heads in two."""
    ranked = [way for way in ways if way.rank]
    ranks, names = [f"{way.rank}." for way in ranked], [way.name for way in ranked]
    rows = [["", *ranks], ["", *names]] if ranks_above else [["", *map(" ".join, zip(ranks, names, strict=True))]]
    rows += [[_head(each), *(amount(each, way.amounts[each.field]) for way in ranked)] for each in measures]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows if len(ranked) > 1 else ():
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{text:>{width}}" for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "  ".join(cells))
    heaviest = [way.amounts[measures[0].field] for way in ranked] if measures else []
    if heaviest != sorted(heaviest):
        lines.append(f"  {NEARLY_EQUAL}")
    return [*lines, *(f"   ✗  {way.name}: {_idle(way)}" for way in ways if not way.rank)]


def _idle(way: "RankedWay") -> str:
    """`reads nothing`, or which groups of a flight do."""
    groups = [name for name in way.read_nothing if name != way.name]
    return " ".join(filter(None, (joined(groups) if groups else "", "read" if len(groups) > 1 else "reads", "nothing")))


def _head(measure: Measure) -> str:
    """`unread (partition-s)`, `rebalances`."""
    return (
        measure.name if measure.unit == measure.name else f"{measure.name} ({_SHORT.get(measure.unit, measure.unit)})"
    )


def of_ranked_flights(ranking: "Ranking", courses: "Sequence[Course]") -> str:
    """The ranking of several flights, and up to where they are compared."""
    lines = [of_ranking(ranking)]
    until_us = courses[0].until_us
    if any(course.virtual_us > until_us for course in courses):
        lines.append(f"compared up to {spoken_duration(until_us // 1_000 * 1_000)}, where the shortest flight ends")
    return "\n".join(lines)


def of_remedies(sought: "RemediesSearch") -> str:
    """Each rebalance with the settings that were tried for it."""
    parts = ["\n".join(_remedies_lines(one)) for one in sought.found]
    return "\n\n".join([*parts, *(["interrupted: the other remedies were not measured"] if sought.interrupted else [])])


def _remedies_lines(found: "Remedies") -> list[str]:
    """One rebalance: its settings, and which helps most."""
    one = found.rebalance
    title = f"remedies for {found.group}"
    if one is not None:
        trigger = f" ({one.trigger})" if one.trigger else ""
        unread = spoken(MEASURES[0], one.unread_partition_us)
        number = f"{'group epoch' if one.epoch else 'generation'} {one.generation}"
        title += f", {number}: {one.cause}{trigger} at {clock(one.started_us)}, {unread}"
    lines = [title]
    for remedy in found.remedies:
        worse = "worse: " if remedy.effect == "worse" else ""
        lines.append(f"  {_EFFECTS[remedy.effect]} {remedy.text}: {worse}{remedy.words}")
    return [*lines, f"  {found.sentence}"]
