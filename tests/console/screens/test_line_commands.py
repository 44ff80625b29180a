"""The command line: completion that goes round, errors that keep what was typed, refusals before they are journaled."""

from pathlib import Path

import pytest
from textual import events

from console.app import FlightdeckApp
from console.command_line import completions
from console.flight import READ_ONLY
from console.operating.line_commands import is_for_cluster, refused_column
from console.player import Player
from console.presenters.styled_text import cells, cut, fit, length, line, plain, wrapped
from console.screens.overlays import PrintedScreen
from console.widgets.command_input import PromptLine
from console.widgets.panel import Panel
from tests.support.console.pilot import Seat, sit
from tests.support.console.recorded_flight import recording
from tests.support.console.stopped_clock import NAMES, StillFlight
from tests.support.minimal_scenario import TWO_MEMBERS


def the_line(seat: Seat) -> PromptLine:
    found = seat.app.input_line()
    assert found is not None
    return found


def test_tab_completes_what_is_common_then_goes_round_and_back() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("kill bil")
        await seat.press("tab")
        found = the_line(seat)
        assert found.input.value == "kill billing-"
        assert "▸" not in found.hints.plain_text()
        members = [f"billing-{number}" for number in range(1, len(NAMES.groups["billing"]) + 1)]
        for member in (*members, members[0]):
            await seat.press("tab")
            assert found.input.value == f"kill {member}"
            assert f"▸{member}" in found.hints.plain_text()
        await seat.press("shift+tab")
        assert found.input.value == f"kill {members[-1]}"
        await seat.type(" ")
        await seat.press("tab")  # the text changed: the next word
        assert found.input.value.startswith(f"kill {members[-1]} ")

    sit(script)


def test_one_hint_is_completed_with_the_blank_after_it() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("kill led")
        await seat.press("tab")
        assert the_line(seat).input.value == "kill ledger-1 "

    sit(script)


@pytest.mark.parametrize(("typed", "meant"), [("foo", "fork"), ("kil", "kill"), ("unitl", "until"), ("STALL", "stall")])
def test_an_unknown_first_word_is_met_with_words_like_it(typed: str, meant: str) -> None:
    assert meant in completions(typed, NAMES)


def test_a_line_for_the_cluster_is_told_from_the_consoles_own() -> None:
    assert is_for_cluster("kill bill")
    assert is_for_cluster("pause billing-1")
    assert not any(is_for_cluster(text) for text in ("pause", "until x", "go billing", "", "foo"))


@pytest.mark.parametrize(
    ("text", "refusal", "word"),
    [
        (
            "until groups.billing.stat == 'Stable'",
            "groups.billing has no stat (did you mean groups.billing.state?)",
            "stat ",
        ),
        ("set billing session.timeout.ms ten", "session.timeout.ms = ten is not a number", "ten"),
        ("set orders retention.ms 5", "retention.ms is only read when the cluster is built", "retention.ms"),
        ("record /tmp/x", "this flight is already being recorded", "/tmp/x"),
        ("undo", "no command has been given", "undo"),
        ("start billing-1", "billing-1 is running already", "billing-1"),
    ],
)
def test_the_caret_is_under_the_word_that_the_refusal_names(text: str, refusal: str, word: str) -> None:
    assert text[refused_column(text, refusal) :].startswith(word)


def test_a_refused_line_stays_with_what_was_typed_and_can_be_corrected() -> None:
    async def script(seat: Seat) -> None:
        source = seat.app.flight.source
        source.refusal = "there is no directory /nowhere"  # type: ignore[attr-defined]
        await seat.press("colon")
        await seat.type("record /nowhere/x")
        await seat.press("enter")
        found = the_line(seat)
        assert found.is_open
        assert found.input.value == "record /nowhere/x"
        assert "▲" in found.feedback.plain_text()
        assert "there is no directory" in found.feedback.plain_text()
        assert seat.app.settings_file.settings.commands == []
        source.refusal = ""  # type: ignore[attr-defined]
        await seat.press("backspace", "enter")
        assert not the_line(seat).is_open
        assert seat.app.settings_file.settings.commands == ["record /nowhere/"]
        assert seat.app.focused_panel() is not None

    sit(script)


@pytest.mark.slow
def test_a_command_without_effect_is_refused_before_it_is_journaled() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("start billing-1")
        await seat.press("enter")
        assert the_line(seat).is_open
        assert "billing-1 is running already" in the_line(seat).feedback.plain_text()
        assert seat.asked == []

    sit(script)


def test_a_mistyped_setting_never_reaches_the_flight(tmp_path: Path) -> None:
    scenario = tmp_path / "one.toml"
    scenario.write_text(TWO_MEMBERS, encoding="utf-8")
    app = FlightdeckApp(scenario, speed=2.0)

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: app.flight.now_us > 1_000_000)
        app.execute_line("pause")
        await seat.wait_for(lambda: app.flight.clock.phase == "paused")
        for typed, said in (
            ("set billing session.timeout.ms ten", "ten"),
            ("until groups.billing.stat == 1", "did you mean groups.billing.state?"),
        ):
            await seat.press("colon")
            await seat.type(typed)
            await seat.press("enter")
            found = the_line(seat)
            assert found.is_open, typed
            assert said in found.feedback.plain_text()
            await seat.press("escape")
        assert not [entry for entry in app.flight.view.log_entries if "refused" in entry.kind]

    sit(script, app=app)


