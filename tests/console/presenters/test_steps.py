"""The line of a step: every event of flights is said as the event log has it, and false lines are found."""

import json
from collections.abc import Callable

import msgspec
import pytest

from cluster import events as e
from cluster.events import Event
from console.flight import Stepped
from console.presenters.styled_text import cut, plain
from console.presenters.travel import steps
from console.presenters.travel.steps import step_line
from tests.console.judge.bench import SECOND_US, flown, named
from tests.console.judge.steps_judge import step_faults
from tests.support.console.recorded_flight import recorded_events


def faults(events: tuple[Event, ...], width: int = 400) -> list[str]:
    """What is false in the line of each event, in so many cells, by the event's line in a journal."""
    found = []
    for event in events:
        raw = json.loads(msgspec.json.encode(event))
        found += step_faults(plain(cut(step_line(Stepped(1, event)), width)), {event.seq: raw}, event.seq, 1)
    return found


def test_a_step_says_what_a_reader_of_the_log_would() -> None:
    answered = e.HeartbeatAnswered(
        seq=31_204,
        at_us=14_005_000,
        group="billing",
        member="billing-2",
        member_id="x",
        error="NONE",
        session_deadline_us=0,
    )
    assert plain(step_line(Stepped(1, answered))) == (" ▸ event 31,204: HeartbeatAnswered billing-2 NONE")
    assert plain(step_line(Stepped(3, answered))).startswith(" ▸ 3 events, the last: event 31,204: HeartbeatAnswered")
    assert plain(step_line(Stepped(0, None))) == " ▸ no event in this step"


@pytest.mark.parametrize("name", ["recorded", "first-flight", "kip-848"])
def test_each_event_is_said_as_the_log_has_it(name: str) -> None:
    if name == "recorded":
        events = recorded_events()
    else:
        spec = named({"kip-848": "eager-cooperative-consumer"}.get(name, name))
        events = tuple(flown(spec, spec.seed, 25 * SECOND_US))
    assert faults(events) == []


@pytest.mark.parametrize("width", [80, 97, 120])
def test_a_line_that_is_cut_says_nothing_else(width: int) -> None:
    assert faults(recorded_events(), width) == []


FALSE: tuple[tuple[str, Callable[[tuple[str, str]], tuple[str, str]]], ...] = (
    ("another kind", lambda said: ("PollReturned", said[1])),
    ("another member", lambda said: (said[0], said[1].replace("billing-1", "billing-2"))),
    ("another error", lambda said: (said[0], said[1].replace("NONE", "REBALANCE_IN_PROGRESS"))),
    ("no error", lambda said: (said[0], said[1].replace(" NONE", ""))),
)


@pytest.mark.parametrize("false", [words for _, words in FALSE], ids=[name for name, _ in FALSE])
def test_a_false_line_is_found(
    false: Callable[[tuple[str, str]], tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    true_words = steps.event_words
    monkeypatch.setattr(steps, "event_words", lambda event: false(true_words(event)))
    assert faults(recorded_events())
    assert faults(recorded_events(), 80)


def test_the_number_of_another_event_is_found() -> None:
    events = recorded_events()
    raw = {event.seq: json.loads(msgspec.json.encode(event)) for event in events[:10]}
    assert step_faults(plain(step_line(Stepped(1, events[4]))), raw, 4)
