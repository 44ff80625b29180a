"""Remedies measured in a process of their own."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from recordings.flights.background import BackgroundWork, WorkProgress
from recordings.remedies.search import RemediesSearch, find_remedies

RemediesProgress = WorkProgress[RemediesSearch]

Search = Callable[[Path, str, Callable[[float], object]], RemediesSearch]


def search_one(path: Path, wanted: str, progress: Callable[[float], object]) -> RemediesSearch:
    """Find the remedies of one rebalance, in this process."""
    return find_remedies(path, [wanted], jobs=1, progress=lambda _, share: progress(share))


class BackgroundSearch(BackgroundWork[RemediesSearch]):
    """A process that finds the remedies of one rebalance, `GROUP:GENERATION`."""

    def __init__(self, path: Path, wanted: str, search: Search = search_one) -> None:
        super().__init__(partial(search, path, wanted))
