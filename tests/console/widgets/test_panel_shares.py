"""A panel draws its rows anew in shares, so that a frame's cost has a bound; what is drawn is never misplaced."""

from collections.abc import Callable, Sequence

import pytest

from console.presenters.list_view import Listing
from console.presenters.styled_text import PLAIN, Line, line
from console.widgets.panel import LINES_A_FRAME, TOGETHER, Panel
from tests.support.console.pilot import Seat, sit

ROWS = 10
TALL = (80, 24)


class Numbers(Listing):
    """Rows that all show the same number, `column` cells from their left edge."""

    title = "numbers"

    def __init__(self, number: int, column: int = 2, rows: int = ROWS) -> None:
        super().__init__(80)
        self.number, self.column, self._rows = number, column, rows

    def header(self) -> Line:
        return line((" " * self.column + "number", PLAIN))

    def row_keys(self) -> Sequence[str]:
        return [f"row-{place}" for place in range(self._rows)]

    def rows(self, key: str) -> tuple[Line]:
        return (line((f"{' ' * self.column}{self.number}", PLAIN)),)


def shown(panel: Panel) -> list[int]:
    """The number that each row shows."""
    return [int(number) for row in panel.plain_text().split("\n")[2:] if (number := row[2:].strip()).isdigit()]


def with_panel(check: Callable[[Panel], None], size: tuple[int, int] = TALL) -> None:
    async def script(seat: Seat) -> None:
        seat.app._tick = lambda: None  # type: ignore[method-assign]  # no frame but ours
        screen = seat.app.flight_screen()
        assert screen is not None
        panel = screen.board.panels["topics"]
        panel.focus()
        await seat.press("M")  # the panel fills the screen
        assert panel.size.height >= min(ROWS, size[1] - 8)
        check(panel)

    sit(script, size=size)


@pytest.mark.parametrize("shares", [2, 3, 5])
def test_every_row_is_drawn_anew_once_in_as_many_frames_as_there_are_shares(shares: int) -> None:
    def check(panel: Panel) -> None:
        rows = 5 * TOGETHER + 3
        panel.show(Numbers(0, rows=rows))
        for frame in range(1, shares + 1):
            panel.show(Numbers(frame, rows=rows), shares=shares)
            assert shown(panel).count(frame) <= TOGETHER * -(-rows // TOGETHER // shares) + TOGETHER
        assert 0 not in shown(panel)
        assert len(shown(panel)) == rows

    with_panel(check, (80, 60))


def test_a_short_panel_never_shows_rows_of_two_instants() -> None:
    def check(panel: Panel) -> None:
        panel.show(Numbers(0, rows=TOGETHER))
        for frame in range(1, 7):
            panel.show(Numbers(frame, rows=TOGETHER), shares=3)
            assert len(set(shown(panel))) == 1
        assert shown(panel)[0] >= 4, "each row is drawn in one of three frames"

    with_panel(check)


def test_without_shares_every_row_is_of_now() -> None:
    def check(panel: Panel) -> None:
        panel.show(Numbers(1), shares=3)
        panel.show(Numbers(2))
        assert shown(panel) == [2] * ROWS
        panel.show(Numbers(3), shares=1)
        assert shown(panel) == [3] * ROWS

    with_panel(check)


def test_a_row_that_comes_and_columns_that_move_do_not_wait_for_their_share() -> None:
    def check(panel: Panel) -> None:
        panel.show(Numbers(1, rows=4))
        panel.show(Numbers(2), shares=ROWS)  # its only block is not due
        assert shown(panel)[4:] == [2] * (ROWS - 4), "a row is empty until its share comes"
        panel.show(Numbers(3, column=10), shares=ROWS)
        assert shown(panel) == [3] * ROWS, "rows stand below the header's former columns"

    with_panel(check)


def test_a_panel_of_very_many_rows_is_drawn_in_several_frames() -> None:
    def check(panel: Panel) -> None:
        panel.show(Numbers(0, rows=500))
        panel.show(Numbers(1, rows=500), shares=1)
        rows = len(shown(panel))
        assert rows > 2 * LINES_A_FRAME
        assert 0 < shown(panel).count(1) <= LINES_A_FRAME
        for _ in range(rows // LINES_A_FRAME + 1):
            panel.show(Numbers(1, rows=500), shares=1)
        assert shown(panel) == [1] * rows

    with_panel(check, (120, 210))
