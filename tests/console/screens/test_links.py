"""Every name leads to its place, by mouse and by key; the history goes back and forward."""

import pytest

from console.app import FlightdeckApp
from console.presenters.chrome import instant_under, mark_under
from console.presenters.styled_text import PlaceLink
from console.screens.links import LinksScreen
from console.screens.overlays import FaultMenu, HelpScreen
from tests.support.console import recorded_flight
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


def focused(seat: Seat) -> tuple[str, str]:
    """Which panel has the focus, and its selected row."""
    panel = seat.app.focused_panel()
    assert panel is not None
    return panel.id or "", panel.selected


def test_a_breadcrumb_leads_to_its_place() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("partition orders-1")
        await seat.settle()
        await seat.click("overview", within="crumbs")
        assert seat.app.place() == "overview"
        seat.app.go("rebalance 47000000 billing")
        await seat.settle()
        await seat.click("billing", within="crumbs")
        assert seat.app.place() == "billing"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_the_headline_and_the_ticker_lead_to_what_they_name() -> None:
    async def script(seat: Seat) -> None:
        await seat.click("billing-3", within="crumbs")
        assert seat.app.place() == "member billing-3"
        seat.app.go("overview")
        await seat.settle()
        await seat.click("billing", within="ticker")
        assert seat.app.place() == "member billing-3"

    sit(script)


def test_a_name_in_a_row_is_opened_by_a_double_click() -> None:
    async def script(seat: Seat) -> None:
        await seat.click("billing-3", within="groups")
        assert seat.app.place() == "overview", "one click selects the row"
        await seat.click("billing-3", within="groups", times=2)
        assert seat.app.place() == "member billing-3"
        await seat.click("orders", within="timers", times=2)
        assert seat.app.place() == "overview" or seat.app.place() == "topic orders"

    sit(script)


@pytest.mark.slow
def test_the_header_leads_to_the_panels_that_it_sums_up() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("transactions")
        await seat.settle()
        await seat.click("brokers", within="header")
        assert seat.app.place() == "overview"
        assert focused(seat)[0] == "brokers"
        await seat.click("faults", within="header")
        assert focused(seat)[0] == "faults"

    sit(script)


def test_the_footer_does_what_it_names() -> None:
    async def script(seat: Seat) -> None:
        await seat.click("pause", within="footer")
        assert seat.asked == ["pause"]
        await seat.click("?", within="footer")
        assert isinstance(seat.app.screen, HelpScreen)

    sit(script)


def test_back_and_forward_keep_focus_and_selection() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("3", "j")
        here = focused(seat)
        seat.app.go("billing")
        await seat.settle()
        await seat.press("j")
        there = focused(seat)
        seat.app.go("transactions")
        await seat.settle()
        await seat.press("backspace")
        assert (seat.app.place(), focused(seat)) == ("billing", there)
        await seat.press("alt+left")
        assert (seat.app.place(), focused(seat)) == ("overview", here)
        await seat.press("backspace")
        assert "no place before this one" in seat.notices()
        await seat.press("alt+right", "alt+right")
        assert seat.app.place() == "transactions"
        await seat.press("alt+right")
        assert "no place after this one" in seat.notices()
        await seat.press("minus")
        assert seat.app.place() == "billing"

    sit(script)


def test_escape_from_a_rebalance_leads_to_its_group_from_wherever_it_was_opened() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        await seat.press("4", "enter")
        place = seat.app.place()
        assert place.startswith("rebalance ")
        seat.app.go("transactions")
        await seat.settle()
        await seat.press("backspace")
        assert seat.app.place() == place
        await seat.press("escape")
        assert seat.app.place() == "billing"
        await seat.press("escape")
        assert seat.app.place() == "overview"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_what_has_no_place_of_its_own_is_shown_in_its_list() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        for kind, name in (("broker", "broker-2"), ("producer", "ledger-1"), ("topic", "orders")):
            seat.app.follow(PlaceLink(kind, name))
            await seat.settle()
            assert name in seat.app.place() or focused(seat)[1] == name

    sit(script)


def test_a_link_in_an_overlay_closes_it() -> None:
    async def script(seat: Seat) -> None:
        seat.app.execute_line("why billing")
        await seat.settle()
        await seat.click("billing-3", times=2)
        assert seat.app.place() == "member billing-3"
        await seat.press("f")
        assert isinstance(seat.app.screen, FaultMenu)

    sit(script)


def test_an_instant_in_the_ticker_is_shown() -> None:
    async def script(seat: Seat) -> None:
        seekable = seat.app.flight.seekable
        assert seekable is not None
        seekable.seek(8_000_000)
        await seat.wait_for(lambda: seat.app.flight.now_us == 8_000_000)
        await seat.settle()
        await seat.click("00:00:0", within="ticker")
        await seat.wait_for(lambda: seat.app.flight.now_us < 8_000_000)

    sit(script, app=recorded_flight.app())


def test_the_links_of_a_screen_are_a_list_for_the_keyboard() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("l")
        overlay = seat.app.screen
        assert isinstance(overlay, LinksScreen)
        rows = [row.split() for row in overlay.panel.plain_text().splitlines()[1:]]
        assert rows[0] == ["▸", "billing", "group"], "the selected row's come first"
        assert ["billing-3", "member"] in rows
        assert ["broker-1", "broker"] in rows
        assert any(row[-1:] == ["instant"] for row in rows)
        assert len({tuple(row) for row in rows}) == len(rows), "each link once"
        await seat.press("slash")
        await seat.type("billing-3")
        await seat.press("enter", "enter")
        assert seat.app.place() == "member billing-3"

    sit(script)


def test_a_mark_on_the_strip_leads_to_its_instant() -> None:
    async def script(seat: Seat) -> None:
        app = seat.app
        seekable = app.flight.seekable
        assert seekable is not None
        seekable.seek(9_000_000)
        await seat.wait_for(lambda: app.flight.now_us == 9_000_000)
        await seat.settle()
        entries = [one for one in app.flight.view.log_entries if one.kind == "rebalance"]
        wanted = entries[-1].at_us
        clock = app.flight.clock
        (x,) = [x for x in range(1, 119) if mark_under(x, app.flight.view, clock, 120, ()) == wanted]
        assert instant_under(x, clock, 120) != wanted
        screen = app.flight_screen()
        assert screen is not None
        await seat.pilot.click(screen.bars["strip"], offset=(x, 0))
        await seat.wait_for(lambda: app.flight.now_us == wanted)

    sit(script, app=recorded_flight.app())
