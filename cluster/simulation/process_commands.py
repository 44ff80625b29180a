"""What commands do to processes: kill, stop, start, freeze, stall, slow, scale – and what undoes them.

An injury is a fault with a number: it starts with the command, ends when its time is up or somebody mends it, and is
told both times. A command that is impossible when its turn comes changes nothing and is told as refused, so that a
rerun does the same.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import trio

from cluster import events as e
from cluster.broker.broker import Broker
from cluster.broker.controller_channel import ControllerChannel
from cluster.clients.consumer.consumer import FOREVER, Consumer
from cluster.clients.producer.producer import Producer
from cluster.commands import Names
from cluster.commands import catalogue as c
from cluster.network import Network
from cluster.simulation.active_faults import Fault, FaultBook, FaultKey, Refused
from cluster.simulation.broker_commands import BrokerOperations
from cluster.simulation.disk_commands import DiskOperations
from cluster.simulation.link_commands import LinkOperations
from cluster.simulation.nemesis import Nemesis
from cluster.simulation.set_command import Cluster, change
from cluster.simulation.transaction_commands import TransactionOperations
from cluster.spec import MOST_MEMBERS
from cluster.view import ClusterView
from cluster.virtual_time import Timeline, Timer

OF_A_PROCESS = ("down", "pause", "stall", "heartbeats", "full disk", "abandoned")


def _is_frozen(process: Broker | Consumer | Producer) -> bool:
    """Whether a living process stands still; a broker that is starting does not run either."""
    return process.frozen if isinstance(process, Broker) else not process.running


class Fleet(Cluster, Protocol):
    """What commands act on: the simulation, as far as they need it."""

    timeline: Timeline
    network: Network
    control: ControllerChannel
    seed: int
    nursery: trio.Nursery
    topics: dict[str, int]

    @property
    def view(self) -> ClusterView:
        """What the events so far add up to."""

    def add_partitions(self, topic: str, to: int) -> list[str]:
        """Give a topic more partitions; returns their names."""

    def process(self, name: str) -> Broker | Consumer | Producer | None:
        """A process by its name."""

    def names(self) -> Names:
        """Every name that a command may use now."""

    def give(self, command: c.Command, source: str) -> None:
        """Journal a command and carry it out."""

    def members_up_to(self, group: str, count: int) -> list[str]:
        """The first members of a group, declared if they never were."""

    def members_above(self, group: str, count: int) -> list[str]:
        """The members of a group with higher numbers, the highest first."""


class Operations:
    """Carries out commands on a simulation."""

    def __init__(self, simulation: Fleet) -> None:
        self._simulation = simulation
        self._timeline, self._emit = simulation.timeline, simulation.emit
        self._book = FaultBook(self._timeline, self._emit)
        self._injure, self._over = self._book.begin, self._book.over
        self._come_back: dict[str, Timer] = {}
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
            c.RollingRestart: self._rolling_restart,
            c.Subscribe: self._subscribe,
            c.Set: self._set,
            c.Seek: self._seek,
            c.Mark: lambda _: None,
            **LinkOperations(simulation, self._book).handlers,
            **TransactionOperations(simulation, self._book).handlers,
            **DiskOperations(simulation, self._book, self._launch).handlers,
            **Nemesis(simulation, self._book).handlers,
        }
        self._handlers |= BrokerOperations(
            simulation, living=self._living, mended=self._mended, injure=self._injure, launch=self._launch
        ).handlers

    def execute(self, command: c.Command) -> None:
        """Carry out a command now, or tell why it cannot be."""
        try:
            c.check(command, self._simulation.names())
            handler = self._handlers.get(type(command))
            if handler is None:
                raise Refused("it is not built yet")
            handler(command)
        except (Refused, c.CommandError) as refusal:
            self._emit(e.CommandRefused(text=c.text_of(command), reason=str(refusal)))

    @property
    def faults(self) -> dict[FaultKey, Fault]:
        """Every fault in force."""
        return self._book.faults

    # --- faults -------------------------------------------------------------------------------------------------------

    def _mended(self, name: str) -> None:
        """A process starts anew: whatever was wrong with the old one is gone with it."""
        for key in [(kind, name) for kind in OF_A_PROCESS]:
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

    def crashed(self, name: str) -> None:
        """A member's process died of itself: it comes back when its scenario says so."""
        self._mended(name)
        process = self._process(name)
        if isinstance(process, Consumer) and process.spec.application.restart_after_us is not None:
            self._comes_back(name, process.spec.application.restart_after_us)

    def _comes_back(self, name: str, delay_us: int) -> None:
        """It is started in a while, unless it is before, or its group is scaled down."""
        self._stays_down(name)
        self._come_back[name] = self._timeline.call_later(delay_us, self._launch, name)

    def _stays_down(self, name: str) -> None:
        timer = self._come_back.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _stop(self, command: c.Stop) -> None:
        process = self._living(command.target)
        delay_us = command.for_us
        if isinstance(process, Broker) and process.stopping and process.on_stopped is None and delay_us is None:
            raise Refused(f"{command.target} is stopping already")
        process.on_stopped = None  # a restart under way is a stop now
        if delay_us is not None:
            process.on_stopped = partial(self._comes_back, command.target, delay_us)
        self._close(process)

    @staticmethod
    def _close(process: Broker | Consumer | Producer) -> None:
        if isinstance(process, Broker):
            process.stop()
        else:
            process.close_soon()

    def _start(self, command: c.Start) -> None:
        process = self._process(command.target)
        if isinstance(process, Broker) and process.stopping:
            raise Refused(f"{command.target} has not stopped yet: restart it instead")
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
        process.on_stopped = lambda: self._comes_back(command.target, delay_us)
        self._close(process)

    def _launch(self, name: str) -> None:
        process = self._process(name)
        if process.alive:
            return
        self._stays_down(name)
        self._mended(name)
        if isinstance(process, Broker):
            process.start()
        else:
            process.launch(self._simulation.nursery)

    def _pause(self, command: c.Pause) -> None:
        process = self._living(command.target)
        if _is_frozen(process):
            raise Refused(f"{command.target} is paused already")
        if isinstance(process, Broker):
            process.pause()
        else:
            process.freeze()
        self._injure(("pause", command.target), command, command.for_us, lambda: self._thaw(command.target))

    def _thaw(self, name: str) -> None:
        process = self._process(name)
        if process.alive and _is_frozen(process):
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
            self._emit_heartbeats(process, paused=False)
        if command.for_us is not None:
            again = c.Pause(command.target)
            self._timeline.call_later(command.for_us, self.execute, again)

    # --- members ------------------------------------------------------------------------------------------------------

    def _member(self, name: str) -> Consumer:
        process = self._living(name)
        if not isinstance(process, Consumer):
            raise Refused(f"{name} is not a member of a group")
        return process

    def _emit_heartbeats(self, member: Consumer, *, paused: bool) -> None:
        view = self._simulation.view.members[member.name]
        if view.heartbeats_paused != paused:
            self._emit(e.HeartbeatsPaused(group=member.group, member=member.name, paused=paused))

    def _pause_heartbeats(self, command: c.PauseHeartbeats) -> None:
        member = self._member(command.member)
        self._injure(("heartbeats", command.member), command, command.for_us, lambda: self._beat_again(command.member))
        member.heartbeats.pause(paused=True)
        self._emit_heartbeats(member, paused=True)

    def _beat_again(self, name: str) -> None:
        process = self._process(name)
        if isinstance(process, Consumer) and process.alive:
            process.heartbeats.pause(paused=False)
            self._emit_heartbeats(process, paused=False)

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
        undo = self._resize(command.group, command.to)
        self._over(("scale", command.group))  # this size is the last word
        if command.for_us is not None:
            self._injure(("scale", command.group), command, command.for_us, undo)

    def _resize(self, group: str, to: int) -> Callable[[], None]:
        """Give a group so many members. Returns what starts and stops those again that were stopped and started."""
        simulation = self._simulation
        if to > MOST_MEMBERS:
            raise Refused(f"a group has at most {MOST_MEMBERS:,} members here")
        wanted = simulation.members_up_to(group, to)
        started = [name for name in wanted if not self._process(name).alive]
        for name in wanted:
            self._is_wanted(name)
        above = simulation.members_above(group, to)
        stopped = [name for name in above if self._process(name).alive]
        for name in above:
            self._stops_for_good(name)

        def undo() -> None:
            for name in started:
                self._stops_for_good(name)
            for name in stopped:
                self._is_wanted(name)

        return undo

    def _is_wanted(self, name: str) -> None:
        """It runs from now on, or as soon as it is gone: it was scaled away, and still closes."""
        process = self._process(name)
        if isinstance(process, Consumer) and process.closing and process.on_stopped is None:
            process.on_stopped = partial(self._comes_back, name, 0)
        self._launch(name)

    def _stops_for_good(self, name: str) -> None:
        process = self._process(name)
        self._stays_down(name)
        self._over(("down", name))
        process.on_stopped = None  # a restart under way is a stop now
        if process.alive:
            self._close(process)

    def _rolling_restart(self, command: c.RollingRestart) -> None:
        """Member i of those that run is stopped i times the interval from now, and started when it was down enough."""
        members = self._simulation.names().groups[command.group]
        running = [name for name in members if self._process(name).alive]
        if not running:
            raise Refused(f"no member of {command.group} is running")
        for place, name in enumerate(running):
            self._timeline.call_later(place * command.every_us, self._bounce, name, command.down_us)

    def _bounce(self, name: str, down_us: int) -> None:
        process = self._process(name)
        if not process.alive or (isinstance(process, Consumer) and process.closing):
            return  # somebody killed or stopped it meanwhile: who mends that, starts it
        back_us = self._timeline.now_us + down_us
        process.on_stopped = lambda: self._comes_back(name, max(back_us - self._timeline.now_us, 0))
        self._close(process)

    def _subscribe(self, command: c.Subscribe) -> None:
        process = self._process(command.member)
        if not isinstance(process, Consumer):
            raise Refused(f"{command.member} is not a member of a group")
        if set(command.topics) == set(process.topics):  # Kafka's subscribe() does nothing then either
            raise Refused(f"{command.member} subscribes to exactly these already")
        before = process.topics
        self._over(("subscribe", command.member))
        if command.for_us is not None:
            self._injure(("subscribe", command.member), command, command.for_us, lambda: process.subscribe(before))
        process.subscribe(command.topics)

    def _seek(self, command: c.Seek) -> None:
        name = f"{command.topic}-{command.partition}"
        members = self._simulation.names().groups[command.group]
        for process in (self._process(member) for member in members):
            if isinstance(process, Consumer) and process.alive and name in process.owned:
                process.seek(name, command.to)
                return
        raise Refused(f"no member of {command.group} holds {name} now")

    def _set(self, command: c.Set) -> None:
        undo = change(self._simulation, command.scope, command.key, command.value)
        undos = [undo]
        if command.key == "members":
            undos.append(self._resize(command.scope, int(command.value)))
            self._over(("scale", command.scope))
        if command.for_us is not None:

            def undo_all() -> None:
                for each in undos:
                    each()

            self._injure(("set", command.scope, command.key), command, command.for_us, undo_all)
