"""The place of a member: reached from its group and by name; its lines lead on."""

from console.app import FlightdeckApp
from console.presenters.fault_menu import CommandTarget
from console.screens.rebalance_details import RebalanceDetailsScreen
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


def test_a_row_of_the_group_opens_its_member() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go billing-3")
        await seat.settle()
        assert seat.app.place() == "billing"
        await seat.press("enter")
        assert seat.app.place() == "member billing-3"
        assert "overview › billing › billing-3" in seat.text()
        owned = list(seat.app.flight.view.members["billing-3"].owned)
        assert seat.app.selected_target() == CommandTarget("partition", owned[0])
        await seat.press("1")
        assert seat.app.selected_target() == CommandTarget("member", "billing-3")
        await seat.press("f")
        assert "kill billing-3" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]
        await seat.press("escape", "escape")
        assert seat.app.place() == "billing"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)), size=(160, 50))


def test_the_lines_of_a_member_lead_on() -> None:
    async def script(seat: Seat) -> None:
        first = next(iter(seat.app.flight.view.members["billing-3"].owned))
        for panel, place in (("3", f"partition {first}"), ("1", "billing")):
            assert seat.app.execute_line("go member billing-3")
            await seat.settle()
            await seat.press(panel, "enter")
            assert seat.app.place() == place
        assert seat.app.execute_line("go member billing-3")
        await seat.settle()
        await seat.press("4", "enter")
        assert isinstance(seat.app.screen, RebalanceDetailsScreen)
        assert seat.app.execute_line("go member billing-3")
        await seat.settle()
        await seat.press("1", "w")
        assert "billing-3" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]
        await seat.press("escape", "V")
        assert seat.app.place() == "conversation billing-3"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)), size=(160, 50))


def test_a_click_opens_what_a_line_names() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go member billing-3")
        await seat.settle()
        screen = seat.app.flight_screen()
        assert screen is not None
        facts = screen.board.panels["facts"]
        row = next(place for place, text in enumerate(facts.plain_text().splitlines()) if " group " in text)
        await seat.pilot.click(facts, offset=(20, row), times=2)
        await seat.settle()
        assert seat.app.place() == "billing"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)), size=(160, 50))


def test_before_a_member_is_declared_its_place_is_empty() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go member billing-3")
        await seat.settle()
        assert seat.app.place() == "member billing-3"
        assert seat.app.selected_target() is None
        await seat.press("enter", "1", "enter")
        assert not seat.app.execute_line("go member billing-77")

    sit(script, app=FlightdeckApp(source=StillFlight(-1.0, phase="building")))
