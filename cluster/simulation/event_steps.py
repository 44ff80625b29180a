"""Steps of a scenario that come right after one event, also in the middle of a turn.

Theory of operation. Between two turns a step is a turn of its own, the next one. A turn is atomic in virtual time. A
real process can die between any two things that it does: after it has worked on its records and before it commits. So
the process that a step kills dies where it emits the event, if it emits that event itself: it is killed there, and
TurnCutShort unwinds its code, which does nothing more. Nothing else is in that turn, because processes share messages
only. An event of another process leaves the victim untouched until the turn is over: there the step is the next turn.
A step whose event comes at another instant, or not by its own, is refused.
"""

from collections.abc import Callable
from functools import partial

from cluster import events as e
from cluster.commands import Command
from cluster.commands import catalogue as c
from cluster.simulation.running_cluster import Process, RunningCluster
from cluster.spec import StepSpec
from cluster.virtual_time import Timer, TurnCutShort

NEVER_US = 1 << 62

Emit = Callable[[e.Event], None]


class EventSteps:
    """Gives commands right after events. `watch` comes before the cluster is built."""

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        self._steps: dict[int, list[StepSpec]] = {}
        self._overdue_us = NEVER_US  # the earliest instant of a step that waits for its event
        self._refused: list[StepSpec] = []
        self._watched: list[Process] = []
        self._due: tuple[int, c.Kill, Timer] | None = None  # a kill after the event that is being emitted

    def watch(self) -> None:
        """See every event from now on, and let processes die in the middle of their turns."""
        for step in self._cluster.spec.steps:
            if step.after_event is not None:
                self._steps.setdefault(step.after_event, []).append(step)
                self._overdue_us = min(self._overdue_us, step.at_us)
        self._cluster.sinks.insert(0, self._see)

    def give_now(self, command: Command) -> None:
        """Give a command right after the event that is being emitted; a sink calls this."""
        cluster = self._cluster
        timer = cluster.timeline.call_first(cluster.timeline.now_us, cluster.give, command, "scenario")
        if isinstance(command, c.Kill):
            self._due = cluster.seq, command, timer

    def _see(self, event: e.Event) -> None:
        if isinstance(event, e.MemberDeclared | e.ProducerDeclared | e.BrokerStarted):
            self._watch_processes()
        for step in self._steps.pop(event.seq, ()):
            if event.at_us == step.at_us:
                self.give_now(step.command)
            else:
                reason = f"event {event.seq} is at {event.at_us / 1e6:.6f} s, not at {step.at_us / 1e6:.6f} s"
                self._refuse_next(step, reason, event.at_us)
        if event.at_us > self._overdue_us:
            self._refuse_overdue(event.at_us)

    def not_given(self, now_us: int) -> list[tuple[StepSpec, str]]:
        """Steps that are refused, or whose instant is over without their event, with the reason of the latter."""
        waiting = [step for steps in self._steps.values() for step in steps if step.at_us < now_us]
        return [*((step, "") for step in self._refused), *((step, self._overdue(step)) for step in waiting)]

    def _overdue(self, step: StepSpec) -> str:
        return f"event {step.after_event} has not come by {step.at_us / 1e6:.6f} s"

    def _refuse_overdue(self, at_us: int) -> None:
        """Refuse the steps whose instant is over: their events can come at another one only."""
        for number, steps in list(self._steps.items()):
            for step in steps:
                if step.at_us < at_us:
                    self._refuse_next(step, self._overdue(step), at_us)
            left = [step for step in steps if step.at_us >= at_us]
            if left:
                self._steps[number] = left
            else:
                del self._steps[number]
        self._overdue_us = min((step.at_us for steps in self._steps.values() for step in steps), default=NEVER_US)

    def _refuse_next(self, step: StepSpec, reason: str, at_us: int) -> None:
        """Refuse a step in the next turn: an event is being emitted now."""
        self._refused.append(step)
        self._cluster.timeline.call_first(at_us, self._refuse, step, reason)

    def _refuse(self, step: StepSpec, reason: str) -> None:
        self._cluster.emit(e.CommandRefused(text=step.text, reason=reason))

    def _watch_processes(self) -> None:
        cluster = self._cluster
        known: list[Process] = [*cluster.brokers.values(), *cluster.consumers.values(), *cluster.producers.values()]
        for process in known:
            if not any(process is watched for watched in self._watched):
                self._watched.append(process)
                process.emit = partial(self._emit_own, process, process.emit)

    def _emit_own(self, process: Process, emit: Emit, event: e.Event) -> None:
        """Emit an event of a process; if it is to die here, its turn ends here."""
        emit(event)
        due = self._due
        if due is None or due[0] != event.seq or due[1].target != process.name:
            return
        self._due = None
        _, command, timer = due
        if process.alive and timer.pending:
            timer.cancel()
            self._cluster.give(command, "scenario")
            raise TurnCutShort
