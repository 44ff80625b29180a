"""The place of a conversation: reached by name and from a row, live and in a recording, followed while it grows."""

from pathlib import Path

import pytest

from cluster.commands import CommandError
from cluster.events import JoinReceived, TransactionStateChanged
from console import command_line
from console.app import FlightdeckApp
from console.player import NEWEST_EVENTS, Player
from console.presenters.conversations.followed import FollowedConversation
from console.presenters.conversations.listing import MARGIN, TIME, ConversationListing
from console.presenters.conversations.messages import KEPT, ConversationLog, producer_id_name
from console.presenters.styled_text import plain
from console.screens.catalogue import PLACES
from console.screens.conversation import ConversationScreen
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.console.judge.bench import flown
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import NAMES, StillFlight


def shown(seat: Seat) -> ConversationScreen:
    screen = seat.app.flight_screen()
    assert isinstance(screen, ConversationScreen)
    return screen


@pytest.mark.slow
def test_it_opens_by_names_and_shows_the_newest_message() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.execute_line("go conversation billing-1 billing-3")
        await seat.settle()
        screen = shown(seat)
        assert screen.names == ("billing-1", "billing-3")
        assert "conversation of billing-1, billing-3" in seat.text()
        assert screen.board.panels["messages"].selected == list(screen.shown.messages)[-1]
        assert "Not in the event log" in seat.text()
        selected = screen.shown.messages[screen.board.panels["messages"].selected]
        assert f"event {selected.event.seq}" in seat.text()
        whole = " ".join(seat.text().partition("2 the event")[2].split())
        assert f"{selected.source}" in whole
        assert f": {' '.join(selected.text.split())}" in whole, "a row may be cut, the panel below says all of it"

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


@pytest.mark.parametrize(
    ("place", "keys", "names"),
    [("billing-3", (), ("billing-3",)), ("overview", ("1",), None), ("overview", ("4",), ("checkout-1",))],
)
def test_a_row_opens_the_conversation_of_its_process(
    place: str, keys: tuple[str, ...], names: tuple[str, ...] | None
) -> None:
    async def script(seat: Seat) -> None:
        seat.app.go(place)
        await seat.settle()
        await seat.press(*keys)
        target = seat.app.selected_target()
        assert target is not None
        await seat.press("V")
        members = tuple(one.member for one in seat.app.flight.view.members.values() if one.group == target.name)
        assert shown(seat).names == (members if names is None else (target.name,))

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)))


def test_a_transactional_id_opens_the_conversation_of_its_transactions() -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("transactions")
        await seat.settle()
        chosen = seat.app.focused_panel()
        assert chosen is not None
        target = seat.app.selected_target()
        assert target is not None
        await seat.press("V")
        assert shown(seat).names == tuple(dict.fromkeys([target.name, chosen.selected]))
        texts = [one.text for one in shown(seat).shown.messages.values()]
        assert any("AddPartitionsToTxn" in text for text in texts)

    events = tuple(flown(load("transaction-step-by-step").spec, 7, 12_000_000))
    sit(script, app=FlightdeckApp(source=StillFlight(12.0, events=events)))


def test_a_wrong_name_is_told_with_the_nearest() -> None:
    with pytest.raises(CommandError) as caught:
        command_line.read("go conversation biling-1", NAMES, PLACES)
    assert caught.value.suggestion == "billing-1"
    assert "billing-3" in command_line.completions("go conversation billing-1 bil", NAMES, PLACES)
    assert "billing-1" not in command_line.completions("go conversation billing-1 bil", NAMES, PLACES)


