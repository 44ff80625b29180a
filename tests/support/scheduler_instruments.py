"""Instruments for flights under test: what trio sees of the simulation and the product does not look at itself."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest
import trio
from trio.lowlevel import Task

from cluster.virtual_time import Timeline

Result = TypeVar("Result")


class OneActorAtATime(trio.abc.Instrument):
    """Notes each time a second actor could run before all had to wait again: trio might have run either first.

    An actor is any task below main. Not counted: the first step of an actor that the Timeline
    started (it only parks), the parent whose last child has just ended, an actor that yields to itself (trio's
    checkpoint at the end of a nursery without children: it alone can run), and what happens once the flight is over.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.violations: list[str] = []
        self._timeline = timeline
        self._runnable: list[Task] = []
        self._running: Task | None = None
        self._new: set[Task] = set()

    def task_spawned(self, task: Task) -> None:
        if getattr(task.coro, "cr_code", None) is Timeline._run.__code__:
            self._new.add(task)

    def task_scheduled(self, task: Task) -> None:
        if task in self._new or not _is_actor(task) or self._timeline.closed:
            return
        running = self._running
        if running is not None and running is not task and not _is_child(running, task):
            self.violations.append(f"{task.name} can run while {running.name} runs, at {self._timeline.now_us} us")
        if self._runnable:
            names = " and ".join(other.name for other in [*self._runnable, task])
            self.violations.append(f"{names} can run at once, at {self._timeline.now_us} us")
        self._runnable.append(task)

    def before_task_step(self, task: Task) -> None:
        if task in self._runnable:
            self._runnable.remove(task)
        self._running = task if _is_actor(task) and task not in self._new else None
        self._new.discard(task)

    def after_task_step(self, task: Task) -> None:
        self._running = None

    def check(self) -> None:
        """Fail if anything was noted."""
        assert not self.violations, "\n".join(self.violations)


def _is_child(task: Task, parent: Task) -> bool:
    return task.parent_nursery is not None and task.parent_nursery.parent_task is parent


def _is_actor(task: Task) -> bool:
    """Whether the task is below main: trio's own tasks and main are children of its root, which has no parent."""
    parent = task.parent_nursery
    return parent is not None and parent.parent_task.parent_nursery is not None


def run_flight(timeline: Timeline, main: Callable[[], Awaitable[Result]]) -> Result:
    """Run `main` on the Timeline and see that no two actors could ever run at once."""
    instrument = OneActorAtATime(timeline)
    result = trio.run(main, clock=timeline, instruments=[instrument])
    instrument.check()
    return result


@pytest.fixture
def one_actor_at_a_time() -> Iterator[Callable[[Timeline], OneActorAtATime]]:
    """Makes instruments for `trio.run(…, instruments=[…])` and checks them when the test is over."""
    made: list[OneActorAtATime] = []

    def make(timeline: Timeline) -> OneActorAtATime:
        made.append(OneActorAtATime(timeline))
        return made[-1]

    yield make
    for instrument in made:
        instrument.check()
