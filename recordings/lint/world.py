"""What a condition is asked about: a part, and all parts of the run beside it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from cluster.config import spoken_duration
from cluster.config.units import MICROSECONDS, format_size
from recordings.lint.kafka_keys import kafka_keys
from recordings.lint.parts import Part, PartKind, Setting

SHARED: Final = ("group.id", "transactional.id")
"""Keys by which parts belong together: members of a group, and producers that fence each other."""
MOST_SHARING: Final = 200


class Hit(msgspec.Struct, frozen=True):
    """A place where a rule fires: the keys or facts of it, the first that the file gives being the place.

    `words` fill the rule's sentences; they are numbers, names of keys and Kafka's words, never a text of the file.
    """

    keys: tuple[str, ...]
    words: Mapping[str, str] = {}
    setting: Setting | None = None


class World:
    """All parts of the files that belong together."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._of_kind: dict[PartKind, list[Part]] = defaultdict(list)
        self._of_file: dict[tuple[str, PartKind], list[Part]] = defaultdict(list)
        self._sharing: dict[tuple[PartKind, str, str], list[Part]] = defaultdict(list)
        for part in parts:
            self._of_kind[part.kind].append(part)
            self._of_file[part.file, part.kind].append(part)
            for key in SHARED:
                if (value := part.text(key)) is not None and value.strip():
                    self._sharing[part.kind, key, value].append(part)

    def of(self, kind: PartKind) -> list[Part]:
        """The parts of a kind."""
        return self._of_kind.get(kind, [])

    def sharing(self, part: Part, key: str) -> list[Part]:
        """The other parts of the kind that have the same value of a key of `SHARED`."""
        value = part.text(key)
        same = [] if value is None else self._sharing.get((part.kind, key, value), [])
        return [other for other in same[:MOST_SHARING] if other is not part and _of_one_cluster(part, other)]

    def brokers_number(self, key: str) -> int | None:
        """A number of the brokers: of the first broker file of the run, else Kafka's default."""
        broker = self.broker()
        if broker is not None:
            return broker.number(key)
        default = kafka_keys("broker")[key].default
        return None if default is None else int(default)

    def broker(self) -> Part | None:
        """The first broker of the run, if a file configures one."""
        return next(iter(self.of("broker")), None)

    def beside(self, part: Part, kind: PartKind) -> list[Part]:
        """The parts of a kind that the same file configures."""
        return self._of_file.get((part.file, kind), [])


def _of_one_cluster(part: Part, other: Part) -> bool:
    """Whether two clients may meet: not if both say their brokers, and these are others (a test's, production's)."""
    both = part.has("bootstrap.servers") and other.has("bootstrap.servers")
    return not both or part.text("bootstrap.servers") == other.text("bootstrap.servers")


Condition: TypeAlias = Callable[[Part, World], Iterator[Hit]]


def spoken_ms(ms: int) -> str:
    """Milliseconds for people: `45 s`."""
    return spoken_duration(ms * MICROSECONDS["ms"])


def spoken(key: str, number: int) -> str:
    """A number of a key's unit for people."""
    if key.endswith(".ms"):
        return spoken_ms(number) if number >= 0 else str(number)
    if key.endswith((".bytes", "batch.size", "buffer.memory", "request.size")) and number > 0:
        return format_size(number)
    return str(number)
