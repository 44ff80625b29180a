"""A hand-made minute of a group of the new protocol (KIP-848): joins, a slow revocation, a death.

`fulfilment-1` and `-2` share six partitions. `-3` joins at 12 s: `-1` must give up a partition and does not poll until
22 s; `-2` gives up one at once. `-2` is killed at 30 s; its session ends at 74.1 s. `events(s)` gives the facts up to
an instant.
"""

from collections.abc import Iterable
from functools import lru_cache

from cluster import events as e
from cluster.commands import Names
from cluster.view import ClusterView, fold
from tests.support.console.synthetic import BROKERS, Flight, consume, declare, fault_started, produce, us

GROUP = "fulfilment"
MEMBERS = ("fulfilment-1", "fulfilment-2", "fulfilment-3")
TOPICS = {"orders": 6}
NAMES = Names(
    brokers=tuple(f"broker-{broker}" for broker in BROKERS),
    groups={GROUP: MEMBERS},
    producers={"checkout": ("checkout-1", "checkout-2")},
    topics=dict(TOPICS),
)
SESSION_S, INTERVAL_S, POLL_S = 45.0, 5.0, 300.0


def orders(*numbers: int) -> tuple[str, ...]:
    """Partitions by number."""
    return tuple(f"orders-{number}" for number in numbers)


def member_id(member: str) -> str:
    """As the consumer makes its own id."""
    return f"{member}-uuid"


class ConsumerGroupFlight(Flight):
    """The facts of one group."""

    def client(self, at_s: float, member: str, state: str, epoch: int) -> None:
        self.emit(
            at_s,
            e.MemberStateChanged(
                group=GROUP, member=member, member_id=member_id(member), generation=epoch, state=state, reason=""
            ),
        )

    def beat(self, at_s: float, member: str) -> None:
        self.emit(
            at_s,
            e.HeartbeatAnswered(
                group=GROUP,
                member=member,
                member_id=member_id(member),
                error="NONE",
                session_deadline_us=us(at_s + SESSION_S),
            ),
        )

    def subscribed(self, at_s: float, member: str) -> None:
        self.emit(at_s - 0.02, e.MemberStarted(group=GROUP, member=member))
        self.client(at_s - 0.02, member, "UNSUBSCRIBED", -1)
        self.emit(at_s - 0.015, e.CoordinatorFound(group=GROUP, member=member, broker=2))
        self.client(at_s - 0.01, member, "JOINING", 0)
        self.emit(
            at_s,
            e.ConsumerMemberSubscribed(
                group=GROUP,
                member=member,
                member_id=member_id(member),
                instance_id="",
                epoch=0,
                topics=("orders",),
                topic_regex="",
                assignor="",
                rebalance_timeout_ms=int(POLL_S * 1_000),
                session_deadline_us=us(at_s + SESSION_S),
            ),
        )

    def bumped(
        self, at_s: float, epoch: int, cause: str, member: str, target: dict[str, tuple[str, ...]], *, ids: bool = True
    ) -> None:
        self.emit(
            at_s,
            e.ConsumerGroupEpochBumped(
                group=GROUP,
                epoch=epoch,
                cause=cause,
                broker=2,
                metadata_hash=7,
                members=(member,) if ids else (),
                member_ids=(member_id(member),) if ids else (),
            ),
        )
        self.emit(
            at_s,
            e.TargetAssignmentComputed(
                group=GROUP,
                epoch=epoch,
                assignor="uniform",
                target={member_id(name): partitions for name, partitions in target.items()},
            ),
        )

    def moved(
        self,
        at_s: float,
        member: str,
        state: str,
        epoch: int,
        assigned: tuple[str, ...],
        pending: tuple[str, ...] = (),
    ) -> None:
        self.emit(
            at_s,
            e.MemberAssignmentChanged(
                group=GROUP,
                member=member,
                member_id=member_id(member),
                state=state,
                epoch=epoch,
                previous_epoch=max(0, epoch - 1),
                assigned=assigned,
                pending_revocation=pending,
                fenced_at_us=us(at_s + POLL_S) if pending else -1,
            ),
        )

    def state(self, at_s: float, state: str) -> None:
        self.emit(at_s, e.ConsumerGroupStateChanged(group=GROUP, state=state, broker=2))

    def takes(
        self, at_s: float, member: str, epoch: int, added: tuple[str, ...], revoked: tuple[str, ...] = ()
    ) -> None:
        """A reconciliation at the client, from RECONCILING to STABLE."""
        self.client(at_s, member, "RECONCILING", epoch)
        if revoked:
            self.emit(at_s + 0.01, e.PartitionsRevoked(group=GROUP, member=member, partitions=revoked, lost=False))
        self.emit(at_s + 0.01, e.PartitionsAssigned(group=GROUP, member=member, generation=epoch, partitions=added))
        self.client(at_s + 0.01, member, "ACKNOWLEDGING", epoch)
        self.client(at_s + 0.012, member, "STABLE", epoch)


def declare_group(flight: ConsumerGroupFlight) -> None:
    declare(flight, TOPICS, {GROUP: ()})
    flight.emit(0, e.GroupProtocolDeclared(group=GROUP, protocol="consumer"))
    for member in MEMBERS:
        flight.emit(
            0,
            e.MemberDeclared(
                group=GROUP,
                member=member,
                instance_id="",
                topics=("orders",),
                session_timeout_ms=int(SESSION_S * 1_000),
                heartbeat_interval_ms=int(INTERVAL_S * 1_000),
                max_poll_interval_ms=int(POLL_S * 1_000),
            ),
        )


