"""Random behaviour of legal clients, with failovers and lost appends; after every step the coordinator is sane.

G1: in one generation a partition has one owner. G3: generations only grow, as long as the coordinator stays.
G6: no commit of an old generation, a removed member or a fenced instance is stored. G7: what is committed is what was
committed last and is safe. Beside that `Desk` holds that events tell everything and no call is answered twice; at the
end a fresh coordinator that replays the log knows what the old one had in it, and the members settle.
"""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster import events as e
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.group.states import GroupState
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitResponse,
    SyncGroupResponse,
)
from tests.support.coordinator_driver import MS, Call, Desk
from tests.support.group_client import GROUP, Client, error_of

PARTITIONS = tuple(f"orders-{number}" for number in range(4))
CLIENTS = 4
REQUEST_TIMEOUT_US = 30_000 * MS


class Process(Client):
    """A consumer that does what Kafka's client does with every answer, one step at a time."""

    def __init__(self, desk: Desk, name: str, instance_id: str | None) -> None:
        super().__init__(
            desk, name, instance_id=instance_id, session_ms=10_000, rebalance_ms=20_000, protocols=("range", "sticky")
        )
        self.alive = True
        self.sync_call: Call | None = None
        self.settled = False
        self.wants_join = True
        self.asked_us = 0

    def restart(self) -> None:
        """A new process: it has no member id."""
        self.member_id, self.generation = "", -1
        self.call = self.sync_call = None
        self.alive, self.settled, self.wants_join = True, False, True

    def step(self) -> None:
        if not self.alive:
            return
        waiting = self.call or self.sync_call
        if waiting is not None and waiting.pending:
            if self.desk.now_us >= self.asked_us + REQUEST_TIMEOUT_US:  # evicted while its SyncGroup was parked
                self.call = self.sync_call = None
                self.wants_join = True
        elif self.call is not None:
            self._joined(self.joined)
        elif self.sync_call is not None:
            self._synced()
        elif self.wants_join:
            self.wants_join = False
            self.settled = False
            self.asked_us = self.desk.now_us
            self.call = self.desk.send(self.request())

    def _joined(self, answer: JoinGroupResponse) -> None:
        self.call = None
        if answer.error is ErrorCode.NONE:
            assignment: dict[str, tuple[str, ...]] = {}
            if answer.leader == self.member_id and not answer.skip_assignment:
                ids = [member.member_id for member in answer.members]
                assignment = {m: PARTITIONS[index :: len(ids)] for index, m in enumerate(ids)}
            self.asked_us = self.desk.now_us
            self.sync_call = self.sync(assignment)
        else:
            self._refused(answer.error)

    def _synced(self) -> None:
        assert self.sync_call is not None
        answer = self.sync_call.response
        assert isinstance(answer, SyncGroupResponse)
        self.sync_call = None
        if answer.error is ErrorCode.NONE:
            self.settled = True
        else:
            self._refused(answer.error)

    def _refused(self, error: ErrorCode) -> None:
        if error is ErrorCode.FENCED_INSTANCE_ID:
            self.alive = False
        elif error is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id, self.generation = "", -1
        self.settled = False
        self.wants_join = True

    def heartbeat(self) -> None:
        if self.alive and self.settled:
            error = self.beat()
            if error is not ErrorCode.NONE:
                self._refused(error)


