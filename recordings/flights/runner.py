"""The headless flight: a scenario flown from checkpoint to checkpoint, judged, hashed, and recorded on request.

A checkpoint is 0, the end of every whole virtual second, every instant that an expectation names, and the end. Flying
to a checkpoint costs no turn, so that judging changes nothing. Ctrl-C ends a flight in good order: expectations are
judged and the recording gets its footer. A bug of Flightdeck ends it too: the journal is closed and FlightError carries
the last events.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import trio

from cluster.commands import Command, kind_of, targets_of, text_of
from cluster.config import format_duration
from cluster.events import CommandRefused, Event
from cluster.invariants import Invariants, InvariantViolated
from cluster.simulation import Simulation
from cluster.spec import LONGEST_FLIGHT_US, ScenarioSpec
from cluster.view import ClusterView, document
from cluster.virtual_time import RerunDivergedError
from recordings.bounded_files import RecordingError
from recordings.comparison.meter import BillMeter
from recordings.flights import interruption
from recordings.flights.interruptible_run import first_of, origin_of, run_flight
from recordings.journal.format import JournaledCommand, Settings, clock
from recordings.journal.writer import JournalHash, Recorder, new_header
from recordings.scenarios.custom_code import Leave, run_own_code
from recordings.scenarios.expectations import Expectations, Result
from recordings.scenarios.loader import Scenario, SettingError, apply_settings

SECOND_US = 1_000_000

Setting = tuple[str | None, str, str]
CommandNote = tuple[Command, str, int, int, int]
"""An executed command: its source, its turn and µs, the last event before it."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The flight to fly: `spec` with every `--set` applied, its name and text, and the settings of the flight.

    `settings.until_us` None: it flies until it is stopped. `invariants`: whether invariants are checked.
    """

    scenario: str
    text: str
    spec: ScenarioSpec
    settings: Settings
    invariants: bool = True


def make_plan(
    scenario: Scenario,
    *,
    seed: int | None = None,
    until_us: int | None = None,
    settings: Sequence[Setting] = (),
    forever: bool = False,
    invariants: bool = True,
    leave: Leave | None = None,
) -> Plan:
    """Plan a flight of a scenario; `seed` and `until_us` default to the scenario's, `forever` has no end.

    Custom code of the scenario runs now, if `leave` permits it. Raises ScenarioErrors or SettingError for an impossible
    setting, and for code that cannot run.
    """
    spec = apply_settings(scenario.spec, list(settings))
    run_own_code(scenario, spec, leave)
    end_us = spec.until_us if until_us is None else until_us
    if end_us > LONGEST_FLIGHT_US:
        raise SettingError(f"until: a flight lasts at most {format_duration(LONGEST_FLIGHT_US)}")
    chosen = Settings(
        seed=spec.seed if seed is None else seed, until_us=None if forever else end_us, set=tuple(settings)
    )
    return Plan(scenario=scenario.name, text=scenario.text, spec=spec, settings=chosen, invariants=invariants)


class FlightResult(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `run --json` prints, in the order of the contract, and how the flight ended.

    `not_given`: the steps whose `after_event` does not come at their instant.
    """

    scenario: str
    seed: int
    virtual_s: float
    wall_s: float
    events: int
    turns: int
    journal_sha256: str
    expectations: list[Result]
    invariants: dict[str, Any]
    view: dict[str, Any]
    interrupted: bool = False
    diverged: str | None = None
    virtual_us: int = 0
    last_events: list[Event] = []
    refused: tuple[CommandRefused, ...] = ()
    crashes: dict[str, tuple[int, str]] = {}  # consumer → how often its process crashed, and the last reason
    not_given: tuple[str, ...] = ()
    failures: dict[str, dict[str, int]] = {}  # producer → error → records that failed for it

    def report(self) -> dict[str, Any]:
        """The object that external tools read (`run --json`)."""
        fields = msgspec.structs.asdict(self)
        report: dict[str, Any] = msgspec.to_builtins({name: fields[name] for name in self.__struct_fields__[:10]})
        refused = [{"at_s": each.at_us / SECOND_US, "text": each.text, "reason": each.reason} for each in self.refused]
        return report | ({"refused": refused, "not_given": list(self.not_given)} if refused else {})

    @property
    def held(self) -> bool:
        """Whether no expectation failed (those not judged do not count), no invariant was broken, and all was given."""
        failed = any(result["ok"] is False for result in self.expectations)
        return not (failed or self.not_given or self.invariants["violations"])

    @property
    def accidental(self) -> bool:
        """Whether an expectation already holds at the start of its window, which `--strict` does not accept."""
        return any(result.get("already", False) for result in self.expectations)


class FlightError(Exception):
    """A bug of Flightdeck ended a flight: `cause`, the instant, and the last events before it."""

    def __init__(self, cause: BaseException, plan: Plan, at_us: int, turn: int, last_events: list[Event]) -> None:
        self.cause, self.at_us, self.last_events = cause, at_us, last_events
        reason = f"{type(cause).__name__}: {cause}"
        super().__init__(
            f"the simulation failed at {clock(at_us)}, turn {turn}: {reason}{origin_of(cause)}. This is a bug of"
            f" Flightdeck, not of your scenario; to reproduce it, run `{plan.scenario}` with seed {plan.settings.seed}"
        )


