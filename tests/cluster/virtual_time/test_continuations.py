"""Continuations: an actor's hot loop without its task takes the same turns, in the same order, as with it."""

import math
from collections.abc import Awaitable, Callable, Iterator
from random import Random

import pytest
import trio

from cluster.virtual_time import Continuation, Timeline, Waiter
from tests.support.scheduler_instruments import run_flight

Log = list[tuple[int, int, str]]
UNTIL_US = 600


class Worker:
    """An actor that waits for wakes, works for a while on each, wakes its neighbours, and seldom waits in its task."""

    def __init__(self, timeline: Timeline, name: str, log: Log) -> None:
        self.timeline, self.name, self._log = timeline, name, log
        self.waiter: Waiter | None = None
        self.neighbours: list[Worker] = []
        self.scope = trio.CancelScope()
        self.rounds = 0

    def log(self, text: str) -> None:
        self._log.append((self.timeline.now_us, self.timeline.turn, f"{self.name} {text}"))

    def wake(self) -> None:
        if self.waiter is not None:
            self.waiter.wake()

    def finish(self) -> bool:
        """What follows on the work; returns whether the task must wait for something else."""
        self.rounds += 1
        self.log(f"has worked {self.rounds}")
        for worker in self.neighbours:
            worker.wake()
        return self.rounds % 3 == 0

    async def rest(self) -> None:
        await self.timeline.sleep(7)
        self.log("has rested")

    async def run(self) -> None:
        with self.scope:
            await self.loop()
        self.log("ended")

    async def loop(self) -> None:
        raise NotImplementedError


class TaskWorker(Worker):
    """The loop as a task."""

    async def loop(self) -> None:
        while True:
            self.waiter = self.timeline.waiter()
            await self.timeline.park(self.waiter)
            self.waiter = None
            self.log("woken")
            await self.timeline.sleep(5)
            if self.finish():
                await self.rest()


class ContinuedWorker(Worker):
    """The same loop, whose task runs only to rest."""

    async def loop(self) -> None:
        self.continuation = self.timeline.continuation(self.go_on)
        self.steps = self.polls()
        while True:
            wait = self.go_on()
            if wait is None:
                wait = await self.timeline.park(self.continuation)
            await wait()

    def go_on(self) -> Callable[[], Awaitable[None]] | None:
        return next(self.steps)

    def polls(self) -> Iterator[Callable[[], Awaitable[None]] | None]:
        while True:
            self.continuation.wait()
            self.waiter = self.continuation
            yield None
            self.waiter = None
            self.log("woken")
            self.timeline.wait_until(self.continuation, self.timeline.now_us + 5)
            yield None
            if self.finish():
                yield self.rest


def wake_all(workers: list[Worker]) -> None:
    for worker in workers:
        worker.wake()


def flown(kind: Callable[[Timeline, str, Log], Worker], seed: int) -> tuple[Log, int]:
    """The log, and the number of turns, of six workers with random wakes, kills and a command that wakes two."""
    random, log = Random(seed), Log()
    timeline = Timeline(lambda _: wake_all(workers[2:4]))
    workers = [kind(timeline, f"w{number}", log) for number in range(6)]
    for worker in workers:
        worker.neighbours = random.sample(workers, random.randrange(3))
    timeline.replay_by_time = [(at_us, "wake two") for at_us in sorted(random.sample(range(UNTIL_US), 5))]

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for worker in workers:
                timeline.start(nursery, worker.run)
            for _ in range(60):
                some = random.sample(workers, random.randrange(1, 4))
                timeline.call_at(random.randrange(UNTIL_US), wake_all, some)
            for worker in random.sample(workers, 2):
                timeline.call_at(random.randrange(UNTIL_US), worker.scope.cancel)
            await timeline.fly(UNTIL_US)
            log.append((timeline.now_us, timeline.turn, "flown"))
            timeline.close()
            nursery.cancel_scope.cancel()

    run_flight(timeline, main)
    return log, timeline.turn


@pytest.mark.parametrize("seed", range(20))
def test_a_continuation_takes_the_turns_that_its_task_would_take(seed: int) -> None:
    log, turns = flown(TaskWorker, seed)
    assert len(log) > 100
    assert flown(ContinuedWorker, seed) == (log, turns)


def test_trio_runs_no_task_for_the_wakes_of_a_continuation() -> None:
    timeline = Timeline(lambda _: None)
    woken: list[int] = []

    async def actor() -> None:
        def go_on() -> None:
            woken.append(timeline.now_us)
            timeline.wait_until(continuation, timeline.now_us + 1)

        continuation: Continuation = timeline.continuation(go_on)
        go_on()
        await timeline.park(continuation)

    class Steps(trio.abc.Instrument):
        taken = 0

        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            self.taken += 1

    steps = Steps()

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(100)
            timeline.close()
            nursery.cancel_scope.cancel()

    trio.run(main, clock=timeline, instruments=[steps])
    assert woken == list(range(101))
    assert steps.taken < 20


def test_no_wake_ends_the_wait_for_an_instant() -> None:
    timeline = Timeline(lambda _: None)
    seen: list[tuple[int, bool]] = []

    async def actor() -> None:
        def go_on() -> None:
            seen.append((timeline.now_us, True))
            continuation.wait()

        continuation: Continuation = timeline.continuation(go_on)
        timeline.wait_until(continuation, 50)
        for at_us in (10, 60):
            timeline.call_at(at_us, lambda: seen.append((timeline.now_us, continuation.wake())))
        await timeline.park(continuation)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            await timeline.fly(100)
            timeline.close()
            nursery.cancel_scope.cancel()

    trio.run(main, clock=timeline)
    assert seen == [(10, False), (50, True), (60, True), (60, True)]


def test_an_error_of_a_continuation_ends_the_flight() -> None:
    timeline = Timeline(lambda _: None)

    async def actor() -> None:
        def go_on() -> None:
            raise ValueError("in the hot loop")

        continuation: Continuation = timeline.continuation(go_on)
        timeline.wait_until(continuation, 10)
        await timeline.park(continuation)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            timeline.start(nursery, actor)
            with pytest.raises(ValueError, match="in the hot loop"):
                await timeline.fly(math.inf)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=timeline)
    assert (timeline.now_us, timeline.turn, timeline.closed) == (10, 2, True)
