"""Lines, numbers and tables fit their width, whatever that is."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.presenters import formatting
from console.presenters.styled_text import (
    MUTED,
    PLAIN,
    Line,
    apart,
    cut,
    fit,
    fit_right,
    joined,
    length,
    line,
    middle,
    plain,
    wrapped,
)
from console.presenters.table import Layout, TableColumn, for_names

lines = st.lists(st.tuples(st.text("abc ─▇", max_size=12), st.sampled_from([PLAIN, MUTED])), max_size=6).map(tuple)


@given(lines, st.integers(0, 40))
def test_fitted_lines_have_exactly_their_width(of: Line, width: int) -> None:
    assert length(fit(of, width)) == width
    assert length(fit_right(of, width)) == width
    assert length(cut(of, width)) <= width


@given(lines, lines, st.integers(0, 40))
def test_two_ends_of_a_line_share_its_width(left: Line, right: Line, width: int) -> None:
    assert length(apart(left, right, width)) == width


@given(st.text("abc ", max_size=60), st.integers(4, 30))
def test_wrapping_loses_no_word_and_breaks_only_at_blanks(text: str, width: int) -> None:
    rows = wrapped(line(text), width)
    assert "".join(plain(row) for row in rows).split() == text.split() or any(
        len(word) > width for word in text.split()
    )
    assert all(length(row) <= width + 1 or " " not in plain(row).strip() for row in rows)


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [("billing-1", 9, "billing-1"), ("a-very-long-name-17", 10, "a-ve…me-17"), ("abc", 1, "…"), ("abc", 0, "")],
)
def test_identifiers_are_shortened_in_the_middle(name: str, width: int, shown: str) -> None:
    assert middle(name, width) == shown


def test_lines_are_joined_without_the_empty_ones() -> None:
    assert plain(joined([line("a"), (), line("b")], (" · ", MUTED))) == "a · b"


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (999, "999"), (1_234, "1.2k"), (99_940, "99.9k"), (123_400, "123k"), (1_250_000, "1.2M"), (-5, "-5")],
)
def test_counts_are_short(number: int, shown: str) -> None:
    assert formatting.count(number) == shown


@given(st.integers(0, 10**12))
def test_no_count_is_wider_than_five_cells(number: int) -> None:
    assert len(formatting.count(number)) <= 5


@pytest.mark.parametrize(
    ("us", "shown"),
    [
        (9_899_999, "9.8 s"),
        (9_950_000, "9.9 s"),
        (9_999_999, "9.9 s"),
        (10_000_000, "10 s"),
        (53_931_000, "53 s"),
        (3_599_999_999, "59:59"),
        (3_600_000_000, "1:00:00"),
        (0, "0 s"),
        (3_000, "3 ms"),
        (400_000, "0.4 s"),
        (12_300_000, "12 s"),
        (99_900_000, "99 s"),
        (259_000_000, "4:19"),
        (6_123_000_000, "1:42:03"),
        (-400_000, "-0.4 s"),
    ],
)
def test_durations_carry_their_unit(us: int, shown: str) -> None:
    assert formatting.duration(us) == shown


@pytest.mark.parametrize(("ms", "shown"), [(3_000, "3 s"), (500, "500 ms"), (300_000, "5:00"), (0, "0 ms")])
def test_settings_are_written_as_they_were_chosen(ms: int, shown: str) -> None:
    assert formatting.setting(ms) == shown


def test_clocks_are_cut_and_never_rounded_up() -> None:
    assert formatting.clock(761_399_999) == "00:12:41.3"
    assert formatting.clock(761_399_999, 3) == "00:12:41.399"
    assert formatting.moment(59_990_000) == "00:59.9"


@pytest.mark.parametrize(
    ("factor", "shown"), [(1.0, "×1"), (0.1, "×0.1"), (20, "×20"), (math.inf, "flat out"), (3.14159, "×3.14")]
)
def test_speeds_are_named(factor: float, shown: str) -> None:
    assert formatting.speed(factor) == shown


def test_bars_show_a_trace_of_anything_above_nothing() -> None:
    assert formatting.bar(0, 4) == "    "
    assert formatting.bar(0.0001, 4) == "▏   "
    assert formatting.bar(0.5, 4) == "██  "
    assert formatting.bar(2, 4) == "████"


def test_sparklines_end_at_the_right_edge() -> None:
    assert formatting.spark([0, 0], 4) == "  ▁▁"
    assert formatting.spark([1, 2, 4, 8], 3) == "▂▄█"
    assert formatting.spark([], 3) == "   "


COLUMNS = (
    TableColumn("name", 8, grow=1, most=12),
    TableColumn("number", 6, right=True, rank=1),
    TableColumn("words", 10, rank=2),
)


def test_columns_are_dropped_by_rank_and_never_wrapped() -> None:
    assert Layout(COLUMNS, 40).shown == [0, 1, 2]
    assert Layout(COLUMNS, 24).shown == [0, 1]
    assert Layout(COLUMNS, 12).shown == [0]


def test_a_name_gets_its_cells_before_other_columns_grow() -> None:
    columns = for_names((COLUMNS[0], COLUMNS[1]._replace(grow=9)), ["a-name-of-19-letters"])
    assert Layout(columns, 40).width_of(0) == 20
    assert Layout(columns, 28).width_of(0) == 17, "as many as there are"
    assert Layout(columns, 4).width_of(0) == 8, "too narrow for its column: the row is cut"


def test_a_column_of_little_weight_goes_before_a_name_is_cut() -> None:
    name, more = TableColumn("name", 10), (TableColumn("acked", 6, rank=7), TableColumn("state", 6, rank=4))
    assert Layout(for_names((name, *more), ["settlement-1"]), 29).shown == [0, 2]
    assert Layout(for_names((name, *more), ["settle"]), 29).shown == [0, 1, 2]
    assert Layout(for_names((name, more[1]), ["settlement-1"]), 21).shown == [0, 1], "state stays"


@given(st.integers(4, 120))
def test_rows_are_as_wide_as_their_table(width: int) -> None:
    table = Layout(COLUMNS, width)
    assert length(table.row(["orders", "12", "something long that does not fit"])) == width
    assert length(table.header()) == width


def test_numbers_stand_under_each_other() -> None:
    table = Layout(COLUMNS, 40)
    place = table.place_of(1)
    row = plain(table.row(["a", "7", ""]))
    assert row[place : place + table.width_of(1)] == "     7"


@pytest.mark.parametrize(
    ("us", "shown"), [(0, "0"), (99_999, "<0.1"), (9_960_000, "9.9"), (53_931_000, "53"), (1_257_999_999, "1,257")]
)
def test_partition_seconds_are_numbers_and_never_minutes(us: int, shown: str) -> None:
    assert formatting.partition_seconds(us) == shown


@given(st.integers(0, 10**12), st.integers(0, 10**8))
def test_a_longer_duration_never_looks_shorter(us: int, more: int) -> None:
    assert _seconds(formatting.duration(us)) <= _seconds(formatting.duration(us + more))
    assert _seconds(formatting.duration(us)) <= us / 1e6


def _seconds(text: str) -> float:
    number, _, unit = text.partition(" ")
    if unit:
        return float(number) / (1_000 if unit == "ms" else 1)
    return float(sum(int(part) * 60**place for place, part in enumerate(reversed(number.split(":")))))
