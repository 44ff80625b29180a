"""The places of a member and of a producer: reached from rows and by name; their lines lead on."""

from functools import lru_cache

from cluster.events import Event
from console.app import FlightdeckApp
from console.presenters.fault_menu import CommandTarget
from console.screens.rebalance_details import RebalanceDetailsScreen
from recordings.scenarios.loader import load
from tests.console.judge.bench import flown
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import source_in
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


@lru_cache(maxsize=1)
def zombies() -> tuple[Event, ...]:
    """Two producers of one transactional id, the former one fenced."""
    return tuple(flown(load("zombie-producer").spec, 7, 42_000_000))


def with_zombies() -> FlightdeckApp:
    source = StillFlight(42.0, events=zombies())
    source.names = load("zombie-producer").spec.names()
    return FlightdeckApp(source=source)


def test_a_row_of_the_overview_opens_its_producer() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("4")
        panel = seat.app.focused_panel()
        assert panel is not None
        assert panel.id == "producers"
        name = panel.selected
        await seat.press("f")
        assert f"kill {name}" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]
        await seat.press("escape", "enter")
        assert seat.app.place() == f"producer {name}"
        assert f"overview › producers › {name}" in seat.text()
        for number, shown in ("4", "batches"), ("5", "errors"), ("6", "events"), ("7", "transactions"):
            await seat.press(number)
            focused = seat.app.focused_panel()
            assert focused is not None
            assert (str(focused.number), focused.id) == (number, shown)
        await seat.press("1", "V")
        assert name in seat.app.place()

    sit(script, app=with_zombies(), size=(160, 50))


def test_the_lines_of_a_producer_lead_on() -> None:
    async def script(seat: Seat) -> None:
        for panel, place in (("3", "partition payments-0"), ("1", "transactions")):
            assert seat.app.execute_line("go producer old-1")
            await seat.settle()
            await seat.press(panel, "enter")
            assert seat.app.place() == place
        chosen = seat.app.focused_panel()
        assert chosen is not None
        assert (chosen.id, chosen.selected) == ("ids", "pay")
        assert seat.app.execute_line("go producer old-1")
        await seat.settle()
        assert "another InitProducerId" in seat.text()
        assert "the id now has epoch 8 (producer id 0)" in seat.text()
        await seat.press("1", "w")
        assert "old-1 is fenced" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]

    sit(script, app=with_zombies(), size=(160, 50))


def test_a_transactional_id_leads_to_its_producer_and_is_led_to() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("transactions")
        await seat.settle()
        await seat.press("1", "enter")
        assert seat.app.place() == "producer gateway-1"
        seat.app.go("transactions")
        await seat.settle()
        await seat.press("2", "enter")
        assert seat.app.place() == "partition payments-0"
        await seat.press("3", "enter")
        chosen = seat.app.focused_panel()
        assert chosen is not None
        assert (seat.app.place(), chosen.id, chosen.selected) == ("transactions", "ids", "gateway-1")

    sit(script, app=FlightdeckApp(source=source_in("transaction stuck")))


def test_a_member_without_a_producer_has_no_producers_place() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        assert seat.app.execute_line("go producer billing-3")
        await seat.settle()
        assert seat.app.place() == "billing"
        assert "the application of billing-3 has no producer" in seat.notices()

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))
