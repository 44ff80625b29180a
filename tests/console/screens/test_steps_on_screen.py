"""A step names its event: live, through a recording, and up to an event of a kind."""

import json
from functools import partial
from pathlib import Path

import msgspec
import pytest

from console.app import FlightdeckApp
from console.bridge import Bridge
from console.flight import VIEWING_PAST
from console.screens.flight_screen import FlightScreen
from tests.console.judge.steps_judge import NO_EVENT, step_faults
from tests.support.console.pilot import Seat, sit
from tests.support.console.recorded_flight import app, recorded_events
from tests.support.console.stopped_clock import StillFlight
from tests.support.minimal_scenario import TWO_MEMBERS


def last_line(seat: Seat) -> str:
    """The last line of the ticker."""
    screen = seat.app.flight_screen()
    assert isinstance(screen, FlightScreen)
    return screen.bars["ticker"].plain_text().splitlines()[-1]


async def drawn(seat: Seat) -> str:
    seat.app.draw()
    await seat.settle()
    return last_line(seat)


def raw_events() -> dict[int, dict[str, object]]:
    return {event.seq: json.loads(msgspec.json.encode(event)) for event in recorded_events()}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_steps_through_a_recording_name_their_events(size: tuple[int, int]) -> None:
    raw = raw_events()

    async def script(seat: Seat) -> None:
        seat.app.execute_line("go 8s")
        assert "▸" not in await drawn(seat)
        for key in ("right_square_bracket", "left_square_bracket", "left_square_bracket", "full_stop"):
            await seat.press(key)
            said = await drawn(seat)
            assert step_faults(said, raw, seat.app.flight.view.seq, 1) == []
        seat.app.execute_line("step heartbeat_answered")
        assert ": HeartbeatAnswered billing-" in await drawn(seat)
        seat.app.execute_line("go 8s")
        assert "▸" not in await drawn(seat)

    sit(script, app=app(), size=size)


def test_a_step_back_over_a_keyframe_names_its_event() -> None:
    async def script(seat: Seat) -> None:
        seat.app.execute_line("go 20s")
        await drawn(seat)
        for _ in range(3):
            await seat.press("left_square_bracket")
            assert "▸ event " in await drawn(seat)

    sit(script, app=app())


def test_a_live_step_says_what_its_turn_did(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(TWO_MEMBERS)

    async def script(seat: Seat) -> None:
        flight = seat.app.flight
        assert not isinstance(flight.source, StillFlight)
        await seat.wait_for(lambda: flight.view.seq > 0 and flight.why_not_controllable() is None)
        await seat.press("space")
        await seat.wait_for(lambda: flight.clock.phase == "paused")
        seen = set()

        def is_newer(before: object) -> bool:
            stepped = flight.source.stepped
            return stepped is not None and stepped is not before  # while a step is under way there is none

        for _ in range(12):
            before = flight.source.stepped
            await seat.press("full_stop")
            await seat.wait_for(partial(is_newer, before))
            stepped = flight.source.stepped
            assert stepped is not None
            raw = {stepped.event.seq: json.loads(msgspec.json.encode(stepped.event))} if stepped.event else {}
            said = await drawn(seat)
            assert step_faults(said, raw, flight.view.seq, stepped.events) == []
            seen.add(said.rstrip() == NO_EVENT)
        seat.app.execute_line("step poll_returned")
        await seat.wait_for(lambda: type(getattr(flight.source.stepped, "event", None)).__name__ == "PollReturned")
        assert ": PollReturned billing-" in await drawn(seat)
        await seat.press("space")
        await seat.wait_for(lambda: flight.source.stepped is None)

    sit(script, app=FlightdeckApp(source=Bridge(path)))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_keys_of_time_show_the_past_of_a_live_flight(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "two.toml"
    path.write_text(TWO_MEMBERS)

    def bar(seat: Seat, name: str) -> str:
        screen = seat.app.flight_screen()
        assert isinstance(screen, FlightScreen)
        return screen.bars[name].plain_text()

    async def script(seat: Seat) -> None:
        flight = seat.app.flight
        await seat.wait_for(lambda: flight.now_us > 1_500_000)
        await seat.press("space")
        await seat.wait_for(lambda: flight.clock.phase == "paused")
        live_seq = flight.view.seq
        await seat.press("left_square_bracket")
        assert "▸ event " in await drawn(seat)
        assert flight.view.seq == live_seq - 1
        assert "L live" in bar(seat, "footer")
        seat.app.execute_line("go 500ms")
        await drawn(seat)
        assert "00:00:00.500, live 00:00:01" in bar(seat, "header")
        assert "┃┅" in bar(seat, "strip")
        seat.app.execute_line("kill billing-1")
        await seat.settle()
        assert seat.notices()[-1] == VIEWING_PAST
        await seat.press("L")
        await drawn(seat)
        assert flight.view.seq == live_seq
        assert "live 00:00:01" not in bar(seat, "header")
        assert "‖ PAUSED" in bar(seat, "header") or size[0] == 80

    sit(script, app=FlightdeckApp(source=Bridge(path)), size=size)
