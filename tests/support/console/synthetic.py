"""A hand-made flight: believable facts without a simulation, so that screens can be looked at and compared.

Two groups form, `billing` waits for a member that works too long, a member dies silently, a broker dies, a member
stalls. `events(until_s)` gives the facts up to an instant, `view_at(s)` the view that they fold into.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from cluster import events as e
from cluster.commands import kind_of, parse, targets_of
from cluster.view import ClusterView, fold

SECOND = 1_000_000
BROKERS = (1, 2, 3)
TOPICS = {"orders": 12, "payments": 6}
BILLING = ("billing-1", "billing-2", "billing-3", "billing-4")
AUDIT = ("audit-1", "audit-2")
PRODUCERS = {"checkout-1": "orders", "checkout-2": "orders", "ledger-1": "payments"}
OFFSETS = "__consumer_offsets"


def fault_started(fault: int, text: str, ends_at_us: int) -> e.FaultStarted:
    """The event of a command that starts a fault."""
    command = parse(text)
    kind, targets = kind_of(command), targets_of(command)
    return e.FaultStarted(fault=fault, text=text, ends_at_us=ends_at_us, fault_kind=kind, targets=targets)


def us(seconds: float) -> int:
    """Seconds as microseconds."""
    return round(seconds * SECOND)


class Flight:
    """Facts noted in any order; `in_order` stamps them."""

    def __init__(self) -> None:
        self.noted: list[tuple[int, int, e.Event]] = []

    def emit(self, at_s: float, event: e.Event) -> None:
        self.noted.append((us(at_s), len(self.noted), event))

    def in_order(self) -> Iterator[e.Event]:
        for seq, (at_us, _, event) in enumerate(sorted(self.noted, key=lambda note: note[:2]), 1):
            yield msgspec.structs.replace(event, seq=seq, at_us=at_us)


def declare(flight: Flight, topics: dict[str, int], groups: dict[str, tuple[str, ...]]) -> None:
    """The fleet as it stands at t = 0."""
    for broker in BROKERS:
        flight.emit(0, e.BrokerStarted(broker=broker, rack=f"rack-{broker}"))
        flight.emit(0, e.BrokerUnfenced(broker=broker, broker_epoch=broker))
    flight.emit(0, e.ControllerElected(broker=1))
    for place, (topic, count) in enumerate([*topics.items(), (OFFSETS, 4)]):
        internal = topic == OFFSETS
        flight.emit(
            0,
            e.TopicCreated(
                topic=topic, partitions=count, replication_factor=3, min_insync_replicas=2, internal=internal
            ),
        )
        for number in range(count):
            replicas = tuple(BROKERS[(place + number + k) % 3] for k in range(3))
            lead(flight, 0, f"{topic}-{number}", 0, replicas, "created")
    for place, (group, members) in enumerate(groups.items()):
        flight.emit(
            0,
            e.GroupDeclared(
                group=group,
                topics=tuple(topics),
                assignors=("range",),
                offset_reset="earliest",
                read_committed=False,
                coordinator_partition=f"{OFFSETS}-{place}",
            ),
        )
        for member in members:
            flight.emit(0, declared(group, member, tuple(topics)))


def declared(group: str, member: str, topics: tuple[str, ...]) -> e.MemberDeclared:
    """A consumer with Kafka's default timeouts."""
    return e.MemberDeclared(
        group=group,
        member=member,
        instance_id="",
        topics=topics,
        session_timeout_ms=45_000,
        heartbeat_interval_ms=3_000,
        max_poll_interval_ms=300_000,
    )


def lead(  # noqa: PLR0917
    flight: Flight, at_s: float, partition: str, epoch: int, replicas: tuple[int, ...], reason: str, end: int = 0
) -> None:
    """The first replica is elected and takes over, with every replica in sync."""
    flight.emit(
        at_s,
        e.LeaderElected(
            partition=partition,
            leader=replicas[0],
            leader_epoch=epoch,
            replicas=replicas,
            isr=replicas,
            reason=reason,
        ),
    )
    flight.emit(
        at_s,
        e.LeadershipTaken(
            partition=partition,
            broker=replicas[0],
            leader_epoch=epoch,
            log_start=0,
            high_watermark=end,
            log_end=end,
            bytes=end * 1_024,
        ),
    )


