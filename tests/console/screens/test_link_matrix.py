"""The matrix of links: chosen by keys and mouse, edited in place, and every name in it leads to its place."""

from functools import lru_cache

import pytest

from cluster.events import Event
from console.app import FlightdeckApp
from console.presenters.fault_menu import CommandTarget
from console.screens.topology.brokers import BrokersScreen
from console.widgets.command_input import PromptLine
from recordings.scenarios.loader import load
from tests.console.judge.bench import flown
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


@lru_cache(maxsize=1)
def cut_events() -> tuple[Event, ...]:
    return tuple(flown(load("asymmetric-partition").spec, 7, 40_000_000))


def cut_flight() -> StillFlight:
    """broker-2 sends nothing to broker-1."""
    spec = load("asymmetric-partition").spec
    source = StillFlight(40.0, events=cut_events())
    source.names, source.spec = spec.names(), spec
    return source


def matrix(seat: Seat) -> BrokersScreen:
    screen = seat.app.flight_screen()
    assert isinstance(screen, BrokersScreen)
    return screen


def typed(seat: Seat) -> str:
    line = seat.app.screen.query_one(PromptLine)
    return line.input.value if line.is_open else ""


def test_the_word_links_leads_to_the_matrix() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go links")
        await seat.settle()
        assert matrix(seat).focused is matrix(seat).board.panels["links"]
        assert seat.app.place() == "brokers"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_the_chosen_link_follows_the_selected_broker() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("brokers")
        await seat.settle()
        await seat.press("G")
        assert "link broker-3 – broker-1" in seat.text()
        await seat.press("2")
        assert matrix(seat).board.panels["links"].selected == "broker-3"
        await seat.press("1", "g")  # the sick one
        assert "link broker-2 – broker-1" in seat.text()
        assert "✖ delivers nothing: cut" in seat.text()

    sit(script, app=FlightdeckApp(source=cut_flight()))


def test_a_process_shows_the_faults_of_all_its_links() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("links")
        await seat.settle()
        await seat.press("h")
        detail = seat.app.screen.query_one("#link").plain_text()  # type: ignore[attr-defined]
        assert "enter opens the place of broker-1" in detail
        assert "cut broker-2 -> broker-1" in detail

    sit(script, app=FlightdeckApp(source=cut_flight()))


@pytest.mark.parametrize("keys", [["l"], ["right"]])
def test_a_link_is_chosen_and_cut_in_place(keys: list[str]) -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("brokers")
        await seat.settle()
        await seat.press("2", *keys)
        target = seat.app.selected_target()
        assert target is not None
        one = matrix(seat).board.panels["links"].selected
        assert target == CommandTarget("link", f"{one} broker-2")
        assert f"link {one} – broker-2" in seat.text()
        await seat.press("enter")
        assert f"cut {one} -> broker-2 for 30s" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]
        await seat.press("enter")
        assert seat.asked[-1] == f"cut {one} broker-2 for 30s"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_the_command_of_a_link_is_edited_on_the_line() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("brokers")
        await seat.settle()
        await seat.press("2", "l", "e")
        assert typed(seat) == "heal broker-1 broker-2", "what is cut is healed"
        await seat.press("escape", "l", "e")
        assert typed(seat) == "cut broker-1 broker-3 for 30s"
        await seat.press("escape", "h", "3")
        assert "✖ delivers nothing: cut" in seat.text()
        assert "broker-1 → broker-2: delivers after 1 ms" in seat.text()
        await seat.press("enter")
        assert typed(seat) == "heal broker-2 broker-1"

    sit(script, app=FlightdeckApp(source=cut_flight()))


def test_the_name_of_a_row_leads_to_its_place() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("brokers")
        await seat.settle()
        await seat.press("2", "h")
        assert seat.app.selected_target() == CommandTarget("broker", "broker-1")
        await seat.press("enter")
        assert seat.app.place() == "broker broker-1"
        await seat.press("minus", "2", "G", "k", "k", "h")
        target = seat.app.selected_target()
        assert target is not None
        assert target.kind in {"member", "producer"}
        await seat.press("w")
        assert target.name in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]

    sit(script, app=FlightdeckApp(source=cut_flight()))


def test_the_mouse_chooses_a_link_and_opens_its_faults() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("brokers")
        await seat.settle()
        screen = matrix(seat)
        panel = screen.board.panels["links"]
        x, y = _cell(panel.plain_text(), "billing-1", "broker-3")
        await seat.pilot.click(panel, offset=(x, y))
        await seat.settle()
        assert seat.app.selected_target() == CommandTarget("link", "billing-1 broker-3")
        await seat.pilot.click(panel, offset=(x, y), times=2)
        await seat.settle()
        assert "lose next 1 responses of Heartbeat from broker-3 to billing-1" in (
            seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]
        )

    sit(script, app=FlightdeckApp(source=cut_flight()), size=(120, 40))


def _cell(text: str, row: str, column: str) -> tuple[int, int]:
    lines = text.splitlines()
    y = next(place for place, line in enumerate(lines) if line.strip(" ▸○").startswith(row))
    return lines[1].index(column), y


def test_a_narrow_terminal_shows_every_broker_with_signs() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("brokers")
        await seat.settle()
        await seat.press("2", *["l"] * 9)
        panel = matrix(seat).board.panels["links"]
        assert "✖" in panel.plain_text()
        assert matrix(seat).column == 2, "the last broker"

    sit(script, app=FlightdeckApp(source=cut_flight()), size=(60, 20))
