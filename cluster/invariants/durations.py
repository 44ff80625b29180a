"""Invariants of a group's durations, by the configuration of its members, never by a coordinator's own deadlines.

A duration is judged where nothing else explains it: not after the coordinator loaded the group again, not while its
process was paused, not while a fault delayed requests. The view's `members` have the configured values.
"""

from typing import Final

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.sentences import broken
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.state import GroupView

MS: Final = 1_000
TIMER_US: Final = 5_000  # the precision of timers
WRITTEN_US: Final = 5_500_000  # offsets.commit.timeout.ms, and half a second for the network
LATE_US: Final = 1_000_000
SETTLED_US: Final = 3_000_000  # delayed messages have arrived by then
NOT_WRITTEN: Final = "COORDINATOR_NOT_AVAILABLE"
_OF_ONE_PROCESS = (
    "kill", "stop", "stall", "pause_heartbeats", "fill_disk", "slow_disk", "abandon_transaction"
)  # fmt: skip


class _Watch:
    """A group's clocks since its coordinator loaded it, or was paused.

    `earliest_sign_us`, `latest_sign_us`: member id → bounds of the last sign of life at the coordinator.
    `commits`: member id → arrival of its last commit; `held_us`: since when delayed heartbeats are served.
    `began_us`, `joined_us`: instants of the open rebalance, or -1.
    """

    __slots__ = (
        "began_us",
        "checked_us",
        "commits",
        "earliest_sign_us",
        "heartbeats_us",
        "held_us",
        "initial",
        "joined_us",
        "latest_sign_us",
        "lost_us",
    )

    def __init__(self) -> None:
        self.earliest_sign_us: dict[str, int] = {}
        self.latest_sign_us: dict[str, int] = {}
        self.heartbeats_us: dict[str, int] = {}
        self.commits: dict[str, int] = {}
        self.held_us: dict[str, int] = {}
        self.began_us = self.joined_us = self.checked_us = self.lost_us = -1
        self.initial = False


