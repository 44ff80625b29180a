"""Pictures of every screen: hand-made flight, fixed theme, no animation. The slow run has the larger terminals.

`-m 'slow or not slow' --snapshot-update` takes them anew.
"""

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, Protocol

import pytest
from textual.pilot import Pilot

from cluster.events import Event
from console.app import FlightdeckApp
from console.operating.notices import Notices
from console.presenters.producers.limits import configs_of
from console.screens.overlays import FailureScreen
from console.themes.names import CONTRAST, LIGHT, MONO
from recordings.flights.beside import FlightsBeside, fork_beside
from recordings.flights.fork import ForkPoint
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.console.judge.bench import flown
from tests.support.console import synthetic_consumer_groups, synthetic_producers, synthetic_transactions
from tests.support.console.places import standing_still
from tests.support.console.stopped_clock import StillFlight
from tests.support.slow_cases import mostly_slow

SIZES = mostly_slow([(80, 24), (120, 40), (200, 60)], quick=[(80, 24)])


class Compare(Protocol):
    """The fixture of pytest-textual-snapshot."""

    def __call__(
        self,
        app: FlightdeckApp,
        press: list[str] = ...,
        terminal_size: tuple[int, int] = ...,
        run_before: Callable[[Pilot[Any]], Awaitable[None]] | None = ...,
    ) -> bool: ...


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr("console.app.Notices", lambda: Notices(lambda: 0.0))  # a notice stays


