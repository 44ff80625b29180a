"""The readable output of `flightdeck plan`: the table, the recommendation with its evidence, and the flights to replay.

Functions return text; none prints.
"""

import shlex
from collections.abc import Sequence
from io import StringIO
from typing import Any, TextIO

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from console.cli.output import StageProgress
from console.presenters.formatting import many
from console.visible import visible_line
from recordings.comparison.amounts import amount, spoken
from recordings.comparison.bill import MEASURES, Measure
from recordings.comparison.verdict import joined
from recordings.planning.order_statistics import DECIDING, enough_for
from recordings.planning.planner import Planned
from recordings.planning.ranking import Estimate, PlanRow, Recommendation, Trade

WIDEST = 10_000
"""The width of a table that no terminal limits."""

_BY_FIELD = {measure.field: measure for measure in MEASURES}


class PlanProgress(StageProgress):
    """The progress of a plan on a terminal: flights that have ended, and those that failed."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._shown = stream.isatty()

    def flown(self, ended: int, failed: int, of: int) -> None:
        """Show how many flights have ended."""
        if self._shown:
            self(f"{ended} of {of} flights{f', {failed} failed' if failed else ''}", ended / max(of, 1))


def progress_on(stream: TextIO) -> PlanProgress:
    """The progress of a plan; it shows nothing where the stream is no terminal."""
    return PlanProgress(stream)


def report_of(planned: Planned, again: Sequence[str]) -> dict[str, Any]:
    """The object that `plan --json` prints."""
    report: dict[str, Any] = msgspec.to_builtins(planned)
    judgement: dict[str, Any] = report.pop("judgement")
    measures = [{"field": each.field, "name": each.name, "unit": each.unit} for each in MEASURES]
    replay = [shlex.join(words) for words in _replays(planned, again)]
    return report | {"measures": measures} | judgement | {"replay": replay}


def of_plan(planned: Planned, again: Sequence[str], *, coloured: bool) -> str:
    """The table, the recommendation and how to replay the flights that decide; `again` flies the scenario."""
    rows, seeds = planned.judgement.rows, planned.seeds
    flown = many(len(rows), "row")
    if seeds:
        flown += f" × {many(len(seeds), 'seed')} ({seeds[0]}{f' to {seeds[-1]}' if len(seeds) > 1 else ''})"
    head = f"{planned.scenario}  {flown}{''.join(f'  {text}' for text in planned.fixed)}"
    cost = (
        f"{many(planned.flown_now, 'flight')} in {planned.wall_s:.1f} s, {many(planned.jobs, 'process', 'processes')}"
    )
    earlier = len(planned.flights) - planned.flown_now - sum(1 for row in rows if not row.flights)
    lines = [head, f"{cost}{f'; {earlier} flown earlier' if earlier > 0 else ''}", ""]
    lines = [visible_line(line) for line in lines]
    lines += [_table(planned, coloured=coloured), *_without_difference(planned)]
    failed = [(row.row, each) for row in rows for each in row.failed]
    lines += [visible_line(f"✖ row {row}, seed {each.seed}: {each.reason}") for row, each in failed]
    recommendation = planned.judgement.recommendation
    if recommendation is not None:
        lines += ["", *map(visible_line, _sentences(recommendation, rows, len(seeds)))]
    replays = _replays(planned, again)
    if replays:
        lines += [
            "",
            "Replay the flights of the median difference:",
            *(visible_line(f"  {shlex.join(words)}") for words in replays),
        ]
    return "\n".join(lines) + "\n"


def _table(planned: Planned, *, coloured: bool) -> str:
    rows = planned.judgement.rows
    measures = [_BY_FIELD[field] for field in planned.judgement.differing]
    table = plain_table()
    table.add_column("row", justify="right")
    for text in rows[0].settings:
        table.add_column(Text(visible_line(text.partition("=")[0])))
    for measure in measures:
        add_measure(table, measure)
    table.add_column("")
    for row in rows:
        words = [str(row.row), *(visible_line(text.partition("=")[2]) for text in row.settings)]
        words += [_estimate(row.measures.get(measure.field), measure) for measure in measures]
        style = (
            "strike dim"
            if row.dominated_by or row.read_nothing
            else "bold"
            if row.recommended
            else ""
            if row.judged
            else "dim"
        )
        table.add_row(*(Text(word, style=style) for word in words), Text(_verdict(row)))
    return drawn(table, coloured=coloured)


def plain_table() -> Table:
    """A table without lines, as the command line prints them."""
    return Table(box=None, pad_edge=False, header_style="bold", show_edge=False)


def drawn(table: Table, *, coloured: bool) -> str:
    """A table as text: as wide as the terminal if `coloured`, else as wide as it needs."""
    text = StringIO()
    console = Console(file=text, force_terminal=coloured, width=None if coloured else WIDEST)
    console.print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def add_measure(table: Table, measure: Measure) -> None:
    """Add the column of a measure: its name, and below it the unit that is another word."""
    unit = "" if measure.unit == measure.name else measure.unit
    table.add_column(f"{measure.name}\n{unit}", justify="right")


def _verdict(row: PlanRow) -> str:
    """What the other rows say of this one, with its mark."""
    alike = f"not distinct from {_rows(row.not_distinct_from)}" if row.not_distinct_from else ""
    if not row.judged:
        return f"✖ not judged: {len(row.failed)} failed" if row.failed else "· not judged"
    if row.read_nothing:
        return f"✗ {joined(row.read_nothing)} {'read' if len(row.read_nothing) > 1 else 'reads'} nothing"
    if row.dominated_by:
        return f"✗ dominated by {_rows(row.dominated_by)}"
    return "; ".join(part for part in ("★ recommended" if row.recommended else "", alike) if part)


def _rows(numbers: Sequence[int]) -> str:
    return f"row{'s' if len(numbers) > 1 else ''} {joined([str(number) for number in numbers])}"


def _estimate(estimate: Estimate | None, measure: Measure) -> str:
    """The median, and its interval if it is one."""
    if estimate is None:
        return "–"
    median, low, high = (amount(measure, round(value)) for value in (estimate.median, estimate.low, estimate.high))
    return median if low == high else f"{median} ({low}–{high})"


def _without_difference(planned: Planned) -> list[str]:
    """The measures that distinguish no two rows, in one line; what is 0 in every row is not listed."""
    judged = [row for row in planned.judgement.rows if row.judged and not row.read_nothing]
    if len(judged) < 2:
        return []
    words = []
    for measure in MEASURES:
        if measure.field not in planned.judgement.differing:
            medians = [row.measures[measure.field].median for row in judged]
            low, high = amount(measure, round(min(medians))), spoken(measure, round(max(medians)))
            if max(medians):
                words.append(high if high.startswith(f"{low} ") else f"{low} to {high}")
    if not words:
        return ["All other measures are 0 in every row."]
    return [f"The same in every row: {', '.join(words)}. All other measures are 0."]


def _sentences(recommendation: Recommendation, rows: Sequence[PlanRow], seeds: int) -> list[str]:
    """The recommendation in one sentence with its evidence, its price, and how far it can be trusted."""
    row = rows[recommendation.row - 1]
    gain = recommendation.gain
    if gain is None or recommendation.instead_of is None:
        count = sum(1 for each in rows if each.judged and not each.read_nothing)
        return (
            [f"{count} rows cost the same, as far as {many(seeds, 'seed')} can tell: keep what you have."]
            if count > 1
            else []
        )
    other = rows[recommendation.instead_of - 1]
    sure = f" ({DECIDING:.0%} confidence)" if seeds >= enough_for(DECIDING) else ""
    measure = _BY_FIELD[gain.measure]
    low, high = sorted((abs(gain.difference.low), abs(gain.difference.high)))
    least, most = amount(measure, round(low)), amount(measure, round(high))
    saved = f"by {least if least == most else f'{least} to {most}'}{sure}"
    instead = f"{_trade(gain)} with row {other.row} ({', '.join(other.settings)})"
    alone = gain.seeds == 1
    evidence = f"{'in its one flight' if alone else f'less with {gain.agreeing} of {gain.seeds} seeds'}, {saved}"
    lines = [f"Recommended: row {row.row} ({', '.join(row.settings)}): {instead}; {evidence}."]
    if recommendation.price:
        lines.append(f"In return: {'; '.join(_trade(trade) for trade in recommendation.price)}.")
    if recommendation.equals:
        one = len(recommendation.equals) == 1
        equals = _rows(recommendation.equals).capitalize()
        lines.append(f"{equals} {'costs' if one else 'cost'} the same, as far as {many(seeds, 'seed')} can tell.")
    if seeds < enough_for(DECIDING):
        few = f"{many(seeds, 'seed')} {'is' if seeds == 1 else 'are'} few"
        lines.append(f"{few}: from {enough_for(DECIDING)} on the confidence is {DECIDING:.0%}.")
    return lines


def _trade(trade: Trade) -> str:
    """Both medians: `52 unread partition-seconds instead of 2,807`."""
    measure = _BY_FIELD[trade.measure]
    return f"{spoken(measure, round(trade.recommended))} instead of {amount(measure, round(trade.other))}"


def _replays(planned: Planned, again: Sequence[str]) -> list[list[str]]:
    """The commands that fly the recommended row and the next best with the seed of the median difference, and diff."""
    recommendation = planned.judgement.recommendation
    if recommendation is None or recommendation.instead_of is None or recommendation.seed is None:
        return []
    commands, records = [], []
    for number in (recommendation.row, recommendation.instead_of):
        settings = [word for text in planned.judgement.rows[number - 1].settings for word in ("--set", text)]
        record = f"{planned.scenario}-row-{number}-seed-{recommendation.seed}.flight"
        commands.append([*again, "--seed", str(recommendation.seed), *settings, "--record", record])
        records.append(record)
    return [*commands, ["flightdeck", "diff", *records]]
