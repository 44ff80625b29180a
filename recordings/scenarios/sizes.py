"""Limits on what a scenario declares: a typing error must not exhaust the machine."""

from collections.abc import Iterator, Sequence
from typing import cast

from cluster.commands import AddPartitions, CreateTopic, Scale
from cluster.config import LONG_MAX, defaults, format_duration
from cluster.protocol.record_batch import RECORD_BATCH_OVERHEAD_BYTES, RECORD_OVERHEAD_BYTES
from cluster.spec import (
    LONGEST_FLIGHT_US,
    MOST_BATCHES,
    MOST_BROKERS,
    MOST_GROUPS,
    MOST_KEYS,
    MOST_MEMBERS,
    MOST_PARTITIONS,
    MOST_PRODUCERS,
    MOST_RECORDS_PER_SECOND,
    ScenarioSpec,
)
from recordings.scenarios.toml_lines import Place
from recordings.scenarios.toml_tables import Problem


def check_sizes(spec: ScenarioSpec) -> Iterator[Problem]:
    """Every limit that a scenario exceeds."""
    partitions, partitions_place = _most(
        {topic.name: topic.partitions for topic in spec.topics},
        "topic",
        "partitions",
        [step.command if isinstance(step.command, AddPartitions | CreateTopic) else None for step in spec.steps],
    )
    members, members_place = _most(
        {group.name: max(group.members, group.autoscaler.most if group.autoscaler else 0) for group in spec.groups},
        "group",
        "members",
        [step.command if isinstance(step.command, Scale) else None for step in spec.steps],
    )
    instances = sum(producer.count for producer in spec.producers)
    largest = max(range(len(spec.producers)), key=lambda index: spec.producers[index].count, default=0)
    for what, found, most, place in (
        ("brokers", len(spec.brokers), MOST_BROKERS, ("cluster", "brokers")),
        ("partitions", partitions, MOST_PARTITIONS, partitions_place),
        ("groups", len(spec.groups), MOST_GROUPS, ("group", len(spec.groups) - 1)),
        ("members", members, MOST_MEMBERS, members_place),
        ("producers", instances, MOST_PRODUCERS, ("producer", largest, "count")),
    ):
        if found > most:
            yield Problem(place, f"{what}: {found:,} are too many: at most {most:,}")
    for index, producer in enumerate(spec.producers):
        if producer.keys.distinct > MOST_KEYS:
            reason = f"keys: {producer.keys.distinct:,} distinct ones are too many: at most {MOST_KEYS:,}"
            yield Problem(("producer", index, "keys", "distinct"), reason)
    if instances <= MOST_PRODUCERS:
        yield from _loads(spec)
    if spec.until_us > LONGEST_FLIGHT_US and spec.until_us != LONG_MAX:
        yield Problem(("until",), f"until: a flight lasts at most {format_duration(LONGEST_FLIGHT_US)}")


def _loads(spec: ScenarioSpec) -> Iterator[Problem]:
    """Rates that cannot be simulated, and buffers that would need too much memory."""
    rates = [
        max([producer.rate_per_second, *(rate for _, rate in producer.arrivals.profile)]) for producer in spec.producers
    ]
    total = sum(rate * producer.count for rate, producer in zip(rates, spec.producers, strict=True))
    if total > MOST_RECORDS_PER_SECOND:
        place: Place = ("producer", max(range(len(rates)), key=lambda at: rates[at] * spec.producers[at].count), "rate")
        reason = f"rate: all producers together send {total:,.0f} records/s: at most {MOST_RECORDS_PER_SECOND:,}"
        yield Problem(place, reason)
    for index, (rate, producer) in enumerate(zip(rates, spec.producers, strict=True)):
        config = defaults("producer") | producer.config
        memory, batch = cast(int, config["buffer.memory"]), cast(int, config["batch.size"])
        each = max(batch, RECORD_BATCH_OVERHEAD_BYTES + RECORD_OVERHEAD_BYTES + producer.size_bytes)
        held = min(memory // each, rate * min(spec.until_us, LONGEST_FLIGHT_US) / 1_000_000)
        if held > MOST_BATCHES:
            reason = f"buffer.memory: {held:,.0f} batches of {each} bytes can wait in it: at most {MOST_BATCHES:,}"
            yield Problem(("producer", index, "config", "buffer.memory"), reason, str(MOST_BATCHES * each))


def _most(
    declared: dict[str, int], table: str, field: str, grows: Sequence[Scale | AddPartitions | CreateTopic | None]
) -> tuple[int, Place]:
    """A limit on the sum of several counts; the error stands at the place of the largest."""
    counts = list(declared.values())
    place: Place = (table, max(range(len(counts)), key=counts.__getitem__, default=0), field)
    for index, command in enumerate(grows):
        if command is not None:
            name = command.group if isinstance(command, Scale) else command.topic
            to = command.named_partitions if isinstance(command, CreateTopic) else command.to
            if to > declared.get(name, 0):
                if to > max(declared.values(), default=0):
                    place = ("at", index, "do")
                declared[name] = to
    return sum(declared.values()), place