class LastEvent(Exception):  # noqa: N818 - not an error: the agreed end of a flight
    """Raised by a sink: the flight ends with the event that the sink got."""


class Replay(msgspec.Struct, frozen=True):
    """Commands to execute again: `by_turn` (turn, µs, command) in an exact rerun, else `by_time` (µs, command).

    `stop_at_seq`: the flight ends with this event (None: at its time).
    """

    by_turn: tuple[tuple[int, int, Command], ...] = ()
    by_time: tuple[tuple[int, Command], ...] = ()
    stop_at_seq: int | None = None


def fly(
    plan: Plan,
    *,
    speed: float = math.inf,
    record: Path | None = None,
    replay: Replay | None = None,
    log: Callable[[Event], object] | None = None,
    progress: Callable[[int], object] | None = None,
    on_lines: Callable[[bytes], None] | None = None,
    meter: BillMeter | None = None,
) -> FlightResult:
    """Fly a plan to its end (or Ctrl-C) and return the result.

    `speed`: virtual seconds per wall second; `record`: the recording's directory. `log` gets each event, `progress`
    each checkpoint's µs, `on_lines` the journal's lines, many at a time; `meter` keeps the flight's bill. Raises
    RecordingError if the recording cannot be written, and FlightError for a bug of Flightdeck.
    """
    listeners = (on_lines,) if on_lines is not None else ()
    with interruption.seen_to():
        if record is None:
            journal = JournalHash(*listeners)
        else:
            journal = Recorder(record, new_header(plan.scenario, plan.text, plan.settings), *listeners)
        flight = _Flight(plan, journal, speed, replay or Replay())
        flight.watch(log, progress, meter)
        try:
            run_flight(flight.main, flight.simulation.timeline)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the journal is closed first
            flight.ended_by(error)
        return flight.land()


