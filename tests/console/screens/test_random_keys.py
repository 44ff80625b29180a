"""Random keys, clicks and sizes at every place: nothing breaks, focus and selection are kept, `q` ends the console.

Each source has its turn at one place in the default run, and at all others in the slow one.

`python -m tests.support.console.monkey` does the same for as long as asked.
"""

import asyncio
from pathlib import Path

import pytest

from tests.support.console.monkey import SOURCES, play
from tests.support.console.places import PLACES, Place
from tests.support.slow_cases import partly_campaign

ACTIONS = 35
SEEDS = {"rebalancing": 1, "recorded": 2, "live": 3}
ALL = [(source, place) for source in SEEDS for place in PLACES]
QUICK = (("rebalancing", 1), ("recorded", 0), ("live", 2))
OFTEN = [(source, PLACES[number]) for source, number in QUICK]


def named(value: object) -> str:
    return value.name.replace(" ", "-") if isinstance(value, Place) else str(value)


def play_at(source: str, place: Place, directory: Path) -> int:
    """How much was done."""
    return asyncio.run(play(SOURCES[source], place, SEEDS[source], ACTIONS, directory))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("source", "place"), OFTEN, ids=named)
def test_nothing_breaks_whatever_is_done(source: str, place: Place, tmp_path: Path) -> None:
    assert play_at(source, place, tmp_path) == ACTIONS


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("source", "place"), partly_campaign([one for one in ALL if one not in OFTEN], 20), ids=named)
def test_nothing_breaks_at_any_place(source: str, place: Place, tmp_path: Path) -> None:
    assert play_at(source, place, tmp_path) == ACTIONS
