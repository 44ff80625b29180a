"""An operator at the console: places, panels, menus, the command line, sizes, themes, leaving."""

import msgspec
import pytest

from cluster.commands import Kill
from cluster.events import CommandRefused
from console.app import FlightdeckApp
from console.command_line import completions
from console.control_commands import execute
from console.flight import Flight
from console.presenters.styled_text import plain
from console.screens.flight_screen import MIN_HEIGHT, MIN_WIDTH, FlightScreen
from console.screens.group import GroupScreen
from console.screens.overlays import FailureScreen, FaultMenu, HelpScreen
from console.screens.overview import OverviewScreen
from console.screens.rebalance_details import RebalanceDetailsScreen
from console.themes.names import DESCRIPTIONS
from console.widgets.command_input import PromptLine
from tests.support.console import synthetic
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight


def test_the_first_screen_shows_the_groups_and_what_they_wait_for() -> None:
    async def script(seat: Seat) -> None:
        assert isinstance(seat.app.screen, OverviewScreen)
        said = seat.text()
        assert "first-flight" in said
        assert "↻ PreparingRebalance" in said
        assert "billing-3, within 4:54" in said

    sit(script)


def test_a_flight_begins_once_and_does_not_wait_for_a_picture_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def begun(seat: Seat) -> None:
        while "start" not in asked(seat.app):
            await seat.pilot.pause()

    async def twice(seat: Seat) -> None:
        await seat.pilot.pause(0.1)  # by then the timer has been there, too

    def asked(app: FlightdeckApp) -> list[str]:
        assert isinstance(app.flight.source, StillFlight)
        return app.flight.source.asked

    monkeypatch.setattr("console.app.BEGIN_SECONDS", 0.05)
    assert asked(sit(twice)).count("start") == 1
    layout_goes_on = FlightdeckApp(source=StillFlight())
    monkeypatch.setattr(layout_goes_on, "call_after_refresh", lambda *_: True)
    assert asked(sit(begun, app=layout_goes_on)).count("start") == 1


def test_enter_drills_in_and_escape_goes_back() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("enter")
        assert isinstance(seat.app.screen, GroupScreen)
        assert seat.app.place() == "billing"
        assert "waiting for billing-3" in seat.text()
        await seat.press("escape")
        assert isinstance(seat.app.screen, OverviewScreen)
        await seat.press("escape")
        assert isinstance(seat.app.screen, OverviewScreen)
        await seat.press("minus")
        assert seat.app.place() == "billing"

    sit(script)


def test_a_rebalance_opens_its_case_file() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        await seat.press("4", "enter")
        assert isinstance(seat.app.screen, RebalanceDetailsScreen)
        assert "session expired (billing-2)  generation 3" in seat.text()
        assert "overview › billing › rebalance to generation 3" in seat.text()
        await seat.press("escape")
        assert isinstance(seat.app.screen, GroupScreen)

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_enter_on_the_phase_selects_the_awaited_member() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        await seat.press("j", "1", "enter")
        panel = seat.app.focused_panel()
        assert panel is not None
        assert (panel.id, panel.selected) == ("members", "billing-3")

    sit(script)


def test_moves_keep_the_row_by_its_key() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        panel = seat.app.focused_panel()
        assert panel is not None
        await seat.press("j", "j")
        assert panel.selected == "billing-3"
        await seat.press("k")
        assert panel.selected == "billing-2"
        await seat.press("G")
        assert panel.selected == "billing-4"
        await seat.press("g")
        assert panel.selected == "billing-1"
        await seat.press("pagedown")
        assert panel.selected == "billing-4"
        await seat.press("slash")
        await seat.type("g-3")
        assert panel.selected == "billing-3"
        assert "/g-3  1 of 4" in seat.text()
        await seat.press("enter")
        assert seat.app.focused_panel() is panel
        await seat.press("escape")
        assert panel.pattern == ""
        assert panel.selected == "billing-3"

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_a_filter_that_is_left_is_forgotten() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("slash")
        await seat.type("!bill")
        assert "1 of 2" in seat.text()
        await seat.press("escape")
        panel = seat.app.focused_panel()
        assert panel is not None
        assert panel.pattern == ""

    sit(script)


