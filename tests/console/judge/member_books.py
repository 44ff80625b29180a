"""A consumer by the rules of KafkaConsumer alone: poll loop, heartbeat thread, owned partitions."""

import re
from collections.abc import Callable, Iterable
from typing import ClassVar

import msgspec

from cluster import events as e
from tests.console.judge.grammar import Holds

BEATS_IN = ("Syncing", "Stable", "Revoking", "RECONCILING", "STABLE")


class MemberBook(msgspec.Struct):
    """`busy_since_us`: poll() has returned (or the application stands still) since then; -1 while poll() runs.

    `beats_from_us`: the heartbeat thread was enabled last, by the answer to JoinGroup; `heard_us` and `heard`: when its
    last heartbeat was answered, and with which error. `phases`: (instant, what the poll loop does from then on).
    """

    name: str
    group: str
    instance_id: str
    session_us: int
    beat_us: int
    poll_us: int
    alive: bool = False
    frozen: bool = False
    started: bool = False
    beats_held: bool = False
    stalled: bool = False
    state: str = "Left"
    generation: int = -1
    member_id: str = ""
    coordinator: int = -1
    busy_since_us: int = -1
    beats_from_us: int = -1
    heard_us: int = -1
    first_poll_us: int = -1
    heard: str = ""
    beats: list[tuple[int, str]] = []
    phases: list[tuple[int, str]] = []
    busy: list[tuple[int, int]] = []
    owned: dict[str, None] = {}
    paused: dict[str, int] = {}  # partition → when pause() was called for it
    positions: dict[str, int] = {}
    fetched: list[tuple[str, e.RecordsFetched, int]] = []
    offers: tuple[str, ...] = ()
    next_offers: tuple[str, ...] = ()
    removed_for: str = ""

    def held(self) -> dict[str, tuple[e.RecordsFetched, int]]:
        """Of each partition, the Fetch whose records it holds, and the position then."""
        return {name: (told, position) for name, told, position in self.fetched}

    @property
    def in_poll(self) -> bool:
        """Whether poll() is under way."""
        return self.busy_since_us < 0

    def leaves(self, partition: str) -> bool:
        """Whether it reads nothing of a partition that it has: frozen, stalled, or pause() was called."""
        return self.frozen or self.stalled or partition in self.paused

    def silent(self, member_id: str) -> bool:
        """Whether no process sends heartbeats for this id: heartbeats carry the current id of the process."""
        if not self.alive or self.frozen:
            return True
        return self.member_id != member_id and not (self.instance_id and not self.member_id)

    def next_beat_us(self) -> int:
        """When the heartbeat thread sends next, by the coordinator's last answer; -1 while it is disabled.

        `sendJoinGroupRequest` disables it, a successful answer enables it and starts its timer anew.
        """
        if not self.alive or self.state not in BEATS_IN:
            return -1
        last_us = max(self.beats_from_us, self.heard_us)
        return last_us + self.beat_us if last_us >= 0 else -1


