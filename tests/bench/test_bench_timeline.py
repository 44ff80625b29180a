"""How fast time passes: the Timeline beside the sketch it grew from, in the same run. `pytest tests/bench` runs it.

The two take turns at the same work, a small piece each, so that whatever else the machine does hits both; the best
piece of each counts. Only their ratio is asserted. Turns per second are reported (`extra_info`), never judged.
"""

import gc
import math
import time
from collections.abc import Callable

import pytest
import trio
from pytest_benchmark.fixture import BenchmarkFixture

from cluster.virtual_time import Timeline
from tests.bench import timeline_sketch

AT_LEAST = 0.75  # of the sketch's turns per second
Clock = Timeline | timeline_sketch.Timeline
Load = Callable[[Clock], float]


def ignore(_command: object) -> None:
    pass


def actors(count: int, turns: int) -> Load:
    """Make a load of `count` actors that sleep in turn; it returns turns per second."""

    def load(timeline: Clock) -> float:
        async def actor(number: int) -> None:
            while True:
                await timeline.sleep(1_000 + number)

        async def main() -> float:
            async with trio.open_nursery() as nursery:
                for number in range(count):
                    timeline.start(nursery, actor, number)
                await timeline.fly(0)
                seconds = await timed_flight(timeline, 1_000 * turns // count)
                timeline.close()
                nursery.cancel_scope.cancel()
            return (timeline.turn - count) / seconds

        return trio.run(main, clock=timeline)

    return load


def actions(count: int, turns: int) -> Load:
    """Make a load of `count` chains of plain actions, each scheduling its next."""

    def load(timeline: Clock) -> float:
        def act() -> None:
            timeline.call_at(timeline.now_us + count, act)

        async def main() -> float:
            for number in range(count):
                timeline.call_at(number, act)
            seconds = await timed_flight(timeline, turns)
            timeline.close()
            return timeline.turn / seconds

        return trio.run(main, clock=timeline)

    return load


def posts(count: int, turns: int) -> Load:
    """Make the load of `actions` by `post`, as the network does; the sketch has only `call_at`."""

    def load(timeline: Clock) -> float:
        if isinstance(timeline, timeline_sketch.Timeline):
            return actions(count, turns)(timeline)

        def act(argument: None) -> None:
            timeline.post(timeline.now_us + count, act, argument)

        async def main() -> float:
            for number in range(count):
                timeline.post(number, act, None)
            seconds = await timed_flight(timeline, turns)
            timeline.close()
            return timeline.turn / seconds

        return trio.run(main, clock=timeline)

    return load


async def timed_flight(timeline: Clock, until_us: int) -> float:
    gc.collect()
    started = time.perf_counter()
    await timeline.fly(until_us)
    return time.perf_counter() - started


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(actors(50, 20_000), id="50 actors"),
        pytest.param(actors(2_000, 20_000), id="2,000 actors"),
        pytest.param(actions(100, 100_000), id="plain actions"),
        pytest.param(posts(100, 100_000), id="posts"),
    ],
)
def test_turns_per_second(benchmark: BenchmarkFixture, load: Load) -> None:
    best = {"timeline": 0.0, "sketch": 0.0}

    def race() -> None:
        best["sketch"] = max(best["sketch"], load(timeline_sketch.Timeline(ignore)))
        best["timeline"] = max(best["timeline"], load(Timeline(ignore)))

    benchmark.pedantic(race, rounds=5, warmup_rounds=1)  # type: ignore[no-untyped-call]
    ratio = best["timeline"] / best["sketch"]
    benchmark.extra_info.update(
        {f"{name} turns/s": round(speed) for name, speed in best.items()}, ratio=round(ratio, 2)
    )
    assert math.isfinite(ratio)
    assert ratio >= AT_LEAST