def test_panels_are_reached_by_number_and_tab() -> None:
    async def script(seat: Seat) -> None:
        for key, name in (("3", "brokers"), ("tab", "producers"), ("shift+tab", "brokers"), ("1", "groups")):
            await seat.press(key)
            panel = seat.app.focused_panel()
            assert panel is not None
            assert panel.id == name

    sit(script)


def test_a_panel_can_have_the_whole_board() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("2", "M")
        screen = seat.app.flight_screen()
        assert screen is not None
        assert screen.board.panels["topics"].size.height == screen.board.size.height
        await seat.press("escape")
        assert screen.board.panels["topics"].size.height < screen.board.size.height

    sit(script)


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (["space"], ["pause"]),
        (["space", "space"], ["pause", "resume"]),
        (["full_stop"], ["step None"]),
        (["greater_than_sign"], ["speed 2"]),
        (["less_than_sign", "less_than_sign"], ["speed 0.5", "speed 0.1"]),
    ],
)
def test_time_is_steered_by_keys(keys: list[str], asked: list[str]) -> None:
    async def script(seat: Seat) -> None:
        for key in keys:
            await seat.press(key)
            seat.app.draw()
        assert seat.asked == asked

    sit(script)


def test_after_the_end_time_is_not_steered_and_the_reason_is_said() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("space", "greater_than_sign")
        assert seat.asked == []
        assert any("the flight has ended" in notice for notice in seat.notices())
        assert "■ ENDED" in seat.text()

    sit(script, app=FlightdeckApp(source=StillFlight(90.0, phase="ended")))


def test_only_what_was_given_here_is_refused_aloud() -> None:
    """A nemesis tries much in vain: that stands in the event log, and covers no screen."""
    flight = Flight(StillFlight())
    assert execute(flight, Kill("billing-2")) == ""
    for text in ("kill billing-2", "kill billing-2", "fail over controller"):
        flight.refused_commands.observe(CommandRefused(text=text, reason="it is dead already"))
    assert flight.refused_commands.take_all() == ["kill billing-2: it is dead already"]
    assert flight.refused_commands.take_all() == []


def test_the_fault_menu_does_what_is_chosen() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing-3")
        await seat.settle()
        await seat.press("f")
        assert isinstance(seat.app.screen, FaultMenu)
        await seat.press("enter")
        assert seat.asked == ["kill billing-3"]
        assert isinstance(seat.app.screen, GroupScreen)

    sit(script)


def test_an_impossible_fault_says_why_and_does_nothing() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing-3")
        await seat.settle()
        await seat.press("f", "down", "down", "enter")
        assert isinstance(seat.app.screen, FaultMenu)
        assert seat.asked == []
        assert "start billing-3: already running" in seat.notices()

    sit(script)


def test_a_fault_can_be_edited_before_it_is_given() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing-3")
        await seat.settle()
        await seat.press("f", "j", "j", "j", "j", "e")
        command_line = seat.app.screen.query_one(PromptLine)
        assert command_line.is_open
        assert command_line.input.value == "stall billing-3 for 1m"
        await seat.press("backspace", "backspace", "2", "m", "enter")
        assert seat.asked == ["stall billing-3 for 2m"]

    sit(script)


def test_one_key_stalls_a_member_and_another_silences_it() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("p")
        assert "select a member first" in seat.notices()
        seat.app.go("billing-3")
        await seat.settle()
        await seat.press("p", "h")
        assert seat.asked == ["stall billing-3 for 1m", "pause heartbeats of billing-3 for 1m"]

    sit(script)


