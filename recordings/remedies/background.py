"""Remedies measured in a process of their own."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from recordings.flights.background import BackgroundWork, WorkProgress
from recordings.flights.beside import FlownSoFar, fly_again
from recordings.remedies.search import RemediesSearch, find_remedies

RemediesProgress = WorkProgress[RemediesSearch]

FLOWN_SHARE = 0.2  # of a live flight's search: about one flight of five
Search = Callable[[Path, str, Callable[[float], object]], RemediesSearch]


def search_one(path: Path, wanted: str, progress: Callable[[float], object]) -> RemediesSearch:
    """Find the remedies of one rebalance, in this process."""
    return find_remedies(path, [wanted], jobs=1, progress=lambda _, share: progress(share))


def search_live(
    flown: FlownSoFar, until_us: int, record: Path, wanted: str, progress: Callable[[float], object]
) -> RemediesSearch:
    """Fly a live flight again up to an instant, into `record`, and find the remedies of one of its rebalances."""
    fly_again(flown, until_us, record, lambda share: progress(share * FLOWN_SHARE))
    return search_one(record, wanted, lambda share: progress(FLOWN_SHARE + share * (1 - FLOWN_SHARE)))


class BackgroundSearch(BackgroundWork[RemediesSearch]):
    """A process that finds the remedies of one rebalance, `GROUP:GENERATION`."""

    def __init__(self, path: Path, wanted: str, search: Search = search_one) -> None:
        super().__init__(partial(search, path, wanted))
