"""Invariants of groups and their members: owners, generations, commits, positions (G, R11, T3)."""

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.sentences import broken
from cluster.invariants.transactions import TransactionInvariants
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view import ClusterView
from cluster.view.rebalances import ConsumerGroupView
from cluster.view.state import GroupView, MemberView


class GroupInvariants:
    """The sentences about groups. `logs`: each partition's history; `transactions`: judges transactional offsets."""

    def __init__(self, view: ClusterView, logs: dict[str, LogState], transactions: TransactionInvariants) -> None:
        self._view, self._logs, self._transactions = view, logs, transactions
        self._generations: dict[str, tuple[int, int]] = {}  # the last generation, and the coordinator's leader epoch
        self._committed: dict[str, dict[str, None]] = {}  # group → partitions with a committed offset
        self._unknown: dict[str, dict[str, set[str]]] = {}  # group → member → what it reads, and was not assigned
        self._beats: dict[str, tuple[int | None, str, int]] = {}  # member id → last answered heartbeat, member, session
        self._paused: dict[str, dict[str, None]] = {}  # member → the partitions that it has paused
        self._moved_by_operator: dict[str, None] = {}  # groups whose offsets an operator moved: any offset is legal

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.JoinBarrierCompleted: self.join_barrier_completed,
            e.ClassicGroupUpgraded: self.group_upgraded,
            e.ConsumerGroupDowngraded: self.group_downgraded,
            e.GroupProtocolConverted: self.group_converted,
            e.GroupLoaded: self.group_loaded,
            e.ConsumerGroupLoaded: self.consumer_group_loaded,
            e.GroupDeleted: self.group_deleted,
            e.GroupStabilized: self.group_stabilized,
            e.PartitionsAssigned: self.partitions_assigned,
            e.PartitionsPaused: self.partitions_paused,
            e.PartitionsResumed: self.partitions_resumed,
            e.PartitionsRevoked: self.partitions_resumed,
            e.RebalanceListenerReturned: self.rebalance_listener_returned,
            e.MemberStarted: self.member_started,
            e.PollReturned: self.poll_returned,
            e.PositionsMovedOn: self.poll_returned,
            e.PositionsReset: self.positions_reset,
            e.OffsetsCommitted: self.offsets_committed,
            e.OffsetsExpired: self.offsets_expired,
            e.OffsetsDeleted: self.offsets_expired,
            e.JoinReceived: self.join_received,
            e.HeartbeatAnswered: self.heartbeat_answered,
            e.MemberRemoved: self.member_removed,
        }

    # --- the coordinator ----------------------------------------------------------------------------------------------

    def join_barrier_completed(self, event: e.JoinBarrierCompleted) -> None:
        """G3. A group that a new coordinator did not find in its log restarts at generation 1."""
        epoch = self._epoch(event.group)
        before, known = self._generations.get(event.group, (0, epoch))
        if event.generation != before + 1 and not (event.generation == 1 and epoch > known):
            broken("G3", event, f"{event.group}: generation {event.generation} after {before}")
        self._generations[event.group] = event.generation, epoch

    def group_upgraded(self, event: e.ClassicGroupUpgraded) -> None:
        """Note what members still read that their group does not know, because its last assignment was broken off.

        Kafka then forgets all assignments (`GroupMetadataManager.resetAndPropagateAssignmentWithError`), and
        `ConsumerGroup.fromClassicGroup` takes over none.
        """
        if not any(event.assigned.values()):
            members = self._view.members
            self._unknown[event.group] = {name: set(members[name].owned) for name in event.members.values()}

    def group_downgraded(self, event: e.ConsumerGroupDowngraded) -> None:
        """Note where generations go on, at the group epoch, and what members read that is not in their targets.

        `ClassicGroup.fromConsumerGroup` writes the targets as the members' assignments. A group that is upgraded again
        before such a member joins takes its partition for free (`ConsumerGroup.fromClassicGroup`).
        """
        self._generations[event.group] = event.generation, self._epoch(event.group)
        members = self._view.members
        self._unknown[event.group] = {
            name: {*members[name].owned} - {*event.assignment.get(member_id, ())}
            for member_id, name in event.members.items()
        }

    def group_converted(self, event: e.GroupProtocolConverted) -> None:
        """Forget the generations of an empty group: one of the other protocol begins anew."""
        self._generations.pop(event.group, None)

    def _epoch(self, group: str) -> int:
        """The leader epoch of the group's coordinator partition."""
        log = self._log(group)
        return log.taken if log is not None else -1

    def _log(self, group: str) -> LogState | None:
        return self._logs.get(self._view.groups[group].coordinator_partition)

    def group_loaded(self, event: e.GroupLoaded) -> None:
        """G10. A loading coordinator may revert a generation that was never written."""
        self.consumer_group_loaded(event)
        self._generations[event.group] = event.generation, self._epoch(event.group)

    def consumer_group_loaded(self, event: e.GroupLoaded | e.ConsumerGroupLoaded) -> None:
        """G10."""
        known, log = self._committed.setdefault(event.group, {}), self._log(event.group)
        missing = [name for name in known if name not in event.offsets]
        if missing and (log is None or not log.lossy):
            found = f"broker-{event.broker} does not know the offsets of {', '.join(missing)}"
            broken("G10", event, f"{event.group}: {found}")
        for name in missing:  # its other offsets may not be committed yet
            del known[name]
        if isinstance(event, e.ConsumerGroupLoaded):  # members begin a session of the broker's, classic ones too: E5
            for member_id in event.members:
                self._beats.pop(member_id, None)

    def group_deleted(self, event: e.GroupDeleted) -> None:
        """Forget a deleted group."""
        self._committed.pop(event.group, None)
        self._generations[event.group] = 0, self._epoch(event.group)

    def group_stabilized(self, event: e.GroupStabilized) -> None:
        """G1."""
        owners: dict[str, str] = {}
        members = self._view.groups[event.group].members
        for member_id, partitions in event.assignment.items():
            if member_id not in members:
                broken("G1", event, f"{event.group}: {member_id} was assigned partitions but is not a member")
            for name in partitions:
                other = owners.setdefault(name, member_id)
                if other != member_id:
                    broken("G1", event, f"{event.group}: {name} was assigned to {other} and {member_id}")

    def offsets_committed(self, event: e.OffsetsCommitted) -> None:
        """G6, G7, T5. The event comes when the commit is committed: in order with the event of a Stable group."""
        group = self._view.groups[event.group]
        self._committed.setdefault(event.group, {}).update(dict.fromkeys(event.offsets))
        if not event.member and event.generation < 0:
            self._transactions.offsets_counted(event, group.coordinator_partition)
        if group.consumer is not None:
            self._epoch_committed(event, group.consumer)
        elif group.state == "Stable" and event.generation >= 0:
            if event.generation != group.generation:
                found = f"{event.member} committed with generation {event.generation}"
                broken("G6", event, f"{event.group}: {found}, the group is Stable in {group.generation}")
            member = self._view.members.get(event.member)
            if event.member_id not in group.members and event.member_id and member and not member.instance_id:
                found = f"{event.member} ({event.member_id}) committed but is not a member"
                broken("G6", event, f"{event.group}: {found}")
        if event.group in self._moved_by_operator:
            return
        for name, offset in event.offsets.items():
            log = self._logs[name]
            if offset > log.highest_watermark and not log.lossy:
                broken(
                    "G7",
                    event,
                    f"{event.group} committed {offset} in {name}, the high watermark is {log.highest_watermark}",
                )

    @staticmethod
    def _epoch_committed(event: e.OffsetsCommitted, consumer: ConsumerGroupView) -> None:
        """G6: the epoch may have risen since the coordinator took the commit, and never falls."""
        known = consumer.members.get(event.member_id)
        if known is not None and event.generation > known.epoch >= 0:
            found = f"{event.member} committed with epoch {event.generation}, its coordinator gave it {known.epoch}"
            broken("G6", event, f"{event.group}: {found}")

    def offsets_expired(self, event: e.OffsetsExpired | e.OffsetsDeleted) -> None:
        """Forget offsets that are dropped."""
        for name in event.partitions:
            self._committed.get(event.group, {}).pop(name, None)

    def join_received(self, event: e.JoinReceived) -> None:
        """Note the session timeout that counts from now on."""
        before = self._beats.get(event.member_id)
        self._beats[event.member_id] = None if before is None else before[0], event.member, event.session_timeout_ms

    def heartbeat_answered(self, event: e.HeartbeatAnswered) -> None:
        """Note the restart of a session. In the new protocol an answer may wait for records; the session does not."""
        if event.session_deadline_us < 0:
            return
        known = self._view.members.get(event.member)
        before = self._beats.get(event.member_id)
        session_ms = 0 if before is None else before[2]
        if known is not None and known.member_id == event.member_id:  # else its process has a successor
            # A longer one that is set in flight counts from the next JoinGroup on.
            session_ms = min(session_ms or known.session_timeout_ms, known.session_timeout_ms)
        since_us = event.at_us
        if self._view.groups[event.group].consumer is not None:
            since_us = event.session_deadline_us - session_ms * 1_000
        self._beats[event.member_id] = since_us, event.member, session_ms

    def member_removed(self, event: e.MemberRemoved) -> None:
        """G9."""
        at_us, member, session_ms = self._beats.pop(event.member_id, (None, "", 0))
        if event.reason != RebalanceCause.SESSION_EXPIRED or at_us is None:
            return
        lasted_ms = (event.at_us - at_us) // 1_000
        if lasted_ms < session_ms:
            found = f"{member} expired {lasted_ms} ms after a heartbeat, its session lasts {session_ms} ms"
            broken("G9", event, f"{event.group}: {found}")

    # --- the clients --------------------------------------------------------------------------------------------------

    def partitions_assigned(self, event: e.PartitionsAssigned) -> None:
        """G2: another holder is no current member, or a static member that missed a rebalance."""
        group, members = self._view.groups[event.group], self._view.members
        if not group.other_holders or not _current(group, members[event.member]):
            return
        for name in event.partitions:
            for holder in group.other_holders.get(name, ()):
                unknown = self._unknown.get(event.group, {}).get(holder, ())
                if _current(group, members[holder]) and name not in unknown:
                    found = f"{name} is held by {holder} and {event.member}"
                    broken("G2", event, f"{event.group}: {found}, both members in generation {group.generation}")

    def partitions_paused(self, event: e.PartitionsPaused) -> None:
        """Note the partitions: poll() returns none of their records."""
        self._paused.setdefault(event.member, {}).update(dict.fromkeys(event.partitions))

    def partitions_resumed(self, event: e.PartitionsResumed | e.PartitionsRevoked) -> None:
        """Forget the partitions; one that is revoked and assigned again is not paused."""
        for name in event.partitions if self._paused else ():
            self._paused.get(event.member, {}).pop(name, None)
        for name in event.partitions if event.group in self._unknown else ():
            self._unknown[event.group].get(event.member, set()).discard(name)

    def rebalance_listener_returned(self, event: e.RebalanceListenerReturned) -> None:
        """G17."""
        group = self._view.groups[event.group]
        log = self._log(event.group)
        if event.group in self._moved_by_operator or (log is not None and log.lossy):
            return
        for name, offset in event.offsets.items():
            reader = group.readers.get(name)
            committed = -1 if reader is None else reader.committed
            if committed < offset:
                found = f"{event.member} revokes {name} at {offset}, {event.group} has committed {committed}"
                broken("G17", event, found)

    def member_started(self, event: e.MemberStarted) -> None:
        """Forget what an earlier process had paused, and what it read."""
        self._paused.pop(event.member, None)
        self._unknown.get(event.group, {}).pop(event.member, None)

    def positions_reset(self, event: e.PositionsReset) -> None:
        """Note an operator's seek: any offset is legal after it."""
        if event.reason == "seek":
            self._moved_by_operator[event.group] = None

    def poll_returned(self, event: e.PollReturned | e.PositionsMovedOn) -> None:
        """R11, T3, G16: consumers read only committed, decided records of partitions that are not paused."""
        if self._paused and isinstance(event, e.PollReturned):
            for name in event.positions:
                if name in self._paused.get(event.member, ()):
                    broken("G16", event, f"{event.member} gets records of {name}, which it has paused")
        committed = self._view.groups[event.group].read_committed
        for name, position in event.positions.items():
            log = self._logs[name]
            if position > log.highest_watermark and not log.lossy:
                found = (
                    f"{event.member} has read {name} up to {position}, the high watermark is {log.highest_watermark}"
                )
                broken("R11", event, found)
            if committed and log.transactional and position > log.stable and not log.lossy:
                found = f"{event.member} has read {name} up to {position}, the last stable offset is {log.stable}"
                broken("T3", event, found)


def _current(group: GroupView, member: MemberView) -> bool:
    """Whether a running consumer is a member in the current generation. A static one may have missed a rebalance."""
    if not member.alive or member.member_id not in group.members:
        return False
    return member.generation == group.generation or not member.instance_id
