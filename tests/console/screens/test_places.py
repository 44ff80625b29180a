"""What every place shows in every state, as text: `__snapshots__/test_places/*.txt`, one file for each state.

`--snapshot-update` takes them anew; read what has changed as somebody who is on call.
"""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from console.app import FlightdeckApp
from console.operating.notices import Notices
from console.screens.catalogue import SCREENS
from console.screens.logged import LoggedGroupScreen, LoggedRebalanceScreen, LoggedTransactionsScreen
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import PLACES, STATES, look, picture, source_in
from tests.support.slow_cases import mostly_slow

SIZES = ((80, 24), (120, 40))


class TextFile(SingleFileSnapshotExtension):
    """A snapshot that is a text to be read."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


@pytest.fixture
def text(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFile)


def shown(state: str, size: tuple[int, int], directory: Path) -> tuple[list[str], set[type]]:
    """Every place in a terminal of a size, under its name; and the screens that were seen."""
    said, seen = [], set()

    async def script(seat: Seat) -> None:
        for place in PLACES:
            seat.app.notices.clear()
            await look(seat, STATES[state].objects, place)
            seen.add(type(seat.app.flight_screen()))
            said.append(f"=== {place.name} · {size[0]}×{size[1]}\n{picture(seat.app)}")

    app = FlightdeckApp(source=source_in(state))
    app.directory, app.notices = directory, Notices(lambda: 0.0)  # a notice stays, however slow the machine is
    sit(script, app=app, size=size)
    return said, seen


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "state",
    mostly_slow(STATES, quick=["normal", "coordinator dead"]),
    ids=lambda state: state.replace(" ", "-").replace(",", ""),
)
def test_places(state: str, text: SnapshotAssertion, tmp_path: Path) -> None:
    said, seen = [], set()
    for size in SIZES:
        pictures, screens = shown(state, size, tmp_path)
        said += pictures
        seen |= screens
    if state == "normal":
        in_logs = {LoggedGroupScreen, LoggedRebalanceScreen, LoggedTransactionsScreen}  # those are in test_logs.py
        in_flights = set(SCREENS) - in_logs
        assert in_flights <= seen, "a screen of the catalogue that no line of PLACES reaches"
    assert "\n\n".join(said) + "\n" == text
