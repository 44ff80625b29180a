"""Notices and the refusals of the command line are what the event log says, in a recording and in a live flight."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cluster.commands import parse
from cluster.events import EVENT_KINDS, CommandRefused, Event
from console import player
from console.app import FlightdeckApp
from console.bridge import Bridge
from console.control_commands import execute
from console.flight_clock import BUILDING, ENDED
from console.player import Player
from console.refused_commands import RefusedCommands
from console.travel import live_travel
from recordings.journal.reader import Recording
from recordings.scenarios.loader import load
from tests.console.judge.bench import SECOND_US, flown
from tests.console.judge.notice_judge import Told, false_notices
from tests.support.console import recorded_flight
from tests.support.console.pilot import Seat, sit

Patch = pytest.MonkeyPatch
RECORDED = (
    "left_curly_bracket", "left_square_bracket", "space", ":go 5s", "left_curly_bracket", "left_curly_bracket",
    ":step member_stopped", ":step member_stopped", ":go 40s", "right_square_bracket", "right_curly_bracket",
    ":go 9s", ":until groups.billing.state == 'Stable'", ":step rebalance_started", ":go 0s", "left_square_bracket",
    ":step join_barrier_extended", ":kill billing-1", ":record elsewhere", "p", "T",
)  # fmt: skip
LIVE = (
    "right_curly_bracket", ":until groups.billing.generation >= 0", ":go 500ms", ":kill billing-1",
    ":step group_deleted", "L", "left_square_bracket", "right_square_bracket", ":step group_deleted", "L",
    ":kill billing-1", ":undo",
)  # fmt: skip
REFUSED = "start billing-1"
Noted = tuple[str, str, int, int, int | None, bool]


class Listener:
    """Notes what is said after each line or key: the notices, and an error that stays on the line."""

    def __init__(self, seat: Seat) -> None:
        self.seat, self.noted = seat, list[Noted]()

    async def give(self, typed: str) -> None:
        """Type a line, or press a key."""
        seat, before_us, said = self.seat, self.seat.app.flight.now_us, len(self.seat.notices())
        if typed.startswith(":"):
            await seat.press("colon")
            line = seat.app.input_line()
            assert line is not None
            line.input.value = typed[1:]
            await seat.press("enter")
        else:
            await seat.press(typed)
        await self.note(typed, before_us, said)

    async def listen_to(self, typed: str, give: Callable[[], str]) -> None:
        """Do what a line does whose preview knows no reason against it, and wait for what is said."""
        before_us, said = self.seat.app.flight.now_us, len(self.seat.notices())
        assert give() == ""
        await self.note(typed, before_us, said, await_one=True)

    async def note(self, typed: str, before_us: int, said: int, *, await_one: bool = False) -> None:
        """Note what was said since."""
        seat, line = self.seat, self.seat.app.input_line()
        await seat.wait_for(lambda: len(seat.notices()) > said or not await_one)
        await seat.wait_for(lambda: not getattr(seat.app.flight.source, "busy", False))
        await seat.settle()
        assert line is not None
        words = seat.notices()[said:]
        words += [line._error.message] if line.is_open and line._error is not None else []
        shown = seat.app.flight
        after = shown.now_us, shown.clock.live_us, shown.clock.phase == ENDED
        self.noted += [(each, typed, before_us, *after) for each in words]
        if line.is_open:
            await seat.press("escape")


def said_of_a_recording(keys: Sequence[str] = RECORDED) -> list[Told]:
    noted: list[Noted] = []

    async def script(seat: Seat) -> None:
        listener = Listener(seat)
        listener.noted = noted
        for typed in keys:
            await listener.give(typed)

    sit(script, app=recorded_flight.app())
    events, end_us = recorded_flight.recorded_events(), recorded_flight.END_US
    return [Told(*one, events=events, recorded=True, end_us=end_us) for one in noted]


def said_of_a_live_flight(folder: Path) -> list[Told]:
    """A flight of ten minutes, of which some seconds are flown; what happened is told by a simulation of its own."""
    scenario, kept = folder / "live.toml", folder / "kept.flight"
    scenario.write_text(recorded_flight.TEXT.replace('"20s"', '"600s"', 1), encoding="utf-8")
    noted: list[Noted] = []

    async def script(seat: Seat) -> None:
        listener = Listener(seat)
        listener.noted = noted
        await seat.wait_for(lambda: seat.app.flight.now_us > SECOND_US)
        await seat.press("space")
        for typed in LIVE:
            await listener.give(typed)
        await seat.wait_for(lambda: seat.app.flight.source.clock.phase != BUILDING)  # of the flight that goes on
        await listener.listen_to(f":record {kept}", lambda: seat.app.flight.source.record(str(kept)))
        await listener.listen_to(f":{REFUSED}", lambda: execute(seat.app.flight, parse(REFUSED)))

    sit(script, app=FlightdeckApp(scenario))
    return [Told(*one, events=_truth(scenario, kept)) for one in noted]


def _truth(scenario: Path, kept: Path) -> list[Event]:
    """As many events of a simulation of its own as were recorded, and the refusals of an operator.

    A paused flight stands between two turns: more may be due at its instant.
    """
    recorded, spec = list(Recording(kept).events()), load(scenario).spec
    refusals = [one for one in recorded if isinstance(one, CommandRefused)]
    return [*flown(spec, spec.seed, recorded[-1].at_us)[: len(recorded) - len(refusals)], *refusals]


def test_nothing_false_is_said_in_passing_of_a_recording() -> None:
    told = said_of_a_recording()
    assert false_notices(told) == []
    assert {player.AT_THE_END, player.NOTHING_BEFORE} <= {one.words for one in told}
    assert len({one.words for one in told}) >= 9, [one.words for one in told]


@pytest.mark.slow
def test_nothing_false_is_said_in_passing_of_a_live_flight(tmp_path: Path) -> None:
    told = said_of_a_live_flight(tmp_path)
    assert false_notices(told) == []
    assert {live_travel.PAST_ENDS, live_travel.IS_LIVE} <= {one.words for one in told}
    assert len({one.words for one in told}) >= 6, [one.words for one in told]


def a_recording_ends_a_second_early(patch: Patch) -> None:
    """The end that is said is not that of the recording."""
    original = Player.seek
    patch.setattr(Player, "seek", lambda self, at_us: original(self, at_us).replace("20.000", "19.000"))


def no_landmark_is_found(patch: Patch) -> None:
    """There is no rebalance or fault, wherever the cursor is."""
    patch.setattr(Player, "landmark", lambda self, by: "there is no rebalance or fault before this")


def a_search_looks_for_another_kind(patch: Patch) -> None:
    """`step member_stopped` looks for what never comes."""
    patch.setattr(player, "EVENT_KINDS", dict.fromkeys(EVENT_KINDS, str))


def everything_is_true_already(patch: Patch) -> None:
    """The values are not those of the shown instant."""
    patch.setattr(Player, "run_until", lambda self, _: 'already true at this instant: groups.billing.state = "Dead"')


def an_end_is_seen_too_soon(patch: Patch) -> None:
    """A key that steps says the end everywhere."""
    patch.setattr(Player, "move", lambda self, by: player.AT_THE_END)


@pytest.mark.parametrize(
    "lie",
    [
        a_recording_ends_a_second_early,
        no_landmark_is_found,
        a_search_looks_for_another_kind,
        everything_is_true_already,
        an_end_is_seen_too_soon,
    ],
)
def test_a_false_notice_of_a_recording_is_found(lie: Callable[[Patch], None], monkeypatch: Patch) -> None:
    lie(monkeypatch)
    assert false_notices(said_of_a_recording())


def a_refusal_has_another_reason(patch: Patch) -> None:
    """A refused command is said to be refused for what the cluster did not say."""
    original = RefusedCommands.take_all
    patch.setattr(RefusedCommands, "take_all", lambda self: [f"{one} twice" for one in original(self)])


def a_live_instant_is_said_in_the_past(patch: Patch) -> None:
    """A refusal of the past says that it is none."""
    patch.setattr(live_travel, "VIEWING_PAST", live_travel.IS_LIVE)


def the_flight_is_over(patch: Patch) -> None:
    """A flight that goes on is said to have ended."""
    ended = "the flight has ended; the screens show its final state"
    patch.setattr(Bridge, "run_until", lambda self, _: ended)


@pytest.mark.slow
@pytest.mark.parametrize("lie", [a_refusal_has_another_reason, a_live_instant_is_said_in_the_past, the_flight_is_over])
def test_a_false_notice_of_a_live_flight_is_found(
    lie: Callable[[Patch], None], monkeypatch: Patch, tmp_path: Path
) -> None:
    lie(monkeypatch)
    assert false_notices(said_of_a_live_flight(tmp_path))


def test_an_unknown_notice_is_found() -> None:
    assert false_notices([Told("all is well", "space", 0, 0, live_us=None, ended=False, events=())])
