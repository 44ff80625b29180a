"""Commands on processes and members: kill, stop, start, restart, pause, resume, stall, slow.

Theory of operation. A command that lasts is a fault (`ActiveFaults`): it is in force from the command until its time is
over, a command reverts it, or its process starts again. A stop is not a fault: the process closes cleanly, and
`on_stopped` schedules its next start. At most one restart is scheduled for a process; a start cancels it.
"""

from functools import partial

from cluster import events as e
from cluster.broker.broker import Broker
from cluster.clients.consumer.consumer import FOREVER, Consumer
from cluster.commands import catalogue as c
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, Handlers
from cluster.simulation.running_cluster import Process, RunningCluster
from cluster.virtual_time import Timer

FAULTS_OF_A_PROCESS = ("down", "pause", "stall", "heartbeats", "full disk", "abandoned")
"""The faults that end when their process starts again."""


def _is_frozen(process: Process) -> bool:
    """Whether a living process is frozen; a broker that is starting does not run, but is not frozen."""
    return process.frozen if isinstance(process, Broker) else not process.running


class ProcessCommands:
    """Executes commands on processes; other commands start and stop processes through it."""

    def __init__(self, cluster: RunningCluster, active: ActiveFaults) -> None:
        self._cluster, self._active = cluster, active
        self._timeline = cluster.timeline
        self._restarts: dict[str, Timer] = {}
        self.handlers: Handlers = {
            c.Kill: self._kill,
            c.Stop: self._stop,
            c.Start: self._start,
            c.Restart: self._restart,
            c.Pause: self._pause,
            c.Resume: self._resume,
            c.PauseHeartbeats: self._pause_heartbeats,
            c.Stall: self._stall,
            c.SlowMember: self._slow_member,
            c.SlowDependency: self._slow_dependency,
            c.FailDependency: self._fail_dependency,
            c.RestoreDependency: self._restore_dependency,
        }

    # --- what other commands need -------------------------------------------------------------------------------------

    def process(self, name: str) -> Process:
        """The process with this name. Raises CommandRefusedError if none was declared."""
        process = self._cluster.process(name)
        if process is None:
            raise CommandRefusedError(f"{name} was never started: scale its group first")
        return process

    def running_process(self, name: str) -> Process:
        """The process with this name, which is alive. Raises CommandRefusedError if it is not."""
        process = self.process(name)
        if not process.alive:
            raise CommandRefusedError(f"{name} is not running: start it first")
        return process

    def is_alive(self, name: str) -> bool:
        """Whether a process is alive; it may be frozen, starting or closing."""
        return self.process(name).alive

    def is_wanted(self, name: str) -> bool:
        """Whether a member runs, or starts again by itself when its stop, crash or fault is over."""
        process = self.process(name)
        if process.alive:
            return not (isinstance(process, Consumer) and process.closing and process.on_stopped is None)
        down = self._active.faults.get(("down", name))
        return name in self._restarts or (down is not None and down.ends_us >= 0)

    def clear_faults(self, name: str) -> None:
        """End the faults of a process that starts again or dies: their effect ends with the old process."""
        for kind in FAULTS_OF_A_PROCESS:
            self._active.forget((kind, name))

    def launch(self, name: str) -> None:
        """Start a process; no effect if it is alive."""
        process = self.process(name)
        if process.alive:
            return
        self._cancel_restart(name)
        self.clear_faults(name)
        if isinstance(process, Broker):
            process.start()
        else:
            process.launch(self._cluster.nursery)

    def ensure_running(self, name: str) -> None:
        """Start a process now, or when its pending close completes."""
        process = self.process(name)
        if isinstance(process, Consumer) and process.closing and process.on_stopped is None:
            process.on_stopped = partial(self._schedule_restart, name, 0)
        self.launch(name)

    def stop_for_good(self, name: str) -> None:
        """Close a process cleanly, and cancel its restart if one is scheduled."""
        process = self.process(name)
        self._cancel_restart(name)
        self._active.forget(("down", name))
        process.on_stopped = None
        if process.alive:
            self._close(process)

    def restart_at(self, name: str, at_us: int) -> None:
        """Close a process cleanly and start it at `at_us`, or when it has stopped if that is later.

        No effect if the process is dead or closing: the command that stopped it decides when it starts.
        """
        process = self.process(name)
        if not process.alive or (isinstance(process, Consumer) and process.closing):
            return
        process.on_stopped = lambda: self._schedule_restart(name, max(at_us - self._timeline.now_us, 0))
        self._close(process)

    def crashed(self, name: str) -> None:
        """The application of a member threw: the member restarts if its scenario has `restart_after`."""
        self.clear_faults(name)
        process = self.process(name)
        if isinstance(process, Consumer) and process.spec.application.restart_after_us is not None:
            self._schedule_restart(name, process.spec.application.restart_after_us)

    # --- ends and starts ----------------------------------------------------------------------------------------------

    def _schedule_restart(self, name: str, delay_us: int) -> None:
        """Start a process in `delay_us`, unless it is started before, or its group is scaled down."""
        self._cancel_restart(name)
        self._restarts[name] = self._timeline.call_later(delay_us, self.launch, name)

    def _cancel_restart(self, name: str) -> None:
        timer = self._restarts.pop(name, None)
        if timer is not None:
            timer.cancel()

    @staticmethod
    def _close(process: Process) -> None:
        if isinstance(process, Broker):
            process.stop()
        else:
            process.close_soon()

    def _kill(self, command: c.Kill) -> None:
        name = command.target
        process = self.running_process(name)
        self.clear_faults(name)
        if isinstance(process, Broker):
            process.end("kill")
        else:
            process.kill()
        down_us = command.for_us
        if down_us is None and isinstance(process, Consumer):
            down_us = process.spec.application.restart_after_us
        self._active.start(("down", name), command, down_us, lambda: self.launch(name))

    def _stop(self, command: c.Stop) -> None:
        process = self.running_process(command.target)
        delay_us = command.for_us
        if isinstance(process, Broker) and process.stopping and process.on_stopped is None and delay_us is None:
            raise CommandRefusedError(f"{command.target} is stopping already")
        process.on_stopped = None  # a restart under way becomes a stop
        if delay_us is not None:
            process.on_stopped = partial(self._schedule_restart, command.target, delay_us)
        self._close(process)

    def _start(self, command: c.Start) -> None:
        process = self.process(command.target)
        if isinstance(process, Broker) and process.stopping:
            raise CommandRefusedError(f"{command.target} has not stopped yet: restart it instead")
        if process.alive:
            raise CommandRefusedError(f"{command.target} is running already")
        self.launch(command.target)
        if command.for_us is not None:
            self._timeline.call_later(command.for_us, self._stop_again, command.target)

    def _stop_again(self, name: str) -> None:
        process = self.process(name)
        if process.alive:
            self._close(process)

    def _restart(self, command: c.Restart) -> None:
        process = self.process(command.target)
        if not process.alive:
            self.launch(command.target)
            return
        delay_us = command.for_us or 0
        process.on_stopped = lambda: self._schedule_restart(command.target, delay_us)
        self._close(process)

    # --- freezing -----------------------------------------------------------------------------------------------------

    def _pause(self, command: c.Pause) -> None:
        process = self.running_process(command.target)
        if _is_frozen(process):
            raise CommandRefusedError(f"{command.target} is paused already")
        if isinstance(process, Broker):
            process.pause()
        else:
            process.freeze()
        self._active.start(("pause", command.target), command, command.for_us, lambda: self._thaw(command.target))

    def _thaw(self, name: str) -> None:
        process = self.process(name)
        if process.alive and _is_frozen(process):
            if isinstance(process, Broker):
                process.resume()
            else:
                process.thaw()

    def _resume(self, command: c.Resume) -> None:
        name = command.target
        process = self.running_process(name)
        keys = [("pause", name), ("stall", name), ("heartbeats", name)]
        if not any(key in self._active.faults for key in keys):
            raise CommandRefusedError(f"{name} is not paused")
        for key in keys:
            self._active.forget(key)
        self._thaw(name)
        if isinstance(process, Consumer):
            process.unstall()
            process.heartbeats.pause(paused=False)
            self._emit_heartbeats(process, paused=False)
        if command.for_us is not None:
            self._timeline.call_later(command.for_us, self._cluster.execute, c.Pause(name))

    # --- members ------------------------------------------------------------------------------------------------------

    def running_member(self, name: str) -> Consumer:
        """The member with this name, which is alive. Raises CommandRefusedError if it is not."""
        process = self.running_process(name)
        if not isinstance(process, Consumer):
            raise CommandRefusedError(f"{name} is not a member of a group")
        return process

    def holder(self, group: str, partition: str) -> str | None:
        """The running member of a group that holds a partition."""
        for name in self._cluster.names().groups[group]:
            process = self._cluster.process(name)
            if isinstance(process, Consumer) and process.alive and partition in process.owned:
                return name
        return None

    def _emit_heartbeats(self, member: Consumer, *, paused: bool) -> None:
        view = self._cluster.view.members[member.name]
        if view.heartbeats_paused != paused:
            self._cluster.emit(e.HeartbeatsPaused(group=member.group, member=member.name, paused=paused))

    def _pause_heartbeats(self, command: c.PauseHeartbeats) -> None:
        name = command.member
        member = self.running_member(name)
        self._active.start(("heartbeats", name), command, command.for_us, lambda: self._resume_heartbeats(name))
        member.heartbeats.pause(paused=True)
        self._emit_heartbeats(member, paused=True)

    def _resume_heartbeats(self, name: str) -> None:
        process = self.process(name)
        if isinstance(process, Consumer) and process.alive:
            process.heartbeats.pause(paused=False)
            self._emit_heartbeats(process, paused=False)

    def _stall(self, command: c.Stall) -> None:
        member = self.running_member(command.member)
        until_us = FOREVER if command.for_us is None else self._timeline.now_us + command.for_us
        self._active.start(("stall", command.member), command, command.for_us, lambda: None)
        member.stall(until_us)

    def _slow_member(self, command: c.SlowMember) -> None:
        application = self.running_member(command.member).application
        self._active.start(("slow", command.member), command, command.for_us, application.reset_speed)
        application.per_record_us = command.to_us

    def _slow_dependency(self, command: c.SlowDependency) -> None:
        dependency, key = self._cluster.dependencies[command.group], ("slow dependency", command.group)
        if command.to_us:
            self._active.start(key, command, command.for_us, dependency.quicken)
        elif key in self._active.faults:  # 0: the dependency is as fast as before the fault
            self._active.forget(key)
        else:
            raise CommandRefusedError(f"the dependency of {command.group} is not slow")
        dependency.delay_us = command.to_us

    def _fail_dependency(self, command: c.FailDependency) -> None:
        if any(each.name == command.group and each.application.worker_threads for each in self._cluster.spec.groups):
            raise CommandRefusedError(f"{command.group} has worker threads: only records met in poll() can fail")
        dependency = self._cluster.dependencies[command.group]
        self._active.start(("fail dependency", command.group), command, command.for_us, dependency.restore)
        dependency.failing = True

    def _restore_dependency(self, command: c.RestoreDependency) -> None:
        keys = [("slow dependency", command.group), ("fail dependency", command.group)]
        if not any(key in self._active.faults for key in keys):
            raise CommandRefusedError(f"the dependency of {command.group} is neither slow nor failing")
        for key in keys:
            if key in self._active.faults:
                self._active.revert(key)
