"""What a condition is asked about: a part, and all parts of the run beside it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from cluster.config import spoken_duration
from cluster.config.units import MICROSECONDS, format_size
from recordings.lint.kafka_keys import kafka_keys
from recordings.lint.parts import Part, PartKind, Setting


class Hit(msgspec.Struct, frozen=True):
    """A place where a rule fires: the keys or facts of it, the first that the file gives being the place.

    `words` fill the rule's sentences; they are numbers, names of keys and Kafka's words, never a text of the file.
    """

    keys: tuple[str, ...]
    words: Mapping[str, str] = {}
    setting: Setting | None = None


class World(msgspec.Struct, frozen=True):
    """All parts of the files that belong together."""

    parts: Sequence[Part]

    def of(self, kind: PartKind) -> list[Part]:
        """The parts of a kind."""
        return [part for part in self.parts if part.kind == kind]

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
        return [other for other in self.of(kind) if other.file == part.file]


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
