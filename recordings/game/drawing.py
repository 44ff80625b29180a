"""A level and a seed become a scenario: a small production cluster, disturbances that pass, and the hidden faults.

Noise is what every cluster has: a slow poll(), a pause of garbage collection, a restart that finishes, a slow link. It
keeps away from the targets of the hidden faults, which it could end or cover. The same level and seed give the same
text, and so the same flight.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from cluster.commands import Command, FaultTargets, Names, kind_of, parse, targets_of, text_of
from cluster.commands.grammar import RandomFault
from cluster.random_streams import random_stream
from cluster.spec import (
    STARTUP_US,
    ApplicationSpec,
    ArrivalsSpec,
    GroupSpec,
    KeysSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
    TransactionsSpec,
)
from recordings.game.levels import LEVELS, SECOND_US, Level
from recordings.scenarios.loader import Scenario, parse_scenario
from recordings.scenarios.writer import write_scenario

FROM_US, TO_US = 20 * SECOND_US, 45 * SECOND_US
"""The hidden faults begin between these instants: the groups have formed, and the player has looked around."""
NOISE_FROM_US, NOISE_ENDS_US = 12 * SECOND_US, 60 * SECOND_US
"""Noise begins, and how long before the end of the flight the last of it does."""

MILLISECOND_US = 1_000


class Business(NamedTuple):
    """A part of the company: its topic, the producer that writes it, the group that reads it."""

    topic: str
    producer: str
    group: str


BUSINESSES = (
    Business("orders", "checkout", "billing"),
    Business("shipments", "warehouse", "tracking"),
    Business("clicks", "web", "analytics"),
    Business("stock", "inventory", "search"),
    Business("readings", "meters", "alerts"),
)
PAID = Business("payments", "gateway", "ledger")
"""The part that writes in transactions, and reads committed data."""

ASSIGNORS = (("range",), ("cooperative-sticky",), ("range", "cooperative-sticky"))

NOISE = (
    "stall {member} for {2..6}s",
    "pause {member} for {1..4}s",
    "restart {member} for {2..4}s",
    "slow {member} to {20|40}ms for {10..20}s",
    "pause {producer} for {1..3}s",
    "slow {broker} {client} to {30|60|90}ms for {10..20}s",
    "slow disk of {broker} to {4|8}ms for {10..20}s",
)
GROUP_NOISE = ("rolling restart {group} every 10s down 3s", "scale {group} to {4..5} for {40..60}s")


class GameScenario(NamedTuple):
    """What a level and a seed drew; `faults` are the hidden ones, by their instants."""

    level: Level
    seed: int
    scenario: Scenario
    faults: tuple[StepSpec, ...]


def draw_game(level: int, seed: int) -> GameScenario:
    """The game of a level (from 1) and a seed."""
    chosen = LEVELS[level - 1]
    spec = _cluster(chosen, seed, random_stream(seed, f"game/{level}/cluster"))
    hidden = _hidden(chosen, spec, random_stream(seed, f"game/{level}/faults"))
    steps = [*_noise(chosen, spec, hidden, random_stream(seed, f"game/{level}/noise")), *hidden]
    ordered = sorted(steps, key=lambda step: step.at_us)
    text = write_scenario(spec.__replace__(steps=tuple(ordered)))
    scenario = parse_scenario(text, f"game-{level}.toml")
    return GameScenario(chosen, seed, scenario, hidden_steps(scenario.spec))


def hidden_steps(spec: ScenarioSpec) -> tuple[StepSpec, ...]:
    """The hidden faults of a game's scenario, by their instants; of any other scenario none."""
    return tuple(step for step in spec.steps if step.source == "game")


# --- the cluster ------------------------------------------------------------------------------------------------------


def _cluster(level: Level, seed: int, stream: Random) -> ScenarioSpec:
    parts = stream.sample(BUSINESSES, stream.randint(1, 2))
    topics, producers, groups = [], [], []
    for part in parts:
        topics.append(_topic(part.topic, stream))
        producers.append(_producer(part, stream))
        groups.append(_group(part.group, (part.topic,), stream))
    topics.append(_topic(PAID.topic, stream))
    producers.append(_transactional(stream))
    groups.append(_group(PAID.group, (PAID.topic,), stream, committed=True))
    return ScenarioSpec(
        title=f"Game: level {level.number}, {level.title}",
        module="game",
        seed=seed,
        until_us=level.length_us,
        start_jitter_us=100 * MILLISECOND_US,
        startup_us=STARTUP_US,
        topics=tuple(topics),
        producers=tuple(producers),
        groups=tuple(groups),
    )


