"""Help and footer belong to the place: what can be done there comes first, what cannot has its reason."""

import asyncio
from collections.abc import Callable

import pytest

from console.actions import find
from console.app import FlightdeckApp
from console.operating.footer import FOOTER_ALWAYS
from console.presenters.help import STATES, in_columns
from console.presenters.styled_text import length, line, plain
from console.screens.overlays import HelpScreen
from tests.support.console import recorded_flight
from tests.support.console.pilot import Seat, sit


def shown_help(seat: Seat) -> tuple[HelpScreen, str]:
    screen = seat.app.screen
    assert isinstance(screen, HelpScreen)
    return screen, "\n".join(plain(row) for row in screen.lines(114))


def test_help_is_of_the_place_and_its_panel_then_of_everything() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("question_mark")
        screen, here = shown_help(seat)
        assert "states of a broker" in here
        assert "states of a transactional id" not in here
        assert "select a member first" in here
        assert len(here.splitlines()) < 60
        assert all(length(row) <= 114 for row in screen.lines(116))
        await seat.press("question_mark")
        _, everything = shown_help(seat)
        assert all(title in everything for title in STATES)
        assert "kill NAME" in everything
        await seat.press("question_mark")
        assert not isinstance(seat.app.screen, HelpScreen)

    sit(script)


def test_a_selected_member_has_its_keys_and_its_states() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing-2")
        await seat.settle()
        await seat.press("question_mark")
        screen, here = shown_help(seat)
        possible, _, impossible = here.partition("not now")
        assert "stall the member's poll loop" in possible
        assert "states of a member" in possible
        assert "select a member first" not in impossible
        assert "billing" in screen.panel.plain_text().splitlines()[0]

    sit(script)


def test_keys_of_a_place_come_first() -> None:
    async def script(seat: Seat) -> None:
        for key, first in (("O", "ownership over time"), ("H", "library")):
            await seat.press(key, "question_mark")
            _, here = shown_help(seat)
            assert here.splitlines()[0].startswith(first)
            await seat.press("escape", "escape")

    sit(script)


def test_the_last_notices_can_be_read_again() -> None:
    async def script(seat: Seat) -> None:
        seat.app.notify("broker-2 was fenced")
        await seat.press("question_mark")
        _, here = shown_help(seat)
        assert "last notices" in here
        assert "broker-2 was fenced" in here

    sit(script)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_columns_lose_no_line_and_keep_their_width(number: int) -> None:
    blocks = [[line(f"{block}:{row}") for row in range(rows)] for block, rows in enumerate((3, 9, 1, 12, 5))]
    rows = in_columns(blocks, number, 20)
    words = " ".join(plain(row) for row in rows).split()
    assert sorted(words) == sorted(plain(row) for block in blocks for row in block)
    assert {length(row) for row in rows} == {20 * number}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_every_footer_has_the_command_line_and_help_and_fits(size: tuple[int, int]) -> None:
    async def script(seat: Seat) -> None:
        for place in ("overview", "billing", "library", "raster", "comparison", "transactions"):
            seat.app.go(place)
            await seat.settle()
            footer = seat.text().splitlines()[-1]
            for action in map(find, FOOTER_ALWAYS):
                assert f"{action.shown} {action.label}" in footer, place
            assert len(footer) <= size[0]

    sit(script, size=size)


def footer_of(place: str, make: Callable[[], object] | None = None) -> str:
    found = ""

    async def script(seat: Seat) -> None:
        nonlocal found
        seat.app.go(place)
        await seat.settle()
        found = seat.text().splitlines()[-1]

    sit(script, app=recorded_flight.app() if make else None)
    return found


def test_library_and_playback_show_what_matters_there() -> None:
    library, playback = footer_of("library"), footer_of("overview", recorded_flight.app)
    assert library.strip().startswith("enter start")
    assert "{" not in library
    for label in ("{ previous", "} next", "[ event back", "t time", "F fork"):
        assert label in playback


@pytest.mark.slow
def test_the_console_can_end_at_any_moment_of_an_overlays_start() -> None:
    async def end_after(turns: int) -> int | None:
        app = FlightdeckApp("first-flight")
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            app.simulate_key("question_mark")
            for _ in range(turns):
                await asyncio.sleep(0)
            app.exit()
        return app.return_code

    for turns in range(12):  # of the event loop: the box was not there yet after five and six
        assert asyncio.run(end_after(turns)) == 0


def test_u_undoes_and_says_why_not() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("u")
        assert seat.notices()[-1] == "nothing was given"

    sit(script)
