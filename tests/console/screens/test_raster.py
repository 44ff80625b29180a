"""The place of ownership over time: its axis, its chosen cell, its groups; live and in a recording."""

import re
from pathlib import Path

import pytest

from cluster.view.ownership.history import Barrier
from console.app import FlightdeckApp
from console.presenters.raster.axis import TimeAxis, axis_for, bracket_row, scale, short_clock
from console.presenters.raster.grid import shared_by
from console.presenters.raster.listing import _beside
from console.presenters.styled_text import plain
from console.screens.flight_screen import NO_RASTER
from console.screens.raster import NO_OWNERSHIP, RasterScreen
from console.widgets.cell_panel import RasterPanel
from tests.support.console import recorded_flight, synthetic
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight

SECOND_US = 1_000_000


def raster(seat: Seat) -> RasterScreen:
    screen = seat.app.flight_screen()
    assert isinstance(screen, RasterScreen)
    return screen


def cell(seat: Seat) -> str:
    return raster(seat).board.panels["cell"].plain_text().splitlines()[1].strip()


def files_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_it_opens_for_the_group_that_is_shown() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("audit")
        await seat.settle()
        await seat.press("O")
        assert raster(seat).group == "audit"
        assert "audit › ownership over time" in seat.text()
        await seat.press("a")
        assert raster(seat).group == "billing"
        await seat.press("enter")
        assert seat.app.place() == "billing"
        seat.app.go("billing-3")
        seat.app.go("raster")
        await seat.settle()
        assert raster(seat).group == "billing"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_the_keys_choose_cells() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("raster")
        await seat.settle()
        assert "–now" in cell(seat)
        await seat.press("shift+left", "shift+left", "shift+left")
        assert raster(seat)._at_us is not None
        await seat.press(*["shift+left"] * 20)
        assert raster(seat)._at_us == 0
        assert re.search(r"not owned yet at 0:00\.0", cell(seat))
        await seat.press(*["shift+right"] * 30)
        assert raster(seat)._at_us is None, "the cell follows the flight again"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_zoom_shows_the_last_seconds_around_the_cell() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("raster")
        await seat.settle()
        assert raster(seat)._axis.first_us == 0
        await seat.press("z")
        zoomed = raster(seat)._axis
        assert zoomed.cell_us * zoomed.width < 60 * SECOND_US
        assert zoomed.first_us <= 90 * SECOND_US < zoomed.end_us
        for _ in range(20):
            await seat.press("shift+left")
        moved = raster(seat)._axis
        assert moved.first_us < zoomed.first_us, "the axis follows the cell"
        assert moved.first_us <= (raster(seat)._at_us or 0) < moved.end_us
        await seat.press("z", "z")
        assert raster(seat)._axis.first_us == 0

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_a_click_chooses_the_cell_under_the_mouse() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("raster")
        await seat.settle()
        panel = raster(seat).board.panels["raster"]
        assert isinstance(panel, RasterPanel)
        await seat.pilot.click(panel, offset=(30, 5))
        await seat.settle()
        axis = raster(seat)._axis
        assert raster(seat)._at_us == axis.start_of(30 - 2 - 18)
        assert panel.selected == list(panel._keys)[5 - 2]

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_ctrl_s_saves_text_and_svg_and_never_overwrites(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        seat.app.directory = tmp_path
        seat.app.go("billing")
        await seat.settle()
        await seat.press("O", "ctrl+s")
        stem = "first-flight-billing-ownership-1m30.0s"
        assert files_in(tmp_path) == [f"{stem}.svg", f"{stem}.txt"]
        assert f"saved: {tmp_path / stem}.txt and {tmp_path / stem}.svg" in seat.notices()
        (tmp_path / f"{stem}.txt").write_text("mine")
        await seat.press("ctrl+s")
        assert (tmp_path / f"{stem}.txt").read_text() == "mine"
        assert (tmp_path / f"{stem}-2.txt").exists()

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        seat.app.directory = tmp_path / "gone"
        seat.app.go("raster")
        await seat.settle()
        await seat.press("ctrl+s")
        (notice,) = seat.notices()
        assert str(tmp_path / "gone") in notice
        assert "cannot be written: No such file or directory" in notice

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_another_group_stands_below_on_the_same_axis() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        await seat.press("O", "c")
        panels = raster(seat).board.panels
        assert "audit: ownership over time" in panels["beside"].plain_text()
        assert panels["beside"].plain_text().splitlines()[1] == panels["raster"].plain_text().splitlines()[1]
        assert "first difference" in panels["cell"].plain_text()
        await seat.press("2", "shift+left", "enter")
        assert seat.app.place() == "audit"
        await seat.press("O", "c", "2", "c")
        assert not raster(seat).other
        assert raster(seat).board.panels["raster"].has_focus

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_its_keys_are_refused_elsewhere() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("z")
        assert NO_RASTER in seat.notices()

    sit(script)


def test_a_recording_goes_back_and_forth() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("raster")
        await seat.settle()
        seat.app.execute_line("go 19s")
        seat.app.draw()
        await seat.settle()
        late = seat.text()
        seat.app.execute_line("go 2s")
        seat.app.draw()
        await seat.settle()
        assert seat.text() != late
        seat.app.execute_line("go 19s")
        seat.app.draw()
        await seat.settle()
        assert seat.text() == late

    sit(script, app=recorded_flight.app())


def test_a_group_that_is_not_there_yet() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("raster")
        await seat.settle()
        await seat.press("z", "a", "left", "right", "enter")
        assert NO_OWNERSHIP in seat.notices()
        panels = seat.app.flight_screen().board.panels  # type: ignore[union-attr]
        for name in ("raster", "lanes", "cell"):
            assert "the cluster is being built …" in panels[name].plain_text(), name

    sit(script, app=FlightdeckApp(source=StillFlight(-1.0, phase="building")))


def test_the_axis_is_round_and_covers_the_flight() -> None:
    for now_us in (0, 999_999, 90 * SECOND_US, 3_600 * SECOND_US, 86_400 * SECOND_US, 10 * 86_400 * SECOND_US):
        for width in (1, 60, 101, 170):
            axis = axis_for(now_us, width)
            assert axis.first_us == 0 <= now_us < axis.end_us
            assert axis.known <= width
            assert len(scale(axis)) == width
    assert [short_clock(us) for us in (0, 61_250_000, 3_661_990_000)] == ["0:00.0", "1:01.2", "1:01:01.9"]


def test_of_barriers_that_end_in_one_cell_the_last_one_gives_the_generation() -> None:
    """A new coordinator forgets an open barrier, and the next one closes within the same cell."""
    axis = TimeAxis(0, SECOND_US, 12, 20 * SECOND_US)
    barriers = [
        Barrier(2_100_000, 5_200_000, 2),
        Barrier(5_300_000, 5_800_000, 3),
        Barrier(8_000_000, 9_000_000, 10),
        Barrier(9_500_000, 9_600_000, 4),
    ]
    assert plain(bracket_row(axis, barriers[:1])) == "  ╭──╮2     "
    assert plain(bracket_row(axis, barriers)) == "  ╭──┃3 ╭┃4 "


def test_rows_are_shared_by_as_few_partitions_as_the_room_allows() -> None:
    assert shared_by([12], 12) == 1
    assert shared_by([12], 11) == 2
    assert shared_by([2_000], 30) == 100
    assert shared_by([5, 5, 5], 1) == 5, "each topic has a row"


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (0, "▼      0:10   0:20"),
        (2, "  ▼    0:10   0:20"),
        (4, "0:00▼  0:10   0:20"),
        (6, "0:00  ▼0:10   0:20"),
        (8, "0:00    ▼     0:20"),
        (17, "0:00   0:10      ▼"),
    ],
)
def test_the_cursor_cuts_no_time_of_the_axis(column: int, shown: str) -> None:
    before, after = _beside("0:00   0:10   0:20", column)
    assert f"{before}▼{after}" == shown


def test_a_flight_without_groups_says_so() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("raster")
        await seat.settle()
        assert "1 ownership over time ─" in seat.text()
        assert "no consumer groups in this scenario" in seat.text()
        assert "at this instant" not in seat.text()

    events = tuple(one for one in synthetic.events(20.0) if not hasattr(one, "group"))
    sit(script, app=FlightdeckApp(source=StillFlight(20.0, events=events)))
