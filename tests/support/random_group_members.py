"""Random members of a group of the new protocol, for hypothesis: no partition twice, and convergence.

The members are as clumsy as a client may be: they give up partitions late, miss answers, vanish and come back. The
coordinator answers only what is committed, so that whatever a failover forgets, no member was told.
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cluster.protocol.errors import ErrorCode
from tests.support.consumer_group_client import GROUP, Member, add_topics, desk_with
from tests.support.coordinator_driver import Call

NAMES = ("one", "two", "three", "four")
TOPICS = ("orders", "payments")
members = st.sampled_from(NAMES)


class Client(Member):
    """A member that may miss answers; `awaits` is its request under way, `alive` whether its process runs."""

    alive = False
    awaits: Call | None = None
    pods = 0

    def start(self, topics: tuple[str, ...]) -> None:
        self.pods += 1
        self.member_id, self.topics, self.alive = f"{self.name}-{self.pods}", topics, True
        self.reset()

    def reset(self) -> None:
        """Begin anew: it has no partitions, and joins."""
        self.epoch, self.owned, self.told = 0, (), ()
        self.awaits = self.send(0, (), full=True)

    def read(self) -> None:
        """Take the answer if it is there. Its application gives up partitions, and begins with new ones, later."""
        if self.awaits is None or self.awaits.pending or not self.alive:
            return
        answer = self.take(self.awaits)
        self.awaits = None
        if answer.error in {ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND}:
            self.reset()
        elif answer.error is not ErrorCode.NONE:
            self.miss()  # it finds its coordinator again

    def miss(self) -> None:
        """Its answer is lost: it says all that it knows with its next heartbeat."""
        self.awaits = None
        if self.alive:
            if not self.epoch:
                self.owned = self.told = ()
            self.awaits = self.send(self.epoch, self.owned, full=True)

    def heartbeat(self, *, says: bool) -> None:
        if self.alive and self.awaits is None:
            if says:  # it has done what it was told to
                self.owned = self.told
            self.awaits = self.send(self.epoch, self.owned if says else None)


class Members(RuleBasedStateMachine):
    """Four clients, one coordinator after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = {"orders": 3, "payments": 2}
        self.desk = desk_with(self.counts, commits=False)
        self.clients = {name: Client(self.desk, name) for name in NAMES}
        self.epoch = 0

    @initialize()
    def first(self) -> None:
        self.clients["one"].start(TOPICS)

    @rule(name=members, topics=st.sampled_from([("orders",), ("orders", "payments"), ("payments",)]))
    def start(self, name: str, topics: tuple[str, ...]) -> None:
        if not self.clients[name].alive:
            self.clients[name].start(topics)

    @rule(name=members)
    def kill(self, name: str) -> None:
        self.clients[name].alive, self.clients[name].owned = False, ()

    @rule(name=members)
    def leave(self, name: str) -> None:
        client = self.clients[name]
        if client.alive:
            client.alive, client.owned = False, ()
            client.send(-1)

    @rule(name=members, says=st.booleans())
    def heartbeat(self, name: str, says: bool) -> None:
        self.clients[name].heartbeat(says=says)

    @rule(name=members, says=st.booleans())
    def exchange(self, name: str, says: bool) -> None:
        """A heartbeat whose answer comes at once."""
        self.clients[name].heartbeat(says=says)
        while self.desk.waiting:
            self.desk.settle()
        self.clients[name].read()

    @rule(name=members)
    def read(self, name: str) -> None:
        self.clients[name].read()

    @rule(name=members)
    def miss(self, name: str) -> None:
        self.clients[name].miss()

    @rule(count=st.integers(1, 4))
    def commit(self, count: int) -> None:
        for _ in range(min(count, len(self.desk.waiting))):
            self.desk.settle()

    @rule(loses=st.booleans())
    def fail_over(self, loses: bool) -> None:
        self.desk.fail_over(loses=loses)

    @rule(milliseconds=st.sampled_from([100, 1_000, 5_000, 31_000, 46_000]))
    def wait(self, milliseconds: int) -> None:
        self.desk.wait(milliseconds)

    @rule(topic=st.sampled_from(TOPICS))
    def add_partition(self, topic: str) -> None:
        self.counts[topic] += 1
        add_topics(self.desk, self.counts)

    @invariant()
    def no_partition_has_two_current_members(self) -> None:
        group = self.desk.coordinator.consumer_groups.get(GROUP)
        if group is None:
            return
        held: dict[str, str] = {}
        for client in self.clients.values():
            member = group.members.get(client.member_id)
            if member is None or not client.alive:
                continue
            assert client.epoch <= max(group.epoch, member.epoch, 0) or self.desk.waiting, client.name
            for name in client.owned:
                assert name not in held, f"{name} is read by {held[name]} and {client.name}"
                held[name] = client.name

    @invariant()
    def what_a_member_owns_is_of_one_member(self) -> None:
        group = self.desk.coordinator.consumer_groups.get(GROUP)
        if group is not None:
            owned = [
                (name, m.member_id) for m in group.members.values() for name in (*m.assigned, *m.pending_revocation)
            ]
            assert dict(owned) == group.owners
            assert len(owned) == len(group.owners)

    def teardown(self) -> None:
        """Once nothing is lost any more, every partition of a subscribed topic has one reader."""
        for _ in range(60):
            while self.desk.waiting:
                self.desk.settle()
            for client in self.clients.values():
                client.read()
                client.heartbeat(says=True)
            self.desk.wait(1_000)
        topics = {topic for client in self.clients.values() if client.alive for topic in client.topics or ()}
        wanted = sorted(f"{topic}-{number}" for topic in topics for number in range(self.counts[topic]))
        assert sorted(name for client in self.clients.values() for name in client.owned) == wanted
        if topics:
            assert self.desk.coordinator.consumer_groups[GROUP].state == "Stable"