def test_a_line_that_is_typed_at_once_is_not_taken_for_keys() -> None:
    async def script(seat: Seat) -> None:
        await seat.pilot.press("colon", *"kill", "space", *"billing", "minus", "3", "enter")
        await seat.settle()
        assert seat.asked == ["kill billing-3"]

    sit(script)


def test_the_caret_stands_under_the_wrong_word() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("kill billing-33")
        await seat.press("enter")
        command_line = seat.app.screen.query_one(PromptLine)
        said = command_line.feedback.plain_text()
        assert said.index("▲") == len(" : ") + len("kill ")
        assert "did you mean billing-3?" in said
        assert command_line.is_open
        await seat.press("backspace")
        assert "▲" not in command_line.feedback.plain_text()
        await seat.press("enter")
        assert seat.asked == ["kill billing-3"]
        assert not command_line.is_open

    sit(script)


def test_the_line_completes_and_remembers() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("kil")
        await seat.press("tab")
        await seat.type("billing-4")
        await seat.press("enter", "colon", "up")
        command_line = seat.app.screen.query_one(PromptLine)
        assert command_line.input.value == "kill billing-4"
        await seat.press("down")
        assert command_line.input.value == ""
        await seat.press("escape")
        assert not command_line.is_open
        assert seat.asked == ["kill billing-4"]

    sit(script)


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("speed 20", "speed 20"),
        ("pause", "pause"),
        ("step rebalance_started", "step rebalance_started"),
        ("record /tmp/x", "record /tmp/x"),
        ("until now_ms > 5", "until now_ms > 5"),
    ],
)
def test_the_consoles_own_commands(typed: str, asked: str) -> None:
    async def script(seat: Seat) -> None:
        seat.app.open_line(":", typed)
        await seat.settle()
        await seat.press("enter")
        assert seat.asked == [asked]

    sit(script)


def test_go_shows_a_member_in_its_group() -> None:
    async def script(seat: Seat) -> None:
        seat.app.open_line(":", "go billing-4")
        await seat.settle()
        await seat.press("enter")
        panel = seat.app.focused_panel()
        assert seat.app.place() == "billing"
        assert panel is not None
        assert panel.selected == "billing-4"

    sit(script)


def test_help_is_searched_and_closed() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("question_mark", "question_mark")
        screen = seat.app.screen
        assert isinstance(screen, HelpScreen)
        await seat.press("slash")
        await seat.type("freezes")
        await seat.press("enter", "escape")
        assert screen.panel.pattern == ""
        await seat.press("G")
        last = plain(screen.lines(100)[-1]).strip()
        assert last in screen.panel.plain_text()
        await seat.press("g")
        assert last not in screen.panel.plain_text()
        await seat.press("escape")
        assert isinstance(seat.app.screen, OverviewScreen)

    sit(script)


@pytest.mark.slow
def test_the_palette_finds_actions_places_and_faults() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing-3")
        await seat.settle()
        await seat.press("ctrl+p")
        await seat.type("go audit")
        for _ in range(20):
            await seat.pilot.pause(0.05)
        await seat.press("enter")
        for _ in range(10):
            await seat.pilot.pause(0.05)
        assert seat.app.place() == "audit"

    sit(script)


def test_a_small_terminal_is_told_what_it_needs_and_goes_on() -> None:
    async def script(seat: Seat) -> None:
        await seat.pilot.resize_terminal(MIN_WIDTH - 10, MIN_HEIGHT - 4)
        await seat.settle()
        screen = seat.app.flight_screen()
        assert isinstance(screen, FlightScreen)
        await seat.settle()  # the screen draws what it says in a later turn than the new size
        said = screen.too_small.plain_text()
        assert "too small" in said
        assert f"now {MIN_WIDTH - 10}×{MIN_HEIGHT - 4}, needed {MIN_WIDTH}×{MIN_HEIGHT}" in said
        await seat.pilot.resize_terminal(80, 24)
        await seat.settle()
        assert "billing" in seat.text()

    sit(script)


