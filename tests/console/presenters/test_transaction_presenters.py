"""What the screen of transactions says of a hand-made minute of them."""

import pytest

from cluster.commands import Names
from cluster.protocol.transaction_states import TRANSACTION_STATES, TransactionState
from console.app import FlightdeckApp
from console.presenters import states
from console.presenters.fault_menu import CommandTarget, MenuEntry, fault_menu_entries
from console.presenters.list_view import Listing
from console.presenters.producers.table import ProducersListing
from console.presenters.styled_text import FAINT, length, plain
from console.presenters.transactions import (
    HeldBackListing,
    StatesListing,
    TransactionEventsListing,
    TransactionsListing,
    goes_to,
)
from tests.support.console import synthetic, synthetic_transactions
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight
from tests.support.console.synthetic import us


def rows_of(listing: Listing) -> dict[str, str]:
    return {key: "\n".join(plain(row) for row in listing.rows(key)) for key in listing.row_keys()}


def ids_at(seconds: float, width: int = 160) -> dict[str, str]:
    return rows_of(TransactionsListing(synthetic_transactions.view_at(seconds), us(seconds), width))


def held_at(seconds: float) -> dict[str, str]:
    return rows_of(HeldBackListing(synthetic_transactions.view_at(seconds), us(seconds), 120))


def test_a_row_says_where_a_transactional_id_stands() -> None:
    row = ids_at(10.0)["pay-2"]
    assert row.split()[:9] == ["pay-2", "▶", "Ongoing", "2000", "0", "broker-2", "7.0", "s", "in"]
    assert "in 23 s" in row  # begun at 3 s, transaction.timeout.ms = 30 s
    assert "orders 0-1" in row
    done = ids_at(10.0)["pay-1"].split()
    assert done[:6] == ["pay-1", "●", "CompleteCommit", "1000", "0", "broker-2"]
    assert done[6:12] == ["–", "–", "2", "2", "0", "0"]  # not open, no timeout; begun, committed, aborted, fenced


def test_past_its_timeout_a_transaction_waits_for_the_scan() -> None:
    assert "▲ overdue" in ids_at(34.0)["pay-2"]
    assert "overdue" not in ids_at(32.9)["pay-2"]
    assert "overdue" not in ids_at(38.05)["pay-2"]  # PrepareAbort: the scan has come


def test_readers_of_committed_data_wait_for_the_one_that_holds_them_back() -> None:
    held = held_at(10.0)
    assert list(held) == ["orders-0", "orders-1"]
    assert held["orders-0"].split()[:6] == ["orders-0", "41", "82", "41", "7.0", "s"]
    assert "pay-2, Ongoing, 23 s left" in held["orders-0"]
    assert held["orders-1"].split()[1:4] == ["0", "10", "10"]
    assert "pay-2, PrepareAbort: its markers are on their way" in held_at(38.05)["orders-0"]


def test_without_an_open_transaction_nothing_is_held_back() -> None:
    assert held_at(2.5) == {}
    assert held_at(39.0) == {}


def test_a_marker_above_the_high_watermark_still_holds_readers_back() -> None:
    view = synthetic_transactions.view_at(38.1)
    assert "pay-2, aborted: HW not past its marker at 10" in rows_of(HeldBackListing(view, us(38.1), 120))["orders-1"]


def test_an_open_transaction_without_a_producer_hangs() -> None:
    view = synthetic_transactions.view_at(10.0)
    assert "hanging" not in rows_of(HeldBackListing(view, us(10.0), 120))["orders-0"]
    view.transactions["pay-2"].partitions = ("orders-1",)
    assert "hanging: pay-2's Ongoing transaction lacks" in rows_of(HeldBackListing(view, us(10.0), 120))["orders-0"]
    view.transactions["pay-2"].state, view.transactions["pay-2"].partitions = "CompleteAbort", ()
    words = "hanging: pay-2 is CompleteAbort: its coordinator has no such ongoing transaction"
    assert words in rows_of(HeldBackListing(view, us(10.0), 160))["orders-0"]
    del view.transactions["pay-2"]
    assert (
        "hanging: no transactional id has producer id 2000" in rows_of(HeldBackListing(view, us(10.0), 120))["orders-0"]
    )


def test_states_with_a_transactional_id_are_highlighted() -> None:
    listing = StatesListing(synthetic_transactions.view_at(10.0), 200)
    rows = rows_of(listing)
    assert list(rows) == [f"#{state.value}" for state in TransactionState]
    assert "◀ pay-2" in rows["#Ongoing"]
    assert "◀ pay-1" in rows["#CompleteCommit"]
    assert "PrepareCommit, PrepareAbort, PrepareEpochFence" in rows["#Ongoing"]
    for key in rows:
        lit = key in {"#Ongoing", "#CompleteCommit"}
        assert ("◀" in rows[key]) is lit
        assert (listing.rows(key)[0][1][1] != FAINT) is lit


