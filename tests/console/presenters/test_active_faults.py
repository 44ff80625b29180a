"""Active faults on the overview: the fault, its end, and the command that ends it earlier."""

import msgspec
import pytest

from cluster.commands import kind_of, label_of, parse, targets_of, text_of, undo_of
from cluster.view import ClusterView, fold
from console.app import FlightdeckApp
from console.presenters.active_faults import ActiveFaultsListing, fault_label
from console.presenters.fault_menu import healing_of
from console.presenters.members import MembersListing
from console.presenters.overview import BrokersListing
from console.presenters.styled_text import length, plain
from tests.support.console import synthetic
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight
from tests.support.console.synthetic import us

UNDOS = {
    "kill billing-2": "start billing-2",
    "kill broker-3 for 20s": "start broker-3",
    "crash broker-1": "start broker-1",
    "stop billing-2": "start billing-2",
    "pause broker-2": "resume broker-2",
    "cut billing-1 broker-2": "heal billing-1 broker-2",
    "cut billing-1 -> broker-2": "heal billing-1 broker-2",
    "slow broker-1 broker-2 to 200ms": "heal broker-1 broker-2",
    "hold broker-1 broker-2": "release broker-1 broker-2",
    "isolate broker-2": "heal",
    "nemesis on": "nemesis off",
    "pause partitions of billing-2 for 1m": "resume partitions of billing-2",
    "pause partitions orders-0,orders-2 of billing-2": "resume partitions orders-0,orders-2 of billing-2",
    "fail dependency of billing": "restore dependency of billing",
    "stall billing-3 for 6m": "",
}


@pytest.mark.parametrize(("text", "undo"), UNDOS.items())
def test_a_fault_names_the_command_that_ends_it(text: str, undo: str) -> None:
    command = parse(text)
    assert undo_of(kind_of(command), targets_of(command)) == undo
    if undo:
        assert text_of(parse(undo)) == undo


def test_a_fault_of_a_foreign_recording_may_lack_its_targets() -> None:
    assert undo_of("cut", ("billing-1",)) == ""
    assert undo_of("pause_partitions", ()) == ""
    assert undo_of("a kind of a later version", ("billing-1",)) == ""
    assert label_of("a kind of a later version") == ""


def test_a_link_of_an_isolation_offers_to_heal_every_link() -> None:
    cut, isolated = with_faults("cut broker-1 broker-2", "isolate broker-2").faults.values()
    assert healing_of("broker-1", "broker-2", [isolated]) == "heal"
    assert healing_of("broker-1", "broker-2", [isolated, cut]) == "heal broker-1 broker-2"


def with_faults(*texts: str) -> ClusterView:
    view = synthetic.view_at(30.0)
    for number, text in enumerate(texts, 10):
        started = synthetic.fault_started(number, text, us(50.0))
        fold(view, msgspec.structs.replace(started, seq=view.seq + 1, at_us=us(30.0)))
    return view


def test_a_line_for_each_with_what_is_left() -> None:
    view = with_faults("cut billing-1 broker-2 for 20s")
    listing = ActiveFaultsListing(view, us(42.0), 100)
    (row,) = (plain(listing.rows(key)[0]) for key in listing.row_keys())
    assert " ".join(row.split()) == "✖ cut billing-1 broker-2 for 20s 12 s 8.0 s heal billing-1 broker-2"
    assert not ActiveFaultsListing(synthetic.view_at(5.0), us(5.0), 100).row_keys()


@pytest.mark.parametrize("width", [40, 60, 120])
def test_no_line_is_wider_than_its_panel(width: int) -> None:
    listing = ActiveFaultsListing(with_faults("cut billing-1 broker-2 for 20s", "kill billing-2"), us(42.0), width)
    assert all(length(row) <= width for key in listing.row_keys() for row in listing.rows(key))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("slow billing-1 to 50ms", "slowed"),
        ("cut billing-1 broker-2", "link cut"),
        ("hold billing-1 broker-2", "link held"),
        ("slow billing-1 broker-2 to 1s", "slow link"),
    ],
)
def test_a_running_member_shows_its_fault_in_its_row(text: str, word: str) -> None:
    view = with_faults(text)
    assert fault_label(view, "billing-1") == word
    assert fault_label(view, "billing-2") == ""
    listing = MembersListing(view, view.groups["billing"], us(30.0), 120)
    assert f"▲ {word}" in plain(listing.rows("billing-1")[1])
    assert "▲" not in plain(listing.rows("billing-4")[1])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("slow disk of broker-2 to 50ms", "slow disk"),
        ("fill disk of broker-2", "disk full"),
        ("isolate broker-2", "isol"),
    ],
)
def test_a_running_broker_shows_its_fault_in_its_row(text: str, word: str) -> None:
    assert f"▲ {word}" in plain(BrokersListing(with_faults(text), 80).rows("broker-2")[0])


def test_the_first_fault_opens_the_panel_and_enter_offers_its_undo() -> None:
    async def script(seat: Seat) -> None:
        screen = seat.app.flight_screen()
        assert screen is not None
        assert screen.board.panels["faults"].display
        await seat.press("6", "enter")
        line = seat.app.input_line()
        assert line is not None
        assert line.input.value == "start billing-2"
        await seat.press("escape")

    sit(script, app=FlightdeckApp(source=StillFlight(90.0)))


def test_without_a_fault_the_panel_is_hidden() -> None:
    async def script(seat: Seat) -> None:
        screen = seat.app.flight_screen()
        assert screen is not None
        assert not screen.board.panels["faults"].display
        await seat.press("6")
        assert seat.app.focused_panel() is not screen.board.panels["faults"]

    sit(script, app=FlightdeckApp(source=StillFlight(5.0)))


def test_topics_tell_how_much_is_appended() -> None:
    assert synthetic.view_at(30.0).topics["orders"].end_series.values[-1] > 0