def _topic(name: str, stream: Random) -> TopicSpec:
    return TopicSpec(name, stream.choice((4, 6, 8)), 3, {"min.insync.replicas": 2})


def _producer(part: Business, stream: Random) -> ProducerSpec:
    return ProducerSpec(
        part.producer,
        (part.topic,),
        count=2,
        rate_per_second=float(stream.randint(6, 12)),
        arrivals=ArrivalsSpec(stream.choice(("steady", "poisson"))),
        keys=KeysSpec("uniform", distinct=500),
    )


def _transactional(stream: Random) -> ProducerSpec:
    return ProducerSpec(
        PAID.producer,
        (PAID.topic,),
        count=2,
        rate_per_second=float(stream.randint(4, 8)),
        transactions=TransactionsSpec(f"{PAID.producer}-{{n}}", records=stream.randint(10, 20)),
    )


def _group(name: str, topics: tuple[str, ...], stream: Random, *, committed: bool = False) -> GroupSpec:
    config = {"auto.offset.reset": "earliest"} | ({"isolation.level": "read_committed"} if committed else {})
    application = ApplicationSpec(per_record_us=stream.randint(2, 5) * MILLISECOND_US, jitter=0.5)
    members, assignors = stream.randint(2, 3), stream.choice(ASSIGNORS)
    return GroupSpec(
        name, topics, members=members, stagger_us=SECOND_US, assignors=assignors, config=dict(config),
        application=application,
    )  # fmt: skip


# --- faults and noise -------------------------------------------------------------------------------------------------


def _hidden(level: Level, spec: ScenarioSpec, stream: Random) -> list[StepSpec]:
    """The hidden faults: of different classes, and none of them on a process of another."""
    found: list[StepSpec] = []
    at_us = stream.randrange(FROM_US, TO_US, MILLISECOND_US)
    for each in stream.sample(level.classes, len(level.classes)):
        command = _drawn(each.pattern, spec.names(), stream)
        if any(_near(spec, command, other.command) or _both_brokers(command, other.command) for other in found):
            continue
        found.append(StepSpec(at_us, command, text_of(command), source="game"))
        at_us += stream.randrange(5 * SECOND_US, 15 * SECOND_US, MILLISECOND_US)
        if len(found) == level.faults:
            break
    return found


def _drawn(pattern: str, names: Names, stream: Random) -> Command:
    transactional = names.producers[PAID.producer]
    text = pattern.replace("{transactional}", stream.choice(transactional)).replace(
        "{client}", stream.choice(names.clients())
    )
    return parse(FaultTargets.of(stream, names).draw(RandomFault(0, "", text)), names)


def _noise(level: Level, spec: ScenarioSpec, hidden: Sequence[StepSpec], stream: Random) -> Iterator[StepSpec]:
    """Disturbances that pass, each on its own: none near a hidden fault, and one operation on a group at most."""
    names = spec.names()
    last_us, operated = spec.until_us - NOISE_ENDS_US, False
    for number in range(level.noise):
        wants_operation = level.number > 1 and not operated and stream.random() < 0.4
        for _ in range(20):
            command = _drawn(stream.choice(GROUP_NOISE if wants_operation else NOISE), names, stream)
            if not any(_near(spec, command, fault.command) for fault in hidden):
                share_us = (last_us - NOISE_FROM_US) // level.noise // MILLISECOND_US * MILLISECOND_US
                at_us = NOISE_FROM_US + number * share_us + stream.randrange(0, share_us // 2, MILLISECOND_US)
                operated |= wants_operation
                yield StepSpec(at_us, command, text_of(command))
                break


def _both_brokers(one: Command, other: Command) -> bool:
    """Whether both name a broker: two brokers of three away is the end of the cluster, and not a game."""
    return all(any(name.startswith("broker-") for name in targets_of(each)) for each in (one, other))


def _near(spec: ScenarioSpec, one: Command, other: Command) -> bool:
    """Whether two commands concern a common process, or one a group and the other a member of it."""
    return bool(_concerned(spec, one) & _concerned(spec, other))


def _concerned(spec: ScenarioSpec, command: Command) -> set[str]:
    """The processes that a command names, and the group of a member."""
    names = spec.names()
    found = set(targets_of(command))
    for group, members in names.groups.items():
        if group in found or (found & set(members) and kind_of(command) in _OF_GROUPS):
            found |= {group, *members}
    return found


_OF_GROUPS = {"scale", "rolling_restart"}
