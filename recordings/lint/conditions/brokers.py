"""Conditions of brokers and topics: how many replicas a write needs, and how many there are."""

from collections.abc import Iterator, Mapping
from typing import Final

from cluster.config.keys import CONSUMER_GROUP_BOUNDS
from recordings.lint.parts import Part
from recordings.lint.world import Condition, Hit, World


def replicas_of(part: Part) -> int | None:
    """The replicas of the part's topics: a topic's own, a broker's default for new ones. None when it is unknown."""
    said = part.count("replication-factor")
    if said is not None or part.kind == "topic":
        return said
    return part.number("default.replication.factor") if part.has("default.replication.factor") else None


def least_in_sync(part: Part, world: World) -> int | None:
    """The replicas that a write with acks=all needs; a topic without a value of its own has the brokers', if known."""
    if part.kind == "topic" and not part.has("min.insync.replicas"):
        broker = world.broker()
        return None if broker is None else broker.number("min.insync.replicas")
    return part.number("min.insync.replicas")


def min_isr_equals_replication(part: Part, world: World) -> Iterator[Hit]:
    """Every broker that restarts stops the writes with acks=all."""
    replicas, least = replicas_of(part), least_in_sync(part, world)
    if replicas is not None and least is not None and replicas > 1 and least == replicas:
        yield Hit(("min.insync.replicas",), {"replicas": str(replicas), "fewer": str(replicas - 1)})


def min_isr_above_replication(part: Part, world: World) -> Iterator[Hit]:
    """More in-sync replicas are asked for than there are. Source: `Partition.effectiveMinIsr`."""
    replicas, least = replicas_of(part), least_in_sync(part, world)
    if replicas is not None and least is not None and least > replicas:
        yield Hit(("min.insync.replicas",), {"least": str(least), "replicas": str(replicas)})


def min_isr_of_one(part: Part, world: World) -> Iterator[Hit]:
    """Three replicas, and one of them is enough for acks=all."""
    replicas, least = replicas_of(part), least_in_sync(part, world)
    if part.frame != "scenario" and replicas is not None and replicas >= 3 and least == 1:
        yield Hit(
            ("min.insync.replicas", "default.replication.factor", "replication-factor"), {"replicas": str(replicas)}
        )


def transaction_log_min_isr(part: Part, _world: World) -> Iterator[Hit]:
    """The same for `__transaction_state`."""
    replicas = part.number("transaction.state.log.replication.factor")
    least = part.number("transaction.state.log.min.isr")
    if replicas is not None and least is not None and replicas > 1 and least >= replicas:
        words = {"replicas": str(replicas), "fewer": str(replicas - 1)}
        yield Hit(("transaction.state.log.min.isr", "transaction.state.log.replication.factor"), words)


def internal_topic_of_one_replica(part: Part, _world: World) -> Iterator[Hit]:
    """`__consumer_offsets` or `__transaction_state` on one broker, in a cluster of several."""
    if part.count("brokers") == 1:
        return
    for key, topic in (
        ("offsets.topic.replication.factor", "__consumer_offsets"),
        ("transaction.state.log.replication.factor", "__transaction_state"),
    ):
        if part.has(key) and part.number(key) == 1:
            yield Hit((key,), {"topic": topic, "key": key})


def group_bounds(part: Part, _world: World) -> Iterator[Hit]:
    """Bounds that contradict: the broker does not start. Source: the constructor of `GroupCoordinatorConfig`."""
    for low, high, word in CONSUMER_GROUP_BOUNDS:
        small, large = part.number(low), part.number(high)
        if small is None or large is None or not (part.has(low) or part.has(high)):
            continue
        if small > large or (word == "below" and small == large):
            yield Hit((low, high) if part.has(low) else (high,), {"low": low, "high": high, "word": word})


def unclean_election(part: Part, _world: World) -> Iterator[Hit]:
    """A leader may be elected that lacks acknowledged records."""
    if part.has("unclean.leader.election.enable") and part.flag("unclean.leader.election.enable"):
        yield Hit(("unclean.leader.election.enable",))


CONDITIONS: Final[Mapping[str, Condition]] = {
    "min-isr-equals-replication": min_isr_equals_replication,
    "min-isr-above-replication": min_isr_above_replication,
    "min-isr-of-one": min_isr_of_one,
    "transaction-log-min-isr": transaction_log_min_isr,
    "internal-topic-of-one-replica": internal_topic_of_one_replica,
    "group-bounds": group_bounds,
    "unclean-election": unclean_election,
}