def test_moves_follow_kafkas_table() -> None:
    for state in TransactionState:
        for to in goes_to(state):
            assert state in TRANSACTION_STATES.predecessors(TransactionState(to))
    assert goes_to(TransactionState.PREPARE_EPOCH_FENCE) == ["PrepareAbort"]
    assert goes_to(TransactionState.DEAD) == []


def test_on_a_narrow_terminal_nothing_that_matters_is_cut() -> None:
    view, width = synthetic_transactions.view_at(10.0), 80
    one = view.transactions.pop("pay-2")
    view.transactions["settlement-1"] = one
    one.transactional_id = "settlement-1"
    assert "settlement-1" in rows_of(TransactionsListing(view, us(10.0), width))["settlement-1"]
    assert "settlement-1, Ongoing, 23 s left" in rows_of(HeldBackListing(view, us(10.0), width))["orders-0"]
    states_there = rows_of(StatesListing(view, width))
    assert "PrepareCommit, …Abort, …EpochFence" in states_there["#Ongoing"]
    assert "Empty, Ongoing, Dead" in states_there["#CompleteAbort"]
    assert "(final)" in states_there["#Dead"]


def test_every_state_has_a_look() -> None:
    assert sorted(states.TRANSACTION) == sorted(state.value for state in TransactionState)


def test_the_log_names_a_fencing_with_its_error_and_its_cause() -> None:
    said = "\n".join(rows_of(TransactionEventsListing(synthetic_transactions.view_at(45.0), 120)).values())
    assert "orders-1's leader refused pay-2 epoch 0: INVALID_PRODUCER_EPOCH" in said
    assert "its coordinator refused pay-2 epoch 0: PRODUCER_FENCED" in said
    assert "pay-2 is aborted" in said
    assert ids_at(45.0)["pay-2"].split()[-2] == "2"


def test_the_overview_says_a_producers_transaction_where_there_is_one() -> None:
    view = synthetic_transactions.view_at(10.0)
    rows = rows_of(ProducersListing(view, us(10.0), 120))
    assert "▶ Ongoing 7.0 s" in rows["pay-2"]
    assert "● CompleteCommit" in rows["pay-1"]
    plainly = ProducersListing(synthetic.view_at(20.0), us(20.0), 60)
    assert "transaction" not in plain(plainly.header())


def test_a_producer_with_a_long_transaction_is_never_folded() -> None:
    view = synthetic_transactions.view_at(10.0)
    view.transactions["pay-2"].timeout_ms = 10_000
    listing = ProducersListing(view, us(10.0), 120)
    assert listing.rank("pay-2") is not None, "open for 7.0 of 10 s"
    assert listing.rank("pay-1") is None


def test_menus_offer_what_can_be_done_to_transactions() -> None:
    names = Names(
        producers={"pay": ("pay-1", "pay-2")}, topics={"orders": 3}, brokers=("broker-1", "broker-2", "broker-3")
    )
    view = synthetic_transactions.view_at(10.0)

    def menu(kind: str, name: str) -> dict[str, MenuEntry]:
        return {fault.text: fault for fault in fault_menu_entries(view, names, CommandTarget(kind, name))}

    assert menu("producer", "pay-2")["abandon transaction of pay-2"].reason == ""
    assert menu("producer", "pay-2")["kill pay-2"].effect == "SIGKILL: its transaction stays open"
    assert menu("topic", "orders")["abort hanging transaction orders-0"].reason == ""
    view = synthetic_transactions.view_at(0.2)
    assert menu("producer", "pay-2")["abandon transaction of pay-2"].reason != ""
    why_not = menu("topic", "orders")["abort hanging transaction orders-0"].reason
    assert why_not == "no transaction holds readers back"


@pytest.mark.parametrize("width", [60, 80, 119, 120, 160, 200])
@pytest.mark.parametrize("seconds", [0.0, 10.0, 34.0, 38.1, 45.0])
def test_no_line_is_wider_than_its_panel(seconds: float, width: int) -> None:
    view, now_us = synthetic_transactions.view_at(seconds), us(seconds)
    for listing in (
        TransactionsListing(view, now_us, width),
        HeldBackListing(view, now_us, width),
        StatesListing(view, width),
        TransactionEventsListing(view, width),
        ProducersListing(view, now_us, width),
    ):
        assert length(listing.header()) <= width
        for key in listing.row_keys():
            assert all(length(row) <= width for row in listing.rows(key))


def test_the_screen_is_reached_by_key_and_by_name_and_left() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("X")
        assert seat.app.place() == "transactions"
        assert "overview › transactions" in seat.text()
        assert "pay-2" in seat.text()
        await seat.press("f")
        await seat.press("escape", "escape")
        assert seat.app.place() == "overview"
        await seat.press("minus")
        assert seat.app.place() == "transactions"
        seat.app.go("overview")
        assert seat.app.execute_line("go transactions")
        await seat.settle()
        assert seat.app.place() == "transactions"

    still = StillFlight(10.0, events=tuple(synthetic_transactions.events(10.0)))
    sit(script, app=FlightdeckApp(source=still))


def test_a_flight_without_transactions_says_so() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("X")
        assert "no producer of this flight has a transactional.id" in seat.text()

    sit(script)
