"""`flightdeck play`: a recording on the console's screens, or without one, gone through by a script or read whole."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from console.app import FlightdeckApp
from console.player import Player
from console.presenters.formatting import clock
from console.script_runner import Tour
from recordings.journal.script import load_script

HELD, NOT_HELD = 0, 1
PICTURE_SIZE = (120, 40)


class Voice(NamedTuple):
    """How things are told: results, warnings, and what did not hold."""

    tell: Callable[[str], object]
    warn: Callable[[Sequence[str]], object]
    complain: Callable[[str], object]


def play_headless(path: Path, script: Path | None, voice: Voice, *, salvage: bool) -> int:
    """Verify a recording, let a script go through it if there is one, and say what came of it. The exit code.

    Raises RecordingError and ScenarioErrors.
    """
    player = Player(path, salvage=salvage, playing=False, wall=lambda: 0.0)
    player.verify()
    voice.warn(player.warnings)
    if script is None:
        voice.tell(_told(player))
        return HELD
    tour = Tour(load_script(script), str(script), player, script.parent, watched=False)
    app = FlightdeckApp(source=player)
    app.run(headless=True, size=PICTURE_SIZE, auto_pilot=tour.run)
    for picture in tour.pictures:
        voice.tell(f"{picture}")
    for failure in tour.failures:
        voice.complain(failure)
    if not tour.failures:
        count = len(tour.script.steps)
        went = f"{count}" if tour.done == count else f"left after {tour.done} of {count}"
        voice.tell(f"{went} steps of {script}: everything was as expected")
    return NOT_HELD if tour.failures else app.return_code or HELD


def play(path: Path, script: Path | None, voice: Voice, *, salvage: bool) -> int:
    """Open the console on a recording; a script shows it. The exit code. Raises RecordingError and ScenarioErrors."""
    player = Player(path, salvage=salvage, playing=script is None)
    tour = None
    if script is not None:
        tour = Tour(load_script(script), str(script), player, script.parent, watched=True)
    app = FlightdeckApp(source=player)
    app.directory = path.parent
    app.run(auto_pilot=tour.run if tour is not None else None)
    voice.warn(player.warnings)
    failures = tour.failures if tour is not None else []
    for failure in failures:
        voice.complain(failure)
    return NOT_HELD if failures else app.return_code or HELD


def _told(player: Player) -> str:
    playback = player.playback
    length = clock(playback.end_us, 3)
    return f"{player.title}  {length} of virtual time  {playback.events:,} events: all of them can be played"
