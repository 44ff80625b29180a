"""What breaks each invariant: its name, and events of which the last one breaks it."""

from cluster import events as e
from tests.support.invariant_world import (
    ALONE,
    CRASHED,
    DIVERGED,
    FENCED,
    P,
    acknowledged,
    appended,
    barrier,
    beat,
    committed,
    coordinates,
    counted,
    elected,
    epoch_bumped,
    given,
    gives_up,
    in_transaction,
    late_watermark,
    lengthened,
    loaded,
    lost,
    marker,
    offsets_marker,
    polled,
    rejoined,
    removed,
    stable,
    taken,
    targeted,
    transaction,
    truncated,
    watermark,
)

ROLLOUT = e.RolloutStarted(
    target="g",
    workload="deployment",
    max_unavailable=1,
    max_surge=1,
    replaced=("g-1", "g-2"),
    ready=("g-1", "g-2"),
    names=("g-3", "g-4"),
)
GATED = e.RolloutAdvanced(
    target="brokers",
    workload="brokers",
    stops=("broker-1",),
    starts=("broker-1",),
    replicas=3,
    max_unavailable=1,
    max_surge=0,
    awaits_isr=True,
)


def target(epoch: int, **partitions: tuple[str, ...]) -> e.Event:
    named = {f"{name[0]}-{name[1]}": each for name, each in partitions.items()}
    return e.TargetAssignmentComputed(group="g", epoch=epoch, assignor="uniform", target=named)


def step(
    member: str, epoch: int, state: str = "STABLE", *, assigned: tuple[str, ...] = (), pending: tuple[str, ...] = ()
) -> e.Event:
    return e.MemberAssignmentChanged(
        group="g", member=member, member_id=member, state=state, epoch=epoch, previous_epoch=0, assigned=assigned,
        pending_revocation=pending,
    )  # fmt: skip


def subscribed(member: str, until_us: int) -> e.Event:
    return e.ConsumerMemberSubscribed(
        group="g", member=member, member_id=member, instance_id="", epoch=0, topics=("orders",), topic_regex="",
        assignor="", rebalance_timeout_ms=1, session_deadline_us=until_us,
    )  # fmt: skip


def joined(member: str, *partitions: str) -> list[e.Event]:
    short = member.replace("-", "")
    return [
        epoch_bumped(2),
        subscribed(member, 0),
        target(2, **{short: partitions}),
        step(member, 2, assigned=partitions),
    ]


def left(member: str, reason: str) -> e.Event:
    return e.MemberRemoved(group="g", member=member, member_id=member, reason=reason)


def reloaded(epoch: int, *partitions: str) -> e.Event:
    return e.ConsumerGroupLoaded(
        group="g", broker=2, state="Empty", group_epoch=epoch, assignment_epoch=epoch, assignor="uniform", members={},
        states={}, epochs={}, previous_epochs={}, assigned={}, pending_revocation={}, target={}, fenced_at_us={},
        session_deadlines_us={}, offsets=dict.fromkeys(partitions, 0),
    )  # fmt: skip


def autoscaled(to: int) -> e.Event:
    return e.GroupAutoscaled(group="g", lag=900, desired=9, members=2, to=to)


def rolled(stops: tuple[str, ...] = (), starts: tuple[str, ...] = ()) -> e.Event:
    return e.RolloutAdvanced(
        target="g", workload="deployment", stops=stops, starts=starts, replicas=2, max_unavailable=1, max_surge=1
    )


