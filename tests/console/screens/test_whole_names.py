"""No table cuts a name inside while the row has blanks behind it that the name's letters would fill."""

import re
from collections.abc import Sequence

import pytest

from console.app import FlightdeckApp
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import PLACES, STATES, look, picture, source_in
from tests.support.slow_cases import mostly_slow

SIZES = [(80, 24), (100, 30), (120, 40), (143, 40)]


def cut_in_spite_of_room(text: str, names: Sequence[str]) -> list[str]:
    """The rows with a shortened name of these, and more blanks behind one of its row's cells than it lacks."""
    found: list[str] = []
    for row in text.splitlines():
        for match in re.finditer(r"(\S+)…(\S+)", row):
            whole = [name for name in names if name.startswith(match[1]) and name.endswith(match[2])]
            blanks = max((len(gap) - 2 for gap in re.findall(r" {3,}", row[match.end() :])), default=0)
            if whole and blanks >= min(map(len, whole)) - len(match[0]):
                found.append(row)
    return found


@pytest.mark.parametrize(
    "size", mostly_slow(SIZES, quick=[(80, 24), (143, 40)]), ids=lambda size: f"{size[0]}x{size[1]}"
)
def test_names_are_whole_where_there_is_room(size: tuple[int, int]) -> None:
    async def script(seat: Seat) -> None:
        names = seat.app.flight.names()
        known = [*names.clients(), *names.groups, *names.topics]
        for place in PLACES:
            await look(seat, STATES["normal"].objects, place)
            assert cut_in_spite_of_room(picture(seat.app), known) == [], place.name
            while len(seat.app.screen_stack) > 2:
                await seat.press("escape")

    sit(script, app=FlightdeckApp(source=source_in("normal")), size=size)


def test_a_cut_name_is_found() -> None:
    assert cut_in_spite_of_room(" settl…ent-1  ● Running      5/s   –       x", ["settlement-1"])
    assert not cut_in_spite_of_room(" settl…ent-1  ● Running  5/s  –  x", ["settlement-1"])
