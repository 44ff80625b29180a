"""The readable output of `flightdeck sweep`: the sentences, the frontier as a table, and where the page is."""

# ruff: noqa: PLC0415 - Spark's modules are imported when a sweep is asked for

from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from console.cli.output import StageProgress
from console.cli.outputs.plan import add_measure, drawn, plain_table
from console.visible import visible_line

if TYPE_CHECKING:
    from recordings.spark.sweep.sweep_page import Swept

SHOWN = 20
SECOND_US = 1_000_000


class SweepProgress(StageProgress):
    """The progress of a sweep on a terminal: flights that have ended, and how long the rest takes."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._shown = stream.isatty()

    def starting(self) -> None:
        """Say why nothing is flown yet: Spark takes some seconds."""
        if self._shown:
            self("starting Spark", 0)

    def flown(self, ended: int, of: int, left_s: float | None) -> None:
        """Show how many flights have ended."""
        from recordings.spark.formatting import duration

        if self._shown:
            left = "" if left_s is None else f", {duration(left_s * SECOND_US)} left"
            self(f"{ended} of {of} flights{left}", ended / max(of, 1))


def progress_on(stream: TextIO) -> SweepProgress:
    """The progress of a sweep; it shows nothing where the stream is no terminal."""
    return SweepProgress(stream)


def of_sweep(swept: "Swept", out: str, *, coloured: bool) -> str:
    """The sentences, the frontier, the flights that failed, and where the results are."""
    from recordings.spark.formatting import many
    from recordings.spark.sweep.sweep_page import replay, sentences

    frontier = swept.frontier
    flights = sum(each.flights for each in frontier.points)
    flown = f"{many(swept.flown_now, 'flight')} in {swept.seconds:.1f} s"
    earlier = f"; {flights - swept.flown_now} flown earlier" if flights > swept.flown_now else ""
    points, seeds = many(len(frontier.points), "point"), many(len(swept.seeds), "seed")
    lines = [f"{', '.join(swept.scenarios)}  {points} × {seeds}", f"{flown}{earlier}", "", *sentences(swept), ""]
    lines = [visible_line(line) for line in lines]
    if frontier.best:
        lines.append(_table(swept, coloured=coloured))
    failed = [(each, one) for each in frontier.points for one in each.failed]
    lines += [
        visible_line(f"✖ {', '.join(each.settings)}, seed {one.seed}: {one.reason}") for each, one in failed[:SHOWN]
    ]
    if len(failed) > SHOWN:
        lines.append(f"  and {len(failed) - SHOWN} more (--json)")
    best = frontier.best[:1]
    lines += [visible_line(f"Replay the first: {replay(swept, one)}") for one in best]
    lines.append(visible_line(f"{out}/sweep.html, {out}/sweep.json and {out}/results.parquet have the details"))
    return "\n".join(lines) + "\n"


def _table(swept: "Swept", *, coloured: bool) -> str:
    from recordings.spark.sweep.sweep_page import BY_FIELD, estimate

    frontier = swept.frontier
    several = len(swept.scenarios) > 1
    table = plain_table()
    if several:
        table.add_column("scenario")
    table.add_column("on the frontier")
    for axis in frontier.axes:
        add_measure(table, BY_FIELD[axis])
    for point in frontier.best[:SHOWN]:
        words = [point.scenario] if several else []
        words += [", ".join(point.settings), *(estimate(point, axis) for axis in frontier.axes)]
        table.add_row(*(Text(visible_line(word)) for word in words))
    return drawn(table, coloured=coloured)
