"""The cluster of a twin: the brokers that lines name, and the topics of the groups."""

import json
import re
from itertools import count, islice
from typing import Final

from cluster import events as e
from cluster.events import Event
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
        isr = event.isr if isinstance(event, e.IsrChanged) else ()
        for one in (broker, *isr):
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
            inferred.append(f"{len(ids)} brokers: lines name {named}, and replicas need as many")
        else:
            inferred.append(f"{len(ids)} brokers: so many have a number in a line; another may be silent")
        if ids == tuple(range(1, len(ids) + 1)):
            return str(len(ids))
        return f"[{', '.join(f'{{ id = {one} }}' for one in ids)}]"


class TwinTopics:
    """The topics of all groups; one that is named like a group has another name in the twin."""

    def __init__(self, groups: frozenset[str]) -> None:
        self._groups = groups
        self._partitions: dict[str, int] = {}

    def of(self, group: TwinGroup, name: str, inferred: list[str]) -> list[str]:
        """The topics of a group, as its clients' logs name them."""
        found: dict[str, int] = {}
        for partition in group.partitions:
            if parts := _PARTITION.fullmatch(partition):
                topic = f"{parts[1]}.topic" if parts[1] in self._groups else parts[1]
                found[topic] = max(found.get(topic, 0), int(parts[2]) + 1)
        if not found:
            number = max(GUESSED_PARTITIONS, len(group.members))
            found = {f"topic-of-{name}": number}
            inferred.append(f"{name}: a topic of {number} partitions, as no client's log names one")
        for topic, number in found.items():
            self._partitions[topic] = max(self._partitions.get(topic, 0), number)
        return sorted(found)

    def tables(self) -> list[str]:
        """The tables of the topics."""
        return [
            f"[[topic]]\nname = {json.dumps(topic)}\npartitions = {number}\nreplication = 3\n"
            for topic, number in sorted(self._partitions.items())
        ]