def test_the_focus_is_where_it_was_after_a_terminal_was_too_small() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        await seat.press("3")
        before = seat.app.focused_panel()
        assert before is not None
        screen = before.screen
        await seat.pilot.resize_terminal(MIN_WIDTH - 10, MIN_HEIGHT - 4)
        await seat.wait_for(lambda: screen.has_class("-too-small") and screen.focused is None)
        await seat.pilot.resize_terminal(MIN_WIDTH - 20, MIN_HEIGHT - 5)
        await seat.settle()
        await seat.pilot.resize_terminal(80, 24)
        await seat.wait_for(lambda: not screen.has_class("-too-small"))
        await seat.wait_for(lambda: seat.app.focused_panel() is not None)
        assert seat.app.focused_panel() is before
        screen.set_focus(None)  # as Textual does for a panel that was hidden, late on a busy machine
        await seat.settle()
        assert seat.app.focused_panel() is before
        await seat.press("colon")
        line = seat.app.input_line()
        assert line is not None
        await seat.settle()  # a paint leaves the focus where it is
        assert screen.focused is line.input
        await seat.press("escape")
        assert seat.app.focused_panel() is before
        await seat.press("j", "enter")
        assert seat.app.is_running

    sit(script)


def test_the_library_asks_before_it_ends_a_flight_that_is_being_recorded() -> None:
    async def script(seat: Seat) -> None:
        source = seat.app.flight.source
        assert isinstance(source, StillFlight)
        source.recording = "mine.flight"
        await seat.press("H", "enter")
        assert seat.app.flight.source is source
        assert "still recording to mine.flight; enter again ends the flight here" in seat.notices()
        await seat.press("j", "enter")
        assert seat.app.flight.source is source, "another row is asked for, too"
        await seat.press("enter")
        assert seat.app.flight.source is not source

    sit(script)


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 40), (200, 60)])
def test_every_screen_fits_every_size(size: tuple[int, int]) -> None:
    async def script(seat: Seat) -> None:
        for place in ("overview", "billing", "audit"):
            seat.app.go(place)
            await seat.settle()
            screen = seat.app.flight_screen()
            assert screen is not None
            heights = [panel.region for panel in screen.board.panels.values() if panel.display]
            assert all(region.height >= 1 and region.width > 10 for region in heights)
            assert screen.board.panels["groups" if place == "overview" else "members"].size.height >= 3

    sit(script, size=size)


@pytest.mark.parametrize("theme", list(DESCRIPTIONS))
def test_every_theme_can_be_shown(theme: str) -> None:
    async def script(seat: Seat) -> None:
        seat.app.theme = theme
        await seat.settle()
        assert "billing" in seat.text()

    sit(script)


def test_the_theme_key_goes_through_all_of_them() -> None:
    async def script(seat: Seat) -> None:
        seen = [seat.app.theme]
        for _ in DESCRIPTIONS:
            await seat.press("T")
            seen.append(seat.app.theme)
        assert seen[0] == seen[-1]
        assert set(seen) == set(DESCRIPTIONS)

    sit(script)


def test_textuals_own_themes_can_be_chosen() -> None:
    async def script(seat: Seat) -> None:
        for theme in ("nord", "textual-light", "textual-ansi"):
            if theme in seat.app.available_themes:
                seat.app.theme = theme
                await seat.settle()
                assert "billing" in seat.text()

    sit(script)


WAYS_OUT = [
    ["q"],
    ["down", "enter", "q"],
    ["f", "q"],
    ["question_mark", "q"],
    ["question_mark", "down", "q"],
    ["H", "q"],
    ["ctrl+c"],
    ["ctrl+p", "ctrl+c"],
    ["colon", "k", "ctrl+c"],
]


