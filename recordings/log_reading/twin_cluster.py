"""The cluster of a twin: the brokers that lines name, where replicas are, and the topics of the groups."""

import json
import re
from collections.abc import Callable
from itertools import count, islice
from typing import Final

from cluster import events as e
from cluster.config import defaults
from cluster.events import Event
from cluster.spec.internal_topics import INTERNAL_TOPICS
from recordings.bounded_files import RecordingError
from recordings.log_reading.twin_groups import TwinGroup

LEAST_BROKERS, MOST_BROKERS = 3, 1_000
GUESSED_PARTITIONS: Final = 12
_PARTITION = re.compile(r"(.+)-(\d{1,6})")


class TwinBrokers:
    """The ids of brokers that lines name, whatever their numbers: 0 to 2, or 1001 to 1003."""

    def __init__(self) -> None:
        self._named: set[int] = set()

    def take(self, event: Event) -> None:
        """Take the brokers that an event names; -1 is an unknown one."""
        broker: int = getattr(event, "broker", -1)
        replicas: tuple[int, ...] = ()
        match event:
            case e.IsrChanged():
                replicas = event.isr
            case e.LeaderElected():
                replicas = event.replicas
            case _:
                pass
        for one in (broker, *replicas):
            if one >= 0 and len(self._named) <= MOST_BROKERS:
                self._named.add(one)

    def ids(self) -> tuple[int, ...]:
        """The ids of the twin's brokers. Raises RecordingError: more than a scenario may have."""
        if len(self._named) > MOST_BROKERS:
            raise RecordingError(f"the logs name more than {MOST_BROKERS:,} brokers, the most that a twin has")
        first = min(self._named, default=1)
        free = (one for one in count(first if first == 0 or first > LEAST_BROKERS else 1) if one not in self._named)
        return tuple(sorted([*self._named, *islice(free, max(0, LEAST_BROKERS - len(self._named)))]))

    def written(self, inferred: list[str]) -> str:
        """The value of the key `brokers`; what is guessed of it goes to `inferred`."""
        ids, named = self.ids(), len(self._named)
        if named < LEAST_BROKERS:
            inferred.append(f"{len(ids)} brokers, one for each replica of a partition; lines name {named}")
        else:
            inferred.append(f"{len(ids)} brokers: so many have a number in a line; another may be silent")
        if ids == tuple(range(1, len(ids) + 1)):
            return str(len(ids))
        return f"[{', '.join(f'{{ id = {one} }}' for one in ids)}]"


class TwinReplicas:
    """Where the replicas of partitions are, as the first line says that has them; the preferred leader first."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, tuple[int, ...]]] = {}

    def take(self, event: e.LeaderElected) -> None:
        """Take what is registered of a partition."""
        if parts := _PARTITION.fullmatch(event.partition):
            self._known.setdefault(parts[1], {}).setdefault(int(parts[2]), event.replicas)

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has at least."""
        return max(self._known.get(topic, {}), default=-1) + 1

    def assigned(self, topic: str, partitions: int, left_out: Callable[[str], object]) -> str:
        """The brokers of so many partitions, as a scenario has them; "" if lines do not say those of all."""
        known = self._known.get(topic, {})
        lists = [list(known[number]) for number in range(partitions) if number in known]
        if len(lists) == partitions and len({len(replicas) for replicas in lists}) == 1:
            return json.dumps(lists)
        if known:
            left_out(f"where the replicas of {topic} are: lines have them of {len(known)} of {partitions} partitions")
        return ""

    def internal(self, config: dict[str, int], left_out: Callable[[str], object]) -> str:
        """The value of `replica_assignment` of the cluster; a number of partitions that is not Kafka's to `config`."""
        found = []
        for topic, key in INTERNAL_TOPICS.items():
            usual = defaults("broker")[key]
            assert isinstance(usual, int)
            partitions = max(usual, self.partitions(topic))
            if lists := self.assigned(topic, partitions, left_out):
                found.append(f"{topic} = {lists}")
                config |= {key: partitions} if partitions != usual else {}
        return f"{{ {', '.join(found)} }}" if found else ""


class TwinTopics:
    """The topics of all groups; one that is named like a group has another name in the twin."""

    def __init__(self, groups: frozenset[str], replicas: TwinReplicas) -> None:
        self._groups, self._replicas = groups, replicas
        self._partitions: dict[str, int] = {}
        self._logged: dict[str, str] = {}

    def of(self, group: TwinGroup, name: str, inferred: list[str]) -> list[str]:
        """The topics of a group, as its clients' logs name them."""
        found: dict[str, int] = {}
        for partition in group.partitions:
            if parts := _PARTITION.fullmatch(partition):
                topic = f"{parts[1]}.topic" if parts[1] in self._groups else parts[1]
                self._logged[topic] = parts[1]
                found[topic] = max(found.get(topic, self._replicas.partitions(parts[1])), int(parts[2]) + 1)
        if not found:
            number = max(GUESSED_PARTITIONS, len(group.members))
            found = {f"topic-of-{name}": number}
            inferred.append(f"{name}: a topic of {number} partitions, as no client's log names one")
        for topic, number in found.items():
            self._partitions[topic] = max(self._partitions.get(topic, 0), number)
        return sorted(found)

    def tables(self, left_out: Callable[[str], object]) -> list[str]:
        """The tables of the topics; what lines do not say of where they are to `left_out`."""
        tables = []
        for topic, number in sorted(self._partitions.items()):
            assigned = self._replicas.assigned(self._logged.get(topic, ""), number, left_out)
            where = f"replica_assignment = {assigned}" if assigned else "replication = 3"
            tables.append(f"[[topic]]\nname = {json.dumps(topic)}\npartitions = {number}\n{where}\n")
        return tables
