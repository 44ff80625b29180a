"""What commands do: kill, stop, start, freeze, stall, slow, cut, scale – and what undoes them.

An injury is a fault with a number: it starts with the command, ends when its time is up or somebody mends it, and is
told both times. A command that is impossible when its turn comes changes nothing and is told as refused, so that a
rerun does the same.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import trio

from cluster import commands as c
from cluster import events as e
from cluster.broker.broker import Broker
from cluster.clients.consumer import FOREVER, Consumer
from cluster.clients.producer import Producer
from cluster.events import Event
from cluster.names import Names
from cluster.network import Network
from cluster.timeline import Timeline
from cluster.view import ClusterView

UNTIL_MENDED = -1
MOST_MEMBERS = 1_000  # a slip of the finger must not eat the machine
FaultKey = tuple[str, ...]
OF_A_PROCESS = ("down", "pause", "stall", "heartbeats")


class Fault(NamedTuple):
    """An injury in force: its number, the command's text, and from when until when (UNTIL_MENDED) it lasts."""

    number: int
    text: str
    since_us: int
    ends_us: int


class Fleet(Protocol):
    """What commands act on: the simulation, as far as they need it."""

    timeline: Timeline
    network: Network
    nursery: trio.Nursery
    tell: Callable[[Event], None]

    @property
    def view(self) -> ClusterView:
        """What the events so far add up to."""

    def process(self, name: str) -> Broker | Consumer | Producer | None:
        """A process by its name."""

    def names(self) -> Names:
        """Every name that a command may use now."""

    def members_up_to(self, group: str, count: int) -> list[str]:
        """The first members of a group, declared if they never were."""

    def members_above(self, group: str, count: int) -> list[str]:
        """The members of a group with higher numbers, the highest first."""


class Refused(Exception):  # noqa: N818 - a sentence for the operator, not an error of ours
    """The command cannot be carried out now; the message says why."""


