"""The readable output of `flightdeck compare`: the answer in words, the measures as a table, and where the page is."""

# ruff: noqa: PLC0415 - Spark's modules are imported when a comparison is asked for

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from console.cli.output import StageProgress
from console.cli.outputs.plan import drawn, plain_table
from console.visible import visible_line

if TYPE_CHECKING:
    from recordings.spark.compare.compared import Compared

FAILED_SHOWN = 20


class CompareProgress(StageProgress):
    """The progress of a comparison on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._shown = stream.isatty()

    def reading(self, pairs: int) -> None:
        """Say what is read: Spark takes some seconds to start."""
        if self._shown:
            self(f"reading {pairs} {'pair' if pairs == 1 else 'pairs'} of flights", 0)


def progress_on(stream: TextIO) -> CompareProgress:
    """The progress of a comparison; it shows nothing where the stream is no terminal."""
    return CompareProgress(stream)


def of_compared(compared: "Compared", out: Path, *, coloured: bool) -> str:
    """The sentences, the table, a command that shows a typical pair, and where the files are."""
    from recordings.spark.compare.compared import evidence, sentences, typical
    from recordings.spark.formatting import many

    pairs = many(len(compared.judged), "pair")
    lines = [visible_line(f"{compared.b} against {compared.a}  {pairs} of flights"), ""]
    lines += [visible_line(line) for line in sentences(compared)]
    if compared.differences.totals:
        lines += ["", _table(compared, coloured=coloured)]
    if compared.differences.same:
        lines.append(f"the same in every pair: {', '.join(compared.differences.same)}")
    lines += [
        visible_line(f"✖ seed {pair.seed}: {pair.failure}") for pair in compared.failed[:FAILED_SHOWN] if pair.failure
    ]
    if len(compared.failed) > FAILED_SHOWN:
        lines.append(f"  and {len(compared.failed) - FAILED_SHOWN} more (--json)")
    shown = typical(compared)
    if shown is not None:
        lines.append(visible_line(f"The pair nearest to the mean: {evidence(shown)}"))
    lines.append(visible_line(f"{out}/compare.html and {out}/compare.json have the details"))
    return "\n".join(lines) + "\n"


def _table(compared: "Compared", *, coloured: bool) -> str:
    from recordings.spark.compare.compare_page import verdict_of
    from recordings.spark.compare.compared import SURE, interval, mean_amount, signed

    rows = [*compared.differences.totals, *compared.differences.rows]
    several = bool(compared.differences.rows)
    table = plain_table()
    if several:
        table.add_column("of")
    table.add_column("measure")
    for name in (compared.a, compared.b, "difference", f"{SURE} interval", "agreeing"):
        table.add_column(Text(visible_line(name)), justify="right")
    table.add_column("")
    for row in rows:
        unit = "" if row.unit == row.measure else f" ({row.unit})"
        words = [_payer(row.name, row.name_b)] if several else []
        words += [f"{row.measure}{unit}", mean_amount(row.field, row.a), mean_amount(row.field, row.b)]
        words += [signed(row.field, row.difference), interval(row) or "–", f"{row.agreeing} of {row.pairs}"]
        style = "" if row.differs else "dim"
        table.add_row(*(Text(visible_line(word), style=style) for word in (*words, verdict_of(compared, row))))
    return drawn(table, coloured=coloured)


def _payer(name: str, name_b: str) -> str:
    if name == name_b:
        return name or "all"
    return f"{name} and {name_b}"
