"""What must hold of groups in every flight (G1–G8 of the reliability notes, for the classic protocol), in words.

`doubly_owned` of `tests.support.checks_log` is G1, `not_converged` G4; that a static member's bounce costs nothing and
that a second one is fenced, G8, are facts of their own (`tests/cluster/clients/consumer/test_static_members.py`).
"""

from cluster import events as e
from cluster.simulation import Simulation
from tests.support.independent_recorder import IndependentRecorder


def held_by_two(simulation: Simulation) -> list[str]:
    """G2: no two current members of a group both hold a partition.

    A static member that missed a rebalance stays a member, and holds its old partitions until it hears of it.
    """
    found = []
    for broker in simulation.brokers.values():
        for hosted in broker.group_coordinators.hosted.values():
            if hosted.coordinator.resigned or hosted.coordinator.loading:
                continue
            for group in hosted.coordinator.groups.values():
                holders: dict[str, str] = {}
                for consumer in simulation.consumers.values():
                    known = group.members.get(consumer.member_id)
                    if consumer.group != group.group_id or known is None or not consumer.alive:
                        continue
                    if consumer.generation != group.generation and consumer.instance_id is not None:
                        continue
                    for name in consumer.owned:
                        other = holders.setdefault(name, consumer.name)
                        if other != consumer.name:
                            found.append(
                                f"{name} is held by {other} and {consumer.name}, both members of {group.group_id}"
                            )
    return found


def committed_beyond(simulation: Simulation, recorder: IndependentRecorder) -> list[str]:
    """G7: what a group has committed is there."""
    found = []
    for name, group in simulation.view.groups.items():
        for partition, reader in group.readers.items():
            end = recorder.leaders[partition].log.log_end
            if reader.committed > end:
                found.append(f"{name} has committed {reader.committed} of {end} in {partition}")
    return found


class GroupCheck:
    """G1 to G3 whenever something is told that could break them; a sink.

    A coordinator that loads a group may take a generation back that was never written.
    """

    def __init__(self) -> None:
        self.simulation: Simulation | None = None
        self._generations: dict[str, int] = {}
        self._members: dict[str, dict[str, str]] = {}
        self.wrong: list[str] = []

    def __call__(self, event: e.Event) -> None:
        if isinstance(event, e.GroupLoaded):
            self._generations[event.group] = event.generation
            self._members[event.group] = dict(event.members)
        elif isinstance(event, e.JoinBarrierCompleted):
            before = self._generations.get(event.group, 0)
            if event.generation != before + 1:
                self.wrong.append(f"{event.group}: generation {event.generation} after {before}")
            self._generations[event.group] = event.generation
            self._members[event.group] = dict(event.members)
        elif isinstance(event, e.GroupDeleted):
            self._generations[event.group] = 0
        elif isinstance(event, e.StaticMemberReplaced):
            self._members.setdefault(event.group, {})[event.member_id] = event.member
        elif isinstance(event, e.GroupStabilized):
            self._dealt(event)
        elif isinstance(event, e.PartitionsAssigned) and self.simulation is not None:
            self.wrong += held_by_two(self.simulation)

    def _dealt(self, event: e.GroupStabilized) -> None:
        owners: dict[str, str] = {}
        members = self._members.get(event.group, {})
        for member_id, partitions in event.assignment.items():
            if member_id not in members:
                self.wrong.append(f"{event.group}: {member_id} was assigned partitions but is not a member")
            for name in partitions:
                if owners.setdefault(name, member_id) != member_id:
                    self.wrong.append(f"{event.group}: {name} was dealt to {owners[name]} and {member_id}")
