"""The readable output of the commands: flights, reruns, tables, the library. Functions return text; none prints."""

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from cluster.config import format_duration, spoken_duration
from cluster.reach import NOT_ASKED, PROBES
from console.cli.streams import rewrite, write
from console.presenters.formatting import many
from console.presenters.rebalance_causes import listed

if TYPE_CHECKING:
    from recordings.flights.rerun import RerunResult
    from recordings.flights.runner import FlightResult
    from recordings.scenarios.expectations import Result
    from recordings.scenarios.loader import ScenarioInfo
    from recordings.spark.report import Reported
    from recordings.swarm.check import Checked
    from recordings.tables.export import Exported
    from recordings.tables.summary import Summary
    from recordings.trace.export import Traced

SECOND_US = 1_000_000
LOADS_SHOWN = 24  # rows of partitions


def of_flight(result: "FlightResult", record: Path | None, *, strict: bool = False) -> str:
    """A flight in one screen: duration and speed, expectations, invariants, groups, delivery.

    `strict`: an expectation that already held at the start of its window counts as failed.
    """
    lines = flight_lines(result, record)
    lines += ["", *_expectations(result.expectations, strict=strict)]
    violations = result.invariants["violations"]
    lines += [f"  ✖ {violation_text(violation)}" for violation in violations]
    lines += [
        "",
        *_groups(result.view["groups"]),
        *_crashes(result),
        *_failures(result),
        _delivery(result.view["delivery"]),
    ]
    return "\n".join(lines)


