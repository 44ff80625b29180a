"""Comparisons with one false statement each."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from console.presenters.comparing import bill, raster, verdict
from console.presenters.comparing.bill import BillRow
from console.presenters.styled_text import Line
from recordings.comparison.bill import Bill
from recordings.comparison.diff import FlightDiff
from recordings.comparison.samples import BillSample, CourseDetail

Patch = pytest.MonkeyPatch


def every_cursor_is_at_the_end(patch: Patch) -> None:
    """What a measure comes to stands beside each instant."""
    patch.setattr(bill, "_amount", _amount_at_the_end)


def _amount_at_the_end(measure: Any, found: Bill | None, name: str) -> str:  # noqa: ANN401
    del measure, found, name
    return "20.0"


def the_next_sample_is_shown(patch: Patch) -> None:
    """The bill of after the cursor is shown for it."""

    def bill_at(detail: CourseDetail | None, at_us: int) -> Bill | None:
        samples = detail.samples if detail is not None else []
        return next((sample.bill for sample in samples if sample.bill.at_us > at_us), samples[-1].bill)

    patch.setattr(bill, "bill_at", bill_at)


def columns_are_swapped(patch: Patch) -> None:
    """The second flight's amounts stand below the first one's name."""
    true = bill.bill_rows

    def bill_rows(found: FlightDiff, at_us: int) -> dict[str, list[BillRow]]:
        rows = true(found, at_us)
        return {name: [row._replace(ends=row.ends[::-1]) for row in each] for name, each in rows.items()}

    patch.setattr(bill, "bill_rows", bill_rows)


def more_is_better(patch: Patch) -> None:
    """The mark praises what costs more."""
    true = bill.bill_rows

    def bill_rows(found: FlightDiff, at_us: int) -> dict[str, list[BillRow]]:
        rows = true(found, at_us)
        return {name: [row._replace(b_is_better=not row.b_is_better) for row in each] for name, each in rows.items()}

    patch.setattr(bill, "bill_rows", bill_rows)


def the_cost_has_no_row(patch: Patch) -> None:
    """The measure that matters is left out."""
    true = bill.bill_rows

    def bill_rows(found: FlightDiff, at_us: int) -> dict[str, list[BillRow]]:
        rows = true(found, at_us)
        return {name: [row for row in each if row.name != "unread"] for name, each in rows.items()}

    patch.setattr(bill, "bill_rows", bill_rows)


def lags_of_the_beginning_stay(patch: Patch) -> None:
    """Each cell shows the first sample."""
    true = raster.lag_row

    def lag_row(axis: Any, samples: Sequence[BillSample], group: str, most_us: int) -> Line:  # noqa: ANN401
        return true(axis, samples[len(samples) // 2 :], group, most_us)

    patch.setattr(raster, "lag_row", lag_row)


def the_other_flight_parts(patch: Patch) -> None:
    """What only one flight has is said of the other one."""
    true = verdict.parting_words

    def parting_words(found: FlightDiff) -> str:
        words = true(found)
        a, b = found.a.label, found.b.label
        return words.replace(f"only in {a}", "only in #").replace(f"only in {b}", f"only in {a}").replace("#", b)

    patch.setattr(verdict, "parting_words", parting_words)


def the_parting_is_marked_later(patch: Patch) -> None:
    """The mark of the first divergence stands two cells behind it."""
    true = raster._marked
    patch.setattr(raster, "_marked", lambda of, cell: true(of, cell + 2))


def the_verdict_praises_the_wrong_flight(patch: Patch) -> None:
    """Both costs are there, with the names exchanged."""
    true = verdict.verdict_words

    def verdict_words(found: FlightDiff) -> str:
        a, b = "The recorded flight", "the fork"
        return true(found).replace(a, "#").replace(f"; {b}", "; the recorded flight").replace("#", "The fork")

    patch.setattr(verdict, "verdict_words", verdict_words)


FALSE_COMPARISONS: tuple[Callable[[Patch], None], ...] = (
    the_parting_is_marked_later,
    every_cursor_is_at_the_end,
    the_next_sample_is_shown,
    columns_are_swapped,
    more_is_better,
    the_cost_has_no_row,
    lags_of_the_beginning_stay,
    the_other_flight_parts,
    the_verdict_praises_the_wrong_flight,
)