BREAKS: list[tuple[str, list[e.Event]]] = [
    ("R1", [elected(2, 1), taken(3, 1, 0)]),
    ("K1", [ROLLOUT, rolled(stops=("g-2",)), rolled(stops=("g-1",))]),
    ("K1", [ROLLOUT, e.MemberStopped(group="g", member="g-2", how="kill"), rolled(stops=("g-1",))]),
    ("K2", [ROLLOUT, rolled(starts=("g-3", "g-4"))]),
    ("K4", [autoscaled(1)]),
    ("K4", [autoscaled(2), autoscaled(3)]),  # of one partition
    ("K3", [e.IsrChanged(partition=P, isr=(1, 3), reason="shrink"), GATED]),
    ("R2", [elected(2, 1), elected(3, 1)]),
    ("R3", [elected(1, 1, isr=(2, 3))]),
    ("R3", [elected(1, 1, isr=(1, 4))]),
    ("R3", [FENCED(broker=2, reason="session expired"), elected(1, 1)]),
    ("R3", [e.IsrChanged(partition=P, isr=(), reason="shrink")]),
    ("R4", [appended(0), watermark(10), watermark(9)]),
    ("R4", [appended(0), watermark(10), elected(2, 1), taken(2, 1, 10), elected(1, 2), taken(1, 2, 10, watermark=9)]),
    ("R5", [appended(0), watermark(10), elected(2, 1), taken(2, 1, 9)]),
    ("R5", [appended(0), watermark(10), truncated(1, 5, 10, "crash"), elected(2, 1), taken(2, 1, 9)]),
    ("R13", [*ALONE, late_watermark(4_000_000)]),
    ("R9", [appended(0), watermark(10), truncated(2, 9, 10)]),
    ("R9", [appended(0), watermark(5), e.IsrChanged(partition=P, isr=(1, 3), reason="shrink"), watermark(10),
            truncated(2, 4, 6)]),
    ("R10", [appended(0), watermark(10), acknowledged(0), lost(5, 1)]),
    ("R10", [appended(0), watermark(10), lost(5, 1), acknowledged(0)]),
    ("R11", [appended(0), watermark(10), *polled(11)]),
    ("A1", [appended(0), watermark(9), acknowledged(0)]),
    ("L1", [appended(0), appended(11)]),
    ("L1", [appended(0), appended(5)]),
    ("L1", [appended(0), watermark(11)]),
    ("L1", [appended(0), watermark(5), e.LogStartAdvanced(
        partition=P, broker=1, leader_epoch=0, log_start=6, bytes=0, reason="retention")]),
    ("P1", [appended(0, sequence=0, pid=7), appended(10, sequence=0, pid=7)]),
    ("P1", [appended(0, sequence=0, pid=7), appended(10, sequence=11, pid=7)]),
    ("P1", [appended(0, sequence=0, pid=7), appended(10, sequence=10, pid=7, producer_epoch=1)]),
    ("P1", [appended(0, sequence=0, pid=7), elected(2, 1), taken(2, 1, 10, watermark=0),
            appended(10, epoch=1, sequence=0, pid=7)]),
    ("P1", [*DIVERGED, watermark(10, 1), elected(3, 2), taken(3, 2, 10), appended(10, epoch=2, sequence=0, pid=7)]),
    ("P1", [*DIVERGED, elected(3, 2), taken(3, 2, 0), appended(0, epoch=2, sequence=0, pid=7),
            appended(10, epoch=2, sequence=0, pid=7)]),
    ("P1", [*DIVERGED, elected(3, 2), taken(3, 2, 10, watermark=0), appended(10, epoch=2, sequence=10, pid=7),
            appended(20, epoch=2, sequence=10, pid=7)]),
    ("P1", [*CRASHED, watermark(10, 1), appended(10, epoch=1, sequence=10, pid=7, producer_epoch=1), elected(3, 2),
            taken(3, 2, 20, watermark=10), appended(20, epoch=2, sequence=10, pid=7, producer_epoch=1)]),
    ("P2", [appended(0, sequence=0, pid=7, producer_epoch=1), appended(10, sequence=10, pid=7)]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), marker(10, "ABORT")]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), transaction("CompleteCommit")]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), marker(10, "ABORT", 2)]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), coordinates(2, 1),
            marker(10, "ABORT", 1)]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), coordinates(2, 1), transaction("PrepareCommit"),
            marker(10, "ABORT", 2)]),
    ("T3", [in_transaction(0, 0), watermark(10), *polled(1)]),
    ("T3", [transaction("PrepareAbort"), in_transaction(0, 0), marker(10, "ABORT"), watermark(11), *polled(11),
            e.RecordsProcessed(group="g", member="g-1", partition=P, first_offset=0, next_offset=2)]),
    ("T5", [*ALONE[:1], *offsets_marker("ABORT"), counted()]),
    ("T5", [*ALONE[:1], *offsets_marker("COMMIT"), counted(), counted()]),
    ("T4", [transaction("Ongoing"), in_transaction(0, 0), marker(10, "COMMIT")]),
    ("T4", [transaction("Ongoing", epoch=3), transaction("PrepareAbort", epoch=2)]),
    ("G1", stable(1, g1=(P,), g2=(P,))),
    ("G2", [*stable(1, g1=(P,), g2=()), given("g-1"), given("g-2")]),
    ("G3", [barrier(2, "g-1")]),
    ("G6", [*stable(1, g1=(P,)), *stable(2, g1=(P,)), committed(0, 1)]),
    ("G6", [*stable(1, g1=(P,)), committed(0, 1, "g-2")]),
    ("G7", [*stable(1, g1=(P,)), committed(1)]),
    ("G9", [*stable(1, g1=(P,)), beat(5_000), removed(5_900)]),
    ("G9", [*stable(1, g1=(P,)), beat(1_000), lengthened(3), rejoined(3), beat(5_000), removed(7_900)]),
    ("G6", [*targeted("g-1", 3, (P,)), committed(0, 4)]),
    ("E1", [epoch_bumped(2), epoch_bumped(2)]),
    ("E1", [*targeted("g-1", 3), *targeted("g-1", 2)]),
    ("E2", [*targeted("g-1", 1, (P,)), *targeted("g-2", 2, (P,))]),
    ("E2", [*targeted("g-1", 1, (), (P,)), *targeted("g-2", 2, (P,))]),
    ("E3", [*targeted("g-1", 1, (P,)), given("g-1"), *gives_up("g-1")]),
    ("G10", [*stable(1, g1=(P,)), committed(0), loaded()]),
    ("E1", [epoch_bumped(2), target(1, g1=(P,))]),
    ("E1", [*joined("g-1", P), step("g-1", 1, assigned=(P,))]),
    ("E1", [*joined("g-1", P), given("g-1", 2), reloaded(1)]),
    ("E2", [epoch_bumped(2), target(2, g1=(P,), g2=(P,))]),
    ("E2", [*joined("g-1", P), epoch_bumped(3), target(3, g1=(), g2=(P,)), step("g-2", 3, assigned=(P,))]),
    ("E4", [epoch_bumped(2), target(2, g1=()), step("g-1", 2, assigned=(P,))]),
    ("E4", [*joined("g-1", P), step("g-1", 2, "UNREVOKED_PARTITIONS", pending=("orders-9",))]),
    ("E5", [subscribed("g-1", 50), left("g-1", "session expired")]),
    ("E5", [*joined("g-1", P), left("g-1", "poll interval exceeded")]),
]  # fmt: skip
