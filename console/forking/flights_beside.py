"""The fork that is being flown in another process, and the comparison that the last one has given."""

# ruff: noqa: PLC0415 - heavy imports wait until a fork is asked for

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from console.flight import Flight
from console.flight_clock import BUILDING
from console.forking.fork_line import Fork, Setting
from console.forking.remedies import RemedySearches
from console.presenters.raster.axis import short_clock
from console.presenters.styled_text import ACCENT, MUTED, Line, line

if TYPE_CHECKING:
    from collections.abc import Callable

    from recordings.flights.background import BackgroundWork, Work
    from recordings.flights.beside import FlightsBeside

BUSY = "a fork is running: `fork cancel` ends it"
NO_FORK_OF_LOGS = "logs have no cluster to fly again"
BAR_CELLS = 12


class Ended(NamedTuple):
    """Work in the background has ended; `failed`: why it has no result."""

    failed: str = ""


class Forking:
    """Flies one fork at a time; what it records is in a directory that goes with the console."""

    def __init__(self) -> None:
        self.beside: FlightsBeside | None = None
        self.seen = 0  # comparisons so far: a screen draws the new one
        self.marked: list[str] = []  # the keys of up to two recordings that the library has marked to be compared
        self._work: BackgroundWork[FlightsBeside] | None = None
        self._words, self._share = "", 0.0
        self._directory: Path | None = None
        self._count = 0
        self.remedies = RemedySearches(self._room)

    @property
    def under_way(self) -> bool:
        """Whether a fork is being flown."""
        return self._work is not None

    def fork(self, flight: Flight, fork: Fork) -> str:
        """Begin to fly a fork of the shown flight; returns the reason of a refusal."""
        origin = flight.source.origin()
        if origin is None and flight.view.logs is not None:
            return NO_FORK_OF_LOGS
        if origin is None:
            building = flight.clock.phase == BUILDING
            return "the cluster is still being built" if building else "a game is forked after its debrief"
        from recordings.flights.beside import fork_beside, live_fork_beside, not_before
        from recordings.flights.fork import ForkPoint

        at_us = flight.now_us if fork.at is None else fork.at.from_cursor(flight.now_us)
        end_us = at_us + 1 if flight.clock.until_us is None else flight.clock.until_us
        until_us = None if fork.until is None else fork.until.from_cursor(at_us)
        if at_us < 0:
            return "a flight begins at 0s: fork at 0s or later"
        refusal = not_before(at_us, end_us)
        if refusal:
            return refusal
        if until_us is not None and until_us <= at_us:
            return f"the fork would end at {short_clock(until_us, 3)}, before it begins"
        point = ForkPoint(at_us=at_us, commands=(fork.command,) if fork.command else (), settings=fork.settings)
        words = f"fork at {short_clock(at_us)}: {fork.words}"
        if isinstance(origin, Path):
            return self._begin(words, lambda room: partial(fork_beside, origin, point, until_us, room / "fork.flight"))
        if at_us > flight.now_us:
            return f"the live flight is at {short_clock(flight.now_us, 3)}: fork at or before it"
        return self._begin(words, lambda room: partial(live_fork_beside, origin, point, until_us, room))

    def what_if(self, recording: Path, settings: tuple[Setting, ...], words: str) -> str:
        """Begin to fly a recording with other settings from its beginning; returns the reason of a refusal."""
        from recordings.flights.beside import what_if_beside

        return self._begin(words, lambda room: partial(what_if_beside, recording, settings, room / "what-if.flight"))

    def compare(self, a: Path, b: Path) -> str:
        """Begin to read two recordings; returns the reason of a refusal."""
        from recordings.flights.beside import recordings_beside

        return self._begin(f"{a.name} beside {b.name}", lambda _: partial(recordings_beside, a, b))

    def _begin(self, words: str, work: "Callable[[Path], Work[FlightsBeside]]") -> str:
        from recordings.flights.background import BackgroundWork

        if self._work is not None:
            return BUSY
        try:
            room = self._room()
        except OSError as error:
            return f"no directory for the fork's recording: {error.strerror or error}"
        self._words, self._share = words, 0.0
        self._work = BackgroundWork(work(room))
        return ""

    def _room(self) -> Path:
        """A new directory. Raises OSError."""
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="flightdeck-"))
        self._count += 1
        room = self._directory / f"{self._count}"
        room.mkdir()
        return room

    def poll(self) -> Ended | None:
        """Look how far the fork, and the search for remedies, are; what the fork ended with, once."""
        self.remedies.poll()
        if self._work is None:
            return None
        progress = self._work.poll()
        self._share = progress.share
        if not progress.ended:
            return None
        self._end_work()
        if progress.result is not None:
            self.beside = progress.result
            self.seen += 1
        return Ended(progress.failed)

    def progress(self) -> Line:
        """How far the fork is, or else the search for remedies, as one line; nothing without them."""
        if self._work is not None:
            return _gauge(self._share, self._words, "  · fork cancel ends it")
        return _gauge(self.remedies.share, self.remedies.words, "") if self.remedies.under_way else ()

    def cancel(self) -> str:
        """End the fork that is being flown; returns the reason of a refusal."""
        if self._work is None:
            return "no fork is running"
        self._end_work()
        return ""

    def close(self) -> None:
        """End the fork and the search for remedies, and remove what was recorded and not kept."""
        self._end_work()
        self.remedies.cancel()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def keep(self, directory: Path) -> str:
        """Copy the recording of the second flight below a directory. Raises OSError."""
        assert self.beside is not None
        made = Path(self.beside.diff.b.course.recording)
        if self._directory is None or not made.is_relative_to(self._directory):
            return f"it is already a recording: {made}"
        scenario = Path(self.beside.diff.b.course.scenario).stem
        name, number = f"{scenario}-{made.stem}.flight", 2
        while (directory / name).exists():
            name, number = f"{scenario}-{made.stem}-{number}.flight", number + 1
        shutil.copytree(made, directory / name)
        return f"kept: {directory / name}"

    def _end_work(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None


def _gauge(share: float, words: str, way_out: str) -> Line:
    done = round(share * BAR_CELLS)
    return line((f" {'█' * done}{'░' * (BAR_CELLS - done)} {share:4.0%}  ", ACCENT), words, (way_out, MUTED))
