"""Game day: each hidden fault can be diagnosed from the screens' text, and a game flies the same again.

FLIGHTDECK_GAMES is the number of seeds of each level in the slow test (20 by default), for instance
`FLIGHTDECK_GAMES=200 pytest -m slow -n0 tests/console/test_game_day.py`.
"""

import os
import time
from pathlib import Path

import pytest

from console.flight import Flight
from console.flight_clock import BUILDING
from console.game.game_flight import GameFlight
from console.travel.live_travel import with_past
from recordings.game.drawing import draw_game
from recordings.game.levels import LEVELS
from recordings.game.score import played_game
from tests.support.game.flown_game import flown_game

QUICK = [(level.number, level.number % 2) for level in LEVELS]
SEEDS = int(os.environ.get("FLIGHTDECK_GAMES", "20"))
FOUND_SHARE = 0.9


@pytest.mark.parametrize(("level", "seed"), QUICK)
def test_a_player_that_reads_only_the_screens_finds_the_fault(level: int, seed: int) -> None:
    game = flown_game(level, seed)
    assert game.solved, game.referee.faults


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("level", [level.number for level in LEVELS])
def test_nine_games_of_ten_are_solved_from_the_screens(level: int) -> None:
    missed = {seed: game.referee.faults for seed in range(SEEDS) if not (game := flown_game(level, seed)).solved}
    assert len(missed) <= (1 - FOUND_SHARE) * SEEDS, missed


def test_the_same_game_has_the_same_journal(tmp_path: Path) -> None:
    first, again = (flown_game(2, 1, tmp_path / name) for name in ("a.flight", "b.flight"))
    assert first.sha256 == again.sha256
    assert played_game(tmp_path / "a.flight") == played_game(tmp_path / "b.flight")


def test_the_console_hides_the_fault_until_the_game_is_over() -> None:
    drawn = draw_game(1, 0)
    hidden = drawn.faults[0].text
    live = GameFlight(drawn, invariants=False)
    live._speed = float("inf")
    flight = Flight(with_past(live))
    game = live.game()
    flight.source.start(lambda: None)
    try:
        deadline = time.monotonic() + 100
        while (after := flight.source.successor()) is None:
            assert time.monotonic() < deadline
            flight.advance(0.05)
            assert not flight.view.faults
            assert hidden not in {entry.text for entry in flight.view.log_entries}
            if game.referee.faults and flight.clock.phase != BUILDING and not game.over:
                assert not game.diagnose(game.referee.faults[0].truth.text)
            time.sleep(0.01)
        assert flight.source.origin() is None
        assert flight.source.undone()[0] is None
        assert flight.source.record("x.flight")
        assert not flight.source.failure
        shown = Flight(after)
        shown.advance(0.0)
        assert [fault.text for fault in shown.view.faults.values()] == [hidden]
        assert after.game() is game
        assert game.played == played_game(live.path)
        assert game.played is not None
        assert game.played.solved
    finally:
        flight.source.stop()
        live.discard()
