"""Lists: rows in an order of the user's, a filter with its language, copies, events as links to their instants."""

from collections.abc import Sequence
from contextvars import Context

import pytest

from cluster import events as e
from cluster.view import fold
from console.actions import possible_shortcuts
from console.app import FlightdeckApp
from console.presenters.list_view import FilterError, Listing, holds, ordered
from console.presenters.styled_text import Line, line
from console.screens.flight_screen import FlightScreen
from console.widgets.command_input import PromptLine
from console.widgets.panel import Panel
from recordings.scenarios.loader import load
from tests.console.judge.bench import flown
from tests.support.console import recorded_flight, synthetic
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import PLACES, STATES, look, source_in
from tests.support.console.stopped_clock import StillFlight


class FixedListing(Listing):
    """Rows by these names."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(40)
        self.names = names

    def row_keys(self) -> Sequence[str]:
        return self.names

    def rows(self, key: str) -> tuple[Line, ...]:
        return (line(f"  {key}"),)


def panel_of(seat: Seat, name: str) -> Panel:
    screen = seat.app.flight_screen()
    assert screen is not None
    return screen.board.panels[name]


def first_words(panel: Panel) -> list[str]:
    """The first word of each drawn row, below title and header."""
    return [row.replace("▸", " ").split()[0] for row in panel.plain_text().splitlines()[2:] if row.strip()]


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("billing", True),
        ("BILL", True),
        ("!bill", False),
        ("!audit", True),
        ("~blg3", True),
        ("~3gb", False),
        ("~bstable", False),
        ("!~blg3", False),
        ("/b.*g-[0-9]/", True),
        ("/^x/", False),
        ("!/^x/", True),
        ("/bill", True),
        ("a.b", False),
        ("", True),
        ("!", False),
    ],
)
def test_a_filter_has_a_language(pattern: str, shown: bool) -> None:
    assert holds("billing-3 Stable", pattern) is shown


@pytest.mark.parametrize(("pattern", "column"), [("/(/", 1), ("/ab[/", 3), ("!/a**/", 4)])
def test_a_wrong_expression_has_a_place(pattern: str, column: int) -> None:
    with pytest.raises(FilterError) as found:
        holds("", pattern)
    assert found.value.column == column


def test_rows_without_a_value_stand_last() -> None:
    values = {"a": 1.0, "b": None, "c": 3.0, "d": 1.0}
    assert ordered("abcd", values.__getitem__, largest_first=True) == ["c", "a", "d", "b"]
    assert ordered("abcd", values.__getitem__, largest_first=False) == ["a", "d", "c", "b"]


def test_keys_order_the_rows_and_give_the_first_order_back() -> None:
    async def script(seat: Seat) -> None:
        panel = panel_of(seat, "brokers")
        await seat.press("3")
        before = first_words(panel)
        await seat.press("s", "s", "s")
        assert "brokers by broker ↓" in panel.plain_text()
        assert first_words(panel) == ["broker-1", "broker-2", "broker-3"]
        await seat.press("S")
        assert "brokers by broker ↑" in panel.plain_text()
        assert first_words(panel) == ["broker-3", "broker-2", "broker-1"]
        await seat.press("s")
        assert first_words(panel) == before
        assert " by " not in panel.plain_text().splitlines()[0]
        await seat.press("S")
        assert "no column orders the rows: s chooses one" in seat.notices()

    sit(script, size=(120, 50))


def test_a_click_on_a_title_orders_by_it() -> None:
    async def script(seat: Seat) -> None:
        panel = panel_of(seat, "groups")
        before = first_words(panel)
        await seat.click("group    ", within="groups")
        assert first_words(panel) == ["audit", "billing"]
        assert panel.order == "group"
        await seat.click("group    ", within="groups")
        assert first_words(panel) == ["billing", "audit"]
        await seat.click("group    ", within="groups")
        assert (first_words(panel), panel.order) == (before, "")
        await seat.click("last minute", within="groups")
        assert "rows are not ordered by last minute" in seat.notices()

    sit(script)


def test_a_chosen_order_claims_nothing_of_the_rows_without_room() -> None:
    async def script(seat: Seat) -> None:
        panel = panel_of(seat, "brokers")
        panel.sort_by("leads")
        await seat.settle()
        assert "all up" not in panel.plain_text()

    sit(script, size=(80, 24))


def test_matches_are_walked_through() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("billing")
        await seat.settle()
        panel = panel_of(seat, "members")
        await seat.press("n")
        assert "no filter is set: / filters the rows" in seat.notices()
        await seat.press("slash")
        await seat.type("/-[24]$|-[24] ")
        await seat.press("enter")
        assert "/-[24]$|-[24]   2 of 4" in panel.plain_text()
        found = [panel.selected]
        for key in ("n", "n", "N"):
            await seat.press(key)
            found.append(panel.selected)
        assert found == ["billing-2", "billing-4", "billing-2", "billing-4"]
        seat.app.draw()
        assert panel.pattern, "a filter outlives a frame"
        await seat.press("escape")
        assert panel.pattern == ""

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_a_wrong_filter_stays_on_the_line_with_a_caret() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("slash")
        await seat.type("/au(")
        line = seat.app.screen.query_one(PromptLine)
        said = line.feedback.plain_text()
        assert said.index("▲") == len(" / ") + 3
        assert "not a regular expression" in said
        await seat.press("enter")
        assert line.is_open
        assert panel_of(seat, "groups").pattern == "/au", "the last filter that could be read"
        await seat.press("backspace", "enter")
        assert not line.is_open

    sit(script)


def test_a_row_is_copied_by_its_name_as_it_is_shown_and_with_all_others() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("y")
        name = panel_of(seat, "groups").selected
        assert seat.app.clipboard == name
        await seat.press("y")
        assert seat.app.clipboard.startswith(name)
        assert "Rebalance" in seat.app.clipboard
        await seat.press("y")
        assert "audit" in seat.app.clipboard
        assert "billing" in seat.app.clipboard
        assert seat.app.clipboard.startswith("groups\n")
        await seat.press("y")
        assert seat.app.clipboard == name
        assert f"copied {name}; y again copies the row" in seat.notices()

    sit(script)


def test_an_event_is_a_link_to_its_instant() -> None:
    async def script(seat: Seat) -> None:
        seekable = seat.app.flight.seekable
        assert seekable is not None
        seekable.seek(8_000_000)
        await seat.wait_for(lambda: seat.app.flight.now_us == 8_000_000)
        await seat.settle()
        panel = panel_of(seat, "events")
        panel.focus()
        await seat.press("j", "j", "j")
        at_us = panel.instant_of(panel.selected)
        assert at_us is not None
        assert at_us < 8_000_000
        await seat.press("enter")
        await seat.wait_for(lambda: seat.app.flight.now_us == at_us)

    sit(script, app=recorded_flight.app())


def test_the_newest_event_stays_selected_until_another_is_chosen() -> None:
    async def script(seat: Seat) -> None:
        seekable = seat.app.flight.seekable
        assert seekable is not None
        panel = panel_of(seat, "events")
        for seconds in (3, 8):
            seekable.seek(seconds * 1_000_000)
            await seat.wait_for(lambda: seat.app.flight.now_us == seconds * 1_000_000)  # noqa: B023
            await seat.settle()
            assert panel.selected == panel._keys[0]
        panel.focus()
        await seat.press("j")
        kept = panel.selected
        seekable.seek(9_000_000)
        await seat.wait_for(lambda: seat.app.flight.now_us == 9_000_000)
        await seat.settle()
        assert panel.selected == kept

    sit(script, app=recorded_flight.app())


def test_the_first_match_stays_selected_when_its_filter_ends() -> None:
    async def script(seat: Seat) -> None:
        panel = panel_of(seat, "events")
        seat.app.flight.seekable.seek(8_000_000)  # type: ignore[union-attr]
        await seat.wait_for(lambda: seat.app.flight.now_us == 8_000_000)
        await seat.settle()
        panel.focus()
        await seat.press("G")
        oldest = panel.selected
        panel.filter("started")
        assert panel.selected == panel._keys[0] == oldest
        panel.filter("")
        assert panel._keys[0] != oldest
        assert panel.selected == oldest

    sit(script, app=recorded_flight.app())


def test_the_arrangement_of_a_place_is_chosen_and_remembered() -> None:
    async def script(seat: Seat) -> None:
        screen = seat.app.flight_screen()
        assert screen is not None
        await seat.press("5", "P")
        assert "panels: on-call" in seat.notices()
        assert [panel.id for panel in screen.board.shown()] == ["groups", "topics", "brokers", "producers", "faults"]
        assert not panel_of(seat, "events").region
        focused = seat.app.focused_panel()
        assert focused is not None
        assert focused.id == "groups", "a hidden panel has no focus"
        assert seat.app.settings_file.settings.presets == {"OverviewScreen": "on-call"}
        seat.app.go("billing")
        await seat.settle()
        assert panel_of(seat, "events").region, "each place has its own"
        await seat.press("P", "P")
        assert [panel.id for panel in panel_of(seat, "members").screen.board.shown()] == [  # type: ignore[attr-defined]
            *("phase", "members", "ownership", "events")
        ]
        seat.app.go("overview")
        await seat.press("P", "P")
        assert panel_of(seat, "events").region
        seat.app.go("raster")
        await seat.settle()
        await seat.press("P")
        assert "this place has one arrangement" in seat.notices()

    sit(script)


@pytest.mark.parametrize("place", ["overview", "billing", "billing-1", "member billing-1", "brokers", "raster"])
def test_every_number_of_the_help_focuses_its_panel(place: str) -> None:
    async def script(seat: Seat) -> None:
        seat.app.go(place)
        await seat.settle()
        possible, _ = possible_shortcuts(seat.app)
        numbers = next(one.key for one in possible["places"] if one.label == "panel").split()
        screen = seat.app.flight_screen()
        assert screen is not None
        assert [int(number) for number in numbers] == sorted(panel.number for panel in screen.board.shown())
        for number in reversed(numbers):
            await seat.press(number)
            focused = seat.app.focused_panel()
            assert focused is not None
            assert focused.number == int(number)
            assert f"▍{number} " in seat.text(), "and its title shows it"

    sit(script)


def test_enter_unfolds_what_an_event_row_stands_for() -> None:
    spec = load("coordinator-failover").spec
    events = flown(spec, spec.seed, 125_000_000)

    async def script(seat: Seat) -> None:
        panel = panel_of(seat, "events")
        await seat.press("5", "M", "j", "j", "j", "j")
        assert "67 internal partitions: new leaders (broker fenced)" in panel.plain_text()
        assert "__consumer_offsets-0 leader" not in panel.plain_text()
        key = panel.selected
        await seat.press("enter")
        assert "__consumer_offsets-0 leader 3 → 2" in panel.plain_text()
        assert panel.selected == key
        await seat.press("enter")
        assert "__consumer_offsets-0 leader" not in panel.plain_text()

    sit(script, app=FlightdeckApp(source=StillFlight(125.0, events=tuple(events))))


def transactions_aborted_at_once(number: int) -> tuple[e.Event, ...]:
    """So many transactional ids whose transactions a coordinator aborts in one instant."""
    flight = synthetic.Flight()
    synthetic.declare(flight, {"orders": 3}, {})
    for place in range(number):
        for at_s, state in ((1.0, "Ongoing"), (2.0, "PrepareAbort"), (2.1, "CompleteAbort")):
            flight.emit(
                at_s,
                e.TransactionStateChanged(
                    transactional_id=f"pay-{place}",
                    broker=2,
                    state=state,
                    producer_id=1_000 + place,
                    epoch=1,
                    timeout_ms=60_000,
                    start_us=1_000_000,
                    partitions=("orders-0",),
                ),
            )
    return tuple(flight.in_order())


def test_enter_unfolds_transactions_that_were_aborted_together() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("transactions")
        await seat.settle()
        panel = panel_of(seat, "events")
        await seat.press("4")
        folded = panel.plain_text()
        assert "pay-0, pay-1 and 3 more: aborted" in folded
        assert "pay-4 is aborted" not in folded
        key = panel.selected
        await seat.press("enter")
        assert "pay-4 is aborted" in panel.plain_text()
        assert panel.selected == key
        await seat.press("enter")
        assert panel.plain_text() == folded

    sit(script, app=FlightdeckApp(source=StillFlight(3.0, events=transactions_aborted_at_once(5))))


def test_a_number_without_a_panel_says_which_there_are() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("7")
        assert "there is no panel 7 here now: 1, 2, 3, 4, 5, 6" in seat.notices()

    sit(script)


def test_a_number_hides_its_panel_and_shows_it_again() -> None:
    async def script(seat: Seat) -> None:
        panel = panel_of(seat, "topics")
        await seat.press("2", "2")
        assert "panel 2 is hidden: 2 shows it again" in seat.notices()
        assert not panel.region
        focused = seat.app.focused_panel()
        assert focused is not None
        assert focused.id == "brokers"
        await seat.press("shift+tab")
        assert not panel.has_focus
        await seat.press("2")
        assert panel.region
        assert panel.has_focus

    sit(script)


def test_only_a_number_twice_in_a_row_hides_its_panel() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("2", "j", "2")
        await seat.click("topics", within="topics")
        await seat.press("2")
        panel = panel_of(seat, "topics")
        assert panel.region
        assert panel.has_focus
        assert seat.notices() == []
        await seat.press("2")
        assert seat.notices() == ["panel 2 is hidden: 2 shows it again"]

    sit(script)


def test_a_maximized_panel_gives_its_place_to_the_next() -> None:
    async def script(seat: Seat) -> None:
        screen = seat.app.flight_screen()
        assert screen is not None
        await seat.press("1", "M", "tab")
        assert screen.board.maximized == "topics"
        assert panel_of(seat, "topics").size.height == screen.board.size.height
        await seat.press("shift+tab", "shift+tab")
        assert screen.board.maximized == "faults"

    sit(script)


def test_a_key_between_two_frames_draws_the_list_of_now() -> None:
    """The transaction that held a partition back is over since the last frame: its row cannot be drawn any more."""
    spec = load("stuck-last-stable-offset").spec
    events = flown(spec, spec.seed, 95_000_000)

    async def script(seat: Seat) -> None:
        seat.app._tick = lambda: None  # type: ignore[method-assign]  # no frame but ours
        seat.app.go("transactions")
        await seat.settle()
        panel, view = seat.app.screen.query_one("#held", Panel), seat.app.flight.view
        assert "payments-0" in panel.plain_text()
        for event in events:
            if event.seq > view.seq:
                fold(view, event)
        seat.app.paint = lambda: None  # type: ignore[method-assign]
        panel.focus()
        await seat.pilot.pause()
        assert "payments-0" not in panel.plain_text()
        assert "payments-0" not in panel.whole_text()

    sit(script, app=FlightdeckApp(source=source_in("transaction stuck")))


@pytest.mark.slow
def test_every_list_of_every_place_can_be_filtered_sorted_and_chosen_from() -> None:
    """Rows that are only text have no value, and a filter may leave no row."""
    sorted_by: set[str] = set()

    async def script(seat: Seat) -> None:
        seat.app._tick = lambda: None  # type: ignore[method-assign]
        for place in PLACES:
            await look(seat, STATES["rebalancing"].objects, place)
            screen = seat.app.screen
            for panel in screen.query(Panel):
                listing = panel._listing
                for title in listing.sortable() if listing is not None else ():
                    panel._sort_under(title)
                    panel._sort_under(title)
                    panel.sort_by("")
                    sorted_by.add(title)
                panel.filter("no row has this")
                for key in ("e", "enter", "y", "n", "G") if place.name in {"fault menu", "why the group"} else ():
                    await seat.press(key)
                panel.filter("")
            assert seat.app.is_running
            while not isinstance(seat.app.screen, FlightScreen):
                await seat.press("escape")

    sit(script, app=FlightdeckApp(source=source_in("rebalancing")))
    assert {"lag", "poll", "ISR out"} <= sorted_by


def test_a_panel_that_its_screen_removes_is_shown_nothing_new() -> None:
    """The flight's thread may have the console draw while a screen closes."""

    async def script(seat: Seat) -> None:
        panel = seat.app.screen.query_one("#groups", Panel)
        listing = panel._listing
        assert listing is not None
        await panel.remove()
        Context().run(panel.show, listing)
        assert panel._version() is None

    sit(script)


