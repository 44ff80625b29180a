"""The nemesis: random faults while it is on; when it ends, it reverts every fault of its own.

Theory of operation. Each `nemesis on` starts a *reign*. A reign draws which classes of faults it uses. Each class has
a random stream and a timer of its own, so that one class does not change the draws of another. When the timer of a
class fires, the class draws a command with a limited duration; the command is journaled with source `nemesis` and
executed like any other. The processes that the command names must run and have no such fault already, and most brokers
are left alone, so that faults do not become an outage of the whole cluster. A draw that finds no target is skipped.
Faults last until the end of the reign at the latest. A rerun draws the same commands from the same seed; the journal
holds them for readers.
"""

from random import Random
from typing import Final

import msgspec

from cluster.broker.broker import Broker
from cluster.commands import RANDOM_FAULTS, FaultTargets, parse
from cluster.commands import catalogue as c
from cluster.random_streams import random_stream
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, Handlers
from cluster.simulation.running_cluster import Process, RunningCluster
from cluster.virtual_time import Timer

MS, SECOND_US = 1_000, 1_000_000

CLASSES = tuple(name for name, fault in RANDOM_FAULTS.items() if fault.nemesis)
"""The classes that a nemesis draws from: faults that end by themselves or can be reverted."""
CLASSES_OF_A_REIGN = (4, 8)
FIRST_MS = (1_000, 20_000)  # from the start of a reign to the first fault of a class
GAP_MS = (5_000, 45_000)  # between two faults of a class
LASTS_MS = (500, 3_000, 10_000, 50_000)  # the last is longer than Kafka's session.timeout.ms of 45 s
TRIES: Final = 5  # draws for one fault: most brokers may be left alone at the moment
KEY = ("nemesis",)
NOT_OF_THE_LOCATION = ("for_us", "to_us", "count")


class NemesisSchedule:
    """Executes `nemesis on` and `nemesis off`, and gives the commands of a reign."""

    def __init__(self, cluster: RunningCluster, active: ActiveFaults) -> None:
        self._cluster, self._active = cluster, active
        self._reigns = 0
        self._timers: dict[str, Timer] = {}
        self._own_faults: dict[int, None] = {}  # numbers of the faults that this reign started
        self.handlers: Handlers = {c.Nemesis: self._switch}

    def _switch(self, command: c.Nemesis) -> None:
        reigning = self._active.faults.get(KEY)
        if command.on:
            if reigning is not None:
                raise CommandRefusedError("the nemesis is on already: turn it off first")
            self._start_reign(command)
            return
        if reigning is None:
            raise CommandRefusedError("the nemesis is not on")
        self._active.revert(KEY)
        if command.for_us is not None:
            again = reigning.command
            assert isinstance(again, c.Nemesis)
            self._cluster.timeline.call_later(command.for_us, self._continue, again, reigning.ends_us)

    def _continue(self, command: c.Nemesis, ends_us: int) -> None:
        """Turn the nemesis on again after `nemesis off for`, up to the end that its reign had, unless it is on."""
        left_us = ends_us - self._cluster.timeline.now_us
        if KEY in self._active.faults or (command.for_us is not None and left_us <= 0):
            return
        self._start_reign(msgspec.structs.replace(command, for_us=None if command.for_us is None else left_us))

    # --- a reign ------------------------------------------------------------------------------------------------------

    def _start_reign(self, command: c.Nemesis) -> None:
        self._active.start(KEY, command, command.for_us, self._end_reign)
        self._reigns += 1
        seed = self._cluster.seed if command.seed is None else command.seed
        reign = f"nemesis/{self._reigns}"
        stream = random_stream(seed, f"{reign}/classes")
        chosen = stream.sample(CLASSES, stream.randint(*CLASSES_OF_A_REIGN))
        for name in [name for name in CLASSES if name in chosen]:
            stream = random_stream(seed, f"{reign}/{name}")
            self._schedule(name, stream.randrange(*FIRST_MS), stream)

    def _schedule(self, name: str, for_ms: int, stream: Random) -> None:
        self._timers[name] = self._cluster.timeline.call_later(for_ms * MS, self._give_fault, name, stream)

    def _give_fault(self, name: str, stream: Random) -> None:
        command = self._draw(name, stream)
        if command is not None:
            before = self._active.started
            self._cluster.give(command, "nemesis")
            faults = self._active.faults.values()
            self._own_faults |= {fault.number: None for fault in faults if fault.number > before}
        self._schedule(name, stream.randrange(*GAP_MS), stream)

    def _end_reign(self) -> None:
        """Cancel the timers, and revert every fault of this reign that is in force."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for key in [key for key, fault in self._active.faults.items() if fault.number in self._own_faults]:
            self._active.revert(key)
        self._own_faults.clear()

    # --- one fault ----------------------------------------------------------------------------------------------------

    def _draw(self, name: str, stream: Random) -> c.Command | None:
        """A command of a class that is possible now; None if no draw is possible."""
        for _ in range(TRIES):
            targets = FaultTargets.of(stream, self._cluster.names())
            try:
                command = parse(targets.draw(RANDOM_FAULTS[name]))
            except IndexError:  # the cluster has no target for this class
                return None
            for_us = self._within_reign(stream.choice(LASTS_MS) * MS)
            if self._is_possible(command):
                if "for_us" in command.__struct_fields__ and not isinstance(command, c.Restart):
                    command = msgspec.structs.replace(command, for_us=for_us)
                return command
        return None

    def _within_reign(self, for_us: int) -> int:
        """The duration, cut at the end of the reign."""
        reign = self._active.faults[KEY]
        return for_us if reign.ends_us < 0 else min(for_us, reign.ends_us - self._cluster.timeline.now_us)

    def _is_possible(self, command: c.Command) -> bool:
        """Whether all named processes run, no such fault is in force there, and most brokers stay untouched."""
        named = [str(getattr(command, field)) for field in command.__struct_fields__]
        processes = [process for name in named if (process := self._cluster.process(name)) is not None]
        if not all(_runs_normally(process) for process in processes):
            return False
        in_force = [fault.command for fault in self._active.faults.values()]
        if any(_location(command) == _location(other) for other in in_force):
            return False
        if isinstance(command, c.Kill | c.Crash | c.Pause | c.Restart | c.Isolate | c.FillDisk):
            return not isinstance(processes[0], Broker) or self._may_take_out_a_broker(in_force)
        return True

    def _may_take_out_a_broker(self, in_force: list[c.Command]) -> bool:
        """Whether one more broker may fail: a minority of the brokers, and at least one."""
        names = self._cluster.names().brokers
        unreachable = [each.broker for each in in_force if isinstance(each, c.Isolate | c.FillDisk)]
        out = [name for name in names if name in unreachable or not self._runs(name)]
        return len(out) < max(1, (len(names) - 1) // 2)

    def _runs(self, name: str) -> bool:
        process = self._cluster.process(name)
        return process is not None and _runs_normally(process)


def _runs_normally(process: Process) -> bool:
    """Whether a process runs and is not frozen; False for a broker that is starting or stopping."""
    if isinstance(process, Broker) and (process.lifecycle.starting or process.lifecycle.stopping):
        return False
    return process.alive and process.running


def _location(command: c.Command) -> tuple[object, ...]:
    """The type of a command and its targets: a second fault at the same location would replace the first."""
    fields = [field for field in command.__struct_fields__ if field not in NOT_OF_THE_LOCATION]
    return type(command), *sorted(str(getattr(command, field)) for field in fields)
