"""`flightdeck prove`: the crash at every event of a window, and the bounds of what is lost and duplicated.

A first flight finds the window and its events. A second one flies through the window: before each instant that has
events, and right after each event, it forks a flight for each possible victim (`crash_flight`). Where a process cannot
fork, each of these flights begins at 0 s. What is proved is proved for this scenario and this seed.
"""

from collections.abc import Callable

import msgspec

from cluster.events import Event, kind_of
from cluster.simulation import Simulation
from recordings.flights.interruptible_run import first_of, run_flight
from recordings.flights.runner import Plan
from recordings.proving.crash_flight import crash_step, fly_from_the_beginning, land
from recordings.proving.crash_points import VICTIMS, CrashOutcome, CrashPoint, has_one_output_each, related, sources
from recordings.proving.forks import CAN_FORK, Forks

SECOND_US = 1_000_000
WINDOW_US = 10 * SECOND_US
DOWN_US = 3 * SECOND_US


class WindowError(ValueError):
    """The window has nothing to prove; the text says why."""


class Question(msgspec.Struct, frozen=True):
    """Whose crash is flown for which group; the window is by default from the group's first Stable to 10 s later."""

    group: str
    kill: str = "consumer"
    from_us: int | None = None
    until_us: int | None = None
    down_us: int = DOWN_US


class Flown(msgspec.Struct, frozen=True):
    """A crash point and what it brought."""

    point: CrashPoint
    outcome: CrashOutcome


class Proof(msgspec.Struct, kw_only=True):
    """Every crash point of the window with its outcome, in their order; `uncrashed`: the same load without a crash.

    `events`: how many the window has, at `instants` different instants; `without_victim`: those of them after which no
    victim was alive. `groups`: the group, and those that it writes for or reads from. `sources`: the groups whose
    applications write what each of them reads. Where those write one record for each input, as the scenario says
    (`one_output_each`) or the flight without a crash shows, a record that they finished and that the reader never gets
    is lost, too: its output was never committed.
    """

    question: Question
    seed: int
    from_us: int
    until_us: int
    events: int
    instants: int
    without_victim: int
    groups: list[str]
    sources: dict[str, list[str]]
    one_output_each: list[str]
    uncrashed: CrashOutcome
    flown: list[Flown]
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether the bounds are proved: every crash point was flown to its end."""
        return bool(self.flown) and not (self.interrupted or self.failures or self.stuck)

    @property
    def failures(self) -> list[Flown]:
        """The flights that a bug of Flightdeck broke off."""
        return [each for each in self.flown if each.outcome.failure]

    @property
    def stuck(self) -> list[Flown]:
        """The flights in which a group had not read everything five minutes after the load."""
        return [each for each in self.flown if not each.outcome.failure and not each.outcome.caught_up]

    def most(self, what: str, group: str | None = None) -> int:
        """The most records `lost` or `duplicated` of any crash point."""
        return max((self._count(each.outcome, what, group or self.question.group) for each in self.flown), default=0)

    def worst(self, what: str) -> Flown | None:
        """The first crash point with the most `lost` or `duplicated`; None if none has any."""
        most, group = self.most(what), self.question.group
        return next((each for each in self.flown if most and self._count(each.outcome, what, group) == most), None)

    def _count(self, outcome: CrashOutcome, what: str, group: str) -> int:
        count = outcome.counts.get(group)
        if count is None:
            return 0
        if what == "duplicated":
            return count.duplicated
        one_for_each = group in self.one_output_each or self._missing(self.uncrashed, group) == 0
        return count.lost + (max(self._missing(outcome, group), 0) if one_for_each else 0)

    def _missing(self, outcome: CrashOutcome, group: str) -> int:
        """How many more records the group's sources have finished than the group."""
        sources = self.sources.get(group, [])
        known = [outcome.counts[name].finished for name in sources if name in outcome.counts]
        mine = outcome.counts.get(group)
        return sum(known) - mine.finished - mine.skipped if known and mine is not None else -1


Progress = Callable[[int, int, int, int], object]
"""(crash points flown, the window's beginning, µs reached, the window's end)."""


def prove(
    plan: Plan, question: Question, jobs: int, progress: Progress | None = None, *, forks: bool = CAN_FORK
) -> Proof:
    """Fly every crash point, `jobs` at a time; without `forks` one after the other, each from 0 s on.

    Raises WindowError. Ctrl-C ends it with the crash points that have been flown.
    """
    from_us, until_us, instants, events = _window(plan, question)
    window = _WindowFlight(plan, question, from_us, instants, Forks(jobs) if forks else None, progress)
    interrupted = False
    try:
        window.fly()
    except KeyboardInterrupt:
        interrupted = True
    outcomes = window.outcomes
    return Proof(
        question=question,
        seed=plan.settings.seed,
        from_us=from_us,
        until_us=until_us,
        events=events,
        instants=len(instants),
        without_victim=window.without_victim,
        groups=window.groups,
        sources=window.sources,
        one_output_each=[
            name for name in window.groups if has_one_output_each(plan.spec, window.sources.get(name, []), name)
        ],
        uncrashed=outcomes.get(0, CrashOutcome()),
        flown=[Flown(point, outcomes[number]) for number, point in enumerate(window.points) if number in outcomes][1:],
        interrupted=interrupted,
    )


