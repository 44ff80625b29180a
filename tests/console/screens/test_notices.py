"""What the console says in passing stands in the place of the footer, waits while it is covered, and is said once."""

from pathlib import Path

from console.app import FlightdeckApp
from console.operating.notices import HURRIED_SECONDS, Notice, Notices
from console.presenters.styled_text import length, plain
from console.settings import SettingsFile
from console.widgets.canvas import Canvas
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


class Wall:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(notices: Notices, width: int = 80) -> str:
    return " ".join(" ".join(plain(row) for row in notices.lines(width)).split())


def test_notices_are_shown_one_after_the_other() -> None:
    wall = Wall()
    notices = Notices(wall)
    assert notices.lines(80) == []
    for message in ("one", "two", "two", "one"):
        notices.add(Notice(message, "information", 5.0))
    assert shown(notices) == "● one 1 more"
    wall.now += HURRIED_SECONDS
    assert shown(notices) == "● two"
    wall.now += 4.9
    assert shown(notices) == "● two"
    notices.add(Notice("two", "information", 5.0))  # again: its time begins anew
    wall.now += 4.9
    assert shown(notices) == "● two"
    wall.now += 0.2
    assert shown(notices) == ""
    assert list(notices.said) == ["one", "two", "two", "one", "two"]


def test_time_stands_still_while_a_notice_is_covered() -> None:
    wall = Wall()
    notices = Notices(wall)
    notices.add(Notice("fenced", "warning", 5.0))
    assert shown(notices) == "▲ fenced"
    notices.hold()
    wall.now += 60.0
    assert shown(notices) == "▲ fenced"


def test_a_long_notice_is_wrapped_and_never_wider_than_the_screen() -> None:
    notices = Notices(Wall())
    notices.add(Notice("saved: " + "/a/long/path.txt and " * 6, "error", 5.0))
    rows = notices.lines(60)
    assert 1 < len(rows) <= 3
    assert all(length(row) <= 60 for row in rows)


def test_a_notice_takes_the_place_of_the_footer_and_hides_neither_strip_nor_ticker() -> None:
    async def script(seat: Seat) -> None:
        screen = seat.app.flight_screen()
        assert screen is not None
        before = {name: screen.bars[name].plain_text() for name in ("strip", "ticker", "footer")}
        await seat.press("p")
        assert screen.bars["footer"].plain_text().strip() == "▲ select a member first"
        assert {name: screen.bars[name].plain_text() for name in ("strip", "ticker")} == {
            name: before[name] for name in ("strip", "ticker")
        }
        assert len(seat.app.query("Toast")) == 0
        seat.app.notices.clear()
        await seat.settle()
        assert screen.bars["footer"].plain_text() == before["footer"]

    sit(script, size=(80, 24))


def test_a_notice_waits_behind_the_command_line() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        seat.app.notify("a broker was fenced")
        await seat.settle()
        screen = seat.app.flight_screen()
        assert screen is not None
        assert "fenced" not in screen.bars["footer"].plain_text()
        await seat.press("escape")
        assert "a broker was fenced" in screen.bars["footer"].plain_text()

    sit(script)


def test_an_overlay_shows_the_notice_below_its_box() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing-3")
        await seat.settle()
        await seat.press("f", "down", "down", "enter")
        bar = seat.app.screen.query_one("#notice", Canvas)
        assert "start billing-3: already running" in bar.plain_text()

    sit(script)


def test_a_damaged_settings_file_is_reported_once_the_flight_begins(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{", encoding="utf-8")
    app = FlightdeckApp(source=StillFlight())
    app.remember_in(SettingsFile(tmp_path))

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: any("settings.json is damaged" in notice for notice in seat.notices()))

    sit(script, app=app)


def test_the_theme_and_the_commands_are_remembered(tmp_path: Path) -> None:
    first = FlightdeckApp(source=StillFlight())
    first.remember_in(SettingsFile(tmp_path))

    async def script(seat: Seat) -> None:
        await seat.press("T", "colon")
        await seat.type("kill billing-4")
        await seat.press("enter")

    sit(script, app=first)
    again = FlightdeckApp(source=StillFlight())
    again.remember_in(SettingsFile(tmp_path))
    assert again.theme == first.theme == "flightdeck-light"

    async def recalled(seat: Seat) -> None:
        await seat.press("colon", "up")
        line = seat.app.input_line()
        assert line is not None
        assert line.input.value == "kill billing-4"

    sit(recalled, app=again)


def test_a_remembered_theme_that_is_gone_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"theme": "of-a-later-release"}', encoding="utf-8")
    app = FlightdeckApp(source=StillFlight())
    app.remember_in(SettingsFile(tmp_path))
    assert app.theme == "flightdeck-dark"


def test_what_went_wrong_is_told_as_a_warning() -> None:
    async def script(seat: Seat) -> None:
        source = seat.app.flight.source
        source.warning = "the recording failed: No space left on device"
        await seat.settle()
        footer = seat.app.screen.query_one("#footer", Canvas)
        assert "▲ the recording failed: No space left on device" in "".join(plain(row) for row in footer.drawn)
        assert source.warning == "", "once"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))