def flight_lines(result: "FlightResult", record: Path | None) -> list[str]:
    """What was flown, and how fast; interruptions and refused commands."""
    length = spoken_duration(result.virtual_us // 1_000 * 1_000)
    flown = f"{result.scenario}  seed {result.seed}  simulated {length} of virtual time"
    lines = [
        f"{flown} in {result.wall_s:.2f} s{_factor(result)}",
        f"{result.events:,} events  {result.turns:,} turns  journal {result.journal_sha256[:16]}…",
    ]
    if record is not None:
        lines.append(f"recorded in {record}")
    if result.interrupted:
        lines.append("interrupted: expectations after the interruption are not judged")
    lines += [f"refused at {each.at_us / SECOND_US:g} s: {each.text}: {each.reason}" for each in result.refused]
    lines += [
        f"✖ {text} was not given: this is not the flight that the scenario describes" for text in result.not_given
    ]
    return lines


def violation_text(violation: dict[str, Any]) -> str:
    """A broken invariant: its sentence, and the event that broke it."""
    what = f"{violation['invariant']} {violation['name']}: {violation['sentence']}"
    return f"{what}. At {violation['at_s']:g} s, event {violation['seq']}: {violation['found']}"


def of_rerun(result: "RerunResult", record: Path | None, *, strict: bool = False) -> str:
    """The flight, and its comparison with the recorded one."""
    return "\n".join([of_flight(result.flight, record, strict=strict), "", *_comparison(result)])


def _comparison(result: "RerunResult") -> list[str]:
    if result.matches:
        return [f"✔ the same flight: {result.compared_events:,} events are equal, byte by byte"]
    mark = "✖ another flight"
    if not result.exact:
        mark = "other events: another flight"
    lines = [f"{mark} after {result.compared_events:,} equal events"]
    difference = result.first_divergence
    if difference is not None:
        lines.append(f"  first difference: event {difference.seq} at {difference.at_s} s")
        lines.append(f"    recorded  {_event(difference.recorded)}")
        lines.append(f"    now       {_event(difference.rerun)}")
    if result.flight.diverged is not None:
        lines.append(f"  {result.flight.diverged}")
    return lines


def _event(event: dict[str, Any] | None) -> str:
    if event is None:
        return "(nothing)"
    fields = ", ".join(f"{key}={value}" for key, value in event.items() if key != "kind")
    return f"{event['kind']}  {fields}"


def of_check(checked: "Checked") -> str:
    """The number of clusters flown, and each failure: the invariant, its minimal scenario, and the scenario's file."""
    lines = []
    for failure in checked.failures:
        lines.append(f"✖ seed {failure.seed}: {failure.invariant} {failure.name} at {failure.at_s:g} s")
        lines += [f"  {failure.found}", f"  {failure.steps} of {failure.steps_drawn} faults suffice:", ""]
        lines += [f"    {line}" if line else "" for line in failure.scenario.splitlines()]
        lines += ["", f"  saved as {failure.file}; fly it again: {failure.command}", ""]
    mark = "✔" if checked.held else "✖"
    flown = f"{checked.seeds:,} random clusters of {checked.virtual_s:g} s, {checked.events:,} events"
    lines.append(f"{mark} {flown}, {checked.flown_twice} run twice and compared: {len(checked.failures)} failed")
    lines.append(f"  {checked.wall_s:.1f} s, {checked.seeds_per_hour:,} seeds an hour")
    if checked.interrupted:
        lines.append("  interrupted: the other seeds were not simulated")
    return "\n".join([*lines, *_of_reach(checked)])


def _of_reach(checked: "Checked") -> list[str]:
    """The rare branches of the rules, and how often each was taken."""
    taken = sum(1 for hits in checked.reach.values() if hits)
    lines = ["", f"Reach: {taken} of {len(checked.reach)} rare branches taken"]
    lines += [f"  {hits:>9,}  {name:<45}  {PROBES[name]}" for name, hits in checked.reach.items() if hits]
    never = [name for name, hits in checked.reach.items() if not hits]
    lines += [f"  {'never':>9}  {name:<45}  {PROBES[name]}" for name in never if name not in NOT_ASKED]
    lines += [f"  {'never':>9}  {name:<45}  not asked for: {NOT_ASKED[name]}" for name in never if name in NOT_ASKED]
    return lines


def of_library(listed: Sequence["ScenarioInfo"]) -> str:
    """The library by module: name, duration, title."""
    modules: dict[str, list[ScenarioInfo]] = defaultdict(list)
    for scenario in listed:
        modules[scenario["module"]].append(scenario)
    width = max((len(scenario["name"]) for scenario in listed), default=0)
    lines = []
    for module, members in sorted(modules.items()):
        lines.append(module)
        lines += [f"  {each['name']:<{width}}  {each['until']:>4}  {each['title']}" for each in members]
    return "\n".join([*lines, "", "flightdeck show NAME prints a scenario, flightdeck run NAME flies it"])


def of_recording(found: "Summary") -> str:
    """A recording's main tables."""
    settings = "".join(f"  {setting}" for setting in found.settings)
    lines = [
        f"{found.scenario}  seed {found.seed}{settings}  {found.virtual_s:g} s of virtual time  {found.started}",
        f"{found.events:,} events  {found.commands:,} commands  journal {found.journal_sha256[:16]}…",
    ]
    if not found.complete:
        lines.append("the flight ended early")
    for title, rows in (
        ("groups", found.groups),
        ("rebalances", found.rebalances),
        ("committed offsets that went back", found.committed_offsets),
        ("transactions that are open at the end", found.open_transactions),
        ("producers", found.producers),
        ("topics", [row for row in found.topics if not row.topic.startswith("__")]),
        ("load by topic, the most uneven first", found.topic_loads),
        (f"load by partition{_first_of(len(found.partition_loads))}", found.partition_loads[:LOADS_SHOWN]),
        ("faults", found.faults),
        ("refused commands", found.refused),
    ):
        if rows:
            lines += ["", title, *table([msgspec.structs.asdict(row) for row in rows])]
    lines += ["", _delivery(found.delivery)]
    return "\n".join(lines)


def _first_of(number: int) -> str:
    return f", the first {LOADS_SHOWN} of {number:,} (all of them with --json)" if number > LOADS_SHOWN else ""


def of_export(exported: Sequence["Exported"], to: str) -> str:
    """The exported events, bytes and directories."""
    lines = [
        f"{each.recording}: {each.events:,} events as {each.bytes:,} bytes in {each.seconds:.1f} s (run {each.run_id})"
        for each in exported
    ]
    return "\n".join([*lines, f"tables in {to}/tables"])


def of_trace(traced: "Traced") -> str:
    """The size of a trace, and what opens it."""
    return (
        f"{traced.trace}: {traced.trace_events:,} trace events of {traced.events:,} events, {traced.bytes:,} bytes\n"
        "ui.perfetto.dev and chrome://tracing open it"
    )


def of_report(made: "Reported", together: Iterable[tuple[str, Sequence[str]]] = ()) -> str:
    """The verdict on each flight, what is said of them `together` (heading, sentences), and the report's paths."""
    lines: list[str] = []
    for flight in made.report.flights:
        lines += [flight.verdict.headline, *(f"  {sentence}" for sentence in flight.verdict.sentences), ""]
    for heading, found in together:
        lines += [heading, *(f"  {sentence}" for sentence in found), ""]
    return "\n".join([*lines, f"{made.html} and {made.json}, made in {made.seconds:.1f} s"])


def table(rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Rows under the names of their fields; numbers are right-aligned."""
    texts = [[_cell(value) for value in row.values()] for row in rows]
    heads = list(rows[0])
    widths = [max(len(head), *(len(line[place]) for line in texts)) for place, head in enumerate(heads)]
    right = [isinstance(value, int | float) for value in rows[0].values()]
    for line in (heads, *texts):
        cells = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        )
        yield "  " + "  ".join(cells).rstrip()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _factor(result: "FlightResult") -> str:
    return f" (×{result.virtual_s / result.wall_s:,.0f})" if result.wall_s > 0 else ""


def _expectations(results: Sequence["Result"], *, strict: bool) -> list[str]:
    if not results:
        return ["the scenario has no expectations"]
    judged = [each for each in results if each["ok"] is not None]
    already = sum(1 for each in judged if each.get("already"))
    held = sum(1 for each in judged if each["ok"]) - (already if strict else 0)
    unjudged = f", {len(results) - len(judged)} not judged" if len(judged) < len(results) else ""
    accidental = f", {already} already true where {'its window begins' if already == 1 else 'their windows begin'}"
    lines = [f"{held} of {len(judged)} expectations held{unjudged}{accidental if already else ''}"]
    for each in results:
        fails = not each["ok"] or (strict and each.get("already"))
        mark = "·" if each["ok"] is None else "✖" if fails else "✔"
        at = f" at {each['at_s']:g} s" if each["at_s"] is not None else ""
        at = f" already true{at}" if each.get("already") else at
        lines.append(f"  {mark} {each.get('that') or each['event']}{at}: {each['found']}")
    return lines


def _groups(groups: dict[str, Any]) -> Iterable[str]:
    for name, group in groups.items():
        number = f"generation {group['generation']}" if group.get("protocol") != "consumer" else ""
        number = number or f"group epoch {group['group_epoch']}"
        line = f"{name}: {group['state']}, {many(group['members'], 'member')}, {number}"
        line += f", lag {group['lag']:,}, {many(group['rebalances'], 'rebalance')}"
        last = group["last_rebalance"]
        if last["cause"]:
            trigger = f" ({last['trigger']})" if last["trigger"] else ""
            which = "the last" if group["rebalances"] else "the first assignment"
            line += f"; {which}: {last['cause']}{trigger}, {last['took_ms'] / 1000:g} s, {last['moved']} moved"
        yield line


def _crashes(result: "FlightResult") -> Iterable[str]:
    """The consumers whose process crashed, together when one reason ended several."""
    alike: dict[tuple[str, bool, int, str], list[str]] = defaultdict(list)
    for name, (times, reason) in result.crashes.items():
        member = result.view["members"][name]
        alike[member["group"], member["alive"], times, reason].append(name)
    for (group, alive, times, reason), names in alike.items():
        each = "each " if len(names) > 1 else ""
        often = "crashed" if times == 1 else f"{each}crashed {times} times"
        now = "runs" if len(names) == 1 else "run"
        yield f"{group}: {listed(names)} {often}{f' and {now} again' if alive else ''}: {reason}"


def _failures(result: "FlightResult") -> Iterable[str]:
    """The records that failed, by error, with their producers."""
    records: Counter[str] = Counter()
    producers: defaultdict[str, list[str]] = defaultdict(list)
    for name, failures in result.failures.items():
        for error, count in failures.items():
            records[error] += count
            producers[error].append(name)
    for error, count in records.most_common():
        because = " (a record without a key, in a compacted topic)" if error == "INVALID_RECORD" else ""
        yield f"{listed(producers[error])}: {count:,} record{'s' * (count != 1)} failed with {error}{because}"


def _delivery(delivery: dict[str, Any]) -> str:
    keys = ("produced", "acked", "delivered", "duplicated", "lost", "unread", "skipped")
    return "records: " + ", ".join(f"{delivery[key]:,} {key}" for key in keys)


class ProgressLine:
    """One line on a stream that is overwritten in place and cleared at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width = 0

    def _rewrite(self, line: str) -> None:
        with contextlib.suppress(OSError):  # without a writable stream the work continues without progress
            rewrite(line, self._width, self._stream)
        self._width = len(line)

    def clear(self) -> None:
        """Blank the line."""
        if self._width:
            self._rewrite("")
            self._rewrite("")  # moves the cursor to the start of the line


class StageProgress(ProgressLine):
    """The stage and the share of a long command: one line on a terminal, else a line for each stage."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._stage = ""

    def __call__(self, stage: str, share: float) -> None:
        """Show the stage and the share of the whole (0 to 1)."""
        line = f"{share * 100:3.0f} %  {stage}"
        if self._stream.isatty():
            self._rewrite(line)
        elif stage != self._stage:
            with contextlib.suppress(OSError):
                write(line + "\n", to=self._stream)
        self._stage = stage


class Progress(ProgressLine):
    """The progress of a flight, shown at most ten times per second."""

    def __init__(self, stream: TextIO, until_us: int | None) -> None:
        super().__init__(stream)
        self._until_us = until_us
        self._began = time.monotonic()
        self._shown_at = 0.0

    def __call__(self, now_us: int) -> None:
        """Show the progress, unless it was shown less than 0.1 s ago."""
        now = time.monotonic()
        if now - self._shown_at < 0.1:
            return
        self._shown_at = now
        share = f" of {format_duration(self._until_us)}" if self._until_us else ""
        speed = now_us / SECOND_US / max(now - self._began, 0.001)
        self._rewrite(f"simulated {now_us // SECOND_US} s{share}  ×{speed:,.0f}")


def progress_on(stream: TextIO, until_us: int | None) -> Progress | None:
    """A progress line if the stream is a terminal, else None."""
    return Progress(stream, until_us) if stream.isatty() else None
