"""Commands on groups: scale, rolling restart, subscribe, unsubscribe, seek, and settings of any scope.

`set GROUP members N` scales as well, which is why `set` is here.
"""

from collections.abc import Callable

from cluster import events as e
from cluster.clients.consumer.consumer import Consumer
from cluster.commands import catalogue as c
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, Handlers
from cluster.simulation.process_commands import ProcessCommands
from cluster.simulation.rollouts import Rollouts
from cluster.simulation.running_cluster import RunningCluster
from cluster.simulation.set_command import change
from cluster.spec import MOST_MEMBERS


class GroupCommands:
    """Executes commands on groups, members' subscriptions and settings."""

    def __init__(
        self, cluster: RunningCluster, active: ActiveFaults, processes: ProcessCommands, rollouts: Rollouts
    ) -> None:
        self._cluster, self._active, self._processes, self._rollouts = cluster, active, processes, rollouts
        self.replicas = {group.name: group.members for group in cluster.spec.groups}  # as they are wanted now
        self.handlers: Handlers = {
            c.Scale: self._scale,
            c.RollingRestart: self._rolling_restart,
            c.Subscribe: self._subscribe,
            c.Unsubscribe: self._unsubscribe,
            c.Set: self._set,
            c.Seek: self._seek,
        }

    def _scale(self, command: c.Scale) -> None:
        undo = self._resize(command.group, command.to)
        self._active.forget(("scale", command.group))  # the latest size replaces one that was set for a while
        if command.for_us is not None:
            self._active.start(("scale", command.group), command, command.for_us, undo)

    def _resize(self, group: str, to: int) -> Callable[[], None]:
        """Give a group `to` members; returns the function that restarts the stopped and stops the started ones."""
        cluster, processes = self._cluster, self._processes
        if to > MOST_MEMBERS:
            raise CommandRefusedError(f"a group has at most {MOST_MEMBERS:,} members here")
        before, self.replicas[group] = self.replicas[group], to
        rollout = self._rollouts.under_way(group)
        if rollout is not None and to == 0:
            self._rollouts.end(group)
        elif rollout is not None and rollout.of_deployment:
            self._rollouts.resize(rollout, to)
            return lambda: self._resize_back(group, before)
        elif rollout is not None:
            self._rollouts.resize(rollout, to)
        wanted = cluster.members_up_to(group, to)
        started = [name for name in wanted if not processes.is_alive(name)]
        for name in wanted:
            processes.ensure_running(name)
        above = cluster.members_above(group, to)
        stopped = [name for name in above if processes.is_alive(name)]
        for name in above:
            processes.stop_for_good(name)

        def undo() -> None:
            self.replicas[group] = before
            for name in started:
                processes.stop_for_good(name)
            for name in stopped:
                processes.ensure_running(name)

        return undo

    def _resize_back(self, group: str, to: int) -> None:
        self._resize(group, to)

    def _rolling_restart(self, command: c.RollingRestart) -> None:
        """Stop running member i (from 0) after i intervals, and start it when it was down for `down_us`."""
        members = self._cluster.names().groups[command.group]
        running = [name for name in members if self._processes.is_alive(name)]
        if not running:
            raise CommandRefusedError(f"no member of {command.group} is running")
        self._cluster.emit(
            e.RollingRestartStarted(
                group=command.group, members=tuple(running), every_us=command.every_us, down_us=command.down_us
            )
        )
        for place, name in enumerate(running):
            self._cluster.timeline.call_later(place * command.every_us, self._restart_member, name, command.down_us)

    def _restart_member(self, name: str, down_us: int) -> None:
        self._processes.restart_at(name, self._cluster.timeline.now_us + down_us)

    def _subscribe(self, command: c.Subscribe) -> None:
        process = self._processes.process(command.member)
        if not isinstance(process, Consumer):
            raise CommandRefusedError(f"{command.member} is not a member of a group")
        if process.user_assigned:  # IllegalStateException of SubscriptionState.setSubscriptionType
            raise CommandRefusedError(f"{command.member} has called assign(): a consumer cannot also subscribe()")
        if set(command.topics) == set(process.topics):  # Kafka's subscribe() has no effect then either
            raise CommandRefusedError(f"{command.member} subscribes to exactly these already")
        before, key = process.topics, ("subscribe", command.member)
        self._active.forget(key)
        if command.for_us is not None:
            self._active.start(key, command, command.for_us, lambda: process.subscribe(before))
        process.subscribe(command.topics)

    def _unsubscribe(self, command: c.Unsubscribe) -> None:
        member = self._processes.running_member(command.member)
        if member.user_assigned or member.topic_regex:
            how = "has called assign()" if member.user_assigned else "subscribes to a regular expression"
            raise CommandRefusedError(f"{command.member} {how}: Flightdeck can unsubscribe members with topics only")
        if not member.topics:
            raise CommandRefusedError(f"{command.member} subscribes to no topic already")
        if member.membership.fenced:
            raise CommandRefusedError(f"{command.member} is fenced: its poll() has thrown FencedInstanceIdException")
        self._active.forget(("subscribe", command.member))
        member.unsubscribe_soon()

    def _seek(self, command: c.Seek) -> None:
        name = f"{command.topic}-{command.partition}"
        holder = self._processes.holder(command.group, name)
        if holder is None:
            raise CommandRefusedError(f"no member of {command.group} holds {name} now")
        self._processes.running_member(holder).seek(name, command.to)

    def _set(self, command: c.Set) -> None:
        undos = [change(self._cluster, command.scope, command.key, command.value)]
        if command.key == "members":
            undos.append(self._resize(command.scope, int(command.value)))
            self._active.forget(("scale", command.scope))
        if command.for_us is not None:

            def undo_all() -> None:
                for undo in undos:
                    undo()

            self._active.start(("set", command.scope, command.key), command, command.for_us, undo_all)