class DurationInvariants:
    """The sentences about sessions, join barriers and heartbeats."""

    def __init__(self, spec: ScenarioSpec, view: ClusterView) -> None:
        self._view = view
        config = spec.broker_config(spec.brokers[0])
        delay_ms = config["group.initial.rebalance.delay.ms"]
        assert isinstance(delay_ms, int)
        self._delay_us = delay_ms * MS
        furthest_us = max((link.latency_us for link in spec.network.links), default=0)
        self._slack_us = 8 * int(max(spec.network.latency_us, furthest_us) * (1 + spec.network.jitter)) + 20 * MS
        self._watches: dict[str, _Watch] = {}
        self._timed_out_commits: dict[str, list[tuple[int, dict[str, int]]]] = {}  # by member id
        self._polled_us: dict[str, int] = {}  # member → its last call of poll() before a stall
        self._changed: dict[str, None] = {}  # processes whose configuration changed in flight
        self._disturbed_us = self._split_us = 0
        self._of_processes: dict[int, None] = {}  # faults that cut no link between brokers

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.GroupLoaded: self.group_loaded,
            e.GroupDeleted: self.group_loaded,
            e.GroupUnloaded: self.group_loaded,
            e.BrokerPaused: self.broker_held_up,
            e.BrokerResumed: self.broker_held_up,
            e.BrokerStopped: self.broker_held_up,
            e.FaultStarted: self.fault_began,
            e.CoordinatorLost: self.coordinator_lost,
            e.FaultEnded: self.fault_began,
            e.SettingChanged: self.setting_changed,
            e.HeartbeatAnswered: self.heartbeat_answered,
            e.SessionRenewed: self.session_renewed,
            e.OffsetsCommitted: self.offsets_committed,
            e.OffsetCommitRefused: self.offset_commit_refused,
            e.JoinReceived: self.join_received,
            e.SyncReceived: self.join_received,
            e.StaticMemberReplaced: self.static_member_replaced,
            e.MemberRemoved: self.member_removed,
            e.ApplicationStalled: self.application_stalled,
            e.MemberStateChanged: self.member_state_changed,
            e.RebalanceStarted: self.rebalance_started,
            e.JoinBarrierExtended: self.join_barrier_extended,
            e.JoinBarrierCompleted: self.join_barrier_completed,
            e.GroupStabilized: self.group_stabilized,
        }

    def _watch(self, group: str) -> _Watch:
        watch = self._watches.get(group)
        if watch is None:
            watch = self._watches[group] = _Watch()
        return watch

    # --- other explanations of a duration ---------------------------------------------------------------------------

    def group_loaded(self, event: e.GroupLoaded | e.GroupDeleted | e.GroupUnloaded) -> None:
        """Restart every clock of the group."""
        self._watches.pop(event.group, None)

    def broker_held_up(self, event: e.BrokerPaused | e.BrokerResumed | e.BrokerStopped) -> None:
        """Restart every clock: a paused or stopped broker's timers do not run."""
        self._disturbed_us = event.at_us
        self._watches.clear()

    def fault_began(self, event: e.FaultStarted | e.FaultEnded) -> None:
        """Note a disturbance: a fault delays requests, or delayed requests arrive after it."""
        self._disturbed_us = event.at_us
        if isinstance(event, e.FaultStarted) and event.fault_kind in _OF_ONE_PROCESS:
            self._of_processes[event.fault] = None
        elif event.fault not in self._of_processes:
            self._split_us = event.at_us

    def _split(self) -> bool:
        """Whether a deposed coordinator may still answer members that its successor misses."""
        return any(fault.kind not in _OF_ONE_PROCESS for fault in self._view.faults.values())

    def coordinator_lost(self, event: e.CoordinatorLost) -> None:
        """Note a lost connection: its heartbeat is repeated after `retry.backoff.ms`."""
        self._watch(event.group).lost_us = event.at_us

    def setting_changed(self, event: e.SettingChanged) -> None:
        """Stop judging changed processes: a running timer may have the old or the new value."""
        self._changed |= dict.fromkeys(event.processes)

    def _timeout_us(self, group: str) -> int:
        """The rebalance timeout: `max.poll.interval.ms` of all members (µs), or -1 if members differ."""
        found = -1
        for member in self._view.members.values():
            if member.group == group:
                if member.member in self._changed or found not in (-1, member.max_poll_interval_ms):
                    return -1
                found = member.max_poll_interval_ms
        return found * MS if found >= 0 else -1

    # --- sessions -----------------------------------------------------------------------------------------------------

    def heartbeat_answered(self, event: e.HeartbeatAnswered) -> None:
        """S1: this session restarts, the others have not expired; S4: the heartbeat is in its interval."""
        group = self._view.groups.get(event.group)
        if (
            group is None
            or group.consumer is not None  # its members have the broker's session and interval: E5
            or event.member_id not in group.members
            or event.error not in {"NONE", "REBALANCE_IN_PROGRESS"}
        ):
            return
        watch = self._watch(event.group)
        if event.member_id in watch.earliest_sign_us:  # else its session is not armed
            watch.earliest_sign_us[event.member_id] = watch.latest_sign_us[event.member_id] = event.at_us
        if group.state != "Stable" or event.error != "NONE":
            watch.heartbeats_us.clear()
            return
        self._rhythm(event, watch)
        if event.at_us - watch.checked_us > LATE_US:
            watch.checked_us = event.at_us
            self._overdue(event, group, watch)

    def _rhythm(self, event: e.HeartbeatAnswered, watch: _Watch) -> None:
        last_us = watch.heartbeats_us.get(event.member_id, -1)
        watch.heartbeats_us[event.member_id] = event.at_us
        member = self._view.members.get(event.member)
        if last_us < 0 and event.at_us - watch.commits.get(event.member_id, -WRITTEN_US) < WRITTEN_US:
            watch.held_us[event.member_id] = event.at_us
        if member is None or last_us < 0:
            return
        gap_us, interval_us = event.at_us - last_us, member.heartbeat_interval_ms * MS
        held_up_us = (
            WRITTEN_US if watch.commits.get(event.member_id, -1) >= last_us else 0
        )  # the heartbeat waits behind a commit
        if held_up_us:  # the previous heartbeat may have waited too, and both are late
            watch.held_us[event.member_id] = event.at_us
        if (
            last_us <= max(self._disturbed_us, watch.lost_us) + SETTLED_US
            or self._view.faults
            or event.member in self._changed
        ):
            return
        served_us = event.at_us - watch.held_us.get(event.member_id, -interval_us)
        all_at_once = served_us < interval_us  # heartbeats that waited behind it
        if gap_us < interval_us - self._slack_us and not all_at_once:
            broken("S4", event, f"{event.member} heartbeats again after {gap_us / MS:g} ms, not {interval_us / MS:g}")
        if gap_us > 2 * interval_us + self._slack_us + LATE_US + held_up_us:
            broken("S4", event, f"{event.member} heartbeats again after {gap_us / MS:g} ms, not {interval_us / MS:g}")

    def _overdue(self, event: e.HeartbeatAnswered, group: GroupView, watch: _Watch) -> None:
        for member_id, name in group.members.items():
            sign_us, member = watch.latest_sign_us.get(member_id), self._view.members.get(name)
            if sign_us is None or member is None or name in self._changed:
                continue
            silent_us = event.at_us - sign_us
            if silent_us > member.session_timeout_ms * MS + LATE_US:
                found = f"{name} is a member after {silent_us / MS:g} ms without a sign of life, its session lasts "
                broken("S1", event, f"{event.group}: {found}{member.session_timeout_ms} ms")

    def session_renewed(self, event: e.SessionRenewed) -> None:
        """Note a commit's arrival: a sign of life, even if the commit fails."""
        if self._view.groups[event.group].consumer is not None:
            return
        watch = self._watch(event.group)
        watch.commits[event.member_id] = event.at_us
        if event.member_id in watch.earliest_sign_us:
            watch.earliest_sign_us[event.member_id] = watch.latest_sign_us[event.member_id] = event.at_us

    def offsets_committed(self, event: e.OffsetsCommitted) -> None:
        """Note a commit as a sign of life up to 5.5 s earlier, with or without a SessionRenewed.

        A commit that had timed out before is no sign: it arrived at any earlier time.
        """
        given_up = self._timed_out_commits.get(event.member_id, [])
        late = (event.generation, event.offsets) in given_up
        if late:
            given_up.remove((event.generation, event.offsets))
        else:
            self._had_arrived(event)

    def offset_commit_refused(self, event: e.OffsetCommitRefused) -> None:
        """Note an accepted commit whose append failed: it renewed the session too."""
        if event.error == NOT_WRITTEN:
            self._timed_out_commits.setdefault(event.member_id, []).append((event.generation, event.offsets))
            self._had_arrived(event)

    def _had_arrived(self, event: e.OffsetsCommitted | e.OffsetCommitRefused) -> None:
        group = self._view.groups[event.group]
        if event.member_id in group.members and event.generation == group.generation and group.state == "Stable":
            signs = self._watch(event.group).earliest_sign_us
            signs[event.member_id] = max(signs.get(event.member_id, -1), event.at_us - WRITTEN_US)

    def join_received(self, event: e.JoinReceived | e.SyncReceived) -> None:
        """Stop the session's clock: it is not armed until the answer."""
        watch = self._watch(event.group)
        watch.earliest_sign_us.pop(event.member_id, None)
        watch.latest_sign_us.pop(event.member_id, None)

    def static_member_replaced(self, event: e.StaticMemberReplaced) -> None:
        """Start the new member id's session (the old id's again, if the replacement was not written)."""
        if self._view.groups[event.group].consumer is not None:
            return
        watch = self._watch(event.group)
        watch.earliest_sign_us.pop(event.old_member_id, None)
        watch.latest_sign_us.pop(event.old_member_id, None)
        watch.earliest_sign_us[event.member_id] = watch.latest_sign_us[event.member_id] = event.at_us

    def member_removed(self, event: e.MemberRemoved) -> None:
        """S1, S2: the coordinator removes no member too early."""
        if self._view.groups[event.group].consumer is not None:
            return
        watch = self._watch(event.group)
        sign_us = watch.earliest_sign_us.pop(event.member_id, -1)
        watch.heartbeats_us.pop(event.member_id, None)
        watch.latest_sign_us.pop(event.member_id, None)
        timeout_us, member = self._timeout_us(event.group), self._view.members.get(event.member)
        known = member is not None and event.member not in self._changed and sign_us > self._split_us
        expired = event.reason == RebalanceCause.SESSION_EXPIRED
        if expired and sign_us >= 0 and member is not None and known and not self._split():
            lasted_us = event.at_us - sign_us
            if lasted_us < member.session_timeout_ms * MS - TIMER_US:
                found = f"{event.member} expired {lasted_us / MS:g} ms after its last sign of life, not "
                broken("S1", event, f"{event.group}: {found}{member.session_timeout_ms}")
        clocks: dict[str, int] = {
            RebalanceCause.POLL_INTERVAL_EXCEEDED: watch.began_us,
            RebalanceCause.SYNC_TIMED_OUT: watch.joined_us,
        }
        since_us = -1 if event.client_reason else clocks.get(event.reason, -1)  # else the member left by itself
        if since_us >= 0 and timeout_us >= 0 and event.at_us - since_us < timeout_us - TIMER_US:
            lasted_us = event.at_us - since_us
            found = f"{event.member} is removed ({event.reason}) after {lasted_us / MS:g} ms, not {timeout_us / MS:g}"
            broken("S2", event, f"{event.group}: {found}")

    def application_stalled(self, event: e.ApplicationStalled) -> None:
        """Note the last call of poll() before a stall."""
        self._polled_us[event.member] = event.at_us

    def member_state_changed(self, event: e.MemberStateChanged) -> None:
        """S2: a member leaves after max.poll.interval.ms without poll(), and not sooner."""
        if event.state != "Left" or not event.reason.startswith("max.poll.interval.ms"):
            return
        member = self._view.members[event.member]
        waited_us = event.at_us - max(member.last_poll_us, self._polled_us.get(event.member, -1))
        if event.member not in self._changed and waited_us < member.max_poll_interval_ms * MS - TIMER_US:
            found = f"{event.member} leaves {waited_us / MS:g} ms after poll(), not {member.max_poll_interval_ms}"
            broken("S2", event, f"{event.group}: {found}")

    # --- the join barrier ---------------------------------------------------------------------------------------------

    def rebalance_started(self, event: e.RebalanceStarted) -> None:
        """Note the opening of the barrier."""
        watch = self._watch(event.group)
        watch.began_us, watch.joined_us, watch.initial = event.at_us, -1, event.initial
        watch.heartbeats_us.clear()

    def join_barrier_extended(self, event: e.JoinBarrierExtended) -> None:
        """Restart the barrier's clock: without a member it waits for the same time again."""
        watch = self._watch(event.group)
        if watch.began_us >= 0 and not watch.initial:
            watch.began_us = event.at_us

    def join_barrier_completed(self, event: e.JoinBarrierCompleted) -> None:
        """S2, S3: a barrier waits at most the rebalance timeout, an initial one at least the initial delay."""
        watch, timeout_us = self._watch(event.group), self._timeout_us(event.group)
        waited_us = event.at_us - watch.began_us
        if watch.began_us >= 0:
            if timeout_us >= 0 and waited_us > max(timeout_us, self._delay_us) + LATE_US:
                found = f"the barrier closed after {waited_us / MS:g} ms, max.poll.interval.ms is {timeout_us / MS:g}"
                broken("S2", event, f"{event.group}: {found}")
            if watch.initial and waited_us < self._delay_us - TIMER_US:
                found = f"the first barrier closed after {waited_us / MS:g} ms, the initial delay is "
                broken("S3", event, f"{event.group}: {found}{self._delay_us / MS:g} ms")
        watch.began_us, watch.joined_us = -1, event.at_us
        watch.earliest_sign_us = dict.fromkeys(event.members, event.at_us)
        watch.latest_sign_us = dict(watch.earliest_sign_us)

    def group_stabilized(self, event: e.GroupStabilized) -> None:
        """S2: members without a SyncGroup are removed by then; the answered members' sessions restart."""
        watch, timeout_us = self._watch(event.group), self._timeout_us(event.group)
        waited_us = event.at_us - watch.joined_us
        if watch.joined_us >= 0 and 0 <= timeout_us < waited_us - WRITTEN_US - LATE_US:
            found = f"its members waited {waited_us / MS:g} ms for their assignment, not {timeout_us / MS:g} at most"
            broken("S2", event, f"{event.group}: {found}")
        watch.earliest_sign_us = {
            **dict.fromkeys(event.assignment, event.at_us),
            **watch.earliest_sign_us,
        }  # a member without a SyncGroup keeps its clock
        watch.latest_sign_us = dict.fromkeys(event.assignment, event.at_us)
        watch.held_us = dict.fromkeys(event.assignment, event.at_us)  # heartbeats behind a parked SyncGroup
        watch.heartbeats_us.clear()
