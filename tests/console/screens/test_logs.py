"""A recording of logs in the console: its places, what is unknown in them, and what is refused."""

from pathlib import Path

import pytest

from console.app import FlightdeckApp
from console.forking.fork_line import Fork
from console.player import Player
from console.widgets.panel_layout import Board
from recordings.log_reading.make import read_logs
from tests.support.console.pilot import Seat, sit

LINE = "[2026-11-27 05:10:{:06.3f}] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] {} (o.a.k.G)\n"
JOINS = "Pending dynamic member with id {} joins group orders in {} state. Adding to the group now."
PREPARES = "Preparing to rebalance group orders in state PreparingRebalance with old generation {} (reason: {})."
STABLE = "Stabilized group orders generation {} with {} members."
ASSIGNED = (
    "Assignment received from leader {} for group orders for generation {}. The group has {} members, "
    "0 of which are static."
)
RETRIES = (
    "Got error produce response with correlation id 4 on topic-partition orders-1, retrying (9 attempts left). Error: "
    "NOT_ENOUGH_REPLICAS"
)
ENDS = "Completed rollback of ongoing transaction for transactionalId pay due to timeout"
FIRST, SECOND = (f"{name}-1234abcd-0000-0000-0000-00000000000{name[-1]}" for name in ("app-1", "app-2"))


def incident() -> str:
    """Two members join; the second is silent, and its session expires."""
    said = [
        (1, JOINS.format(FIRST, "Empty")),
        (1, PREPARES.format(0, f"Adding new member {FIRST} with group instance id null; client reason: not provided")),
        (2, JOINS.format(SECOND, "PreparingRebalance")),
        (4, STABLE.format(1, 2)),
        (4.05, ASSIGNED.format(FIRST, 1, 2)),
        (30, f"Member {SECOND} in group orders has failed, removing it from the group."),
        (30, PREPARES.format(1, f"removing member {SECOND} on heartbeat expiration.")),
        (33, STABLE.format(2, 1)),
        (33.1, ASSIGNED.format(FIRST, 2, 1)),
        (40, PREPARES.format(2, "Because of \x1b[31mmagic\u202e")),
    ]
    return "".join(LINE.format(second, words).replace(".", ",", 1) for second, words in said)


def board(seat: Seat) -> Board:
    """The panels of the place."""
    screen = seat.app.flight_screen()
    assert screen is not None
    return screen.board


@pytest.fixture
def player(tmp_path: Path) -> Player:
    (tmp_path / "server.log").write_text(incident(), encoding="utf-8")
    read_logs([tmp_path / "server.log"], tmp_path / "read")
    player = Player(tmp_path / "read", playing=False)
    player.verify()
    return player


def test_an_incident_is_seen_and_what_no_line_tells_is_unknown(player: Player) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("go 35s")
        await seat.press("enter")
        text = seat.text()
        assert "orders" in text
        assert "the logs say 2026-11-27 05:10:36.000" in text
        assert "lag unknown" in text.splitlines()[0]
        assert "session expired (app-2) · 3.1 s" in text
        assert "the cluster is being built" not in text
        seat.app.go("orders")
        await seat.settle()
        text = seat.text()
        assert "classic protocol · generation 2 · coordinator broker-1 · 1 member" in text
        assert "app-2" not in board(seat).panels["members"].plain_text()
        await seat.press("enter")
        text = seat.text()
        assert "2026-11-27 05:10:30.000  began" in text
        assert "app-2 was removed: session expired" in text
        assert "removing member app-2-" in text

    sit(script, app=FlightdeckApp(source=player), size=(140, 40))


def test_a_rebalance_that_the_log_ends_in_goes_on_and_nothing_raw_is_drawn(player: Player) -> None:
    async def script(seat: Seat) -> None:
        player.seek(player.playback.end_us)
        await seat.settle()
        seat.app.go("orders")
        await seat.settle()
        assert "↻ unknown" in seat.text()
        assert "so far" in seat.text()
        await seat.press("enter")
        panel = board(seat).panels["details"]
        drawn = "".join(panel.render_line(row).text for row in range(panel.size.height))
        assert "magic" in drawn
        assert "\x1b" not in drawn
        assert "\u202e" not in drawn

    sit(script, app=FlightdeckApp(source=player), size=(140, 40))


def test_the_newest_rebalance_stays_selected_until_another_one_is(player: Player) -> None:
    async def script(seat: Seat) -> None:
        def selected() -> str:
            return board(seat).panels["rebalances"].selected

        player.seek(5_000_000)
        seat.app.go("orders")
        await seat.settle()
        assert selected() == "1"
        player.seek(player.playback.end_us)
        await seat.settle()
        assert selected() == "3"
        await seat.press("down")
        assert selected() == "2"
        player.seek(5_000_000)
        await seat.settle()
        assert selected() == "1"
        player.seek(player.playback.end_us)
        await seat.settle()
        assert selected() == "2"

    sit(script, app=FlightdeckApp(source=player), size=(140, 40))


@pytest.mark.parametrize("place", ["transactions", "raster", "brokers", "comparison", "conversation"])
def test_a_place_that_logs_do_not_tell_of_is_refused(place: str, player: Player) -> None:
    async def script(seat: Seat) -> None:
        seat.app.go(place)
        await seat.settle()
        assert seat.app.places.here() == "overview"
        assert any(f"nothing of {place}" in said for said in seat.notices())

    sit(script, app=FlightdeckApp(source=player))


def test_transactions_and_producers_have_their_places_where_lines_name_them(tmp_path: Path) -> None:
    pays = "[Producer clientId=pay-1, transactionalId=pay]"
    fenced = "org.apache.kafka.common.errors.ProducerFencedException"
    said = (
        f"{pays} ProducerId set to 7 with epoch 3",
        f"[TransactionCoordinator id=2] {ENDS}",
        f"{pays} Transiting to fatal error state due to {fenced}: \x1b[31mThere is",
        f"[Producer clientId=feed-1] {RETRIES}",
    )
    lines = [f"[2026-11-27 05:10:{second:02},000] INFO {words} (o.a.k.C)\n" for second, words in enumerate(said)]
    (tmp_path / "server.log").write_text("".join(lines), encoding="utf-8")
    read_logs([tmp_path / "server.log"], tmp_path / "read")
    player = Player(tmp_path / "read", playing=False)
    player.verify()

    async def script(seat: Seat) -> None:
        player.seek(player.playback.end_us)
        await seat.wait_for(lambda: "feed-1" in board(seat).panels["producers"].plain_text())
        assert "NOT_ENOUGH_REPLICAS (orders-1)" in board(seat).panels["producers"].plain_text()
        seat.app.go("transactions")
        await seat.settle()
        ids, producers = (board(seat).panels[name].plain_text() for name in ("ids", "producers"))
        assert "timed out, aborted" in ids
        assert "broker-2" in ids
        assert "✖ Fenced" in producers
        assert "feed-1" not in producers
        assert "pay-1 is Fenced: PRODUCER_FENCED" in board(seat).panels["events"].plain_text()

    sit(script, app=FlightdeckApp(source=player), size=(160, 40))


def test_why_and_forks_of_logs_are_refused_with_a_reason(player: Player) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("w")
        assert any("logs tell causes of rebalances only" in said for said in seat.notices())
        refusal = seat.app.forking.fork(seat.app.flight, Fork(command="kill broker-1"))
        assert "logs have no cluster to fly again" in refusal

    sit(script, app=FlightdeckApp(source=player))
