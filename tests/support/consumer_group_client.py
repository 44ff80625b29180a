"""Members of groups of the new protocol in tests: what a well-behaved client sends, without a client."""

from __future__ import annotations

from cluster.protocol.consumer_group_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import OffsetCommitRequest, OffsetFetchRequest
from tests.support.coordinator_driver import Call, Desk

GROUP = "billing"
TIMEOUT_MS = 30_000


class Member:
    """One member: its id, its epoch and the partitions that it owns; `beat` does what the last answer asked."""

    def __init__(
        self,
        desk: Desk,
        name: str,
        *topics: str,
        instance_id: str | None = None,
        regex: str | None = None,
        assignor: str | None = None,
        group: str = GROUP,
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        self.desk, self.name, self.group = desk, name, group
        self.member_id = f"{name}-id"
        self.topics: tuple[str, ...] | None = topics or (None if regex is not None else ())
        self.regex, self.instance_id, self.assignor, self.timeout_ms = regex, instance_id, assignor, timeout_ms
        self.epoch = 0
        self.owned: tuple[str, ...] = ()
        self.told: tuple[str, ...] = ()

    def request(self, epoch: int, owned: tuple[str, ...] | None, *, full: bool) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            self.group,
            self.member_id,
            epoch,
            self.instance_id,
            None,
            self.timeout_ms if full else -1,
            self.topics if full else None,
            self.regex if full else None,
            self.assignor if full else None,
            owned,
            self.name,
        )

    def send(self, epoch: int, owned: tuple[str, ...] | None = None, *, full: bool = False) -> Call:
        return self.desk.send(self.request(epoch, owned, full=full))

    def take(self, call: Call) -> ConsumerGroupHeartbeatResponse:
        """Read an answer: the epoch, and the partitions that it should have."""
        answer = call.response
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        if answer.error is ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.told = answer.assignment
        return answer

    def join(self) -> ConsumerGroupHeartbeatResponse:
        self.owned = ()
        return self.take(self.send(0, (), full=True))

    def beat(self) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat that changes nothing."""
        return self.take(self.send(self.epoch))

    def obey(self) -> ConsumerGroupHeartbeatResponse:
        """Have exactly what it was told to, and say so."""
        self.owned = self.told
        return self.take(self.send(self.epoch, self.owned))

    def resubscribe(self, *topics: str) -> ConsumerGroupHeartbeatResponse:
        self.topics = topics
        return self.take(self.send(self.epoch, self.owned, full=True))

    def leave(self, epoch: int = -1) -> ConsumerGroupHeartbeatResponse:
        return self.take(self.send(epoch))


def desk_with(counts: dict[str, int], config: dict[str, object] | None = None, *, commits: bool = True) -> Desk:
    """A coordinator whose broker knows these topics."""
    desk = Desk({"group.consumer.assignment.interval.ms": 0, **(config or {})}, commits=commits)
    add_topics(desk, counts)
    return desk


def add_topics(desk: Desk, counts: dict[str, int]) -> None:
    desk.topics.add([f"{topic}-{number}" for topic, count in counts.items() for number in range(count)])


def settle(*members: Member) -> None:
    """Heartbeats until each member has its target."""
    for _ in range(12):
        before = [(member.epoch, member.owned) for member in members]
        for member in members:
            member.obey()
        if before == [(member.epoch, member.owned) for member in members]:
            return
    raise AssertionError("the members do not converge")


def joined() -> tuple[Desk, Member]:
    """A coordinator and its only member, which has confirmed both partitions in epoch 2."""
    desk = desk_with({"orders": 2})
    one = Member(desk, "one", "orders")
    one.join()
    one.obey()
    return desk, one


def commit(desk: Desk, epoch: int, offset: int = 7, *, member_id: str = "one-id", name: str = "orders-0") -> ErrorCode:
    request = OffsetCommitRequest(GROUP, epoch, member_id, None, {name: (offset, 0, "")}, "one")
    errors: dict[str, ErrorCode] = desk.send(request).response.errors  # type: ignore[union-attr]
    return errors[name]


def committed(desk: Desk, name: str = "orders-0") -> int:
    answer = desk.send(OffsetFetchRequest(GROUP, [name])).response
    offset: int = answer.offsets[name][1]  # type: ignore[union-attr]
    return offset