class _Flight:
    """One flight from its start to its result."""

    def __init__(self, plan: Plan, journal: JournalHash, speed: float, replay: Replay) -> None:
        self.plan, self.journal, self.replay = plan, journal, replay
        self.expectations = Expectations(plan.spec)
        self.simulation = Simulation(plan.spec, plan.settings.seed, sinks=[journal], speed=speed)
        if isinstance(journal, Recorder):
            self.simulation.on_command = lambda *note: journal_command(journal, note)
            journal.watch(self.simulation.view)
        self.simulation.timeline.replay = list(replay.by_turn)
        self.simulation.timeline.replay_by_time = list(replay.by_time)
        self.invariants = (
            Invariants(plan.spec, self.simulation.view, self.simulation.log_of) if plan.invariants else None
        )
        self.progress: Callable[[int], object] | None = None
        self.judged_us = self.now_us = self.turns = 0
        self.wall_s = 0.0
        self.end: BaseException | None = None
        self.refused: list[CommandRefused] = []

    def watch(
        self,
        log: Callable[[Event], object] | None,
        progress: Callable[[int], object] | None,
        meter: BillMeter | None = None,
    ) -> None:
        """Connect the sinks; the last sink is the one that may end the flight."""
        self.progress = progress
        sinks = self.simulation.sinks
        if self.plan.spec.steps or self.replay.by_turn or self.replay.by_time:  # else nothing can be refused
            sinks.append(self._note)
        if self.expectations.kinds:
            sinks.append(self.expectations.see)
        if log is not None:
            sinks.append(log)
        if meter is not None:
            meter.share(self.simulation.view)
            sinks.append(meter)
        if self.invariants is not None:
            sinks.append(self.invariants)
        if self.replay.stop_at_seq is not None:
            sinks.append(self._stop)

    async def main(self) -> None:
        async with self.simulation.running():
            began = time.perf_counter()
            try:
                await self._fly()
                self.journal.flush()
            except BaseException as error:  # noqa: BLE001 - kept, and reported once everything is closed
                self.ended_by(error)
            self.wall_s = time.perf_counter() - began
            timeline = self.simulation.timeline
            self.now_us, self.turns = timeline.now_us, timeline.turn

    def ended_by(self, error: BaseException) -> None:
        """Note what ended the flight; the first error noted is the cause of the others."""
        error = first_of(error)
        if self.end is None and not isinstance(error, trio.Cancelled):  # the cause raised it in main
            self.end = error

    async def _fly(self) -> None:
        timeline, expectations = self.simulation.timeline, self.expectations
        for now_us in self._checkpoints():
            await timeline.fly(now_us)
            expectations.judge(document(self.simulation.view, now_us, expectations.needs_at(now_us)), now_us)
            self.judged_us = now_us
            if self.progress is not None:
                self.progress(now_us)

    def _checkpoints(self) -> Iterator[int]:
        """The instants to judge at, up to the end; without an end, every whole second after the scenario's own."""
        until_us = self.plan.settings.until_us
        end_us = until_us if until_us is not None else self.plan.spec.until_us
        now_us = 0
        while now_us < end_us:  # one by one: a flight may have more checkpoints than fit in memory
            yield now_us
            now_us = self.expectations.next_checkpoint_us(now_us)
        yield end_us
        if until_us is None:
            yield from itertools.count((end_us // SECOND_US + 1) * SECOND_US, SECOND_US)

    def _note(self, event: Event) -> None:
        if isinstance(event, CommandRefused):
            self.refused.append(event)

    def _stop(self, event: Event) -> None:
        if event.seq == self.replay.stop_at_seq:
            raise LastEvent

    def land(self) -> FlightResult:
        """Close the journal; then return the result, or raise the error."""
        plan, journal, end = self.plan, self.journal, self.end
        if isinstance(journal, Recorder):
            journal.close(turns=self.turns, virtual_us=self.now_us, complete=end is None)
        # the cluster uses no files: a listener failed to write its output
        if isinstance(end, RecordingError | OSError):
            raise end
        violated = isinstance(end, InvariantViolated)
        if end is not None and not isinstance(
            end, KeyboardInterrupt | LastEvent | RerunDivergedError | InvariantViolated
        ):
            raise FlightError(end, plan, self.now_us, self.turns, journal.last_events()) from end
        shortened = end is not None or self.now_us < plan.spec.until_us
        missed = self.simulation.event_steps.not_given(self.now_us)
        unsaid = [CommandRefused(at_us=self.now_us, text=step.text, reason=why) for step, why in missed if why]
        return FlightResult(
            scenario=plan.scenario,
            seed=plan.settings.seed,
            virtual_s=self.now_us / SECOND_US,
            wall_s=round(self.wall_s, 6),
            events=journal.events,
            turns=self.turns,
            journal_sha256=journal.sha256,
            expectations=self.expectations.results(self.judged_us, shortened=shortened),
            invariants={
                "checked": len(self.invariants.in_force) if self.invariants is not None else 0,
                "violations": [msgspec.to_builtins(end.violation)] if isinstance(end, InvariantViolated) else [],
            },
            view=document(self.simulation.view, self.now_us),
            interrupted=isinstance(end, KeyboardInterrupt),
            diverged=str(end) if isinstance(end, RerunDivergedError) else None,
            virtual_us=self.now_us,
            last_events=journal.last_events() if violated else [],
            refused=(*self.refused, *unsaid),
            not_given=tuple(step.text for step, _ in missed),
            failures={one.producer: one.failures for one in self.simulation.view.producers.values() if one.failures},
            crashes={m.member: (m.crashes, m.last_crash) for m in self.simulation.view.members.values() if m.crashes},
        )


def journal_command(recorder: Recorder, note: CommandNote) -> None:
    """Journal an executed command."""
    command, source, turn, at_us, after_seq = note
    recorder.command(
        JournaledCommand(
            command=text_of(command),
            source=source,
            turn=turn,
            at_us=at_us,
            after_seq=after_seq,
            kind=kind_of(command),
            targets=targets_of(command),
        )
    )


def given_by_operator(commands: Sequence[CommandNote]) -> list[tuple[int, int, Command]]:
    """The commands that only an operator gave, with their turns and µs."""
    return [(turn, at_us, command) for command, source, turn, at_us, _ in commands if source == "operator"]


def fly_again(plan: Plan, recorder: Recorder, seq: int, commands: Sequence[CommandNote]) -> int:
    """Fly a plan with an operator's commands up to an event, into a recorder; returns the number of commands in it."""
    if seq == 0:
        return 0
    journaled = 0

    def note(*one: *CommandNote) -> None:
        nonlocal journaled
        journaled += 1
        journal_command(recorder, one)

    def stop(event: Event) -> None:
        if event.seq == seq:
            raise LastEvent

    simulation = Simulation(plan.spec, plan.settings.seed, sinks=[recorder, stop])
    simulation.on_command = note
    simulation.timeline.replay = list(given_by_operator(commands))

    async def main() -> None:
        try:
            async with simulation.running():
                await simulation.timeline.fly(plan.settings.until_us or float("inf"))
        except* LastEvent:
            pass

    trio.run(main, clock=simulation.timeline)
    return journaled


def view_at(plan: Plan, at_us: int) -> ClusterView:
    """The state at an instant of a plan's flight without an operator."""
    simulation = Simulation(plan.spec, plan.settings.seed)

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(at_us)

    with interruption.seen_to():
        run_flight(main, simulation.timeline)
    return simulation.view


def keep_violation(plan: Plan, seq: int, commands: Sequence[CommandNote]) -> Path:
    """Record the flight that broke an invariant with event `seq`, in a new directory below the current one.

    Raises RecordingError or OSError if nothing can be written.
    """
    stem = f"violation-{Path(plan.scenario).stem}-{plan.settings.seed}"
    paths = (
        Path(f"{stem}{number}.flight")
        for number in itertools.chain(("",), (f"-{count}" for count in itertools.count(2)))
    )
    path = next(path for path in paths if not path.exists())
    replay = Replay(by_turn=tuple(given_by_operator(commands)), stop_at_seq=seq)
    fly(msgspec.structs.replace(plan, invariants=False), record=path, replay=replay)
    return path
