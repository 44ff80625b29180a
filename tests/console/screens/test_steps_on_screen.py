"""A step names its event: live, through a recording, and up to an event of a kind."""

import json
from pathlib import Path

import msgspec
import pytest

from console.app import FlightdeckApp
from console.bridge import Bridge
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
        await seat.wait_for(lambda: flight.view.seq > 0)
        await seat.press("space")
        await seat.wait_for(lambda: flight.clock.phase == "paused")
        seen = set()
        for _ in range(12):
            await seat.press("full_stop")
            await seat.wait_for(lambda: flight.source.stepped is not None)
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