class Operations:
    """Carries out commands on a simulation."""

    def __init__(self, simulation: Fleet) -> None:
        self._simulation = simulation
        self._timeline, self._tell = simulation.timeline, simulation.tell
        self.faults: dict[FaultKey, Fault] = {}
        self._numbered = 0
        self._handlers: dict[type, Callable[[Any], None]] = {
            c.Kill: self._kill,
            c.Stop: self._stop,
            c.Start: self._start,
            c.Restart: self._restart,
            c.Pause: self._pause,
            c.Resume: self._resume,
            c.PauseHeartbeats: self._pause_heartbeats,
            c.Stall: self._stall,
            c.SlowMember: self._slow_member,
            c.Scale: self._scale,
            c.Cut: self._cut,
            c.Heal: self._heal,
            c.SlowLink: self._slow_link,
            c.Mark: lambda _: None,
        }

    def execute(self, command: c.Command) -> None:
        """Carry out a command now, or tell why it cannot be."""
        try:
            c.check(command, self._simulation.names())
            handler = self._handlers.get(type(command))
            if handler is None:
                raise Refused("it is not built yet")
            handler(command)
        except (Refused, c.CommandError) as refusal:
            self._tell(e.CommandRefused(text=c.text_of(command), reason=str(refusal)))

    # --- faults -------------------------------------------------------------------------------------------------------

    def _injure(self, key: FaultKey, command: c.Command, for_us: int | None, mend: Callable[[], object]) -> None:
        """A fault begins. `mend` undoes it when its time is up, unless somebody did before."""
        self._over(key)
        self._numbered += 1
        number, text, now_us = self._numbered, c.text_of(command), self._timeline.now_us
        ends_us = UNTIL_MENDED if for_us is None else now_us + for_us
        self.faults[key] = Fault(number, text, now_us, ends_us)
        self._tell(e.FaultStarted(fault=number, text=text, ends_at_us=ends_us))
        if for_us is not None:
            self._timeline.call_at(ends_us, self._time_is_up, key, number, mend)

    def _time_is_up(self, key: FaultKey, number: int, mend: Callable[[], object]) -> None:
        fault = self.faults.get(key)
        if fault is not None and fault.number == number:
            self._over(key)
            mend()

    def _over(self, key: FaultKey) -> None:
        fault = self.faults.pop(key, None)
        if fault is not None:
            self._tell(e.FaultEnded(fault=fault.number))

    def _mended(self, name: str) -> None:
        """A process starts anew: whatever was wrong with the old one is gone with it."""
        for key in [
            key for key in self.faults if key[1] == name and key[0] in {"down", "pause", "stall", "heartbeats"}
        ]:
            self._over(key)

    # --- processes ----------------------------------------------------------------------------------------------------

    def _process(self, name: str) -> Broker | Consumer | Producer:
        process = self._simulation.process(name)
        if process is None:
            raise Refused(f"{name} was never started: scale its group first")
        return process

    def _living(self, name: str) -> Broker | Consumer | Producer:
        process = self._process(name)
        if not process.alive:
            raise Refused(f"{name} is not running: start it first")
        return process

    def _kill(self, command: c.Kill) -> None:
        process = self._living(command.target)
        self._mended(command.target)
        if isinstance(process, Broker):
            process.end("kill")
        else:
            process.kill()
        down_us = command.for_us
        if down_us is None and isinstance(process, Consumer):
            down_us = process.spec.application.restart_after_us
        self._injure(("down", command.target), command, down_us, lambda: self._launch(command.target))

    def _stop(self, command: c.Stop) -> None:
        process = self._living(command.target)
        if command.for_us is not None:
            delay_us = command.for_us
            process.when_gone = lambda: self._timeline.call_later(delay_us, self._launch, command.target)
        self._close(process)

    @staticmethod
    def _close(process: Broker | Consumer | Producer) -> None:
        if isinstance(process, Broker):
            process.stop()
        else:
            process.close_soon()

    def _start(self, command: c.Start) -> None:
        process = self._process(command.target)
        if process.alive:
            raise Refused(f"{command.target} is running already")
        self._launch(command.target)
        if command.for_us is not None:
            self._timeline.call_later(command.for_us, self._stop_again, command.target)

    def _stop_again(self, name: str) -> None:
        process = self._process(name)
        if process.alive:
            self._close(process)

    def _restart(self, command: c.Restart) -> None:
        process = self._process(command.target)
        if not process.alive:
            self._launch(command.target)
            return
        delay_us = command.for_us or 0
        process.when_gone = lambda: self._timeline.call_later(delay_us, self._launch, command.target)
        self._close(process)

    def _launch(self, name: str) -> None:
        process = self._process(name)
        if process.alive:
            return
        self._mended(name)
        if isinstance(process, Broker):
            process.start()
        else:
            process.launch(self._simulation.nursery)

    def _pause(self, command: c.Pause) -> None:
        process = self._living(command.target)
        if not process.running:
            raise Refused(f"{command.target} is paused already")
        if isinstance(process, Broker):
            process.pause()
        else:
            process.freeze()
        self._injure(("pause", command.target), command, command.for_us, lambda: self._thaw(command.target))

    def _thaw(self, name: str) -> None:
        process = self._process(name)
        if process.alive and not process.running:
            if isinstance(process, Broker):
                process.resume()
            else:
                process.thaw()

    def _resume(self, command: c.Resume) -> None:
        process = self._living(command.target)
        keys = [("pause", command.target), ("stall", command.target), ("heartbeats", command.target)]
        if not any(key in self.faults for key in keys):
            raise Refused(f"{command.target} is not paused")
        for key in keys:
            self._over(key)
        self._thaw(command.target)
        if isinstance(process, Consumer):
            process.unstall()
            process.heartbeats.pause(paused=False)
            self._tell_heartbeats(process, paused=False)
        if command.for_us is not None:
            again = c.Pause(command.target)
            self._timeline.call_later(command.for_us, self.execute, again)

    # --- members ------------------------------------------------------------------------------------------------------

    def _member(self, name: str) -> Consumer:
        process = self._living(name)
        if not isinstance(process, Consumer):
            raise Refused(f"{name} is not a member of a group")
        return process

    def _tell_heartbeats(self, member: Consumer, *, paused: bool) -> None:
        view = self._simulation.view.members[member.name]
        if view.heartbeats_paused != paused:
            self._tell(e.HeartbeatsPaused(group=member.group, member=member.name, paused=paused))

    def _pause_heartbeats(self, command: c.PauseHeartbeats) -> None:
        member = self._member(command.member)
        self._injure(("heartbeats", command.member), command, command.for_us, lambda: self._beat_again(command.member))
        member.heartbeats.pause(paused=True)
        self._tell_heartbeats(member, paused=True)

    def _beat_again(self, name: str) -> None:
        process = self._process(name)
        if isinstance(process, Consumer) and process.alive:
            process.heartbeats.pause(paused=False)
            self._tell_heartbeats(process, paused=False)

    def _stall(self, command: c.Stall) -> None:
        member = self._member(command.member)
        until_us = FOREVER if command.for_us is None else self._timeline.now_us + command.for_us
        self._injure(("stall", command.member), command, command.for_us, lambda: None)
        member.stall(until_us)

    def _slow_member(self, command: c.SlowMember) -> None:
        application = self._member(command.member).application
        self._injure(("slow", command.member), command, command.for_us, application.normal_speed)
        application.per_record_us = command.to_us

    def _scale(self, command: c.Scale) -> None:
        simulation = self._simulation
        if command.to > MOST_MEMBERS:
            raise Refused(f"a group has at most {MOST_MEMBERS:,} members here")
        for name in simulation.members_up_to(command.group, command.to):
            self._launch(name)
        for name in simulation.members_above(command.group, command.to):
            process = self._process(name)
            if process.alive:
                self._close(process)

    # --- links --------------------------------------------------------------------------------------------------------

    def _cut(self, command: c.Cut) -> None:
        network = self._simulation.network
        key = ("cut", *sorted((command.a, command.b)))
        self._injure(key, command, command.for_us, lambda: network.heal(command.a, command.b))
        network.cut(command.a, command.b, one_way=command.one_way)

    def _heal(self, command: c.Heal) -> None:
        network = self._simulation.network
        keys = [key for key in self.faults if key[0] in {"cut", "link"}]
        if command.a is not None and command.b is not None:
            ends = tuple(sorted((command.a, command.b)))
            keys = [key for key in keys if key[1:] == ends]
        if not keys:
            raise Refused("no such link is injured")
        for key in keys:
            self._over(key)
        network.heal(command.a, command.b)

    def _slow_link(self, command: c.SlowLink) -> None:
        network = self._simulation.network
        key = ("link", *sorted((command.a, command.b)))
        self._injure(key, command, command.for_us, lambda: network.slow(command.a, command.b, None))
        network.slow(command.a, command.b, command.to_us)