def _window(plan: Plan, question: Question) -> tuple[int, int, dict[int, str], int]:
    """The window, its instants with the kind of their first event, and the number of its events."""
    simulation, spec = Simulation(plan.spec, plan.settings.seed), plan.spec
    found: list[Event] = []
    from_us, end_us = question.from_us, spec.until_us if plan.settings.until_us is None else plan.settings.until_us
    if from_us is not None and from_us > end_us:
        raise WindowError("--from: the flight ends before")

    def see(event: Event) -> None:
        nonlocal from_us
        group = simulation.view.groups.get(question.group)
        if from_us is None and group is not None and group.state == "Stable":
            from_us = event.at_us
        if from_us is not None and from_us <= event.at_us and simulation.timeline.turn:
            found.append(event)

    def until_us() -> int:
        known = question.until_us
        return end_us if from_us is None else min(end_us, from_us + WINDOW_US if known is None else known)

    async def main() -> None:
        async with simulation.running():
            while (now_us := simulation.timeline.now_us) < until_us():
                await simulation.timeline.fly(min(now_us + SECOND_US, end_us))

    simulation.sinks.append(see)
    run_flight(main, simulation.timeline)
    if from_us is None:
        raise WindowError(f"{question.group} is never Stable in this flight: give the window with --from")
    within = [event for event in found if event.at_us <= until_us()]
    if not within:
        raise WindowError("no event is in this window")
    instants: dict[int, str] = {}
    for event in within:
        instants.setdefault(event.at_us, kind_of(event))
    return from_us, until_us(), instants, len(within)


class _WindowFlight:
    """The flight through the window that forks the others, or, without forks, notes where they crash.

    The outcome with number 0 is the one without a crash.
    """

    def __init__(
        self,
        plan: Plan,
        question: Question,
        from_us: int,
        instants: dict[int, str],
        forks: Forks | None,
        progress: Progress | None,
    ) -> None:
        self._plan, self._question, self._forks, self._progress = plan, question, forks, progress
        self._from_us, self._until_us, self._instants = from_us, max(instants), instants
        self._simulation = Simulation(plan.spec, plan.settings.seed)
        self._simulation.event_steps.watch()
        self._simulation.sinks.append(self._see)
        self._mine: CrashPoint | None = None  # in a fork: the crash point that it flies
        self.points: list[CrashPoint] = []
        self.groups: list[str] = []
        self.sources: dict[str, list[str]] = {}
        self.without_victim = 0
        self.outcomes: dict[int, CrashOutcome] = {} if forks is None else forks.outcomes

    def fly(self) -> None:
        """Fly every crash point."""
        forks = self._forks
        run_flight(self._main, self._simulation.timeline)
        if forks is None:
            spec, seed, down_us = self._plan.spec, self._plan.settings.seed, self._question.down_us
            for number, point in enumerate(self.points):
                self.outcomes[number] = fly_from_the_beginning(spec, seed, point, down_us, self.groups)
                self._report(point)

    async def _main(self) -> None:
        simulation, forks = self._simulation, self._forks
        async with simulation.running():
            try:
                await self._fly_through_the_window()
                if self._mine is not None and forks is not None:
                    forks.answer(await land(simulation, self._mine, self._question.down_us, self.groups))
                if forks is not None:
                    forks.wait()
            except BaseException as error:
                if forks is not None and forks.in_child:
                    cause = first_of(error)
                    forks.answer(CrashOutcome(failure=f"{type(cause).__name__}: {cause}"))
                raise
            finally:
                if forks is not None:
                    forks.end()

    async def _fly_through_the_window(self) -> None:
        timeline = self._simulation.timeline
        for at_us, kind in self._instants.items():
            if at_us > timeline.now_us:
                await timeline.fly(at_us - 1)
                view = self._simulation.view
                self.groups = self.groups or related(view, self._question.group)
                self.sources = self.sources or {name: sources(view, name) for name in self.groups}
                if not self.points:
                    self._crash(CrashPoint(at_us, "", ""))
                for victim in self._victims():
                    self._crash(CrashPoint(at_us, victim, kind))
                if self._mine is not None:
                    return
            await timeline.fly(at_us)
            if self._mine is not None:
                return

    def _see(self, event: Event) -> None:
        if not self._from_us <= event.at_us <= self._until_us or not self.points:
            return
        victims = self._victims()
        self.without_victim += self._mine is None and not victims
        for victim in victims:
            self._crash(CrashPoint(event.at_us, victim, kind_of(event), event.seq))

    def _victims(self) -> list[str]:
        """The processes that could die now; none in a fork, which has its victim."""
        simulation = self._simulation
        group = simulation.view.groups.get(self._question.group)
        if self._mine is not None or group is None:
            return []
        names = VICTIMS[self._question.kill](simulation.view, group)
        return [name for name in names if (process := simulation.process(name)) is not None and process.alive]

    def _crash(self, point: CrashPoint) -> None:
        """Fork the flight of this crash point; the fork goes on to its end and does not come back."""
        if self._mine is not None:
            return
        self.points.append(point)
        self._report(point)
        if self._forks is None or not self._forks.fork(len(self.points) - 1):
            return
        self._mine = point
        simulation, step = self._simulation, crash_step(point, self._question.down_us)
        if not point.victim:
            return
        if point.seq is None:
            simulation.timeline.call_first(point.at_us, simulation.give, step.command, "scenario")
        else:
            simulation.event_steps.give_now(step.command)

    def _report(self, point: CrashPoint) -> None:
        if self._progress is not None and self._mine is None:
            self._progress(len(self.outcomes), self._from_us, point.at_us, self._until_us)
