"""The places of topics and brokers: reached by name, row and key; what a row of theirs opens; what faults apply to."""

import pytest

from console.app import FlightdeckApp
from console.presenters.fault_menu import CommandTarget
from console.screens.partition import PartitionScreen
from console.screens.topology.broker import BrokerScreen
from console.screens.topology.brokers import BrokersScreen
from console.screens.topology.topic import TopicScreen
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


def shown(seat: Seat) -> tuple[type, str]:
    screen = seat.app.flight_screen()
    assert screen is not None
    return type(screen), screen.place


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (["2", "enter"], (TopicScreen, "topic payments")),
        (["3", "enter"], (BrokerScreen, "broker broker-3")),  # the sick one is first
        (["B"], (BrokersScreen, "brokers")),
        (["B", "j", "enter"], (BrokerScreen, "broker broker-1")),
    ],
)
def test_keys_lead_from_the_overview_to_the_places(keys: list[str], place: tuple[type, str]) -> None:
    async def script(seat: Seat) -> None:
        await seat.press(*keys)
        assert shown(seat) == place
        await seat.press("escape")
        assert seat.app.place() == "overview"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_a_topic_leads_to_its_partitions_groups_and_owners() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go topic orders")
        await seat.settle()
        first = seat.app.selected_target()
        assert first is not None
        assert first.kind == "partition"
        await seat.press("enter")
        assert shown(seat) == (PartitionScreen, f"partition {first.name}")
        await seat.press("minus", "3")
        assert seat.app.selected_target() == CommandTarget("group", "audit")
        await seat.press("j")
        member = seat.app.selected_target()
        assert member is not None
        assert member.kind == "member"
        await seat.press("enter")
        assert seat.app.place() == f"member {member.name}"
        await seat.press("minus", "1")
        assert seat.app.selected_target() == CommandTarget("topic", "orders")
        await seat.press("f")
        assert "add partitions orders" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


@pytest.mark.slow
def test_a_broker_leads_to_what_ends_with_it() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go broker broker-1")
        await seat.settle()
        screen = seat.app.flight_screen()
        assert isinstance(screen, BrokerScreen)
        keys = list(screen.board.panels["risk"]._keys)
        opens = {"lost": "partition ", "short": "partition ", "moved": "topic ", "group": "", "controller": ""}
        for place, key in enumerate(keys):
            kind, _, name = key.partition("/")
            seat.app.go("broker broker-1")
            await seat.settle()
            await seat.press("2", "g", *["j"] * place, "enter")
            wanted = f"{opens[kind]}{name}" if kind != "controller" else "brokers"
            assert seat.app.place() == wanted
        assert keys

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_faults_apply_to_the_broker_that_is_shown() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go broker broker-3")
        await seat.press("1")
        assert seat.app.selected_target() == CommandTarget("broker", "broker-3")
        await seat.press("f")
        assert "kill broker-3" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]
        await seat.press("escape", "w")
        assert "broker-3" in seat.app.screen.query_one("Panel").plain_text()  # type: ignore[attr-defined]

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


@pytest.mark.parametrize("place", ["topic orders", "brokers", "broker broker-2"])
def test_before_the_cluster_exists_the_places_are_empty(place: str) -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line(f"go {place}")
        await seat.settle()
        assert seat.app.place() == place
        assert seat.app.selected_target() is None
        await seat.press("enter", "f", "w")
        assert seat.app.place() == place

    sit(script, app=FlightdeckApp(source=StillFlight(-1.0, phase="building")))


@pytest.mark.parametrize(
    ("name", "place"), [("orders", "topic orders"), ("broker-2", "broker broker-2"), ("orders-1", "partition orders-1")]
)
def test_a_bare_name_is_enough_where_it_is_no_group(name: str, place: str) -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line(f"go {name}")
        assert seat.app.place() == place

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


@pytest.mark.parametrize(
    ("line", "like"), [("go topic order", "topic orders"), ("go broker broker-9", "broker broker-")]
)
def test_a_wrong_name_gets_the_nearest_place(line: str, like: str) -> None:
    async def script(seat: Seat) -> None:
        warned: list[str] = []
        seat.app.warn = lambda message: warned.append(message or "")  # type: ignore[method-assign]
        assert not seat.app.execute_line(line)
        assert like in warned[0]

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))
