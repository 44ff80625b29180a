"""Lines that the Kafka log writes of events made by hand."""

from cluster import events as e
from cluster.events import Event
from recordings.kafka_log.renderer import KafkaLog

ID = "billing-1-00000000-0000-0000-0000-000000000001"
OTHER = "billing-2-00000000-0000-0000-0000-000000000002"
AT = "[GroupCoordinator id=2 topic=__consumer_offsets partition=9] "
CLIENT = "[Consumer clientId=billing-1, groupId=billing] "


def declared(*, instance: str = "") -> list[Event]:
    """A topic, its partition led by broker 1, a group of one that has started."""
    return [
        e.TopicCreated(topic="orders", partitions=1, replication_factor=3, min_insync_replicas=2, internal=False),
        e.LeaderElected(
            partition="orders-0", leader=1, leader_epoch=0, replicas=(1, 2, 3), isr=(1, 2, 3), reason="created"
        ),
        e.GroupDeclared(
            group="billing",
            topics=("orders",),
            assignors=("range",),
            offset_reset="latest",
            read_committed=False,
            coordinator_partition="__consumer_offsets-9",
        ),
        e.MemberDeclared(
            group="billing",
            member="billing-1",
            instance_id=instance,
            topics=("orders",),
            session_timeout_ms=45_000,
            heartbeat_interval_ms=3_000,
            max_poll_interval_ms=300_000,
        ),
        e.MemberStarted(group="billing", member="billing-1"),
        e.CoordinatorFound(group="billing", member="billing-1", broker=2),
        e.GroupLoaded(
            group="billing",
            broker=2,
            state="Stable",
            generation=3,
            protocol="range",
            leader="billing-1",
            members={ID: "billing-1", OTHER: "billing-2"},
            assignment={ID: ("orders-0",), OTHER: ()},
            session_deadlines_us={},
        ),
        state("Stable", generation=3),
    ]


def state(name: str, reason: str = "", *, generation: int = -1, member_id: str = ID) -> Event:
    return e.MemberStateChanged(
        group="billing", member="billing-1", member_id=member_id, generation=generation, state=name, reason=reason
    )


def rebalance(detail: str, member_id: str = ID) -> Event:
    return e.RebalanceStarted(
        group="billing",
        generation=3,
        cause="member joined",
        trigger="billing-1",
        initial=False,
        closes_at_us=0,
        broker=2,
        member_id=member_id,
        detail=detail,
    )


def lines_of(*happens: Event, instance: str = "") -> list[str]:
    """Context and message of the lines that these events make, after the usual beginning."""
    lines: list[str] = []
    log = KafkaLog(lines.append)
    for event in declared(instance=instance):
        log(event)
    lines.clear()
    for event in happens:
        log(event)
    return [line.partition("] ")[2].partition(" ")[2].rpartition(" (")[0] for line in lines]