class MemberBooks:
    """All consumers."""

    def __init__(self) -> None:
        self.members: dict[str, MemberBook] = {}
        self._of_groups: dict[str, tuple[str, ...]] = {}

    def note(self, event: e.Event) -> None:
        """Record one event."""
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def holders(self, group: str, partition: str) -> list[str]:
        """Members of a group that hold a partition, in their own view; without fenced members, which read no more."""
        able = (one for one in self.members.values() if one.group == group and one.state != "Fenced")
        return [one.name for one in able if partition in one.owned]

    def paused_fact(self, at_ms: int, among: Callable[[str], Iterable[str]]) -> tuple[str, Holds]:
        """The fact that a member called pause() for a partition: the first one paused of those that are asked about.

        `among`: those partitions, given the one that is named.
        """

        def called(m: "re.Match[str]") -> bool:
            paused, named = self.members[m[1]].paused, m[2]
            instants = {name: paused[name] for name in among(named) if name in paused}
            first = named in instants and instants[named] == min(instants.values())
            others = sum(at_us == paused[named] for at_us in paused.values()) - 1 if first else -1
            return first and paused[named] // 1_000 == at_ms and int(m[3] or 0) == others

        return r"(\S+) called pause\(\) for (\S+?)(?: and (\d+) more)?", called

    def _declared(self, event: e.MemberDeclared) -> None:
        known = self.members.get(event.member)
        self.members[event.member] = fresh = MemberBook(
            event.member,
            event.group,
            event.instance_id,
            event.session_timeout_ms * 1_000,
            event.heartbeat_interval_ms * 1_000,
            event.max_poll_interval_ms * 1_000,
        )
        fresh.offers = fresh.next_offers = self._of_groups[event.group]
        if known is not None:
            fresh.offers, fresh.next_offers = known.offers, known.next_offers
            fresh.removed_for = known.removed_for
            fresh.phases, fresh.beats, fresh.busy, fresh.started = known.phases, known.beats, known.busy, known.started

    def _group(self, event: e.GroupDeclared) -> None:
        self._of_groups[event.group] = event.assignors

    def _will_offer(self, event: e.MemberAssignorsDeclared) -> None:
        self.members[event.member].next_offers = event.assignors

    def _started(self, event: e.MemberStarted) -> None:
        member = self.members[event.member]
        member.offers = member.next_offers
        member.alive = member.started = True
        member.frozen = member.beats_held = member.stalled = False
        member.state, member.member_id, member.generation, member.coordinator = "Joining", "", -1, -1
        member.busy_since_us = member.beats_from_us = member.heard_us = member.first_poll_us = -1
        member.heard = ""
        member.phases.append((event.at_us, "joining"))

    def _starting_up(self, event: e.MemberStartingUp) -> None:
        self.members[event.member].first_poll_us = event.until_us

    def _stopped(self, event: e.MemberStopped) -> None:
        member = self.members[event.member]
        member.alive = member.frozen = member.beats_held = member.stalled = False
        member.state = "Left" if event.how == "stop" else "Dead"
        member.owned, member.positions, member.paused, member.busy_since_us = {}, {}, {}, -1
        member.fetched = []
        member.phases.append((event.at_us, "dead"))

    def _paused(self, event: e.MemberPaused) -> None:
        self.members[event.member].frozen = True
        self.members[event.member].phases.append((event.at_us, "frozen"))

    def _resumed(self, event: e.MemberResumed) -> None:
        member = self.members[event.member]
        member.frozen = False
        member.phases.append((event.at_us, _doing(member)))

    def _state(self, event: e.MemberStateChanged) -> None:
        member = self.members[event.member]
        member.state, member.member_id, member.generation = event.state, event.member_id, event.generation
        if event.state == "Syncing":
            member.beats_from_us = event.at_us
        member.phases.append((event.at_us, _doing(member)))

    def _epoch(self, event: e.MemberEpochChanged) -> None:
        member = self.members[event.member]
        member.member_id, member.generation = event.member_id, event.epoch

    def _found(self, event: e.CoordinatorFound) -> None:
        self.members[event.member].coordinator = event.broker

    def _lost(self, event: e.CoordinatorLost) -> None:
        self.members[event.member].coordinator = -1

    def _assigned(self, event: e.PartitionsAssigned) -> None:
        self.members[event.member].owned.update(dict.fromkeys(event.partitions))

    def _revoked(self, event: e.PartitionsRevoked) -> None:
        member = self.members[event.member]
        for name in event.partitions:
            member.owned.pop(name, None)
            member.paused.pop(name, None)
            member.positions.pop(name, None)

    def _fetched(self, event: e.RecordsFetched) -> None:
        member = self.members[event.member]
        member.fetched += [(name, event, member.positions[name]) for name in event.records]

    def _dropped(self, event: e.FetchedRecordsDropped) -> None:
        member = self.members[event.member]
        member.fetched = [one for one in member.fetched if one[0] not in event.partitions]

    def _pause_called(self, event: e.PartitionsPaused) -> None:
        known = self.members[event.member].paused
        self.members[event.member].paused = dict.fromkeys(event.partitions, event.at_us) | known

    def _resume_called(self, event: e.PartitionsResumed) -> None:
        for name in event.partitions:
            del self.members[event.member].paused[name]

    def _positions(self, event: e.PositionsReset | e.PositionsMovedOn) -> None:
        self.members[event.member].positions.update(event.positions)

    def _given_up(self, event: e.PositionsRolledBack) -> None:
        for name in event.partitions:
            self.members[event.member].positions.pop(name, None)

    def _out_of_range(self, event: e.PositionOutOfRange) -> None:
        self.members[event.member].positions.pop(event.partition, None)

    def _truncated(self, event: e.PositionTruncated) -> None:
        if event.diverging == -1 and event.reset != "none":
            self.members[event.member].positions.pop(event.partition, None)  # else one follows, or the application ends

    def _poll_returned(self, event: e.PollReturned) -> None:
        member = self.members[event.member]
        member.busy_since_us = event.at_us
        member.positions.update(event.positions)
        known = event.positions
        read = [one for one in member.fetched if known.get(one[0], -1) >= one[1].next_offsets[one[0]]]
        member.fetched = [one for one in member.fetched if one not in read]

    def _poll_started(self, event: e.PollStarted) -> None:
        member = self.members[event.member]
        if not member.in_poll:
            member.busy.append((member.busy_since_us, event.at_us))
        member.busy_since_us, member.stalled = -1, False
        member.phases.append((event.at_us, _doing(member)))

    def _listens(self, event: e.RebalanceListenerCalled) -> None:
        self.members[event.member].busy_since_us = event.at_us

    def _listened(self, event: e.RebalanceListenerReturned) -> None:
        self.members[event.member].busy_since_us = -1

    def _stalled(self, event: e.ApplicationStalled) -> None:
        member = self.members[event.member]
        member.stalled = True
        member.busy_since_us = event.at_us if member.in_poll else member.busy_since_us
        member.phases.append((event.at_us, "stalled"))

    def _held(self, event: e.HeartbeatsPaused) -> None:
        self.members[event.member].beats_held = event.paused

    def _heard(self, event: e.HeartbeatAnswered) -> None:
        member = self.members.get(event.member)
        if member is not None:
            member.heard_us, member.heard = event.at_us, event.error
            member.beats.append((event.at_us, event.error))

    def _removed(self, event: e.MemberRemoved) -> None:
        if event.member in self.members:
            self.members[event.member].removed_for = event.reason

    def _set(self, event: e.SettingChanged) -> None:
        keys = {
            "session.timeout.ms": "session_us",
            "heartbeat.interval.ms": "beat_us",
            "max.poll.interval.ms": "poll_us",
        }
        if event.effect == "now" and event.key in keys:
            for name in event.processes:
                if name in self.members:
                    setattr(self.members[name], keys[event.key], int(event.value) * 1_000)

    _HANDLERS: ClassVar[dict[type[e.Event], Callable[..., None]]] = {
        e.GroupDeclared: _group,
        e.MemberDeclared: _declared,
        e.MemberAssignorsDeclared: _will_offer,
        e.MemberStarted: _started,
        e.MemberStartingUp: _starting_up,
        e.MemberStopped: _stopped,
        e.MemberPaused: _paused,
        e.MemberResumed: _resumed,
        e.MemberStateChanged: _state,
        e.MemberEpochChanged: _epoch,
        e.CoordinatorFound: _found,
        e.CoordinatorLost: _lost,
        e.PartitionsAssigned: _assigned,
        e.PartitionsRevoked: _revoked,
        e.RecordsFetched: _fetched,
        e.FetchedRecordsDropped: _dropped,
        e.PartitionsPaused: _pause_called,
        e.PartitionsResumed: _resume_called,
        e.PositionsReset: _positions,
        e.PositionsMovedOn: _positions,
        e.PositionsRolledBack: _given_up,
        e.PositionOutOfRange: _out_of_range,
        e.PositionTruncated: _truncated,
        e.PollReturned: _poll_returned,
        e.PollStarted: _poll_started,
        e.RebalanceListenerCalled: _listens,
        e.RebalanceListenerReturned: _listened,
        e.ApplicationStalled: _stalled,
        e.HeartbeatsPaused: _held,
        e.HeartbeatAnswered: _heard,
        e.MemberRemoved: _removed,
        e.SettingChanged: _set,
    }


def _doing(member: MemberBook) -> str:
    """The phase of the poll loop in a state of its client."""
    if not member.alive and member.started:
        return "dead"
    doing = {
        "Joining": "joining",
        "Syncing": "syncing",
        "Stable": "reading",
        "Assigned": "reading",
        "Revoking": "revoking",
        "UNSUBSCRIBED": "joining",
        "JOINING": "joining",
        "FENCED": "joining",
        "STALE": "joining",
        "RECONCILING": "reconciling",
        "ACKNOWLEDGING": "reading",
        "STABLE": "reading",
    }
    return doing.get(member.state, "dead")