def member_id(member: str) -> str:
    return f"{member}-0001"


def join(flight: Flight, at_s: float, group: str, member: str, newcomer: bool) -> None:
    if newcomer:
        flight.emit(at_s - 0.02, e.MemberStarted(group=group, member=member))
        flight.emit(at_s - 0.015, e.CoordinatorFound(group=group, member=member, broker=2))
        flight.emit(at_s - 0.01, client(group, member, "Joining", -1))
        flight.emit(at_s - 0.005, e.MemberIdAssigned(group=group, member=member, member_id=member_id(member), broker=2))
    flight.emit(
        at_s,
        e.JoinReceived(
            group=group,
            member=member,
            member_id=member_id(member),
            newcomer=newcomer,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=300_000,
        ),
    )


def client(group: str, member: str, state: str, generation: int) -> e.MemberStateChanged:
    return e.MemberStateChanged(
        group=group, member=member, member_id=member_id(member), generation=generation, state=state, reason=""
    )


def spread(members: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Range: consecutive partitions of each topic to the members in order."""
    result: dict[str, list[str]] = {member: [] for member in members}
    for topic, count in TOPICS.items():
        share, rest = divmod(count, len(members))
        first = 0
        for place, member in enumerate(members):
            size = share + (1 if place < rest else 0)
            result[member].extend(f"{topic}-{number}" for number in range(first, first + size))
            first += size
    return {member: tuple(partitions) for member, partitions in result.items()}


def stabilise(flight: Flight, at_s: float, group: str, generation: int, members: tuple[str, ...], last: str) -> None:
    """The barrier closes, everybody syncs, partitions are taken."""
    deadlines = {member_id(member): us(at_s + 45) for member in members}
    flight.emit(
        at_s,
        e.JoinBarrierCompleted(
            group=group,
            generation=generation,
            protocol="range",
            leader=members[0],
            members={member_id(member): member for member in members},
            session_deadlines_us=deadlines,
            last_joined=last,
            waited_us=us(3.0),
        ),
    )
    for place, member in enumerate(reversed(members)):
        flight.emit(at_s + 0.01 * place, client(group, member, "Syncing", generation))
        flight.emit(
            at_s + 0.02 + 0.01 * place,
            e.SyncReceived(group=group, member=member, member_id=member_id(member), leader=member == members[0]),
        )
    assignment = spread(members)
    flight.emit(
        at_s + 0.1,
        e.GroupStabilized(
            group=group,
            generation=generation,
            assignment={member_id(member): partitions for member, partitions in assignment.items()},
            session_deadlines_us=deadlines,
        ),
    )
    for member, partitions in assignment.items():
        flight.emit(at_s + 0.11, client(group, member, "Stable", generation))
        flight.emit(
            at_s + 0.12,
            e.PartitionsAssigned(group=group, member=member, generation=generation, partitions=partitions),
        )


def revoke(flight: Flight, at_s: float, group: str, member: str, partitions: tuple[str, ...]) -> None:
    flight.emit(at_s, client(group, member, "Revoking", 1))
    flight.emit(at_s, e.PartitionsRevoked(group=group, member=member, partitions=partitions, lost=False))
    flight.emit(at_s + 0.01, client(group, member, "Joining", 1))


def start_rebalance(  # noqa: PLR0917
    flight: Flight, at_s: float, group: str, generation: int, cause: str, trigger: str, closes_s: float
) -> None:
    flight.emit(
        at_s,
        e.RebalanceStarted(
            group=group,
            generation=generation,
            cause=cause,
            trigger=trigger,
            initial=generation == 0,
            closes_at_us=us(closes_s),
            broker=coordinator(flight, group),
        ),
    )


def coordinator(flight: Flight, group: str) -> int:
    """The broker that was elected first for the group's partition."""
    facts = [event for _, _, event in flight.noted]
    place = next(one.coordinator_partition for one in facts if isinstance(one, e.GroupDeclared) and one.group == group)
    return next(one.leader for one in facts if isinstance(one, e.LeaderElected) and one.partition == place)


def beats(flight: Flight, group: str, member: str, start_s: float, end_s: float, moving: tuple[float, float]) -> None:
    """Heartbeats every 3 s; between the two instants of `moving` they are answered REBALANCE_IN_PROGRESS."""
    at_s = start_s
    while at_s < end_s:
        error = "REBALANCE_IN_PROGRESS" if moving[0] <= at_s <= moving[1] else "NONE"
        flight.emit(
            at_s,
            e.HeartbeatAnswered(
                group=group,
                member=member,
                member_id=member_id(member),
                error=error,
                session_deadline_us=us(at_s + 45),
            ),
        )
        at_s += 3.0


def produce(flight: Flight, until_s: float, topics: dict[str, int]) -> None:
    """Every half second each partition gets one batch; broker 3's own partition gets none after its death."""
    for producer, topic in PRODUCERS.items():
        if topic in topics:
            flight.emit(
                0, e.ProducerDeclared(producer=producer, topics=(topic,), rate_per_second=100.0, transactional_id="")
            )
            flight.emit(0.4, e.ProducerStateChanged(producer=producer, state="Running", reason="started"))
    for step in range(int(until_s * 2)):
        at_s = 0.5 + step / 2
        for topic, count in topics.items():
            for number in range(count):
                if topic == "payments" and number == 4 and at_s > 60:
                    continue
                _append(flight, at_s, topic, number, step)


def _append(flight: Flight, at_s: float, topic: str, number: int, step: int) -> None:
    partition, records = f"{topic}-{number}", 8
    producer = "checkout-1" if topic == "orders" and number % 2 else "checkout-2" if topic == "orders" else "ledger-1"
    base, size = step * records, records * 1_024
    flight.emit(at_s, e.BatchOpened(producer=producer, partition=partition, bytes=size))
    flight.emit(at_s, e.ProduceSent(producer=producer, broker=1, records={partition: records}, retried={}, bytes=size))
    flight.emit(
        at_s + 0.001,
        e.RecordsAppended(
            partition=partition,
            base_offset=base,
            count=records,
            bytes=size,
            producer=producer,
            producer_id=1,
            epoch=0,
            base_sequence=base,
            first_serial=base,
            leader_epoch=0,
        ),
    )
    flight.emit(at_s + 0.002, e.HighWatermarkAdvanced(partition=partition, offset=base + records))
    flight.emit(
        at_s + 0.003,
        e.BatchAcknowledged(
            producer=producer,
            partition=partition,
            base_offset=base,
            records=records,
            freed_bytes=size,
            latency_us=3_000,
            duplicate=False,
        ),
    )


def consume(  # noqa: PLR0917
    flight: Flight, group: str, member: str, partitions: tuple[str, ...], start_s: float, end_s: float, slow: int = 0
) -> None:
    """Polls twice a second, commits every 5 s; `slow`: this many records of each second are left behind."""
    flight.emit(
        start_s,
        e.PositionsReset(
            group=group, member=member, positions={name: int(start_s) * 16 for name in partitions}, reason="committed"
        ),
    )
    ticks = int((end_s - start_s) * 2)
    for tick in range(ticks):
        at_s = start_s + 0.3 + tick / 2
        reached = {name: max(0, int(at_s) * 16 - slow * (tick // 2)) for name in partitions}
        flight.emit(
            at_s,
            e.PollReturned(group=group, member=member, records=8 * len(partitions), positions=reached, fetches=1),
        )
        flight.emit(at_s + 0.05, e.PollStarted(group=group, member=member))
        if tick % 10 == 9:
            flight.emit(
                at_s,
                e.OffsetsCommitted(
                    group=group, member=member, generation=1, offsets=reached, session_deadline_us=us(at_s + 45)
                ),
            )


def _billing(flight: Flight) -> None:
    start_rebalance(flight, 2.0, "billing", 0, "member joined", "billing-1", 5.0)
    for place, member in enumerate(BILLING[:3]):
        join(flight, 2.0 + 0.8 * place, "billing", member, newcomer=True)
    flight.emit(5.0, e.JoinBarrierExtended(group="billing", closes_at_us=us(8.0), reason="newcomers"))
    stabilise(flight, 8.0, "billing", 1, BILLING[:3], "billing-3")
    first = spread(BILLING[:3])
    consume(flight, "billing", "billing-1", first["billing-1"], 8.2, 16.0)
    consume(flight, "billing", "billing-2", first["billing-2"], 8.2, 17.0)
    consume(flight, "billing", "billing-3", first["billing-3"], 8.2, 14.0, slow=6)
    start_rebalance(flight, 14.0, "billing", 1, "member joined", "billing-4", 314.0)
    join(flight, 14.01, "billing", "billing-4", newcomer=True)
    flight.emit(14.2, fault_started(1, "stall billing-3 for 10s", us(24.2)))
    flight.emit(14.2, e.ApplicationStalled(group="billing", member="billing-3", until_us=us(24.2)))
    for member, at_s in (("billing-1", 16.1), ("billing-2", 17.0)):
        revoke(flight, at_s, "billing", member, first[member])
        join(flight, at_s + 0.05, "billing", member, newcomer=False)
    flight.emit(24.2, e.FaultEnded(fault=1))
    flight.emit(24.2, e.PollStarted(group="billing", member="billing-3"))
    revoke(flight, 24.3, "billing", "billing-3", first["billing-3"])
    join(flight, 24.36, "billing", "billing-3", newcomer=False)
    stabilise(flight, 24.36, "billing", 2, BILLING, "billing-3")
    second = spread(BILLING)
    for member, end_s in zip(BILLING, (119.0, 40.0, 119.0, 119.0), strict=True):
        consume(flight, "billing", member, second[member], 24.6, end_s, slow=3 if member == "billing-3" else 0)
        beats(flight, "billing", member, 8.5 if member != "billing-4" else 25.0, end_s, (14.0, 24.3))


def _injuries(flight: Flight) -> None:
    flight.emit(40.0, fault_started(2, "kill billing-2", -1))
    flight.emit(40.0, e.MemberStopped(group="billing", member="billing-2", how="kill"))
    flight.emit(60.0, fault_started(3, "kill broker-3", -1))
    flight.emit(60.0, e.BrokerStopped(broker=3, how="kill"))
    flight.emit(69.0, e.BrokerFenced(broker=3, reason="session expired"))
    for topic, count in TOPICS.items():
        for number in range(count):
            place = (list(TOPICS).index(topic) + number) % 3
            name = f"{topic}-{number}"
            end = 69 * 16 + 8
            shrunk = e.IsrChanged(partition=name, isr=(1, 2), reason="shrink: broker-3 is fenced")
            if name == "payments-4":
                gone = e.LeaderElected(
                    partition=name, leader=-1, leader_epoch=1, replicas=(3,), isr=(3,), reason="broker fenced"
                )
                flight.emit(69.0, gone)
                continue
            if BROKERS[place] == 3:
                lead(flight, 69.0, name, 1, (1, 2, 3), "broker fenced", end)
            flight.emit(69.0, shrunk)
    flight.emit(
        83.5,
        e.MemberRemoved(
            group="billing", member="billing-2", member_id=member_id("billing-2"), reason="session expired"
        ),
    )
    start_rebalance(flight, 83.5, "billing", 2, "session expired", "billing-2", 383.5)
    flight.emit(100.0, fault_started(4, "stall audit-1 for 5m", us(400.0)))
    flight.emit(100.0, e.ApplicationStalled(group="audit", member="audit-1", until_us=us(400.0)))
    survivors = tuple(member for member in BILLING if member != "billing-2")
    for place, member in enumerate(survivors):
        revoke(flight, 85.6 + place, "billing", member, spread(BILLING)[member])
        join(flight, 85.7 + place, "billing", member, newcomer=False)
    stabilise(flight, 87.7, "billing", 3, survivors, "billing-4")


def _audit(flight: Flight) -> None:
    start_rebalance(flight, 4.0, "audit", 0, "member joined", "audit-1", 7.0)
    for member in AUDIT:
        join(flight, 4.0 if member == "audit-1" else 4.3, "audit", member, newcomer=True)
    flight.emit(7.0, e.JoinBarrierExtended(group="audit", closes_at_us=us(10.0), reason="newcomers"))
    stabilise(flight, 10.0, "audit", 1, AUDIT, "audit-2")
    shares = spread(AUDIT)
    for member in AUDIT:
        consume(flight, "audit", member, shares[member], 10.3, 100.0 if member == "audit-1" else 119.0)
        beats(flight, "audit", member, 10.5, 119.0, (200.0, 200.0))


@lru_cache(maxsize=1)
def all_events() -> tuple[e.Event, ...]:
    """The whole flight, two minutes of it."""
    flight = Flight()
    declare(flight, TOPICS, {"audit": AUDIT, "billing": BILLING})
    produce(flight, 118.0, TOPICS)
    _billing(flight)
    _audit(flight)
    _injuries(flight)
    return tuple(flight.in_order())


def events(until_s: float) -> Iterable[e.Event]:
    """The facts up to and including an instant."""
    return (event for event in all_events() if event.at_us <= us(until_s))


def view_at(seconds: float) -> ClusterView:
    """What is known at an instant of the synthetic flight."""
    view = ClusterView()
    for event in events(seconds):
        fold(view, event)
    return view


def large_view(partitions: int, members: int) -> ClusterView:
    """One group of many members over many partitions, Stable, with lag: the load of the budgets."""
    flight = Flight()
    topics = {f"topic-{number}": partitions // 10 for number in range(10)}
    names = tuple(f"worker-{number}" for number in range(1, members + 1))
    declare(flight, topics, {"workers": names})
    start_rebalance(flight, 1.0, "workers", 0, "member joined", names[0], 4.0)
    for member in names:
        join(flight, 1.0, "workers", member, newcomer=True)
    everything = [f"{topic}-{number}" for topic, count in topics.items() for number in range(count)]
    deadlines = {member_id(member): us(60) for member in names}
    assignment = {member: tuple(everything[place::members]) for place, member in enumerate(names)}
    flight.emit(
        4.0,
        e.JoinBarrierCompleted(
            group="workers",
            generation=1,
            protocol="range",
            leader=names[0],
            members={member_id(member): member for member in names},
            session_deadlines_us=deadlines,
            last_joined=names[-1],
            waited_us=us(3),
        ),
    )
    flight.emit(
        4.1,
        e.GroupStabilized(
            group="workers",
            generation=1,
            assignment={member_id(member): held for member, held in assignment.items()},
            session_deadlines_us=deadlines,
        ),
    )
    for member, held in assignment.items():
        flight.emit(4.2, client("workers", member, "Stable", 1))
        flight.emit(4.2, e.PartitionsAssigned(group="workers", member=member, generation=1, partitions=held))
        flight.emit(
            4.2,
            e.PositionsReset(group="workers", member=member, positions=dict.fromkeys(held, 0), reason="earliest"),
        )
        beats(flight, "workers", member, 4.5, 60.0, (200, 200))
    for place, name in enumerate(everything):
        flight.emit(5.0, e.HighWatermarkAdvanced(partition=name, offset=(place * 37) % 500))
    view = ClusterView()
    for event in flight.in_order():
        fold(view, event)
    return view
