"""Log lines of followers when they begin to follow a leader. One function a class of events.

A follower without a leader epoch of its own truncates to its high watermark; others ask their leader where to cut.
Source: `ReplicaManager.applyLocalFollowersDelta`, `AbstractFetcherThread.truncateToHighWatermark`, which goes through a
HashSet of the partitions that it fetches from one leader, internal ones among them.
"""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from collections.abc import Iterable

from cluster import events as e
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.java_maps import hash_set_order
from recordings.kafka_log.state import KafkaLogState, Line
from recordings.kafka_log.transaction_coordinators import follows

WRITER = LogWriter()

UNIFIED_LOG = "org.apache.kafka.storage.internals.log.UnifiedLog"


def log_line(partition: str, broker: int, message: str) -> Line:
    """A line of a broker's log of a partition."""
    return Line("INFO", f"[UnifiedLog partition={partition}, dir=/broker-{broker}] ", message, UNIFIED_LOG)


@WRITER.handles(e.LeaderElected)
def leader_elected(log: KafkaLogState, event: e.LeaderElected) -> list[Line]:
    for waits in log.to_lead.values():
        waits.pop(event.partition, None)
    log.to_lead.setdefault(event.leader, {})[event.partition] = None
    return []


@WRITER.handles(e.LeadershipTaken)
def leadership_taken(log: KafkaLogState, event: e.LeadershipTaken) -> list[Line]:
    """Followers begin when the broker leads every partition that one metadata change gave it."""
    waits, led = log.to_lead.get(event.broker, {}), log.just_led.setdefault(event.broker, {})
    waits.pop(event.partition, None)
    led[event.partition] = None
    if waits:
        return []
    del log.just_led[event.broker]
    if event.at_us == 0:
        return []
    followers = dict.fromkeys(one for name in led for one in log.partition(name).replicas if one not in log.away)
    return [line for one in followers for line in (*_begins(log, one, led), *follows(log, one, led))]


def follows_again(log: KafkaLogState, broker: int) -> list[Line]:
    """A broker that was away learns its leaders from the metadata."""
    if broker not in log.away:
        return []
    del log.away[broker]
    by_leader: dict[int, list[str]] = {}
    for name, known in log.partitions.items():
        by_leader.setdefault(known.leader, []).append(name)
    begun = [line for names in by_leader.values() for line in _begins(log, broker, names)]
    return [*begun, *follows(log, broker, log.partitions)]


def _begins(log: KafkaLogState, follower: int, names: Iterable[str]) -> list[Line]:
    """A follower truncates those logs of one leader's partitions that have never had a record."""
    known = {name: log.partition(name) for name in names}
    empty = [
        name
        for name, one in known.items()
        if follower in one.replicas and one.leader not in {-1, follower} and not one.epochs and one.log_end == 0
    ]
    return [
        log_line(
            name,
            follower,
            f"Truncating to {known[name].high_watermark} has no effect as the largest offset in the log is"
            f" {known[name].log_end - 1}",
        )
        for name in hash_set_order(empty)
        if log.concerns_the_scenario(name)
    ]
