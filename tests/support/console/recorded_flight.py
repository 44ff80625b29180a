"""A recorded flight for the console's tests: a group forms, a member is stalled, another dies, a broker dies."""

import atexit
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.commands import parse
from cluster.events import Event
from console.app import FlightdeckApp
from console.player import Player
from recordings.flights.runner import Replay, fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import parse_scenario

SECOND_US = 1_000_000
END_US = 20 * SECOND_US
TEXT = """
title = "Recorded"
seed = 5
until = "20s"
[[topic]]
name = "orders"
partitions = 4
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "20/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = { "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000, "heartbeat.interval.ms" = 1000 }
[[at]]
time = "12s"
do = "kill billing-2"
"""
GIVEN = ((7_300_000, "stall billing-1 for 2s"), (9_000_001, "kill broker-2"), (15_000_000, "start billing-2"))


@lru_cache(maxsize=1)
def _kept() -> TemporaryDirectory[str]:
    """Flown once; gone when the tests are over."""
    kept: TemporaryDirectory[str] = TemporaryDirectory(prefix="flightdeck-")
    atexit.register(kept.cleanup)  # else its end is a warning of Python's, with a traceback
    replay = Replay(by_time=tuple((at_us, parse(text)) for at_us, text in GIVEN))
    fly(make_plan(parse_scenario(TEXT, "recorded.toml")), record=Path(kept.name) / "recorded.flight", replay=replay)
    return kept


def recording() -> Path:
    """Where the recording is. Only makers of keyframes write into it."""
    return Path(_kept().name) / "recorded.flight"


@lru_cache(maxsize=1)
def recorded_events() -> tuple[Event, ...]:
    """What is in it."""
    return tuple(Recording(recording()).events())


class Wall:
    """Wall time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def player(wall: Wall | None = None, *, playing: bool = False, path: Path | None = None) -> Player:
    """The recording in a player whose time stands still unless `wall` goes on."""
    return Player(path or recording(), playing=playing, wall=wall or Wall())


def app(wall: Wall | None = None, *, playing: bool = False) -> FlightdeckApp:
    """The console on the recording."""
    return FlightdeckApp(source=player(wall, playing=playing))
