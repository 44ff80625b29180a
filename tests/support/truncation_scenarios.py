"""Scenarios in which a reader works on records that a log has lost meanwhile."""

import msgspec

from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.spec import ApplicationSpec, BrokerSpec, GroupSpec, ProducerSpec, ScenarioSpec, StepSpec, TopicSpec
from tests.support.scenario_builders import steps_at

SECOND_US = 1_000_000
CRASH_S = 12


def buffered(*, crash: bool = True) -> ScenarioSpec:
    """A reader has ten seconds' work in its buffer; the host of the only replica crashes, another producer writes."""
    command = parse("crash broker-1 for 1s")
    before = ProducerSpec("p", ("t",), rate_per_second=50.0, limit=30, config={"acks": "1"})
    config: dict[str, Value] = {"auto.offset.reset": "earliest", "max.poll.records": 1, "session.timeout.ms": 30_000}
    return ScenarioSpec(
        title="buffered",
        until_us=60 * SECOND_US,
        brokers=(BrokerSpec(1),),
        topics=(TopicSpec("t", replication=1),),
        producers=(before, msgspec.structs.replace(before, name="q", start_us=(CRASH_S + 4) * SECOND_US)),
        groups=(
            GroupSpec(
                "g", ("t",), start_us=2 * SECOND_US, config=config, application=ApplicationSpec(per_record_us=SECOND_US)
            ),
        ),
        steps=(StepSpec(CRASH_S * SECOND_US, command, text_of(command)),) if crash else (),
    )


def led_twice() -> ScenarioSpec:
    """A fenced broker registers anew, late, and leads its partition once more in the epoch in which it leads already.

    The answer to its registration is on a slow link when the next controller tells it of the partition.
    """
    steps = ((20, "slow broker-1 broker-3 to 600ms"), (21, "pause broker-3 for 19s"), (42, "fail over controller"))
    return ScenarioSpec(
        title="led twice",
        seed=5,
        until_us=90 * SECOND_US,
        topics=(TopicSpec("orders", partitions=3, replication=1),),
        producers=(ProducerSpec("checkout", ("orders",), rate_per_second=50.0),),
        groups=(GroupSpec("billing", ("orders",), config={"auto.offset.reset": "earliest"}),),
        steps=steps_at(*steps, (60, "heal")),
    )


def deposed() -> ScenarioSpec:
    """A leader that no broker reaches is deposed, does not hear of it, and goes on serving clients for six seconds.

    It is in sync alone by then, so that it moves its high watermark by itself; its successor was not in sync.
    """
    steps = ((8, "cut broker-1 broker-2"), (20, "cut broker-1 broker-3"), (34, "elect unclean t-0"), (40, "heal"))
    config: dict[str, Value] = {"auto.offset.reset": "earliest", "max.poll.records": 1, "session.timeout.ms": 30_000}
    work = ApplicationSpec(per_record_us=50_000)  # half the time between two records: it reads what was just written
    return ScenarioSpec(
        title="deposed",
        until_us=60 * SECOND_US,
        config={"replica.lag.time.max.ms": 5_000},
        topics=(TopicSpec("t", replication=2),),
        producers=(ProducerSpec("p", ("t",), rate_per_second=10.0, limit=500, config={"acks": "1"}),),
        groups=(GroupSpec("g", ("t",), config=config, application=work),),
        steps=steps_at(*steps),
    )