def test_a_recording_has_the_same_conversation_after_any_jump(tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    fly(make_plan(load("eager-vs-cooperative"), until_us=30_000_000), record=path)
    player = Player(path, playing=False)
    for at_us in (25_000_000, 8_000_000, 29_000_000):
        player.playback.seek_us(at_us)
        log = ConversationLog()
        for event in player.playback.recording.events():
            if event.at_us <= at_us:
                log.observe(event)
        whole = list(log.messages())
        known = list(player.newest().conversation.messages())
        assert known == whole[-len(known) :]
        assert player.playback.seq - known[0].event.seq >= min(NEWEST_EVENTS, player.playback.seq - whole[0].event.seq)
        if at_us < 20_000_000:
            player.playback.step(2_000)
            assert list(player.newest().conversation.messages())[: len(known)] == known
            assert len(list(player.newest().conversation.messages())) > len(known)


def test_the_steps_of_a_transaction_stand_in_their_order() -> None:
    log = ConversationLog()
    events = flown(load("transaction-step-by-step").spec, 7, 19_000_000)
    for event in events:
        log.observe(event)
    (producer_id,) = {event.producer_id for event in events if isinstance(event, TransactionStateChanged)}
    texts = [one.text for one in log.messages({"mover-1", producer_id_name(producer_id)})]
    steps = ("InitProducerId", ": AddPartitionsToTxn", "Produce to ", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn",
             "WriteTxnMarkers", "transaction complete")  # fmt: skip
    assert [step for step in steps if not any(step in text for text in texts)] == []
    first = [next(place for place, text in enumerate(texts) if step in text) for step in steps]
    assert first == sorted(first)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 400])
def test_no_two_columns_look_the_same(width: int) -> None:
    """`near coordinator` and `nearby coordinator` are both `near…ator` in a narrow lane: they share a column then."""
    log = ConversationLog()
    for event in flown(load("fetch-from-follower").spec, 7, 20_000_000):
        log.observe(event)
    listing = ConversationListing(FollowedConversation().messages(log, ()), (), width)
    header, first = plain(listing.header()), MARGIN + TIME
    lanes = [first + place * listing.lane for place in range(len(listing.columns))]
    titles = [header[start : start + listing.lane].strip() for start in lanes]
    assert len(set(titles)) == len(titles) > 1


def test_enter_goes_to_the_instant_of_a_message(tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    fly(make_plan(load("eager-vs-cooperative"), until_us=30_000_000), record=path)

    async def script(seat: Seat) -> None:
        seekable = seat.app.flight.seekable
        assert seekable is not None
        seekable.seek(25_000_000)
        await seat.wait_for(lambda: seat.app.flight.now_us == 25_000_000)
        seat.app.go("conversation")
        await seat.settle()
        await seat.press("g")
        first = next(iter(shown(seat).shown.messages.values()))
        await seat.press("enter")
        await seat.wait_for(lambda: seat.app.flight.now_us == first.event.at_us)

    sit(script, app=FlightdeckApp(source=Player(path, playing=False)))


@pytest.mark.slow
@pytest.mark.parametrize("names", [(), ("checkout-1",), ("billing-1", "checkout-2")])
def test_what_a_screen_follows_is_what_the_log_has(names: tuple[str, ...]) -> None:
    """Frames come after any number of events; old messages go, and another log begins anew."""
    log, followed = ConversationLog(), FollowedConversation()
    events = flown(load("first-flight").spec, 7, 90_000_000)
    for number, event in enumerate(events):
        log.observe(event)
        if number % 997 in {0, 1, 500}:
            has = {str(message.event.seq): message for message in log.messages(frozenset(names))}
            assert list(followed.messages(log, names).items()) == list(has.items())
    assert (log.begin(names) > 0) == bool(names)  # ordinary Produce requests are given up, no other message
    other = ConversationLog()
    other.observe(next(event for event in events if isinstance(event, JoinReceived)))
    assert len(followed.messages(other, ())) == 1
    assert list(followed.messages(log, ("checkout-1",)).values()) == list(log.messages({"checkout-1"}))


def test_old_messages_are_given_up_without_a_gap() -> None:
    log, spec = ConversationLog(), load("first-flight").spec
    events = flown(spec, spec.seed, 90_000_000)
    for event in events:
        log.observe(event)
    assert len(list(log.messages())) <= KEPT
    name = "checkout-1"
    kept = [message.event.seq for message in log.messages({name})]
    whole = ConversationLog(len(events))
    for event in events:
        whole.observe(event)
    every = [message.event.seq for message in whole.messages({name})]
    assert 0 < len(kept) < len(every)
    assert kept == every[-len(kept) :]
