"""The place of a partition's records: how it is reached, what enter does there, and what it knows after a jump."""

from pathlib import Path

from cluster import events as e
from console.app import FlightdeckApp
from console.player import Player
from console.presenters.partitions.newest_logs import FORGOTTEN, KEPT, REFUSALS, NewestLogs
from console.screens.records import RecordsScreen
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


def shown(seat: Seat) -> str:
    screen = seat.app.flight_screen()
    return screen.partition if isinstance(screen, RecordsScreen) else ""


def test_a_key_opens_the_records_of_the_shown_partition() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go partition orders-1")
        await seat.settle()
        await seat.press("E")
        assert shown(seat) == "orders-1"
        assert "records" in seat.text()
        await seat.press("escape")
        assert seat.app.place() == "partition orders-1"
        await seat.press("1", "enter")
        assert shown(seat) == "orders-1"
        assert seat.app.execute_line("go records orders-2")
        await seat.settle()
        assert shown(seat) == "orders-2"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_enter_unfolds_a_batch_of_several_records() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("records orders-1")
        await seat.settle()
        screen = seat.app.flight_screen()
        assert isinstance(screen, RecordsScreen)
        panel = screen.board.panels["records"]
        rows = len(panel._keys)
        await seat.press("enter")
        assert len(panel._keys) == rows + 8  # records in each batch of this flight
        await seat.press("enter")
        assert len(panel._keys) == rows

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_recording_has_the_same_batches_after_any_jump(tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    fly(make_plan(load("idempotent"), until_us=8_000_000), record=path)
    player = Player(path, playing=False)
    for at_us in (7_000_000, 4_000_000, 8_000_000):
        player.playback.seek_us(at_us)
        whole = NewestLogs()
        for event in player.playback.recording.events():
            if event.at_us <= at_us:
                whole.observe(event)
        known = player.newest().logs.of("orders-0").batches
        assert known == whole.of("orders-0").batches[-len(known) :] != []


def test_the_oldest_batches_are_forgotten() -> None:
    logs = NewestLogs()
    for number in range(KEPT + 3 * FORGOTTEN):
        logs.observe(
            e.RecordsAppended(
                partition=f"orders-{number % 2}", base_offset=number // 2, count=1, bytes=1, producer="p",
                producer_id=1, epoch=0, base_sequence=number // 2, first_serial=number // 2, leader_epoch=0,
                transactional=False, marker="",
            )
        )  # fmt: skip
    kept = [len(logs.of(f"orders-{number}").batches) for number in (0, 1)]
    assert KEPT <= sum(kept) < KEPT + FORGOTTEN
    assert logs.of("orders-1").batches[-1].base_offset == (KEPT + 3 * FORGOTTEN) // 2 - 1


def test_a_partition_that_was_never_led_tells_its_newest_refusals() -> None:
    """Its leader is elected, and the broker answers that it does not lead: it has no log yet."""
    logs = NewestLogs()
    for number in range(3 * REFUSALS):
        logs.observe(
            e.BatchRetried(
                at_us=number, producer="p", partition="orders-0", records=1, attempt=1 + number,
                error="NOT_LEADER_OR_FOLLOWER", disconnected_from=-1,
            )
        )  # fmt: skip
    known = logs.of("orders-0").not_appended
    assert REFUSALS <= len(known) < 2 * REFUSALS
    assert known[-1].at_us == 3 * REFUSALS - 1
