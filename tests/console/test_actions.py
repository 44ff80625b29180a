"""One table of actions: every one has an id, a key, help, a palette entry, and can be pressed; no two clash."""

from collections import Counter

import pytest
from textual.binding import Binding

from console.actions import ACTIONS, SECTIONS, Action, bindings, find, shortcuts
from console.app import FlightdeckApp
from console.command_line import Go, completions, read, usages
from console.operating.footer import in_footer
from console.presenters import states
from console.presenters.fault_menu import CommandTarget, MenuEntry
from console.presenters.help import FaultMenuListing, help_lines
from console.presenters.styled_text import plain
from console.screens.catalogue import PLACES, SCREENS
from console.screens.flight_screen import FlightScreen
from console.screens.group import GroupScreen
from console.screens.logged import LoggedGroupScreen, LoggedRebalanceScreen, LoggedTransactionsScreen
from console.screens.member import MemberScreen
from console.screens.overlays import FaultMenu, HelpScreen
from console.screens.palette import ConsoleProvider
from console.screens.partition import PartitionScreen
from console.screens.producer import ProducerScreen
from console.screens.rebalance_details import RebalanceDetailsScreen
from console.screens.topology.broker import BrokerScreen
from console.screens.topology.topic import TopicScreen
from console.widgets.panel import Panel
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import NAMES
from tests.support.slow_cases import mostly_slow

PRESSED_ELSEWHERE = {"console.quit"}  # leaves: `test_q_leaves_from_everywhere`


def test_ids_are_unique_and_named_by_section() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    assert {action.section for action in ACTIONS} == set(SECTIONS)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_is_whole(action: Action) -> None:
    assert action.keys
    assert action.shown
    assert action.label
    assert action.help
    name = action.does.partition("(")[0]
    owner = FlightScreen if name.startswith("screen.") else FlightdeckApp
    assert hasattr(owner, f"action_{name.removeprefix('screen.')}")
    assert find(action.id) is action


def test_every_action_has_a_plain_key() -> None:
    terminals_eat = ("ctrl+shift+", "ctrl+i", "ctrl+m", "alt+")
    for action in ACTIONS:
        assert any(not key.startswith(terminals_eat) for key in action.keys.split(","))


def test_no_two_keys_clash_in_their_scope() -> None:
    app_keys = [key for one in bindings() if isinstance(one, Binding) for key in one.key.split(",")]
    panel_keys = [key for one in Panel.BINDINGS if isinstance(one, Binding) for key in one.key.split(",")]
    assert not [key for key, count in Counter(app_keys + panel_keys).items() if count > 1]


def test_every_binding_has_an_id_to_be_remapped_by() -> None:
    for scope in (FlightdeckApp, Panel, FaultMenu, HelpScreen):
        for one in scope.BINDINGS:
            assert isinstance(one, Binding)
            assert one.id, one


def help_text() -> str:
    keys = {action.id: action.shown for action in ACTIONS}
    return "\n".join(plain(row) for row in help_lines(shortcuts(keys), usages(PLACES).values()))


def test_help_explains_every_state_that_screens_show() -> None:
    said = help_text()
    for table in (states.GROUP, states.MEMBER, states.PRODUCER, states.TRANSACTION, states.BROKER):
        for name, state in table.items():
            assert f"{state.glyph} {name}" in said
            assert state.meaning in said


def test_a_command_that_is_cut_in_the_fault_menu_stays_apart_from_its_effect() -> None:
    fault = MenuEntry("lose next 1 responses of Heartbeat from broker-3 to billing-1", "its heartbeat goes unanswered")
    for one, words in ((fault, " its heartbeat"), (fault._replace(reason="not now"), " ✖ not now")):
        row = plain(FaultMenuListing(CommandTarget("member", "billing-1"), [one], 76).rows(one.text)[0])
        assert f"…{words}" in row


def test_help_and_footer_come_from_the_table() -> None:
    said = help_text()
    for action in ACTIONS:
        assert action.help in said or action.id.startswith("go.panel-")
    assert "focus a panel by its number" in said
    for screen in SCREENS:
        for recorded in (False, True):
            shown = in_footer(screen.footer_actions, recorded=recorded)
            assert {action.id for action in shown} >= {"act.command", "console.help"}
            assert 4 <= len(shown) <= 13


def test_every_screen_of_the_table_has_a_place_and_what_derives_from_it() -> None:
    assert len(set(PLACES)) == len(PLACES)
    assert len(PLACES) == sum(1 + len(screen.places_inside) for screen in SCREENS if screen.place) >= 3
    for screen in SCREENS:
        assert screen.place or not screen.key
        for place in (screen.place, *screen.places_inside) if screen.place else ():
            assert read(f"go {place}", NAMES, PLACES) == Go(place)
            assert place in completions("go ", NAMES, PLACES)
            assert place in usages(PLACES)["go"][1]
        if screen.key:
            action = find(f"go.{screen.place}")
            assert (action.keys, action.label, action.help) == (screen.key, screen.place, screen.help)


NAMED: dict[type[FlightScreen], str] = {
    GroupScreen: "billing-1",
    TopicScreen: "topic orders",
    PartitionScreen: "partition orders-1",
    MemberScreen: "member billing-1",
    ProducerScreen: "producer checkout-1",
    BrokerScreen: "broker broker-1",
    RebalanceDetailsScreen: "",  # opened from its group's list
    **dict.fromkeys((LoggedGroupScreen, LoggedRebalanceScreen, LoggedTransactionsScreen), ""),  # of a recording of logs
}
"""A place of each screen that has many; empty for one that is not typed."""


@pytest.mark.slow
def test_every_screen_of_the_table_opens_by_its_place_and_by_its_key() -> None:
    async def script(seat: Seat) -> None:
        for screen in SCREENS:
            named = screen.place or NAMED[screen]
            for opens in (f"go {named}" if named else "", screen.key):
                if opens:
                    seat.app.go("overview")
                    await (seat.press(opens) if opens == screen.key else seat.settle())
                    assert opens == screen.key or seat.app.execute_line(opens)
                    await seat.settle()
                    assert type(seat.app.flight_screen()) is screen, opens

    sit(script)


def test_the_palette_has_every_action() -> None:
    async def script(seat: Seat) -> None:
        provider = ConsoleProvider(seat.app.screen)
        names = {entry.name for entry in provider._actions()}
        assert names == {action.label for action in ACTIONS if action.id != "console.screens.palette"}
        assert {"go overview", "go billing", "go billing-3"} <= {entry.name for entry in provider._places()}
        seat.app.go("billing-3")
        await seat.settle()
        assert "kill billing-3" in {entry.name for entry in provider._faults()}
        assert len(list(provider._themes())) == 5

    sit(script)


PRESSED = [action for action in ACTIONS if action.id not in PRESSED_ELSEWHERE]


@pytest.mark.parametrize("action", mostly_slow(PRESSED, quick=PRESSED[::3]), ids=lambda action: action.id)
def test_every_key_can_be_pressed_on_every_screen(action: Action) -> None:
    async def script(seat: Seat) -> None:
        for place in ("overview", "billing"):
            seat.app.go(place)
            await seat.settle()
            await seat.press(action.keys.partition(",")[0])
            assert seat.app.is_running
            await seat.press("escape")

    sit(script)


def test_keys_can_be_remapped_by_id() -> None:
    async def script(seat: Seat) -> None:
        seat.app.set_keymap({"time.pause": "z"})
        await seat.press("z")
        assert seat.asked == ["pause"]
        assert "z pause" in seat.text() or "z resume" in seat.text()

    sit(script)
