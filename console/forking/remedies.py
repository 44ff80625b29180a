"""Remedies on demand: one rebalance at a time is measured in another process, and what was found is kept."""

# ruff: noqa: PLC0415 - heavy imports wait until remedies are asked for

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from console.flight import Flight, Source

if TYPE_CHECKING:
    from recordings.flights.background import BackgroundWork, WorkProgress
    from recordings.remedies.search import RemediesSearch

    RemediesProgress = WorkProgress[RemediesSearch]


class RemediedRebalance(NamedTuple):
    """A rebalance as remedies are asked for: its group and its generation, or group epoch."""

    group: str
    generation: int

    def __str__(self) -> str:
        return f"{self.group}:{self.generation}"


class MeasuredRemedies(NamedTuple):
    """A search that has ended, and the recording whose flight it changed."""

    progress: "RemediesProgress"
    recording: Path


class RemedySearches:
    """Measures one rebalance at a time, whatever place is shown; a new flight begins with none.

    `room` makes a directory for what a live flight is flown into.
    """

    def __init__(self, room: "Callable[[], Path]") -> None:
        self._room = room
        self._source: Source | None = None
        self._measured: dict[RemediedRebalance, MeasuredRemedies] = {}
        self._search: BackgroundWork[RemediesSearch] | None = None
        self._asked: RemediedRebalance | None = None
        self._recording = Path()
        self._progress: RemediesProgress | None = None

    @property
    def under_way(self) -> bool:
        """Whether remedies are being measured."""
        return self._search is not None

    @property
    def share(self) -> float:
        """The share that is done of what is being measured."""
        return self._progress.share if self._progress is not None else 0.0

    @property
    def words(self) -> str:
        """What is being measured."""
        return f"remedies for {self._asked.group}" if self._asked is not None else ""

    def progress_of(self, source: Source, asked: RemediedRebalance) -> "RemediesProgress | None":
        """How far a rebalance's remedies are; None before they are asked for."""
        if source is not self._source:
            return None
        if asked == self._asked and self._search is not None:
            return self._progress
        found = self._measured.get(asked)
        return found.progress if found is not None else None

    def recording_of(self, asked: RemediedRebalance) -> Path | None:
        """The recording that the remedies of a rebalance were measured on."""
        found = self._measured.get(asked)
        return found.recording if found is not None else None

    def toggle(self, flight: Flight, asked: RemediedRebalance) -> str:
        """Begin to measure a rebalance of the shown flight, or end that; returns the reason of a refusal."""
        self._follow(flight.source)
        if self._search is not None and asked == self._asked:
            self.cancel()
            return ""
        if self._search is not None:
            return f"{self.words} are being measured: R in those details cancels"
        found = self._measured.get(asked)
        if found is not None and not found.progress.failed:
            return ""
        return self._begin(flight, asked)

    def _begin(self, flight: Flight, asked: RemediedRebalance) -> str:
        from recordings.flights.background import BackgroundWork
        from recordings.remedies.background import BackgroundSearch, search_live

        origin = flight.source.origin()
        if origin is None:
            return "the cluster is still being built"
        if isinstance(origin, Path):
            self._recording = origin
            search: BackgroundWork[RemediesSearch] = BackgroundSearch(origin, str(asked))
        else:
            try:
                self._recording = self._room() / "flown.flight"
            except OSError as error:
                return f"no directory for the flight's recording: {error.strerror or error}"
            clock = flight.clock
            until_us = max(1, clock.now_us if clock.live_us is None else clock.live_us)
            search = BackgroundWork(partial(search_live, origin, until_us, self._recording, str(asked)))
        self._search, self._asked, self._progress = search, asked, search.poll()
        return ""

    def poll(self) -> None:
        """Look how far the search is, and keep what it has found."""
        if self._search is None or self._asked is None:
            return
        self._progress = progress = self._search.poll()
        if progress.ended:
            self._measured[self._asked] = MeasuredRemedies(progress, self._recording)
            self.cancel()

    def cancel(self) -> None:
        """End the search that is under way."""
        if self._search is not None:
            self._search.cancel()
            self._search = self._asked = self._progress = None

    def _follow(self, source: Source) -> None:
        """Forget what belongs to another flight."""
        if source is not self._source:
            self.cancel()
            self._measured.clear()
            self._source = source
