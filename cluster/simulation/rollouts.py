"""Rollouts of a group's members, as Kubernetes' controllers make them.

Theory of operation. A rollout holds what it still has to replace. Whenever a member gets ready or has ended, and when
the group is scaled, the rollout looks at its pods again and does all that its limits allow, as a controller that
reconciles does. A Deployment starts pods with new names, numbered on, and stops old ones; a pod that is asked to stop
counts no more. A StatefulSet restarts its pods from the highest number down; each keeps its name. A pod that has not
ended `GRACE_US` after it was asked to is killed, as the kubelet does.
Source: `deployment/rolling.go`, `stateful_set_control.go`, `terminationGracePeriodSeconds`.
"""

from typing import Final

from cluster import events as e
from cluster.clients.consumer.consumer import Consumer
from cluster.commands import catalogue as c
from cluster.commands.pod_limits import deployment_limits, statefulset_limit
from cluster.simulation.active_faults import ActiveFaults, CommandRefusedError, Handlers
from cluster.simulation.process_commands import ProcessCommands
from cluster.simulation.running_cluster import RunningCluster
from cluster.spec import MOST_MEMBERS

GRACE_US: Final = 30_000_000


def number_of(pod: str) -> int:
    """The number in a member's name: `billing-12` → 12."""
    return int(pod.rpartition("-")[2])


class GroupRollout:
    """A rollout under way: `old` are the pods still to replace, `names` the pods in the end, `new` those there now."""

    def __init__(self, command: c.Rollout, old: list[str]) -> None:
        self.command = command
        self.old = dict.fromkeys(old)
        self.names = old
        self.new: dict[str, None] = {}
        self.surge = self.unavailable = 0
        self.looks_soon = False
        self.limit()

    @property
    def of_deployment(self) -> bool:
        """Whether the new pods have new names."""
        return self.command.workload == "deployment"

    def limit(self) -> None:
        """Compute the limits for the present number of replicas. Raises CommandError."""
        command, replicas = self.command, len(self.names)
        if self.of_deployment:
            self.surge, self.unavailable = deployment_limits(command.max_surge, command.max_unavailable, replicas)
        else:
            self.unavailable = statefulset_limit(command.max_unavailable, replicas)


