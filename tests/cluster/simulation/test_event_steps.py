"""Steps right after an event: what the killed process had still to do in its turn, it never does."""

from collections.abc import Sequence

import msgspec
import pytest

from cluster.commands import Kill, text_of
from cluster.events import CommandRefused, Event
from cluster.simulation import Simulation
from cluster.simulation.event_steps import EventSteps
from cluster.spec import ScenarioSpec, StepSpec
from recordings.flights.interruptible_run import run_flight
from tests.support.crash_points import pipeline

SECOND_US = 1_000_000
BY_NAME = ("member", "producer")
VICTIM = "billing-1"


def seen_of(spec: ScenarioSpec, seed: int) -> list[Event]:
    """The events of the first eight seconds and a half."""
    seen: list[Event] = []
    simulation = Simulation(spec, seed, sinks=[seen.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(8_500_000)

    run_flight(main, simulation.timeline)
    return seen


def said_after_death(events: Sequence[Event], seq: int, victim: str) -> list[str]:
    """What the victim's own code emits after event `seq`; its end, and what brokers do for it, are told by others."""
    own = {"RecordsProcessed", "PollReturned", "PollStarted", "BatchOpened", "ProduceSent"}
    return [
        f"{event.seq} {type(event).__name__}"
        for event in events
        if event.seq > seq
        and type(event).__name__ in own
        and victim in (getattr(event, name, None) for name in BY_NAME)
    ]


def own_events() -> list[Event]:
    """Events of the victim within one poll loop, of every kind that it emits."""
    plan = pipeline(per_record="0ms")
    found = [event for event in seen_of(plan.spec, 1) if 8 * SECOND_US <= event.at_us < 8_300_000]
    return [event for event in found if VICTIM in (getattr(event, name, None) for name in BY_NAME)][:14]


def wrong_after_deaths() -> list[str]:
    plan = pipeline(per_record="0ms")
    wrong = []
    for event in own_events():
        kill = Kill(VICTIM)
        step = StepSpec(event.at_us, kill, text_of(kill), event.seq)
        spec = msgspec.structs.replace(plan.spec, steps=(step,))
        wrong += said_after_death(seen_of(spec, 1), event.seq, VICTIM)
    return wrong


def test_a_process_that_is_killed_after_an_event_emits_nothing_more() -> None:
    assert len({type(event).__name__ for event in own_events()}) >= 4
    assert wrong_after_deaths() == []


def test_a_process_that_ends_its_turn_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventSteps, "_emit_own", lambda _, __, emit, event: emit(event))
    assert wrong_after_deaths()


def test_a_step_whose_event_comes_at_another_instant_or_not_at_all_is_refused_once() -> None:
    plan, kill = pipeline(per_record="0ms"), Kill(VICTIM)
    event = own_events()[0]
    late = StepSpec(event.at_us + 1_000, kill, text_of(kill), event.seq)
    never = StepSpec(event.at_us + 100_000, kill, text_of(kill), 10**9)
    spec = msgspec.structs.replace(plan.spec, steps=(late, never))
    refused = [each for each in seen_of(spec, 1) if isinstance(each, CommandRefused)]
    assert [each.text for each in refused] == [text_of(kill)] * 2
    assert [each.reason for each in refused] == [
        f"event {event.seq} is at {event.at_us / 1e6:.6f} s, not at {late.at_us / 1e6:.6f} s",
        f"event {10**9} has not come by {never.at_us / 1e6:.6f} s",
    ]
