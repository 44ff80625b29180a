"""Remedies measured in a process of their own, while this one stays responsive and can end it at any time."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from recordings.bounded_files import RecordingError
from recordings.flights.processes import ProcessEnded, begin_process
from recordings.remedies.search import RemediesSearch, find_remedies
from recordings.scenarios.loader import ScenarioErrors, SettingError


class RemediesProgress(msgspec.Struct, frozen=True):
    """How far a search is: the share that is done, what it has found, or why it ended without an answer."""

    share: float = 0.0
    search: RemediesSearch | None = None
    failed: str = ""

    @property
    def ended(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.search is not None or self.failed != ""


Search = Callable[[Path, str, Callable[[str, float], object]], RemediesSearch]


def search_one(path: Path, wanted: str, progress: Callable[[str, float], object]) -> RemediesSearch:
    """Find the remedies of one rebalance, in this process."""
    return find_remedies(path, [wanted], jobs=1, progress=progress)


class BackgroundSearch:
    """A process that finds the remedies of one rebalance, `GROUP:GENERATION`; ask `poll` how far it is."""

    def __init__(self, path: Path, wanted: str, search: Search = search_one) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_search, args=(path, wanted, search, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._progress = RemediesProgress()

    def poll(self) -> RemediesProgress:
        """The progress so far; it does not wait."""
        while not self._progress.ended and self._pipe.poll():
            try:
                self._progress = self._pipe.recv()
            except (EOFError, OSError):
                self._process.join()
                self._progress = RemediesProgress(failed=ProcessEnded(self._process.exitcode).reason)
        return self._progress

    def cancel(self) -> None:
        """End the process. What it has found for this rebalance so far is dropped."""
        self._process.terminate()
        self._process.join()
        self._pipe.close()


def _search(path: Path, wanted: str, search: Search, pipe: Connection) -> None:
    begin_process()
    try:
        found = search(path, wanted, lambda _, share: pipe.send(RemediesProgress(share)))
    except (RecordingError, ScenarioErrors, SettingError) as error:
        pipe.send(RemediesProgress(failed=str(error)))
    else:
        pipe.send(RemediesProgress(1.0, found))