def _first_joins(flight: ConsumerGroupFlight) -> None:
    one, two, _ = MEMBERS
    flight.subscribed(2.0, one)
    flight.bumped(2.0, 1, "member joined", one, {one: orders(0, 1, 2, 3, 4, 5)})
    flight.moved(2.0, one, "STABLE", 1, orders(0, 1, 2, 3, 4, 5))
    flight.state(2.0, "Stable")
    flight.takes(2.1, one, 1, orders(0, 1, 2, 3, 4, 5))
    flight.subscribed(4.0, two)
    flight.bumped(4.0, 2, "member joined", two, {one: orders(0, 1, 2), two: orders(3, 4, 5)})
    flight.moved(4.0, two, "UNRELEASED_PARTITIONS", 2, ())
    flight.state(4.0, "Reconciling")
    flight.client(4.1, two, "STABLE", 2)
    flight.moved(7.1, one, "UNREVOKED_PARTITIONS", 1, orders(0, 1, 2), orders(3, 4, 5))
    flight.takes(7.2, one, 1, (), orders(3, 4, 5))
    flight.moved(7.3, one, "STABLE", 2, orders(0, 1, 2))
    flight.moved(9.1, two, "STABLE", 2, orders(3, 4, 5))
    flight.state(9.1, "Stable")
    flight.takes(9.15, two, 2, orders(3, 4, 5))


def _slow_revocation(flight: ConsumerGroupFlight) -> None:
    one, two, three = MEMBERS
    flight.emit(11.0, fault_started(1, f"stall {one} for 11s", us(22.0)))
    flight.emit(11.0, e.ApplicationStalled(group=GROUP, member=one, until_us=us(22.0)))
    flight.subscribed(12.0, three)
    flight.bumped(12.0, 3, "member joined", three, {one: orders(0, 1), two: orders(3, 4), three: orders(2, 5)})
    flight.moved(12.0, three, "UNRELEASED_PARTITIONS", 3, ())
    flight.state(12.0, "Reconciling")
    flight.client(12.1, three, "STABLE", 3)
    flight.moved(12.3, one, "UNREVOKED_PARTITIONS", 2, orders(0, 1), orders(2))
    flight.client(12.31, one, "RECONCILING", 2)
    flight.moved(14.1, two, "UNREVOKED_PARTITIONS", 2, orders(3, 4), orders(5))
    flight.takes(14.2, two, 2, (), orders(5))
    flight.moved(14.3, two, "STABLE", 3, orders(3, 4))
    flight.moved(17.1, three, "UNRELEASED_PARTITIONS", 3, orders(5))
    flight.takes(17.2, three, 3, orders(5))
    flight.emit(22.0, e.FaultEnded(fault=1))
    flight.emit(22.0, e.PollStarted(group=GROUP, member=one))
    flight.takes(22.0, one, 2, (), orders(2))
    flight.moved(22.1, one, "STABLE", 3, orders(0, 1))
    flight.moved(27.1, three, "STABLE", 3, orders(2, 5))
    flight.state(27.1, "Stable")
    flight.takes(27.15, three, 3, orders(2))


def _death(flight: ConsumerGroupFlight) -> None:
    one, two, three = MEMBERS
    flight.emit(30.0, fault_started(2, f"kill {two}", -1))
    flight.emit(30.0, e.MemberStopped(group=GROUP, member=two, how="kill"))
    at_s = 29.1 + SESSION_S
    flight.emit(
        at_s, e.MemberRemoved(group=GROUP, member=two, member_id=member_id(two), reason="session expired", leader="")
    )
    flight.bumped(at_s, 4, "session expired", two, {one: orders(0, 1, 3), three: orders(2, 4, 5)})
    flight.state(at_s, "Reconciling")
    flight.moved(at_s + 1.0, one, "STABLE", 4, orders(0, 1, 3))
    flight.takes(at_s + 1.1, one, 4, orders(3))
    flight.moved(at_s + 3.0, three, "STABLE", 4, orders(2, 4, 5))
    flight.state(at_s + 3.0, "Stable")
    flight.takes(at_s + 3.1, three, 4, orders(4))


def _beats(flight: ConsumerGroupFlight) -> None:
    for member, from_s, until_s in zip(MEMBERS, (2.0, 4.0, 12.0), (89.0, 29.2, 89.0), strict=True):
        at_s = from_s + 0.1
        while at_s < until_s:
            flight.beat(at_s, member)
            at_s += INTERVAL_S


@lru_cache(maxsize=1)
def all_events() -> tuple[e.Event, ...]:
    """Ninety seconds."""
    flight = ConsumerGroupFlight()
    declare_group(flight)
    produce(flight, 89.0, TOPICS)
    _first_joins(flight)
    one, two, three = MEMBERS
    consume(flight, GROUP, one, orders(0, 1), 2.3, 11.0)
    consume(flight, GROUP, one, orders(0, 1), 22.3, 89.0)
    consume(flight, GROUP, two, orders(3, 4), 9.3, 30.0)
    consume(flight, GROUP, three, orders(5), 17.3, 89.0)
    _slow_revocation(flight)
    _death(flight)
    _beats(flight)
    return tuple(flight.in_order())


def events(until_s: float) -> Iterable[e.Event]:
    """The facts up to and including an instant."""
    return (event for event in all_events() if event.at_us <= us(until_s))


def view_at(seconds: float) -> ClusterView:
    """What is known at an instant."""
    view = ClusterView()
    for event in events(seconds):
        fold(view, event)
    return view
