"""Random keys, clicks and sizes at every place: nothing breaks, focus and selection are kept, `q` ends the console.

`python -m tests.support.console.monkey` does the same for as long as asked.
"""

import asyncio
from pathlib import Path

import pytest

from tests.support.console.monkey import SOURCES, play
from tests.support.console.places import PLACES, Place

ACTIONS = 35
SEEDS = {"rebalancing": 1, "recorded": 2, "live": 3}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name.replace(" ", "-"))
@pytest.mark.parametrize("source", SEEDS)
def test_nothing_breaks_whatever_is_done(source: str, place: Place, tmp_path: Path) -> None:
    assert asyncio.run(play(SOURCES[source], place, SEEDS[source], ACTIONS, tmp_path)) == ACTIONS
