"""A driver for a group coordinator in tests: a log that commits at once or when told, calls that remember their answer.

After every decision it compares the coordinator with `Shadow`, a reader that knows nothing but the events: whatever the
coordinator holds and events do not tell is a failure.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeVar, cast

from cluster import events as e
from cluster.coordinators.consumer_group.topic_metadata import TopicMetadata
from cluster.coordinators.decision import Decision
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.records import GroupRecord
from cluster.protocol.api import Request, Response
from cluster.protocol.errors import ErrorCode
from tests.support.consumer_group_shadow import ConsumerGroupShadow, ConsumerGroupShadows

MS = 1_000

Kind = TypeVar("Kind", bound=e.Event)


class Call:
    """One request on its way, and its answer when it has one."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.response: Response | None = None

    @property
    def pending(self) -> bool:
        return self.response is None

    def answer(self, response: Response) -> None:
        assert self.response is None, f"answered twice: {self.request}: {self.response}, then {response}"
        self.response = response


class Desk:
    """A coordinator with its partition and a clock."""

    def __init__(
        self, config: dict[str, object] | None = None, *, commits: bool = True, shadow: bool = True, now_us: int = 0
    ) -> None:
        self.config = config or {}
        self.now_us = now_us
        self.commits = commits  # whether appended records are committed at once
        self.log: list[GroupRecord] = []
        self.events: list[e.Event] = []
        self.waiting: list[Callable[[ErrorCode, int], Decision]] = []
        self.shadow = Shadow() if shadow else None
        self._uuids = itertools.count()
        self.topics = TopicMetadata()
        self._ends: list[int] = []  # the end of the log that each of `waiting` waits for
        self._committed = 0
        self.coordinator = self._new()
        self.run(self.coordinator.loaded(now_us))

    def _new(self) -> GroupCoordinator:
        return GroupCoordinator(
            1, self.config, lambda: f"00000000-0000-0000-0000-{next(self._uuids):012d}", self.topics
        )

    def send(self, request: Request) -> Call:
        call = Call(request)
        self.run(self.coordinator.handle(request, call, self.now_us))
        return call

    def run(self, decision: Decision, *, append_error: ErrorCode = ErrorCode.NONE) -> None:
        appended = append_error is ErrorCode.NONE or not append_error.definite
        for record in cast(tuple[GroupRecord, ...], decision.records) if appended else ():
            self.log.append(record)
            self.coordinator.replay(record)
        for call, response in decision.replies:
            assert isinstance(call, Call)
            call.answer(response)
        told = decision.appended() if appended and decision.appended is not None else []
        waits = (decision.records and appended and not self.commits) or (decision.after_log and self.waiting)
        self._tell([*decision.events, *told, *(decision.waiting if waits else ())])
        in_the_same_turn = decision.then is not None and (decision.after_log or not appended)
        if self.shadow is not None and (waits or not in_the_same_turn):
            self.shadow.compare(self.coordinator)
        if decision.then is None:
            return
        if waits:
            self.waiting.append(decision.then)
            self._ends.append(len(self.log))
        else:
            if not self.waiting:
                self._committed = len(self.log)
            self.run(decision.then(append_error, self.now_us))

    def _tell(self, events: list[e.Event]) -> None:
        for event in events:
            self.events.append(event)
            if self.shadow is not None:
                self.shadow.fold(event)

    def settle(self, error: ErrorCode = ErrorCode.NONE) -> None:
        """The fate of the oldest append that waits."""
        end = self._ends.pop(0)
        if error is ErrorCode.NONE:
            self._committed = max(self._committed, end)
        self.run(self.waiting.pop(0)(error, self.now_us))

    def jump_to(self, now_us: int) -> None:
        """Let the clock jump, as Kafka's mock timer does: everything that became due meanwhile happens now."""
        self.now_us = now_us
        while (due_us := self.coordinator.next_deadline_us()) is not None and due_us <= now_us:
            self.run(self.coordinator.on_deadline(now_us))

    def walk_to(self, now_us: int) -> None:
        """Let time pass: everything happens when it is due."""
        while (due_us := self.coordinator.next_deadline_us()) is not None and due_us <= now_us:
            self.now_us = max(self.now_us, due_us)
            self.run(self.coordinator.on_deadline(self.now_us))
        self.now_us = now_us

    def wait(self, milliseconds: int) -> None:
        self.walk_to(self.now_us + milliseconds * MS)

    def fail_over(self, *, loses: bool = False) -> GroupCoordinator:
        """Resign and load the log into a new coordinator; returns the old one. `loses`: what was not committed."""
        old, kept = self.coordinator, self._committed if self.waiting else len(self.log)
        self.run(old.unload(self.now_us))
        while self.waiting:
            self.settle(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if loses:
            del self.log[kept:]
        self._committed = len(self.log)
        self.coordinator = self._new()
        for record in self.log:
            self.coordinator.replay(record)
        self.run(self.coordinator.loaded(self.now_us))
        return old

    def emitted(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]


class ShadowGroup:
    """What the events of one group add up to."""

    def __init__(self) -> None:
        self.state = "Empty"
        self.generation = 0
        self.protocol = ""
        self.leader = ""
        self.members: dict[str, str] = {}
        self.pending: dict[str, str] = {}
        self.joined: set[str] = set()
        self.sessions: dict[str, int] = {}
        self.assignment: dict[str, tuple[str, ...]] = {}
        self.offsets: dict[str, int] = {}
        self.closes_at_us = -1

    def leave(self, member_id: str) -> None:
        self.joined.discard(member_id)
        for known in (self.members, self.pending, self.sessions, self.assignment):
            known.pop(member_id, None)


class Shadow:
    """A read model of groups, made from nothing but events."""

    def __init__(self) -> None:
        self.groups: dict[str, ShadowGroup] = {}
        self.consumer_groups = ConsumerGroupShadows()

    def fold(self, event: e.Event) -> None:
        """Take an event of a group of either protocol."""
        if isinstance(event, e.GroupProtocolConverted):
            former = self.groups.pop(event.group, None) or self.consumer_groups.groups.pop(event.group)
            if event.protocol == "consumer":
                self.consumer_groups.groups[event.group] = ConsumerGroupShadow(former.offsets)
            else:
                self.groups[event.group] = ShadowGroup()
                self.groups[event.group].offsets = former.offsets
        elif isinstance(event, e.ClassicGroupUpgraded):
            former = self.groups.pop(event.group)
            self.consumer_groups.groups[event.group] = ConsumerGroupShadow(former.offsets)
            self.consumer_groups.fold(event)
        elif isinstance(event, e.ConsumerGroupDowngraded):
            left = self.consumer_groups.groups.pop(event.group)
            classic = self.groups[event.group] = ShadowGroup()
            classic.state, classic.generation, classic.protocol = "Stable", event.generation, event.protocol
            classic.leader, classic.members = event.leader, dict(event.members)
            classic.assignment, classic.sessions = dict(event.assignment), dict(event.session_deadlines_us)
            classic.offsets = left.offsets
        elif not self.consumer_groups.fold(event):
            self._fold_classic(event)

    def _fold_classic(self, event: e.Event) -> None:  # noqa: C901, PLR0912, PLR0915 - one case for each kind of event
        group = self.groups.setdefault(getattr(event, "group", ""), ShadowGroup())
        match event:
            case e.MemberIdAssigned():
                group.pending[event.member_id] = event.member
                group.sessions[event.member_id] = event.expires_at_us
            case e.RebalanceStarted():
                group.state = "PreparingRebalance"
                group.closes_at_us = event.closes_at_us
                group.sessions.update(event.session_deadlines_us)
            case e.JoinBarrierExtended():
                group.closes_at_us = event.closes_at_us
            case e.JoinReceived():
                assert event.newcomer == (event.member_id not in group.members)
                group.pending.pop(event.member_id, None)
                group.members[event.member_id] = event.member
                group.assignment.setdefault(event.member_id, ())
                group.sessions[event.member_id] = event.session_deadline_us
                group.joined.add(event.member_id)
                group.leader = event.leader
            case e.StaticMemberReplaced():
                assignment = group.assignment[event.old_member_id]
                group.leave(event.old_member_id)
                group.members[event.member_id] = event.member
                group.assignment[event.member_id] = assignment
                group.sessions[event.member_id] = event.session_deadline_us
                group.leader = event.leader
            case e.JoinBarrierCompleted():
                group.state = "CompletingRebalance" if event.members else "Empty"
                group.generation, group.protocol, group.leader = event.generation, event.protocol, event.leader
                assert group.members == event.members, "the barrier names members of which no event was emitted"
                group.sessions.update(event.session_deadlines_us)
                group.joined.clear()
            case e.ProtocolElected():
                self._recount(event, group.protocol)
            case e.SyncReceived():
                group.sessions[event.member_id] = event.session_deadline_us
            case e.GroupStabilized():
                group.state = "Stable"
                group.assignment = dict(event.assignment)
                group.sessions.update(event.session_deadlines_us)
            case e.MemberRemoved():
                assert event.member_id in group.members or event.member_id in group.pending
                group.leave(event.member_id)
                group.leader = event.leader
            case e.HeartbeatAnswered() | e.OffsetCommitRefused() | e.SessionRenewed():
                if event.session_deadline_us >= 0:
                    group.sessions[event.member_id] = event.session_deadline_us
            case e.OffsetsCommitted():
                if event.session_deadline_us >= 0:
                    group.sessions[event.member_id] = event.session_deadline_us
                group.offsets.update(event.offsets)
            case e.OffsetsExpired() | e.OffsetsDeleted():
                for partition in event.partitions:
                    del group.offsets[partition]
            case e.GroupDeleted() | e.GroupUnloaded():
                del self.groups[event.group]
            case e.GroupLoaded():
                group.state, group.generation = event.state, event.generation
                group.protocol, group.leader = event.protocol, event.leader
                group.members, group.assignment = dict(event.members), dict(event.assignment)
                group.sessions, group.offsets = dict(event.session_deadlines_us), dict(event.offsets)
            case e.TransactionOffsetsRefused() | e.GroupConversionRefused():
                pass  # it changes no group
            case _:
                raise AssertionError(f"a group coordinator does not tell {event}")

    @staticmethod
    def _recount(event: e.ProtocolElected, elected: str) -> None:
        """Count the votes anew: each member's first protocol that all offer; in a tie the earliest vote decides."""
        assert event.protocol == elected
        assert len(set(event.offers.values())) > 1, "members with like offers need no election to be told"
        common = set.intersection(*(set(offer) for offer in event.offers.values()))
        ballots = [next(name for name in offer if name in common) for offer in event.offers.values()]
        assert list(event.votes.values()) == ballots
        most = max(ballots.count(name) for name in ballots)
        assert event.protocol == next(name for name in ballots if ballots.count(name) == most)

    def compare(self, coordinator: GroupCoordinator) -> None:
        """The coordinator holds exactly what its events told."""
        for group_id, group in coordinator.groups.items():
            shadow = self.groups.get(group_id) or ShadowGroup()
            assert (group.state.value, group.generation) == (shadow.state, shadow.generation)
            assert (group.protocol, group.leader_name) == (shadow.protocol, shadow.leader)
            assert {member_id: member.client_id for member_id, member in group.members.items()} == shadow.members
            assert group.pending == shadow.pending
            unrecorded = set(group.parked_joins) - shadow.joined  # a static member whose new id is being written
            assert shadow.joined <= set(group.parked_joins)
            assert all(group.members[member_id].instance_id for member_id in unrecorded)
            assert group.assignment == shadow.assignment
            assert {name: record.offset for name, record in group.offsets.items()} == shadow.offsets
            sessions = {member_id: member.session_deadline_us for member_id, member in group.members.items()}
            assert sessions == {m: at for m, at in shadow.sessions.items() if m not in shadow.pending}
            if shadow.state == "PreparingRebalance":
                assert group.barrier_deadline_us == shadow.closes_at_us
        for group_id, shadow in self.groups.items():
            assert group_id in coordinator.groups or not shadow.members
        self.consumer_groups.compare(coordinator)
