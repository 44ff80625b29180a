"""The nemesis: while it is on, it injures the cluster at random moments, and when it ends nothing it did is left.

Theory of operation. Each time it is turned on is a *reign*. A reign draws which classes of faults it uses; each class
has a stream of luck and a timer of its own, so that what one does changes no other's draws. When a class's time has
come it draws a command, which is given and journaled as a command of source `nemesis` and carried out like anybody's,
with a time at which it ends. Whom it would strike must be up and untouched, and most brokers are left alone, so that
trouble does not become an outage of everything; a strike that finds nobody is left out. Times end with the reign at the
latest. A rerun brings the same commands from the same seed; the journal's are for readers.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from cluster.broker.broker import Broker
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.producer.producer import Producer
from cluster.commands import FAULTS, Names, victims
from cluster.commands import catalogue as c
from cluster.random_streams import random_stream
from cluster.simulation.active_faults import FaultBook, Refused
from cluster.virtual_time import Timeline, Timer

MS, SECOND_US = 1_000, 1_000_000

CLASSES = (
    "kill brokers", "kill members", "kill producers", "crash", "restart", "pause", "pause heartbeats", "stall", "cut",
    "cut one way", "slow link", "hold", "isolate", "lose responses", "slow disk", "full disk", "controller",
    "coordinator",
)  # fmt: skip
"""What a nemesis does: what ends of itself or can be undone. Scaling, deleting and elections stay done."""
CLASSES_OF_A_REIGN = (4, 8)
FIRST_MS = (1_000, 20_000)  # from the beginning of a reign to a class's first strike
GAP_MS = (5_000, 45_000)  # between two strikes of a class
LASTS_MS = (500, 3_000, 10_000, 50_000)  # the last is longer than Kafka's session.timeout.ms of 45 s
TRIES = 5  # draws for one strike: most brokers may be out of bounds just now
KEY = ("nemesis",)
NOT_THE_PLACE = ("for_us", "to_us", "count")


class Fleet(Protocol):
    """The simulation, as far as the nemesis needs it."""

    timeline: Timeline
    seed: int

    def process(self, name: str) -> Broker | Consumer | Producer | None:
        """A process by its name."""

    def names(self) -> Names:
        """Every name that a command may use now."""

    def give(self, command: c.Command, source: str) -> None:
        """Journal a command and carry it out."""


class Nemesis:
    """Carries out `nemesis on` and `nemesis off`."""

    def __init__(self, fleet: Fleet, book: FaultBook) -> None:
        self._fleet, self._book = fleet, book
        self._reigns = 0
        self._timers: dict[str, Timer] = {}
        self._begun: dict[int, None] = {}  # the numbers of this reign's faults
        self.handlers: dict[type, Callable[[Any], None]] = {c.Nemesis: self._obey}

    def _obey(self, command: c.Nemesis) -> None:
        reigning = self._book.faults.get(KEY)
        if command.on:
            if reigning is not None:
                raise Refused("the nemesis is on already: turn it off first")
            self._begin(command)
            return
        if reigning is None:
            raise Refused("the nemesis is not on")
        self._book.end(KEY)
        if command.for_us is not None:
            again = reigning.command
            assert isinstance(again, c.Nemesis)
            self._fleet.timeline.call_later(command.for_us, self._again, again, reigning.ends_us)

    def _again(self, command: c.Nemesis, ends_us: int) -> None:
        """Go on after a rest, if nobody turned it on meanwhile, up to where it was to end at first."""
        left_us = ends_us - self._fleet.timeline.now_us
        if KEY in self._book.faults or (command.for_us is not None and left_us <= 0):
            return
        self._begin(msgspec.structs.replace(command, for_us=None if command.for_us is None else left_us))

    # --- a reign ------------------------------------------------------------------------------------------------------

    def _begin(self, command: c.Nemesis) -> None:
        self._book.begin(KEY, command, command.for_us, self._rest)
        self._reigns += 1
        seed = self._fleet.seed if command.seed is None else command.seed
        reign = f"nemesis/{self._reigns}"
        luck = random_stream(seed, f"{reign}/classes")
        chosen = luck.sample(CLASSES, luck.randint(*CLASSES_OF_A_REIGN))
        for name in (name for name in CLASSES if name in chosen):
            there = victims(random_stream(seed, f"{reign}/{name}"), self._fleet.names())
            self._wait(name, there.luck.randrange(*FIRST_MS), there.luck)

    def _wait(self, name: str, for_ms: int, luck: Any) -> None:  # noqa: ANN401 - a Random, of which no rule knows
        self._timers[name] = self._fleet.timeline.call_later(for_ms * MS, self._strike, name, luck)

    def _strike(self, name: str, luck: Any) -> None:  # noqa: ANN401
        command = self._draw(name, luck)
        if command is not None:
            before = self._book.numbered
            self._fleet.give(command, "nemesis")
            faults = self._book.faults.values()
            self._begun |= {fault.number: None for fault in faults if fault.number > before}
        self._wait(name, luck.randrange(*GAP_MS), luck)

    def _rest(self) -> None:
        """The reign is over: whatever it did and is still in force ends with it."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for key in [key for key, fault in self._book.faults.items() if fault.number in self._begun]:
            self._book.end(key)
        self._begun.clear()

    # --- a strike -----------------------------------------------------------------------------------------------------

    def _draw(self, name: str, luck: Any) -> c.Command | None:  # noqa: ANN401
        """A command of a class that can be carried out now; None when luck found none."""
        text_of, _ = FAULTS[name]
        for _ in range(TRIES):
            there = victims(luck, self._fleet.names())
            try:
                command = c.parse(text_of(there))
            except IndexError:  # nobody is there whom this class could strike
                return None
            for_us = self._lasting(luck.choice(LASTS_MS) * MS)
            if self._fits(command):
                if "for_us" in command.__struct_fields__ and not isinstance(command, c.Restart):
                    command = msgspec.structs.replace(command, for_us=for_us)
                return command
        return None

    def _lasting(self, for_us: int) -> int:
        """So long, but not beyond the end of the reign."""
        reign = self._book.faults[KEY]
        return for_us if reign.ends_us < 0 else min(for_us, reign.ends_us - self._fleet.timeline.now_us)

    def _fits(self, command: c.Command) -> bool:
        """Whether everybody named is up, the place is untouched, and most brokers would still be well."""
        named = [str(getattr(command, field)) for field in command.__struct_fields__]
        processes = [process for name in named if (process := self._fleet.process(name)) is not None]
        if not all(_is_well(process) for process in processes):
            return False
        in_force = [fault.command for fault in self._book.faults.values()]
        if any(_place(command) == _place(other) for other in in_force):
            return False
        if isinstance(command, c.Kill | c.Crash | c.Pause | c.Restart | c.Isolate | c.FillDisk):
            return not isinstance(processes[0], Broker) or self._spares_a_broker(in_force)
        return True

    def _spares_a_broker(self, in_force: list[c.Command]) -> bool:
        """Whether one more broker may be taken out: a minority, but one in any case."""
        names = self._fleet.names().brokers
        shut_off = [each.broker for each in in_force if isinstance(each, c.Isolate | c.FillDisk)]
        out = [name for name in names if name in shut_off or not self._runs(name)]
        return len(out) < max(1, (len(names) - 1) // 2)

    def _runs(self, name: str) -> bool:
        process = self._fleet.process(name)
        return process is not None and _is_well(process)


def _is_well(process: Broker | Consumer | Producer) -> bool:
    """Whether it runs; a broker that is starting, or about to stop, is on its way."""
    if isinstance(process, Broker) and (process.lifecycle.starting or process.lifecycle.stopping):
        return False
    return process.alive and process.running


def _place(command: c.Command) -> tuple[object, ...]:
    """What a command does, and where: two with the same place would take each other's."""
    fields = (field for field in command.__struct_fields__ if field not in NOT_THE_PLACE)
    return type(command), *sorted(str(getattr(command, field)) for field in fields)