def looking(place: str | None, *keys: str, theme: str = "") -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Go somewhere, press keys, and wait until everything is painted."""

    async def run(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, FlightdeckApp)
        await pilot.pause()
        if theme:
            app.theme = theme
        if place is not None:
            app.go(place)
        await pilot.pause()
        await pilot.press(*keys)
        while app.flight.source.failure and not isinstance(app.screen, FailureScreen):
            await pilot.pause()
        await standing_still(app, pilot)

    return run


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("seconds", [2.9, 20.0, 90.0])
@pytest.mark.parametrize("place", ["overview", "billing"])
def test_screens(place: str, seconds: float, size: tuple[int, int], snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(seconds))
    assert snap_compare(app, terminal_size=size, run_before=looking(place))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("seconds", [10.0, 45.0])
@pytest.mark.parametrize("place", ["transactions", "overview"])
def test_transactions(place: str, seconds: float, size: tuple[int, int], snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(seconds, events=tuple(synthetic_transactions.events(seconds))))
    assert snap_compare(app, terminal_size=size, run_before=looking(place))


@lru_cache(maxsize=1)
def stuck_flight() -> tuple[Event, ...]:
    """A reader of committed data behind an open transaction."""
    return tuple(flown(load("stuck-last-stable-offset").spec, 7, 75_000_000))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("place", ["overview", "ledger"])
def test_a_transaction_that_is_stuck(place: str, size: tuple[int, int], snap_compare: Compare) -> None:
    source = StillFlight(75.0, events=stuck_flight())
    source.names, source.producer_configs = load("stuck-last-stable-offset").spec.names(), {}
    assert snap_compare(FlightdeckApp(source=source), terminal_size=size, run_before=looking(place))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("seconds", [2.9, 20.0, 90.0])
def test_partition(seconds: float, size: tuple[int, int], snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(seconds))
    assert snap_compare(app, terminal_size=size, run_before=looking("partition orders-1"))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("seconds", [2.9, 20.0, 90.0])
def test_member(seconds: float, size: tuple[int, int], snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(seconds))
    assert snap_compare(app, terminal_size=size, run_before=looking("member billing-3"))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
def test_member_of_a_consumer_group(size: tuple[int, int], snap_compare: Compare) -> None:
    source = StillFlight(18.0, events=tuple(synthetic_consumer_groups.events(18.0)))
    source.names = synthetic_consumer_groups.NAMES
    member = source.names.members()[0]
    assert snap_compare(FlightdeckApp(source=source), terminal_size=size, run_before=looking(f"member {member}"))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
def test_producer_that_waits(size: tuple[int, int], snap_compare: Compare) -> None:
    source = StillFlight(24.0, events=tuple(synthetic_producers.events(24.0)))
    source.producer_configs = synthetic_producers.CONFIGS
    assert snap_compare(FlightdeckApp(source=source), terminal_size=size, run_before=looking("producer checkout-1"))


@lru_cache(maxsize=1)
def zombies() -> tuple[Event, ...]:
    """Two producers of one transactional id, the former one fenced."""
    return tuple(flown(load("zombie-producer").spec, 7, 42_000_000))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
def test_producer_that_is_fenced(size: tuple[int, int], snap_compare: Compare) -> None:
    source, spec = StillFlight(42.0, events=zombies()), load("zombie-producer").spec
    source.names, source.producer_configs = spec.names(), configs_of(spec)
    assert snap_compare(FlightdeckApp(source=source), terminal_size=size, run_before=looking("producer old-1"))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("place", ["topic orders", "brokers", "broker broker-1"])
def test_topology(place: str, size: tuple[int, int], snap_compare: Compare) -> None:
    spec = load("asymmetric-partition").spec
    source = StillFlight(40.0, events=cut_flight())
    source.names, source.spec, source.broker_session_us = spec.names(), spec, spec.broker_session_us
    keys = ["2", "l"] if place == "brokers" else []
    assert snap_compare(FlightdeckApp(source=source), terminal_size=size, run_before=looking(place, *keys))


@lru_cache(maxsize=1)
def cut_flight() -> tuple[Event, ...]:
    """A broker that cannot reach the controller."""
    return tuple(flown(load("asymmetric-partition").spec, 7, 40_000_000))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
def test_partition_with_a_transaction_that_is_stuck(size: tuple[int, int], snap_compare: Compare) -> None:
    source = StillFlight(75.0, events=stuck_flight())
    source.names, source.producer_configs = load("stuck-last-stable-offset").spec.names(), {}
    app = FlightdeckApp(source=source)
    assert snap_compare(app, terminal_size=size, run_before=looking("partition payments-0"))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("place", ["conversation", "conversation billing-1 billing-3"])
def test_conversation(place: str, size: tuple[int, int], snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(20.0))
    assert snap_compare(app, terminal_size=size, run_before=looking(place))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
def test_conversation_of_a_transactional_id(size: tuple[int, int], snap_compare: Compare) -> None:
    source = StillFlight(75.0, events=stuck_flight())
    source.names, source.producer_configs = load("stuck-last-stable-offset").spec.names(), {}
    place = f"conversation {next(iter(source.names.producers.values()))[0]}"
    assert snap_compare(FlightdeckApp(source=source), terminal_size=size, run_before=looking(place))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_producers_that_wait(size: tuple[int, int], snap_compare: Compare) -> None:
    source = StillFlight(24.0, events=tuple(synthetic_producers.events(24.0)))
    source.producer_configs = synthetic_producers.CONFIGS
    assert snap_compare(FlightdeckApp(source=source), terminal_size=size, run_before=looking("overview"))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("place", "seconds", "keys"),
    [("overview", 18.0, []), ("fulfilment", 18.0, []), ("fulfilment", 31.0, []), ("fulfilment", 31.0, ["4", "enter"])],
    ids=["overview", "reconciling", "stable", "case-file"],
)
def test_consumer_groups(
    place: str, seconds: float, keys: list[str], size: tuple[int, int], snap_compare: Compare
) -> None:
    source = StillFlight(seconds, events=tuple(synthetic_consumer_groups.events(seconds)))
    source.names = synthetic_consumer_groups.NAMES
    app = FlightdeckApp(source=source)
    assert snap_compare(app, terminal_size=size, run_before=looking(place, *keys))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("flight", ["classic", "consumer"])
def test_raster(flight: str, size: tuple[int, int], snap_compare: Compare) -> None:
    source = StillFlight(90.0)
    if flight == "consumer":
        source = StillFlight(31.0, events=tuple(synthetic_consumer_groups.events(31.0)))
        source.names = synthetic_consumer_groups.NAMES
    group = "billing" if flight == "classic" else "fulfilment"
    app = FlightdeckApp(source=source)
    assert snap_compare(app, terminal_size=size, run_before=looking(group, "O"))


@pytest.mark.parametrize("theme", [LIGHT, CONTRAST, MONO])
@pytest.mark.parametrize("place", ["overview", "billing", "raster"])
def test_themes(place: str, theme: str, snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(90.0))
    assert snap_compare(app, terminal_size=(120, 40), run_before=looking(place, theme=theme))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("place", "keys"),
    [
        ("billing-2", ["f"]),
        ("overview", ["question_mark"]),
        ("billing", ["colon", *"kill", "space", *"bil"]),
        ("billing", ["colon", *"stal", "enter"]),
        ("billing", ["4", "enter"]),
        ("billing", ["slash", "minus", "3"]),
    ],
    ids=["fault-menu", "help", "completion", "complaint", "case-file", "filter"],
)
def test_over_screens(place: str, keys: list[str], size: tuple[int, int], snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(90.0))
    assert snap_compare(app, terminal_size=size, run_before=looking(place, *keys))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("place", "seconds"), [("billing", 20.0), ("billing-3", 20.0), ("billing", 90.0)], ids=["waits", "stalled", "calm"]
)
def test_why(place: str, seconds: float, size: tuple[int, int], snap_compare: Compare) -> None:
    keys = ["1", "w"] if place == "billing" else ["w"]
    assert snap_compare(
        FlightdeckApp(source=StillFlight(seconds)), terminal_size=size, run_before=looking(place, *keys)
    )


def test_too_small(snap_compare: Compare) -> None:
    assert snap_compare(FlightdeckApp(source=StillFlight(20.0)), terminal_size=(50, 12), run_before=looking("overview"))


def test_before_anything_is_built(snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(-1.0, phase="building"))
    assert snap_compare(app, terminal_size=(80, 24), run_before=looking("overview"))


def test_the_end(snap_compare: Compare) -> None:
    app = FlightdeckApp(source=StillFlight(118.0, phase="ended"))
    assert snap_compare(app, terminal_size=(120, 40), run_before=looking("overview"))


def test_a_failure(snap_compare: Compare) -> None:
    failure = "the simulation failed at 00:01:30.000000, turn 71234: KeyError: 'orders-7' (broker/broker.py, line 12)"
    app = FlightdeckApp(source=StillFlight(90.0, phase="failed", failure=failure))
    assert snap_compare(app, terminal_size=(120, 40), run_before=looking(None))


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], FlightsBeside]:
    """A fork of a library's flight: a member that is killed in a rebalancing group, a coordinator that stops."""

    @lru_cache(maxsize=2)
    def make(name: str) -> FlightsBeside:
        at_s, until_s, command = {
            "eager-vs-cooperative": (12, 30, "kill eager-1"),
            "coordinator-failover": (20, 40, "stop broker-2"),
        }[name]
        room = tmp_path_factory.mktemp(name)
        fly(make_plan(load(name), until_us=until_s * 1_000_000), record=room / "a.flight")
        point = ForkPoint(at_us=at_s * 1_000_000, commands=(command,))
        return fork_beside(room / "a.flight", point, None, room / "b.flight", bool)

    return make


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", ["", "eager-vs-cooperative", "coordinator-failover"])
def test_comparison(
    name: str, size: tuple[int, int], forked: Callable[[str], FlightsBeside], snap_compare: Compare
) -> None:
    app = FlightdeckApp(source=StillFlight(20.0))
    app.forking.beside = forked(name) if name else None
    assert snap_compare(app, terminal_size=size, run_before=looking("comparison", *(["d"] if name else [])))
