"""`w`, `why SUBJECT`: the overlay, its links to instants, its commands; live and in a recording."""

from console.app import FlightdeckApp
from console.presenters.why.answers import Subject
from console.presenters.why.listing import WhyListing
from console.screens.why import WhyScreen
from tests.support.console import recorded_flight
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


def shown(seat: Seat) -> str:
    assert isinstance(seat.app.screen, WhyScreen)
    return seat.app.screen.panel.plain_text()


def test_the_selected_row_is_explained() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("w")
        assert "why billing" in shown(seat) or "why audit" in shown(seat)
        await seat.press("w")
        assert not isinstance(seat.app.screen, WhyScreen)
        seat.app.go("billing-3")
        await seat.settle()
        await seat.press("w")
        assert "why billing-3" in shown(seat)

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_name_is_explained() -> None:
    async def script(seat: Seat) -> None:
        await seat.type(":why billing")
        await seat.press("enter")
        assert "generation 2 is not complete: billing waits for billing-3" in shown(seat)
        await seat.press("escape")
        await seat.type(":why bilig")
        await seat.press("enter")
        line = seat.app.input_line()
        assert line is not None
        assert line.is_open, "the mistake stays on the line"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_fact_is_a_line_of_the_log() -> None:
    async def script(seat: Seat) -> None:
        seat.app.execute_line("why billing")
        await seat.settle()
        await seat.press("enter")
        panel = seat.app.focused_panel()
        assert panel is not None
        assert panel.id == "events"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_command_goes_to_the_line() -> None:
    async def script(seat: Seat) -> None:
        seat.app.execute_line("why billing-3")
        await seat.settle()
        await seat.press("j", "j", "enter")
        line = seat.app.input_line()
        assert line is not None
        assert line.is_open

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_fact_of_a_recording_is_an_instant() -> None:
    async def script(seat: Seat) -> None:
        seekable = seat.app.flight.seekable
        assert seekable is not None
        seekable.seek(8_000_000)
        await seat.wait_for(lambda: seat.app.flight.now_us == 8_000_000)
        seat.app.execute_line("why billing-1")
        await seat.settle()
        assert "billing-1 has not polled for" in shown(seat)
        await seat.press("enter")
        await seat.wait_for(lambda: seat.app.flight.now_us < 8_000_000)
        assert 7_000_000 < seat.app.flight.now_us <= 7_300_000

    sit(script, app=recorded_flight.app())


def test_brokers_topics_and_partitions_are_explained() -> None:
    async def script(seat: Seat) -> None:
        for name, words in (
            ("broker-2", "broker-2 is up: it leads"),
            ("orders-0", "no member of billing reads orders-0"),
            ("orders", "no member of billing reads orders-"),
        ):
            seat.app.execute_line(f"why {name}")
            await seat.settle()
            assert words in shown(seat)
            await seat.press("escape")
        seat.app.screen.board.panels["brokers"].focus()  # type: ignore[attr-defined]
        await seat.press("w")
        assert "why broker-" in shown(seat)

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_producer_is_explained() -> None:
    async def script(seat: Seat) -> None:
        name = next(iter(seat.app.flight.view.producers))
        await seat.type(f":why {name}")
        await seat.press("enter")
        assert f"{name} is Running" in shown(seat)

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_what_is_not_in_the_cluster_is_refused_on_the_line() -> None:
    async def script(seat: Seat) -> None:
        await seat.type(":why broker-9")
        await seat.press("enter")
        line = seat.app.input_line()
        assert line is not None
        assert line.is_open

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_the_box_grows_with_the_answer_and_does_not_shrink() -> None:
    async def script(seat: Seat) -> None:
        seat.app.execute_line("why checkout-1")
        await seat.settle()
        screen = seat.app.screen
        assert isinstance(screen, WhyScreen)
        short, calm = screen.panel.size.height, screen.list_factory
        screen.list_factory = lambda width: WhyListing(
            seat.app.flight.view, Subject("group", "billing"), seat.app.flight.now_us, 9_000_000, width
        )
        screen.paint()
        await seat.settle()
        rows = screen.list_factory(100).row_keys()
        assert screen.panel.size.height == 1 + len(rows) > short
        assert "the barrier closes" in shown(seat)
        screen.list_factory = calm
        screen.paint()
        await seat.settle()
        assert screen.panel.size.height == 1 + len(rows)

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))