def test_a_row_that_comes_back_is_selected_again() -> None:
    def members(*names: str) -> Listing:
        return FixedListing(names)

    async def script(seat: Seat) -> None:
        panel = panel_of(seat, "faults")
        for selected in ("b", "c"):
            panel._take(members("a", "b", "c"))
            panel.selected = selected
            panel._take(members("a"))
            panel._take(members("z"))
            assert panel.selected == "z"
            panel._take(members("a", "b", "c", "z"))
            assert panel.selected == selected
        panel._take(members("a", "b"))
        panel._select("b")
        panel._take(members("a", "b", "c"))
        assert panel.selected == "b", "the user has chosen another row meanwhile"

    sit(script)


def test_an_error_of_a_filter_goes_with_the_text_that_had_it() -> None:
    """Keys come faster than rows are filtered: what is told of a text before comes late."""

    async def script(seat: Seat) -> None:
        await seat.press("3", "slash")
        line = seat.app.input_line()
        assert line is not None
        line.input.value = "/broker-[12]"
        await seat.settle()
        assert not line.filter_list("/broker-[12")
        assert "unterminated" in line.feedback.plain_text()
        assert line.filter_list("/broker-[12]")
        assert "unterminated" not in line.feedback.plain_text()

    sit(script)


def test_many_rows_that_need_attention_leave_the_titles_of_the_columns() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("broker broker-3")
        await seat.settle()
        panel = panel_of(seat, "replicas")
        assert len(panel._listing.exceptions()) > panel.size.height > 10  # type: ignore[union-attr]
        drawn = panel.render_lines(panel.region.reset_offset)[1].text
        assert drawn.split()[:3] == ["partition", "role", "leader"]

    spec = load("coordinator-failover").spec
    events = flown(spec, spec.seed, 125_000_000)
    sit(script, app=FlightdeckApp(source=StillFlight(125.0, events=tuple(events))))