@pytest.mark.slow
def test_undo_of_a_paused_flight_takes_back_the_last_command_alone(tmp_path: Path) -> None:
    scenario = tmp_path / "two.toml"
    scenario.write_text(TWO_MEMBERS, encoding="utf-8")
    app = FlightdeckApp(scenario, speed=2.0)

    def faults() -> list[str]:
        return [fault.text for fault in app.flight.view.faults.values()]

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: app.flight.now_us > 4_000_000)
        app.execute_line("pause")
        await seat.wait_for(lambda: app.flight.clock.phase == "paused")
        for command in ("kill billing-1", "kill billing-2"):
            app.execute_line(command)
            await seat.wait_for(lambda command=command: command in faults())  # type: ignore[misc]
        await seat.press("u")
        await seat.wait_for(lambda: faults() == ["kill billing-1"] and app.flight.clock.phase == "paused")
        assert seat.notices()[-1] == "undone: kill billing-2"
        await seat.press("u")
        await seat.wait_for(lambda: seat.notices()[-1] == "undone: kill billing-1")
        await seat.wait_for(lambda: not faults() and app.flight.clock.phase == "paused")

    sit(script, app=app)


def test_what_a_reassigning_tool_prints_is_shown_when_it_is_given(tmp_path: Path) -> None:
    scenario = tmp_path / "two.toml"
    scenario.write_text(TWO_MEMBERS, encoding="utf-8")
    app = FlightdeckApp(scenario, speed=2.0)
    target = '{"partitions":[{"topic":"orders","partition":0,"replicas":[3]}]}'
    order = f"kafka-reassign-partitions.sh --execute --reassignment-json-file '{target}'"

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: app.flight.now_us > 1_000_000)
        app.execute_line(order.replace("[3]", "[9]"))
        await seat.wait_for(lambda: any("Unknown broker id 9" in notice for notice in seat.notices()))
        assert not isinstance(app.screen, PrintedScreen)
        app.execute_line(order)
        await seat.wait_for(lambda: isinstance(app.screen, PrintedScreen))
        await seat.wait_for(lambda: app.flight.view.partitions["orders-0"].replicas == (3,))

    sit(script, app=app)


def test_until_that_holds_already_is_answered(tmp_path: Path) -> None:
    scenario = tmp_path / "one.toml"
    scenario.write_text(TWO_MEMBERS, encoding="utf-8")
    app = FlightdeckApp(scenario, speed=2.0)

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: app.flight.now_us > 1_000_000)
        app.execute_line("until now_ms > 5")
        await seat.wait_for(lambda: any("already true" in notice for notice in seat.notices()))
        await seat.wait_for(lambda: app.flight.clock.phase == "paused")

    sit(script, app=app)


def test_a_recording_refuses_a_command_while_it_is_typed() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("kill bil")
        found = the_line(seat)
        assert READ_ONLY in found.feedback.plain_text()
        await seat.type("ling-1")
        await seat.press("enter")
        assert found.is_open
        assert found.input.value == "kill billing-1"
        assert READ_ONLY in found.feedback.plain_text()

    sit(script, app=FlightdeckApp(source=Player(recording(), playing=False)))


def test_wide_characters_are_counted_in_cells() -> None:
    assert cells("日本語") == 6
    assert cells("e\u0301") == 1
    assert cells("▇▇─") == 3
    message = line(("there is no command `日本語`", "plain"))
    assert length(fit(message, 40)) == 40
    for width in range(1, 30):
        assert length(cut(message, width)) <= width
        assert all(cells(plain(row).rstrip()) <= max(width, 4) for row in wrapped(line("日本 語日 本"), width))
    assert plain(cut(line("日本語"), 5)) == "日本…"


def test_the_caret_stands_under_the_word_behind_wide_characters() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        found = the_line(seat)
        found.input.value = "日本語 billing-1"
        await seat.press("enter")
        assert "日本語" in found.feedback.plain_text()
        found.input.value = "kill 日本語 x"
        await seat.press("enter")
        rows = found.feedback.plain_text().split("\n")
        assert rows[0].index("▲") == 3 + 5
        assert "日本語" in " ".join(rows)

    sit(script)


@pytest.mark.parametrize(("key", "typed", "line"), [("t", "9s", "go 9s"), ("F", "sFt", "do sFt")])
def test_keys_typed_ahead_belong_to_the_line_that_is_being_opened(key: str, typed: str, line: str) -> None:
    """A busy machine takes several keys at once: none of them acts on the screen, and in the line they are text."""

    async def script(seat: Seat) -> None:
        for character in key + typed:
            seat.app.post_message(events.Key(character, character))
        await seat.settle()
        shown = seat.app.input_line()
        assert shown is not None
        assert shown.input.value.endswith(line)
        assert seat.app.screen.query_one("#groups", Panel).order == ""

    sit(script, app=FlightdeckApp(source=Player(recording())))


def test_what_is_typed_when_a_game_ends_stays_on_the_line_until_it_is_closed() -> None:
    live, debrief = StillFlight(20.0), StillFlight(20.0)

    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("diagnose kill b")
        live.successor = lambda: debrief  # type: ignore[method-assign]
        seat.app.paint()
        await seat.type("q")
        assert the_line(seat).input.value == "diagnose kill bq"
        assert seat.app.flight.source is not debrief
        await seat.press("escape")
        await seat.settle()
        assert debrief in {seat.app.flight.source, getattr(seat.app.flight.source, "live", None)}

    sit(script, app=FlightdeckApp(source=live))


def test_a_frame_that_comes_when_the_screens_are_gone_draws_nothing() -> None:
    app = FlightdeckApp(source=StillFlight())  # as at the end of the console: its thread may still ask for a frame
    assert app.screen_stack == []
    app.paint()
    app.paint_frame()
    assert not app.line_commands.is_typed()
