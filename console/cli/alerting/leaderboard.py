"""The readable output of `flightdeck alerts`: the best rule in words, the leaderboard, each rule by class of fault.

Functions return text; none prints.
"""

from collections.abc import Sequence
from typing import TextIO

from console.cli.output import StageProgress
from console.visible import visible_line
from recordings.alerts.scoring import ClassScore, Leaderboard
from recordings.alerts.watch import Watched
from recordings.alerts.words import seconds, sentences


class FlightsProgress(StageProgress):
    """The progress of the laboratory on a terminal; it shows nothing elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._shown = stream.isatty()

    def ended(self, flights: int, of: int) -> None:
        """Show how many flights have ended: the first seconds are Spark's start."""
        if self._shown:
            self(f"{flights} of {of} flights" if flights else "starting Spark", flights / max(of, 1))


def of_alerts(board: Leaderboard, flights: Sequence[Watched]) -> str:
    """The leaderboard, and where no fault hurts a group the faults that there were."""
    harmless = [f"{one.recording}: {fault.text}" for one in flights for fault in one.faults] if not board.faults else []
    lines = [of_board(board)]
    if harmless:
        lines += ["", "Faults that hurt no group:", *(visible_line(f"  {text}") for text in harmless)]
    return "\n".join(lines)


def of_board(board: Leaderboard) -> str:
    """The best rule, how many faults of how many recordings were there to find, and both tables."""
    lines = [*sentences(board), ""]
    rows = [["rule", "found", "missed", "hidden", "median delay", "false", "unexplained"]]
    rows += [
        [
            *(one.rule, *map(str, (one.found, one.missed, one.hidden))),
            *(seconds(one.median_delay_us), str(one.false), str(one.unexplained)),
        ]
        for one in board.scores
    ]
    lines += _aligned(rows)
    if board.faults:
        lines += ["", *_aligned(_by_class(board))]
    return "\n".join(visible_line(line) for line in lines)


def _by_class(board: Leaderboard) -> list[list[str]]:
    """One row for each class, one column for each rule: found of all, and the shortest to the longest delay."""
    names = sorted({each.fault_class for one in board.scores for each in one.by_class})
    rows = [["rule", *names]]
    for one in board.scores:
        known = {each.fault_class: each for each in one.by_class}
        rows.append([one.rule, *(_class_cell(known.get(name)) for name in names)])
    return rows


def _class_cell(one: ClassScore | None) -> str:
    if one is None or not (one.delays_us or one.missed):
        return "–"
    found = f"{len(one.delays_us)}/{len(one.delays_us) + one.missed}"
    if not one.delays_us:
        return found
    least, most = seconds(min(one.delays_us)), seconds(max(one.delays_us))
    return f"{found} in {least}" if least == most else f"{found} in {least} to {most}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            word.rjust(width) if column else word.ljust(width)
            for column, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
