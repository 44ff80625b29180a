"""Groups whose work outlasts the flight: a poll outlasts `max.poll.interval.ms`, or a backlog what is left at the end.

Both are estimates of the slowest that a drawn configuration can be: one member has all partitions, and each request
that followers must have takes four trips of a message with the longest jitter.
"""

from typing import Final

from cluster.config import Value, resolve
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec
from recordings.swarm.consumer_protocol import topics_read
from recordings.swarm.faults import STARTED_LAST_MS, is_refused_early
from recordings.swarm.parts import number

TRIPS: Final = 4  # to the leader, in the follower's two fetches, and back
OUTPUT_BYTES: Final = ProducerSpec("", ()).size_bytes
READ_OUT_MS: Final = 38_000 - STARTED_LAST_MS  # what is left when the last member has been started


def writes_too_slowly(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether the outputs of one poll() may take longer than `max.poll.interval.ms`: its member leaves again and again.

    Then batches time out behind each other, and the application stops (seed 1942: 500 records, one in each batch).
    """
    application = group.application
    if not application.written:
        return False
    producer = resolve("producer", application.producer)
    records = _most(group) * max(output.records for output in application.written)
    batches = records / max(number(producer, "batch.size") // OUTPUT_BYTES, 1)
    rounds = batches / number(producer, "max.in.flight.requests.per.connection")
    return rounds * _exchange_ms(spec) >= number(_consumer(group), "max.poll.interval.ms")


def reads_too_slowly(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether a group that commits each poll may still read at the end, because its members were refused for so long.

    Seed 1250: two records a poll, racks 20 ms apart, and a static member that was refused until 16 s before the end.
    """
    if not is_refused_early(spec, group) or group.application.commit not in ("after-each-poll", "before-processing"):
        return False
    topics = topics_read(spec, group)
    a_second = sum(each.rate_per_second * each.count for each in spec.producers if {*each.topics} & {*topics})
    backlog = a_second * spec.until_us / 1_000_000
    return backlog / _fewest(group) * _exchange_ms(spec) >= READ_OUT_MS


def _exchange_ms(spec: ScenarioSpec) -> float:
    network = spec.network
    longest_us = max(network.latency_us, network.between_racks_us or 0) * (1 + network.jitter)
    return TRIPS * longest_us / 1_000


def _consumer(group: GroupSpec) -> dict[str, Value]:
    return group.consumer_config(group.instances()[0])


def _polls(group: GroupSpec) -> list[int]:
    return [number(group.consumer_config(name), "max.poll.records") for name in group.instances()]


def _most(group: GroupSpec) -> int:
    return max(_polls(group))


def _fewest(group: GroupSpec) -> int:
    return min(_polls(group))
