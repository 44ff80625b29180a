"""The active controller: broker registrations, partition leaders and in-sync replicas.

Theory of operation. Brokers register and send heartbeats. A broker without a heartbeat for `broker.session.timeout.ms`
is fenced: it leaves every ISR and loses its leaderships. Each change of leader raises the partition's leader epoch.
The metadata log's quorum is not modelled: this state survives its host. The next controller continues with it and
gives every broker a fresh session. Plain rules: `ControllerChannel` carries the messages.
Source: `ClusterControlManager`, `BrokerHeartbeatManager`, `ReplicationControlManager`.
"""

from collections.abc import Callable, Iterable
from typing import Final

from cluster.controller.elections import NO_LEADER, ElectionKind, elect, epoch_steps, isr_without
from cluster.events import BrokerFenced, BrokerUnfenced, Event, IsrChanged, LeaderElected, PartitionReassigned
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.names import topic_of
from cluster.protocol.placement.partition_metadata import CONTROLLER_SHRINKS
from cluster.protocol.placement.reassignments import (
    NO_REASSIGNMENT,
    Reassignment,
    cannot_revert,
    completed,
    reverted,
    toward,
    why_not_assigned,
)

PRODUCER_IDS_IN_BLOCK: Final = 1_000
CONTROLLED_SHUTDOWN: Final = "controlled shutdown"


class RequestRefused(Exception):  # noqa: N818 - a response to an administrator, not a bug
    """An election or a reassignment that an operator requested changes nothing; the message is Kafka's error."""


class Registration:
    """A broker's registration; `shutting_down` while a controlled shutdown is under way.

    `in_session`: the last heartbeat is not older than the session timeout, also after a clean stop.
    `metadata_version`: the newest metadata in its heartbeats; `shutdown_version`: that which moved its leaderships.
    """

    __slots__ = (
        "broker",
        "epoch",
        "fenced",
        "in_session",
        "last_contact_us",
        "metadata_version",
        "shutdown_version",
        "shutting_down",
    )

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.epoch, self.fenced, self.last_contact_us, self.shutting_down = -1, True, 0, False
        self.in_session, self.metadata_version, self.shutdown_version = False, 0, 0


