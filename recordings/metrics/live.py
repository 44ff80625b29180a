"""The page of a flight while it is flown, and of a recording while it is played."""

import threading
from collections.abc import Callable
from pathlib import Path

from prometheus_client.core import Metric

from cluster.events import Event
from cluster.view import ClusterView, fold
from recordings.journal.reader import Recording
from recordings.metrics.counts import ProcessCounts, RecordedCounts
from recordings.metrics.page import families, samples


class FlownMetrics:
    """Takes a flight's events on its thread, and gives the page on any other.

    It folds into a view of its own: a scrape neither waits for the simulation nor changes its turns.
    """

    def __init__(self) -> None:
        self._view, self._counts = ClusterView(), ProcessCounts()
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Take the next event."""
        with self._lock:
            fold(self._view, event)
            self._counts.take(event)

    def collect(self) -> list[Metric]:
        """The families after the last event."""
        with self._lock:
            return families(samples(self._view, self._counts))


class PlayedMetrics:
    """The page of a playback, wherever its cursor jumps: the counts are read from the recording again.

    `view` returns the view at the cursor. `ask` calls a function where the view does not change meanwhile, and returns
    its result. `collect` may raise RecordingError.
    """

    def __init__(
        self,
        path: Path,
        view: Callable[[], ClusterView],
        ask: Callable[[Callable[[], list[Metric]]], list[Metric]],
        *,
        salvage: bool = False,
    ) -> None:
        self._counts = RecordedCounts(Recording(path, salvage=salvage))
        self._view, self._ask = view, ask
        self._lock = threading.Lock()

    def collect(self) -> list[Metric]:
        """The families at the cursor."""
        with self._lock:
            self._counts.at(self._view().seq)  # most of the reading is done here, and not where the view waits
            return self._ask(self._at_cursor)

    def _at_cursor(self) -> list[Metric]:
        view = self._view()
        return families(samples(view, self._counts.at(view.seq)))
