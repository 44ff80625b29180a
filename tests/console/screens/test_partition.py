"""The place of a partition: reached by name, by row and by cell, from the overview and from a group."""

from cluster.view.state import ClusterView
from console.app import FlightdeckApp
from console.presenters.fault_menu import CommandTarget
from console.presenters.partition_grids import TopicsListing, worst_partition
from console.screens.partition import PartitionScreen
from tests.support.console import synthetic
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


def shown(seat: Seat) -> str:
    screen = seat.app.flight_screen()
    return screen.partition if isinstance(screen, PartitionScreen) else ""


def test_it_opens_by_its_name_and_goes_back() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go partition orders-1")
        await seat.settle()
        assert shown(seat) == "orders-1"
        assert "orders-1" in seat.text()
        assert seat.app.selected_target() == CommandTarget("group", "audit")
        await seat.press("1")
        assert seat.app.selected_target() == CommandTarget("partition", "orders-1")
        await seat.press("f")
        assert "elect preferred orders-1" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]
        await seat.press("escape", "escape")
        assert seat.app.place() == "overview"
        await seat.press("minus")
        assert shown(seat) == "orders-1"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_topics_row_in_a_group_opens_its_worst_partition() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        await seat.press("3", "enter")
        assert shown(seat) == worst_partition(seat.app.flight.view, "orders")

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_cell_opens_its_partition() -> None:
    async def script(seat: Seat) -> None:
        screen = seat.app.flight_screen()
        assert screen is not None
        panel = screen.board.panels["topics"]
        grid = TopicsListing(seat.app.flight.view, seat.app.flight.now_us, panel.size.width)
        x = grid.label + 2 + 2 * grid.cell
        assert grid.object_at("orders", x) == "orders-2"
        assert grid.object_at("orders", grid.width - 1) == ""
        await seat.pilot.click(panel, offset=(x, 2), times=2)
        await seat.settle()
        assert shown(seat) == "orders-2"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_reader_opens_its_owner() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("partition orders-1")
        await seat.settle()
        await seat.press("enter")
        assert seat.app.place() == "member audit-1"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_before_the_partition_exists_the_place_is_empty() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("partition orders-1")
        await seat.settle()
        assert shown(seat) == "orders-1"
        assert seat.app.selected_target() is None

    sit(script, app=FlightdeckApp(source=StillFlight(-1.0, phase="building")))


def test_a_partition_without_a_live_leader_is_the_worst() -> None:
    view: ClusterView = synthetic.view_at(20.0)
    view.partitions["orders-2"].leader = -1
    assert worst_partition(view, "orders") == "orders-2"
