"""The readable output of what was read from logs: what they do not tell is `unknown`.

Sentences that are not known come first, so that a reader sees what the tables below may lack.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from console.cli.output import table
from console.presenters.formatting import many

if TYPE_CHECKING:
    from recordings.log_reading.difference import GroupDifference, LogsDifference
    from recordings.log_reading.summary import ReadSummary
    from recordings.log_reading.twin_flight import TwinFlown

SENTENCES_SHOWN = 10


def of_read_summary(found: "ReadSummary") -> str:
    """What was read of which logs, then groups and rebalances."""
    reading = found.reading
    began = f"from {reading.began}" if reading.began else "without dates: seconds count from midnight"
    lines = [f"read from {many(len(reading.files), 'log')}, {began}"]
    for each in reading.files:
        more = f", {each.without_instant:,} without a known instant" if each.without_instant else ""
        more += "; the file is cut off: its whole lines were read" if each.cut_short else ""
        lines.append(f"  {each.log}: {many(each.lines, 'line')}, {each.coordinator:,} of group coordinators{more}")
    of = "of clients, controllers and other parts of brokers"
    others = f"; {many(reading.others, 'line')} {of}" if reading.others else ""
    matched = f"{many(reading.matched, 'line')} matched, {reading.unmatched:,} did not"
    lines.append(f"{matched}{others}; {many(reading.events, 'event')}")
    if reading.passed_over:
        passed = ", ".join(f"{number:,} of a {writer}" for writer, number in sorted(reading.passed_over.items()))
        lines.append(f"passed over, because they say what is not read: {passed}")
    if reading.backwards:
        have = "lines have" if reading.backwards != 1 else "line has"
        lines.append(f"{reading.backwards:,} {have} an instant before that of an earlier line")
    if reading.repeated:
        repeat = "lines repeat others" if reading.repeated != 1 else "line repeats another"
        lines.append(f"{reading.repeated:,} {repeat} of the same instant and count once: do the logs overlap?")
    shown = list(reading.sentences.items())[:SENTENCES_SHOWN]
    lines += [f"  {count:,} × {sentence}" for sentence, count in shown]
    if len(reading.sentences) > len(shown):
        lines.append(f"  … and {len(reading.sentences) - len(shown):,} more sentences (--json has them)")
    tables: dict[str, Sequence[msgspec.Struct]] = {
        "groups": found.groups, "rebalances": found.rebalances, "producers": found.producers,
        "transactional ids": found.transactional_ids,
    }  # fmt: skip
    for title, rows in tables.items():
        if rows:
            lines += ["", title, *table([_shown(msgspec.structs.asdict(row)) for row in rows])]
    return "\n".join(lines)


def of_logs_difference(found: "LogsDifference") -> str:
    """Group by group: how many rebalances, of which causes, how long, and how many of them are alike."""
    lines = [f"a: {found.a}", f"b: {found.b}"]
    for one in found.groups:
        lines += _of_group(one)
    known = any(one.rebalances != (None, None) for one in found.groups)
    said = "are the same" if found.equal else "differ" if known else "are unknown in both"
    return "\n".join(
        [*lines, "", f"the rebalances {said}; what no log tells is not compared: lag, assignments, records"]
    )


def of_twin(found: "TwinFlown") -> str:
    """The scenario of a reading: what was guessed, what it lacks, how its flight compares with the logs."""
    lines = [f"scenario {found.scenario}, flown once: the logs | the flight"]
    for one in found.groups:
        lines += _of_group(one)
    lines += ["", *(f"guessed: {words}" for words in found.inferred)]
    return "\n".join([*lines, *(f"not in it: {words}" for words in found.left_out)])


def _of_group(one: "GroupDifference") -> list[str]:
    a, b = ("unknown" if number is None else f"{number:,}" for number in one.rebalances)
    lines = ["", f"{one.group}, rebalances: {a} | {b}"]
    if None in one.rebalances:
        return lines
    lines += [f"  {cause}: {in_a:,} | {in_b:,}" for cause, (in_a, in_b) in one.causes.items()]
    lines.append(f"  together {one.total_s[0]:.3f} s | {one.total_s[1]:.3f} s")
    most = max(number or 0 for number in one.rebalances)
    lines.append(f"  {one.paired:,} of {most:,} follow one another with the same causes")
    if one.greatest_s is not None:
        alike = f"{one.alike:,} of {one.timed:,} took as long, within a tenth"
        lines.append(f"  {alike}; the greatest difference is {one.greatest_s:.3f} s")
    return lines


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row with `unknown` for what the logs do not tell; the coordinator's words are in `--json` and the console."""
    return {name: "unknown" if value is None else value for name, value in row.items() if name != "detail"}
