"""Random faults: the classes of the catalogue, and how a class draws a command from a random stream.

A class's pattern is a command's text with draws in braces, drawn from left to right: `{broker}`, `{member}`,
`{producer}`, `{group}`, `{partition}`, `{topic}` (one of these), `{process}`, `{link}`, `{direction}`, `{topics}`,
`{replicas}` (broker ids), `{api}`, `{1..3}` (a number), `{2|40}` (one of these words). The swarm of `flightdeck check`
draws its steps before a flight, the nemesis while a flight is under way.
"""

import re
from collections.abc import Callable, Sequence
from random import Random

import msgspec

from cluster.commands.cluster_names import Names
from cluster.commands.forms import COMMANDS
from cluster.commands.grammar import RandomFault

APIS = (
    "Produce", "Produce", "Fetch", "OffsetCommit", "JoinGroup", "SyncGroup", "Heartbeat", "FindCoordinator",
    "InitProducerId", "EndTxn", "AddPartitionsToTxn",
)  # fmt: skip
"""The APIs whose responses are lost; Produce is drawn twice as often."""

_DRAW = re.compile(r"\{([^}]+)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")

RANDOM_FAULTS: dict[str, RandomFault] = {
    fault.name: fault
    for fault in sorted((fault for form in COMMANDS for fault in form.random), key=lambda fault: fault.order)
}
"""Each class by its name, in the order that seeds draw from."""


class FaultTargets(msgspec.Struct):
    """The names that a random fault may strike, and the stream that draws among them."""

    stream: Random
    brokers: Sequence[str]
    members: Sequence[str]
    producers: Sequence[str]
    groups: Sequence[str]
    partitions: Sequence[str]
    topics: Sequence[str]

    @classmethod
    def of(cls, stream: Random, names: Names) -> "FaultTargets":
        """Every name of a cluster."""
        producers = [name for instances in names.producers.values() for name in instances]
        groups, topics = list(names.groups), list(names.topics)
        return cls(stream, names.brokers, names.members(), producers, groups, names.partitions(), topics)

    def draw(self, fault: RandomFault) -> str:
        """The text of a command of this class. Raises IndexError if the cluster has no target for it."""
        return _DRAW.sub(lambda match: self._drawn(match[1]), fault.pattern)

    def _drawn(self, what: str) -> str:
        if what in _DRAWS:
            return _DRAWS[what](self)
        numbers = _RANGE.fullmatch(what)
        if numbers is not None:
            return str(self.stream.randint(int(numbers[1]), int(numbers[2])))
        return self.stream.choice(what.split("|"))

    def process(self) -> str:
        """Any process; brokers are drawn twice as often."""
        return self.stream.choice([*self.brokers, *self.brokers, *self.members, *self.producers])

    def ends(self) -> tuple[str, str]:
        """The two ends of a link: a broker and another process."""
        first = self.stream.choice(self.brokers)
        others = [*self.brokers, *self.members, *self.producers]
        return first, self.stream.choice([name for name in others if name != first])

    def direction(self) -> str:
        """One direction of a link, e.g. `broker-1 -> billing-2`."""
        first, second = self.ends()
        return f"{first} -> {second}" if self.stream.random() < 0.5 else f"{second} -> {first}"

    def some_replicas(self) -> str:
        """The ids of one to three brokers, in any order, separated by commas."""
        most = min(3, len(self.brokers))
        chosen = self.stream.sample(self.brokers, self.stream.randint(1, most))
        return ",".join([name.removeprefix("broker-") for name in chosen])

    def some_topics(self) -> str:
        """One or more topics, in alphabetical order, separated by commas."""
        return ",".join(sorted(self.stream.sample(self.topics, self.stream.randint(1, len(self.topics)))))


_DRAWS: dict[str, Callable[[FaultTargets], str]] = {
    "broker": lambda targets: targets.stream.choice(targets.brokers),
    "member": lambda targets: targets.stream.choice(targets.members),
    "producer": lambda targets: targets.stream.choice(targets.producers),
    "group": lambda targets: targets.stream.choice(targets.groups),
    "partition": lambda targets: targets.stream.choice(targets.partitions),
    "topic": lambda targets: targets.stream.choice(targets.topics),
    "topics": FaultTargets.some_topics,
    "replicas": FaultTargets.some_replicas,
    "process": FaultTargets.process,
    "link": lambda targets: " ".join(targets.ends()),
    "direction": FaultTargets.direction,
    "api": lambda targets: targets.stream.choice(APIS),
}
"""What stands in braces in a pattern → how it is drawn."""
