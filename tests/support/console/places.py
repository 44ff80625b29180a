"""Every place of the console and every state that it is looked at in: the tables of pictures, random keys and budgets.

A new screen of the catalogue that has a word after `go` is in `PLACES` by itself; a place of an object needs its line,
and `test_every_screen_is_reached` says so.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from textual.pilot import Pilot

from cluster.events import Event
from cluster.spec import ScenarioSpec
from console.app import FlightdeckApp
from console.presenters.producers.limits import configs_of
from console.screens.catalogue import SCREENS
from recordings.scenarios.loader import load, parse_scenario
from tests.console.judge.bench import SECOND_US, flown
from tests.support.console.pilot import Seat
from tests.support.console.stopped_clock import StillFlight


class Place(NamedTuple):
    """Somewhere to look: its name, the text after `go` with an object's kind in braces, and keys pressed there."""

    name: str
    go: str
    keys: tuple[str, ...] = ()


OBJECTS = (
    Place("group", "{group}"),
    Place("member in its group", "{member}"),
    Place("member", "member {member}"),
    Place("producer", "producer {producer}"),
    Place("topic", "topic {topic}"),
    Place("broker", "broker {broker}"),
    Place("partition of the group", "partition {partition}"),
    Place("records of the partition", "records {partition}"),
    Place("conversation of a member", "conversation {member}"),
    Place("rebalance details", "{group}", ("4", "down", "enter")),  # of one that is over, if there is one
    Place("why the group", "{group}", ("1", "w")),
    Place("why the member", "{member}", ("w",)),
    Place("fault menu", "{member}", ("f",)),
    Place("help", "overview", ("question_mark",)),
)
PLACES = (*(Place(screen.place, screen.place) for screen in SCREENS if screen.place), *OBJECTS)

LARGE = """
title = "2,000 partitions"
until = "40s"
[[topic]]
name = "orders"
partitions = 2000
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "50/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 20
[[at]]
time = "15s"
do = "kill billing-7"
"""


class State(NamedTuple):
    """A flight at an instant, and the objects that its places are about, by kind."""

    scenario: str
    seconds: float
    objects: dict[str, str]


BILLING = {"group": "billing", "member": "billing-3", "topic": "orders", "partition": "orders-1", "broker": "broker-2",
           "producer": "checkout-1"}  # fmt: skip
STATES = {
    "empty": State("first-flight", -1.0, BILLING),
    "normal": State("first-flight", 45.0, {**BILLING, "producer": "settlement-1"}),
    "rebalancing": State("first-flight", 20.0, {**BILLING, "producer": "checkout-1"}),
    "coordinator dead": State(
        "coordinator-failover", 113.0, {**BILLING, "broker": "broker-3", "producer": "checkout-1"}
    ),
    "transaction stuck": State(
        "stuck-last-stable-offset",
        75.0,
        {"group": "ledger", "member": "ledger-1", "topic": "payments", "partition": "payments-0", "broker": "broker-1",
         "producer": "gateway-1"},
    ),
    "2,000 partitions": State(LARGE, 18.0, {**BILLING, "member": "billing-7", "producer": "checkout-1"}),
}  # fmt: skip


@lru_cache(maxsize=1)  # a state is looked at in all its places and sizes, and then no more
def _flown(state_name: str) -> tuple[ScenarioSpec, tuple[Event, ...]]:
    state = STATES[state_name]
    inline = "\n" in state.scenario
    spec = (parse_scenario(state.scenario, "large.toml") if inline else load(state.scenario)).spec
    until_us = round(state.seconds * SECOND_US)
    return spec, tuple(flown(spec, spec.seed, until_us)) if until_us > 0 else ()


def source_in(state_name: str) -> StillFlight:
    """A flight that stands still in a state."""
    spec, events = _flown(state_name)
    phase = "live" if events else "building"
    source = StillFlight(STATES[state_name].seconds, events=events, phase=phase)
    source.title = f"{state_name} · seed {spec.seed}"
    source.clock = source.clock._replace(until_us=spec.until_us)
    source.names, source.producer_configs = spec.names(), configs_of(spec)
    source.spec, source.broker_session_us = spec, spec.broker_session_us
    if not events:
        source._waiting = []
    return source


async def look(seat: Seat, objects: Mapping[str, str], place: Place) -> None:
    """Go to a place from the overview, and wait until everything is painted."""
    seat.app.go(SCREENS[0].place)
    await seat.pilot.pause()
    seat.app.go(place.go.format(**objects))
    await seat.settle()
    if place.keys:
        await seat.press(*place.keys)


async def standing_still(app: FlightdeckApp, pilot: Pilot[Any]) -> str:
    """The SVG that three paints in a row give: a busy machine lays a new screen out some turns later."""
    pictures: list[str] = []
    while len(pictures) < 3 or len(set(pictures[-3:])) > 1:
        app.paint()
        await pilot.pause()
        pictures.append(app.export_screenshot())
    return pictures[-1]


def picture(app: FlightdeckApp) -> str:
    """The characters of the terminal, without the spaces at the ends of lines."""
    strips = app.screen._compositor.render_strips(app.screen.size)
    return "\n".join(strip.text.rstrip() for strip in strips)
