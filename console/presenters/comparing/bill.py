"""The bill of two flights: what each measure has come to at the cursor, and what it comes to at the end."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from console.presenters.list_view import CONTINUED, Listing
from console.presenters.raster.axis import short_clock
from console.presenters.styled_text import ACCENT, ERROR, MUTED, OK, PLAIN, STRONG, Line, fit, line, plain
from recordings.comparison.amounts import amount
from recordings.comparison.bill import MEASURES, Bill, Measure, Scope, payers
from recordings.comparison.pairing import DifferingAmount, shows
from recordings.comparison.samples import CourseDetail

if TYPE_CHECKING:
    from recordings.comparison.diff import FlightDiff

_BY_FIELD = {(measure.scope, measure.field): measure for measure in MEASURES}
LABEL = 12  # cells of a flight's name above its numbers


class BillRow(NamedTuple):
    """A measure that differs: the amounts at the cursor, and at the end, in the words of `diff`."""

    name: str
    here: tuple[str, str]
    ends: tuple[str, str]
    unit: str
    b_is_better: bool


def bill_at(detail: CourseDetail | None, at_us: int) -> Bill | None:
    """The last sampled bill up to an instant; None before the first one."""
    samples = detail.samples if detail is not None else []
    place = bisect_right(samples, at_us, key=lambda sample: sample.bill.at_us) - 1
    return samples[place].bill if place >= 0 else None


def _amount(measure: Measure, bill: Bill | None, name: str) -> str:
    payer = payers(bill, measure.scope).get(name) if bill is not None else None
    return amount(measure, measure.of(payer) if payer is not None else 0)


def bill_rows(found: "FlightDiff", at_us: int) -> dict[str, list[BillRow]]:
    """The rows that `diff` prints, by payer."""
    here = bill_at(found.a.course.detail, at_us), bill_at(found.b.course.detail, at_us)
    rows: dict[str, list[BillRow]] = {}
    for one in found.bills.differing:
        if shows(one):
            measure = _BY_FIELD[one.scope, one.field]
            begun = _amount(measure, here[0], one.name), _amount(measure, here[1], one.name_b)
            ends = amount(measure, one.a), amount(measure, one.b)
            row = BillRow(one.measure, begun, ends, one.unit, one.b_is_better)
            rows.setdefault(payer_words(one), []).append(row)
    return rows


def payer_words(row: DifferingAmount) -> str:
    """`group billing`, `producer checkout and till`, `cluster`."""
    if row.scope is Scope.CLUSTER:
        return "cluster"
    other = f" and {row.name_b}" if row.name_b != row.name else ""
    return f"{row.scope} {row.name}{other}"


class BillListing(Listing):
    """Rows by payer: the amounts of both flights at the cursor, then at the end."""

    title = "bill"
    vacant = line(("every measure is the same in both flights", MUTED))

    def __init__(self, found: "FlightDiff", at_us: int, width: int) -> None:
        super().__init__(width)
        self.found = found
        rows = bill_rows(found, at_us)
        sample = bill_at(found.a.course.detail, at_us)
        self.sampled_us = sample.at_us if sample is not None else 0
        labels = found.a.label[:LABEL], found.b.label[:LABEL]
        every = [row for group in rows.values() for row in group]
        texts = [(*row.here, *row.ends) for row in every]
        heads = (*labels, *labels)
        self._widths = [max([len(head), *(len(text[at]) for text in texts)]) for at, head in enumerate(heads)]
        self._named = max([len("measure"), *(len(row.name) for row in every)])
        self._lines = [one for payer, group in rows.items() for one in self._payer(payer, group, labels[1])]
        self._lines += [line((f"  {words}", MUTED)) for words in self._rest(every)]
        self._heads = heads

    def _rest(self, rows: Sequence[BillRow]) -> list[str]:
        shown = {row.name for row in rows}
        same = [name for name in self.found.bills.equal if name not in shown]
        said = [f"the same: {', '.join(same)}"] if same else []
        for side, alone in ((self.found.a, self.found.bills.only_a), (self.found.b, self.found.bills.only_b)):
            if alone:
                said.append(f"only in {side.label}: {', '.join(f'{scope} {name}' for scope, name in alone)}")
        return [*said, self.found.balance] if self.found.balance else said

    def _payer(self, payer: str, rows: Sequence[BillRow], b: str) -> list[Line]:
        lines = [line((f"  {payer}", STRONG))]
        for row in rows:
            numbers = [f"{text:>{width}}" for text, width in zip((*row.here, *row.ends), self._widths, strict=True)]
            mark = (f"{b} better", OK) if row.b_is_better else (f"{b} worse", ERROR)
            lines.append(
                line(
                    f"  {row.name:<{self._named}}  ",
                    ("  ".join(numbers[:2]), PLAIN),
                    (" │ ", MUTED),
                    ("  ".join(numbers[2:]), STRONG),
                    "  ",
                    mark,
                    f"{'' if row.b_is_better else ' '}  {row.unit}",
                )
            )
        return lines

    def note(self) -> Line:
        """The instants of both pairs of columns."""
        here, end = short_clock(self.sampled_us), short_clock(self.found.until_us)
        return line(("at ", MUTED), (here, ACCENT), (f" │ at the end, {end}", MUTED))

    def header(self) -> Line:
        """The flights' names above their numbers."""
        names = [f"{text:>{width}}" for text, width in zip(self._heads, self._widths, strict=True)]
        words = f"  {'measure':<{self._named}}  {'  '.join(names[:2])} │ {'  '.join(names[2:])}"
        return fit(line((words, MUTED)), self.width)

    def row_keys(self) -> list[str]:
        """Lines that cannot be selected."""
        return [f"{CONTINUED}{number}" for number in range(len(self._lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(self._lines[int(key[1:])], self.width),)

    def text(self) -> list[str]:
        """All lines, for a file."""
        return [plain(row).rstrip() for row in (line("bill  ", *self.note()), self.header(), *self._lines)]