@pytest.mark.parametrize("keys", WAYS_OUT, ids="-".join)
def test_q_leaves_from_everywhere(keys: list[str]) -> None:
    left: list[bool] = []

    async def script(seat: Seat) -> None:
        await seat.pilot.press(*keys[:-1])
        await seat.settle()
        left.append(seat.app._exit)
        await seat.pilot.press(keys[-1])
        left.append(seat.app._exit)

    app = sit(script)
    assert left == [False, True]
    assert (app.return_code or 0) == 0
    assert isinstance(app.flight.source, StillFlight)
    assert app.flight.source.asked[-1] == "stop"


def test_a_recording_that_goes_on_asks_once() -> None:
    source = StillFlight()
    source.recording = "/tmp/a.flight"
    app = FlightdeckApp(source=source)

    async def script(seat: Seat) -> None:
        assert "● REC" in seat.text()
        await seat.press("q")
        assert app.is_running
        assert any("still recording to /tmp/a.flight" in notice for notice in seat.notices())
        await seat.pilot.press("q")

    sit(script, app=app)
    assert (app.return_code or 0) == 0


def test_a_failure_is_shown_in_words_over_the_last_state() -> None:
    async def script(seat: Seat) -> None:
        await seat.settle()
        screen = seat.app.screen
        assert isinstance(screen, FailureScreen)
        assert "KeyError: 'orders-7'" in screen.panel.plain_text()
        await seat.press("escape")
        assert "✖ FAILED" in seat.text()
        await seat.press("space")
        assert any("the simulation failed" in notice for notice in seat.notices())
        await seat.pilot.press("q")

    failure = "the simulation failed at 00:00:20.000000, turn 7: KeyError: 'orders-7'"
    app = sit(script, app=FlightdeckApp(source=StillFlight(phase="failed", failure=failure)))
    assert app.return_code == 1


def test_a_broken_invariant_is_shown_with_the_last_events_and_where_they_are_recorded() -> None:
    async def script(seat: Seat) -> None:
        await seat.settle()
        screen = seat.app.screen
        assert isinstance(screen, FailureScreen)
        shown = screen.panel.plain_text()
        assert "The flight is over: an invariant does not hold." in shown
        assert "G2 NoDoubleOwner" in shown
        assert "the last 3 events" in shown
        source.failure += "\nit is recorded in a.flight"
        screen.paint()
        assert "it is recorded in a.flight" in screen.panel.plain_text()
        await seat.press("escape", "space")
        assert any("an invariant does not hold; the screens show" in notice for notice in seat.notices())
        await seat.pilot.press("q")

    failure = "an invariant does not hold: G2 NoDoubleOwner at 20 s (event 7): billing-1 and billing-2 hold orders-0"
    source = StillFlight(phase="failed", failure=failure)
    source.last_events = list(synthetic.events(20.0))[-3:]
    assert sit(script, app=FlightdeckApp(source=source)).return_code == 1


def test_clicks_select_and_twice_opens() -> None:
    async def script(seat: Seat) -> None:
        screen = seat.app.flight_screen()
        assert screen is not None
        panel = screen.board.panels["groups"]
        await seat.pilot.click(panel, offset=(4, 3))
        await seat.settle()
        assert panel.selected == "audit"
        await seat.pilot.click(panel, offset=(4, 2))
        await seat.settle()
        assert panel.selected == "billing"
        await seat.pilot.click(panel, offset=(4, 2), times=2)
        await seat.settle()
        assert seat.app.place() == "billing"

    sit(script)


def test_members_that_a_later_scale_made_are_known_by_name() -> None:
    source = StillFlight(20.0)
    source.names = msgspec.structs.replace(source.names, groups={"audit": synthetic.AUDIT, "billing": ("billing-1",)})

    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("go billing-4")
        await seat.press("enter")
        assert seat.app.place() == "billing"
        panel = seat.app.focused_panel()
        assert panel is not None
        assert panel.selected == "billing-4"
        assert "billing-4" in completions("kill ", seat.app.flight.names())

    sit(script, app=FlightdeckApp(source=source))