class Flight:
    """A coordinator, its clients, and what must hold."""

    def __init__(self, statics: int) -> None:
        self.desk = Desk({"group.initial.rebalance.delay.ms": 3_000, "group.max.size": 10})
        self.clients = [
            Process(self.desk, f"m-{index}", f"i-{index}" if index < statics else None) for index in range(CLIENTS)
        ]
        for client in self.clients[1:]:
            client.alive = False  # started later
        self.generation = 0
        self.offset = 0
        self.safe: dict[str, int] = {}

    def act(self, action: str, number: int, amount: int) -> None:
        client = self.clients[number]
        match action:
            case "everyone":
                for each in self.clients:
                    each.step()
                self._wait(amount * 50)
            case "wait":
                self._wait(amount * 100)
            case "commit":
                self._commit(client)
            case "fail over":
                self._fail_over()
            case "slow log" | "log" | "log fails":
                self._log(action)
            case _:
                self._lead(client, number, action)
        self._check()

    def _lead(self, client: Process, number: int, action: str) -> None:
        """Something befalls one client."""
        if action == "start" and (not client.alive or client.instance_id is not None):
            client.restart()
        elif action == "kill":
            client.alive = False
        elif action == "leave" and client.alive and client.settled and client.instance_id is None:
            self.desk.send(LeaveGroupRequest(GROUP, (LeavingMember(client.member_id),)))
            client.alive = False
        elif action == "evict":
            self.desk.send(LeaveGroupRequest(GROUP, (LeavingMember("", f"i-{number}"),)))
        else:
            client.step()

    def _log(self, action: str) -> None:
        if action == "slow log" or not self.desk.waiting:
            self.desk.commits = action != "slow log"
        else:
            self.desk.settle(ErrorCode.NONE if action == "log" else ErrorCode.REQUEST_TIMED_OUT)

    def _wait(self, milliseconds: int) -> None:
        for _ in range(0, milliseconds, 1_000):
            self.desk.wait(1_000)
            for client in self.clients:
                client.heartbeat()

    def _commit(self, client: Process) -> None:
        """G6: only a member of the generation, with its own instance, may commit."""
        group = self.desk.coordinator.groups.get(GROUP)
        if group is None or client.generation < 0 or not client.member_id:
            return
        member = group.members.get(client.member_id)
        legal = (
            member is not None
            and member.instance_id == client.instance_id
            and client.generation == group.generation
            and group.state is not GroupState.COMPLETING_REBALANCE
        )
        self.offset += 1
        appended = len(self.desk.log)
        call = client.commit(self.offset)
        assert (len(self.desk.log) > appended) == legal
        if legal and not call.pending:
            assert error_of(call) is ErrorCode.NONE
            assert group.offsets["orders-0"].offset == self.offset
        elif not legal:
            assert isinstance(call.response, OffsetCommitResponse)
            assert error_of(call) is not ErrorCode.NONE

    def _fail_over(self) -> None:
        self.desk.fail_over()
        group = self.desk.coordinator.groups.get(GROUP)
        self.generation = group.generation if group is not None else 0

    def _check(self) -> None:
        group = self.desk.coordinator.groups.get(GROUP)
        if group is None:
            self.generation = 0
            return
        assert group.generation >= self.generation, "G3"
        self.generation = group.generation
        owned = [partition for member in group.members.values() for partition in member.assignment]
        if group.state is GroupState.STABLE:
            assert len(owned) == len(set(owned)), "G1"
        for partition, record in group.offsets.items():
            logged = group.logged_offsets[partition]
            assert 0 <= record.offset <= logged.offset <= self.offset, "G7"
            if not self.desk.waiting and not group.pending_commits:
                assert record is logged, "G7"
        self._check_memory()

    def _check_memory(self) -> None:
        """What the coordinator keeps in several places agrees."""
        for group in self.desk.coordinator.groups.values():
            ids = {member.instance_id: m for m, member in group.members.items() if member.instance_id is not None}
            assert group.static_members == ids
            assert set(group.parked_joins) <= set(group.members)
            assert set(group.parked_syncs) <= set(group.members)
            static = all(group.members[member_id].instance_id for member_id in group.parked_joins)
            assert (static and group.state is GroupState.STABLE) or (
                not group.parked_joins or group.state is GroupState.PREPARING_REBALANCE
            )
            assert not group.parked_syncs or group.state is GroupState.COMPLETING_REBALANCE
            assert (group.leader in group.members) == bool(group.members)
            for member_id, member in group.members.items():
                parked = member_id in group.parked_joins or member_id in group.parked_syncs
                armed = member.session_deadline_us != -1
                assert armed or parked
                assert not (armed and parked) or member.is_new or member.instance_id

    def check_replay(self) -> None:
        """A fresh coordinator has from the log what the old one put there."""
        fresh = GroupCoordinator(2, self.desk.config, str)
        for record in self.desk.log:
            fresh.replay(record)
        durable = [
            {group_id: (g.stored, g.logged_offsets, g.transactional_offsets) for group_id, g in c.groups.items()}
            for c in (self.desk.coordinator, fresh)
        ]
        assert durable[0] == durable[1]

    def settle(self) -> None:
        """Whatever happened: when nothing else goes wrong, everyone alive is in one Stable generation."""
        self.desk.commits = True
        while self.desk.waiting:
            self.desk.settle()
        for _ in range(80):
            for client in self.clients:
                client.step()
                client.step()
            self._wait(1_000)
            self._check()
        alive = [client for client in self.clients if client.alive]
        group = self.desk.coordinator.groups.get(GROUP)
        if not alive:
            assert group is None or group.state is GroupState.EMPTY
            return
        assert group is not None
        assert group.state is GroupState.STABLE
        assert sorted(group.members) == sorted(client.member_id for client in alive)
        assert all(client.settled and client.generation == group.generation for client in alive)
        owned = sorted(partition for member in group.members.values() for partition in member.assignment)
        assert owned == list(PARTITIONS)


WEIGHTS = {
    "step": 8,
    "everyone": 6,
    "wait": 2,
    "start": 3,
    "commit": 5,
    "kill": 1,
    "leave": 1,
    "evict": 1,
    "fail over": 1,
    "slow log": 1,
    "log": 4,
    "log fails": 1,
}
ACTIONS = [action for action, weight in WEIGHTS.items() for _ in range(weight)]
AMOUNTS = [5, 20, 60, 120]


def fly(statics: int, actions: list[tuple[str, int, int]]) -> Flight:
    flight = Flight(statics)
    for action, number, amount in actions:
        flight.act(action, number, amount)
    flight.check_replay()
    flight.settle()
    flight.check_replay()
    return flight


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, CLIENTS),
    st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, CLIENTS - 1), st.sampled_from(AMOUNTS)), max_size=120),
)
def test_whatever_legal_clients_do(statics: int, actions: list[tuple[str, int, int]]) -> None:
    fly(statics, actions)


def test_long_walks_reach_every_event() -> None:
    emitted = set()
    for seed in range(60):
        draws = Random(seed)
        actions = [
            (draws.choice(ACTIONS), draws.randrange(CLIENTS), draws.choice(AMOUNTS))
            for _ in range(draws.randrange(20, 250))
        ]
        emitted |= {type(event) for event in fly(seed % (CLIENTS + 1), actions).desk.events}
    assert emitted >= {
        e.MemberIdAssigned,
        e.RebalanceStarted,
        e.JoinBarrierExtended,
        e.JoinReceived,
        e.StaticMemberReplaced,
        e.JoinBarrierCompleted,
        e.SyncReceived,
        e.GroupStabilized,
        e.MemberRemoved,
        e.HeartbeatAnswered,
        e.SessionRenewed,
        e.OffsetsCommitted,
        e.OffsetCommitRefused,
        e.GroupLoaded,
        e.GroupUnloaded,
    }