class Controller:
    """The cluster's metadata and the rules that change it. `session_timeout_us` is `broker.session.timeout.ms`.

    `unclean_topics`: topics whose leader may come from outside the ISR (`unclean.leader.election.enable`).
    `min_insync_replicas`: the `min.insync.replicas` of each topic, which `PartitionReassigned` tells.
    """

    def __init__(self, brokers: Iterable[int], session_timeout_us: int, emit: Callable[[Event], None]) -> None:
        self.session_timeout_us = session_timeout_us
        self._emit = emit
        self.unclean_topics: dict[str, bool] = {}
        self.min_insync_replicas: dict[str, int] = {}
        self.brokers = {broker: Registration(broker) for broker in brokers}
        self.partitions: dict[str, PartitionMetadata] = {}
        self._next_epoch = 0
        self._next_producer_id = 0

    def producer_ids(self) -> int:
        """Allocate a block of producer ids to one broker (AllocateProducerIds); returns the first id."""
        first = self._next_producer_id
        self._next_producer_id += PRODUCER_IDS_IN_BLOCK
        return first

    def live(self) -> tuple[int, ...]:
        """The brokers that may be in ISRs: registered, not fenced, not shutting down."""
        return tuple(broker for broker in self.brokers if self._eligible(broker))

    def _eligible(self, broker: int) -> bool:
        registration = self.brokers[broker]
        return not registration.fenced and not registration.shutting_down

    def create(self, partition: str, replicas: tuple[int, ...]) -> None:
        """Create a partition: the replicas of live brokers are in sync, the first one leads. At least one is live."""
        live = tuple(broker for broker in replicas if self._eligible(broker))
        self._elected(partition, PartitionMetadata(live[0], 0, replicas, live), "created")

    def _elected(self, partition: str, metadata: PartitionMetadata, reason: str) -> None:
        self.partitions[partition] = metadata
        self._emit(
            LeaderElected(
                partition=partition,
                leader=metadata.leader,
                leader_epoch=metadata.leader_epoch,
                replicas=metadata.replicas,
                isr=metadata.isr,
                reason=reason,
            )
        )

    # --- registration and sessions --------------------------------------------------------------------------------

    def register(self, broker: int, now_us: int) -> list[str] | None:
        """Register a started broker; returns the partitions that change, or None while its old session is valid.

        Kafka answers DUPLICATE_BROKER_REGISTRATION then, and the broker retries. A clean stop ends no session.
        Source: `ClusterControlManager.registerBroker`.
        """
        registration = self.brokers[broker]
        if registration.in_session:
            return None
        self._next_epoch += 1
        registration.epoch, registration.fenced, registration.in_session = self._next_epoch, False, True
        registration.shutting_down, registration.last_contact_us = False, now_us
        registration.metadata_version = 0
        self._emit(BrokerUnfenced(broker=broker, broker_epoch=registration.epoch))
        changed = []
        for name, metadata in self.partitions.items():
            may_lead = broker in metadata.isr or (broker in metadata.replicas and self._unclean(name))
            if metadata.leader == NO_LEADER and may_lead:
                changed.append(name)
                self._elect(name, metadata, metadata.isr, "broker returned")
        return changed

    def _unclean(self, partition: str) -> bool:
        return self.unclean_topics.get(topic_of(partition), False)

    def heartbeat(self, broker: int, epoch: int, now_us: int, metadata_version: int) -> bool:
        """Take a heartbeat; False when the broker, or this epoch of it, is fenced and has to register again."""
        registration = self.brokers[broker]
        if registration.epoch == epoch:
            registration.last_contact_us, registration.metadata_version = now_us, metadata_version
        return registration.epoch == epoch and not registration.fenced

    def take_over(self, now_us: int) -> None:
        """A new active controller has received no heartbeat: the sessions of all unfenced brokers begin anew."""
        for registration in self.brokers.values():
            registration.last_contact_us, registration.in_session = now_us, not registration.fenced

    def next_deadline_us(self) -> int | None:
        """The earliest end of a session; None without sessions."""
        contacts = [one.last_contact_us for one in self.brokers.values() if one.in_session]
        return min(contacts) + self.session_timeout_us if contacts else None

    def expire(self, now_us: int) -> list[str]:
        """Fence every broker whose session is over; returns the partitions that change.

        A broker that stopped cleanly is fenced once more. Source: `ReplicationControlManager.maybeFenceOneStaleBroker`.
        """
        changed: list[str] = []
        for registration in self.brokers.values():
            if registration.in_session and registration.last_contact_us + self.session_timeout_us <= now_us:
                registration.in_session = False
                changed += self._fence(registration, "session expired", "broker fenced")
        return changed

    def shut_down(self, broker: int, version: int) -> list[str]:
        """Begin a controlled shutdown: move the leaderships, leave every ISR; returns the partitions that change.

        `version` is that of the resulting metadata. Until all other brokers have it, clients may still ask this one.
        """
        registration = self.brokers[broker]
        registration.shutting_down, registration.shutdown_version = True, version
        return self._leave_all(broker, CONTROLLED_SHUTDOWN)

    def leads(self, broker: int) -> bool:
        """Whether the broker leads a partition."""
        return any(metadata.leader == broker for metadata in self.partitions.values())

    def may_stop(self, broker: int) -> bool:
        """Whether a broker that shuts down may end: every other live broker has the metadata of the new leaders.

        Source: `BrokerHeartbeatManager.calculateNextBrokerState`.
        """
        version = self.brokers[broker].shutdown_version
        return not self.leads(broker) and all(self.brokers[one].metadata_version >= version for one in self.live())

    def complete_shutdown(self, broker: int) -> list[str]:
        """Fence a broker whose shutdown is complete; returns the partitions that change."""
        registration = self.brokers[broker]
        registration.shutting_down = True
        return self._fence(registration, CONTROLLED_SHUTDOWN, CONTROLLED_SHUTDOWN)

    def _fence(self, registration: Registration, fenced_for: str, reason: str) -> list[str]:
        registration.fenced = True
        self._emit(BrokerFenced(broker=registration.broker, reason=fenced_for))
        return self._leave_all(registration.broker, reason)

    def _leave_all(self, broker: int, reason: str) -> list[str]:
        changed = []
        for name, metadata in self.partitions.items():
            if broker in metadata.isr or metadata.leader == broker:
                changed.append(name)
                self._leave(name, metadata, broker, reason)
        return changed

    def _leave(self, name: str, metadata: PartitionMetadata, broker: int, reason: str) -> None:
        isr = isr_without(metadata.isr, broker)
        if metadata.leader == broker:
            self._elect(name, metadata, isr, reason)
        elif isr != metadata.isr:
            self.partitions[name] = metadata.changed(metadata.leader, metadata.leader_epoch, isr)
            self._emit(IsrChanged(partition=name, isr=isr, reason=f"{CONTROLLER_SHRINKS}{broker} {reason}"))

    def _elect(self, name: str, metadata: PartitionMetadata, isr: tuple[int, ...], reason: str) -> None:
        kind: ElectionKind = "UNCLEAN" if self._unclean(name) else "ONLINE"
        election = elect(kind, metadata.replicas, isr, metadata.leader, self._eligible)
        leader_epoch = metadata.leader_epoch + 1
        chosen = metadata.changed(election.leader, leader_epoch, tuple(election.isr))
        self._elected(name, chosen, reason if election.clean else "unclean")

    # --- elections on request ------------------------------------------------------------------------------------

    def elect_leader(self, kind: ElectionKind, partition: str) -> None:
        """ElectLeaders (API 43), preferred or unclean. Raises RequestRefused with Kafka's error code.

        Source: `ReplicationControlManager.electLeader`.
        """
        metadata = self.partitions[partition]
        preferred = kind == "PREFERRED"
        if metadata.leader == metadata.replicas[0] if preferred else metadata.leader != NO_LEADER:
            raise RequestRefused(f"ELECTION_NOT_NEEDED: {partition} is led by broker-{metadata.leader}")
        election = elect(kind, metadata.replicas, metadata.isr, metadata.leader, self._eligible)
        if election.leader in (NO_LEADER, metadata.leader):
            error = "PREFERRED_LEADER_NOT_AVAILABLE" if preferred else "ELIGIBLE_LEADERS_NOT_AVAILABLE"
            raise RequestRefused(f"{error}: no such replica of {partition} is there")
        self._lead_by(
            partition, metadata, election.leader, tuple(election.isr), "preferred" if preferred else "unclean"
        )

    def lead_leaderless(self, topic: str) -> list[str]:
        """Elect leaders for a topic's partitions without one, where possible; returns the partitions that change."""
        changed = []
        for name, metadata in self.partitions.items():
            if metadata.leader != NO_LEADER or topic_of(name) != topic:
                continue
            if any(self._eligible(broker) for broker in metadata.replicas):
                changed.append(name)
                self._elect(name, metadata, metadata.isr, "broker returned")
        return changed

    def move_leader(self, partition: str) -> None:
        """Move the leadership to the next in-sync replica. Raises RequestRefused when there is none."""
        metadata = self.partitions[partition]
        for broker in metadata.replicas:
            if broker != metadata.leader and broker in metadata.isr and self._eligible(broker):
                self._lead_by(partition, metadata, broker, metadata.isr, "moved")
                return
        raise RequestRefused(f"{partition} has no other in-sync replica")

    def _lead_by(self, name: str, metadata: PartitionMetadata, leader: int, isr: tuple[int, ...], reason: str) -> None:
        self._elected(name, metadata.changed(leader, metadata.leader_epoch + 1, isr), reason)

    def balance(self, percentage: int) -> list[str]:
        """Return leaderships to preferred leaders that lack more than `percentage` of theirs; returns what changes.

        Source: `leader.imbalance.per.broker.percentage`.
        """
        preferred: dict[int, list[str]] = {}
        for name, metadata in self.partitions.items():
            preferred.setdefault(metadata.replicas[0], []).append(name)
        changed = []
        for broker, names in preferred.items():
            away = [name for name in names if self.partitions[name].leader != broker]
            if not self._eligible(broker) or len(away) * 100 <= percentage * len(names):
                continue
            for name in away:
                metadata = self.partitions[name]
                if broker in metadata.isr:
                    self._lead_by(name, metadata, broker, metadata.isr, "preferred")
                    changed.append(name)
        return changed

    # --- in-sync replicas -----------------------------------------------------------------------------------------

    def alter_isr(
        self, partition: str, leader: int, known: PartitionMetadata, isr: tuple[int, ...], reason: str
    ) -> bool:
        """AlterPartition of a leader whose metadata is `known`. False when it is refused.

        Another leader epoch is refused (FENCED_LEADER_EPOCH), and another partition epoch, also with an unchanged ISR
        (INVALID_UPDATE_VERSION). So is a new member that is not live (INELIGIBLE_REPLICA).
        Source: `ReplicationControlManager.validateAlterPartitionData`.
        """
        metadata = self.partitions[partition]
        if metadata.leader != leader or metadata.epochs != known.epochs:
            return False
        if any(broker != leader and broker not in metadata.isr and not self._eligible(broker) for broker in isr):
            return False
        ordered = tuple(broker for broker in metadata.replicas if broker in isr)
        if metadata.adding or metadata.removing:
            kind: ElectionKind = "UNCLEAN" if self._unclean(partition) else "ONLINE"
            self._rebuild(partition, _places(metadata), ordered, kind, ("completed", reason))
        elif ordered != metadata.isr:
            self.partitions[partition] = metadata.changed(leader, known.leader_epoch, ordered)
            self._emit(IsrChanged(partition=partition, isr=ordered, reason=reason))
        return True

    # --- reassignments --------------------------------------------------------------------------------------------

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """AlterPartitionReassignments (API 45): move a partition to other replicas. Raises RequestRefused.

        Source: `ReplicationControlManager.changePartitionReassignment`.
        """
        registered = [one.broker for one in self.brokers.values() if one.epoch >= 0]
        error = why_not_assigned(target, registered)
        if error:
            raise RequestRefused(f"INVALID_REPLICA_ASSIGNMENT: {error}")
        metadata = self.partitions[partition]
        self._rebuild(partition, toward(_places(metadata), target), metadata.isr, "ONLINE", ("started", ""))

    def cancel_reassignment(self, partition: str) -> None:
        """AlterPartitionReassignments without replicas: end a reassignment. Raises RequestRefused.

        Source: `ReplicationControlManager.cancelPartitionReassignment`.
        """
        metadata = self.partitions[partition]
        known, unclean = _places(metadata), self._unclean(partition)
        if not known.in_progress:
            raise RequestRefused(f"NO_REASSIGNMENT_IN_PROGRESS: {NO_REASSIGNMENT}")
        back = reverted(known, metadata.isr)
        if back.unclean and not unclean:
            raise RequestRefused(f"INVALID_REPLICA_ASSIGNMENT: {cannot_revert(partition)}")
        kind: ElectionKind = "UNCLEAN" if unclean else "ONLINE"
        reason = "unclean" if back.unclean else ""
        self._rebuild(partition, Reassignment(back.replicas), back.isr, kind, ("cancelled", reason))

    def _rebuild(
        self, name: str, places: Reassignment, isr: tuple[int, ...], kind: ElectionKind, why: tuple[str, str]
    ) -> None:
        """Write what a partition becomes with these replicas and this ISR; `why`: the step, and the ISR's reason.

        A reassignment that has arrived with this ISR is completed. Source: `PartitionChangeBuilder.build`.
        """
        metadata, (step, reason) = self.partitions[name], why
        arrived = completed(places, isr)
        if arrived is not None:
            places, isr = Reassignment(arrived[0]), arrived[1]
        election = elect(kind, places.replicas, isr, metadata.leader, self._eligible)
        leaves = any(broker not in places.replicas for broker in metadata.replicas)
        leads = election.leader != metadata.leader
        moved = places != _places(metadata)
        if not (moved or leads or election.isr != metadata.isr):
            return
        steps = epoch_steps(leader_changes=leads, replica_leaves=leaves)
        changed = metadata.moved(election.leader, metadata.leader_epoch + steps.leader_epoch, election.isr, places)
        if steps.leader_epoch:
            clean = election.clean and reason != "unclean"
            self._elected(name, changed, "reassigned" if clean else "unclean")
        else:
            self.partitions[name] = changed
            if election.isr != metadata.isr:
                self._emit(IsrChanged(partition=name, isr=election.isr, reason=reason))
        if moved:
            step = "completed" if step == "started" and not places.in_progress else step
            least = self.min_insync_replicas[topic_of(name)]
            self._emit(PartitionReassigned(partition=name, step=step, **places._asdict(), min_insync_replicas=least))


def _places(metadata: PartitionMetadata) -> Reassignment:
    return Reassignment(metadata.replicas, metadata.adding, metadata.removing)