class Rollouts:
    """Executes `rollout`, and what other commands do to a rollout under way."""

    def __init__(self, cluster: RunningCluster, active: ActiveFaults, processes: ProcessCommands) -> None:
        self._cluster, self._active, self._processes = cluster, active, processes
        self._under_way: dict[str, GroupRollout] = {}
        self.handlers: Handlers = {c.Rollout: self._begin}

    # --- begin and end ------------------------------------------------------------------------------------------------

    def _begin(self, command: c.Rollout) -> None:
        cluster, group = self._cluster, command.group
        members = cluster.names().groups[group]
        old = [name for name in members if self._processes.is_wanted(name)]
        if not old:
            raise CommandRefusedError(f"no member of {group} is running")
        if len(members) + len(old) > MOST_MEMBERS:
            raise CommandRefusedError(f"a group has at most {MOST_MEMBERS:,} members here, former ones included")
        rollout = GroupRollout(command, old)
        before = self._under_way.get(group)
        if group in self._under_way:
            self._end(group, "superseded")
        if rollout.of_deployment:
            self._active.forget(("scale", group))  # what it would start or stop again are old pods
            cluster.number_from(group, max(number_of(name) for name in members) + 1)
            rollout.names = cluster.members_up_to(group, len(old if before is None else before.names))
            rollout.limit()
        self._watch(group, watched=True)
        self._under_way[group] = rollout
        cluster.emit(
            e.RolloutStarted(
                target=group,
                workload=command.workload,
                max_unavailable=rollout.unavailable,
                max_surge=rollout.surge,
                replaced=tuple(old),
                ready=tuple(name for name in old if self._is_ready(name)),
                names=tuple(rollout.names),
            )
        )
        self._look(rollout)

    def end(self, group: str) -> None:
        """Leave the rollout of a group where it is. Raises CommandRefusedError if none is under way."""
        if group not in self._under_way:
            raise CommandRefusedError(f"no rollout of {group} is under way")
        self._end(group, "ended")

    def _end(self, group: str, how: str) -> None:
        rollout = self._under_way.pop(group)
        self._watch(group, watched=False)
        self._cluster.emit(e.RolloutEnded(target=group, workload=rollout.command.workload, how=how))

    def _watch(self, group: str, *, watched: bool) -> None:
        """Let the members of a group report that they are ready, or no more."""
        for name in self._cluster.names().groups[group]:
            self._consumer(name).reports_readiness = watched

    def under_way(self, group: str) -> GroupRollout | None:
        """The rollout of a group that is under way."""
        return self._under_way.get(group)

    def resize(self, rollout: GroupRollout, to: int) -> None:
        """Take another number of replicas, above 0; a Deployment's pods come and go as the limits allow."""
        group = rollout.command.group
        rollout.names = self._cluster.members_up_to(group, to)
        self._watch(group, watched=True)
        rollout.limit()
        rollout.old = {name: None for name in rollout.old if rollout.of_deployment or name in rollout.names}
        for name in [name for name in rollout.new if name not in rollout.names]:
            del rollout.new[name]
            self._processes.stop_for_good(name)
        self.pod_changed(group)

    # --- pods ---------------------------------------------------------------------------------------------------------

    def pod_changed(self, group: str) -> None:
        """Look at the pods of a group again, in a turn of its own: one is ready or has ended, or others are wanted."""
        rollout = self._under_way.get(group)
        if rollout is not None and not rollout.looks_soon:
            rollout.looks_soon = True
            self._cluster.timeline.call_later(0, self._look_again, rollout)

    def _look_again(self, rollout: GroupRollout) -> None:
        rollout.looks_soon = False
        if self._under_way.get(rollout.command.group) is rollout:
            self._look(rollout)

    def _look(self, rollout: GroupRollout) -> None:
        stops, starts = self._replace(rollout) if rollout.of_deployment else self._restart(rollout)
        if stops or starts:
            self._cluster.emit(
                e.RolloutAdvanced(
                    target=rollout.command.group,
                    workload=rollout.command.workload,
                    stops=tuple(stops),
                    starts=tuple(starts),
                    replicas=len(rollout.names),
                    max_unavailable=rollout.unavailable,
                    max_surge=rollout.surge,
                )
            )
            for name in stops:
                self._stop(name, again=name in starts)
            for name in starts:
                if name not in stops:
                    self._processes.ensure_running(name)
        if not rollout.old and all(self._is_ready(name) for name in rollout.names):
            self._end(rollout.command.group, "complete")

    def _replace(self, rollout: GroupRollout) -> tuple[list[str], list[str]]:
        """What a Deployment's controller stops and starts now: `reconcileNewReplicaSet`, `reconcileOldReplicaSets`."""
        old, new, replicas = rollout.old, rollout.new, len(rollout.names)
        stops: list[str] = []
        starts: list[str] = []
        while True:
            missing = [name for name in rollout.names if name not in new]
            up = missing[: max(0, replicas + rollout.surge - len(old) - len(new))]
            new |= dict.fromkeys(up)
            least = replicas - rollout.unavailable
            ready_new = sum(self._is_ready(name) for name in new)
            most = max(0, len(old) + ready_new - least)
            down = [name for name in old if not self._is_ready(name)][:most]
            ready_old = [name for name in old if self._is_ready(name)]
            spare = max(0, min(most, len(ready_old) + ready_new - least))
            down += sorted(ready_old, key=lambda name: -number_of(name))[:spare]
            for name in down:
                del old[name]
            starts += up
            stops += down
            if not (up or down):
                return stops, starts

    def _restart(self, rollout: GroupRollout) -> tuple[list[str], list[str]]:
        """What a StatefulSet's controller restarts now: `updateStatefulSetAfterInvariantEstablished`."""
        unready = sum(not self._is_ready(name) for name in rollout.names)
        last_first = sorted(rollout.old, key=lambda name: -number_of(name))
        restarted = last_first[: max(0, rollout.unavailable - unready)]
        for name in restarted:
            del rollout.old[name]
        return restarted, restarted

    def _is_ready(self, name: str) -> bool:
        member = self._consumer(name)
        return member.ready and member.alive and not member.closing

    def _consumer(self, name: str) -> Consumer:
        process = self._processes.process(name)
        assert isinstance(process, Consumer)
        return process

    def _stop(self, name: str, *, again: bool) -> None:
        """Let a pod end, and start it again if it keeps its name; it is killed if it takes too long."""
        processes, timeline = self._processes, self._cluster.timeline
        member = self._consumer(name)
        if again:
            processes.restart_at(name, timeline.now_us)
            if not member.alive:
                processes.ensure_running(name)
        else:
            processes.stop_for_good(name)
        if member.alive:
            timeline.call_later(GRACE_US, self._kill, name, member.life, again)

    def _kill(self, name: str, life: int, again: bool) -> None:
        member = self._consumer(name)
        if member.closing and member.life == life:
            self._processes.clear_faults(name)
            member.kill()
            if again:
                self._processes.launch(name)
