"""What a tool prints: its two streams, and the two ways in which Kafka's tools lay out a table."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

MISSING: Final = "-"
"""Kafka's `MISSING_COLUMN_VALUE`, for what is unknown."""


class Printed(NamedTuple):
    """The text of stdout and of stderr, each with its line ends; `ok`: the tool did what it was asked."""

    out: str = ""
    err: str = ""
    ok: bool = True

    @property
    def streams(self) -> str:
        """Both, for a place that has one stream: warnings come before the table, as on a terminal."""
        return self.err + self.out

    def __add__(self, other: object) -> "Printed":
        """What is printed after the other."""
        assert isinstance(other, Printed)
        return Printed(self.out + other.out, self.err + other.err, self.ok and other.ok)


def failed(message: str) -> Printed:
    """An error in the words of `printError`, without Java's stack trace. Source: `ConsumerGroupCommand.printError`."""
    return Printed(f"\nError: {message}\n", ok=False)


def columns(rows: Iterable[Sequence[str]], widths: Sequence[int]) -> list[str]:
    """Rows with each cell padded to its width and one blank between them, as printf does; 0: not padded."""
    return [" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def widest(least: int, cells: Iterable[str]) -> int:
    """The width of a column that is at least so wide."""
    return max((least, *map(len, cells)))


def pretty_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Printed:
    """Columns as wide as their widest cell, each followed by a tab. Source: `ToolsUtils.prettyPrintTable`."""
    widths = [widest(len(title), (row[number] for row in rows)) for number, title in enumerate(headers)]
    lines = (
        "".join(f"{cell.ljust(width)}\t" for cell, width in zip(row, widths, strict=True)) for row in (headers, *rows)
    )
    return Printed("".join(f"{line}\n" for line in lines))
